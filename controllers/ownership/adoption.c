/* Both patches carry the object's uid. The server checks it, and that no second controller comes in: the loser of a race is told so by
 * 422 and finds another's reference when it looks again. */
#include "controllers/ownership/adoption.h"

enum { PATCH_MAX = 16 * 1024 };

static bool fail(struct adoption *a, struct str problem)
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
		return fail(a, arena_dup(a->arena, answer.message));
	}
	const struct json *meta = json_gets(answer.body, "metadata");
	struct str uid = json_text(json_gets(meta, "uid"));
	a->owner_state = OWNER_LEAVES;
	if (!str_eq(uid, o->uid)) {
		return fail(a, arena_printf(a->arena, "original " STR_FMT " " STR_FMT "/" STR_FMT " is gone: got uid " STR_FMT ", wanted " STR_FMT,
			STR_ARG(o->kind), STR_ARG(o->ns), STR_ARG(o->name), STR_ARG(uid), STR_ARG(o->uid)));
	}
	struct str deleted = json_text(json_gets(meta, "deletionTimestamp"));
	if (deleted.n) {
		return fail(a, arena_printf(a->arena, STR_FMT "/" STR_FMT " has just been deleted at " STR_FMT, STR_ARG(o->ns),
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
	/* What was found stays found for this pass; what could not be read is asked again. */
	if (a->owner_state == OWNER_LEAVES || (a->owner_state == OWNER_UNREAD && !read_owner(a))) {
		return ADOPTION_FAILED;
	}
	ownership_write_adoption(a->owner, uid, &text);
	enum adoption_result result = patch(a, object, buf_str(&text), answer);
	return result == ADOPTION_FAILED && answer_is(answer, 404, NULL) ? ADOPTION_GONE : result;
}

enum adoption_result adoption_let_go(struct adoption *a, const struct target *object, struct str uid, struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, PATCH_MAX);
	ownership_write_release(a->owner, uid, &text);
	enum adoption_result result = patch(a, object, buf_str(&text), answer);
	/* 409 and 422: another object of that name, or one that has no such reference any more. */
	bool is_gone = answer_is(answer, 404, NULL) || answer_is(answer, 409, NULL) || answer_is(answer, 422, NULL);
	return result == ADOPTION_FAILED && is_gone ? ADOPTION_GONE : result;
}
