/* What is written is compared, byte for byte, with what Kubernetes' own marshallers make of the same objects
 * (tests/cluster/clients/marshalled): of objects in which nothing is set, of those in which all is set to what is empty, and of those in
 * which all is set. */
#include "api/model/protobuf.h"
#include "api/model/protobuf_write.h"
#include "base/base64.h"
#include "tests/unit/api_world.h"

#include <stdio.h>

static struct str read_all(struct api_world *w, const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f) {
		fail_msg("no %s", path);
	}
	fseek(f, 0, SEEK_END);
	size_t n = (size_t)ftell(f);
	char *text = arena_text(&w->a, n);
	rewind(f);
	assert_int_equal(fread(text, 1, n, f), n);
	fclose(f);
	return (struct str){text, n};
}

struct example {
	struct str api_version, kind, json, message;
};

static bool next_example(struct api_world *w, struct str *rest, struct example *ret)
{
	struct str line, tail;
	if (rest->n == 0) {
		return false;
	}
	str_cut(*rest, '\n', &line, rest);
	str_cut(line, '\t', &ret->api_version, &tail);
	str_cut(tail, '\t', &ret->kind, &tail);
	str_cut(tail, '\t', &ret->json, &tail);
	char *message = arena_text(&w->a, BASE64_ROOM(tail.n));
	assert_true(base64_decode(message, tail, &ret->message.n));
	ret->message.p = message;
	return true;
}

static struct json *parse(struct api_world *w, struct str text)
{
	struct json *j = NULL;
	size_t at;
	assert_int_equal(json_parse(&j, &w->a, text, JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static struct str write_message(struct api_world *w, const struct type *type, const struct json *object)
{
	struct protobuf_out out;
	protobuf_out_init(&out, (size_t)64 << 20);
	protobuf_put_object(&out, type, object);
	assert_false(out.is_over);
	struct str message = arena_dup(&w->a, protobuf_out_str(&out));
	protobuf_out_done(&out);
	return message;
}

static struct str hex(struct api_world *w, struct str bytes)
{
	char *text = arena_text(&w->a, 2 * bytes.n + 1);
	for (size_t i = 0; i < bytes.n; i++) {
		snprintf(text + 2 * i, 3, "%02x", (unsigned char)bytes.p[i]);
	}
	return (struct str){text, 2 * bytes.n};
}

static void assert_message(struct api_world *w, const struct example *e, struct str got)
{
	size_t same = 0;
	if (str_eq(got, e->message)) {
		return;
	}
	while (same < got.n && same < e->message.n && got.p[same] == e->message.p[same]) {
		same++;
	}
	size_t from = same > 40 ? same - 40 : 0;
	struct str a = {got.p + from, MIN(got.n - from, (size_t)100)},
		   b = {e->message.p + from, MIN(e->message.n - from, (size_t)100)};
	fail_msg(STR_FMT " " STR_FMT " differs at byte %zu of %zu and %zu\ngot      " STR_FMT "\nexpected " STR_FMT
			 "\nof " STR_FMT,
		STR_ARG(e->api_version), STR_ARG(e->kind), same, got.n, e->message.n, STR_ARG(hex(w, a)), STR_ARG(hex(w, b)),
		STR_ARG(e->json));
}

static void test_objects__as_upstreams_marshallers_write_them(void **state)
{
	struct api_world *w = *state;
	struct str rest = read_all(w, MARSHALLED);
	struct example e;
	size_t n = 0;
	while (next_example(w, &rest, &e)) {
		const struct type *type = protobuf_type_of(e.api_version, e.kind, &w->a);
		if (!type) {
			fail_msg("no protobuf of " STR_FMT " " STR_FMT, STR_ARG(e.api_version), STR_ARG(e.kind));
		}
		assert_message(w, &e, write_message(w, type, parse(w, e.json)));
		n++;
	}
	assert_true(n > 90);
}

/* kube-apiserver's own answers (tests/cluster/answered.py): whole bodies, of objects, lists, metadata alone, Statuses, and discovery. */
static void test_bodies__as_kube_apiserver_answers(void **state)
{
	struct api_world *w = *state;
	struct str rest = read_all(w, ANSWERED), line, json, packed;
	size_t n = 0;
	while (rest.n > 0) {
		struct buf got;
		struct example e = {.kind = STR("body")};
		str_cut(rest, '\n', &line, &rest);
		str_cut(line, '\t', &json, &packed);
		char *body = arena_text(&w->a, BASE64_ROOM(packed.n));
		assert_true(base64_decode(body, packed, &e.message.n));
		e.message.p = body;
		e.json = json;
		buf_init(&got, (size_t)64 << 20);
		if (!protobuf_from_text(&got, json)) {
			fail_msg("no protobuf of " STR_FMT, STR_ARG(json));
		}
		assert_message(w, &e, arena_dup(&w->a, buf_str(&got)));
		buf_done(&got);
		n++;
	}
	assert_true(n > 50);
}

/* What was written is read as what it was made of. */
static void test_objects__read_again(void **state)
{
	struct api_world *w = *state;
	struct str rest = read_all(w, MARSHALLED), error;
	struct example e;
	while (next_example(w, &rest, &e)) {
		const struct type *type = protobuf_type_of(e.api_version, e.kind, &w->a);
		struct json *again, *normal, *first;
		struct buf body;
		buf_init(&body, (size_t)64 << 20);
		assert_true(protobuf_from_text(&body, e.json));
		struct str text = arena_dup(&w->a, buf_str(&body));
		buf_done(&body);
		assert_true(str_starts(text, (struct str){"k8s", 4}));
		assert_true(str_ends(text, protobuf_envelope_tail));
		if (!type_field(type, STR("apiVersion"))) { /* shared messages, which are only written */
			continue;
		}
		assert_int_equal(protobuf_decode(&again, arena_dup(&w->a, e.kind).p, type, text, &w->a, &error), 0);
		assert_int_equal(schema_decode(&normal, type, again, &w->a, NULL, &error), 0);
		assert_int_equal(schema_decode(&first, type, parse(w, e.json), &w->a, NULL, &error), 0);
		world_assert_json(w, normal, world_print(w, first));
	}
}

static const struct type spelled_type = {
	.kind = TYPE_OBJECT,
	.fields =
		(const struct field[]){
			{"map", &type_string_map, FIELD_NUMBER(1), "", NULL, NULL},
			{"text", &type_string, FIELD_NUMBER(2), "", NULL, NULL},
			{"number", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "", NULL, NULL},
			{"raw", &type_raw, FIELD_NUMBER(4), "", NULL, NULL},
			{"time", &type_time, FIELD_NUMBER(5), "", NULL, NULL},
			{0},
		},
};

static void assert_spelled(struct api_world *w, const char *json, const char *expected)
{
	struct str got = hex(w, write_message(w, &spelled_type, world_parse(w, json)));
	if (!str_is(got, expected)) {
		fail_msg("%s\ngot      " STR_FMT "\nexpected %s", json, STR_ARG(got), expected);
	}
}

/* What is in etcd may have been written by others: whatever it is, a message comes of it. */
static void test_what_is_not_normal(void **state)
{
	assert_spelled(*state, "{}", "1200");
	assert_spelled(*state, "null", "1200");
	assert_spelled(*state, "{\"map\":{\"b\":\"1\",\"a\":\"2\",\"b\":\"3\"}}", "0a060a01611201320a060a01621201331200");
	assert_spelled(*state, "{\"map\":[1],\"text\":7,\"number\":\"8\",\"unknown\":1}", "12001800");
	assert_spelled(*state, "{\"text\":\"a\",\"text\":\"b\"}", "120162");
	assert_spelled(*state, "{\"number\":-1}", "120018ffffffffffffffffff01");
	assert_spelled(*state, "{\"number\":0}", "12001800");
	assert_spelled(*state, "{\"number\":1.5}", "12001800");
	assert_spelled(*state, "{\"raw\":{\"n\":1.0}}", "1200220b0a097b226e223a312e307d");
	assert_spelled(*state, "{\"time\":\"1969-12-31T23:59:59Z\"}", "12002a0d08ffffffffffffffffff011000");
	assert_spelled(*state, "{\"time\":\"0001-01-01T00:00:00Z\"}", "12002a00");
	assert_spelled(*state, "{\"time\":\"yesterday\"}", "12002a00");
}

static void test_ceiling__holds(void **state)
{
	struct api_world *w = *state;
	struct protobuf_out out;
	struct buf body;
	protobuf_out_init(&out, 8);
	protobuf_put_object(&out, &spelled_type, world_parse(w, "{\"text\":\"123456\"}"));
	assert_false(out.is_over);
	assert_int_equal(protobuf_out_size(&out), 8);
	protobuf_out_clear(&out);
	protobuf_put_object(&out, &spelled_type, world_parse(w, "{\"text\":\"1234567\"}"));
	assert_true(out.is_over);
	protobuf_out_done(&out);

	buf_init(&body, 16);
	assert_false(protobuf_from_text(&body, STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"long\"}")));
	assert_true(body.is_over);
	buf_done(&body);
}

/* A definition with so many containers in each other. */
static struct str deep_definition(struct api_world *w, unsigned depth)
{
	static const char head[] = "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","
				   "\"metadata\":{\"name\":\"a\"},\"spec\":{\"versions\":[{\"name\":\"v1\",\"schema\":{"
				   "\"openAPIV3Schema\":";
	enum { OUTSIDE = 5 }; /* containers around the schema */
	struct buf text;
	buf_init(&text, (size_t)1 << 20);
	buf_adds(&text, head);
	for (unsigned i = OUTSIDE + 1; i < depth; i++) {
		buf_adds(&text, "{\"not\":");
	}
	buf_adds(&text, "{\"type\":\"object\"}");
	for (unsigned i = OUTSIDE + 1; i < depth; i++) {
		buf_adds(&text, "}");
	}
	buf_adds(&text, "}}]}}");
	struct str made = arena_dup(&w->a, buf_str(&text));
	buf_done(&text);
	return made;
}

/* Schemas hold schemas: as deep as JSON may be, and no deeper. */
static void test_depth__has_a_ceiling(void **state)
{
	struct api_world *w = *state;
	const unsigned most = JSON_LIMITS_DEFAULT.depth;
	const struct version *v;
	const struct kind *k = world_version("apiextensions.k8s.io/v1/customresourcedefinitions", &v);
	for (unsigned depth = most - 1; depth <= most + 1; depth++) {
		struct str text = deep_definition(w, depth), error = {0};
		struct json *parsed, *tree = NULL, *normal;
		struct buf body;
		size_t at;
		buf_init(&body, (size_t)1 << 20);
		assert_true(protobuf_from_text(&body, text));
		int r = protobuf_decode(&tree, k->kind, version_type(k, v), arena_dup(&w->a, buf_str(&body)), &w->a, &error);
		buf_done(&body);
		assert_int_equal(json_parse(&parsed, &w->a, text, JSON_LIMITS_DEFAULT, &at) == 0, depth <= most);
		assert_int_equal(r == 0, depth <= most);
		if (depth > most) {
			assert_str(error, "JSONSchemaProps.not: proto: messages are nested too deeply");
			continue;
		}
		assert_int_equal(schema_decode(&normal, version_type(k, v), tree, &w->a, NULL, &error), 0);
		const struct json *spec = json_gets(normal, "spec");
		assert_true(json_equal(json_gets(json_gets(spec, "versions")->items[0], "schema"),
			json_gets(json_gets(json_gets(parsed, "spec"), "versions")->items[0], "schema")));
	}

	struct buf body;
	buf_init(&body, (size_t)1 << 20);
	assert_false(protobuf_from_text(&body, deep_definition(w, 2 * most)));
	buf_done(&body);
}

static void test_what_has_no_protobuf(void **state)
{
	struct api_world *w = *state;
	const struct version *v;
	const struct kind *k = world_version("annals.dev/v1/providers", &v);
	assert_false(protobuf_has_objects(k, v));
	assert_false(protobuf_has_objects(k, v));
	assert_null(protobuf_type_of(STR("annals.dev/v1"), STR("Provider"), &w->a));
	assert_null(protobuf_type_of(STR("annals.dev/v1"), STR("ProviderList"), &w->a));
	assert_null(protobuf_type_of(STR("meta.k8s.io/v1"), STR("Table"), &w->a));
	k = world_version("annals.dev/v1/controllerrevisions", &v);
	assert_false(protobuf_has_objects(k, v));
	k = world_version("apps/v1/controllerrevisions", &v);
	assert_true(protobuf_has_objects(k, v));
	k = world_version("/v1/configmaps", &v);
	assert_true(protobuf_has_objects(k, v));
	assert_true(protobuf_has_objects(k, v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_objects__as_upstreams_marshallers_write_them),
		API_TEST(test_bodies__as_kube_apiserver_answers),
		API_TEST(test_objects__read_again),
		API_TEST(test_what_is_not_normal),
		API_TEST(test_ceiling__holds),
		API_TEST(test_depth__has_a_ceiling),
		API_TEST(test_what_has_no_protobuf),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
