/* The things that a writer holds: its turn among the writers of one key, its memory, and the body that is read
 * into it (write_memory.h).
 *
 * Turns. A list for each hash of a key holds its writers in order of arrival: the first that was
 * not passed by has the turn. There is one lock, which is released before any wake, because a wake
 * may run any code. The thread only checks waiting writers; when there are none, it sleeps, too. */
#include "server/write/write_memory.h"

#include "api/model/protobuf.h"
#include "api/rules/validate.h"
#include "base/clock.h"
#include "base/thread.h"
#include "server/request/limits.h"
#include "server/request/request_audit.h"
#include "server/write/write.h"

#include <assert.h>
#include <pthread.h>

/* ---- turns ---- */

/* Writes under way are 200 by default, so lists are short. LOOK_MS: how late it may be noticed that
 * a client has gone. */
enum { BUCKETS = 64, LOOK_MS = 1000, PATIENCE_MS = 2000 };

struct write_queue {
	/* Guards what follows, and what is the queue's of each turn. */
	pthread_mutex_t lock;
	pthread_cond_t cond;          /* somebody has fallen asleep, or it is over */
	struct list buckets[BUCKETS]; /* of struct write_turn, in the order in which they came */
	size_t n_asleep;
	bool is_closing;
	pthread_t thread;
};

static struct list *bucket_of(struct write_queue *s, struct str key)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < key.n; i++) {
		hash = (hash ^ (unsigned char)key.p[i]) * 16777619u;
	}
	return &s->buckets[hash % BUCKETS];
}

/* Lock held. The turn that may go on; NULL: none. */
static struct write_turn *first_of(struct list *bucket, struct str key)
{
	list_for_each(it, bucket) {
		struct write_turn *turn = list_entry(it, struct write_turn, node);
		if (!turn->is_passed && str_eq(turn->key, key)) {
			return turn;
		}
	}
	return NULL;
}

/* Lock held. Adds the turn to those that wake_all() wakes once the lock is released. */
static void rouse(struct write_queue *s, struct write_turn *turn, struct write_turn **woken)
{
	assert_locked(&s->lock);
	if (turn && turn->is_asleep) {
		assert(turn->is_linked && s->n_asleep > 0);
		turn->is_asleep = false;
		s->n_asleep--;
		turn->next_woken = *woken;
		*woken = turn;
	}
}

/* A turn may be gone as soon as it has been woken. */
static void wake_all(struct write_turn *woken)
{
	while (woken) {
		struct write_turn *next = woken->next_woken;
		woken->wake(woken->ctx);
		woken = next;
	}
}

bool write_turn_take(
	struct write_queue *s, struct write_turn *turn, struct str key, void (*wake)(void *ctx), void *ctx, int64_t *ret_after)
{
	assert(key.n > 0 && wake);
	pthread_mutex_lock(&s->lock);
	struct list *bucket = bucket_of(s, key);
	if (!turn->is_linked) {
		*turn = (struct write_turn){.key = key, .wake = wake, .ctx = ctx, .is_linked = true};
		list_append(bucket, &turn->node);
	}
	assert(str_eq(turn->key, key)); /* a turn is for one key as long as it lasts */
	bool is_held = first_of(bucket, key) == turn;
	turn->is_asleep = !is_held;
	if (turn->is_asleep && s->n_asleep++ == 0) {
		pthread_cond_signal(&s->cond);
	}
	*ret_after = turn->after;
	pthread_mutex_unlock(&s->lock);
	return is_held;
}

void write_turn_leave(struct write_queue *s, struct write_turn *turn, int64_t revision)
{
	struct write_turn *woken = NULL;

	if (!turn->is_linked) {
		return;
	}
	pthread_mutex_lock(&s->lock);
	struct list *bucket = bucket_of(s, turn->key);
	list_remove(&turn->node);
	struct write_turn *next = first_of(bucket, turn->key);
	if (next) {
		next->after = MAX(MAX(next->after, turn->after), revision);
		rouse(s, next, &woken);
	}
	pthread_mutex_unlock(&s->lock);
	*turn = (struct write_turn){0};
	wake_all(woken);
}

void write_turn_set_asking(struct write_queue *s, struct write_turn *turn, bool is_asking)
{
	if (turn->is_linked) {
		pthread_mutex_lock(&s->lock);
		turn->asking_since_ms = is_asking ? clock_mono_ms() : 0;
		pthread_mutex_unlock(&s->lock);
	}
}

/* ---- the thread that looks after waiting writers ---- */

/* Lock held. */
static void bucket_look_at(struct write_queue *s, struct list *bucket, int64_t now_ms, struct write_turn **woken)
{
	assert_locked(&s->lock);
	list_for_each(it, bucket) {
		struct write_turn *turn = list_entry(it, struct write_turn, node);
		if (turn->asking_since_ms && !turn->is_passed && now_ms - turn->asking_since_ms >= PATIENCE_MS) {
			turn->is_passed = true;
			rouse(s, first_of(bucket, turn->key), woken);
		}
		rouse(s, turn, woken); /* has its client gone, or its time? */
	}
}

static void *write_queue_run(void *arg)
{
	struct write_queue *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->is_closing) {
		if (s->n_asleep == 0) {
			pthread_cond_wait(&s->cond, &s->lock);
			continue;
		}
		int64_t at_ms = clock_mono_ms() + LOOK_MS;
		while (!s->is_closing && clock_mono_ms() < at_ms) {
			clock_cond_wait(&s->cond, &s->lock, at_ms);
		}
		struct write_turn *woken = NULL;
		for (size_t i = 0; i < BUCKETS; i++) {
			bucket_look_at(s, &s->buckets[i], clock_mono_ms(), &woken);
		}
		pthread_mutex_unlock(&s->lock);
		wake_all(woken);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct write_queue *write_queue_new(void)
{
	struct write_queue *s = mem_new(struct write_queue);

	pthread_mutex_init(&s->lock, NULL);
	clock_cond_init(&s->cond);
	for (size_t i = 0; i < BUCKETS; i++) {
		list_init(&s->buckets[i]);
	}
	thread_must_start(&s->thread, "write-queue", write_queue_run, s);
	return s;
}

struct write_queue *write_queue_free(struct write_queue *s)
{
	if (!s) {
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	s->is_closing = true;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->cond);
	pthread_mutex_destroy(&s->lock);
	return mem_free(s);
}

/* ---- memory ---- */

enum { ARENA_CEILING = 128 << 20 }; /* bytes, of each arena */

struct write_memory *write_memory(struct request *q)
{
	struct write_memory *m = q->writing;

	if (!m) {
		m = q->writing = arena_new(http_arena(q->x), struct write_memory);
		for (size_t i = 0; i < WRITE_ARENAS; i++) {
			arena_init(&m->arenas[i], ARENA_CEILING);
		}
		buf_init(&m->stored, WRITE_STORED_CEILING);
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

size_t write_memory_used(const struct write_memory *m)
{
	size_t n = 0;

	for (size_t i = 0; i < WRITE_ARENAS; i++) {
		n += m->arenas[i].used;
	}
	return n;
}

void write_keep_little(struct request *q, struct write *w)
{
	struct arena *parsed = &q->writing->arenas[WRITE_PARSED];

	assert(w->held != HELD_PACKED);
	if (parsed->used > WRITE_KEPT_MAX) {
		arena_done(parsed);
		w->held = HELD_WITHOUT_BODY;
	}
}

void write_begin_round(struct request *q, struct write *w)
{
	struct write_memory *m = q->writing;

	arena_clear(&m->arenas[WRITE_PRESENT]);
	arena_clear(&m->arenas[WRITE_DECISION]);
	arena_clear(&m->arenas[WRITE_PACKED]);
	q->a = &m->arenas[WRITE_PRESENT];
	q->n_warnings = w->n_warnings;
	status_init(&q->st, q->a);
	w->present = w->unconverted = w->object = NULL;
	w->held = w->held == HELD_PACKED ? HELD_WITHOUT_BODY : w->held;
}

void write_drop(struct request *q)
{
	struct write_memory *m = q->writing;

	for (size_t i = 0; i < WRITE_ARENAS; i++) {
		arena_done(&m->arenas[i]);
	}
	buf_done(&m->stored);
	q->a = http_arena(q->x);
}

void write_keep_warnings(struct request *q, size_t from, struct arena *a)
{
	for (size_t i = from; i < q->n_warnings; i++) {
		q->warnings[i] = arena_dup(a, q->warnings[i]);
	}
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

/* Trees are parsed again where they are needed: the stored text, if the client wants it in a form that is not at hand; the body,
 * if the race is lost. */
void write_pack(struct request *q, struct write *w)
{
	struct write_memory *m = q->writing;
	struct arena *a = &m->arenas[WRITE_PACKED];
	bool may_answer = w->decision == DECIDE_PUT || !q->route.kind->delete_answers_object;

	if (write_memory_used(m) <= WRITE_KEPT_MAX || !may_answer || q->route.kind->hook || w->extend ||
		q->route.kind->expires || q->is_dry_run) {
		return;
	}
	plan_pack(&q->plan, a, w->stored);
	write_keep_warnings(q, w->n_warnings, a);
	w->present = pack_present(w->present, a);
	w->object = NULL;
	w->held = HELD_PACKED;
	arena_done(&m->arenas[WRITE_PARSED]);
	arena_done(&m->arenas[WRITE_PRESENT]);
	arena_done(&m->arenas[WRITE_DECISION]);
	questions_forget_webhooks(&q->questions);
	q->a = a;
	status_init(&q->st, a);
}

int write_weigh(struct request *q, size_t sent)
{
	const struct write_memory *m = q->writing;

	return request_charge(q, http_arena(q->x)->used + write_memory_used(m) + m->stored.cap + sent);
}

/* ---- bodies ----
 *
 * Bodies are decoded in upstream's order, which decides the error that a client gets first: media
 * type, syntax, kind, types, then fields, then the names in the path. Strict decoding gathers
 * everything odd; only fieldValidation says whether that is an error, warnings, or nothing. */

static int read_protobuf(struct request *q, struct json **ret)
{
	const struct route *r = &q->route;
	struct json *json = NULL;
	struct str reason;
	int error = protobuf_decode(
		&json, r->body_kind->kind, version_type(r->body_kind, r->body_version), http_body(q->x), q->a, &reason);

	if (error) {
		object_refuse(&q->st, r->body_kind, r->body_version, http_body(q->x), json, error, reason);
		return 1;
	}
	*ret = json;
	return 0;
}

int write_read_body(struct request *q, struct body *ret)
{
	struct str text = http_body(q->x);
	enum media_format format;

	if (media_of_body(&format, http_header(q->x, "Content-Type"), version_type(q->route.body_kind, q->route.body_version),
		    q->a, &q->st)) {
		return 1;
	}
	if (format == MEDIA_PROTOBUF) {
		ret->repeated = (struct str){NULL, 0};
		return read_protobuf(q, &ret->json);
	}
	if (media_parse_body(&ret->json, format, text, q->a, &q->st)) {
		object_refuse_body(&q->st, q->route.body_kind, text, q->st.message);
		return 1;
	}
	ret->repeated = media_repeated_keys(format, text, q->a);
	return 0;
}

/* YAML's repeated keys are gone from the tree; they count as the first thing strict decoding noticed. */
static void report_repeated(struct decode_report *report, const struct body *body, struct arena *a)
{
	struct str *all;

	if (body->repeated.n == 0) {
		return;
	}
	all = arena_array(a, struct str, report->n_strict + 1);
	all[0] = body->repeated;
	if (report->n_strict > 0) {
		memcpy(all + 1, report->strict, report->n_strict * sizeof(*all));
	}
	*report = (struct decode_report){.strict = all, .n_strict = report->n_strict + 1, .cap = report->n_strict + 1};
}

/* A warning a line, without the heading. */
void write_warn_repeated(struct request *q, struct str repeated)
{
	struct str line;

	str_cut(repeated, '\n', &line, &repeated);
	while (repeated.n > 0) {
		str_cut(repeated, '\n', &line, &repeated);
		request_warn(q, str_trim(line));
	}
}

int write_decode(struct request *q, const struct body *body, enum field_validation validation, const struct object *stored,
	struct object **ret)
{
	const struct route *r = &q->route;
	struct decode_report report = {0};
	struct str reason;
	int error = object_decode(ret, r->body_kind, r->body_version, body->json, stored, q->a, &report, &reason);

	if (error) {
		object_refuse(&q->st, r->body_kind, r->body_version, http_body(q->x), body->json, error, reason);
		return 1;
	}
	if (validation == VALIDATE_WARN) {
		write_warn_repeated(q, body->repeated);
	}
	for (size_t i = 0; validation == VALIDATE_WARN && i < report.n_strict; i++) {
		request_warn(q, report.strict[i]);
	}
	report_repeated(&report, body, q->a);
	if (validation == VALIDATE_STRICT && report.n_strict > 0) {
		object_refuse_strict(&q->st, r->body_kind, r->body_version, body->json, &report);
		return 1;
	}
	timing_pass(q, STEP_DECODED);
	request_audit_sent_object(q, *ret);
	return 0;
}

int write_refuse_precondition(
	struct request *q, struct str resource, struct str name, const char *what, struct str wanted, struct str present)
{
	status_conflict(&q->st, request_group(q), resource, name,
		"Precondition failed: %s in precondition: " STR_FMT ", %s in object meta: " STR_FMT, what, STR_ARG(wanted),
		what, STR_ARG(present));
	return 1;
}

int write_match_namespace(struct request *q, struct object *o)
{
	struct str ns = request_ns(q);

	if (!o->kind->is_namespaced) {
		o->meta.ns = STR("");
		return 0;
	}
	if (o->meta.ns.n > 0 && !str_eq(o->meta.ns, ns)) {
		status_bad_request(
			&q->st, "the namespace of the provided object does not match the namespace sent on the request");
		return 1;
	}
	o->meta.ns = ns;
	return 0;
}

void write_refuse_nameless(struct request *q)
{
	status_bad_request(&q->st,
		"the name of the object (" STR_FMT " based on URL) was undeterminable: name must be provided",
		STR_ARG(q->route.name));
}

int write_match_name(struct request *q, const struct object *o)
{
	struct str name = q->route.name;

	if (o->meta.name.n == 0) {
		write_refuse_nameless(q);
		return 1;
	}
	if (!str_eq(o->meta.name, name)) {
		status_bad_request(&q->st,
			"the name of the object (" STR_FMT ") does not match the name on the URL (" STR_FMT ")",
			STR_ARG(o->meta.name), STR_ARG(name));
		return 1;
	}
	return 0;
}
