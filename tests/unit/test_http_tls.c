#include "server/http/http_socket.h"
#include "tests/unit/http_world.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static void assert_peer(const struct client_tls *tls, const char *expected)
{
	struct client c;
	struct answer a;
	client_open(&c, port(), tls);
	client_get(&c, "/who", &a);
	assert_int_equal(a.status, 200);
	if (!str_starts(buf_str(&a.body), str_of(expected))) {
		fail_msg("%s", a.body.p);
	}
	answer_clear(&a);
	client_close(&c);
}

static void assert_named_peer(const char *name, const char *expected)
{
	_cleanup_(mem_freep) char *cert = pki_path(pki, name, "crt"), *key = pki_path(pki, name, "key");
	assert_peer(&(struct client_tls){.cert_file = cert, .key_file = key}, expected);
	assert_peer(&(struct client_tls){.cert_file = cert, .key_file = key, .priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.2"},
		expected);
}

static void test_tls__client_is_known_by_its_certificate(void **state _unused_)
{
	start(NULL);
	assert_peer(&(struct client_tls){0}, "tls=1 sent=0 verified=0 front=0 cn= problem=");
	assert_named_peer("alice", "tls=1 sent=1 verified=1 front=0 cn=alice o=system:masters o=devs problem=");
	assert_named_peer("expired",
		"tls=1 sent=1 verified=0 front=0 cn= problem=The certificate is NOT trusted. The certificate chain uses expired");
	assert_named_peer("stranger",
		"tls=1 sent=1 verified=0 front=0 cn= problem=The certificate is NOT trusted. The certificate issuer is unknown");
	assert_named_peer("server",
		"tls=1 sent=1 verified=0 front=0 cn= problem=The certificate is NOT trusted. The certificate chain does not match");
}

static void assert_protocol(bool offers_http2, const char *expected)
{
	struct client c;
	gnutls_datum_t protocol;
	client_open(&c, port(), &(struct client_tls){.offers_http2 = offers_http2});
	assert_int_equal(gnutls_alpn_get_selected_protocol(c.session, &protocol), 0);
	assert_str(((struct str){(char *)protocol.data, protocol.size}), expected);
	assert_int_equal(gnutls_protocol_get_version(c.session), GNUTLS_TLS1_3);
	client_close(&c);
}

static void test_tls__protocols_are_negotiated_and_old_versions_are_not(void **state _unused_)
{
	struct client c;
	start(NULL);
	assert_protocol(false, "http/1.1");
	assert_protocol(true, "h2");

	client_dial(&c, port());
	assert_true(client_handshake(&c, &(struct client_tls){.priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT"}) < 0);
	client_close(&c);
}

/* By itself libmicrohttpd sets one before and one after each piece of an answer. */
static void test_tls__socket_options_are_asked_for_once_and_not_for_each_answer(void **state _unused_)
{
	enum { ANSWERS = 20 };
	struct client c;
	start(NULL);
	dial(&c);
	uint64_t before = socket_options_n_refused();
	for (unsigned i = 0; i < ANSWERS; i++) {
		assert_answer(&c, GET("/hello"), 200, "hello\n");
	}
	assert_int_equal(socket_options_n_refused() - before, 1);
	client_close(&c);
}

static void test_tls__options_are_hidden_of_the_sockets_named_alone(void **state _unused_)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	assert_true(fd >= 0);
	socket_options_hide(fd);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), -1);
	assert_int_equal(errno, ENOPROTOOPT);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)), 0);
	socket_options_show(fd);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)), 0);
	close(fd);
}

struct looks {
	int epoll;
	unsigned n_empty;
};

static void *poll_lazily(void *arg)
{
	enum { FINDS = 3 };
	struct looks *l = arg;
	struct epoll_event event;
	socket_poll_lazily();
	for (int i = 0; i < FINDS; i++) {
		while (epoll_wait(l->epoll, &event, 1, 0) == 0) {
			l->n_empty++;
		}
		l->n_empty += epoll_wait(l->epoll, &event, 1, -1) != 1;
	}
	return NULL;
}

/* A look without waiting finds nothing three times, and then what is there; other threads see all. */
static void test_tls__only_some_looks_of_lazy_threads_are_system_calls(void **state _unused_)
{
	struct looks looks = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
	struct epoll_event event = {.events = EPOLLIN};
	int ready = eventfd(1, EFD_CLOEXEC);
	pthread_t thread;
	assert_int_equal(epoll_ctl(looks.epoll, EPOLL_CTL_ADD, ready, &event), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_lazily, &looks), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(looks.n_empty, 9);
	assert_int_equal(epoll_wait(looks.epoll, &event, 1, 0), 1);
	close(ready);
	close(looks.epoll);
}

static bool is_server_signed_by(const char *ca)
{
	struct client c;
	unsigned status = 1;
	_cleanup_(mem_freep) char *path = pki_path(pki, ca, "crt");
	dial(&c);
	gnutls_certificate_set_x509_trust_file(c.credentials, path, GNUTLS_X509_FMT_PEM);
	assert_int_equal(gnutls_certificate_verify_peers2(c.session, &status), 0);
	client_close(&c);
	return status == 0;
}

static void test_tls__new_certificate_is_taken_up_without_dropping_anybody(void **state _unused_)
{
	struct client old;
	make_cert("ca2", NULL, "another CA", false);
	make_cert("rotating", "ca", "localhost", true);
	_cleanup_(mem_freep) char *cert = pki_path(pki, "rotating", "crt"), *key = pki_path(pki, "rotating", "key");
	start(&(struct http_options){.cert_file = cert, .key_file = key});
	dial(&old);
	assert_answer(&old, GET("/hello"), 200, "hello\n");
	assert_true(is_server_signed_by("ca"));

	make_cert("rotating", "ca2", "localhost", true);
	for (unsigned i = 0; !is_server_signed_by("ca2"); i++) {
		assert_true(i < 10000);
	}
	assert_answer(&old, GET("/hello"), 200, "hello\n");
	client_close(&old);
}

static void test_tls__broken_certificate_is_reported_and_the_old_one_kept(void **state _unused_)
{
	make_cert("breaking", "ca", "localhost", true);
	_cleanup_(mem_freep) char *cert = pki_path(pki, "breaking", "crt"), *key = pki_path(pki, "breaking", "key");
	start(&(struct http_options){.cert_file = cert, .key_file = key});
	assert_int_equal(truncate(cert, 100), 0);
	await(world.n_notices == 1);
	assert_true(is_server_signed_by("ca"));
}

static void make_dated(int64_t begins_in_s, int64_t ends_in_s)
{
	pki_make(pki,
		&(struct pki_spec){.name = "dated",
			.issuer = "ca",
			.common_name = "localhost",
			.is_server = true,
			.begins_in_s = begins_in_s,
			.ends_in_s = ends_in_s});
}

static void test_tls__certificate_out_of_date_is_told_and_its_end_too(void **state _unused_)
{
	make_dated(-86400, -3600);
	_cleanup_(mem_freep) char *cert = pki_path(pki, "dated", "crt"), *key = pki_path(pki, "dated", "key");
	start(&(struct http_options){.cert_file = cert, .key_file = key});
	await(strstr(world.notice, "dated.crt has expired: it was valid until "));
	make_dated(-86400, 3600);
	await(strstr(world.notice, "dated.crt is in date again"));
	make_dated(3600, 7200);
	await(strstr(world.notice, "dated.crt is not valid before "));
}

static void test_tls__new_client_ca_is_taken_up(void **state _unused_)
{
	make_cert("clients", NULL, "CA of clients", false);
	make_cert("bob", "clients", "bob", false);
	_cleanup_(mem_freep) char *path = pki_path(pki, "turning", "crt"), *from = pki_path(pki, "clients", "crt");
	make_cert("turning", NULL, "CA of nobody", false);
	start(&(struct http_options){.client_ca_file = path});
	assert_named_peer("bob", "tls=1 sent=1 verified=0 front=0");

	assert_int_equal(rename(from, path), 0);
	for (unsigned i = 0;; i++) {
		struct client c;
		struct answer a;
		_cleanup_(mem_freep) char *cert = pki_path(pki, "bob", "crt"), *key = pki_path(pki, "bob", "key");
		client_open(&c, port(), &(struct client_tls){.cert_file = cert, .key_file = key});
		client_get(&c, "/who", &a);
		bool is_known = str_contains(buf_str(&a.body), STR("verified=1 front=0 cn=bob"));
		answer_clear(&a);
		client_close(&c);
		if (is_known) {
			break;
		}
		assert_true(i < 10000);
	}
}

static void test_tls__certificate_and_key_must_match(void **state _unused_)
{
	_cleanup_(mem_freep) char *key = pki_path(pki, "alice", "key");
	assert_no_start(&(struct http_options){.key_file = key}, -EINVAL, "is not that of the certificate");
	assert_no_start(&(struct http_options){.cert_file = "/nonexistent"}, -EINVAL, "cannot load certificate /nonexistent");
	assert_no_start(
		&(struct http_options){.client_ca_file = "/nonexistent"}, -ENOENT, "cannot load client CA /nonexistent");
}

/* libmicrohttpd by itself would turn round and round. */
static void test_tls__stalled_handshakes_cost_nothing(void **state _unused_)
{
	enum { N = 8 };
	struct client c[N];
	static const char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};
	start(&(struct http_options){.handshake_timeout_ms = 1500});
	int64_t wall = clock_mono_ns(), cpu = clock_cpu_ns();
	for (size_t i = 0; i < N; i++) {
		client_dial(&c[i], port());
		client_send(&c[i], (struct str){hello, i % (sizeof(hello) + 1)});
	}
	for (size_t i = 0; i < N; i++) {
		await_end(&c[i]);
		client_close(&c[i]);
	}
	wall = clock_mono_ns() - wall;
	cpu = clock_cpu_ns() - cpu;
	assert_true(cpu < wall / 2);
	await_connections(0);
	struct http_stats stats;
	http_server_stats(world.server, &stats);
	assert_int_equal(stats.handshakes_failed, N);
}

static void hostile_visit(unsigned *seed)
{
	char junk[400];
	struct client c;
	client_dial(&c, port());
	size_t n = (size_t)rand_r(seed) % sizeof(junk);
	for (size_t i = 0; i < n; i++) {
		junk[i] = (char)rand_r(seed);
	}
	if (rand_r(seed) % 2) {
		memcpy(junk, "\x16\x03\x01\x00\x80", 5);
	}
	client_try_send(&c, (struct str){junk, n});
	if (rand_r(seed) % 2) {
		shutdown(c.fd, SHUT_WR);
		await_end(&c);
	}
	client_close(&c);
}

/* Sends a real handshake a few bytes at a time, and gives up somewhere on the way. */
static ssize_t push_crumbs(gnutls_transport_ptr_t p, const void *data, size_t n)
{
	int *left = p;
	const char *bytes = data;
	for (size_t i = 0; i < n; i += 7) {
		if (left[1]-- == 0) {
			shutdown(left[0], SHUT_RDWR);
		}
		if (send(left[0], bytes + i, MIN(n - i, (size_t)7), MSG_NOSIGNAL) < 0) {
			return -1;
		}
	}
	return (ssize_t)n;
}

static ssize_t pull_crumbs(gnutls_transport_ptr_t p, void *data, size_t n)
{
	int *left = p;
	return recv(left[0], data, n, 0);
}

static void interrupted_visit(unsigned *seed)
{
	struct client c;
	client_dial(&c, port());
	int left[2] = {c.fd, rand_r(seed) % 80};
	gnutls_certificate_allocate_credentials(&c.credentials);
	gnutls_init(&c.session, GNUTLS_CLIENT);
	gnutls_set_default_priority(c.session);
	gnutls_credentials_set(c.session, GNUTLS_CRD_CERTIFICATE, c.credentials);
	gnutls_transport_set_ptr(c.session, left);
	gnutls_transport_set_push_function(c.session, push_crumbs);
	gnutls_transport_set_pull_function(c.session, pull_crumbs);
	if (gnutls_handshake(c.session) == 0) {
		client_try_send(&c, STR(GET("/hello")));
		client_receive(&c);
	}
	client_close(&c);
}

static void *visit(void *arg)
{
	unsigned *seed = arg;
	for (unsigned i = 0; i < 30; i++) {
		struct client c;
		hostile_visit(seed);
		interrupted_visit(seed);
		dial(&c);
		assert_answer(&c, rand_r(seed) % 2 ? GET("/hello") : GET("/later"), 200, NULL);
		client_close(&c);
	}
	return arg;
}

static void test_tls__hostile_handshakes_hurt_nobody_else(void **state _unused_)
{
	enum { N = 16 };
	pthread_t threads[N];
	unsigned seeds[N];
	start(NULL);
	for (unsigned i = 0; i < N; i++) {
		seeds[i] = i + 1;
		pthread_create(&threads[i], NULL, visit, &seeds[i]);
	}
	for (unsigned i = 0; i < N; i++) {
		pthread_join(threads[i], NULL);
	}
}

/* Many TLS records in one read, and one in many. */
static void test_tls__requests_in_records_of_any_size_are_read(void **state _unused_)
{
	struct client c;
	static const char request[] = GET("/hello");
	start(NULL);
	dial(&c);
	for (size_t size = 1; size < sizeof(request); size++) {
		for (size_t i = 0; i < sizeof(request) - 1; i += size) {
			client_send(&c, (struct str){request + i, MIN(size, sizeof(request) - 1 - i)});
		}
	}
	for (size_t size = 1; size < sizeof(request); size++) {
		assert_next_answer(&c, 200, "hello\n");
	}
	client_close(&c);
}

/* The key may sign certificates only, which makes every handshake fail: better said at once. */
static void test_tls__certificate_that_no_client_can_use_is_no_start(void **state _unused_)
{
	_cleanup_(mem_freep) char *key = pki_path(pki, "ca", "key");
	struct http_options o = {.cert_file = ca_cert, .key_file = key};
	assert_no_start(&o, -EPROTO, "no TLS client can connect with the certificate ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_tls__client_is_known_by_its_certificate),
		CASE(test_tls__socket_options_are_asked_for_once_and_not_for_each_answer),
		CASE(test_tls__options_are_hidden_of_the_sockets_named_alone),
		CASE(test_tls__only_some_looks_of_lazy_threads_are_system_calls),
		CASE(test_tls__protocols_are_negotiated_and_old_versions_are_not),
		CASE(test_tls__new_certificate_is_taken_up_without_dropping_anybody),
		CASE(test_tls__broken_certificate_is_reported_and_the_old_one_kept),
		CASE(test_tls__certificate_out_of_date_is_told_and_its_end_too),
		CASE(test_tls__new_client_ca_is_taken_up),
		CASE(test_tls__certificate_and_key_must_match),
		CASE(test_tls__stalled_handshakes_cost_nothing),
		CASE(test_tls__hostile_handshakes_hurt_nobody_else),
		CASE(test_tls__requests_in_records_of_any_size_are_read),
		CASE(test_tls__certificate_that_no_client_can_use_is_no_start),
	};
	return cmocka_run_group_tests(tests, open_pki, close_pki);
}
