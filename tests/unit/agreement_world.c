#include "tests/unit/agreement_world.h"

#include <stdlib.h>

enum { LONG_MS = 60 * 1000 };

static void on_change(void *ctx, struct agreement *a _unused_)
{
	struct replica *r = ctx;

	pthread_mutex_lock(&r->lock);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void on_notice(void *ctx, bool is_trouble, struct str text)
{
	struct replica *r = ctx;

	pthread_mutex_lock(&r->lock);
	buf_printf(&r->notices, "%c " STR_FMT "\n", is_trouble ? 'W' : 'I', STR_ARG(text));
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void replica_start(struct replica *r, struct storage *s, const char *setting, int64_t lease_s)
{
	struct agreement_options options = {
		.storage = s,
		.prefix = STR("/annals"),
		.address = STR("127.0.0.1:6443"),
		.lease_s = lease_s,
		.on_change = on_change,
		.on_notice = on_notice,
		.ctx = r,
	};
	struct buf err;

	*r = (struct replica){.storage = s, .kind = kind_by_hub(STR("annals.dev"), STR("dependents"))};
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	buf_init(&r->notices, 1 << 20);
	storage_versions_init(&options.versions);
	buf_init(&err, 1024);
	if (setting && storage_versions_set(&options.versions, str_of(setting), &err) != 0) {
		abort();
	}
	buf_done(&err);
	r->agreement = agreement_new(&options);
}

void replica_stop(struct replica *r)
{
	r->agreement = agreement_free(r->agreement);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	buf_done(&r->notices);
}

#define REPLICA_WAIT(r, condition)                                    \
	do {                                                          \
		pthread_mutex_lock(&(r)->lock);                       \
		while (!(condition)) {                                \
			pthread_cond_wait(&(r)->changed, &(r)->lock); \
		}                                                     \
		pthread_mutex_unlock(&(r)->lock);                     \
	} while (0)

static bool is_common(struct replica *r, const char *version)
{
	const struct version *v = agreement_common(r->agreement, r->kind);
	return version ? v && strcmp(v->name, version) == 0 : !v;
}

void replica_wait_common(struct replica *r, const char *version)
{
	REPLICA_WAIT(r, is_common(r, version));
}

static size_t count(struct replica *r)
{
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_view(r->agreement);
	return v ? v->n_replicas : 0;
}

void replica_wait_count(struct replica *r, size_t n_replicas)
{
	REPLICA_WAIT(r, count(r) == n_replicas);
}

void replica_wait_notice(struct replica *r, const char *part)
{
	REPLICA_WAIT(r, str_contains(buf_str(&r->notices), str_of(part)));
}

/* ---- waiting and writing ---- */

struct waiting {
	struct agreement_wait wait;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool is_over;
};

static void on_waited(struct agreement_wait *w)
{
	struct waiting *waiting = container_of(w, struct waiting, wait);

	pthread_mutex_lock(&waiting->lock);
	waiting->is_over = true;
	pthread_cond_signal(&waiting->ended);
	pthread_mutex_unlock(&waiting->lock);
}

enum storage_result replica_wait(struct replica *r, int64_t timeout_ms)
{
	struct waiting w = {.wait = {.done = on_waited, .kind = r->kind, .timeout_ms = timeout_ms}};

	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.ended, NULL);
	agreement_wait(r->agreement, &w.wait);
	pthread_mutex_lock(&w.lock);
	while (!w.is_over) {
		pthread_cond_wait(&w.ended, &w.lock);
	}
	pthread_mutex_unlock(&w.lock);
	pthread_cond_destroy(&w.ended);
	pthread_mutex_destroy(&w.lock);
	return w.wait.result;
}

struct agreement_ticket replica_ticket(struct replica *r)
{
	struct agreement_ticket ticket;

	while (agreement_write(r->agreement, r->kind, &ticket, NULL) != AGREEMENT_MAY_WRITE) {
		replica_wait(r, LONG_MS);
	}
	return ticket;
}

bool replica_put(struct replica *r, const struct agreement_ticket *ticket)
{
	struct storage_compare guard = {
		.target = COMPARE_MOD, .result = COMPARE_EQUAL, .key = ticket->key, .number = ticket->revision};
	struct storage_step put = {.kind = STEP_PUT, .key = STR("/annals/x"), .value = str_of(ticket->version->name)};
	struct storage_txn txn = {.compares = &guard, .n_compares = 1, .success = &put, .n_success = 1};
	bool is_done = storage_txn_wait(r->storage, &txn) == STORAGE_OK && txn.succeeded;

	storage_op_clear(&txn.op);
	return is_done;
}

const char *replica_write(struct replica *r)
{
	struct agreement_ticket ticket = replica_ticket(r);

	while (!replica_put(r, &ticket)) {
		agreement_doubt(r->agreement, &ticket);
		ticket = replica_ticket(r);
	}
	return ticket.version->name;
}
