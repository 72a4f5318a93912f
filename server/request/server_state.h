/* The state that the requests of one server share. server.c makes and frees it; after the start
 * it changes only where a field says so. */
#ifndef SERVER_REQUEST_SERVER_STATE_H
#define SERVER_REQUEST_SERVER_STATE_H

#include "server/access/authn.h"
#include "server/access/authz.h"
#include "server/discovery/discovery.h"
#include "server/discovery/openapi.h"
#include "server/metrics/accesslog.h"
#include "server/metrics/metrics.h"
#include "server/request/budget.h"
#include "server/request/server_options.h"
#include "storage/leases.h"

#include <pthread.h>

enum { RECORDER_SALT_KEY_BYTES = 32 };

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
	struct accesslog *accesslog; /* may be NULL */
	struct audit *audit;         /* may be NULL */
	struct gzip_runs *gzip_runs;
	struct protobuf_items *protobuf_items;
	struct leases *leases; /* for kinds that expire */
	struct user_notes *user_notes; /* server/write/user_notes.h */
	struct leases *note_leases; /* for those of them that go to etcd */
	struct write_queue *write_queue;
	struct budget *write_budget;   /* of reads there is http's own: server/http/http_unsent.h */
	struct str objects_prefix;     /* PREFIX/objects/ */
	struct arena arena;            /* what lives as long as the server */
	const struct kind *recorders;  /* standalone: they name the kinds of which users are noted */
	const struct kind *namespaces; /* standalone: the kind admission looks at */
	_Atomic size_t n_reads, n_writes, n_watches;
	_Atomic uint64_t n_decisions;                               /* write.c's */
	_Atomic bool has_namespaces;                                /* standalone: the first ones are there */
	unsigned char salt_key[RECORDER_SALT_KEY_BYTES]; /* of server_read_salt_key(); valid once has_salt_key is true */
	_Atomic bool has_salt_key;
	_Atomic int64_t slow_second, n_slow_lines, n_slow_left_out; /* request.c's */
	_Atomic int64_t unknown_second, n_unknown;                  /* head.c's: read indexes for kinds that are not known */
	_Atomic bool is_draining;
	_Atomic bool is_open; /* everything below http is there; until then, behind the gate */
	pthread_mutex_t gate;
	int64_t started_s; /* wall clock */
};

#endif
