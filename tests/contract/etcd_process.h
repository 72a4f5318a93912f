/* A real etcd for a test: own directory, free loopback ports (or a Unix socket), ended by its pid, and with the test. */
#ifndef TESTS_CONTRACT_ETCD_PROCESS_H
#define TESTS_CONTRACT_ETCD_PROCESS_H

#include "storage/etcd/etcd.h"

#include <sys/types.h>

/* What an etcd of ours takes without hanging up. Who is held up for that long is taken for dead: for tests that want it so. */
enum { SHORT_KEEPALIVE_MS = 1000 };

enum etcd_transport { ETCD_PLAIN, ETCD_TLS, ETCD_UNIX };

struct certs;

struct etcd_process {
	const char *binary;
	enum etcd_transport transport;
	const struct certs *certs;
	char *dir;
	unsigned client_port, peer_port;
	char *endpoint; /* for storage_etcd_options */
	char *cluster;  /* --initial-cluster */
	char *name;
	unsigned quota; /* --quota-backend-bytes; 0: etcd's own. Set before the start */
	unsigned election_ms;
	int64_t keepalive_ms; /* of stores that are opened; 0: theirs */
	pid_t pid;      /* 0: not running */
};

/* Those there are: Debian's, and the one of $ANNALS_TEST_ETCD or ~/.cache/peers/etcd. Ends with NULL; the caller's to free. */
const char **etcd_binaries(void);
/* For main(): with each of them in turn. How many tests failed, or meson's code for tests that were skipped, as there is none. */
int etcd_run_with_each(int (*run)(const char *binary));

struct etcd_process *etcd_process_new(const char *binary, enum etcd_transport transport, const struct certs *certs);
struct etcd_process *etcd_process_free(struct etcd_process *p); /* with its data */

/* n members that know each other; to be started, all of them, before one is ready. */
void etcd_cluster_init(struct etcd_process **members, size_t n, const char *binary);

void etcd_process_start(struct etcd_process *p);
/* Until it answers as a member that has a leader. */
void etcd_process_wait_ready(struct etcd_process *p);
void etcd_process_signal(struct etcd_process *p, int signal);
/* Sends the signal, which must be one that ends it, and waits until it has. */
void etcd_process_stop(struct etcd_process *p, int signal);

/* A store over it. timeout_ms 0: the default. */
struct storage *etcd_process_open(struct etcd_process *p, int64_t timeout_ms);
struct storage *etcd_processes_open(struct etcd_process *const *members, size_t n, int64_t timeout_ms);

#endif
