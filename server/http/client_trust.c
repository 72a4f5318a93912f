/* Users and front proxies are two halves, each from its file or else from what the cluster tells. A
 * change of either makes a new verifier of both, so no request sees the authorities of one moment
 * with the names of another. Whoever judges a certificate compares an atomic pointer with the one
 * of its verdict; the lock is taken only when they differ. */
#include "server/http/client_trust.h"

#include "api/model/trust.h"
#include "server/http/verifier.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

/* Bytes of PEM: a bundle of all public authorities has a fiftieth of it. */
enum { TRUST_CEILING = 16 << 20 };

/* A file with authorities, and what it says. */
struct half {
	struct client_trust *owner;
	struct watched_file file; /* path NULL: none, and what is set counts */
	struct buf pem;
	bool is_broken; /* as was told; of the one who looks */
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

static struct trust in_force(const struct client_trust *t)
{
	struct trust trust = t->fronts.file.path ? t->options : t->set;
	trust.client_ca = t->users.file.path ? buf_str(&t->users.pem) : t->set.client_ca;
	trust.front_ca = t->fronts.file.path ? buf_str(&t->fronts.pem) : t->set.front_ca;
	return trust;
}

/* Under the lock. */
static void put_in_force(struct client_trust *t, struct buf *problems)
{
	struct trust trust = in_force(t);
	struct verifier *old = atomic_load_explicit(&t->current, memory_order_relaxed);
	atomic_store_explicit(&t->current, verifier_new(&trust, problems), memory_order_release);
	verifier_unref(old);
}

static struct verifier *current_verifier(struct client_trust *t)
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
	return current_verifier(t);
}

bool client_trust_set(struct client_trust *t, const struct trust *trust, struct buf *err)
{
	size_t before = err->n;
	pthread_mutex_lock(&t->lock);
	arena_clear(&t->set_arena);
	trust_copy(&t->set, trust, &t->set_arena);
	put_in_force(t, err);
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
	put_in_force(h->owner, err);
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

/* What cannot be read or is no authority believes nobody: who removes an authority from a file means it. */
static void on_reload(void *ctx, const char *path, const char *problem)
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
	const struct reload_hook hook = {.report = on_reload, .ctx = h};
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

static void forget_certificate(struct http_peer *peer)
{
	*peer = (struct http_peer){.address = peer->address, .is_tls = peer->is_tls, .has_certificate = peer->has_certificate};
}

static void pass_verdict(struct client_trust *t, struct verdict *v, const gnutls_datum_t *chain, unsigned n, int64_t now_s,
	struct arena *a, struct http_peer *peer)
{
	verifier_unref(v->by);
	*v = (struct verdict){.by = current_verifier(t), .from_s = now_s};
	forget_certificate(peer);
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
	/* None will come: TLS asks for it in the handshake alone. */
	v->is_final = !peer->has_certificate;
	if (peer->has_certificate) {
		pass_verdict(t, v, chain, n, now_s, a, peer);
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
