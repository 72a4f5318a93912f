/* A world for admission's unit tests: one namespace phase for all, one owner that is being deleted. */
#ifndef TESTS_UNIT_ADMISSION_WORLD_H
#define TESTS_UNIT_ADMISSION_WORLD_H

#include "admission/admission.h"
#include "tests/unit/tree.h"

struct world {
	enum namespace_phase phase;
	const char *deleting_uid;
	unsigned n_lookups;
};

struct write {
	struct world world;
	struct admission_environment environment;
	struct admission_attributes attributes;
	struct field_errors errors;
	struct status st;
};

static enum namespace_phase world_phase(void *ctx, struct str name _unused_)
{
	struct world *w = ctx;
	w->n_lookups++;
	return w->phase;
}

static bool world_is_deleting(void *ctx, struct str ns _unused_, const struct owner_reference *owner)
{
	struct world *w = ctx;
	w->n_lookups++;
	return w->deleting_uid && str_is(owner->uid, w->deleting_uid);
}

/* A write through group/version; bodies may be NULL. */
static _unused_ void write_init(
	struct write *w, enum admission_operation operation, const char *group, const char *version, const char *resource)
{
	*w = (struct write){.world.phase = NAMESPACE_ACTIVE};
	w->environment = (struct admission_environment){&w->world, world_phase, world_is_deleting};
	w->attributes =
		(struct admission_attributes){.operation = operation, .ns = STR("default"), .environment = &w->environment};
	w->attributes.kind = kind_by_resource(str_of(group), str_of(version), str_of(resource), true, &w->attributes.version);
	assert_non_null(w->attributes.kind);
	status_init(&w->st, &arena);
	field_errors_init(&w->errors, &arena);
}

static _unused_ struct object *write_decode(const struct write *w, const char *text)
{
	struct object *o;
	struct str reason;
	const struct admission_attributes *at = &w->attributes;
	if (object_decode(&o, at->kind, at->version, parse(text), NULL, &arena, NULL, &reason)) {
		fail_msg("%s: " STR_FMT, text, STR_ARG(reason));
	}
	return o;
}

/* Both steps, as the server takes them: the first refusal, or else the 422. */
static _unused_ int write_admit(struct write *w)
{
	const struct admission_attributes *at = &w->attributes;
	if (admission_mutate(at, &arena, &w->st)) {
		return 1;
	}
	admission_validate(at, &w->errors);
	if (w->errors.n == 0) {
		return 0;
	}
	status_invalid(&w->st, str_of(at->version->group), str_of(at->kind->kind), at->name, &w->errors);
	return 1;
}

#endif
