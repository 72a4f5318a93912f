/* Numbers of a ledger, for statuses and metrics. */
#include "controllers/recorder/ledger_private.h"

static void count_object(struct ledger *l _unused_, struct entry *e, void *ctx)
{
	struct ledger_totals *totals = ctx;

	totals->objects += e->is_seen;
	totals->history_bytes += e->bytes;
}

void ledger_read_totals(struct ledger *l, struct ledger_totals *ret)
{
	pthread_mutex_lock(&l->lock);
	*ret = (struct ledger_totals){
		.entries = l->table.n,
		.waiting = l->waiting,
		.waiting_bytes = l->waiting_bytes,
		.skipped = l->skipped,
		.is_full = l->is_full,
	};
	ledger_each(l, count_object, ret);
	pthread_mutex_unlock(&l->lock);
}

struct tallying {
	struct ledger_tally *rows, *last;
	size_t n, max;
};

static struct ledger_tally *row_of(struct tallying *t, const struct ledger_kind *kind, uint64_t recorder)
{
	if (t->last && t->last->kind == kind && t->last->recorder == recorder) {
		return t->last;
	}
	for (size_t i = 0; i < t->n; i++) {
		if (t->rows[i].kind == kind && t->rows[i].recorder == recorder) {
			return &t->rows[i];
		}
	}
	if (t->n == t->max) {
		return NULL;
	}
	t->rows[t->n] = (struct ledger_tally){.kind = kind, .recorder = recorder};
	return &t->rows[t->n++];
}

static void tally(struct ledger *l, struct entry *e, void *ctx)
{
	struct tallying *t = ctx;

	if (!e->is_seen) {
		return;
	}
	t->last = row_of(t, l->kinds[e->kind], e->recorder);
	if (t->last) {
		t->last->objects++;
		t->last->revisions += e->revisions;
		t->last->bytes += (int64_t)e->bytes;
	}
}

size_t ledger_tally(struct ledger *l, struct ledger_tally *rows, size_t max)
{
	struct tallying t = {.rows = rows, .max = max};

	pthread_mutex_lock(&l->lock);
	ledger_each(l, tally, &t);
	pthread_mutex_unlock(&l->lock);
	return t.n;
}

uint64_t ledger_refused(struct ledger *l, const struct ledger_kind *kind, struct str *ret_problem, struct arena *a)
{
	pthread_mutex_lock(&l->lock);
	uint64_t n = kind->refused;
	*ret_problem = arena_dup(a, str_of(kind->last_error ? kind->last_error : kind->watch_error));
	pthread_mutex_unlock(&l->lock);
	return n;
}

uint64_t ledger_changes(struct ledger *l)
{
	pthread_mutex_lock(&l->lock);
	uint64_t changes = l->changes;
	pthread_mutex_unlock(&l->lock);
	return changes;
}
