/* Runs the agreement in steps. A step computes everything anew from what is known, publishes it,
 * reports it, and sends what is due; steps repeat until nothing changes. One thread steps at a
 * time; a thread that comes meanwhile leaves a mark and returns. The order within a step is the
 * protocol's. Hashes that are no longer common are taken back before a replica acknowledges
 * anything, or changes what it writes. */
#include "api/model/packed.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/ids.h"
#include "base/thread.h"
#include "storage/engine/agreement_private.h"
#include "storage/keys.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* REVOKE_TIMEOUT_MS: a process that ends does not wait longer for etcd; the lease runs out by itself. */
enum { LEASE_S = 10, ID_CHARS = 12, REVOKE_TIMEOUT_MS = 1000, NOTICES_MAX = 64 * 1024, SENTENCE_MAX = 4096 };

/* ---- what follows from what is known ---- */

void agreement_lose(struct agreement *a)
{
	assert_locked(&a->lock);
	a->n_losses += a->mod != 0;
	a->lease = 0;
	a->mod = 0;
	a->may_write = 0;
	a->in_doubt = 0;
	a->is_unsure = false;
	a->is_doubted = false;
	memset(a->encodes, 0, sizeof(a->encodes));
	atomic_store(&a->certain_until_ms, 0);
	a->trips[ERRAND_KEEP_ALIVE].not_before_ms = 0;
}

/* Forgets everything after etcd has been restored from a backup. The old registration may be
 * there, with its lease and revision. But registrations made after the backup are lost, their
 * replicas do not know it, and all known revisions mean nothing now. So all replicas join again. */
void agreement_forget(struct agreement *a)
{
	a->epoch++;
	agreement_lose(a);
	agreement_table_clear(&a->table);
	a->is_loaded = false; /* the view stays until there is another one: choices point into it */
	a->told_problem = 0;
	memset(a->since, 0, sizeof(a->since));
	a->trips[ERRAND_LOAD].not_before_ms = 0;
}

/* Notes that an answer was lost, so other replicas may see a registration that this one does not
 * know. Until another registration is made nothing is common, and acknowledgements by others do
 * not count. */
void agreement_be_unsure(struct agreement *a)
{
	assert_locked(&a->lock);
	a->is_unsure = true;
	a->in_doubt = ~UINT64_C(0);
}

/* Checks that etcd still has the registration as it was written. Not while a change is under
 * way, whose answer will say so. Not while the table is overfull either, since the own
 * registration may be the missing one. */
static void check_own(struct agreement *a)
{
	if (a->mod == 0 || a->trips[ERRAND_REGISTER].is_under_way || a->table.is_overfull) {
		return;
	}
	const struct agreement_row *row = agreement_table_find(&a->table, a->self.id);
	if (!row) {
		agreement_lose(a);
	} else if (row->entry->replica.mod_revision != a->mod) {
		agreement_be_unsure(a);
	}
}

void agreement_choose_all(struct agreement *a)
{
	assert_locked(&a->lock);
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (!kind_is_stored(k)) {
			continue;
		}
		a->choices[i] = agreement_choose(&a->self, a->view, k, a->encodes[i]);
		a->next[i] = a->table.is_overfull ? a->encodes[i] : a->choices[i].encodes;
		bool may_change = a->trips[ERRAND_REGISTER].is_under_way && a->sent[i] != a->encodes[i];
		if (may_change || a->next[i] != a->encodes[i]) {
			a->in_doubt |= kind_bit(i);
		} else if (!a->is_unsure) {
			a->in_doubt &= ~kind_bit(i);
		}
	}
}

/* ---- steps ---- */

static bool errand_run_due(struct agreement *a)
{
	assert_locked(&a->lock);
	assert(a->is_running); /* one thread at a time */
	int64_t now = a->now_ms();

	for (enum agreement_errand e = 0; e < ERRAND_COUNT; e++) {
		if (agreement_errand_ms(a, e) <= now) {
			agreement_errand_run(a, e);
			return true;
		}
	}
	return false;
}

static void waits_tell(struct list *over)
{
	while (!list_is_empty(over)) {
		struct agreement_wait *w = list_entry(over->next, struct agreement_wait, node);
		list_remove(&w->node);
		w->done(w);
	}
}

static void notices_tell(struct agreement *a, struct buf *notices)
{
	for (size_t i = 0; i < notices->n;) {
		struct str text = str_of(notices->p + i + 1);
		if (a->options.on_notice) {
			a->options.on_notice(a->options.ctx, notices->p[i] == '!', text);
		}
		i += text.n + 2;
	}
}

/* Calls on_change, notices and ended waits. The lock is held, but released during the calls. */
static void agreement_tell(struct agreement *a, bool has_changed)
{
	assert_locked(&a->lock);
	struct list over = LIST_INIT(over);
	struct buf notices = a->notices;

	buf_init(&a->notices, NOTICES_MAX);
	agreement_waits_end(a, &over);
	pthread_mutex_unlock(&a->lock);
	if (has_changed && a->options.on_change) {
		a->options.on_change(a->options.ctx, a);
	}
	waits_tell(&over);
	notices_tell(a, &notices);
	buf_done(&notices);
	pthread_mutex_lock(&a->lock);
}

/* Takes one step. Returns true if there may be more to do. Lock held. */
static bool agreement_step(struct agreement *a)
{
	if (a->is_closing) {
		return false;
	}
	bool has_changed = false;
	if (a->is_loaded) {
		check_own(a);
		if (a->table.is_changed || !a->view) {
			/* The view is made before choices are: they point into it. */
			agreement_view_unref(a->view);
			a->view = agreement_table_view(&a->table);
			has_changed = true;
		}
		agreement_choose_all(a);
	}
	has_changed |= agreement_publish(a);
	if (has_changed) {
		agreement_note(a);
	}
	if (has_changed || a->notices.n > 0 || agreement_waits_next_ms(a) <= a->now_ms()) {
		agreement_tell(a, has_changed);
		return true;
	}
	return errand_run_due(a);
}

void agreement_run(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	a->is_dirty = true;
	if (!a->is_running) {
		a->is_running = true;
		while (a->is_dirty) {
			a->is_dirty = false;
			a->is_dirty |= agreement_step(a);
		}
		a->is_running = false;
		pthread_cond_signal(&a->wake);
		pthread_cond_broadcast(&a->idle);
	}
	pthread_mutex_unlock(&a->lock);
}

/* ---- the timer ---- */

int64_t agreement_next_ms(struct agreement *a)
{
	int64_t next = agreement_waits_next_ms(a);

	for (enum agreement_errand e = 0; e < ERRAND_COUNT; e++) {
		next = MIN(next, agreement_errand_ms(a, e));
	}
	return a->was_certain ? MIN(next, atomic_load(&a->certain_until_ms)) : next;
}

/* Waits until the next errand is due. Lock held. Times are of the clock that goes on while a
 * machine is suspended; conditions wait by one that does not. */
static void timer_wait(struct agreement *a)
{
	int64_t next = a->is_running ? INT64_MAX : agreement_next_ms(a), now = a->now_ms();

	if (next == INT64_MAX) {
		pthread_cond_wait(&a->wake, &a->lock);
	} else if (next > now) {
		clock_cond_wait(&a->wake, &a->lock, clock_mono_ms() + next - now);
	}
}

static void *timer_run(void *p)
{
	struct agreement *a = p;

	pthread_mutex_lock(&a->lock);
	while (!a->is_closing) {
		timer_wait(a);
		pthread_mutex_unlock(&a->lock);
		agreement_run(a);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- birth ---- */

/* Returns the address without characters that a registration must not contain; a host name may
 * have some. */
static struct str address_shown(struct agreement *a, struct str address)
{
	char *shown = arena_text(&a->arena, address.n);

	for (size_t i = 0; i < address.n; i++) {
		shown[i] = char_shown(address.p[i]);
	}
	return (struct str){shown, address.n};
}

static void self_init(struct agreement *a, const struct agreement_nature *nature)
{
	struct agreement_self *self = &a->self;

	self->id = arena_dup(&a->arena, nature->id);
	a->told_as = arena_printf(&a->arena,
		"registered in etcd as " STR_FMT ": other servers know which versions are stored here", STR_ARG(self->id))
			     .p;
	self->address = address_shown(a, a->options.address);
	self->wanted = a->options.versions;
	self->is_standalone = a->options.is_standalone;
	self->is_plain = a->options.is_plain;
	for (size_t i = 0; i < kind_count(); i++) {
		assert(kind_at(i)->n_versions < 32);
		self->knows[i] = nature->knows ? nature->knows[i] : (UINT32_C(1) << kind_at(i)->n_versions) - 1;
	}
}

static void keys_init(struct agreement *a)
{
	struct str prefix = a->options.prefix;
	struct agreement_table *t = &a->table;

	t->registrations = key_replicas(&a->arena, prefix);
	t->acks = key_replicas_seen(&a->arena, prefix);
	a->key = key_below(&a->arena, t->registrations, a->self.id);
	a->key_seen = key_below(&a->arena, t->acks, a->self.id);
	a->registrations_end = storage_prefix_end(&a->arena, t->registrations);
	a->watched = t->acks;
	a->watched_end = a->registrations_end;
	assert(str_cmp(t->acks, t->registrations) < 0);
}

struct agreement *agreement_open(const struct agreement_options *options, const struct agreement_nature *nature)
{
	struct agreement *a = mem_new(struct agreement);

	a->options = *options;
	a->options.lease_s = options->lease_s ? options->lease_s : LEASE_S;
	a->now_ms = nature->now_ms;
	arena_init(&a->arena, SIZE_MAX);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->idle, NULL);
	clock_cond_init(&a->wake);
	list_init(&a->waits);
	buf_init(&a->registration.value, AGREEMENT_VALUE_MAX);
	buf_init(&a->ack.value, 32);
	buf_init(&a->notices, NOTICES_MAX);
	self_init(a, nature);
	keys_init(a);
	for (size_t i = 0; i < kind_count(); i++) {
		atomic_store(&a->is_readable[i], true);
		a->writing[i] = AGREEMENT_NOT_YET;
	}
	return a;
}

struct agreement *agreement_new(const struct agreement_options *options)
{
	char id[] = "annals-............", *random = id + sizeof(id) - 1 - ID_CHARS;

	random_suffix(random, ID_CHARS);
	struct agreement *a = agreement_open(options, &(struct agreement_nature){.id = str_of(id), .now_ms = clock_boot_ms});

	agreement_run(a);
	a->has_timer = true;
	thread_must_start(&a->timer, "agreement", timer_run, a);
	return a;
}

void agreement_register_now(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	if (a->options.registers_later) {
		a->options.registers_later = false;
		pthread_cond_signal(&a->wake);
	}
	pthread_mutex_unlock(&a->lock);
}

/* ---- death ---- */

/* Stops the agreement: no callback comes after it returns. */
static void agreement_stop(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	a->is_closing = true;
	bool is_watching = a->is_watching;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	if (a->has_timer) {
		pthread_join(a->timer, NULL);
	}
	if (is_watching) {
		storage_watch_cancel(a->options.storage, &a->watch);
	}
	pthread_mutex_lock(&a->lock);
	while (a->n_busy > 0 || a->is_running) {
		pthread_cond_wait(&a->idle, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
}

struct agreement *agreement_abandon(struct agreement *a)
{
	agreement_view_unref(a->view);
	agreement_table_done(&a->table);
	buf_done(&a->registration.value);
	buf_done(&a->ack.value);
	buf_done(&a->notices);
	pthread_cond_destroy(&a->wake);
	pthread_cond_destroy(&a->idle);
	pthread_mutex_destroy(&a->lock);
	arena_done(&a->arena);
	return mem_free(a);
}

void agreement_leave(struct agreement *a)
{
	agreement_stop(a);
	if (a->lease) {
		struct storage_lease revoke = {.op.timeout_ms = REVOKE_TIMEOUT_MS, .id = a->lease};
		storage_lease_revoke_wait(a->options.storage, &revoke);
		storage_op_clear(&revoke.op);
	}
}

struct agreement *agreement_free(struct agreement *a)
{
	if (!a) {
		return NULL;
	}
	agreement_leave(a);
	assert(list_is_empty(&a->waits));
	return agreement_abandon(a);
}

/* ---- publishing ---- */

bool agreement_is_certain(const struct agreement *a)
{
	return a->now_ms() < atomic_load(&a->certain_until_ms);
}

/* Returns true while tickets may be given. While a change of the registration is under way,
 * tickets may become void at any moment, so it does not count as registered. Lock held. */
static bool is_registered(const struct agreement *a)
{
	return a->mod != 0 && !a->is_unsure && !a->is_doubted && !a->trips[ERRAND_REGISTER].is_under_way;
}

static enum agreement_writing find_writing(struct agreement *a, const struct kind *k)
{
	const struct agreement_replica *waits_for;
	uint64_t bit = kind_bit(k->index);
	const struct version *v = a->encodes[k->index];

	if (!is_registered(a)) {
		return AGREEMENT_NOT_YET;
	}
	if (!v) {
		return a->next[k->index] ? AGREEMENT_NOT_YET : AGREEMENT_NEVER;
	}
	/* While the table is overfull we do not know all replicas that have yet to see our registration. */
	bool may_begin = !(a->may_write & bit) && !a->table.is_overfull;
	if (may_begin && agreement_may_write(&a->self, a->view, k, v, a->since[k->index], &waits_for)) {
		a->may_write |= bit;
	}
	return a->may_write & bit ? AGREEMENT_MAY_WRITE : AGREEMENT_NOT_YET;
}

static const struct version *find_common(const struct agreement *a, const struct kind *k, bool is_sure)
{
	const struct version *v = a->encodes[k->index];

	return is_sure && v && !(a->in_doubt & kind_bit(k->index)) && agreement_is_common(&a->self, a->view, k, v) ? v : NULL;
}

static bool publish_kind(struct agreement *a, const struct kind *k, bool is_sure)
{
	const struct version *common = find_common(a, k, is_sure);
	enum agreement_writing writing = find_writing(a, k);
	bool is_readable = !a->view || a->table.is_overfull ? atomic_load(&a->is_readable[k->index])
							    : !agreement_unreadable(&a->self, a->view, k);
	bool has_changed = writing != a->writing[k->index];

	a->writing[k->index] = writing;
	has_changed |= atomic_exchange(&a->common[k->index], common) != common;
	has_changed |= atomic_exchange(&a->is_readable[k->index], is_readable) != is_readable;
	return has_changed;
}

bool agreement_publish(struct agreement *a)
{
	assert_locked(&a->lock);
	bool was_certain = a->was_certain, has_changed = false;

	a->was_certain = agreement_is_certain(a);
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_is_stored(kind_at(i))) {
			has_changed |= publish_kind(a, kind_at(i), a->mod != 0 && a->was_certain);
		}
	}
	return has_changed | (was_certain != a->was_certain);
}

/* ---- questions ---- */

static void explain_registration(const struct agreement *a, struct buf *why)
{
	if (a->table.is_overfull || (a->mod == 0 && a->table.n == AGREEMENT_REPLICAS_MAX)) {
		buf_printf(why, "there are %d registrations in etcd already, as many as there may be", AGREEMENT_REPLICAS_MAX);
		return;
	}
	buf_adds(why,
		a->is_loaded ? "this server is not registered in etcd yet"
			     : "the registrations of other servers have not been read yet");
	if (a->trouble[0] != '\0') {
		buf_printf(why, ": %s", a->trouble);
	}
}

/* Says why the kind may not be written. Lock held. */
static void explain_writing(const struct agreement *a, const struct kind *k, struct buf *why)
{
	const struct agreement_replica *waits_for = NULL;
	const struct version *v = a->encodes[k->index];

	if (a->writing[k->index] == AGREEMENT_NEVER) {
		agreement_explain_choice(&a->self, k, &a->choices[k->index], why);
	} else if (is_registered(a) && v && !agreement_may_write(&a->self, a->view, k, v, a->since[k->index], &waits_for)) {
		agreement_explain_wait(k, v, waits_for, why);
	} else {
		explain_registration(a, why);
	}
}

/* Returns the published answer, corrected by what is known since: a registration that is gone,
 * or being changed, gives no tickets. Lock held. */
static enum agreement_writing writing_now(const struct agreement *a, const struct kind *k)
{
	enum agreement_writing writing = a->writing[k->index];

	return writing == AGREEMENT_MAY_WRITE && !(is_registered(a) && (a->may_write & kind_bit(k->index))) ? AGREEMENT_NOT_YET
													    : writing;
}

enum agreement_writing agreement_write(struct agreement *a, const struct kind *k, struct agreement_ticket *ret, struct buf *why)
{
	pthread_mutex_lock(&a->lock);
	enum agreement_writing writing = writing_now(a, k);
	if (writing == AGREEMENT_MAY_WRITE) {
		bool may_pack =
			k->is_packed && !a->self.is_plain && a->view && agreement_knows_form(&a->self, a->view, k, PACKED_FORM);
		*ret = (struct agreement_ticket){a->encodes[k->index], a->key, a->mod, may_pack};
		assert(ret->version && ret->revision > 0);
	} else if (why) {
		explain_writing(a, k, why);
	}
	pthread_mutex_unlock(&a->lock);
	return writing;
}

bool agreement_can_read(struct agreement *a, const struct kind *k, struct buf *why)
{
	if (atomic_load(&a->is_readable[k->index])) {
		return true;
	}
	pthread_mutex_lock(&a->lock);
	const struct agreement_replica *r = agreement_unreadable(&a->self, a->view, k);
	if (r && why) {
		struct agreement_choice choice = {NULL, AGREEMENT_CANNOT_READ, r};
		agreement_explain_choice(&a->self, k, &choice, why);
	}
	pthread_mutex_unlock(&a->lock);
	return !r;
}

void agreement_doubt(struct agreement *a, const struct agreement_ticket *ticket)
{
	assert(ticket->key.n > 0 && ticket->revision > 0);
	pthread_mutex_lock(&a->lock);
	if (a->mod == ticket->revision && !a->trips[ERRAND_REGISTER].is_under_way) {
		a->is_doubted = true;
		pthread_cond_signal(&a->wake);
	}
	pthread_mutex_unlock(&a->lock);
}

const struct version *agreement_common(struct agreement *a, const struct kind *k)
{
	const struct version *v = atomic_load(&a->common[k->index]);
	return v && agreement_is_certain(a) ? v : NULL;
}

/* Lock held. */
static bool kind_is_settled(struct agreement *a, const struct kind *k, struct buf *why)
{
	if (!kind_is_stored(k) || a->writing[k->index] == AGREEMENT_MAY_WRITE) {
		return true;
	}
	if (why) {
		explain_writing(a, k, why);
	}
	return false;
}

bool agreement_is_settled(struct agreement *a, struct buf *why)
{
	bool is_settled = true;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < kind_count() && is_settled; i++) {
		is_settled = kind_is_settled(a, kind_at(i), why);
	}
	pthread_mutex_unlock(&a->lock);
	return is_settled;
}

int64_t agreement_lease(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	int64_t lease = a->mod != 0 ? a->lease : 0;
	pthread_mutex_unlock(&a->lock);
	return lease;
}

struct str agreement_id(const struct agreement *a)
{
	return a->self.id;
}

struct agreement_view *agreement_view(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	struct agreement_view *v = a->view;
	if (v) {
		atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&a->lock);
	return v;
}

/* ---- waiting ---- */

static bool wait_is_over(struct agreement *a, const struct agreement_wait *w, int64_t now_ms)
{
	return a->writing[w->kind->index] != AGREEMENT_NOT_YET || w->deadline_ms <= now_ms;
}

void agreement_waits_end(struct agreement *a, struct list *ret)
{
	assert_locked(&a->lock);
	int64_t now = a->now_ms();

	list_for_each_safe(it, &a->waits) {
		struct agreement_wait *w = list_entry(it, struct agreement_wait, node);
		if (wait_is_over(a, w, now)) {
			list_remove(&w->node);
			w->result = a->writing[w->kind->index] != AGREEMENT_NOT_YET ? STORAGE_OK : STORAGE_TIMEOUT;
			list_append(ret, &w->node);
		}
	}
}

int64_t agreement_waits_next_ms(struct agreement *a)
{
	int64_t next = INT64_MAX;

	list_for_each(it, &a->waits) {
		next = MIN(next, list_entry(it, struct agreement_wait, node)->deadline_ms);
	}
	return next;
}

void agreement_wait(struct agreement *a, struct agreement_wait *w)
{
	assert(w->done && w->kind && w->timeout_ms > 0);
	pthread_mutex_lock(&a->lock);
	bool must_wait = writing_now(a, w->kind) == AGREEMENT_NOT_YET;
	if (must_wait) {
		w->deadline_ms = a->now_ms() + w->timeout_ms;
		list_append(&a->waits, &w->node);
		pthread_cond_signal(&a->wake);
	}
	pthread_mutex_unlock(&a->lock);
	if (!must_wait) {
		w->result = STORAGE_OK;
		w->done(w);
	}
}

/* ---- metrics ---- */

static void write_common(struct agreement *a, struct buf *out)
{
	exposition_head(out, "annals_storage_version_common", "gauge",
		"Whether all live servers store objects of the resource in one version.");
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (kind_is_stored(k)) {
			BUF_LITERAL(out, "annals_storage_version_common{resource=\"");
			kind_write_group_resource(k, out);
			buf_printf(out, "\"} %d\n", agreement_common(a, k) != NULL);
		}
	}
}

void agreement_write_metrics(struct agreement *a, struct buf *out)
{
	pthread_mutex_lock(&a->lock);
	size_t n_replicas = a->table.n;
	bool has_registration = a->mod != 0;
	uint64_t n_registrations = a->n_registrations, n_losses = a->n_losses;
	pthread_mutex_unlock(&a->lock);

	exposition_gauge(
		out, "annals_storage_version_replicas", "Live servers that are registered in etcd.", (double)n_replicas);
	exposition_gauge(out, "annals_storage_version_registered", "Whether this server is one of them.", has_registration);
	exposition_counter(out, "annals_storage_version_registrations_total",
		"How often this server has registered or changed its registration.", (double)n_registrations);
	exposition_counter(out, "annals_storage_version_registrations_lost_total",
		"How often its registration has ended with its lease, or was removed.", (double)n_losses);
	write_common(a, out);
}

/* ---- log lines: one for each change ---- */

static void notice_add(struct agreement *a, bool is_trouble, const struct buf *text)
{
	buf_addc(&a->notices, is_trouble ? '!' : ' ');
	buf_add(&a->notices, text->p, text->n);
	buf_addc(&a->notices, '\0');
}

static void note_kind(struct agreement *a, const struct kind *k)
{
	const struct agreement_choice *c = &a->choices[k->index];
	bool is_told = a->told[k->index] == c->reason && a->told_encodes[k->index] == c->encodes;
	struct buf text;

	/* Nothing is logged for a kind that is written as wanted from the start. */
	if (is_told || (c->reason == AGREEMENT_WANTED && a->told[k->index] == AGREEMENT_WANTED)) {
		a->told_encodes[k->index] = c->encodes;
		return;
	}
	buf_init(&text, SENTENCE_MAX);
	agreement_explain_choice(&a->self, k, c, &text);
	notice_add(a, c->reason != AGREEMENT_WANTED, &text);
	buf_done(&text);
	a->told[k->index] = c->reason;
	a->told_encodes[k->index] = c->encodes;
}

static void note_problems(struct agreement *a)
{
	int64_t newest = a->told_problem;

	for (size_t i = 0; i < a->view->n_replicas; i++) {
		const struct agreement_replica *r = &a->view->replicas[i];
		struct buf text;

		if (r->problem.n == 0 || r->mod_revision <= a->told_problem) {
			continue;
		}
		newest = MAX(newest, r->mod_revision);
		buf_init(&text, SENTENCE_MAX);
		buf_adds(&text, "the registration of ");
		agreement_write_name(r, &text);
		buf_printf(&text, " cannot be understood: " STR_FMT "; while it is in etcd no storage version hash is shown",
			STR_ARG(r->problem));
		notice_add(a, true, &text);
		buf_done(&text);
	}
	a->told_problem = newest;
}

static void note_flag(struct agreement *a, bool *told, bool now, const char *on, const char *off, bool is_on_bad)
{
	struct buf text;

	if (*told != now) {
		*told = now;
		buf_init(&text, SENTENCE_MAX);
		buf_printf(&text, "%s", now ? on : off);
		notice_add(a, now == is_on_bad, &text);
		buf_done(&text);
	}
}

/* Logs that etcd refuses or does not answer: once, and not for each failed attempt. At the start
 * the cache reports that etcd is away. */
void agreement_note_trouble(struct agreement *a, const char *message)
{
	bool is_new = a->trouble[0] == '\0';
	struct buf text;

	snprintf(a->trouble, sizeof(a->trouble), "%s", message);
	if (is_new && a->is_loaded) {
		buf_init(&text, SENTENCE_MAX);
		buf_printf(&text, "cannot %s in etcd, will go on trying: %s", a->mod ? "keep the registration" : "register",
			a->trouble);
		notice_add(a, true, &text);
		buf_done(&text);
		a->told_trouble = true;
	}
}

/* Logs the end of the trouble, at the same level: readers who saw the warning see its end. */
void agreement_note_trouble_over(struct agreement *a)
{
	struct buf text;

	a->trouble[0] = '\0';
	if (a->told_trouble) {
		a->told_trouble = false;
		buf_init(&text, SENTENCE_MAX);
		BUF_LITERAL(&text, "etcd keeps the registration again");
		notice_add(a, true, &text);
		buf_done(&text);
	}
}

void agreement_note(struct agreement *a)
{
	note_flag(a, &a->told_registered, a->mod != 0, a->told_as,
		"the registration in etcd is gone, joining again: nothing is written meanwhile", false);
	if (!a->view) {
		return;
	}
	note_flag(a, &a->told_overfull, a->table.is_overfull,
		"there are more registrations in etcd than servers can be: no storage version hash is shown",
		"there are no more registrations in etcd than servers can be", true);
	note_problems(a);
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_is_stored(kind_at(i)) && !a->table.is_overfull) {
			note_kind(a, kind_at(i));
		}
	}
}
