#include "cli/certs.h"

#include "base/ids.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <unistd.h>

enum {
	DAY_S = 24 * 60 * 60,
	BACKDATE_S = 5 * 60, /* clients' clocks may be a little behind */
	SERIAL_SIZE = 16,
	PEM_MAX = 64 * 1024,
	HOST_NAME_SIZE = 256,
};

/* ---- GnuTLS objects ---- */

struct pair {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
};

static void pair_done(struct pair *p)
{
	if (p->crt) {
		gnutls_x509_crt_deinit(p->crt);
	}
	if (p->key) {
		gnutls_x509_privkey_deinit(p->key);
	}
	*p = (struct pair){NULL, NULL};
}

/* What kind of certificate is wanted. */
struct recipe {
	const char *name; /* of the files: NAME.crt, NAME.key */
	const char *common_name, *organization;
	int64_t life_s;
	unsigned usage;      /* GNUTLS_KEY_* */
	const char *purpose; /* extended key usage; NULL: a CA, signed by itself */
	bool names_host;     /* has the names and addresses of this host */
};

static const struct recipe recipes[] = {
	{"ca", "annals-ca", NULL, (int64_t)3650 * DAY_S, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN, NULL, false},
	{"server", "annals", NULL, (int64_t)365 * DAY_S, GNUTLS_KEY_DIGITAL_SIGNATURE, GNUTLS_KP_TLS_WWW_SERVER, true},
	{"admin", "annals-admin", "system:masters", (int64_t)365 * DAY_S, GNUTLS_KEY_DIGITAL_SIGNATURE,
		GNUTLS_KP_TLS_WWW_CLIENT, false},
	{"controllers", "system:annals-controllers", "system:masters", (int64_t)365 * DAY_S, GNUTLS_KEY_DIGITAL_SIGNATURE,
		GNUTLS_KP_TLS_WWW_CLIENT, false},
};

static bool is_ca(const struct recipe *r)
{
	return !r->purpose;
}

/* What making and checking needs to know. */
struct making {
	const struct datadir *dir;
	int64_t now_s;
	char host_name[HOST_NAME_SIZE];
	struct pair ca; /* once it is there */
	unsigned n_made;
	struct buf *err;
};

static int refuse_gnutls(struct making *m, const struct recipe *r, const char *what, int error)
{
	buf_printf(m->err, "cannot %s the certificate %s/%s.crt: %s", what, m->dir->path, r->name, gnutls_strerror(error));
	return -EINVAL;
}

/* ---- making ---- */

static const unsigned char loopback_v4[] = {127, 0, 0, 1};
static const unsigned char loopback_v6[16] = {[15] = 1};

static const struct {
	gnutls_x509_subject_alt_name_t type;
	const void *value;
	unsigned n;
} local_names[] = {
	{GNUTLS_SAN_IPADDRESS, loopback_v4, sizeof(loopback_v4)},
	{GNUTLS_SAN_IPADDRESS, loopback_v6, sizeof(loopback_v6)},
	{GNUTLS_SAN_DNSNAME, "localhost", 9},
	{GNUTLS_SAN_DNSNAME, "kubernetes", 10},
};

static int add_host_names(gnutls_x509_crt_t crt, const char *host_name)
{
	int e = 0;
	for (size_t i = 0; i < ARRAY_SIZE(local_names) && e >= 0; i++) {
		e = gnutls_x509_crt_set_subject_alt_name(
			crt, local_names[i].type, local_names[i].value, local_names[i].n, GNUTLS_FSAN_APPEND);
	}
	if (e >= 0 && host_name[0]) {
		e = gnutls_x509_crt_set_subject_alt_name(
			crt, GNUTLS_SAN_DNSNAME, host_name, (unsigned)strlen(host_name), GNUTLS_FSAN_APPEND);
	}
	return e;
}

static int set_name(gnutls_x509_crt_t crt, const struct recipe *r)
{
	int e = gnutls_x509_crt_set_dn_by_oid(
		crt, GNUTLS_OID_X520_COMMON_NAME, 0, r->common_name, (unsigned)strlen(r->common_name));
	if (e >= 0 && r->organization) {
		e = gnutls_x509_crt_set_dn_by_oid(
			crt, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, r->organization, (unsigned)strlen(r->organization));
	}
	return e;
}

/* The serial number is positive and, at 127 random bits, nobody else's. */
static int set_serial(gnutls_x509_crt_t crt)
{
	unsigned char serial[SERIAL_SIZE];
	random_bytes(serial, sizeof(serial));
	serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
	return gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
}

static int set_key_ids(const struct pair *p, gnutls_x509_crt_t issuer)
{
	unsigned char id[64];
	size_t n = sizeof(id);
	int e = gnutls_x509_crt_get_key_id(p->crt, 0, id, &n);
	if (e >= 0) {
		e = gnutls_x509_crt_set_subject_key_id(p->crt, id, n);
	}
	n = sizeof(id);
	if (e >= 0) {
		e = gnutls_x509_crt_get_key_id(issuer, 0, id, &n);
	}
	return e < 0 ? e : gnutls_x509_crt_set_authority_key_id(p->crt, id, n);
}

static int set_purpose(gnutls_x509_crt_t crt, const struct recipe *r)
{
	int e = gnutls_x509_crt_set_basic_constraints(crt, is_ca(r), is_ca(r) ? 0 : -1);
	if (e >= 0) {
		e = gnutls_x509_crt_set_key_usage(crt, r->usage);
	}
	if (e >= 0 && r->purpose) {
		e = gnutls_x509_crt_set_key_purpose_oid(crt, r->purpose, 0);
	}
	return e;
}

static int set_life(gnutls_x509_crt_t crt, const struct recipe *r, int64_t now_s)
{
	int e = gnutls_x509_crt_set_activation_time(crt, now_s - BACKDATE_S);
	return e < 0 ? e : gnutls_x509_crt_set_expiration_time(crt, now_s + r->life_s);
}

static int generate_key(struct pair *p)
{
	int e = gnutls_x509_privkey_init(&p->key);
	if (e >= 0) {
		e = gnutls_x509_privkey_generate(p->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	}
	return e;
}

/* Everything but names, and signed by nobody yet. */
static int generate_body(const struct making *m, const struct recipe *r, struct pair *p)
{
	int e = gnutls_x509_crt_init(&p->crt);
	if (e >= 0) {
		e = gnutls_x509_crt_set_version(p->crt, 3);
	}
	if (e >= 0) {
		e = gnutls_x509_crt_set_key(p->crt, p->key);
	}
	if (e >= 0) {
		e = set_serial(p->crt);
	}
	if (e >= 0) {
		e = set_life(p->crt, r, m->now_s);
	}
	return e < 0 ? e : set_purpose(p->crt, r);
}

static int generate_pair(const struct making *m, const struct recipe *r, struct pair *p)
{
	int e = generate_key(p);
	if (e >= 0) {
		e = generate_body(m, r, p);
	}
	if (e >= 0) {
		e = set_name(p->crt, r);
	}
	if (e >= 0 && r->names_host) {
		e = add_host_names(p->crt, m->host_name);
	}
	const struct pair *issuer = is_ca(r) ? p : &m->ca;
	if (e >= 0) {
		e = set_key_ids(p, issuer->crt);
	}
	return e < 0 ? e : gnutls_x509_crt_sign2(p->crt, issuer->crt, issuer->key, GNUTLS_DIG_SHA256, 0);
}

/* ---- files ---- */

static int write_pem(struct making *m, const struct recipe *r, const char *suffix, mode_t mode, gnutls_datum_t *pem)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s.%s", r->name, suffix);
	int result = datadir_write(m->dir, name, (struct str){(const char *)pem->data, pem->size}, mode, m->err);
	gnutls_memset(pem->data, 0, pem->size);
	gnutls_free(pem->data);
	return result;
}

/* The key goes first: a certificate without its key is noticed and made again. */
static int write_pair(struct making *m, const struct recipe *r, const struct pair *p)
{
	gnutls_datum_t pem;
	int e = gnutls_x509_privkey_export2_pkcs8(p->key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem);
	if (e < 0) {
		return refuse_gnutls(m, r, "make", e);
	}
	int result = write_pem(m, r, "key", 0600, &pem);
	if (result) {
		return result;
	}
	e = gnutls_x509_crt_export2(p->crt, GNUTLS_X509_FMT_PEM, &pem);
	return e < 0 ? refuse_gnutls(m, r, "make", e) : write_pem(m, r, "crt", 0644, &pem);
}

typedef int (*pem_importer)(struct pair *p, const gnutls_datum_t *pem);

static int import_crt(struct pair *p, const gnutls_datum_t *pem)
{
	int e = gnutls_x509_crt_init(&p->crt);
	return e < 0 ? e : gnutls_x509_crt_import(p->crt, pem, GNUTLS_X509_FMT_PEM);
}

static int import_key(struct pair *p, const gnutls_datum_t *pem)
{
	int e = gnutls_x509_privkey_init(&p->key);
	return e < 0 ? e : gnutls_x509_privkey_import2(p->key, pem, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
}

static bool read_pem(const struct datadir *d, const struct recipe *r, const char *suffix, pem_importer import, struct pair *p)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s.%s", r->name, suffix);
	struct buf text;
	buf_init(&text, PEM_MAX);
	bool is_read = datadir_read(d, name, &text) == 0;
	if (is_read) {
		gnutls_datum_t pem = {(unsigned char *)text.p, (unsigned)text.n};
		is_read = import(p, &pem) >= 0;
		gnutls_memset(text.p, 0, text.n);
	}
	buf_done(&text);
	return is_read;
}

static bool read_pair(const struct datadir *d, const struct recipe *r, struct pair *p)
{
	return read_pem(d, r, "crt", import_crt, p) && read_pem(d, r, "key", import_key, p);
}

/* ---- judging ---- */

static bool is_key_of(const struct pair *p)
{
	unsigned char a[64], b[64];
	size_t n_a = sizeof(a), n_b = sizeof(b);
	return gnutls_x509_crt_get_key_id(p->crt, 0, a, &n_a) >= 0 && gnutls_x509_privkey_get_key_id(p->key, 0, b, &n_b) >= 0 &&
		n_a == n_b && memcmp(a, b, n_a) == 0;
}

static bool is_fresh(const struct pair *p, int64_t now_s)
{
	int64_t begin = gnutls_x509_crt_get_activation_time(p->crt), end = gnutls_x509_crt_get_expiration_time(p->crt);
	return begin <= now_s && end - now_s >= (end - begin) / 3;
}

static bool is_signed_by(const struct pair *p, gnutls_x509_crt_t issuer)
{
	unsigned status;
	return gnutls_x509_crt_verify(p->crt, &issuer, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status) >= 0 && status == 0;
}

static bool has_host_name(const struct pair *p, const char *host_name)
{
	return !host_name[0] || gnutls_x509_crt_check_hostname(p->crt, host_name) != 0;
}

static bool is_usable(const struct making *m, const struct recipe *r, const struct pair *p)
{
	return is_key_of(p) && is_fresh(p, m->now_s) && is_signed_by(p, is_ca(r) ? p->crt : m->ca.crt) &&
		(!r->names_host || has_host_name(p, m->host_name));
}

/* ---- all of them ---- */

static int make_pair(struct making *m, const struct recipe *r, struct pair *p)
{
	int e = generate_pair(m, r, p);
	if (e < 0) {
		return refuse_gnutls(m, r, "make", e);
	}
	m->n_made++;
	return write_pair(m, r, p);
}

static int ensure_pair(struct making *m, const struct recipe *r)
{
	_cleanup_(pair_done) struct pair p = {NULL, NULL};
	int result = 0;
	if (!read_pair(m->dir, r, &p) || !is_usable(m, r, &p)) {
		pair_done(&p);
		result = make_pair(m, r, &p);
	}
	if (is_ca(r)) {
		m->ca.crt = take_ptr(p.crt);
		m->ca.key = take_ptr(p.key);
	}
	return result;
}

int certs_ensure(const struct datadir *d, int64_t now_s, unsigned *ret_n_made, struct buf *err)
{
	struct making m = {.dir = d, .now_s = now_s, .err = err};
	if (gethostname(m.host_name, sizeof(m.host_name) - 1) < 0) {
		m.host_name[0] = '\0';
	}

	int result = 0;
	for (size_t i = 0; i < ARRAY_SIZE(recipes) && !result; i++) {
		result = ensure_pair(&m, &recipes[i]);
	}
	pair_done(&m.ca);
	if (!result && ret_n_made) {
		*ret_n_made = m.n_made;
	}
	return result;
}
