/* One API request on its way through the phases: route, authenticate, authorize, decode, admit, store, encode. No phase calls back.
 *
 * A request belongs to one HTTP exchange and lives in its arena. It runs on HTTP threads only; when it must wait (cache, etcd) it
 * names the function to go on with, suspends the exchange, starts the operation, and is called again once that is done. At any time either
 * an HTTP thread or one operation under way holds it. */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include "api/managed.h"
#include "base/ids.h"
#include "server/accesslog.h"
#include "server/asked.h"
#include "server/audit.h"
#include "server/audited.h"
#include "server/authn.h"
#include "server/authz.h"
#include "server/budget.h"
#include "server/discovery.h"
#include "server/metrics.h"
#include "server/negotiate.h"
#include "server/openapi.h"
#include "server/route.h"
#include "server/server.h"
#include "server/table.h"
#include "server/timing.h"
#include "storage/leases.h"

#include <pthread.h>

#define BODY_JSON_LIMITS JSON_LIMITS_DEFAULT
#define RESPONSE_CEILING ((size_t)1 << 30) /* bytes: of answers that must be made in memory (Table, YAML, indented) */
#define WARNINGS_MAX 1024 /* more than there can be headers of */

struct server {
	struct server_options options;
	struct http_server *http;
	struct authn *authn;
	struct authz *authz;
	struct discovery *discovery; /* as of the last time it was asked for; under discovery_lock */
	struct discovery_options discovery_options;
	pthread_mutex_t discovery_lock;
	struct openapi *openapi;
	struct metrics *metrics;
	struct accesslog *accesslog;           /* may be NULL */
	struct audit *audit;                   /* may be NULL */
	struct gzip_runs *gzip_runs;
	struct leases *leases;                 /* for kinds that expire */
	struct write_queue *write_queue;
	struct budget *read_budget, *write_budget;
	struct str objects_prefix;             /* PREFIX/objects/ */
	struct arena arena;                    /* what lives as long as the server */
	const struct kind *namespaces;         /* standalone: the kind admission looks at */
	_Atomic size_t n_reads, n_writes, n_watches;
	_Atomic bool has_namespaces;           /* standalone: the first ones are there */
	_Atomic int64_t slow_second, n_slow_lines, n_slow_left_out; /* timing.c's */
	_Atomic bool is_draining;
	_Atomic bool is_open;                  /* everything below http is there; until then, behind the gate */
	pthread_mutex_t gate;
	int64_t started_s;                     /* wall clock */
};

enum request_class { CLASS_NONE, CLASS_READ, CLASS_WRITE, CLASS_WATCH };

struct request {
	struct server *server;
	struct http_exchange *x;
	struct arena *a;                       /* where things are made now: the exchange's arena, or one of a write's */
	struct write_memory *writing;          /* write.c's; NULL: no write has begun */
	struct route route;
	struct user *user;                     /* NULL until authenticated */
	struct media media;
	struct authz_attributes what;             /* what the user wants to do */
	struct status route_status, media_status; /* what is wrong with them, to be said when the user may know */
	struct asked asked;                       /* of the cluster */
	struct status st;                      /* what to answer when something is wrong */
	struct str *warnings;
	size_t n_warnings;
	struct str now;                        /* write_now() */
	struct str audit_id;                   /* the client's Audit-ID, or one of ours */
	struct audited *audited;               /* NULL: not audited */
	enum request_class class;
	bool is_outside;                       /* takes no place of its class for a while */
	size_t charged;                        /* bytes, to the budget of its class */
	bool is_over_budget;                   /* its body was */
	bool is_dry_run;
	bool is_routed;                        /* a verb has been asked */
	bool is_bad_route, is_bad_media, is_late; /* found while parsing; is_late: no deadline can be made of ?timeout= */
	unsigned n_head_steps;                    /* of request.c's head_steps that have been passed */
	struct str undecided;                     /* why nobody could say whether the user may */

	void (*next)(struct request *q);       /* what on_request calls */
	void *state;                           /* of the verb */
	struct cache_wait wait;
	bool is_cache_waiter; /* wait is under way, or over and not settled */
	bool is_asking, is_queueing;
	struct lease_wait lease;
	struct agreement_wait versions;
	struct storage_txn txn;
	bool has_txn;                          /* txn holds results to clear */
	int64_t deadline_ms;                   /* monotonic; watches have none */
	int64_t wait_began_ns;
	struct timing timing;
	void (*cleanup)(struct request *q, void *ctx);
	void *cleanup_ctx;
};

void server_wait_open(struct server *s);

/* http_handler callbacks (request.c). */
void request_on_headers(void *server, struct http_exchange *x);
bool request_on_body(void *server, struct http_exchange *x, size_t n);
void request_on_request(void *server, struct http_exchange *x);
void request_on_done(void *server, struct http_exchange *x);

/* Waiting: the function returns at once; `next` is called when the operation is done. Results: q->wait, q->txn. */
void request_wait_fresh(struct request *q, void (*next)(struct request *q));
void request_wait_revision(struct request *q, int64_t revision, int64_t timeout_ms, void (*next)(struct request *q));
void request_txn(struct request *q, void (*next)(struct request *q));
/* After asked_start() has said that the answer is still to come. */
void request_wait_answer(struct request *q, void (*next)(struct request *q));
/* After write_turn_take() has said that it is not this request's turn. */
void request_wait_turn(struct request *q, void (*next)(struct request *q));
/* A lease for something that expires. Result: q->lease. */
void request_wait_lease(struct request *q, void (*next)(struct request *q));
/* Until the request's kind may be written. Result: q->versions. */
void request_wait_versions(struct request *q, void (*next)(struct request *q));
/* The 503 or 504 for a wait or transaction that failed. is_write: the outcome may be unknown, and the answer says so. */
void request_storage_failed(struct request *q, enum storage_result r, const char *message, bool is_write);

/* From now on the request holds this many bytes, and its body. 0, or 1 with 429 in q->st where that is too much; less is always granted. */
int request_charge(struct request *q, size_t n);
/* Of a write: its turn and its memory (write.c). After this q->a may be gone. */
void request_end_write(struct request *q);
/* Runs when the exchange is over, however it ended. One per request. */
void request_on_cleanup(struct request *q, void (*cleanup)(struct request *q, void *ctx), void *ctx);
void request_warn(struct request *q, struct str text); /* a Warning header; text must live as long as the request */
struct str request_ns(const struct request *q);         /* of the objects meant; empty for cluster-scoped kinds and all namespaces */
struct str request_group(const struct request *q);      /* of the door, for messages */
struct authz_attributes request_attributes(struct request *q); /* what the user wants to do, for authorization */
struct str request_manager(const struct request *q, struct str field_manager);
bool request_is_cache_ready(struct request *q); /* and shows all there is of the kind; else answers 503 */

/* Answering (respond.c). Each ends the exchange. */
void reply_status(struct request *q);                                          /* q->st */
void reply_success(struct request *q, const struct json *status);              /* 200 with a Status */
void reply_json(struct request *q, unsigned code, const struct json *j);
void reply_json_as(struct request *q, unsigned code, const struct json *j, struct str content_type);
void reply_text(struct request *q, unsigned code, struct str text);
void reply_page_not_found(struct request *q);
void reply_cached(struct request *q, unsigned code, const struct cached *o);   /* in the form the client asked for */
void reply_object(struct request *q, unsigned code, const struct object *o);   /* one that is not in the cache (yet) */
/* Likewise, of its stored text alone. False: the client wants it in another form, and nothing was answered. */
bool reply_stored(struct request *q, unsigned code, struct str stored, int64_t revision);
void reply_json_buf(struct request *q, unsigned code, struct buf *text);       /* JSON text; takes its memory */
void reply_buf(struct request *q, unsigned code, struct buf *b);               /* as it is, compressed if wanted; takes its memory */
void reply_headers(struct request *q, struct str content_type);                /* Audit-Id, Cache-Control, Content-Type, Warning */

/* `{"kind":"K","apiVersion":"V",` of a door. */
struct str show_type(const struct kind *k, const struct door *d, struct arena *a);
/* An object as the door shows it, without kind and apiVersion: begins with `"metadata":`, ends with the closing brace. No copy where the
 * door shows the hub form; else made in the arena. */
struct str show_body(const struct cached *o, const struct door *d, struct arena *a);
struct table_world request_table_world(const struct request *q);
/* The object in the client's form (plain, partial metadata, a Table of one row). */
bool show_object(struct buf *out, struct request *q, const struct cached *o, enum include_object include);

/* Counting (request_metrics.c). */
struct metrics_labels request_metrics_labels(const struct request *q);
void request_metrics_count(struct request *q, int64_t duration_ns);
void request_metrics_refused(struct request *q);
void request_metrics_longrunning(struct request *q, int delta);
void request_metrics_txn(struct request *q, int64_t duration_ns);

/* The verbs, each in its file: called when the body is there. */
/* 504 ResourceVersionTooLarge (get.c): into q->st, or as the answer. */
void request_set_future_version(struct request *q, int64_t wanted);
void reply_future_version(struct request *q, int64_t wanted);

void verb_get(struct request *q);
void verb_list(struct request *q);
void verb_watch(struct request *q);
void verb_create(struct request *q);
void verb_update(struct request *q);
void verb_patch(struct request *q);
void verb_delete(struct request *q);
void verb_delete_collection(struct request *q);
void nonresource(struct request *q);

#endif
