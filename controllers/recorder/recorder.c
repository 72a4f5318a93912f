/* The recording controller: follows the resources that Recorders name, and keeps a History of
 * each object (docs/explanation/history.md).
 *
 * One thread handles Recorders, discovery, watches, statuses, and Histories that have outlived
 * their objects. Watches report to the ledger (ledger.h) on the client's thread, and workers
 * write what waits there (scribe.c). Without Recorders there is only the watch for them.
 *
 * `lock` guards the Recorders and the wake-up. No other lock is held with it. */
#include "api/diff/sighting.h"
#include "api/diff/state.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "controllers/recorder/follow.h"
#include "controllers/recorder/keeper.h"
#include "controllers/recorder/report.h"
#include "controllers/recorder/scribe.h"

#include <stdlib.h>

enum {
	RETRY_FIRST_MS = 200,
	RETRY_LAST_MS = 60 * 1000,
	DISCOVER_MS = 30 * 1000,
	DISCOVER_FIRST_MS = 1000, /* until the first discovery succeeds */
	DISCOVER_SOON_MS = 2000,  /* discovery shows the end of a kind a little later than its watch */
	REPORT_MS = 3 * 1000,
	RECORDED_MS = 5 * 1000,  /* between two writes of a status that only say up to where all is recorded */
	PATIENCE_MS = 30 * 1000, /* how long to wait for lists: until they end, their counts are incomplete */
	EXPIRE_MAX_S = 600,
	/* Objects in the ledger, 100 bytes each; further ones are left out, and the status says so. */
	OBJECTS_MAX = 2 * 1000 * 1000,
	ARENA_MAX = 256 << 20,      /* bytes of the statuses of all Recorders */
	STATUS_BYTES_MAX = 8 << 20, /* bytes of one status or notice */
};

const struct resource recorders_resource = {{"annals.dev", 10}, {"v1", 2}, {"recorders", 9}};
const struct resource histories_resource = {{"annals.dev", 10}, {"v1", 2}, {"histories", 9}};
static const struct resource namespaces_resource = {{"", 0}, {"v1", 2}, {"namespaces", 10}};

static const struct counter_name counted[] = {
	[RECORDER_CREATED] = {"annals_recorder_created_total", "Changes written of objects that came"},
	[RECORDER_CHANGED] = {"annals_recorder_changed_total", "Changes written of objects that changed"},
	[RECORDER_DELETED] = {"annals_recorder_deleted_total", "Changes written of objects that went"},
	[RECORDER_RELEASED] = {"annals_recorder_released_total", "Changes written of objects that were selected no longer"},
	[RECORDER_ADOPTED] = {"annals_recorder_adopted_total", "Changes written of objects that were selected again"},
	[RECORDER_RERECORDED] = {"annals_recorder_rerecorded_total", "Changes written that nobody made"},
	[RECORDER_SKIPPED] = {"annals_recorder_skipped_total", "States that are missing, at least one for each gap"},
	[RECORDER_CONFLICTS] = {"annals_recorder_conflicts_total", "Times that a history had changed meanwhile"},
	[RECORDER_RETRIES] = {"annals_recorder_retries_total", "Times that a change could not be written, and waits"},
	[RECORDER_REFUSED] = {"annals_recorder_refused_total", "States that the server refused to keep"},
	[RECORDER_EXPIRED] = {"annals_recorder_expired_total", "Histories deleted that had outlived their objects"},
	[RECORDER_DROPPED] = {"annals_recorder_dropped_total",
		"Histories of deleted objects that were dropped, since all took too much room"},
	[RECORDER_TRIMMED] = {"annals_recorder_trimmed_total", "States removed since their time, number or room was over"},
	[RECORDER_STATUS_WRITES] = {"annals_recorder_status_writes_total", "Statuses of Recorders written"},
	[RECORDER_RECORDINGS] = {"annals_recorder_recordings_total", "Requests that have carried changes, one or several"},
};

struct director {
	struct recorder_core core;
	struct informer *histories;
	bool has_workers;
	pthread_t thread;
	bool has_thread;

	/* The thread's own. */
	struct recordings recordings; /* all, by name */
	struct discovery found;
	bool has_found, has_told, has_told_full;
	int64_t discover_at_ms, report_at_ms, expire_at_ms, recorded_at_ms;
	bool must_tell_recorded;  /* the statuses that are written now say up to where all is recorded */
	int64_t patient_until_ms; /* watches have begun; until then, statuses wait for their lists */
	struct keeper keeper;
	uint64_t reported;        /* the last ledger_changes() in the statuses */

	uint32_t histories_list; /* the client's thread's own */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	bool is_ending, has_news, has_new_recorders, must_report, must_discover;
	struct map items;    /* Recorders by name: references to items */
	struct list follows; /* changed by the thread alone, read by the client's */
};

/* ---- waking ---- */

static void wake_for(struct director *d, bool *what)
{
	bool ignored;

	pthread_mutex_lock(&d->lock);
	*(what ? what : &ignored) = true;
	d->has_news = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
}

static void on_wake(struct recorder_core *core)
{
	struct director *d = container_of(core, struct director, core);
	wake_for(d, &d->must_report);
}

static void on_discover_soon(struct recorder_core *core)
{
	struct director *d = container_of(core, struct director, core);
	wake_for(d, &d->must_discover);
}

/* Waits until that time or for news. Returns false when the controller is stopping. */
static bool wait_until(struct director *d, int64_t at_ms)
{
	pthread_mutex_lock(&d->lock);
	while (!d->is_ending && !d->has_news && clock_mono_ms() < at_ms) {
		clock_cond_wait(&d->wake, &d->lock, at_ms);
	}
	d->has_news = false;
	bool goes_on = !d->is_ending;
	pthread_mutex_unlock(&d->lock);
	return goes_on;
}

/* ---- Recorders ---- */

static void keep_item(struct director *d, struct item *item, bool is_new)
{
	void *old = NULL;

	pthread_mutex_lock(&d->lock);
	map_set(&d->items, item->name, item_ref(item), &old);
	pthread_mutex_unlock(&d->lock);
	item_unref(old);
	wake_for(d, is_new ? &d->has_new_recorders : NULL);
}

static void on_recorder_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	keep_item(ctx, item, true);
}

static void on_recorder_update(void *ctx, struct item *old, struct item *item)
{
	bool is_same = str_eq(old->uid, item->uid) &&
		member_int(item_meta(old), "generation") == member_int(item_meta(item), "generation");
	keep_item(ctx, item, !is_same);
}

static void on_recorder_delete(void *ctx, struct item *item, bool is_guess _unused_)
{
	struct director *d = ctx;

	pthread_mutex_lock(&d->lock);
	struct item *old = map_remove(&d->items, item->name);
	pthread_mutex_unlock(&d->lock);
	item_unref(old);
	wake_for(d, &d->has_new_recorders);
}

static void on_recorders_synced(void *ctx)
{
	struct director *d = ctx;
	wake_for(d, &d->has_new_recorders);
}

static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	struct director *d = ctx;
	recorder_notice(&d->core, true, STR_FMT, STR_ARG(text));
}

static int by_name(const void *a, const void *b)
{
	return str_cmp((*(struct recording *const *)a)->name, (*(struct recording *const *)b)->name);
}

/* Returns true if the Recorders have changed. */
static bool read_recorders(struct director *d)
{
	struct recordings all = {NULL, 0};

	pthread_mutex_lock(&d->lock);
	bool is_new = d->has_new_recorders;
	d->has_new_recorders = false;
	all.v = mem_array(d->items.n + 1, sizeof(*all.v));
	for (struct map_entry *e = map_next(&d->items, NULL); is_new && e; e = map_next(&d->items, e)) {
		struct recording *r = recording_new(e->value);
		if (r) {
			all.v[all.n++] = r;
		}
	}
	pthread_mutex_unlock(&d->lock);
	qsort(all.v, all.n, sizeof(*all.v), by_name);
	if (is_new) {
		recordings_done(&d->recordings);
		d->recordings = all;
	} else {
		recordings_done(&all);
	}
	return is_new;
}

/* ---- histories ---- */

static void on_histories_begin(void *ctx)
{
	struct director *d = ctx;
	d->histories_list = ledger_begin(d->core.ledger, NULL);
}

static void on_history(void *ctx, const struct json *object, bool is_gone, bool is_listed _unused_)
{
	struct director *d = ctx;

	if (scribe_see_history(&d->core, object, is_gone, d->histories_list)) {
		wake_for(d, NULL);
	}
}

static void on_histories_end(void *ctx, uint64_t version _unused_)
{
	struct director *d = ctx;
	ledger_end_histories(d->core.ledger, d->histories_list);
}

static void on_synced(void *ctx)
{
	wake_for(ctx, NULL);
}

static const struct informer_stream histories_stream = {on_histories_begin, on_history, on_histories_end};

static void follow_histories(struct director *d)
{
	if (d->histories) {
		return;
	}
	d->histories = informer_new(&(struct informer_options){
		.client = d->core.run.env->client,
		.outage = d->core.run.env->outage,
		.resource = histories_resource,
		.handlers = {.on_synced = on_synced, .on_problem = on_problem},
		.stream = &histories_stream,
		.ctx = d,
	});
}

/* ---- namespaces ---- */

static void note_namespace(struct director *d, const struct json *before, const struct item *item)
{
	const struct json *labels = json_gets(item_meta(item), "labels");
	bool is_any_stale = false;

	pthread_mutex_lock(&d->lock);
	list_for_each(it, &d->follows) {
		is_any_stale = follow_note_namespace(list_entry(it, struct follow, link), before, labels) || is_any_stale;
	}
	pthread_mutex_unlock(&d->lock);
	if (is_any_stale) {
		wake_for(d, NULL);
	}
}

static void on_namespace_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	note_namespace(ctx, NULL, item);
}

static void on_namespace_update(void *ctx, struct item *old, struct item *item)
{
	static const struct json none = {.kind = JSON_OBJECT};
	const struct json *before = json_gets(item_meta(old), "labels");
	note_namespace(ctx, before ? before : &none, item);
}

static void follow_namespaces(struct director *d)
{
	if (d->core.namespaces || !recordings_need_namespaces(&d->recordings)) {
		return;
	}
	d->core.namespaces = informer_new(&(struct informer_options){
		.client = d->core.run.env->client,
		.outage = d->core.run.env->outage,
		.resource = namespaces_resource,
		.metadata_only = true,
		.handlers = {.on_add = on_namespace_add,
			.on_update = on_namespace_update,
			.on_synced = on_synced,
			.on_problem = on_problem},
		.ctx = d,
	});
}

/* ---- discovery ---- */

static void discover(struct director *d)
{
	_cleanup_(answer_done) struct answer answer;
	struct discovery found;

	answer_init(&answer);
	discovery_init(&found);
	int error = discovery_fetch(d->core.run.env->client, &found, &answer);
	if (error || found.n == 0) {
		discovery_done(&found);
		if (error != REST_STOPPED && !d->has_told) {
			recorder_notice(&d->core, true, "cannot discover what is served: " STR_FMT, STR_ARG(answer.message));
			d->has_told = true;
		}
	} else {
		if (d->has_told) {
			recorder_notice(&d->core, true, "what is served can be discovered again");
		}
		discovery_done(&d->found);
		d->found = found;
		d->has_found = true;
		d->has_told = false;
	}
	d->discover_at_ms = clock_mono_ms() + (d->has_found ? DISCOVER_MS : DISCOVER_FIRST_MS);
}

static void bring_discovery_forward(struct director *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->must_discover) {
		d->discover_at_ms = MIN(d->discover_at_ms, clock_mono_ms() + DISCOVER_SOON_MS);
	}
	d->must_discover = false;
	pthread_mutex_unlock(&d->lock);
}

/* ---- follows ---- */

static struct follow *find_follow(const struct director *d, const struct api_resource *r)
{
	list_for_each(it, &d->follows) {
		struct follow *f = list_entry(it, struct follow, link);
		if (str_eq(f->followed->resource.group, r->resource.group) &&
			str_eq(f->followed->resource.plural, r->resource.plural)) {
			return f;
		}
	}
	return NULL;
}

static void unlink_follow(struct director *d, struct follow *f)
{
	pthread_mutex_lock(&d->lock);
	list_remove(&f->link);
	pthread_mutex_unlock(&d->lock);
}

static void end_follow(struct director *d, struct follow *f, bool is_replaced)
{
	unlink_follow(d, f);
	follow_free(f, is_replaced);
}

/* If Recorders change, the resource gets a new watch: it shows each object again, for the new
 * rules. */
static bool is_as_before(const struct follow *f, const struct api_resource *r, const struct recordings *recordings)
{
	return !follow_is_stale(f) && str_eq(f->followed->resource.version, r->resource.version) &&
		recordings_equal(&f->followed->recordings, recordings);
}

static struct item *present_item(struct director *d, struct str name)
{
	pthread_mutex_lock(&d->lock);
	struct item *item = map_get(&d->items, name);
	item = item ? item_ref(item) : NULL;
	pthread_mutex_unlock(&d->lock);
	return item;
}

/* The version up to which the resource is recorded, according to the statuses; 0: unknown. Each of them is right, and the oldest
 * is right for all. */
static uint64_t recorded_before(struct director *d, const struct recordings *recordings, const struct resource *resource)
{
	uint64_t oldest = 0;

	for (size_t i = 0; i < recordings->n; i++) {
		_cleanup_(item_unrefp) struct item *item = present_item(d, recordings->v[i]->name);
		bool is_present = item && str_eq(item->uid, recordings->v[i]->uid);
		uint64_t version = is_present ? report_recorded(item->object, resource->group, resource->plural) : 0;
		oldest = version && (!oldest || version < oldest) ? version : oldest;
	}
	return oldest;
}

/* Takes the recordings. */
static void want_follow(struct director *d, const struct api_resource *r, struct recordings *recordings)
{
	struct follow *f = find_follow(d, r);
	uint64_t shown = 0, recorded = recorded_before(d, recordings, &r->resource);

	if (f && is_as_before(f, r, recordings)) {
		f->is_wanted = true;
		recordings_done(recordings);
		return;
	}
	if (f) {
		shown = follow_version(f);
		end_follow(d, f, true);
	}
	if ((f = follow_new(&d->core, r, recordings, shown ? shown : recorded))) {
		if (!shown) {
			ledger_resume(d->core.ledger, f->kind, recorded);
		}
		pthread_mutex_lock(&d->lock);
		list_append(&d->follows, &f->link);
		pthread_mutex_unlock(&d->lock);
	}
}

/* A group that did not answer keeps its watches: its objects are not gone. */
static void mark_unwanted(struct director *d)
{
	list_for_each(it, &d->follows) {
		struct follow *f = list_entry(it, struct follow, link);
		f->is_wanted = d->recordings.n > 0 &&
			discovery_has_failed(&d->found, f->followed->resource.group, f->followed->resource.version);
	}
}

static void follow_all(struct director *d)
{
	mark_unwanted(d);
	for (size_t i = 0; i < d->found.n && d->recordings.n > 0; i++) {
		const struct api_resource *r = &d->found.resources[i];
		struct recordings recordings = {NULL, 0};
		if (report_can_be_followed(r)) {
			recordings_pick(&recordings, &d->recordings, r->resource.group, r->resource.plural);
		}
		if (recordings.n > 0) {
			want_follow(d, r, &recordings);
		}
	}
	list_for_each_safe(it, &d->follows) {
		struct follow *f = list_entry(it, struct follow, link);
		if (!f->is_wanted) {
			recorder_notice(
				&d->core, false, STR_FMT " are no longer followed", STR_ARG(f->followed->resource.plural));
			end_follow(d, f, false);
		}
	}
}

/* Counts a watch with an error as synced, because the error must be reported. */
static bool have_synced(const struct director *d)
{
	_cleanup_(arena_done) struct arena a;
	bool have = true;

	arena_init(&a, ARENA_MAX);
	list_for_each(it, &d->follows) {
		const struct follow *f = list_entry(it, struct follow, link);
		struct str problem;
		ledger_refused(d->core.ledger, f->kind, &problem, &a);
		have = have && (follow_has_synced(f) || problem.n > 0);
	}
	return have;
}

static bool has_stale_follow(const struct director *d)
{
	list_for_each(it, &d->follows) {
		if (follow_is_stale(list_entry(it, struct follow, link))) {
			return true;
		}
	}
	return false;
}

/* ---- statuses ---- */

static bool is_of(const struct recordings *all, const struct recording *r)
{
	bool is_found = false;
	for (size_t i = 0; !is_found && i < all->n; i++) {
		is_found = str_eq(all->v[i]->uid, r->uid);
	}
	return is_found;
}

static void add_followed(struct director *d, struct report_rows *rows, const struct recording *r,
	const struct ledger_tally *tallies, size_t n_tallies, struct arena *a)
{
	list_for_each(it, &d->follows) {
		const struct follow *f = list_entry(it, struct follow, link);
		if (!is_of(&f->followed->recordings, r) || rows->n == REPORT_ROWS_MAX) {
			continue;
		}
		struct report_row *row = &rows->v[rows->n++];
		*row = (struct report_row){.group = f->followed->resource.group,
			.version = f->followed->resource.version,
			.resource = f->followed->resource.plural};
		/* In this order: a Recorder that records also says from where a successor can go on. */
		rows->is_whole = rows->is_whole && follow_has_synced(f);
		row->recorded = ledger_recorded(d->core.ledger, f->kind, follow_version(f));
		row->refused = (int64_t)ledger_refused(d->core.ledger, f->kind, &row->last_error, a);
		for (size_t i = 0; i < n_tallies; i++) {
			if (tallies[i].kind == f->kind && tallies[i].recorder == r->id) {
				row->objects = tallies[i].objects;
				row->revisions = tallies[i].revisions;
				row->bytes = tallies[i].bytes;
			}
		}
	}
}

static int by_resource(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int order = str_cmp(x->group, y->group);
	return order ? order : str_cmp(x->resource, y->resource);
}

/* Lists the objects that this Recorder selects but others record; empty: none so far. */
static struct str overridden(struct director *d, const struct recording *r, struct arena *a)
{
	enum { NAMED_MAX = 16 /* resources: further ones are counted */, TEXT_MAX_BYTES = 16 * 1024 };
	_cleanup_(buf_done) struct buf text;
	size_t n = 0;

	buf_init(&text, TEXT_MAX_BYTES);
	list_for_each(it, &d->follows) {
		const struct follow *f = list_entry(it, struct follow, link);
		const struct recording *by = follow_overrider(f, r);
		if (by && n++ < NAMED_MAX) {
			buf_printf(&text, "%s" STR_FMT "%s" STR_FMT " by " STR_FMT,
				n > 1 ? ", " : "Recorders whose names sort first record objects that this one selects: ",
				STR_ARG(f->followed->resource.plural), f->followed->resource.group.n ? "." : "",
				STR_ARG(f->followed->resource.group), STR_ARG(by->name));
		}
	}
	if (n > NAMED_MAX) {
		buf_printf(&text, ", and %zu more", n - NAMED_MAX);
	}
	return arena_dup(a, buf_str(&text));
}

static void write_status(struct director *d, const struct recording *r, const struct json *status, struct arena *a)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf patch;
	const struct target t = {.resource = &recorders_resource, .name = r->name, .subresource = "status"};
	struct json *body = json_object(a), *metadata = json_object(a);

	json_add(a, metadata, STR("uid"), json_string(a, r->uid));
	json_add(a, body, STR("metadata"), metadata);
	json_add(a, body, STR("status"), (struct json *)status);
	buf_init(&patch, STATUS_BYTES_MAX);
	json_encode(&patch, body);
	answer_init(&answer);
	if (!rest_patch(d->core.run.env->client, &t, PATCH_MERGE, buf_str(&patch), &answer)) {
		count(&d->core.counters, RECORDER_STATUS_WRITES);
	} else {
		d->reported = 0; /* report once more, after a pause */
	}
}

/* Skipped states matter more than waiting ones. */
static enum ledger_standing standing_of(const struct director *d, const struct recording *r)
{
	enum ledger_standing worst = LEDGER_UP_TO_DATE;

	list_for_each(it, &d->follows) {
		const struct follow *f = list_entry(it, struct follow, link);
		if (is_of(&f->followed->recordings, r)) {
			worst = MAX(worst, ledger_standing(d->core.ledger, f->kind, clock_mono_ms(), r->since_ms));
		}
	}
	return worst;
}

static void report_one(struct director *d, const struct recording *r, const struct ledger_tally *tallies, size_t n_tallies)
{
	_cleanup_(item_unrefp) struct item *item = present_item(d, r->name);
	_cleanup_(arena_done) struct arena a;
	char now[TIME_RFC3339_SIZE];

	arena_init(&a, ARENA_MAX);
	struct report_rows *rows = arena_new(&a, struct report_rows);
	rows->is_whole = true;
	add_followed(d, rows, r, tallies, n_tallies, &a);
	report_add_unserved(rows, r, &d->found);
	qsort(rows->v, rows->n, sizeof(rows->v[0]), by_resource);
	time_format_rfc3339(now, clock_wall_s());
	const struct report report = {
		.rows = rows->v,
		.n = rows->n,
		.is_following = rows->is_whole,
		.must_tell_recorded = d->must_tell_recorded,
		.standing = standing_of(d, r),
		.overridden = overridden(d, r, &a),
	};
	const struct json *status =
		item && str_eq(item->uid, r->uid) ? report_status(item->object, r, &report, str_of(now), &a) : NULL;
	if (status) {
		write_status(d, r, status, &a);
	}
}

static void tell_full(struct director *d)
{
	struct ledger_totals totals;

	ledger_read_totals(d->core.ledger, &totals);
	if (totals.is_full && !d->has_told_full) {
		d->has_told_full = true;
		recorder_notice(&d->core, true, "there is no room for more objects: some are not recorded");
	}
}

static void tell_skipped(struct director *d, const struct follow *f)
{
	_cleanup_(mem_freep) char *text =
		mem_printf("states of " STR_FMT " are missing: their next changes say so by `skipped`",
			STR_ARG(f->followed->resource.plural));

	recorder_notice(&d->core, true, "%s", text);
	for (size_t i = 0; i < f->followed->recordings.n; i++) {
		recorder_event(&d->core, f->followed->recordings.v[i], true, STR("StatesSkipped"), str_of(text));
	}
}

/* Returns true if one of the resources fell behind, caught up, or lost states. */
static bool look_at_standings(struct director *d)
{
	bool has_changed = false;

	list_for_each(it, &d->follows) {
		struct follow *f = list_entry(it, struct follow, link);
		enum ledger_standing now = ledger_standing(d->core.ledger, f->kind, clock_mono_ms(), 0);
		has_changed = has_changed || now != f->standing;
		if (now == LEDGER_SKIPPED && f->standing != LEDGER_SKIPPED) {
			tell_skipped(d, f);
		}
		f->standing = now;
	}
	return has_changed;
}

/* Returns true if the statuses should say anew up to where all is recorded: more is recorded, and they last said so a while ago. */
static bool look_how_much_is_recorded(struct director *d)
{
	bool has_more = false;

	list_for_each(it, &d->follows) {
		const struct follow *f = list_entry(it, struct follow, link);
		has_more = ledger_recorded(d->core.ledger, f->kind, follow_version(f)) != f->reported || has_more;
	}
	return has_more && clock_mono_ms() >= d->recorded_at_ms;
}

static void told_how_much_is_recorded(struct director *d)
{
	list_for_each(it, &d->follows) {
		struct follow *f = list_entry(it, struct follow, link);
		f->reported = ledger_recorded(d->core.ledger, f->kind, 0);
	}
	d->recorded_at_ms = clock_mono_ms() + RECORDED_MS;
}

static void report_all(struct director *d)
{
	/* Pairs of a kind and a Recorder whose objects are counted. */
	enum { TALLIES_MAX = 4096 };

	if (clock_mono_ms() < d->patient_until_ms && !have_synced(d)) {
		return;
	}
	uint64_t changes = ledger_changes(d->core.ledger);
	d->must_tell_recorded = look_how_much_is_recorded(d);
	bool have_standings_changed = look_at_standings(d);
	pthread_mutex_lock(&d->lock);
	bool must_report = d->must_report || changes != d->reported || d->must_tell_recorded || have_standings_changed;
	d->must_report = false;
	pthread_mutex_unlock(&d->lock);
	if (!must_report) {
		return;
	}
	tell_full(d);
	d->reported = changes;
	d->report_at_ms = clock_mono_ms() + REPORT_MS;
	struct ledger_tally *tallies = mem_array(TALLIES_MAX, sizeof(*tallies));
	size_t n = ledger_tally(d->core.ledger, tallies, TALLIES_MAX);
	for (size_t i = 0; i < d->recordings.n; i++) {
		report_one(d, d->recordings.v[i], tallies, n);
	}
	mem_free(tallies);
	if (d->must_tell_recorded) {
		told_how_much_is_recorded(d);
	}
}

/* ---- the thread ---- */

static void start_workers(struct director *d)
{
	if (!d->has_workers) {
		d->has_workers = true;
		controller_work(&d->core.run);
	}
}

static bool is_ready(const struct director *d)
{
	return informer_has_synced(d->histories) && (!d->core.namespaces || informer_has_synced(d->core.namespaces));
}

static void look_after_follows(struct director *d, bool is_new)
{
	int64_t now_ms = clock_mono_ms();

	follow_histories(d);
	follow_namespaces(d);
	if (!is_ready(d)) {
		d->discover_at_ms = 0;
		return;
	}
	start_workers(d);
	bring_discovery_forward(d);
	bool is_due = now_ms >= d->discover_at_ms;
	if (is_new || is_due) {
		discover(d);
	}
	if (d->has_found && (is_new || is_due || has_stale_follow(d))) {
		bool had_synced = have_synced(d); /* a watch that hangs is waited for only once */
		follow_all(d);
		d->patient_until_ms = had_synced ? clock_mono_ms() + PATIENCE_MS : d->patient_until_ms;
		wake_for(d, &d->must_report);
	}
}

static int64_t look_after_all(struct director *d)
{
	bool is_new = read_recorders(d);

	if (d->recordings.n == 0) {
		follow_all(d);
		return INT64_MAX;
	}
	look_after_follows(d, is_new);
	if (is_new) {
		d->report_at_ms = 0; /* whoever made a Recorder waits for its first status */
	}
	if (!is_ready(d)) {
		return INT64_MAX;
	}
	if (clock_mono_ms() >= d->report_at_ms) {
		report_all(d);
	}
	if (d->has_found) {
		keeper_pass(&d->keeper, &d->core, &d->recordings, is_new);
	}
	d->expire_at_ms = clock_mono_ms() + 1000 * ledger_expire(d->core.ledger, clock_wall_s(), EXPIRE_MAX_S);
	return MIN(MIN(d->discover_at_ms, d->expire_at_ms), clock_mono_ms() + REPORT_MS);
}

static void *run(void *arg)
{
	struct director *d = arg;
	int64_t until_ms = INT64_MAX;
	while (wait_until(d, until_ms)) {
		until_ms = look_after_all(d);
	}
	return NULL;
}

/* ---- its life ---- */

static void begin(void *state)
{
	struct director *d = state;

	d->core.wake = on_wake;
	d->core.discover_soon = on_discover_soon;
	int64_t mib = d->core.run.env->settings->recorder_queue_mib;
	d->core.ledger = ledger_new(&(struct ledger_options){.max_objects = OBJECTS_MAX,
		.max_waiting = (size_t)(mib > 0 ? mib : RECORDER_QUEUE_MIB) << 20,
		.queue = d->core.run.queue});
	d->core.events = event_writer_new(&d->core.run);
	discovery_init(&d->found);
	map_init(&d->items, REPORT_ROWS_MAX);
	list_init(&d->follows);
	pthread_mutex_init(&d->lock, NULL);
	clock_cond_init(&d->wake);
	d->has_thread = pthread_create(&d->thread, NULL, run, d) == 0;
	if (d->has_thread) {
		pthread_setname_np(d->thread, "recorder");
	} else {
		recorder_notice(&d->core, true, "cannot start a thread: nothing is recorded");
	}
	controller_watch(&d->core.run,
		(struct informer_options){
			.resource = recorders_resource,
			.left_out = item_managers,
			.handlers = {.on_add = on_recorder_add,
				.on_update = on_recorder_update,
				.on_delete = on_recorder_delete,
				.on_synced = on_recorders_synced},
		});
}

static void halt(void *state)
{
	struct director *d = state;

	pthread_mutex_lock(&d->lock);
	d->is_ending = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	if (d->has_thread) {
		pthread_join(d->thread, NULL);
	}
	list_for_each_safe(it, &d->follows) {
		end_follow(d, list_entry(it, struct follow, link), true);
	}
}

static void end(void *state)
{
	struct director *d = state;

	informer_free(d->histories);
	informer_free(d->core.namespaces);
	event_writer_free(d->core.events);
	for (struct map_entry *e = map_next(&d->items, NULL); e; e = map_next(&d->items, e)) {
		item_unref(e->value);
	}
	map_done(&d->items);
	recordings_done(&d->recordings);
	discovery_done(&d->found);
	ledger_free(d->core.ledger);
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
}

static void write_metrics(void *state, struct buf *out)
{
	struct director *d = state;
	struct ledger_totals totals;

	ledger_read_totals(d->core.ledger, &totals);
	counters_write(&d->core.counters, counted, ARRAY_SIZE(counted), out);
	exposition_gauge(out, "annals_recorder_objects", "Objects that are recorded", (double)totals.objects);
	exposition_gauge(out, "annals_recorder_waiting", "Changes that wait to be written", (double)totals.waiting);
	exposition_gauge(out, "annals_recorder_waiting_bytes", "Bytes of the changes that wait to be written",
		(double)totals.waiting_bytes);
	exposition_gauge(
		out, "annals_recorder_history_bytes", "Bytes of the states of all Histories", (double)totals.history_bytes);
	exposition_gauge(out, "annals_recorder_history_budget_bytes",
		"Bytes that the states of all Histories may take; 0: no limit",
		(double)(d->core.run.env->settings->history_budget_mib << 20));
}

const struct controller recorder_controller = {
	.name = "recorder-controller",
	.alias = "recorder",
	.starts_late = true,
	.queues = {{"recorder", RECORDER_WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, scribe_work}},
	.state_size = sizeof(struct director),
	.begin = begin,
	.halt = halt,
	.end = end,
	.write_metrics = write_metrics,
};
