/* Writes the migrator's findings into objects. First StorageMigrations: which are wanted, what each
 * waits for, which one is carried out. Then StorageVersions: the migrator makes them, keeps them
 * true, and removes them with their kinds. */
#include "api/model/members.h"
#include "base/clock.h"
#include "storage/engine/migrator_private.h"

#include <inttypes.h>
#include <stdlib.h>

#define LABEL "annals.dev/storage-migration" /* of those that were made here */
#define LABEL_VALUE "Auto"

/* ---- what there is ---- */

struct item {
	const struct cached *cached;
	struct migration migration; /* of one that has ended: what it is for, and that it has */
	bool is_automatic, has_failed;
};

static bool is_automatic(const struct cached *c)
{
	for (size_t i = 0; i < c->n_labels; i++) {
		struct label label = cached_label(c, i);

		if (str_is(label.key, LABEL)) {
			return str_is(label.value, LABEL_VALUE);
		}
	}
	return false;
}

static int compare_ages(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	return (a->cached->create_revision > b->cached->create_revision) -
		(a->cached->create_revision < b->cached->create_revision);
}

/* Most migrations have ended. The values that the cache keeps of them are enough, so they are not decoded. */
static bool read_item(struct migrator *m, struct item *ret, const struct cached *c, struct arena *a)
{
	struct str state = cached_value(c, m->fields[FIELD_STATE]);
	struct object *o;

	*ret = (struct item){.cached = c, .is_automatic = is_automatic(c), .has_failed = str_is(state, "Failed")};
	if (ret->has_failed || str_is(state, "Succeeded")) {
		ret->migration = (struct migration){.name = c->name,
			.group = cached_value(c, m->fields[FIELD_GROUP]),
			.resource = cached_value(c, m->fields[FIELD_RESOURCE]),
			.has_ended = true};
		return true;
	}
	if (cached_object(&o, c, a)) {
		return false;
	}
	migration_read(&ret->migration, o);
	return true;
}

/* All of them, the oldest first. */
static size_t read_items(struct migrator *m, struct cache_snapshot *s, struct item **ret, struct arena *a)
{
	const struct cache_filter all = {0};
	const struct cached *each;
	struct item *items = arena_array(a, struct item, cache_snapshot_count(s, STR("")));
	struct cache_iter it;
	size_t n = 0;

	cache_iter_init(&it, s, &all, STR(""));
	while ((each = cache_iter_next(&it))) {
		n += read_item(m, &items[n], each, a);
	}
	qsort(items, n, sizeof(*items), compare_ages);
	*ret = items;
	return n;
}

/* ---- facts ---- */

static const struct kind *kind_of(struct migrator *m, const struct migration *what)
{
	const struct kind *k = kind_by_hub(what->group, what->resource);

	if (!k) {
		return kinds_by_hub(m->defined, what->group, what->resource);
	}
	return kind_has_version(k, m->options.is_standalone) ? k : NULL;
}

static struct migration_facts facts_of(
	struct migrator *m, const struct agreement_view *view, const struct kind *k, struct arena *a)
{
	struct migration_facts f = {.kind = k, .mode = m->options.mode};
	struct cache_census census;
	cache_census(m->options.cache, k, &census);
	if (k->life) {
		f.common = kind_storage_version(k); /* a definition says so to all replicas, and guards what they write */
	} else {
		const struct version *common = view_common(view, k);
		f.common = agreement_common(m->options.agreement, k) == common ? common : NULL;
		f.disagreement =
			common ? STR("this server is not certain of its own registration") : view_disagreement(view, k, a);
	}
	f.n_total = census_total(&census, k);
	f.n_others = f.common ? census_others(&census, k, f.common) : 0;
	f.n_unknown = (int64_t)census.n_unknown;
	f.unknown = arena_dup(a, str_of(census.unknown_version));
	return f;
}

/* ---- saying ---- */

static bool migration_say(struct migrator *m, const struct cached *c, const struct migration *what,
	const struct migration_report *report, const struct storage_compare *guard, struct arena *a)
{
	struct record r = {.kind = m->migrations, .old = c, .guard = guard};

	r.status = migration_status(what, report, clock_wall_s(), a);
	return json_equal(r.status, what->status) || record_put(m, &r, a);
}

static void note_end(struct migrator *m, const struct migration *what, const struct kind *k, const struct migration_report *r)
{
	bool has_failed = r->state == MIGRATION_FAILED;

	if (r->state != MIGRATION_SUCCEEDED && !has_failed) {
		return;
	}
	(*(has_failed ? &m->counts.n_failed : &m->counts.n_succeeded))++;
	migrator_notice(m, has_failed, "StorageMigration " STR_FMT " has %s: %" PRId64 " objects rewritten%s" STR_FMT,
		STR_ARG(what->name), has_failed ? "failed" : "succeeded", r->n_migrated, r->message.n ? "; " : "",
		STR_ARG(r->message));
	if (k && !k->life) {
		m->is_report_due[k->index] = true;
		m->migrations_at_ms = 0;
	}
}

/* Says the state of a migration that is not carried out now. */
static bool migration_say_state(struct migrator *m, const struct item *item, enum migration_state state,
	const struct migration_verdict *v, const struct migration_facts *f, struct arena *a)
{
	const struct migration *what = &item->migration;
	struct migration_report r = {.state = state,
		.reason = v->reason,
		.message = v->message,
		.version = what->version,
		.n_total = f->n_total,
		.n_migrated = what->n_migrated,
		.n_remaining = f->n_others,
		.n_conflicts = what->n_conflicts,
		.progress = what->progress};

	if (state == MIGRATION_RUNNING) {
		r.version = version_api_version(f->common, a);
	}
	if (!migration_say(m, item->cached, what, &r, NULL, a)) {
		return false;
	}
	note_end(m, what, f->kind, &r);
	return true;
}

/* ---- the present run ---- */

static bool is_run(const struct migrator *m, const struct migration *what)
{
	return m->run.kind && str_eq(m->run.name, what->name) && str_eq(m->run.uid, what->uid);
}

static bool report_run(struct migrator *m, const struct cached *c, const struct migration *what, enum migration_state state,
	const char *reason, struct str message, const struct storage_compare *guard, struct arena *a)
{
	const struct run *run = &m->run;
	struct cache_census census;
	struct migration_report r = {.state = state,
		.reason = reason,
		.message = message,
		.version = version_api_version(run->version, a),
		.n_migrated = run->n_migrated,
		.n_conflicts = run->n_conflicts,
		.progress = buf_str(&run->at)};

	cache_census(m->options.cache, run->kind, &census);
	r.n_total = census_total(&census, run->kind);
	r.n_remaining = census_others(&census, run->kind, run->version);
	if (!migration_say(m, c, what, &r, guard, a)) {
		return false;
	}
	m->run.recorded_ms = clock_mono_ms();
	note_end(m, what, run->kind, &r);
	return true;
}

bool migrations_report(struct migrator *m, enum migration_state state, struct str message, const struct storage_compare *guard)
{
	_cleanup_(cached_unrefp) struct cached *c = cache_get(m->options.cache, m->migrations, STR(""), m->run.name);
	struct migration what = {0};
	struct object *o;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	if (c && cached_object(&o, c, &a) == 0) {
		migration_read(&what, o);
	}
	bool is_there = is_run(m, &what) && !what.is_deleting;
	bool is_done = is_there && report_run(m, c, &what, state, NULL, message, guard, &a);
	if (!is_there) {
		migrator_notice(m, false, "StorageMigration " STR_FMT " is not wanted any more", STR_ARG(m->run.name));
	}
	if (!is_there || (is_done && state != MIGRATION_RUNNING)) {
		run_end(m);
	}
	arena_done(&a);
	return is_done;
}

/* ---- the stored versions of a definition ----
 *
 * As upstream's controller does: a migration that somebody has asked for ends with one stored version. Where nobody has,
 * users take the old ones out of the status themselves, as they must with kube-apiserver. */

static bool has_one_version(const struct json *list, const char *name)
{
	return json_is(list, JSON_ARRAY) && list->n == 1 && str_is(json_text(list->items[0]), name);
}

/* The definition still describes the kind of the run: its revision guards the write. */
static bool definition_settle_versions(struct migrator *m, const struct cached *definition, struct arena *a)
{
	struct json *versions = json_array(a), *status;
	struct object *o;

	if (cached_object(&o, definition, a)) {
		return false;
	}
	if (has_one_version(json_gets(object_status(o), "storedVersions"), m->run.version->name)) {
		return true;
	}
	json_append(a, versions, json_string(a, str_of(m->run.version->name)));
	status = json_copy(a, object_status(o));
	json_set(a, status, STR("storedVersions"), versions);
	const struct record r = {.kind = m->definitions, .old = definition, .status = status};
	record_put(m, &r, a);
	return false; /* the kind has another revision now, which the next look has */
}

bool migrations_are_settled(struct migrator *m)
{
	const struct kind_life *life = m->run.kind->life;
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, SIZE_MAX);
	if (!life || m->run.is_automatic) {
		return true;
	}
	_cleanup_(cached_unrefp) struct cached *definition =
		cache_get(m->options.cache, m->definitions, STR(""), life->definition);
	bool is_same = definition && !kind_is_over(m->run.kind) && definition->revision == atomic_load(&life->revision);
	return is_same && definition_settle_versions(m, definition, &a);
}

/* ---- one after the other ---- */

static void stop_run(struct migrator *m, const struct item *item, const struct migration_verdict *v, struct arena *a)
{
	if (v->step == MIGRATION_WAIT || v->step == MIGRATION_FAIL) {
		report_run(m, item->cached, &item->migration, v->step == MIGRATION_WAIT ? MIGRATION_WAITING : MIGRATION_FAILED,
			v->reason, v->message, NULL, a);
	}
	run_end(m);
}

static void start_run(struct migrator *m, const struct item *item, const struct migration_verdict *v,
	const struct migration_facts *f, struct arena *a)
{
	if (!migration_say_state(m, item, MIGRATION_RUNNING, v, f, a)) {
		return;
	}
	run_begin(m, &item->migration, f, item->is_automatic);
	migrator_notice(m, false,
		"StorageMigration " STR_FMT ": " STR_FMT " are stored in " STR_FMT ", %" PRId64 " of %" PRId64
		" in another version",
		STR_ARG(item->migration.name), STR_ARG(kind_group_resource(f->kind, a)),
		STR_ARG(version_api_version(f->common, a)), f->n_others, f->n_total);
}

static void migrations_item(struct migrator *m, const struct item *item, const struct migration_facts *f, struct arena *a)
{
	struct migration_verdict v = migration_decide(&item->migration, f, a);

	if (is_run(m, &item->migration)) {
		if (v.step != MIGRATION_RUN) {
			stop_run(m, item, &v, a);
		}
	} else if (v.step == MIGRATION_RUN && !m->run.kind) {
		start_run(m, item, &v, f, a);
	} else if (v.step == MIGRATION_WAIT || v.step == MIGRATION_FAIL) {
		migration_say_state(m, item, v.step == MIGRATION_WAIT ? MIGRATION_WAITING : MIGRATION_FAILED, &v, f, a);
	}
}

/* ---- automatic ones ---- */

static void migration_create(struct migrator *m, const struct kind *k, struct arena *a)
{
	struct json *spec = json_object(a), *resource = json_object(a);
	struct record r = {.kind = m->migrations, .label = LABEL, .value = LABEL_VALUE, .spec = spec, .status = json_object(a)};

	json_add(a, resource, STR("group"), json_string(a, str_of(k->versions[0].group)));
	json_add(a, resource, STR("resource"), json_string(a, str_of(k->resource)));
	json_add(a, spec, STR("resource"), resource);
	r.name = arena_printf(a, STR_FMT "-", STR_ARG(kind_group_resource(k, a)));
	if (record_put(m, &r, a)) {
		m->migrations_at_ms = 0;
	}
}

static void migration_create_if_due(
	struct migrator *m, const struct migration_facts *f, const struct item *items, size_t n, struct arena *a)
{
	const struct item *failed = NULL;
	struct migration read;
	struct object *o;

	if (!migration_is_due(f, NULL, clock_wall_s())) {
		return; /* as nearly always: of ten thousand kinds, too */
	}
	for (size_t i = 0; i < n; i++) {
		if (kind_of(m, &items[i].migration) != f->kind) {
			continue;
		}
		if (!items[i].migration.has_ended && !items[i].migration.is_deleting) {
			return;
		}
		failed = items[i].has_failed ? &items[i] : failed;
	}
	if (failed && cached_object(&o, failed->cached, a) == 0) {
		migration_read(&read, o);
	}
	if (migration_is_due(f, failed ? &read : NULL, clock_wall_s())) {
		migration_create(m, f->kind, a);
	}
}

/* Counts one more of that kind. Migrations of kinds that are gone count together. */
static bool is_kept(struct map *n_kept, const struct kind *k, struct arena *a)
{
	struct str name = k ? kind_group_resource(k, a) : STR("");
	uintptr_t n = (uintptr_t)map_get(n_kept, name) + 1;

	map_set(n_kept, name, (void *)n, NULL);
	return n <= MIGRATIONS_KEPT;
}

/* A migration with a finalizer stays: somebody wants to see it. */
static void remove_old(struct migrator *m, const struct item *items, size_t n, struct arena *a)
{
	struct map n_kept;

	map_init(&n_kept, SIZE_MAX);
	for (size_t i = n; i-- > 0 && migrator_goes_on(m);) {
		struct object *o;
		if (!items[i].is_automatic || !items[i].migration.has_ended ||
			is_kept(&n_kept, kind_of(m, &items[i].migration), a)) {
			continue;
		}
		if (cached_object(&o, items[i].cached, a) == 0 && !o->meta.finalizers) {
			record_remove(m, items[i].cached, a);
		}
	}
	map_done(&n_kept);
}

void migrations_tend(struct migrator *m, const struct agreement_view *view, struct arena *a)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(m->options.cache, m->migrations);
	struct migration_facts *facts = arena_array(a, struct migration_facts, kind_count());
	const struct migration_facts nothing = {.mode = m->options.mode};
	struct item *items;
	size_t n = read_items(m, s, &items, a);

	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_has_version(kind_at(i), m->options.is_standalone)) {
			facts[i] = facts_of(m, view, kind_at(i), a);
		}
	}
	for (size_t i = 0; i < n && migrator_goes_on(m); i++) {
		const struct kind *k = kind_of(m, &items[i].migration);
		const struct migration_facts of_custom = k && k->life ? facts_of(m, view, k, a) : nothing;
		migrations_item(m, &items[i], k && !k->life ? &facts[k->index] : &of_custom, a);
	}
	for (size_t i = 0; i < kind_count() && migrator_goes_on(m); i++) {
		if (facts[i].kind) {
			migration_create_if_due(m, &facts[i], items, n, a);
		}
	}
	for (size_t i = 0; i < kinds_count(m->defined) && migrator_goes_on(m); i++) {
		const struct migration_facts f = facts_of(m, view, kinds_at(m->defined, i), a);
		migration_create_if_due(m, &f, items, n, a);
	}
	remove_old(m, items, n, a);
}

/* ---- StorageVersions ---- */

/* The numbers of a StorageVersion change with every object, which is not worth a write each time. After a quiet time the first change is written at
 * once, so that a user who has just begun sees it. Later ones are written at intervals that double, up to report_ms. */
static void version_note_report(struct migrator *m, const struct kind *k)
{
	int64_t now_ms = clock_mono_ms(), longest_ms = m->options.report_ms;
	int64_t *wait_ms = &m->report_wait_ms[k->index];
	bool was_quiet = *wait_ms == 0 || now_ms >= m->reported_ms[k->index] + 2 * longest_ms;

	*wait_ms = MIN(was_quiet ? m->options.poll_ms : *wait_ms * 2, longest_ms);
	m->reported_ms[k->index] = now_ms;
	m->is_report_due[k->index] = false;
}

static bool version_is_due(struct migrator *m, const struct kind *k, const struct json *status, const struct json *old)
{
	return !old || m->is_report_due[k->index] || version_status_is_news(status, old) ||
		clock_mono_ms() >= m->reported_ms[k->index] + m->report_wait_ms[k->index];
}

static void version_report(struct migrator *m, const struct agreement_view *view, const struct kind *k, struct arena *a)
{
	struct record r = {.kind = m->versions, .name = kind_group_resource(k, a)};
	_cleanup_(cached_unrefp) struct cached *old = cache_get(m->options.cache, r.kind, STR(""), r.name);
	const struct version *common = agreement_common(m->options.agreement, k);
	const struct json *old_status = NULL;
	struct cache_census census;
	struct object *o;

	r.old = old;
	if (old && cached_object(&o, old, a) == 0) {
		old_status = object_status(o);
	}
	cache_census(m->options.cache, k, &census);
	r.status =
		version_status(view, k, common == view_common(view, k) ? common : NULL, &census, old_status, clock_wall_s(), a);
	if (json_equal(r.status, old_status)) {
		return;
	}
	if (version_is_due(m, k, r.status, old_status) && record_put(m, &r, a)) {
		version_note_report(m, k);
	} else {
		m->has_rest = true;
	}
}

/* ---- kinds that are no more ---- */

static bool is_of_our_kinds(struct migrator *m, struct str name, struct arena *a)
{
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_has_version(kind_at(i), m->options.is_standalone) &&
			str_eq(name, kind_group_resource(kind_at(i), a))) {
			return true;
		}
	}
	return false;
}

/* Another server may know a kind that this one does not. So the StorageVersion stays as long as a server lives that it names. */
static bool is_over(const struct agreement_view *view, const struct cached *version, struct arena *a)
{
	const struct json *servers, *each;
	struct object *o;

	if (cached_object(&o, version, a)) {
		return false;
	}
	servers = json_gets(object_status(o), "storageVersions");
	for (uint32_t i = 0; (each = list_item(servers, i)); i++) {
		if (agreement_view_find(view, member_text(each, "apiServerID"))) {
			return false;
		}
	}
	return true;
}

static void remove_others(struct migrator *m, const struct agreement_view *view, struct arena *a)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(m->options.cache, m->versions);
	const struct cache_filter all = {0};
	const struct cached *each;
	struct cache_iter it;

	cache_iter_init(&it, s, &all, STR(""));
	while ((each = cache_iter_next(&it)) && migrator_goes_on(m)) {
		if (!is_of_our_kinds(m, each->name, a) && is_over(view, each, a)) {
			record_remove(m, each, a);
		}
	}
}

void reports_update(struct migrator *m, const struct agreement_view *view, struct arena *a)
{
	for (size_t i = 0; i < kind_count() && migrator_goes_on(m); i++) {
		if (kind_has_version(kind_at(i), m->options.is_standalone)) {
			version_report(m, view, kind_at(i), a);
		}
	}
	remove_others(m, view, a);
}
