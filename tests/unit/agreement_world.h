/* A replica as its server uses it: an agreement, and what it says while tests wait for it. Dependents are what it stores. */
#ifndef TESTS_UNIT_AGREEMENT_WORLD_H
#define TESTS_UNIT_AGREEMENT_WORLD_H

#include "storage/engine/agreement.h"
#include <pthread.h>

struct replica {
	struct agreement *agreement;
	struct storage *storage;
	const struct kind *kind;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct buf notices; /* lines */
};

/* setting: "dependents=v1beta1", or NULL. */
void replica_start(struct replica *r, struct storage *s, const char *setting, int64_t lease_s);
void replica_stop(struct replica *r);

/* Until the common version of Dependents is this one; NULL: until there is none. */
void replica_wait_common(struct replica *r, const char *version);
void replica_wait_count(struct replica *r, size_t n_replicas);
void replica_wait_notice(struct replica *r, const char *part);
enum storage_result replica_wait(struct replica *r, int64_t timeout_ms);
/* Waits until it may, and has a ticket. */
struct agreement_ticket replica_ticket(struct replica *r);
/* One transaction: is it carried out? */
bool replica_put(struct replica *r, const struct agreement_ticket *ticket);
/* As a server does it: until it is carried out, with doubts and waits. The version. */
const char *replica_write(struct replica *r);

#endif
