/* One row of seed 001's "Watches" after the other. Deletions of orphans wake nobody: nobody counted them. */
#include "controllers/ownership/route.h"

#include "controllers/kit/meta.h"

unsigned route_deleted(const struct json *meta)
{
	struct owner_reference controller;
	return ownership_controller(meta, &controller) ? ROUTE_OWNER : 0;
}

unsigned route_added(const struct json *meta)
{
	struct owner_reference controller;

	/* One that is going when it is first seen: its deletion was missed by an earlier process. */
	if (gc_meta_is_deleting(meta)) {
		return route_deleted(meta);
	}
	return ownership_controller(meta, &controller) ? ROUTE_OWNER : ROUTE_MATCHING;
}

unsigned route_updated(const struct json *old_meta, const struct json *meta)
{
	struct owner_reference old = {0}, now = {0};
	bool had = ownership_controller(old_meta, &old), has = ownership_controller(meta, &now);
	bool is_changed = had != has || !str_eq(old.uid, now.uid) || !str_eq(old.name, now.name) || !str_eq(old.kind, now.kind);
	unsigned to = had && is_changed ? ROUTE_OLD_OWNER : 0;

	if (has) {
		return to | ROUTE_OWNER;
	}
	bool may_match = is_changed || !json_equal(json_gets(old_meta, "labels"), json_gets(meta, "labels"));
	return to | (may_match ? ROUTE_MATCHING : 0);
}

bool route_is_owner(const struct owner_reference *ref, const struct owner *o)
{
	return str_eq(ref->kind, o->kind) && str_eq(ref->name, o->name) && str_eq(ref->uid, o->uid);
}
