#include "api/rules/validate.h"

#include "tests/unit/api_world.h"

#define KEY_TEXT                                                                                                           \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " \
	"(e.g. "                                                                                                           \
	"'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define SUBDOMAIN_TEXT                                                                                                       \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " \
	"end with an "                                                                                                       \
	"alphanumeric character (e.g. 'example.com', regex used for validation is "                                          \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static const char *repeat(struct api_world *w, char c, size_t n)
{
	char *s = arena_text(&w->a, n + 1);
	memset(s, c, n);
	s[n] = 0;
	return s;
}

typedef size_t validator(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);

static void assert_messages(validator *v, const char *s, const char *first, const char *second)
{
	const char *messages[VALIDATE_MESSAGES_MAX] = {NULL};
	size_t n = v(str_of(s), messages);
	assert_int_equal(n, (first != NULL) + (second != NULL));
	if (first) {
		assert_string_equal(messages[0], first);
	}
	if (second) {
		assert_string_equal(messages[1], second);
	}
}

static void test_subdomain__takes_labels_between_dots(void **state)
{
	struct api_world *w = *state;
	static const char *const good[] = {"a", "web-1", "0", "a.b-c.9", "a--b"};
	static const char *const bad[] = {
		"", "Upper", "under_score", "-lead", "trail-", "a..b", ".a", "a.", "sp ace", "a/b", "\xc3\xa9"};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_messages(validate_dns_subdomain, good[i], NULL, NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_messages(validate_dns_subdomain, bad[i], SUBDOMAIN_TEXT, NULL);
	}
	assert_messages(validate_dns_subdomain, repeat(w, 'a', 253), NULL, NULL);
	assert_messages(validate_dns_subdomain, repeat(w, 'a', 254), "must be no more than 253 characters", NULL);
	assert_messages(validate_dns_subdomain, repeat(w, 'A', 254), "must be no more than 253 characters", SUBDOMAIN_TEXT);
}

static void test_label__has_no_dots_and_63_characters(void **state)
{
	struct api_world *w = *state;
	assert_messages(validate_dns_label, "my-name", NULL, NULL);
	assert_messages(validate_dns_label, "a.b", "must not contain dots", NULL);
	assert_messages(validate_dns_label, repeat(w, 'a', 63), NULL, NULL);
	assert_messages(validate_dns_label, repeat(w, 'a', 64), "must be no more than 63 characters", NULL);
	assert_messages(validate_dns_label, "a_b",
		"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
		"with "
		"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
		NULL);
}

static void test_qualified_name__has_an_optional_domain(void **state)
{
	struct api_world *w = *state;
	assert_messages(validate_qualified_name, "example.com/My_Name.1", NULL, NULL);
	assert_messages(validate_qualified_name, "x", NULL, NULL);
	assert_messages(validate_qualified_name, "a b", "name part " KEY_TEXT, NULL);
	assert_messages(validate_qualified_name, "", "name part must be non-empty", "name part " KEY_TEXT);
	assert_messages(validate_qualified_name, "/k", "prefix part must be non-empty", NULL);
	assert_messages(validate_qualified_name, "Example.com/k", "prefix part " SUBDOMAIN_TEXT, NULL);
	assert_messages(validate_qualified_name, repeat(w, 'k', 64), "name part must be no more than 63 bytes", NULL);
	assert_messages(validate_qualified_name, "a/b/c",
		"a valid label key " KEY_TEXT " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
		NULL);
}

static void test_label_value__may_be_empty(void **state)
{
	struct api_world *w = *state;
	assert_messages(validate_label_value, "", NULL, NULL);
	assert_messages(validate_label_value, "My_value.1", NULL, NULL);
	assert_messages(validate_label_value, repeat(w, 'x', 64), "must be no more than 63 bytes", NULL);
	assert_messages(validate_label_value, "-x",
		"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
		"and "
		"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
		"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
		NULL);
}

static void test_path_segment__can_be_found_again(void **state)
{
	(void)state;
	assert_messages(validate_path_segment, "Anything goes", NULL, NULL);
	assert_messages(validate_path_segment, ".", "may not be '.'", NULL);
	assert_messages(validate_path_segment, "..", "may not be '..'", NULL);
	assert_messages(validate_path_segment, "a/b%", "may not contain '/'", "may not contain '%'");
}

/* What is wrong with this metadata of a new ControllerRevision: each error as "field: message", one a line. */
static const char *new_errors(struct api_world *w, const char *metadata)
{
	struct field_errors e;
	struct object *o = world_decode(w, CR, arena_printf(&w->a, "{\"metadata\":%s,\"data\":{}}", metadata).p);
	o->meta.ns = STR("default");
	field_errors_init(&e, &w->a);
	validate_meta(o->kind, &o->meta, &e);
	status_init(&w->st, &w->a);
	if (e.n > 0) {
		status_invalid(&w->st, STR("apps"), STR("ControllerRevision"), o->meta.name, &e);
	}
	struct buf lines;
	buf_init(&lines, 1 << 20);
	for (size_t i = 0; i < w->st.n_causes; i++) {
		buf_printf(&lines, STR_FMT ": " STR_FMT "\n", STR_ARG(w->st.causes[i].field), STR_ARG(w->st.causes[i].message));
	}
	const char *text = lines.n ? arena_dup(&w->a, buf_str(&lines)).p : "";
	buf_done(&lines);
	return text;
}

static void test_meta__a_plain_object_is_fine(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(
		new_errors(w,
			"{\"name\":\"a\",\"labels\":{\"k\":\"\"},\"annotations\":{\"Example.COM/Key\":\"any\\n\"},"
			"\"finalizers\":[\"example.com/ok\",\"orphan\",\"kubernetes\"],\"ownerReferences\":[{\"apiVersion\":"
			"\"apps/v1\",\"kind\":\"no such "
			"kind\",\"name\":\"Bad_Name!\",\"uid\":\"not-a-uuid\",\"controller\":true}]}"),
		"");
}

static void test_meta__needs_a_name(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w, "{}"), "metadata.name: Required value: name or generateName is required\n");
}

static void test_meta__prefix_of_generated_names_may_end_in_a_dash(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w, "{\"name\":\"web-x\",\"generateName\":\"web-\"}"), "");
	assert_string_equal(new_errors(w, "{\"name\":\"x\",\"generateName\":\"a.-\"}"), "");
	assert_string_equal(new_errors(w, "{\"name\":\"x\",\"generateName\":\"a.\"}"),
		"metadata.generateName: Invalid value: \"a.\": " SUBDOMAIN_TEXT "\n");
}

static void test_meta__labels_and_annotations(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"labels\":{\"a b\":\"x\"}}"),
		"metadata.labels: Invalid value: \"a b\": name part " KEY_TEXT "\n");
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"annotations\":{\"x/y/z\":\"1\"}}"),
		"metadata.annotations: Invalid value: \"x/y/z\": a valid label key " KEY_TEXT
		" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')\n");
	const char *big = repeat(w, 'x', 262143);
	assert_string_equal(new_errors(w, arena_printf(&w->a, "{\"name\":\"a\",\"annotations\":{\"k\":\"%s\"}}", big).p), "");
	assert_string_equal(new_errors(w, arena_printf(&w->a, "{\"name\":\"a\",\"annotations\":{\"k\":\"%sx\"}}", big).p),
		"metadata.annotations: Too long: may not be more than 262144 bytes\n");
}

static void test_meta__finalizers(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"finalizers\":[\"plain\"]}"),
		"metadata.finalizers[0]: Invalid value: \"plain\": name is neither a standard finalizer name nor is it fully "
		"qualified\n");
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"finalizers\":[\"bad name\"]}"),
		"metadata.finalizers: Invalid value: \"bad name\": name part " KEY_TEXT
		"\nmetadata.finalizers[0]: Invalid value: \"bad name\": name is neither a standard finalizer name nor is it "
		"fully "
		"qualified\n");
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"finalizers\":[\"orphan\",\"foregroundDeletion\"]}"),
		"metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and "
		"foregroundDeletion "
		"cannot be both set\n");
}

static void test_meta__owner_references(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"ownerReferences\":[null]}"),
		"metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty\n"
		"metadata.ownerReferences.kind: Invalid value: \"\": must not be empty\n"
		"metadata.ownerReferences.name: Invalid value: \"\": must not be empty\n"
		"metadata.ownerReferences.uid: Invalid value: \"\": must not be empty\n");
	assert_string_equal(
		new_errors(w,
			"{\"name\":\"a\",\"ownerReferences\":[{\"apiVersion\":\"a/b/c\",\"kind\":\"K\",\"name\":\"o\",\"uid\":"
			"\"u\"}]}"),
		"metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty\n");
	assert_string_equal(
		new_errors(w,
			"{\"name\":\"a\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"o\",\"uid\":"
			"\"u\"}]}"),
		"metadata.ownerReferences: Invalid value: "
		"{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"o\",\"uid\":\"u\"}: /v1, "
		"Kind=Event is disallowed from being an owner\n");
}

#define OWNER(name, uid, more) \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"" name "\",\"uid\":\"" uid "\"" more "}"
#define LIST2 "[" OWNER("o", "1", ",\"controller\":true") "," OWNER("p", "2", ",\"controller\":true") "]"

static void test_meta__only_one_owner_is_the_controller(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w,
				    "{\"name\":\"a\",\"ownerReferences\":[" OWNER("o", "1", ",\"controller\":true") "," OWNER(
					    "p", "2", ",\"controller\":false") "," OWNER("q", "3", "") "]}"),
		"");
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"ownerReferences\":" LIST2 "}"),
		"metadata.ownerReferences: Invalid value: " LIST2 ": Only one reference can have Controller set to true. Found "
		"\"true\" in references for StatefulSet/o and StatefulSet/p\n");
}

static void test_meta__managed_fields(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w,
				    "{\"name\":\"a\",\"managedFields\":[{\"manager\":\"a\\u0007\",\"operation\":\"Remove\","
				    "\"fieldsType\":\"FieldsV2\"}]}"),
		"metadata.managedFields[0].operation: Invalid value: \"Remove\": must be `Apply` or `Update`\n"
		"metadata.managedFields[0].fieldsType: Invalid value: \"FieldsV2\": must be `FieldsV1`\n"
		"metadata.managedFields[0].manager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)\n");
}

static void test_meta__generation_is_not_negative(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"generation\":7}"), "");
	assert_string_equal(new_errors(w, "{\"name\":\"a\",\"generation\":-1}"),
		"metadata.generation: Invalid value: -1: must be greater than or equal to 0\n");
}

static void test_meta__namespaces_are_not_in_namespaces(void **state)
{
	struct api_world *w = *state;
	struct field_errors e;
	struct object *o = world_decode(w, NS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}");
	field_errors_init(&e, &w->a);
	validate_meta(o->kind, &o->meta, &e);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "metadata.namespace");
	assert_str(e.v[0].detail, "not allowed on this type");
}

static void test_meta__a_bad_namespace_has_its_path(void **state)
{
	struct api_world *w = *state;
	struct field_errors e;
	struct object *o = world_decode(w, CR, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"Not.One\"},\"revision\":1}");
	field_errors_init(&e, &w->a);
	validate_meta(o->kind, &o->meta, &e);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "metadata.namespace");
}

/* An update of a stored object by `changes` (a merge into its metadata, by hand). */
static size_t update_errors(struct api_world *w, const char *old_metadata, const char *metadata, const char *expected_field,
	const char *expected_message)
{
	struct field_errors e;
	struct object *old = world_decode(w, CR, arena_printf(&w->a, "{\"metadata\":%s,\"data\":{}}", old_metadata).p);
	struct object *o = world_decode(w, CR, arena_printf(&w->a, "{\"metadata\":%s,\"data\":{}}", metadata).p);
	old->meta.ns = o->meta.ns = STR("default");
	old->mod_revision = 5;
	meta_prepare_update(o, old, &w->a);
	field_errors_init(&e, &w->a);
	validate_meta_update(o->kind, &o->meta, &old->meta, &e);
	o->kind->validate_update(o, old, &e);
	status_init(&w->st, &w->a);
	if (e.n > 0) {
		status_invalid(&w->st, STR("apps"), STR("ControllerRevision"), o->meta.name, &e);
	}
	for (size_t i = 0; i < w->st.n_causes; i++) {
		assert_str(w->st.causes[i].field, expected_field);
		assert_str(w->st.causes[i].message, expected_message);
	}
	return w->st.n_causes;
}

#define STORED "{\"name\":\"a\",\"uid\":\"u\",\"creationTimestamp\":\"2020-01-01T00:00:00Z\",\"generation\":3}"

static void test_update__what_the_server_owns_comes_back(void **state)
{
	struct api_world *w = *state;
	assert_int_equal(update_errors(w, STORED, "{\"name\":\"a\"}", NULL, NULL), 0);
	assert_int_equal(update_errors(w, STORED,
				 "{\"name\":\"a\",\"creationTimestamp\":\"2001-01-01T00:00:00Z\",\"generation\":9,"
				 "\"generateName\":\"h-\"}",
				 NULL, NULL),
		0);
}

static void test_update__identity_is_immutable_and_said_twice(void **state)
{
	struct api_world *w = *state;
	assert_int_equal(update_errors(w, STORED, "{\"name\":\"a\",\"uid\":\"v\"}", "metadata.uid",
				 "Invalid value: \"v\": field is immutable"),
		2);
	assert_int_equal(update_errors(w, STORED, "{\"name\":\"a\",\"deletionTimestamp\":\"2001-01-01T00:00:00Z\"}",
				 "metadata.deletionTimestamp", "Invalid value: \"2001-01-01T00:00:00Z\": field is immutable"),
		2);
	assert_int_equal(update_errors(w, STORED, "{\"name\":\"a\",\"deletionGracePeriodSeconds\":5}",
				 "metadata.deletionGracePeriodSeconds", "Invalid value: 5: field is immutable"),
		2);
}

/* Ours is always that of what is stored, or the next one; so the rule is asked by itself. */
static void test_update__generation_does_not_go_back(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, CR, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"},\"data\":{}}");
	struct meta before = o->meta;
	for (int64_t generation = 2; generation <= 4; generation++) {
		struct field_errors e;
		field_errors_init(&e, &w->a);
		before.generation = 3;
		o->meta.generation = generation;
		validate_meta_update(o->kind, &o->meta, &before, &e);
		bool is_refused = false;
		for (size_t i = 0; i < e.n; i++) {
			is_refused |= str_is(e.v[i].detail, "must not be decremented");
		}
		assert_int_equal(is_refused, generation < 3);
	}
}

static void test_update__rules_of_new_objects_are_said_four_times(void **state)
{
	struct api_world *w = *state;
	assert_int_equal(
		update_errors(w, STORED, "{\"name\":\"a\",\"ownerReferences\":" LIST2 "}", "metadata.ownerReferences",
			"Invalid value: " LIST2 ": Only one reference can have Controller set to true. Found \"true\" in "
			"references for StatefulSet/o and StatefulSet/p"),
		4);
}

static void test_update__a_dying_object_gets_no_new_finalizers(void **state)
{
	struct api_world *w = *state;
	const char *dying =
		"{\"name\":\"a\",\"deletionTimestamp\":\"2020-01-01T00:00:00Z\",\"finalizers\":[\"x.y/a\",\"x.y/b\"]}";
	assert_int_equal(update_errors(w, dying, "{\"name\":\"a\",\"finalizers\":[\"x.y/b\"]}", NULL, NULL), 0);
	assert_int_equal(
		update_errors(w, dying, "{\"name\":\"a\",\"finalizers\":[\"x.y/z\",\"x.y/b\",\"x.y/c\",\"x.y/z\"]}",
			"metadata.finalizers",
			"Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
			"[]string{\"x.y/c\", \"x.y/z\"}"),
		2);
}

static void test_prepare_create__replaces_what_a_client_may_not_choose(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, CR,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"generation\":7,"
		"\"creationTimestamp\":\"2001-01-01T00:00:00Z\",\"deletionTimestamp\":\"2001-01-01T00:00:00Z\","
		"\"deletionGracePeriodSeconds\":30,\"resourceVersion\":\"0\",\"selfLink\":\"/x\"},\"data\":{}}");
	meta_prepare_create(o, STR("n"), &w->a);
	assert_int_equal(o->meta.uid.n, 36);
	assert_int_equal(o->meta.creation_timestamp.n, 20);
	assert_false(str_is(o->meta.creation_timestamp, "2001-01-01T00:00:00Z"));
	assert_int_equal(o->meta.generation, 7);
	assert_false(meta_is_deleting(&o->meta));
	assert_false(o->meta.has_grace_period);
	assert_int_equal(o->meta.resource_version.n, 0);
}

static void test_generate_name__cuts_the_prefix(void **state)
{
	struct api_world *w = *state;
	struct meta m = {.generate_name = STR("web-")};
	meta_generate_name(&m, &w->a);
	assert_int_equal(m.name.n, 9);
	assert_memory_equal(m.name.p, "web-", 4);
	m.generate_name = str_of(repeat(w, 'a', 80));
	meta_generate_name(&m, &w->a);
	assert_int_equal(m.name.n, 63);
}

static void test_dedup__drops_exact_repetitions_with_a_warning(void **state)
{
	struct api_world *w = *state;
	struct str warnings[2];
	struct object *o = world_decode(w, CR,
		"{\"metadata\":{\"ownerReferences\":[" OWNER("o", "1", "") "," OWNER("o", "1", "") "," OWNER(
			"other", "1", "") "]}}");
	assert_int_equal(meta_dedup_owners(&o->meta, false, &w->a, warnings), 1);
	assert_str(warnings[0],
		".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
		"reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1");
	assert_int_equal(meta_owner_count(&o->meta), 2);
	assert_int_equal(meta_dedup_owners(&o->meta, true, &w->a, warnings), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_subdomain__takes_labels_between_dots),
		API_TEST(test_label__has_no_dots_and_63_characters),
		API_TEST(test_qualified_name__has_an_optional_domain),
		API_TEST(test_label_value__may_be_empty),
		API_TEST(test_path_segment__can_be_found_again),
		API_TEST(test_meta__a_plain_object_is_fine),
		API_TEST(test_meta__needs_a_name),
		API_TEST(test_meta__prefix_of_generated_names_may_end_in_a_dash),
		API_TEST(test_meta__labels_and_annotations),
		API_TEST(test_meta__finalizers),
		API_TEST(test_meta__owner_references),
		API_TEST(test_meta__only_one_owner_is_the_controller),
		API_TEST(test_meta__managed_fields),
		API_TEST(test_meta__generation_is_not_negative),
		API_TEST(test_meta__namespaces_are_not_in_namespaces),
		API_TEST(test_meta__a_bad_namespace_has_its_path),
		API_TEST(test_update__what_the_server_owns_comes_back),
		API_TEST(test_update__identity_is_immutable_and_said_twice),
		API_TEST(test_update__generation_does_not_go_back),
		API_TEST(test_update__rules_of_new_objects_are_said_four_times),
		API_TEST(test_update__a_dying_object_gets_no_new_finalizers),
		API_TEST(test_prepare_create__replaces_what_a_client_may_not_choose),
		API_TEST(test_generate_name__cuts_the_prefix),
		API_TEST(test_dedup__drops_exact_repetitions_with_a_warning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
