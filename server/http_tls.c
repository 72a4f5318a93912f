#include "server/http_tls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

struct tls_identity {
	_Atomic uint32_t refs;
	gnutls_certificate_credentials_t credentials;
	bool asks_client;
};

/* What tells one version of a file from the next, through the symbolic links of a mounted secret too. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

enum { CERT, KEY, N_FILES };

struct tls_files {
	const char *names[N_FILES];
	bool asks_client;
	struct stamp stamps[N_FILES];
	pthread_mutex_t lock; /* guards the pointer `current` */
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

struct chain {
	gnutls_x509_crt_t *certs;
	unsigned n;
	gnutls_x509_privkey_t key;
};

static void chain_done(struct chain *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		gnutls_x509_crt_deinit(c->certs[i]);
	}
	gnutls_free(c->certs);
	gnutls_x509_privkey_deinit(c->key);
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
static int load_chain(struct tls_identity *id, const char *const names[N_FILES], struct buf *err)
{
	_cleanup_(chain_done) struct chain c = {0};
	int r = read_certs(&c, names[CERT]);
	if (r < 0) {
		return fail_load(err, "certificate", names[CERT], r);
	}
	r = read_key(&c, names[KEY]);
	if (r < 0) {
		return fail_load(err, "key", names[KEY], r);
	}
	r = gnutls_certificate_set_x509_key(id->credentials, c.certs, (int)c.n, c.key);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) {
		buf_printf(err, "the key %s is not that of the certificate %s", names[KEY], names[CERT]);
		return -EINVAL;
	}
	return r < 0 ? fail_load(err, "certificate", names[CERT], r) : 0;
}

static int tls_identity_load(struct tls_identity **ret, const struct tls_files *f, struct buf *err)
{
	_cleanup_(tls_identity_unrefp) struct tls_identity *id = mem_new(struct tls_identity);
	atomic_init(&id->refs, 1);
	id->asks_client = f->asks_client;
	int r = gnutls_certificate_allocate_credentials(&id->credentials);
	if (r < 0) {
		return fail_load(err, "certificate", f->names[CERT], r);
	}

	r = load_chain(id, f->names, err);
	if (r < 0) {
		return r;
	}
	*ret = take_ptr(id);
	return 0;
}

static void stamp_files(const char *const names[N_FILES], struct stamp ret[N_FILES])
{
	memset(ret, 0, sizeof(struct stamp) * N_FILES);
	for (size_t i = 0; i < N_FILES; i++) {
		struct stat st;
		if (stat(names[i], &st) == 0) {
			ret[i].device = st.st_dev;
			ret[i].inode = st.st_ino;
			ret[i].size = st.st_size;
			ret[i].changed = st.st_mtim;
		}
	}
}

int tls_files_new(struct tls_files **ret, const char *cert_file, const char *key_file, bool asks_client, struct buf *err)
{
	struct tls_files *f = mem_new(struct tls_files);
	f->names[CERT] = cert_file;
	f->names[KEY] = key_file;
	f->asks_client = asks_client;
	pthread_mutex_init(&f->lock, NULL);
	stamp_files(f->names, f->stamps);

	int r = tls_identity_load(&f->current, f, err);
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
		pthread_mutex_destroy(&f->lock);
		mem_free(f);
	}
	return NULL;
}

/* The stamps are taken before the files are read: what is written meanwhile is noticed the next time. */
int tls_files_refresh(struct tls_files *f, struct buf *err)
{
	struct stamp stamps[N_FILES];
	stamp_files(f->names, stamps);
	if (memcmp(stamps, f->stamps, sizeof(stamps)) == 0) {
		return 0;
	}
	memcpy(f->stamps, stamps, sizeof(stamps));

	_cleanup_(tls_identity_unrefp) struct tls_identity *id = NULL;
	int r = tls_identity_load(&id, f, err);
	if (r < 0) {
		return r;
	}
	pthread_mutex_lock(&f->lock);
	struct tls_identity *old = f->current;
	f->current = take_ptr(id);
	pthread_mutex_unlock(&f->lock);
	tls_identity_unref(old);
	return 1;
}

struct tls_identity *tls_files_identity(struct tls_files *f)
{
	pthread_mutex_lock(&f->lock);
	struct tls_identity *id = tls_identity_ref(f->current);
	pthread_mutex_unlock(&f->lock);
	return id;
}

/* The certificate request names no CAs: clients send what they have, and strangers need not learn whom we trust. */
void tls_identity_apply(const struct tls_identity *id, gnutls_session_t session)
{
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, id->credentials);
	gnutls_certificate_send_x509_rdn_sequence(session, 1);
	gnutls_certificate_server_set_request(session, id->asks_client ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_IGNORE);
}
