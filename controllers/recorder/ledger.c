/* A hash table whose entries are one allocation each, with the names at their end. The maps and
 * items of an informer would take three times as much memory. */
#include "controllers/recorder/ledger_private.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/thread.h"

#include <assert.h>
#include <stdio.h>

enum {
	/* Bytes; an object with half as long a name is left out, and the status says so. */
	KEY_MAX = 4096,
	STANDING_MS = 60 * 1000, /* see ledger_standing() */
	SKIPPED_MS = 30 * 1000,  /* a condition that lasts longer would keep `kubectl wait` waiting in vain */
	KINDS_MAX = 4096,        /* kinds that were ever recorded; further ones are not */
	PROBLEM_MAX = 1024,      /* what a Recorder's status may hold */
	/* The keys that the queue holds at once. A list of 100,000 new objects does not fill it:
	 * the others wait as a mark on their entry. */
	WOKEN_MAX = 1024,
	/* States from lists may take only this fraction of the ceiling: they can be read again
	 * later without loss. */
	LISTED_SHARE = 16,
};

static bool print_equal(const struct ledger_print *a, const struct ledger_print *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* ---- changes ---- */

struct ledger_change *ledger_change_new(enum ledger_sort sort, uint64_t version, struct str text)
{
	size_t bytes = sizeof(struct ledger_change) + text.n;
	struct ledger_change *c = mem_alloc(bytes);

	*c = (struct ledger_change){
		.sort = sort,
		.version = version,
		.at_most = -1,
		.seen_s = clock_wall_s(),
		.bytes = bytes,
		.n = text.n,
	};
	if (text.n) {
		memcpy(c->text, text.p, text.n);
	}
	return c;
}

/* All LOOKs share this object: a LOOK has no content, and is always the last change of its
 * entry. */
static struct ledger_change look = {.sort = LEDGER_LOOK};

struct ledger_change *ledger_change_free(struct ledger_change *c)
{
	if (c && c != &look) {
		recording_unref(c->recording);
		mem_free(c);
	}
	return NULL;
}

/* ---- entries ---- */

static struct str entry_ns(const struct entry *e)
{
	return (struct str){e->text, e->ns_length};
}

static struct str entry_name(const struct entry *e)
{
	return (struct str){e->text + e->ns_length, e->name_length};
}

static uint64_t key_hash(const struct ledger_key *key)
{
	uint64_t hash = str_hash(key->name) * 31 + str_hash(key->ns) * 7 + key->kind->index;

	return hash ^ hash >> 32;
}

static struct entry *ledger_find(const struct ledger *l, const struct ledger_key *key)
{
	assert(key->kind && key->kind->index < l->n_kinds);
	assert_locked((pthread_mutex_t *)(uintptr_t)&l->lock);
	for (struct hash_node *n = hash_table_first(&l->table, key_hash(key)); n; n = hash_node_next(n)) {
		struct entry *e = container_of(n, struct entry, node);
		if (e->kind == key->kind->index && str_eq(entry_name(e), key->name) && str_eq(entry_ns(e), key->ns)) {
			return e;
		}
	}
	return NULL;
}

/* Returns NULL if the ledger is full, or if the names are longer than Kubernetes allows. */
static struct entry *want(struct ledger *l, const struct ledger_key *key)
{
	assert(key->name.n > 0);
	struct entry *e = ledger_find(l, key);

	if (e) {
		return e;
	}
	if (l->table.n == l->options.max_objects || key->ns.n + key->name.n > KEY_MAX / 2) {
		l->is_full = true;
		return NULL;
	}
	e = mem_alloc(sizeof(*e) + key->ns.n + key->name.n);
	*e = (struct entry){
		.kind = key->kind->index,
		.ns_length = (uint16_t)key->ns.n,
		.name_length = (uint16_t)key->name.n,
	};
	if (key->ns.n) {
		memcpy(e->text, key->ns.p, key->ns.n);
	}
	memcpy(e->text + key->ns.n, key->name.p, key->name.n);
	hash_table_add(&l->table, &e->node, key_hash(key));
	return e;
}

static uint8_t cohort_of(const struct entry *e, const struct ledger_change *c)
{
	return c == &look ? e->look_cohort : c->cohort;
}

static void leave_cohort(struct ledger *l, const struct entry *e, uint8_t cohort)
{
	size_t *n = &l->kinds[e->kind]->cohorts[cohort];

	assert(*n > 0);
	(*n)--;
}

static void drop_changes(struct ledger *l, struct entry *e)
{
	while (e->first) {
		struct ledger_change *c = e->first;
		e->first = c->next;
		assert(l->waiting > 0 && l->waiting_bytes >= c->bytes);
		l->waiting--;
		l->waiting_bytes -= c->bytes;
		leave_cohort(l, e, cohort_of(e, c));
		ledger_change_free(c);
	}
	e->last = NULL;
}

static size_t *count_of(struct ledger_kind *k, enum ledger_outcome outcome)
{
	return outcome == LEDGER_RETRY ? &k->n_waiting : outcome == LEDGER_REFUSED ? &k->n_refused : NULL;
}

static void set_outcome(struct ledger *l, struct entry *e, enum ledger_outcome outcome)
{
	assert(e->kind < l->n_kinds);
	struct ledger_kind *k = l->kinds[e->kind];
	size_t *before = count_of(k, (enum ledger_outcome)e->outcome), *after = count_of(k, outcome);

	e->outcome = (uint8_t)outcome;
	if (before) {
		assert(*before > 0);
		(*before)--;
	}
	if (after) {
		(*after)++;
	}
	if (k->last_error && k->n_waiting == 0 && k->n_refused == 0) {
		k->last_error = mem_free(k->last_error);
		l->changes++;
	}
}

/* A patient entry has a change that waits, and nothing releases it before that is taken. */
static void ledger_release(struct ledger *l, struct entry *e)
{
	assert(!e->is_patient);
	l->n_woken -= e->is_woken;
	e->is_woken = false;
}

/* A change that must be retried does not count towards WOKEN_MAX, so it cannot keep others
 * waiting. */
static void make_patient(struct ledger *l, struct entry *e)
{
	l->n_woken -= e->is_woken && !e->is_patient;
	e->is_patient = e->is_woken;
}

static void make_impatient(struct ledger *l, struct entry *e)
{
	l->n_woken += e->is_patient;
	e->is_patient = false;
}

/* Frees an entry that holds no information any more. */
static void drop_if_idle(struct ledger *l, struct entry *e)
{
	if (e->is_seen || e->history_version || e->first || e->is_busy || e->is_put_off) {
		return;
	}
	ledger_release(l, e);
	set_outcome(l, e, LEDGER_DONE);
	hash_table_remove(&l->table, &e->node);
	mem_free(e);
}

/* ---- the queue ---- */

static void ledger_wake(struct ledger *l, struct entry *e)
{
	char text[KEY_MAX];

	if (e->is_woken) {
		return;
	}
	e->is_woken = true;
	l->n_woken++;
	int n = snprintf(text, sizeof(text), "%u/" STR_FMT "/" STR_FMT, e->kind, STR_ARG(entry_ns(e)), STR_ARG(entry_name(e)));

	workqueue_add(l->options.queue, (struct str){text, (size_t)n});
}

/* Queues a listed object, or puts it off while the queue is full. Objects that change now do not
 * wait here. */
static void wake_in_turn(struct ledger *l, struct entry *e)
{
	if (l->n_woken < WOKEN_MAX) {
		ledger_wake(l, e);
	} else if (!e->is_woken && !e->is_put_off) {
		e->is_put_off = true;
		e->next_put_off = NULL;
		*(l->put_off ? &l->last_put_off->next_put_off : &l->put_off) = e;
		l->last_put_off = e;
	}
}

static void wake_more(struct ledger *l)
{
	while (l->n_woken < WOKEN_MAX && l->put_off) {
		struct entry *e = l->put_off;
		l->put_off = e->next_put_off;
		e->is_put_off = false;
		if (e->first && !e->is_busy) {
			ledger_wake(l, e);
		}
		drop_if_idle(l, e);
	}
}

static void ledger_append(struct ledger *l, struct entry *e, struct ledger_change *c, uint8_t cohort)
{
	assert(!e->last || e->last->sort != LEDGER_LOOK);
	c->next = NULL;
	if (e->last) {
		e->last->next = c;
	} else {
		e->first = c;
	}
	e->last = c;
	*(c == &look ? &e->look_cohort : &c->cohort) = cohort;
	l->kinds[e->kind]->cohorts[cohort]++;
	l->waiting++;
	l->waiting_bytes += c->bytes;
}

static bool is_too_much(const struct ledger *l, const struct entry *e, const struct ledger_change *c)
{
	size_t max = l->options.max_waiting / (c->is_listed && !e->first ? LISTED_SHARE : 1);

	return c->sort == LEDGER_STATE && l->waiting_bytes + c->bytes > max;
}

/* A list shows only the last state. */
static bool is_seen_state(const struct ledger_change *c)
{
	return c->sort == LEDGER_STATE && !c->is_listed;
}

static uint32_t n_seen_states(const struct entry *e)
{
	uint32_t n = 0;

	for (const struct ledger_change *c = e->first; c; c = c->next) {
		n += is_seen_state(c);
	}
	return n;
}

/* The LOOK will record the last state, but not so many before it. */
static void note_skipped(struct ledger *l, struct entry *e, uint32_t n)
{
	e->n_skipped += n;
	e->is_look_after_gap = e->is_look_after_gap || n > 0;
	l->skipped += n;
}

/* A LOOK reads the object when it is carried out, so it covers every change before that. */
void ledger_push(struct ledger *l, struct entry *e, struct ledger_change *c)
{
	assert_locked(&l->lock);
	uint8_t cohort = l->kinds[e->kind]->cohort;

	if (e->last && e->last->sort == LEDGER_LOOK) {
		note_skipped(l, e, is_seen_state(c));
		e->is_look_after_gap = e->is_look_after_gap || c->is_after_gap;
		ledger_change_free(c);
		return;
	}
	if (is_too_much(l, e, c)) {
		e->is_look_after_gap = c->is_after_gap || (e->first && e->first->is_after_gap);
		note_skipped(l, e, n_seen_states(e));
		cohort = e->first ? cohort_of(e, e->first) : cohort;
		drop_changes(l, e);
		ledger_change_free(c);
		c = &look;
	}
	ledger_append(l, e, c, cohort);
	if (e->is_busy) {
		return; /* its worker looks for more changes */
	}
	if (c->version && !c->is_listed) {
		ledger_wake(l, e);
	} else {
		wake_in_turn(l, e);
	}
}

static bool is_kept(const struct entry *e, const struct ledger_print *print)
{
	return e->history_version && e->is_written && !e->deleted_s && !e->is_released && print_equal(&e->kept, print);
}

/* Queues a LOOK if the History differs from the object and no change is under way: somebody else
 * wrote or deleted the History. Another recorder may have seen more of the object: then the watch
 * will show that soon, and a LOOK would skip states. */
static void ledger_compare(struct ledger *l, struct entry *e)
{
	bool is_behind = e->history_version && e->is_written && e->kept_version > e->seen_version;

	if (e->is_seen && !is_behind && !e->first && !e->is_busy && !is_kept(e, &e->seen)) {
		ledger_push(l, e, &look);
	}
}

/* ---- its life ---- */

struct ledger *ledger_new(const struct ledger_options *options)
{
	assert(options->queue && options->max_objects > 0 && options->max_waiting > 0);
	struct ledger *l = mem_new(struct ledger);

	l->options = *options;
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

static void kind_free(struct ledger_kind *k)
{
	followed_unref(k->followed);
	mem_free(k->group);
	mem_free(k->kind);
	mem_free(k->last_error);
	mem_free(k->watch_error);
	mem_free(k);
}

struct ledger *ledger_free(struct ledger *l)
{
	if (!l) {
		return NULL;
	}
	for (struct hash_node *n = hash_table_walk(&l->table, NULL), *next; n; n = next) {
		struct entry *e = container_of(n, struct entry, node);
		next = hash_table_walk(&l->table, n);
		drop_changes(l, e);
		mem_free(e);
	}
	for (size_t i = 0; i < l->n_kinds; i++) {
		kind_free(l->kinds[i]);
	}
	mem_free(l->kinds);
	hash_table_done(&l->table);
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
	return NULL;
}

static struct ledger_kind *new_kind(struct ledger *l, struct str group, struct str kind)
{
	assert_locked(&l->lock);
	struct ledger_kind *k = mem_new(struct ledger_kind);

	k->index = (uint32_t)l->n_kinds;
	k->group = mem_strndup(group.p ? group.p : "", group.n);
	k->kind = mem_strndup(kind.p, kind.n);
	l->kinds = mem_realloc_array(l->kinds, l->n_kinds + 1, sizeof(struct ledger_kind *));
	l->kinds[l->n_kinds++] = k;
	return k;
}

struct ledger_kind *ledger_kind(struct ledger *l, struct str group, struct str kind)
{
	struct ledger_kind *found = NULL;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; !found && i < l->n_kinds; i++) {
		found = str_is(group, l->kinds[i]->group) && str_is(kind, l->kinds[i]->kind) ? l->kinds[i] : NULL;
	}
	if (!found && l->n_kinds < KINDS_MAX && kind.n) {
		found = new_kind(l, group, kind);
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

void ledger_set_followed(struct ledger *l, struct ledger_kind *k, struct followed *followed)
{
	pthread_mutex_lock(&l->lock);
	struct followed *old = k->followed;
	k->followed = followed;
	l->changes++;
	pthread_mutex_unlock(&l->lock);
	followed_unref(old);
}

struct followed *ledger_followed(struct ledger *l, const struct ledger_kind *k)
{
	pthread_mutex_lock(&l->lock);
	struct followed *f = k->followed;
	if (f) {
		atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&l->lock);
	return f;
}

/* ---- what is seen ---- */

uint32_t ledger_begin(struct ledger *l, struct ledger_kind *kind)
{
	pthread_mutex_lock(&l->lock);
	uint32_t list = ++l->lists;
	if (kind) {
		kind->gap_from = kind->recorded;
	}
	pthread_mutex_unlock(&l->lock);
	return list;
}

static bool show(struct ledger *l, struct entry *e, const struct ledger_shown *shown)
{
	assert(e->kind < l->n_kinds);
	bool is_known = shown->is_replayed && e->history_version && e->is_written && !e->first && !e->is_busy &&
		shown->version <= e->kept_version;
	bool is_news =
		e->is_seen ? !print_equal(&e->seen, &shown->print) : e->first || e->is_busy || !is_kept(e, &shown->print);

	l->changes += !e->is_seen || e->recorder != shown->recorder;
	/* A state that waits, or was refused, is not recorded. */
	if (shown->is_settled && !e->first && !e->is_busy && e->outcome != LEDGER_REFUSED) {
		e->settled_version = shown->version;
	}
	e->is_seen = true;
	/* The next state is compared with the newest one that is known. */
	e->seen = is_known ? e->kept : shown->print;
	e->seen_version = is_known ? e->kept_version : shown->version;
	e->recorder = shown->recorder;
	e->list = shown->list;
	return is_news && !is_known;
}

bool ledger_show(struct ledger *l, const struct ledger_key *key, const struct ledger_shown *shown)
{
	pthread_mutex_lock(&l->lock);
	struct entry *e = want(l, key);
	bool is_news = e && show(l, e, shown);
	pthread_mutex_unlock(&l->lock);
	return is_news;
}

uint64_t ledger_succeed(struct ledger *l, const struct ledger_key *key, uint64_t version, bool is_listed)
{
	uint64_t before = 0;

	pthread_mutex_lock(&l->lock);
	struct entry *e = ledger_find(l, key);
	if (e) {
		before = is_listed || e->shown_version >= version ? 0 : e->shown_version;
		e->shown_version = version;
	}
	pthread_mutex_unlock(&l->lock);
	return before;
}

void ledger_queue(struct ledger *l, const struct ledger_key *key, struct ledger_change *change)
{
	pthread_mutex_lock(&l->lock);
	struct entry *e = ledger_find(l, key);
	if (e) {
		ledger_push(l, e, take_ptr(change));
	}
	pthread_mutex_unlock(&l->lock);
	ledger_change_free(change);
}

bool ledger_pass_by(struct ledger *l, const struct ledger_key *key, uint32_t list)
{
	bool must_say = false;

	pthread_mutex_lock(&l->lock);
	struct entry *e = ledger_find(l, key);
	if (e) {
		bool is_recorded = e->first || e->is_busy ? e->is_seen : e->history_version && e->is_written && !e->deleted_s;
		must_say = is_recorded && !e->is_released;
		l->changes += e->is_seen;
		e->is_seen = false;
		e->shown_version = 0;
		e->list = list;
		drop_if_idle(l, e);
	}
	pthread_mutex_unlock(&l->lock);
	return must_say;
}

static void miss(struct ledger *l, struct entry *e, uint64_t version)
{
	l->changes += e->is_seen;
	e->is_seen = false;
	e->shown_version = 0;
	if (e->first || e->is_busy || (e->history_version && e->is_written && !e->deleted_s)) {
		struct ledger_change *c = ledger_change_new(LEDGER_GONE, version, STR(""));
		c->is_after_gap = !version;
		ledger_push(l, e, c);
	}
	drop_if_idle(l, e);
}

void ledger_miss(struct ledger *l, const struct ledger_key *key, uint64_t version)
{
	pthread_mutex_lock(&l->lock);
	struct entry *e = ledger_find(l, key);
	if (e) {
		miss(l, e, version);
	}
	pthread_mutex_unlock(&l->lock);
}

void ledger_each(struct ledger *l, void (*each)(struct ledger *l, struct entry *e, void *ctx), void *ctx)
{
	for (struct hash_node *n = hash_table_walk(&l->table, NULL), *next; n; n = next) {
		next = hash_table_walk(&l->table, n);
		each(l, container_of(n, struct entry, node), ctx);
	}
}

struct ended_list {
	uint32_t kind, list;
};

static void miss_if_not_shown(struct ledger *l, struct entry *e, void *ctx)
{
	const struct ended_list *ended = ctx;

	if (e->kind == ended->kind && e->list != ended->list) {
		miss(l, e, 0);
	}
}

void ledger_end(struct ledger *l, const struct ledger_kind *kind, uint32_t list)
{
	struct ended_list ended = {kind->index, list};

	pthread_mutex_lock(&l->lock);
	ledger_each(l, miss_if_not_shown, &ended);
	pthread_mutex_unlock(&l->lock);
}

static void forget_object(struct ledger *l, struct entry *e, void *ctx)
{
	const struct ledger_kind *kind = ctx;

	if (e->kind == kind->index) {
		e->is_seen = false;
		e->shown_version = 0;
		drop_if_idle(l, e);
	}
}

void ledger_unfollow(struct ledger *l, struct ledger_kind *kind)
{
	ledger_set_followed(l, kind, NULL);
	pthread_mutex_lock(&l->lock);
	ledger_each(l, forget_object, kind);
	kind->watch_error = mem_free(kind->watch_error);
	kind->recorded = kind->checkpoint = kind->gap_from = 0;
	pthread_mutex_unlock(&l->lock);
}

/* ---- up to where it is written ---- */

void ledger_resume(struct ledger *l, struct ledger_kind *kind, uint64_t version)
{
	pthread_mutex_lock(&l->lock);
	kind->recorded = version;
	kind->checkpoint = 0;
	pthread_mutex_unlock(&l->lock);
}

/* When the older cohort is empty, all that was seen up to the checkpoint is written. Then the present cohort becomes the older
 * one, and a new checkpoint is due. If it is empty too, nothing waits at all. */
static void advance(struct ledger_kind *k, uint64_t version)
{
	for (unsigned i = 0; i < 2 && k->cohorts[!k->cohort] == 0; i++) {
		k->recorded = MAX(k->recorded, k->checkpoint);
		k->checkpoint = version;
		k->checkpoint_at_ms = clock_mono_ms();
		k->cohort = !k->cohort;
	}
}

uint64_t ledger_recorded(struct ledger *l, struct ledger_kind *kind, uint64_t version)
{
	pthread_mutex_lock(&l->lock);
	if (version) {
		advance(kind, version);
	}
	uint64_t recorded = kind->recorded;
	pthread_mutex_unlock(&l->lock);
	return recorded;
}

enum ledger_standing ledger_standing(struct ledger *l, const struct ledger_kind *kind, int64_t now_ms, int64_t since_ms)
{
	pthread_mutex_lock(&l->lock);
	bool is_behind = kind->cohorts[!kind->cohort] > 0 && kind->checkpoint && now_ms - kind->checkpoint_at_ms > STANDING_MS;
	bool has_skipped =
		kind->skipped_at_ms && kind->skipped_at_ms >= since_ms && now_ms - kind->skipped_at_ms <= SKIPPED_MS;
	pthread_mutex_unlock(&l->lock);
	return is_behind ? LEDGER_BEHIND : has_skipped ? LEDGER_SKIPPED : LEDGER_UP_TO_DATE;
}

/* ---- histories ---- */

static void take_history(struct ledger *l, struct entry *e, const struct ledger_history *h)
{
	if (h->version < e->history_version) {
		return; /* a worker has read a newer version */
	}
	e->history_version = h->version;
	e->kept = h->print;
	e->kept_version = h->recorded;
	e->is_written = h->is_written;
	e->is_released = h->is_released;
	e->deleted_s = h->deleted_s;
	e->revisions = h->revisions;
	e->bytes = h->bytes;
	l->changes++;
}

bool ledger_show_history(struct ledger *l, const struct ledger_key *key, const struct ledger_history *history, uint32_t list)
{
	pthread_mutex_lock(&l->lock);
	struct entry *e = want(l, key);
	bool has_another = e && history->is_archived && !e->is_archived && e->history_version > history->version;
	if (e && !has_another) {
		e->history_list = list;
		e->is_archived = history->is_archived;
		take_history(l, e, history);
		ledger_compare(l, e);
	}
	pthread_mutex_unlock(&l->lock);
	return !has_another;
}

static void miss_history(struct ledger *l, struct entry *e)
{
	e->history_version = 0;
	e->is_written = e->is_archived = false;
	e->deleted_s = 0;
	e->revisions = 0;
	e->bytes = 0;
	l->changes++;
	ledger_compare(l, e);
	drop_if_idle(l, e);
}

void ledger_miss_history(struct ledger *l, const struct ledger_key *key, uint64_t version, bool is_archived)
{
	pthread_mutex_lock(&l->lock);
	struct entry *e = ledger_find(l, key);
	if (e && version >= e->history_version && e->is_archived == is_archived) {
		miss_history(l, e);
	}
	pthread_mutex_unlock(&l->lock);
}

static void miss_history_if_not_shown(struct ledger *l, struct entry *e, void *ctx)
{
	const uint32_t *list = ctx;

	if (e->history_version && e->history_list != *list && !e->is_busy) {
		miss_history(l, e);
	}
}

void ledger_end_histories(struct ledger *l, uint32_t list)
{
	pthread_mutex_lock(&l->lock);
	ledger_each(l, miss_history_if_not_shown, &list);
	pthread_mutex_unlock(&l->lock);
}

/* ---- writing ---- */

static struct ledger_kind *kind_of_key(const struct ledger *l, struct str index)
{
	uint64_t i;

	return str_to_uint64(index, &i) && i < l->n_kinds ? l->kinds[i] : NULL;
}

static struct ledger_change *take_first(struct ledger *l, struct entry *e)
{
	struct ledger_change *c = e->first;

	e->first = c->next;
	e->last = e->first ? e->last : NULL;
	l->waiting--;
	l->waiting_bytes -= c->bytes;
	c->next = NULL;
	e->busy_cohort = cohort_of(e, c);
	return c;
}

bool ledger_take(struct ledger *l, struct str key, struct ledger_work *ret)
{
	struct str index, rest;
	struct entry *e = NULL;

	pthread_mutex_lock(&l->lock);
	if (str_cut(key, '/', &index, &rest) && (ret->kind = kind_of_key(l, index)) &&
		str_cut(rest, '/', &ret->ns, &ret->name)) {
		e = ledger_find(l, &(struct ledger_key){ret->kind, ret->ns, ret->name});
	}
	bool has_work = e && e->first && !e->is_busy;
	if (has_work) {
		ret->change = take_first(l, e);
		ret->has_history = e->history_version > 0;
		ret->is_counted = e->bytes > 0;
		ret->recorder = e->recorder;
		ret->settled_version = e->settled_version;
		ret->is_after_gap = ret->change->is_after_gap;
		if (ret->change == &look) {
			ret->is_after_gap = e->is_look_after_gap;
			ret->n_skipped = e->n_skipped;
			e->is_look_after_gap = false;
			e->n_skipped = 0;
		}
		ret->gap_from = ret->is_after_gap ? ret->kind->gap_from : 0;
		e->is_busy = true;
		make_impatient(l, e);
	} else if (e && !e->is_busy) {
		ledger_release(l, e);
		drop_if_idle(l, e);
	}
	wake_more(l);
	pthread_mutex_unlock(&l->lock);
	return has_work;
}

/* Puts a change back to the front. If a LOOK is involved, only the LOOK remains. */
static void put_back(struct ledger *l, struct entry *e, struct ledger_change *c)
{
	if (e->first && (e->first->sort == LEDGER_LOOK || c->sort == LEDGER_LOOK)) {
		if (c->sort == LEDGER_LOOK) {
			leave_cohort(l, e, e->busy_cohort);
			drop_changes(l, e);
			ledger_append(l, e, c, e->busy_cohort);
		} else {
			leave_cohort(l, e, e->look_cohort);
			e->look_cohort = e->busy_cohort;
			ledger_change_free(c);
		}
		return;
	}
	c->next = e->first;
	e->first = c;
	e->last = e->last ? e->last : c;
	l->waiting++;
	l->waiting_bytes += c->bytes;
}

static void note_problem(struct ledger *l, char **at, struct str problem)
{
	if (problem.n > PROBLEM_MAX) {
		problem.n = PROBLEM_MAX;
		while (problem.n > 0 && (problem.p[problem.n] & 0xc0) == 0x80) {
			problem.n--; /* cut no character in two */
		}
	}
	l->changes++;
	mem_free(*at);
	*at = problem.n ? mem_strndup(problem.p, problem.n) : NULL;
}

void ledger_note_problem(struct ledger *l, struct ledger_kind *kind, struct str problem)
{
	pthread_mutex_lock(&l->lock);
	note_problem(l, &kind->watch_error, problem);
	pthread_mutex_unlock(&l->lock);
}

static void note_look(struct entry *e, const struct ledger_result *result)
{
	if (result->seen) {
		e->is_seen = true;
		e->seen = *result->seen;
		e->seen_version = result->seen_version;
		e->recorder = result->recorder;
	} else if (result->is_gone) {
		e->is_seen = false;
	}
}

static enum ledger_trouble settle_trouble(struct ledger *l, struct entry *e, const struct ledger_result *result)
{
	struct ledger_kind *k = l->kinds[e->kind];
	bool was_waiting = k->n_waiting > 0;

	set_outcome(l, e, result->outcome);
	k->refused += result->outcome == LEDGER_REFUSED;
	if (result->outcome != LEDGER_DONE) {
		note_problem(l, &k->last_error, result->problem);
	}
	bool is_waiting = k->n_waiting > 0;
	return is_waiting == was_waiting ? LEDGER_TROUBLE_NONE : is_waiting ? LEDGER_TROUBLE_BEGINS : LEDGER_TROUBLE_ENDS;
}

struct ledger_settled ledger_settle(struct ledger *l, struct ledger_work *work, const struct ledger_result *result)
{
	struct ledger_settled settled;

	pthread_mutex_lock(&l->lock);
	struct entry *e = ledger_find(l, &(struct ledger_key){work->kind, work->ns, work->name});
	e->is_busy = false;
	/* For an equal version the watch has the better data: it knows the number of revisions. */
	if (result->history && result->history->version > e->history_version) {
		take_history(l, e, result->history);
	}
	/* If a change is waiting, it was seen later than what the worker has read, or is the
	 * same. */
	if (!e->first) {
		note_look(e, result);
	}
	settled.trouble = settle_trouble(l, e, result);
	e->trim_round = result->has_more ? 0 : e->trim_round;
	/* Before a gap of unknown beginning no Recorder followed the kind, so none has skipped its states. */
	if (result->has_skipped && (work->gap_from || !work->is_after_gap)) {
		work->kind->skipped_at_ms = clock_mono_ms();
	}
	if (result->outcome == LEDGER_RETRY) {
		e->is_look_after_gap = e->is_look_after_gap || work->is_after_gap;
		e->n_skipped += work->n_skipped;
		put_back(l, e, take_ptr(work->change));
		make_patient(l, e);
	} else {
		leave_cohort(l, e, e->busy_cohort);
	}
	settled.is_more = e->first != NULL;
	if (!settled.is_more) {
		ledger_release(l, e);
	}
	drop_if_idle(l, e);
	wake_more(l);
	pthread_mutex_unlock(&l->lock);
	work->change = ledger_change_free(work->change);
	return settled;
}
