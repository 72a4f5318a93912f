/* The server's certificate files. Renewing a certificate replaces two files, one after the
 * other. A read in between finds a key that does not fit: the old pair stays in force, and the
 * next change of a file causes another try. The chain that was read is kept, because other
 * authorities need new credentials: those that sessions use must not change. */
#include "server/http/http_tls.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>

struct tls_identity {
	_Atomic uint32_t refs;
	gnutls_certificate_credentials_t credentials;
	bool asks_client;
};

enum { CERT, KEY, N_FILES };

struct chain {
	gnutls_x509_crt_t *certs;
	unsigned n;
	gnutls_x509_privkey_t key;
};

enum dates { DATES_GOOD, DATES_BEFORE, DATES_AFTER };

struct tls_files {
	const char *names[N_FILES];
	bool asks_client;
	struct file_stamp stamps[N_FILES];
	struct chain chain;      /* what was loaded last */
	struct verifier *hinted; /* whose authorities clients are sent; NULL: none */
	enum dates dates;        /* of the chain, as was reported */
	pthread_mutex_t lock;    /* guards the pointer `current` */
	struct tls_identity *current;
};

static struct tls_identity *tls_identity_ref(struct tls_identity *id)
{
	atomic_fetch_add_explicit(&id->refs, 1, memory_order_relaxed);
	return id;
}

struct tls_identity *tls_identity_unref(struct tls_identity *id)
{
	if (id && atomic_fetch_sub_explicit(&id->refs, 1, memory_order_acq_rel) == 1) {
		gnutls_certificate_free_credentials(id->credentials);
		mem_free(id);
	}
	return NULL;
}
DEFINE_CLEANUP(struct tls_identity *, tls_identity_unref)

static int fail_load(struct buf *err, const char *what, const char *name, int code)
{
	buf_printf(err, "cannot load %s %s: %s", what, name, gnutls_strerror(code));
	return -EINVAL;
}

static void chain_done(struct chain *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		gnutls_x509_crt_deinit(c->certs[i]);
	}
	gnutls_free(c->certs);
	gnutls_x509_privkey_deinit(c->key);
	*c = (struct chain){0};
}

static int read_certs(struct chain *c, const char *name)
{
	gnutls_datum_t pem;
	int r = gnutls_load_file(name, &pem);
	if (r == 0) {
		r = gnutls_x509_crt_list_import2(&c->certs, &c->n, &pem, GNUTLS_X509_FMT_PEM, 0);
		gnutls_free(pem.data);
	}
	return r;
}

static int read_key(struct chain *c, const char *name)
{
	gnutls_datum_t pem;
	int r = gnutls_load_file(name, &pem);
	if (r == 0) {
		r = gnutls_x509_privkey_init(&c->key);
		r = r ? r : gnutls_x509_privkey_import2(c->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
		gnutls_free(pem.data);
	}
	return r;
}

/* Piece by piece: gnutls_certificate_set_x509_key_file() leaks what it has read of a broken file. */
static int chain_read(struct chain *c, const char *const names[N_FILES], struct buf *err)
{
	int r = read_certs(c, names[CERT]);
	if (r < 0) {
		return fail_load(err, "certificate", names[CERT], r);
	}
	r = read_key(c, names[KEY]);
	return r < 0 ? fail_load(err, "key", names[KEY], r) : 0;
}

static int show_chain(struct tls_identity *id, const struct chain *c, const char *const names[N_FILES], struct buf *err)
{
	int r = gnutls_certificate_set_x509_key(id->credentials, c->certs, (int)c->n, c->key);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) {
		buf_printf(err, "the key %s is not that of the certificate %s", names[KEY], names[CERT]);
		return -EINVAL;
	}
	return r < 0 ? fail_load(err, "certificate", names[CERT], r) : 0;
}

/* Clients with several certificates choose by the names of these. GnuTLS says each once. */
static void show_authorities(struct tls_identity *id, struct str pem)
{
	gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.p, (unsigned)pem.n};
	if (pem.n > 0) {
		gnutls_certificate_set_x509_trust_mem(id->credentials, &text, GNUTLS_X509_FMT_PEM);
	}
}

static int tls_identity_make(struct tls_identity **ret, const struct tls_files *f, const struct chain *c, struct buf *err)
{
	_cleanup_(tls_identity_unrefp) struct tls_identity *id = mem_new(struct tls_identity);
	atomic_init(&id->refs, 1);
	id->asks_client = f->asks_client;
	int r = gnutls_certificate_allocate_credentials(&id->credentials);
	if (r < 0) {
		return fail_load(err, "certificate", f->names[CERT], r);
	}

	r = show_chain(id, c, f->names, err);
	if (r < 0) {
		return r;
	}
	if (f->hinted) {
		show_authorities(id, verifier_trust(f->hinted)->client_ca);
		show_authorities(id, verifier_trust(f->hinted)->front_ca);
	}
	*ret = take_ptr(id);
	return 0;
}

static void put_in_force(struct tls_files *f, struct tls_identity *id)
{
	pthread_mutex_lock(&f->lock);
	struct tls_identity *old = f->current;
	f->current = id;
	pthread_mutex_unlock(&f->lock);
	tls_identity_unref(old);
}

static int load_files(struct tls_files *f, struct buf *err)
{
	_cleanup_(chain_done) struct chain c = {0};
	struct tls_identity *id;
	int r = chain_read(&c, f->names, err);
	r = r ? r : tls_identity_make(&id, f, &c, err);
	if (r == 0) {
		struct chain old = f->chain;
		f->chain = c;
		c = old;
		put_in_force(f, id);
	}
	return r;
}

/* True: one of them is another one than before. */
static bool stamp_files(struct tls_files *f)
{
	bool is_new = false;
	for (size_t i = 0; i < N_FILES; i++) {
		struct file_stamp now;
		file_stamp_look(f->names[i], &now);
		is_new |= !file_stamp_eq(&now, &f->stamps[i]);
		f->stamps[i] = now;
	}
	return is_new;
}

int tls_files_new(struct tls_files **ret, const char *cert_file, const char *key_file, bool asks_client, struct buf *err)
{
	struct tls_files *f = mem_new(struct tls_files);
	f->names[CERT] = cert_file;
	f->names[KEY] = key_file;
	f->asks_client = asks_client;
	pthread_mutex_init(&f->lock, NULL);
	stamp_files(f);

	int r = load_files(f, err);
	if (r < 0) {
		tls_files_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

struct tls_files *tls_files_free(struct tls_files *f)
{
	if (f) {
		tls_identity_unref(f->current);
		chain_done(&f->chain);
		verifier_unref(f->hinted);
		pthread_mutex_destroy(&f->lock);
		mem_free(f);
	}
	return NULL;
}

/* The stamps are taken before the files are read: what is written meanwhile is noticed the next time. */
int tls_files_refresh(struct tls_files *f, struct buf *err)
{
	if (!stamp_files(f)) {
		return 0;
	}
	int r = load_files(f, err);
	return r < 0 ? r : 1;
}

/* A verifier that is held cannot make way for another at its address. */
void tls_files_hint(struct tls_files *f, struct verifier *v)
{
	_cleanup_(buf_done) struct buf ignored;
	struct tls_identity *id;
	buf_init(&ignored, 1024);
	if (v == f->hinted) {
		return;
	}
	verifier_unref(f->hinted);
	f->hinted = verifier_ref(v);
	if (tls_identity_make(&id, f, &f->chain, &ignored) == 0) {
		put_in_force(f, id);
	}
}

/* Looks at all certificates that clients are shown. The last second of validity is still valid. */
static enum dates chain_dates(const struct chain *c, int64_t now_s, int64_t *ret_moment)
{
	for (unsigned i = 0; i < c->n; i++) {
		int64_t from_s = gnutls_x509_crt_get_activation_time(c->certs[i]);
		int64_t until_s = gnutls_x509_crt_get_expiration_time(c->certs[i]);
		if (now_s < from_s || now_s > until_s) {
			*ret_moment = now_s < from_s ? from_s : until_s;
			return now_s < from_s ? DATES_BEFORE : DATES_AFTER;
		}
	}
	return DATES_GOOD;
}

void tls_files_check_dates(struct tls_files *f, int64_t now_s, struct buf *notice)
{
	char time[TIME_RFC3339_SIZE];
	int64_t moment_s = now_s;
	enum dates dates = chain_dates(&f->chain, now_s, &moment_s);
	if (dates == f->dates) {
		return;
	}
	f->dates = dates;
	time_format_rfc3339(time, moment_s);
	if (dates == DATES_GOOD) {
		buf_printf(notice, "the serving certificate %s is in date again", f->names[CERT]);
	} else {
		buf_printf(notice, "the serving certificate %s %s %s: clients refuse it", f->names[CERT],
			dates == DATES_BEFORE ? "is not valid before" : "has expired: it was valid until", time);
	}
}

struct tls_identity *tls_files_identity(struct tls_files *f)
{
	pthread_mutex_lock(&f->lock);
	struct tls_identity *id = tls_identity_ref(f->current);
	pthread_mutex_unlock(&f->lock);
	return id;
}

void tls_identity_apply(const struct tls_identity *id, gnutls_session_t session)
{
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, id->credentials);
	gnutls_certificate_server_set_request(session, id->asks_client ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_IGNORE);
}
