/* A write is a loop: decide, one transaction, and from the start again if a guard failed. Each
 * round begins with what made the last one fail, and the request's deadline ends them all. A
 * success needs no fresh read, since its transaction proves what it rests on. A refusal has no
 * transaction and the cache may be late: so it is decided once more behind a read index. */
#include "server/write/write.h"

#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/limits.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "server/write/write_history.h"
#include "server/write/write_references.h"
#include "server/write/write_user.h"
#include "storage/keys.h"

enum {
	/* Bytes. Far beyond what etcd takes: its answer tells the client more than ours would. */
	STORED_CEILING = 64 << 20,
	ARENA_CEILING = 128 << 20,
	WAIT_FOR_CACHE_MS = 10000,
	KEPT_MAX = 128 << 10, /* bytes that are kept while etcd is asked, rather than made again from text */
};

static void write_begin(struct request *q);
static void write_decide(struct request *q);
static void write_conclude(struct request *q, struct write *w);
static void write_with_lease(struct request *q);

/* ---- memory ---- */

static struct write_memory *write_memory(struct request *q)
{
	struct write_memory *m = q->writing;

	if (!m) {
		m = q->writing = arena_new(http_arena(q->x), struct write_memory);
		for (size_t i = 0; i < WRITE_ARENAS; i++) {
			arena_init(&m->arenas[i], ARENA_CEILING);
		}
		buf_init(&m->stored, STORED_CEILING);
	}
	return m;
}

void write_begin_reading(struct request *q)
{
	q->a = &write_memory(q)->arenas[WRITE_PARSED];
}

void write_begin_deciding(struct request *q)
{
	q->a = &q->writing->arenas[WRITE_DECISION];
}

static size_t write_memory_used(const struct write_memory *m)
{
	size_t n = 0;

	for (size_t i = 0; i < WRITE_ARENAS; i++) {
		n += m->arenas[i].used;
	}
	return n;
}

/* What waits may wait for long. */
static void write_forget_body(struct request *q, struct write *w)
{
	struct arena *parsed = &q->writing->arenas[WRITE_PARSED];

	if (parsed->used > KEPT_MAX) {
		arena_done(parsed);
		w->is_forgotten = true;
	}
}

/* Nothing of what was decided before is needed. */
static void write_forget(struct request *q, struct write *w)
{
	struct write_memory *m = q->writing;

	arena_clear(&m->arenas[WRITE_PRESENT]);
	arena_clear(&m->arenas[WRITE_DECISION]);
	arena_clear(&m->arenas[WRITE_PACKED]);
	q->a = &m->arenas[WRITE_PRESENT];
	q->n_warnings = w->n_warnings;
	status_init(&q->st, q->a);
	w->present = w->object = NULL;
	w->is_packed = false;
}

static void write_drop(struct request *q)
{
	struct write_memory *m = q->writing;

	for (size_t i = 0; i < WRITE_ARENAS; i++) {
		arena_done(&m->arenas[i]);
	}
	buf_done(&m->stored);
	q->a = http_arena(q->x);
}

/* Texts that a warning is made of last only as long as what they were read from. */
static void write_keep_warnings(struct request *q, size_t from, struct arena *a)
{
	for (size_t i = from; i < q->n_warnings; i++) {
		q->warnings[i] = arena_dup(a, q->warnings[i]);
	}
}

/* ---- turns ---- */

void write_end_turn(struct request *q)
{
	struct write_memory *m = q->writing;

	if (m) {
		write_turn_leave(q->server->write_queue, &m->turn, m->revision);
		m->revision = 0;
	}
}

void request_end_write(struct request *q)
{
	if (q->writing) {
		write_end_turn(q);
		write_drop(q);
	}
}

static void write_refuse(struct request *q)
{
	write_end_turn(q);
	reply_status(q);
}

/* Whoever has begun another write has another turn. */
static void write_finish(struct request *q, struct write *w)
{
	q->a = w->arena;
	w->finish(q, w);
	if (http_status(q->x)) {
		write_end_turn(q);
	}
}

static struct str write_key(struct request *q, struct str ns, struct str name)
{
	const struct kind *k = q->route.kind;

	return key_object(((struct write *)q->state)->arena, q->server->options.prefix, str_of(k->doors[0].group), str_of(k->resource), ns, name);
}

/* ---- the present object ---- */

static int write_refuse_stored(struct request *q, const struct write *w, int error)
{
	if (error == OBJECT_WRONG_VERSION) {
		status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE,
			"the object " STR_FMT " is stored in a version that this server does not know", STR_ARG(w->name));
		return 1;
	}
	status_internal(&q->st, "the stored object %.*s cannot be read", STR_ARG(w->name));
	return 1;
}

static int write_set_present(struct request *q, struct write *w, struct str text, int64_t revision)
{
	int error = object_decode_stored(&w->present, q->route.kind, text, revision, q->a);

	w->present_text = text;
	return error ? write_refuse_stored(q, w, error) : 0;
}

/* kv: NULL when it is not there. */
static int write_take_stored(struct request *q, struct write *w, const struct storage_kv *kv)
{
	w->present = NULL;
	w->is_present_cached = false;
	return kv ? write_set_present(q, w, arena_dup(q->a, kv->value), kv->mod_revision) : 0;
}

static int write_take_cached(struct request *q, struct write *w, const struct cached *o)
{
	w->present = NULL;
	if (!o) {
		return 0;
	}
	w->present_text = cached_text(o, q->a);
	int error = cached_decode_text(&w->present, o, w->present_text, q->a);
	if (error) {
		return write_refuse_stored(q, w, error);
	}
	w->is_present_cached = true;
	w->is_present_respelled = o->is_respelled;
	return 0;
}

static int write_load_cached(struct request *q, struct write *w)
{
	w->seen = cache_revision(q->server->options.cache);
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, q->route.kind, request_ns(q), w->name);

	return write_take_cached(q, w, o);
}

int write_aim(struct request *q, struct write *w, struct str name, const struct cached *o)
{
	w->name = arena_dup(w->arena, name);
	w->key = write_key(q, request_ns(q), w->name);
	return write_take_cached(q, w, o);
}

static void write_fail(struct request *q, enum storage_result r, const char *message, bool is_write)
{
	write_end_turn(q);
	request_storage_failed(q, r, message, is_write);
}

static void write_reload(struct request *q)
{
	struct write *w = q->state;

	if (q->wait.result != STORAGE_OK) {
		write_fail(q, q->wait.result, q->wait.message, false);
		return;
	}
	w->is_fresh = true;
	if (w->is_kept && w->seen == cache_revision(q->server->options.cache)) {
		q->st = w->kept_status;
		write_conclude(q, w);
		return;
	}
	write_forget_body(q, w);
	write_forget(q, w);
	if (write_load_cached(q, w)) {
		write_refuse(q);
		return;
	}
	write_decide(q);
}

static void write_wait_fresh(struct request *q, struct write *w)
{
	w->is_kept = false;
	write_forget_body(q, w);
	write_forget(q, w);
	request_wait_fresh(q, write_reload);
}

/* Where the cache turns out to have nothing that it had not when the present object was looked up, deciding again would come to the
 * same: what was decided holds. It is kept for that, unless it is large. */
static void write_make_sure(struct request *q, struct write *w)
{
	if (write_memory_used(q->writing) > KEPT_MAX) {
		write_wait_fresh(q, w);
		return;
	}
	w->is_kept = true;
	w->kept_status = q->st;
	status_init(&q->st, q->a); /* for what may go wrong meanwhile */
	request_wait_fresh(q, write_reload);
}

/* ---- the transaction ---- */

static struct str beside_key(struct request *q, const struct object *o)
{
	const struct kind *k = o->kind;

	return key_object(
		q->a, q->server->options.prefix, str_of(k->doors[0].group), str_of(k->resource), o->meta.ns, o->meta.name);
}

static size_t beside_guards(struct request *q, const struct write *w, struct storage_compare *out)
{
	const struct write_beside *b = &w->beside;
	size_t n = 0;

	if (b->object) {
		out[n++] = storage_compare_mod(beside_key(q, b->object), b->object->mod_revision);
	}
	if (b->object && agreed_version_is_guarded(&b->ticket)) {
		out[n++] = agreement_guard(&b->ticket);
	}
	return n;
}

static size_t beside_steps(struct request *q, const struct write *w, struct storage_step *out)
{
	const struct write_beside *b = &w->beside;

	if (b->object) {
		out[0] = (struct storage_step){.kind = STEP_PUT, .key = beside_key(q, b->object), .value = b->stored};
	}
	return b->object != NULL;
}

static void write_build_txn(struct request *q, struct write *w, int64_t lease)
{
	bool refers = q->route.kind->references || w->loses_protection, is_history = q->route.kind->history;
	size_t n_extended = w->extend ? WRITE_OPERATIONS_MAX : 0;
	size_t max_compares =
		5u + (refers ? REFERENCES_COMPARES_MAX : 0u) + (is_history ? HISTORY_COMPARES_MAX : 0u) + n_extended;
	size_t max_success = 2u + (refers ? REFERENCES_STEPS_MAX : 0u) + (is_history ? HISTORY_STEPS_MAX : 0u) + n_extended;
	struct storage_compare *compares = arena_array(q->a, struct storage_compare, max_compares);
	struct storage_step *success = arena_array(q->a, struct storage_step, max_success);
	size_t n_compares = 0, n_success = 0;

	compares[n_compares++] = storage_compare_mod(w->key, w->present ? w->present->mod_revision : 0);
	if (w->guards_namespace) {
		compares[n_compares++] = storage_compare_mod(w->namespace_key, w->namespace_revision);
	}
	if (agreed_version_is_guarded(&w->ticket)) {
		compares[n_compares++] = agreement_guard(&w->ticket);
	}
	success[n_success++] = w->decision == DECIDE_REMOVE
		? (struct storage_step){.kind = STEP_DELETE, .key = w->key}
		: (struct storage_step){.kind = STEP_PUT, .key = w->key, .value = w->stored, .lease = lease};
	if (refers) {
		n_compares += references_guards(q, w, compares + n_compares);
		n_success += references_steps(q, w, success + n_success);
	}
	n_compares += history_guards(q, w, compares + n_compares);
	n_success += history_steps(q, w, success + n_success);
	n_compares += beside_guards(q, w, compares + n_compares);
	n_success += beside_steps(q, w, success + n_success);
	w->failure[0] = (struct storage_step){.kind = STEP_GET, .key = w->key};
	w->ticket_look = 1 + history_looks(q, w, w->failure + 1);
	w->failure[w->ticket_look] = (struct storage_step){.kind = STEP_GET, .key = w->ticket.key, .keys_only = true};
	q->txn = (struct storage_txn){.compares = compares,
		.n_compares = n_compares,
		.success = success,
		.n_success = n_success,
		.failure = w->failure,
		.n_failure = w->ticket_look + agreed_version_is_guarded(&w->ticket)};
	if (w->extend) {
		w->extend(q, w, &q->txn);
	}
	if (q->is_dry_run) {
		q->txn.n_success = 0;
	}
}

/* The failure branch brought the object as it is now. */
static int write_take_present(struct request *q, struct write *w)
{
	const struct storage_step *got = &w->failure[0];

	w->is_fresh = true;
	write_forget(q, w);
	return write_take_stored(q, w, got->n_kvs > 0 ? &got->kvs[0] : NULL);
}

static void write_conflict(struct request *q)
{
	status_conflict(&q->st, request_group(q), q->route.resource, ((struct write *)q->state)->name,
			"the object has been modified; please apply your changes to the latest version and try again");
	write_refuse(q);
}

/* As kube says it. Nothing was written. */
static void write_too_late(struct request *q)
{
	status_set(&q->st, 504, REASON_TIMEOUT,
		"Timeout: request did not complete within requested timeout - context deadline exceeded");
	q->st.has_details = true;
	write_refuse(q);
}

static bool is_too_late(const struct request *q)
{
	return clock_mono_ms() >= q->deadline_ms;
}

/* The object itself was as decided on, and the failure branch says what was not. */
static int write_refuse_found(struct request *q, struct write *w)
{
	const struct storage_step *got = &w->failure[0];
	int64_t revision = got->n_kvs > 0 ? got->kvs[0].mod_revision : 0;

	return revision == (w->present ? w->present->mod_revision : 0) && history_refuse(q, w, w->failure + 1);
}

/* Another version is stored meanwhile, or the others take us for dead: it is decided again with what holds then. */
static void write_doubt_ticket(struct request *q, const struct write *w)
{
	if (agreed_version_is_guarded(&w->ticket) && !storage_step_has(&w->failure[w->ticket_look], w->ticket.revision)) {
		agreement_doubt(q->server->options.agreement, &w->ticket);
	}
}

static void write_again(struct request *q, struct write *w)
{
	/* Another object may be what changed: the cache must see at least what the transaction saw. */
	bool guards_others = w->guards_namespace || w->loses_protection || w->needed || w->extend || w->beside.object;

	write_doubt_ticket(q, w);
	int r = (!w->extend && write_refuse_found(q, w)) || write_take_present(q, w);

	storage_op_clear(&q->txn.op);
	if (r) {
		write_refuse(q);
	} else if (is_too_late(q)) {
		write_too_late(q);
	} else if (++w->attempts >= WRITE_ATTEMPTS_MAX && guards_others) {
		write_conflict(q);
	} else if (guards_others) {
		write_wait_fresh(q, w);
	} else {
		write_decide(q);
	}
}

/* The object is too large for etcd only because of managedFields: without them, then. */
static bool write_shed(struct request *q, struct write *w)
{
	if (q->txn.op.result != STORAGE_TOO_LARGE || !w->may_shed || w->sheds_managed_fields) {
		return false;
	}
	w->sheds_managed_fields = true;
	storage_op_clear(&q->txn.op);
	write_begin(q);
	return true;
}

static void write_txn_done(struct request *q)
{
	struct write *w = q->state;
	bool has_written = q->txn.op.result == STORAGE_OK ? q->txn.succeeded : !storage_result_is_certain(q->txn.op.result);

	if (!has_written) {
		write_forget_user(q, w);
	}
	if (q->txn.op.result == STORAGE_LEASE_GONE && ++w->attempts < WRITE_ATTEMPTS_MAX) {
		storage_op_clear(&q->txn.op);
		leases_forget(q->server->leases, q->lease.id);
		request_wait_lease(q, q->server->leases, write_with_lease);
		return;
	}
	if (write_shed(q, w)) {
		return;
	}
	if (q->txn.op.result != STORAGE_OK) {
		write_fail(q, q->txn.op.result, q->txn.op.message, !q->is_dry_run);
		return;
	}
	if (!q->txn.succeeded) {
		write_again(q, w);
		return;
	}
	if (q->is_dry_run) {
		write_finish(q, w);
		return;
	}
	q->writing->revision = w->revision = q->txn.op.revision;
	if (w->decision == DECIDE_PUT && w->object) {
		w->object->mod_revision = w->revision;
	}
	write_finish(q, w);
}

/* ---- what is kept while etcd is asked ---- */

static struct storage_compare *pack_compares(struct arena *a, const struct storage_compare *compares, size_t n)
{
	struct storage_compare *copies = arena_array(a, struct storage_compare, n);

	for (size_t i = 0; i < n; i++) {
		copies[i] = compares[i];
		copies[i].key = arena_dup(a, compares[i].key);
		copies[i].range_end = arena_dup(a, compares[i].range_end);
		copies[i].value = arena_dup(a, compares[i].value);
	}
	return copies;
}

/* The object's value stays where it is. */
static void pack_steps(struct arena *a, struct storage_step *steps, size_t n, struct str stored)
{
	for (size_t i = 0; i < n; i++) {
		steps[i].key = arena_dup(a, steps[i].key);
		steps[i].range_end = arena_dup(a, steps[i].range_end);
		steps[i].value = steps[i].value.p == stored.p ? stored : arena_dup(a, steps[i].value);
	}
}

static void pack_txn(struct storage_txn *t, const struct write *w, struct arena *a)
{
	struct storage_step *success = arena_array(a, struct storage_step, t->n_success);

	memcpy(success, t->success, t->n_success * sizeof(*success));
	pack_steps(a, success, t->n_success, w->stored);
	pack_steps(a, t->failure, t->n_failure, w->stored);
	t->compares = pack_compares(a, t->compares, t->n_compares);
	t->success = success;
}

static struct object *pack_present(const struct object *o, struct arena *a)
{
	struct object *rest = o ? arena_new(a, struct object) : NULL;

	if (rest) {
		rest->kind = o->kind;
		rest->mod_revision = o->mod_revision;
		rest->meta.uid = arena_dup(a, o->meta.uid);
	}
	return rest;
}

/* A tree takes thirty times the room of its text, and etcd may take long. Trees are made again where they are needed: of what was stored, if the
 * client wants it in a form that is not at hand; of the body, if the race is lost. */
static void write_pack(struct request *q, struct write *w)
{
	struct write_memory *m = q->writing;
	struct arena *a = &m->arenas[WRITE_PACKED];
	bool may_answer = w->decision == DECIDE_PUT || !q->route.kind->delete_answers_object;

	if (write_memory_used(m) <= KEPT_MAX || !may_answer || w->extend || q->route.kind->expires || q->is_dry_run) {
		return;
	}
	pack_txn(&q->txn, w, a);
	history_pack(&w->history, a);
	write_keep_warnings(q, w->n_warnings, a);
	w->present = pack_present(w->present, a);
	w->has_beyond = w->object && w->object->beyond;
	w->object = NULL;
	w->is_packed = w->is_forgotten = true;
	arena_done(&m->arenas[WRITE_PARSED]);
	arena_done(&m->arenas[WRITE_PRESENT]);
	arena_done(&m->arenas[WRITE_DECISION]);
	questions_forget_webhooks(&q->questions);
	q->a = a;
	status_init(&q->st, a);
}

/* What it holds while it waits. More than all requests together may hold: nothing has been written yet. */
static int write_weigh(struct request *q, size_t sent)
{
	const struct write_memory *m = q->writing;

	return request_charge(q, http_arena(q->x)->used + write_memory_used(m) + m->stored.cap + sent);
}

static void write_send(struct request *q, struct write *w, int64_t lease)
{
	write_build_txn(q, w, lease);
	write_note_user(q, w);
	write_pack(q, w);
	if (write_weigh(q, w->stored.n)) {
		write_refuse(q);
		return;
	}
	request_txn(q, write_txn_done);
}

struct object *write_object(struct request *q, struct write *w)
{
	if (w->is_packed && !w->object && w->decision == DECIDE_PUT) {
		q->a = &q->writing->arenas[WRITE_DECISION];
		object_decode_stored(&w->object, q->route.kind, w->stored, w->revision, q->a);
	}
	return w->object;
}

static void write_with_lease(struct request *q)
{
	if (q->lease.result != STORAGE_OK) {
		write_fail(q, q->lease.result, q->lease.message, false);
		return;
	}
	write_send(q, q->state, q->lease.id);
}

static bool write_encode(struct request *q, struct write *w)
{
	struct buf *out = &q->writing->stored;

	buf_clear(out);
	buf_reserve(out, MAX(w->present_text.n, http_body(q->x).n)); /* about as large */
	if (!object_encode_stored(out, w->object, w->ticket.version)) {
		status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "the object is too large to be stored");
		return false;
	}
	w->stored = buf_str(out);
	return true;
}

/* 0; or 1: the request waits, or has been answered. */
static int beside_prepare(struct request *q, struct write_beside *b)
{
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, STORED_CEILING);
	if (agreed_version_take(q, b->object->kind, &b->ticket, write_decide)) {
		return 1;
	}
	if (!object_encode_stored(&out, b->object, b->ticket.version)) {
		status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "the object is too large to be stored");
		write_refuse(q);
		return 1;
	}
	b->stored = arena_dup(q->a, buf_str(&out));
	return 0;
}

/* ---- what is to stay as it is ---- */

/* The cache has taken resourceVersion in. */
static bool is_cached_so(struct request *q, const struct write *w, struct str stored)
{
	struct str body = cached_body_of(q->route.kind, stored, w->present->mod_revision, q->a);

	return !w->is_present_respelled && body.n > 0 && str_ends(w->present_text, body);
}

/* Is the object stored in these very words, but perhaps for the version? */
static bool is_spelled_so(struct request *q, const struct write *w)
{
	const struct door *shown = w->is_present_cached ? &q->route.kind->doors[0] : w->present->stored_version;
	struct object present = *w->present;
	struct buf out;

	buf_init(&out, STORED_CEILING);
	present.beyond = w->is_present_cached ? NULL : present.beyond;
	bool is_same = object_encode_stored(&out, &present, shown) &&
		(w->is_present_cached ? is_cached_so(q, w, buf_str(&out)) : str_eq(buf_str(&out), w->present_text));
	buf_done(&out);
	return is_same;
}

enum decision write_keep(struct request *q, struct write *w)
{
	bool is_current = w->present->stored_version == agreed_version_now(q) && is_spelled_so(q, w);

	w->object = object_copy(w->present, q->a);
	return is_current || q->is_dry_run ? DECIDE_KEEP : DECIDE_PUT;
}

/* ---- deciding ---- */

static void write_carry_out(struct request *q, struct write *w)
{
	timing_pass(q, STEP_ADMITTED);
	history_note(q, w);
	if (q->is_dry_run && w->history.n_free == 0) {
		write_finish(q, w);
		return;
	}
	w->ticket = (struct agreement_ticket){0}; /* a removal stores nothing */
	w->stored = STR("");
	if (w->decision == DECIDE_PUT) {
		if (agreed_version_take(q, q->route.kind, &w->ticket, write_decide)) {
			return;
		}
		if (!write_encode(q, w)) {
			write_refuse(q);
			return;
		}
	}
	if (w->beside.object && beside_prepare(q, &w->beside)) {
		return;
	}
	if (w->decision == DECIDE_PUT && q->route.kind->expires) {
		if (write_weigh(q, w->stored.n)) {
			write_refuse(q);
			return;
		}
		request_wait_lease(q, q->server->leases, write_with_lease);
		return;
	}
	write_send(q, w, 0);
}

static void write_decide_once(struct request *q, struct write *w)
{
	q->a = &q->writing->arenas[WRITE_DECISION];
	questions_keep_change(&q->questions);
	arena_clear(q->a);
	status_init(&q->st, q->a);
	w->object = NULL;
	w->guards_namespace = false;
	q->n_warnings = w->n_warnings;
	w->beside = (struct write_beside){0};
	atomic_fetch_add_explicit(&q->server->n_decisions, 1, memory_order_relaxed);
	w->decision = w->decide(q, w);
	if (w->decision != DECIDE_REFUSE && !questions_is_noted(&q->questions) && references_check(q, w)) {
		w->decision = DECIDE_REFUSE;
	}
}

static void write_answered(struct request *q)
{
	write_turn_set_asking(q->server->write_queue, &q->writing->turn, false);
	write_decide(q);
}

static void write_conclude(struct request *q, struct write *w)
{
	bool needs_fresh = w->decision == DECIDE_REFUSE || w->decision == DECIDE_KEEP || q->is_dry_run;

	if (needs_fresh && !w->is_fresh) {
		write_make_sure(q, w);
	} else if (w->decision == DECIDE_REFUSE) {
		write_refuse(q);
	} else if (w->decision == DECIDE_KEEP) {
		w->object = w->present;
		write_finish(q, w);
	} else {
		write_carry_out(q, w);
	}
}

static void write_decide(struct request *q)
{
	struct write *w = q->state;

	write_decide_once(q, w);
	while (questions_is_noted(&q->questions)) {
		if (write_weigh(q, q->writing->arenas[WRITE_ASKED].used + q->writing->arenas[WRITE_ASKED + 1].used)) {
			write_refuse(q);
			return;
		}
		if (!questions_start(&q->questions)) {
			write_turn_set_asking(q->server->write_queue, &q->writing->turn, true);
			request_wait_answer(q, write_answered);
			return;
		}
		write_decide_once(q, w);
	}
	write_conclude(q, w);
}

/* The answer is made: what it was made of need not wait until the client has taken it. */
void write_reply(struct request *q, unsigned code, struct write *w)
{
	bool is_stored = w->decision == DECIDE_PUT && !q->is_dry_run;
	bool has_beyond = w->is_packed ? w->has_beyond : w->object->beyond != NULL;

	const struct view *view = q->route.sub ? q->route.sub->view : NULL;

	write_begin_deciding(q);

	if (view) {
		reply_object(q, code, view_show(view, write_object(q, w), q->a));
	} else if (!is_stored || has_beyond || !reply_stored(q, code, w->stored, w->revision)) {
		reply_object(q, code, write_object(q, w));
	}
	write_end_turn(q);
	write_drop(q);
}

void write_go_on(struct request *q, struct write *w)
{
	storage_op_clear(&q->txn.op);
	write_forget(q, w);
	w->is_fresh = true;
	w->attempts = 0;
	w->is_present_cached = false;
	if (write_set_present(q, w, arena_dup(q->a, w->stored), w->revision)) {
		write_refuse(q);
	} else {
		write_decide(q);
	}
}

void write_rename(struct request *q, struct write *w, struct str name)
{
	w->name = arena_dup(w->arena, name);
	w->key = write_key(q, request_ns(q), w->name);
	w->present = NULL;
	w->is_fresh = false;
}

static void write_begin(struct request *q)
{
	struct write *w = q->state;

	write_forget(q, w);
	if (write_load_cached(q, w)) {
		write_refuse(q);
		return;
	}
	/* Something that is not in the cache may just not have arrived there yet. */
	if (!w->present && q->route.action != VERB_CREATE) {
		write_wait_fresh(q, w);
	} else {
		write_decide(q);
	}
}

static void write_wake(void *ctx)
{
	http_wake(ctx);
}

/* What the writer before has written need not have arrived in the cache: to decide without it would be for nothing. */
static void write_take_turn(struct request *q)
{
	struct write *w = q->state;
	struct write_turn *turn = &q->writing->turn;
	int64_t after;

	if (is_too_late(q) || http_was_cut(q->x)) {
		write_too_late(q);
	} else if (!write_turn_take(q->server->write_queue, turn, w->key, write_wake, q->x, &after)) {
		write_forget_body(q, w);
		request_wait_turn(q, write_take_turn);
	} else if (after > cache_revision(q->server->options.cache)) {
		request_wait_revision(q, after, WAIT_FOR_CACHE_MS, write_begin);
	} else {
		write_begin(q);
	}
}

void write_run(struct request *q, struct write *w)
{
	struct write_memory *m = write_memory(q);

	write_end_turn(q); /* of a write before it */
	q->state = w;
	w->arena = w->arena ? w->arena : http_arena(q->x);
	q->a = w->arena;
	write_keep_warnings(q, 0, q->a);
	w->n_warnings = q->n_warnings;
	questions_begin_write(&q->questions, &m->arenas[WRITE_ASKED]);
	if (!request_is_cache_ready(q)) {
		return;
	}
	w->key = write_key(q, request_ns(q), w->name);
	w->namespace_key = key_object(q->a, q->server->options.prefix, STR(""), STR("namespaces"), STR(""), request_ns(q));
	/* A rehearsal writes nothing; a snapshot does not know yet what it writes. */
	if (q->is_dry_run || w->name.n == 0) {
		write_begin(q);
	} else {
		write_take_turn(q);
	}
}
