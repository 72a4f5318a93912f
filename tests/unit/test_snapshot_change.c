/* What a change makes of the status of a History. */
#include "server/revisions/snapshot_plan.h"

#include "api/diff/changes.h"
#include "api/model/members.h"
#include "tests/unit/kind_world.h"

#define HISTORY "annals.dev/v1/histories"

static const struct snapshot_held held = {.name = {"web-x", 5}, .digest = {"dig", 3}, .number = 7, .revisions = 3};

static const struct json *after(struct api_world *w, const char *status, const char *change, const char *user)
{
	static const struct gap_authors nobody = {.n = 0};
	return snapshot_change_status(world_version(HISTORY, NULL), world_parse(w, status), world_parse(w, change), &held,
		str_of(user), &nobody, &w->a);
}

static void test_change__tells_of_the_state(void **state)
{
	struct api_world *w = *state;

	world_assert_json(w,
		after(w, "{\"revisions\":0,\"totalChanges\":0}",
			"{\"type\":\"Created\",\"time\":\"2020-01-01T00:00:00Z\",\"paths\":[\"/"
			"a\"],\"uid\":\"u\",\"apiVersion\":\"v1\",\"ignore\":[\"/b\"],"
			"\"historyResourceVersion\":\"3\",\"writeDigest\":\"w\"}",
			"eve"),
		"{\"uid\":\"u\",\"apiVersion\":\"v1\",\"digest\":\"dig\",\"revision\":{\"name\":\"web-x\",\"revision\":7},"
		"\"revisions\":3,"
		"\"ignore\":[\"/"
		"b\"],\"totalChanges\":1,\"changes\":[{\"type\":\"Created\",\"time\":\"2020-01-01T00:00:00Z\",\"paths\":[\"/"
		"a\"],"
		"\"revision\":\"web-x\",\"number\":7,\"user\":\"eve\",\"digest\":\"dig\"}]}");
}

/* The server names the authors of a gap, and nobody else does. */
static void test_change__after_a_gap_has_its_authors(void **state)
{
	static const char skipped[] = "{\"type\":\"Deleted\",\"time\":\"2020-01-01T00:00:00Z\",\"skipped\":true,\"gap\":{"
				      "\"resourceVersion\":\"7\",\"authors\":[{\"user\":\"forged\"}],\"moreAuthors\":false}}";
	static const char forged[] = "{\"type\":\"Deleted\",\"time\":\"2020-01-01T00:00:00Z\",\"gap\":{"
				     "\"authors\":[{\"user\":\"forged\"}]}}";
	struct api_world *w = *state;
	const struct gap_authors two = {.v = {{STR("alice"), 0}, {STR("bob"), 60}}, .n = 2, .has_more = true};
	const struct json *status = snapshot_change_status(
		world_version(HISTORY, NULL), NULL, world_parse(w, skipped), &held, STR("eve"), &two, &w->a);

	world_assert_json(w, json_gets(list_item(json_gets(status, "changes"), 0), "gap"),
		"{\"resourceVersion\":\"7\",\"authors\":[{\"user\":\"alice\",\"time\":\"1970-01-01T00:00:00Z\"},"
		"{\"user\":\"bob\",\"time\":\"1970-01-01T00:01:00Z\"}],\"moreAuthors\":true}");
	status =
		snapshot_change_status(world_version(HISTORY, NULL), NULL, world_parse(w, forged), &held, STR(""), &two, &w->a);
	assert_null(json_gets(list_item(json_gets(status, "changes"), 0), "gap"));
}

static void test_change__deletion_keeps_what_was(void **state)
{
	struct api_world *w = *state;

	world_assert_json(w,
		after(w,
			"{\"uid\":\"u\",\"apiVersion\":\"v1\",\"digest\":\"d\",\"revision\":{\"name\":\"web-y\",\"revision\":2}"
			","
			"\"revisions\":2,\"ignore\":[\"/b\"],\"totalChanges\":4}",
			"{\"type\":\"Deleted\",\"time\":\"2020-01-01T00:00:00Z\"}", ""),
		"{\"uid\":\"u\",\"apiVersion\":\"v1\",\"deletionTime\":\"2020-01-01T00:00:00Z\",\"digest\":\"d\",\"revision\":{"
		"\"name\":"
		"\"web-y\",\"revision\":2},\"revisions\":2,\"ignore\":[\"/"
		"b\"],\"totalChanges\":5,\"changes\":[{\"type\":\"Deleted\","
		"\"time\":\"2020-01-01T00:00:00Z\"}]}");
}

static void test_change__of_an_object_made_again_ends_the_deletion(void **state)
{
	struct api_world *w = *state;
	const struct json *status = after(w,
		"{\"uid\":\"u\",\"deletionTime\":\"2020-01-01T00:00:00Z\",\"ignore\":[\"/"
		"b\"],\"totalChanges\":9223372036854775807}",
		"{\"type\":\"Created\",\"time\":\"2020-01-01T00:00:00Z\",\"uid\":\"u2\",\"apiVersion\":\"v1\"}", "");

	assert_null(json_gets(status, "deletionTime"));
	assert_null(json_gets(status, "ignore"));
	assert_str(json_text(json_gets(status, "uid")), "u2");
	assert_str(json_text(json_gets(status, "totalChanges")), "9223372036854775807");
}

static void test_change__of_what_is_no_status_is_none(void **state)
{
	struct api_world *w = *state;

	assert_null(after(w, "{\"revisions\":\"many\"}", "{\"type\":\"Deleted\",\"time\":\"2020-01-01T00:00:00Z\"}", ""));
}

/* A status with n changes, each of that many bytes as JSON. */
static struct json *status_with(struct api_world *w, size_t n, size_t bytes)
{
	struct json *status = json_object(&w->a), *changes = json_array(&w->a);

	for (size_t i = 0; i < n; i++) {
		struct json *change = json_object(&w->a);
		size_t frame = strlen("{\"type\":\"Changed\",\"time\":\"2020-01-01T00:00:00Z\",\"cause\":\"\"}");
		char *cause = arena_text(&w->a, bytes - frame);
		memset(cause, 'c', bytes - frame);
		json_add(&w->a, change, STR("type"), json_string(&w->a, STR("Changed")));
		json_add(&w->a, change, STR("time"), json_string(&w->a, STR("2020-01-01T00:00:00Z")));
		json_add(&w->a, change, STR("cause"), json_string(&w->a, (struct str){cause, bytes - frame}));
		json_append(&w->a, changes, change);
	}
	json_add(&w->a, status, STR("changes"), changes);
	return status;
}

static uint32_t kept_after(struct api_world *w, size_t n, size_t bytes)
{
	const struct gap_authors nobody = {.n = 0};
	const struct json *deletion = world_parse(w, "{\"type\":\"Deleted\",\"time\":\"2020-01-01T00:00:00Z\"}");
	const struct json *status = snapshot_change_status(
		world_version(HISTORY, NULL), status_with(w, n, bytes), deletion, &held, STR(""), &nobody, &w->a);

	return member_count(status, "changes");
}

static void test_changes__are_at_most_50(void **state)
{
	assert_int_equal(kept_after(*state, 48, 100), 49);
	assert_int_equal(kept_after(*state, 49, 100), 50);
	assert_int_equal(kept_after(*state, 50, 100), 50);
	assert_int_equal(kept_after(*state, 60, 100), 50);
}

static void test_changes__have_at_most_64_kib(void **state)
{
	size_t link = strlen(",\"previous\":\"\"") + CHANGE_PRINT_SIZE - 1;
	size_t newest = strlen("[{\"type\":\"Deleted\",\"time\":\"2020-01-01T00:00:00Z\"}]") + link, room = 65536 - newest;

	assert_int_equal(kept_after(*state, 8, room / 8 - 1), 9);
	assert_int_equal(kept_after(*state, 8, room / 8), 8);
	assert_int_equal(kept_after(*state, 1, room - 1), 2);
	assert_int_equal(kept_after(*state, 1, room), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_change__tells_of_the_state),
		API_TEST(test_change__after_a_gap_has_its_authors),
		API_TEST(test_change__deletion_keeps_what_was),
		API_TEST(test_change__of_an_object_made_again_ends_the_deletion),
		API_TEST(test_change__of_what_is_no_status_is_none),
		API_TEST(test_changes__are_at_most_50),
		API_TEST(test_changes__have_at_most_64_kib),
	};
	return cmocka_run_group_tests_name("snapshot_change", tests, NULL, NULL);
}
