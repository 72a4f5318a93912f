/* Makes certificates, and renews them in time, so that nobody has to remember when they expire. It judges the existing
 * files first, so a second run changes nothing. A CA keeps its key when its certificate is renewed: otherwise everybody who
 * trusts it would need the new one. */
#include "cli/certs/certs.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

enum {
	DAY_S = 24 * 60 * 60,
	CA_DAYS = 3650,
	/* A certificate with a long chain has some KiB. */
	PEM_MAX = 64 * 1024,
	HOST_NAME_SIZE = 256,
};
_Static_assert(CERTS_DAYS_MAX <= CA_DAYS / 3, "a CA must outlive what it signs");

struct making {
	const struct datadir *dir;
	const struct certs_plan *plan;
	int64_t now_s;
	struct key_pair *pairs; /* one for each row of the plan that has been carried out */
	struct buf *err;
};

static bool is_ca(const struct cert *c)
{
	return !c->ca;
}

static const struct key_pair *issuer_of(const struct making *m, const struct cert *c)
{
	size_t i = 0;
	assert(!is_ca(c));
	while (strcmp(m->plan->v[i].name, c->ca) != 0) {
		i++;
	}
	assert(&m->plan->v[i] < c); /* a CA comes before the certificates that it signs */
	return &m->pairs[i];
}

/* ---- files ---- */

static int refuse_gnutls(struct making *m, const struct cert *c, int error)
{
	buf_printf(m->err, "cannot make the certificate %s/%s.crt: %s", m->dir->path, c->name, gnutls_strerror(error));
	return -EINVAL;
}

static int write_pem(struct making *m, const struct cert *c, const char *suffix, mode_t mode, gnutls_datum_t *pem)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s.%s", c->name, suffix);
	int result = datadir_write(m->dir, name, (struct str){(const char *)pem->data, pem->size}, mode, m->err);
	gnutls_memset(pem->data, 0, pem->size);
	gnutls_free(pem->data);
	return result;
}

static int write_key(struct making *m, const struct cert *c, const struct key_pair *p)
{
	gnutls_datum_t pem;
	int e = key_pair_export_key(p, &pem);
	return e < 0 ? refuse_gnutls(m, c, e) : write_pem(m, c, "key", 0600, &pem);
}

/* The key goes first: a certificate without its key is noticed and renewed. */
static int write_pair(struct making *m, const struct cert *c, const struct key_pair *p)
{
	gnutls_datum_t pem;
	int result = write_key(m, c, p);
	if (result) {
		return result;
	}
	int e = key_pair_export_crt(p, &pem);
	return e < 0 ? refuse_gnutls(m, c, e) : write_pem(m, c, "crt", 0644, &pem);
}

/* 0, or -errno; -EINVAL if it is no PEM. */
static int read_pem(const struct datadir *d, const struct cert *c, const char *suffix,
	int (*import)(struct key_pair *, struct str), struct key_pair *p)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s.%s", c->name, suffix);
	struct buf text;
	buf_init(&text, PEM_MAX);
	int result = datadir_read(d, name, &text);
	if (!result) {
		result = import(p, buf_str(&text)) < 0 ? -EINVAL : 0;
		gnutls_memset(text.p, 0, text.n);
	}
	buf_done(&text);
	return result;
}

/* ---- judging ---- */

/* The state of a pair of files. A CA that is OLD keeps its key. One that is OTHER (another signer, or other names) or
 * BROKEN must not: the key may not be ours. */
enum verdict { FOUND_GOOD, FOUND_OLD, FOUND_OTHER, FOUND_BROKEN, FOUND_NOTHING };

static int64_t renew_s(const struct making *m, const struct cert *c, const struct key_pair *p)
{
	int64_t begin = key_pair_begin_s(p), end = key_pair_end_s(p);
	bool is_told = m->plan->renew_before_days > 0 && !is_ca(c);
	return is_told ? end - m->plan->renew_before_days * DAY_S : end - (end - begin) / 3;
}

static bool is_fresh(const struct making *m, const struct cert *c, const struct key_pair *p)
{
	return key_pair_begin_s(p) <= m->now_s && m->now_s <= renew_s(m, c, p);
}

static enum verdict judge(const struct making *m, const struct cert *c, const struct key_pair *p)
{
	if (!key_pair_belongs_together(p)) {
		return FOUND_BROKEN;
	}
	if (!key_pair_is_signed_by(p, is_ca(c) ? p : issuer_of(m, c))) {
		return FOUND_OTHER;
	}
	if (!is_ca(c) && !key_pair_has_names(p, &c->recipe)) {
		return FOUND_OTHER;
	}
	return is_fresh(m, c, p) ? FOUND_GOOD : FOUND_OLD;
}

static enum verdict find_pair(const struct making *m, const struct cert *c, struct key_pair *p)
{
	int crt = read_pem(m->dir, c, "crt", key_pair_import_crt, p);
	int key = crt ? crt : read_pem(m->dir, c, "key", key_pair_import_key, p);
	if (crt == -ENOENT) {
		return FOUND_NOTHING;
	}
	return key ? FOUND_BROKEN : judge(m, c, p);
}

/* ---- making ---- */

static int refuse_ca(struct making *m, const struct cert *c, enum verdict verdict)
{
	const char *path = m->dir->path, *name = c->name;
	buf_printf(m->err, "%s/%s.crt is there, but ", path, name);
	if (verdict == FOUND_OTHER) {
		BUF_LITERAL(m->err, "it is not signed by itself");
	} else {
		buf_printf(m->err, "%s/%s.key is missing, or they do not belong together", path, name);
	}
	BUF_LITERAL(m->err,
		": put back the pair that was there, or move both away to begin with a new CA, which everybody "
		"who trusts the old one must be given");
	return -EINVAL;
}

static int make_pair(struct making *m, const struct cert *c, struct key_pair *p)
{
	int64_t life_s = (is_ca(c) ? CA_DAYS : m->plan->days) * DAY_S;
	int e = key_pair_make(p, &c->recipe, is_ca(c) ? NULL : issuer_of(m, c), m->now_s, life_s);
	return e < 0 ? refuse_gnutls(m, c, e) : write_pair(m, c, p);
}

/* A client that trusts the old certificate of a CA also trusts certificates that its key signs later. */
static void keep_key_of_old_ca(const struct cert *c, enum verdict verdict, struct key_pair *p)
{
	gnutls_x509_privkey_t key = NULL;
	if (is_ca(c) && verdict == FOUND_OLD) {
		key = take_ptr(p->key);
	}
	key_pair_done(p);
	p->key = key;
}

static int ensure_pair(struct making *m, size_t i, struct cert_state *ret)
{
	const struct cert *c = &m->plan->v[i];
	struct key_pair *p = &m->pairs[i];
	enum verdict verdict = find_pair(m, c, p);
	if (is_ca(c) && m->plan->keeps_ca && (verdict == FOUND_OTHER || verdict == FOUND_BROKEN)) {
		return refuse_ca(m, c, verdict);
	}
	if (verdict != FOUND_GOOD) {
		keep_key_of_old_ca(c, verdict, p);
	}
	int result = verdict != FOUND_GOOD ? make_pair(m, c, p) : p->has_misshapen_key ? write_key(m, c, p) : 0;
	if (result) {
		return result;
	}
	*ret = (struct cert_state){
		.is_made = verdict != FOUND_GOOD,
		.is_key_reshaped = verdict == FOUND_GOOD && p->has_misshapen_key,
		.renew_s = renew_s(m, c, p),
		.end_s = key_pair_end_s(p),
	};
	return 0;
}

int certs_ensure_plan(
	const struct datadir *d, const struct certs_plan *plan, int64_t now_s, struct cert_state *ret_states, struct buf *err)
{
	struct making m = {d, plan, now_s, mem_array(plan->n, sizeof(struct key_pair)), err};
	int result = 0;
	for (size_t i = 0; i < plan->n && !result; i++) {
		struct cert_state state;
		result = ensure_pair(&m, i, &state);
		if (!result && ret_states) {
			ret_states[i] = state;
		}
	}
	for (size_t i = 0; i < plan->n; i++) {
		key_pair_done(&m.pairs[i]);
	}
	mem_free(m.pairs);
	return result;
}

/* ---- those of `annals up` ---- */

int certs_ensure(const struct datadir *d, int64_t now_s, unsigned *ret_n_made, struct buf *err)
{
	char host_name[HOST_NAME_SIZE] = "";
	const char *names[] = {"127.0.0.1", "::1", "localhost", "kubernetes", host_name};
	bool has_host_name =
		gethostname(host_name, sizeof(host_name) - 1) == 0 && host_name[0] && strcmp(host_name, "localhost") != 0;
	const struct cert certs[] = {
		{"ca", NULL, {.common_name = "annals-ca"}},
		{"server", "ca",
			{.common_name = "annals",
				.purposes = PAIR_SERVES,
				.names = names,
				.n_names = ARRAY_SIZE(names) - !has_host_name}},
		{"admin", "ca", {.common_name = "annals-admin", .organization = "system:masters", .purposes = PAIR_CALLS}},
		{"controllers", "ca",
			{.common_name = "system:annals-controllers", .organization = "system:masters", .purposes = PAIR_CALLS}},
	};
	struct cert_state states[ARRAY_SIZE(certs)];
	int result =
		certs_ensure_plan(d, &(struct certs_plan){.v = certs, .n = ARRAY_SIZE(certs), .days = 365}, now_s, states, err);
	if (result || !ret_n_made) {
		return result;
	}
	*ret_n_made = 0;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		*ret_n_made += states[i].is_made;
	}
	return 0;
}
