/* Recorder and History: their rules, and what is shown of them. */
#include "tests/unit/kind_world.h"

#define RECORDER "annals.dev/v1/recorders"
#define HISTORY "annals.dev/v1/histories"
#define RULES "\"resources\":[{\"groups\":[\"apps\"],\"resources\":[\"deployments\"]}]"
#define WITH(more) "{\"spec\":{" RULES "," more "}}"
#define RULE(groups, resources) "{\"spec\":{\"resources\":[{\"groups\":[" groups "],\"resources\":[" resources "]}]}}"
#define RULE_AT(list) "spec.resources[0]." list

static void test_recorder__names_resources(void **state)
{
	static const char *const events = "events are not recorded";
	static const char *const own = "annals does not record its own objects";
	static const char *const leases = "leases are not recorded: they change every few seconds";
	const struct invalid_row rows[] = {
		{RULE("\"apps\"", "\"deployments\""), NULL, NULL},
		{RULE("\"\",\"apps\"", "\"*\",\"configmaps\""), NULL, NULL},
		{RULE("\"*\"", "\"*\""), NULL, NULL},
		{RULE("\"coordination.k8s.io\"", "\"*\""), NULL, NULL},
		{RULE("\"example.com\"", "\"events\""), NULL, NULL},
		{"{}", "spec.resources", ""},
		{RULE("", "\"deployments\""), RULE_AT("groups"), ""},
		{RULE("\"apps\"", ""), RULE_AT("resources"), ""},
		{RULE("\"apps\"", "\"deployments/scale\""), RULE_AT("resources[0]"), "subresources are not recorded"},
		{RULE("\"apps\",\"annals.dev\"", "\"*\""), RULE_AT("groups[1]"), own},
		{RULE("\"annals.dev\"", "\"histories\""), RULE_AT("groups[0]"), own},
		{RULE("\"apps\",\"\"", "\"deployments\",\"events\""), RULE_AT("resources[1]"), events},
		{RULE("\"events.k8s.io\"", "\"events\""), RULE_AT("resources[0]"), events},
		{RULE("\"*\"", "\"events\""), RULE_AT("resources[0]"), events},
		{RULE("\"*\"", "\"leases\""), RULE_AT("resources[0]"), leases},
		{RULE("\"apps\"", "\"controllerrevisions\""), RULE_AT("resources[0]"),
			"revisions are not recorded: they are recorded states themselves"},
		{RULE("\"coordination.k8s.io\"", "\"leases\""), RULE_AT("resources[0]"), leases},
	};
	assert_rows(*state, RECORDER, rows, ARRAY_SIZE(rows));
}

/* A list of n times that text. */
static const char *many(struct api_world *w, const char *text, size_t n)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&b, "%s%s", i > 0 ? "," : "", text);
	}
	const char *all = arena_dup(&w->a, buf_str(&b)).p;
	buf_done(&b);
	return all;
}

static void test_recorder__lists_are_bounded(void **state)
{
	static const struct {
		const char *before, *item, *after, *field;
		size_t max;
	} rows[] = {
		{"{\"spec\":{\"resources\":[", "{\"groups\":[\"a\"],\"resources\":[\"b\"]}", "]}}", "spec.resources", 64},
		{"{\"spec\":{\"resources\":[{\"groups\":[\"a\",\"b\"],\"resources\":[", "\"b\"", "]}]}}", "spec.resources", 64},
		{"{\"spec\":{" RULES ",\"ignore\":[", "\"/spec\"", "]}}", "spec.ignore", 64},
		{"{\"spec\":{" RULES ",\"redact\":[", "\"/spec\"", "]}}", "spec.redact", 64},
		{"{\"spec\":{" RULES ",\"objectSelector\":{\"matchExpressions\":[", "{\"key\":\"a\",\"operator\":\"Exists\"}",
			"]}}}", "spec.objectSelector", 64},
		{"{\"spec\":{" RULES
		 ",\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[",
			"\"b\"", "]}]}}}", "spec.namespaceSelector.matchExpressions[0].values", 64},
	};
	struct api_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t n = rows[i].max; n <= rows[i].max + 1; n++) {
			struct str text =
				arena_printf(&w->a, "%s%s%s", rows[i].before, many(w, rows[i].item, n), rows[i].after);
			struct field_errors e = errors_of(w, world_decode(w, RECORDER, text.p), NULL);
			assert_int_equal(e.n, n > rows[i].max ? 1 : 0);
			if (e.n > 0) {
				assert_str(e.v[0].path, rows[i].field);
			}
		}
	}
}

static void test_recorder__pointers_name_parts(void **state)
{
	static const char *const shape =
		"must be a JSON pointer: it begins with /, and ~ is written ~0, and / within a name ~1";
	static const char *const identity = "cannot be hidden: apiVersion, kind, name and namespace are always kept";
	const struct invalid_row rows[] = {
		{WITH("\"ignore\":[\"/spec/replicas\",\"/webhooks/*/clientConfig/caBundle\",\"/a~1b/~0\"]"), NULL, NULL},
		{WITH("\"redact\":[\"/data/*\",\"/metadata/annotations/*\",\"/metadata\",\"/*/x\",\"/*\"]"), NULL, NULL},
		{WITH("\"ignore\":[\"\"]"), "spec.ignore[0]", shape},
		{WITH("\"ignore\":[\"/a\",\"spec\"]"), "spec.ignore[1]", shape},
		{WITH("\"ignore\":[\"/a~2\"]"), "spec.ignore[0]", shape},
		{WITH("\"ignore\":[\"/a~\"]"), "spec.ignore[0]", shape},
		{WITH("\"ignore\":[\"/kind\"]"), "spec.ignore[0]", identity},
		{WITH("\"redact\":[\"/apiVersion\"]"), "spec.redact[0]", identity},
		{WITH("\"redact\":[\"/metadata/namespace\"]"), "spec.redact[0]", identity},
	};
	assert_rows(*state, RECORDER, rows, ARRAY_SIZE(rows));
}

static void test_recorder__pointers_have_512_bytes(void **state)
{
	struct api_world *w = *state;

	for (size_t n = 512; n <= 513; n++) {
		char pointer[600] = "/", text[1024];
		memset(pointer + 1, 'a', n - 1);
		pointer[n] = '\0';
		snprintf(text, sizeof(text), WITH("\"redact\":[\"%s\"]"), pointer);
		struct field_errors e = errors_of(w, world_decode(w, RECORDER, text), NULL);
		assert_int_equal(e.n, n > 512 ? 1 : 0);
	}
}

static void test_recorder__limits(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH("\"historyLimit\":0"), NULL, NULL},
		{WITH("\"historyLimit\":1000"), NULL, NULL},
		{WITH("\"historyLimit\":-1"), "spec.historyLimit", "must be between 0 and 1000"},
		{WITH("\"historyLimit\":1001"), "spec.historyLimit", "must be between 0 and 1000"},
		{WITH("\"maxObjectBytes\":1024"), NULL, NULL},
		{WITH("\"maxObjectBytes\":1048576"), NULL, NULL},
		{WITH("\"maxObjectBytes\":1023"), "spec.maxObjectBytes", "must be between 1024 and 1048576"},
		{WITH("\"maxObjectBytes\":1048577"), "spec.maxObjectBytes", "must be between 1024 and 1048576"},
		{WITH("\"keepDeleted\":\"0\""), NULL, NULL},
		{WITH("\"keepDeleted\":\"1h30m\""), NULL, NULL},
		{WITH("\"keepDeleted\":\"3 days\""), "spec.keepDeleted", "must be a duration such as 720h0m0s or 30m"},
		{WITH("\"keepDeleted\":\"-1h\""), "spec.keepDeleted", "must be greater than or equal to 0"},
		{WITH("\"secretData\":\"Record\""), NULL, NULL},
		{WITH("\"secretData\":\"Show\""), "spec.secretData", "supported values: \"Redact\", \"Record\""},
		{WITH("\"salt\":\"AAAAAAAAAAAAAAAAAAAAAA==\""), NULL, NULL},
		{WITH("\"salt\":\"AAAAAAAAAAAAAAAAAAAA\""), "spec.salt", "must be 16 to 64 bytes"},
	};
	assert_rows(*state, RECORDER, rows, ARRAY_SIZE(rows));
}

static void test_recorder__defaults(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, RECORDER, "{\"spec\":{" RULES "}}");

	world_assert_json(w, object_spec(o),
		"{" RULES
		",\"secretData\":\"Redact\",\"historyLimit\":10,\"maxObjectBytes\":262144,\"keepDeleted\":\"720h0m0s\","
		"\"namespace\":\"default\"}");
}

static struct str salt_of(const struct object *o)
{
	return json_text(json_gets(object_spec(o), "salt"));
}

static void test_recorder__server_makes_salt_once(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, RECORDER, "{\"spec\":{" RULES "}}"), *other = world_decode(w, RECORDER, "{}");
	struct object *later = world_decode(w, RECORDER, WITH("\"historyLimit\":3"));

	o->meta.uid = STR("u1");
	other->meta.uid = STR("u2");
	o->kind->prepare_create(o, &w->a);
	other->kind->prepare_create(other, &w->a);
	assert_int_equal(salt_of(o).n, 24);
	assert_false(str_eq(salt_of(o), salt_of(other)));
	assert_int_equal(errors_of(w, o, NULL).n, 0);
	later->kind->prepare_update(later, o, &w->a);
	assert_true(str_eq(salt_of(later), salt_of(o)));
}

static void test_recorder__salt_and_namespace_are_immutable(void **state)
{
#define SALT "\"salt\":\"AAAAAAAAAAAAAAAAAAAAAA==\""
	static const char *const fixed = "field is immutable";
	const struct invalid_row rows[] = {
		{WITH(SALT), NULL, NULL},
		{WITH(SALT ",\"historyLimit\":7"), NULL, NULL},
		{WITH("\"salt\":\"AAAAAAAAAAAAAAAAAAAAAQ==\""), "spec.salt", fixed},
		{WITH(SALT ",\"namespace\":\"other\""), "spec.namespace", fixed},
		{WITH(SALT ",\"historyLimit\":-7"), "spec.historyLimit", "must be between 0 and 1000"},
	};
	assert_update_rows(*state, RECORDER, WITH(SALT), rows, ARRAY_SIZE(rows));
}

static void test_recorder__columns(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, RECORDER,
		"{\"spec\":{\"resources\":[{\"groups\":[\"apps\"],\"resources\":[\"deployments\"]},{\"groups\":[\"\"],"
		"\"resources\":[\"configmaps\",\"*\"]}]},\"status\":{\"resources\":[{\"group\":\"apps\",\"resource\":"
		"\"deployments\",\"objects\":3,\"revisions\":5,\"refused\":1},{\"resource\":\"configmaps\",\"objects\":4}],"
		"\"conditions\":[{\"type\":\"Recording\",\"status\":\"True\"}]}}");

	assert_cell(o, "Resources", "\"deployments.apps,configmaps,*\"");
	/* As wide as a terminal bears: a Recorder may name dozens. */
	assert_cell(world_decode(w, RECORDER,
			    "{\"spec\":{\"resources\":[{\"groups\":[\"\"],\"resources\":[\"configmaps\",\"secrets\"]},"
			    "{\"groups\":[\"apps\",\"batch\"],\"resources\":[\"a\",\"b\",\"c\"]}]}}"),
		"Resources", "\"configmaps,secrets,a.apps + 5 more...\"");
	assert_cell(world_decode(w, RECORDER,
			    "{\"spec\":{\"resources\":[{\"groups\":[\"a-group-with-a-long-name.example.com\"],"
			    "\"resources\":[\"things-with-a-long-name\",\"more\"]}]}}"),
		"Resources", "\"things-with-a-long-name.a-group-with-a-long-name.example.com + 1 more...\"");
	assert_cell(o, "Recording", "\"True\"");
	assert_cell(o, "Objects", "7");
	assert_cell(o, "Revisions", "5");
	assert_cell(o, "Refused", "1");
	assert_cell(world_decode(w, RECORDER, "{}"), "Recording", "\"Unknown\"");
}

static void test_recorder__status_is_bounded(void **state)
{
	struct api_world *w = *state;
	const struct subresource *status = kind_subresource(world_version(RECORDER, NULL), NULL, STR("status"));

	for (size_t n = 1024; n <= 1025; n++) {
		struct str text = arena_printf(&w->a, "{\"status\":{\"resources\":[%s]}}", many(w, "{\"resource\":\"a\"}", n));
		struct field_errors e = errors_of(w, world_decode(w, RECORDER, text.p), status->validate_update);
		assert_int_equal(e.n, n > 1024 ? 1 : 0);
	}
	for (size_t n = 1024; n <= 1025; n++) {
		char error[1100] = "";
		memset(error, 'e', n);
		struct str text = arena_printf(&w->a, "{\"status\":{\"resources\":[{\"lastError\":\"%s\"}]}}", error);
		struct field_errors e = errors_of(w, world_decode(w, RECORDER, text.p), status->validate_update);
		assert_int_equal(e.n, n > 1024 ? 1 : 0);
	}
}

/* ---- History ---- */

#define OF(subject) "{\"metadata\":{\"namespace\":\"shop\"},\"spec\":{\"subject\":{" subject "}}}"
#define WEB "\"group\":\"apps\",\"kind\":\"Deployment\",\"namespace\":\"shop\",\"name\":\"web\""

static void test_history__names_its_subject(void **state)
{
	static const char *const no_kind =
		"must be a kind: at most 63 letters and digits, of which the first is a capital letter";
	const struct invalid_row rows[] = {
		{OF(WEB), NULL, NULL},
		{OF("\"kind\":\"ClusterRole\",\"name\":\"system:controller:x\""), NULL, NULL},
		{OF("\"kind\":\"Pod\""), "spec.subject.name", ""},
		{OF("\"name\":\"web\""), "spec.subject.kind", ""},
		{OF("\"kind\":\"pods\",\"name\":\"web\""), "spec.subject.kind", no_kind},
		{OF("\"kind\":\"Po-d\",\"name\":\"web\""), "spec.subject.kind", no_kind},
		{OF("\"kind\":\"Pod\",\"name\":\"a/b\""), "spec.subject.name", "may not contain '/'"},
		{OF("\"kind\":\"Pod\",\"namespace\":\"else\",\"name\":\"a\""), "spec.subject.namespace",
			"must be metadata.namespace, or empty"},
	};
	assert_rows(*state, HISTORY, rows, ARRAY_SIZE(rows));
}

static void test_history__spec_is_immutable(void **state)
{
	static const struct invalid_row rows[] = {
		{OF(WEB), NULL, NULL},
		{OF("\"kind\":\"Pod\",\"name\":\"web\""), "spec", "field is immutable"},
	};
	assert_update_rows(*state, HISTORY, OF(WEB), rows, ARRAY_SIZE(rows));
}

static void test_history__clients_do_not_write_status(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, HISTORY, "{\"status\":{\"digest\":\"x\",\"totalChanges\":3}}");
	struct object *old = world_decode(w, HISTORY, "{\"status\":{\"digest\":\"y\"}}");

	o->kind->prepare_update(o, old, &w->a);
	assert_str(json_text(json_gets(object_status(o), "digest")), "y");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_status(o), "{\"revisions\":0,\"totalChanges\":0}");
	assert_int_equal(kind_subresource(o->kind, NULL, STR("status"))->verbs, VERB_GET);
}

static void test_history__columns(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, HISTORY,
		"{\"spec\":{\"subject\":{" WEB "}},\"status\":{\"revisions\":4,\"deletionTime\":\"2019-12-31T23:59:50Z\","
		"\"changes\":[{\"user\":\"eve\"},{\"managers\":[\"helm\",\"kubectl\"],\"time\":\"2019-12-31T23:58:00Z\"}]}}");

	assert_cell(o, "Subject", "\"deployment.apps/web\"");
	assert_cell(o, "Revisions", "4");
	assert_cell(o, "Changed", "\"2m\"");
	assert_cell(o, "By", "\"helm (manager)\"");
	assert_cell(o, "Deleted", "\"10s\"");
	assert_selects(w, o, "spec.subject.group", "apps");
	assert_selects(w, o, "spec.subject.kind", "Deployment");
	assert_selects(w, o, "spec.subject.namespace", "shop");
	assert_selects(w, o, "spec.subject.name", "web");
	assert_selects(w, o, "status.by", "");
	assert_selects(w, o, "status.deleted", "true");
	assert_selects(w, o, "status.changedMinute", "2019-12-31T23:58");
	assert_selects(w, o, "status.changedHour", "2019-12-31T23");
	o = world_decode(w, HISTORY,
		"{\"status\":{\"changes\":[{\"time\":\"2026-01-02T01:04:05.000007+02:00\"},{\"time\":\"2026-01-01T22:59:00Z\"},{}]}}");
	assert_selects(w, o, "status.changedMinute", "2026-01-01T23:04");
	assert_selects(w, o, "status.changedHour", "2026-01-01T23");
	o = world_decode(w, HISTORY,
		"{\"spec\":{\"subject\":{\"kind\":\"Pod\",\"name\":\"x\"}},\"status\":{\"changes\":[{\"managers\":[\"helm\"],"
		"\"user\":\"eve\"}]}}");
	assert_cell(o, "Subject", "\"pod/x\"");
	assert_cell(o, "By", "\"eve\"");
	assert_selects(w, o, "status.by", "eve");
	o = world_decode(w, HISTORY, "{}");
	assert_cell(o, "Changed", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "By", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "Deleted", "\"\\u003cnone\\u003e\"");
	assert_selects(w, o, "status.by", "");
	assert_selects(w, o, "status.deleted", "false");
	assert_selects(w, o, "status.changedMinute", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_recorder__names_resources),
		API_TEST(test_recorder__lists_are_bounded),
		API_TEST(test_recorder__pointers_name_parts),
		API_TEST(test_recorder__pointers_have_512_bytes),
		API_TEST(test_recorder__limits),
		API_TEST(test_recorder__defaults),
		API_TEST(test_recorder__server_makes_salt_once),
		API_TEST(test_recorder__salt_and_namespace_are_immutable),
		API_TEST(test_recorder__columns),
		API_TEST(test_recorder__status_is_bounded),
		API_TEST(test_history__names_its_subject),
		API_TEST(test_history__spec_is_immutable),
		API_TEST(test_history__clients_do_not_write_status),
		API_TEST(test_history__columns),
	};
	return cmocka_run_group_tests_name("kinds_record", tests, NULL, NULL);
}
