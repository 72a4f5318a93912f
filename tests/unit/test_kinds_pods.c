/* Pods, templates and claims: what is filled in, decided, refused and shown. tests/cluster compares much more of it with kube-apiserver. */
#include "admission/admission.h"
#include "api/core/pod_rules.h"
#include "api/model/protobuf.h"
#include "tests/unit/kind_world.h"

#define POD "/v1/pods"
#define TEMPLATE "/v1/podtemplates"
#define CLAIM "/v1/persistentvolumeclaims"

static struct object *pod_of(struct api_world *w, const char *spec)
{
	return world_decode(w, POD, arena_printf(&w->a, "{\"metadata\":{\"name\":\"p\"},\"spec\":%s}", spec).p);
}

static void complete(struct api_world *w, enum admission_operation operation, struct object *o)
{
	admission_complete(&(struct admission_attributes){.operation = operation, .kind = o->kind, .object = o}, &w->a);
}

static struct object *created(struct api_world *w, const char *spec)
{
	struct object *o = pod_of(w, spec);
	o->meta.creation_timestamp = STR("2020-01-01T00:00:00Z");
	complete(w, ADMIT_CREATE, o);
	o->kind->prepare_create(o, &w->a);
	return o;
}

/* No further: tests/cluster has the whole list. */
static const struct json *first_container(const struct object *o)
{
	return json_gets(object_spec(o), "containers")->items[0];
}

#define PLAIN_CONTAINER "{\"name\":\"c\",\"image\":\"i:1\"}"
#define PLAIN "{\"containers\":[" PLAIN_CONTAINER "]}"

static void test_types__all_have_numbers_in_protobuf(void **state)
{
	(void)state;
	static const char *const paths[] = {POD, TEMPLATE, CLAIM};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_true(protobuf_knows(world_version(paths[i], NULL)->type));
	}
	assert_true(protobuf_knows(kind_subresource(world_version(POD, NULL), NULL, STR("binding"))->view->kind->type));
}

static void test_template__is_filled_in_as_its_pods_would_be(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, TEMPLATE, "{\"template\":{\"spec\":" PLAIN "}}");
	world_assert_json(w, json_gets(o->fields, "template"),
		"{\"metadata\":{},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:1\",\"resources\":{},"
		"\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\","
		"\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
		"\"dnsPolicy\":\"ClusterFirst\",\"securityContext\":{},\"schedulerName\":\"default-scheduler\"}}");
}

/* The order of Go's struct, whatever is filled in when. */
static void test_pod__members_stand_in_their_order(void **state)
{
	struct api_world *w = *state;
	static const char *const names[] = {"containers", "restartPolicy", "terminationGracePeriodSeconds", "dnsPolicy",
		"serviceAccountName", "serviceAccount", "securityContext", "schedulerName", "tolerations", "priority",
		"enableServiceLinks", "preemptionPolicy"};
	const struct json *spec = object_spec(created(w, "{\"serviceAccount\":\"s\",\"containers\":[" PLAIN_CONTAINER "]}"));
	assert_int_equal(spec->n, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_str(spec->members[i].name, names[i]);
	}
}

static void test_pod__requests_follow_limits(void **state)
{
	struct api_world *w = *state;
	struct object *o = pod_of(w,
		"{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1000m\",\"memory\":\"1024Mi\",\"x.io/y\":\"0.1m\"},"
		"\"requests\":{\"cpu\":0.5}}}]}");
	world_assert_json(w, json_gets(first_container(o), "resources"),
		"{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\",\"x.io/y\":\"1m\"},"
		"\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\",\"x.io/y\":\"1m\"}}");
	/* those of a template's pods do when there is a pod */
	o = world_decode(w, TEMPLATE, "{\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":1}}}]}}}");
	const struct json *spec = json_gets(json_gets(o->fields, "template"), "spec");
	world_assert_json(w, json_gets(json_gets(spec, "containers")->items[0], "resources"), "{\"limits\":{\"cpu\":\"1\"}}");
}

static void test_pod__ports_on_the_nodes_network(void **state)
{
	struct api_world *w = *state;
	struct object *o = pod_of(w, "{\"hostNetwork\":true,\"containers\":[{\"ports\":[{\"containerPort\":80}]}]}");
	world_assert_json(
		w, json_gets(first_container(o), "ports"), "[{\"hostPort\":80,\"containerPort\":80,\"protocol\":\"TCP\"}]");
}

static void test_pod__volumes_without_a_source_are_empty_folders(void **state)
{
	struct api_world *w = *state;
	struct object *o = pod_of(w,
		"{\"volumes\":[{\"name\":\"a\"},{\"name\":\"b\",\"secret\":{}},{\"name\":\"c\",\"image\":{\"reference\":\"i\"}}"
		"]}");
	world_assert_json(w, json_gets(object_spec(o), "volumes"),
		"[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":\"b\",\"secret\":{\"defaultMode\":420}},"
		"{\"name\":\"c\",\"image\":{\"reference\":\"i\",\"pullPolicy\":\"Always\"}}]");
}

static void test_pod__first_address_is_the_address(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *status, *ip, *ips;
	} rows[] = {
		{"{\"podIP\":\"1.1.1.1\"}", "1.1.1.1", "[{\"ip\":\"1.1.1.1\"}]"},
		{"{\"podIPs\":[{\"ip\":\"1.1.1.1\"},{\"ip\":\"::1\"}]}", "1.1.1.1", "[{\"ip\":\"1.1.1.1\"},{\"ip\":\"::1\"}]"},
		{"{\"podIP\":\"2.2.2.2\",\"podIPs\":[{\"ip\":\"1.1.1.1\"}]}", "2.2.2.2", "[{\"ip\":\"2.2.2.2\"}]"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *o = world_decode(w, POD, arena_printf(&w->a, "{\"status\":%s}", rows[i].status).p);
		assert_str(json_text(json_gets(object_status(o), "podIP")), rows[i].ip);
		world_assert_json(w, json_gets(object_status(o), "podIPs"), rows[i].ips);
	}
}

static void test_pod__quality_of_service(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *resources, *quality;
	} rows[] = {
		{"{}", "BestEffort"},
		{"{\"limits\":{\"x.io/y\":\"1\"}}", "BestEffort"},
		{"{\"limits\":{\"cpu\":\"0\"}}", "BestEffort"},
		{"{\"requests\":{\"cpu\":\"1\"}}", "Burstable"},
		{"{\"limits\":{\"cpu\":\"1\"}}", "Burstable"},
		{"{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}", "Guaranteed"},
		{"{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"1000m\",\"memory\":\"1024Mi\"}}",
			"Guaranteed"},
		{"{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"requests\":{\"memory\":\"1Mi\"}}", "Burstable"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *o =
			created(w, arena_printf(&w->a, "{\"containers\":[{\"resources\":%s}]}", rows[i].resources).p);
		assert_str(json_text(json_gets(object_status(o), "qosClass")), rows[i].quality);
	}
}

static void test_pod__tolerates_absent_nodes_for_a_while(void **state)
{
	struct api_world *w = *state;
	assert_int_equal(json_gets(object_spec(created(w, PLAIN)), "tolerations")->n, 2);
	assert_int_equal(
		json_gets(object_spec(created(w, "{\"tolerations\":[{\"operator\":\"Exists\"}]}")), "tolerations")->n, 1);
	struct object *o = created(w,
		"{\"tolerations\":[{\"key\":\"node.kubernetes.io/"
		"not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"}]}");
	assert_int_equal(json_gets(object_spec(o), "tolerations")->n, 2);
}

static void test_pod__gates_show_in_its_conditions(void **state)
{
	struct api_world *w = *state;
	struct object *o = created(w, "{\"schedulingGates\":[{\"name\":\"x.io/y\"}],\"containers\":[" PLAIN_CONTAINER "]}");
	assert_cell(o, "Status", "\"SchedulingGated\"");
	assert_cell(created(w, PLAIN), "Status", "\"Pending\"");
}

static void test_pod__grace_period(void **state)
{
	struct api_world *w = *state;
	struct object *o = pod_of(w, PLAIN);
	assert_int_equal(o->kind->grace_period(o, true, 60), 0); /* nobody runs it */
	o = pod_of(w, "{\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":7}");
	assert_int_equal(o->kind->grace_period(o, false, 0), 7);
	assert_int_equal(o->kind->grace_period(o, true, 60), 60);
	assert_int_equal(o->kind->grace_period(o, true, -5), 1);
	o = world_decode(w, POD, "{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Succeeded\"}}");
	assert_int_equal(o->kind->grace_period(o, true, 60), 0);
}

/* Of a pod that is good but for one thing: where that is. */
static void assert_refused(struct api_world *w, const char *spec, const char *path)
{
	struct object *o = pod_of(w, spec);
	struct field_errors e;
	field_errors_init(&e, &w->a);
	o->kind->validate(o, &e);
	if (e.n != (path != NULL) || (path && !str_is(e.v[0].path, path))) {
		fail_msg("%s: %zu errors, " STR_FMT, spec, e.n, STR_ARG(e.n ? e.v[0].path : STR("")));
	}
}

static void test_pod__what_is_refused(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *container, *more, *path;
	} rows[] = {
		{PLAIN_CONTAINER, "", NULL},
		{"{\"name\":\"c\"}", "", "spec.containers[0].image"},
		{"{\"image\":\"i\"}", "", "spec.containers[0].name"},
		{"{\"name\":\"c\",\"image\":\" i\"}", "", "spec.containers[0].image"},
		{PLAIN_CONTAINER "," PLAIN_CONTAINER, "", "spec.containers[1].name"},
		{"{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":65536}]}", "",
			"spec.containers[0].ports[0].containerPort"},
		{"{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":65535}]}", "", NULL},
		{"{\"name\":\"c\",\"image\":\"i\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}]}", "",
			"spec.containers[0].volumeMounts[0].name"},
		{"{\"name\":\"c\",\"image\":\"i\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}]}",
			",\"volumes\":[{\"name\":\"v\"}]", NULL},
		{"{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":1},\"requests\":{\"cpu\":\"1001m\"}}}", "",
			"spec.containers[0].resources.requests"},
		{"{\"name\":\"c\",\"image\":\"i\",\"livenessProbe\":{}}", "", "spec.containers[0].livenessProbe"},
		{PLAIN_CONTAINER, ",\"restartPolicy\":\"Sometimes\"", "spec.restartPolicy"},
		{PLAIN_CONTAINER, ",\"tolerations\":[{\"key\":\"a\",\"operator\":\"Equals\"}]", "spec.tolerations[0].operator"},
		{PLAIN_CONTAINER, ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{},\"hostPath\":{\"path\":\"/\"}}]",
			"spec.volumes[0].hostPath"},
		{PLAIN_CONTAINER, ",\"initContainers\":[" PLAIN_CONTAINER "]", "spec.initContainers[0].name"},
		{PLAIN_CONTAINER, ",\"nodeSelector\":{\"a\":\"b c\"}", "spec.nodeSelector"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_refused(
			w, arena_printf(&w->a, "{\"containers\":[%s]%s}", rows[i].container, rows[i].more).p, rows[i].path);
	}
}

/* A variable has a value, or one source of it. */
static void test_pod__values_of_variables(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *value, *below; /* valueFrom; NULL: nothing is refused */
	} rows[] = {
		{"\"value\":\"x\"", NULL},
		{"\"valueFrom\":{}", ""},
		{"\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}", NULL},
		{"\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.x\"}}", ".fieldRef.fieldPath"},
		{"\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.cpu\"}}", NULL},
		{"\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.x\"}}", ".resourceFieldRef.resource"},
		{"\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"m\",\"key\":\"k\"}}", NULL},
		{"\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"m\"}}", ".configMapKeyRef.key"},
		{"\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"a/b\"}}", ".secretKeyRef.key"},
		{"\"value\":\"x\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}", ""},
		{"\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"},\"configMapKeyRef\":{\"name\":\"m\",\"key\":\"k\"}}",
			""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *spec = arena_printf(&w->a,
			"{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"env\":[{\"name\":\"A\",%s}]}]}", rows[i].value)
					   .p;
		const char *path =
			arena_printf(&w->a, "spec.containers[0].env[0].valueFrom%s", rows[i].below ? rows[i].below : "").p;
		assert_refused(w, spec, rows[i].below ? path : NULL);
	}
}

/* Kernel settings, and the namespaces of the node in which they would change the node. */
static void test_pod__sysctls(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *sysctls, *more; /* names, comma-separated */
		const char *path;
	} rows[] = {
		{"\"kernel.shm_rmid_forced\"", "", NULL},
		{"\"net/ipv4/conf/eno2.100/rp_filter\"", "", NULL},
		{"\"\"", "", "[0].name"},
		{"\"a\",\"foo-\"", "", "[1].name"},
		{"\"bar..\"", "", "[0].name"},
		{"\"a b\"", "", "[0].name"},
		{"\"A\"", "", "[0].name"},
		{"\"a.b\",\"c\",\"a.b\"", "", "[2].name"},
		{"\"net.core.somaxconn\"", ",\"hostNetwork\":true", "[0].name"},
		{"\"net/core/somaxconn\"", ",\"hostNetwork\":true", "[0].name"},
		{"\"net.core.somaxconn\"", ",\"hostIPC\":true", NULL},
		{"\"kernel.shmmax\"", ",\"hostIPC\":true", "[0].name"},
		{"\"kernel.shmmax.x\"", ",\"hostIPC\":true", NULL},
		{"\"fs.mqueue.msg_max\"", ",\"hostIPC\":true", "[0].name"},
		{"\"kernel.sem\"", ",\"hostNetwork\":true", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf list;
		struct str name, rest = str_of(rows[i].sysctls);
		bool more = true;
		buf_init(&list, 4096);
		while (more) {
			more = str_cut(rest, ',', &name, &rest);
			buf_printf(&list, "%s{\"name\":" STR_FMT ",\"value\":\"1\"}", list.n ? "," : "", STR_ARG(name));
		}
		struct str path = arena_printf(&w->a, "spec.securityContext.sysctls%s", rows[i].path ? rows[i].path : "");
		assert_refused(w,
			arena_printf(&w->a,
				"{\"containers\":[" PLAIN_CONTAINER "],\"securityContext\":{\"sysctls\":[" STR_FMT "]}%s}",
				STR_ARG(buf_str(&list)), rows[i].more)
				.p,
			rows[i].path ? path.p : NULL);
		buf_done(&list);
	}
}

static void test_pod__profiles_policies_and_users(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *security, *more, *path;
	} rows[] = {
		{"\"appArmorProfile\":{\"type\":\"RuntimeDefault\"}", "", NULL},
		{"\"appArmorProfile\":{\"type\":\"Localhost\",\"localhostProfile\":\"a\"}", "", NULL},
		{"\"appArmorProfile\":{\"type\":\"Localhost\",\"localhostProfile\":\" a\"}", "",
			"spec.securityContext.appArmorProfile.localhostProfile"},
		{"\"appArmorProfile\":{\"type\":\"Localhost\"}", "", "spec.securityContext.appArmorProfile.localhostProfile"},
		{"\"appArmorProfile\":{\"type\":\"Some\"}", "", "spec.securityContext.appArmorProfile.type"},
		{"\"supplementalGroupsPolicy\":\"Strict\"", "", NULL},
		{"\"supplementalGroupsPolicy\":\"Lax\"", "", "spec.securityContext.supplementalGroupsPolicy"},
		{"\"seLinuxChangePolicy\":\"Recursive\"", "", NULL},
		{"\"seLinuxChangePolicy\":\"MountOption\"", "", "spec.securityContext.seLinuxChangePolicy"},
		{"", ",\"hostUsers\":false", NULL},
		{"", ",\"hostUsers\":false,\"hostPID\":true", "spec.HostPID"},
		{"", ",\"hostUsers\":true,\"hostPID\":true", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_refused(w,
			arena_printf(&w->a, "{\"containers\":[" PLAIN_CONTAINER "],\"securityContext\":{%s}%s}",
				rows[i].security, rows[i].more)
				.p,
			rows[i].path);
	}
}

static size_t count_update_errors(struct api_world *w, const char *before, const char *after)
{
	struct object *old = created(w, before), *o = pod_of(w, after);
	struct field_errors e;
	field_errors_init(&e, &w->a);
	complete(w, ADMIT_UPDATE, o);
	o->kind->prepare_update(o, old, &w->a);
	o->kind->validate_update(o, old, &e);
	return e.n;
}

static void test_pod__what_may_change(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *after;
		bool may;
	} rows[] = {
		{PLAIN, true},
		{"{\"containers\":[{\"name\":\"c\",\"image\":\"other\",\"imagePullPolicy\":\"IfNotPresent\"}]}", true},
		{"{\"containers\":[{\"name\":\"d\",\"image\":\"i:1\"}]}", false},
		{"{\"containers\":[" PLAIN_CONTAINER ",{\"name\":\"d\",\"image\":\"i\"}]}", false},
		{"{\"containers\":[" PLAIN_CONTAINER "],\"activeDeadlineSeconds\":5}", true},
		{"{\"containers\":[" PLAIN_CONTAINER "],\"nodeName\":\"n\"}", false},
		{"{\"containers\":[" PLAIN_CONTAINER "],\"schedulingGates\":[{\"name\":\"g\"}]}", false},
		{"{\"containers\":[" PLAIN_CONTAINER "],\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}", true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(count_update_errors(w, PLAIN, rows[i].after) == 0, rows[i].may);
	}
}

#define WITH_SYSCTLS(image, name)                                                                          \
	"{\"containers\":[{\"name\":\"c\",\"image\":\"" image "\",\"imagePullPolicy\":\"IfNotPresent\"}]," \
	"\"securityContext\":{\"sysctls\":[{\"name\":\"" name "\",\"value\":\"1\"}]}}"

/* Stored before sysctls were looked at. */
static void test_pod__settings_from_before_stay(void **state)
{
	struct api_world *w = *state;
	assert_int_equal(count_update_errors(w, WITH_SYSCTLS("i:1", "foo-"), WITH_SYSCTLS("i:2", "foo-")), 0);
	assert_int_equal(count_update_errors(w, WITH_SYSCTLS("i:1", "foo-"), WITH_SYSCTLS("i:1", "bar-")), 2);
}

static void test_pod__columns(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *spec, *status, *ready, *shown, *restarts;
	} rows[] = {
		{PLAIN, "{\"phase\":\"Pending\"}", "\"0/1\"", "\"Pending\"", "\"0\""},
		{PLAIN, "{\"phase\":\"Failed\",\"reason\":\"Evicted\"}", "\"0/1\"", "\"Evicted\"", "\"0\""},
		{PLAIN,
			"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"ready\":true,\"state\":{\"running\":{}"
			"}}]}",
			"\"1/1\"", "\"Running\"", "\"0\""},
		{PLAIN,
			"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":4,\"state\":{"
			"\"waiting\":{\"reason\":"
			"\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":{\"exitCode\":1,\"finishedAt\":\"2019-12-31T23:"
			"59:50Z\"}}}]}",
			"\"0/1\"", "\"CrashLoopBackOff\"", "\"4 (10s ago)\""},
		{PLAIN,
			"{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":"
			"3}}}]}",
			"\"0/1\"", "\"ExitCode:3\"", "\"0\""},
		{PLAIN,
			"{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":"
			"3,\"signal\":9}}}]}",
			"\"0/1\"", "\"Signal:9\"", "\"0\""},
		{PLAIN,
			"{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
			"\"containerStatuses\":[{\"name\":\"c\","
			"\"ready\":true,\"state\":{\"running\":{}}},{\"name\":\"d\",\"state\":{\"terminated\":{\"exitCode\":0,"
			"\"reason\":"
			"\"Completed\"}}}]}",
			"\"1/1\"", "\"Running\"", "\"0\""},
		{"{\"initContainers\":[{\"name\":\"i\"},{\"name\":\"j\"}],\"containers\":[" PLAIN_CONTAINER "]}",
			"{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"name\":\"i\",\"restartCount\":1,\"state\":{"
			"\"running\":{}}}]}",
			"\"0/1\"", "\"Init:0/2\"", "\"1\""},
		{"{\"initContainers\":[{\"name\":\"i\"}],\"containers\":[" PLAIN_CONTAINER "]}",
			"{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{\"terminated\":{"
			"\"exitCode\":2}}}]}",
			"\"0/1\"", "\"Init:ExitCode:2\"", "\"0\""},
		{"{\"initContainers\":[{\"name\":\"i\",\"restartPolicy\":\"Always\"}],\"containers\":[" PLAIN_CONTAINER "]}",
			"{\"phase\":\"Running\",\"initContainerStatuses\":[{\"name\":\"i\",\"ready\":true,\"started\":true,"
			"\"restartCount\":2,"
			"\"state\":{\"running\":{}}}]}",
			"\"1/2\"", "\"Running\"", "\"2\""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = arena_printf(&w->a, "{\"spec\":%s,\"status\":%s}", rows[i].spec, rows[i].status).p;
		struct object *o = world_decode(w, POD, text);
		assert_cell(o, "Ready", rows[i].ready);
		assert_cell(o, "Status", rows[i].shown);
		assert_cell(o, "Restarts", rows[i].restarts);
	}
	struct object *o = pod_of(w, PLAIN);
	assert_cell(o, "IP", "\"\\u003cnone\\u003e\"");
	o->meta.deletion_timestamp = STR("2020-01-01T00:00:00Z");
	assert_cell(o, "Status", "\"Terminating\"");
}

static void test_claim__is_born_pending_and_protected(void **state)
{
	struct api_world *w = *state;
	struct object *o =
		world_decode(w, CLAIM, "{\"spec\":{\"dataSource\":{\"kind\":\"PersistentVolumeClaim\",\"name\":\"x\"}}}");
	complete(w, ADMIT_CREATE, o);
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_status(o), "{\"phase\":\"Pending\"}");
	assert_true(meta_has_finalizer(&o->meta, STR("kubernetes.io/pvc-protection")));
	assert_str(json_text(json_gets(json_gets(object_spec(o), "dataSourceRef"), "name")), "x");
	assert_cell(o, "VolumeMode", "\"Filesystem\"");
}

static void test_claim__one_pod_alone_shares_with_nobody(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *modes;
		bool may;
	} rows[] = {
		{"\"ReadWriteOncePod\"", true},
		{"\"ReadWriteOnce\",\"ReadOnlyMany\"", true},
		{"\"ReadWriteOncePod\",\"ReadWriteOnce\"", false},
		{"", false},
		{"\"Sometimes\"", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *o = world_decode(w, CLAIM,
			arena_printf(&w->a,
				"{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":[%s],\"resources\":{\"requests\":{"
				"\"storage\":"
				"\"1Gi\"}}}}",
				rows[i].modes)
				.p);
		struct field_errors e;
		field_errors_init(&e, &w->a);
		o->kind->validate(o, &e);
		assert_int_equal(e.n == 0, rows[i].may);
	}
}

#define CLAIM_OF(size, status)                                                                                                 \
	"{\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"volumeName\":\"v\",\"resources\":{\"requests\":{\"storage\":\"" size \
	"\"}}},\"status\":" status "}"
#define BOUND "{\"phase\":\"Bound\",\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"1Gi\"}}"

static void test_claim__grows_once_it_is_bound(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *before, *after;
		bool may;
	} rows[] = {
		{CLAIM_OF("1Gi", "{}"), CLAIM_OF("2Gi", "{}"), false},
		{CLAIM_OF("1Gi", BOUND), CLAIM_OF("2Gi", "{}"), true},
		{CLAIM_OF("3Gi", BOUND), CLAIM_OF("2Gi", "{}"), true},
		{CLAIM_OF("3Gi", BOUND), CLAIM_OF("1Gi", "{}"), false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *old = world_decode(w, CLAIM, rows[i].before), *o = world_decode(w, CLAIM, rows[i].after);
		struct field_errors e;
		field_errors_init(&e, &w->a);
		o->kind->validate_update(o, old, &e);
		assert_int_equal(e.n == 0, rows[i].may);
	}
	assert_cell(world_decode(w, CLAIM, CLAIM_OF("1Gi", BOUND)), "Access Modes", "\"RWO\"");
	assert_cell(world_decode(w, CLAIM, CLAIM_OF("1Gi", BOUND)), "Capacity", "\"1Gi\"");
}

/* What the binding does to the pod; NULL: why it may not. */
static struct object *bound(struct api_world *w, const char *pod, const char *binding, struct str *ret_why)
{
	const struct view *view = kind_subresource(world_version(POD, NULL), NULL, STR("binding"))->view;
	struct object *o = world_decode(w, POD, pod), *sent;
	struct json *json;
	struct str reason;
	size_t at;
	assert_int_equal(json_parse(&json, &w->a, str_of(binding), (struct json_limits){16, 4096}, &at), 0);
	assert_int_equal(object_decode(&sent, view->kind, &view->kind->versions[0], json, NULL, &w->a, NULL, &reason), 0);
	*ret_why = pod_refuse_binding(o, &w->a);
	if (ret_why->n) {
		return NULL;
	}
	view->take(view, o, sent, &w->a);
	return o;
}

#define BINDING                                                                                                           \
	"{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\",\"labels\":{\"b\":\"2\",\"c\":\"3\"}}," \
	"\"target\":{\"name\":\"n\"}}"

static void test_pod__gets_its_node_by_a_binding(void **state)
{
	struct api_world *w = *state;
	struct str why;
	struct object *o = bound(w,
		"{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"1\",\"b\":\"old\"}},\"status\":{\"nominatedNodeName\":\"m\","
		"\"conditions\":["
		"{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":\"PodScheduled\",\"status\":\"True\",\"reason\":\"r\","
		"\"lastProbeTime\":null,"
		"\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]}}",
		BINDING, &why);
	assert_str(json_text(json_gets(object_spec(o), "nodeName")), "n");
	assert_null(json_gets(object_status(o), "nominatedNodeName"));
	world_assert_json(w, o->meta.labels, "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}");
	assert_null(o->meta.annotations);
	world_assert_json(w, json_gets(object_status(o), "conditions")->items[1],
		"{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"2020-01-01T00:"
		"00:00Z\"}");
	o = bound(w, "{\"metadata\":{\"name\":\"p\"}}", BINDING, &why);
	assert_int_equal(json_gets(object_status(o), "conditions")->n, 1);
}

static void test_pod__is_not_bound_when_it_has_a_node_or_waits_or_goes(void **state)
{
	static const char *const rows[][2] = {
		{"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"m\"}}", "pod p is already assigned to node \"m\""},
		{"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulingGates\":[{\"name\":\"g\"}]}}",
			"pod p has non-empty .spec.schedulingGates"},
		{"{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"2020-01-01T00:00:00Z\"}}",
			"pod p is being deleted, cannot be assigned to a host"},
	};
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str why;
		assert_null(bound(w, rows[i][0], BINDING, &why));
		assert_str(why, rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types__all_have_numbers_in_protobuf),
		API_TEST(test_template__is_filled_in_as_its_pods_would_be),
		API_TEST(test_pod__members_stand_in_their_order),
		API_TEST(test_pod__requests_follow_limits),
		API_TEST(test_pod__ports_on_the_nodes_network),
		API_TEST(test_pod__volumes_without_a_source_are_empty_folders),
		API_TEST(test_pod__first_address_is_the_address),
		API_TEST(test_pod__quality_of_service),
		API_TEST(test_pod__tolerates_absent_nodes_for_a_while),
		API_TEST(test_pod__gates_show_in_its_conditions),
		API_TEST(test_pod__grace_period),
		API_TEST(test_pod__what_is_refused),
		API_TEST(test_pod__values_of_variables),
		API_TEST(test_pod__sysctls),
		API_TEST(test_pod__profiles_policies_and_users),
		API_TEST(test_pod__settings_from_before_stay),
		API_TEST(test_pod__what_may_change),
		API_TEST(test_pod__columns),
		API_TEST(test_pod__gets_its_node_by_a_binding),
		API_TEST(test_pod__is_not_bound_when_it_has_a_node_or_waits_or_goes),
		API_TEST(test_claim__is_born_pending_and_protected),
		API_TEST(test_claim__one_pod_alone_shares_with_nobody),
		API_TEST(test_claim__grows_once_it_is_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
