/* A StatefulSet whose life goes on whatever call fails, and however: each of all calls in its turn is refused, loses its answer, or is the last one of a
 * process. In the end all is as if nothing had happened, and on the way no promise is broken. */
#include "tests/unit/set_world.h"

#include "api/model/members.h"

enum { CALLS_MAX = 500 };

/* Of what is between two passes. */
static void look(struct set_world *w)
{
	static const char *const images[] = {"a", "b", "c", BROKEN};

	/* One at a time, made or taken away. */
	assert_true(w->n_created + w->n_deleted <= 1);
	for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
		set_revision_of(w, images[i]); /* never two of one state */
	}
	/* Each pod was made from the revision that its label names. */
	for (size_t i = 0; i < w->n_pods; i++) {
		const struct json *labels = json_gets(json_gets(w->pods[i], "metadata"), "labels");
		struct str image = member_text(list_item(json_gets(json_gets(w->pods[i], "spec"), "containers"), 0), "image");
		const struct json *r = set_revision_of(w, arena_printf(&w->arena, STR_FMT "%c", STR_ARG(image), '\0').p);
		assert_non_null(r);
		assert_true(str_eq(member_text(labels, LABEL_REVISION), member_text(json_gets(r, "metadata"), "name")));
	}
}

/* A pod that is taken away by the update leaves all others Running and Ready. */
static size_t n_unready(struct set_world *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->n_pods; i++) {
		struct set s;
		struct member m;
		set_as_read(w, &s);
		n += member_read(&m, w->pods[i], &s, w->now_s) && member_is_unavailable(&m);
	}
	return n;
}

static void settle(struct set_world *w, bool may_be_broken)
{
	for (size_t i = 0; i < 1000; i++) {
		bool is_whole = (int64_t)w->n_pods == w->replicas && n_unready(w) == 0;
		bool is_done = set_pass(w);
		look(w);
		if (w->n_deleted && !may_be_broken && (int64_t)w->n_pods <= w->replicas) {
			assert_true(is_whole);
		}
		bool has_acted = w->trace.n > 0 || !is_done;
		if (!set_kubelet(w) && !has_acted) {
			return;
		}
	}
	fail();
}

/* Comes up, is updated, scaled, trapped, and rolled back. */
static void live(struct set_world *w)
{
	w->n_claim_templates = 1;
	w->limit = 2;
	settle(w, false);
	set_image(w, "b");
	settle(w, false);
	set_replicas(w, 4);
	settle(w, false);
	set_partition(w, 2);
	set_image(w, "c");
	settle(w, false);
	assert_str(set_images(w), "b b c c");
	set_replicas(w, 3);
	settle(w, false);
	assert_str(set_images(w), "b b c");
	set_partition(w, 0);
	set_image(w, BROKEN);
	settle(w, true);
	set_image(w, "a");
	settle(w, true);
	assert_str(set_images(w), "a a a");
}

static void assert_ended_well(struct set_world *w)
{
	assert_str(set_images(w), "a a a");
	assert_int_equal(w->status.observed_generation, w->generation);
	assert_int_equal(w->status.replicas, 3);
	assert_int_equal(w->status.ready, 3);
	assert_int_equal(w->status.updated, 3);
	assert_int_equal(w->status.current, 3);
	assert_true(str_eq(w->status.current_revision, set_revision_name(w, "a")));
	assert_int_equal(w->status.current_generation, w->status.update_generation);
	assert_int_equal(w->n_claims, 4); /* kept, also that of the pod which was scaled away */
	assert_int_equal(w->n_revisions, w->carrier->is_total_limited ? 2 : 3);
}

/* seeds: H12 R1 U6 U10 U43 U58 U66 U69 U71 */
static void test_every_call__may_fail(void **state _unused_)
{
	static const enum set_fault faults[] = {FAULT_REFUSED, FAULT_CONFLICT, FAULT_LOST, FAULT_DEATH};
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (size_t f = 0; f < ARRAY_SIZE(faults); f++) {
			size_t n_calls = SIZE_MAX;
			for (size_t at = 1; at <= n_calls; at++) {
				struct set_world w;
				assert_true(at < CALLS_MAX);
				set_world_init(&w, c);
				w.fault = faults[f];
				w.fault_at = at;
				live(&w);
				assert_ended_well(&w);
				n_calls = w.n_calls;
				set_world_done(&w);
			}
			assert_true(n_calls > 40);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_call__may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
