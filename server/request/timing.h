/* Where the time of a request goes: a clock's value for each phase it has passed, in the request itself, and a line in the log when it took
 * too long (as upstream's utiltrace; its threshold of 500 ms, too). */
#ifndef SERVER_REQUEST_TIMING_H
#define SERVER_REQUEST_TIMING_H

#include "base/base.h"

struct request;

/* In the order in which they are passed. Which of them there are depends on the request. */
enum step {
	STEP_AUTHENTICATED,
	STEP_AUTHORIZED, /* impersonation and limits included */
	STEP_RECEIVED,   /* the whole body */
	STEP_DECODED,
	STEP_ADMITTED, /* before the last transaction */
	STEP_ENCODED,  /* the answer is there, or ready to be made while it is sent */
	STEPS,
};

struct timing {
	int64_t passed_ns[STEPS];        /* monotonic; 0: not passed */
	int64_t waited_before_ns[STEPS]; /* for cache and etcd, until then */
	int64_t cache_ns, etcd_ns;       /* waiting for the cache to be fresh; for transactions */
	unsigned n_cache_waits, n_txns;
};

void timing_pass(struct request *q, enum step step);
void timing_waited(struct request *q, int64_t ns, bool is_for_cache);
/* Over --slow-request-threshold, watches apart: to server_options.on_slow. */
void timing_report(struct request *q, int64_t duration_ns);

#endif
