#include "api/diff/sighting.h"
#include "api/diff/state.h"
#include "api/model/members.h"
#include "controllers/recorder/recording.h"
#include "tests/unit/tree.h"

static struct recording *recording;

static struct recording *recorder_of(const char *name, const char *spec)
{
	struct str text = arena_printf(&arena,
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"1\",\"generation\":1},\"spec\":%s}",
		name, name, spec);
	struct item *item = item_new(text, NULL);
	assert_non_null(item);
	struct recording *r = recording_new(item);
	assert_non_null(r);
	item_unref(item);
	return r;
}

static int setup(void **state)
{
	tree_setup(state);
	recording = recorder_of("r",
		"{\"resources\":[{\"groups\":[\"\"],\"resources\":[\"configmaps\"]}],\"ignore\":[\"/data/"
		"i\"],\"salt\":\"MDEyMzQ1Njc4OWFiY2RlZg==\"}");
	return 0;
}

static int teardown(void **state)
{
	recording_unref(recording);
	return tree_teardown(state);
}

#define TEST_PLAN(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#define OBJECT                                                                                                                \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"web\",\"namespace\":\"prod\",\"uid\":\"u1\"," \
	"\"resourceVersion\":\"20\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"managedFields\":[{\"manager\":\"m\","    \
	"\"time\":\"2026-01-02T00:00:00Z\",\"fieldsV1\":{\"f:data\":{\"f:a\":{}}}}]},\"data\":{\"a\":\"1\",\"i\":\"x\"}}"

static struct sighting seen(const char *object)
{
	struct sighting s;
	struct json *j = parse(object);
	sighting_of(&s, j, &recording->rules, &arena);
	s.ignore = json_gets(recording->spec, "ignore");
	sighting_complete(&s, j, &arena);
	return s;
}

static struct sighting gone(uint64_t version)
{
	return (struct sighting){.is_gone = true, .version = version};
}

/* A History whose last change was seen in that version of the object. */
static const struct json *history(const char *uid, const char *digest, const char *version, const char *deletion)
{
	struct str text = arena_printf(&arena,
		"{\"metadata\":{\"name\":\"configmap.web-x\",\"namespace\":\"prod\",\"uid\":\"h\",\"resourceVersion\":\"7\"},"
		"\"status\":{\"uid\":\"%s\","
		"\"digest\":\"%s\"%s,\"changes\":[{\"resourceVersion\":\"1\"},{\"resourceVersion\":\"%s\"}]}}",
		uid, digest, deletion, version);
	return parse(text.p);
}

#define GONE ",\"deletionTime\":\"2026-01-01T00:00:00Z\""

static void test_decide__the_first_change_creates(void **state _unused_)
{
	const struct sighting s = seen(OBJECT), g = gone(0);
	const struct json *empty = parse("{\"status\":{}}");
	assert_int_equal(record_decide(NULL, &s), RECORD_CREATED);
	assert_int_equal(record_decide(empty, &s), RECORD_CREATED);
	assert_int_equal(record_decide(NULL, &g), RECORD_NOTHING);
	assert_int_equal(record_decide(empty, &g), RECORD_NOTHING);
}

static void test_decide__a_state_that_is_recorded_is_nothing(void **state _unused_)
{
	const struct sighting s = seen(OBJECT);
	assert_int_equal(record_decide(history("u1", s.digest, "20", ""), &s), RECORD_NOTHING);
	assert_int_equal(record_decide(history("u1", s.digest, "99", ""), &s), RECORD_NOTHING);
	assert_int_equal(record_decide(history("u1", "other", "10", ""), &s), RECORD_CHANGED);
}

static void test_decide__another_uid_or_a_deletion_before_is_a_creation(void **state _unused_)
{
	const struct sighting s = seen(OBJECT);
	assert_int_equal(record_decide(history("u0", s.digest, "10", ""), &s), RECORD_CREATED);
	assert_int_equal(record_decide(history("u0", "other", "10", GONE), &s), RECORD_CREATED);
}

/* A watch that begins again shows states of an object that a list found absent meanwhile. Only a restored backup brings back an
 * object with its uid. */
static void test_decide__a_deleted_object_does_not_return(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	const char *const without_version = "{\"status\":{\"uid\":\"%s\",\"digest\":\"d\"" GONE
					    ",\"changes\":[{\"resourceVersion\":\"%s\"},{\"type\":\"Deleted\"}]}}";
	assert_int_equal(record_decide(history("u1", s.digest, "10", GONE), &s), RECORD_LOOK);
	assert_int_equal(record_decide(parse(arena_printf(&arena, without_version, "u1", "10").p), &s), RECORD_LOOK);
	assert_int_equal(record_decide(parse(arena_printf(&arena, without_version, "u0", "21").p), &s), RECORD_LOOK);
	assert_int_equal(record_decide(parse(arena_printf(&arena, without_version, "u0", "19").p), &s), RECORD_CREATED);
	s.is_live = true;
	assert_int_equal(record_decide(history("u1", s.digest, "10", GONE), &s), RECORD_CREATED);
}

static void test_decide__a_deletion_is_told_once(void **state _unused_)
{
	const struct sighting g = gone(30), unknown = gone(0);
	assert_int_equal(record_decide(history("u1", "d", "20", ""), &g), RECORD_DELETED);
	assert_int_equal(record_decide(history("u1", "d", "20", ""), &unknown), RECORD_DELETED);
	assert_int_equal(record_decide(history("u1", "d", "20", GONE), &g), RECORD_NOTHING);
}

/* Another recorder has written something newer: to write the old after it would tell a change that never was. */
static void test_decide__what_is_older_than_the_history_is_looked_at(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	const struct sighting g = gone(15);
	assert_int_equal(record_decide(history("u1", "newer", "21", ""), &s), RECORD_LOOK);
	assert_int_equal(record_decide(history("u2", "newer", "21", ""), &s), RECORD_LOOK);
	assert_int_equal(record_decide(history("u2", "newer", "21", ""), &g), RECORD_LOOK);
	/* After a restored backup versions begin again from below: what the object says itself counts. */
	s.is_live = true;
	assert_int_equal(record_decide(history("u1", "newer", "21", ""), &s), RECORD_CHANGED);
}

#define LAST_RELEASED \
	"{\"status\":{\"uid\":\"u1\",\"digest\":\"d\",\"changes\":[{\"type\":\"Released\",\"resourceVersion\":\"12\"}]}}"

static void test_decide__what_no_recorder_selects_is_released_once(void **state _unused_)
{
	struct sighting s, back = seen(OBJECT);
	sighting_without_state(&s, parse(OBJECT), &arena);
	assert_null(s.state);
	assert_int_equal(record_decide(NULL, &s), RECORD_NOTHING);
	assert_int_equal(record_decide(history("u1", "d", "15", ""), &s), RECORD_RELEASED);
	assert_int_equal(record_decide(history("u1", "d", "15", GONE), &s), RECORD_NOTHING);
	assert_int_equal(record_decide(history("u1", "d", "21", ""), &s), RECORD_LOOK);
	assert_int_equal(record_decide(parse(LAST_RELEASED), &s), RECORD_NOTHING);
	assert_int_equal(record_decide(parse(LAST_RELEASED), &back), RECORD_ADOPTED);
	memcpy(back.digest, "d", 2); /* the state from before is adopted, too */
	assert_int_equal(record_decide(parse(LAST_RELEASED), &back), RECORD_ADOPTED);
	back.uid = STR("u2");
	assert_int_equal(record_decide(parse(LAST_RELEASED), &back), RECORD_CREATED);
}

/* The recorded version of an object cannot have another state, except by other rules. */
static void test_decide__other_rules_are_nobodys_change(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	assert_int_equal(record_decide(history("u1", "other", "20", ""), &s), RECORD_RERECORDED);
	assert_int_equal(record_decide(history("u2", "other", "20", ""), &s), RECORD_CREATED);
	assert_int_equal(record_decide(history("u1", "other", "20", GONE), &s), RECORD_LOOK);
	/* After a write of its status the object has a newer version than the last change. */
	assert_int_equal(record_decide(history("u1", "other", "10", ""), &s), RECORD_CHANGED);
	s.settled = 19;
	assert_int_equal(record_decide(history("u1", "other", "10", ""), &s), RECORD_CHANGED);
	s.settled = 20;
	assert_int_equal(record_decide(history("u1", "other", "10", ""), &s), RECORD_RERECORDED);
	s.is_after_gap = true;
	assert_false(record_skips(history("u1", "other", "10", ""), &s));
	s.version = 0;
	assert_int_equal(record_decide(history("u1", "other", "10", ""), &s), RECORD_CHANGED);
}

static const struct json *recorded_as(const char *object, const char *version, const char *change)
{
	char digest[DIGEST_SIZE];
	digest_of(digest, state_of(parse(object), &recording->rules, &arena), &arena);
	struct str text = arena_printf(&arena,
		"{\"status\":{\"uid\":\"u1\",\"apiVersion\":\"%s\",\"digest\":\"%s\",\"changes\":[{\"resourceVersion\":\"9\"%s}]}}",
		version, digest, change);
	return parse(text.p);
}

#define OF_VERSION(version, more, data)                                                                                      \
	"{\"apiVersion\":\"" version                                                                                         \
	"\",\"kind\":\"K\",\"metadata\":{\"name\":\"web\",\"uid\":\"u1\",\"resourceVersion\":\"20\"" more "},\"data\":" data \
	"}"
#define LINKED ",\"digest\":\"d\""

static void test_decide__another_api_version_is_nobodys_change(void **state _unused_)
{
	const struct json *before = recorded_as(OF_VERSION("g/v1beta1", "", "1"), "g/v1beta1", LINKED);
	const struct sighting same = seen(OF_VERSION("g/v1", "", "1")), other = seen(OF_VERSION("g/v1", "", "2"));
	assert_int_equal(record_decide(before, &same), RECORD_RERECORDED);
	assert_int_equal(record_decide(before, &other), RECORD_CHANGED);
}

/* annals 0.1 recorded neither finalizers nor generateName, and its changes have no digest. */
static void test_decide__what_an_older_recorder_left_out_is_nobodys_change(void **state _unused_)
{
#define MORE ",\"finalizers\":[\"f.io/f\"],\"generateName\":\"w\""
	const struct sighting same = seen(OF_VERSION("v1", MORE, "1")), other = seen(OF_VERSION("v1", MORE, "2"));
	const struct json *old = recorded_as(OF_VERSION("v1", "", "1"), "v1", "");
	assert_int_equal(record_decide(old, &same), RECORD_RERECORDED);
	assert_int_equal(record_decide(old, &other), RECORD_CHANGED);
	assert_int_equal(record_decide(recorded_as(OF_VERSION("v1", "", "1"), "v1", LINKED), &same), RECORD_CHANGED);
}

static void test_sighting__survives_as_text(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	struct sighting back;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 1 << 20);
	s.after = 19;
	assert_true(sighting_read(&back, sighting_write(&s, &text, &arena), &arena));
	assert_str(str_of(back.digest), s.digest);
	assert_str(str_of(back.raw_digest), s.raw_digest);
	assert_str(back.uid, "u1");
	assert_str(back.api_version, "v1");
	assert_int_equal(back.after, 19);
	assert_true(json_equal(back.state, s.state));
	assert_true(json_equal(back.managed_fields, s.managed_fields));
	assert_string_not_equal(s.digest, s.raw_digest); /* what is ignored is in the raw state */
	assert_false(sighting_read(&back, STR("{}"), &arena));
}

static void test_sighting__survives_as_what_is_sent(void **state _unused_)
{
	struct sighting s = seen(OBJECT), back;
	struct json *j = json_object(&arena);
	s.is_live = s.is_after_gap = true;
	s.n_skipped = 3;
	s.settled = 18;
	s.gap_from = 17;
	sighting_add_look(j, &s, &arena);
	sighting_add_object(j, &s, &arena);
	assert_true(sighting_of_json(&back, j));
	assert_true(back.is_live && back.is_after_gap && !back.is_late && !back.is_gone && !back.is_released);
	assert_true(back.version == 20 && back.settled == 18 && back.n_skipped == 3 && back.seen_s == s.seen_s);
	assert_true(back.gap_from == 17);
	assert_str(encoded(back.ignore), "[\"/data/i\"]");
	assert_true(json_equal(back.state, s.state));
	assert_str(str_of(back.digest), s.digest);
	assert_false(sighting_of_json(&back, parse("{\"found\":\"Present\"}")));
	assert_false(sighting_of_json(&back, parse("{\"found\":\"Seen\",\"time\":\"2026-01-01T00:00:00Z\"}")));
	assert_true(sighting_of_json(&back, parse("{\"found\":\"Absent\",\"time\":\"2026-01-01T00:00:00Z\"}")) && back.is_gone);
	assert_true(sighting_of_json(&back, parse("{\"found\":\"Unselected\",\"time\":\"2026-01-01T00:00:00Z\"}")) &&
		back.is_released);
}

static const struct json *listing(const char *changes)
{
	return parse(arena_printf(&arena, "{\"status\":{\"changes\":[%s]}}", changes).p);
}

/* A change is listed by the version and the digest, and the last change of a version counts. */
static void test_listed__is_the_change_of_that_very_sighting(void **state _unused_)
{
#define CHANGE_AT(type, version, digest) \
	"{\"type\":\"" type "\",\"resourceVersion\":\"" version "\",\"digest\":\"" digest "\",\"number\":" version "}"
	struct sighting s = {.version = 20, .digest = "d"}, g = gone(20), r = {.version = 20, .is_released = true};
	const struct json *it = listing(
		CHANGE_AT("Created", "19", "c") "," CHANGE_AT("Changed", "20", "d") "," CHANGE_AT("Changed", "21", "c"));
	assert_int_equal(member_int(record_listed(it, &s), "number"), 20);
	assert_null(record_listed(it, &g));
	assert_null(record_listed(it, &r));
	assert_null(record_listed(NULL, &s));
	assert_null(record_listed(listing(CHANGE_AT("Changed", "20", "e")), &s));
	assert_null(record_listed(listing(CHANGE_AT("Changed", "20", "d") "," CHANGE_AT("Rerecorded", "20", "e")), &s));
	assert_non_null(record_listed(listing(CHANGE_AT("Deleted", "20", "")), &g));
	assert_non_null(record_listed(listing(CHANGE_AT("Released", "20", "")), &r));
	s.version = 0;
	assert_null(record_listed(listing(CHANGE_AT("Changed", "20", "d")), &s));
}

static struct str snapshot(enum record_step step, const struct sighting *s, const char *before)
{
	return encoded(record_snapshot(history("u1", "d", "20", ""), step, s, before ? parse(before) : NULL, 5, NULL, &arena));
}

#define ENVELOPE_START                                                                                                        \
	"{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"Snapshot\",\"metadata\":{\"namespace\":\"prod\"},\"spec\":{\"owner\":{" \
	"\"apiVersion\":\"annals.dev/"                                                                                        \
	"v1\",\"kind\":\"History\",\"name\":\"configmap.web-x\",\"uid\":\"h\",\"controller\":true,"                           \
	"\"blockOwnerDeletion\":true},\"labels\":{\"annals.dev/"                                                              \
	"history\":\"configmap.web-x\"},\"namePrefix\":\"configmap.web-x-\","                                                 \
	"\"historyLimit\":5,"

static void test_snapshot__tells_the_change(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	s.seen_s = 1767398400; /* 2026-01-03 */
	s.after = 19;
	struct str expected = arena_printf(&arena,
		ENVELOPE_START "\"data\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"web\","
			       "\"namespace\":\"prod\"},\"data\":{\"a\":\"1\"}},"
			       "\"change\":{\"type\":\"Changed\",\"paths\":[\"/data/"
			       "a\"],\"managers\":[\"m\"],\"time\":\"2026-01-03T00:00:00Z\","
			       "\"historyResourceVersion\":\"7\",\"resourceVersion\":\"20\","
			       "\"afterResourceVersion\":\"19\",\"uid\":\"u1\",\"apiVersion\":"
			       "\"v1\",\"writeDigest\":\"%s\","
			       "\"ignore\":[\"/data/i\"]}}}",
		s.raw_digest);
	assert_str(snapshot(RECORD_CHANGED, &s,
			   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"web\",\"namespace\":"
			   "\"prod\"},\"data\":{\"a\":\"0\"}}"),
		expected.p);
}

static void test_snapshot__of_nobodys_change_names_nobody(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	s.seen_s = 1767398400;
	s.after = 19;
	s.is_late = s.is_after_gap = true;
	s.cause = STR("cause");
	assert_str(snapshot(RECORD_RERECORDED, &s, NULL),
		ENVELOPE_START "\"data\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"web\","
			       "\"namespace\":\"prod\"},\"data\":{\"a\":\"1\"}},"
			       "\"change\":{\"type\":\"Rerecorded\",\"time\":\"2026-01-03T00:00:00Z\","
			       "\"historyResourceVersion\":\"7\",\"resourceVersion\":\"20\",\"uid\":\"u1\","
			       "\"apiVersion\":\"v1\",\"ignore\":[\"/data/i\"]}}}");
}

/* The next user did not change the API version. */
static void test_snapshot__another_api_version_is_no_changed_path(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	struct str text = snapshot(RECORD_CHANGED, &s,
		"{\"apiVersion\":\"v0\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"web\",\"namespace\":\"prod\"},"
		"\"data\":{\"a\":\"0\"}}");
	assert_true(str_contains(text, STR("\"paths\":[\"/data/a\"]")));
}

static void test_snapshot__of_a_deletion_has_no_state(void **state _unused_)
{
	struct sighting g = gone(30);
	g.seen_s = 1767398400;
	assert_str(snapshot(RECORD_DELETED, &g, NULL),
		ENVELOPE_START
		"\"change\":{\"type\":\"Deleted\",\"time\":\"2026-01-03T00:00:00Z\",\"historyResourceVersion\":\"7\","
		"\"resourceVersion\":\"30\"}}}");
}

static struct str time_told(enum record_step step, struct sighting *s, const char *before)
{
	const struct json *j =
		record_snapshot(history("u1", "d", "20", ""), step, s, before ? parse(before) : NULL, 5, NULL, &arena);
	return json_text(json_gets(json_gets(json_gets(j, "spec"), "change"), "time"));
}

/* Found after a pause: the managers know when it was, where they own it. */
static void test_snapshot__what_is_found_late_has_the_time_of_the_write(void **state _unused_)
{
	const char *changed = "{\"data\":{\"a\":\"0\"}}",
		   *removed = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"web\","
			      "\"namespace\":\"prod\"},\"data\":{\"a\":\"1\",\"gone\":\"1\"}}";
	struct sighting s = seen(OBJECT);
	s.seen_s = 1767398400;
	assert_str(time_told(RECORD_CHANGED, &s, changed), "2026-01-03T00:00:00Z");
	s.is_late = true;
	assert_str(time_told(RECORD_CHANGED, &s, changed), "2026-01-02T00:00:00Z");
	assert_str(time_told(RECORD_CREATED, &s, NULL), "2026-01-02T00:00:00Z");
	assert_str(time_told(RECORD_CHANGED, &s, removed), "2026-01-03T00:00:00Z");
	s.managed_fields = NULL;
	assert_str(time_told(RECORD_CREATED, &s, NULL), "2026-01-01T00:00:00Z");
}

static struct str gap_told(struct sighting *s, const char *before)
{
	const struct json *j = record_snapshot(parse(before), RECORD_CHANGED, s, NULL, 5, NULL, &arena);
	const struct json *change = json_gets(json_gets(json_gets(j, "spec"), "change"), "gap");
	return change ? encoded(change) : STR("");
}

#define LAST(more) LAST_OF("StatefulSet", more)
#define LAST_OF(kind, more)                                                                                               \
	"{\"spec\":{\"subject\":{\"group\":\"apps\",\"kind\":\"" kind                                                     \
	"\"}},\"status\":{\"uid\":\"u1\",\"changes\":[{\"resourceVersion\":\"12\",\"time\":\"2026-01-01T00:00:00Z\"" more \
	"}]}}"
#define GAP(more) "{\"resourceVersion\":\"12\",\"time\":\"2026-01-01T00:00:00Z\"" more "}"

static void test_snapshot__says_what_is_known_of_missing_states(void **state _unused_)
{
	struct sighting s = seen(OBJECT);
	assert_str(gap_told(&s, LAST("")), "");
	s.is_after_gap = true;
	assert_str(gap_told(&s, LAST("")), GAP(""));
	s.generation = 7;
	assert_str(gap_told(&s, LAST(",\"generation\":4")), GAP(",\"states\":2"));
	assert_str(gap_told(&s, LAST(",\"generation\":6")), GAP(""));
	assert_str(gap_told(&s, LAST_OF("Deployment", ",\"generation\":4")), GAP("")); /* annotations raise it, too */
	s.n_skipped = 5;
	assert_str(gap_told(&s, LAST(",\"generation\":4")), GAP(",\"states\":5"));
	s.uid = STR("u2"); /* another object: its generations say nothing */
	s.n_skipped = 0;
	assert_str(gap_told(&s, LAST(",\"generation\":4")), GAP(""));
	s.version = 12; /* other rules make another state of the recorded version */
	assert_str(gap_told(&s, LAST("")), "");
	s.version = 20;
	assert_str(gap_told(&s, "{\"status\":{}}"), ""); /* nothing was recorded before */
	s.gap_from = 20;
	assert_str(gap_told(&s, "{\"status\":{}}"), ""); /* nobody wrote it in the gap */
	s.gap_from = 19;
	assert_str(gap_told(&s, "{\"status\":{}}"), "{\"resourceVersion\":\"19\"}");
	assert_str(gap_told(&s, LAST("")), GAP(""));
	s.gap_from = 0;
	s.n_skipped = 2; /* these were seen */
	assert_str(gap_told(&s, "{\"status\":{}}"), "{\"states\":2}");
}

static void test_expired__counts_from_the_deletion(void **state _unused_)
{
	const int64_t new_year = 1767225600;
	assert_false(record_is_expired(history("u", "d", "1", ""), 10, new_year + 100));
	assert_false(record_is_expired(history("u", "d", "1", GONE), 10, new_year + 9));
	assert_true(record_is_expired(history("u", "d", "1", GONE), 10, new_year + 10));
}

/* ---- which Recorder ---- */

#define RULE(groups, resources) "{\"groups\":[" groups "],\"resources\":[" resources "]}"

static void test_recordings__name_resources(void **state _unused_)
{
	struct recording *r = recorder_of("n",
		"{\"resources\":[" RULE("\"apps\",\"\"", "\"a\"") "," RULE("\"*\"", "\"b\"") "," RULE("\"c\"", "\"*\"") "]}");
	assert_true(recording_names(r, STR("apps"), STR("a")) && recording_names(r, STR(""), STR("a")));
	assert_true(recording_names(r, STR("any"), STR("b")) && recording_names(r, STR("c"), STR("any")));
	assert_false(recording_names(r, STR("any"), STR("a")) || recording_names(r, STR("apps"), STR("c")));
	recording_unref(r);
	assert_true(record_leaves_out(STR("annals.dev"), STR("histories")) && record_leaves_out(STR(""), STR("events")));
	assert_true(record_leaves_out(STR("apps"), STR("controllerrevisions")));
	assert_false(record_leaves_out(STR("apps"), STR("events")) || record_leaves_out(STR(""), STR("leases")));
}

static struct str selected(const struct recordings *all, const char *object, const char *labels)
{
	const struct recording *r = recordings_select(all, parse(object), labels ? parse(labels) : NULL, &arena);
	return r ? r->name : STR("none");
}

#define RULES "\"resources\":[" RULE("\"\"", "\"configmaps\"") "]"

static void test_recordings__the_first_that_matches_counts(void **state _unused_)
{
	struct recording *v[] = {recorder_of("a", "{" RULES ",\"objectSelector\":{\"matchLabels\":{\"app\":\"a\"}}}"),
		recorder_of("b", "{" RULES ",\"namespaceSelector\":{\"matchLabels\":{\"env\":\"prod\"}}}"),
		recorder_of("c", "{\"resources\":[]}")};
	const struct recordings all = {v, ARRAY_SIZE(v)};
	struct recordings picked;
	recordings_pick(&picked, &all, STR(""), STR("configmaps"));
	assert_int_equal(picked.n, 2);
	assert_true(recordings_need_namespaces(&picked));
	assert_str(selected(&picked, "{\"metadata\":{\"namespace\":\"n\",\"labels\":{\"app\":\"a\"}}}", "{\"env\":\"prod\"}"),
		"a");
	assert_str(selected(&picked, "{\"metadata\":{\"namespace\":\"n\"}}", "{\"env\":\"prod\"}"), "b");
	assert_str(selected(&picked, "{\"metadata\":{\"namespace\":\"n\"}}", "{}"), "none");
	assert_str(selected(&picked, "{\"metadata\":{\"namespace\":\"n\"}}", NULL), "none");
	assert_str(selected(&picked, "{\"metadata\":{}}", NULL), "b"); /* in no namespace */
	assert_true(recordings_tell_apart(&picked, parse("{}"), parse("{\"env\":\"prod\"}"), &arena));
	assert_false(recordings_tell_apart(&picked, parse("{}"), parse("{\"env\":\"test\"}"), &arena));
	recordings_done(&picked);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		recording_unref(v[i]);
	}
}

/* Whoever may record a resource of one namespace must not have the Histories of all others deleted early. */
static void test_recordings__the_longest_time_counts_for_deleted_objects(void **state _unused_)
{
	struct recording *v[] = {recorder_of("a", "{" RULES ",\"keepDeleted\":\"0s\"}"),
		recorder_of("b", "{" RULES ",\"keepDeleted\":\"2h0m0s\"}"),
		recorder_of("c", "{" RULES ",\"keepDeleted\":\"1s\"}")};
	const struct recordings all = {v, ARRAY_SIZE(v)}, none = {v, 0};
	assert_int_equal(recordings_keep_deleted_s(&all), 2 * 3600);
	assert_int_equal(recordings_keep_deleted_s(&(struct recordings){v, 1}), 0);
	assert_int_equal(recordings_keep_deleted_s(&none), INT32_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		recording_unref(v[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_PLAN(test_decide__the_first_change_creates),
		TEST_PLAN(test_decide__a_state_that_is_recorded_is_nothing),
		TEST_PLAN(test_decide__another_uid_or_a_deletion_before_is_a_creation),
		TEST_PLAN(test_decide__a_deleted_object_does_not_return),
		TEST_PLAN(test_decide__a_deletion_is_told_once),
		TEST_PLAN(test_decide__what_is_older_than_the_history_is_looked_at),
		TEST_PLAN(test_decide__what_no_recorder_selects_is_released_once),
		TEST_PLAN(test_decide__other_rules_are_nobodys_change),
		TEST_PLAN(test_decide__another_api_version_is_nobodys_change),
		TEST_PLAN(test_decide__what_an_older_recorder_left_out_is_nobodys_change),
		TEST_PLAN(test_sighting__survives_as_text),
		TEST_PLAN(test_sighting__survives_as_what_is_sent),
		TEST_PLAN(test_listed__is_the_change_of_that_very_sighting),
		TEST_PLAN(test_snapshot__of_nobodys_change_names_nobody),
		TEST_PLAN(test_snapshot__another_api_version_is_no_changed_path),
		TEST_PLAN(test_snapshot__tells_the_change),
		TEST_PLAN(test_snapshot__of_a_deletion_has_no_state),
		TEST_PLAN(test_snapshot__what_is_found_late_has_the_time_of_the_write),
		TEST_PLAN(test_snapshot__says_what_is_known_of_missing_states),
		TEST_PLAN(test_expired__counts_from_the_deletion),
		TEST_PLAN(test_recordings__name_resources),
		TEST_PLAN(test_recordings__the_first_that_matches_counts),
		TEST_PLAN(test_recordings__the_longest_time_counts_for_deleted_objects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
