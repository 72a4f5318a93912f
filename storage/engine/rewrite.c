/* A migration that runs: it takes objects of a kind from the cache, and puts them as they are in another version. Each has a transaction of its own. Objects
 * that are written in one transaction have one resourceVersion: a client whose watch breaks among their events would resume behind that version, and
 * never see the others. A batch of transactions is under way at a time. */
#include "storage/engine/migrator_private.h"

#include "base/clock.h"

#include <assert.h>
#include <inttypes.h>

enum {
	/* Objects of one batch, whose transactions are sent together; a low rate has fewer. */
	BATCH_MAX = 40,
	BATCH_BYTES = 512 * 1024,
	BATCHES_A_SECOND = 100, /* at least, at low rates: others wait for etcd behind a batch */
	WALK_MAX = 20000,       /* objects that are looked at between two looks at everything else */
	/* Turns of a batch in which objects have changed; then they wait for the next walk. */
	TRIES_MAX = 3,
	KEY_MAX = 65536, /* bytes of a key: a namespace and a name, of which none comes near */
};

/* An object on its way. */
struct moved {
	const struct cached *object;
	struct str key, value;
	int64_t lease;
	const struct object *read; /* the object, decoded */
	struct plan plan;
	size_t lock_look;
};

struct batch {
	struct arena arena;
	struct cache_snapshot *snapshot; /* holds the objects */
	struct agreement_ticket ticket;
	struct moved *moved[BATCH_MAX];
	size_t n, n_bytes;
	size_t n_unencodable;
	struct str unencodable; /* the first of them */
	struct str last;        /* the last object that is done with, once those here are */
	bool is_at_end;
};

/* ---- life ---- */

static void run_pause(struct migrator *m)
{
	m->run.next_ms = clock_mono_ms() + m->options.poll_ms / 2;
}

void run_begin(struct migrator *m, const struct migration *what, const struct migration_facts *f, bool is_automatic)
{
	struct run *r = &m->run;

	*r = (struct run){.kind = kind_ref(f->kind), .version = f->common, .since_ms = clock_mono_ms()};
	arena_init(&r->arena, (size_t)1 << 20);
	buf_init(&r->at, KEY_MAX);
	buf_init(&r->oversized.first, KEY_MAX);
	buf_init(&r->unencodable.first, KEY_MAX);
	r->name = arena_dup(&r->arena, what->name);
	r->uid = arena_dup(&r->arena, what->uid);
	r->n_migrated = what->n_migrated;
	r->n_conflicts = what->n_conflicts;
	r->is_automatic = is_automatic;
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
		buf_done(&r->oversized.first);
		buf_done(&r->unencodable.first);
		arena_done(&r->arena);
		r->kind = kind_unref(r->kind);
	}
}

/* ---- what stays as it is ---- */

static void left_add(struct run_left *l, size_t n, struct str first)
{
	if (l->n == 0) {
		buf_clear(&l->first);
		buf_add_str(&l->first, first);
	}
	l->n += (int64_t)n;
}

static struct str left_describe(const struct run_left *l, const char *why, struct arena *a)
{
	if (l->n == 0) {
		return STR("");
	}
	return arena_printf(a, "%" PRId64 " objects %s, such as " STR_FMT, l->n, why, STR_ARG(buf_str(&l->first)));
}

/* ---- choosing ---- */

static struct str rest_of(const struct cached *o, struct arena *a)
{
	return o->ns.n ? arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(o->ns), STR_ARG(o->name)) : o->name;
}

static size_t batch_limit(const struct migrator *m)
{
	int64_t rate = m->options.rate;

	return rate > 0 ? MIN((size_t)BATCH_MAX, (size_t)MAX(rate / BATCHES_A_SECOND, 1)) : BATCH_MAX;
}

/* Would the object lose fields that clients of its present version see? Of a kind that a definition describes, the new version may lack some. They are
 * not shown any more, but come back when the definition is put back, as long as the text in etcd stays. */
static bool moved_loses_fields(const struct moved *moved, const struct version *version, struct arena *a)
{
	const struct kind *k = moved->object->kind;
	const struct version *present = moved->object->stored_version;
	struct json *whole;
	size_t at;

	if (!k->narrow || !present->is_narrowed) {
		return false;
	}
	if (json_parse(&whole, a, cached_as_stored(moved->object, a), object_stored_limits(), &at)) {
		return true;
	}
	return !version_knows(k, version, k->narrow(k, present, whole, a), a);
}

static bool moved_encode(struct moved *moved, const struct version *version, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	struct object *o;

	buf_init(&text, SIZE_MAX / 2);
	if (cached_object(&o, moved->object, a)) {
		return false;
	}
	if (o->kind->settle) {
		o->kind->settle(o, a); /* as any write of it does */
	}
	if (!object_encode_stored(&text, o, version)) {
		return false;
	}
	moved->read = o;
	moved->value = arena_dup(a, buf_str(&text));
	return true;
}

/* Adds an object. Returns false if the batch is full without it. An object that cannot be encoded is left out. It is counted when the batch is done,
 * since the same batch may be made several times. */
static bool batch_add(struct migrator *m, struct batch *b, const struct cached *o)
{
	struct moved *moved = arena_new(&b->arena, struct moved);

	moved->object = o;
	bool is_kept = m->run.is_automatic && moved_loses_fields(moved, m->run.version, &b->arena);
	if (is_kept || !moved_encode(moved, m->run.version, &b->arena)) {
		if (b->n_unencodable++ == 0) {
			b->unencodable = rest_of(o, &b->arena);
		}
		return true;
	}
	if (b->n > 0 && b->n_bytes + moved->value.n > BATCH_BYTES) {
		return false;
	}
	moved->key = object_id_key(&(struct object_id){o->kind, o->ns, o->name}, m->options.prefix, &b->arena);
	b->n_bytes += moved->value.n;
	assert(b->n < BATCH_MAX);
	b->moved[b->n++] = moved;
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

	/* A NUL behind the last key makes the smallest key that can follow it. */
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
	m->counts.n_conflicts[migration_slot(m->run.kind)]++;
}

/* Only etcd knows under which lease an object is. */
static enum storage_result batch_read_leases(struct migrator *m, struct batch *b)
{
	struct plan p;

	plan_init(&p, &b->arena, m->options.prefix);
	for (size_t i = 0; i < b->n; i++) {
		plan_read(&p, b->moved[i]->key, STR(""))->keys_only = true;
	}
	p.txn.op.timeout_ms = STORE_TIMEOUT_MS;
	enum storage_result result = plan_wait(&p, m->options.storage);
	for (size_t i = b->n; result == STORAGE_OK && i-- > 0;) {
		const struct storage_step *look = &p.txn.success[i];
		if (storage_step_has(look, b->moved[i]->object->revision)) {
			b->moved[i]->lease = look->kvs[0].lease;
		} else {
			batch_drop(m, b, i);
		}
	}
	plan_clear(&p);
	return result;
}

/* ---- writing ---- */

enum written {
	MOVED,       /* or not to be moved: somebody has changed it, or it is too large */
	MOVED_AGAIN, /* its lease has gone, and perhaps the object with it: reading leases again shows that */
	MOVED_LATER, /* once things are as they should be */
};

/* The object stays the same, so nothing follows from it for the indexes. */
static void moved_prepare(struct migrator *m, struct batch *b, struct moved *o)
{
	const struct cached *c = o->object;

	plan_init(&o->plan, &b->arena, m->options.prefix);
	plan_change(&o->plan,
		&(struct plan_change){.kind = c->kind,
			.ns = c->ns,
			.name = c->name,
			.before = o->read,
			.after = o->read,
			.revision = c->revision,
			.stored = o->value,
			.lease = o->lease,
			.ticket = &b->ticket});
	o->lock_look = migrator_lock_guard(m, &o->plan);
	o->plan.txn.op.timeout_ms = STORE_TIMEOUT_MS;
}

static void batch_finish(struct migrator *m, struct batch *b, size_t i)
{
	struct run *r = &m->run;

	r->n_migrated++;
	r->n_moved++;
	m->counts.n_rewritten[migration_slot(r->kind)]++;
	b->moved[i] = b->moved[--b->n];
}

/* Drops an object that etcd refuses for its size; it stays stored as it is. */
static void batch_skip(struct migrator *m, struct batch *b, size_t i)
{
	left_add(&m->run.oversized, 1, rest_of(b->moved[i]->object, &b->arena));
	b->moved[i] = b->moved[--b->n];
}

/* Reports the stall only once, not on each of many failed attempts. */
static void run_note_stalled(struct migrator *m, const struct storage_op *op)
{
	struct run *r = &m->run;

	if (!r->is_stalled) {
		migrator_notice(m, true, "StorageMigration " STR_FMT " cannot rewrite objects, will go on trying: %s",
			STR_ARG(r->name), op->message[0] ? op->message : storage_result_name(op->result));
	}
	r->is_stalled = true;
}

/* Takes the object from the batch where there is nothing more to be done. */
static enum written moved_result(struct migrator *m, struct batch *b, size_t i)
{
	struct moved *o = b->moved[i];

	switch (migrator_lock_judge(m, &o->plan, o->lock_look)) {
	case PLAN_DONE:
		batch_finish(m, b, i);
		return MOVED;
	case PLAN_CONFLICT:
		batch_drop(m, b, i);
		return MOVED;
	case PLAN_UNREGISTERED:
	case PLAN_REFUSED:
		return MOVED_LATER; /* it is not this server's turn any more */
	case PLAN_FAILED:
		break;
	}
	if (o->plan.txn.op.result == STORAGE_TOO_LARGE) {
		batch_skip(m, b, i);
		return MOVED;
	}
	if (o->plan.txn.op.result == STORAGE_LEASE_GONE) {
		return MOVED_AGAIN;
	}
	run_note_stalled(m, &o->plan.txn.op);
	return MOVED_LATER;
}

static enum written batch_put(struct migrator *m, struct batch *b)
{
	struct plan *plans[BATCH_MAX];
	enum written all = MOVED;

	for (size_t i = 0; i < b->n; i++) {
		moved_prepare(m, b, b->moved[i]);
		plans[i] = &b->moved[i]->plan;
	}
	plans_wait(plans, b->n, m->options.storage);
	for (size_t i = b->n; i-- > 0;) {
		struct moved *o = b->moved[i];
		enum written written = moved_result(m, b, i);
		all = MAX(all, written);
		plan_clear(&o->plan);
	}
	return all;
}

static enum written batch_write(struct migrator *m, struct batch *b)
{
	for (unsigned i = 0; i < TRIES_MAX && b->n > 0; i++) {
		if (m->run.kind->expires && batch_read_leases(m, b)) {
			return MOVED_LATER;
		}
		enum written written = batch_put(m, b);
		if (written != MOVED_AGAIN) {
			return written;
		}
	}
	return b->n > 0 ? MOVED_LATER : MOVED;
}

/* ---- what came of it ---- */

static void run_advance(struct migrator *m, const struct batch *b)
{
	struct run *r = &m->run;

	buf_clear(&r->at);
	buf_add_str(&r->at, b->last);
	if (b->n_unencodable > 0) {
		left_add(&r->unencodable, b->n_unencodable, b->unencodable);
	}
	r->is_at_end = b->is_at_end;
	r->is_stalled = false;
}

/* The version of a kind that a definition describes is in the definition, which guards the write (storage/engine/plan.h). */
static bool run_may_write(struct migrator *m, struct agreement_ticket *ret)
{
	const struct run *r = &m->run;

	if (r->kind->life) {
		*ret = (struct agreement_ticket){.version = r->version};
		return true;
	}
	return agreement_write(m->options.agreement, r->kind, ret, NULL) == AGREEMENT_MAY_WRITE && ret->version == r->version;
}

static void run_batch(struct migrator *m)
{
	struct run *r = &m->run;
	struct batch b = {0};

	if (!run_may_write(m, &b.ticket)) {
		m->migrations_at_ms = 0; /* which says what is waited for */
		run_pause(m);
		return;
	}
	arena_init(&b.arena, SIZE_MAX);
	b.snapshot = cache_snapshot(m->options.cache, r->kind);
	batch_fill(m, &b);
	int64_t n_migrated = r->n_migrated;
	if (m->options.rate > 0) {
		r->next_ms = clock_mono_ms() + (int64_t)b.n * 1000 / m->options.rate;
	}
	if (batch_write(m, &b) == MOVED) {
		run_advance(m, &b);
	} else {
		/* Perhaps some were carried out all the same: the cache has to show it. And etcd may refuse everything, for as long as it is full. */
		migrator_lock_await_cache(m, 0);
		run_pause(m);
	}
	m->counts.n_batches += r->n_migrated > n_migrated;
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
	r->oversized.n = r->unencodable.n = r->n_moved = 0;
}

static bool run_is_stuck(const struct run *r)
{
	return r->oversized.n + r->unencodable.n > 0 && r->n_moved == 0;
}

/* No replica has changed its version since the view: from then on, everybody has written the same version. Of a kind that a definition
 * describes, the definition has not changed. */
static struct storage_compare run_unchanged(struct migrator *m, const struct agreement_view *view)
{
	const struct kind_life *life = m->run.kind->life;

	if (life) {
		const struct object_id id = {m->definitions, STR(""), life->definition};
		return storage_compare_mod(
			object_id_key(&id, m->options.prefix, &m->run.arena), atomic_load(&life->revision));
	}
	return (struct storage_compare){.target = COMPARE_MOD,
		.result = COMPARE_LESS,
		.key = m->replicas_key,
		.range_end = m->replicas_end,
		.number = view_revision(view) + 1};
}

static bool run_conclude(struct migrator *m, const struct agreement_view *view, const struct cache_census *census)
{
	struct storage_compare unchanged = run_unchanged(m, view);
	struct str text = {NULL, 0};

	if (census->n_unreadable > 0) {
		text = arena_printf(&m->run.arena,
			"%zu values that are no objects were left as they are: annals fsck names them", census->n_unreadable);
	}
	return migrations_report(m, MIGRATION_SUCCEEDED, text, &unchanged);
}

static void run_fail(struct migrator *m)
{
	struct run *r = &m->run;

	struct str large = left_describe(&r->oversized, "are too large to be written again", &r->arena);
	struct str odd = left_describe(&r->unencodable,
		r->kind->life && r->is_automatic ? "have fields that the storage version lacks: a StorageMigration of your own drops them"
						 : "cannot be encoded in another version",
		&r->arena);

	migrations_report(m, MIGRATION_FAILED,
		arena_printf(&r->arena, STR_FMT "%s" STR_FMT, STR_ARG(large), large.n && odd.n ? "; " : "", STR_ARG(odd)),
		NULL);
}

static void run_finish(struct migrator *m)
{
	struct run *r = &m->run;
	_cleanup_(agreement_view_unrefp) struct agreement_view *view = agreement_view(m->options.agreement);
	struct cache_census census;

	bool is_common = view && (r->kind->life || view_common(view, r->kind) == r->version);
	if (!is_common || !migrator_lock_await_cache(m, 0)) {
		run_pause(m);
		return;
	}
	cache_census(m->options.cache, r->kind, &census);
	bool has_others = census_others(&census, r->kind, r->version) > 0;
	if (has_others && run_is_stuck(r)) {
		run_fail(m);
	} else if (has_others) {
		run_begin_again(m);
	} else if (census.revision < view_revision(view) || !migrations_are_settled(m) || !run_conclude(m, view, &census)) {
		run_pause(m);
	}
}

void run_step(struct migrator *m)
{
	assert(m->run.kind && m->lock_revision);
	if (kind_is_over(m->run.kind)) {
		run_end(m); /* the next look finds the kind that has taken its place, or none */
		m->migrations_at_ms = 0;
	} else if (m->run.is_at_end) {
		run_finish(m);
	} else {
		run_batch(m);
	}
}
