/* One API request on its way through the phases: route, authenticate, authorize, decode, admit, store, encode. No phase calls back.
 *
 * A request belongs to one HTTP exchange and lives in its arena. It runs on HTTP threads only; when it must wait (cache, etcd) it
 * names the function to go on with, suspends the exchange, starts the operation, and is called again once that is done. At any time either
 * an HTTP thread or one operation under way holds it. */
#ifndef SERVER_REQUEST_REQUEST_H
#define SERVER_REQUEST_REQUEST_H

#include "server/access/authz.h"
#include "server/access/questions.h"
#include "server/parse/negotiate.h"
#include "server/parse/route.h"
#include "server/request/server_state.h"
#include "server/request/timing.h"
#include "storage/engine/plan.h"
#include "storage/leases.h"

#define BODY_JSON_LIMITS JSON_LIMITS_DEFAULT
#define RETRY_AFTER_S 1   /* the Retry-After header of clients that may try again */
#define WARNINGS_MAX 1024 /* more than there can be headers of */

enum request_class { CLASS_NONE, CLASS_READ, CLASS_WRITE, CLASS_WATCH };

/* The place that a request takes among those of its class (limits.h):
 *
 *     NONE --enter--> INSIDE --step_out--> OUTSIDE --step_in, return--> INSIDE
 *                       |                     |
 *                       +--------leave--------+--> LEFT, until the end of the exchange */
enum request_place { PLACE_NONE, PLACE_INSIDE, PLACE_OUTSIDE, PLACE_LEFT };

/* The operation that a suspended request waits for (wait.h). */
enum request_waiting {
	WAITING_NOT,
	WAITING_CACHE,  /* q->wait: until the cache is fresh, or has a revision */
	WAITING_ETCD,   /* q->plan, q->lease or q->versions */
	WAITING_ANSWER, /* q->questions: the cluster's */
	WAITING_TURN,   /* in a queue, or for its thread */
};

struct request {
	struct server *server;
	struct http_exchange *x;
	struct arena *a;                       /* the arena to use now: the exchange's, or one of a write's */
	struct write_memory *writing;          /* write.c's; NULL: no write has begun */
	struct route route;
	const struct kind *held;               /* a reference to the route's kind, if that has a life */
	struct user *user;                     /* NULL until authenticated */
	struct media media;
	struct authz_attributes what;             /* what the user wants to do */
	struct status route_status, media_status; /* code 0: no error. Reported when the user may see them */
	struct questions questions;               /* of the cluster */
	struct status st;                      /* what to answer when something is wrong */
	struct str *warnings;
	size_t n_warnings;
	struct str now;                        /* request_now() */
	struct str audit_id;                   /* the client's Audit-ID, or one of ours */
	struct request_audit *audit;           /* NULL: not audited */
	enum request_class class;
	enum request_place place;
	size_t charged;                        /* bytes, to the budget of its class */
	bool is_over_budget;                   /* its body was */
	bool is_dry_run;
	bool is_routed;                        /* a verb has been asked */
	bool has_looked;                       /* head.c's: the kind was looked for behind a read index */
	bool is_late;                          /* no deadline can be made of ?timeout= */
	unsigned n_head_steps;                    /* of head.c's steps that have been passed */
	struct str undecided;                     /* why the cluster gave no decision on the user's rights */

	void (*next)(struct request *q);       /* what on_request calls */
	void *state;                           /* of the verb */
	struct cache_wait wait;
	enum request_waiting waiting;     /* until it runs again, or its client has gone */
	struct conversion *converting;    /* convert.h; NULL: nothing is converted */
	void (*after_converting)(struct request *q);
	unsigned code_converted;          /* of the answer that waits for it */
	void *state_converted;            /* or the list that does */
	struct answer_being_made *making; /* respond.c's; NULL: none is made in slices */
	struct lease_wait lease;
	struct agreement_wait versions;
	struct plan plan;                      /* of the transaction under way, with its result */
	int64_t deadline_ms;                   /* monotonic; watches have none */
	int64_t wait_began_ns;
	struct timing timing;
	void (*cleanup)(struct request *q, void *ctx);
	void *cleanup_ctx;
};

/* Runs when the exchange is over, however it ended. One per request. */
void request_on_cleanup(struct request *q, void (*cleanup)(struct request *q, void *ctx), void *ctx);
void request_warn(struct request *q, struct str text); /* a Warning header; text must live as long as the request */
struct str request_ns(const struct request *q);         /* of the objects meant; empty for cluster-scoped kinds and all namespaces */
struct str request_group(const struct request *q);      /* of the version, for messages */
struct authz_attributes request_attributes(struct request *q); /* what the user wants to do, for authorization */
struct str request_manager(const struct request *q, struct str field_manager);
bool request_is_cache_ready(struct request *q); /* and shows all there is of the kind; else answers 503 */

/* The time that goes into objects: RFC 3339, seconds; the same for all of a request. */
struct str request_now(struct request *q);
/* A body that is larger than may be: 413 in q->st. */
bool request_has_too_much(struct request *q);

/* Counts and durations of requests, for /metrics. */

struct metrics_labels request_metrics_labels(const struct request *q);
void request_metrics_count(struct request *q, int64_t duration_ns);
void request_metrics_refused(struct request *q);
void request_metrics_longrunning(struct request *q, int delta);
void request_metrics_txn(struct request *q, int64_t duration_ns);
/* Counts a request that failed because of etcd. */
void request_metrics_storage_failed(struct request *q);

#endif
