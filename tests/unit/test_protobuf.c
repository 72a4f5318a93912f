/* The bodies are what k8s.io/apimachinery v0.36.3 and kubectl write, byte for byte, unless they are here to be refused. */
#include "api/model/object.h"
#include "api/model/protobuf.h"
#include "tests/unit/api_world.h"

#define APPS_REVISION "0a1d0a07617070732f76311212436f6e74726f6c6c65725265766973696f6e" /* the envelope's TypeMeta */

static int hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Of exactly that size, so that a sanitizer sees a byte too far. */
static struct str world_bytes(struct api_world *w, const char *hex)
{
	size_t n = strlen(hex) / 2;
	char *p = arena_alloc(&w->a, n);
	for (size_t i = 0; i < n; i++) {
		p[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
	}
	return (struct str){p, n};
}

static struct json *read_body(struct api_world *w, const char *kind, const struct type *type, const char *hex)
{
	struct json *j = NULL;
	struct str error;
	if (protobuf_decode(&j, kind, type, world_bytes(w, hex), &w->a, &error)) {
		fail_msg("refused: " STR_FMT, STR_ARG(error));
	}
	return j;
}

/* As a write goes on with it: the whole object, normal. */
static struct json *read_object(struct api_world *w, const char *path, const char *hex)
{
	const struct version *v;
	const struct kind *k = world_version(path, &v);
	struct decode_report report = {0};
	struct object *o = NULL;
	struct str error;
	if (object_decode(&o, k, v, read_body(w, k->kind, version_type(k, v), hex), NULL, &w->a, &report, &error)) {
		fail_msg("refused: " STR_FMT, STR_ARG(error));
	}
	assert_int_equal(report.n_strict, 0);
	return object_to_json(o, v, &w->a);
}

static void test_namespace__as_kubectl_creates_it(void **state)
{
	world_assert_json(*state,
		read_object(*state, NS,
			"6b3873000a0f0a02763112094e616d65737061636512190a110a017812001a0022002a0032003800420012001a020a001a0022"
			"00"),
		"{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\","
		"\"labels\":{\"kubernetes.io/metadata.name\":\"x\"}},\"spec\":{},\"status\":{\"phase\":\"Active\"}}");
}

/* All fields of apps/v1, with a claim in it, whose kind and apiVersion are in JSON alone. */
static void test_statefulset__and_its_scale(void **state)
{
	world_assert_json(*state,
		read_object(*state, "apps/v1/statefulsets",
			"6b3873000a160a07617070732f7631120b537461746566756c53657412b4020a130a0377656212001a0022002a0032003800"
			"420012eb01080312080a060a01611201621a540a180a0012001a0022002a003200380042005a060a01611201621238121a0a"
			"01631201692a0042006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100"
			"c2010022400a130a0377777712001a0022002a0032003800420012250a0d5265616457726974654f6e6365121212100a0773"
			"746f7261676512050a033147691a001a020a002a01733208506172616c6c656c3a1e0a0d526f6c6c696e6755706461746512"
			"0d08011209080110001a033530254004480552100a0644656c657465120652657461696e5a0208021a2f0801100318022001"
			"28023201783a0179480052190a01741204547275651a080880f2d6ca0610002201722a016d58011a002200"),
		"{\"kind\":\"StatefulSet\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":3,"
		"\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{},\"terminationMessagePath\":\"/dev/"
		"termination-log\","
		"\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"Always\"}],\"restartPolicy\":\"Always\","
		"\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\",\"securityContext\":{},"
		"\"schedulerName\":\"default-scheduler\"}},\"volumeClaimTemplates\":[{\"kind\":\"PersistentVolumeClaim\","
		"\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"www\"},\"spec\":{"
		"\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}},\"volumeMode\":"
		"\"Filesystem\"},"
		"\"status\":{\"phase\":\"Pending\"}}],\"serviceName\":\"s\",\"podManagementPolicy\":\"Parallel\","
		"\"updateStrategy\":{"
		"\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":1,\"maxUnavailable\":\"50%\"}},"
		"\"revisionHistoryLimit\":4,"
		"\"minReadySeconds\":5,\"persistentVolumeClaimRetentionPolicy\":{\"whenDeleted\":\"Delete\",\"whenScaled\":"
		"\"Retain\"},"
		"\"ordinals\":{\"start\":2}},\"status\":{\"observedGeneration\":1,\"replicas\":3,\"readyReplicas\":2,"
		"\"currentReplicas\":1,"
		"\"updatedReplicas\":2,\"currentRevision\":\"x\",\"updateRevision\":\"y\",\"collisionCount\":0,\"conditions\":["
		"{\"type\":"
		"\"t\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"reason\":\"r\",\"message\":\"m\"}]"
		","
		"\"availableReplicas\":1}}");

	const struct version *v;
	const struct kind *k = world_version("apps/v1/statefulsets", &v),
			  *scale = subresource_kind(kind_subresource(k, NULL, STR("scale")), k);
	const struct json *body = read_body(*state, "Scale", scale->type,
		"6b3873000a170a0e6175746f7363616c696e672f763112055363616c6512220a130a0377656212001a0022002a0032003800"
		"4200120208041a0708011203613d621a002200");
	world_assert_json(*state, json_gets(body, "spec"), "{\"replicas\":4}");
	world_assert_json(*state, json_gets(body, "status"), "{\"replicas\":1,\"selector\":\"a=b\"}");
}

/* Where Go embeds a struct, its members are a message further in: a volume's source, a probe's handler, the name in a reference. */
static void test_pod__with_embedded_messages(void **state)
{
	struct json *spec = json_gets(
		read_object(*state, "/v1/pods",
			"6b3873000a090a0276311203506f6412ed010a110a017012001a0022002a0032003800420012c2010a0f0a0176120a12080a"
			"064d656d6f72790a0e0a017712099a01060a040a02636d12620a01631203693a312a003a120a014112001a0b1a090a040a02"
			"636d12016b42100a0e0a0363707512070a05313530306d52200a1412120a00120a080110001a04687474701a002200100018"
			"002005280030006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100c201"
			"0092021e0a190a016512002a0042006a007200800100880100900100a201001201631a130a001a0022002a0032004a005a00"
			"72008801001a002200"),
		"spec");
	const struct json *container = json_gets(spec, "containers")->items[0];
	world_assert_json(*state, json_gets(spec, "volumes"),
		"[{\"name\":\"v\",\"emptyDir\":{\"medium\":\"Memory\"}},{\"name\":\"w\",\"configMap\":{\"name\":\"cm\","
		"\"defaultMode\":420}}]");
	world_assert_json(*state, json_gets(container, "env"),
		"[{\"name\":\"A\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"cm\",\"key\":\"k\"}}}]");
	world_assert_json(*state, json_gets(json_gets(container, "livenessProbe"), "httpGet"),
		"{\"path\":\"/\",\"port\":\"http\",\"scheme\":\"HTTP\"}");
	const struct json *ephemeral = json_gets(spec, "ephemeralContainers")->items[0];
	world_assert_json(*state, json_gets(ephemeral, "name"), "\"e\"");
	world_assert_json(*state, json_gets(ephemeral, "targetContainerName"), "\"c\"");
}

static void test_namespace__with_conditions(void **state)
{
	struct json *j = read_object(*state, NS,
		"6b3873000a0f0a02763112094e616d65737061636512630a110a017812001a0022002a00320038004200120c0a0a6b756265726e6574"
		"65731a400a0b5465726d696e6174696e6712310a194e616d657370616365436f6e74656e7452656d61696e696e671204547275652208"
		"08a5ebdcca0610002a015232016d1a002200");
	world_assert_json(*state, json_gets(j, "spec"), "{\"finalizers\":[\"kubernetes\"]}");
	world_assert_json(*state, json_gets(j, "status"),
		"{\"phase\":\"Terminating\",\"conditions\":[{\"type\":\"NamespaceContentRemaining\",\"status\":\"True\","
		"\"lastTransitionTime\":\"2026-01-02T03:04:05Z\",\"reason\":\"R\",\"message\":\"m\"}]}");
}

#define FULL_REVISION                                                                                                    \
	"6b387300" APPS_REVISION "12b9020a82020a057765622d3112047765622d1a0473686f7022022f732a03752d3132023431380342080" \
	"8a5ebdcca0610004a0808a5ebdcca06100050005a0a0a0361707012037765625a090a05656d707479120062150a046e6f7465120d67"    \
	"72c3bcc39f6520223c263e226a240a0b537461746566756c5365741a037765622203752d322a07617070732f7631300138006a110a03"   \
	"506f641a01702203752d332a027631720b612e6578616d706c652f62720b612e6578616d706c652f638a01460a076b75626563746c12"   \
	"054170706c791a07617070732f7631220808a5ebdcca06100032084669656c647356313a0f0a0d7b22663a64617461223a7b7d7d4206"   \
	"73746174757312300a2e7b226e223a312e302c2022626967223a31383434363734343037333730393535313631372c2273223a225c2f"   \
	"227d18071a002200"

static void test_revision__every_member(void **state)
{
	world_assert_json(*state, read_object(*state, CR, FULL_REVISION),
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/"
		"v1\",\"metadata\":{\"name\":\"web-1\",\"generateName\":\"web-\","
		"\"namespace\":\"shop\",\"uid\":\"u-1\",\"resourceVersion\":\"41\",\"generation\":3,"
		"\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\","
		"\"deletionGracePeriodSeconds\":0,\"labels\":{\"app\":\"web\",\"empty\":\"\"},"
		"\"annotations\":{\"note\":\"gr\\u00fc\\u00dfe \\\"<&>\\\"\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
		"\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"u-2\",\"controller\":true,\"blockOwnerDeletion\":false},"
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u-3\"}],"
		"\"finalizers\":[\"a.example/b\",\"a.example/"
		"c\"],\"managedFields\":[{\"manager\":\"kubectl\",\"operation\":\"Apply\","
		"\"apiVersion\":\"apps/"
		"v1\",\"time\":\"2026-01-02T03:04:05Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{}},"
		"\"subresource\":\"status\"}]},\"data\":{\"n\":1.0,\"big\":18446744073709551617,\"s\":\"/\"},\"revision\":7}");
}

static void test_revision__data_keeps_its_spelling(void **state)
{
	assert_string_equal(world_print(*state, json_gets(read_object(*state, CR, FULL_REVISION), "data")),
		"{\"n\":1.0,\"big\":18446744073709551617,\"s\":\"\\/\"}");
}

static void test_revision__negative_and_empty(void **state)
{
	struct json *j = read_object(*state, CR,
		"6b387300" APPS_REVISION "121f0a100a0012001a0022002a00320038004200120018ffffffffffffffffff011a002200");
	world_assert_json(*state, json_gets(j, "data"), "null");
	world_assert_json(*state, json_gets(j, "revision"), "-1");
	world_assert_json(*state, json_gets(j, "metadata"), "{}");
}

static void test_delete_options__every_member(void **state)
{
	world_assert_json(*state,
		read_body(*state, "DeleteOptions", &type_delete_options,
			"6b3873000a130a027631120d44656c6574654f7074696f6e73121e081e12090a03752d3112023431220a466f726567726f756e"
			"6"
			"42a03416c6c1a002200"),
		"{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":30,"
		"\"preconditions\":{\"uid\":\"u-1\",\"resourceVersion\":\"41\"},\"propagationPolicy\":\"Foreground\","
		"\"dryRun\":[\"All\"]}");
}

static void test_other_kind__gives_its_claim_alone(void **state)
{
	world_assert_json(*state,
		read_body(*state, "DeleteOptions", &type_delete_options,
			"6b3873000a090a0276311203506f6412460a110a017012001a0022002a00320038004200121c1a00320042004a005200580060"
			"0"
			"068008201008a01009a0100c201001a130a001a0022002a0032004a005a0072008801001a002200"),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}");
}

/* A type with one of each kind that the objects above have not. */
static const struct type type_bytes_map = {.kind = TYPE_MAP, .elem = &type_bytes};
static const struct type type_list_map = {.kind = TYPE_MAP, .elem = &type_string_list};
static const struct type type_int_list = {.kind = TYPE_LIST, .elem = &type_int32};
static const struct field inner_fields[] = {
	{"a", &type_string, FIELD_NUMBER(1), "", NULL, NULL},
	{"list", &type_string_list, FIELD_NUMBER(2), "", NULL, NULL},
	{0},
};
static const struct type inner_type = {.kind = TYPE_OBJECT, .go_type = "v1.Inner", .fields = inner_fields};
/* A message that holds itself, and one that is in JSON one of its fields. */
static const struct type kept_type;
static const struct type type_kept = {.kind = TYPE_RAW, .message = &kept_type};
static const struct type type_real = {.kind = TYPE_DOUBLE};
static const struct field choice_fields[] = {
	{"allows", &type_bool, FIELD_NUMBER(1), "", NULL, NULL},
	{"kept", &type_kept, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "", NULL, NULL},
	{0},
};
static const struct type choice_type = {.kind = TYPE_OBJECT, .is_choice = true, .fields = choice_fields};
static const struct type type_choice = {.kind = TYPE_RAW, .message = &choice_type};
static const struct type type_kept_map = {.kind = TYPE_MAP, .elem = &type_kept};
static const struct field kept_fields[] = {
	{"real", &type_real, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "", NULL, NULL},
	{"not", &type_kept, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "", NULL, NULL},
	{"or", &type_choice, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "", NULL, NULL},
	{"flag", &type_bool, FIELD_NUMBER(4), "", NULL, NULL},
	{"map", &type_kept_map, FIELD_NUMBER(5), "", NULL, NULL},
	{0},
};
static const struct type kept_type = {.kind = TYPE_OBJECT, .go_type = "v1.Kept", .fields = kept_fields};

static const struct field outer_fields[] = {
	{"kind", &type_string, 0, "", NULL, NULL},
	{"micro", &type_micro_time, FIELD_NUMBER(1), "", NULL, NULL},
	{"port", &type_int_or_string, FIELD_NUMBER(2), "", NULL, NULL},
	{"amount", &type_quantity, FIELD_NUMBER(3), "", NULL, NULL},
	{"secrets", &type_bytes_map, FIELD_NUMBER(4), "", NULL, NULL},
	{"numbers", &type_int_list, FIELD_NUMBER(5), "", NULL, NULL},
	{"inner", &inner_type, FIELD_NUMBER(6), "", NULL, NULL},
	{"flag", &type_bool, FIELD_NUMBER(7), "", NULL, NULL},
	{"time", &type_time, FIELD_NUMBER(8), "", NULL, NULL},
	{"raw", &type_raw, FIELD_NUMBER(9), "", NULL, NULL},
	{"extra", &type_list_map, FIELD_NUMBER(10), "", NULL, NULL},
	{"kept", &type_kept, FIELD_NUMBER(11), "", NULL, NULL},
	{0},
};
static const struct type outer_type = {.kind = TYPE_OBJECT, .go_type = "v1.Outer", .fields = outer_fields};

static const struct {
	const char *message; /* in hex, below 64 bytes */
	const char *json;
} good[] = {
	{"", "{}"},
	{"0a0608011080897a", "{\"micro\":\"1970-01-01T00:00:01.002000Z\"}"},
	{"0a00", "{\"micro\":null}"},
	{"120408001050", "{\"port\":80}"},
	{"1208080110001a026834", "{\"port\":\"h4\"}"},
	{"1a040a023634", "{\"amount\":\"64\"}"},
	{"1a00", "{\"amount\":\"0\"}"},
	{"22080a016b1203010203", "{\"secrets\":{\"k\":\"AQID\"}}"},
	{"22070a016b1202ff01", "{\"secrets\":{\"k\":\"/wE=\"}}"},
	{"22030a016b", "{\"secrets\":{\"k\":null}}"},
	/* A list that is a map's value is a message of its items. */
	{"520b0a016b12060a01760a0177", "{\"extra\":{\"k\":[\"v\",\"w\"]}}"},
	{"52050a016b1200", "{\"extra\":{\"k\":[]}}"},
	{"280128ffffffff0f", "{\"numbers\":[1,-1]}"},
	{"3801", "{\"flag\":true}"},
	{"420408001000", "{\"time\":\"1970-01-01T00:00:00Z\"}"},
	{"4a00", "{\"raw\":null}"},
	{"4a050a035b315d", "{\"raw\":[1]}"},
	{"5a09090000000000000440", "{\"kept\":{\"real\":2.5}}"},
	{"5a09090000000000000080", "{\"kept\":{\"real\":-0}}"},
	{"5a0909bbbdd7d9df7cdb3d", "{\"kept\":{\"real\":1e-10}}"},
	/* Empty values of a message are not in its JSON, unless they are pointers in Go. */
	{"5a022000", "{\"kept\":{}}"},
	{"5a021a00", "{\"kept\":{\"or\":false}}"},
	{"5a041a020801", "{\"kept\":{\"or\":true}}"},
	{"5a061a0408011200", "{\"kept\":{\"or\":{}}}"},
	{"5a0a1a060801120212002001", "{\"kept\":{\"or\":{\"not\":{}},\"flag\":true}}"},
	{"5a052a030a016b", "{\"kept\":{\"map\":{\"k\":{}}}}"},
	{"5a0212005a06120420001200", "{\"kept\":{\"not\":{\"not\":{}}}}"},
	/* A message that comes in pieces is one message; of a scalar the last counts. */
	{"32060a016112016232060a0164120163", "{\"inner\":{\"a\":\"d\",\"list\":[\"b\",\"c\"]}}"},
	/* Unknown numbers: a varint, 8 bytes, a text, a group with a group inside, 4 bytes. */
	{"a00601a1060102030405060708a2060161a306ab06080aac06a406a506010203043801", "{\"flag\":true}"},
};

static const char *enclose(struct api_world *w, const char *message)
{
	return arena_printf(&w->a, "6b38730012%02zx%s", strlen(message) / 2, message).p;
}

static void test_message__every_type(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		world_assert_json(
			*state, read_body(*state, "Outer", &outer_type, enclose(*state, good[i].message)), good[i].json);
	}
}

static const struct {
	const char *body;
	int error;
	const char *sentence;
} bad[] = {
	{"", OBJECT_UNRECOGNIZED, "empty data"},
	{"6b387300", OBJECT_UNRECOGNIZED, "empty body"},
	{"7b7d", OBJECT_UNRECOGNIZED, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"},
	{"6b3873006a756e6b", OBJECT_UNRECOGNIZED, "unexpected EOF"},
	{"6b38730080", OBJECT_UNRECOGNIZED, "unexpected EOF"},
	{"6b387300ffffffffffffffffffff01", OBJECT_UNRECOGNIZED, "proto: integer overflow"},
	{"6b38730000", OBJECT_UNRECOGNIZED, "proto: illegal tag 0"},
	{"6b38730012ffffffffffffffffff01", OBJECT_UNRECOGNIZED, "unexpected EOF"},
	{"6b3873000801", OBJECT_UNRECOGNIZED, "proto: wrong wireType = 0"},
	{"6b3873000c", OBJECT_UNRECOGNIZED, "proto: unexpected end of group"},
	{"6b3873000f", OBJECT_UNRECOGNIZED, "proto: illegal wireType 7"},
	{"6b387300ab06", OBJECT_UNRECOGNIZED, "unexpected EOF"},
	{"6b3873000a040a02c328", OBJECT_UNRECOGNIZED, "TypeMeta.apiVersion: proto: string field contains invalid UTF-8"},
	{"6b387300120132", OBJECT_MISMATCH, "unexpected EOF"},
	{"6b38730012023201", OBJECT_MISMATCH, "unexpected EOF"},
	{"6b38730012033201ff", OBJECT_MISMATCH, "Outer.inner: unexpected EOF"},
	{"6b387300120432020801", OBJECT_MISMATCH, "Inner.a: proto: wrong wireType = 0"},
	{"6b387300120532030a01ff", OBJECT_MISMATCH, "Inner.a: proto: string field contains invalid UTF-8"},
	{"6b38730012083a06303132333435", OBJECT_MISMATCH, "Outer.flag: proto: wrong wireType = 2"},
	{"6b387300120522030a01ff", OBJECT_MISMATCH, "Outer.secrets: proto: string field contains invalid UTF-8"},
	{"6b387300120752050a016b1001", OBJECT_MISMATCH, "Outer.extra: proto: wrong wireType = 0"},
	{"6b387300120a420808ffffffffffff7f", OBJECT_MISMATCH, "Outer.time: proto: the time is out of range"},
	{"6b387300120b5a0909000000000000f87f", OBJECT_MISMATCH, "Kept.real: json: unsupported value: NaN"},
	{"6b387300120b5a0909000000000000f0ff", OBJECT_MISMATCH, "Kept.real: json: unsupported value: -Inf"},
	{"6b38730012045a020801", OBJECT_MISMATCH, "Kept.real: proto: wrong wireType = 0"},
	{"6b38730012065a0409000000", OBJECT_MISMATCH, "Outer.kept: unexpected EOF"},
	{"6b38730012094a070a057b226e223a", OBJECT_MISMATCH, "Outer.raw: unexpected end of JSON input"},
	{"6b38730012074a050a037b7d7d", OBJECT_MISMATCH, "Outer.raw: invalid character '}' after top-level value"},
};

static void test_malformed__is_refused_with_a_sentence(void **state)
{
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct json *j = NULL;
		struct str error = {0};
		int r = protobuf_decode(&j, "Outer", &outer_type, world_bytes(w, bad[i].body), &w->a, &error);
		if (r != bad[i].error) {
			fail_msg("%s gives %d: " STR_FMT, bad[i].body, r, STR_ARG(error));
		}
		assert_str(error, bad[i].sentence);
	}
}

static void test_groups__are_not_nested_without_end(void **state)
{
	struct api_world *w = *state;
	char body[4 + 2000] = "k8s";
	struct json *j;
	struct str error;
	memset(body + 4, 0x7b, sizeof(body) - 4); /* the beginning of a group number 15 */
	assert_int_equal(protobuf_decode(&j, "Outer", &outer_type, (struct str){body, sizeof(body)}, &w->a, &error),
		OBJECT_UNRECOGNIZED);
	assert_str(error, "proto: groups are nested too deeply");
}

static void test_memory__has_a_ceiling(void **state)
{
	(void)state;
	enum { ITEMS = 100000 };
	static char body[4 + 4 + 2 * ITEMS] = "k8s\0\x12\xc0\x9a\x0c"; /* 200,000 bytes of empty messages */
	struct arena a;
	struct json *j;
	struct str error;
	for (size_t i = 8; i < sizeof(body); i += 2) {
		body[i] = 0x22;
	}
	arena_init(&a, 1 << 20);
	assert_int_equal(
		protobuf_decode(&j, "Outer", &outer_type, (struct str){body, sizeof(body)}, &a, &error), OBJECT_MISMATCH);
	assert_str(error, "Outer.secrets: the object takes too much memory");
	arena_done(&a);
}

static const struct field plain_fields[] = {OBJECT_FIELDS, {"colour", &type_string, 0, "", NULL, NULL}, {0}};
static const struct type plain_type = {.kind = TYPE_OBJECT, .fields = plain_fields};
static const struct type plain_list = {.kind = TYPE_LIST, .elem = &plain_type};
static const struct field deep_fields[] = {OBJECT_FIELDS, {"items", &plain_list, FIELD_NUMBER(2), "", NULL, NULL}, {0}};
static const struct type deep_type = {.kind = TYPE_OBJECT, .fields = deep_fields};

static void test_numbers__of_all_members_or_none(void **state)
{
	const struct version *v;
	(void)state;
	assert_true(protobuf_knows(world_version(NS, &v)->type));
	assert_true(protobuf_knows(world_version(CR, &v)->type));
	assert_true(protobuf_knows(&type_delete_options));
	assert_false(protobuf_knows(&plain_type));
	assert_false(protobuf_knows(&deep_type));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_namespace__as_kubectl_creates_it),
		API_TEST(test_namespace__with_conditions),
		API_TEST(test_statefulset__and_its_scale),
		API_TEST(test_pod__with_embedded_messages),
		API_TEST(test_revision__every_member),
		API_TEST(test_revision__data_keeps_its_spelling),
		API_TEST(test_revision__negative_and_empty),
		API_TEST(test_delete_options__every_member),
		API_TEST(test_other_kind__gives_its_claim_alone),
		API_TEST(test_message__every_type),
		API_TEST(test_malformed__is_refused_with_a_sentence),
		API_TEST(test_groups__are_not_nested_without_end),
		API_TEST(test_memory__has_a_ceiling),
		API_TEST(test_numbers__of_all_members_or_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
