/* Everything follows from what is known: a step computes all of it anew, publishes, tells, and
 * sends what is due, until nothing changes any more. One thread steps at a time; who comes
 * meanwhile leaves a mark and goes. The order within a step is the protocol's: nobody acknowledges,
 * or changes what it writes, before hashes that are not common any more were taken back. */
#include "storage/agreement/agreement.h"

#include "base/clock.h"
#include "base/ids.h"
#include "base/thread.h"
#include "storage/agreement/agreement_private.h"
#include "storage/keys.h"

#include <assert.h>
#include <stdlib.h>

/* REVOKE_TIMEOUT_MS: no end of a process waits longer for etcd; the lease runs out by itself. */
enum { LEASE_S = 10, ID_CHARS = 12, REVOKE_TIMEOUT_MS = 1000, NOTICES_MAX = 64 * 1024 };

/* ---- what follows from what is known ---- */

void agreement_lose(struct agreement *a)
{
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

/* Our registration of old may be there, with the lease and the revision it had. But others that were made after the backup are not, and those who made
 * them do not know; and what we know of revisions means nothing now. So all join again. */
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

/* Others may have seen, or may yet see, a registration of ours that says anything: until we have made another one nothing is common, and none of what they
 * acknowledged counts any more. */
void agreement_be_unsure(struct agreement *a)
{
	a->is_unsure = true;
	a->in_doubt = ~UINT64_C(0);
}

/* Is the registration what we have made it? The answer to a change under way will tell; where not all registrations are known nothing is said of ours. */
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

/* The view first: choices point into it. */
static void update_view(struct agreement *a)
{
	agreement_view_unref(a->view);
	a->view = agreement_table_view(&a->table);
}

void agreement_choose_all(struct agreement *a)
{
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

/* Lock held, let go meanwhile. */
static void tell(struct agreement *a, bool has_changed)
{
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

/* Lock held. True: there may be more to do. */
static bool step(struct agreement *a)
{
	if (a->is_closing) {
		return false;
	}
	bool has_changed = false;
	if (a->is_loaded) {
		check_own(a);
		if (a->table.is_changed || !a->view) {
			update_view(a);
			has_changed = true;
		}
		agreement_choose_all(a);
	}
	has_changed |= agreement_publish(a);
	if (has_changed) {
		agreement_note(a);
	}
	if (has_changed || a->notices.n > 0 || agreement_waits_next_ms(a) <= a->now_ms()) {
		tell(a, has_changed);
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
			a->is_dirty |= step(a);
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

/* Lock held. Conditions wait by the other clock. */
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

/* A machine may be called what no registration may say. */
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
	for (size_t i = 0; i < kind_count(); i++) {
		assert(kind_at(i)->n_doors < 32);
		self->knows[i] = nature->knows ? nature->knows[i] : (UINT32_C(1) << kind_at(i)->n_doors) - 1;
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

/* ---- death ---- */

/* Everything that will call back has done so. */
static void stop(struct agreement *a)
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
	stop(a);
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
