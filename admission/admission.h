/* Admission: an ordered chain of rules over a write. Rules are pure: no I/O, no waiting. They ask
 * the environment about other objects, and it answers from memory.
 *
 * A write is admitted in three steps. admission_mutate() may change the new object or refuse the
 * write outright (403, 404). Behind the webhooks, admission_complete() fills in what no manager
 * owns. When the object is in its final form, admission_validate() adds field errors to those of
 * metadata and kind. So one 422 names every cause. To add a rule, write it and its row in
 * admission/rules.c. */
#ifndef ADMISSION_ADMISSION_H
#define ADMISSION_ADMISSION_H

#include "api/model/delegates.h"

enum admission_operation {
	ADMIT_CREATE = 1 << 0,
	ADMIT_UPDATE = 1 << 1,
	ADMIT_DELETE = 1 << 2,
	ADMIT_CONNECT = 1 << 3,
};

/* Look-ups, which the server answers from its cache. The caller repeats a decision on fresh data
 * if a look-up led to a refusal. */
struct admission_environment {
	void *ctx;
	enum namespace_phase (*namespace_phase)(void *ctx, struct str name);
	/* Returns true when the object with this uid is known here and being deleted. */
	bool (*is_owner_deleting)(void *ctx, struct str ns, const struct owner_reference *owner);
};

struct admission_attributes {
	enum admission_operation operation;
	const struct kind *kind;
	const struct version *version;
	struct str subresource, ns, name;
	struct object *object;    /* the new version; NULL: delete */
	const struct object *old; /* NULL: create */
	struct str user;
	const struct str *groups;
	size_t n_groups;
	bool is_dry_run;
	const struct admission_environment *environment;
};

struct admission_hook {
	const char *name;
	unsigned operations;  /* of enum admission_operation */
	const char *resource; /* the hub resource that the rule is for; NULL: every kind */
	/* Returns 0, or 1 with the refusal in st. May change attributes->object. NULL: nothing
	 * to do in this step. */
	int (*mutate)(const struct admission_attributes *attributes, struct arena *a, struct status *st);
	/* Fills in fields that clients expect. NULL: nothing to do in this step. */
	void (*complete)(const struct admission_attributes *attributes, struct arena *a);
	/* Appends the field errors that it finds. NULL: nothing to do in this step. */
	void (*validate)(const struct admission_attributes *attributes, struct field_errors *errors);
};

/* Returns 0, or 1 with the first refusal in st. */
int admission_mutate(const struct admission_attributes *attributes, struct arena *a, struct status *st);
/* For a creation, or an update through the resource itself. */
void admission_complete(const struct admission_attributes *attributes, struct arena *a);
void admission_validate(const struct admission_attributes *attributes, struct field_errors *errors);
/* The needs of a valid object (struct kind): appends an error for each field that names resources
 * of which none is served here and can be watched. For servers on their own. */
void admission_validate_needs(const struct need *needs, size_t n, struct field_errors *errors);

#endif
