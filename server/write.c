#include "server/write.h"

#include "server/versions.h"
#include "server/write_history.h"
#include "server/write_references.h"
#include "storage/keys.h"

enum { STORED_CEILING = 64 * 1024 * 1024 };

static void write_decide(struct request *q);
static void write_with_lease(struct request *q);

static struct str write_key(struct request *q, struct str ns, struct str name)
{
	const struct kind *k = q->route.kind;

	return key_object(q->a, q->server->options.prefix, str_of(k->doors[0].group), str_of(k->resource), ns, name);
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
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, q->route.kind, request_ns(q), w->name);

	return write_take_cached(q, w, o);
}

int write_aim(struct request *q, struct write *w, struct str name, const struct cached *o)
{
	w->name = arena_dup(q->a, name);
	w->key = write_key(q, request_ns(q), w->name);
	return write_take_cached(q, w, o);
}

static void write_reload(struct request *q)
{
	struct write *w = q->state;

	if (q->wait.result != STORAGE_OK) {
		request_storage_failed(q, q->wait.result, q->wait.message, false);
		return;
	}
	w->is_fresh = true;
	if (write_load_cached(q, w)) {
		reply_status(q);
		return;
	}
	write_decide(q);
}

/* ---- the transaction ---- */

static void write_build_txn(struct request *q, struct write *w, int64_t lease)
{
	bool refers = q->route.kind->references || w->loses_protection, is_history = q->route.kind->history;
	size_t n_extended = w->extend ? WRITE_OPERATIONS_MAX : 0;
	size_t max_compares =
		3u + (refers ? REFERENCES_COMPARES_MAX : 0u) + (is_history ? HISTORY_COMPARES_MAX : 0u) + n_extended;
	size_t max_success = 1u + (refers ? REFERENCES_STEPS_MAX : 0u) + (is_history ? HISTORY_STEPS_MAX : 0u) + n_extended;
	struct storage_compare *compares = arena_array(q->a, struct storage_compare, max_compares);
	struct storage_step *success = arena_array(q->a, struct storage_step, max_success);
	size_t n_compares = 0, n_success = 0;

	compares[n_compares++] = storage_compare_mod(w->key, w->present ? w->present->mod_revision : 0);
	if (w->guards_namespace) {
		compares[n_compares++] = storage_compare_mod(w->namespace_key, w->namespace_revision);
	}
	if (versions_is_guarded(&w->ticket)) {
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
	w->failure[0] = (struct storage_step){.kind = STEP_GET, .key = w->key};
	w->ticket_look = 1 + history_looks(q, w, w->failure + 1);
	w->failure[w->ticket_look] = (struct storage_step){.kind = STEP_GET, .key = w->ticket.key, .keys_only = true};
	q->txn = (struct storage_txn){.compares = compares,
		.n_compares = n_compares,
		.success = success,
		.n_success = n_success,
		.failure = w->failure,
		.n_failure = w->ticket_look + versions_is_guarded(&w->ticket)};
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
	return write_take_stored(q, w, got->n_kvs > 0 ? &got->kvs[0] : NULL);
}

static void write_conflict(struct request *q)
{
	status_conflict(&q->st, request_group(q), q->route.resource, ((struct write *)q->state)->name,
			"the object has been modified; please apply your changes to the latest version and try again");
	reply_status(q);
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
	if (versions_is_guarded(&w->ticket) && !storage_step_has(&w->failure[w->ticket_look], w->ticket.revision)) {
		agreement_doubt(q->server->options.agreement, &w->ticket);
	}
}

static void write_again(struct request *q, struct write *w)
{
	write_doubt_ticket(q, w);
	int r = (!w->extend && write_refuse_found(q, w)) || write_take_present(q, w);

	storage_op_clear(&q->txn.op);
	if (r) {
		reply_status(q);
	} else if (++w->attempts >= WRITE_ATTEMPTS_MAX) {
		write_conflict(q);
	} else if (w->guards_namespace || w->loses_protection || w->needed || w->extend) {
		/* Another object may be what changed: the cache must see at least what the transaction saw. */
		request_wait_fresh(q, write_reload);
	} else {
		write_decide(q);
	}
}

static void write_txn_done(struct request *q)
{
	struct write *w = q->state;

	if (q->txn.op.result == STORAGE_LEASE_GONE && ++w->attempts < WRITE_ATTEMPTS_MAX) {
		storage_op_clear(&q->txn.op);
		leases_forget(q->server->leases, q->lease.id);
		request_wait_lease(q, write_with_lease);
		return;
	}
	if (q->txn.op.result != STORAGE_OK) {
		request_storage_failed(q, q->txn.op.result, q->txn.op.message, true);
		return;
	}
	if (!q->txn.succeeded) {
		write_again(q, w);
		return;
	}
	if (q->is_dry_run) {
		w->finish(q, w);
		return;
	}
	w->revision = q->txn.op.revision;
	if (w->decision == DECIDE_PUT) {
		w->object->mod_revision = w->revision;
	}
	w->finish(q, w);
}

static void write_with_lease(struct request *q)
{
	if (q->lease.result != STORAGE_OK) {
		request_storage_failed(q, q->lease.result, q->lease.message, false);
		return;
	}
	write_build_txn(q, q->state, q->lease.id);
	request_txn(q, write_txn_done);
}

static bool write_encode(struct request *q, struct write *w)
{
	struct buf out;
	bool ok;

	buf_init(&out, STORED_CEILING);
	ok = object_encode_stored(&out, w->object, w->ticket.version);
	w->stored = ok ? arena_dup(q->a, buf_str(&out)) : STR("");
	buf_done(&out);
	if (!ok) {
		status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "the object is too large to be stored");
	}
	return ok;
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
	bool is_current = w->present->stored_version == versions_now(q) && is_spelled_so(q, w);

	w->object = object_copy(w->present, q->a);
	return is_current || q->is_dry_run ? DECIDE_KEEP : DECIDE_PUT;
}

/* ---- deciding ---- */

static void write_carry_out(struct request *q, struct write *w)
{
	timing_pass(q, STEP_ADMITTED);
	history_note(q, w);
	if (q->is_dry_run && w->history.n_free == 0) {
		w->finish(q, w);
		return;
	}
	w->ticket = (struct agreement_ticket){0}; /* a removal stores nothing */
	if (w->decision == DECIDE_PUT) {
		if (versions_take(q, &w->ticket, write_decide)) {
			return;
		}
		if (!write_encode(q, w)) {
			reply_status(q);
			return;
		}
	}
	if (w->decision == DECIDE_PUT && q->route.kind->expires) {
		request_wait_lease(q, write_with_lease);
		return;
	}
	write_build_txn(q, w, 0);
	request_txn(q, write_txn_done);
}

static void write_decide_once(struct request *q, struct write *w)
{
	status_init(&q->st, q->a);
	w->object = NULL;
	w->guards_namespace = false;
	q->n_warnings = w->n_warnings;
	w->decision = w->decide(q, w);
	if (w->decision != DECIDE_REFUSE && !asked_is_noted(&q->asked) && references_check(q, w)) {
		w->decision = DECIDE_REFUSE;
	}
}

static void write_decide(struct request *q)
{
	struct write *w = q->state;
	bool needs_fresh;

	write_decide_once(q, w);
	while (asked_is_noted(&q->asked)) {
		if (!asked_start(&q->asked)) {
			request_wait_answer(q, write_decide);
			return;
		}
		write_decide_once(q, w);
	}
	needs_fresh = w->decision == DECIDE_REFUSE || w->decision == DECIDE_KEEP || q->is_dry_run;
	if (needs_fresh && !w->is_fresh) {
		request_wait_fresh(q, write_reload);
	} else if (w->decision == DECIDE_REFUSE) {
		reply_status(q);
	} else if (w->decision == DECIDE_KEEP) {
		w->object = w->present;
		w->finish(q, w);
	} else {
		write_carry_out(q, w);
	}
}

void write_reply(struct request *q, unsigned code, const struct write *w)
{
	if (w->decision == DECIDE_PUT && !q->is_dry_run) {
		reply_stored(q, code, w->object, w->stored);
	} else {
		reply_object(q, code, w->object);
	}
}

void write_go_on(struct request *q, struct write *w)
{
	storage_op_clear(&q->txn.op);
	w->present = w->object;
	w->present_text = w->stored;
	w->is_present_cached = false;
	w->is_fresh = true;
	w->attempts = 0;
	write_decide(q);
}

void write_rename(struct request *q, struct write *w, struct str name)
{
	w->name = name;
	w->key = write_key(q, request_ns(q), name);
	w->present = NULL;
	w->is_fresh = false;
}

void write_run(struct request *q, struct write *w)
{
	q->state = w;
	w->n_warnings = q->n_warnings;
	asked_begin_write(&q->asked, q->a);
	if (!request_is_cache_ready(q)) {
		return;
	}
	w->key = write_key(q, request_ns(q), w->name);
	w->namespace_key = key_object(q->a, q->server->options.prefix, STR(""), STR("namespaces"), STR(""), request_ns(q));
	if (write_load_cached(q, w)) {
		reply_status(q);
		return;
	}
	/* Something that is not in the cache may just not have arrived there yet. */
	if (!w->present && q->route.action != VERB_CREATE) {
		request_wait_fresh(q, write_reload);
	} else {
		write_decide(q);
	}
}
