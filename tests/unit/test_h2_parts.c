/* The parts of HTTP/2 that need no connection: whether a ClientHello offers it, what a head may be, and how often is too often. */
#include "server/http/h2_private.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <gnutls/gnutls.h>

/* ClientHellos. */

struct hello {
	char p[H2_HELLO_MAX];
	size_t n;
};

static ssize_t on_push(gnutls_transport_ptr_t ptr, const void *p, size_t n)
{
	struct hello *h = ptr;
	assert_true(h->n + n <= sizeof(h->p));
	memcpy(h->p + h->n, p, n);
	h->n += n;
	return (ssize_t)n;
}

static ssize_t on_pull(gnutls_transport_ptr_t ptr _unused_, void *p _unused_, size_t n _unused_)
{
	errno = EAGAIN;
	return -1;
}

/* What GnuTLS says first, when it offers these protocols. */
static void say_hello(struct hello *ret, const char *const *protocols, unsigned n)
{
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
	gnutls_datum_t offers[4];
	*ret = (struct hello){.n = 0};
	for (unsigned i = 0; i < n; i++) {
		offers[i] = (gnutls_datum_t){(unsigned char *)(uintptr_t)protocols[i], (unsigned)strlen(protocols[i])};
	}
	assert_int_equal(gnutls_certificate_allocate_credentials(&credentials), 0);
	assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
	assert_int_equal(gnutls_priority_set_direct(session, "NORMAL", NULL), 0);
	assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials), 0);
	if (n) {
		assert_int_equal(gnutls_alpn_set_protocols(session, offers, n, 0), 0);
	}
	gnutls_transport_set_ptr(session, ret);
	gnutls_transport_set_push_function(session, on_push);
	gnutls_transport_set_pull_function(session, on_pull);
	assert_int_equal(gnutls_handshake(session), GNUTLS_E_AGAIN);
	gnutls_deinit(session);
	gnutls_certificate_free_credentials(credentials);
}

static enum h2_hello judge(const struct hello *h, size_t n, size_t *ret_wanted)
{
	/* Memory of that size exactly, so that a sanitizer sees a read beyond it. */
	char *copy = mem_dup(h->p, n);
	enum h2_hello verdict = h2_hello_judge((struct str){copy, n}, ret_wanted);
	mem_free(copy);
	return verdict;
}

static void test_hello__protocols(void **state _unused_)
{
	static const struct {
		const char *protocols[3];
		unsigned n;
		enum h2_hello verdict;
	} rows[] = {
		{{"h2", "http/1.1"}, 2, H2_HELLO_OFFER},
		{{"http/1.1", "h2"}, 2, H2_HELLO_OFFER},
		{{"http/1.1"}, 1, H2_HELLO_OTHER},
		{{"h2c", "h2-14"}, 2, H2_HELLO_OTHER},
		{{NULL}, 0, H2_HELLO_OTHER},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hello h;
		size_t wanted;
		say_hello(&h, rows[i].protocols, rows[i].n);
		assert_int_equal(judge(&h, h.n, &wanted), rows[i].verdict);
	}
}

static void test_hello__every_prefix_wants_more_than_is_there(void **state _unused_)
{
	static const char *const protocols[] = {"h2"};
	struct hello h;
	say_hello(&h, protocols, 1);
	for (size_t n = 0; n < h.n; n++) {
		size_t wanted = 0;
		assert_int_equal(judge(&h, n, &wanted), H2_HELLO_MORE);
		assert_in_range(wanted, n + 1, h.n);
	}
}

/* Each record has so many bytes of the message. */
static void split_into_records(const struct hello *whole, size_t piece, struct hello *ret)
{
	*ret = (struct hello){.n = 0};
	for (size_t at = 5; at < whole->n; at += piece) {
		size_t n = MIN(piece, whole->n - at);
		const char head[5] = {22, 3, 1, (char)(n >> 8), (char)n};
		memcpy(ret->p + ret->n, head, sizeof(head));
		memcpy(ret->p + ret->n + sizeof(head), whole->p + at, n);
		ret->n += sizeof(head) + n;
	}
}

static void test_hello__in_several_records(void **state _unused_)
{
	static const char *const protocols[] = {"h2"};
	static const size_t pieces[] = {1, 3, 4, 100};
	struct hello whole, h;
	say_hello(&whole, protocols, 1);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		size_t wanted = 0;
		split_into_records(&whole, pieces[i], &h);
		assert_int_equal(judge(&h, h.n - 1, &wanted), H2_HELLO_MORE);
		assert_int_equal(wanted, h.n);
		assert_int_equal(judge(&h, h.n, &wanted), H2_HELLO_OFFER);
	}
}

/* Whatever a byte becomes, nothing outside is read, and what is wanted stays within the limit. */
static void test_hello__damaged(void **state _unused_)
{
	static const char *const protocols[] = {"h2"};
	struct hello h;
	say_hello(&h, protocols, 1);
	for (size_t at = 0; at < h.n; at++) {
		static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			struct hello damaged = h;
			size_t wanted = 0;
			damaged.p[at] = (char)values[i];
			if (judge(&damaged, damaged.n, &wanted) == H2_HELLO_MORE) {
				assert_in_range(wanted, damaged.n + 1, H2_HELLO_MAX);
			}
		}
	}
}

static void test_hello__what_is_none(void **state _unused_)
{
	size_t wanted;
	assert_int_equal(h2_hello_judge(STR("GET / HTTP/1.1\r\n\r\n"), &wanted), H2_HELLO_OTHER);
	assert_int_equal(h2_hello_judge(STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), &wanted), H2_HELLO_OTHER);
	assert_int_equal(h2_hello_judge(STR("\x16\x03\x01\x00\x00"), &wanted), H2_HELLO_OTHER);
	assert_int_equal(h2_hello_judge(STR("\x16\x03\x01\x7f\xff\x01"), &wanted), H2_HELLO_OTHER);
	/* A server's hello; and a message of 16 MiB. */
	assert_int_equal(h2_hello_judge(STR("\x16\x03\x01\x00\x04\x02\x00\x00\x00"), &wanted), H2_HELLO_OTHER);
	assert_int_equal(h2_hello_judge(STR("\x16\x03\x01\x40\x00\x01"), &wanted), H2_HELLO_OTHER);
}

/* Heads. */

struct sent_field {
	const char *name, *value;
};

#define REQUEST {":method", "GET"}, {":scheme", "https"}, {":path", "/a?b"}

struct made {
	struct arena arena;
	struct h2_head adding;
	struct http_head head;
	const char *problem;
	unsigned status;
};

static void make(struct made *ret, const struct sent_field *fields, size_t n, bool has_body)
{
	*ret = (struct made){.status = 0};
	arena_init(&ret->arena, 1 << 20);
	for (size_t i = 0; i < n; i++) {
		assert_true(h2_head_add(&ret->adding, &ret->head, &ret->arena, str_of(fields[i].name), str_of(fields[i].value),
			31 << 10));
	}
	ret->status = h2_head_finish(&ret->adding, &ret->head, &ret->arena, has_body, &ret->problem);
}

static void test_head__fields(void **state _unused_)
{
	static const struct sent_field fields[] = {
		REQUEST, {":authority", "here:6443"}, {"accept", " a "}, {"x-a", ""}, {"content-length", "12"}};
	struct made m;
	make(&m, fields, ARRAY_SIZE(fields), true);
	assert_int_equal(m.status, 0);
	assert_true(str_is(m.head.method, "GET"));
	assert_true(str_is(m.head.target, "/a?b"));
	assert_int_equal(m.head.n_fields, 4);
	assert_true(str_is(m.head.fields[0].value, "a"));
	assert_true(str_is(m.head.fields[3].name, "host"));
	assert_true(str_is(m.head.fields[3].value, "here:6443"));
	assert_true(m.head.framing.has_body);
	assert_int_equal(m.head.framing.length, 12);
	arena_done(&m.arena);
}

static void test_head__refused(void **state _unused_)
{
	static const struct {
		struct sent_field fields[6];
		unsigned status;
		const char *problem;
	} rows[] = {
		{{REQUEST, {"host", "a"}}, 0, NULL},
		{{REQUEST, {":authority", "A"}, {"host", "a"}}, 0, NULL},
		{{REQUEST}, 400, "missing required Host header"},
		{{REQUEST, {":authority", "a"}, {"host", "b"}}, 400, "Host differs from the authority"},
		{{REQUEST, {"host", "a"}, {"host", "a"}}, 400, "too many Host headers"},
		{{{":method", "G T"}, {":scheme", "https"}, {":path", "/"}, {"host", "a"}}, 400, "malformed method"},
		{{{":method", "GET"}, {":scheme", "https"}, {":path", "/\x01"}, {"host", "a"}}, 400, "malformed request target"},
		{{{":method", "GET"}, {":scheme", "ftp"}, {":path", "/"}, {"host", "a"}}, 400, "unsupported scheme"},
		{{REQUEST, {"host", "a"}, {"a b", "c"}}, 400, "malformed header name"},
		{{REQUEST, {"host", "a"}, {"a", "b\nc"}}, 400, "malformed header value"},
		{{REQUEST, {"host", "a"}, {"content-length", "-1"}}, 400, "malformed Content-Length"},
		{{REQUEST, {"host", "a"}, {"expect", "more"}}, 417, "unsupported Expect"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m;
		size_t n = 0;
		while (n < ARRAY_SIZE(rows[i].fields) && rows[i].fields[n].name) {
			n++;
		}
		make(&m, rows[i].fields, n, false);
		assert_int_equal(m.status, rows[i].status);
		if (rows[i].problem) {
			assert_string_equal(m.problem, rows[i].problem);
		}
		arena_done(&m.arena);
	}
}

/* n fields beside those of the request, each of that many bytes. */
static unsigned count_and_finish(size_t n, size_t value_n, bool *ret_goes_on, size_t *ret_kept)
{
	static const struct sent_field fields[] = {REQUEST, {":authority", "a"}};
	struct h2_head adding = {.size = 0};
	struct http_head head = {.n_fields = 0};
	struct arena arena;
	const char *problem;
	char *value = mem_alloc(value_n + 1);
	memset(value, 'v', value_n);
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		h2_head_add(&adding, &head, &arena, str_of(fields[i].name), str_of(fields[i].value), 31 << 10);
	}
	*ret_goes_on = true;
	for (size_t i = 0; i < n && *ret_goes_on; i++) {
		*ret_goes_on = h2_head_add(&adding, &head, &arena, STR("x"), (struct str){value, value_n}, 31 << 10);
	}
	*ret_kept = adding.n_fields;
	unsigned status = h2_head_finish(&adding, &head, &arena, false, &problem);
	arena_done(&arena);
	mem_free(value);
	return status;
}

static void test_head__too_large(void **state _unused_)
{
	bool goes_on;
	size_t kept;
	assert_int_equal(count_and_finish(100, 1, &goes_on, &kept), 0);
	assert_int_equal(count_and_finish(101, 1, &goes_on, &kept), 431);
	assert_true(goes_on);
	assert_int_equal(count_and_finish(7, 4096, &goes_on, &kept), 0);
	assert_int_equal(count_and_finish(8, 4096, &goes_on, &kept), 431);
	assert_true(goes_on);
	assert_int_equal(kept, 7); /* what is beyond the limit costs no memory */
	assert_int_equal(count_and_finish(20, 4096, &goes_on, &kept), 431);
	assert_false(goes_on);
}

/* Budgets. */

static void test_budget__burst_and_rate(void **state _unused_)
{
	static const struct h2_allowance allowance = {.burst = 10, .per_second = 5};
	struct h2_budget b = {0};
	for (int i = 0; i < 10; i++) {
		assert_true(h2_budget_take(&b, &allowance, 1000));
	}
	assert_false(h2_budget_take(&b, &allowance, 1000));
	assert_false(h2_budget_take(&b, &allowance, 1199));
	assert_true(h2_budget_take(&b, &allowance, 1200));
	assert_false(h2_budget_take(&b, &allowance, 1200));
	for (int i = 0; i < 5; i++) {
		assert_true(h2_budget_take(&b, &allowance, 2200));
	}
	assert_false(h2_budget_take(&b, &allowance, 2200));
}

static void test_budget__rests_are_not_saved_up(void **state _unused_)
{
	static const struct h2_allowance allowance = {.burst = 3, .per_second = 1000};
	struct h2_budget b = {0};
	assert_true(h2_budget_take(&b, &allowance, 1));
	for (int i = 0; i < 3; i++) {
		assert_true(h2_budget_take(&b, &allowance, INT64_MAX / 2));
	}
	assert_false(h2_budget_take(&b, &allowance, INT64_MAX / 2));
	/* A clock that stands still, or goes back, gives nothing. */
	assert_false(h2_budget_take(&b, &allowance, INT64_MAX / 2 - 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello__protocols),
		cmocka_unit_test(test_hello__every_prefix_wants_more_than_is_there),
		cmocka_unit_test(test_hello__in_several_records),
		cmocka_unit_test(test_hello__damaged),
		cmocka_unit_test(test_hello__what_is_none),
		cmocka_unit_test(test_head__fields),
		cmocka_unit_test(test_head__refused),
		cmocka_unit_test(test_head__too_large),
		cmocka_unit_test(test_budget__burst_and_rate),
		cmocka_unit_test(test_budget__rests_are_not_saved_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
