/* Decisions about ControllerRefs. What upstream's ClaimObject decides, with one difference: names are read exactly, so that web-01
 * never stands where web-1 belongs. */
#include "controllers/ownership/ownership.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"
#include "controllers/kit/patch.h"

enum { ARENA_MAX = 1 << 20 };

bool ownership_controller(const struct json *meta, struct owner_reference *ret)
{
	const struct json *ref = gc_meta_controller(meta);

	if (ref) {
		*ret = (struct owner_reference){
			.api_version = member_text(ref, "apiVersion"),
			.kind = member_text(ref, "kind"),
			.name = member_text(ref, "name"),
			.uid = member_text(ref, "uid"),
			.is_controller = true,
			.blocks_deletion = member_is_true(ref, "blockOwnerDeletion"),
		};
	}
	return ref != NULL;
}

bool ownership_is_ours(const struct owner *o, const struct json *meta)
{
	struct owner_reference controller;
	return ownership_controller(meta, &controller) && str_eq(controller.uid, o->uid);
}

enum claim ownership_claim(const struct owner *o, const struct json *meta, bool matches)
{
	struct owner_reference controller;

	if (ownership_controller(meta, &controller)) {
		if (!str_eq(controller.uid, o->uid)) {
			return CLAIM_IGNORED;
		}
		return matches || o->is_deleting ? CLAIM_KEPT : CLAIM_RELEASED;
	}
	return matches && !o->is_deleting && !gc_meta_is_deleting(meta) ? CLAIM_ADOPTED : CLAIM_IGNORED;
}

struct json *ownership_reference(const struct owner *o, struct arena *a)
{
	const struct gc_ref ref = {.api_version = o->api_version, .kind = o->kind, .name = o->name, .uid = o->uid};
	return gc_meta_controlled_by(&ref, a);
}

void ownership_write_adoption(const struct owner *o, struct str object_uid, struct buf *out)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, ARENA_MAX);
	struct json *patch = json_object(&a), *meta = json_object(&a), *refs = json_array(&a);

	json_add(&a, patch, STR("metadata"), meta);
	json_add(&a, meta, STR("uid"), json_string(&a, object_uid));
	json_add(&a, meta, STR("ownerReferences"), refs);
	json_append(&a, refs, ownership_reference(o, &a));
	json_encode(out, patch);
}

void ownership_write_release(const struct owner *o, struct str object_uid, struct buf *out)
{
	gc_patch_unrefer(out, object_uid, &o->uid, 1);
}

int64_t ownership_ordinal(struct str set, struct str name)
{
	int64_t ordinal;

	if (name.n <= set.n + 1 || !str_starts(name, set) || name.p[set.n] != '-') {
		return -1;
	}
	struct str digits = {name.p + set.n + 1, name.n - set.n - 1};
	for (size_t i = 0; i < digits.n; i++) {
		if (digits.p[i] < '0' || digits.p[i] > '9') {
			return -1;
		}
	}
	bool is_exact = digits.p[0] != '0' || digits.n == 1;
	return is_exact && str_to_int64(digits, &ordinal) && ordinal <= INT32_MAX ? ordinal : -1;
}
