#include "tests/unit/http_world.h"

#include <gnutls/x509.h>
#include <stdlib.h>
#include <unistd.h>

/* What /who answers, up to the names: the client's accepted identity. */
#define NOBODY "tls=1 sent=1 verified=0 front=0 cn= problem="
#define USER "tls=1 sent=1 verified=1 front=0 cn="
#define FRONT "tls=1 sent=1 verified=0 front=1 cn="
#define BOTH "tls=1 sent=1 verified=1 front=1 cn="

static void visit_as(struct client *c, const char *name)
{
	_cleanup_(mem_freep) char *cert = pki_path(pki, name, "crt"), *key = pki_path(pki, name, "key");
	client_open(c, port(), &(struct client_tls){.cert_file = cert, .key_file = key});
}

static bool is_seen_as(struct client *c, const char *expected)
{
	struct answer a;
	client_get(c, "/who", &a);
	bool is_so = a.status == 200 && str_starts(buf_str(&a.body), str_of(expected));
	answer_clear(&a);
	return is_so;
}

static void assert_seen_as(struct client *c, const char *expected)
{
	struct answer a;
	client_get(c, "/who", &a);
	if (!str_starts(buf_str(&a.body), str_of(expected))) {
		fail_msg("not \"%s\": %s", expected, a.body.p);
	}
	answer_clear(&a);
}

static void await_seen_as(struct client *c, const char *expected)
{
	for (int64_t until = clock_mono_ms() + PATIENCE_S * 1000; !is_seen_as(c, expected);) {
		if (clock_mono_ms() > until) {
			assert_seen_as(c, expected);
		}
	}
}

static void assert_visitor_seen_as(const char *name, const char *expected)
{
	struct client c;
	visit_as(&c, name);
	assert_seen_as(&c, expected);
	client_close(&c);
}

static struct str read_pem(const char *name, struct buf *text)
{
	gnutls_datum_t pem;
	_cleanup_(mem_freep) char *path = pki_path(pki, name, "crt");
	assert_int_equal(gnutls_load_file(path, &pem), 0);
	buf_init(text, 1 << 20);
	buf_add(text, pem.data, pem.size);
	gnutls_free(pem.data);
	return buf_str(text);
}

/* Names of CAs; NULL: none. */
static void believe(const char *users, const char *fronts)
{
	struct buf user_pem = {0}, front_pem = {0};
	struct trust trust = {.n_front_names = 0};
	if (users) {
		trust.client_ca = read_pem(users, &user_pem);
	}
	if (fronts) {
		trust.front_ca = read_pem(fronts, &front_pem);
	}
	http_server_set_trust(world.server, &trust);
	buf_done(&user_pem);
	buf_done(&front_pem);
}

static void start_trusting_nobody(void)
{
	start(&(struct http_options){.is_trust_set_later = true});
}

static void write_text(const char *name, const char *text)
{
	_cleanup_(mem_freep) char *path = pki_path(pki, name, "crt");
	_cleanup_(mem_freep) char *new = mem_printf("%s.new", path);
	FILE *f = fopen(new, "w");
	fputs(text, f);
	fclose(f);
	assert_int_equal(rename(new, path), 0);
}

static void copy_cert(const char *from, const char *to)
{
	struct buf text;
	read_pem(from, &text);
	write_text(to, text.p);
	buf_done(&text);
}

/* ---- whom ---- */

static void test_trust__users_and_front_proxies_are_told_apart(void **state _unused_)
{
	start_trusting_nobody();
	believe("ca", "fronts");
	assert_visitor_seen_as("alice", USER "alice o=system:masters o=devs problem=");
	assert_visitor_seen_as("proxy", FRONT "proxy problem=");
	assert_visitor_seen_as("stranger", NOBODY "The certificate is NOT trusted. The certificate issuer is unknown");
	believe("fronts", "fronts");
	assert_visitor_seen_as("proxy", BOTH "proxy problem=");
	assert_visitor_seen_as("alice", NOBODY);
}

static void test_trust__nobody_is_believed_without_authorities(void **state _unused_)
{
	struct client c;
	start_trusting_nobody();
	assert_visitor_seen_as("alice", NOBODY);
	assert_visitor_seen_as("proxy", NOBODY);
	believe(NULL, NULL);
	assert_visitor_seen_as("alice", NOBODY);
	dial(&c);
	believe("ca", "ca");
	assert_seen_as(&c, "tls=1 sent=0 verified=0 front=0 cn= problem=");
	client_close(&c);
}

static void test_trust__authority_of_the_same_name_is_another(void **state _unused_)
{
	make_cert("twin", NULL, "CA", false);
	make_cert("impostor", "twin", "alice", false);
	start_trusting_nobody();
	believe("ca", "ca");
	assert_visitor_seen_as("alice", BOTH "alice");
	assert_visitor_seen_as("impostor", NOBODY);
	believe("twin", "twin");
	assert_visitor_seen_as("alice", NOBODY);
	assert_visitor_seen_as("impostor", BOTH "alice");
}

static void test_trust__certificate_must_be_for_clients(void **state _unused_)
{
	pki_make(pki, &(struct pki_spec){.name = "any", .issuer = "ca", .common_name = "any", .is_for_all = true});
	start_trusting_nobody();
	believe("ca", "ca");
	assert_visitor_seen_as("server", NOBODY "The certificate is NOT trusted. The certificate chain does not match");
	assert_visitor_seen_as("any", BOTH "any");
}

static void test_trust__chain_leads_to_the_authority(void **state _unused_)
{
	struct buf leaf, middle;
	pki_make(pki, &(struct pki_spec){.name = "middle", .issuer = "ca", .common_name = "middle", .is_ca = true});
	make_cert("deep", "middle", "deep", false);
	start_trusting_nobody();
	believe("ca", NULL);
	assert_visitor_seen_as("deep", NOBODY);

	read_pem("deep", &leaf);
	buf_add_str(&leaf, read_pem("middle", &middle));
	write_text("deep", leaf.p);
	assert_visitor_seen_as("deep", USER "deep");
	believe("middle", NULL);
	assert_visitor_seen_as("deep", USER "deep");
	buf_done(&leaf);
	buf_done(&middle);
}

/* A certificate that is no CA's signs nothing. */
static void test_trust__user_is_no_authority(void **state _unused_)
{
	struct buf leaf, alice;
	make_cert("underling", "alice", "root", false);
	read_pem("underling", &leaf);
	buf_add_str(&leaf, read_pem("alice", &alice));
	write_text("underling", leaf.p);
	start_trusting_nobody();
	believe("ca", "ca");
	assert_visitor_seen_as("underling", NOBODY);
	buf_done(&leaf);
	buf_done(&alice);
}

static void test_trust__last_common_name_counts(void **state _unused_)
{
	pki_make(pki, &(struct pki_spec){.name = "two", .issuer = "ca", .common_name = "first", .second_name = "second"});
	start_trusting_nobody();
	believe("ca", NULL);
	assert_visitor_seen_as("two", USER "second");
}

/* ---- when ---- */

static void test_trust__connection_is_judged_again_when_trust_changes(void **state _unused_)
{
	struct client alice, proxy;
	start_trusting_nobody();
	visit_as(&alice, "alice");
	visit_as(&proxy, "proxy");
	assert_seen_as(&alice, NOBODY);
	for (unsigned i = 0; i < 3; i++) {
		believe("ca", "fronts");
		assert_seen_as(&alice, USER "alice");
		assert_seen_as(&proxy, FRONT "proxy");
		believe("ca", NULL);
		assert_seen_as(&alice, USER "alice");
		assert_seen_as(&proxy, NOBODY);
		believe(NULL, "other");
		assert_seen_as(&alice, NOBODY);
		assert_seen_as(&proxy, NOBODY);
	}
	client_close(&alice);
	client_close(&proxy);
}

static void test_trust__certificate_expires_on_a_live_connection(void **state _unused_)
{
	struct client c;
	pki_make(pki, &(struct pki_spec){.name = "brief", .issuer = "ca", .common_name = "brief", .ends_in_s = 2});
	start_trusting_nobody();
	believe("ca", "ca");
	visit_as(&c, "brief");
	assert_seen_as(&c, BOTH "brief");
	await_seen_as(&c, NOBODY "The certificate is NOT trusted. The certificate chain uses expired");
	client_close(&c);
}

static void test_trust__authority_expires_on_a_live_connection(void **state _unused_)
{
	struct client c;
	pki_make(pki, &(struct pki_spec){.name = "fading", .common_name = "fading", .ends_in_s = 2});
	make_cert("orphan", "fading", "orphan", false);
	start_trusting_nobody();
	believe("fading", NULL);
	visit_as(&c, "orphan");
	assert_seen_as(&c, USER "orphan");
	await_seen_as(&c, NOBODY);
	client_close(&c);
}

static void test_trust__certificate_begins_to_be_valid_on_a_live_connection(void **state _unused_)
{
	struct client c;
	pki_make(pki, &(struct pki_spec){.name = "early", .issuer = "ca", .common_name = "early", .begins_in_s = 2});
	start_trusting_nobody();
	believe("ca", NULL);
	visit_as(&c, "early");
	assert_seen_as(&c, NOBODY "The certificate is NOT trusted. The certificate chain uses not yet valid");
	await_seen_as(&c, USER "early");
	client_close(&c);
}

/* ---- garbage ---- */

static void test_trust__garbage_believes_nobody_and_is_told(void **state _unused_)
{
	struct buf pem;
	struct client alice, proxy;
	start_trusting_nobody();
	believe("ca", "fronts");
	visit_as(&alice, "alice");
	visit_as(&proxy, "proxy");
	http_server_set_trust(world.server,
		&(struct trust){.client_ca = read_pem("ca", &pem),
			.front_ca = STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")});
	assert_int_equal(world.n_notices, 1);
	assert_seen_as(&alice, USER "alice");
	assert_seen_as(&proxy, NOBODY);
	buf_done(&pem);
	client_close(&alice);
	client_close(&proxy);
}

/* ---- files ---- */

static void assert_file_is_followed(const char *name, struct http_options options, const char *believed)
{
	_cleanup_(mem_freep) char *path = pki_path(pki, name, "crt");
	struct client c;
	copy_cert("ca", name);
	start(&options);
	visit_as(&c, "alice");
	assert_seen_as(&c, believed);

	write_text(name, "");
	await_seen_as(&c, NOBODY);
	copy_cert("ca", name);
	await_seen_as(&c, believed);
	write_text(name, "no certificate at all");
	await_seen_as(&c, NOBODY);
	copy_cert("ca", name);
	await_seen_as(&c, believed);
	assert_int_equal(unlink(path), 0);
	await_seen_as(&c, NOBODY);
	copy_cert("other", name);
	assert_visitor_seen_as("alice", NOBODY);
	await_seen_as(&c, NOBODY);
	copy_cert("ca", name);
	await_seen_as(&c, believed);
	assert_true(world.n_notices >= 3);

	believe("other", "other");
	assert_seen_as(&c, believed);
	client_close(&c);
}

static void test_trust__file_of_users_is_followed(void **state _unused_)
{
	_cleanup_(mem_freep) char *path = pki_path(pki, "users-file", "crt");
	assert_file_is_followed("users-file", (struct http_options){.client_ca_file = path}, USER "alice");
}

static void test_trust__file_of_front_proxies_is_followed(void **state _unused_)
{
	_cleanup_(mem_freep) char *path = pki_path(pki, "fronts-file", "crt");
	assert_file_is_followed(
		"fronts-file", (struct http_options){.front_ca_file = path, .is_trust_set_later = true}, FRONT "alice");
}

static void test_trust__files_must_be_there_at_the_start(void **state _unused_)
{
	write_text("empty", "");
	write_text("rubbish", "-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n");
	_cleanup_(mem_freep) char *empty = pki_path(pki, "empty", "crt"), *rubbish = pki_path(pki, "rubbish", "crt");
	assert_no_start(&(struct http_options){.client_ca_file = empty}, -EINVAL, "cannot load client CA ");
	assert_no_start(&(struct http_options){.front_ca_file = empty}, -EINVAL, "cannot load CA of front proxies ");
	assert_no_start(&(struct http_options){.front_ca_file = rubbish}, -EINVAL, "cannot load CA of front proxies ");
}

/* ---- threads ---- */

struct visitor {
	pthread_t thread;
	const char *name;
	_Atomic bool *is_over;
};

static void *keep_asking(void *arg)
{
	struct visitor *v = arg;
	struct client c;
	visit_as(&c, v->name);
	while (!atomic_load(v->is_over)) {
		assert_true(is_seen_as(&c, "tls=1 sent=1 "));
	}
	await_seen_as(&c, USER);
	client_close(&c);
	return NULL;
}

static void test_trust__changes_while_requests_run(void **state _unused_)
{
	static const char *const names[] = {"alice", "proxy", "alice", "stranger"};
	struct visitor visitors[ARRAY_SIZE(names)];
	_Atomic bool is_over = false;
	start_trusting_nobody();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		visitors[i] = (struct visitor){.name = names[i], .is_over = &is_over};
		pthread_create(&visitors[i].thread, NULL, keep_asking, &visitors[i]);
	}
	for (unsigned i = 0; i < 100; i++) {
		believe(i % 2 ? "ca" : "fronts", i % 3 ? "fronts" : "other");
	}
	struct buf all, pem;
	read_pem("ca", &all);
	buf_add_str(&all, read_pem("fronts", &pem));
	buf_done(&pem);
	buf_add_str(&all, read_pem("other", &pem));
	http_server_set_trust(world.server, &(struct trust){.client_ca = buf_str(&all)});
	atomic_store(&is_over, true);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pthread_join(visitors[i].thread, NULL);
	}
	buf_done(&all);
	buf_done(&pem);
}

static int open_trust_pki(void **state)
{
	open_pki(state);
	make_cert("fronts", NULL, "CA of front proxies", false);
	make_cert("proxy", "fronts", "proxy", false);
	return 0;
}

static void make_member_of(unsigned n)
{
	pki_make(pki, &(struct pki_spec){.name = "member", .issuer = "ca", .common_name = "member", .n_groups = n});
}

static void test_trust__certificate_with_many_organizations_keeps_them_all(void **state _unused_)
{
	struct client c;
	struct answer a;
	start(&(struct http_options){.client_ca_file = ca_cert, .handshake_timeout_ms = 60000}); /* it is a big one */
	make_member_of(512);
	visit_as(&c, "member");
	client_get(&c, "/who", &a);
	assert_true(str_starts(buf_str(&a.body), STR(USER "member o=group-0 o=group-1 ")));
	assert_true(str_contains(buf_str(&a.body), STR(" o=group-511 problem=")));
	answer_clear(&a);
	client_close(&c);
}

static void test_trust__certificate_with_too_many_organizations_names_nobody(void **state _unused_)
{
	start(&(struct http_options){.client_ca_file = ca_cert, .handshake_timeout_ms = 60000}); /* it is a big one */
	make_member_of(513);
	assert_visitor_seen_as(
		"member", "tls=1 sent=1 verified=0 front=0 cn=member problem=The certificate has more than 512 organizations");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_trust__users_and_front_proxies_are_told_apart),
		CASE(test_trust__nobody_is_believed_without_authorities),
		CASE(test_trust__authority_of_the_same_name_is_another),
		CASE(test_trust__certificate_must_be_for_clients),
		CASE(test_trust__chain_leads_to_the_authority),
		CASE(test_trust__user_is_no_authority),
		CASE(test_trust__last_common_name_counts),
		CASE(test_trust__connection_is_judged_again_when_trust_changes),
		CASE(test_trust__certificate_expires_on_a_live_connection),
		CASE(test_trust__authority_expires_on_a_live_connection),
		CASE(test_trust__certificate_begins_to_be_valid_on_a_live_connection),
		CASE(test_trust__garbage_believes_nobody_and_is_told),
		CASE(test_trust__file_of_users_is_followed),
		CASE(test_trust__file_of_front_proxies_is_followed),
		CASE(test_trust__files_must_be_there_at_the_start),
		CASE(test_trust__changes_while_requests_run),
		CASE(test_trust__certificate_with_many_organizations_keeps_them_all),
		CASE(test_trust__certificate_with_too_many_organizations_names_nobody),
	};
	return cmocka_run_group_tests(tests, open_trust_pki, close_pki);
}
