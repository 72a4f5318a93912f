/* An etcd of our own, as a child process that nobody else can talk to: it listens on Unix sockets in a folder of mode 0700,
 * for clients and (etcd insists on an address) for peers. It never outlives us: the kernel kills it when the thread that
 * started it ends, so the main thread has to start it.
 *
 *   DIR/etcd        data, sockets; etcd's working directory
 *   DIR/etcd.log    its log; that of the run before is in etcd.log.1
 *
 * The child makes only async-signal-safe calls between fork and exec, so a restart while gRPC is running is safe. */
#ifndef CLI_RUN_ETCD_CHILD_H
#define CLI_RUN_ETCD_CHILD_H

#include "base/buf.h"
#include "cli/common/datadir.h"

struct etcd_child;

/* Finds etcd: `path`, or "etcd" in $PATH when NULL. Starts nothing yet. d outlives it. 0, or -errno with a sentence in err:
 * not found and how to get it, not executable... */
int etcd_child_new(struct etcd_child **ret, const struct datadir *d, const char *path, struct buf *err);
struct etcd_child *etcd_child_free(struct etcd_child *c); /* kills what still runs */

int etcd_child_start(struct etcd_child *c, struct buf *err);
pid_t etcd_child_pid(const struct etcd_child *c);            /* 0: not running */
const char *etcd_child_endpoint(const struct etcd_child *c); /* for storage_etcd_options: unix:///... */

/* After SIGCHLD: true when it has ended by itself since; why then has a paragraph: how it ended, what that means where we
 * know, and its last lines. */
bool etcd_child_has_ended(struct etcd_child *c, struct buf *why);
/* Asks etcd to end. etcd_child_has_ended() reports when it has. */
void etcd_child_stop(struct etcd_child *c, bool at_once);
/* Keeps the log below a ceiling. Call it now and then. */
void etcd_child_trim_log(struct etcd_child *c);

#endif
