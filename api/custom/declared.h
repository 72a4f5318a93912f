/* Rules that annotations of a definition declare about the objects of its kind.
 *
 * annals.dev/immutable: "spec.data,spec.template" lists paths of fields that no write may change.
 * Values are compared as ControllerRevisions' data are: by meaning. The first spelling stays. An
 * absent field is a value, too: it stays absent.
 *
 * annals.dev/refers-to: "spec.providerRef.name -> example.com/providers, policy Block" lists fields
 * that name other objects. A write proves that what it begins to name is there, and what is named is
 * not deleted (api/model/reference.h). Entries end with semicolons or lines:
 *
 *   PATH -> [GROUP/]RESOURCE [, namespace PATH] [, cluster-scoped] [, policy Block]
 *
 * PATH leads to a string; NAME[*] in it means each item of a list. Without a namespace, what is named
 * is in the namespace of the object that names it. The path of a namespace differs in its last name.
 *
 * Both are checked when a definition is written, against its schemas. A text that was stored without
 * this check declares the part of it that can be read, and no more. The index of references has to be
 * complete, so refers-to changes only while there are no objects of the kind; and no schema may prune
 * or default the fields on its paths. */
#ifndef API_CUSTOM_DECLARED_H
#define API_CUSTOM_DECLARED_H

#include "api/model/kind.h"

#define ANNOTATION_IMMUTABLE "annals.dev/immutable"
#define ANNOTATION_REFERS_TO "annals.dev/refers-to"

enum {
	DECLARED_PATHS_MAX = 32,      /* of one definition: each update of an object compares them all */
	DECLARED_STEPS_MAX = 32,      /* names in one path */
	DECLARED_REFERENCES_MAX = 16, /* entries of refers-to: a search for what refers to an object asks for each */
	DECLARED_NAME_MAX = 253,      /* bytes of a name in a reference: it becomes a part of a key */
};

struct declared_path {
	struct str text; /* "spec.data" */
	struct str *steps;
	size_t n_steps;
	uint32_t lists; /* bit i: step i is a list, and each of its items counts */
};

struct declared_reference {
	struct declared_path path;
	struct str namespace_step; /* the last name of the namespace's path; empty: there is none */
};

struct declared {
	struct str text; /* the annotations as they are written, which tell one kind from another */
	struct declared_path *immutable;
	size_t n_immutable;
	struct declared_reference *references; /* as `fields` */
	struct reference_field *fields;        /* ends with a NULL prefix */
	size_t n_references;
};

/* Everything in it lives in the arena. */
void declared_read(struct declared *ret, const struct object *definition, struct arena *a);
/* The same of the text of refers-to alone. */
void declared_read_references(struct declared *ret, struct str refers_to, struct arena *a);
/* The annotations' texts, as declared_read() keeps them. */
struct str declared_text(const struct object *definition, struct arena *a);
/* Appends what is wrong with a definition's annotations. old: NULL on create; what was wrong before with the same text stays. */
void declared_validate(const struct object *definition, const struct object *old, struct field_errors *errors);

/* Gives each immutable field of the object that means the same as before its former spelling. was: the stored object's fields;
 * seen: these as the version shows them through which the object was sent. A field that this version does not show stays. */
void declared_keep(
	const struct declared *d, struct object *o, const struct json *was, const struct json *seen, struct arena *a);
/* Do the two say the same of references? */
bool declared_same_references(const struct object *definition, const struct object *old);
/* As the functions of struct kind. */
size_t declared_references(const struct declared *d, const struct object *o, struct reference ret[REFERENCES_MAX]);
size_t declared_needs(const struct declared *d, const struct object *o, const struct object *old, struct need ret[NEEDS_MAX]);
/* Refuses names that no object can have, more than REFERENCES_MAX references, and an object that names itself. */
void declared_check_references(const struct declared *d, const struct object *o, struct field_errors *errors);
/* Refuses an object whose immutable fields differ. */
void declared_check(const struct declared *d, const struct object *o, const struct object *old, struct field_errors *errors);

#endif
