#include "server/parse/negotiate.h"
#include "tests/unit/check.h"

enum {
	FOR_OBJECT = ALLOW_TABLE | ALLOW_PARTIAL,
	FOR_LIST = ALLOW_TABLE | ALLOW_PARTIAL_LIST,
	FOR_WATCH = ALLOW_TABLE | ALLOW_PARTIAL | ALLOW_STREAM_ONLY,
	FOR_DOCUMENT = 0,
};

struct fixture {
	struct arena arena;
	struct status st;
	struct media media;
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	arena_init(&f->arena, 64 << 20);
	status_init(&f->st, &f->arena);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->arena);
	mem_free(f);
	return 0;
}

static int negotiate(struct fixture *f, const char *accept, unsigned allowed)
{
	status_init(&f->st, &f->arena);
	return media_negotiate(&f->media, str_of(accept), STR(""), STR("test"), STR(""), allowed, &f->arena, &f->st);
}

#define TABLE_FORM ";as=Table;v=v1;g=meta.k8s.io"
#define PARTIAL_FORM ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
#define TABLE "application/json" TABLE_FORM
#define PARTIAL "application/json" PARTIAL_FORM
#define PARTIAL_LIST "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
#define PROTOBUF "application/vnd.kubernetes.protobuf"

/* kube-apiserver's choices. */
static const struct {
	const char *accept;
	unsigned allowed;
	enum media_format format;
	enum media_as as;
	bool is_v1beta1;
} accepted[] = {
	{"", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"*/*", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"application/json", FOR_WATCH, MEDIA_JSON, AS_OBJECT, false},
	{" application/yaml ", FOR_OBJECT, MEDIA_YAML, AS_OBJECT, false},
	{"text/html, application/yaml;q=0.9", FOR_OBJECT, MEDIA_YAML, AS_OBJECT, false},
	{PROTOBUF, FOR_OBJECT, MEDIA_PROTOBUF, AS_OBJECT, false},
	{PROTOBUF, FOR_DOCUMENT, MEDIA_PROTOBUF, AS_OBJECT, false},
	{PROTOBUF, FOR_WATCH, MEDIA_PROTOBUF, AS_OBJECT, false},
	{PROTOBUF ";stream=watch", FOR_WATCH, MEDIA_PROTOBUF, AS_OBJECT, false},
	{PROTOBUF ",application/json", FOR_OBJECT, MEDIA_PROTOBUF, AS_OBJECT, false},
	{"application/json," PROTOBUF, FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"application/json;q=0.5," PROTOBUF, FOR_LIST, MEDIA_PROTOBUF, AS_OBJECT, false},
	{PROTOBUF ",application/json", FOR_OBJECT | ALLOW_ONLY_TEXT, MEDIA_JSON, AS_OBJECT, false},
	{PROTOBUF PARTIAL_FORM, FOR_OBJECT, MEDIA_PROTOBUF, AS_PARTIAL, false},
	{PROTOBUF PARTIAL_FORM, FOR_OBJECT | ALLOW_ONLY_TEXT, MEDIA_PROTOBUF, AS_PARTIAL, false},
	{PROTOBUF PARTIAL_FORM, FOR_WATCH | ALLOW_ONLY_TEXT, MEDIA_PROTOBUF, AS_PARTIAL, false},
	{PROTOBUF TABLE_FORM ",application/json", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{PROTOBUF TABLE_FORM "," TABLE, FOR_OBJECT, MEDIA_JSON, AS_TABLE, false},
	{"application/json;q=0", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"application/json;q=0.5,application/yaml", FOR_OBJECT, MEDIA_YAML, AS_OBJECT, false},
	{"application/json,application/yaml;q=2", FOR_OBJECT, MEDIA_YAML, AS_OBJECT, false},
	{"application/json;q=nonsense,application/yaml;q=0.1", FOR_OBJECT, MEDIA_YAML, AS_OBJECT, false},
	{"*/*,application/yaml", FOR_OBJECT, MEDIA_YAML, AS_OBJECT, false},
	{"application/json;charset=utf-8", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"application/json;as=,application/yaml", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"application/json;stream=watch", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"application/yaml;stream=watch,application/json", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{"application/json;sv=v1", FOR_OBJECT, MEDIA_JSON, AS_OBJECT, false},
	{TABLE, FOR_LIST, MEDIA_JSON, AS_TABLE, false},
	{"application/yaml;as=Table;v=v1;g=meta.k8s.io", FOR_OBJECT, MEDIA_YAML, AS_TABLE, false},
	{"application/json;as=Table;v=v1beta1;g=meta.k8s.io", FOR_OBJECT, MEDIA_JSON, AS_TABLE, true},
	{TABLE ",application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", FOR_LIST, MEDIA_JSON, AS_TABLE, false},
	{"application/json;as=Table;v=v1alpha1;g=meta.k8s.io,application/json", FOR_LIST, MEDIA_JSON, AS_OBJECT, false},
	{TABLE ",application/json", FOR_DOCUMENT, MEDIA_JSON, AS_OBJECT, false},
	{PARTIAL, FOR_OBJECT, MEDIA_JSON, AS_PARTIAL, false},
	{PARTIAL, FOR_WATCH, MEDIA_JSON, AS_PARTIAL, false},
	{PARTIAL_LIST, FOR_LIST, MEDIA_JSON, AS_PARTIAL_LIST, false},
};

static void test_negotiate__chooses_as_kube(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		if (negotiate(f, accepted[i].accept, accepted[i].allowed)) {
			fail_msg("%s: " STR_FMT, accepted[i].accept, STR_ARG(f->st.message));
		}
		assert_int_equal(f->media.format, accepted[i].format);
		assert_int_equal(f->media.as, accepted[i].as);
		assert_int_equal(f->media.is_v1beta1, accepted[i].is_v1beta1);
		assert_false(f->media.pretty);
	}
}

#define ALL_TYPES "application/json, application/yaml, " PROTOBUF
#define STREAM_TYPES "application/json;stream=watch, " PROTOBUF ";stream=watch"
#define ROUTE_TEXT "406: Not Acceptable\n\nAvailable representations: " ALL_TYPES
#define ROUTE_STREAM_TEXT ROUTE_TEXT ", " STREAM_TYPES
#define CLAUSE_TEXT "only the following media types are accepted: " ALL_TYPES
#define CLAUSE_STREAM_TEXT "only the following media types are accepted: " STREAM_TYPES

static const struct {
	const char *accept;
	unsigned allowed;
	const char *message;
	bool has_details;
	enum media_format format; /* of the refusal */
	bool pretty;
} refused[] = {
	{"text/html", FOR_OBJECT, ROUTE_TEXT, true, MEDIA_JSON, true},
	{"text/html", FOR_LIST, ROUTE_STREAM_TEXT, true, MEDIA_JSON, true},
	{"text/html", FOR_WATCH, ROUTE_STREAM_TEXT, true, MEDIA_JSON, true},
	{"application/*", FOR_OBJECT, ROUTE_TEXT, true, MEDIA_JSON, false},
	{"*", FOR_OBJECT, ROUTE_TEXT, true, MEDIA_JSON, false},
	{"APPLICATION/JSON", FOR_OBJECT, ROUTE_TEXT, true, MEDIA_JSON, true},
	{PROTOBUF TABLE_FORM, FOR_OBJECT, CLAUSE_TEXT, false, MEDIA_JSON, true},
	{PROTOBUF, FOR_OBJECT | ALLOW_ONLY_TEXT, CLAUSE_TEXT, false, MEDIA_PROTOBUF, false},
	{PROTOBUF ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", FOR_WATCH | ALLOW_ONLY_TEXT, CLAUSE_STREAM_TEXT, false,
		MEDIA_JSON, true},
	{PROTOBUF ";stream=other", FOR_WATCH, CLAUSE_TEXT, false, MEDIA_JSON, true},
	{"application/json;as=Table", FOR_OBJECT, CLAUSE_TEXT, false, MEDIA_JSON, true},
	{"application/json;as=table;v=v1;g=meta.k8s.io", FOR_LIST, CLAUSE_TEXT, false, MEDIA_JSON, true},
	{"application/json;as=Table;v=v1;g=wrong.example", FOR_LIST, CLAUSE_TEXT, false, MEDIA_JSON, true},
	{"application/json;stream=other", FOR_WATCH, CLAUSE_TEXT, false, MEDIA_JSON, true},
	{"application/json;sv=v2", FOR_OBJECT, CLAUSE_TEXT, false, MEDIA_JSON, true},
	{"application/yaml", FOR_WATCH, CLAUSE_STREAM_TEXT, false, MEDIA_YAML, false},
	{PARTIAL_LIST, FOR_OBJECT, "you requested PartialObjectMetadataList, but the requested object is not a list", false,
		MEDIA_JSON, true},
	{PARTIAL, FOR_LIST, "you requested PartialObjectMetadata, but the requested object is a list", false, MEDIA_JSON, true},
};

static void test_negotiate__refuses_as_kube(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(negotiate(f, refused[i].accept, refused[i].allowed), 1);
		assert_int_equal(f->st.code, 406);
		assert_string_equal(f->st.reason, REASON_NOT_ACCEPTABLE);
		assert_str(f->st.message, refused[i].message);
		assert_int_equal(f->st.has_details, refused[i].has_details);
		assert_int_equal(f->media.format, refused[i].format);
		assert_int_equal(f->media.pretty, refused[i].pretty);
		assert_int_equal(f->media.as, AS_OBJECT);
	}
}

static void test_negotiate__watch_takes_partial_list_for_objects(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(negotiate(f, PARTIAL_LIST, FOR_WATCH), 0);
	assert_int_equal(f->media.as, AS_OBJECT);
}

static void test_negotiate__many_clauses_cost_little(void **state)
{
	struct fixture *f = *state;
	struct buf accept;

	buf_init(&accept, 1 << 20);
	for (int i = 0; i < 10000; i++) {
		buf_printf(&accept, "a/b;q=0.%04d,", i);
	}
	buf_adds(&accept, "application/json");
	assert_int_equal(negotiate(f, accept.p, FOR_OBJECT), 1);
	assert_str(f->st.message, CLAUSE_TEXT);
	buf_done(&accept);
}

static const struct {
	const char *user_agent, *param, *accept;
	bool pretty;
} pretty_cases[] = {
	{"kubectl/v1.36", "", "", false},
	{"kubectl/v1.36", "true", "", true},
	{"kubectl/v1.36", "1", "*/*", true},
	{"kubectl/v1.36", "yes", "", false},
	{"curl/8.0", "", "", true},
	{"curl/8.0", "false", "", false},
	{"curl/8.0", "yes", "", false},
	{"Wget/1.2", "", "", true},
	{"Mozilla/5.0 (X11)", "", "", true},
	{"Mozilla/4.0", "", "", false},
	{"kubectl/v1.36", "", "application/json;pretty=1", true},
	{"kubectl/v1.36", "", "application/json;pretty=true", false},
	{"curl/8.0", "", "application/yaml", false},
};

static void test_negotiate__pretty_by_parameter_and_user_agent(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(pretty_cases); i++) {
		assert_int_equal(
			media_negotiate(&f->media, str_of(pretty_cases[i].accept), STR(""), str_of(pretty_cases[i].user_agent),
				str_of(pretty_cases[i].param), FOR_OBJECT, &f->arena, &f->st),
			0);
		assert_int_equal(f->media.pretty, pretty_cases[i].pretty);
	}
}

static const struct {
	const char *accept_encoding;
	bool gzip;
} gzip_cases[] = {
	{"", false},
	{"gzip", true},
	{"deflate, gzip", true},
	{"gzip;q=1.0", false},
	{"GZIP", false},
	{"*", false},
	{"br,\tgzip ,x", true},
};

static void test_negotiate__gzip_wants_the_bare_word(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(gzip_cases); i++) {
		media_negotiate(&f->media, STR(""), str_of(gzip_cases[i].accept_encoding), STR("x"), STR(""), FOR_OBJECT,
			&f->arena, &f->st);
		assert_int_equal(f->media.accepts_gzip, gzip_cases[i].gzip);
	}
}

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static void test_negotiate__any_clause_gets_aggregated_discovery(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(negotiate(f, "application/json," AGGREGATED, ALLOW_DISCOVERY), 0);
	assert_int_equal(f->media.as, AS_DISCOVERY);
	assert_str(media_content_type(&f->media), AGGREGATED);
	assert_int_equal(
		negotiate(f, "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
			ALLOW_DISCOVERY),
		0);
	assert_int_equal(f->media.as, AS_OBJECT);
	assert_str(media_content_type(&f->media), "application/json");
	assert_int_equal(negotiate(f, "*/*", ALLOW_DISCOVERY), 0);
	assert_int_equal(f->media.as, AS_OBJECT);
	assert_int_equal(negotiate(f, AGGREGATED, FOR_DOCUMENT), 1);
	assert_str(f->st.message, CLAUSE_TEXT);
}

static void test_status_form__is_never_a_table(void **state)
{
	struct fixture *f = *state;

	media_of_status(&f->media, STR(TABLE ",application/json"), STR(""), STR("x"), STR(""));
	assert_int_equal(f->media.as, AS_OBJECT);
	assert_false(f->media.pretty);
	media_of_status(&f->media, STR(TABLE), STR(""), STR("x"), STR(""));
	assert_int_equal(f->media.as, AS_OBJECT);
	assert_true(f->media.pretty);
	media_of_status(&f->media, STR("application/yaml"), STR(""), STR("x"), STR(""));
	assert_int_equal(f->media.format, MEDIA_YAML);
}

static void test_write__json_compact_indented_and_yaml(void **state _unused_)
{
	static const struct {
		struct media media;
		const char *type, *text;
	} cases[] = {
		{{.format = MEDIA_JSON}, "application/json", "{\"b\":1,\"a\":[]}\n"},
		{{.format = MEDIA_JSON, .pretty = true}, "application/json", "{\n  \"b\": 1,\n  \"a\": []\n}"},
		{{.format = MEDIA_YAML}, "application/yaml", "a: []\nb: 1\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out;
		buf_init(&out, 1000);
		assert_true(media_write(&out, &cases[i].media, STR("{\"b\":1,\"a\":[]}")));
		assert_str(buf_str(&out), cases[i].text);
		assert_str(media_content_type(&cases[i].media), cases[i].type);
		buf_done(&out);
	}
}

static size_t count_slices(struct buf *out, const struct media *m, struct str text)
{
	struct media_writer *w = media_writer_new(out, m, text);
	size_t n = 1;

	while (media_writer_step(w)) {
		n++;
	}
	media_writer_free(w);
	return n;
}

static void test_media_writer__large_texts_are_written_in_slices(void **state _unused_)
{
	static const struct media forms[] = {{.format = MEDIA_YAML}, {.format = MEDIA_JSON, .pretty = true}};
	struct buf text, whole, sliced;

	buf_init(&text, 1 << 20);
	buf_init(&whole, 8 << 20);
	buf_init(&sliced, 8 << 20);
	buf_adds(&text, "{\"a\":[[{\"b\":[");
	for (size_t i = 0; i < 200000; i++) {
		buf_adds(&text, i > 0 ? ",7" : "7");
	}
	buf_adds(&text, "]}]]}");
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		buf_clear(&whole);
		buf_clear(&sliced);
		assert_true(media_write(&whole, &forms[i], buf_str(&text)));
		assert_in_range(count_slices(&sliced, &forms[i], buf_str(&text)), 8, 1000);
		assert_true(str_eq(buf_str(&whole), buf_str(&sliced)));
		buf_clear(&sliced);
		assert_in_range(count_slices(&sliced, &forms[i], STR("{\"a\":1}")), 1, 2);
	}
	buf_done(&text);
	buf_done(&whole);
	buf_done(&sliced);
}

/* As Go's mime.ParseMediaType takes them; -1: 415. */
static const struct {
	const char *content_type;
	int format;
} body_cases[] = {
	{"", MEDIA_JSON},
	{"application/json", MEDIA_JSON},
	{" Application/JSON ", MEDIA_JSON},
	{"application/yaml", MEDIA_YAML},
	{"application/json; charset=utf-8", MEDIA_JSON},
	{"application/json;", MEDIA_JSON},
	{"application/json; a=1; b=\"x;\\\"y\"", MEDIA_JSON},
	{"application/json; a=1; A=1", MEDIA_JSON},
	{"application/json; a=1; A=2", -1},
	{"application/json; a", -1},
	{"application/json; a=", -1},
	{"application/json; a=\"x", -1},
	{"application/json,application/yaml", -1},
	{"application/", -1},
	{"text/plain", -1},
	{"application/merge-patch+json", -1},
	{PROTOBUF, MEDIA_PROTOBUF},
	{PROTOBUF "; charset=utf-8", MEDIA_PROTOBUF},
	{"application/vnd.kubernetes.protobuf;stream=watch, application/json", -1},
	{"application/vnd.google.protobuf", -1},
};

static void test_body_format__by_content_type(void **state)
{
	struct fixture *f = *state;
	enum media_format format;

	for (size_t i = 0; i < ARRAY_SIZE(body_cases); i++) {
		int r = media_of_body(&format, str_of(body_cases[i].content_type), &type_delete_options, &f->arena, &f->st);
		assert_int_equal(r ? -1 : (int)format, body_cases[i].format);
	}
	assert_int_equal(f->st.code, 415);
	assert_str(f->st.message,
		"the body of the request was in an unknown format - accepted media types include: "
		"application/json, application/yaml, " PROTOBUF);
	assert_false(f->st.has_details);
}

static void test_body_format__protobuf_takes_numbers(void **state)
{
	static const struct field fields[] = {OBJECT_FIELDS, {"colour", &type_string, 0, "", NULL, NULL}, {0}};
	static const struct type type = {.kind = TYPE_OBJECT, .fields = fields};
	struct fixture *f = *state;
	enum media_format format;

	assert_int_equal(media_of_body(&format, STR("application/json"), &type, &f->arena, &f->st), 0);
	assert_int_equal(media_of_body(&format, STR(PROTOBUF), &type, &f->arena, &f->st), 1);
	assert_int_equal(f->st.code, 415);
	assert_str(f->st.message,
		"the body of the request was in an unknown format - accepted media types include: "
		"application/json, application/yaml");
}

static void test_patch_format__exact_type_from_a_list(void **state)
{
	struct fixture *f = *state;
	enum patch_type type;

	assert_int_equal(media_of_patch(&type, STR("application/merge-patch+json; charset=utf-8"), &f->st), 0);
	assert_int_equal(type, PATCH_MERGE);
	assert_int_equal(media_of_patch(&type, STR("text/plain, application/apply-patch+yaml"), &f->st), 0);
	assert_int_equal(type, PATCH_APPLY);
	assert_int_equal(media_of_patch(&type, STR("application/Merge-Patch+json"), &f->st), 1);
	assert_int_equal(media_of_patch(&type, STR(""), &f->st), 1);
	assert_int_equal(f->st.code, 415);
	assert_str(f->st.message, "415: Unsupported Media Type");
	assert_true(f->st.has_details);
}

static void test_parse_body__json_and_yaml(void **state)
{
	struct fixture *f = *state;
	struct json *j;

	assert_int_equal(media_parse_body(&j, MEDIA_JSON, STR("{\"a\": 1.0}"), &f->arena, &f->st), 0);
	assert_str(json_text(json_gets(j, "a")), "1.0");
	assert_int_equal(media_parse_body(&j, MEDIA_YAML, STR("a: 010\n"), &f->arena, &f->st), 0);
	assert_str(json_text(json_gets(j, "a")), "8");
	assert_int_equal(media_parse_body(&j, MEDIA_YAML, STR("{\"a\": 1.0}"), &f->arena, &f->st), 0);
	assert_str(json_text(json_gets(j, "a")), "1.0");
}

static void test_parse_body__says_what_is_wrong(void **state)
{
	struct fixture *f = *state;
	struct json *j;

	assert_int_equal(media_parse_body(&j, MEDIA_JSON, STR("{\"a\":"), &f->arena, &f->st), 1);
	assert_int_equal(f->st.code, 400);
	assert_str(f->st.message, "unexpected end of JSON input");
	assert_int_equal(media_parse_body(&j, MEDIA_YAML, STR("a: [\n"), &f->arena, &f->st), 1);
	assert_str(f->st.message, "yaml: line 1: did not find expected node content");
}

static void test_repeated_keys__are_found_in_yaml_only(void **state)
{
	struct fixture *f = *state;

	assert_str(media_repeated_keys(MEDIA_YAML, STR("a: 1\na: 2\n"), &f->arena),
		"yaml: unmarshal errors:\n  line 2: key \"a\" already set in map");
	assert_str(media_repeated_keys(MEDIA_YAML, STR("a: 1\n"), &f->arena), "");
	assert_str(media_repeated_keys(MEDIA_YAML, STR("{\"a\":[{\"b\":1,\"b\":2}]}"), &f->arena),
		"yaml: unmarshal errors:\n  line 1: key \"b\" already set in map");
	assert_str(media_repeated_keys(MEDIA_JSON, STR("{\"a\":1,\"a\":2}"), &f->arena), "");
}

#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_negotiate__chooses_as_kube),
		WITH_FIXTURE(test_negotiate__refuses_as_kube),
		WITH_FIXTURE(test_negotiate__watch_takes_partial_list_for_objects),
		WITH_FIXTURE(test_negotiate__many_clauses_cost_little),
		WITH_FIXTURE(test_negotiate__pretty_by_parameter_and_user_agent),
		WITH_FIXTURE(test_negotiate__gzip_wants_the_bare_word),
		WITH_FIXTURE(test_negotiate__any_clause_gets_aggregated_discovery),
		WITH_FIXTURE(test_status_form__is_never_a_table),
		TEST(test_write__json_compact_indented_and_yaml),
		TEST(test_media_writer__large_texts_are_written_in_slices),
		WITH_FIXTURE(test_body_format__by_content_type),
		WITH_FIXTURE(test_body_format__protobuf_takes_numbers),
		WITH_FIXTURE(test_patch_format__exact_type_from_a_list),
		WITH_FIXTURE(test_parse_body__json_and_yaml),
		WITH_FIXTURE(test_parse_body__says_what_is_wrong),
		WITH_FIXTURE(test_repeated_keys__are_found_in_yaml_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
