#include "tests/unit/kind_world.h"

#define EVENT "/v1/events"
#define NEW_IN(ns, involved, more)                                               \
	"{\"metadata\":{\"namespace\":\"" ns "\"},\"involvedObject\":{" involved \
	"},\"eventTime\":\"2020-01-01T00:00:00.000001Z\","                       \
	"\"reportingComponent\":\"x.io/c\",\"reportingInstance\":\"c-1\",\"action\":\"Do\",\"reason\":\"Why\"" more "}"
#define NEW(more) NEW_IN("x", "\"namespace\":\"x\"", more)
#define NOT_OF_NAMESPACE "does not match event.namespace"

static void test_event__is_where_its_object_is(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"metadata\":{\"namespace\":\"x\"},\"involvedObject\":{\"namespace\":\"x\"}}", NULL, NULL},
		{"{\"metadata\":{\"namespace\":\"x\"},\"involvedObject\":{\"namespace\":\"y\"}}", "involvedObject.namespace",
			NOT_OF_NAMESPACE},
		{"{\"metadata\":{\"namespace\":\"x\"}}", "involvedObject.namespace", NOT_OF_NAMESPACE},
		{"{\"metadata\":{\"namespace\":\"default\"}}", NULL, NULL},
		{"{\"metadata\":{\"namespace\":\"kube-system\"}}", "involvedObject.namespace", NOT_OF_NAMESPACE},
		{NEW_IN("y", "\"namespace\":\"x\"", ""), NULL, NULL},
		{NEW_IN("x", "", ""), "involvedObject.namespace", NOT_OF_NAMESPACE},
		{NEW_IN("kube-system", "", ""), NULL, NULL},
	};
	assert_rows(*state, EVENT, rows, ARRAY_SIZE(rows));
}

static void test_event__of_the_new_form_is_complete(void **state)
{
	static const struct invalid_row rows[] = {
		{NEW(""), NULL, NULL},
		{NEW(",\"reportingInstance\":\"\""), "reportingInstance", ""},
		{NEW(",\"action\":\"\""), "action", ""},
		{NEW(",\"reason\":\"\""), "reason", ""},
		{NEW(",\"reportingComponent\":\"a/b/c\""), "reportingComponent",
			"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
			"with an "
			"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
			"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
			"'example.com/MyName')"},
	};
	assert_rows(*state, EVENT, rows, ARRAY_SIZE(rows));
}

static void test_event__texts_have_limits(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *field;
		size_t limit;
	} rows[] = {{"reportingInstance", 128}, {"action", 128}, {"reason", 128}, {"message", 1024}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t more = 0; more <= 1; more++) {
			struct object *o = world_decode(w, EVENT, NEW(""));
			char *text = arena_text(&w->a, rows[i].limit + more);
			memset(text, 'x', rows[i].limit + more);
			json_set(&w->a, o->fields, str_of(rows[i].field),
				json_string(&w->a, (struct str){text, rows[i].limit + more}));
			struct field_errors e = errors_of(w, o, NULL);
			assert_int_equal(e.n, more);
		}
	}
}

static void test_event__columns(void **state)
{
	struct api_world *w = *state;
	struct object *old = world_decode(w, EVENT,
		"{\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"web\"},\"firstTimestamp\":\"2019-12-31T23:00:00Z\","
		"\"lastTimestamp\":\"2019-12-31T23:59:00Z\",\"source\":{\"component\":\"kubelet\",\"host\":\"n\"},\"message\":"
		"\" m\\n\"}");
	assert_cell(old, "Last Seen", "\"60s\"");
	assert_cell(old, "First Seen", "\"60m\"");
	assert_cell(old, "Object", "\"pod/web\"");
	assert_cell(old, "Source", "\"kubelet, n\"");
	assert_cell(old, "Message", "\"m\"");
	assert_cell(old, "Count", "1");

	struct object *fresh =
		world_decode(w, EVENT, NEW(",\"series\":{\"count\":3,\"lastObservedTime\":\"2019-12-31T23:59:30.000000Z\"}"));
	assert_cell(fresh, "Last Seen", "\"30s\"");
	assert_cell(fresh, "First Seen", "\"0s\"");
	assert_cell(fresh, "Source", "\"x.io/c, c-1\"");
	assert_cell(fresh, "Count", "3");
	assert_cell(world_decode(w, EVENT, "{\"involvedObject\":{\"kind\":\"Node\"}}"), "Object", "\"node\"");
	assert_cell(world_decode(w, EVENT, "{}"), "Last Seen", "\"\\u003cunknown\\u003e\"");
}

static void test_event__selectable_fields(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, EVENT,
		"{\"involvedObject\":{\"kind\":\"Pod\",\"uid\":\"u\"},\"reason\":\"R\",\"type\":\"Normal\","
		"\"reportingComponent\":\"c\"}");
	assert_selects(w, o, "involvedObject.kind", "Pod");
	assert_selects(w, o, "involvedObject.uid", "u");
	assert_selects(w, o, "involvedObject.name", "");
	assert_selects(w, o, "reason", "R");
	assert_selects(w, o, "type", "Normal");
	assert_selects(w, o, "source", "c");
	assert_selects(
		w, world_decode(w, EVENT, "{\"source\":{\"component\":\"s\"},\"reportingComponent\":\"c\"}"), "source", "s");
}

#define FORM "events.k8s.io/v1/events"
#define SENT(more)                                                                                                             \
	"{\"metadata\":{\"name\":\"e\",\"namespace\":\"x\"},\"eventTime\":\"2020-01-01T00:00:00.000001Z\","                    \
	"\"reportingController\":"                                                                                             \
	"\"x.io/"                                                                                                              \
	"c\",\"reportingInstance\":\"c-1\",\"action\":\"Do\",\"reason\":\"Why\",\"regarding\":{\"namespace\":\"x\"},\"note\":" \
	"\"n\","                                                                                                               \
	"\"type\":\"Normal\"" more "}"

static void test_form__is_another_spelling_of_the_same(void **state)
{
	struct api_world *w = *state;
	static const char *const objects[] = {
		SENT(""),
		SENT(",\"series\":{\"count\":2,\"lastObservedTime\":\"2020-01-01T00:00:00.000002Z\"},\"related\":{}"),
		("{\"metadata\":{\"name\":\"e\"},\"eventTime\":null,\"regarding\":{},\"deprecatedSource\":{\"host\":\"h\"},"
		 "\"deprecatedFirstTimestamp\":\"2020-01-01T00:00:00Z\",\"deprecatedLastTimestamp\":null,\"deprecatedCount\":"
		 "3}"),
	};
	const struct version *form;
	world_version(FORM, &form);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		struct object *o = world_decode(w, FORM, objects[i]);
		const char *shown = world_print(w, object_to_json(o, form, &w->a));
		struct object *again = world_decode(w, FORM, shown);
		assert_true(object_equal(o, again));
		assert_string_equal(world_print(w, object_to_json(again, form, &w->a)), shown);
	}
}

static void test_form__demands_more(void **state)
{
	static const struct invalid_row rows[] = {
		{SENT(""), NULL, NULL},
		{SENT(",\"type\":\"Odd\""), "type", "has invalid value: Odd"},
		{SENT(",\"deprecatedCount\":1"), "count", "needs to be unset"},
		{SENT(",\"deprecatedSource\":{\"host\":\"h\"}"), "source", "needs to be unset"},
		{SENT(",\"deprecatedFirstTimestamp\":\"2020-01-01T00:00:00Z\""), "firstTimestamp", "needs to be unset"},
		{SENT(",\"series\":{\"count\":1,\"lastObservedTime\":\"2020-01-01T00:00:00.000002Z\"}"), "series.count",
			"should be at least 2"},
		{SENT(",\"series\":{\"count\":2}"), "series.lastObservedTime", ""},
		{SENT(",\"reportingInstance\":\"\""), "reportingInstance", ""},
	};
	assert_rows(*state, FORM, rows, ARRAY_SIZE(rows));
}

static void test_form__changes_nothing_but_the_series(void **state)
{
	static const struct invalid_row rows[] = {
		{SENT(""), NULL, NULL},
		{SENT(",\"series\":{\"count\":2,\"lastObservedTime\":\"2020-01-01T00:00:00.000002Z\"}"), NULL, NULL},
		{SENT(",\"note\":\"other\""), "message", "field is immutable"},
		{SENT(",\"type\":\"Warning\""), "type", "field is immutable"},
		{SENT(",\"action\":\"other\""), "action", "field is immutable"},
		{SENT(",\"reportingController\":\"other\""), "reportingController", "field is immutable"},
		{SENT(",\"related\":{\"name\":\"x\"}"), "related", "field is immutable"},
		{SENT(",\"eventTime\":\"2020-01-01T00:00:00.000009Z\""), "eventTime", "field is immutable"},
	};
	assert_update_rows(*state, FORM, SENT(""), rows, ARRAY_SIZE(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_event__is_where_its_object_is),
		API_TEST(test_event__of_the_new_form_is_complete),
		API_TEST(test_event__texts_have_limits),
		API_TEST(test_event__columns),
		API_TEST(test_event__selectable_fields),
		API_TEST(test_form__is_another_spelling_of_the_same),
		API_TEST(test_form__demands_more),
		API_TEST(test_form__changes_nothing_but_the_series),
	};
	return cmocka_run_group_tests_name("kinds_event", tests, NULL, NULL);
}
