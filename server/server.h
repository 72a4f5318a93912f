/* The API server: phases of a request over http, cache and storage. Owns its threads; the caller owns storage and cache.
 *
 * A request comes from server/http. dispatch.c is its handler: the head is judged before the body is
 * read, and then the verb of the route runs. server/parse reads, server/access decides who may do
 * what, server/verbs has a function for each verb, server/write the loop of a write, server/revisions
 * Snapshots and what belongs to them, server/request the struct itself with its answers and limits.
 * Beside the way of a request are server/discovery, server/audit, server/metrics and server/notes.
 * docs/explanation/architecture.md has the table of what each may use. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/request/server_options.h"

struct server;

/* Listens at once; discovery and health answer from then on, resources when the cache is ready. */
int server_new(struct server **ret, const struct server_options *options, struct buf *err);
uint16_t server_port(const struct server *s);
/* Aggregated mode: the authorities of client certificates from the next request on, where http's options name no file. Any thread; copies. */
void server_set_trust(struct server *s, const struct trust *trust);
/* /readyz turns not ok at once (for load balancers), and answers end their connections; then after delay_ms stops accepting and drains. False:
 * there are connections left, see http_server_drain(). */
bool server_drain(struct server *s, int64_t delay_ms, int64_t timeout_ms);
/* Until what has been said is in the audit log and the access log, or until_ms (monotonic): for a server that cannot be freed. */
void server_flush_logs(struct server *s, int64_t until_ms);
struct server *server_free(struct server *s);
/* Standalone: creates the namespaces default, kube-system, kube-public, kube-node-lease where absent. Blocking; 0, or a storage_result with err. */
int server_bootstrap(struct server *s, struct buf *err);
/* Reads the key from which salts of Recorders are derived (server/write/write_recorded.h), and makes it if there is none. All servers on
 * one etcd have the same. Blocking; 0, or a storage_result with err. One thread calls it. */
int server_read_salt_key(struct server *s, struct buf *err);

#endif
