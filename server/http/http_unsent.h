/* Answers that are made, but that their clients have not taken: how many bytes they hold.
 *
 * A client decides how long it takes to read. So an answer is counted from the moment it is made until it is sent or given up, whoever asked for it.
 * Large answers need a grant before they are made. Where there is no room, the answers that have not moved for longest give way: a client that reads,
 * however slowly, keeps its answer before one that reads nothing.
 *
 *   limit    what grants may reach together; half of it on one connection, a share for each user (base/shares.h)
 *   ceiling  what all answers may reach: writes have happened, and small answers are not asked for
 *
 * An answer that nobody has asked for may bring its user above the share. Then that user's answers give way.
 *
 * Long-lived streams are not counted: they have a limit of their own. */
#ifndef SERVER_HTTP_HTTP_UNSENT_H
#define SERVER_HTTP_HTTP_UNSENT_H

#include "base/list.h"
#include "base/shares.h"
#include <pthread.h>
#include <stdatomic.h>

struct http_exchange;

enum { UNSENT_SHARDS = 16 };

/* The answers of some HTTP threads, those that have moved longest ago first. */
struct unsent_shard {
	pthread_mutex_t lock;
	struct list answers; /* of unsent_answer.link */
};

struct unsent {
	size_t limit, ceiling;        /* bytes */
	_Atomic size_t used, leaving; /* leaving: of used, what has been asked to give way */
	struct shares shares;         /* of used without leaving */
	struct unsent_shard shards[UNSENT_SHARDS];
};

/* The answer of one exchange. It belongs to its HTTP thread, but link, since_ms and is_evicted are under the shard's lock. */
struct unsent_answer {
	size_t n;                   /* bytes that are counted */
	struct unsent_shard *shard; /* NULL: not in a list */
	struct list link;
	int64_t since_ms;         /* when it was put into its place in the list */
	_Atomic int64_t moved_ms; /* when the client last took something of it */
	_Atomic bool is_evicted;
};

void unsent_init(struct unsent *u, size_t limit, size_t ceiling);
void unsent_done(struct unsent *u);
/* n bytes for an answer that is about to be made, in place of what was granted before. Less than 1/8 of the limit is used: any number. */
bool unsent_grant(struct http_exchange *x, size_t n);
/* The answer is there, and holds n bytes. From now on it may be asked to give way. */
void unsent_add(struct http_exchange *x, size_t n);
/* The answer is sent, or given up. */
void unsent_remove(struct http_exchange *x);
/* Bytes outside of any exchange, which a connection holds for the user. */
void unsent_count(struct unsent *u, uint64_t user, ptrdiff_t n);
/* True: answers whose clients have not read for a while are to give way; this user's, or everybody's. */
bool unsent_is_full(const struct unsent *u, const struct payer *payer);
/* Answers of reads never take what lies between limit and ceiling. */
bool unsent_has_room_for_writes(const struct unsent *u, const struct payer *payer);

#endif
