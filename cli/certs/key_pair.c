/* X.509 by GnuTLS, which is in the process for TLS anyway. Keys are on P-256: a handshake costs
 * the server a fifth of what it costs with RSA-2048, and whoever watches connects often. */
#include "cli/certs/key_pair.h"
#include "base/ids.h"

#include <arpa/inet.h>
#include <assert.h>

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
			/* The certificate must have exactly the wanted names: an old name makes it stale as well. */
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

/* The serial number is positive. With 127 random bits it is unique. */
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

/* The certificate with its key and serial number, without a signature. */
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

/* GnuTLS knows the subject of a certificate only after reading it. Before that, it finds nothing that the certificate has
 * signed. */
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
	assert(life_s > 0);
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
	assert(p->crt && p->key);
	unsigned char a[KEY_ID_SIZE], b[KEY_ID_SIZE];
	size_t n_a = sizeof(a), n_b = sizeof(b);
	return gnutls_x509_crt_get_key_id(p->crt, 0, a, &n_a) >= 0 && gnutls_x509_privkey_get_key_id(p->key, 0, b, &n_b) >= 0 &&
		n_a == n_b && memcmp(a, b, n_a) == 0;
}

bool key_pair_is_signed_by(const struct key_pair *p, const struct key_pair *issuer)
{
	assert(p->crt && issuer->crt);
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

/* ---- private keys as files ----
 *
 * The header says which defect of GnuTLS this works around. It can go when GnuTLS pads the private value in PKCS #8. All
 * lengths are constant for P-256, so a template with three numbers is simpler and safer than an ASN.1 writer. */

enum {
	VALUE_SIZE = 32, /* of a number modulo P-256's order or field */
	DER_VALUE = 36,  /* offset of the private value in `layout` */
	DER_POINT = 74,  /* offset of the public point's two coordinates */
	DER_SIZE = DER_POINT + 2 * VALUE_SIZE,
};

/* PKCS #8 (RFC 5208) around ECPrivateKey (RFC 5915). All lengths are known: only the numbers differ from key to key. */
static const unsigned char layout[DER_SIZE] = {
	0x30, 0x81, 0x87,                                           /* PrivateKeyInfo */
	0x02, 0x01, 0x00,                                           /* version 0 */
	0x30, 0x13,                                                 /* AlgorithmIdentifier */
	0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,       /* id-ecPublicKey */
	0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, /* prime256v1 */
	0x04, 0x6d, 0x30, 0x6b,                                     /* ECPrivateKey */
	0x02, 0x01, 0x01,                                           /* version 1 */
	0x04, VALUE_SIZE,                                           /* the private value */
	[DER_VALUE + VALUE_SIZE] = 0xa1, 0x44, 0x03, 0x42, 0x00,    /* the public point, as a BIT STRING ... */
	0x04,                                                       /* ... uncompressed */
};
_Static_assert(DER_SIZE == 138, "as RFC 5208 and RFC 5915 add up");

/* Writes a number of the key, right-aligned. GnuTLS gives more octets or fewer. */
static bool put_number(unsigned char *out, const gnutls_datum_t *number)
{
	const unsigned char *p = number->data;
	size_t n = number->size;
	while (n > VALUE_SIZE && *p == 0) {
		p++;
		n--;
	}
	if (n > VALUE_SIZE) {
		return false;
	}
	memset(out, 0, VALUE_SIZE - n);
	memcpy(out + VALUE_SIZE - n, p, n);
	return true;
}

/* Private values do not stay in freed memory. */
static void wipe(gnutls_datum_t *d)
{
	if (d->data) {
		gnutls_memset(d->data, 0, d->size);
		gnutls_free(d->data);
	}
	*d = (gnutls_datum_t){NULL, 0};
}

/* Returns false if the key is not on P-256. */
static bool fill_layout(unsigned char *out, gnutls_x509_privkey_t key)
{
	gnutls_ecc_curve_t curve;
	gnutls_datum_t x = {NULL, 0}, y = {NULL, 0}, value = {NULL, 0};
	if (gnutls_x509_privkey_get_pk_algorithm(key) != GNUTLS_PK_ECDSA ||
		gnutls_x509_privkey_export_ecc_raw(key, &curve, &x, &y, &value) < 0) {
		return false;
	}
	memcpy(out, layout, sizeof(layout));
	bool is_filled = curve == GNUTLS_ECC_CURVE_SECP256R1 && put_number(out + DER_VALUE, &value) &&
		put_number(out + DER_POINT, &x) && put_number(out + DER_POINT + VALUE_SIZE, &y);
	wipe(&x);
	wipe(&y);
	wipe(&value);
	return is_filled;
}

int private_key_export(gnutls_x509_privkey_t key, gnutls_datum_t *ret_pem)
{
	unsigned char der[DER_SIZE];
	if (!fill_layout(der, key)) {
		return gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, ret_pem);
	}
	int e = gnutls_pem_base64_encode2("PRIVATE KEY", &(gnutls_datum_t){der, sizeof(der)}, ret_pem);
	gnutls_memset(der, 0, sizeof(der));
	return e;
}

/* Looks for the bytes before the private value's length. The lengths between them depend on it. */
static bool has_other_length(const unsigned char *der, size_t n)
{
	static const unsigned char curve[] = {0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
	static const unsigned char version[] = {0x02, 0x01, 0x01, 0x04};
	const unsigned char *end = der + n, *p = memmem(der, n, curve, sizeof(curve));
	p = p ? memmem(p, (size_t)(end - p), version, sizeof(version)) : NULL;
	return p && (size_t)(end - p) > sizeof(version) && p[sizeof(version)] != VALUE_SIZE;
}

bool private_key_is_misshapen(struct str pem)
{
	gnutls_datum_t der, text = {(unsigned char *)(uintptr_t)pem.p, (unsigned)pem.n};
	if (gnutls_pem_base64_decode2("PRIVATE KEY", &text, &der) < 0) {
		return false;
	}
	bool is_misshapen = has_other_length(der.data, der.size);
	wipe(&der);
	return is_misshapen;
}
