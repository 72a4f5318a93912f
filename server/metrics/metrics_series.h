/* The metrics' own: what is counted of one label set, and the table of all of them. */
#ifndef SERVER_METRICS_METRICS_SERIES_H
#define SERVER_METRICS_METRICS_SERIES_H

#include "base/histogram.h"
#include "server/metrics/metrics.h"

enum {
	SERIES_MAX = 4096, /* a power of two */
	CODES_MAX = 24,    /* HTTP codes of one label set; further ones count under the last */
};

struct code_count {
	_Atomic unsigned code; /* 0: free */
	_Atomic uint64_t n;
};

/* Once published it stays until the table goes. A set of labels has a few of these only: requests those of a request, events of watches
 * those of a resource's version, etcd those of an operation. */
struct series {
	struct metrics_labels labels; /* owned text */
	struct code_count codes[CODES_MAX];
	struct histogram durations, indicators, sizes, event_sizes, etcd, read_waits;
	_Atomic uint64_t n_terminated, n_initial, n_terminated_watches, n_etcd_errors;
	_Atomic int64_t longrunning;
	_Atomic bool was_longrunning, is_deprecated;
};

struct series_table {
	_Atomic(struct series *) slots[SERIES_MAX]; /* open addressing; entries are added, never removed */
	_Atomic size_t n;
	struct series other; /* when the table is full */
};

struct series *series_find(struct series_table *t, const struct metrics_labels *labels);
void series_count_code(struct series *s, unsigned code);
void series_table_done(struct series_table *t);

extern const struct bounds duration_bounds, indicator_bounds, size_bounds, event_size_bounds, attempt_bounds, read_wait_bounds;
/* Every family with series in it, each with its header. */
void series_write(struct buf *out, struct series_table *t);

#endif
