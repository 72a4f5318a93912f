#include "base/file.h"
#include "cli/doctor/doctor_files.h"
#include "tests/unit/doctor_world.h"
#include "tests/unit/tls_pki.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

enum { DAY = 24 * 60 * 60, NOW = 1800000000 };

/* ---- with made-up certificates ---- */

static void test_cert__life(void **state _unused_)
{
	static const struct {
		int64_t begin_s, end_s;
		enum severity severity;
		const char *found;
	} cases[] = {
		{NOW - DAY, NOW + 400 * (int64_t)DAY, SEVERITY_OK, "is valid until 2028-02-19"},
		{NOW, NOW + 30 * DAY, SEVERITY_OK, "is valid until"},
		{NOW - DAY, NOW + 30 * DAY - 1, SEVERITY_WARNING, "expires at 2027-02-14T07:59:59Z, in 29 days"},
		{NOW - DAY, NOW + 1, SEVERITY_WARNING, "in 0 days"},
		{NOW - DAY, NOW, SEVERITY_ERROR, "expired at 2027-01-15T08:00:00Z"},
		{NOW + 1, NOW + DAY, SEVERITY_ERROR, "not valid before 2027-01-15T08:00:01Z"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		struct certificate c = {.subject = STR("CN=x"), .begin_s = cases[i].begin_s, .end_s = cases[i].end_s};
		report_init(&r);
		judge_life(&r, STR("f"), &c, NOW, STR("renew"));
		expect_finding(&r, cases[i].severity, cases[i].found, cases[i].severity == SEVERITY_OK ? "" : "renew");
		assert_int_equal(r.n, 1);
		report_done(&r);
	}
}

static void test_cert__names_of_a_leaf(void **state _unused_)
{
	static const struct {
		const char *name, *wanted;
		enum severity severity;
		const char *found;
	} cases[] = {
		{"annals.ns.svc", "annals.ns.svc", SEVERITY_OK, "it is for: annals.ns.svc"},
		{"ANNALS.ns.svc", "annals.ns.svc", SEVERITY_OK, "it is for"},
		{"*.ns.svc", "annals.ns.svc", SEVERITY_OK, "it is for"},
		{"*.svc", "annals.ns.svc", SEVERITY_ERROR, "not for annals.ns.svc, but for: *.svc"},
		{"other", "", SEVERITY_OK, "it is for: other"},
		{NULL, "", SEVERITY_ERROR, "no subjectAltName"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		struct str name = str_of(cases[i].name);
		struct certificate c = {.subject = STR("CN=x"),
			.end_s = NOW + 99 * DAY,
			.names = &name,
			.n_names = name.n > 0,
			.is_for_servers = true};
		report_init(&r);
		judge_leaf(&r, STR("f"), &c, str_of(cases[i].wanted), NOW, STR("renew"));
		expect_finding(&r, cases[i].severity, cases[i].found, cases[i].severity == SEVERITY_OK ? "" : "renew");
		assert_int_equal(r.n, 2);
		report_done(&r);
	}
}

static void test_cert__who_may_pose_as_a_front_proxy(void **state _unused_)
{
	struct certificate one = {.key_id = STR("1")}, two = {.key_id = STR("2")};
	const struct {
		struct certs front, clients;
		size_t n_names;
		enum severity severity;
		const char *found;
	} cases[] = {
		{{&one, 1}, {&two, 1}, 1, SEVERITY_OK, "a CA of their own"},
		{{&one, 1}, {NULL, 0}, 1, SEVERITY_OK, "a CA of their own"},
		{{&one, 1}, {&two, 1}, 0, SEVERITY_WARNING, "whoever has any certificate"},
		{{&one, 1}, {&one, 1}, 1, SEVERITY_WARNING, "only the name keeps"},
		{{&one, 1}, {&one, 1}, 0, SEVERITY_ERROR, "every user may pose as anybody"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		report_init(&r);
		judge_front_names(&r, STR("f"), &cases[i].front, &cases[i].clients, cases[i].n_names, STR("restart"));
		expect_finding(&r, cases[i].severity, cases[i].found, cases[i].severity == SEVERITY_OK ? "" : "restart");
		assert_int_equal(r.n, 1);
		report_done(&r);
	}
}

static void test_cert__who_may_read_a_key(void **state _unused_)
{
	static const struct {
		unsigned mode;
		bool is_fine;
	} cases[] = {{0600, true}, {0640, true}, {0644, false}, {0606, false}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		report_init(&r);
		judge_key_mode(&r, STR("/a b"), cases[i].mode);
		assert_int_equal(r.n, cases[i].is_fine ? 0 : 1);
		if (!cases[i].is_fine) {
			expect_finding(&r, SEVERITY_WARNING, "may read", "chmod 0600 '/a b'");
		}
		report_done(&r);
	}
}

/* ---- with real ones ---- */

/* CAs "ca" and "other" and what they signed, in a folder. */
struct scene {
	struct report r;
	char *folder;
	char *cert, *key, *ca, *other;
};

static void open_scene(struct scene *s, bool is_server, bool is_expired)
{
	*s = (struct scene){.folder = pki_open()};
	report_init(&s->r);
	pki_make(s->folder, &(struct pki_spec){.name = "ca", .common_name = "one-ca"});
	pki_make(s->folder, &(struct pki_spec){.name = "other", .common_name = "other-ca"});
	pki_make(s->folder,
		&(struct pki_spec){.name = "leaf",
			.issuer = "ca",
			.common_name = "leaf",
			.is_server = is_server,
			.ends_in_s = is_expired ? -DAY : 0});
	s->cert = pki_path(s->folder, "leaf", "crt");
	s->key = pki_path(s->folder, "leaf", "key");
	s->ca = pki_path(s->folder, "ca", "crt");
	s->other = pki_path(s->folder, "other", "crt");
}

static void close_scene(struct scene *s)
{
	mem_free(s->cert);
	mem_free(s->key);
	mem_free(s->ca);
	mem_free(s->other);
	pki_close(s->folder);
	report_done(&s->r);
}

static struct certs read_all(struct scene *s, const char *path)
{
	struct certs all;
	struct buf text, err;
	buf_init(&text, 1 << 20);
	buf_init(&err, 1024);
	assert_int_equal(file_read_path(path, &text), 0);
	assert_int_equal(certs_parse(&all, buf_str(&text), &s->r.arena, &err), 0);
	buf_done(&text);
	buf_done(&err);
	return all;
}

static void check_pair(struct scene *s, const char *cert, const char *key)
{
	doctor_check_pair(&s->r,
		&(struct doctor_pair){.cert_file = cert, .key_file = key, .is_server = true, .fix = STR("renew")},
		(int64_t)time(NULL));
}

static void test_cert__pair_that_fits(void **state _unused_)
{
	struct scene s;
	open_scene(&s, true, false);
	check_pair(&s, s.cert, s.key);
	expect_finding(&s.r, SEVERITY_OK, "it is the certificate's key", "");
	expect_finding(&s.r, SEVERITY_WARNING, "expires at", "renew"); /* the scene's live a day */
	assert_int_equal(s.r.counts[SEVERITY_ERROR], 0);
	close_scene(&s);
}

static void test_cert__pair_that_is_wrong(void **state _unused_)
{
	static const struct {
		bool is_server, is_expired, has_other_key, is_no_key, is_no_cert;
		const char *found;
	} cases[] = {
		{.is_server = false, .found = "does not allow it to serve"},
		{.is_server = true, .is_expired = true, .found = "expired at"},
		{.is_server = true, .has_other_key = true, .found = "it is not the key of the certificate"},
		{.is_server = true, .is_no_key = true, .found = "no private key in PEM"},
		{.is_server = true, .is_no_cert = true, .found = "no certificates in PEM"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene s;
		open_scene(&s, cases[i].is_server, cases[i].is_expired);
		_cleanup_(mem_freep) char *other_key = pki_path(s.folder, "other", "key");
		check_pair(&s, cases[i].is_no_cert ? s.key : s.cert,
			cases[i].has_other_key       ? other_key
				: cases[i].is_no_key ? s.cert
						     : s.key);
		expect_finding(&s.r, SEVERITY_ERROR, cases[i].found, "renew");
		assert_int_equal(s.r.counts[SEVERITY_ERROR], 1);
		close_scene(&s);
	}
}

static void test_cert__file_that_is_not_there(void **state _unused_)
{
	struct scene s;
	open_scene(&s, true, false);
	check_pair(&s, "/nowhere/at/all", s.key);
	expect_finding(&s.r, SEVERITY_ERROR, "No such file", "");
	close_scene(&s);
}

static void test_cert__order_of_a_chain(void **state _unused_)
{
	struct scene s;
	open_scene(&s, true, false);
	struct certs leaf = read_all(&s, s.cert), ca = read_all(&s, s.ca), other = read_all(&s, s.other);
	struct certificate right[] = {leaf.v[0], ca.v[0]}, wrong[] = {leaf.v[0], other.v[0], ca.v[0]};
	judge_chain(&s.r, STR("f"), &(struct certs){right, 2});
	assert_int_equal(s.r.n, 0);
	judge_chain(&s.r, STR("f"), &(struct certs){wrong, 3});
	expect_finding(
		&s.r, SEVERITY_WARNING, "certificate 1, \"CN=leaf\", is not signed by the one behind it, \"CN=other-ca\"", "");
	certs_done(&leaf);
	certs_done(&ca);
	certs_done(&other);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cert__life),
		TEST(test_cert__names_of_a_leaf),
		TEST(test_cert__who_may_pose_as_a_front_proxy),
		TEST(test_cert__who_may_read_a_key),
		TEST(test_cert__pair_that_fits),
		TEST(test_cert__pair_that_is_wrong),
		TEST(test_cert__file_that_is_not_there),
		TEST(test_cert__order_of_a_chain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
