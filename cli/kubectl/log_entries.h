/* Changes of many Histories, gathered in the order in which they happened; the newest ones alone, where there are too many. */
#ifndef CLI_KUBECTL_LOG_ENTRIES_H
#define CLI_KUBECTL_LOG_ENTRIES_H

#include "base/json.h"
#include "base/map.h"

struct log_entry {
	int64_t time_us;
	uint64_t version; /* the subject's resourceVersion, for changes of the same second */
	uint64_t serial;
	char *text; /* JSON: {apiVersion, kind: Change, history, subject, change} */
};

struct log_entries {
	struct log_entry *v;
	size_t n, cap;
	size_t max;       /* entries that are kept */
	size_t bytes;     /* of their texts */
	int64_t since_us; /* older ones are left out */
	uint64_t n_dropped, n_lost;
	uint64_t serial;
	struct map seen; /* Histories by uid: how many of their changes were taken */
};

void log_entries_init(struct log_entries *e, size_t max, int64_t since_us);
void log_entries_done(struct log_entries *e);
/* Takes what is new in a History. Counted in n_lost: changes that came and went since it was last seen. */
void log_entries_take(struct log_entries *e, const struct json *history);
void log_entries_forget(struct log_entries *e, const struct json *history);
/* Puts them in order, the newest last, and drops those beyond max. */
void log_entries_sort(struct log_entries *e);
void log_entries_clear(struct log_entries *e); /* what was seen stays */

#endif
