/* Shared by the files of the StatefulSet controller that do I/O. */
#ifndef CONTROLLERS_STATEFULSET_STATE_H
#define CONTROLLERS_STATEFULSET_STATE_H

#include "controllers/kit/adoption.h"
#include "controllers/kit/counters.h"
#include "controllers/kit/event_writer.h"
#include "controllers/kit/family.h"
#include "controllers/kit/own_writes.h"
#include "controllers/statefulset/pass.h"

/* The kinds whose own writes are noted: indexes of own_writes. */
enum { OWN_PODS, OWN_CLAIMS, OWN_SETS, OWN_REVISIONS };

enum { PASSES, STALE_SKIPS, PODS_CREATED, PODS_DELETED, ADOPTIONS, RELEASES };

/* Bytes of one pass: the set, and all its pods and revisions. */
enum { SYNC_ARENA_MAX = 256 << 20 };

struct stateful_state {
	struct controller_run run; /* keys: NAMESPACE/NAME */
	const struct carrier *carrier;
	struct event_writer *events;
	struct counters counters;
	struct family sets, pods, revisions;
	struct family strangers; /* revisions that may look like a set's but have another controller */
	struct own_writes own;
	pthread_mutex_t lock; /* guards what follows: from a set's uid to struct pass's `replaced`, as a pointer */
	struct map replaced;

	int64_t ask_again_ms; /* the pause before the next look at which API versions show the same sets */

	/* Set before is_started, then constant. */
	_Atomic bool is_started;
	bool has_apps;                  /* apps/v1 shows the sets of annals.dev/v1beta1 */
	struct resource main, revision; /* main: the API version to read sets from; revision: the resource of revisions */
	struct str revision_api_version;
	struct informer *sets_apps, *sets_beta, *pods_informer, *claims_informer, *revisions_informer;
};

extern const struct resource stateful_beta, stateful_apps, stateful_pods, stateful_claims;

/* The work on one set. */
struct sync {
	struct stateful_state *s;
	struct pass pass;
	struct arena arena;
	struct target target; /* the set, in s->main */
	struct item *set_apps, *set_beta;
	struct item **pods, **revisions; /* the set's own and the namespace's orphans */
	size_t n_pods, n_revisions;
	struct list claims; /* references to claims that the pass looks at */
	bool has_adopted;   /* adopted objects that the cache does not show yet */
};

/* The requests of a pass (server_io.c). ctx: the sync. */
extern const struct pass_io server_io;
void server_io_done(struct sync *y);
/* Notes the result of a write to one of the set's objects: the next pass waits until the caches
 * have it. */
void sync_note_write(struct sync *y, unsigned kind, struct str name, int error, const struct answer *answer);
/* Do the caches have the server's version of all the set's objects whose writes got no answer?
 * Asks the server if there are any (claiming.c). */
bool sync_is_abreast(struct sync *y);

/* Adopt and release objects (claiming.c), and hand the set's own to the pass. Return false if
 * the sync ends and must be repeated. */
bool sync_claim_revisions(struct sync *y);
bool sync_claim_pods(struct sync *y);

/* Findings that are only reported (claiming.c). */
bool stranger_is(const struct carrier *c, const struct item *revision); /* does it belong into `strangers`? */
void sync_tell_of_strangers(struct sync *y, const struct history_owner *subject);
void sync_tell_of_overlaps(struct sync *y);

#endif
