/* Reads certificates into plain structs, and judges them. A chain is verified without its times, because an
 * expired certificate is a finding of its own. The common name never counts as a server's name: Go's crypto/x509
 * looks only at subjectAltName. */
#include "cli/doctor/doctor_cert.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>

enum { DAY_S = 24 * 60 * 60, CERTS_MAX = 256, NAMES_MAX = 256, SOON_DAYS = 30, NAME_SIZE = 1024 };

/* ---- reading ---- */

static struct str name_of(gnutls_x509_crt_t crt, int (*get)(gnutls_x509_crt_t, gnutls_datum_t *, unsigned), struct arena *a)
{
	gnutls_datum_t text;
	if (get(crt, &text, 0) < 0) {
		return STR("(no name)");
	}
	struct str copy = arena_dup(a, (struct str){(const char *)text.data, text.size});
	gnutls_free(text.data);
	return copy;
}

static struct str address_text(const unsigned char *bytes, size_t n, struct arena *a)
{
	char text[INET6_ADDRSTRLEN];
	int family = n == 4 ? AF_INET : n == 16 ? AF_INET6 : AF_UNSPEC;
	if (family == AF_UNSPEC || !inet_ntop(family, bytes, text, sizeof(text))) {
		return STR("(bad address)");
	}
	return arena_dup(a, str_of(text));
}

static void read_names(struct certificate *c, struct arena *a)
{
	c->names = arena_array(a, struct str, NAMES_MAX);
	for (unsigned i = 0; c->n_names < NAMES_MAX; i++) {
		unsigned char value[NAME_SIZE];
		size_t n = sizeof(value);
		int type = gnutls_x509_crt_get_subject_alt_name(c->crt, i, value, &n, NULL);
		if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
			break;
		}
		if (type == GNUTLS_SAN_IPADDRESS) {
			c->names[c->n_names++] = address_text(value, n, a);
		} else if (type == GNUTLS_SAN_DNSNAME) {
			c->names[c->n_names++] = arena_dup(a, (struct str){(const char *)value, n});
		}
	}
}

/* A certificate without the extension may be used for everything. */
static bool may_serve(gnutls_x509_crt_t crt)
{
	bool has_any = false;
	for (unsigned i = 0;; i++) {
		char oid[128];
		size_t n = sizeof(oid);
		if (gnutls_x509_crt_get_key_purpose_oid(crt, i, oid, &n, NULL) < 0) {
			return !has_any;
		}
		if (strcmp(oid, GNUTLS_KP_TLS_WWW_SERVER) == 0 || strcmp(oid, GNUTLS_KP_ANY) == 0) {
			return true;
		}
		has_any = true;
	}
}

static struct str key_id_of(gnutls_x509_crt_t crt, struct arena *a)
{
	unsigned char id[64];
	size_t n = sizeof(id);
	if (gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, id, &n) < 0) {
		return (struct str){NULL, 0};
	}
	return arena_dup(a, (struct str){(const char *)id, n});
}

static void take(struct certs *certs, gnutls_x509_crt_t crt, struct arena *a)
{
	struct certificate *c = &certs->v[certs->n++];
	*c = (struct certificate){
		.crt = crt,
		.subject = name_of(crt, gnutls_x509_crt_get_dn3, a),
		.issuer = name_of(crt, gnutls_x509_crt_get_issuer_dn3, a),
		.begin_s = gnutls_x509_crt_get_activation_time(crt),
		.end_s = gnutls_x509_crt_get_expiration_time(crt),
		.is_ca = gnutls_x509_crt_get_ca_status(crt, NULL) > 0,
		.is_for_servers = may_serve(crt),
		.key_id = key_id_of(crt, a),
	};
	read_names(c, a);
}

int certs_parse(struct certs *ret, struct str pem, struct arena *a, struct buf *err)
{
	*ret = (struct certs){NULL, 0};
	gnutls_x509_crt_t *list = NULL;
	unsigned n = 0;
	gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.p, (unsigned)pem.n};
	int e = pem.n ? gnutls_x509_crt_list_import2(&list, &n, &text, GNUTLS_X509_FMT_PEM, 0) : GNUTLS_E_NO_CERTIFICATE_FOUND;
	if (e < 0 || n == 0 || n > CERTS_MAX) {
		buf_printf(err, "no certificates in PEM: %s", n > CERTS_MAX ? "there are too many" : gnutls_strerror(e));
		for (unsigned i = 0; e >= 0 && i < n; i++) {
			gnutls_x509_crt_deinit(list[i]);
		}
		gnutls_free(list);
		return -EINVAL;
	}
	ret->v = mem_array(CERTS_MAX, sizeof(*ret->v));
	for (unsigned i = 0; i < n; i++) {
		take(ret, list[i], a);
	}
	gnutls_free(list);
	return 0;
}

int certs_add_der(struct certs *c, const gnutls_datum_t *der, struct arena *a)
{
	gnutls_x509_crt_t crt;
	if (c->n == CERTS_MAX || gnutls_x509_crt_init(&crt) < 0) {
		return -EINVAL;
	}
	if (gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER) < 0) {
		gnutls_x509_crt_deinit(crt);
		return -EINVAL;
	}
	c->v = c->v ? c->v : mem_array(CERTS_MAX, sizeof(*c->v));
	take(c, crt, a);
	return 0;
}

void certs_done(struct certs *c)
{
	for (size_t i = 0; i < c->n; i++) {
		gnutls_x509_crt_deinit(c->v[i].crt);
	}
	mem_free(c->v);
	*c = (struct certs){NULL, 0};
}

/* ---- asking ---- */

/* The left-most label of the pattern may be *, which stands for one label. */
static bool name_fits(struct str pattern, struct str name)
{
	struct str head, tail;
	if (str_starts(pattern, STR("*.")) && str_cut(name, '.', &head, &tail) && head.n) {
		return str_eq_nocase((struct str){pattern.p + 2, pattern.n - 2}, tail);
	}
	return str_eq_nocase(pattern, name);
}

bool cert_has_name(const struct certificate *c, struct str name)
{
	for (size_t i = 0; i < c->n_names; i++) {
		if (name_fits(c->names[i], name)) {
			return true;
		}
	}
	return false;
}

struct str cert_names(const struct certificate *c, struct arena *a)
{
	struct str text = {NULL, 0};
	for (size_t i = 0; i < c->n_names; i++) {
		text = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(text), i ? ", " : "", STR_ARG(c->names[i]));
	}
	return c->n_names ? text : STR("none");
}

bool cert_is_signed_by(const struct certificate *c, const struct certificate *issuer)
{
	unsigned status = 0;
	return gnutls_x509_crt_verify(c->crt, &issuer->crt, 1,
		       GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_ALLOW_ANY_X509_V1_CA_CRT, &status) >= 0 &&
		status == 0;
}

static void handles(const struct certs *c, gnutls_x509_crt_t *ret)
{
	for (size_t i = 0; i < c->n; i++) {
		ret[i] = c->v[i].crt;
	}
}

static void say_status(unsigned status, struct buf *why)
{
	gnutls_datum_t text;
	if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) >= 0) {
		buf_adds(why, (const char *)text.data);
		gnutls_free(text.data);
	}
}

bool certs_are_trusted(const struct certs *chain, const struct certs *cas, struct buf *why)
{
	gnutls_x509_crt_t links[CERTS_MAX], roots[CERTS_MAX];
	gnutls_x509_trust_list_t list;
	unsigned status = GNUTLS_CERT_INVALID;
	if (gnutls_x509_trust_list_init(&list, 0) < 0) {
		return false;
	}
	handles(chain, links);
	handles(cas, roots);
	gnutls_x509_trust_list_add_cas(list, roots, (unsigned)cas->n, 0);
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_SERVER};
	int e = gnutls_x509_trust_list_verify_crt2(
		list, links, (unsigned)chain->n, &purpose, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status, NULL);
	gnutls_x509_trust_list_deinit(list, 0);
	if (e < 0) {
		buf_adds(why, gnutls_strerror(e));
	} else if (status) {
		say_status(status, why);
	}
	return e >= 0 && status == 0;
}

bool certs_share_key(const struct certs *a, const struct certs *b)
{
	for (size_t i = 0; i < a->n; i++) {
		for (size_t j = 0; j < b->n; j++) {
			if (a->v[i].key_id.n && str_eq(a->v[i].key_id, b->v[j].key_id)) {
				return true;
			}
		}
	}
	return false;
}

/* ---- judging ---- */

void judge_life(struct report *r, struct str subject, const struct certificate *c, int64_t now_s, struct str fix)
{
	char begin[TIME_RFC3339_SIZE], end[TIME_RFC3339_SIZE];
	time_format_rfc3339(begin, c->begin_s);
	time_format_rfc3339(end, c->end_s);
	int64_t days = (c->end_s - now_s) / DAY_S;
	if (c->begin_s > now_s) {
		report_add(r, SEVERITY_ERROR, subject, fix,
			"certificate \"" STR_FMT "\" is not valid before %s: it is too new, or this machine's clock is behind",
			STR_ARG(c->subject), begin);
	} else if (c->end_s <= now_s) {
		report_add(
			r, SEVERITY_ERROR, subject, fix, "certificate \"" STR_FMT "\" expired at %s", STR_ARG(c->subject), end);
	} else if (days < SOON_DAYS) {
		report_add(r, SEVERITY_WARNING, subject, fix, "certificate \"" STR_FMT "\" expires at %s, in %lld day%s",
			STR_ARG(c->subject), end, (long long)days, days == 1 ? "" : "s");
	} else {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "certificate \"" STR_FMT "\" is valid until %s",
			STR_ARG(c->subject), end);
	}
}

void judge_cas(struct report *r, struct str subject, const struct certs *cas, int64_t now_s, struct str fix)
{
	for (size_t i = 0; i < cas->n; i++) {
		const struct certificate *c = &cas->v[i];
		judge_life(r, subject, c, now_s, fix);
		if (!c->is_ca) {
			report_add(r, SEVERITY_WARNING, subject, fix,
				"certificate \"" STR_FMT "\" is no CA (basicConstraints): it stands for itself alone",
				STR_ARG(c->subject));
		}
	}
}

static void judge_names(struct report *r, struct str subject, const struct certificate *leaf, struct str wanted, struct str fix)
{
	struct str names = cert_names(leaf, &r->arena);
	if (leaf->n_names == 0) {
		report_add(r, SEVERITY_ERROR, subject, fix,
			"it has no subjectAltName: clients written in Go, kube-apiserver among them, take no certificate "
			"without");
	} else if (wanted.n && !cert_has_name(leaf, wanted)) {
		report_add(r, SEVERITY_ERROR, subject, fix, "it is not for " STR_FMT ", but for: " STR_FMT, STR_ARG(wanted),
			STR_ARG(names));
	} else {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "it is for: " STR_FMT, STR_ARG(names));
	}
}

void judge_leaf(
	struct report *r, struct str subject, const struct certificate *leaf, struct str wanted, int64_t now_s, struct str fix)
{
	judge_life(r, subject, leaf, now_s, fix);
	judge_names(r, subject, leaf, wanted, fix);
	if (!leaf->is_for_servers) {
		report_add(r, SEVERITY_ERROR, subject, fix, "its extendedKeyUsage does not allow it to serve (serverAuth)");
	}
}
