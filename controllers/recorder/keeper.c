/* Keeps Histories small, and tells what the recorder does. */
#include "controllers/recorder/keeper.h"

#include "base/clock.h"
#include "base/thread.h"
#include "controllers/recorder/ledger_private.h"

#include <assert.h>
#include <stdlib.h>

enum {
	TRIMS_MAX = 128,    /* Histories that one pass queues, every three seconds: 150,000 in an hour */
	RELIEVED_MAX = 512, /* the same, where there is no room */
	RELIEVE_MS = 3000,
	NOTICE_BYTES_MAX = 1 << 20, /* of one notice */
};

/* ---- telling ---- */

void recorder_notice(struct recorder_core *core, bool is_problem, const char *format, ...)
{
	va_list ap;
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, NOTICE_BYTES_MAX);
	va_start(ap, format);
	buf_vprintf(&text, format, ap);
	va_end(ap);
	controller_notice(&core->run, is_problem, buf_str(&text));
}

void recorder_event(
	struct recorder_core *core, const struct recording *about, bool is_warning, struct str reason, struct str message)
{
	event_say(core->events,
		&(struct event){
			.api_version = STR("annals.dev/v1"),
			.kind = STR("Recorder"),
			.name = about->name,
			.uid = about->uid,
			.reason = reason,
			.message = message,
			.is_warning = is_warning,
		});
}

/* ---- in the ledger ---- */

struct expiry {
	int64_t now_s, next_s;
};

static void expire(struct ledger *l, struct entry *e, void *ctx)
{
	struct expiry *x = ctx;
	const struct followed *f = l->kinds[e->kind]->followed;

	if (!e->deleted_s || e->first || e->is_busy || !f || f->recordings.n == 0) {
		return;
	}
	int64_t left_s = e->deleted_s + recordings_keep_deleted_s(&f->recordings) - x->now_s;
	if (left_s <= 0) {
		ledger_push(l, e, ledger_change_new(LEDGER_EXPIRE, 0, STR("")));
	} else {
		x->next_s = MIN(x->next_s, left_s);
	}
}

int64_t ledger_expire(struct ledger *l, int64_t now_s, int64_t max_s)
{
	struct expiry x = {now_s, max_s};

	pthread_mutex_lock(&l->lock);
	ledger_each(l, expire, &x);
	pthread_mutex_unlock(&l->lock);
	return x.next_s;
}

struct trimming {
	uint32_t round;
	size_t left, n;
};

/* Is a change of it under way? Then its History will be another one soon. */
static bool is_under_way(const struct entry *e)
{
	return e->first || e->is_busy;
}

static void trim(struct ledger *l, struct entry *e, void *ctx)
{
	struct trimming *t = ctx;
	bool is_to_do = e->history_version && !e->is_archived && l->kinds[e->kind]->followed && e->trim_round != t->round &&
		(e->revisions > 1 || (e->revisions > 0 && !e->bytes));

	if (is_to_do && t->left > 0 && !is_under_way(e)) {
		e->trim_round = t->round;
		t->left--;
		t->n++;
		ledger_push(l, e, ledger_change_new(LEDGER_TRIM, 0, STR("")));
	}
}

size_t ledger_trim(struct ledger *l, uint32_t round, size_t max)
{
	struct trimming t = {.round = round, .left = max};

	assert(round > 0);
	pthread_mutex_lock(&l->lock);
	ledger_each(l, trim, &t);
	pthread_mutex_unlock(&l->lock);
	return t.n;
}

/* The Histories that count. */
struct counted {
	struct entry **v;
	size_t n, cap;
	uint64_t bytes;
};

static void count_history(struct ledger *l _unused_, struct entry *e, void *ctx)
{
	struct counted *c = ctx;

	if (e->history_version && e->bytes > 0) {
		if (c->n == c->cap) {
			c->cap = c->cap ? c->cap * 2 : 1024;
			c->v = mem_realloc_array(c->v, c->cap, sizeof(struct entry *));
		}
		c->v[c->n++] = e;
		c->bytes += e->bytes;
	}
}

static int by_deletion(const struct entry *x, const struct entry *y)
{
	return x->deleted_s < y->deleted_s ? -1 : x->deleted_s > y->deleted_s;
}

/* Deleted objects first, the ones that were deleted first; then by size, the largest first. */
static int by_worth(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	if (x->deleted_s || y->deleted_s) {
		return !x->deleted_s ? 1 : !y->deleted_s ? -1 : by_deletion(x, y);
	}
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Returns how many bytes less there will be. */
static uint64_t relieve(struct ledger *l, struct entry *e, struct ledger_relief *ret)
{
	bool is_dropped = e->deleted_s > 0, is_new = !is_under_way(e) && l->kinds[e->kind]->followed;

	if (!is_dropped && e->revisions < 2) {
		return 0; /* the newest state never goes */
	}
	if (is_new) {
		struct ledger_change *c = ledger_change_new(is_dropped ? LEDGER_DROP : LEDGER_TRIM, 0, STR(""));
		if (!is_dropped) {
			c->at_most = (e->revisions - 1) / 2;
		}
		ledger_push(l, e, c);
		ret->dropped += is_dropped;
		ret->halved += !is_dropped;
	}
	return is_dropped ? e->bytes : e->bytes / 2;
}

uint64_t ledger_relieve(struct ledger *l, uint64_t budget, size_t max, struct ledger_relief *ret)
{
	struct counted c = {0};

	*ret = (struct ledger_relief){0};
	pthread_mutex_lock(&l->lock);
	ledger_each(l, count_history, &c);
	if (c.bytes > budget) {
		qsort(c.v, c.n, sizeof(*c.v), by_worth);
	}
	uint64_t over = c.bytes > budget ? c.bytes - budget : 0;
	for (size_t i = 0; i < c.n && over > 0 && ret->dropped + ret->halved < max; i++) {
		uint64_t less = relieve(l, c.v[i], ret);
		over -= MIN(less, over);
	}
	pthread_mutex_unlock(&l->lock);
	mem_free(c.v);
	return c.bytes;
}

/* ---- passes ---- */

static void keeper_begin_round(struct keeper *k)
{
	k->round = k->round == UINT32_MAX ? 1 : k->round + 1;
}

/* Tells once when four fifths of the budget are used. */
static void tell_budget(
	struct keeper *k, struct recorder_core *core, const struct recordings *all, uint64_t bytes, uint64_t budget)
{
	bool is_near = bytes > budget / 5 * 4;

	if (is_near && !k->is_near_budget) {
		_cleanup_(mem_freep) char *text =
			mem_printf("the states of all Histories take %llu of %llu MiB; beyond that the "
				   "Histories of deleted objects go, then half of the states of the largest",
				(unsigned long long)(bytes >> 20), (unsigned long long)(budget >> 20));
		recorder_notice(core, true, "%s", text);
		for (size_t i = 0; i < all->n; i++) {
			recorder_event(core, all->v[i], true, STR("HistoryBudgetNear"), str_of(text));
		}
	}
	k->is_near_budget = is_near;
}

static void relieve_budget(struct keeper *k, struct recorder_core *core, const struct recordings *all)
{
	uint64_t budget = (uint64_t)core->run.env->settings->history_budget_mib << 20;
	struct ledger_relief relief;

	if (budget == 0 || clock_mono_ms() < k->relieve_at_ms) {
		return;
	}
	k->relieve_at_ms = clock_mono_ms() + RELIEVE_MS;
	uint64_t bytes = ledger_relieve(core->ledger, budget, RELIEVED_MAX, &relief);
	tell_budget(k, core, all, bytes, budget);
	if (relief.dropped + relief.halved > 0) {
		recorder_notice(core, true,
			"the states of all Histories take more than their budget: %zu Histories of deleted objects are dropped, "
			"and %zu others lose half of their states",
			relief.dropped, relief.halved);
	}
}

/* The states of an object that never changes again get old, too. */
static void trim_histories(struct keeper *k, struct recorder_core *core)
{
	if (clock_mono_ms() < k->trim_at_ms) {
		return;
	}
	if (ledger_trim(core->ledger, k->round, TRIMS_MAX) == 0) {
		k->trim_at_ms = clock_mono_ms() + core->run.env->settings->history_trim_interval_ms;
		keeper_begin_round(k);
	}
}

void keeper_pass(struct keeper *k, struct recorder_core *core, const struct recordings *all, bool are_rules_new)
{
	if (are_rules_new || k->round == 0) {
		keeper_begin_round(k);
		k->trim_at_ms = 0;
	}
	trim_histories(k, core);
	relieve_budget(k, core, all);
}
