/* Changes of many Histories, in the order in which they happened. If there are too many, only
 * the newest are kept. */
#ifndef CLI_KUBECTL_LOG_ENTRIES_H
#define CLI_KUBECTL_LOG_ENTRIES_H

#include "base/json.h"
#include "base/map.h"
#include "cli/kubectl/kubectl.h"

/* The changes to show. */
struct log_filter {
	int64_t since_us, until_us; /* until 0: no end */
	struct str by, path;        /* empty: any */
};

struct log_entry {
	int64_t time_us;
	uint64_t version; /* the subject's resourceVersion, for changes of the same second */
	uint64_t serial;
	char *before; /* the name of the revision that was there before; NULL: there was none, or the History no longer lists it */
	char *before_digest; /* of its state; NULL: unknown */
	bool is_first; /* of the object: there was nothing before */
	char *text; /* JSON: {apiVersion, kind: Change, history, subject, change} */
};

struct log_entries {
	struct log_entry *v;
	size_t n, cap;
	size_t max;       /* entries that are kept */
	size_t bytes;     /* of their texts */
	struct log_filter filter;
	uint64_t n_dropped, n_lost;
	/* To explain an empty log: the numbers of Histories and of their changes; of changes that no History lists any more; and of
	 * changes that list only some paths, so that the wanted one may be missing. */
	uint64_t n_histories, n_changes, n_unlisted, n_unsure;
	uint64_t serial;
	struct map seen; /* by uid of a History: how many of its changes were taken */
};

void log_entries_init(struct log_entries *e, size_t max, const struct log_filter *filter);
void log_entries_done(struct log_entries *e);
/* Takes the new changes of a History. n_lost counts those that came and went since it was last seen. */
void log_entries_take(struct log_entries *e, const struct json *history);
/* Counts the changes of a History as seen, and takes none. */
void log_entries_skip(struct log_entries *e, const struct json *history);
void log_entries_forget(struct log_entries *e, const struct json *history);
/* Sorts the entries, the newest last, and drops those beyond max. */
void log_entries_sort(struct log_entries *e);
void log_entries_clear(struct log_entries *e); /* what was seen stays */

/* Which Recorder's setting has removed something of an object, for the end of a sentence: "spec.historyLimit of Recorder web is
 * 10". Asks the server. */
struct str log_limit_of(
	struct kubectl *k, const struct api_resource *type, struct str namespace, struct str name, const char *setting);
/* The limit of the list of changes, in docs/how-to/limits.md. */
#define LOG_CHANGES_KEPT "a History lists its last 50 changes, and 64 KiB of them"
/* Notes why there is nothing to print. type: NULL for all types; name: empty for all objects of the type. */
void log_explain_nothing(struct kubectl *k, const struct log_entries *e, const struct api_resource *type, struct str name);

#endif
