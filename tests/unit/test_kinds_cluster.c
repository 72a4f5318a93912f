/* Nodes, services, volumes and classes of storage: what is filled in, decided, refused and shown. tests/cluster compares much more of it with kube-apiserver. */
#include "api/model/protobuf.h"
#include "api/rules/address.h"
#include "tests/unit/kind_world.h"

#define NODE "/v1/nodes"
#define SERVICE "/v1/services"
#define VOLUME "/v1/persistentvolumes"
#define CLASS "storage.k8s.io/v1/storageclasses"

static void test_types__all_have_numbers_in_protobuf(void **state)
{
	(void)state;
	static const char *const paths[] = {NODE, SERVICE, VOLUME, CLASS};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_true(protobuf_knows(world_version(paths[i], NULL)->type));
	}
}

static void test_node__mirrors_its_blocks_of_addresses(void **state)
{
	struct api_world *w = *state;
	static const char *const rows[][2] = {
		{"{\"podCIDR\":\"a\"}", "{\"podCIDR\":\"a\",\"podCIDRs\":[\"a\"]}"},
		{"{\"podCIDRs\":[\"a\",\"b\"]}", "{\"podCIDR\":\"a\",\"podCIDRs\":[\"a\",\"b\"]}"},
		{"{\"podCIDR\":\"c\",\"podCIDRs\":[\"a\",\"b\"]}", "{\"podCIDR\":\"c\",\"podCIDRs\":[\"c\"]}"},
		{"{}", "{}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *o = world_decode(w, NODE, arena_printf(&w->a, "{\"spec\":%s}", rows[i][0]).p);
		world_assert_json(w, object_spec(o), rows[i][1]);
	}
}

static void test_node__may_allocate_all_it_has_unless_told_otherwise(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NODE, "{\"status\":{\"capacity\":{\"cpu\":\"2000m\"}}}");
	world_assert_json(w, json_gets(object_status(o), "allocatable"), "{\"cpu\":\"2\"}");
	o = world_decode(w, NODE, "{\"status\":{\"capacity\":{\"cpu\":\"2\"},\"allocatable\":{\"cpu\":\"1\"}}}");
	world_assert_json(w, json_gets(object_status(o), "allocatable"), "{\"cpu\":\"1\"}");
}

static void test_node__registers_with_its_status_but_without_old_configurations(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NODE,
		"{\"spec\":{\"configSource\":{},\"providerID\":\"p\"},\"status\":{\"phase\":\"x\",\"config\":{\"error\":\"e\"}}"
		"}");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_spec(o), "{\"providerID\":\"p\"}");
	assert_str(json_text(json_gets(object_status(o), "phase")), "x");
	assert_null(json_gets(object_status(o), "config"));
}

static void test_node__changes_its_status_only_through_the_subresource(void **state)
{
	struct api_world *w = *state;
	struct object *old = world_decode(w, NODE, "{\"spec\":{\"providerID\":\"p\"},\"status\":{\"phase\":\"old\"}}");
	struct object *sent =
		world_decode(w, NODE, "{\"spec\":{\"unschedulable\":true},\"status\":{\"phase\":\"new\",\"config\":{}}}");
	struct object *stored = object_copy(old, &w->a);
	kind_subresource(old->kind, NULL, STR("status"))->merge(stored, sent, &w->a);
	stored->kind->prepare_status(stored, old, &w->a);
	world_assert_json(w, object_spec(stored), "{\"providerID\":\"p\"}");
	assert_str(json_text(json_gets(object_status(stored), "phase")), "new");
	assert_null(json_gets(object_status(stored), "config"));
	sent->kind->prepare_update(sent, old, &w->a);
	assert_str(json_text(json_gets(object_status(sent), "phase")), "old");
}

#define NAMED "\"metadata\":{\"name\":\"n\"}"

static void test_node__is_refused_for_one_reason(void **state)
{
	static const struct invalid_row rows[] = {
		{"{" NAMED "}", NULL, NULL},
		{"{" NAMED ",\"spec\":{\"taints\":[{\"key\":\"a\"}]}}", "metadata.taints[0].effect", ""},
		{"{" NAMED
		 ",\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoExecute\"},{\"key\":\"a\",\"effect\":\"NoSchedule\"}]}}",
			NULL, NULL},
		{"{" NAMED
		 ",\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoExecute\"},{\"key\":\"a\",\"effect\":\"NoExecute\"}]}}",
			"metadata.taints[1]", "taints must be unique by key and effect pair"},
		{"{" NAMED ",\"spec\":{\"podCIDRs\":[\"10.0.0.0/8\",\"fd00::/8\"]}}", NULL, NULL},
		{"{" NAMED ",\"spec\":{\"podCIDRs\":[\"10.0.0.0/8\",\"11.0.0.0/8\"]}}", "spec.podCIDRs",
			"may specify no more than one CIDR for each IP family"},
		{"{" NAMED ",\"status\":{\"capacity\":{\"cpu\":\"-1\"},\"allocatable\":{\"cpu\":\"1\"}}}",
			"status.capacity.cpu", "must be greater than or equal to 0"},
		{"{" NAMED ",\"status\":{\"nodeInfo\":{\"swap\":{\"capacity\":0}}}}", "metadata.nodeSwapStatus.capacity",
			"must be greater than zero"},
		{"{" NAMED ",\"status\":{\"declaredFeatures\":[\"A\",\"B/c\"]}}", NULL, NULL},
		{"{" NAMED ",\"status\":{\"declaredFeatures\":[\"B\",\"A\"]}}", "status.declaredFeatures[1]",
			"list must be sorted alphabetically"},
	};
	assert_rows(*state, NODE, rows, ARRAY_SIZE(rows));
}

static void test_node__keeps_what_was_once_set(void **state)
{
	static const char forbidden[] = "node updates may not change podCIDR except from \"\" to valid";
	static const struct invalid_row rows[] = {
		{"{" NAMED ",\"spec\":{\"podCIDR\":\"10.0.0.0/8\",\"providerID\":\"p\"}}", NULL, NULL},
		{"{" NAMED ",\"spec\":{\"podCIDR\":\"11.0.0.0/8\",\"providerID\":\"p\"}}", "spec.podCIDRs", forbidden},
		{"{" NAMED ",\"spec\":{\"providerID\":\"p\"}}", "spec.podCIDRs", forbidden},
		{"{" NAMED ",\"spec\":{\"podCIDR\":\"10.0.0.0/8\"}}", "spec.providerID",
			"node updates may not change providerID except from \"\" to valid"},
		{"{" NAMED ",\"spec\":{\"podCIDR\":\"10.0.0.0/8\",\"providerID\":\"p\",\"externalID\":\"e\"}}",
			"spec.externalID", "may not be updated"},
	};
	assert_update_rows(*state, NODE, rows[0].object, rows, ARRAY_SIZE(rows));
}

static void test_node__shows_whether_it_is_ready_and_what_for(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, NODE,
		"{\"metadata\":{\"labels\":{\"kubernetes.io/role\":\"old\",\"node-role.kubernetes.io/b\":\"\","
		"\"node-role.kubernetes.io/\":\"\"}},\"spec\":{\"unschedulable\":true},"
		"\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
		"\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}],"
		"\"nodeInfo\":{\"kernelVersion\":\"6.1\",\"architecture\":\"arm64\",\"kubeletVersion\":\"v1\"}}}");
	assert_cell(o, "Status", "\"Ready,SchedulingDisabled\"");
	assert_cell(o, "Roles", "\"b,old\"");
	assert_cell(o, "Version", "\"v1\"");
	assert_cell(o, "Internal-IP", "\"10.0.0.1\"");
	assert_cell(o, "External-IP", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "OS-Image", "\"\\u003cunknown\\u003e\"");
	assert_cell(o, "Kernel-Version", "\"6.1 (arm64)\"");
	assert_selects(w, o, "spec.unschedulable", "true");
	o = world_decode(w, NODE, "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}");
	assert_cell(o, "Status", "\"NotReady\"");
	assert_cell(o, "Roles", "\"\\u003cnone\\u003e\"");
	o = world_decode(w, NODE, "{}");
	assert_cell(o, "Status", "\"Unknown\"");
	assert_selects(w, o, "spec.unschedulable", "false");
}

static struct object *service_of(struct api_world *w, const char *spec)
{
	return world_decode(w, SERVICE, arena_printf(&w->a, "{\"metadata\":{\"name\":\"s\"},\"spec\":%s}", spec).p);
}

static void test_service__headless_ones_are_complete(void **state)
{
	struct api_world *w = *state;
	struct object *o = service_of(w, "{\"clusterIP\":\"None\",\"selector\":{\"a\":\"b\"},\"ports\":[{\"port\":80}]}");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_spec(o),
		"{\"ports\":[{\"protocol\":\"TCP\",\"port\":80,\"targetPort\":80}],\"selector\":{\"a\":\"b\"},\"clusterIP\":"
		"\"None\","
		"\"clusterIPs\":[\"None\"],\"type\":\"ClusterIP\",\"sessionAffinity\":\"None\",\"ipFamilies\":[\"IPv4\"],"
		"\"ipFamilyPolicy\":\"SingleStack\",\"internalTrafficPolicy\":\"Cluster\"}");
	world_assert_json(w, object_status(o), "{\"loadBalancer\":{}}");
	o = service_of(w, "{\"clusterIP\":\"None\"}");
	o->kind->prepare_create(o, &w->a);
	assert_str(json_text(json_gets(object_spec(o), "ipFamilyPolicy")), "RequireDualStack");
	world_assert_json(w, json_gets(object_spec(o), "ipFamilies"), "[\"IPv4\",\"IPv6\"]");
}

static void test_service__gets_no_address(void **state)
{
	struct api_world *w = *state;
	struct object *o = service_of(w, "{\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80}]}");
	o->kind->prepare_create(o, &w->a);
	assert_null(json_gets(object_spec(o), "clusterIP"));
	assert_null(json_gets(object_spec(o), "clusterIPs"));
	assert_null(json_gets(json_gets(object_spec(o), "ports")->items[0], "nodePort"));
	assert_int_equal(errors_of(w, o, NULL).n, 0);
	assert_cell(o, "Cluster-IP", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "External-IP", "\"\\u003cpending\\u003e\"");
}

/* What becomes of a service that is sent without what the old one had. */
static const struct json *updated(struct api_world *w, const char *before, const char *after)
{
	struct object *old = service_of(w, before), *o = service_of(w, after);
	old->kind->prepare_create(old, &w->a);
	o->kind->prepare_update(o, old, &w->a);
	return object_spec(o);
}

static void test_service__keeps_what_a_client_does_not_say_again(void **state)
{
	struct api_world *w = *state;
	const struct json *spec =
		updated(w, "{\"clusterIP\":\"None\",\"ports\":[{\"port\":80}]}", "{\"ports\":[{\"port\":81}]}");
	assert_str(json_text(json_gets(spec, "clusterIP")), "None");
	world_assert_json(w, json_gets(spec, "clusterIPs"), "[\"None\"]");
	spec = updated(w, "{\"type\":\"NodePort\",\"ports\":[{\"name\":\"a\",\"port\":80,\"nodePort\":30080}]}",
		"{\"type\":\"NodePort\",\"ports\":[{\"name\":\"b\",\"port\":81},{\"name\":\"a\",\"port\":82}]}");
	world_assert_json(w, json_gets(json_gets(spec, "ports")->items[1], "nodePort"), "30080");
	assert_null(json_gets(json_gets(spec, "ports")->items[0], "nodePort"));
}

static void test_service__loses_what_its_new_type_has_not(void **state)
{
	struct api_world *w = *state;
	const struct json *spec = updated(w, "{\"type\":\"NodePort\",\"ports\":[{\"port\":80,\"nodePort\":30080}]}",
		"{\"ports\":[{\"port\":80,\"nodePort\":30080}],\"externalTrafficPolicy\":\"Cluster\"}");
	assert_null(json_gets(json_gets(spec, "ports")->items[0], "nodePort"));
	assert_null(json_gets(spec, "externalTrafficPolicy"));
	spec = updated(w, "{\"clusterIP\":\"None\"}",
		"{\"type\":\"ExternalName\",\"externalName\":\"a.b\",\"clusterIP\":\"None\",\"clusterIPs\":[\"None\"]}");
	assert_null(json_gets(spec, "clusterIP"));
	assert_null(json_gets(spec, "clusterIPs"));
}

#define PORTS "\"ports\":[{\"port\":80}]"
#define SPEC(members) "{\"metadata\":{\"name\":\"s\"},\"spec\":{" members "}}"

static void test_service__is_refused_for_one_reason(void **state)
{
	static const struct invalid_row rows[] = {
		{SPEC("\"ports\":[{\"port\":80}]"), NULL, NULL},
		{SPEC("\"selector\":{}"), "spec.ports", ""},
		{SPEC("\"type\":\"ExternalName\""), "spec.externalName", ""},
		{SPEC("\"type\":\"ExternalName\",\"externalName\":\"a.b.\""), NULL, NULL},
		{SPEC("\"ports\":[{\"port\":0,\"targetPort\":1}]"), "spec.ports[0].port",
			"must be between 1 and 65535, inclusive"},
		{SPEC("\"ports\":[{\"port\":80,\"nodePort\":30080}]"), "spec.ports[0].nodePort",
			"may not be used when `type` is 'ClusterIP'"},
		{SPEC(PORTS ",\"ipFamilies\":[\"IPv6\"]"), "spec.ipFamilies[0]", "not configured on this cluster"},
		{SPEC(PORTS ",\"externalIPs\":[\"127.0.0.1\"]"), "spec.externalIPs[0]",
			"may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{SPEC(PORTS ",\"loadBalancerClass\":\"x\""), "spec.loadBalancerClass",
			"may only be used when `type` is 'LoadBalancer'"},
		{SPEC(PORTS
			 ",\"sessionAffinity\":\"ClientIP\",\"sessionAffinityConfig\":{\"clientIP\":{\"timeoutSeconds\":0}}"),
			"spec.sessionAffinityConfig.clientIP.timeoutSeconds", "must be greater than 0 and less than 86400"},
	};
	assert_rows(*state, SERVICE, rows, ARRAY_SIZE(rows));
}

/* As at kube-apiserver, where every service that is not headless has one. */
static void test_service__gets_no_address_later(void **state)
{
	static const struct invalid_row rows[] = {
		{SPEC(PORTS), NULL, NULL},
		{SPEC(PORTS ",\"clusterIP\":\"None\",\"clusterIPs\":[\"None\"]"), "spec.clusterIPs[0]",
			"may not change once set"},
		{SPEC(PORTS ",\"clusterIP\":\"10.0.0.1\",\"clusterIPs\":[\"10.0.0.1\"]"), "spec.clusterIPs[0]",
			"may not change once set"},
	};
	assert_update_rows(*state, SERVICE, rows[0].object, rows, ARRAY_SIZE(rows));
}

static void test_service__columns_and_fields(void **state)
{
	struct api_world *w = *state;
	struct object *o = service_of(w,
		"{\"type\":\"NodePort\",\"clusterIP\":\"10.0.0.9\",\"selector\":{\"b\":\"1\",\"a\":\"2\"},"
		"\"externalIPs\":[\"1.2.3.4\"],\"ports\":[{\"port\":80,\"nodePort\":30080},{\"port\":53,"
		"\"protocol\":\"UDP\"}]}");
	o->kind->prepare_create(o, &w->a);
	assert_cell(o, "Type", "\"NodePort\"");
	assert_cell(o, "Cluster-IP", "\"10.0.0.9\"");
	assert_cell(o, "External-IP", "\"1.2.3.4\"");
	assert_cell(o, "Port(s)", "\"80:30080/TCP,53/UDP\"");
	assert_cell(o, "Selector", "\"a=2,b=1\"");
	assert_selects(w, o, "spec.clusterIP", "10.0.0.9");
	assert_selects(w, o, "spec.type", "NodePort");
}

#define VOLUME_OF(members)                                                                                                \
	"{\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"]" \
	"," members "}}"
#define HOST "\"hostPath\":{\"path\":\"/d\"}"
#define AFFINITY(key)                                                                                   \
	"\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"" key \
	"\",\"operator\":\"Exists\"}]}]}}"

static void test_volume__is_born_pending_and_free(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, VOLUME, VOLUME_OF(HOST));
	o->meta.creation_timestamp = STR("2020-01-01T00:00:00Z");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_status(o), "{\"phase\":\"Pending\",\"lastPhaseTransitionTime\":\"2020-01-01T00:00:00Z\"}");
	assert_str(json_text(json_gets(object_spec(o), "persistentVolumeReclaimPolicy")), "Retain");
	assert_str(json_text(json_gets(object_spec(o), "volumeMode")), "Filesystem");
	assert_null(o->meta.finalizers);
}

static void test_volume__says_when_its_phase_changed(void **state)
{
	static const struct {
		const char *before, *after, *time; /* time: empty: that of the change, which is none of the others */
	} rows[] = {
		{"{\"phase\":\"A\",\"lastPhaseTransitionTime\":\"2020-01-01T00:00:00Z\"}", "{\"phase\":\"A\"}",
			"2020-01-01T00:00:00Z"},
		{"{\"phase\":\"A\",\"lastPhaseTransitionTime\":\"2020-01-01T00:00:00Z\"}",
			"{\"phase\":\"A\",\"lastPhaseTransitionTime\":\"2021-01-01T00:00:00Z\"}", "2021-01-01T00:00:00Z"},
		{"{\"phase\":\"A\",\"lastPhaseTransitionTime\":\"2020-01-01T00:00:00Z\"}",
			"{\"phase\":\"B\",\"lastPhaseTransitionTime\":\"2021-01-01T00:00:00Z\"}", "2021-01-01T00:00:00Z"},
		{"{\"phase\":\"A\",\"lastPhaseTransitionTime\":\"2020-01-01T00:00:00Z\"}",
			"{\"phase\":\"B\",\"lastPhaseTransitionTime\":\"2020-01-01T00:00:00Z\"}", ""},
		{"{\"phase\":\"A\"}", "{\"phase\":\"B\"}", ""},
		{"{\"phase\":\"A\"}", "{\"phase\":\"A\"}", NULL},
	};
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *old = world_decode(w, VOLUME, arena_printf(&w->a, "{\"status\":%s}", rows[i].before).p);
		struct object *o = world_decode(w, VOLUME, arena_printf(&w->a, "{\"status\":%s}", rows[i].after).p);
		o->kind->prepare_status(o, old, &w->a);
		struct str time = json_text(json_gets(object_status(o), "lastPhaseTransitionTime"));
		bool is_now = time.n && str_cmp(time, STR("2022-01-01T00:00:00Z")) > 0;
		assert_true(!rows[i].time ? time.n == 0 : *rows[i].time ? str_is(time, rows[i].time) : is_now);
	}
}

static void test_volume__is_refused_for_one_reason(void **state)
{
	static const struct invalid_row rows[] = {
		{VOLUME_OF(HOST), NULL, NULL},
		{VOLUME_OF("\"mountOptions\":[]"), "spec", "must specify a volume type"},
		{VOLUME_OF(HOST ",\"nfs\":{}"), "spec.nfs", "may not specify more than 1 volume type"},
		{VOLUME_OF("\"local\":{\"path\":\"/l\"}"), "spec.nodeAffinity", "Local volume requires node affinity"},
		{VOLUME_OF("\"local\":{\"path\":\"/l\"}," AFFINITY("a")), NULL, NULL},
		{VOLUME_OF("\"csi\":{\"driver\":\"D.x\",\"volumeHandle\":\"h\"}"), NULL, NULL},
		{VOLUME_OF("\"csi\":{\"driver\":\"d.x\"}"), "spec.csi.volumeHandle", ""},
		{VOLUME_OF("\"hostPath\":{\"path\":\"/./\"},\"persistentVolumeReclaimPolicy\":\"Recycle\""),
			"spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"},
		{VOLUME_OF(HOST ",\"volumeAttributesClassName\":\"a\""), "spec.csi",
			"has to be specified when using volumeAttributesClassName"},
	};
	assert_rows(*state, VOLUME, rows, ARRAY_SIZE(rows));
}

static void test_volume__stays_the_storage_that_it_is(void **state)
{
	static const struct invalid_row rows[] = {
		{VOLUME_OF(HOST "," AFFINITY("beta.kubernetes.io/os")), NULL, NULL},
		{VOLUME_OF(HOST "," AFFINITY("other")), "nodeAffinity", "field is immutable"},
		{VOLUME_OF("\"hostPath\":{\"path\":\"/e\"}," AFFINITY("beta.kubernetes.io/os")), "spec.persistentvolumesource",
			"spec.persistentvolumesource is immutable after creation"},
		{VOLUME_OF(HOST ",\"volumeMode\":\"Block\"," AFFINITY("beta.kubernetes.io/os")), "volumeMode",
			"field is immutable"},
	};
	assert_update_rows(*state, VOLUME, rows[0].object, rows, ARRAY_SIZE(rows));
}

static void test_volume__columns(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(
		w, VOLUME, VOLUME_OF(HOST ",\"claimRef\":{\"namespace\":\"n\",\"name\":\"c\"},\"storageClassName\":\"s\""));
	assert_cell(o, "Capacity", "\"1Gi\"");
	assert_cell(o, "Access Modes", "\"RWO\"");
	assert_cell(o, "Reclaim Policy", "\"Retain\"");
	assert_cell(o, "Claim", "\"n/c\"");
	assert_cell(o, "StorageClass", "\"s\"");
	assert_cell(o, "Status", "\"Pending\"");
}

#define CLASS_OF(members) "{\"metadata\":{\"name\":\"c\"},\"provisioner\":\"p\"" members "}"
#define TERM(key, values) "{\"matchLabelExpressions\":[{\"key\":\"" key "\",\"values\":[" values "]}]}"

static void test_class__is_refused_for_one_reason(void **state)
{
	static const struct invalid_row rows[] = {
		{CLASS_OF(""), NULL, NULL},
		{"{\"metadata\":{\"name\":\"c\"}}", "provisioner", ""},
		{CLASS_OF(",\"reclaimPolicy\":\"Recycle\""), "reclaimPolicy", "supported values: \"Delete\", \"Retain\""},
		{CLASS_OF(",\"parameters\":{\"\":\"x\"}"), "parameters", "field can not be empty."},
		{CLASS_OF(",\"allowedTopologies\":[" TERM("a", "\"b\"") "," TERM("a", "\"c\"") "]"), NULL, NULL},
		{CLASS_OF(",\"allowedTopologies\":[" TERM("a", "\"b\",\"c\"") "," TERM("a", "\"c\",\"b\"") "]"),
			"allowedTopologies[1].matchLabelExpressions", ""},
		{CLASS_OF(",\"allowedTopologies\":[" TERM("a", "") "]"), "allowedTopologies[0].matchLabelExpressions[0].values",
			""},
	};
	assert_rows(*state, CLASS, rows, ARRAY_SIZE(rows));
}

static void test_class__says_once_what_it_makes(void **state)
{
	static const struct invalid_row rows[] = {
		{CLASS_OF(""), NULL, NULL},
		{CLASS_OF(",\"allowVolumeExpansion\":true,\"mountOptions\":[\"o\"]"), NULL, NULL},
		{CLASS_OF(",\"parameters\":{\"a\":\"b\"}"), "parameters", "field is immutable"},
		{CLASS_OF(",\"reclaimPolicy\":\"Retain\""), "reclaimPolicy", "field is immutable"},
		{CLASS_OF(",\"volumeBindingMode\":\"WaitForFirstConsumer\""), "volumeBindingMode", "field is immutable"},
	};
	assert_update_rows(*state, CLASS, rows[0].object, rows, ARRAY_SIZE(rows));
	struct api_world *w = *state;
	struct object *o = world_decode(w, CLASS, CLASS_OF(""));
	assert_cell(o, "Name", "\"c\"");
	assert_cell(o, "ReclaimPolicy", "\"Delete\"");
	assert_cell(o, "VolumeBindingMode", "\"Immediate\"");
	assert_cell(o, "AllowVolumeExpansion", "false");
}

/* What is said of one address or block; empty: nothing. */
static struct str said_of(
	struct api_world *w, const char *text, void (*check)(struct field_errors *, const struct where *, struct str))
{
	struct field_errors e;
	field_errors_init(&e, &w->a);
	check(&e, WHERE(NULL, "x"), str_of(text));
	assert_true(e.n <= 1);
	return e.n ? e.v[0].detail : (struct str){0};
}

static void test_address__has_one_spelling(void **state)
{
	struct api_world *w = *state;
	static const char invalid[] = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
	static const char *const rows[][2] = {
		{"10.0.0.1", ""},
		{"fd00::1", ""},
		{"FD00:0::1", ""},
		{"010.0.0.1", "must not have leading 0s"},
		{"::ffff:10.0.0.1", "must not be an IPv4-mapped IPv6 address"},
		{"10.0.0", invalid},
		{"10.0.0.1.2", invalid},
		{"10.0.0.256", invalid},
		{"10.0.0.", invalid},
		{"", invalid},
		{"x", invalid},
		{"fe80::1%eth0", invalid},
		{"::g", invalid},
		{"99999999999999999999.0.0.1", invalid},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_str(said_of(w, rows[i][0], check_address), rows[i][1]);
	}
}

static void test_block__ends_where_its_prefix_ends(void **state)
{
	struct api_world *w = *state;
	static const char invalid[] = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
	static const char behind[] = "must not have bits set beyond the prefix length";
	static const char *const rows[][2] = {
		{"10.0.0.0/8", ""},
		{"10.0.0.128/25", ""},
		{"10.0.0.128/24", behind},
		{"0.0.0.0/0", ""},
		{"1.2.3.4/32", ""},
		{"fd00::/8", ""},
		{"fd00::1/127", behind},
		{"fd00::1/128", ""},
		{"10.0.0.0/08", "must not have leading 0s in IP or prefix length"},
		{"10.0.0.0/33", invalid},
		{"::/129", invalid},
		{"10.0.0.0", invalid},
		{"10.0.0.0/", invalid},
		{"10.0.0.0/-1", invalid},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_str(said_of(w, rows[i][0], check_block), rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types__all_have_numbers_in_protobuf),
		API_TEST(test_node__mirrors_its_blocks_of_addresses),
		API_TEST(test_node__may_allocate_all_it_has_unless_told_otherwise),
		API_TEST(test_node__registers_with_its_status_but_without_old_configurations),
		API_TEST(test_node__changes_its_status_only_through_the_subresource),
		API_TEST(test_node__is_refused_for_one_reason),
		API_TEST(test_node__keeps_what_was_once_set),
		API_TEST(test_node__shows_whether_it_is_ready_and_what_for),
		API_TEST(test_service__headless_ones_are_complete),
		API_TEST(test_service__gets_no_address),
		API_TEST(test_service__keeps_what_a_client_does_not_say_again),
		API_TEST(test_service__loses_what_its_new_type_has_not),
		API_TEST(test_service__is_refused_for_one_reason),
		API_TEST(test_service__gets_no_address_later),
		API_TEST(test_service__columns_and_fields),
		API_TEST(test_volume__is_born_pending_and_free),
		API_TEST(test_volume__says_when_its_phase_changed),
		API_TEST(test_volume__is_refused_for_one_reason),
		API_TEST(test_volume__stays_the_storage_that_it_is),
		API_TEST(test_volume__columns),
		API_TEST(test_class__is_refused_for_one_reason),
		API_TEST(test_class__says_once_what_it_makes),
		API_TEST(test_address__has_one_spelling),
		API_TEST(test_block__ends_where_its_prefix_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
