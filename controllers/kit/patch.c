/* Patches name the uid, so that they can never meet another object that took over the name.
 * Those made from a version that was read name it too, and fail with 409 when it has changed.
 *
 * References are removed by strategic merge where the server has it, which leaves those that
 * others add meanwhile; kinds without a schema take merge patches only, which replace the whole
 * list. */
#include "controllers/kit/patch.h"

#define ARENA_MAX (64 * 1024 * 1024)

/* {"metadata": {...}}, begun with what the patch is for: exactly this object, or exactly this version of it. */
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

void gc_patch_unrefer(struct buf *out, struct str object_uid, const struct str *uids, size_t n)
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

void gc_patch_unrefer_merge(struct buf *out, struct str object_uid, const struct json *meta, const struct str *uids, size_t n)
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

void gc_patch_unblock(struct buf *out, const struct json *meta)
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

void gc_patch_unblock_merge(struct buf *out, const struct json *meta)
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

bool gc_patch_finalize(struct buf *out, const struct json *meta, const char *finalizer)
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
