/* etcd's alarms and size, watched: whoever looks at logs, metrics or /readyz is told that etcd refuses to write, and why. Asks a member for its status
 * every few seconds, which is no write and goes to no quorum; alarms are in every member's state. */
#ifndef STORAGE_ALARMS_H
#define STORAGE_ALARMS_H

#include "base/buf.h"
#include "storage/storage.h"

struct alarms;

struct alarms_options {
	struct storage *storage; /* outlives the alarms */
	int64_t interval_ms;     /* 0: 5,000 */
	bool is_in_memory;       /* it is no etcd, and has other remedies */
	/* An alarm has begun, or is over: a sentence. On a thread of its own. May be NULL. */
	void (*on_notice)(void *ctx, bool is_trouble, struct str text);
	void *ctx;
};

struct alarms *alarms_new(const struct alarms_options *options);
struct alarms *alarms_free(struct alarms *a);
/* What they mean, for people, by names; NULL: there are none. Static. Any thread. */
const char *alarms_explain(const struct alarms *a);
void alarms_write_metrics(const struct alarms *a, struct buf *out);

#endif
