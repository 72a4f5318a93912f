/* What replicas over one store come to. */
#include "storage/agreement_private.h"
#include "storage/memory.h"
#include "tests/unit/check.h"

enum { LONG_MS = 60 * 1000 };

static const struct kind *dependents(void)
{
	return kind_by_hub(STR("annals.dev"), STR("dependents"));
}

struct replica {
	struct agreement *agreement;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_changes;
};

static void on_change(void *ctx, struct agreement *a _unused_)
{
	struct replica *r = ctx;

	pthread_mutex_lock(&r->lock);
	r->n_changes++;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void replica_start(struct replica *r, struct storage *s, const char *setting)
{
	struct agreement_options options = {.storage = s,
		.prefix = STR("/annals"),
		.address = STR("127.0.0.1:6443"),
		.lease_s = 60,
		.on_change = on_change,
		.ctx = r};
	struct buf err;

	*r = (struct replica){0};
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	storage_versions_init(&options.versions);
	buf_init(&err, 1024);
	if (setting) {
		assert_int_equal(storage_versions_set(&options.versions, str_of(setting), &err), 0);
	}
	buf_done(&err);
	r->agreement = agreement_new(&options);
}

static void replica_stop(struct replica *r)
{
	r->agreement = agreement_free(r->agreement);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
}

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

static enum storage_result wait_for(struct replica *r, const struct kind *k, int64_t timeout_ms)
{
	struct waiting w = {.wait = {.done = on_waited, .kind = k, .timeout_ms = timeout_ms}};

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

static void wait_common(struct replica *r, const struct kind *k, const char *version)
{
	pthread_mutex_lock(&r->lock);
	for (;;) {
		const struct door *d = agreement_common(r->agreement, k);
		if (version ? d && strcmp(d->version, version) == 0 : !d) {
			break;
		}
		pthread_cond_wait(&r->changed, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
}

static const char *writes(struct replica *r, const struct kind *k)
{
	struct agreement_ticket ticket;

	assert_int_equal(wait_for(r, k, LONG_MS), STORAGE_OK);
	assert_int_equal(agreement_write(r->agreement, k, &ticket, NULL), AGREEMENT_MAY_WRITE);
	assert_true(ticket.revision > 0);
	return ticket.version->version;
}

static int open_store(void **state)
{
	*state = storage_memory_new();
	return 0;
}

static int free_store(void **state)
{
	*state = storage_free(*state);
	return 0;
}

static void test_agreement__one_replica_agrees_with_itself(void **state)
{
	struct replica r;

	replica_start(&r, *state, NULL);
	assert_string_equal(writes(&r, dependents()), "v1");
	wait_common(&r, dependents(), "v1");
	assert_true(agreement_is_settled(r.agreement, NULL));
	assert_true(agreement_can_read(r.agreement, dependents(), NULL));
	assert_true(agreement_lease(r.agreement) != 0);
	replica_stop(&r);
}

static void test_agreement__differing_replicas_have_nothing_in_common(void **state)
{
	struct replica old, new;

	replica_start(&old, *state, "dependents=v1beta1");
	wait_common(&old, dependents(), "v1beta1");
	replica_start(&new, *state, NULL);
	assert_string_equal(writes(&new, dependents()), "v1");
	assert_string_equal(writes(&old, dependents()), "v1beta1");
	wait_common(&old, dependents(), NULL);
	wait_common(&new, dependents(), NULL);
	assert_non_null(agreement_common(new.agreement, kind_by_hub(STR(""), STR("namespaces"))));
	replica_stop(&old);
	wait_common(&new, dependents(), "v1");
	replica_stop(&new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_agreement__one_replica_agrees_with_itself, open_store, free_store),
		cmocka_unit_test_setup_teardown(
			test_agreement__differing_replicas_have_nothing_in_common, open_store, free_store),
	};
	return cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
}
