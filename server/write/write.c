/* A write is a loop: decide, send one transaction, and start again if a guard failed. The picture of its states is in write.h.
 *
 * Each round begins with what made the last one fail, and the request's deadline ends them all. A success needs no fresh read,
 * because its transaction proves what it rests on. A refusal has no transaction, and the cache may be late: so it is confirmed
 * behind a read index. */
#include "server/write/write.h"

#include "api/model/packed.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/limits.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "server/write/definitions.h"
#include "server/write/user_notes.h"
#include "server/write/write_recorded.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>

enum { WAIT_FOR_CACHE_MS = 10000 };

static void write_begin(struct request *q);
static void write_decide(struct request *q);
static void write_conclude(struct request *q, struct write *w);
static void write_with_lease(struct request *q);

/* ---- the state (the picture is in write.h) ---- */

#define TO(state) (1u << WRITE_##state)

static const unsigned write_steps[] = {
	[WRITE_NEW] = TO(QUEUED) | TO(REREADING) | TO(DECIDING) | TO(DONE),
	[WRITE_QUEUED] = TO(QUEUED) | TO(REREADING) | TO(DECIDING) | TO(DONE),
	[WRITE_DECIDING] = TO(ASKING) | TO(CONFIRMING) | TO(REREADING) | TO(PREPARING) | TO(DONE),
	[WRITE_ASKING] = TO(DECIDING) | TO(DONE),
	[WRITE_CONFIRMING] = TO(DECIDING) | TO(DONE),
	[WRITE_REREADING] = TO(DECIDING) | TO(DONE),
	[WRITE_PREPARING] = TO(DECIDING) | TO(ASKING) | TO(SENT) | TO(DONE),
	[WRITE_SENT] = TO(DECIDING) | TO(REREADING) | TO(PREPARING) | TO(LOOKING) | TO(DONE),
	[WRITE_LOOKING] = TO(DONE),
	[WRITE_DONE] = TO(REREADING),
};

static void write_enter(struct write *w, enum write_state state)
{
	assert(write_steps[w->state] & (1u << state));
	w->state = state;
}

int write_read_again(struct request *q, struct write *w, int (*read)(struct request *q, struct write *w))
{
	if (w->held == HELD_ALL) {
		return 0;
	}
	assert(w->held == HELD_WITHOUT_BODY);
	write_begin_reading(q);
	int r = read(q, w);
	write_begin_deciding(q);
	w->held = r ? HELD_WITHOUT_BODY : HELD_ALL;
	return r;
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
	assert(q->writing);
	write_end_turn(q);
	write_drop(q);
}

static void write_refuse(struct request *q)
{
	struct write *w = q->state;

	write_enter(w, WRITE_DONE);
	write_end_turn(q);
	if (w->refused) {
		w->refused(q, w);
	} else {
		reply_status(q);
	}
}

/* finish() may go on with this write, or start another one. So the turn ends here only if the request is answered. */
static void write_finish(struct request *q, struct write *w)
{
	write_enter(w, WRITE_DONE);
	q->a = w->arena;
	w->finish(q, w);
	if (http_status(q->x)) {
		write_end_turn(q);
	}
}

static struct str write_key(struct request *q, struct str ns, struct str name)
{
	const struct kind *k = q->route.kind;

	return key_object(((struct write *)q->state)->arena, q->server->options.prefix, str_of(k->versions[0].group),
		str_of(k->resource), ns, name);
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

/* kv: NULL when it is not there. If it continues a base that the cache has not seen yet, nothing is known of it. */
static int write_take_stored(struct request *q, struct write *w, const struct storage_kv *kv)
{
	w->present = w->unconverted = NULL;
	w->present_is = TEXT_STORED;
	w->lacks_base = false;
	if (!kv) {
		return 0;
	}
	struct str text = kv->value;
	int r = packed_open(&text, kv->value, q->a);
	w->lacks_base = r == -ENOENT;
	text = text.p == kv->value.p ? arena_dup(q->a, text) : text;
	return w->lacks_base ? 0 : write_set_present(q, w, text, kv->mod_revision);
}

static int write_take_cached(struct request *q, struct write *w, const struct cached *o)
{
	w->present = w->unconverted = NULL;
	if (!o) {
		return 0;
	}
	w->present_text = cached_text(o, q->a);
	int error = cached_decode_text(&w->present, o, w->present_text, q->a);
	if (error) {
		return write_refuse_stored(q, w, error);
	}
	w->present_is = o->is_respelled ? TEXT_CACHED_RESPELLED : TEXT_CACHED;
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
	request_refuse_storage(q, r, message, is_write);
	write_refuse(q);
}

static void write_reload(struct request *q)
{
	struct write *w = q->state;

	if (q->wait.result != STORAGE_OK) {
		write_fail(q, q->wait.result, q->wait.message, false);
		return;
	}
	w->is_fresh = true;
	if (w->state == WRITE_CONFIRMING && w->seen == cache_revision(q->server->options.cache)) {
		q->st = w->kept_status;
		write_enter(w, WRITE_DECIDING);
		write_conclude(q, w);
		return;
	}
	write_begin_round(q, w);
	write_keep_little(q, w);
	if (write_load_cached(q, w)) {
		write_refuse(q);
		return;
	}
	write_decide(q);
}

static void write_wait_fresh(struct request *q, struct write *w)
{
	write_enter(w, WRITE_REREADING);
	write_begin_round(q, w);
	write_keep_little(q, w);
	request_wait_fresh(q, write_reload);
}

/* If the cache has no news since the present object was looked up, deciding again would come to the same. So the decision is kept,
 * unless it is large, until a read index has shown whether there is news. */
static void write_confirm(struct request *q, struct write *w)
{
	if (write_memory_used(q->writing) > WRITE_KEPT_MAX) {
		write_wait_fresh(q, w);
		return;
	}
	write_enter(w, WRITE_CONFIRMING);
	w->kept_status = q->st;
	status_init(&q->st, q->a); /* for what may go wrong meanwhile */
	request_wait_fresh(q, write_reload);
}

/* ---- the transaction ---- */

/* Watchers are to see that the object is gone before they see it in the archive: steps are events in their order. */
static void write_plan_moved(struct request *q, const struct write_moved *m)
{
	if (m->to) {
		plan_change(&q->plan,
			&(struct plan_change){.kind = m->to->kind,
				.ns = m->to->meta.ns,
				.name = m->to->meta.name,
				.after = m->to,
				.stored = m->stored,
				.bases = cache_bases(q->server->options.cache),
				.ticket = &m->ticket});
	}
}

static void write_plan(struct request *q, struct write *w, int64_t lease)
{
	const struct object *beside = w->beside.object;
	const struct plan_change change = {
		.kind = q->route.kind,
		.ns = request_ns(q),
		.name = w->name,
		.before = w->present,
		.after = w->decision == DECIDE_PUT ? w->object : NULL,
		.revision = w->present ? w->present->mod_revision : 0,
		.stored = w->stored,
		.bases = cache_bases(q->server->options.cache),
		.lease = lease,
		.ticket = &w->ticket,
		.namespace_guard = w->namespace_guard,
		.namespace_revision = w->namespace_revision,
		.guards_needed = w->needed,
		.needed = w->needed,
		.is_unprotected = w->loses_protection,
		.is_unique = history_is_unique(q, w),
		.wants_present = true,
	};

	plan_init(&q->plan, q->a, q->server->options.prefix);
	plan_change(&q->plan, &change);
	if (beside) {
		const struct plan_change other = {
			.kind = beside->kind,
			.ns = beside->meta.ns,
			.name = beside->meta.name,
			.before = beside,
			.after = beside,
			.revision = beside->mod_revision,
			.stored = w->beside.stored,
			.bases = cache_bases(q->server->options.cache),
			.ticket = &w->beside.ticket,
		};
		plan_change(&q->plan, &other);
	}
	if (w->moved_history.to) {
		const struct object *from = w->moved_history.from;
		plan_change(&q->plan,
			&(struct plan_change){.kind = from->kind,
				.ns = from->meta.ns,
				.name = from->meta.name,
				.before = from,
				.revision = from->mod_revision});
	}
	write_plan_moved(q, &w->moved_history);
	write_plan_moved(q, &w->moved);
	if (w->history_seen > 0) {
		recorded_guard(q, w, &q->plan);
	}
	definitions_guard(w, &q->plan);
	if (w->extend) {
		w->extend(q, w, &q->plan);
	}
	if (q->is_dry_run) {
		plan_rehearse(&q->plan);
	}
}

/* The failure branch brought the object as it is now. */
static int write_take_present(struct request *q, struct write *w)
{
	w->is_fresh = true;
	write_begin_round(q, w);
	return write_take_stored(q, w, plan_present(&q->plan));
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

static void write_again(struct request *q, struct write *w)
{
	/* Another object may be what changed: the cache must see at least what the transaction saw. */
	bool guards_others = w->namespace_guard != PLAN_NAMESPACE_ANY || w->loses_protection || w->is_leaving || w->needed ||
		w->extend || w->history_seen > 0 || w->beside.object || w->moved.to || q->plan.needs_base ||
		q->route.kind->life || w->definitions_seen || w->changes_references;

	/* Another version is stored meanwhile, or the others take us for dead: it is decided again with what holds then. */
	plan_judge(&q->plan, q->server->options.agreement);
	int r = (!w->extend && plan_is_as_expected(&q->plan) && history_refuse(q, w)) || write_take_present(q, w);

	guards_others |= w->lacks_base;
	plan_clear(&q->plan);
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
	if (q->plan.txn.op.result != STORAGE_TOO_LARGE || w->shedding != SHED_IF_TOO_LARGE) {
		return false;
	}
	w->shedding = SHED_MANAGED_FIELDS;
	plan_clear(&q->plan);
	write_begin(q);
	return true;
}

static void write_is_seen(struct request *q)
{
	write_finish(q, q->state);
}

static void write_took_effect(struct request *q, struct write *w, int64_t revision)
{
	q->writing->revision = w->revision = revision;
	if (w->is_noted) {
		user_notes_count(q->server->user_notes);
	}
	if (w->decision == DECIDE_PUT && w->object) {
		w->object->mod_revision = w->revision;
	}
	/* The creator of a definition may use its kind: this replica has it before it answers. */
	if (definitions_are(q->route.kind)) {
		request_wait_revision(q, revision, WAIT_FOR_CACHE_MS, write_is_seen);
	} else {
		write_finish(q, w);
	}
}

/* The same guards were sent once more, without steps. If our text is there, this request wrote it. */
static void write_looked(struct request *q)
{
	enum storage_result r = q->plan.txn.op.result;
	struct write *w = q->state;
	const struct storage_kv *got = r == STORAGE_OK && !q->plan.txn.succeeded ? plan_present(&q->plan) : NULL;
	bool is_ours = got && w->decision == DECIDE_PUT && plan_is_there(&q->plan);

	if (is_ours) {
		write_took_effect(q, w, got->mod_revision);
	} else if (r == STORAGE_OK && (q->plan.txn.succeeded || plan_is_as_expected(&q->plan))) {
		write_fail(q, STORAGE_NO_SPACE, w->refusal, true);
	} else {
		write_fail(q, STORAGE_UNKNOWN, w->refusal, true);
	}
}

/* etcd refuses a write for want of room, and carries out one in thousands of these all the same. The client must learn which. */
static void write_look(struct request *q, struct write *w)
{
	w->refusal = arena_strdup(q->a, q->plan.txn.op.message);
	plan_clear(&q->plan);
	plan_rehearse(&q->plan);
	write_enter(w, WRITE_LOOKING);
	request_txn(q, write_looked);
}

/* A write has one lease at most: objects of kinds that expire are not recorded, so they have no note. */
static struct leases *write_leases(struct request *q)
{
	return q->route.kind->expires ? q->server->leases : q->server->note_leases;
}

static void write_txn_done(struct request *q)
{
	struct write *w = q->state;

	if (q->plan.txn.op.result == STORAGE_LEASE_GONE && ++w->attempts < WRITE_ATTEMPTS_MAX) {
		plan_clear(&q->plan);
		leases_forget(write_leases(q), q->lease.id);
		write_enter(w, WRITE_PREPARING);
		request_wait_lease(q, write_leases(q), write_with_lease);
		return;
	}
	if (write_shed(q, w)) {
		return;
	}
	if (q->plan.txn.op.result == STORAGE_NO_SPACE) {
		write_look(q, w);
		return;
	}
	if (q->plan.txn.op.result != STORAGE_OK) {
		write_fail(q, q->plan.txn.op.result, q->plan.txn.op.message, !q->is_dry_run);
		return;
	}
	if (!q->plan.txn.succeeded) {
		write_again(q, w);
		return;
	}
	if (q->is_dry_run) {
		write_finish(q, w);
		return;
	}
	write_took_effect(q, w, q->plan.txn.op.revision);
}

static void write_send(struct request *q, struct write *w, int64_t lease)
{
	assert(!q->route.kind->expires || !w->is_noted);
	write_plan(q, w, q->route.kind->expires ? lease : 0);
	write_plan_note(q, w, q->route.kind->expires ? 0 : lease);
	w->has_beyond = w->object && w->object->beyond;
	write_pack(q, w);
	if (write_weigh(q, w->stored.n + w->moved.stored.n + w->moved_history.stored.n)) {
		write_refuse(q);
		return;
	}
	write_enter(w, WRITE_SENT);
	request_txn(q, write_txn_done);
}

struct object *write_object(struct request *q, struct write *w)
{
	if (w->held == HELD_PACKED && !w->object && w->decision == DECIDE_PUT) {
		q->a = &q->writing->arenas[WRITE_DECISION];
		object_decode_stored(&w->object, q->route.kind, w->stored, w->revision, q->a);
	}
	return w->object;
}

static void write_with_lease(struct request *q)
{
	if (q->lease.result != STORAGE_OK && q->route.kind->expires) {
		write_fail(q, q->lease.result, q->lease.message, false);
		return;
	}
	/* Without a lease a note is left out, and its change has no user. */
	write_send(q, q->state, q->lease.result == STORAGE_OK ? q->lease.id : 0);
}

/* ---- other forms of the object (struct kind's hook) ---- */

/* Returns 0 with the object in another version, in the arena of its question; 1 with 500 in q->st; or ASK_FIRST. */
static int write_convert(struct request *q, enum questions_conversion_of which, const struct object *o,
	const struct version *to, struct object **ret)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, WRITE_STORED_CEILING);
	if (!object_encode_stored(&text, o, object_form(o))) {
		status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "the object is too large to be converted");
		return 1;
	}
	const struct conversion_question *answer = questions_conversion(&q->questions, which, o->kind, to, buf_str(&text));
	if (!answer) {
		return ASK_FIRST;
	}
	if (answer->base.is_turned_away) {
		return request_refuse_for_now(q);
	}
	if (answer->base.failure.n > 0) {
		status_set(&q->st, 500, NULL, STR_FMT, STR_ARG(answer->base.failure));
		return 1;
	}
	*ret = answer->converted[0];
	return 0;
}

/* The request decides on the present object in its own version. Returns as write_convert() does. */
static int write_convert_present(struct request *q, struct write *w)
{
	const struct version *to = q->route.version;
	struct object *converted;

	w->present = w->unconverted ? w->unconverted : w->present;
	if (!w->present || !w->present->kind->hook || w->keeps_form || object_form(w->present) == to) {
		return 0;
	}
	int r = write_convert(q, CONVERSION_OF_PRESENT, w->present, to, &converted);
	if (r) {
		return r;
	}
	w->unconverted = w->present;
	w->present = object_copy(converted, q->a);
	w->present->stored_version = w->unconverted->stored_version;
	w->present->mod_revision = w->unconverted->mod_revision;
	w->present->meta.resource_version = w->unconverted->meta.resource_version;
	return 0;
}

static bool write_encode(struct request *q, struct write *w, const struct object *o)
{
	struct buf *out = &q->writing->stored;

	buf_clear(out);
	buf_reserve(out, MAX(w->present_text.n, http_body(q->x).n)); /* about as large */
	if (!object_encode_stored(out, o, w->ticket.version)) {
		status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "the object is too large to be stored");
		return false;
	}
	w->stored = buf_str(out);
	return true;
}

/* The text of another object in the same transaction. Returns 0; or 1: the request waits, or has been answered. */
static int other_prepare(struct request *q, const struct object *o, struct agreement_ticket *ticket, struct str *ret_stored)
{
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, WRITE_STORED_CEILING);
	if (agreed_version_take(q, o->kind, ticket, write_decide)) {
		return 1;
	}
	if (!object_encode_stored(&out, o, ticket->version)) {
		status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "the object is too large to be stored");
		write_refuse(q);
		return 1;
	}
	*ret_stored = arena_dup(q->a, buf_str(&out));
	return 0;
}

/* ---- what is to stay as it is ---- */

/* The cache's text has the resourceVersion in it, which the stored text has not. */
static bool is_cached_so(struct request *q, const struct write *w, struct str stored)
{
	struct str body = cached_body_of(q->route.kind, stored, w->present->mod_revision, q->a);

	return w->present_is == TEXT_CACHED && body.n > 0 && str_ends(w->present_text, body);
}

/* Is the object stored in these very words, but perhaps for the version? */
static bool is_spelled_so(struct request *q, const struct write *w)
{
	bool is_cached = w->present_is != TEXT_STORED;
	const struct version *shown = is_cached ? &q->route.kind->versions[0] : w->present->stored_version;
	struct object present = w->unconverted ? *w->unconverted : *w->present;
	struct buf out;

	buf_init(&out, WRITE_STORED_CEILING);
	present.beyond = is_cached ? NULL : present.beyond;
	bool is_same = object_encode_stored(&out, &present, shown) &&
		(is_cached ? is_cached_so(q, w, buf_str(&out)) : str_eq(buf_str(&out), w->present_text));
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

static void write_answered(struct request *q);

/* Encodes the object in the version that is stored. Returns false: the request waits, or has been refused. */
static bool write_encode_stored(struct request *q, struct write *w)
{
	bool is_other = w->object->kind->hook && !w->keeps_form && object_form(w->object) != w->ticket.version;
	struct object *converted = w->object;
	int r = 0;

	while (is_other && (r = write_convert(q, CONVERSION_OF_NEW, w->object, w->ticket.version, &converted)) == ASK_FIRST) {
		if (write_weigh(q, q->writing->stored.n)) {
			write_refuse(q);
			return false;
		}
		if (!questions_start(&q->questions)) {
			write_turn_set_asking(q->server->write_queue, &q->writing->turn, true);
			write_enter(w, WRITE_ASKING);
			request_wait_answer(q, write_answered);
			return false;
		}
	}
	if (r || !write_encode(q, w, converted)) {
		write_refuse(q);
		return false;
	}
	return true;
}

static void write_carry_out(struct request *q, struct write *w)
{
	timing_pass(q, STEP_ADMITTED);
	if (q->is_dry_run && !history_is_unique(q, w)) {
		write_finish(q, w);
		return;
	}
	write_enter(w, WRITE_PREPARING);
	w->ticket = (struct agreement_ticket){0}; /* a removal stores nothing */
	w->stored = STR("");
	if (w->decision == DECIDE_PUT) {
		if (agreed_version_take(q, q->route.kind, &w->ticket, write_decide)) {
			return;
		}
		if (!write_encode_stored(q, w)) {
			return;
		}
	}
	assert(!w->moved.to || w->decision == DECIDE_REMOVE);
	struct write_moved *history = &w->moved_history, *moved = &w->moved;
	if ((w->beside.object && other_prepare(q, w->beside.object, &w->beside.ticket, &w->beside.stored)) ||
		(history->to && other_prepare(q, history->to, &history->ticket, &history->stored)) ||
		(moved->to && other_prepare(q, moved->to, &moved->ticket, &moved->stored))) {
		return;
	}
	write_note_user(q, w);
	if ((w->decision == DECIDE_PUT && q->route.kind->expires) || w->is_noted) {
		if (write_weigh(q, w->stored.n)) {
			write_refuse(q);
			return;
		}
		request_wait_lease(q, write_leases(q), write_with_lease);
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
	w->namespace_guard = PLAN_NAMESPACE_ANY;
	w->definitions_seen = 0;
	w->changes_references = false;
	q->n_warnings = w->n_warnings;
	w->beside = (struct write_beside){0};
	w->moved = w->moved_history = (struct write_moved){0};
	atomic_fetch_add_explicit(&q->server->n_decisions, 1, memory_order_relaxed);
	w->decision = write_convert_present(q, w) ? DECIDE_REFUSE : w->decide(q, w);
	if (w->decision != DECIDE_REFUSE && !questions_is_noted(&q->questions) &&
		(references_check(q, w) || recorded_check_unique(q, w))) {
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
		write_confirm(q, w);
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

	write_enter(w, WRITE_DECIDING);
	write_decide_once(q, w);
	while (questions_is_noted(&q->questions)) {
		if (write_weigh(q, q->writing->arenas[WRITE_ASKED].used + q->writing->arenas[WRITE_ASKED + 1].used)) {
			write_refuse(q);
			return;
		}
		if (!questions_start(&q->questions)) {
			write_turn_set_asking(q->server->write_queue, &q->writing->turn, true);
			write_enter(w, WRITE_ASKING);
			request_wait_answer(q, write_answered);
			return;
		}
		write_decide_once(q, w);
	}
	write_conclude(q, w);
}

/* Memory goes when the answer is made, not when the client has taken it. */
void write_reply(struct request *q, unsigned code, struct write *w)
{
	bool is_stored = w->decision == DECIDE_PUT && !q->is_dry_run;
	bool has_beyond = w->held == HELD_PACKED ? w->has_beyond : w->object->beyond != NULL;
	const struct view *view = q->route.sub ? q->route.sub->view : NULL;

	write_begin_deciding(q);

	if (view) {
		reply_object(q, code, view_show(view, write_object(q, w), q->a));
	} else if (!is_stored || has_beyond || q->route.kind->hook || !reply_stored(q, code, w->stored, w->revision)) {
		reply_object(q, code, write_object(q, w));
	}
	write_end_turn(q);
	write_drop(q);
}

void write_go_on(struct request *q, struct write *w)
{
	plan_clear(&q->plan);
	write_enter(w, WRITE_REREADING);
	write_begin_round(q, w);
	w->is_fresh = true;
	w->attempts = 0;
	w->present_is = TEXT_STORED;
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

	write_begin_round(q, w);
	if (write_load_cached(q, w)) {
		write_refuse(q);
		return;
	}
	/* The object may exist and not have arrived in the cache yet. */
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

/* The cache may still lack what the writer before has written. A decision without it would lose its race, so it waits. */
static void write_take_turn(struct request *q)
{
	struct write *w = q->state;
	struct write_turn *turn = &q->writing->turn;
	int64_t after;

	if (is_too_late(q) || http_was_cut(q->x)) {
		write_too_late(q);
	} else if (!write_turn_take(q->server->write_queue, turn, w->key, write_wake, q->x, &after)) {
		write_enter(w, WRITE_QUEUED);
		write_keep_little(q, w);
		request_wait_turn(q, write_take_turn);
	} else if (after > cache_revision(q->server->options.cache)) {
		write_enter(w, WRITE_QUEUED);
		request_wait_revision(q, after, WAIT_FOR_CACHE_MS, write_begin);
	} else {
		write_begin(q);
	}
}

void write_run(struct request *q, struct write *w)
{
	struct write_memory *m = write_memory(q);

	assert(w->state == WRITE_NEW && w->decide && w->finish);
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
	/* A rehearsal writes nothing; a snapshot does not know yet what it writes. */
	if (q->is_dry_run || w->name.n == 0) {
		write_begin(q);
	} else {
		write_take_turn(q);
	}
}
