/* Lists of a Job's indexes as text: "1,3-5,7". */
#ifndef API_WORKLOAD_JOB_INDEXES_H
#define API_WORKLOAD_JOB_INDEXES_H

#include "base/arena.h"
#include "base/str.h"

/* Why it is no list of indexes below `completions`; empty: it is one, of *ret_n indexes. */
struct str indexes_problem(struct str list, int64_t completions, int64_t *ret_n, struct arena *a);
/* The lowest index that two such lists have both; -1: none. */
int64_t indexes_overlap(struct str completed, struct str failed, int64_t completions, struct arena *a);

#endif
