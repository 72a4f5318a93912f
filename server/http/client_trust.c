/* Decides which client certificates are trusted, and which users they name. From the bottom up:
 *
 *   certificate      the user that one certificate names
 *   verified chains  the verifier's memory of good verdicts
 *   verifier         two sets of authorities, and their verdict on a chain
 *   client trust     the verifier in force, which follows files and the cluster
 *
 * Users and front proxies are two halves, each from its file, or else from the cluster. A change
 * of either makes a new verifier of both, so no request sees the authorities of one moment with
 * the names of another. A connection compares an atomic pointer with the one of its verdict, and
 * takes the lock only when they differ. */
#include "server/http/client_trust.h"

#include "api/model/delegates.h"
#include "base/hex.h"
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Bytes of PEM: a bundle of all public authorities has a fiftieth of it. */
enum { TRUST_CEILING = 16 << 20 };

/* ---- certificate ---- */

/* Kubernetes' own kind of name for a uid (k8s.io/apiserver asn1util.X509UID). */
#define OID_UID "1.3.6.1.4.1.57683.2"

enum {
	MAX_ORGANIZATIONS = 512, /* groups of the user; GnuTLS looks for each from the beginning on */
	NAME_MAX_BYTES = 1024,   /* bytes */
	TAG_UTF8 = 12,
	TAG_PRINTABLE = 19,
	TAG_IA5 = 22,
};

/* The index-th name of that kind: 0, or GnuTLS's error. is_raw: in DER, of names that GnuTLS does not know. */
static int certificate_read_name(
	gnutls_x509_crt_t cert, struct arena *a, const char *oid, unsigned index, bool is_raw, struct str *ret)
{
	char name[NAME_MAX_BYTES];
	size_t n = sizeof(name);
	int r = gnutls_x509_crt_get_dn_by_oid(cert, oid, index, is_raw, name, &n);
	if (r >= 0) {
		*ret = arena_dup(a, (struct str){name, n});
	}
	return r;
}

/* The last of several common names, as crypto/x509 takes it. Empty when one cannot be read. */
static struct str certificate_read_common_name(gnutls_x509_crt_t cert, struct arena *a)
{
	struct str name = {NULL, 0};
	int r = 0;
	for (unsigned i = 0; r >= 0; i++) {
		r = certificate_read_name(cert, a, GNUTLS_OID_X520_COMMON_NAME, i, false, &name);
	}
	return r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE ? name : (struct str){NULL, 0};
}

/* All or none: a user with fewer groups would be another user. */
static bool certificate_read_organizations(gnutls_x509_crt_t cert, struct arena *a, struct http_peer *ret)
{
	struct str organizations[MAX_ORGANIZATIONS + 1];
	size_t n = 0;
	int r = 0;
	while (n < ARRAY_SIZE(organizations) && r >= 0) {
		r = certificate_read_name(cert, a, GNUTLS_OID_X520_ORGANIZATION_NAME, (unsigned)n, false, &organizations[n]);
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

static struct str certificate_fingerprint(const gnutls_datum_t *der, struct arena *a)
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

static bool certificate_read_uid(gnutls_x509_crt_t cert, struct arena *a, struct http_peer *ret)
{
	struct str der, other;
	int r = certificate_read_name(cert, a, OID_UID, 0, true, &der);
	if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
		return true;
	}
	return r >= 0 && read_der_text(der, &ret->uid) &&
		certificate_read_name(cert, a, OID_UID, 1, true, &other) == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

/* Fills in what the certificate says, text in the arena, as k8s.io/apiserver's x509.CommonNameUserConversion reads it.
 * NULL; or a sentence that says why the certificate names no user. A certificate that cannot be read as a whole is
 * nobody's: half of its organizations, or half a name, would be another user, who may have other rights. */
static const char *certificate_read(gnutls_x509_crt_t cert, const gnutls_datum_t *der, struct arena *a, struct http_peer *ret)
{
	ret->common_name = certificate_read_common_name(cert, a);
	ret->fingerprint = certificate_fingerprint(der, a);
	if (!certificate_read_organizations(cert, a, ret)) {
		return "The certificate has more than 512 organizations, or one that is longer than 1023 bytes.";
	}
	return certificate_read_uid(cert, a, ret) ? NULL : "The certificate has more than one uid, or one that is no text.";
}

/* ---- verified chains ---- */

/* Text of a certificate in bytes. With more, a certificate is checked each time. */
#define TEXT_MAX ((size_t)4096)

struct kept_verdict {
	struct chain_id id;
	int64_t from_s, until_s; /* until_s 0: nothing is kept here */
	uint64_t used;           /* when it was asked for last, in questions */
	struct arena arena;
	struct http_peer peer;
};

struct verified_chains {
	pthread_mutex_t lock; /* guards all; held while text is copied */
	uint64_t questions;
	struct kept_verdict kept[VERDICTS_MAX];
};

struct verified_chains *verified_chains_new(void)
{
	struct verified_chains *s = mem_new(struct verified_chains);
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < VERDICTS_MAX; i++) {
		arena_init(&s->kept[i].arena, 4 * TEXT_MAX);
	}
	return s;
}

struct verified_chains *verified_chains_free(struct verified_chains *s)
{
	if (s) {
		for (size_t i = 0; i < VERDICTS_MAX; i++) {
			arena_done(&s->kept[i].arena);
		}
		pthread_mutex_destroy(&s->lock);
		mem_free(s);
	}
	return NULL;
}

static size_t peer_text_size(const struct http_peer *peer)
{
	size_t n = peer->common_name.n + peer->uid.n + peer->fingerprint.n;
	for (size_t i = 0; i < peer->n_organizations; i++) {
		n += sizeof(struct str) + peer->organizations[i].n + 1;
	}
	return n;
}

static void peer_copy(struct http_peer *to, const struct http_peer *from, struct arena *a)
{
	struct str *organizations = arena_array(a, struct str, from->n_organizations);
	for (size_t i = 0; i < from->n_organizations; i++) {
		organizations[i] = arena_dup(a, from->organizations[i]);
	}
	to->is_verified = from->is_verified;
	to->is_front_proxy = from->is_front_proxy;
	to->trust = from->trust;
	to->common_name = arena_dup(a, from->common_name);
	to->uid = arena_dup(a, from->uid);
	to->fingerprint = arena_dup(a, from->fingerprint);
	to->organizations = organizations;
	to->n_organizations = from->n_organizations;
}

/* Under the lock. */
static struct kept_verdict *verified_chains_look_up(struct verified_chains *s, const struct chain_id *id)
{
	assert_locked(&s->lock);
	for (size_t i = 0; i < VERDICTS_MAX; i++) {
		if (s->kept[i].until_s && memcmp(&s->kept[i].id, id, sizeof(*id)) == 0) {
			return &s->kept[i];
		}
	}
	return NULL;
}

/* Under the lock. */
static struct kept_verdict *verified_chains_find_room(struct verified_chains *s)
{
	assert_locked(&s->lock);
	struct kept_verdict *oldest = &s->kept[0];
	for (size_t i = 1; i < VERDICTS_MAX; i++) {
		if (s->kept[i].used < oldest->used) {
			oldest = &s->kept[i];
		}
	}
	return oldest;
}

bool verified_chains_find(struct verified_chains *s, const struct chain_id *id, int64_t now_s, struct arena *a,
	struct http_peer *ret, int64_t *ret_until_s)
{
	pthread_mutex_lock(&s->lock);
	struct kept_verdict *k = verified_chains_look_up(s, id);
	bool holds = k && now_s >= k->from_s && now_s < k->until_s;
	if (holds) {
		k->used = ++s->questions;
		peer_copy(ret, &k->peer, a);
		*ret_until_s = k->until_s;
	}
	pthread_mutex_unlock(&s->lock);
	return holds;
}

void verified_chains_keep(
	struct verified_chains *s, const struct chain_id *id, int64_t from_s, int64_t until_s, const struct http_peer *peer)
{
	if (peer_text_size(peer) > TEXT_MAX) {
		return;
	}
	pthread_mutex_lock(&s->lock);
	struct kept_verdict *k = verified_chains_look_up(s, id);
	/* Two connections may have verified the same chain at the same time: then the entry is there. */
	k = k ? k : verified_chains_find_room(s);
	arena_clear(&k->arena);
	k->id = *id;
	k->from_s = from_s;
	k->until_s = until_s;
	k->used = ++s->questions;
	peer_copy(&k->peer, peer, &k->arena);
	pthread_mutex_unlock(&s->lock);
}

enum {
	/* A stranger's, and each costs a signature. */
	MAX_CHAIN = 16, /* certificates */
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

/* A copy is in one arena: a follower of the cluster's configuration can then swap all of it at once. */
static const struct str *texts_copy(const struct str *from, size_t n, struct arena *a)
{
	struct str *all = arena_array(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		all[i] = arena_dup(a, from[i]);
	}
	return all;
}

static void trust_copy(struct trust *ret, const struct trust *from, struct arena *a)
{
	*ret = *from;
	ret->client_ca = arena_dup(a, from->client_ca);
	ret->front_ca = arena_dup(a, from->front_ca);
	ret->front_names = texts_copy(from->front_names, from->n_front_names, a);
	ret->user_headers = texts_copy(from->user_headers, from->n_user_headers, a);
	ret->uid_headers = texts_copy(from->uid_headers, from->n_uid_headers, a);
	ret->group_headers = texts_copy(from->group_headers, from->n_group_headers, a);
	ret->extra_prefixes = texts_copy(from->extra_prefixes, from->n_extra_prefixes, a);
}

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

static void peer_set_problem(struct http_peer *peer, struct arena *a, const char *text)
{
	peer->problem = arena_dup(a, str_trim(str_of(text)));
}

static void peer_describe_problem(struct http_peer *peer, struct arena *a, unsigned status)
{
	gnutls_datum_t text = {NULL, 0};
	if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == 0) {
		peer_set_problem(peer, a, (const char *)text.data);
		gnutls_free(text.data);
	} else {
		peer_set_problem(peer, a, "The certificate is NOT trusted.");
	}
}

/* A certificate's fault is only described if it is good for nothing: text costs memory as long as the connection lives. */
static void chain_judge(
	const struct verifier *v, struct chain *c, const gnutls_datum_t *der, struct arena *a, struct http_peer *ret)
{
	unsigned as_user = chain_verify(c, &v->users), as_front = chain_verify(c, &v->fronts);
	ret->is_verified = as_user == 0;
	ret->is_front_proxy = as_front == 0;
	if (as_user && as_front) {
		peer_describe_problem(ret, a, v->users.list ? as_user : as_front);
		return;
	}
	const char *problem = certificate_read(c->certs[0], der, a, ret);
	if (problem) {
		ret->is_verified = false;
		peer_set_problem(ret, a, problem);
	}
}

/* The verdict holds from now until the moment that is returned. */
static int64_t chain_read_and_judge(
	const struct verifier *v, const gnutls_datum_t *der, unsigned n, int64_t now_s, struct arena *a, struct http_peer *ret)
{
	_cleanup_(chain_done) struct chain c = {.n = 0};
	int64_t next_s = INT64_MAX;
	int r = chain_read(&c, der, n);
	if (r < 0) {
		peer_set_problem(ret, a, gnutls_strerror(r));
		/* A chain that cannot be read now will never be readable. */
		return next_s;
	}

	chain_judge(v, &c, &der[0], a, ret);
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

	until_s = chain_read_and_judge(v, der, n, now_s, a, ret);
	if (!ret->problem.n) {
		verified_chains_keep(v->verified_chains, &id, now_s, until_s, ret);
	}
	return until_s;
}

/* A file with authorities, and what it says. */
struct half {
	struct client_trust *owner;
	struct watched_file file; /* path NULL: none, and what is set counts */
	struct buf pem;
	bool is_broken; /* as was reported; written by the housekeeping thread */
};

struct client_trust {
	struct half users, fronts;
	struct reload_hook on_reload;
	struct arena options_arena, set_arena;
	struct trust options; /* names and headers that go with the file of front proxies */
	struct trust set;
	pthread_mutex_t lock; /* guards what is above, and taking a reference of `current` */
	_Atomic(struct verifier *) current;
};

/* ---- what is in force ---- */

static struct trust trust_in_force(const struct client_trust *t)
{
	struct trust trust = t->fronts.file.path ? t->options : t->set;
	trust.client_ca = t->users.file.path ? buf_str(&t->users.pem) : t->set.client_ca;
	trust.front_ca = t->fronts.file.path ? buf_str(&t->fronts.pem) : t->set.front_ca;
	return trust;
}

/* Under the lock. */
static void client_trust_put_in_force(struct client_trust *t, struct buf *problems)
{
	assert_locked(&t->lock);
	struct trust trust = trust_in_force(t);
	struct verifier *old = atomic_load_explicit(&t->current, memory_order_relaxed);
	atomic_store_explicit(&t->current, verifier_new(&trust, problems), memory_order_release);
	verifier_unref(old);
}

static struct verifier *client_trust_ref_current(struct client_trust *t)
{
	pthread_mutex_lock(&t->lock);
	struct verifier *v = verifier_ref(atomic_load_explicit(&t->current, memory_order_relaxed));
	pthread_mutex_unlock(&t->lock);
	return v;
}

struct verifier *client_trust_current(struct client_trust *t)
{
	watched_file_poll(&t->users.file);
	watched_file_poll(&t->fronts.file);
	return client_trust_ref_current(t);
}

bool client_trust_set(struct client_trust *t, const struct trust *trust, struct buf *err)
{
	size_t before = err->n;
	pthread_mutex_lock(&t->lock);
	arena_clear(&t->set_arena);
	trust_copy(&t->set, trust, &t->set_arena);
	client_trust_put_in_force(t, err);
	pthread_mutex_unlock(&t->lock);
	return err->n == before;
}

/* ---- files ---- */

static bool half_set(struct half *h, struct str pem, struct buf *err)
{
	size_t before = err->n;
	pthread_mutex_lock(&h->owner->lock);
	buf_clear(&h->pem);
	buf_add_str(&h->pem, pem);
	client_trust_put_in_force(h->owner, err);
	pthread_mutex_unlock(&h->owner->lock);
	return err->n == before;
}

static int half_load(void *ctx, struct str text, struct buf *err)
{
	struct half *h = ctx;
	if (text.n == 0) {
		buf_printf(err, "no certificate in %s", h->file.path);
		return -EINVAL;
	}
	return half_set(h, text, err) ? 0 : -EINVAL;
}

/* A file that cannot be read, or has no authority, trusts nobody: an authority that was removed must not stay in force. */
static void half_on_reload(void *ctx, const char *path, const char *problem)
{
	struct half *h = ctx;
	struct client_trust *t = h->owner;
	_cleanup_(buf_done) struct buf ignored;
	buf_init(&ignored, 1024);
	if (problem) {
		half_set(h, STR(""), &ignored);
	}
	if (t->on_reload.report && (problem || h->is_broken)) {
		t->on_reload.report(t->on_reload.ctx, path, problem);
	}
	h->is_broken = problem != NULL;
}

static int half_open(struct half *h, struct client_trust *t, const char *path, const char *what, struct buf *err)
{
	const struct reload_hook hook = {.report = half_on_reload, .ctx = h};
	_cleanup_(buf_done) struct buf why;
	h->owner = t;
	buf_init(&why, 4096);
	buf_init(&h->pem, TRUST_CEILING);
	int r = path ? watched_file_init(&h->file, path, half_load, h, hook, &why) : 0;
	if (r) {
		buf_printf(err, "cannot load %s %s: " STR_FMT, what, path, STR_ARG(buf_str(&why)));
	}
	return r;
}

static void half_done(struct half *h)
{
	watched_file_done(&h->file);
	buf_done(&h->pem);
}

/* ---- life ---- */

static int open_files(struct client_trust *t, const struct client_trust_options *options, struct buf *err)
{
	int r = half_open(&t->users, t, options->client_ca_file, "client CA", err);
	return r ? r : half_open(&t->fronts, t, options->front_ca_file, "CA of front proxies", err);
}

int client_trust_new(struct client_trust **ret, const struct client_trust_options *options, struct buf *err)
{
	struct client_trust *t = mem_new(struct client_trust);
	t->on_reload = options->on_reload;
	pthread_mutex_init(&t->lock, NULL);
	arena_init(&t->options_arena, TRUST_CEILING);
	arena_init(&t->set_arena, TRUST_CEILING);
	if (options->front) {
		trust_copy(&t->options, options->front, &t->options_arena);
	}
	atomic_init(&t->current, verifier_new(&(struct trust){.n_front_names = 0}, err));

	int r = open_files(t, options, err);
	if (r) {
		client_trust_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

struct client_trust *client_trust_free(struct client_trust *t)
{
	if (t) {
		half_done(&t->users);
		half_done(&t->fronts);
		verifier_unref(atomic_load_explicit(&t->current, memory_order_relaxed));
		arena_done(&t->options_arena);
		arena_done(&t->set_arena);
		pthread_mutex_destroy(&t->lock);
		mem_free(t);
	}
	return NULL;
}

/* ---- verdicts ---- */

/* A verifier that a verdict holds cannot have made way for another at the same address. */
static bool verdict_holds(const struct verdict *v, const struct verifier *current, int64_t now_s)
{
	return v->by == current && now_s >= v->from_s && now_s < v->until_s;
}

static void peer_forget_certificate(struct http_peer *peer)
{
	*peer = (struct http_peer){.address = peer->address, .is_tls = peer->is_tls, .has_certificate = peer->has_certificate};
}

static void verdict_pass(struct client_trust *t, struct verdict *v, const gnutls_datum_t *chain, unsigned n, int64_t now_s,
	struct arena *a, struct http_peer *peer)
{
	verifier_unref(v->by);
	*v = (struct verdict){.by = client_trust_ref_current(t), .from_s = now_s};
	peer_forget_certificate(peer);
	arena_clear(a);
	v->until_s = verifier_judge(v->by, chain, n, now_s, a, peer);
}

void client_trust_judge(
	struct client_trust *t, struct verdict *v, gnutls_session_t session, struct arena *a, struct http_peer *peer)
{
	unsigned n = 0;
	if (v->is_final) {
		return;
	}
	watched_file_poll(&t->users.file);
	watched_file_poll(&t->fronts.file);
	int64_t now_s = time(NULL); /* as GnuTLS asks for it, and before: that of clock_gettime() may be ahead */
	if (verdict_holds(v, atomic_load_explicit(&t->current, memory_order_acquire), now_s)) {
		return;
	}
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
	peer->has_certificate = chain && n > 0;
	/* No certificate will come later: TLS asks for it in the handshake only. */
	v->is_final = !peer->has_certificate;
	if (peer->has_certificate) {
		verdict_pass(t, v, chain, n, now_s, a, peer);
	}
}

bool client_trust_holds(struct client_trust *t, const struct verdict *v)
{
	if (v->is_final) {
		return true;
	}
	watched_file_poll(&t->users.file);
	watched_file_poll(&t->fronts.file);
	return verdict_holds(v, atomic_load_explicit(&t->current, memory_order_acquire), time(NULL));
}

void verdict_done(struct verdict *v)
{
	v->by = verifier_unref(v->by);
}
