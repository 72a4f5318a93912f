#include "tests/unit/tls_pki.h"

#include "tests/unit/check.h"

#include <dirent.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DAY = 86400 };

#define assert_gnutls(call) assert_true((call) >= 0)

char *pki_path(const char *folder, const char *name, const char *extension)
{
	return mem_printf("%s/%s.%s", folder, name, extension);
}

char *pki_open(void)
{
	char *folder = mem_strdup("/tmp/annals-pki-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return folder;
}

void pki_close(char *folder)
{
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		unlinkat(dirfd(dir), e->d_name, 0);
	}
	closedir(dir);
	rmdir(folder);
	mem_free(folder);
}

/* As programs that rotate certificates do: a new file takes the place of the old one. */
static void write_pem(const char *folder, const char *name, const char *extension, const gnutls_datum_t *pem)
{
	_cleanup_(mem_freep) char *path = pki_path(folder, name, extension);
	_cleanup_(mem_freep) char *new = mem_printf("%s.new", path);
	FILE *f = fopen(new, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(pem->data, 1, pem->size, f), pem->size);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(rename(new, path), 0);
}

static gnutls_datum_t read_pem(const char *folder, const char *name, const char *extension)
{
	_cleanup_(mem_freep) char *path = pki_path(folder, name, extension);
	gnutls_datum_t pem;
	assert_gnutls(gnutls_load_file(path, &pem));
	return pem;
}

static gnutls_x509_privkey_t make_key(void)
{
	gnutls_x509_privkey_t key;
	assert_gnutls(gnutls_x509_privkey_init(&key));
	assert_gnutls(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	return key;
}

static void set_names(gnutls_x509_crt_t cert, const struct pki_spec *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(spec->organizations) && spec->organizations[i]; i++) {
		const char *name = spec->organizations[i];
		assert_gnutls(gnutls_x509_crt_set_dn_by_oid(
			cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, name, (unsigned)strlen(name)));
	}
	for (unsigned i = 0; i < spec->n_groups; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "group-%u", i);
		assert_gnutls(gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, name, (unsigned)n));
	}
	const char *names[] = {spec->common_name, spec->second_name};
	for (size_t i = 0; i < ARRAY_SIZE(names) && names[i]; i++) {
		assert_gnutls(gnutls_x509_crt_set_dn_by_oid(
			cert, GNUTLS_OID_X520_COMMON_NAME, 0, names[i], (unsigned)strlen(names[i])));
	}
}

static void set_use(gnutls_x509_crt_t cert, const struct pki_spec *spec)
{
	static _Atomic uint8_t serial;
	uint8_t number = (uint8_t)(++serial & 0x7f);
	time_t now = time(NULL);
	bool is_ca = spec->is_ca || !spec->issuer;
	assert_gnutls(gnutls_x509_crt_set_version(cert, 3));
	assert_gnutls(gnutls_x509_crt_set_serial(cert, &number, sizeof(number)));
	assert_gnutls(gnutls_x509_crt_set_activation_time(cert, now + (spec->begins_in_s ? spec->begins_in_s : -3 * DAY)));
	assert_gnutls(gnutls_x509_crt_set_expiration_time(cert, now + (spec->ends_in_s ? spec->ends_in_s : DAY)));
	assert_gnutls(gnutls_x509_crt_set_basic_constraints(cert, is_ca, -1));
	assert_gnutls(gnutls_x509_crt_set_key_usage(cert, is_ca ? GNUTLS_KEY_KEY_CERT_SIGN : GNUTLS_KEY_DIGITAL_SIGNATURE));
	if (!is_ca && !spec->is_for_all) {
		const char *purpose = spec->is_server ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT;
		assert_gnutls(gnutls_x509_crt_set_key_purpose_oid(cert, purpose, 0));
		assert_gnutls(gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_SET));
	}
}

static void sign(const char *folder, const struct pki_spec *spec, gnutls_x509_crt_t cert, gnutls_x509_privkey_t key)
{
	if (!spec->issuer) {
		assert_gnutls(gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0));
		return;
	}
	gnutls_datum_t ca_pem = read_pem(folder, spec->issuer, "crt"), key_pem = read_pem(folder, spec->issuer, "key");
	gnutls_x509_crt_t ca;
	gnutls_x509_privkey_t ca_key;
	assert_gnutls(gnutls_x509_crt_init(&ca));
	assert_gnutls(gnutls_x509_crt_import(ca, &ca_pem, GNUTLS_X509_FMT_PEM));
	assert_gnutls(gnutls_x509_privkey_init(&ca_key));
	assert_gnutls(gnutls_x509_privkey_import(ca_key, &key_pem, GNUTLS_X509_FMT_PEM));
	assert_gnutls(gnutls_x509_crt_sign2(cert, ca, ca_key, GNUTLS_DIG_SHA256, 0));
	gnutls_x509_privkey_deinit(ca_key);
	gnutls_x509_crt_deinit(ca);
	gnutls_free(ca_pem.data);
	gnutls_free(key_pem.data);
}

void pki_make(const char *folder, const struct pki_spec *spec)
{
	gnutls_x509_crt_t cert;
	gnutls_x509_privkey_t key = make_key();
	assert_gnutls(gnutls_x509_crt_init(&cert));
	assert_gnutls(gnutls_x509_crt_set_key(cert, key));
	set_names(cert, spec);
	set_use(cert, spec);
	sign(folder, spec, cert, key);

	gnutls_datum_t cert_pem, key_pem;
	assert_gnutls(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &cert_pem));
	assert_gnutls(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_pem));
	write_pem(folder, spec->name, "key", &key_pem);
	write_pem(folder, spec->name, "crt", &cert_pem);
	gnutls_free(cert_pem.data);
	gnutls_free(key_pem.data);
	gnutls_x509_crt_deinit(cert);
	gnutls_x509_privkey_deinit(key);
}
