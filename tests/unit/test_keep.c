#include "api/diff/keep.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "tests/unit/check.h"
#include "tests/unit/check_arena.h"
#include "tests/unit/transcript.h"

#include <stdlib.h>

/* ---- transcripts/keep.txt ----
 *
 *     states admin@01T10 eve@01T12/500!     states, the oldest first: user@day of January 2026 and hour, bytes, "!" if fixed. The
 *                                           last one is current
 *     flood 60 eve@02T00                    adds states of one user, one a minute, and the current one is the last of them
 *     keep {"atMost":3} at 09T00            which go by these rules at that time */

enum { STATES_MAX = 256, JANUARY_2026_S = 1767225600, DAY_S = 86400 };

struct stage {
	struct arena arena;
	struct keep_state v[STATES_MAX];
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

static int64_t read_time(struct str word)
{
	struct str day, hour;
	int64_t d, h;
	assert_true(str_cut(word, 'T', &day, &hour) && str_to_int64(day, &d) && str_to_int64(hour, &h));
	return JANUARY_2026_S + (d - 1) * DAY_S + h * 3600;
}

static struct keep_state *add_state(struct stage *s, struct str word)
{
	struct str user, rest, time, bytes;
	int64_t n = 100;
	assert_true(s->n < STATES_MAX && str_cut(word, '@', &user, &rest));
	bool is_fixed = str_ends(rest, STR("!"));
	rest.n -= is_fixed;
	bool has_bytes = str_cut(rest, '/', &time, &bytes);
	assert_true(!has_bytes || str_to_int64(bytes, &n));
	s->v[s->n] = (struct keep_state){
		.user = arena_dup(&s->arena, user), .time_s = read_time(time), .bytes = (size_t)n, .is_fixed = is_fixed};
	return &s->v[s->n++];
}

static void print_state(const struct stage *s, size_t i, struct buf *out)
{
	const struct keep_state *one = &s->v[i];
	int64_t at = one->time_s - JANUARY_2026_S;
	buf_printf(out, " %zu:" STR_FMT "@%02d", i + 1, STR_ARG(one->user), (int)(at / DAY_S) + 1);
}

static void stage_keep(struct stage *s, struct str rest, struct buf *out)
{
	struct keep_rules rules;
	struct json *j;
	size_t at, n_gone = 0;
	struct str text = transcript_word(&rest);
	assert_int_equal(json_parse(&j, &s->arena, text, JSON_LIMITS_DEFAULT, &at), 0);
	keep_read(&rules, j);
	assert_true(str_is(transcript_word(&rest), "at"));
	size_t n = keep_choose(s->v, s->n, &rules, read_time(transcript_word(&rest)));
	buf_adds(out, "goes:");
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].goes) {
			print_state(s, i, out);
			n_gone++;
		}
	}
	buf_adds(out, n_gone ? "\nstays:" : " nothing\nstays:");
	for (size_t i = 0; i < s->n; i++) {
		if (!s->v[i].goes) {
			print_state(s, i, out);
		}
	}
	buf_adds(out, "\n");
	assert_int_equal(n, n_gone);
}

static void stage_step(void *ctx, struct str input, struct buf *out)
{
	struct stage *s = ctx;
	struct str rest = input, verb = transcript_word(&rest), word;
	if (str_is(verb, "keep")) {
		stage_keep(s, rest, out);
	} else if (str_is(verb, "flood")) {
		int64_t n;
		assert_true(str_to_int64(transcript_word(&rest), &n));
		word = transcript_word(&rest);
		for (int64_t i = 0; i < n; i++) {
			add_state(s, word)->time_s += i * 60;
		}
	} else {
		assert_true(str_is(verb, "states"));
		s->n = 0;
		while ((word = transcript_word(&rest)).n > 0) {
			add_state(s, word);
		}
	}
}

/* ---- any states ---- */

enum { ROUNDS = 4000, LENGTH_MAX = 60 };

struct life {
	struct keep_state v[LENGTH_MAX];
	size_t n;
	int64_t now_s;
	struct keep_rules rules;
};

static void life_roll(struct life *l, unsigned *dice)
{
	static const char *const users[] = {"", "alice", "bob", "carol", "eve"};
	int64_t time_s = JANUARY_2026_S;
	l->n = 1 + (size_t)rand_r(dice) % (LENGTH_MAX - 1);
	for (size_t i = 0; i < l->n; i++) {
		time_s += rand_r(dice) % (2 * DAY_S) - 600; /* clocks step back at times */
		l->v[i] = (struct keep_state){.time_s = time_s,
			.user = str_of(users[(unsigned)rand_r(dice) % ARRAY_SIZE(users)]),
			.bytes = (size_t)rand_r(dice) % 1000,
			.is_fixed = rand_r(dice) % 9 == 0};
	}
	l->now_s = time_s + rand_r(dice) % (9 * DAY_S);
	int64_t at_most = rand_r(dice) % 40;
	l->rules = (struct keep_rules){.for_s = rand_r(dice) % 2 ? -1 : (int64_t)(rand_r(dice) % 40) * DAY_S,
		.thin_after_s = rand_r(dice) % 2 ? -1 : (int64_t)(rand_r(dice) % 20) * DAY_S,
		.at_most = at_most,
		.at_least = MIN((int64_t)rand_r(dice) % 5, at_most),
		.bytes = rand_r(dice) % 2 ? 0 : 1024 + rand_r(dice) % 20000};
}

/* What must hold of any answer. */
static void life_check(const struct life *l)
{
	size_t bytes = 0;
	int64_t idle = 0, at_least = l->rules.at_least;
	for (size_t i = 0; i < l->n; i++) {
		const struct keep_state *s = &l->v[i];
		bool is_last = i + 1 == l->n;
		assert_false(s->goes && (s->is_fixed || is_last));
		bytes += s->goes ? 0 : s->bytes;
		idle += !s->goes && !s->is_fixed && !is_last;
		int64_t replaced_s = is_last ? l->now_s : MAX(s->time_s, l->v[i + 1].time_s);
		size_t newer = 0;
		for (size_t k = i + 1; k + 1 < l->n; k++) {
			newer += !l->v[k].is_fixed;
		}
		bool is_old = l->rules.for_s >= 0 && l->now_s - replaced_s > l->rules.for_s && (int64_t)newer >= at_least;
		assert_true(!is_old || s->is_fixed || is_last || s->goes);
	}
	assert_true(idle <= l->rules.at_most);
	assert_true(!l->rules.bytes || idle == 0 || bytes <= (size_t)l->rules.bytes);
}

static void test_keep__stays_within_all_limits_and_chooses_once(void **state _unused_)
{
	unsigned dice = 11;
	for (int round = 0; round < ROUNDS; round++) {
		struct life l, again = {0};
		life_roll(&l, &dice);
		size_t n_gone = keep_choose(l.v, l.n, &l.rules, l.now_s);
		life_check(&l);
		again = (struct life){.rules = l.rules, .now_s = l.now_s};
		for (size_t i = 0; i < l.n; i++) {
			if (!l.v[i].goes) {
				again.v[again.n++] = l.v[i];
			}
		}
		assert_int_equal(again.n, l.n - n_gone);
		/* Neighbours that have gone make no state older or newer than it was by counts and bytes alone. */
		if (l.rules.for_s < 0 && l.rules.thin_after_s < 0) {
			assert_int_equal(keep_choose(again.v, again.n, &again.rules, again.now_s), 0);
		}
	}
}

/* A flood of one user, however long, takes no state of the others. */
static void test_keep__flood_takes_no_state_of_others(void **state _unused_)
{
	struct keep_rules rules = {.for_s = -1, .thin_after_s = -1, .at_least = 3, .at_most = 10};
	struct keep_state v[32] = {0};
	size_t n = 0;
	for (int i = 0; i < 4; i++) {
		v[n++] = (struct keep_state){.user = i < 2 ? STR("alice") : STR("bob"), .time_s = i};
	}
	for (int write = 0; write < 600; write++) {
		v[n++] = (struct keep_state){.user = STR("eve"), .time_s = 10 + write};
		keep_choose(v, n, &rules, 10 + write);
		size_t kept = 0;
		for (size_t i = 0; i < n; i++) {
			if (!v[i].goes) {
				v[kept++] = v[i];
			}
		}
		n = kept;
		for (int i = 0; i < 4; i++) {
			assert_int_equal(v[i].time_s, i);
		}
	}
	assert_int_equal(n, 11);
}

static void test_numbers__are_found_in_their_ranges(void **state _unused_)
{
	struct str ranges = STR("1,17-60,63");
	static const int64_t in[] = {1, 17, 30, 60, 63}, out[] = {0, 2, 16, 61, 62, 64};
	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		assert_true(keep_has_number(ranges, in[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
		assert_false(keep_has_number(ranges, out[i]));
	}
	assert_false(keep_has_number(STR(""), 0));
}

/* ---- JSON ---- */

static struct json *parse(struct arena *a, const char *text)
{
	struct json *j;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static void test_complete__takes_what_is_absent_from_the_general_rules(void **state)
{
	struct arena *a = *state;
	const struct json *general = parse(a, "{\"for\":\"720h\",\"atMost\":50,\"atLeast\":2}");
	struct keep_rules rules;
	assert_null(keep_complete(NULL, NULL, a));
	keep_read(&rules, keep_complete(parse(a, "{\"for\":\"24h\",\"atMost\":1}"), general, a));
	assert_int_equal(rules.for_s, DAY_S);
	assert_int_equal(rules.at_most, 1);
	assert_int_equal(rules.at_least, 1);
	assert_int_equal(rules.thin_after_s, -1);
	keep_read(&rules, keep_complete(parse(a, "{}"), NULL, a));
	assert_int_equal(rules.for_s, -1);
	assert_int_equal(rules.at_most, KEEP_STATES_MAX);
	assert_int_equal(rules.at_least, KEEP_AT_LEAST_DEFAULT);
	assert_int_equal(rules.bytes, 0);
}

static void test_facts__come_back_from_the_annotation(void **state)
{
	struct arena *a = *state;
	const struct json *change =
		parse(a, "{\"type\":\"Changed\",\"time\":\"2026-01-02T03:04:05Z\",\"paths\":[\"/x\"],\"uid\":\"u\"}");
	struct json *metadata = json_object(a), *annotations = json_object(a);
	json_add(a, annotations, ANNOTATION_CHANGE, keep_facts(change, STR("eve"), a));
	json_add(a, metadata, STR("annotations"), annotations);
	const struct json *facts = keep_facts_of(metadata, a);
	assert_int_equal(facts->n, 3);
	assert_true(str_is(member_text(facts, "user"), "eve") && str_is(member_text(facts, "type"), "Changed"));
	assert_null(keep_facts_of(parse(a, "{\"annotations\":{\"annals.dev/change\":\"[1]\"}}"), a));
	assert_null(keep_facts_of(parse(a, "{\"annotations\":{\"annals.dev/change\":\"{\"}}"), a));
	assert_null(keep_facts_of(NULL, a));
}

#define ARENA_TEST(f) cmocka_unit_test_setup_teardown(f, start_arena, free_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keep__stays_within_all_limits_and_chooses_once),
		cmocka_unit_test(test_keep__flood_takes_no_state_of_others),
		cmocka_unit_test(test_numbers__are_found_in_their_ranges),
		ARENA_TEST(test_complete__takes_what_is_absent_from_the_general_rules),
		ARENA_TEST(test_facts__come_back_from_the_annotation),
	};
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	return n_failed + transcript_run(&(struct transcript){TRANSCRIPT, stage_begin, stage_step, stage_end});
}
