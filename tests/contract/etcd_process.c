#include "tests/contract/etcd_process.h"

#include "base/clock.h"
#include "tests/contract/certs.h"
#include "tests/contract/contract.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* An etcd makes a socket named like this in its working directory for unix://etcd.sock:0: a port it must have. */
#define SOCKET_NAME "etcd.sock:0"
#define DEBIAN_ETCD "/usr/bin/etcd"

enum { ARGS_MAX = 48, EXIT_SKIPPED = 77, PORT_FIRST = 10000, PORT_END = 32768 };
enum { BACKOFF_MAX_MS = 100 }; /* less than a server's: tests wait for it */
/* Of one member, which elects itself; of several, which may have to wait for the processor. */
enum { ELECTION_ALONE_MS = 100, ELECTION_MS = 500 };

const char **etcd_binaries(void)
{
	const char **list = mem_array(3, sizeof(*list));
	const char *other = getenv("ANNALS_TEST_ETCD");
	static char peer[4096];
	size_t n = 0;
	if (!other) {
		snprintf(peer, sizeof(peer), "%s/.cache/peers/etcd", getenv("HOME") ? getenv("HOME") : "");
		other = peer;
	}
	if (access(DEBIAN_ETCD, X_OK) == 0) {
		list[n++] = DEBIAN_ETCD;
	}
	if (access(other, X_OK) == 0 && strcmp(other, DEBIAN_ETCD) != 0) {
		list[n++] = other;
	}
	return list;
}

int etcd_run_with_each(int (*run)(const char *binary))
{
	_cleanup_(mem_freep) const char **binaries = etcd_binaries();
	int n_failed = 0;
	if (!binaries[0]) {
		return EXIT_SKIPPED;
	}
	for (size_t i = 0; binaries[i]; i++) {
		n_failed += run(binaries[i]);
	}
	storage_etcd_shutdown();
	return n_failed;
}

/* Below those that the kernel gives away by itself: or else somebody might get one while the etcd that has it is away. */
static unsigned bind_any(int fd)
{
	for (;;) {
		unsigned port = PORT_FIRST + (unsigned)random() % (PORT_END - PORT_FIRST);
		struct sockaddr_in address = {
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
		if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
			return port;
		}
		assert_int_equal(errno, EADDRINUSE);
	}
}

/* All are bound before one is let go, so that none comes twice. */
static void find_ports(unsigned *ports, size_t n)
{
	int *fds = mem_array(n, sizeof(*fds));
	srandom((unsigned)(getpid() ^ clock_mono_ns())); /* other suites look for ports, too */
	for (size_t i = 0; i < n; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
		ports[i] = bind_any(fds[i]);
	}
	for (size_t i = 0; i < n; i++) {
		close(fds[i]);
	}
	mem_free(fds);
}

static char *make_endpoint(const struct etcd_process *p)
{
	switch (p->transport) {
	case ETCD_PLAIN:
		return mem_printf("http://127.0.0.1:%u", p->client_port);
	case ETCD_TLS:
		return mem_printf("https://localhost:%u", p->client_port);
	case ETCD_UNIX:
		return mem_printf("unix://%s/" SOCKET_NAME, p->dir);
	}
	return NULL;
}

static struct etcd_process *process_new(const char *binary, const char *name, const unsigned ports[2])
{
	struct etcd_process *p = mem_new(struct etcd_process);
	p->binary = binary;
	p->name = mem_strdup(name);
	p->dir = mem_strdup("/tmp/annals-etcd-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->election_ms = ELECTION_MS;
	p->client_port = ports[0];
	p->peer_port = ports[1];
	return p;
}

struct etcd_process *etcd_process_new(const char *binary, enum etcd_transport transport, const struct certs *certs)
{
	unsigned ports[2];
	find_ports(ports, 2);
	struct etcd_process *p = process_new(binary, "single", ports);
	p->transport = transport;
	p->certs = certs;
	p->election_ms = ELECTION_ALONE_MS;
	p->endpoint = make_endpoint(p);
	p->cluster = mem_printf("single=http://127.0.0.1:%u", p->peer_port);
	return p;
}

void etcd_cluster_init(struct etcd_process **members, size_t n, const char *binary)
{
	unsigned *ports = mem_array(2 * n, sizeof(*ports));
	struct buf cluster;
	buf_init(&cluster, 4096);
	find_ports(ports, 2 * n);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&cluster, "%sm%zu=http://127.0.0.1:%u", i ? "," : "", i, ports[2 * i + 1]);
	}
	for (size_t i = 0; i < n; i++) {
		_cleanup_(mem_freep) char *name = mem_printf("m%zu", i);
		members[i] = process_new(binary, name, &ports[2 * i]);
		members[i]->endpoint = make_endpoint(members[i]);
		members[i]->cluster = mem_strdup(cluster.p);
	}
	buf_done(&cluster);
	mem_free(ports);
}

/* ---- command line ---- */

struct args {
	char *v[ARGS_MAX];
	size_t n;
};

static void args_add(struct args *a, const char *flag, char *value)
{
	assert_true(a->n + 2 < ARGS_MAX);
	a->v[a->n++] = mem_strdup(flag);
	if (value) {
		a->v[a->n++] = value;
	}
}

static void args_done(struct args *a)
{
	for (size_t i = 0; i < a->n; i++) {
		mem_free(a->v[i]);
	}
}

static void args_add_tls(struct args *a, const struct certs *certs)
{
	args_add(a, "--cert-file", mem_strdup(certs->server_cert));
	args_add(a, "--key-file", mem_strdup(certs->server_key));
	args_add(a, "--trusted-ca-file", mem_strdup(certs->ca));
	args_add(a, "--client-cert-auth", NULL);
}

static void args_init(struct args *a, const struct etcd_process *p)
{
	bool is_unix = p->transport == ETCD_UNIX;
	char *peer_url = mem_printf("http://127.0.0.1:%u", p->peer_port);
	*a = (struct args){0};
	args_add(a, p->binary, NULL);
	args_add(a, "--name", mem_strdup(p->name));
	args_add(a, "--data-dir", mem_printf("%s/data", p->dir));
	args_add(a, "--listen-client-urls", mem_strdup(is_unix ? "unix://" SOCKET_NAME : p->endpoint));
	args_add(a, "--advertise-client-urls", mem_strdup(is_unix ? "http://127.0.0.1:1" : p->endpoint));
	args_add(a, "--listen-peer-urls", mem_strdup(peer_url));
	args_add(a, "--initial-advertise-peer-urls", peer_url);
	args_add(a, "--initial-cluster", mem_strdup(p->cluster));
	args_add(a, "--unsafe-no-fsync", NULL); /* processes are killed here, machines are not */
	args_add(a, "--grpc-keepalive-min-time", mem_printf("%dms", SHORT_KEEPALIVE_MS / 2));
	args_add(a, "--heartbeat-interval", mem_printf("%u", p->election_ms / 10));
	args_add(a, "--election-timeout", mem_printf("%u", p->election_ms));
	if (p->quota) {
		args_add(a, "--quota-backend-bytes", mem_printf("%u", p->quota));
	}
	if (p->transport == ETCD_TLS) {
		args_add_tls(a, p->certs);
	}
}

/* ---- life ---- */

static _noreturn_ void run_child(const struct etcd_process *p, struct args *args, pid_t parent)
{
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && log >= 0) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		execv(p->binary, args->v);
	}
	_exit(127);
}

void etcd_process_start(struct etcd_process *p)
{
	struct args args;
	args_init(&args, p);
	pid_t parent = getpid();
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		if (chdir(p->dir) != 0) {
			_exit(127);
		}
		run_child(p, &args, parent);
	}
	args_done(&args);
}

void etcd_process_signal(struct etcd_process *p, int signal)
{
	assert_true(p->pid > 0);
	assert_int_equal(kill(p->pid, signal), 0);
	if (signal == SIGSTOP) {
		/* Its threads stop one after the other; this returns when all have. */
		assert_int_equal(waitpid(p->pid, NULL, WUNTRACED), p->pid);
	}
}

void etcd_process_stop(struct etcd_process *p, int signal)
{
	etcd_process_signal(p, signal);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	p->pid = 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

struct etcd_process *etcd_process_free(struct etcd_process *p)
{
	if (!p) {
		return NULL;
	}
	if (p->pid > 0) {
		kill(p->pid, SIGCONT);
		etcd_process_stop(p, SIGKILL);
	}
	nftw(p->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	mem_free(p->dir);
	mem_free(p->name);
	mem_free(p->endpoint);
	mem_free(p->cluster);
	return mem_free(p);
}

/* A watch is refused by a member that has no leader, so one that is connected says all that has to be known. */
void etcd_process_wait_ready(struct etcd_process *p)
{
	struct storage *s = etcd_process_open(p, 0);
	struct recorder *r = recorder_new_range(s, STR("ready"), (struct str){NULL, 0}, 0);
	recorder_wait_connected(r);
	recorder_free(r, s);
	storage_free(s);
}

struct storage *etcd_processes_open(struct etcd_process *const *members, size_t n, int64_t timeout_ms)
{
	const char **endpoints = mem_array(n, sizeof(*endpoints));
	for (size_t i = 0; i < n; i++) {
		endpoints[i] = members[i]->endpoint;
	}
	const struct certs *certs = members[0]->certs;
	struct storage_etcd_options options = {
		.endpoints = endpoints,
		.n_endpoints = n,
		.ca_file = certs ? certs->ca : NULL,
		.cert_file = certs ? certs->client_cert : NULL,
		.key_file = certs ? certs->client_key : NULL,
		.timeout_ms = timeout_ms,
		.keepalive_ms = members[0]->keepalive_ms,
		.backoff_max_ms = BACKOFF_MAX_MS,
	};
	struct buf err;
	buf_init(&err, 1024);
	struct storage *s = NULL;
	if (storage_etcd_new(&s, &options, &err) != 0) {
		fail_msg("%s", err.p);
	}
	buf_done(&err);
	mem_free(endpoints);
	return s;
}

struct storage *etcd_process_open(struct etcd_process *p, int64_t timeout_ms)
{
	return etcd_processes_open(&p, 1, timeout_ms);
}
