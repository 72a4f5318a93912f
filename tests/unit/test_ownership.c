/* Who owns what (controllers/kit/ownership.h), decision by decision: seed 001's laws, its table of watches, and names read exactly. */
#include "controllers/kit/adoption.h"
#include "controllers/kit/family.h"
#include "controllers/kit/own_writes.h"
#include "controllers/kit/route.h"
#include "tests/unit/check.h"
#include "tests/unit/items.h"
#include "tests/unit/script_server.h"

#define WEB_REF "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"u-web\",\"controller\":true}"
#define OTHER_REF \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"other\",\"uid\":\"u-other\",\"controller\":true}"
#define OWNERS(list) "\"ownerReferences\":[" list "]"
#define DELETING "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""

static struct arena *arena;

static int set_up(void **state _unused_)
{
	arena = mem_new(struct arena);
	arena_init(arena, 1 << 20);
	return 0;
}

static int tear_down(void **state _unused_)
{
	arena_done(arena);
	mem_free(arena);
	return 0;
}

/* metadata with these members. */
static struct json *meta(const char *members)
{
	struct json *v;
	size_t at;
	struct str text = arena_printf(arena, "{%s}", members);
	assert_int_equal(json_parse(&v, arena, text, JSON_LIMITS_DEFAULT, &at), 0);
	return v;
}

static const struct owner web = {
	.api_version = {"apps/v1", 7},
	.kind = {"StatefulSet", 11},
	.ns = {"ns", 2},
	.name = {"web", 3},
	.uid = {"u-web", 5},
};

/* ---- names ---- */

/* seeds: R38 R36 */
static void test_ordinal__is_read_exactly(void **state _unused_)
{
	static const struct {
		const char *set, *name;
		int64_t ordinal;
	} cases[] = {
		{"web", "web-0", 0},
		{"web", "web-1", 1},
		{"web", "web-10", 10},
		{"web", "web-2147483647", 2147483647},
		{"web", "web-2147483648", -1},
		{"web", "web-99999999999999999999", -1},
		{"web", "web-01", -1},
		{"web", "web-00", -1},
		{"web", "web-0x1", -1},
		{"web", "web--1", -1},
		{"web", "web-+1", -1},
		{"web", "web- 1", -1},
		{"web", "web-1 ", -1},
		{"web", "web-1-0", -1},
		{"web-1", "web-1-0", 0},
		{"web", "web-", -1},
		{"web", "web", -1},
		{"web", "webb-1", -1},
		{"web", "we-1", -1},
		{"web", "Web-1", -1},
		{"web", "x-web-1", -1},
		{"web.a", "web.a-7", 7},
		{"1", "1-1", 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (ownership_ordinal(str_of(cases[i].set), str_of(cases[i].name)) != cases[i].ordinal) {
			fail_msg("%s of %s", cases[i].name, cases[i].set);
		}
	}
}

/* ---- claims ---- */

/* seeds: R6 R39 */
static void test_controller__is_the_reference_that_says_true(void **state _unused_)
{
	struct owner_reference ref;

	assert_false(ownership_controller(meta(""), &ref));
	assert_false(ownership_controller(meta(OWNERS("")), &ref));
	assert_false(ownership_controller(meta(OWNERS("{\"kind\":\"A\",\"uid\":\"a\"}")), &ref));
	assert_false(ownership_controller(meta(OWNERS("{\"kind\":\"A\",\"uid\":\"a\",\"controller\":false}")), &ref));
	assert_false(ownership_controller(meta("\"annotations\":{\"kubernetes.io/created-by\":\"web\"}"), &ref));
	assert_true(ownership_controller(meta(OWNERS("{\"kind\":\"A\",\"uid\":\"a\",\"controller\":false}," WEB_REF)), &ref));
	assert_true(str_is(ref.uid, "u-web") && str_is(ref.name, "web") && str_is(ref.kind, "StatefulSet"));
}

/* seeds: R9 R11 R13 R15 R17 R20 R21 */
static void test_claim__goes_by_the_controller_then_by_what_matches(void **state _unused_)
{
	static const struct {
		const char *meta;
		bool is_leaving, matches;
		enum claim claim;
	} cases[] = {
		{OWNERS(WEB_REF), false, true, CLAIM_KEPT},
		{OWNERS(WEB_REF), false, false, CLAIM_RELEASED},
		{OWNERS(WEB_REF), true, false, CLAIM_KEPT},
		{OWNERS(WEB_REF), true, true, CLAIM_KEPT},
		{OWNERS(WEB_REF) "," DELETING, false, false, CLAIM_RELEASED},
		{OWNERS(OTHER_REF), false, true, CLAIM_IGNORED},
		{OWNERS(OTHER_REF), false, false, CLAIM_IGNORED},
		{"", false, true, CLAIM_ADOPTED},
		{"", false, false, CLAIM_IGNORED},
		{"", true, true, CLAIM_IGNORED},
		{DELETING, false, true, CLAIM_IGNORED},
		/* The uid counts: of a set of that name which is no more, it is somebody else's. */
		{OWNERS("{\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"u-old\",\"controller\":true}"), false, true,
			CLAIM_IGNORED},
		/* A mere owner controls nothing. */
		{OWNERS("{\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"u-web\"}"), false, true, CLAIM_ADOPTED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct owner o = web;
		o.is_deleting = cases[i].is_leaving;
		if (ownership_claim(&o, meta(cases[i].meta), cases[i].matches) != cases[i].claim) {
			fail_msg("case %zu: %s", i, cases[i].meta);
		}
	}
}

/* seeds: R13 R20 R42 */
static void test_patches__name_the_object_and_change_its_reference_alone(void **state _unused_)
{
	_cleanup_(buf_done) struct buf adoption, release;

	buf_init(&adoption, 4096);
	buf_init(&release, 4096);
	ownership_write_adoption(&web, STR("u-pod"), &adoption);
	assert_str(buf_str(&adoption),
		"{\"metadata\":{\"uid\":\"u-pod\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\","
		"\"name\":\"web\",\"uid\":\"u-web\",\"controller\":true,\"blockOwnerDeletion\":true}]}}");
	ownership_write_release(&web, STR("u-pod"), &release);
	assert_str(buf_str(&release),
		"{\"metadata\":{\"uid\":\"u-pod\",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"u-web\"}]}}");
}

/* ---- adoption and release, against a server that says what stands here ---- */

static const struct resource pods = {{"", 0}, {"v1", 2}, {"pods", 4}};
static const struct resource sets = {{"apps", 4}, {"v1", 2}, {"statefulsets", 12}};

#define SET_PATH "GET /apis/apps/v1/namespaces/ns/statefulsets/web HTTP/1.1\r\n"
#define POD_PATH(name) "PATCH /api/v1/namespaces/ns/pods/" name " HTTP/1.1\r\n"
#define OBJECT(uid, more)                                                                     \
	"{\"kind\":\"X\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web\",\"uid\":\"" uid \
	"\",\"resourceVersion\":\"7\"" more "}}"
#define STATUS(code, reason, name)                                                                                  \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason \
	"\",\"message\":\"because\",\"details\":{\"name\":\"" name "\",\"kind\":\"pods\"}}"
#define STEP(expected, code, body)                       \
	{                                                \
		expected, SCRIPT_WHOLE, code, NULL, body \
	}

struct scene {
	struct script *script;
	struct client *client;
	struct target set;
	struct adoption adoption;
};

static void open_scene(struct scene *s, const struct script_step *steps, size_t n)
{
	_cleanup_(buf_done) struct buf err;

	buf_init(&err, 4096);
	s->script = script_start(steps, n);
	char *url = script_url(s->script);
	assert_int_equal(client_new(&s->client, &(struct client_config){.server = url}, &err), 0);
	mem_free(url);
	s->set = (struct target){.resource = &sets, .namespace = STR("ns"), .name = STR("web")};
	s->adoption = (struct adoption){.client = s->client, .owner = &web, .owner_target = &s->set, .arena = arena};
}

/* All that the script has was asked for, and nothing else. */
static void close_scene(struct scene *s)
{
	client_free(s->client);
	script_stop(s->script);
}

#define SCENE(s, ...)                                      \
	const struct script_step steps_[] = {__VA_ARGS__}; \
	struct scene s;                                    \
	open_scene(&s, steps_, ARRAY_SIZE(steps_))

static enum adoption_result take(struct scene *s, const char *name)
{
	_cleanup_(answer_done) struct answer answer;
	const struct target t = {.resource = &pods, .namespace = STR("ns"), .name = str_of(name)};
	answer_init(&answer);
	return adoption_take(&s->adoption, &t, STR("u-p"), &answer);
}

static enum adoption_result let_go(struct scene *s, const char *name)
{
	_cleanup_(answer_done) struct answer answer;
	const struct target t = {.resource = &pods, .namespace = STR("ns"), .name = str_of(name)};
	answer_init(&answer);
	return adoption_let_go(&s->adoption, &t, STR("u-p"), &answer);
}

/* seeds: R16 */
static void test_adoption__reads_the_owner_once_before_the_first(void **state _unused_)
{
	SCENE(s, STEP(SET_PATH, 200, OBJECT("u-web", "")), STEP(POD_PATH("web-0"), 200, OBJECT("u-p", "")),
		STEP(POD_PATH("web-1"), 200, OBJECT("u-p", "")));
	assert_int_equal(take(&s, "web-0"), ADOPTION_DONE);
	assert_int_equal(take(&s, "web-1"), ADOPTION_DONE);
	close_scene(&s);
}

/* seeds: R16 R15 */
static void test_adoption__is_none_by_an_owner_that_goes(void **state _unused_)
{
	SCENE(s, STEP(SET_PATH, 200, OBJECT("u-web", "," DELETING)));
	assert_int_equal(take(&s, "web-0"), ADOPTION_FAILED);
	assert_str(s.adoption.problem, "ns/web has just been deleted at 2026-01-01T00:00:00Z");
	assert_int_equal(take(&s, "web-1"), ADOPTION_FAILED);
	close_scene(&s);
}

/* seeds: R16 */
static void test_adoption__is_none_by_another_owner_of_that_name(void **state _unused_)
{
	SCENE(s, STEP(SET_PATH, 200, OBJECT("u-new", "")));
	assert_int_equal(take(&s, "web-0"), ADOPTION_FAILED);
	close_scene(&s);
}

/* seeds: R14 */
static void test_adoption__is_lost_to_who_came_first(void **state _unused_)
{
	SCENE(s, STEP(SET_PATH, 200, OBJECT("u-web", "")), STEP(POD_PATH("web-0"), 422, STATUS(422, "Invalid", "web-0")),
		STEP(POD_PATH("web-1"), 404, STATUS(404, "NotFound", "web-1")),
		STEP(POD_PATH("web-2"), 404, "404 page not found"));
	assert_int_equal(take(&s, "web-0"), ADOPTION_FAILED); /* the pass ends; the next one finds another's reference */
	assert_str(s.adoption.problem, "because");
	assert_int_equal(take(&s, "web-1"), ADOPTION_GONE);
	assert_int_equal(take(&s, "web-2"), ADOPTION_FAILED); /* whoever said that, it was not about a pod */
	close_scene(&s);
}

/* seeds: R22 */
static void test_release__of_what_is_gone_or_has_changed_is_no_error(void **state _unused_)
{
	SCENE(s, STEP(POD_PATH("a"), 200, OBJECT("u-p", "")), STEP(POD_PATH("b"), 404, STATUS(404, "NotFound", "b")),
		STEP(POD_PATH("c"), 422, STATUS(422, "Invalid", "c")), STEP(POD_PATH("d"), 409, STATUS(409, "Conflict", "d")),
		STEP(POD_PATH("e"), 403, STATUS(403, "Forbidden", "e")), STEP(POD_PATH("f"), 404, "404 page not found"));
	assert_int_equal(let_go(&s, "a"), ADOPTION_DONE);
	assert_int_equal(let_go(&s, "b"), ADOPTION_GONE);
	assert_int_equal(let_go(&s, "c"), ADOPTION_GONE);
	assert_int_equal(let_go(&s, "d"), ADOPTION_GONE);
	assert_int_equal(let_go(&s, "e"), ADOPTION_FAILED);
	assert_int_equal(let_go(&s, "f"), ADOPTION_FAILED);
	close_scene(&s);
}

/* ---- whom an event concerns ---- */

#define LABELS(value) "\"labels\":{\"app\":\"" value "\"}"

/* seeds: R23 R27 */
static void test_route__of_what_comes(void **state _unused_)
{
	assert_int_equal(route_added(meta(OWNERS(WEB_REF) "," LABELS("web"))), ROUTE_OWNER);
	assert_int_equal(route_added(meta(LABELS("web"))), ROUTE_MATCHING);
	assert_int_equal(route_added(meta("")), ROUTE_MATCHING);
	/* It is going when it is first seen: as a deletion. */
	assert_int_equal(route_added(meta(OWNERS(WEB_REF) "," DELETING)), ROUTE_OWNER);
	assert_int_equal(route_added(meta(LABELS("web") "," DELETING)), 0);
}

/* seeds: R25 R26 R29 */
static void test_route__of_what_changes(void **state _unused_)
{
	const struct json *ours = meta(OWNERS(WEB_REF) "," LABELS("web")), *theirs = meta(OWNERS(OTHER_REF) "," LABELS("web"));
	const struct json *nobodys = meta(LABELS("web")), *relabelled = meta(LABELS("else"));
	const struct json *renamed =
		meta(OWNERS("{\"kind\":\"StatefulSet\",\"name\":\"wab\",\"uid\":\"u-web\",\"controller\":true}"));

	assert_int_equal(route_updated(ours, ours), ROUTE_OWNER);
	assert_int_equal(route_updated(ours, theirs), ROUTE_OWNER | ROUTE_OLD_OWNER);
	assert_int_equal(route_updated(ours, renamed), ROUTE_OWNER | ROUTE_OLD_OWNER);
	assert_int_equal(route_updated(ours, nobodys), ROUTE_OLD_OWNER | ROUTE_MATCHING);
	assert_int_equal(route_updated(nobodys, ours), ROUTE_OWNER);
	assert_int_equal(route_updated(nobodys, nobodys), 0);
	assert_int_equal(route_updated(nobodys, meta(LABELS("web") ",\"resourceVersion\":\"9\"")), 0);
	assert_int_equal(route_updated(nobodys, relabelled), ROUTE_MATCHING);
	assert_int_equal(route_updated(relabelled, nobodys), ROUTE_MATCHING);
}

/* seeds: R28 R30 */
static void test_route__of_what_goes(void **state _unused_)
{
	assert_int_equal(route_deleted(meta(OWNERS(WEB_REF) "," LABELS("web"))), ROUTE_OWNER);
	assert_int_equal(route_deleted(meta(LABELS("web"))), 0);
}

/* seeds: R23 */
static void test_route__needs_kind_name_and_uid_to_agree(void **state _unused_)
{
	static const struct {
		const char *kind, *name, *uid;
		bool is_it;
	} cases[] = {
		{"StatefulSet", "web", "u-web", true},
		{"ReplicaSet", "web", "u-web", false},
		{"StatefulSet", "other", "u-web", false},
		{"StatefulSet", "web", "u-old", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct owner_reference ref = {.kind = str_of(cases[i].kind),
			.name = str_of(cases[i].name),
			.uid = str_of(cases[i].uid),
			.is_controller = true};
		assert_int_equal(route_is_owner(&ref, &web), cases[i].is_it);
	}
}

/* ---- own writes ---- */

static uint64_t version_seen(void *ctx, unsigned kind)
{
	const uint64_t *seen = ctx;
	return seen[kind];
}

/* seeds: R24 R27 R28 R32 */
static void test_own_writes__are_charged_to_their_owner_alone(void **state _unused_)
{
	struct own_writes w;
	uint64_t seen[OWN_WRITES_KINDS] = {10, 10, 10, 10};

	own_writes_init(&w, version_seen, seen);
	assert_int_equal(own_writes_behind(&w, STR("u-web")), -1);
	own_writes_note(&w, STR("u-web"), 1, STR("12"));
	own_writes_note(&w, STR("u-web"), 1, STR("11")); /* answers may come in any order */
	own_writes_note(&w, STR("u-web"), 0, STR("9"));
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 1);
	assert_int_equal(own_writes_behind(&w, STR("u-other")), -1);
	/* Another kind's progress is not this one's. */
	seen[0] = seen[2] = seen[3] = 50;
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 1);
	seen[1] = 11;
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 1);
	seen[1] = 12;
	assert_int_equal(own_writes_behind(&w, STR("u-web")), -1);
	own_writes_note(&w, STR("u-web"), 3, STR("60"));
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 3);
	own_writes_forget(&w, STR("u-web"));
	assert_int_equal(own_writes_behind(&w, STR("u-web")), -1);
	own_writes_note(&w, STR("u-web"), 0, STR("not a version"));
	assert_int_equal(own_writes_behind(&w, STR("u-web")), -1);
	own_writes_done(&w);
}

static uint64_t seen_all(void *ctx _unused_, unsigned kind _unused_)
{
	return 100;
}

static struct str doubtful(struct own_writes *w, const char *uid, struct buf *name)
{
	unsigned kind = 0;

	buf_clear(name);
	if (own_writes_is_doubtful(w, str_of(uid), &kind, name)) {
		buf_printf(name, " %u", kind);
	}
	return buf_str(name);
}

/* seeds: R24 */
static void test_own_writes__a_lost_answer_leaves_the_object_in_doubt(void **state _unused_)
{
	struct own_writes w;
	struct buf name;

	buf_init(&name, 4096);
	own_writes_init(&w, seen_all, NULL);
	assert_str(doubtful(&w, "u-web", &name), "");
	own_writes_doubt(&w, STR("u-web"), 1, STR("web-1"));
	own_writes_doubt(&w, STR("u-web"), 1, STR("web-1"));
	assert_str(doubtful(&w, "u-web", &name), "web-1 1");
	assert_str(doubtful(&w, "u-other", &name), "");
	assert_int_equal(own_writes_behind(&w, STR("u-web")), -1); /* there is no version to wait for */
	own_writes_note(&w, STR("u-web"), 1, STR("50"));
	own_writes_believe(&w, STR("u-web"), 1, STR("web-2"));
	own_writes_believe(&w, STR("u-web"), 0, STR("web-1"));
	own_writes_believe(&w, STR("u-other"), 1, STR("web-1"));
	assert_str(doubtful(&w, "u-web", &name), "web-1 1"); /* others do not clear it */
	own_writes_doubt(&w, STR("u-web"), 3, STR("web-5f"));
	own_writes_believe(&w, STR("u-web"), 1, STR("web-1"));
	assert_str(doubtful(&w, "u-web", &name), "web-5f 3");
	own_writes_believe(&w, STR("u-web"), 3, STR("web-5f"));
	assert_str(doubtful(&w, "u-web", &name), "");
	own_writes_believe(&w, STR("u-web"), 3, STR("web-5f"));
	own_writes_doubt(&w, STR("u-web"), 2, STR("web"));
	own_writes_forget(&w, STR("u-web"));
	assert_str(doubtful(&w, "u-web", &name), "");
	own_writes_doubt(&w, STR("u-web"), 2, STR("web")); /* of which no doubt is left behind */
	own_writes_done(&w);
	buf_done(&name);
}

/* A backup was restored: its versions are below those that were written. */
static void test_own_writes__are_not_waited_for_when_versions_go_back(void **state _unused_)
{
	struct own_writes w;
	uint64_t seen[OWN_WRITES_KINDS] = {100, 100, 100, 100};

	own_writes_init(&w, version_seen, seen);
	own_writes_note(&w, STR("u-web"), 0, STR("120"));
	own_writes_note(&w, STR("u-web"), 3, STR("130"));
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 0);
	seen[0] = 0; /* the informer begins again: nobody acts on what it still has */
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 0);
	assert_int_equal(own_writes_behind(&w, STR("u-other")), 0);
	seen[0] = 50;
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 3);
	assert_int_equal(own_writes_behind(&w, STR("u-other")), -1);
	seen[3] = 130;
	assert_int_equal(own_writes_behind(&w, STR("u-web")), -1);
	/* What is written from now on counts as ever. */
	own_writes_note(&w, STR("u-web"), 0, STR("60"));
	assert_int_equal(own_writes_behind(&w, STR("u-web")), 0);
	seen[0] = 60;
	assert_int_equal(own_writes_behind(&w, STR("u-web")), -1);
	own_writes_done(&w);
}

/* ---- families ---- */

#define POD(name, uid, more) "{" META(name, uid, "1", more) "}"
#define OF_WEB "," OWNERS(WEB_REF)
#define OF_OTHER "," OWNERS(OTHER_REF)

static void put(struct family *f, const char *text)
{
	_cleanup_(item_unrefp) struct item *item = make_item(text);
	family_put(f, item);
}

/* The names of those that family_of() gives, each once. */
static void assert_family(struct family *f, const char *owner, const char *ns, const char *const *names, size_t n_names)
{
	struct item **items;
	size_t n = family_of(f, str_of(owner), str_of(ns), &items);

	assert_int_equal(n, n_names);
	for (size_t i = 0; i < n_names; i++) {
		size_t found = 0;
		for (size_t j = 0; j < n; j++) {
			found += str_is(items[j]->name, names[i]);
		}
		assert_int_equal(found, 1);
	}
	family_release(items, n);
}

/* The namespace, then names. */
#define ASSERT_FAMILY(f, owner, ...)                                                        \
	do {                                                                                \
		const char *const texts_[] = {__VA_ARGS__};                                 \
		assert_family((f), (owner), texts_[0], texts_ + 1, ARRAY_SIZE(texts_) - 1); \
	} while (0)

/* seeds: R10 R11 */
static void test_family__is_one_s_own_and_the_orphans(void **state _unused_)
{
	struct family f;

	family_init(&f, false);
	put(&f, POD("web-0", "1", OF_WEB));
	put(&f, POD("web-1", "2", OF_WEB));
	put(&f, POD("other-0", "3", OF_OTHER));
	put(&f, POD("stray", "4", ""));
	ASSERT_FAMILY(&f, "u-web", "ns", "web-0", "web-1", "stray");
	ASSERT_FAMILY(&f, "u-other", "ns", "other-0", "stray");
	ASSERT_FAMILY(&f, "u-nobody", "ns", "stray");
	ASSERT_FAMILY(&f, "u-web", "elsewhere", "web-0", "web-1");
	family_done(&f);
}

static void test_family__follows_its_members(void **state _unused_)
{
	struct family f;

	family_init(&f, false);
	put(&f, POD("a", "1", OF_WEB));
	put(&f, POD("a", "1", OF_OTHER));
	ASSERT_FAMILY(&f, "u-web", "ns");
	ASSERT_FAMILY(&f, "u-other", "ns", "a");
	put(&f, POD("a", "1", ""));
	ASSERT_FAMILY(&f, "u-other", "ns", "a");
	ASSERT_FAMILY(&f, "u-other", "elsewhere");
	_cleanup_(item_unrefp) struct item *found = family_get(&f, STR("1"));
	assert_str(found->name, "a");
	/* Another object has taken its name. */
	_cleanup_(item_unrefp) struct item *next = make_item(POD("a", "2", OF_WEB));
	family_replace(&f, STR("1"), next);
	ASSERT_FAMILY(&f, "u-web", "ns", "a");
	assert_null(family_get(&f, STR("1")));
	family_remove(&f, STR("2"));
	put(&f, POD("a", "1", ""));
	family_remove(&f, STR("1"));
	family_remove(&f, STR("1"));
	ASSERT_FAMILY(&f, "u-other", "ns");
	assert_null(family_get(&f, STR("1")));
	family_done(&f);
}

static void test_family__of_owners_is_by_namespace(void **state _unused_)
{
	struct family f;

	family_init(&f, true);
	put(&f, POD("a", "1", OF_WEB));
	put(&f, POD("b", "2", ""));
	ASSERT_FAMILY(&f, "", "ns", "a", "b");
	ASSERT_FAMILY(&f, "", "n");
	family_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ordinal__is_read_exactly),
		TEST(test_controller__is_the_reference_that_says_true),
		TEST(test_claim__goes_by_the_controller_then_by_what_matches),
		TEST(test_patches__name_the_object_and_change_its_reference_alone),
		TEST(test_adoption__reads_the_owner_once_before_the_first),
		TEST(test_adoption__is_none_by_an_owner_that_goes),
		TEST(test_adoption__is_none_by_another_owner_of_that_name),
		TEST(test_adoption__is_lost_to_who_came_first),
		TEST(test_release__of_what_is_gone_or_has_changed_is_no_error),
		TEST(test_route__of_what_comes),
		TEST(test_route__of_what_changes),
		TEST(test_route__of_what_goes),
		TEST(test_route__needs_kind_name_and_uid_to_agree),
		TEST(test_own_writes__a_lost_answer_leaves_the_object_in_doubt),
		TEST(test_own_writes__are_charged_to_their_owner_alone),
		TEST(test_own_writes__are_not_waited_for_when_versions_go_back),
		TEST(test_family__is_one_s_own_and_the_orphans),
		TEST(test_family__follows_its_members),
		TEST(test_family__of_owners_is_by_namespace),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
