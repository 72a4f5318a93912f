/* Reads metadata as informers show it, tolerant of anything: members of the wrong type count as
 * absent. A single malformed object must not stop a controller for all others. */
#include "controllers/kit/meta.h"

#include "api/model/members.h"

bool gc_meta_is_deleting(const struct json *meta)
{
	return json_is(json_gets(meta, "deletionTimestamp"), JSON_STRING);
}

bool gc_meta_has_finalizer(const struct json *meta, const char *finalizer)
{
	const struct json *all = json_gets(meta, "finalizers");

	for (size_t i = 0; json_is(all, JSON_ARRAY) && i < all->n; i++) {
		if (str_is(json_text(all->items[i]), finalizer)) {
			return true;
		}
	}
	return false;
}

const struct json *gc_meta_controller(const struct json *meta)
{
	const struct json *owners = json_gets(meta, "ownerReferences"), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (member_is_true(owner, "controller")) {
			return owner;
		}
	}
	return NULL;
}

struct json *gc_meta_controlled_by(const struct gc_ref *owner, struct arena *a)
{
	struct json *ref = json_object(a);

	json_add(a, ref, STR("apiVersion"), json_string(a, owner->api_version));
	json_add(a, ref, STR("kind"), json_string(a, owner->kind));
	json_add(a, ref, STR("name"), json_string(a, owner->name));
	json_add(a, ref, STR("uid"), json_string(a, owner->uid));
	json_add(a, ref, STR("controller"), json_bool(a, true));
	json_add(a, ref, STR("blockOwnerDeletion"), json_bool(a, true));
	return ref;
}

struct gc_ref gc_meta_owner(const struct json *owner, struct str ns)
{
	return (struct gc_ref){
		.api_version = member_text(owner, "apiVersion"),
		.kind = member_text(owner, "kind"),
		.ns = ns,
		.name = member_text(owner, "name"),
		.uid = member_text(owner, "uid"),
	};
}

struct gc_object gc_meta_object(const struct json *meta, struct str api_version, struct str kind, struct arena *a)
{
	const struct json *refs = json_gets(meta, "ownerReferences");
	size_t n = json_is(refs, JSON_ARRAY) ? refs->n : 0;
	struct gc_owner *owners = arena_array(a, struct gc_owner, n);
	struct gc_object o = {
		.ref = {api_version, kind, member_text(meta, "namespace"), member_text(meta, "name"), member_text(meta, "uid")},
		.owners = owners,
		.n_owners = n,
		.is_deleting = gc_meta_is_deleting(meta),
		.has_orphan_finalizer = gc_meta_has_finalizer(meta, GC_FINALIZER_ORPHAN),
		.has_foreground_finalizer = gc_meta_has_finalizer(meta, GC_FINALIZER_FOREGROUND),
	};

	for (size_t i = 0; i < n; i++) {
		const struct json *blocks = json_gets(refs->items[i], "blockOwnerDeletion");
		owners[i].ref = gc_meta_owner(refs->items[i], o.ref.ns);
		owners[i].blocks = json_is(blocks, JSON_BOOL) && blocks->boolean;
	}
	return o;
}

struct json *copy_or_empty(struct arena *a, const struct json *object)
{
	return json_is(object, JSON_OBJECT) ? json_copy(a, object) : json_object(a);
}
