/* A migration that runs: objects of a kind, from the cache, put as they are in another version, a batch in a transaction. */
#include "migration/private.h"

#include "base/clock.h"
#include "migration/version_plan.h"
#include "storage/keys.h"

#include <inttypes.h>

enum {
	BATCH_MAX = 40, /* three guards and reads an object, of etcd's 128 */
	BATCH_BYTES = 512 * 1024,
	BATCHES_A_SECOND = 4, /* at least, at low rates */
	WALK_MAX = 20000,     /* objects that are looked at between two looks at everything else */
	TRIES_MAX = 3,
	KEY_MAX = 65536,
};

/* An object on its way. */
struct moved {
	const struct cached *object;
	struct str key, value;
	int64_t lease;
};

struct batch {
	struct arena arena;
	struct cache_snapshot *snapshot; /* holds the objects */
	struct agreement_ticket ticket;
	struct moved moved[BATCH_MAX];
	size_t n, n_bytes;
	struct str last; /* the last object that is done with, once those here are */
	bool is_at_end;
};

/* ---- life ---- */

static void run_pause(struct migrator *m)
{
	m->run.next_ms = clock_mono_ms() + m->options.poll_ms / 2;
}

void run_begin(struct migrator *m, const struct migration *what, const struct migration_facts *f)
{
	struct run *r = &m->run;

	*r = (struct run){.kind = f->kind, .version = f->common, .limit = BATCH_MAX, .since_ms = clock_mono_ms()};
	arena_init(&r->arena, (size_t)1 << 20);
	buf_init(&r->at, KEY_MAX);
	buf_init(&r->oversized, KEY_MAX);
	r->name = arena_dup(&r->arena, what->name);
	r->uid = arena_dup(&r->arena, what->uid);
	r->n_migrated = what->n_migrated;
	r->n_conflicts = what->n_conflicts;
	buf_add_str(&r->at, what->progress);
	m->counts.is_running = true;
}

void run_end(struct migrator *m)
{
	struct run *r = &m->run;

	if (r->kind) {
		m->counts.running_ms += (uint64_t)(clock_mono_ms() - r->since_ms);
		m->counts.is_running = false;
		buf_done(&r->at);
		buf_done(&r->oversized);
		arena_done(&r->arena);
		r->kind = NULL;
	}
}

/* ---- choosing ---- */

static struct str rest_of(const struct cached *o, struct arena *a)
{
	return o->ns.n ? arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(o->ns), STR_ARG(o->name)) : o->name;
}

static size_t batch_limit(const struct migrator *m)
{
	size_t limit = m->run.limit;

	if (m->options.rate > 0) {
		limit = MIN(limit, (size_t)MAX(m->options.rate / BATCHES_A_SECOND, 1));
	}
	return limit;
}

static bool encode(const struct cached *from, const struct door *version, struct arena *a, struct str *ret)
{
	_cleanup_(buf_done) struct buf text;
	struct object *o;

	buf_init(&text, SIZE_MAX / 2);
	if (cached_object(&o, from, a) || !object_encode_stored(&text, o, version)) {
		return false;
	}
	*ret = arena_dup(a, buf_str(&text));
	return true;
}

/* Adds an object; false: the batch is full without it. What cannot be encoded is left out, and found by the census. */
static bool batch_add(struct migrator *m, struct batch *b, const struct cached *o)
{
	struct moved *moved = &b->moved[b->n];

	*moved = (struct moved){.object = o};
	if (!encode(o, m->run.version, &b->arena, &moved->value)) {
		return true;
	}
	if (b->n > 0 && b->n_bytes + moved->value.n > BATCH_BYTES) {
		return false;
	}
	moved->key = key_object(
		&b->arena, m->options.prefix, str_of(o->kind->doors[0].group), str_of(o->kind->resource), o->ns, o->name);
	b->n_bytes += moved->value.n;
	b->n++;
	return true;
}

/* The next objects that are stored otherwise. */
static void batch_fill(struct migrator *m, struct batch *b)
{
	const struct cache_filter all = {0};
	const struct cached *o = NULL, *last = NULL;
	struct str at = buf_str(&m->run.at);
	struct cache_iter it;
	size_t limit = batch_limit(m), n_seen = 0;

	/* With a NUL behind it: the next key there may be. */
	cache_iter_init(&it, b->snapshot, &all, at.n ? (struct str){arena_dup(&b->arena, at).p, at.n + 1} : at);
	while (b->n < limit && n_seen++ < WALK_MAX && (o = cache_iter_next(&it))) {
		if (o->stored_version != m->run.version && !batch_add(m, b, o)) {
			break;
		}
		last = o;
	}
	b->is_at_end = !o;
	b->last = last ? rest_of(last, &b->arena) : arena_dup(&b->arena, at);
}

/* ---- leases ---- */

static void batch_drop(struct migrator *m, struct batch *b, size_t i)
{
	b->moved[i] = b->moved[--b->n];
	m->run.n_conflicts++;
	m->run.n_moved++;
	m->counts.n_conflicts[m->run.kind->index]++;
}

/* By the answers of GETs of the batch's keys: those that are not what the cache shows go. How many. */
static size_t batch_compare(struct migrator *m, struct batch *b, const struct storage_step *gets)
{
	size_t n_dropped = 0;

	for (size_t i = b->n; i-- > 0;) {
		if (gets[i].n_kvs == 0 || gets[i].kvs[0].mod_revision != b->moved[i].object->revision) {
			batch_drop(m, b, i);
			n_dropped++;
		} else {
			b->moved[i].lease = gets[i].kvs[0].lease;
		}
	}
	return n_dropped;
}

static void get_keys(const struct batch *b, struct storage_step *gets)
{
	for (size_t i = 0; i < b->n; i++) {
		gets[i] = (struct storage_step){.kind = STEP_GET, .key = b->moved[i].key, .keys_only = true};
	}
}

/* Only etcd knows under which lease an object is. */
static enum storage_result batch_read_leases(struct migrator *m, struct batch *b)
{
	struct storage_step gets[BATCH_MAX];
	struct storage_txn txn = {.op.timeout_ms = STORE_TIMEOUT_MS, .success = gets, .n_success = b->n};

	get_keys(b, gets);
	enum storage_result result = storage_txn_wait(m->options.storage, &txn);
	if (result == STORAGE_OK) {
		batch_compare(m, b, gets);
	}
	storage_op_clear(&txn.op);
	return result;
}

/* ---- writing ---- */

enum written {
	BATCH_DONE,
	BATCH_AGAIN, /* without those that somebody has changed */
	BATCH_LATER, /* the same from its beginning, once things are as they should be */
	BATCH_TOO_LARGE,
};

/* The guards did not hold: why not? */
static enum written batch_refused(struct migrator *m, struct batch *b, const struct storage_step *gets)
{
	const struct storage_step *lock = &gets[b->n], *ticket = &gets[b->n + 1];

	if (lock->n_kvs == 0 || lock->kvs[0].mod_revision != m->lock_revision) {
		turn_lose(m);
		return BATCH_LATER;
	}
	if (ticket->n_kvs == 0 || ticket->kvs[0].mod_revision != b->ticket.revision) {
		agreement_doubt(m->options.agreement, &b->ticket);
		return BATCH_LATER;
	}
	batch_compare(m, b, gets);
	return BATCH_AGAIN;
}

static enum written batch_result(struct migrator *m, struct batch *b, const struct storage_txn *txn)
{
	switch (txn->op.result) {
	case STORAGE_OK:
		return txn->succeeded ? BATCH_DONE : batch_refused(m, b, txn->failure);
	case STORAGE_TOO_LARGE:
		return BATCH_TOO_LARGE;
	case STORAGE_LEASE_GONE: /* and with it objects: reading leases again shows which */
		return BATCH_AGAIN;
	default:
		return BATCH_LATER;
	}
}

static enum written batch_put(struct migrator *m, struct batch *b)
{
	struct storage_compare guards[BATCH_MAX + 2];
	struct storage_step puts[BATCH_MAX], gets[BATCH_MAX + 2];
	struct storage_txn txn = {.op.timeout_ms = STORE_TIMEOUT_MS,
		.compares = guards,
		.n_compares = b->n + 2,
		.success = puts,
		.n_success = b->n,
		.failure = gets,
		.n_failure = b->n + 2};

	get_keys(b, gets);
	for (size_t i = 0; i < b->n; i++) {
		const struct moved *o = &b->moved[i];
		guards[i] = (struct storage_compare){COMPARE_MOD, COMPARE_EQUAL, o->key, .number = o->object->revision};
		puts[i] = (struct storage_step){.kind = STEP_PUT, .key = o->key, .value = o->value, .lease = o->lease};
	}
	guards[b->n] = turn_guard(m);
	guards[b->n + 1] = (struct storage_compare){COMPARE_MOD, COMPARE_EQUAL, b->ticket.key, .number = b->ticket.revision};
	gets[b->n] = (struct storage_step){.kind = STEP_GET, .key = m->lock_key, .keys_only = true};
	gets[b->n + 1] = (struct storage_step){.kind = STEP_GET, .key = b->ticket.key, .keys_only = true};
	storage_txn_wait(m->options.storage, &txn);
	enum written written = batch_result(m, b, &txn);
	storage_op_clear(&txn.op);
	return written;
}

static enum written batch_write(struct migrator *m, struct batch *b)
{
	enum written written = BATCH_DONE;

	for (unsigned i = 0; i < TRIES_MAX && b->n > 0; i++) {
		if (m->run.kind->expires && batch_read_leases(m, b)) {
			return BATCH_LATER;
		}
		written = b->n > 0 ? batch_put(m, b) : BATCH_DONE;
		if (written != BATCH_AGAIN) {
			return written;
		}
	}
	return b->n > 0 ? BATCH_LATER : BATCH_DONE;
}

/* ---- what came of it ---- */

static void run_count(struct migrator *m, const struct batch *b)
{
	struct run *r = &m->run;

	r->n_migrated += (int64_t)b->n;
	r->n_moved += (int64_t)b->n;
	m->counts.n_rewritten[r->kind->index] += b->n;
	m->counts.n_batches += b->n > 0;
	if (m->options.rate > 0) {
		r->next_ms = clock_mono_ms() + (int64_t)b->n * 1000 / m->options.rate;
	}
}

static void run_advance(struct migrator *m, const struct batch *b)
{
	struct run *r = &m->run;

	buf_clear(&r->at);
	buf_add_str(&r->at, b->last);
	r->is_at_end = b->is_at_end;
	r->limit = MIN(r->limit * 2, (size_t)BATCH_MAX);
}

/* Fewer at a time; an object that alone is too large stays as it is. */
static void run_shrink(struct migrator *m, const struct batch *b)
{
	struct run *r = &m->run;

	if (b->n > 1) {
		r->limit = b->n / 2;
		return;
	}
	if (r->n_oversized++ == 0) {
		buf_clear(&r->oversized);
		buf_add_str(&r->oversized, rest_of(b->moved[0].object, &m->run.arena));
	}
	run_advance(m, b);
}

static void run_batch(struct migrator *m)
{
	struct run *r = &m->run;
	struct batch b = {0};

	if (agreement_write(m->options.agreement, r->kind, &b.ticket, NULL) != AGREEMENT_MAY_WRITE ||
		b.ticket.version != r->version) {
		m->tend_at_ms = 0; /* which says what is waited for */
		run_pause(m);
		return;
	}
	arena_init(&b.arena, SIZE_MAX);
	b.snapshot = cache_snapshot(m->options.cache, r->kind);
	batch_fill(m, &b);
	switch (batch_write(m, &b)) {
	case BATCH_DONE:
		run_count(m, &b);
		run_advance(m, &b);
		break;
	case BATCH_TOO_LARGE:
		run_shrink(m, &b);
		break;
	default:
		/* Perhaps it was carried out all the same: the cache has to show it. */
		if (!turn_await_cache(m, 0)) {
			run_pause(m);
		}
	}
	cache_snapshot_unref(b.snapshot);
	arena_done(&b.arena);
}

/* ---- the end of a pass ---- */

static void run_begin_again(struct migrator *m)
{
	struct run *r = &m->run;

	buf_clear(&r->at);
	r->is_at_end = false;
	if (r->n_moved == 0) {
		run_pause(m);
	}
	r->n_oversized = r->n_moved = 0;
}

static bool run_is_stuck(const struct run *r)
{
	return r->n_oversized > 0 && r->n_moved == 0;
}

/* Nobody has changed what he writes since the view: from then on, everybody has written the same version. */
static bool run_conclude(struct migrator *m, const struct agreement_view *view, const struct cache_census *census)
{
	struct storage_compare unchanged = {.target = COMPARE_MOD,
		.result = COMPARE_LESS,
		.key = m->replicas_key,
		.range_end = m->replicas_end,
		.number = view_revision(view) + 1};
	struct str text = {NULL, 0};

	if (census->n_unreadable > 0) {
		text = arena_printf(&m->run.arena,
			"%zu values that are no objects were left as they are: annals fsck names them", census->n_unreadable);
	}
	return tend_report(m, MIGRATION_SUCCEEDED, text, &unchanged);
}

static void run_fail(struct migrator *m)
{
	struct run *r = &m->run;

	tend_report(m, MIGRATION_FAILED,
		arena_printf(&r->arena, "%" PRId64 " objects are too large to be written again, such as " STR_FMT,
			r->n_oversized, STR_ARG(buf_str(&r->oversized))),
		NULL);
}

static void run_finish(struct migrator *m)
{
	struct run *r = &m->run;
	_cleanup_(agreement_view_unrefp) struct agreement_view *view = agreement_view(m->options.agreement);
	struct cache_census census;

	if (!view || view_common(view, r->kind) != r->version || !turn_await_cache(m, 0)) {
		run_pause(m);
		return;
	}
	cache_census(m->options.cache, r->kind, &census);
	bool has_others = census_others(&census, r->kind, r->version) > 0;
	if (has_others && run_is_stuck(r)) {
		run_fail(m);
	} else if (has_others) {
		run_begin_again(m);
	} else if (census.revision < view_revision(view) || !run_conclude(m, view, &census)) {
		run_pause(m);
	}
}

void run_step(struct migrator *m)
{
	if (m->run.is_at_end) {
		run_finish(m);
	} else {
		run_batch(m);
	}
}
