#include "controllers/kubelet/kubelet_plan.h"

#include "controllers/kubelet/addresses.h"
#include "controllers/kubelet/node_plan.h"
#include "controllers/kubelet/placement.h"
#include "tests/unit/check.h"

static struct json *parse(struct arena *a, const char *text)
{
	struct json *j = NULL;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static struct kubelet_look look_after(int64_t started_for_ms, int64_t stopping_for_ms)
{
	return (struct kubelet_look){.now = STR("2024-01-01T00:00:09Z"),
		.host_ip = STR("172.16.0.1"),
		.pod_ip = STR("10.128.0.1"),
		.started_for_ms = started_for_ms,
		.stopping_for_ms = stopping_for_ms};
}

#define POD(meta, spec, status)                            \
	"{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"" meta \
	"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]" spec "},\"status\":{" status "}}"
#define HERE ",\"nodeName\":\"fake-0\""
#define DELETED(grace) ",\"deletionTimestamp\":\"2024-01-01T00:00:30Z\",\"deletionGracePeriodSeconds\":" grace
#define HELD ",\"finalizers\":[\"x.io/y\"]"
#define ORDERED(what, value) ",\"annotations\":{\"fake-node.annals.dev/" what "\":\"" value "\"}"
#define PHASE(phase) "\"phase\":\"" phase "\""

static void test_decide__steps_by_what_stands_in_the_pod(void **state _unused_)
{
	static const struct {
		const char *pod;
		enum kubelet_step step;
	} cases[] = {
		{POD("", "", PHASE("Pending")), KUBELET_BIND},
		{POD("", ",\"schedulingGates\":[{\"name\":\"g\"}]", PHASE("Pending")), KUBELET_NOTHING},
		{POD("", "", PHASE("Failed")), KUBELET_NOTHING},
		{POD(DELETED("30") HELD, "", PHASE("Pending")), KUBELET_NOTHING},
		{POD("", ",\"nodeName\":\"real\"", PHASE("Pending")), KUBELET_NOTHING},
		{POD(DELETED("30"), ",\"nodeName\":\"real\"", PHASE("Running")), KUBELET_NOTHING},
		{POD("", HERE, PHASE("Pending")), KUBELET_REPORT},
		{POD("", HERE, PHASE("Failed")), KUBELET_NOTHING},
		{POD(ORDERED("phase", "Failed"), HERE, PHASE("Succeeded")), KUBELET_NOTHING},
		{POD(DELETED("30") ORDERED("stop-after", "0"), HERE, PHASE("Running")), KUBELET_REPORT},
		{POD(DELETED("30"), HERE, PHASE("Succeeded")), KUBELET_REMOVE},
		{POD(DELETED("30") HELD ORDERED("stop-after", "0"), HERE, PHASE("Running")), KUBELET_REPORT},
		{POD(DELETED("30") HELD, HERE, PHASE("Succeeded")), KUBELET_REMOVE},
		{POD(DELETED("0") HELD, HERE, PHASE("Running")), KUBELET_REPORT},
		{POD(DELETED("0") HELD, HERE, PHASE("Succeeded")), KUBELET_NOTHING},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct kubelet_look look = look_after(0, 0);
		assert_int_equal(kubelet_decide(&a, parse(&a, cases[i].pod), &look).step, cases[i].step);
	}
	arena_done(&a);
}

static struct json *with_status(struct arena *a, const struct json *pod, const struct json *changes)
{
	struct json *changed = json_copy(a, pod), *status = json_copy(a, json_gets(pod, "status"));
	for (uint32_t i = 0; i < changes->n; i++) {
		json_set(a, status, changes->members[i].name, changes->members[i].value);
	}
	json_set(a, changed, STR("status"), status);
	return changed;
}

/* The pod's status once there is nothing to change any more, which is after one write. */
static const struct json *settle(struct arena *a, const struct json **pod, struct kubelet_look look)
{
	struct kubelet_plan plan = kubelet_decide(a, *pod, &look);
	if (plan.step == KUBELET_REPORT) {
		*pod = with_status(a, *pod, plan.status);
		look.now = STR("2024-01-01T00:00:59Z"); /* later there is nothing new to say, but for the time */
		assert_int_equal(kubelet_decide(a, *pod, &look).step, KUBELET_NOTHING);
	}
	return json_gets(*pod, "status");
}

static const struct json *condition(const struct json *status, const char *type)
{
	const struct json *list = json_gets(status, "conditions");
	for (uint32_t i = 0; list && i < list->n; i++) {
		if (str_is(json_text(json_gets(list->items[i], "type")), type)) {
			return list->items[i];
		}
	}
	return NULL;
}

static void assert_condition(const struct json *status, const char *type, const char *value)
{
	assert_str(json_text(json_gets(condition(status, type), "status")), value);
}

static void assert_phase(const struct json *status, const char *phase, const char *ready)
{
	assert_str(json_text(json_gets(status, "phase")), phase);
	assert_condition(status, "Ready", ready);
	assert_condition(status, "ContainersReady", ready);
	assert_condition(status, "PodScheduled", "True");
}

/* The i-th container's state of that name; NULL: it is in another. */
static const struct json *state_of(const struct json *status, const char *list, uint32_t i, const char *name)
{
	return json_gets(json_gets(json_gets(status, list)->items[i], "state"), name);
}

static void test_status__is_as_ordered(void **state _unused_)
{
	static const struct {
		const char *meta, *phase, *ready, *container;
	} cases[] = {
		{"", "Running", "True", "running"},
		{ORDERED("ready", "false"), "Running", "False", "running"},
		{ORDERED("ready", "true"), "Running", "True", "running"},
		{ORDERED("phase", "Pending"), "Pending", "False", "waiting"},
		{ORDERED("phase", "Failed"), "Failed", "False", "terminated"},
		{ORDERED("phase", "Succeeded"), "Succeeded", "False", "terminated"},
		{ORDERED("phase", "Nonsense"), "Running", "True", "running"},
		{ORDERED("start-after", "500ms"), "Pending", "False", "waiting"},
		{ORDERED("start-after", "100ms"), "Running", "True", "running"},
		{ORDERED("start-after", "nonsense"), "Running", "True", "running"},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str text = arena_printf(&a, POD("%s", HERE, PHASE("Pending")), cases[i].meta);
		const struct json *pod = parse(&a, text.p), *status = settle(&a, &pod, look_after(100, 0));
		assert_phase(status, cases[i].phase, cases[i].ready);
		assert_non_null(state_of(status, "containerStatuses", 0, cases[i].container));
		assert_str(json_text(json_gets(status, "hostIP")), "172.16.0.1");
		assert_str(json_text(json_gets(status, "startTime")), "2024-01-01T00:00:09Z");
	}
	arena_done(&a);
}

static const struct json *ordered(struct arena *a, const struct json *pod, const char *what, const char *value)
{
	struct json *changed = json_copy(a, pod), *meta = json_copy(a, json_gets(pod, "metadata")), *orders = json_object(a);
	json_set(a, orders, arena_printf(a, "fake-node.annals.dev/%s", what), json_string(a, str_of(value)));
	json_set(a, meta, STR("annotations"), orders);
	json_set(a, changed, STR("metadata"), meta);
	return changed;
}

static void test_status__follows_changed_orders(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *pod = parse(&a, POD("", HERE, PHASE("Pending")));
	struct kubelet_look look = look_after(0, 0);
	assert_phase(settle(&a, &pod, look), "Running", "True");

	look.now = STR("2024-01-01T00:00:10Z");
	pod = ordered(&a, pod, "ready", "false");
	const struct json *status = settle(&a, &pod, look), *ready = condition(status, "Ready");
	assert_phase(status, "Running", "False");
	assert_str(json_text(json_gets(ready, "reason")), "ContainersNotReady");
	assert_str(json_text(json_gets(ready, "message")), "containers with unready status: [c]");
	assert_str(json_text(json_gets(ready, "lastTransitionTime")), "2024-01-01T00:00:10Z");
	assert_str(json_text(json_gets(condition(status, "PodScheduled"), "lastTransitionTime")), "2024-01-01T00:00:09Z");
	assert_str(
		json_text(json_gets(state_of(status, "containerStatuses", 0, "running"), "startedAt")), "2024-01-01T00:00:09Z");

	pod = ordered(&a, pod, "ready", "true");
	status = settle(&a, &pod, look);
	assert_phase(status, "Running", "True");
	assert_null(json_gets(condition(status, "Ready"), "reason"));
	assert_null(json_gets(condition(status, "Ready"), "message"));

	pod = ordered(&a, pod, "phase", "Failed");
	status = settle(&a, &pod, look);
	assert_phase(status, "Failed", "False");
	assert_str(json_text(json_gets(condition(status, "Ready"), "reason")), "PodFailed");
	pod = ordered(&a, pod, "phase", "Succeeded");
	assert_phase(settle(&a, &pod, look), "Failed", "False");
	arena_done(&a);
}

static void test_status__starts_when_its_time_has_come(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *pod = parse(&a, POD(ORDERED("start-after", "500ms"), HERE, PHASE("Pending")));
	struct kubelet_look look = look_after(100, 0);
	assert_int_equal(kubelet_decide(&a, pod, &look).wait_ms, 400);
	const struct json *status = settle(&a, &pod, look);
	assert_phase(status, "Pending", "False");
	assert_null(json_gets(status, "podIP"));
	assert_int_equal(kubelet_decide(&a, pod, &look).wait_ms, 400);

	look = look_after(500, 0);
	assert_int_equal(kubelet_decide(&a, pod, &look).wait_ms, -1);
	assert_phase(settle(&a, &pod, look), "Running", "True");

	/* One that runs is not begun again by a kubelet that sees it for the first time. */
	look = look_after(0, 0);
	assert_phase(settle(&a, &pod, look), "Running", "True");
	arena_done(&a);
}

static void test_decide__stops_after_the_ordered_time_and_no_later_than_its_grace(void **state _unused_)
{
	static const struct {
		const char *grace, *after;
		int64_t stopping_for_ms, wait_ms;
	} cases[] = {
		{"30", "2s", 0, 2000},
		{"30", "2s", 1500, 500},
		{"30", "2s", 2000, -1},
		{"1", "2s", 0, 1000},
		{"1", "2s", 1000, -1},
		{"30", "-5s", 0, -1},
		{"30", "nonsense", 200, 800},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str text = arena_printf(&a, POD(DELETED("%s") ORDERED("stop-after", "%s"), HERE, PHASE("Running")),
			cases[i].grace, cases[i].after);
		const struct kubelet_look look = look_after(0, cases[i].stopping_for_ms);
		const struct kubelet_plan plan = kubelet_decide(&a, parse(&a, text.p), &look);
		assert_int_equal(plan.wait_ms, cases[i].wait_ms);
		assert_int_equal(plan.step, KUBELET_REPORT);
		assert_str(json_text(json_gets(plan.status, "phase")), cases[i].wait_ms < 0 ? "Succeeded" : "");
	}
	arena_done(&a);
}

#define EXEC_PROBE                                                                                                       \
	",\"containers\":[{\"name\":\"plain\",\"image\":\"i\"},{\"name\":\"asked\",\"image\":\"i\",\"readinessProbe\":{" \
	"\"exec\":{}}}]"
#define PROBED(meta) \
	"{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"" meta "},\"spec\":{\"nodeName\":\"fake-0\"" EXEC_PROBE "},\"status\":{}}"
#define AROUND(what, value) "{\"annotations\":{\"fake-node.annals.dev/" what "\":\"" value "\"}}"

static void test_status__of_probes_that_are_commands(void **state _unused_)
{
	static const struct {
		const char *pod, *node, *namespace, *ready;
		bool is_dependent;
	} cases[] = {
		{PROBED(""), "{}", "{}", "True", true},
		{PROBED(""), AROUND("probes", "manual"), "{}", "False", true},
		{PROBED(""), "{}", AROUND("probes", "manual"), "False", true},
		{PROBED(""), AROUND("probes", "auto"), AROUND("probes", "manual"), "True", true},
		{PROBED(ORDERED("probes", "manual")), "{}", "{}", "False", true},
		{PROBED(ORDERED("ready", "true")), "{}", AROUND("probes", "manual"), "True", false},
		{PROBED(ORDERED("ready", "false")), "{}", "{}", "False", false},
		{POD("", HERE, PHASE("Pending")), "{}", AROUND("probes", "manual"), "True", false},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct json *pod = parse(&a, cases[i].pod);
		struct kubelet_look look = look_after(0, 0);
		look.node = parse(&a, cases[i].node);
		look.namespace = parse(&a, cases[i].namespace);
		assert_int_equal(kubelet_decide(&a, pod, &look).is_dependent, cases[i].is_dependent);
		assert_phase(settle(&a, &pod, look), "Running", cases[i].ready);
	}
	const struct json *pod = parse(&a, PROBED(""));
	struct kubelet_look look = look_after(0, 0);
	look.node = parse(&a, AROUND("probes", "manual"));
	const struct json *status = settle(&a, &pod, look), *containers = json_gets(status, "containerStatuses");
	assert_true(json_gets(containers->items[0], "ready")->boolean);
	assert_false(json_gets(containers->items[1], "ready")->boolean);
	assert_str(json_text(json_gets(condition(status, "Ready"), "message")), "containers with unready status: [asked]");
	arena_done(&a);
}

static void test_decide__stops_as_node_or_namespace_say(void **state _unused_)
{
	static const struct {
		const char *node, *namespace;
		int64_t wait_ms;
	} cases[] = {
		{"{}", "{}", 1000},
		{AROUND("stop-after", "2s"), "{}", 2000},
		{"{}", AROUND("stop-after", "1h"), 30000},
		{AROUND("stop-after", "2s"), AROUND("stop-after", "1h"), 2000},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubelet_look look = look_after(0, 0);
		look.node = parse(&a, cases[i].node);
		look.namespace = parse(&a, cases[i].namespace);
		const struct json *pod = parse(&a, POD(DELETED("30"), HERE, PHASE("Running")));
		assert_int_equal(kubelet_decide(&a, pod, &look).wait_ms, cases[i].wait_ms);
	}
	arena_done(&a);
}

#define NODE(labels, spec) \
	"{\"metadata\":{\"name\":\"fake-0\",\"labels\":{\"disk\":\"ssd\",\"cpus\":\"8\"" labels "}},\"spec\":{" spec "}}"
#define CORDONED "\"unschedulable\":true"
#define TAINTED(effect) "\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"" effect "\"}]"
#define TOLERATES(members) ",\"tolerations\":[{" members "}]"
#define AFFINITY(terms)                                                                                                      \
	",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[" terms \
	"]}}}"
#define TERM(key, operator, values) \
	"{\"matchExpressions\":[{\"key\":\"" key "\",\"operator\":\"" operator"\",\"values\":[" values "]}]}"

static void test_placement__refuses_as_a_scheduler(void **state _unused_)
{
	static const struct {
		const char *pod, *node;
		enum placement placement;
	} cases[] = {
		{"", NODE("", ""), PLACEMENT_FITS},
		{"", NODE("", CORDONED), PLACEMENT_UNSCHEDULABLE},
		{TOLERATES("\"key\":\"node.kubernetes.io/unschedulable\",\"operator\":\"Exists\""), NODE("", CORDONED),
			PLACEMENT_FITS},
		{TOLERATES("\"operator\":\"Exists\""), NODE("", CORDONED "," TAINTED("NoSchedule")), PLACEMENT_FITS},
		{"", NODE("", TAINTED("NoSchedule")), PLACEMENT_TAINT},
		{"", NODE("", TAINTED("NoExecute")), PLACEMENT_TAINT},
		{"", NODE("", TAINTED("PreferNoSchedule")), PLACEMENT_FITS},
		{TOLERATES("\"key\":\"k\",\"value\":\"v\""), NODE("", TAINTED("NoSchedule")), PLACEMENT_FITS},
		{TOLERATES("\"key\":\"k\",\"value\":\"other\""), NODE("", TAINTED("NoSchedule")), PLACEMENT_TAINT},
		{TOLERATES("\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoExecute\""), NODE("", TAINTED("NoSchedule")),
			PLACEMENT_TAINT},
		{",\"nodeSelector\":{\"disk\":\"ssd\"}", NODE("", ""), PLACEMENT_FITS},
		{",\"nodeSelector\":{\"disk\":\"hdd\"}", NODE("", ""), PLACEMENT_AFFINITY},
		{",\"nodeSelector\":{\"zone\":\"\"}", NODE("", ""), PLACEMENT_AFFINITY},
		{AFFINITY(TERM("disk", "In", "\"hdd\",\"ssd\"")), NODE("", ""), PLACEMENT_FITS},
		{AFFINITY(TERM("disk", "In", "\"hdd\"")), NODE("", ""), PLACEMENT_AFFINITY},
		{AFFINITY(TERM("disk", "In", "\"hdd\"") "," TERM("disk", "Exists", "")), NODE("", ""), PLACEMENT_FITS},
		{AFFINITY(TERM("zone", "NotIn", "\"a\"")), NODE("", ""), PLACEMENT_FITS},
		{AFFINITY(TERM("zone", "DoesNotExist", "")), NODE(",\"zone\":\"a\"", ""), PLACEMENT_AFFINITY},
		{AFFINITY(TERM("cpus", "Gt", "\"7\"")), NODE("", ""), PLACEMENT_FITS},
		{AFFINITY(TERM("cpus", "Lt", "\"8\"")), NODE("", ""), PLACEMENT_AFFINITY},
		{AFFINITY(TERM("disk", "Gt", "\"1\"")), NODE("", ""), PLACEMENT_AFFINITY},
		{AFFINITY("{}"), NODE("", ""), PLACEMENT_AFFINITY},
		{AFFINITY("{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"fake-0\"]}]}"),
			NODE("", ""), PLACEMENT_FITS},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str text = arena_printf(&a, POD("", "%s", PHASE("Pending")), cases[i].pod);
		assert_int_equal(placement_of(parse(&a, text.p), parse(&a, cases[i].node)), cases[i].placement);
	}
	arena_done(&a);
}

static void test_status__of_a_pod_that_no_node_takes(void **state _unused_)
{
	struct arena a;
	struct buf why;
	arena_init(&a, 1 << 20);
	buf_init(&why, 4096);
	placement_explain(&why, (const unsigned[PLACEMENT_FITS]){2, 0, 1});
	assert_str(buf_str(&why),
		"0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 node(s) were unschedulable.");
	const struct json *pod = parse(&a, POD("", "", PHASE("Pending")));
	struct kubelet_look look = look_after(0, 0);
	look.unschedulable = buf_str(&why);
	assert_true(kubelet_decide(&a, pod, &look).is_dependent);
	const struct json *status = settle(&a, &pod, look), *scheduled = condition(status, "PodScheduled");
	assert_str(json_text(json_gets(status, "phase")), "Pending");
	assert_str(json_text(json_gets(scheduled, "status")), "False");
	assert_str(json_text(json_gets(scheduled, "reason")), "Unschedulable");
	look.unschedulable = STR("");
	assert_int_equal(kubelet_decide(&a, pod, &look).step, KUBELET_BIND);
	buf_done(&why);
	arena_done(&a);
}

/* By a server that died while it removed it. */
static void test_decide__removes_what_has_been_left_behind(void **state _unused_)
{
	static const char *const pods[] = {
		POD(DELETED("0"), HERE, PHASE("Running")),
		POD(DELETED("0"), HERE, PHASE("Succeeded")),
		POD(DELETED("0"), "", PHASE("Pending")),
	};
	static const struct {
		int64_t stopping_for_ms, wait_ms;
	} cases[] = {{0, 1000}, {999, 1}, {1000, -1}, {5000, -1}};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(pods) * ARRAY_SIZE(cases); i++) {
		const struct kubelet_look look = look_after(0, cases[i % ARRAY_SIZE(cases)].stopping_for_ms);
		const struct kubelet_plan plan = kubelet_decide(&a, parse(&a, pods[i / ARRAY_SIZE(cases)]), &look);
		assert_int_equal(plan.wait_ms, cases[i % ARRAY_SIZE(cases)].wait_ms);
		assert_int_equal(plan.step, plan.wait_ms < 0 ? KUBELET_REMOVE : KUBELET_NOTHING);
	}
	arena_done(&a);
}

static void test_status__of_a_stopped_pod_that_is_held(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *pod = parse(&a, POD(DELETED("0") HELD, HERE, PHASE("Running")));
	const struct json *status = settle(&a, &pod, look_after(0, 0));
	assert_phase(status, "Succeeded", "False");
	assert_non_null(state_of(status, "containerStatuses", 0, "terminated"));
	arena_done(&a);
}

static void test_status__keeps_what_others_wrote_and_heeds_their_gates(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *pod = parse(&a,
		POD("", HERE ",\"readinessGates\":[{\"conditionType\":\"x.io/g\"}]",
			PHASE("Pending") ",\"qosClass\":\"BestEffort\""));
	const struct json *status = settle(&a, &pod, look_after(0, 0));
	assert_condition(status, "ContainersReady", "True");
	assert_condition(status, "Ready", "False");
	assert_str(json_text(json_gets(status, "qosClass")), "BestEffort");

	pod = parse(&a,
		POD("", HERE ",\"readinessGates\":[{\"conditionType\":\"x.io/g\"}]",
			PHASE("Pending") ",\"conditions\":[{\"type\":\"x.io/g\",\"status\":\"True\",\"reason\":\"r\"}]"));
	status = settle(&a, &pod, look_after(0, 0));
	assert_condition(status, "Ready", "True");
	assert_str(json_text(json_gets(condition(status, "x.io/g"), "reason")), "r");
	arena_done(&a);
}

#define WITH_INIT                                                                                             \
	HERE ",\"initContainers\":[{\"name\":\"once\",\"image\":\"i\"},{\"name\":\"beside\",\"image\":\"i\"," \
	     "\"restartPolicy\":\"Always\"}]"

static void test_status__init_containers_end_and_sidecars_run(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *pod = parse(&a, POD(ORDERED("phase", "Pending"), WITH_INIT, PHASE("Pending")));
	const struct json *status = settle(&a, &pod, look_after(0, 0));
	assert_condition(status, "Initialized", "False");
	assert_non_null(state_of(status, "initContainerStatuses", 0, "waiting"));

	pod = ordered(&a, pod, "ready", "true");
	status = settle(&a, &pod, look_after(0, 0));
	assert_phase(status, "Running", "True");
	assert_condition(status, "Initialized", "True");
	assert_non_null(state_of(status, "initContainerStatuses", 0, "terminated"));
	assert_non_null(state_of(status, "initContainerStatuses", 1, "running"));

	/* What has ended stays so, also when the pod has to wait. */
	pod = ordered(&a, pod, "phase", "Pending");
	status = settle(&a, &pod, look_after(0, 0));
	assert_phase(status, "Pending", "False");
	assert_condition(status, "Initialized", "True");
	assert_non_null(state_of(status, "initContainerStatuses", 0, "terminated"));
	arena_done(&a);
}

static void test_status__another_image_restarts_the_container(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *pod = parse(&a, POD("", HERE, PHASE("Pending")));
	settle(&a, &pod, look_after(0, 0));
	struct json *changed = json_copy(&a, pod);
	json_set(&a, changed, STR("spec"),
		parse(&a, "{\"nodeName\":\"fake-0\",\"containers\":[{\"name\":\"c\",\"image\":\"newer\"}]}"));
	pod = changed;
	struct kubelet_look look = look_after(0, 0);
	look.now = STR("2024-01-01T00:00:10Z");
	const struct json *status = settle(&a, &pod, look), *container = json_gets(status, "containerStatuses")->items[0];
	assert_str(json_text(json_gets(container, "restartCount")), "1");
	assert_str(json_text(json_gets(container, "image")), "newer");
	assert_str(
		json_text(json_gets(state_of(status, "containerStatuses", 0, "running"), "startedAt")), "2024-01-01T00:00:10Z");
	arena_done(&a);
}

static void test_fake_node__is_known_by_its_name(void **state _unused_)
{
	static const struct {
		const char *name;
		int64_t index;
	} cases[] = {
		{"fake-0", 0},
		{"fake-17", 17},
		{"fake-4999", 4999},
		{"fake-5000", -1},
		{"fake-", -1},
		{"fake-01", -1},
		{"fake-x", -1},
		{"real", -1},
		{"fake--1", -1},
	};
	char name[NODE_NAME_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(fake_node_index(str_of(cases[i].name)), cases[i].index);
	}
	fake_node_name(name, 12);
	assert_string_equal(name, "fake-12");
}

static struct str condition_member(const struct json *status, const char *type, const char *name)
{
	return json_text(json_gets(condition(status, type), name));
}

static void test_node__is_ready_and_is_made_so_again(void **state _unused_)
{
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *node = fake_node(&a, 1, STR("2024-01-01T00:00:09Z")), *status = json_gets(node, "status");
	assert_str(json_text(json_gets(json_gets(node, "metadata"), "name")), "fake-1");
	assert_str(condition_member(status, "Ready", "status"), "True");
	assert_null(fake_node_status(&a, node, STR("2024-01-01T00:00:10Z")));
	assert_false(fake_node_is_missed(node));

	node = parse(&a,
		"{\"metadata\":{},\"status\":{\"conditions\":[{\"type\":\"x\",\"status\":\"Unknown\"},"
		"{\"type\":\"Ready\",\"status\":\"Unknown\"},{\"type\":\"DiskPressure\",\"status\":\"False\",\"reason\":\"r\"}]"
		"}}");
	assert_true(fake_node_is_missed(node));
	const struct json *changes = fake_node_status(&a, node, STR("2024-01-01T00:00:10Z"));
	assert_str(condition_member(changes, "x", "status"), "Unknown");
	assert_str(condition_member(changes, "Ready", "status"), "True");
	assert_str(condition_member(changes, "Ready", "lastTransitionTime"), "2024-01-01T00:00:10Z");
	assert_str(condition_member(changes, "DiskPressure", "reason"), "r");
	assert_str(condition_member(changes, "PIDPressure", "status"), "False");

	node = parse(&a, "{\"metadata\":{\"deletionTimestamp\":\"2024-01-01T00:00:09Z\"},\"status\":{}}");
	assert_null(fake_node_status(&a, node, STR("2024-01-01T00:00:10Z")));
	arena_done(&a);
}

/* Counted from the pod's startTime: look_after() is at second 9. */
static void test_decide__ends_a_pod_at_its_deadline(void **state _unused_)
{
	static const struct {
		const char *deadline, *status;
		const char *phase;
		int64_t wait_ms;
	} cases[] = {
		{",\"activeDeadlineSeconds\":5", PHASE("Pending"), "Running", 5000},
		{",\"activeDeadlineSeconds\":5", PHASE("Running") ",\"startTime\":\"2024-01-01T00:00:05Z\"", "Running", 1000},
		{",\"activeDeadlineSeconds\":5", PHASE("Running") ",\"startTime\":\"2024-01-01T00:00:04Z\"", "Failed", -1},
		{",\"activeDeadlineSeconds\":5", PHASE("Pending") ",\"startTime\":\"2024-01-01T00:00:01Z\"", "Failed", -1},
		{"", PHASE("Running") ",\"startTime\":\"2023-01-01T00:00:04Z\"", "Running", -1},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str text = arena_printf(&a, POD("", HERE "%s", "%s"), cases[i].deadline, cases[i].status);
		const struct json *pod = parse(&a, text.p);
		const struct kubelet_look look = look_after(100, 0);
		struct kubelet_plan plan = kubelet_decide(&a, pod, &look);
		const struct json *status = json_gets(with_status(&a, pod, plan.status), "status");
		bool is_over = strcmp(cases[i].phase, "Failed") == 0;
		assert_int_equal(plan.step, KUBELET_REPORT);
		assert_int_equal(plan.wait_ms, cases[i].wait_ms);
		assert_phase(status, cases[i].phase, is_over ? "False" : "True");
		assert_non_null(state_of(status, "containerStatuses", 0, is_over ? "terminated" : "running"));
		assert_str(json_text(json_gets(status, "reason")), is_over ? "DeadlineExceeded" : "");
	}
	arena_done(&a);
}

static void test_addresses__are_given_out_once(void **state _unused_)
{
	struct addresses addresses;
	char text[ADDRESS_SIZE];
	addresses_init(&addresses);
	assert_int_equal(addresses_note(&addresses, STR("10.128.0.2")), 10u << 24 | 128u << 16 | 2);
	static const char *const strangers[] = {
		"10.1.2.3", "10.192.0.1", "10.128.0", "10.128.0.1.1", "10.128.0.256", "10.128.0.x", "fd00::1", ""};
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		assert_int_equal(addresses_note(&addresses, str_of(strangers[i])), 0);
	}
	address_format(text, addresses_take(&addresses));
	assert_string_equal(text, "10.128.0.1");
	address_format(text, addresses_take(&addresses));
	assert_string_equal(text, "10.128.0.3"); /* the one between is taken */

	uint32_t n = 3; /* of 256, but for two, in each of 16384 networks */
	while (addresses_take(&addresses)) {
		n++;
	}
	assert_int_equal(n, 16384 * 254);
	addresses_give_back(&addresses, 10u << 24 | 128u << 16 | 2);
	address_format(text, addresses_take(&addresses));
	assert_string_equal(text, "10.128.0.2");
	assert_int_equal(addresses_take(&addresses), 0);
	addresses_done(&addresses);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_decide__steps_by_what_stands_in_the_pod),
		TEST(test_status__is_as_ordered),
		TEST(test_status__follows_changed_orders),
		TEST(test_status__starts_when_its_time_has_come),
		TEST(test_decide__stops_after_the_ordered_time_and_no_later_than_its_grace),
		TEST(test_status__of_probes_that_are_commands),
		TEST(test_decide__stops_as_node_or_namespace_say),
		TEST(test_placement__refuses_as_a_scheduler),
		TEST(test_status__of_a_pod_that_no_node_takes),
		TEST(test_decide__removes_what_has_been_left_behind),
		TEST(test_status__of_a_stopped_pod_that_is_held),
		TEST(test_status__keeps_what_others_wrote_and_heeds_their_gates),
		TEST(test_status__init_containers_end_and_sidecars_run),
		TEST(test_status__another_image_restarts_the_container),
		TEST(test_decide__ends_a_pod_at_its_deadline),
		TEST(test_fake_node__is_known_by_its_name),
		TEST(test_node__is_ready_and_is_made_so_again),
		TEST(test_addresses__are_given_out_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
