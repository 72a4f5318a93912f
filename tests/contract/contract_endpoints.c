/* The ways to an etcd: TLS with client certificates, Unix sockets, several members of which one dies. */
#include "tests/contract/certs.h"
#include "tests/contract/contract.h"
#include "tests/contract/etcd_process.h"

#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_MEMBERS = 3, PATIENCE_MS = 2000 };

static const char *binary;

static void check_works(struct storage *s)
{
	struct contract *c = contract_new(s);
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	contract_put(c, "a", "1");
	recorder_wait_events(r, 1);
	assert_str(contract_get(c, "a").value, "1");
	recorder_free(r, c->s);
	contract_free(c);
}

static void test_endpoint__unix_socket(void **state)
{
	(void)state;
	struct etcd_process *p = etcd_process_new(binary, ETCD_UNIX, NULL);
	etcd_process_start(p);
	etcd_process_wait_ready(p);
	check_works(etcd_process_open(p, 0));
	etcd_process_free(p);
}

static void test_endpoint__without_scheme_is_plain(void **state)
{
	(void)state;
	struct etcd_process *p = etcd_process_new(binary, ETCD_PLAIN, NULL);
	etcd_process_start(p);
	etcd_process_wait_ready(p);
	char *endpoint = mem_printf("localhost:%u", p->client_port);
	mem_free(p->endpoint);
	p->endpoint = mem_strdup(endpoint);
	check_works(etcd_process_open(p, 0));
	mem_free(endpoint);
	etcd_process_free(p);
}

/* ---- TLS ---- */

struct tls {
	char dir[32];
	struct certs certs;
	struct etcd_process *etcd;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int start_tls(void **state)
{
	struct tls *t = mem_new(struct tls);
	snprintf(t->dir, sizeof(t->dir), "/tmp/annals-certs-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	certs_init(&t->certs, t->dir);
	t->etcd = etcd_process_new(binary, ETCD_TLS, &t->certs);
	etcd_process_start(t->etcd);
	*state = t;
	return 0;
}

static int stop_tls(void **state)
{
	struct tls *t = *state;
	etcd_process_free(t->etcd);
	certs_done(&t->certs);
	nftw(t->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	mem_free(t);
	return 0;
}

/* The first answer of a store with these files. */
static enum storage_result ask(
	struct tls *t, const char *ca, const char *cert, const char *key, struct arena *a, const char **ret_text)
{
	struct storage_etcd_options options = {
		.endpoints = (const char *const[]){t->etcd->endpoint},
		.n_endpoints = 1,
		.ca_file = ca,
		.cert_file = cert,
		.key_file = key,
	};
	struct buf err;
	struct storage *s;
	buf_init(&err, 1024);
	assert_int_equal(storage_etcd_new(&s, &options, &err), 0);
	buf_done(&err);
	struct storage_range range = {.key = STR("a")};
	enum storage_result r = storage_range_wait(s, &range);
	*ret_text = arena_strdup(a, range.op.message);
	storage_op_clear(&range.op);
	storage_free(s);
	return r;
}

static void test_tls__client_certificate(void **state)
{
	struct tls *t = *state;
	etcd_process_wait_ready(t->etcd);
	check_works(etcd_process_open(t->etcd, 0));
}

static void test_tls__server_of_an_unknown_authority_is_refused_and_said_so(void **state)
{
	struct tls *t = *state;
	struct arena a;
	const char *text;
	arena_init(&a, SIZE_MAX);
	etcd_process_wait_ready(t->etcd);
	enum storage_result r = ask(t, t->certs.stranger_ca, t->certs.client_cert, t->certs.client_key, &a, &text);
	assert_int_equal(r, STORAGE_UNAVAILABLE);
	if (!strstr(text, "certificate verify failed")) {
		fail_msg("\"%s\" does not tell why", text);
	}
	arena_done(&a);
}

static void test_tls__without_a_client_certificate_etcd_refuses(void **state)
{
	struct tls *t = *state;
	struct arena a;
	const char *text;
	arena_init(&a, SIZE_MAX);
	etcd_process_wait_ready(t->etcd);
	assert_int_equal(ask(t, t->certs.ca, NULL, NULL, &a, &text), STORAGE_UNAVAILABLE);
	arena_done(&a);
}

static void test_tls__name_of_the_server_is_checked(void **state)
{
	struct tls *t = *state;
	struct arena a;
	const char *text;
	arena_init(&a, SIZE_MAX);
	etcd_process_wait_ready(t->etcd);
	mem_free(t->etcd->endpoint);
	t->etcd->endpoint = mem_printf("https://127.0.0.1:%u", t->etcd->client_port);
	assert_int_equal(ask(t, t->certs.ca, t->certs.client_cert, t->certs.client_key, &a, &text), STORAGE_OK);

	/* The same etcd by a name its certificate does not have. */
	mem_free(t->etcd->endpoint);
	t->etcd->endpoint = mem_printf("https://0.0.0.0:%u", t->etcd->client_port);
	assert_int_equal(ask(t, t->certs.ca, t->certs.client_cert, t->certs.client_key, &a, &text), STORAGE_UNAVAILABLE);
	if (!strstr(text, "Hostname Verification Check failed")) {
		fail_msg("\"%s\" does not tell why", text);
	}
	arena_done(&a);
}

static void link_in(const struct tls *t, const char *folder, const char *name, const char *target)
{
	_cleanup_(mem_freep) char *path = mem_printf("%s/%s/%s", t->dir, folder, name);
	assert_int_equal(symlink(target, path), 0);
}

static void make_folder(const struct tls *t, const char *name, const char *ca, const char *cert, const char *key)
{
	_cleanup_(mem_freep) char *path = mem_printf("%s/%s", t->dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
	link_in(t, name, "ca", ca);
	link_in(t, name, "cert", cert);
	link_in(t, name, "key", key);
}

/* As a kubelet exchanges what is in a Secret: the folder is a link, which is renamed over. */
static void show_folder(const struct tls *t, const char *name)
{
	_cleanup_(mem_freep) char *next = mem_printf("%s/next", t->dir);
	_cleanup_(mem_freep) char *now = mem_printf("%s/now", t->dir);
	assert_int_equal(symlink(name, next), 0);
	assert_int_equal(rename(next, now), 0);
}

static enum storage_result get(struct storage *s)
{
	struct storage_range range = {.key = STR("a")};
	enum storage_result r = storage_range_wait(s, &range);
	storage_op_clear(&range.op);
	return r;
}

/* A store that cannot talk to etcd with the files of one folder does with those of another, which take their place. */
static void check_taken_up(struct tls *t, const char *before, const char *after)
{
	enum { POLL_US = 20 * 1000, POLLS = 60 * 50 };
	struct buf err;
	struct storage *s;
	_cleanup_(mem_freep) char *ca = mem_printf("%s/now/ca", t->dir);
	_cleanup_(mem_freep) char *cert = mem_printf("%s/now/cert", t->dir);
	_cleanup_(mem_freep) char *key = mem_printf("%s/now/key", t->dir);
	const struct storage_etcd_options options = {.endpoints = (const char *const[]){t->etcd->endpoint},
		.n_endpoints = 1,
		.ca_file = ca,
		.cert_file = cert,
		.key_file = key,
		.look_at_files_s = 1};
	buf_init(&err, 1024);
	show_folder(t, before);
	assert_int_equal(storage_etcd_new(&s, &options, &err), 0);
	assert_int_equal(get(s), STORAGE_UNAVAILABLE);

	show_folder(t, after);
	enum storage_result r = get(s);
	for (int i = 0; r != STORAGE_OK && i < POLLS; i++) {
		usleep(POLL_US);
		r = get(s);
	}
	assert_int_equal(r, STORAGE_OK);
	storage_free(s);
	buf_done(&err);
}

static void test_tls__renewed_files_are_taken_up(void **state)
{
	struct tls *t = *state;
	const struct certs *c = &t->certs;
	make_folder(t, "other-authority", c->stranger_ca, c->client_cert, c->client_key);
	make_folder(t, "other-client", c->ca, c->stranger_cert, c->stranger_key);
	make_folder(t, "right", c->ca, c->client_cert, c->client_key);
	etcd_process_wait_ready(t->etcd);
	check_taken_up(t, "other-authority", "right");
	check_taken_up(t, "other-client", "right");
}

/* ---- an answer that is lost on its way ---- */

/* It passes bytes on between the clients of a port and an etcd, and can keep etcd's answers to itself. */
struct relay {
	int listener;
	uint16_t port;
	unsigned to;
	pthread_t thread;
	_Atomic bool is_deaf, is_over;
	_Atomic unsigned n_taken; /* connections */
};

struct relay_pair {
	int client, etcd;
};

static void relay_pass(int from, int to, bool is_dropped, bool *ret_is_over)
{
	char bytes[65536];
	ssize_t n = read(from, bytes, sizeof(bytes));

	*ret_is_over |= n <= 0;
	for (ssize_t at = 0, sent; !is_dropped && at < n; at += sent) {
		sent = send(to, bytes + at, (size_t)(n - at), MSG_NOSIGNAL);
		if (sent <= 0) {
			*ret_is_over = true;
			return;
		}
	}
}

static int relay_connect(unsigned port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void *relay_main(void *arg)
{
	enum { PAIRS_MAX = 32, TURN_MS = 10 };
	struct relay *r = arg;
	struct relay_pair pairs[PAIRS_MAX];
	size_t n = 0;

	while (!atomic_load(&r->is_over)) {
		struct pollfd fds[1 + 2 * PAIRS_MAX] = {{.fd = r->listener, .events = POLLIN}};
		for (size_t i = 0; i < n; i++) {
			fds[1 + 2 * i] = (struct pollfd){.fd = pairs[i].client, .events = POLLIN};
			fds[2 + 2 * i] = (struct pollfd){.fd = pairs[i].etcd, .events = POLLIN};
		}
		if (poll(fds, 1 + 2 * n, TURN_MS) <= 0) {
			continue;
		}
		for (size_t i = n; i-- > 0;) {
			bool is_over = false;
			if (fds[1 + 2 * i].revents) {
				relay_pass(pairs[i].client, pairs[i].etcd, false, &is_over);
			}
			if (fds[2 + 2 * i].revents) {
				relay_pass(pairs[i].etcd, pairs[i].client, atomic_load(&r->is_deaf), &is_over);
			}
			if (is_over) {
				close(pairs[i].client);
				close(pairs[i].etcd);
				pairs[i] = pairs[--n];
			}
		}
		if (fds[0].revents && n < PAIRS_MAX) {
			pairs[n++] = (struct relay_pair){accept4(r->listener, NULL, NULL, SOCK_CLOEXEC), relay_connect(r->to)};
			atomic_fetch_add(&r->n_taken, 1);
		}
	}
	for (size_t i = 0; i < n; i++) {
		close(pairs[i].client);
		close(pairs[i].etcd);
	}
	close(r->listener);
	return NULL;
}

static void relay_start(struct relay *r, unsigned to)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	*r = (struct relay){.to = to, .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	assert_int_equal(bind(r->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(r->listener, 16), 0);
	assert_int_equal(getsockname(r->listener, (struct sockaddr *)&address, &size), 0);
	r->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&r->thread, NULL, relay_main, r), 0);
}

/* Ends all its connections, and takes no other. */
static void relay_cut(struct relay *r)
{
	atomic_store(&r->is_over, true);
	pthread_join(r->thread, NULL);
}

struct lost_write {
	struct storage_txn txn;
	struct storage_step put;
	sem_t is_done;
};

static void lost_write_done(struct storage_op *op)
{
	sem_post(&container_of(op, struct lost_write, txn.op)->is_done);
}

/* Etcd has carried it out, and another member could do so once more. */
static void test_endpoint__write_whose_answer_is_lost_is_sent_once(void **state _unused_)
{
	struct etcd_process *p = etcd_process_new(binary, ETCD_PLAIN, NULL);
	struct relay relay;
	struct buf err;
	struct storage *s;

	etcd_process_start(p);
	etcd_process_wait_ready(p);
	relay_start(&relay, p->client_port);
	_cleanup_(mem_freep) char *way = mem_printf("http://127.0.0.1:%u", relay.port);
	const struct storage_etcd_options options = {.endpoints = (const char *const[]){way, p->endpoint}, .n_endpoints = 2};
	buf_init(&err, 1024);
	assert_int_equal(storage_etcd_new(&s, &options, &err), 0);
	struct contract *c = contract_new(s), *direct = contract_new(etcd_process_open(p, 0));
	direct->prefix = c->prefix;
	contract_put(c, "before", "1");
	assert_true(atomic_load(&relay.n_taken) > 0); /* it goes this way */

	struct lost_write w = {.put = {.kind = STEP_PUT, .key = contract_key(c, "a"), .value = STR("1")}};
	w.txn = (struct storage_txn){.op.done = lost_write_done, .success = &w.put, .n_success = 1};
	sem_init(&w.is_done, 0, 0);
	atomic_store(&relay.is_deaf, true);
	storage_txn(c->s, &w.txn);
	while (contract_get(direct, "a").version == 0) {
	}
	relay_cut(&relay);
	while (sem_wait(&w.is_done) != 0) {
	}
	assert_result(&w.txn.op, STORAGE_UNKNOWN);
	storage_op_clear(&w.txn.op);

	assert_int_equal(contract_get(c, "a").version, 1); /* by the other endpoint */
	contract_free(direct);
	contract_free(c);
	buf_done(&err);
	sem_destroy(&w.is_done);
	etcd_process_free(p);
}

/* ---- options that cannot be ---- */

static void check_refused(const struct storage_etcd_options *options, const char *text)
{
	struct storage *s = NULL;
	struct buf err;
	buf_init(&err, 1024);
	assert_true(storage_etcd_new(&s, options, &err) < 0);
	assert_null(s);
	if (err.n == 0 || !strstr(err.p, text)) {
		fail_msg("\"%s\" does not say \"%s\"", err.n ? err.p : "", text);
	}
	buf_done(&err);
}

static void test_options__are_checked_and_explained(void **state)
{
	(void)state;
	const char *plain[] = {"http://a:1"}, *tls[] = {"https://a:1"}, *mixed[] = {"https://a:1", "http://b:1"},
		   *bad[] = {"ftp://a"};
	check_refused(&(struct storage_etcd_options){0}, "no etcd endpoint");
	check_refused(&(struct storage_etcd_options){.endpoints = bad, .n_endpoints = 1}, "ftp://a");
	check_refused(&(struct storage_etcd_options){.endpoints = mixed, .n_endpoints = 2}, "all be https");
	check_refused(&(struct storage_etcd_options){.endpoints = plain, .n_endpoints = 1, .ca_file = "x"}, "not https");
	check_refused(
		&(struct storage_etcd_options){.endpoints = tls, .n_endpoints = 1, .ca_file = "/nowhere/ca"}, "/nowhere/ca");
	check_refused(
		&(struct storage_etcd_options){.endpoints = tls, .n_endpoints = 1, .cert_file = "/dev/null"}, "needs both");
	check_refused(&(struct storage_etcd_options){.endpoints = tls, .n_endpoints = 1, .ca_file = "/dev/null"}, "/dev/null");
}

/* ---- a cluster ---- */

struct cluster {
	struct etcd_process *members[N_MEMBERS];
};

static int start_cluster(void **state)
{
	struct cluster *cluster = mem_new(struct cluster);
	etcd_cluster_init(cluster->members, N_MEMBERS, binary);
	for (size_t i = 0; i < N_MEMBERS; i++) {
		etcd_process_start(cluster->members[i]);
	}
	for (size_t i = 0; i < N_MEMBERS; i++) {
		etcd_process_wait_ready(cluster->members[i]);
	}
	*state = cluster;
	return 0;
}

static int stop_cluster(void **state)
{
	struct cluster *cluster = *state;
	for (size_t i = 0; i < N_MEMBERS; i++) {
		etcd_process_free(cluster->members[i]);
	}
	mem_free(cluster);
	return 0;
}

/* timeout_ms 0: the store's. Of a refusal *ret_lacks_leader says whether it is for that. */
static enum storage_result try_create(struct contract *c, const char *name, int64_t timeout_ms, bool *ret_lacks_leader)
{
	struct str key = contract_key(c, name);
	struct storage_compare is_new = {.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = key};
	struct storage_step put = {.kind = STEP_PUT, .key = key};
	struct storage_txn txn = {
		.op.timeout_ms = timeout_ms, .compares = &is_new, .n_compares = 1, .success = &put, .n_success = 1};
	enum storage_result r = storage_txn_wait(c->s, &txn);
	if (r == STORAGE_OK) {
		assert_true(txn.succeeded);
	}
	*ret_lacks_leader = strstr(txn.op.message, "no leader") != NULL;
	storage_op_clear(&txn.op);
	return r;
}

/* Asked again where there was no leader just then. The key and value are not kept. */
static struct storage_kv read_numbers(struct contract *c, const char *name)
{
	struct storage_range range = {.op.timeout_ms = PATIENCE_MS, .key = contract_key(c, name)};
	while (storage_range_wait(c->s, &range) != STORAGE_OK) {
		storage_op_clear(&range.op);
	}
	struct storage_kv kv = range.n_kvs > 0 ? range.kvs[0] : (struct storage_kv){0};
	kv.key = kv.value = STR("");
	storage_op_clear(&range.op);
	return kv;
}

/* Until the others have a leader; what is not certain is not tried again under its name. What was acknowledged is there. What a follower has passed
 * on to a leader that is dead gets its answer after seconds: one does not wait for that. */
static int create_some(struct contract *c, int first, int n)
{
	int next = first;
	bool lacks_leader;
	for (int n_done = 0; n_done < n; next++) {
		const char *name = arena_printf(&c->arena, "%d", next).p;
		if (try_create(c, name, PATIENCE_MS, &lacks_leader) == STORAGE_OK) {
			assert_int_equal(read_numbers(c, name).version, 1);
			n_done++;
		}
	}
	return next;
}

static void test_cluster__any_member_may_die(void **state)
{
	struct cluster *cluster = *state;
	struct contract *c = contract_new(etcd_processes_open(cluster->members, N_MEMBERS, 0));
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	int next = create_some(c, 0, 20);
	for (size_t i = 0; i < N_MEMBERS; i++) {
		etcd_process_stop(cluster->members[i], SIGKILL);
		next = create_some(c, next, 20);
		etcd_process_start(cluster->members[i]);
		etcd_process_wait_ready(cluster->members[i]);
	}
	recorder_wait_revision(r, read_numbers(c, arena_printf(&c->arena, "%d", next - 1).p).mod_revision);

	struct storage_range all = {.key = c->prefix, .range_end = contract_end(c), .count_only = true};
	storage_range_wait(c->s, &all);
	assert_result(&all.op, STORAGE_OK);
	recorder_wait_events(r, (size_t)all.count); /* of what was uncertain something may have come late */
	assert_int_equal(r->n, all.count);
	storage_op_clear(&all.op);
	recorder_free(r, c->s);
	contract_free(c);
}

static void test_cluster__a_write_not_sent_goes_to_another_member(void **state)
{
	struct cluster *cluster = *state;
	etcd_process_stop(cluster->members[0], SIGKILL);
	struct contract *others = contract_new(etcd_processes_open(cluster->members + 1, N_MEMBERS - 1, 0));
	create_some(others, 0, 1); /* by now they have a leader */
	contract_free(others);

	struct contract *c = contract_new(etcd_processes_open(cluster->members, N_MEMBERS, 0));
	bool lacks_leader;
	enum storage_result r;
	do {
		r = try_create(c, "a", 0, &lacks_leader);
	} while (r == STORAGE_UNAVAILABLE && lacks_leader); /* the two elect one whenever they are short of time */
	assert_int_equal(r, STORAGE_OK);
	assert_int_equal(contract_get(c, "a").version, 1);
	contract_free(c);
}

/* Of the member's own store: how many there are. */
static size_t read_locally(struct contract *c, struct str key)
{
	struct storage_range range = {.key = key, .is_serializable = true};
	storage_range_wait(c->s, &range);
	assert_result(&range.op, STORAGE_OK);
	size_t n = range.n_kvs;
	storage_op_clear(&range.op);
	return n;
}

/* Until each member has it. */
static void wait_applied(struct cluster *cluster, struct str key)
{
	for (size_t i = 0; i < N_MEMBERS; i++) {
		struct contract *member = contract_new(etcd_process_open(cluster->members[i], 0));
		while (read_locally(member, key) == 0) {
		}
		contract_free(member);
	}
}

static void test_cluster__a_read_does_not_notice_that_a_member_died(void **state)
{
	struct cluster *cluster = *state;
	struct contract *c = contract_new(etcd_processes_open(cluster->members, N_MEMBERS, 0));
	struct str key = contract_key(c, arena_printf(&c->arena, "%d", create_some(c, 0, 1) - 1).p);
	wait_applied(cluster, key);
	etcd_process_stop(cluster->members[0], SIGKILL);
	assert_int_equal(read_locally(c, key), 1);
	contract_free(c);
}

static void test_cluster__without_a_majority_a_write_is_refused_for_certain(void **state)
{
	struct cluster *cluster = *state;
	struct contract *c = contract_new(etcd_process_open(cluster->members[2], 0));
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	etcd_process_stop(cluster->members[0], SIGKILL);
	etcd_process_stop(cluster->members[1], SIGKILL);
	recorder_wait_interrupted(r, 1); /* the member has noticed that it has no leader */
	bool lacks_leader;
	assert_int_equal(try_create(c, "a", 0, &lacks_leader), STORAGE_UNAVAILABLE);
	assert_true(lacks_leader);

	read_locally(c, contract_key(c, "a"));
	recorder_free(r, c->s);
	contract_free(c);
}

#define TLS_TEST(f) cmocka_unit_test_setup_teardown(f, start_tls, stop_tls)
#define CLUSTER_TEST(f) cmocka_unit_test_setup_teardown(f, start_cluster, stop_cluster)

static int run_with(const char *name)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options__are_checked_and_explained),
		cmocka_unit_test(test_endpoint__unix_socket),
		cmocka_unit_test(test_endpoint__without_scheme_is_plain),
		cmocka_unit_test(test_endpoint__write_whose_answer_is_lost_is_sent_once),
		TLS_TEST(test_tls__client_certificate),
		TLS_TEST(test_tls__server_of_an_unknown_authority_is_refused_and_said_so),
		TLS_TEST(test_tls__without_a_client_certificate_etcd_refuses),
		TLS_TEST(test_tls__name_of_the_server_is_checked),
		TLS_TEST(test_tls__renewed_files_are_taken_up),
		CLUSTER_TEST(test_cluster__any_member_may_die),
		CLUSTER_TEST(test_cluster__a_write_not_sent_goes_to_another_member),
		CLUSTER_TEST(test_cluster__a_read_does_not_notice_that_a_member_died),
		CLUSTER_TEST(test_cluster__without_a_majority_a_write_is_refused_for_certain),
	};
	binary = name;
	return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
	int n_failed = etcd_run_with_each(run_with);
	fflush(NULL);
	_exit(n_failed); /* without a leak check: c-ares 1.18 forgets the name of each host it has looked up */
}
