/* What a replica decides, as rows: what it wants, says now, and sees of others. */
#include "storage/engine/agreement_table.h"
#include "tests/unit/check.h"

#define V1 "annals.dev/v1"
#define BETA "annals.dev/v1beta1"
#define APPS "apps/v1"
#define ALL V1 "," BETA "," APPS

enum { OTHERS_MAX = 3, ACKED = 50, SINCE = 40 };

/* Another replica, by what it says of ControllerRevisions, whose versions are V1, BETA and APPS. */
struct other {
	const char *encodes, *decodes; /* decodes: with commas; NULL: it does not know the kind */
	const char *problem;
	int64_t seen;
	bool has_no_lease;
};

struct world {
	struct arena arena;
	struct agreement_self self;
	struct agreement_view view;
	const struct kind *kind;
	struct agreement_replica replicas[OTHERS_MAX + 1];
	struct agreement_version versions[OTHERS_MAX + 1][KIND_COUNT_MAX];
};

static const struct version *version(const struct world *w, const char *version)
{
	return version ? kind_version(w->kind, str_of(version)) : NULL;
}

static void set_decodes(struct world *w, struct agreement_version *v, const char *text)
{
	struct str *all = arena_array(&w->arena, struct str, 4), rest = str_of(text);

	v->decodes = all;
	while (rest.n > 0) {
		str_cut(rest, ',', &all[v->n_decodes++], &rest);
	}
}

/* knows: versions, with commas. */
static void world_init(struct world *w, const char *wanted, const char *knows)
{
	*w = (struct world){.kind = kind_by_hub(STR("annals.dev"), STR("controllerrevisions"))};
	arena_init(&w->arena, SIZE_MAX);
	w->self.id = STR("self");
	storage_versions_init(&w->self.wanted);
	w->self.wanted.versions[w->kind->index] = version(w, wanted);
	for (struct str rest = str_of(knows), version; rest.n > 0;) {
		str_cut(rest, ',', &version, &rest);
		w->self.knows[w->kind->index] |= UINT32_C(1) << (kind_version(w->kind, version) - w->kind->versions);
	}
	w->view.replicas = w->replicas;
}

static void world_add(struct world *w, const struct other *o)
{
	size_t i = w->view.n_replicas++;
	struct agreement_version *v = &w->versions[i][w->kind->index];

	w->replicas[i] = (struct agreement_replica){
		.id = arena_printf(&w->arena, "other-%zu", i),
		.address = STR("10.0.0.7:6443"),
		.problem = str_of(o->problem),
		.mod_revision = 10,
		.seen = o->seen,
		.lease = o->has_no_lease ? 0 : 1,
		.versions = w->versions[i],
	};
	v->encodes = str_of(o->encodes);
	if (o->decodes) {
		set_decodes(w, v, o->decodes);
	}
}

static void world_add_all(struct world *w, const struct other *others)
{
	for (size_t i = 0; i < OTHERS_MAX && (others[i].decodes || others[i].problem || others[i].encodes); i++) {
		world_add(w, &others[i]);
	}
}

static const char *name_of(struct world *w, const struct version *v)
{
	return v ? version_api_version(v, &w->arena).p : "nothing";
}

static const struct choice_row {
	const char *wanted, *knows, *present;
	struct other others[OTHERS_MAX];
	const char *encodes;
	enum agreement_reason reason;
} choice_rows[] = {
	/* alone, and among those who can read everything: as wanted, whatever they write */
	{V1, ALL, NULL, {{0}}, V1, AGREEMENT_WANTED},
	{BETA, ALL, NULL, {{0}}, BETA, AGREEMENT_WANTED},
	{V1, ALL, BETA, {{0}}, V1, AGREEMENT_WANTED},
	{V1, ALL, NULL, {{.encodes = BETA, .decodes = ALL}}, V1, AGREEMENT_WANTED},
	{V1, ALL, BETA, {{.encodes = BETA, .decodes = ALL}, {.encodes = APPS, .decodes = ALL}}, V1, AGREEMENT_WANTED},
	/* somebody cannot read it: goes on, or does as others do */
	{V1, ALL, BETA, {{.encodes = BETA, .decodes = BETA}}, BETA, AGREEMENT_HELD_BACK},
	{V1, ALL, NULL, {{.encodes = BETA, .decodes = BETA}}, BETA, AGREEMENT_HELD_BACK},
	{V1, ALL, APPS, {{.encodes = BETA, .decodes = BETA "," APPS}}, APPS, AGREEMENT_HELD_BACK},
	{V1, ALL, NULL, {{.encodes = BETA, .decodes = BETA "," APPS}}, BETA, AGREEMENT_HELD_BACK},
	{V1, ALL, APPS, {{.encodes = BETA, .decodes = BETA}}, BETA, AGREEMENT_HELD_BACK},
	{V1, ALL, NULL, {{.encodes = V1, .decodes = ALL}, {.encodes = BETA, .decodes = BETA}}, BETA, AGREEMENT_HELD_BACK},
	/* no version of others will do, but one of ours, in the order of versions */
	{V1, ALL, NULL, {{.encodes = BETA, .decodes = BETA "," APPS}, {.encodes = APPS, .decodes = APPS}}, APPS,
		AGREEMENT_HELD_BACK},
	{APPS, ALL, NULL, {{.encodes = V1, .decodes = V1 "," BETA}, {.encodes = BETA, .decodes = BETA}}, BETA,
		AGREEMENT_HELD_BACK},
	/* nothing that all know: neither now nor by another choice */
	{V1, ALL, NULL, {{.encodes = BETA, .decodes = BETA}, {.encodes = APPS, .decodes = APPS}}, NULL, AGREEMENT_NO_VERSION},
	{V1, ALL, V1, {{.encodes = BETA, .decodes = BETA}, {.encodes = APPS, .decodes = APPS}}, NULL, AGREEMENT_NO_VERSION},
	/* who takes no part holds nobody back, nor does who does not know the kind */
	{V1, ALL, NULL, {{.encodes = NULL, .decodes = BETA}}, V1, AGREEMENT_WANTED},
	{V1, ALL, BETA, {{.encodes = "", .decodes = BETA}, {.encodes = V1, .decodes = ALL}}, V1, AGREEMENT_WANTED},
	{V1, ALL, NULL, {{.encodes = NULL, .decodes = NULL, .seen = 1}}, V1, AGREEMENT_WANTED},
	/* others write what we cannot read */
	{V1, V1, NULL, {{.encodes = BETA, .decodes = ALL}}, NULL, AGREEMENT_CANNOT_READ},
	{V1, V1, V1, {{.encodes = "annals.dev/v2", .decodes = "annals.dev/v2," ALL}}, NULL, AGREEMENT_CANNOT_READ},
	{BETA, BETA, NULL, {{.encodes = BETA, .decodes = ALL}, {.encodes = V1, .decodes = ALL}}, NULL, AGREEMENT_CANNOT_READ},
	/* a registration that says nothing: no new version, but what is written is written on */
	{V1, ALL, NULL, {{.problem = "it is not JSON"}}, NULL, AGREEMENT_FROZEN},
	{V1, ALL, V1, {{.problem = "it is not JSON"}}, V1, AGREEMENT_WANTED},
	{V1, ALL, BETA, {{.problem = "it is not JSON"}}, BETA, AGREEMENT_FROZEN},
	{V1, ALL, NULL, {{.problem = "it is not JSON"}, {.encodes = V1, .decodes = ALL}}, V1, AGREEMENT_WANTED},
	{V1, ALL, NULL, {{.problem = "it is not JSON"}, {.encodes = BETA, .decodes = ALL}}, BETA, AGREEMENT_FROZEN},
	{V1, ALL, NULL,
		{{.problem = "it is not JSON"}, {.encodes = BETA, .decodes = BETA "," APPS},
			{.encodes = APPS, .decodes = APPS}},
		APPS, AGREEMENT_HELD_BACK},
	{APPS, ALL, NULL,
		{{.problem = "it is not JSON"}, {.encodes = V1, .decodes = V1 "," BETA},
			{.encodes = V1, .decodes = V1 "," BETA}},
		V1, AGREEMENT_HELD_BACK},
};

static void test_agreement_choose__rows(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(choice_rows); i++) {
		const struct choice_row *row = &choice_rows[i];
		struct world w;

		world_init(&w, row->wanted, row->knows);
		world_add_all(&w, row->others);
		struct agreement_choice c = agreement_choose(&w.self, &w.view, w.kind, version(&w, row->present));
		if (c.encodes != version(&w, row->encodes) || c.reason != row->reason) {
			fail_msg("row %zu: %s for reason %d", i, name_of(&w, c.encodes), (int)c.reason);
		}
		assert_true((c.replica != NULL) == (c.reason != AGREEMENT_WANTED));
		arena_done(&w.arena);
	}
}

static const struct write_row {
	struct other others[OTHERS_MAX];
	bool may_write, is_common, can_read;
} write_rows[] = {
	/* of who has encoded V1 since SINCE, and knows it and BETA */
	{{{0}}, true, true, true},
	{{{.encodes = V1, .decodes = V1}}, true, true, true},
	{{{.encodes = V1, .decodes = V1}, {.encodes = V1, .decodes = ALL}}, true, true, true},
	{{{.encodes = BETA, .decodes = ALL}}, false, false, true},
	{{{.encodes = BETA, .decodes = ALL, .seen = SINCE - 1}}, false, false, true},
	{{{.encodes = BETA, .decodes = ALL, .seen = SINCE}}, true, false, true},
	{{{.encodes = BETA, .decodes = ALL, .seen = ACKED}}, true, false, true},
	{{{.encodes = BETA, .decodes = ALL, .seen = ACKED}, {.encodes = V1, .decodes = ALL}}, true, false, true},
	{{{.encodes = BETA, .decodes = ALL, .seen = ACKED}, {.encodes = BETA, .decodes = ALL}}, false, false, true},
	{{{.encodes = APPS, .decodes = ALL, .seen = ACKED}}, true, false, false},
	{{{.encodes = "annals.dev/v2", .decodes = "annals.dev/v2"}}, false, false, false},
	{{{.encodes = "", .decodes = BETA}}, true, true, true},
	{{{.encodes = NULL, .decodes = NULL, .seen = 1}}, true, true, true},
	{{{.problem = "it is not JSON"}}, false, false, true},
	{{{.problem = "it is not JSON", .seen = ACKED}}, true, false, true},
	{{{.problem = "it is under no lease", .has_no_lease = true}}, true, false, true},
};

static void test_agreement_may_write__rows(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(write_rows); i++) {
		const struct write_row *row = &write_rows[i];
		const struct agreement_replica *waits_for = NULL;
		struct world w;

		world_init(&w, V1, V1 "," BETA);
		world_add_all(&w, row->others);
		bool may_write = agreement_may_write(&w.self, &w.view, w.kind, version(&w, V1), SINCE, &waits_for);
		bool is_common = agreement_is_common(&w.self, &w.view, w.kind, version(&w, V1));
		bool can_read = !agreement_unreadable(&w.self, &w.view, w.kind);
		if (may_write != row->may_write || is_common != row->is_common || can_read != row->can_read) {
			fail_msg("row %zu: may write %d, common %d, can read %d", i, may_write, is_common, can_read);
		}
		assert_true(may_write == !waits_for);
		arena_done(&w.arena);
	}
}

/* Its registration is one that was made in the knowledge of all before. */
static void test_agreement_may_write__who_registers_later_has_seen(void **state _unused_)
{
	const struct agreement_replica *waits_for;
	struct world w;

	world_init(&w, V1, ALL);
	world_add(&w, &(struct other){.encodes = BETA, .decodes = ALL});
	w.replicas[0].mod_revision = SINCE + 1;
	assert_true(agreement_may_write(&w.self, &w.view, w.kind, version(&w, V1), SINCE, &waits_for));
	assert_false(agreement_is_common(&w.self, &w.view, w.kind, version(&w, V1)));
	arena_done(&w.arena);
}

static void test_agreement_is_common__not_when_there_are_more_than_can_be_seen(void **state _unused_)
{
	struct world w;

	world_init(&w, V1, ALL);
	assert_true(agreement_is_common(&w.self, &w.view, w.kind, version(&w, V1)));
	w.view.is_overfull = true;
	assert_false(agreement_is_common(&w.self, &w.view, w.kind, version(&w, V1)));
	arena_done(&w.arena);
}

static void test_agreement_newest__is_of_the_others(void **state _unused_)
{
	struct world w;

	world_init(&w, V1, ALL);
	assert_int_equal(agreement_newest(&w.self, &w.view), 0);
	world_add(&w, &(struct other){.encodes = V1, .decodes = ALL});
	world_add(&w, &(struct other){.encodes = V1, .decodes = ALL});
	w.replicas[1].id = w.self.id;
	w.replicas[1].mod_revision = 99;
	assert_int_equal(agreement_newest(&w.self, &w.view), 10);
	assert_ptr_equal(agreement_view_find(&w.view, STR("self")), &w.replicas[1]);
	assert_null(agreement_view_find(&w.view, STR("nobody")));
	arena_done(&w.arena);
}

static const struct sentence_row {
	const char *wanted, *knows, *present;
	struct other other;
	const char *text;
} sentence_rows[] = {
	{V1, ALL, V1, {.encodes = V1, .decodes = ALL}, "controllerrevisions.annals.dev is stored as " V1},
	{V1, ALL, BETA, {.encodes = BETA, .decodes = BETA},
		"controllerrevisions.annals.dev is stored as " BETA " rather than " V1
		", which replica other-0 (10.0.0.7:6443) cannot read"},
	{V1, V1, NULL, {.encodes = BETA, .decodes = ALL},
		"replica other-0 (10.0.0.7:6443) stores controllerrevisions.annals.dev as " BETA
		", which this server cannot read: it neither reads nor writes them"},
	{V1, ALL, BETA, {.problem = "it is not JSON"},
		"controllerrevisions.annals.dev is still stored as " BETA " rather than " V1
		": nobody begins to write another version while the registration of replica other-0 (10.0.0.7:6443) cannot be "
		"understood (it is not JSON)"},
	{V1, ALL, NULL, {.problem = "it is not JSON"},
		"controllerrevisions.annals.dev is not written, as " V1
		": nobody begins to write another version while the registration of replica other-0 (10.0.0.7:6443) cannot be "
		"understood (it is not JSON)"},
	{V1, V1 "," BETA, NULL, {.encodes = BETA, .decodes = APPS},
		"controllerrevisions.annals.dev cannot be written: replica other-0 (10.0.0.7:6443) cannot read " V1
		", and there is no version that all servers know"},
};

static void test_agreement_explain__names_replica_and_version(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(sentence_rows); i++) {
		const struct sentence_row *row = &sentence_rows[i];
		_cleanup_(buf_done) struct buf text;
		struct world w;

		buf_init(&text, 4096);
		world_init(&w, row->wanted, row->knows);
		world_add(&w, &row->other);
		struct agreement_choice c = agreement_choose(&w.self, &w.view, w.kind, version(&w, row->present));
		agreement_explain_choice(&w.self, w.kind, &c, &text);
		assert_str(buf_str(&text), row->text);
		arena_done(&w.arena);
	}
}

static void test_agreement_explain__says_who_is_waited_for(void **state _unused_)
{
	_cleanup_(buf_done) struct buf text;
	struct world w;

	buf_init(&text, 4096);
	world_init(&w, V1, ALL);
	world_add(&w, &(struct other){.encodes = BETA, .decodes = ALL});
	w.replicas[0].id = STR("a\nb");
	agreement_explain_wait(w.kind, version(&w, V1), &w.replicas[0], &text);
	assert_str(buf_str(&text),
		"replica a?b (10.0.0.7:6443) has yet to see that controllerrevisions.annals.dev will be stored as " V1);
	arena_done(&w.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_agreement_choose__rows),
		TEST(test_agreement_may_write__rows),
		TEST(test_agreement_may_write__who_registers_later_has_seen),
		TEST(test_agreement_is_common__not_when_there_are_more_than_can_be_seen),
		TEST(test_agreement_newest__is_of_the_others),
		TEST(test_agreement_explain__names_replica_and_version),
		TEST(test_agreement_explain__says_who_is_waited_for),
	};
	return cmocka_run_group_tests_name("agreement_plan", tests, NULL, NULL);
}
