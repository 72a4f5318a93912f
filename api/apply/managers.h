/* The entries of metadata.managedFields, decoded: private to managed.c and managed_apply.c. */
#ifndef API_APPLY_MANAGERS_H
#define API_APPLY_MANAGERS_H

#include "api/apply/typed.h"
#include "api/model/kind.h"

struct manager {
	struct str name, api_version, subresource;
	struct str time; /* RFC 3339; empty: unknown */
	bool is_apply;
	struct field_set *set;
};

/* One entry for each name, operation, subresource and, of updates, API version. */
struct managers {
	struct arena *arena;
	struct manager *v;
	size_t n, cap;
};

void managers_init(struct managers *m, struct arena *a);
/* False when an entry is not what the server would have written; m is then empty. in may be NULL. */
bool managers_decode(struct managers *m, const struct json *in, struct arena *a);
/* NULL when there are none. Sorted the way clients expect: Apply before Update, then by time and name. */
struct json *managers_encode(struct managers *m);
struct manager *managers_find(struct managers *m, const struct manager *like);
/* The entry like this one, made when there is none. */
struct manager *managers_want(struct managers *m, const struct manager *like);
/* One more, to be filled in. */
struct manager *managers_append(struct managers *m);
void managers_drop_empty(struct managers *m);
/* At most ten entries of updates: the oldest are put together under the name of ancient-changes, by API version. */
void managers_cap(struct managers *m);

/* What changed as one door shows it. */
struct door_change {
	bool is_known;
	struct field_set *changed; /* modified or added */
	struct field_set *removed;
};

/* A write seen by ownership: the whole object at one door, before and after. */
struct transition {
	const struct kind *kind;
	const struct door *door;
	struct json *before, *after;
	const char *const *reset_fields; /* not owned by those who write this way; NULL-terminated or NULL */
	struct arena *arena;
	struct door_change *by_door; /* private: made when first asked for */
};

void transition_init(struct transition *t, const struct kind *kind, const struct door *door, struct str subresource,
	struct json *before, struct json *after, struct arena *a);
const struct door_change *transition_at(struct transition *t, const struct door *door);
/* One door's form of an object as another shows it. */
struct json *door_convert(const struct door *from, const struct door *to, struct json *j, struct arena *a);
/* Likewise of what was made from `base`, in the form of `to`: what `from` cannot say is as it is there. */
struct json *door_convert_onto(
	const struct door *from, const struct door *to, struct json *j, const struct json *base, struct arena *a);
/* A new object with nothing set. */
struct json *door_empty_object(const struct kind *kind, const struct door *door, struct arena *a);

/* For each entry the fields of it that the write changes or adds, parallel to m->v; `except` (may be NULL) conflicts with nobody. */
struct field_set **managers_conflicts(struct managers *m, struct transition *t, const struct manager *except, bool *ret_any);
/* Takes conflicting and removed fields from all entries but `except`; drops entries of API versions that are gone, and empty ones. */
void managers_yield(struct managers *m, struct transition *t, struct field_set *const *conflicts, const struct manager *except);
/* An update by `self`: it owns what it changes and adds. */
void managers_update(struct managers *m, struct transition *t, const struct manager *self);

#endif
