#include "base/clock.h"
#include "cli/certs/certs.h"
#include "tests/unit/check.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAY_S = 24 * 60 * 60, NOW_S = 1800000000 };

/* A data directory of its own for each test. */
struct scene {
	char path[64];
	struct datadir dir;
};

static void open_scene(struct scene *s)
{
	struct buf err;
	*s = (struct scene){.path = "/tmp/annals-certs-XXXXXX"};
	buf_init(&err, 1024);
	assert_non_null(mkdtemp(s->path));
	assert_int_equal(datadir_open(&s->dir, s->path, &err), 0);
	buf_done(&err);
}

static void close_scene(struct scene *s)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", s->path);
	datadir_done(&s->dir);
	assert_int_equal(system(command), 0);
}

/* How many were made. */
static unsigned ensure(struct scene *s, int64_t now_s)
{
	unsigned n = 99;
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(certs_ensure(&s->dir, now_s, &n, &err), 0);
	buf_done(&err);
	return n;
}

static char *read_file(struct scene *s, const char *name)
{
	struct buf text;
	buf_init(&text, 1 << 20);
	assert_int_equal(datadir_read(&s->dir, name, &text), 0);
	return buf_take(&text, NULL);
}

static gnutls_x509_crt_t read_crt(struct scene *s, const char *name)
{
	gnutls_x509_crt_t crt;
	_cleanup_(mem_freep) char *text = read_file(s, name);
	gnutls_datum_t pem = {(unsigned char *)text, (unsigned)strlen(text)};
	assert_int_equal(gnutls_x509_crt_init(&crt), 0);
	assert_int_equal(gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM), 0);
	return crt;
}

static void spoil(struct scene *s, const char *name)
{
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(datadir_write(&s->dir, name, STR("garbage"), 0600, &err), 0);
	buf_done(&err);
}

static mode_t mode_of(struct scene *s, const char *name)
{
	struct stat st;
	_cleanup_(mem_freep) char *path = datadir_file(&s->dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_certs__are_made_once(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	assert_int_equal(ensure(&s, NOW_S), 4);
	assert_int_equal(ensure(&s, NOW_S + DAY_S), 0);
	close_scene(&s);
}

static void test_certs__keys_are_their_owners_alone(void **state _unused_)
{
	static const char *const keys[] = {"ca.key", "server.key", "admin.key", "controllers.key"};
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_int_equal(mode_of(&s, keys[i]), 0600);
	}
	close_scene(&s);
}

static bool names(gnutls_x509_crt_t crt, const char *host)
{
	return gnutls_x509_crt_check_hostname(crt, host) != 0;
}

static void test_certs__server_is_for_this_host(void **state _unused_)
{
	struct scene s;
	char host[256];
	open_scene(&s);
	ensure(&s, NOW_S);
	gethostname(host, sizeof(host));
	gnutls_x509_crt_t crt = read_crt(&s, "server.crt");
	assert_true(names(crt, "localhost") && names(crt, "kubernetes") && names(crt, host) && names(crt, "127.0.0.1") &&
		names(crt, "::1"));
	assert_false(names(crt, "example.com"));
	gnutls_x509_crt_deinit(crt);
	close_scene(&s);
}

static bool is_trusted(struct scene *s, const char *name, const char *purpose)
{
	gnutls_x509_crt_t ca = read_crt(s, "ca.crt"), crt = read_crt(s, name);
	gnutls_x509_trust_list_t list;
	unsigned status = ~0U;
	gnutls_typed_vdata_st data = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (void *)(uintptr_t)purpose};
	gnutls_x509_trust_list_init(&list, 0);
	gnutls_x509_trust_list_add_cas(list, &ca, 1, 0);
	gnutls_x509_trust_list_verify_crt2(list, &crt, 1, &data, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status, NULL);
	gnutls_x509_trust_list_deinit(list, 1);
	gnutls_x509_crt_deinit(crt);
	return status == 0;
}

static void test_certs__each_serves_its_purpose_only(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	assert_true(is_trusted(&s, "server.crt", GNUTLS_KP_TLS_WWW_SERVER));
	assert_false(is_trusted(&s, "server.crt", GNUTLS_KP_TLS_WWW_CLIENT));
	assert_true(is_trusted(&s, "admin.crt", GNUTLS_KP_TLS_WWW_CLIENT));
	assert_false(is_trusted(&s, "admin.crt", GNUTLS_KP_TLS_WWW_SERVER));
	close_scene(&s);
}

static void assert_is_master(struct scene *s, const char *file, const char *name)
{
	char value[64];
	size_t n = sizeof(value);
	gnutls_x509_crt_t crt = read_crt(s, file);
	assert_int_equal(gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, 0, value, &n), 0);
	assert_string_equal(value, "system:masters");
	n = sizeof(value);
	assert_int_equal(gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, value, &n), 0);
	assert_string_equal(value, name);
	gnutls_x509_crt_deinit(crt);
}

static void test_certs__admin_and_controllers_are_masters(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	assert_is_master(&s, "admin.crt", "annals-admin");
	assert_is_master(&s, "controllers.crt", "system:annals-controllers");
	close_scene(&s);
}

static void test_certs__are_renewed_in_their_last_third(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	char *ca = read_file(&s, "ca.crt");
	assert_int_equal(ensure(&s, NOW_S + 240 * DAY_S), 0);
	assert_int_equal(ensure(&s, NOW_S + 250 * DAY_S), 3); /* of 365 */
	char *same = read_file(&s, "ca.crt");
	assert_string_equal(ca, same);
	mem_free(same);
	mem_free(ca);
	close_scene(&s);
}

static void test_certs__new_ca_signs_all_anew(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	spoil(&s, "ca.crt");
	assert_int_equal(ensure(&s, NOW_S), 4);
	assert_true(is_trusted(&s, "server.crt", GNUTLS_KP_TLS_WWW_SERVER));
	close_scene(&s);
}

static void test_certs__broken_pair_is_made_again(void **state _unused_)
{
	static const char *const files[] = {"server.key", "server.crt", "admin.key", "controllers.crt"};
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		spoil(&s, files[i]);
		assert_int_equal(ensure(&s, NOW_S), 1);
	}
	close_scene(&s);
}

/* What a crash between the two files of a pair leaves. */
static void test_certs__key_of_another_is_made_again(void **state _unused_)
{
	struct scene s;
	struct buf err;
	open_scene(&s);
	buf_init(&err, 1024);
	ensure(&s, NOW_S);
	char *other = read_file(&s, "admin.key");
	assert_int_equal(datadir_write(&s.dir, "server.key", str_of(other), 0600, &err), 0);
	assert_int_equal(ensure(&s, NOW_S), 1);
	mem_free(other);
	buf_done(&err);
	close_scene(&s);
}

/* As GnuTLS wrote them: a zero in front of the private value. The lengths around it are one more. */
static char *misshape(const char *pem)
{
	static const unsigned char at[] = {2, 28, 30, 35}; /* the lengths */
	gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)}, der, old;
	unsigned char out[139];
	assert_int_equal(gnutls_pem_base64_decode2("PRIVATE KEY", &text, &der), 0);
	assert_int_equal(der.size, 138);
	memcpy(out, der.data, 36);
	out[36] = 0;
	memcpy(out + 37, der.data + 36, der.size - 36);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		out[at[i]]++;
	}
	assert_int_equal(gnutls_pem_base64_encode2("PRIVATE KEY", &(gnutls_datum_t){out, sizeof(out)}, &old), 0);
	char *copy = mem_strdup((const char *)old.data);
	gnutls_free(der.data);
	gnutls_free(old.data);
	return copy;
}

static void write_file(struct scene *s, const char *name, const char *text)
{
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(datadir_write(&s->dir, name, str_of(text), 0600, &err), 0);
	buf_done(&err);
}

static void test_certs__misshapen_keys_are_written_again_and_nothing_else(void **state _unused_)
{
	static const char *const keys[] = {"ca.key", "server.key", "admin.key", "controllers.key"};
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char *good = read_file(&s, keys[i]), *bad = misshape(good);
		write_file(&s, keys[i], bad);
		assert_int_equal(ensure(&s, NOW_S), 0);
		char *fixed = read_file(&s, keys[i]);
		assert_string_not_equal(bad, good);
		assert_string_equal(fixed, good);
		assert_int_equal(mode_of(&s, keys[i]), 0600);
		mem_free(fixed);
		mem_free(bad);
		mem_free(good);
	}
	close_scene(&s);
}

/* The same key as OpenSSL writes it where it is not asked for PKCS #8: ECPrivateKey with the curve within. */
static char *in_other_form(const char *pem)
{
	static const unsigned char curve[] = {0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
	gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)}, der, other;
	unsigned char out[121];
	assert_int_equal(gnutls_pem_base64_decode2("PRIVATE KEY", &text, &der), 0);
	memcpy(out, der.data + 29, 39); /* up to the private value */
	memcpy(out + 39, curve, sizeof(curve));
	memcpy(out + 51, der.data + 68, 70); /* the public point */
	out[1] = sizeof(out) - 2;
	assert_int_equal(gnutls_pem_base64_encode2("EC PRIVATE KEY", &(gnutls_datum_t){out, sizeof(out)}, &other), 0);
	char *copy = mem_strdup((const char *)other.data);
	gnutls_free(der.data);
	gnutls_free(other.data);
	return copy;
}

/* Of somebody's own CA, say. */
static void test_certs__keys_in_other_forms_are_left_alone(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	char *good = read_file(&s, "ca.key"), *other = in_other_form(good);
	write_file(&s, "ca.key", other);
	assert_int_equal(ensure(&s, NOW_S), 0);
	char *still = read_file(&s, "ca.key");
	assert_string_equal(still, other);
	mem_free(still);
	mem_free(other);
	mem_free(good);
	close_scene(&s);
}

/* ---- plans ---- */

static const char *const some_names[] = {"a.example.com", "*.b.example.com", "10.1.2.3", "fd00::1"};

static const struct cert some_certs[] = {
	{"ca", NULL, {.common_name = "some-ca"}},
	{"both", "ca", {.common_name = "both", .purposes = PAIR_SERVES | PAIR_CALLS, .names = some_names, .n_names = 4}},
};

/* Of ca and both: 'm' made, 'k' kept; or 'r', the plan was refused. */
static const char *carry_out(struct scene *s, const struct certs_plan *plan, int64_t now_s)
{
	static char letters[3];
	struct cert_state states[2];
	struct buf err;
	buf_init(&err, 1024);
	int result = certs_ensure_plan(&s->dir, plan, now_s, states, &err);
	assert_int_equal(result != 0, err.n > 0);
	buf_done(&err);
	for (size_t i = 0; i < 2 && !result; i++) {
		letters[i] = states[i].is_made ? 'm' : 'k';
		assert_true(now_s <= states[i].renew_s && states[i].renew_s < states[i].end_s);
	}
	return result ? "r" : letters;
}

static void test_plan__certificate_has_the_names_and_purposes_it_should(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	assert_string_equal(carry_out(&s, &(struct certs_plan){some_certs, 2, 30, 0, true}, NOW_S), "mm");
	gnutls_x509_crt_t crt = read_crt(&s, "both.crt");
	assert_true(names(crt, "a.example.com") && names(crt, "x.b.example.com") && names(crt, "10.1.2.3") &&
		names(crt, "fd00::1"));
	assert_false(names(crt, "b.example.com") || names(crt, "10.1.2.4"));
	gnutls_x509_crt_deinit(crt);
	assert_true(is_trusted(&s, "both.crt", GNUTLS_KP_TLS_WWW_SERVER));
	assert_true(is_trusted(&s, "both.crt", GNUTLS_KP_TLS_WWW_CLIENT));
	close_scene(&s);
}

static void test_plan__other_names_make_it_again(void **state _unused_)
{
	const char *const same[] = {"fd00:0::1", "10.1.2.3", "*.b.example.com", "a.example.com"};
	const char *const other[] = {"a.example.com", "*.b.example.com", "10.1.2.3", "fd00::2"};
	struct cert certs[2] = {some_certs[0], some_certs[1]};
	const struct certs_plan plan = {certs, 2, 30, 0, true};
	struct scene s;
	open_scene(&s);
	assert_string_equal(carry_out(&s, &plan, NOW_S), "mm");
	certs[1].recipe.names = same;
	assert_string_equal(carry_out(&s, &plan, NOW_S), "kk");
	certs[1].recipe.n_names = 3;
	assert_string_equal(carry_out(&s, &plan, NOW_S), "km");
	certs[1].recipe.n_names = 4;
	assert_string_equal(carry_out(&s, &plan, NOW_S), "km");
	certs[1].recipe.names = other;
	assert_string_equal(carry_out(&s, &plan, NOW_S), "km");
	close_scene(&s);
}

static void test_plan__says_when_to_renew(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	const struct certs_plan plan = {some_certs, 2, 30, 5, true};
	assert_string_equal(carry_out(&s, &plan, NOW_S), "mm");
	assert_string_equal(carry_out(&s, &plan, NOW_S + 25 * DAY_S), "kk");
	assert_string_equal(carry_out(&s, &plan, NOW_S + 25 * DAY_S + 1), "km");
	close_scene(&s);
}

static void test_plan__old_ca_keeps_its_key(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	const struct certs_plan plan = {some_certs, 2, 1000, 0, true};
	assert_string_equal(carry_out(&s, &plan, NOW_S), "mm");
	assert_string_equal(carry_out(&s, &plan, NOW_S + (int64_t)2400 * DAY_S), "km");
	char *key = read_file(&s, "ca.key"), *before = read_file(&s, "ca.crt");
	assert_string_equal(carry_out(&s, &plan, NOW_S + (int64_t)2500 * DAY_S), "mk");
	char *same = read_file(&s, "ca.key"), *after = read_file(&s, "ca.crt");
	assert_string_equal(key, same);
	assert_string_not_equal(before, after);
	assert_true(is_trusted(&s, "both.crt", GNUTLS_KP_TLS_WWW_SERVER));
	mem_free(key);
	mem_free(before);
	mem_free(same);
	mem_free(after);
	close_scene(&s);
}

static void test_plan__ca_that_others_trust_is_not_replaced(void **state _unused_)
{
	static const char *const files[] = {"ca.key", "ca.crt"};
	struct certs_plan plan = {some_certs, 2, 30, 0, true};
	struct scene s;
	open_scene(&s);
	assert_string_equal(carry_out(&s, &plan, NOW_S), "mm");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char *good = read_file(&s, files[i]);
		spoil(&s, files[i]);
		assert_string_equal(carry_out(&s, &plan, NOW_S), "r");
		char *still = read_file(&s, files[i]);
		assert_string_equal(still, "garbage");
		struct buf err;
		buf_init(&err, 1024);
		assert_int_equal(datadir_write(&s.dir, files[i], str_of(good), 0600, &err), 0);
		assert_string_equal(carry_out(&s, &plan, NOW_S), "kk");
		buf_done(&err);
		mem_free(still);
		mem_free(good);
	}
	spoil(&s, "ca.key");
	plan.keeps_ca = false;
	assert_string_equal(carry_out(&s, &plan, NOW_S), "mm");
	close_scene(&s);
}

/* ---- kubeconfig ---- */

static void write_kubeconfig(struct scene *s, const char *url)
{
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(kubeconfig_ensure(&s->dir, url, &err), 0);
	buf_done(&err);
}

static void test_kubeconfig__embeds_everything_for_its_owner_alone(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	write_kubeconfig(&s, "https://127.0.0.1:1234");
	assert_int_equal(mode_of(&s, "kubeconfig"), 0600);

	char *text = read_file(&s, "kubeconfig");
	assert_non_null(strstr(text, "    server: https://127.0.0.1:1234\n"));
	assert_non_null(strstr(text, "current-context: annals\n"));
	assert_null(strstr(text, s.path)); /* no file names: it may be copied */
	mem_free(text);
	close_scene(&s);
}

static ino_t inode_of(struct scene *s, const char *name)
{
	struct stat st;
	_cleanup_(mem_freep) char *path = datadir_file(&s->dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void test_kubeconfig__is_left_alone_while_it_is_right(void **state _unused_)
{
	struct scene s;
	open_scene(&s);
	ensure(&s, NOW_S);
	write_kubeconfig(&s, "https://127.0.0.1:1234");
	ino_t before = inode_of(&s, "kubeconfig");
	write_kubeconfig(&s, "https://127.0.0.1:1234");
	assert_int_equal(inode_of(&s, "kubeconfig"), before);

	write_kubeconfig(&s, "https://127.0.0.1:5678");
	char *text = read_file(&s, "kubeconfig");
	assert_non_null(strstr(text, "https://127.0.0.1:5678"));
	mem_free(text);
	close_scene(&s);
}

static void test_kubeconfig__without_certificates_is_refused(void **state _unused_)
{
	struct scene s;
	struct buf err;
	open_scene(&s);
	buf_init(&err, 1024);
	assert_true(kubeconfig_ensure(&s.dir, "https://127.0.0.1:1", &err) < 0);
	assert_non_null(strstr(err.p, "ca.crt: No such file"));
	buf_done(&err);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_certs__are_made_once),
		TEST(test_certs__keys_are_their_owners_alone),
		TEST(test_certs__server_is_for_this_host),
		TEST(test_certs__each_serves_its_purpose_only),
		TEST(test_certs__admin_and_controllers_are_masters),
		TEST(test_certs__are_renewed_in_their_last_third),
		TEST(test_certs__new_ca_signs_all_anew),
		TEST(test_certs__broken_pair_is_made_again),
		TEST(test_certs__key_of_another_is_made_again),
		TEST(test_certs__misshapen_keys_are_written_again_and_nothing_else),
		TEST(test_certs__keys_in_other_forms_are_left_alone),
		TEST(test_plan__certificate_has_the_names_and_purposes_it_should),
		TEST(test_plan__other_names_make_it_again),
		TEST(test_plan__says_when_to_renew),
		TEST(test_plan__old_ca_keeps_its_key),
		TEST(test_plan__ca_that_others_trust_is_not_replaced),
		TEST(test_kubeconfig__embeds_everything_for_its_owner_alone),
		TEST(test_kubeconfig__is_left_alone_while_it_is_right),
		TEST(test_kubeconfig__without_certificates_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
