/* Pods as members of a StatefulSet: what they are taken for, what is made, and what is fixed. */
#include "tests/unit/history_world.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "controllers/statefulset/member.h"

#include <stdlib.h>

#define AT "2026-01-01T00:00:00Z"

struct world {
	struct arena arena;
	struct set set;
	int64_t at_s; /* AT */
};

static void init(struct world *w, const char *spec)
{
	struct str problem;

	*w = (struct world){0};
	arena_init(&w->arena, 1 << 24);
	int64_t us;
	assert_true(time_parse_rfc3339(STR(AT), &us));
	w->at_s = us / 1000000;
	struct str text = arena_printf(&w->arena,
		"{\"metadata\":{\"name\":\"web\",\"namespace\":\"ns\",\"uid\":\"uid-of-web\"},\"spec\":{\"replicas\":3,"
		"\"selector\":{\"matchLabels\":{\"app\":\"web\"}},%s}}%c",
		spec, '\0');
	const struct json *object = parsed(&w->arena, text.p);
	assert_true(set_read(&w->set, object, object, &w->arena, &problem));
}

static void done(struct world *w)
{
	arena_done(&w->arena);
}

static bool read_pod(struct world *w, struct member *m, const char *pod, int64_t after_s)
{
	return member_read(m, parsed(&w->arena, pod), &w->set, w->at_s + after_s);
}

#define READY(phase)                                                                                    \
	"\"status\":{\"phase\":\"" phase "\",\"conditions\":[{\"type\":\"Other\",\"status\":\"True\"}," \
	"{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"" AT "\"}]}"

static void test_set__without_a_selector_selects_nothing(void **state _unused_)
{
	struct world w;
	struct str problem;
	init(&w, "\"template\":{}");
	assert_non_null(set_selects(&w.set));
	const struct json *object = parsed(&w.arena, "{\"metadata\":{\"name\":\"web\"},\"spec\":{}}");
	assert_true(set_read(&w.set, object, object, &w.arena, &problem));
	assert_null(set_selects(&w.set));
	object = parsed(&w.arena, "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"selector\":{}}}");
	assert_true(set_read(&w.set, object, object, &w.arena, &problem));
	assert_true(label_selector_matches(set_selects(&w.set), NULL, 0));
	object = parsed(&w.arena, "{\"spec\":{\"selector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Near\"}]}}}");
	assert_false(set_read(&w.set, object, object, &w.arena, &problem));
	done(&w);
}

/* seeds: D5 */
static void test_pod__is_ready_when_it_runs_and_says_so(void **state _unused_)
{
	static const struct {
		const char *pod;
		int phase;
		bool is_ready;
	} cases[] = {
		{"{\"metadata\":{\"name\":\"web-1\"}," READY("Running") "}", POD_RUNNING, true},
		{"{\"metadata\":{\"name\":\"web-1\"}," READY("Pending") "}", POD_PENDING, false},
		{"{\"metadata\":{\"name\":\"web-1\"}," READY("Failed") "}", POD_OVER, false},
		{"{\"metadata\":{\"name\":\"web-1\"}," READY("Succeeded") "}", POD_OVER, false},
		{"{\"metadata\":{\"name\":\"web-1\"}," READY("Unknown") "}", POD_RUNNING, false},
		{"{\"metadata\":{\"name\":\"web-1\"}}", POD_NEW, false},
		{"{\"metadata\":{\"name\":\"web-1\"},\"status\":{\"phase\":\"Running\"}}", POD_RUNNING, false},
		{"{\"metadata\":{\"name\":\"web-1\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
		 "\"status\":\"Unknown\"}]}}",
			POD_RUNNING, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;
		struct member m;
		init(&w, "\"template\":{}");
		assert_true(read_pod(&w, &m, cases[i].pod, 0));
		assert_int_equal(m.phase, cases[i].phase);
		assert_int_equal(m.is_ready, cases[i].is_ready);
		assert_int_equal(m.is_available, cases[i].is_ready);
		assert_int_equal(m.ordinal, 1);
		assert_int_equal(m.available_in_s, 0);
		done(&w);
	}
}

/* seeds: D5 */
static void test_pod__is_available_after_min_ready_seconds(void **state _unused_)
{
	static const char pod[] = "{\"metadata\":{\"name\":\"web-0\"}," READY("Running") "}";
	struct world w;
	struct member m;
	init(&w, "\"template\":{},\"minReadySeconds\":10");
	for (int64_t after_s = -5; after_s <= 15; after_s++) {
		assert_true(read_pod(&w, &m, pod, after_s));
		assert_true(m.is_ready);
		assert_int_equal(m.is_available, after_s >= 10);
		assert_int_equal(m.available_in_s, MAX(10 - after_s, 0));
		assert_int_equal(member_is_unavailable(&m), after_s < 10);
	}
	/* Since when is not known: it may never be. */
	assert_true(read_pod(&w, &m,
		"{\"metadata\":{\"name\":\"web-0\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
		"\"status\":"
		"\"True\"}]}}",
		1000));
	assert_true(m.is_ready && !m.is_available);
	done(&w);
}

/* seeds: R38 U27 */
static void test_pod__of_another_name_is_no_member(void **state _unused_)
{
	static const char *const names[] = {"web", "web-", "web-01", "web-0x1", "web--1", "web-1-0", "web-2147483648", "webx-1",
		"xweb-1", "web-+1", "web- 1", "web-1 "};
	struct world w;
	struct member m;
	init(&w, "\"template\":{}");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct str pod = arena_printf(&w.arena, "{\"metadata\":{\"name\":\"%s\"}}%c", names[i], '\0');
		assert_false(read_pod(&w, &m, pod.p, 0));
	}
	assert_true(read_pod(&w, &m, "{\"metadata\":{\"name\":\"web-2147483647\"}}", 0));
	assert_int_equal(m.ordinal, INT32_MAX);
	done(&w);
}

/* ---- what is made ---- */

#define TEMPLATE(image, more)                                                                                                  \
	"{\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{\"n\":\"1\"},\"finalizers\":[\"f/f\"],\"name\":\"no\"}," \
	"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"" image "\"}]" more "}}"

static struct revision revision_of(struct world *w, const char *template, int64_t generation)
{
	return (struct revision){.name = STR("web-abc"), .generation = generation, .state = parsed(&w->arena, template)};
}

/* seeds: R8 U8 U19 D4 */
static void test_made_pod__is_that_of_the_revision_with_todays_identity(void **state _unused_)
{
	struct world w;
	init(&w,
		"\"serviceName\":\"svc\",\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"www\"}}],\"template\":" TEMPLATE(
			"new", ""));
	struct revision r = revision_of(
		&w, TEMPLATE("old", ",\"volumes\":[{\"name\":\"www\",\"emptyDir\":{}},{\"name\":\"tmp\",\"emptyDir\":{}}]"), 7);
	assert_str(encoded(&w.arena, member_make(&w.set, &r, 2, &w.arena)),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-2\",\"generateName\":\"web-\","
		"\"namespace\":\"ns\","
		"\"labels\":{\"app\":\"web\",\"statefulset.kubernetes.io/pod-name\":\"web-2\",\"apps.kubernetes.io/"
		"pod-index\":\"2\","
		"\"controller-revision-hash\":\"web-abc\",\"statefulset-template-revision\":\"7\"},"
		"\"annotations\":{\"n\":\"1\"},\"finalizers\":[\"f/f\"],"
		"\"ownerReferences\":[{\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"uid-of-web\","
		"\"controller\":true,\"blockOwnerDeletion\":true}]},"
		"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"old\"}],"
		"\"volumes\":[{\"name\":\"www\",\"persistentVolumeClaim\":{\"claimName\":\"www-web-2\"}},{\"name\":\"tmp\","
		"\"emptyDir\":{}}],"
		"\"hostname\":\"web-2\",\"subdomain\":\"svc\"}}");
	assert_str(encoded(&w.arena, r.state),
		TEMPLATE("old", ",\"volumes\":[{\"name\":\"www\",\"emptyDir\":{}},{\"name\":\"tmp\",\"emptyDir\":{}}]"));
	done(&w);
}

/* seeds: U59 */
static void test_made_pod__without_a_history_has_no_label_of_one(void **state _unused_)
{
	struct world w;
	init(&w, "\"template\":" TEMPLATE("new", ""));
	const struct json *pod = member_make(&w.set, NULL, 0, &w.arena),
			  *labels = json_gets(json_gets(pod, "metadata"), "labels");
	assert_null(json_gets(labels, LABEL_REVISION));
	assert_null(json_gets(labels, HISTORY_LABEL_GENERATION));
	assert_str(member_text(list_item(json_gets(json_gets(pod, "spec"), "containers"), 0), "image"), "new");
	assert_null(json_gets(json_gets(pod, "spec"), "subdomain"));
	/* And of a history whose revisions have no generation, kube-controller-manager's, just the name. */
	struct revision r = revision_of(&w, TEMPLATE("old", ""), 0);
	labels = json_gets(json_gets(member_make(&w.set, &r, 0, &w.arena), "metadata"), "labels");
	assert_str(member_text(labels, LABEL_REVISION), "web-abc");
	assert_null(json_gets(labels, HISTORY_LABEL_GENERATION));
	done(&w);
}

/* The server refuses it. */
static void test_made_pod__of_a_template_without_a_spec_has_an_empty_one(void **state _unused_)
{
	struct world w;
	init(&w, "\"template\":" TEMPLATE("new", ""));
	struct revision r = revision_of(&w, "{\"metadata\":{\"labels\":null}}", 1);
	const struct json *spec = json_gets(member_make(&w.set, &r, 0, &w.arena), "spec");
	assert_str(encoded(&w.arena, spec), "{\"hostname\":\"web-0\"}");
	r.state = NULL;
	spec = json_gets(member_make(&w.set, &r, 0, &w.arena), "spec");
	assert_str(encoded(&w.arena, spec), "{\"hostname\":\"web-0\"}");
	done(&w);
}

/* ---- what is fixed; upstream's TestStorageMatches and TestIdentityMatches ---- */

static const char claimed[] = "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"datadir-0\"}},{\"metadata\":{\"name\":"
			      "\"datadir-1\"}}],\"template\":" TEMPLATE("i", "");

static const struct json *changed_volume(struct world *w, const struct json *pod, uint32_t at, const char *volume)
{
	struct json *copy = json_copy(&w->arena, pod), *spec = json_copy(&w->arena, json_gets(pod, "spec")),
		    *volumes = json_copy(&w->arena, json_gets(spec, "volumes"));

	json_remove_at(volumes, at);
	if (volume) {
		json_insert(&w->arena, volumes, at, parsed(&w->arena, volume));
	}
	json_set(&w->arena, spec, STR("volumes"), volumes);
	json_set(&w->arena, copy, STR("spec"), spec);
	return copy;
}

/* seeds: D5 */
static void test_storage__matches_when_each_claim_is_mounted(void **state _unused_)
{
	static const struct {
		uint32_t at;
		const char *volume;
		bool matches;
	} cases[] = {
		{0, "{\"name\":\"datadir-0\",\"persistentVolumeClaim\":{\"claimName\":\"datadir-0-web-1\"}}", true},
		{1, NULL, false},
		{1, "{\"name\":\"datadir-1\"}", false},
		{1, "{\"name\":\"datadir-1\",\"persistentVolumeClaim\":{\"claimName\":\"datadir-1-web-2\"}}", false},
		{1, "{\"name\":\"datadir-1\",\"emptyDir\":{}}", false},
		{1, "{\"name\":\"datadir-2\",\"persistentVolumeClaim\":{\"claimName\":\"datadir-1-web-1\"}}", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;
		struct member m;
		init(&w, claimed);
		struct revision r = revision_of(&w, TEMPLATE("i", ",\"volumes\":[{\"name\":\"tmp\",\"emptyDir\":{}}]"), 1);
		const struct json *pod = member_make(&w.set, &r, 1, &w.arena);
		assert_true(member_read(&m, pod, &w.set, 0));
		assert_true(member_has_storage(&w.set, &m, &w.arena));
		assert_true(member_conforms(&w.set, &m, &w.arena));

		const struct json *changed = changed_volume(&w, pod, cases[i].at, cases[i].volume);
		assert_true(member_read(&m, changed, &w.set, 0));
		assert_int_equal(member_has_storage(&w.set, &m, &w.arena), cases[i].matches);
		m.pod = member_conformed(&w.set, &m, &w.arena);
		assert_true(member_has_storage(&w.set, &m, &w.arena));
		const struct json *volumes = json_gets(json_gets(m.pod, "spec"), "volumes");
		assert_true(json_equal(list_item(volumes, volumes->n - 1),
				    parsed(&w.arena, "{\"name\":\"tmp\",\"emptyDir\":{}}")) ||
			i == 5);
		done(&w);
	}
}

/* seeds: D5 */
static void test_identity__is_given_back_and_the_rest_stays(void **state _unused_)
{
	struct world w;
	struct member m;
	init(&w, "\"template\":" TEMPLATE("i", ""));
	struct revision r = revision_of(&w, TEMPLATE("i", ""), 3);
	struct json *pod =
		with_label(&w.arena, member_make(&w.set, &r, 1, &w.arena), "of-others", json_string(&w.arena, STR("x")));
	assert_true(member_read(&m, with_label(&w.arena, pod, LABEL_POD_NAME, json_string(&w.arena, STR("web-2"))), &w.set, 0));
	assert_false(member_conforms(&w.set, &m, &w.arena));
	assert_true(json_equal(member_conformed(&w.set, &m, &w.arena), pod));
	done(&w);
}

/* seeds: H43 */
static void test_relabelled_pod__differs_in_both_labels_alone(void **state _unused_)
{
	struct world w;
	struct member m;
	init(&w, "\"template\":" TEMPLATE("i", ""));
	struct revision r = revision_of(&w, TEMPLATE("i", ""), 3), other = {.name = STR("web-def"), .generation = 9},
			plain = {.name = STR("web-k")};
	const struct json *pod = member_make(&w.set, &r, 1, &w.arena);
	assert_true(member_read(&m, pod, &w.set, 0));
	assert_int_equal(m.generation, 3);
	struct json *expected = with_label(&w.arena, pod, LABEL_REVISION, json_string(&w.arena, STR("web-def")));
	expected = with_label(&w.arena, expected, HISTORY_LABEL_GENERATION, json_string(&w.arena, STR("9")));
	assert_true(json_equal(member_relabelled(&m, &other, &w.arena), expected));
	expected = with_label(&w.arena, pod, LABEL_REVISION, json_string(&w.arena, STR("web-k")));
	expected = with_label(&w.arena, expected, HISTORY_LABEL_GENERATION, NULL);
	assert_true(json_equal(member_relabelled(&m, &plain, &w.arena), expected));
	done(&w);
}

#define MOUNTING(volumes)                                                                                              \
	"{\"spec\":{\"containers\":[{\"name\":\"c\",\"volumeMounts\":[{\"name\":\"www\"}]}],"                          \
	"\"initContainers\":[{\"name\":\"i\",\"volumeDevices\":[{\"name\":\"tmp\"},{\"name\":\"raw\"}]}],\"volumes\":" \
	"[" volumes "]}}"
#define TMP "{\"name\":\"tmp\",\"emptyDir\":{}}"
#define CLAIM(name, claim) "{\"name\":\"" name "\",\"persistentVolumeClaim\":{\"claimName\":\"" claim "\"}}"

/* seeds: U38 */
static void test_template__has_a_volume_for_each_claim_that_is_mounted(void **state _unused_)
{
	static const char claims[] =
		"\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"www\"}},{\"metadata\":{\"name\":\"tmp\"}},"
		"{\"metadata\":{\"name\":\"raw\"}},{\"metadata\":{\"name\":\"idle\"}}],\"template\":";
	struct world w;
	char spec[2048];
	snprintf(spec, sizeof(spec), "%s%s", claims, MOUNTING(TMP));
	init(&w, spec);
	assert_str(encoded(&w.arena, member_template(&w.set, &w.arena)),
		MOUNTING(TMP "," CLAIM("www", "www") "," CLAIM("raw", "raw")));
	/* And a pod that is made from it has claims of its own. */
	struct revision r = {.name = STR("web-1"), .generation = 1, .state = member_template(&w.set, &w.arena)};
	const struct json *pod = json_gets(member_make(&w.set, &r, 0, &w.arena), "spec");
	assert_str(encoded(&w.arena, json_gets(pod, "volumes")),
		"[" CLAIM("www", "www-web-0") "," CLAIM("tmp", "tmp-web-0") "," CLAIM("raw", "raw-web-0") "," CLAIM(
			"idle", "idle-web-0") "]");
	done(&w);
	init(&w, "\"template\":" TEMPLATE("i", ""));
	assert_str(encoded(&w.arena, member_template(&w.set, &w.arena)), TEMPLATE("i", ""));
	done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_set__without_a_selector_selects_nothing),
		TEST(test_pod__is_ready_when_it_runs_and_says_so),
		TEST(test_pod__is_available_after_min_ready_seconds),
		TEST(test_pod__of_another_name_is_no_member),
		TEST(test_made_pod__is_that_of_the_revision_with_todays_identity),
		TEST(test_made_pod__without_a_history_has_no_label_of_one),
		TEST(test_made_pod__of_a_template_without_a_spec_has_an_empty_one),
		TEST(test_template__has_a_volume_for_each_claim_that_is_mounted),
		TEST(test_storage__matches_when_each_claim_is_mounted),
		TEST(test_identity__is_given_back_and_the_rest_stays),
		TEST(test_relabelled_pod__differs_in_both_labels_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
