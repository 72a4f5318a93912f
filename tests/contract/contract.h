/* What storage.h promises, as cases that every store has to pass. A program per store runs them all: contract_run(). */
#ifndef TESTS_CONTRACT_CONTRACT_H
#define TESTS_CONTRACT_CONTRACT_H

#include "storage/storage.h"
#include "tests/unit/check.h"

#include <pthread.h>

/* A case's own view of a store: keys of other cases may be there too, but none under its prefix. */
struct contract {
	struct storage *s;
	struct arena arena; /* of the case */
	struct str prefix;  /* "/contract/17/" */
};

struct contract_case {
	const char *name;
	void (*run)(struct contract *c);
};
#define CASE(f)       \
	{             \
#f, f \
	}
struct contract_suite {
	const struct contract_case *cases;
	size_t n;
};
extern const struct contract_suite contract_range_suite, contract_txn_suite, contract_watch_suite, contract_lease_suite,
	contract_history_suite;

/* Every case with a store of its own from `open`. Returns how many failed. */
int contract_run(const char *store, struct storage *(*open)(void *ctx), void *ctx);

struct contract *contract_new(struct storage *s); /* takes s */
struct contract *contract_free(struct contract *c);

/* ---- short forms; all check that the store says STORAGE_OK ---- */

struct str contract_key(struct contract *c, const char *name);
struct str contract_end(struct contract *c); /* of the prefix */
int64_t contract_put(struct contract *c, const char *name, const char *value);
int64_t contract_delete(struct contract *c, const char *name);
/* All zero where there is none. Lives as long as the case. */
struct storage_kv contract_get(struct contract *c, const char *name);
int64_t contract_revision(struct contract *c);
void contract_compact(struct contract *c, int64_t revision);

#define assert_result(op, expected) assert_result_at((op), (expected), __FILE__, __LINE__)
void assert_result_at(const struct storage_op *op, enum storage_result expected, const char *file, int line);

/* ---- a watch that keeps its events; waits end with it, not with a clock ---- */

struct recorder {
	struct storage_watch watch;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct arena arena;
	struct storage_event *events;
	size_t n, cap;
	int64_t revision; /* of the newest call */
	size_t n_calls;
	bool is_out_of_order; /* a call did not begin above the last one's revision, or events were not ascending */
	bool is_connected;
	unsigned n_interruptions;
	bool is_over;
	enum storage_result why;
	int64_t compact_revision;
};

/* Of the case's prefix. */
struct recorder *recorder_new(struct contract *c, int64_t from_revision);
struct recorder *recorder_new_range(struct storage *s, struct str key, struct str range_end, int64_t from_revision);
/* Cancels it unless it is over. */
struct recorder *recorder_free(struct recorder *r, struct storage *s);
void recorder_wait_connected(struct recorder *r);
void recorder_wait_interrupted(struct recorder *r, unsigned n);
void recorder_wait_events(struct recorder *r, size_t n);
void recorder_wait_revision(struct recorder *r, int64_t revision);
enum storage_result recorder_wait_end(struct recorder *r);
/* "PUT a=1", "DELETE a": without the prefix; in the case's arena. */
const char *recorder_event(struct recorder *r, struct contract *c, size_t i);

#endif
