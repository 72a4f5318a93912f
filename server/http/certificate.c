/* Names are asked of GnuTLS one by one, and whatever cannot be read makes the certificate nobody's.
 * Half of its organizations, or half a name, would be another user, who may have other rights.
 * Kubernetes' uid has no name in GnuTLS: it comes as DER, of which only the string types are taken
 * that are text as they stand. */
#include "server/http/certificate.h"

#include "base/hex.h"

/* What Kubernetes has for itself below its enterprise number (k8s.io/apiserver asn1util.X509UID). */
#define OID_UID "1.3.6.1.4.1.57683.2"

enum {
	MAX_ORGANIZATIONS = 512, /* groups of the user; GnuTLS looks for each from the beginning on */
	MAX_NAME = 1024,         /* bytes */
	TAG_UTF8 = 12,
	TAG_PRINTABLE = 19,
	TAG_IA5 = 22,
};

/* The index-th name of that kind: 0, or GnuTLS's error. is_raw: in DER, of names that GnuTLS does not know. */
static int read_name(
	gnutls_x509_crt_t cert, struct arena *a, const char *oid, unsigned index, bool is_raw, struct str *ret)
{
	char name[MAX_NAME];
	size_t n = sizeof(name);
	int r = gnutls_x509_crt_get_dn_by_oid(cert, oid, index, is_raw, name, &n);
	if (r >= 0) {
		*ret = arena_dup(a, (struct str){name, n});
	}
	return r;
}

/* Of several the last, as crypto/x509 has it; empty when one cannot be read. */
static struct str read_common_name(gnutls_x509_crt_t cert, struct arena *a)
{
	struct str name = {NULL, 0};
	int r = 0;
	for (unsigned i = 0; r >= 0; i++) {
		r = read_name(cert, a, GNUTLS_OID_X520_COMMON_NAME, i, false, &name);
	}
	return r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE ? name : (struct str){NULL, 0};
}

/* All or none: a user with fewer groups would be another user. */
static bool read_organizations(gnutls_x509_crt_t cert, struct arena *a, struct http_peer *ret)
{
	struct str organizations[MAX_ORGANIZATIONS + 1];
	size_t n = 0;
	int r = 0;
	while (n < ARRAY_SIZE(organizations) && r >= 0) {
		r = read_name(cert, a, GNUTLS_OID_X520_ORGANIZATION_NAME, (unsigned)n, false, &organizations[n]);
		n += r >= 0;
	}
	if (r != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
		return false;
	}
	struct str *copy = arena_array(a, struct str, n);
	memcpy(copy, organizations, n * sizeof(*copy));
	ret->organizations = copy;
	ret->n_organizations = n;
	return true;
}

static struct str fingerprint_of(const gnutls_datum_t *der, struct arena *a)
{
	unsigned char digest[32];
	size_t n = sizeof(digest);

	if (gnutls_fingerprint(GNUTLS_DIG_SHA256, der, digest, &n) < 0) {
		return (struct str){NULL, 0};
	}
	char *text = arena_text(a, 2 * n);
	hex_write(text, digest, n);
	return (struct str){text, 2 * n};
}

/* A string in DER, of the kinds that are text as they are. */
static bool read_der_text(struct str der, struct str *ret)
{
	const unsigned char *p = (const unsigned char *)der.p;
	if (der.n < 2 || (p[0] != TAG_UTF8 && p[0] != TAG_PRINTABLE && p[0] != TAG_IA5)) {
		return false;
	}
	size_t head = p[1] < 0x80 ? 2 : p[1] == 0x81 && der.n >= 3 ? 3 : p[1] == 0x82 && der.n >= 4 ? 4 : 0;
	size_t n = head == 2 ? p[1] : head == 3 ? p[2] : head == 4 ? (size_t)p[2] << 8 | p[3] : 0;
	*ret = (struct str){der.p + head, n};
	return head > 0 && n > 0 && der.n == head + n;
}

static bool read_uid(gnutls_x509_crt_t cert, struct arena *a, struct http_peer *ret)
{
	struct str der, other;
	int r = read_name(cert, a, OID_UID, 0, true, &der);
	if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
		return true;
	}
	return r >= 0 && read_der_text(der, &ret->uid) &&
		read_name(cert, a, OID_UID, 1, true, &other) == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

const char *certificate_read(gnutls_x509_crt_t cert, const gnutls_datum_t *der, struct arena *a, struct http_peer *ret)
{
	ret->common_name = read_common_name(cert, a);
	ret->fingerprint = fingerprint_of(der, a);
	if (!read_organizations(cert, a, ret)) {
		return "The certificate has more than 512 organizations, or one that is longer than 1023 bytes.";
	}
	return read_uid(cert, a, ret) ? NULL : "The certificate has more than one uid, or one that is no text.";
}
