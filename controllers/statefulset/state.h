/* Between the files of the StatefulSet controller that do I/O. */
#ifndef CONTROLLERS_STATEFULSET_STATE_H
#define CONTROLLERS_STATEFULSET_STATE_H

#include "client/informer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/counters.h"
#include "controllers/kit/recorder.h"
#include "controllers/kit/workers.h"
#include "controllers/ownership/adoption.h"
#include "controllers/ownership/family.h"
#include "controllers/ownership/own_writes.h"
#include "controllers/statefulset/pass.h"

/* Whose versions are kept of one's own writes: indexes of own_writes. */
enum { OWN_PODS, OWN_CLAIMS, OWN_SETS, OWN_REVISIONS };

enum { PASSES, STALE_SKIPS, PODS_CREATED, PODS_DELETED, ADOPTIONS, RELEASES };

enum { SYNC_ARENA_MAX = 256 << 20 };

struct stateful_state {
	const struct controller_env *env;
	const struct carrier *carrier;
	struct workqueue *queue; /* NAMESPACE/NAME */
	struct recorder *recorder;
	struct counters counters;
	struct family sets, pods, revisions;
	struct family strangers; /* revisions that may look like a set's, and are another's */
	struct own_writes own;
	pthread_mutex_t lock; /* guards what follows: struct pass's `replaced` by the set's uid, as pointers */
	struct map replaced;

	struct workers workers;
	/* Asks which API versions show the same sets, then starts the informers. */
	pthread_t starter;
	bool has_starter;

	/* Set by the starter before is_started, then constant. */
	_Atomic bool is_started;
	bool has_apps;                      /* apps/v1 shows the sets of annals.dev/v1beta1 */
	struct resource main, revision;     /* where sets are known by, and where revisions are */
	struct str revision_api_version;
	struct informer *sets_apps, *sets_beta, *pods_informer, *claims_informer, *revisions_informer;
};

extern const struct resource stateful_beta, stateful_apps, stateful_pods, stateful_claims;

/* One set that is being worked on. */
struct sync {
	struct stateful_state *s;
	struct pass pass;
	struct arena arena;
	struct target target; /* the set, in s->main */
	struct item *set_apps, *set_beta;
	struct item **pods, **revisions; /* its own and the namespace's orphans */
	size_t n_pods, n_revisions;
	struct list claims; /* references to claims that the pass looks at */
	bool has_adopted;   /* what the cache does not know of yet */
};

/* What a pass asks of the server (server_io.c). ctx: the sync. */
extern const struct pass_io server_io;
void server_io_done(struct sync *y);
/* What a write of that object of the set's has come to: the next pass waits until the caches have it. */
void sync_note_write(struct sync *y, unsigned kind, struct str name, int error, const struct answer *answer);
/* Have the caches all of the set's objects whose writes were not answered, as the server has them? Asks it, where there are any (abreast.c). */
bool sync_is_abreast(struct sync *y);

/* Adopts and releases (claiming.c), and hands what is the set's to the pass. False: the sync ends, to be repeated. */
bool sync_claim_revisions(struct sync *y);
bool sync_claim_pods(struct sync *y);

/* What is told, and not acted upon (strangers.c). */
bool stranger_is(const struct carrier *c, const struct item *revision); /* may it be one of `strangers`? */
void sync_tell_of_strangers(struct sync *y, const struct history_owner *subject);
void sync_tell_of_overlaps(struct sync *y);

#endif
