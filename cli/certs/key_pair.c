/* X.509 by GnuTLS, which is in the process for TLS anyway. Keys are on P-256: a handshake costs
 * the server a fifth of what it costs with RSA-2048, and whoever watches connects often. */
#include "cli/certs/key_pair.h"

#include "base/ids.h"
#include "cli/certs/private_key.h"

#include <arpa/inet.h>

enum {
	BACKDATE_S = 5 * 60, /* clients' clocks may be a little behind */
	/* RFC 5280 allows 20 octets; 16 are enough never to meet again. */
	SERIAL_SIZE = 16,
	KEY_ID_SIZE = 64,
	NAME_SIZE = 256,
	ADDRESS_SIZE = 16,
};

void key_pair_done(struct key_pair *p)
{
	if (p->crt) {
		gnutls_x509_crt_deinit(p->crt);
	}
	if (p->key) {
		gnutls_x509_privkey_deinit(p->key);
	}
	*p = (struct key_pair){.crt = NULL};
}

/* ---- names ---- */

/* A name as certificates have it. */
struct alternative {
	gnutls_x509_subject_alt_name_t type;
	unsigned char address[ADDRESS_SIZE];
	const void *value;
	size_t n;
};

static void alternative_init(struct alternative *a, const char *name)
{
	*a = (struct alternative){.type = GNUTLS_SAN_IPADDRESS, .value = a->address};
	if (inet_pton(AF_INET, name, a->address) == 1) {
		a->n = 4;
	} else if (inet_pton(AF_INET6, name, a->address) == 1) {
		a->n = 16;
	} else {
		*a = (struct alternative){.type = GNUTLS_SAN_DNSNAME, .value = name, .n = strlen(name)};
	}
}

static int add_names(gnutls_x509_crt_t crt, const struct key_pair_recipe *r)
{
	int e = 0;
	for (size_t i = 0; i < r->n_names && e >= 0; i++) {
		struct alternative a;
		alternative_init(&a, r->names[i]);
		e = gnutls_x509_crt_set_subject_alt_name(crt, a.type, a.value, (unsigned)a.n, GNUTLS_FSAN_APPEND);
	}
	return e;
}

static bool is_wanted(const struct key_pair_recipe *r, int type, const void *value, size_t n)
{
	for (size_t i = 0; i < r->n_names; i++) {
		struct alternative a;
		alternative_init(&a, r->names[i]);
		if ((int)a.type == type && a.n == n && memcmp(a.value, value, n) == 0) {
			return true;
		}
	}
	return false;
}

bool key_pair_has_names(const struct key_pair *p, const struct key_pair_recipe *r)
{
	char value[NAME_SIZE];
	unsigned i;
	for (i = 0; i <= r->n_names; i++) {
		size_t n = sizeof(value);
		int type = gnutls_x509_crt_get_subject_alt_name(p->crt, i, value, &n, NULL);
		if (type < 0) {
			/* Exactly as many: a name that is no longer wanted must go as well. */
			return type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE && i == r->n_names;
		}
		if (!is_wanted(r, type, value, n)) {
			return false;
		}
	}
	return false;
}

static int set_subject(gnutls_x509_crt_t crt, const struct key_pair_recipe *r)
{
	int e = gnutls_x509_crt_set_dn_by_oid(
		crt, GNUTLS_OID_X520_COMMON_NAME, 0, r->common_name, (unsigned)strlen(r->common_name));
	if (e >= 0 && r->organization) {
		e = gnutls_x509_crt_set_dn_by_oid(
			crt, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, r->organization, (unsigned)strlen(r->organization));
	}
	return e;
}

/* ---- making ---- */

/* The serial number is positive and, at 127 random bits, nobody else's. */
static int set_serial(gnutls_x509_crt_t crt)
{
	unsigned char serial[SERIAL_SIZE];
	random_bytes(serial, sizeof(serial));
	serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
	return gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
}

static int set_key_ids(const struct key_pair *p, gnutls_x509_crt_t issuer)
{
	unsigned char id[KEY_ID_SIZE];
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

static const struct {
	enum key_pair_purpose purpose;
	const char *oid;
} purposes[] = {
	{PAIR_SERVES, GNUTLS_KP_TLS_WWW_SERVER},
	{PAIR_CALLS, GNUTLS_KP_TLS_WWW_CLIENT},
};

static int set_purpose(gnutls_x509_crt_t crt, const struct key_pair_recipe *r)
{
	bool is_ca = key_pair_is_ca(r);
	int e = gnutls_x509_crt_set_basic_constraints(crt, is_ca, is_ca ? 0 : -1);
	if (e >= 0) {
		e = gnutls_x509_crt_set_key_usage(
			crt, is_ca ? GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN : GNUTLS_KEY_DIGITAL_SIGNATURE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(purposes) && e >= 0; i++) {
		if (r->purposes & purposes[i].purpose) {
			e = gnutls_x509_crt_set_key_purpose_oid(crt, purposes[i].oid, 0);
		}
	}
	return e;
}

static int set_life(gnutls_x509_crt_t crt, int64_t now_s, int64_t life_s)
{
	int e = gnutls_x509_crt_set_activation_time(crt, now_s - BACKDATE_S);
	return e < 0 ? e : gnutls_x509_crt_set_expiration_time(crt, now_s + life_s);
}

static int ensure_key(struct key_pair *p)
{
	if (p->key) {
		return 0;
	}
	int e = gnutls_x509_privkey_init(&p->key);
	if (e >= 0) {
		e = gnutls_x509_privkey_generate(p->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	}
	return e;
}

/* Whose it is, and signed by nobody yet. */
static int generate_body(struct key_pair *p)
{
	int e = gnutls_x509_crt_init(&p->crt);
	if (e >= 0) {
		e = gnutls_x509_crt_set_version(p->crt, 3);
	}
	if (e >= 0) {
		e = gnutls_x509_crt_set_key(p->crt, p->key);
	}
	return e < 0 ? e : set_serial(p->crt);
}

/* Of a certificate that was not read GnuTLS does not know the subject, and finds nothing signed by it. */
static int read_again(struct key_pair *p)
{
	gnutls_datum_t pem;
	int e = key_pair_export_crt(p, &pem);
	if (e < 0) {
		return e;
	}
	gnutls_x509_crt_deinit(p->crt);
	p->crt = NULL;
	e = key_pair_import_crt(p, (struct str){(const char *)pem.data, pem.size});
	gnutls_free(pem.data);
	return e;
}

int key_pair_make(
	struct key_pair *p, const struct key_pair_recipe *r, const struct key_pair *issuer, int64_t now_s, int64_t life_s)
{
	issuer = issuer ? issuer : p;
	int e = ensure_key(p);
	if (e >= 0) {
		e = generate_body(p);
	}
	if (e >= 0) {
		e = set_life(p->crt, now_s, life_s);
	}
	if (e >= 0) {
		e = set_purpose(p->crt, r);
	}
	if (e >= 0) {
		e = set_subject(p->crt, r);
	}
	if (e >= 0) {
		e = add_names(p->crt, r);
	}
	if (e >= 0) {
		e = set_key_ids(p, issuer->crt);
	}
	if (e >= 0) {
		e = gnutls_x509_crt_sign2(p->crt, issuer->crt, issuer->key, GNUTLS_DIG_SHA256, 0);
	}
	return e < 0 ? e : read_again(p);
}

/* ---- as text ---- */

int key_pair_import_crt(struct key_pair *p, struct str pem)
{
	gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.p, (unsigned)pem.n};
	int e = gnutls_x509_crt_init(&p->crt);
	return e < 0 ? e : gnutls_x509_crt_import(p->crt, &text, GNUTLS_X509_FMT_PEM);
}

int key_pair_import_key(struct key_pair *p, struct str pem)
{
	gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.p, (unsigned)pem.n};
	p->has_misshapen_key = private_key_is_misshapen(pem);
	int e = gnutls_x509_privkey_init(&p->key);
	return e < 0 ? e : gnutls_x509_privkey_import2(p->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
}

int key_pair_export_crt(const struct key_pair *p, gnutls_datum_t *ret_pem)
{
	return gnutls_x509_crt_export2(p->crt, GNUTLS_X509_FMT_PEM, ret_pem);
}

int key_pair_export_key(const struct key_pair *p, gnutls_datum_t *ret_pem)
{
	return private_key_export(p->key, ret_pem);
}

/* ---- judging ---- */

bool key_pair_belongs_together(const struct key_pair *p)
{
	unsigned char a[KEY_ID_SIZE], b[KEY_ID_SIZE];
	size_t n_a = sizeof(a), n_b = sizeof(b);
	return gnutls_x509_crt_get_key_id(p->crt, 0, a, &n_a) >= 0 && gnutls_x509_privkey_get_key_id(p->key, 0, b, &n_b) >= 0 &&
		n_a == n_b && memcmp(a, b, n_a) == 0;
}

bool key_pair_is_signed_by(const struct key_pair *p, const struct key_pair *issuer)
{
	unsigned status;
	gnutls_x509_crt_t ca = issuer->crt;
	return gnutls_x509_crt_verify(p->crt, &ca, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status) >= 0 && status == 0;
}

int64_t key_pair_begin_s(const struct key_pair *p)
{
	return gnutls_x509_crt_get_activation_time(p->crt);
}

int64_t key_pair_end_s(const struct key_pair *p)
{
	return gnutls_x509_crt_get_expiration_time(p->crt);
}
