/* The inside of a ledger, for the files that work on it. */
#ifndef CONTROLLERS_RECORDER_LEDGER_PRIVATE_H
#define CONTROLLERS_RECORDER_LEDGER_PRIVATE_H

#include "base/hash_table.h"
#include "controllers/recorder/ledger.h"

struct entry {
	struct hash_node node;
	struct entry *next_put_off;
	struct ledger_change *first, *last;
	uint64_t seen_version, kept_version; /* of the object, with `seen` and `kept`; 0: unknown */
	uint64_t shown_version; /* that the next version replaces, if no list and no pause comes between; 0: unknown */
	uint64_t settled_version;            /* see struct ledger_work */
	uint64_t recorder;                   /* the Recorder that records it */
	uint64_t history_version;            /* 0: there is no History */
	uint64_t bytes;                      /* of its states; 0: not counted yet */
	int64_t deleted_s;
	struct ledger_print seen, kept;
	uint32_t kind, list, history_list, revisions;
	uint32_t trim_round; /* the last one in which its states were trimmed */
	uint32_t n_skipped; /* states that its LOOK stands for, besides the last one */
	uint16_t ns_length, name_length;
	bool is_seen;    /* the object exists and is recorded: `seen` is valid */
	bool is_written; /* `kept` is valid */
	bool is_released; /* according to its History, and to the last change that waits */
	bool is_archived; /* its History has moved into the archive of its namespace */
	bool is_busy;    /* a worker has its first change */
	bool is_woken;   /* the queue or a worker has its key */
	bool is_patient; /* its change failed and is retried later: until then it does not count towards WOKEN_MAX */
	bool is_look_after_gap; /* of its LOOK */
	bool is_put_off; /* it waits for room in the queue */
	uint8_t outcome; /* of its last change: an enum ledger_outcome */
	uint8_t look_cohort, busy_cohort; /* of its LOOK; of the change that a worker has */
	char text[];                      /* namespace, name */
};

struct ledger {
	struct ledger_options options;
	pthread_mutex_t lock; /* guards what follows */
	struct ledger_kind **kinds;
	size_t n_kinds;
	struct entry *put_off, *last_put_off;
	struct hash_table table; /* of struct entry */
	size_t n_woken, waiting, waiting_bytes;
	uint64_t skipped, changes;
	uint32_t lists;
	bool is_full;
};

/* Takes the change, which waits behind those of the entry. The caller holds the lock. */
void ledger_push(struct ledger *l, struct entry *e, struct ledger_change *c);
/* Calls each() for every entry; it may free the entry. The caller holds the lock. */
void ledger_each(struct ledger *l, void (*each)(struct ledger *l, struct entry *e, void *ctx), void *ctx);

#endif
