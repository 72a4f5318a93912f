/* Decisions about ControllerRefs, as upstream's ClaimObject makes them. One difference: names
 * are read exactly, so web-01 never takes the place of web-1. */
#include "controllers/kit/ownership.h"
#include "api/model/members.h"
#include "controllers/kit/adoption.h"
#include "controllers/kit/meta.h"
#include "controllers/kit/patch.h"
#include "controllers/kit/route.h"

/* Bytes of a patch with one reference. */
enum { ARENA_MAX = 1 << 20 };

bool ownership_controller(const struct json *meta, struct owner_reference *ret)
{
	const struct json *ref = json_meta_controller(meta);

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
	return matches && !o->is_deleting && !json_meta_is_deleting(meta) ? CLAIM_ADOPTED : CLAIM_IGNORED;
}

struct json *ownership_reference(const struct owner *o, struct arena *a)
{
	const struct gc_ref ref = {.api_version = o->api_version, .kind = o->kind, .name = o->name, .uid = o->uid};
	return json_meta_controlled_by(&ref, a);
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
	meta_patch_unrefer(out, object_uid, &o->uid, 1);
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

/* ---- adoption ---- */

/* Both patches carry the object's uid, which the server checks. It also refuses a second
 * controller: the loser of a race gets 422, and finds the other's reference when it looks again. */

/* Bytes of a patch with one reference. */
enum { PATCH_MAX = 16 * 1024 };

static bool adoption_fail(struct adoption *a, struct str problem)
{
	a->problem = problem;
	return false;
}

static bool read_owner(struct adoption *a)
{
	_cleanup_(answer_done) struct answer answer;
	const struct owner *o = a->owner;

	answer_init(&answer);
	if (rest_get_metadata(a->client, a->owner_target, &answer)) {
		return adoption_fail(a, arena_dup(a->arena, answer.message));
	}
	const struct json *meta = json_gets(answer.body, "metadata");
	struct str uid = json_text(json_gets(meta, "uid"));
	a->owner_state = OWNER_LEAVES;
	if (!str_eq(uid, o->uid)) {
		return adoption_fail(a,
			arena_printf(a->arena,
				"original " STR_FMT " " STR_FMT "/" STR_FMT " is gone: got uid " STR_FMT ", wanted " STR_FMT,
				STR_ARG(o->kind), STR_ARG(o->ns), STR_ARG(o->name), STR_ARG(uid), STR_ARG(o->uid)));
	}
	struct str deleted = json_text(json_gets(meta, "deletionTimestamp"));
	if (deleted.n) {
		return adoption_fail(a,
			arena_printf(a->arena, STR_FMT "/" STR_FMT " has just been deleted at " STR_FMT, STR_ARG(o->ns),
				STR_ARG(o->name), STR_ARG(deleted)));
	}
	a->owner_state = OWNER_STAYS;
	return true;
}

static enum adoption_result patch(struct adoption *a, const struct target *object, struct str text, struct answer *answer)
{
	int error = rest_patch(a->client, object, PATCH_STRATEGIC, text, answer);
	if (error) {
		a->problem = arena_dup(a->arena, answer->message);
	}
	return error ? ADOPTION_FAILED : ADOPTION_DONE;
}

enum adoption_result adoption_take(struct adoption *a, const struct target *object, struct str uid, struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, PATCH_MAX);
	/* The owner's state is kept for this pass; a failed read is repeated. */
	if (a->owner_state == OWNER_LEAVES || (a->owner_state == OWNER_UNREAD && !read_owner(a))) {
		return ADOPTION_FAILED;
	}
	ownership_write_adoption(a->owner, uid, &text);
	enum adoption_result result = patch(a, object, buf_str(&text), answer);
	return result == ADOPTION_FAILED && answer_is_absent(answer, object) ? ADOPTION_GONE : result;
}

enum adoption_result adoption_let_go(struct adoption *a, const struct target *object, struct str uid, struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, PATCH_MAX);
	ownership_write_release(a->owner, uid, &text);
	enum adoption_result result = patch(a, object, buf_str(&text), answer);
	/* 409 and 422: another object has the name, or the object no longer has this reference. */
	bool is_gone = answer_is_absent(answer, object) || answer_is(answer, 409, NULL) || answer_is(answer, 422, NULL);
	return result == ADOPTION_FAILED && is_gone ? ADOPTION_GONE : result;
}

/* ---- whom an event wakes ---- */

/* Each function lists the owners that an event wakes. The deletion of an orphan wakes nobody: no
 * owner counted it. */
unsigned route_deleted(const struct json *meta)
{
	struct owner_reference controller;
	return ownership_controller(meta, &controller) ? ROUTE_OWNER : 0;
}

unsigned route_added(const struct json *meta)
{
	struct owner_reference controller;

	/* An object first seen while it is being deleted: an earlier process may have missed the
	 * deletion. */
	if (json_meta_is_deleting(meta)) {
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
