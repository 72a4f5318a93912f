#include "server/revisions/snapshot_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/check_arena.h"
#include "tests/unit/transcript.h"

#include <stdlib.h>

static struct snapshot_past past(const char *name, const char *digest, int64_t number)
{
	return (struct snapshot_past){
		.name = str_of(name), .digest = str_of(digest), .number = number, .create_revision = number};
}

/* ---- transcripts/snapshot_plan.txt ----
 *
 *     history b=y/5 a=x/2        a's state is x, and its number 2. Behind it: "@9" is its birth, where that is another number;
 *                                "live", "going"
 *     snapshot x limit 10        what comes of the state x; the history stays as it is */

enum { PAST_MAX = 16 };

struct stage {
	struct arena arena;
	struct snapshot_past past[PAST_MAX];
	size_t n;
};

static void *stage_begin(void)
{
	struct stage *s = mem_new(struct stage);
	arena_init(&s->arena, 1 << 20);
	return s;
}

static void stage_end(void *ctx)
{
	struct stage *s = ctx;
	arena_done(&s->arena);
	mem_free(s);
}

static void stage_read_past(struct stage *s, struct str word)
{
	struct str name, rest, digest, number, birth;
	struct snapshot_past *last = s->n > 0 ? &s->past[s->n - 1] : NULL;
	if (str_is(word, "live") || str_is(word, "going")) {
		assert_non_null(last);
		*(str_is(word, "live") ? &last->is_live : &last->is_deleting) = true;
		return;
	}
	assert_true(s->n < PAST_MAX && str_cut(word, '=', &name, &rest) && str_cut(rest, '/', &digest, &rest));
	bool has_birth = str_cut(rest, '@', &number, &birth);
	struct snapshot_past *one = &s->past[s->n++];
	*one = (struct snapshot_past){.name = arena_dup(&s->arena, name), .digest = arena_dup(&s->arena, digest)};
	assert_true(str_is(number, "last") || str_to_int64(number, &one->number));
	one->number = str_is(number, "last") ? INT64_MAX : one->number;
	one->create_revision = one->number;
	assert_true(!has_birth || str_to_int64(birth, &one->create_revision));
}

static void stage_snapshot(struct stage *s, struct str *rest, struct buf *out)
{
	static const char *const refusals[] = {
		[SNAPSHOT_IS_GOING] = "is going", [SNAPSHOT_NO_NUMBER] = "there is no higher number"};
	struct str digest = transcript_word(rest);
	struct snapshot_past copy[PAST_MAX];
	struct snapshot_plan p;
	int64_t limit;
	assert_true(str_is(transcript_word(rest), "limit") && str_to_int64(transcript_word(rest), &limit));
	memcpy(copy, s->past, sizeof(copy));
	int refusal = snapshot_plan(&p, copy, s->n, digest, (size_t)limit, NULL, &s->arena);
	if (refusal) {
		buf_printf(out, "refused: " STR_FMT "%s%s\n", STR_ARG(refusal == SNAPSHOT_IS_GOING ? p.target->name : STR("")),
			refusal == SNAPSHOT_IS_GOING ? " " : "", refusals[refusal]);
		return;
	}
	buf_printf(out, "%s: ", snapshot_result_name(p.result));
	buf_add_str(out, p.target ? p.target->name : STR("a new one"));
	buf_printf(out, p.number == INT64_MAX ? " has the last number\n" : " has number %lld\n", (long long)p.number);
	buf_adds(out, p.n_trimmed ? "  trimmed:" : "");
	for (size_t i = 0; i < p.n_trimmed; i++) {
		buf_printf(out, " " STR_FMT, STR_ARG(p.trimmed[i]->name));
	}
	buf_adds(out, p.n_trimmed ? "\n" : "");
}

static void stage_step(void *ctx, struct str input, struct buf *out)
{
	struct stage *s = ctx;
	struct str rest = input, verb = transcript_word(&rest);
	if (str_is(verb, "snapshot")) {
		stage_snapshot(s, &rest, out);
		return;
	}
	assert_true(str_is(verb, "history"));
	s->n = 0;
	for (struct str word; (word = transcript_word(&rest)).n > 0;) {
		stage_read_past(s, word);
	}
}

/* ---- a history that goes through many snapshots ---- */

enum { LENGTH_MAX = 64, STATES = 12, ROUNDS = 20000 };

struct life {
	struct snapshot_past past[LENGTH_MAX];
	size_t n;
	int64_t clock;
};

static const char *const digests[STATES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};

static bool is_trimmed(const struct snapshot_plan *p, const struct snapshot_past *one)
{
	for (size_t i = 0; i < p->n_trimmed; i++) {
		if (p->trimmed[i] == one) {
			return true;
		}
	}
	return false;
}

/* Of those that can be trimmed, none that stays is older than one that goes. */
static void check_trimmed(const struct snapshot_plan *p, const struct life *l, size_t limit)
{
	size_t n_idle = 0;
	bool has_kept = false;
	for (size_t i = 0; i < l->n; i++) {
		const struct snapshot_past *one = &l->past[i];
		bool goes = is_trimmed(p, one), is_idle = !one->is_live && one != p->target;
		assert_true(is_idle || !goes);
		assert_false(goes && has_kept);
		has_kept = has_kept || (is_idle && !goes);
		n_idle += is_idle && !goes;
	}
	assert_true(n_idle <= limit);
	assert_true(p->n_trimmed == 0 || n_idle == limit);
}

static void check_numbers(const struct snapshot_plan *p, const struct life *l)
{
	if (p->result == SNAPSHOT_UNCHANGED) {
		assert_ptr_equal(p->target, &l->past[l->n - 1]);
	} else {
		assert_true(p->number > (l->n > 0 ? l->past[l->n - 1].number : 0));
	}
}

static void carry_out(struct life *l, const struct snapshot_plan *p, const char *digest)
{
	struct life after = {.clock = l->clock};
	for (size_t i = 0; i < l->n; i++) {
		if (!is_trimmed(p, &l->past[i])) {
			after.past[after.n] = l->past[i];
			after.past[after.n++].number = p->target == &l->past[i] ? p->number : l->past[i].number;
		}
	}
	if (p->result == SNAPSHOT_CREATED) {
		after.past[after.n] = past(digest, digest, p->number);
		after.past[after.n++].create_revision = ++after.clock;
	}
	*l = after;
}

static void check_states_are_apart(const struct life *l)
{
	for (size_t i = 0; i < l->n; i++) {
		for (size_t j = 0; j < i; j++) {
			assert_false(str_eq(l->past[i].digest, l->past[j].digest));
			assert_int_not_equal(l->past[i].number, l->past[j].number);
		}
	}
}

/* seeds: H6 H21 H32 */
static void test_plan__keeps_order_limits_and_what_is_live_through_any_life(void **state)
{
	struct life l = {0};
	unsigned dice = 7;
	for (int round = 0; round < ROUNDS; round++) {
		const char *digest = digests[(unsigned)rand_r(&dice) % STATES];
		size_t limit = (unsigned)rand_r(&dice) % 6;
		struct snapshot_plan p;
		for (size_t i = 0; i < l.n; i++) {
			l.past[i].is_live = rand_r(&dice) % 4 == 0;
		}
		assert_int_equal(snapshot_plan(&p, l.past, l.n, str_of(digest), limit, NULL, *state), 0);
		check_numbers(&p, &l);
		check_trimmed(&p, &l, limit);
		carry_out(&l, &p, digest);
		check_states_are_apart(&l);
		arena_clear(*state);
	}
}

#define ARENA_TEST(f) cmocka_unit_test_setup_teardown(f, start_arena, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARENA_TEST(test_plan__keeps_order_limits_and_what_is_live_through_any_life),
	};
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	return n_failed + transcript_run(&(struct transcript){TRANSCRIPT, stage_begin, stage_step, stage_end});
}
