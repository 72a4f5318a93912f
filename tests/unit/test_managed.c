#include "api/patch/managed.h"

#include "tests/unit/api_world.h"

#define NOW "2026-01-01T00:00:00Z"
#define LATER "2026-01-01T00:00:05Z"

/* One object through a series of writes, as the server makes them. */
struct history {
	struct api_world *w;
	const char *path; /* of the version */
	struct object *o; /* as it is now; NULL: not created */
	const char *now;
};

static struct history begin(struct api_world *w, const char *path)
{
	return (struct history){.w = w, .path = path, .now = NOW};
}

static void update_through(struct history *h, const char *path, const char *subresource, const char *manager, const char *text)
{
	const struct version *v;
	world_version(path, &v);
	struct object *o = world_decode(h->w, path, text);
	managed_update(o, h->o, v, str_of(subresource), str_of(manager), str_of(h->now), &h->w->a);
	o->meta.uid = STR("u");
	h->o = o;
}

static void update(struct history *h, const char *manager, const char *text)
{
	update_through(h, h->path, "", manager, text);
}

/* The status code; 200 changes the object. */
static int apply_through(
	struct history *h, const char *path, const char *subresource, const char *manager, bool force, const char *text)
{
	const struct version *v;
	const struct kind *k = world_version(path, &v);
	struct object *o;
	const struct managed_apply by = {.kind = k,
		.version = v,
		.subresource = str_of(subresource),
		.manager = str_of(manager),
		.now = str_of(h->now),
		.force = force};
	if (managed_apply(&o, h->o, world_parse(h->w, text), &by, &h->w->a, &h->w->st)) {
		return h->w->st.code;
	}
	o->meta.uid = STR("u");
	h->o = o;
	return 200;
}

static int apply(struct history *h, const char *manager, const char *text)
{
	return apply_through(h, h->path, "", manager, false, text);
}

/* Entries as "manager operation fieldsV1", one a line. */
static void assert_managers(struct history *h, const char *expected)
{
	struct buf lines;
	buf_init(&lines, 1 << 20);
	const struct json *entries = h->o->meta.managed_fields;
	for (uint32_t i = 0; entries && i < entries->n; i++) {
		const struct json *e = entries->items[i];
		struct str sub = json_text(json_gets(e, "subresource"));
		buf_printf(&lines, STR_FMT "%s" STR_FMT " " STR_FMT " %s\n", STR_ARG(json_text(json_gets(e, "manager"))),
			sub.n ? "/" : "", STR_ARG(sub), STR_ARG(json_text(json_gets(e, "operation"))),
			world_print(h->w, json_gets(e, "fieldsV1")));
	}
	assert_str(buf_str(&lines), expected);
	buf_done(&lines);
}

static struct str entry_text(const struct history *h, uint32_t i, const char *name)
{
	return json_text(json_gets(h->o->meta.managed_fields->items[i], name));
}

#define APPLY(rest) "{\"apiVersion\":\"apps/v1\",\"kind\":\"ControllerRevision\"," rest "}"

static void test_update__creator_owns_what_it_set(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "parity",
		"{\"metadata\":{\"name\":\"a\",\"generateName\":\"a-\",\"labels\":{\"app\":\"web\"},\"finalizers\":[\"x.y/z\"],"
		"\"ownerReferences\":[{\"uid\":\"1\"}]},\"data\":{\"x\":{\"y\":1}},\"revision\":1}");
	assert_managers(&h,
		"parity Update "
		"{\"f:data\":{},\"f:metadata\":{\"f:finalizers\":{\".\":{},\"v:\\\"x.y/z\\\"\":{}},\"f:generateName\":{},"
		"\"f:labels\":{\".\":{},\"f:app\":{}},\"f:ownerReferences\":{\".\":{},\"k:{\\\"uid\\\":\\\"1\\\"}\":{}}},"
		"\"f:revision\":{}}\n");
	assert_string_equal(world_print(h.w, h.o->meta.managed_fields->items[0]),
		arena_printf(&h.w->a,
			"{\"manager\":\"parity\",\"operation\":\"Update\",\"apiVersion\":\"apps/v1\",\"time\":\"" NOW
			"\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":%s}",
			world_print(h.w, json_gets(h.o->meta.managed_fields->items[0], "fieldsV1")))
			.p);
}

static void test_update__zero_is_owned_only_when_it_was_something_else(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "one", "{\"data\":{},\"revision\":0}");
	assert_managers(&h, "one Update {\"f:data\":{}}\n");
	update(&h, "two", "{\"data\":{},\"revision\":3}");
	update(&h, "three", "{\"data\":{},\"revision\":0}");
	assert_managers(&h, "one Update {\"f:data\":{}}\nthree Update {\"f:revision\":{}}\n");
}

static void test_update__who_changes_a_field_takes_it(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "one", "{\"metadata\":{\"labels\":{\"l\":\"1\",\"m\":\"1\"}},\"data\":{\"x\":1},\"revision\":1}");
	update(&h, "two", "{\"metadata\":{\"labels\":{\"l\":\"2\",\"m\":\"1\"}},\"data\":{\"x\":1},\"revision\":1}");
	assert_managers(&h,
		"one Update {\"f:data\":{},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:m\":{}}},\"f:revision\":{}}\n"
		"two Update {\"f:metadata\":{\"f:labels\":{\"f:l\":{}}}}\n");
	update(&h, "three",
		"{\"metadata\":{\"labels\":{\"l\":\"2\"},\"annotations\":{\"x\":\"y\"}},\"data\":{\"x\":1},\"revision\":1}");
	assert_managers(&h,
		"one Update {\"f:data\":{},\"f:metadata\":{\"f:labels\":{}},\"f:revision\":{}}\n"
		"three Update {\"f:metadata\":{\"f:annotations\":{\".\":{},\"f:x\":{}}}}\n"
		"two Update {\"f:metadata\":{\"f:labels\":{\"f:l\":{}}}}\n");
	update(&h, "two", "{\"metadata\":{\"annotations\":{\"x\":\"y\"}},\"data\":{\"x\":1},\"revision\":1}");
	assert_managers(&h,
		"one Update {\"f:data\":{},\"f:revision\":{}}\n"
		"three Update {\"f:metadata\":{\"f:annotations\":{\".\":{},\"f:x\":{}}}}\n");
}

static void test_update__without_change_keeps_entries_and_times(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "one", "{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1}}");
	struct object *before = h.o;
	h.now = LATER;
	update(&h, "two", "{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1.0}}");
	assert_string_equal(world_print(h.w, h.o->meta.managed_fields), world_print(h.w, before->meta.managed_fields));
	update(&h, "one", "{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1},\"revision\":1}");
	assert_str(entry_text(&h, 0, "time"), LATER);
}

/* What only goes is nobody's change: the time stays. */
static void test_update__removal_moves_no_time(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "one", "{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1}}");
	h.now = LATER;
	update(&h, "one", "{\"data\":{\"x\":1}}");
	assert_managers(&h, "one Update {\"f:data\":{}}\n");
	assert_str(entry_text(&h, 0, "time"), NOW);
}

static void test_update__one_entry_for_each_api_version(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "one", "{\"data\":{\"x\":1}}");
	update_through(&h, "annals.dev/v1/controllerrevisions", "", "one", "{\"data\":{\"x\":1},\"revision\":1}");
	assert_int_equal(h.o->meta.managed_fields->n, 2);
	assert_str(entry_text(&h, 0, "apiVersion"), "annals.dev/v1");
	assert_str(entry_text(&h, 1, "apiVersion"), "apps/v1");
}

static void test_update__subresources_have_entries_of_their_own(void **state)
{
	struct history h = begin(*state, NS);
	update(&h, "one",
		"{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"a/b\"]},\"status\":{\"phase\":\"Active\"}}");
	assert_managers(&h,
		"one Update "
		"{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:kubernetes.io/"
		"metadata.name\":{}}},\"f:spec\":{\"f:finalizers\":{}}}\n");
	update_through(
		&h, NS, "status", "one", "{\"metadata\":{\"name\":\"x\"},\"spec\":{},\"status\":{\"phase\":\"Terminating\"}}");
	assert_managers(&h,
		"one Update "
		"{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:kubernetes.io/"
		"metadata.name\":{}}},\"f:spec\":{\"f:finalizers\":{}}}\n"
		"one/status Update {\"f:status\":{\"f:phase\":{}}}\n");
	/* Nor can anybody end the tracking by way of one. */
	update_through(&h, NS, "status", "one",
		"{\"metadata\":{\"name\":\"x\",\"managedFields\":[]},\"spec\":{},\"status\":{\"phase\":\"Active\"}}");
	assert_int_equal(h.o->meta.managed_fields->n, 2);
}

static void test_update__clients_may_edit_entries_that_make_sense(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "one", "{\"data\":{\"x\":1},\"revision\":1}");
	static const char *const ignored[] = {
		"null",
		"[{\"manager\":\"m\",\"operation\":\"Update\",\"apiVersion\":\"apps/"
		"v1\",\"fieldsType\":\"FieldsV2\",\"fieldsV1\":{}}]",
		"[{\"manager\":\"m\",\"operation\":\"Update\",\"apiVersion\":\"apps/"
		"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"bad\":{}}}]",
		"[{\"manager\":\"m\",\"operation\":\"Remove\",\"apiVersion\":\"apps/v1\",\"fieldsType\":\"FieldsV1\"}]",
		"[{\"manager\":\"m\",\"operation\":\"Update\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{}}]",
	};
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++) {
		update(&h, "two",
			arena_printf(
				&h.w->a, "{\"metadata\":{\"managedFields\":%s},\"data\":{\"x\":1},\"revision\":1}", ignored[i])
				.p);
		assert_managers(&h, "one Update {\"f:data\":{},\"f:revision\":{}}\n");
	}
	update(&h, "two",
		"{\"metadata\":{\"managedFields\":[{\"manager\":\"m\",\"operation\":\"Apply\",\"apiVersion\":\"apps/"
		"v1\",\"fieldsType\":"
		"\"FieldsV1\",\"fieldsV1\":{\"f:data\":{}}}]},\"data\":{\"x\":1},\"revision\":1}");
	assert_managers(&h, "m Apply {\"f:data\":{}}\n");
}

static void test_update__no_entries_or_an_empty_one_end_tracking(void **state)
{
	static const char *const cleared[] = {"[]", "[{}]", "[null]"};
	for (size_t i = 0; i < ARRAY_SIZE(cleared); i++) {
		struct history h = begin(*state, CR);
		update(&h, "one", "{\"data\":{\"x\":1}}");
		update(&h, "two",
			arena_printf(&h.w->a, "{\"metadata\":{\"managedFields\":%s},\"data\":{\"x\":1}}", cleared[i]).p);
		assert_null(h.o->meta.managed_fields);
		update(&h, "two", "{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1}}");
		assert_null(h.o->meta.managed_fields);
	}
}

static void test_update__entries_of_versions_that_are_gone_go(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "one",
		"{\"metadata\":{\"managedFields\":[{\"manager\":\"old\",\"operation\":\"Update\",\"apiVersion\":\"apps/"
		"v1beta1\","
		"\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{}}}]},\"data\":{\"x\":1}}");
	assert_managers(&h, "one Update {\"f:data\":{}}\n");
}

static void test_update__more_than_ten_become_ancient(void **state)
{
	struct history h = begin(*state, CR);
	struct buf labels;
	buf_init(&labels, 4096);
	for (int i = 0; i < 12; i++) {
		buf_printf(&labels, "%s\"l%02d\":\"1\"", i ? "," : "", i);
		h.now = arena_printf(&h.w->a, "2026-01-01T00:00:%02dZ", i).p;
		update(&h, arena_printf(&h.w->a, "m%02d", i).p,
			arena_printf(&h.w->a, "{\"metadata\":{\"labels\":{" STR_FMT "}}}", STR_ARG(buf_str(&labels))).p);
		assert_int_equal(h.o->meta.managed_fields->n, MIN(i + 1, 10)); /* and no fewer */
	}
	assert_str(entry_text(&h, 0, "manager"), "ancient-changes");
	assert_str(entry_text(&h, 0, "time"), "2026-01-01T00:00:02Z");
	world_assert_json(h.w, json_gets(h.o->meta.managed_fields->items[0], "fieldsV1"),
		"{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l00\":{},\"f:l01\":{},\"f:l02\":{}}}}");
	assert_str(entry_text(&h, 1, "manager"), "m03");
	buf_done(&labels);
}

static void test_apply__creates_and_changes(void **state)
{
	struct history h = begin(*state, CR);
	assert_int_equal(
		apply(&h, "one",
			APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"1\"}},\"data\":{\"x\":1},\"revision\":1")),
		200);
	assert_managers(&h, "one Apply {\"f:data\":{},\"f:metadata\":{\"f:labels\":{\"f:a\":{}}},\"f:revision\":{}}\n");
	assert_str(entry_text(&h, 0, "time"), NOW);
	h.now = LATER;
	assert_int_equal(
		apply(&h, "one",
			APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"1\"}},\"data\":{\"x\":1},\"revision\":1")),
		200);
	assert_str(entry_text(&h, 0, "time"), NOW);
	assert_int_equal(
		apply(&h, "one",
			APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"2\"}},\"data\":{\"x\":1},\"revision\":1")),
		200);
	assert_str(entry_text(&h, 0, "time"), LATER);
	world_assert_json(h.w, h.o->meta.labels, "{\"a\":\"2\"}");
}

static void test_apply__conflicts_name_managers_and_fields(void **state)
{
	struct history h = begin(*state, CR);
	apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1},\"revision\":1"));
	assert_int_equal(apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\"}}")), 409);
	assert_str(h.w->st.message, "Apply failed with 1 conflict: conflict with \"one\": .metadata.labels.l");
	world_assert_json(h.w, json_gets(status_to_json(&h.w->st, &h.w->a), "details"),
		"{\"causes\":[{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with \\\"one\\\"\",\"field\":"
		"\".metadata.labels.l\"}]}");
	assert_int_equal(apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\"}},\"revision\":5")), 409);
	assert_str(
		h.w->st.message, "Apply failed with 2 conflicts: conflicts with \"one\":\n- .revision\n- .metadata.labels.l");
	assert_int_equal(
		apply_through(&h, CR, "", "two", true, APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\"}}")), 200);
	assert_managers(
		&h, "one Apply {\"f:data\":{},\"f:revision\":{}}\ntwo Apply {\"f:metadata\":{\"f:labels\":{\"f:l\":{}}}}\n");
}

static void test_apply__conflicts_are_listed_by_manager(void **state)
{
	struct history h = begin(*state, CR);
	apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":1},\"revision\":1"));
	update(&h, "three", "{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1},\"revision\":1}");
	assert_int_equal(apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\"}},\"revision\":2")), 409);
	assert_str(h.w->st.message,
		"Apply failed with 2 conflicts: conflicts with \"three\" using apps/v1:\n- .metadata.labels.l\n"
		"conflicts with \"two\":\n- .revision");
}

static void test_apply__conflicts_with_updates_name_the_version(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "creator", "{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1},\"revision\":1}");
	assert_int_equal(apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\"}}")), 409);
	assert_str(
		h.w->st.message, "Apply failed with 1 conflict: conflict with \"creator\" using apps/v1: .metadata.labels.l");
	assert_int_equal(apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}}")), 200);
	assert_managers(&h,
		"one Apply {\"f:metadata\":{\"f:labels\":{\"f:l\":{}}}}\n"
		"creator Update {\"f:data\":{},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}},\"f:revision\":{}}\n");
	/* nothing changed but the entry, so it has no time */
	assert_int_equal(entry_text(&h, 0, "time").n, 0);
}

static void test_apply__what_is_left_out_goes_unless_shared(void **state)
{
	struct history h = begin(*state, CR);
	apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"1\",\"b\":\"2\"}},\"data\":{\"x\":1}"));
	apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"b\":\"2\",\"c\":\"3\"}}"));
	apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"1\"}},\"data\":{\"x\":1}"));
	world_assert_json(h.w, h.o->meta.labels, "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}");
	apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"c\":\"3\"}}"));
	world_assert_json(h.w, h.o->meta.labels, "{\"a\":\"1\",\"c\":\"3\"}");
	apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\"}"));
	world_assert_json(h.w, h.o->meta.labels, "{\"a\":\"1\"}");
	assert_managers(&h, "one Apply {\"f:data\":{},\"f:metadata\":{\"f:labels\":{\"f:a\":{}}}}\n");
}

/* Where one applier and another one share a map, what is in it and nobody's is no business of either. */
static void test_apply__what_nobody_owns_stays_beside_what_goes(void **state)
{
	struct history h = begin(*state, CR);
	assert_int_equal(apply(&h, "one", APPLY("\"metadata\":{\"labels\":{\"a\":\"1\"}},\"data\":{}")), 200);
	assert_int_equal(apply(&h, "two", APPLY("\"metadata\":{\"labels\":{\"b\":\"1\"}}")), 200);
	json_add(&h.w->a, h.o->meta.labels, STR("c"), json_string(&h.w->a, STR("1")));
	assert_int_equal(apply(&h, "one", APPLY("\"data\":{}")), 200);
	assert_string_equal(world_print(h.w, h.o->meta.labels), "{\"b\":\"1\",\"c\":\"1\"}");
	assert_managers(&h,
		"one Apply {\"f:data\":{}}\n"
		"two Apply {\"f:metadata\":{\"f:labels\":{\"f:b\":{}}}}\n");
}

static void test_apply__metadata_stays_when_all_that_was_owned_of_it_goes(void **state)
{
	struct history h = begin(*state, CR);
	apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"},\"finalizers\":[\"x.y/z\"]}"));
	apply(&h, "one", APPLY("\"metadata\":{}"));
	assert_str(h.o->meta.name, "a");
	assert_null(h.o->meta.labels);
	assert_null(h.o->meta.finalizers);
	assert_null(h.o->meta.managed_fields);
}

static void test_apply__owner_references_are_owned_one_by_one(void **state)
{
	struct history h = begin(*state, CR);
	apply(&h, "one",
		APPLY("\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"uid\":\"1\",\"name\":\"o\"}]},\"data\":{}"));
	assert_int_equal(
		apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"uid\":\"2\",\"name\":\"p\"}]}")),
		200);
	assert_int_equal(meta_owner_count(&h.o->meta), 2);
	assert_int_equal(
		apply(&h, "two",
			APPLY("\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"uid\":\"1\",\"name\":\"renamed\"}]}")),
		409);
	assert_str(h.w->st.causes[0].field, ".metadata.ownerReferences[uid=\"1\"]");
	assert_int_equal(apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\"},\"data\":{}")), 200);
	world_assert_json(
		h.w, h.o->meta.owner_references, "[{\"apiVersion\":\"\",\"kind\":\"\",\"name\":\"p\",\"uid\":\"2\"}]");
}

static void test_apply__untracked_objects_were_there_before(void **state)
{
	struct history h = begin(*state, CR);
	apply(&h, "one", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}},\"data\":{\"x\":1}"));
	h.o->meta.managed_fields = NULL;
	assert_int_equal(apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\"}}")), 409);
	assert_str(h.w->st.message,
		"Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: .metadata.labels.l");
	assert_int_equal(apply(&h, "two", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"m\":\"2\"}}")), 200);
	assert_managers(&h,
		"two Apply {\"f:metadata\":{\"f:labels\":{\"f:m\":{}}}}\n"
		"before-first-apply Update {\"f:data\":{},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}}}\n");
}

static void test_apply__refuses_what_is_no_such_object(void **state)
{
	struct history h = begin(*state, CR);
	static const struct {
		const char *applied, *message;
	} rows[] = {
		{"{\"metadata\":{\"name\":\"a\"}}", "invalid object type: /, Kind="},
		{"null", "invalid object type: /, Kind="},
		{"{\"apiVersion\":\"apps/v1\",\"kind\":\"ConfigMap\"}", "invalid object type: apps/v1, Kind=ConfigMap"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"ControllerRevision\"}",
			"invalid object type: /v1, Kind=ControllerRevision"},
		{APPLY("\"metadata\":{\"managedFields\":[]}"), "metadata.managedFields must be nil"},
		{APPLY("\"metadata\":{\"name\":\"a\"},\"bogus\":1"),
			"failed to create typed patch object (/a; apps/v1, Kind=ControllerRevision): .bogus: field not "
			"declared in schema"},
		{APPLY("\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"uid\":\"1\"},{\"uid\":\"1\"}]}"),
			"failed to create typed patch object (/a; apps/v1, Kind=ControllerRevision): "
			".metadata.ownerReferences: duplicate entries for "
			"key [uid=\"1\"]"},
		{APPLY("\"metadata\":{\"name\":\"a\"},\"revision\":1.5"),
			"failed to convert new object (/a; apps/v1, Kind=ControllerRevision) to proper version: unable to "
			"convert "
			"unstructured object to apps/v1, Kind=ControllerRevision: json: cannot unmarshal number 1.5 into Go "
			"struct field "
			"ControllerRevision.revision of type int64"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(apply(&h, "one", rows[i].applied), 400);
		assert_str(h.w->st.message, rows[i].message);
	}
}

static void test_apply__status_belongs_to_its_subresource(void **state)
{
	struct history h = begin(*state, NS);
	const char *ready = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\"},\"status\":{"
			    "\"conditions\":[{\"type\":\"Ready\","
			    "\"status\":\"True\"}]}}";
	const char *unready = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\"},\"status\":{"
			      "\"conditions\":[{\"type\":"
			      "\"Ready\",\"status\":\"False\"}]}}";
	update(&h, "parity", "{\"metadata\":{\"name\":\"x\"}}");
	assert_int_equal(apply_through(&h, NS, "status", "one", false, ready), 200);
	assert_managers(&h,
		"one/status Apply "
		"{\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},\"f:status\":{},"
		"\"f:type\":{}}}}}\n"
		"parity Update {\"f:metadata\":{\"f:labels\":{\".\":{},\"f:kubernetes.io/metadata.name\":{}}}}\n");
	assert_int_equal(apply_through(&h, NS, "status", "two", false, unready), 409);
	assert_str(h.w->st.message,
		"Apply failed with 1 conflict: conflict with \"one\" with subresource \"status\": "
		".status.conditions[type=\"Ready\"].status");
	/* through the namespace itself status means nothing */
	assert_int_equal(apply(&h, "two", unready), 200);
}

#define LAST "kubectl.kubernetes.io/last-applied-configuration"

static void test_apply__kubectl_takes_over_from_itself(void **state)
{
	struct history h = begin(*state, CR);
	const char *by_client = "{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"},\"annotations\":{\"" LAST
				"\":\"{\\\"apiVersion\\\":\\\"apps/v1\\\","
				"\\\"kind\\\":\\\"ControllerRevision\\\",\\\"metadata\\\":{\\\"name\\\":\\\"a\\\","
				"\\\"labels\\\":{\\\"l\\\":\\\"1\\\"}}}\"}},"
				"\"data\":{}}";
	const char *applied = APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\"}}");
	update(&h, "kubectl-client-side-apply", by_client);
	assert_int_equal(apply(&h, "someone-else", applied), 409);
	assert_int_equal(apply(&h, "kubectl", applied), 200);
	world_assert_json(h.w, h.o->meta.labels, "{\"l\":\"2\"}");
	assert_str(json_text(json_gets(h.o->meta.annotations, LAST)),
		"{\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"ControllerRevision\",\"metadata\":{\"labels\":{\"l\":\"2\"},\"name\":\"a\"}}\n");
}

static void test_apply__kubectl_still_conflicts_over_what_others_changed(void **state)
{
	struct history h = begin(*state, CR);
	update(&h, "kubectl-client-side-apply",
		"{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\",\"m\":\"1\"},\"annotations\":{\"" LAST
		"\":\"{\\\"apiVersion\\\":\\\"apps/v1\\\",\\\"kind\\\":"
		"\\\"ControllerRevision\\\",\\\"metadata\\\":{\\\"name\\\":\\\"a\\\",\\\"labels\\\":{\\\"l\\\":\\\"1\\\","
		"\\\"m\\\":\\\"other\\\"}}}\"}}}");
	assert_int_equal(
		apply(&h, "kubectl", APPLY("\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"2\",\"m\":\"2\"}}")), 409);
	assert_int_equal(h.w->st.n_causes, 1);
	assert_str(h.w->st.causes[0].field, ".metadata.labels.m");
}

static void test_default_manager__is_the_product(void **state)
{
	struct api_world *w = *state;
	char agent[200];
	memset(agent, 'a', sizeof(agent));
	assert_str(managed_default_manager(STR("kubectl/v1.36 (linux/amd64) abc"), &w->a), "kubectl");
	assert_str(managed_default_manager(STR("no slash here"), &w->a), "no slash here");
	assert_str(managed_default_manager(STR("t\x01o\xffol/1"), &w->a), "tool");
	assert_str(managed_default_manager(STR(""), &w->a), "");
	assert_int_equal(managed_default_manager((struct str){agent, sizeof(agent)}, &w->a).n, 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_update__creator_owns_what_it_set),
		API_TEST(test_update__zero_is_owned_only_when_it_was_something_else),
		API_TEST(test_update__who_changes_a_field_takes_it),
		API_TEST(test_update__without_change_keeps_entries_and_times),
		API_TEST(test_update__removal_moves_no_time),
		API_TEST(test_update__one_entry_for_each_api_version),
		API_TEST(test_update__subresources_have_entries_of_their_own),
		API_TEST(test_update__clients_may_edit_entries_that_make_sense),
		API_TEST(test_update__no_entries_or_an_empty_one_end_tracking),
		API_TEST(test_update__entries_of_versions_that_are_gone_go),
		API_TEST(test_update__more_than_ten_become_ancient),
		API_TEST(test_apply__creates_and_changes),
		API_TEST(test_apply__conflicts_name_managers_and_fields),
		API_TEST(test_apply__conflicts_are_listed_by_manager),
		API_TEST(test_apply__conflicts_with_updates_name_the_version),
		API_TEST(test_apply__what_is_left_out_goes_unless_shared),
		API_TEST(test_apply__what_nobody_owns_stays_beside_what_goes),
		API_TEST(test_apply__metadata_stays_when_all_that_was_owned_of_it_goes),
		API_TEST(test_apply__owner_references_are_owned_one_by_one),
		API_TEST(test_apply__untracked_objects_were_there_before),
		API_TEST(test_apply__refuses_what_is_no_such_object),
		API_TEST(test_apply__status_belongs_to_its_subresource),
		API_TEST(test_apply__kubectl_takes_over_from_itself),
		API_TEST(test_apply__kubectl_still_conflicts_over_what_others_changed),
		API_TEST(test_default_manager__is_the_product),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
