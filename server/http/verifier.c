/* Each certificate is judged by both sets of authorities, since it may be a user's and a front
 * proxy's at once: which of both counts is for authn.c to say. An authority that is garbage is left
 * out rather than kept as it was: who changes a CA means it (docs/reference/deviations.md). */
#include "server/http/verifier.h"

#include "api/model/trust.h"
#include "server/http/certificate.h"
#include "server/http/verified_chains.h"

#include <stdatomic.h>

enum {
	/* A stranger's, and each costs a signature. */
	MAX_CHAIN = 16, /* certificates */
	TRUST_CEILING = 16 << 20,
};

/* RSA of 1024 bits and more, no broken digests: what the handshake demands too. */
#define VERIFY_FLAGS GNUTLS_PROFILE_TO_VFLAGS(GNUTLS_PROFILE_LOW)

struct authorities {
	gnutls_x509_trust_list_t list; /* NULL: none */
	int64_t *moments;              /* when one of them begins or ceases to be valid */
	size_t n_moments;
};

struct verifier {
	_Atomic uint32_t refs;
	struct trust trust; /* in the arena; without those that are garbage */
	struct arena arena;
	struct authorities users, fronts;
	struct verified_chains *verified_chains;
};

struct chain {
	gnutls_x509_crt_t certs[MAX_CHAIN];
	unsigned n;
};

/* ---- authorities ---- */

/* The last second of validity is still valid. */
static void note_moments(int64_t moments[2], gnutls_x509_crt_t cert)
{
	moments[0] = (int64_t)gnutls_x509_crt_get_activation_time(cert);
	moments[1] = (int64_t)gnutls_x509_crt_get_expiration_time(cert) + 1;
}

/* Takes the certificates. */
static bool authorities_fill(struct authorities *set, gnutls_x509_crt_t *certs, unsigned n)
{
	set->moments = mem_array(n, 2 * sizeof(*set->moments));
	set->n_moments = 2 * (size_t)n;
	for (unsigned i = 0; i < n; i++) {
		note_moments(set->moments + 2 * (size_t)i, certs[i]);
	}
	int added = gnutls_x509_trust_list_init(&set->list, 0);
	added = added < 0 ? 0 : gnutls_x509_trust_list_add_cas(set->list, certs, n, 0);
	for (unsigned i = added < 0 ? 0 : (unsigned)added; i < n; i++) {
		gnutls_x509_crt_deinit(certs[i]);
	}
	return added == (int)n;
}

static void authorities_done(struct authorities *set)
{
	if (set->list) {
		gnutls_x509_trust_list_deinit(set->list, 1);
	}
	mem_free(set->moments);
	*set = (struct authorities){0};
}

static bool authorities_parse(struct authorities *set, struct str pem, struct buf *problem)
{
	gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.p, (unsigned)pem.n};
	gnutls_x509_crt_t *certs = NULL;
	unsigned n = 0;
	int r = gnutls_x509_crt_list_import2(&certs, &n, &text, GNUTLS_X509_FMT_PEM, 0);
	if (r < 0) {
		buf_adds(problem, gnutls_strerror(r));
		return false;
	}
	bool is_filled = authorities_fill(set, certs, n);
	gnutls_free(certs);
	if (!is_filled) {
		buf_adds(problem, "not usable");
		authorities_done(set);
	}
	return is_filled;
}

static void authorities_open(struct authorities *set, struct str *pem, const char *name, struct buf *problems)
{
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, 1024);
	if (pem->n > 0 && !authorities_parse(set, *pem, &why)) {
		buf_printf(problems, "%s%s: " STR_FMT, problems->n ? "; " : "", name, STR_ARG(buf_str(&why)));
		*pem = STR("");
	}
}

/* ---- life ---- */

struct verifier *verifier_new(const struct trust *trust, struct buf *problems)
{
	struct verifier *v = mem_new(struct verifier);
	struct trust usable = *trust;
	atomic_init(&v->refs, 1);
	arena_init(&v->arena, TRUST_CEILING);
	authorities_open(&v->users, &usable.client_ca, "the CA of users' certificates", problems);
	authorities_open(&v->fronts, &usable.front_ca, "the CA of front proxies' certificates", problems);
	trust_copy(&v->trust, &usable, &v->arena);
	v->verified_chains = verified_chains_new();
	return v;
}

struct verifier *verifier_ref(struct verifier *v)
{
	atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
	return v;
}

struct verifier *verifier_unref(struct verifier *v)
{
	if (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) {
		verified_chains_free(v->verified_chains);
		authorities_done(&v->users);
		authorities_done(&v->fronts);
		arena_done(&v->arena);
		mem_free(v);
	}
	return NULL;
}

const struct trust *verifier_trust(const struct verifier *v)
{
	return &v->trust;
}

/* ---- chains ---- */

static void chain_done(struct chain *c)
{
	while (c->n > 0) {
		gnutls_x509_crt_deinit(c->certs[--c->n]);
	}
}

/* 0, or GnuTLS's error. */
static int chain_read(struct chain *c, const gnutls_datum_t *der, unsigned n)
{
	if (n > MAX_CHAIN) {
		return GNUTLS_E_CONSTRAINT_ERROR;
	}
	for (unsigned i = 0; i < n; i++) {
		int r = gnutls_x509_crt_init(&c->certs[i]);
		if (r < 0) {
			return r;
		}
		c->n++;
		r = gnutls_x509_crt_import(c->certs[i], &der[i], GNUTLS_X509_FMT_DER);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int64_t next_moment(const int64_t *moments, size_t n, int64_t now_s, int64_t next_s)
{
	for (size_t i = 0; i < n; i++) {
		if (moments[i] > now_s) {
			next_s = MIN(next_s, moments[i]);
		}
	}
	return next_s;
}

static int64_t chain_next_moment(const struct chain *c, int64_t now_s, int64_t next_s)
{
	for (unsigned i = 0; i < c->n; i++) {
		int64_t moments[2];
		note_moments(moments, c->certs[i]);
		next_s = next_moment(moments, ARRAY_SIZE(moments), now_s, next_s);
	}
	return next_s;
}

/* Signatures, dates, and that each certificate may be used for clients. Returns the status: 0 is good. */
static unsigned chain_verify(struct chain *c, const struct authorities *set)
{
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT};
	unsigned status = GNUTLS_CERT_INVALID;
	int r = set->list
		? gnutls_x509_trust_list_verify_crt2(set->list, c->certs, c->n, &purpose, 1, VERIFY_FLAGS, &status, NULL)
		: 0;
	return r < 0 ? status | GNUTLS_CERT_INVALID : status;
}

static void set_problem(struct http_peer *peer, struct arena *a, const char *text)
{
	peer->problem = arena_dup(a, str_trim(str_of(text)));
}

static void describe_problem(struct http_peer *peer, struct arena *a, unsigned status)
{
	gnutls_datum_t text = {NULL, 0};
	if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == 0) {
		set_problem(peer, a, (const char *)text.data);
		gnutls_free(text.data);
	} else {
		set_problem(peer, a, "The certificate is NOT trusted.");
	}
}

/* What is wrong is only told of a certificate that is good for nothing: text costs memory as long as the connection lives. */
static void judge(const struct verifier *v, struct chain *c, const gnutls_datum_t *der, struct arena *a, struct http_peer *ret)
{
	unsigned as_user = chain_verify(c, &v->users), as_front = chain_verify(c, &v->fronts);
	ret->is_verified = as_user == 0;
	ret->is_front_proxy = as_front == 0;
	if (as_user && as_front) {
		describe_problem(ret, a, v->users.list ? as_user : as_front);
		return;
	}
	const char *problem = certificate_read(c->certs[0], der, a, ret);
	if (problem) {
		ret->is_verified = false;
		set_problem(ret, a, problem);
	}
}

/* From now on until the moment that is returned. */
static int64_t judge_chain(
	const struct verifier *v, const gnutls_datum_t *der, unsigned n, int64_t now_s, struct arena *a, struct http_peer *ret)
{
	_cleanup_(chain_done) struct chain c = {.n = 0};
	int64_t next_s = INT64_MAX;
	int r = chain_read(&c, der, n);
	if (r < 0) {
		set_problem(ret, a, gnutls_strerror(r));
		/* It cannot be read at any other time either. */
		return next_s;
	}

	judge(v, &c, &der[0], a, ret);
	next_s = next_moment(v->users.moments, v->users.n_moments, now_s, next_s);
	next_s = next_moment(v->fronts.moments, v->fronts.n_moments, now_s, next_s);
	return chain_next_moment(&c, now_s, next_s);
}

static void chain_identify(struct chain_id *id, const gnutls_datum_t *der, unsigned n)
{
	struct sha256_ctx h;

	sha256_init(&h);
	for (unsigned i = 0; i < n; i++) {
		sha256_update(&h, sizeof(der[i].size), (const uint8_t *)&der[i].size);
		sha256_update(&h, der[i].size, der[i].data);
	}
	sha256_digest(&h, SHA256_SIZE, id->sha256);
}

int64_t verifier_judge(
	const struct verifier *v, const gnutls_datum_t *der, unsigned n, int64_t now_s, struct arena *a, struct http_peer *ret)
{
	struct chain_id id;
	int64_t until_s;
	ret->trust = &v->trust;
	chain_identify(&id, der, n);
	if (verified_chains_find(v->verified_chains, &id, now_s, a, ret, &until_s)) {
		return until_s;
	}

	until_s = judge_chain(v, der, n, now_s, a, ret);
	if (!ret->problem.n) {
		verified_chains_keep(v->verified_chains, &id, now_s, until_s, ret);
	}
	return until_s;
}
