/* Which revision a pod is made from: seed 002's "PodTemplate Selection" and upstream's, over every small set, and what comes of an update that is scaled or
 * loses pods at any moment. */
#include "tests/unit/set_world.h"

enum { REPLICAS = 6 };

/* ---- the rules ---- */

/* Seed 002, "PodTemplate Selection", rule by rule; 0: the set's own template. */
static char rule_of_seed(
	int64_t t, int64_t cur, int64_t ordinal, int64_t replicas, int64_t current, int64_t updated, int64_t partition)
{
	if (!t) {
		return 0; /* 1 */
	}
	if (t == cur) {
		return 'c'; /* 2 */
	}
	if (0 <= ordinal && ordinal < current) {
		return 'c'; /* 3 */
	}
	if (replicas - updated <= ordinal && ordinal < replicas) {
		return 't'; /* 4 */
	}
	return ordinal < partition ? 'c' : 't'; /* 5, 6 */
}

struct selection {
	struct pass pass;
	struct revision current, update;
};

static void selection_init(struct selection *s, int64_t t, int64_t cur)
{
	*s = (struct selection){
		.current = {.name = STR("web-c"), .generation = cur},
		.update = {.name = STR("web-t"), .generation = t},
	};
	s->pass.set.template_generation = t;
	s->pass.current = &s->current;
	s->pass.update = t == cur ? &s->current : &s->update;
	if (!t) {
		s->pass.current = s->pass.update = NULL;
	}
}

static char selected(const struct selection *s, int64_t ordinal)
{
	const struct revision *r = pass_revision_of(&s->pass, ordinal);
	return !r ? 0 : r == &s->current ? 'c' : 't';
}

/* seeds: U59 U60 U61 U62 U63 U64 U66 */
static void test_selection__is_the_seeds_for_every_small_set(void **state _unused_)
{
	static const int64_t generations[][2] = {{0, 0}, {1, 1}, {7, 7}, {2, 1}, {9, 3}}; /* of spec, of status */

	for (size_t g = 0; g < ARRAY_SIZE(generations); g++) {
		int64_t t = generations[g][0], cur = generations[g][1];
		struct selection s;
		selection_init(&s, t, cur);
		s.pass.set.follows_seed = true;
		for (int64_t replicas = 0; replicas <= REPLICAS; replicas++) {
			for (int64_t counts = 0; counts < (REPLICAS + 1) * (REPLICAS + 1); counts++) {
				for (int64_t partition = 0; partition <= REPLICAS; partition++) {
					s.pass.set.replicas = replicas;
					s.pass.set.status.current = counts / (REPLICAS + 1);
					s.pass.set.status.updated = counts % (REPLICAS + 1);
					s.pass.set.partition = partition;
					for (int64_t ordinal = 0; ordinal < replicas; ordinal++) {
						char expected = rule_of_seed(t, cur, ordinal, replicas,
							s.pass.set.status.current, s.pass.set.status.updated, partition);
						assert_int_equal(selected(&s, ordinal), expected);
					}
				}
			}
		}
	}
}

/* seeds: D5 */
static void test_selection__is_upstreams_without_the_seeds_rules(void **state _unused_)
{
	struct selection s;
	selection_init(&s, 2, 1);
	for (int64_t start = 0; start <= 3; start++) {
		for (int64_t n = 0; n <= REPLICAS; n++) {
			for (int64_t slot = 0; slot < REPLICAS; slot++) {
				s.pass.set = (struct set){.template_generation = 2, .start = start, .replicas = REPLICAS};
				s.pass.set.has_partition = true;
				s.pass.set.partition = n;
				s.pass.set.status.current = REPLICAS - n; /* does not count here */
				assert_int_equal(selected(&s, start + slot), slot < n ? 'c' : 't');
				s.pass.set.has_partition = false;
				s.pass.set.partition = 0;
				s.pass.set.status.current = n;
				assert_int_equal(selected(&s, start + slot), slot < n ? 'c' : 't');
				s.pass.set.is_on_delete = true;
				assert_int_equal(selected(&s, start + slot), 't');
			}
		}
	}
}

/* ---- an update that is disturbed ---- */

/* Of each pod its revision's letter, "a a b", as the partition declares it. */
static struct str declared(struct set_world *w, const char *below, const char *above)
{
	struct str text = STR("");
	for (int64_t ordinal = 0; ordinal < w->replicas; ordinal++) {
		text = arena_printf(
			&w->arena, STR_FMT "%s%s", STR_ARG(text), ordinal ? " " : "", ordinal < w->partition ? below : above);
	}
	return text;
}

static void assert_declared(struct set_world *w)
{
	struct str expected = declared(w, "a", "b"), found = set_images(w);
	if (!str_eq(found, expected)) {
		fail_msg("%lld replicas, partition %lld: " STR_FMT " is " STR_FMT, (long long)w->replicas,
			(long long)w->partition, STR_ARG(expected), STR_ARG(found));
	}
}

/* An update from a to b that has made so many passes. */
static void init_updating(
	struct set_world *w, const struct carrier *c, bool follows_seed, int64_t replicas, int64_t partition, int passes)
{
	set_world_init(w, c);
	w->follows_seed = follows_seed;
	w->replicas = replicas;
	set_settle(w);
	set_partition(w, partition);
	set_image(w, "b");
	for (int i = 0; i < passes; i++) {
		assert_true(set_pass(w));
		if (i % 2 == 0) {
			set_kubelet(w);
		}
	}
}

/* seeds: U21 U22 U23 U24 U25 U66 U85 */
static void test_update__that_is_scaled_at_any_moment_ends_as_declared(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (int trial = 0; trial < 2 * 4 * 5 * 6 * 8; trial++) {
			int64_t before = 1 + trial / 2 % 4, after = trial / 8 % 5, partition = trial / 40 % 6;
			struct set_world w;
			init_updating(&w, c, trial % 2, before, MIN(partition, before), trial / 240 % 8);
			set_replicas(&w, after);
			set_settle(&w);
			assert_declared(&w);
			if (w.follows_seed) { /* also of what was scaled to nothing: that completes no update with a partition */
				set_replicas(&w, before);
				set_settle(&w);
				assert_declared(&w);
			}
			if (w.partition == 0) {
				assert_true(str_eq(w.status.current_revision, w.status.update_revision));
			}
			set_world_done(&w);
		}
	}
}

/* seeds: U24 U25 U65 */
static void test_pods_that_are_lost_at_a_partition__come_back_as_they_were(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (unsigned lost = 1; lost < 1 << 4; lost++) {
			for (int64_t partition = 1; partition <= 3; partition++) {
				struct set_world w;
				init_updating(&w, c, lost % 2, 4, partition, 0);
				set_settle(&w);
				struct str before = set_images(&w);
				for (int64_t ordinal = 0; ordinal < 4; ordinal++) {
					if (lost & 1U << ordinal) {
						set_pod_delete(&w, ordinal);
						if (partition % 2) { /* one after the other, or all at once */
							set_pass(&w);
						}
					}
				}
				set_settle(&w);
				assert_true(str_eq(set_images(&w), before));
				assert_declared(&w);
				set_world_done(&w);
			}
		}
	}
}

/* All pods are gone, as after a power cut: what stands in the status and in the partition gives them back. */
/* seeds: U69 */
static void test_all_pods_are_lost__and_come_back_in_their_revisions(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (int64_t partition = 1; partition <= 4; partition++) {
			struct set_world w;
			init_updating(&w, c, true, 5, partition, 0);
			set_settle(&w);
			w.n_pods = 0;
			w.replaced = 0;
			set_settle(&w);
			assert_declared(&w);
			set_world_done(&w);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_selection__is_the_seeds_for_every_small_set),
		TEST(test_selection__is_upstreams_without_the_seeds_rules),
		TEST(test_update__that_is_scaled_at_any_moment_ends_as_declared),
		TEST(test_pods_that_are_lost_at_a_partition__come_back_as_they_were),
		TEST(test_all_pods_are_lost__and_come_back_in_their_revisions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
