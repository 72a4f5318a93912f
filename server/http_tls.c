#include "server/http_tls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* An organization is a group of the user; a certificate with more than this is not an honest one. */
enum { MAX_ORGANIZATIONS = 64, MAX_NAME = 1024 };

struct tls_identity {
	_Atomic uint32_t refs;
	gnutls_certificate_credentials_t credentials;
	bool wants_client; /* there is a client CA: ask for a certificate */
};

/* What tells one version of a file from the next, through the symbolic links of a mounted secret too. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

enum { CERT, KEY, CLIENT_CA, N_FILES };

struct tls_files {
	const char *names[N_FILES];
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

static int load_client_ca(struct tls_identity *id, const char *name, struct buf *err)
{
	if (!name) {
		return 0;
	}
	int n = gnutls_certificate_set_x509_trust_file(id->credentials, name, GNUTLS_X509_FMT_PEM);
	if (n < 0) {
		return fail_load(err, "client CA", name, n);
	}
	if (n == 0) {
		buf_printf(err, "no certificate in client CA file %s", name);
		return -EINVAL;
	}
	id->wants_client = true;
	return 0;
}

static int tls_identity_load(struct tls_identity **ret, const char *const names[N_FILES], struct buf *err)
{
	_cleanup_(tls_identity_unrefp) struct tls_identity *id = mem_new(struct tls_identity);
	atomic_init(&id->refs, 1);
	int r = gnutls_certificate_allocate_credentials(&id->credentials);
	if (r < 0) {
		return fail_load(err, "certificate", names[CERT], r);
	}

	r = load_chain(id, names, err);
	if (r < 0) {
		return r;
	}
	r = load_client_ca(id, names[CLIENT_CA], err);
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
		if (names[i] && stat(names[i], &st) == 0) {
			ret[i].device = st.st_dev;
			ret[i].inode = st.st_ino;
			ret[i].size = st.st_size;
			ret[i].changed = st.st_mtim;
		}
	}
}

int tls_files_new(
	struct tls_files **ret, const char *cert_file, const char *key_file, const char *client_ca_file, struct buf *err)
{
	struct tls_files *f = mem_new(struct tls_files);
	f->names[CERT] = cert_file;
	f->names[KEY] = key_file;
	f->names[CLIENT_CA] = client_ca_file;
	pthread_mutex_init(&f->lock, NULL);
	stamp_files(f->names, f->stamps);

	int r = tls_identity_load(&f->current, f->names, err);
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
	int r = tls_identity_load(&id, f->names, err);
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
	gnutls_certificate_server_set_request(session, id->wants_client ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_IGNORE);
}

static void set_problem(struct http_peer *peer, struct arena *a, const char *text)
{
	peer->problem = arena_dup(a, str_trim(str_of(text)));
}

/* Chain, dates, revocation and that the certificate may be used by a client. */
static bool verify_peer(gnutls_session_t session, struct arena *a, struct http_peer *ret)
{
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT};
	unsigned status = 0;
	int r = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
	if (r < 0) {
		set_problem(ret, a, gnutls_strerror(r));
		return false;
	}
	if (status == 0) {
		return true;
	}
	gnutls_datum_t text = {NULL, 0};
	if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == 0) {
		set_problem(ret, a, (const char *)text.data);
		gnutls_free(text.data);
	} else {
		set_problem(ret, a, "The certificate is NOT trusted.");
	}
	return false;
}

/* The index-th name of that kind; empty when there is none. */
static struct str read_name(gnutls_x509_crt_t cert, struct arena *a, const char *oid, unsigned index)
{
	char name[MAX_NAME];
	size_t n = sizeof(name);
	if (gnutls_x509_crt_get_dn_by_oid(cert, oid, index, 0, name, &n) < 0) {
		return (struct str){NULL, 0};
	}
	return arena_dup(a, (struct str){name, n});
}

static struct str fingerprint_of(const gnutls_datum_t *der, struct arena *a)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char digest[32];
	size_t n = sizeof(digest);

	if (gnutls_fingerprint(GNUTLS_DIG_SHA256, der, digest, &n) < 0) {
		return (struct str){NULL, 0};
	}
	char *text = arena_text(a, 2 * n);
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = hex[digest[i] >> 4];
		text[2 * i + 1] = hex[digest[i] & 15];
	}
	return (struct str){text, 2 * n};
}

static void read_names(gnutls_x509_crt_t cert, struct arena *a, struct http_peer *ret)
{
	struct str organizations[MAX_ORGANIZATIONS];
	size_t n = 0;
	while (n < MAX_ORGANIZATIONS) {
		organizations[n] = read_name(cert, a, GNUTLS_OID_X520_ORGANIZATION_NAME, (unsigned)n);
		if (organizations[n].n == 0) {
			break;
		}
		n++;
	}

	struct str *copy = arena_array(a, struct str, n);
	memcpy(copy, organizations, n * sizeof(*copy));
	ret->organizations = copy;
	ret->n_organizations = n;
	ret->common_name = read_name(cert, a, GNUTLS_OID_X520_COMMON_NAME, 0);
	ret->is_verified = true;
}

void tls_identify_peer(const struct tls_identity *id, gnutls_session_t session, struct arena *a, struct http_peer *ret)
{
	unsigned n = 0;
	const gnutls_datum_t *chain = id->wants_client ? gnutls_certificate_get_peers(session, &n) : NULL;
	ret->has_certificate = chain && n > 0;
	if (!ret->has_certificate || !verify_peer(session, a, ret)) {
		return;
	}

	gnutls_x509_crt_t cert;
	int r = gnutls_x509_crt_init(&cert);
	if (r == 0) {
		r = gnutls_x509_crt_import(cert, &chain[0], GNUTLS_X509_FMT_DER);
		if (r == 0) {
			read_names(cert, a, ret);
			ret->fingerprint = fingerprint_of(&chain[0], a);
		}
		gnutls_x509_crt_deinit(cert);
	}
	if (r < 0) {
		set_problem(ret, a, gnutls_strerror(r));
	}
}
