/* The header says which defect of GnuTLS this works around; it can go when its PKCS #8 export
 * pads the private value. All lengths are constant for P-256, so a template with three numbers
 * is simpler and safer than an ASN.1 writer. */
#include "cli/certs/private_key.h"

enum {
	VALUE_SIZE = 32, /* of a number modulo P-256's order or field */
	DER_VALUE = 36,  /* where the private value is in `layout` */
	DER_POINT = 74,  /* where the public point's two coordinates are */
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

/* The key's number, right-aligned: GnuTLS gives more octets, or fewer. */
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

/* False: the key is none of P-256. */
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

/* What stands in front of the private value's length. The lengths in between differ with it, and with what comes behind. */
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
