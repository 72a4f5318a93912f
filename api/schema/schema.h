/* A structural schema of a CustomResourceDefinition, compiled: what may be in an object, and what is made of it.
 *
 * Upstream's k8s.io/apiextensions-apiserver/pkg/apiserver/{schema,validation} and kube-openapi's validator, v0.36; same texts. A schema
 * owns its memory, is immutable once compiled, and is counted: a request, a watch and a cached kind may hold it at the same time.
 *
 * Objects are trees of base/json.h with the members apiVersion, kind and metadata. Functions that change an object answer a tree that
 * shares with the old one whatever is unchanged, so parsed trees can be passed. Numbers are judged by their lexeme, as Go decodes them:
 * an int64 where the lexeme is one, otherwise a double. So schema_normal() comes last, before an object is written.
 *
 * A request passes  schema_accept() -> schema_default() -> ... -> schema_validate() -> schema_normal();
 * a stored object   schema_restore() -> schema_default().
 *
 * Recursion ends with the depth of JSON (base/json.h) and of the schema (SCHEMA_DEPTH_MAX). */
#ifndef API_SCHEMA_SCHEMA_H
#define API_SCHEMA_SCHEMA_H

#include "api/model/schema.h"

struct schema;

enum {
	SCHEMA_DEPTH_MAX = 250, /* schemas within schemas: JSON of 512 containers holds no deeper ones */
	SCHEMA_MEMORY_FACTOR =
		12, /* a compiled schema takes at most so many times the bytes of its JSON; real ones take one to three */
	SCHEMA_MEMORY_BASE = 64 * 1024,      /* bytes that any schema may take besides */
	SCHEMA_STEPS_MAX = 20 * 1000 * 1000, /* pairs of a schema and a value that validation of one object looks at */
	/* Instructions times bytes of a pattern's work that count as one step. So the patterns of one object
	 * take seconds at most. */
	PATTERN_STEPS_EACH = 512,
};

enum schema_error {
	SCHEMA_UNSUPPORTED = 1, /* the text says what: "OpenAPIV3Schema 'id' is not supported" */
	SCHEMA_TOO_BIG,         /* depth or memory; the text says which */
};

/* Compiles the value of openAPIV3Schema, which is copied. NULL compiles to the schema that prunes everything. The schema must have
 * passed crd_validate() (api/schema/crd.h) once; one that cannot be compiled makes its definition NonStructural, never the server stop.
 * 0, or a schema_error with a text in the arena. */
int schema_compile(struct schema **ret, const struct json *openapi, struct arena *a, struct str *ret_error);
struct schema *schema_ref(struct schema *s);
struct schema *schema_unref(struct schema *s); /* NULL */
static inline void schema_unrefp(struct schema **s)
{
	schema_unref(*s);
}
size_t schema_memory(const struct schema *s); /* bytes that it takes now, patterns of regular expressions included */

/* Decoding. The report gets `unknown field "spec.x"` of what is dropped, sorted; it may be NULL. */

/* Does to the object of a request what kube-apiserver does before defaults: unknown members go, nulls that are neither nullable nor
 * defaulted go, metadata of embedded resources is checked. 0; or 1 with the text of the 400 in *ret_error. */
int schema_accept(struct json **ret, const struct schema *s, struct json *object, struct arena *a, struct decode_report *report,
	struct str *ret_error);
/* The same of a stored object, whose malformed metadata is dropped rather than refused. */
struct json *schema_restore(const struct schema *s, struct json *object, struct arena *a);
/* Sets defaults where the parent is there, and in place of nulls that are not nullable. */
struct json *schema_default(const struct schema *s, struct json *object, struct arena *a);
/* The form that is stored and answered: members sorted, each once, numbers as Go writes them. The order of the first three is that of
 * metadata's owner: apiVersion, kind, metadata are members like others here. */
struct json *schema_normal(struct json *object, struct arena *a);

/* Validation, in kube-apiserver's order: values, then scale, then embedded resources, then lists that are sets or maps. Metadata of
 * the object itself is the caller's (api/rules/validate.h) and comes before. */

/* The paths of subresource scale, as the definition has them (".spec.replicas"). */
struct schema_scale {
	struct str spec_replicas, status_replicas, label_selector; /* label_selector may be empty */
};

/* scale may be NULL. */
void schema_validate(
	const struct schema *s, const struct schema_scale *scale, const struct json *object, struct field_errors *errors);
/* Ratchets: what has not changed since `old` is not refused. */
void schema_validate_update(const struct schema *s, const struct schema_scale *scale, const struct json *object,
	const struct json *old, struct field_errors *errors);
/* Judges an update through the subresource status. */
void schema_validate_status(const struct schema *s, const struct schema_scale *scale, const struct json *object,
	const struct json *old, struct field_errors *errors);

/* Has any part x-kubernetes-validations? This server does not evaluate them, and says so in a Warning when a definition is written. */
bool schema_has_rules(const struct schema *s);

/* The type of whole objects for patches and ownership: list types, map types and keys as the schema has them, and anything where it
 * keeps unknown fields. Made at the first call, by any thread; lives as long as the schema. */
const struct type *schema_type(const struct schema *s);

#endif
