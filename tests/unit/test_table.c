#include "server/request/table.h"
#include "tests/unit/check.h"

struct fixture {
	struct arena arena;
	struct buf out;
	struct status st;
	const struct kind *kind;
	const struct version *version;
	struct cached *object;
};

static const char stored[] =
	"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"web-1\","
	"\"namespace\":\"default\",\"uid\":\"u\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
	"\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"v\",\"controller\":true}]},"
	"\"data\":{\"x\":1},\"revision\":3}";

#define METADATA                                                                                                     \
	"{\"name\":\"web-1\",\"namespace\":\"default\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"ownerReferences\":" \
	"[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"v\",\"controller\":true}]}"

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	arena_init(&f->arena, 1 << 20);
	buf_init(&f->out, 1 << 20);
	status_init(&f->st, &f->arena);
	f->kind = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, &f->version);
	f->object = cached_new(f->kind, STR("default/web-1"), str_of(stored), 7, 7);
	*state = f;
	return f->object ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cached_unref(f->object);
	buf_done(&f->out);
	arena_done(&f->arena);
	mem_free(f);
	return 0;
}

static const struct media plain = {.format = MEDIA_JSON};
static const struct media v1beta1 = {.format = MEDIA_JSON, .is_v1beta1 = true};

static struct json *make_table(struct fixture *f, const struct media *m, enum include_object include, bool with_columns)
{
	struct json *table;
	size_t at;

	assert_true(table_begin(&f->out, f->kind, f->version, m, STR("{\"resourceVersion\":\"9\"}"), with_columns));
	assert_true(table_row(&f->out, f->kind, f->version, m, include, f->object, true, NULL, &f->arena));
	assert_true(table_row(&f->out, f->kind, f->version, m, include, f->object, false, NULL, &f->arena));
	assert_true(table_end(&f->out));
	assert_int_equal(json_parse(&table, &f->arena, arena_dup(&f->arena, buf_str(&f->out)), JSON_LIMITS_DEFAULT, &at), 0);
	return table;
}

static void test_table__has_columns_and_rows(void **state)
{
	struct fixture *f = *state;
	struct json *table = make_table(f, &plain, INCLUDE_METADATA, true);
	struct json *columns = json_gets(table, "columnDefinitions"), *row;

	assert_str(json_text(json_gets(table, "kind")), "Table");
	assert_str(json_text(json_gets(table, "apiVersion")), "meta.k8s.io/v1");
	assert_str(json_gets(table, "metadata")->source, "{\"resourceVersion\":\"9\"}");
	assert_int_equal(columns->n, 4);
	assert_str(json_text(json_gets(columns->items[1], "name")), "Controller");
	assert_str(json_text(json_gets(columns->items[0], "format")), "name");
	assert_int_equal(json_gets(table, "rows")->n, 2);
	row = json_gets(table, "rows")->items[1];
	assert_str(json_gets(row, "cells")->source, "[\"web-1\",\"statefulset.apps/web\",3,\"\\u003cunknown\\u003e\"]");
	assert_str(json_gets(row, "object")->source,
		"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":" METADATA "}");
}

static void test_table__own_columns_only_at_own_versions(void **state)
{
	struct fixture *f = *state;

	kind_by_resource(STR("annals.dev"), STR("v1"), STR("controllerrevisions"), true, &f->version);
	struct json *table = make_table(f, &plain, INCLUDE_NONE, true);
	assert_true(json_gets(table, "columnDefinitions")->n > 4);
	assert_int_equal(json_gets(table, "columnDefinitions")->n, json_gets(json_gets(table, "rows")->items[0], "cells")->n);
}

static void test_table__later_events_have_no_columns(void **state)
{
	struct fixture *f = *state;
	struct json *table = make_table(f, &plain, INCLUDE_METADATA, false);

	assert_true(json_is(json_gets(table, "columnDefinitions"), JSON_NULL));
}

static void test_table__includes_what_is_asked(void **state)
{
	struct fixture *f = *state;
	struct json *row = json_gets(make_table(f, &v1beta1, INCLUDE_NONE, true), "rows")->items[0];

	assert_true(json_is(json_gets(row, "object"), JSON_NULL));
	buf_clear(&f->out);
	row = json_gets(make_table(f, &v1beta1, INCLUDE_OBJECT, true), "rows")->items[0];
	assert_str(json_gets(row, "object")->source,
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\",\"metadata\":" METADATA
		",\"data\":{\"x\":1},\"revision\":3}");
}

static void test_table__row_of_a_bookmark(void **state)
{
	struct fixture *f = *state;
	struct json *in = json_object(&f->arena);
	struct object *o;
	struct str error;

	assert_int_equal(object_decode(&o, f->kind, f->version, in, NULL, &f->arena, NULL, &error), 0);
	assert_true(table_row_of(&f->out, f->kind, f->version, o, STR("null"), true));
	assert_str(buf_str(&f->out), "{\"cells\":[\"\",\"\\u003cnone\\u003e\",0,\"\\u003cunknown\\u003e\"],\"object\":null}");
}

static void test_partial_object__is_cut_from_the_text(void **state)
{
	struct fixture *f = *state;

	assert_true(partial_object(&f->out, &v1beta1, f->object, f->version));
	assert_str(buf_str(&f->out),
		"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":" METADATA "}");
}

static void test_partial_object__has_what_its_version_adds(void **state)
{
	struct fixture *f = *state;
	struct json *shown, *metadata, *annotations;
	size_t at;

	assert_true(partial_object(&f->out, &plain, f->object, &f->kind->versions[0]));
	assert_int_equal(json_parse(&shown, &f->arena, buf_str(&f->out), JSON_LIMITS_DEFAULT, &at), 0);
	metadata = json_copy(&f->arena, json_gets(shown, "metadata"));
	annotations = json_gets(metadata, "annotations");
	assert_int_equal(json_text(json_gets(annotations, "annals.dev/digest")).n, 54);
	assert_int_equal(annotations->n, 1);
	json_remove(metadata, STR("annotations"));
	buf_clear(&f->out);
	json_encode(&f->out, metadata);
	assert_str(buf_str(&f->out), METADATA);
}

static void test_include_object__four_spellings(void **state)
{
	struct fixture *f = *state;
	enum include_object include;

	assert_int_equal(include_object_parse(&include, STR(""), &f->st), 0);
	assert_int_equal(include, INCLUDE_METADATA);
	assert_int_equal(include_object_parse(&include, STR("Metadata"), &f->st), 0);
	assert_int_equal(include, INCLUDE_METADATA);
	assert_int_equal(include_object_parse(&include, STR("None"), &f->st), 0);
	assert_int_equal(include, INCLUDE_NONE);
	assert_int_equal(include_object_parse(&include, STR("Object"), &f->st), 0);
	assert_int_equal(include, INCLUDE_OBJECT);
	assert_int_equal(include_object_parse(&include, STR("object"), &f->st), 1);
	assert_int_equal(f->st.code, 400);
	assert_str(f->st.message,
		"Unable to convert to Table as requested: includeObject: Invalid value: \"object\": must be "
		"'Metadata', 'Object', 'None', or empty");
}

#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_table__has_columns_and_rows),
		WITH_FIXTURE(test_table__own_columns_only_at_own_versions),
		WITH_FIXTURE(test_table__later_events_have_no_columns),
		WITH_FIXTURE(test_table__includes_what_is_asked),
		WITH_FIXTURE(test_table__row_of_a_bookmark),
		WITH_FIXTURE(test_partial_object__is_cut_from_the_text),
		WITH_FIXTURE(test_partial_object__has_what_its_version_adds),
		WITH_FIXTURE(test_include_object__four_spellings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
