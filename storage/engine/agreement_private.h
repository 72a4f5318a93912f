/* Shared by the files of the agreement. The public side is agreement.h.
 *
 * Callbacks of the store, and the timer's thread, note what they have learnt, under the lock. Then
 * they call agreement_run(), which acts on it. One thread at a time runs it, and releases the lock
 * while it calls out. It goes in steps. The promises rest on the order within a step:
 *
 *   1. It chooses anew what to encode. Kinds that will change over are in doubt from here on, and
 *      not common.
 *   2. It computes and publishes the answers to all questions. If they differ, it calls on_change,
 *      ends waits, and begins the next step.
 *   3. Only when no callback is due, it runs one errand. So no registration or acknowledgement is
 *      sent before on_change has returned. */
#ifndef STORAGE_ENGINE_AGREEMENT_PRIVATE_H
#define STORAGE_ENGINE_AGREEMENT_PRIVATE_H

#include "storage/engine/agreement_table.h"
#include <pthread.h>
#include <stdatomic.h>

enum agreement_errand {
	ERRAND_LOAD, /* the range; the watch follows by itself */
	ERRAND_GRANT,
	ERRAND_KEEP_ALIVE,
	ERRAND_REGISTER,
	ERRAND_ACK,
	ERRAND_DOUBT,
	ERRAND_COUNT,
};

struct agreement_trip {
	bool is_under_way;
	int64_t not_before_ms, backoff_ms, sent_ms;
	int64_t lease; /* the lease that it was sent for */
	int64_t floor; /* the last known revision when it was sent */
	uint32_t epoch;
	union {
		struct storage_op op; /* the others begin with one */
		struct storage_range range;
		struct storage_txn txn;
		struct storage_lease keep;
	};
};

/* The steps of the transactions. */
struct agreement_steps {
	struct storage_compare compare;
	struct storage_step put, get;
	struct buf value;
};

struct agreement {
	struct agreement_options options;
	struct agreement_self self;
	struct arena arena; /* of keys and names, for the agreement's life */
	struct str key, key_seen;
	struct str registrations_end, watched, watched_end; /* both prefixes are neighbours: one range, one watch */
	int64_t (*now_ms)(void);
	bool has_timer;
	pthread_t timer;

	pthread_mutex_t lock;
	pthread_cond_t wake; /* of the timer */
	pthread_cond_t idle;
	bool is_closing, is_running, is_dirty;
	unsigned n_busy; /* trips and watches that will call back */
	struct list waits;

	struct agreement_table table;
	struct agreement_view *view; /* NULL until the first range has been read */
	struct storage_watch watch;
	bool is_loaded, is_watching; /* is_loaded: the table is, or was, what etcd had; it may be behind */
	uint64_t cluster;            /* the id of the etcd cluster that the table was read from */
	uint32_t epoch;              /* the number of its history: answers of another one do not count */

	int64_t lease, ttl_ms;
	int64_t mod; /* of the own registration as far as we know; 0: none */
	const struct version *encodes[KIND_COUNT_MAX], *next[KIND_COUNT_MAX],
		*sent[KIND_COUNT_MAX];                   /* registered, chosen, under way */
	int64_t since[KIND_COUNT_MAX];                   /* from which revision on the registration has said so */
	struct agreement_choice choices[KIND_COUNT_MAX]; /* in terms of the present view */
	uint64_t may_write, in_doubt;                    /* kinds, as bits */
	bool is_unsure; /* a registration may have been made, or may yet be, that is unknown here */
	bool is_doubted;

	struct agreement_trip trips[ERRAND_COUNT];
	struct agreement_steps registration, ack;

	/* published: what questions are answered from */
	_Atomic(const struct version *) common[KIND_COUNT_MAX];
	_Atomic bool is_readable[KIND_COUNT_MAX];
	enum agreement_writing writing[KIND_COUNT_MAX];
	bool is_registered, was_certain;
	_Atomic int64_t certain_until_ms; /* by now_ms() */

	/* notices */
	enum agreement_reason told[KIND_COUNT_MAX];
	const struct version *told_encodes[KIND_COUNT_MAX];
	int64_t told_problem;
	bool told_overfull, told_registered;
	const char *told_as; /* a sentence with the ID, by which StorageVersions call this server */
	char trouble[256];   /* what etcd said when a request failed; empty: no trouble */
	bool told_trouble;
	struct buf notices; /* log lines to be reported, each: a byte for trouble or not, the sentence, a NUL */

	uint64_t n_registrations, n_losses;
};

_Static_assert(KIND_COUNT_MAX <= 64, "bits of may_write and in_doubt");

/* Settings that tests choose; otherwise time and chance choose them. */
struct agreement_nature {
	struct str id;
	int64_t (*now_ms)(void);
	const uint32_t *knows; /* see struct agreement_self; NULL: all */
};

/* Opens it without a timer: the caller calls agreement_run(). */
struct agreement *agreement_open(const struct agreement_options *options, const struct agreement_nature *nature);
void agreement_run(struct agreement *a);
/* Returns when agreement_run() next has something to do; INT64_MAX: never. Lock held. */
int64_t agreement_next_ms(struct agreement *a);
/* Frees the agreement as if the process had died: nothing is revoked. */
struct agreement *agreement_abandon(struct agreement *a);

/* ---- lock held ---- */
void agreement_lose(struct agreement *a); /* the registration is gone */
void agreement_be_unsure(struct agreement *a);
/* Forgets everything, since etcd has been restored from a backup: the registration may be gone,
 * too. */
void agreement_forget(struct agreement *a);
int64_t agreement_errand_ms(struct agreement *a, enum agreement_errand e); /* when it is due; INT64_MAX: never */
/* Runs the errand, and releases the lock meanwhile. */
void agreement_errand_run(struct agreement *a, enum agreement_errand e);
void agreement_choose_all(struct agreement *a);
/* Returns true if an answer has changed. */
bool agreement_publish(struct agreement *a);
void agreement_waits_end(struct agreement *a, struct list *ret); /* moves the finished waits to ret */
int64_t agreement_waits_next_ms(struct agreement *a);
void agreement_note(struct agreement *a);
void agreement_note_trouble(struct agreement *a, const char *message); /* etcd has refused or not answered */
void agreement_note_trouble_over(struct agreement *a);

static inline uint64_t kind_bit(size_t kind)
{
	return UINT64_C(1) << kind;
}

#endif
