/* The ten steps of one pass over a StatefulSet (seed 002, "Revised Controller Algorithm"), and upstream's rules where apps/v1 knows more: what a pass asks
 * for, in which order, and what comes of it. */
#include "tests/unit/set_world.h"

#include "api/model/members.h"

#include <stdlib.h>
#include <string.h>

/* A pass that asks for just that. */
#define assert_pass(w, expected)                      \
	do {                                          \
		assert_true(set_pass(w));             \
		assert_str(set_trace(w), (expected)); \
	} while (0)

/* The same after all pods that were made run, and all that were going are gone. */
#define assert_next_pass(w, expected)         \
	do {                                  \
		set_kubelet(w);               \
		assert_pass((w), (expected)); \
	} while (0)

static void assert_said(struct set_world *w, const char *line)
{
	char *all = strndup(w->events.p ? w->events.p : "", w->events.n);
	if (!strstr(all, line)) {
		fail_msg("%s\nis not said in:\n%s", line, all);
	}
	free(all);
}

static void init_settled(struct set_world *w, const struct carrier *c)
{
	set_world_init(w, c);
	set_settle(w);
	assert_str(set_images(w), "a a a");
}

/* ---- 1 to 3 ---- */

/* seeds: H13 H18 U26 U28 U33 U54 */
static void test_first_passes__keep_the_template_then_make_one_pod_after_the_other(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		set_world_init(&w, c);
		w.n_claim_templates = 1;
		assert_pass(&w, "+revision +www-web-0 +web-0 =status");
		assert_int_equal(w.status.current_generation, 1);
		assert_int_equal(w.status.update_generation, 1);
		assert_true(str_eq(w.status.current_revision, set_revision_name(&w, "a")));
		assert_pass(&w, "=status"); /* one pod that is Pending, and is waited for */
		assert_pass(&w, "");
		assert_next_pass(&w, "+www-web-1 +web-1 =status");
		assert_next_pass(&w, "+www-web-2 +web-2 =status");
		assert_next_pass(&w, "=status");
		assert_pass(&w, "");
		assert_int_equal(w.n_revisions, 1);
		set_world_done(&w);
	}
}

/* seeds: U26 U57 */
static void test_pods__are_not_looked_at_before_their_revision_is_kept(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_image(&w, "b");
		w.fault = FAULT_REFUSED;
		w.fault_at = w.n_calls + 1;
		assert_false(set_pass(&w));
		assert_str(set_trace(&w), "+revision?");
		assert_str(w.problem, "no");
		assert_true(str_eq(w.status.update_revision, set_revision_name(&w, "a")));
		assert_pass(&w, "+revision -web-2 =status");
		assert_true(str_eq(w.status.update_revision, set_revision_name(&w, "b")));
		assert_int_equal(w.status.update_generation, 2);
		assert_int_equal(w.status.current_generation, 1);
		set_world_done(&w);
	}
}

/* seeds: U33 */
static void test_history__is_maintained_last_and_also_when_a_pass_fails(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		static const char *const images[] = {"b", "c", "d", "e"};
		init_settled(&w, c);
		for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
			set_image(&w, images[i]);
			set_settle(&w);
		}
		assert_int_equal(w.n_revisions, 5);
		w.limit = 3;
		set_replicas(&w, 4);
		w.fault = FAULT_REFUSED;
		w.fault_at = w.n_calls + 1;
		assert_false(set_pass(&w));
		assert_str(set_trace(&w),
			c->is_total_limited ? "+web-3? =status -revision -revision" : "+web-3? =status -revision");
		assert_null(set_revision_of(&w, "a"));
		assert_non_null(set_revision_of(&w, "e"));
		set_world_done(&w);
	}
}

/* seeds: U27 */
static void test_pods__are_sorted_by_ordinal_as_a_number(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_controllerrevisions);
	set_replicas(&w, 12);
	set_settle(&w);
	/* The informer hands them over in any order; one has a name that is none of the set's. */
	for (size_t i = 0; i < w.n_pods / 2; i++) {
		const struct json *first = w.pods[i];
		w.pods[i] = w.pods[w.n_pods - 1 - i];
		w.pods[w.n_pods - 1 - i] = first;
	}
	w.pods[w.n_pods++] = with_meta(&w.arena, w.pods[0], "name", json_string(&w.arena, STR("web-012")));
	w.pods[w.n_pods++] = with_meta(&w.arena, w.pods[0], "name", json_string(&w.arena, STR("web-2147483648")));
	set_replicas(&w, 8);
	assert_pass(&w, "-web-11 =status");
	assert_next_pass(&w, "-web-10 =status");
	assert_next_pass(&w, "-web-9 =status");
	assert_next_pass(&w, "-web-8 =status");
	set_kubelet(&w);
	assert_true(set_pass(&w));
	assert_int_equal(w.status.replicas, 8);
	assert_int_equal(w.n_pods, 10);
	set_world_done(&w);
}

/* ---- 4 and 5 ---- */

/* seeds: U28 U29 */
static void test_missing_pod__of_the_lowest_ordinal_is_made_and_waited_for(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_controllerrevisions);
	set_pod_delete(&w, 0);
	set_pod_delete(&w, 2);
	assert_pass(&w, "=status"); /* they are going: nothing is made in their place */
	assert_int_equal(w.status.replicas, 3);
	assert_int_equal(w.status.current, 1);
	assert_next_pass(&w, "+web-0 =status");
	assert_pass(&w, "=status");
	assert_next_pass(&w, "+web-2 =status");
	assert_next_pass(&w, "=status");
	assert_str(set_images(&w), "a a a");
	set_world_done(&w);
}

/* seeds: U29 U11 */
static void test_pod_that_is_not_ready__stops_scaling_and_updating(void **state _unused_)
{
	struct set_world w;
	for (int seed = 0; seed < 2; seed++) {
		set_world_init(&w, &carrier_controllerrevisions);
		w.follows_seed = seed;
		set_settle(&w);
		set_image(&w, BROKEN "-b");
		assert_pass(&w, "+revision -web-2 =status");
		assert_next_pass(&w, "+web-2 =status");
		set_kubelet(&w); /* it runs, and is not Ready */
		set_pass(&w);
		for (int i = 0; i < 3; i++) {
			assert_pass(&w, "");
		}
		set_replicas(&w, 2);
		assert_pass(&w, "-web-2 =status"); /* but a pod that is scaled away need not be Ready */
		set_world_done(&w);

		set_world_init(&w, &carrier_controllerrevisions);
		w.follows_seed = seed;
		set_settle(&w);
		set_pod_status(&w, 0, "Running", false);
		set_replicas(&w, 1);
		assert_pass(&w, "=status"); /* web-0 has a slot: it is waited for */
		set_pod_status(&w, 0, "Running", true);
		assert_pass(&w, "-web-2 =status");
		set_world_done(&w);
	}
}

/* seeds: U35 */
static void test_pod_that_has_ended__is_replaced_in_its_revision(void **state _unused_)
{
	static const char *const phases[] = {"Failed", "Succeeded"};
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
			struct set_world w;
			init_settled(&w, c);
			set_partition(&w, 2);
			set_image(&w, "b");
			set_settle(&w);
			assert_str(set_images(&w), "a a b");
			set_pod_status(&w, 1, phases[i], false);
			set_pod_status(&w, 2, phases[i], false);
			assert_pass(&w, "-web-1 =status");
			assert_pass(&w, "=status"); /* it is going */
			assert_int_equal(w.status.current, 1);
			set_settle(&w);
			assert_str(set_images(&w), "a a b");
			set_world_done(&w);
		}
	}
}

/* ---- 6 and 7 ---- */

/* seeds: U30 U31 */
static void test_scaling__precedes_updating(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_replicas(&w, 5);
		set_settle(&w);
		set_image(&w, "b");
		set_replicas(&w, 3);
		assert_pass(&w, "+revision -web-4 =status");
		assert_pass(&w, "=status"); /* one at a time */
		assert_pass(&w, "");
		assert_next_pass(&w, "-web-3 =status");
		assert_next_pass(&w, "-web-2 =status"); /* now it is updated */
		assert_next_pass(&w, "+web-2 =status");
		assert_next_pass(&w, "-web-1 =status");
		assert_next_pass(&w, "+web-1 =status");
		assert_next_pass(&w, "-web-0 =status");
		assert_next_pass(&w, "+web-0 =status");
		assert_next_pass(&w, "=status");
		assert_pass(&w, "");
		assert_str(set_images(&w), "b b b");
		set_world_done(&w);
	}
}

/* seeds: U30 */
static void test_scaling_down__goes_around_no_unhealthy_pod_but_the_first(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.replicas = 5;
	set_settle(&w);
	set_replicas(&w, 2);
	set_pod_status(&w, 3, "Running", false);
	assert_pass(&w, "-web-4 =status");
	assert_next_pass(&w, "-web-3 =status"); /* the lowest that is not Ready may go though it is not */
	set_pod_status(&w, 2, "Running", false);
	assert_next_pass(&w, "-web-2 =status");
	set_world_done(&w);

	set_world_init(&w, &carrier_controllerrevisions);
	w.replicas = 5;
	set_settle(&w);
	set_replicas(&w, 2);
	set_pod_status(&w, 3, "Running", false);
	set_pod_status(&w, 4, "Running", false);
	assert_pass(&w, "=status"); /* web-4 waits: web-3 is the one in trouble */
	assert_pass(&w, "");
	set_pod_status(&w, 4, "Running", true);
	assert_pass(&w, "-web-4 =status");
	set_world_done(&w);
}

/* ---- 8 and 9 ---- */

/* seeds: U32 U67 U68 U71 */
static void test_completion__is_one_write_when_all_are_ready_and_of_the_target(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		struct str a = w.status.current_revision;
		set_image(&w, "b");
		for (int i = 0; i < 2 * 3; i++) {
			assert_true(set_pass(&w));
			assert_true(str_eq(w.status.current_revision, a));
			assert_int_equal(w.status.current_generation, 1);
			assert_int_equal(w.status.update_generation, 2);
			set_kubelet(&w);
		}
		size_t writes = w.n_status_writes;
		assert_pass(&w, "=status");
		assert_int_equal(w.n_status_writes, writes + 1);
		assert_true(str_eq(w.status.current_revision, w.status.update_revision));
		assert_int_equal(w.status.current_generation, 2);
		assert_int_equal(w.status.current, 3);
		assert_int_equal(w.status.updated, 3); /* shown as 0 at annals.dev/v1beta1 */
		assert_pass(&w, "");                   /* and nothing is written that is there already */
		set_world_done(&w);
	}
}

/* seeds: U67 U84 U86 */
static void test_completion__waits_for_the_partition_to_go(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		static const char *const stages[] = {"a b b", "a a b"};
		init_settled(&w, c);
		struct str a = w.status.current_revision;
		set_image(&w, "b");
		for (int64_t partition = 2; partition > 0; partition--) {
			set_partition(&w, partition);
			set_settle(&w);
			assert_str(set_images(&w), stages[partition - 1]);
			assert_true(str_eq(w.status.current_revision, a));
			assert_int_equal(w.status.current, partition);
			assert_int_equal(w.status.updated, 3 - partition);
		}
		set_partition(&w, 0);
		set_settle(&w);
		assert_str(set_images(&w), "b b b");
		assert_int_equal(w.status.current_generation, w.status.update_generation);
		set_world_done(&w);
	}
}

/* All pods are of the target, and then a part of them is to stay. */
/* seeds: U24 U67 */
static void test_partition_that_is_raised_at_the_end__takes_pods_back(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_image(&w, "b");
		while (!str_is(set_images(&w), "b b b")) {
			assert_true(set_pass(&w));
			set_kubelet(&w);
		}
		set_partition(&w, 1);
		set_settle(&w);
		assert_str(set_images(&w), "a b b");
		assert_true(str_eq(w.status.current_revision, set_revision_name(&w, "a")));
		set_world_done(&w);
	}
}

/* seeds: U71 U70 */
static void test_status__tells_what_was_counted_and_of_which_generation(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.replicas = 4;
	set_settle(&w);
	set_pod_status(&w, 1, "Running", false);
	set_pod_delete(&w, 3);
	set_image(&w, "b");
	w.generation = 9;
	assert_pass(&w, "+revision =status"); /* nothing else while web-3 is going */
	assert_int_equal(w.status.observed_generation, 9);
	assert_int_equal(w.status.replicas, 4); /* also one that is going */
	assert_int_equal(w.status.ready, 3);
	assert_int_equal(w.status.available, 3);
	assert_int_equal(w.status.current, 3); /* but not one that is going */
	assert_int_equal(w.status.updated, 0);
	assert_int_equal(w.status.current_generation, 1);
	assert_int_equal(w.status.update_generation, 2);
	set_world_done(&w);
}

/* seeds: U71 */
static void test_status__is_written_also_by_a_pass_that_fails(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.fault = FAULT_REFUSED;
	w.fault_at = 2; /* the first pod */
	assert_false(set_pass(&w));
	assert_str(set_trace(&w), "+revision +web-0? =status");
	assert_int_equal(w.status.observed_generation, 1);
	assert_said(&w, "Warning FailedCreate Create Pod web-0 in StatefulSet web failed error: no\n");
	set_world_done(&w);
}

/* ---- template updates ---- */

/* seeds: U53 H14 */
static void test_template__that_is_as_before_writes_nothing(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		size_t calls = w.n_calls;
		for (int i = 0; i < 5; i++) {
			assert_pass(&w, "");
		}
		assert_int_equal(w.n_calls, calls);
		w.generation++; /* of something else, as an annotation of the strategy */
		assert_pass(&w, "=status");
		assert_int_equal(w.n_revisions, 1);
		set_world_done(&w);
	}
}

/* seeds: H15 H16 U55 U56 U57 U89 */
static void test_template_of_old__is_the_target_again_and_no_new_revision(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		struct str a = w.status.current_revision;
		set_image(&w, "b");
		set_settle(&w);
		assert_int_equal(w.n_revisions, 2);
		set_image(&w, "c");
		assert_true(set_pass(&w)); /* web-2 goes */
		assert_int_equal(w.n_revisions, 3);
		set_kubelet(&w);
		assert_true(set_pass(&w)); /* and comes back as c */
		set_kubelet(&w);
		assert_str(set_images(&w), "b b c");
		set_image(&w, "b");
		assert_true(set_pass(&w));
		assert_int_equal(w.n_revisions, 3);
		set_settle(&w);
		assert_str(set_images(&w), "b b b");
		set_image(&w, "a");
		set_settle(&w);
		assert_int_equal(w.n_revisions, 3);
		assert_str(set_images(&w), "a a a");
		assert_true(str_eq(w.status.current_revision, a));
		set_world_done(&w);
	}
}

/* seeds: U89 */
static void test_rollback_in_progress__replaces_none_but_the_updated_pods(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		const struct json *kept[] = {w.pods[0], w.pods[1]};
		set_image(&w, "b");
		assert_true(set_pass(&w));
		assert_next_pass(&w, "+web-2 =status");
		set_kubelet(&w);
		assert_str(set_images(&w), "a a b");
		set_image(&w, "a");
		set_settle(&w);
		assert_str(set_images(&w), "a a a");
		assert_ptr_equal(w.pods[set_pod_at(&w, 0)], kept[0]);
		assert_ptr_equal(w.pods[set_pod_at(&w, 1)], kept[1]);
		set_world_done(&w);
	}
}

/* seeds: U46 U59 */
static void test_set_without_a_generation__has_no_history_and_pods_without_its_label(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		set_world_init(&w, c);
		w.template_generation = 0;
		set_settle(&w);
		assert_int_equal(w.n_revisions, 0);
		assert_int_equal(w.status.current_revision.n, 0);
		for (int64_t ordinal = 0; ordinal < 3; ordinal++) {
			const struct json *labels = json_gets(json_gets(w.pods[set_pod_at(&w, ordinal)], "metadata"), "labels");
			assert_null(json_gets(labels, HISTORY_LABEL_GENERATION));
			assert_null(json_gets(labels, LABEL_REVISION));
		}
		/* Pods of another template are not enforced: the next one that is made has that of today. */
		w.image = "b";
		w.generation++;
		set_settle(&w);
		assert_str(set_images(&w), "a a a");
		set_pod_delete(&w, 1);
		set_settle(&w);
		assert_str(set_images(&w), "a b a");
		/* The history begins with the first change; then all are of no revision, and are replaced. */
		w.image = "c";
		w.template_generation = 1;
		w.generation++;
		set_settle(&w);
		assert_str(set_images(&w), "c c c");
		assert_int_equal(w.n_revisions, 1);
		assert_int_equal(w.status.current_generation, 1);
		set_world_done(&w);
	}
}

/* seeds: U58 U43 */
static void test_death_between_revision_and_status__makes_no_second_one(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_image(&w, "b");
		w.fault = FAULT_DEATH;
		w.fault_at = w.n_calls + 2;
		assert_false(set_pass(&w));
		assert_int_equal(w.n_revisions, 2);
		assert_int_equal(w.status.update_generation, 1);
		assert_pass(&w, "-web-2 =status");
		assert_int_equal(w.n_revisions, 2);
		assert_true(str_eq(w.status.update_revision, set_revision_name(&w, "b")));

		set_image(&w, "c");
		w.fault = FAULT_LOST;
		w.fault_at = w.n_calls + 1;
		assert_false(set_pass(&w));
		set_settle(&w);
		assert_int_equal(w.n_revisions, 3);
		assert_str(set_images(&w), "c c c");
		set_world_done(&w);
	}
}

/* Its cache is behind: the revision that it asks for is there already. */
/* seeds: U43 U58 H54 */
static void test_revision_that_is_there_unseen__is_taken_as_done(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_image(&w, "b");
		w.fault = FAULT_DEATH;
		w.fault_at = w.n_calls + 2;
		assert_false(set_pass(&w));
		w.n_unseen_revisions = 1;
		assert_pass(&w, "+revision? -web-2 =status");
		w.n_unseen_revisions = 0;
		assert_int_equal(w.n_revisions, 2);
		assert_int_equal(w.status.collisions, 0);
		assert_true(str_eq(w.status.update_revision, set_revision_name(&w, "b")));
		set_world_done(&w);
	}
}

/* The name is another owner's: a ControllerRevision gets another one, a PodTemplate has no other. */
/* seeds: U43 U44 H54 H55 */
static void test_revision_name_that_is_taken__is_never_shared(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w, other;
		init_settled(&w, c);
		set_world_init(&other, c);
		set_settle(&other);
		set_image(&other, "b");
		assert_true(set_pass(&other));
		const struct json *foreign = with_meta(
			&w.arena, set_revision_of(&other, "b"), "ownerReferences", controlled_by(&w.arena, "uid-of-other"));
		w.revisions[w.n_revisions++] = foreign;
		set_image(&w, "b");
		if (c->is_total_limited) {
			assert_false(set_pass(&w));
			assert_str(set_trace(&w), "+revision?");
			assert_said(&w,
				"Warning FailedCreate Create PodTemplate web-2 in StatefulSet web failed error: it exists\n");
		} else {
			assert_pass(&w, "+revision? +revision -web-2 =status");
			assert_int_equal(w.n_revisions, 3);
			assert_int_equal(w.status.collisions, 1);
			assert_false(str_eq(w.status.update_revision, member_text(json_gets(foreign, "metadata"), "name")));
		}
		assert_ptr_equal(w.revisions[1], foreign);
		set_world_done(&other);
		set_world_done(&w);
	}
}

/* seeds: H12 */
static void test_revisions_that_somebody_deletes__are_made_again_without_a_restart(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		const struct json *pods[] = {w.pods[0], w.pods[1], w.pods[2]};
		w.n_revisions = 0;
		set_settle(&w);
		assert_int_equal(w.n_revisions, 1);
		for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
			assert_ptr_equal(w.pods[i], pods[i]);
		}
		set_world_done(&w);
	}
}

/* A name in the status may belong to any object: whoever may write revisions must not end the process that reads them. */
static void test_current_revision_without_a_state__is_as_one_that_was_deleted(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_partition(&w, 3);
		set_image(&w, "b");
		set_settle(&w);
		assert_str(set_images(&w), "a a a");
		struct json *spoilt = json_copy(&w.arena, w.revisions[0]);
		json_set(&w.arena, spoilt, STR("data"), json_object(&w.arena));
		json_set(&w.arena, spoilt, STR("template"), json_null(&w.arena));
		w.revisions[0] = spoilt;
		set_pod_delete(&w, 1);
		set_settle(&w);
		assert_str(set_images(&w), "b b b");
		set_world_done(&w);
	}
}

/* seeds: U49 */
static void test_revisions_that_are_spoilt__are_told_of_once_for_a_change_and_not_all(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_podtemplates);
	for (size_t i = 0; i < 20; i++) {
		w.revisions[w.n_revisions++] =
			with_label(&w.arena, w.revisions[0], HISTORY_LABEL_GENERATION, json_string(&w.arena, STR("none")));
	}
	for (size_t i = 0; i < 10; i++) {
		assert_pass(&w, "");
	}
	assert_int_equal(w.problems.n, 0);
	set_replicas(&w, 4);
	set_settle(&w);
	size_t n_lines = 0;
	for (size_t i = 0; i < w.problems.n; i++) {
		n_lines += w.problems.p[i] == '\n';
	}
	assert_int_equal(n_lines, 5);
	assert_str(set_images(&w), "a a a a");
	set_world_done(&w);
}

/* ---- out of a failed update (X3) ---- */

/* seeds: U12 U13 */
static void test_broken_update__is_rolled_back_or_forward_where_the_set_asks_for_it(void **state _unused_)
{
	static const char *const ways[] = {"a", "c"};
	static const char *const ends[] = {"a a a", "c c c"};
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
			struct set_world w;
			init_settled(&w, c);
			set_image(&w, BROKEN);
			set_settle(&w);
			assert_str(set_images(&w), "a a " BROKEN "!");
			set_image(&w, ways[i]);
			assert_true(set_pass(&w));
			assert_int_equal(w.n_deleted, 1); /* web-2 at once, though it is not Ready */
			set_settle(&w);
			assert_str(set_images(&w), ends[i]);
			set_world_done(&w);

			/* Upstream's trap, without the annotation. */
			set_world_init(&w, c);
			w.follows_seed = false;
			set_settle(&w);
			set_image(&w, BROKEN);
			set_settle(&w);
			set_image(&w, ways[i]);
			set_settle(&w);
			assert_str(set_images(&w), "a a " BROKEN "!");
			set_pod_delete(&w, 2); /* by hand */
			set_settle(&w);
			assert_str(set_images(&w), ends[i]);
			set_world_done(&w);
		}
	}
}

/* Five pods that were Ready are unready for a moment, while the template changes. */
/* seeds: U12 U13 */
static void test_pods_that_were_ready__are_waited_for(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		set_world_init(&w, c);
		w.replicas = 5;
		set_settle(&w);
		for (int64_t ordinal = 0; ordinal < 5; ordinal++) {
			set_pod_status(&w, ordinal, "Running", false);
		}
		set_image(&w, "b");
		assert_pass(&w, "+revision =status");
		for (int64_t ordinal = 0; ordinal < 4; ordinal++) {
			set_pod_status(&w, ordinal, "Running", true);
			assert_pass(&w, "=status");
		}
		set_pod_status(&w, 4, "Running", true);
		assert_pass(&w, "-web-4 =status"); /* the update, in its turn */
		set_settle(&w);
		assert_str(set_images(&w), "b b b b b");
		set_world_done(&w);
	}
}

/* seeds: U12 U13 */
static void test_broken_pods__are_replaced_one_at_a_time(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		set_world_init(&w, c);
		w.replicas = 4;
		set_settle(&w);
		set_image(&w, BROKEN);
		set_settle(&w);
		struct str broken =
			member_text(json_gets(json_gets(w.pods[set_pod_at(&w, 3)], "metadata"), "labels"), LABEL_REVISION);
		set_pod_label(&w, 2, LABEL_REVISION, arena_printf(&w.arena, STR_FMT "%c", STR_ARG(broken), '\0').p);
		set_pod_start(&w, 2);
		set_image(&w, "b");
		assert_pass(&w, "+revision -web-2 =status"); /* the one that the others wait for */
		assert_pass(&w, "");                         /* it is going */
		assert_next_pass(&w, "+web-2 =status");
		assert_pass(&w, "=status"); /* its replacement is not Ready yet */
		assert_next_pass(&w, "-web-3 =status");
		assert_next_pass(&w, "+web-3 =status");
		set_settle(&w);
		assert_str(set_images(&w), "b b b b");
		set_world_done(&w);
	}
}

/* It was Ready in another form, before it came to another node. Its revision works: nothing shows that waiting is in vain. */
/* seeds: U12 U13 */
static void test_starting_pods_of_the_current_revision__are_waited_for(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_controllerrevisions);
	set_image(&w, "b");
	set_pod_start(&w, 1);
	assert_pass(&w, "+revision =status");
	assert_pass(&w, "");
	set_pod_status(&w, 1, "Running", true);
	assert_pass(&w, "-web-2 =status");
	set_settle(&w);
	assert_str(set_images(&w), "b b b");
	set_world_done(&w);
}

/* Scaling waits for it, so a slot that scaling has yet to fill holds nothing up. An empty slot before it does. */
/* seeds: U12 U13 */
static void test_broken_pod__is_replaced_while_the_set_is_scaled(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_controllerrevisions);
	set_image(&w, BROKEN);
	set_settle(&w);
	set_replicas(&w, 5);
	set_settle(&w);
	assert_str(set_images(&w), "a a " BROKEN "!");
	set_pod_delete(&w, 0);
	set_image(&w, "a");
	assert_true(set_pass(&w));
	assert_int_equal(w.n_deleted, 0);
	set_settle(&w);
	assert_str(set_images(&w), "a a a a a");
	set_world_done(&w);
}

/* Below those that are still of the current revision: by the counts it would come back as it was. */
/* seeds: U12 U13 */
static void test_broken_pod__comes_back_in_the_revision_it_should_have(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_image(&w, BROKEN);
		set_settle(&w);
		struct str broken =
			member_text(json_gets(json_gets(w.pods[set_pod_at(&w, 2)], "metadata"), "labels"), LABEL_REVISION);
		set_image(&w, "b");
		assert_true(set_pass(&w));
		assert_next_pass(&w, "+web-2 =status");
		set_kubelet(&w);
		set_pod_label(&w, 0, LABEL_REVISION, arena_printf(&w.arena, STR_FMT "%c", STR_ARG(broken), '\0').p);
		set_pod_start(&w, 0);
		assert_pass(&w, "-web-0 =status");
		assert_next_pass(&w, "+web-0 =status");
		set_kubelet(&w);
		assert_str(set_images(&w), "b a b");
		set_settle(&w);
		assert_str(set_images(&w), "b b b");
		set_world_done(&w);
	}
}

/* Whatever else there is to do: what is made or taken away may change the answer. */
/* seeds: U12 U28 */
static void test_ordered_set__has_one_pod_made_or_taken_away_by_a_pass(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		set_pod_status(&w, 0, "Failed", false);
		set_pod_status(&w, 2, "Running", false);
		set_image(&w, "b");
		assert_pass(&w, "+revision -web-0 =status");
		assert_pass(&w, "=status"); /* it is going */
		assert_next_pass(&w, "+web-0 =status");
		assert_pass(&w, "=status");      /* web-0 is waited for */
		assert_next_pass(&w, "=status"); /* then web-2, which was Ready before */
		set_pod_status(&w, 2, "Running", true);
		assert_pass(&w, "-web-2 =status");
		set_settle(&w);
		assert_str(set_images(&w), "b b b");
		set_world_done(&w);
	}
}

/* Somebody may have orphaned it. Nothing is said of it, and nothing else is taken away instead; its event will be the next pass. */
/* seeds: R1 R2 */
static void test_pod_that_has_changed_since_it_was_read__is_left_to_the_next_pass(void **state _unused_)
{
	enum { UPDATED, BROKEN_ONE, FAILED, SCALED_AWAY, N_REASONS };
	static const char *const refused[] = {
		"+revision -web-2? =status", "+revision -web-2? =status", "-web-2? =status", "-web-2? =status"};
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		for (int reason = 0; reason < N_REASONS; reason++) {
			struct set_world w;
			init_settled(&w, c);
			if (reason == BROKEN_ONE) {
				set_image(&w, BROKEN);
				set_settle(&w);
			}
			if (reason <= BROKEN_ONE) {
				set_image(&w, "b");
			} else if (reason == FAILED) {
				set_pod_status(&w, 2, "Failed", false);
			} else if (reason == SCALED_AWAY) {
				set_replicas(&w, 2);
			}
			size_t n_said = w.events.n;
			w.fault = FAULT_CONFLICT;
			w.fault_at = w.n_calls + (reason <= BROKEN_ONE ? 2 : 1);
			assert_pass(&w, refused[reason]);
			assert_int_equal(w.n_deleted, 0);
			assert_int_equal(w.problem.n, 0);
			assert_int_equal(w.events.n, n_said);
			assert_int_equal(w.replaced, 0);
			assert_true(set_pass(&w));
			assert_int_equal(w.n_deleted, 1);
			set_settle(&w);
			assert_str(set_images(&w), reason <= BROKEN_ONE ? "b b b" : reason == FAILED ? "a a a" : "a a");
			set_world_done(&w);
		}
	}
}

/* seeds: U12 */
static void test_broken_pods_of_their_own_revision__are_left_to_become_ready(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_controllerrevisions);
	set_pod_status(&w, 1, "Running", false);
	assert_pass(&w, "=status");
	assert_pass(&w, "");
	set_partition(&w, 2);
	set_image(&w, "b"); /* web-1 is below the partition: it is of the revision that it should be of */
	assert_pass(&w, "+revision =status");
	assert_pass(&w, "");
	set_world_done(&w);
}

/* ---- what apps/v1 knows beyond the seed ---- */

/* seeds: D5 */
static void test_parallel__makes_and_takes_away_all_at_once(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.is_parallel = true;
	w.replicas = 5;
	assert_pass(&w, "+revision +web-0 +web-1 +web-2 +web-3 +web-4 =status");
	set_settle(&w);
	set_pod_status(&w, 0, "Running", false);
	set_replicas(&w, 2);
	assert_pass(&w, "-web-4 -web-3 -web-2 =status");
	set_pod_status(&w, 0, "Running", true);
	set_settle(&w);
	set_image(&w, "b");
	assert_pass(&w, "+revision -web-1 =status"); /* but updates go one by one */
	assert_pass(&w, "");
	set_settle(&w);
	assert_str(set_images(&w), "b b");
	set_world_done(&w);
}

/* Without a partition the status says which revision a pod comes back in: what is scaled away is not counted there. */
static void test_parallel__scaled_and_updated_at_once_brings_no_pod_back_in_the_old_revision(void **state _unused_)
{
	struct set_world w;

	set_world_init(&w, &carrier_controllerrevisions);
	w.replicas = 4;
	w.partition = -1;
	w.is_parallel = true;
	w.follows_seed = false;
	set_settle(&w);
	set_image(&w, "b");
	w.replicas = 3;
	assert_true(set_pass(&w));
	assert_int_equal(w.n_deleted, 2);
	assert_int_equal(w.status.current, 2);
	set_kubelet(&w); /* both are gone at once */
	assert_true(set_pass(&w));
	assert_str(set_images(&w), "a a b!");
	set_world_done(&w);
}

/* seeds: D5 */
static void test_parallel__asks_a_server_that_refuses_in_growing_batches(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.is_parallel = true;
	w.replicas = 10;
	w.fault = FAULT_REFUSED;
	w.fault_at = 3; /* the second pod, in a batch of two */
	assert_false(set_pass(&w));
	assert_str(set_trace(&w), "+revision +web-0 +web-1? +web-2 =status");
	set_settle(&w);
	assert_int_equal(w.n_pods, 10);
	set_world_done(&w);
}

/* Its limit must not hide the failure: without a pause it would ask again at once, without end. */
static void test_parallel__fails_where_a_pod_failed_before_the_limit_of_a_pass(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.is_parallel = true;
	w.replicas = 550;
	w.fault = FAULT_REFUSED;
	w.fault_at = 302; /* in the batch that is not ended */
	assert_false(set_pass(&w));
	assert_false(w.has_more);
	assert_int_equal(w.n_pods, 499);
	assert_true(set_pass(&w));
	assert_int_equal(w.n_pods, 550);
	set_world_done(&w);
}

/* seeds: D5 */
static void test_on_delete__leaves_it_to_the_user_which_pods_are_new(void **state _unused_)
{
	for (int seed = 0; seed < 2; seed++) {
		struct set_world w;
		set_world_init(&w, &carrier_controllerrevisions);
		w.follows_seed = seed;
		w.is_on_delete = true;
		set_settle(&w);
		set_image(&w, "b");
		set_settle(&w);
		assert_str(set_images(&w), "a a a");
		set_pod_delete(&w, 1);
		set_settle(&w);
		assert_str(set_images(&w), "a b a");
		assert_int_equal(w.status.updated, 1);
		set_world_done(&w);
	}
}

/* seeds: D5 */
static void test_start_ordinal__moves_the_slots_and_the_partition(void **state _unused_)
{
	struct set_world w;
	for (int seed = 0; seed < 2; seed++) {
		set_world_init(&w, &carrier_controllerrevisions);
		w.follows_seed = seed;
		w.start = 5;
		set_settle(&w);
		assert_true(set_pod_at(&w, 5) < w.n_pods && set_pod_at(&w, 7) < w.n_pods);
		set_partition(&w, 1);
		set_image(&w, "b");
		set_settle(&w);
		assert_str(set_images(&w), "a b b");
		w.start = 6;
		w.generation++;
		set_settle(&w);
		assert_int_equal(w.n_pods, 3);
		assert_int_equal(set_pod_at(&w, 5), w.n_pods);
		assert_true(set_pod_at(&w, 8) < w.n_pods);
		set_world_done(&w);
	}
}

/* seeds: D5 */
static void test_min_ready_seconds__hold_the_next_step_back(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.replicas = 2;
	w.min_ready_s = 30;
	assert_pass(&w, "+revision +web-0 =status");
	assert_next_pass(&w, "=status"); /* Ready since now */
	assert_int_equal(w.status.ready, 1);
	assert_int_equal(w.status.available, 0);
	assert_int_equal(w.again_in_s, 30);
	w.now_s += 29;
	assert_pass(&w, "");
	assert_int_equal(w.again_in_s, 1);
	w.now_s++;
	assert_pass(&w, "+web-1 =status");
	assert_int_equal(w.status.available, 1);
	set_kubelet(&w);
	w.now_s += 30;
	assert_pass(&w, "=status");
	assert_int_equal(w.again_in_s, 0);
	set_world_done(&w);
}

/* seeds: D5 */
static void test_max_unavailable__counts_behind_its_gate(void **state _unused_)
{
	for (int gate = 0; gate < 2; gate++) {
		struct set_world w;
		set_world_init(&w, &carrier_controllerrevisions);
		w.follows_seed = false;
		w.replicas = 5;
		w.partition = 1;
		w.max_unavailable = 3;
		w.allows_max_unavailable = gate;
		w.is_parallel = true;
		set_settle(&w);
		set_pod_status(&w, 4, "Running", false);
		set_image(&w, "b");
		assert_pass(&w, gate ? "+revision -web-4 -web-3 =status" : "+revision -web-4 =status");
		set_settle(&w);
		assert_str(set_images(&w), "a b b b b");
		set_world_done(&w);
	}
}

/* seeds: R15 */
static void test_set_that_is_being_deleted__does_nothing_but_its_status(void **state _unused_)
{
	const struct carrier *c;
	FOR_EACH_CARRIER(c)
	{
		struct set_world w;
		init_settled(&w, c);
		w.is_deleting = true;
		set_pod_delete(&w, 2);
		assert_pass(&w, "=status");
		set_kubelet(&w);
		assert_pass(&w, "=status");
		assert_int_equal(w.status.replicas, 2);
		set_world_done(&w);
	}
}

/* ---- claims, labels ---- */

/* seeds: D5 */
static void test_claims__belong_to_whom_the_policy_says(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.n_claim_templates = 1;
	set_settle(&w);
	assert_null(json_gets(json_gets(set_claim(&w, "www-web-1"), "metadata"), "ownerReferences"));
	w.deletes_when_scaled = true;
	set_replicas(&w, 2);
	assert_pass(&w, "~www-web-2 -web-2 =status"); /* its claim is the pod's before it goes */
	const struct json *refs = json_gets(json_gets(set_claim(&w, "www-web-2"), "metadata"), "ownerReferences");
	assert_str(member_text(list_item(refs, 0), "kind"), "Pod");
	assert_str(member_text(list_item(refs, 0), "name"), "web-2");
	/* A claim that will go with its pod is not taken by the next one of that name. */
	set_kubelet(&w);
	set_settle(&w);
	set_replicas(&w, 3);
	assert_pass(&w, "=status");
	w.n_claims--; /* collected */
	assert_pass(&w, "+www-web-2 +web-2");
	w.deletes_with_set = true;
	set_settle(&w);
	for (size_t i = 0; i < w.n_claims; i++) {
		refs = json_gets(json_gets(w.claims[i], "metadata"), "ownerReferences");
		assert_str(member_text(list_item(refs, 0), "kind"), "StatefulSet");
	}
	set_world_done(&w);
}

/* seeds: D5 */
static void test_claim_that_is_going__keeps_its_pod_waiting(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.n_claim_templates = 2;
	set_settle(&w);
	set_pod_delete(&w, 2);
	set_kubelet(&w);
	for (size_t i = 0; i < w.n_claims; i++) {
		w.claims[i] = with_meta(
			&w.arena, w.claims[i], "deletionTimestamp", json_string(&w.arena, STR("2026-01-01T00:00:00Z")));
	}
	assert_false(set_pass(&w));
	assert_str(w.problem, "[pvc www-web-2 is being deleted, pvc log-web-2 is being deleted]");
	w.n_claims = 0;
	set_settle(&w);
	assert_int_equal(w.n_pods, 3);
	set_world_done(&w);
}

/* seeds: D5 */
static void test_lost_labels__are_fixed(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_controllerrevisions);
	set_pod_label(&w, 1, LABEL_POD_NAME, NULL);
	assert_pass(&w, "~web-1");
	assert_pass(&w, "");
	assert_said(&w, "Normal SuccessfulUpdate Update Pod web-1 in StatefulSet web successful\n");
	set_world_done(&w);
}

/* seeds: H43 */
static void test_pod_of_an_equal_state__is_relabelled_and_goes_on(void **state _unused_)
{
	struct set_world w;
	init_settled(&w, &carrier_controllerrevisions);
	/* As of a controller that compares bytes: the same state, kept twice. */
	struct json *twin = with_meta(&w.arena, w.revisions[0], "name", json_string(&w.arena, STR("web-twin")));
	json_set(&w.arena, twin, STR("revision"), json_int(&w.arena, 0));
	w.revisions[w.n_revisions++] = twin;
	for (int64_t ordinal = 0; ordinal < 3; ordinal++) {
		set_pod_label(&w, ordinal, LABEL_REVISION, "web-twin");
	}
	assert_pass(&w, "~web-2 ~web-1 ~web-0");
	assert_int_equal(w.status.updated, 3);
	for (int64_t ordinal = 0; ordinal < 3; ordinal++) {
		const struct json *labels = json_gets(json_gets(w.pods[set_pod_at(&w, ordinal)], "metadata"), "labels");
		assert_true(str_eq(member_text(labels, LABEL_REVISION), w.status.update_revision));
	}
	assert_pass(&w, "");
	set_world_done(&w);
}

/* ---- events ---- */

/* seeds: D5 */
/* What the pass has made is not as the server has it: it is written again only when it was read. */
static void test_pod_of_an_equal_state__is_not_relabelled_by_the_pass_that_makes_it(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.is_parallel = true;
	w.follows_seed = false;
	set_settle(&w);
	struct json *twin = with_meta(&w.arena, w.revisions[0], "name", json_string(&w.arena, STR("web-twin")));
	json_set(&w.arena, twin, STR("revision"), json_int(&w.arena, 0));
	w.revisions[w.n_revisions++] = twin;
	w.status.current_revision = STR("web-twin");
	set_pod_delete(&w, 2);
	assert_true(set_kubelet(&w));
	assert_true(set_pass(&w));
	assert_str(set_trace(&w), "+web-2 =status");
	set_settle(&w);
	for (int64_t ordinal = 0; ordinal < 3; ordinal++) {
		const struct json *labels = json_gets(json_gets(w.pods[set_pod_at(&w, ordinal)], "metadata"), "labels");
		assert_true(str_eq(member_text(labels, LABEL_REVISION), w.status.update_revision));
	}
	set_world_done(&w);
}

static void test_events__have_upstreams_reasons_and_sentences(void **state _unused_)
{
	struct set_world w;
	set_world_init(&w, &carrier_controllerrevisions);
	w.n_claim_templates = 1;
	w.replicas = 1;
	assert_true(set_pass(&w));
	assert_said(&w, "Normal SuccessfulCreate Create Claim www-web-0 Pod web-0 in StatefulSet web success\n");
	assert_said(&w, "Normal SuccessfulCreate Create Pod web-0 in StatefulSet web successful\n");
	set_settle(&w);
	set_image(&w, "b");
	w.fault = FAULT_REFUSED;
	w.fault_at = w.n_calls + 2;
	assert_false(set_pass(&w));
	assert_said(&w, "Warning FailedDelete Delete Pod web-0 in StatefulSet web failed error: no\n");
	assert_true(set_pass(&w));
	assert_said(&w, "Normal SuccessfulDelete Delete Pod web-0 in StatefulSet web successful\n");
	set_kubelet(&w);
	w.n_claims = 0;
	w.fault_at = w.n_calls + 1;
	assert_false(set_pass(&w));
	assert_said(&w, "Warning FailedCreate Create Claim www-web-0 for Pod web-0 in StatefulSet web failed error: no\n");
	set_world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first_passes__keep_the_template_then_make_one_pod_after_the_other),
		TEST(test_pods__are_not_looked_at_before_their_revision_is_kept),
		TEST(test_history__is_maintained_last_and_also_when_a_pass_fails),
		TEST(test_pods__are_sorted_by_ordinal_as_a_number),
		TEST(test_missing_pod__of_the_lowest_ordinal_is_made_and_waited_for),
		TEST(test_pod_that_is_not_ready__stops_scaling_and_updating),
		TEST(test_pod_that_has_ended__is_replaced_in_its_revision),
		TEST(test_scaling__precedes_updating),
		TEST(test_scaling_down__goes_around_no_unhealthy_pod_but_the_first),
		TEST(test_completion__is_one_write_when_all_are_ready_and_of_the_target),
		TEST(test_completion__waits_for_the_partition_to_go),
		TEST(test_partition_that_is_raised_at_the_end__takes_pods_back),
		TEST(test_status__tells_what_was_counted_and_of_which_generation),
		TEST(test_status__is_written_also_by_a_pass_that_fails),
		TEST(test_template__that_is_as_before_writes_nothing),
		TEST(test_template_of_old__is_the_target_again_and_no_new_revision),
		TEST(test_rollback_in_progress__replaces_none_but_the_updated_pods),
		TEST(test_set_without_a_generation__has_no_history_and_pods_without_its_label),
		TEST(test_death_between_revision_and_status__makes_no_second_one),
		TEST(test_revision_that_is_there_unseen__is_taken_as_done),
		TEST(test_revision_name_that_is_taken__is_never_shared),
		TEST(test_revisions_that_somebody_deletes__are_made_again_without_a_restart),
		TEST(test_current_revision_without_a_state__is_as_one_that_was_deleted),
		TEST(test_revisions_that_are_spoilt__are_told_of_once_for_a_change_and_not_all),
		TEST(test_broken_update__is_rolled_back_or_forward_where_the_set_asks_for_it),
		TEST(test_pods_that_were_ready__are_waited_for),
		TEST(test_broken_pods__are_replaced_one_at_a_time),
		TEST(test_starting_pods_of_the_current_revision__are_waited_for),
		TEST(test_broken_pod__is_replaced_while_the_set_is_scaled),
		TEST(test_broken_pod__comes_back_in_the_revision_it_should_have),
		TEST(test_ordered_set__has_one_pod_made_or_taken_away_by_a_pass),
		TEST(test_pod_that_has_changed_since_it_was_read__is_left_to_the_next_pass),
		TEST(test_broken_pods_of_their_own_revision__are_left_to_become_ready),
		TEST(test_parallel__makes_and_takes_away_all_at_once),
		TEST(test_parallel__scaled_and_updated_at_once_brings_no_pod_back_in_the_old_revision),
		TEST(test_parallel__asks_a_server_that_refuses_in_growing_batches),
		TEST(test_parallel__fails_where_a_pod_failed_before_the_limit_of_a_pass),
		TEST(test_on_delete__leaves_it_to_the_user_which_pods_are_new),
		TEST(test_start_ordinal__moves_the_slots_and_the_partition),
		TEST(test_min_ready_seconds__hold_the_next_step_back),
		TEST(test_max_unavailable__counts_behind_its_gate),
		TEST(test_set_that_is_being_deleted__does_nothing_but_its_status),
		TEST(test_claims__belong_to_whom_the_policy_says),
		TEST(test_claim_that_is_going__keeps_its_pod_waiting),
		TEST(test_lost_labels__are_fixed),
		TEST(test_pod_of_an_equal_state__is_relabelled_and_goes_on),
		TEST(test_pod_of_an_equal_state__is_not_relabelled_by_the_pass_that_makes_it),
		TEST(test_events__have_upstreams_reasons_and_sentences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
