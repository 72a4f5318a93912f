/* The entries of metadata.managedFields, decoded: private to managed.c and managed_apply.c. */
#ifndef API_PATCH_MANAGERS_H
#define API_PATCH_MANAGERS_H

#include "api/model/kind.h"
#include "api/patch/typed.h"

struct manager {
	struct str name, api_version, subresource;
	struct str time; /* RFC 3339; empty: unknown */
	bool is_apply;
	struct field_set *set;
};

/* The entries of managedFields: one for each name, operation, subresource and, for updates, API
 * version. */
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
/* Finds the entry of that manager, operation, version and subresource, or adds one. */
struct manager *managers_want(struct managers *m, const struct manager *like);

/* The change that a write makes, as one version shows it. */
struct version_change {
	bool is_known;
	struct field_set *changed; /* modified or added */
	struct field_set *removed;
};

/* A write seen by ownership: the whole object at one version, before and after. */
struct transition {
	const struct kind *kind;
	const struct version *version;
	struct json *before, *after;
	const char *const *reset_fields; /* not owned by those who write this way; NULL-terminated or NULL */
	struct arena *arena;
	struct version_change *by_version; /* private: made when first asked for */
};

void transition_init(struct transition *t, const struct kind *kind, const struct version *version, struct str subresource,
	struct json *before, struct json *after, struct arena *a);
/* Converts an object from one version's form to another's. */
struct json *version_convert(const struct version *from, const struct version *to, struct json *j, struct arena *a);
/* Likewise, for an object that was made from `base`, which has the form of `to`. Values that `from`
 * cannot express come from `base`. */
struct json *version_convert_onto(
	const struct version *from, const struct version *to, struct json *j, const struct json *base, struct arena *a);
/* A new object with nothing set. */
struct json *version_empty_object(const struct kind *kind, const struct version *version, struct arena *a);

/* Returns, parallel to m->v, the fields of each entry that the write changes or adds. `except` (may be
 * NULL) has no conflicts. */
struct field_set **managers_conflicts(struct managers *m, struct transition *t, const struct manager *except, bool *ret_any);
/* Takes conflicting and removed fields from all entries but `except`; drops entries of API versions that are gone, and empty ones. */
void managers_yield(struct managers *m, struct transition *t, struct field_set *const *conflicts, const struct manager *except);
/* An update by `self`: it owns what it changes and adds. */
void managers_update(struct managers *m, struct transition *t, const struct manager *self);

#endif
