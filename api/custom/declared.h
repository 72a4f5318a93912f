/* Rules that annotations of a definition declare about the objects of its kind.
 *
 * annals.dev/immutable: "spec.data,spec.template" lists paths of fields that no write may change.
 * Values are compared as ControllerRevisions' data are: by meaning. The first spelling stays. An
 * absent field is a value, too: it stays absent.
 *
 * The text is checked when a definition is written, against the schema of the stored version. A text
 * that was stored without this check declares the paths of it that can be read, and no others. */
#ifndef API_CUSTOM_DECLARED_H
#define API_CUSTOM_DECLARED_H

#include "api/model/object.h"

#define ANNOTATION_IMMUTABLE "annals.dev/immutable"

enum {
	DECLARED_PATHS_MAX = 32, /* of one definition: each update of an object compares them all */
	DECLARED_STEPS_MAX = 32, /* names in one path */
};

struct declared_path {
	struct str text; /* "spec.data" */
	struct str *steps;
	size_t n_steps;
};

struct declared {
	struct str text; /* the annotations as they are written, which tell one kind from another */
	struct declared_path *immutable;
	size_t n_immutable;
};

/* Everything in it lives in the arena. */
void declared_read(struct declared *ret, const struct object *definition, struct arena *a);
/* The annotations' texts, as declared_read() keeps them. */
struct str declared_text(const struct object *definition, struct arena *a);
/* Appends what is wrong with a definition's annotations. old: NULL on create; what was wrong before with the same text stays. */
void declared_validate(const struct object *definition, const struct object *old, struct field_errors *errors);

/* Gives each immutable field of the object that means the same as before its former spelling. was: the stored object's fields;
 * seen: these as the version shows them through which the object was sent. A field that this version does not show stays. */
void declared_keep(
	const struct declared *d, struct object *o, const struct json *was, const struct json *seen, struct arena *a);
/* Refuses an object whose immutable fields differ. */
void declared_check(const struct declared *d, const struct object *o, const struct object *old, struct field_errors *errors);

#endif
