/* Admission: an ordered chain of rules over a write, each in a file of its own. Pure decisions: no I/O, no waiting; what a
 * rule must know about the rest of the world it asks of the environment, which answers from memory.
 *
 * A write is admitted in two steps, as in kube-apiserver: admission_mutate() may change the new object or refuse the write
 * outright (403, 404); later, when the object is in its final form, admission_validate() adds field errors to those of
 * metadata and kind, so that one 422 names every cause. To add a rule, write its file and a row in admission/chain.c. */
#ifndef ADMISSION_ADMISSION_H
#define ADMISSION_ADMISSION_H

#include "api/model/delegates.h"

enum admission_operation {
	ADMIT_CREATE = 1 << 0,
	ADMIT_UPDATE = 1 << 1,
	ADMIT_DELETE = 1 << 2,
	ADMIT_CONNECT = 1 << 3,
};

/* Look-ups, answered by the server from its cache. A refusal that rests on one is decided again on fresh data by the caller. */
struct admission_environment {
	void *ctx;
	enum namespace_phase (*namespace_phase)(void *ctx, struct str name);
	/* Is the object with this uid known here, and being deleted? */
	bool (*is_owner_deleting)(void *ctx, struct str ns, const struct owner_reference *owner);
};

struct admission_attributes {
	enum admission_operation operation;
	const struct kind *kind;
	const struct door *door;
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
	const char *resource; /* hub resource it is about; NULL: every kind */
	/* 0; or 1 with st. May change attributes->object. NULL: nothing to do in this step. */
	int (*mutate)(const struct admission_attributes *attributes, struct arena *a, struct status *st);
	/* Adds what is wrong. NULL: nothing to do in this step. */
	void (*validate)(const struct admission_attributes *attributes, struct field_errors *errors);
};

/* 0; or 1 with the first refusal in st. */
int admission_mutate(const struct admission_attributes *attributes, struct arena *a, struct status *st);
void admission_validate(const struct admission_attributes *attributes, struct field_errors *errors);

#endif
