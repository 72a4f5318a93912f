/* Reads metadata as informers show it, and tolerates anything: members of the wrong type count
 * as absent. A single malformed object must not stop a controller for all others. */
#include "controllers/kit/meta.h"
#include "api/model/members.h"
#include "controllers/kit/patch.h"
#include "controllers/kit/ref.h"

bool json_meta_is_deleting(const struct json *meta)
{
	return json_is(json_gets(meta, "deletionTimestamp"), JSON_STRING);
}

bool json_meta_has_finalizer(const struct json *meta, const char *finalizer)
{
	const struct json *all = json_gets(meta, "finalizers");

	for (size_t i = 0; json_is(all, JSON_ARRAY) && i < all->n; i++) {
		if (str_is(json_text(all->items[i]), finalizer)) {
			return true;
		}
	}
	return false;
}

const struct json *json_meta_controller(const struct json *meta)
{
	const struct json *owners = json_gets(meta, "ownerReferences"), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (member_is_true(owner, "controller")) {
			return owner;
		}
	}
	return NULL;
}

struct json *json_meta_controlled_by(const struct gc_ref *owner, struct arena *a)
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

struct gc_ref json_meta_owner(const struct json *owner, struct str ns)
{
	return (struct gc_ref){
		.api_version = member_text(owner, "apiVersion"),
		.kind = member_text(owner, "kind"),
		.ns = ns,
		.name = member_text(owner, "name"),
		.uid = member_text(owner, "uid"),
	};
}

struct gc_object gc_object_read(const struct json *meta, struct str api_version, struct str kind, struct arena *a)
{
	const struct json *refs = json_gets(meta, "ownerReferences");
	size_t n = json_is(refs, JSON_ARRAY) ? refs->n : 0;
	struct gc_owner *owners = arena_array(a, struct gc_owner, n);
	struct gc_object o = {
		.ref = {api_version, kind, member_text(meta, "namespace"), member_text(meta, "name"), member_text(meta, "uid")},
		.owners = owners,
		.n_owners = n,
		.is_deleting = json_meta_is_deleting(meta),
		.has_orphan_finalizer = json_meta_has_finalizer(meta, GC_FINALIZER_ORPHAN),
		.has_foreground_finalizer = json_meta_has_finalizer(meta, GC_FINALIZER_FOREGROUND),
	};

	for (size_t i = 0; i < n; i++) {
		const struct json *blocks = json_gets(refs->items[i], "blockOwnerDeletion");
		owners[i].ref = json_meta_owner(refs->items[i], o.ref.ns);
		owners[i].blocks = json_is(blocks, JSON_BOOL) && blocks->boolean;
	}
	return o;
}

struct json *json_copy_or_empty(struct arena *a, const struct json *object)
{
	return json_is(object, JSON_OBJECT) ? json_copy(a, object) : json_object(a);
}

/* ---- references ---- */

bool gc_ref_eq_coordinates(const struct gc_ref *a, const struct gc_ref *b)
{
	return str_eq(a->uid, b->uid) && str_eq(a->name, b->name) && str_eq(a->kind, b->kind) &&
		str_eq(a->api_version, b->api_version);
}

bool gc_ref_eq(const struct gc_ref *a, const struct gc_ref *b)
{
	return str_eq(a->ns, b->ns) && gc_ref_eq_coordinates(a, b);
}

int gc_ref_cmp(const struct gc_ref *a, const struct gc_ref *b)
{
	const struct str left[] = {a->kind, a->api_version, a->ns, a->name, a->uid};
	const struct str right[] = {b->kind, b->api_version, b->ns, b->name, b->uid};

	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		int order = str_cmp(left[i], right[i]);
		if (order) {
			return order;
		}
	}
	return 0;
}

struct gc_ref gc_ref_dup(const struct gc_ref *r, struct arena *a)
{
	return (struct gc_ref){
		.api_version = arena_dup(a, r->api_version),
		.kind = arena_dup(a, r->kind),
		.ns = arena_dup(a, r->ns),
		.name = arena_dup(a, r->name),
		.uid = arena_dup(a, r->uid),
	};
}

void gc_ref_key(const struct gc_ref *r, uint8_t out[SHA256_SIZE])
{
	const struct str parts[] = {r->api_version, r->kind, r->ns, r->name, r->uid};

	sha256_of_parts(parts, ARRAY_SIZE(parts), out);
}

/* ---- patches ---- */

/* Patches name the uid, so they cannot change another object that took over the name. A patch
 * made from a read version names that version too, and fails with 409 if the object has changed.
 *
 * Strategic merge removes references where the server has it, and leaves those that others add
 * meanwhile. Kinds without a schema take merge patches only, which replace the whole list. */
#define ARENA_MAX (64 * 1024 * 1024) /* bytes of the patch of one object: etcd takes 1.5 MiB */

/* {"metadata": {...}}, beginning with its precondition: exactly this object, or exactly this
 * version of it. */
struct patch {
	struct arena a;
	struct json *root, *meta;
};

static void patch_init(struct patch *p, struct str uid)
{
	arena_init(&p->a, ARENA_MAX);
	p->root = json_object(&p->a);
	p->meta = json_object(&p->a);
	json_add(&p->a, p->root, STR("metadata"), p->meta);
	json_add(&p->a, p->meta, STR("uid"), json_string(&p->a, uid));
}

static void patch_init_for(struct patch *p, struct str uid, const struct json *meta)
{
	patch_init(p, uid);
	json_add(&p->a, p->meta, STR("resourceVersion"), json_gets(meta, "resourceVersion"));
}

static void patch_finish(struct patch *p, struct buf *out)
{
	json_encode(out, p->root);
	arena_done(&p->a);
}

static bool is_among(struct str uid, const struct str *uids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(uids[i], uid)) {
			return true;
		}
	}
	return false;
}

static struct str uid_of(const struct json *ref)
{
	return json_text(json_gets(ref, "uid"));
}

static bool blocks(const struct json *ref)
{
	const struct json *b = json_gets(ref, "blockOwnerDeletion");
	return json_is(b, JSON_BOOL) && b->boolean;
}

static size_t n_items(const struct json *array)
{
	return json_is(array, JSON_ARRAY) ? array->n : 0;
}

void meta_patch_unrefer(struct buf *out, struct str object_uid, const struct str *uids, size_t n)
{
	struct patch p;
	struct json *refs;

	patch_init(&p, object_uid);
	refs = json_array(&p.a);
	json_add(&p.a, p.meta, STR("ownerReferences"), refs);
	for (size_t i = 0; i < n; i++) {
		struct json *ref = json_object(&p.a);
		json_add(&p.a, ref, STR("$patch"), json_string(&p.a, STR("delete")));
		json_add(&p.a, ref, STR("uid"), json_string(&p.a, uids[i]));
		json_append(&p.a, refs, ref);
	}
	patch_finish(&p, out);
}

void meta_patch_unrefer_merge(struct buf *out, struct str object_uid, const struct json *meta, const struct str *uids, size_t n)
{
	const struct json *old = json_gets(meta, "ownerReferences");
	struct patch p;
	struct json *refs;

	patch_init_for(&p, object_uid, meta);
	refs = json_array(&p.a);
	for (size_t i = 0; i < n_items(old); i++) {
		if (!is_among(uid_of(old->items[i]), uids, n)) {
			json_append(&p.a, refs, old->items[i]);
		}
	}
	json_add(&p.a, p.meta, STR("ownerReferences"), refs->n > 0 ? refs : json_null(&p.a));
	patch_finish(&p, out);
}

void meta_patch_unblock(struct buf *out, const struct json *meta)
{
	const struct json *old = json_gets(meta, "ownerReferences");
	struct patch p;
	struct json *refs;

	patch_init_for(&p, uid_of(meta), meta);
	refs = json_array(&p.a);
	json_add(&p.a, p.meta, STR("ownerReferences"), refs);
	for (size_t i = 0; i < n_items(old); i++) {
		if (blocks(old->items[i])) {
			struct json *ref = json_object(&p.a);
			json_add(&p.a, ref, STR("uid"), json_string(&p.a, uid_of(old->items[i])));
			json_add(&p.a, ref, STR("blockOwnerDeletion"), json_bool(&p.a, false));
			json_append(&p.a, refs, ref);
		}
	}
	patch_finish(&p, out);
}

void meta_patch_unblock_merge(struct buf *out, const struct json *meta)
{
	const struct json *old = json_gets(meta, "ownerReferences");
	struct patch p;
	struct json *refs;

	patch_init_for(&p, uid_of(meta), meta);
	refs = json_array(&p.a);
	json_add(&p.a, p.meta, STR("ownerReferences"), refs);
	for (size_t i = 0; i < n_items(old); i++) {
		struct json *ref = json_copy(&p.a, old->items[i]);
		if (blocks(ref)) {
			json_set(&p.a, ref, STR("blockOwnerDeletion"), json_bool(&p.a, false));
		}
		json_append(&p.a, refs, ref);
	}
	patch_finish(&p, out);
}

bool meta_patch_finalize(struct buf *out, const struct json *meta, const char *finalizer)
{
	const struct json *old = json_gets(meta, "finalizers");
	struct patch p;
	struct json *left;

	patch_init_for(&p, uid_of(meta), meta);
	left = json_array(&p.a);
	for (size_t i = 0; i < n_items(old); i++) {
		if (!str_is(json_text(old->items[i]), finalizer)) {
			json_append(&p.a, left, old->items[i]);
		}
	}
	if (left->n == n_items(old)) {
		arena_done(&p.a);
		return false;
	}
	json_add(&p.a, p.meta, STR("finalizers"), left->n > 0 ? left : json_null(&p.a));
	patch_finish(&p, out);
	return true;
}
