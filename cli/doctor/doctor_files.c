/* The files are read as the server reads them, before any of it runs. The trap looked for first
 * is a CA that signs users and front proxies alike: any user could then pass for a proxy and
 * name whom he likes. */
#include "cli/doctor/doctor_files.h"

#include "base/file.h"

#include <gnutls/abstract.h>
#include <sys/stat.h>
#include <unistd.h>

bool doctor_read_file(struct report *r, const char *path, struct buf *out)
{
	int error = file_read_path(path, out);
	if (error) {
		report_add(r, SEVERITY_ERROR, str_of(path), NO_MEND, "it cannot be read: %s", strerror(-error));
	}
	return error == 0;
}

/* ---- judgements ---- */

void judge_chain(struct report *r, struct str subject, const struct certs *chain)
{
	for (size_t i = 0; i + 1 < chain->n; i++) {
		if (!cert_is_signed_by(&chain->v[i], &chain->v[i + 1])) {
			report_add(r, SEVERITY_WARNING, subject,
				STR("cat leaf.crt intermediate.crt >chain.crt    # each is signed by the next one"),
				"out of order: certificate %zu, \"" STR_FMT "\", is not signed by the one behind it, \"" STR_FMT
				"\"",
				i + 1, STR_ARG(chain->v[i].subject), STR_ARG(chain->v[i + 1].subject));
			return;
		}
	}
}

void judge_key_mode(struct report *r, struct str path, unsigned mode)
{
	if (mode & 07) {
		report_add(r, SEVERITY_WARNING, path,
			report_text(r, "chmod 0600 " STR_FMT, STR_ARG(shell_word(&r->arena, path))),
			"every user of this machine may read or change this private key (mode %04o)", mode & 07777);
	}
}

void judge_front_names(struct report *r, struct str subject, const struct certs *front, const struct certs *clients,
	size_t n_names, struct str mend)
{
	bool is_shared = certs_share_key(front, clients);
	if (is_shared && n_names == 0) {
		report_add(r, SEVERITY_ERROR, subject, mend,
			"the CA of front proxies is also the CA of users' certificates, and any name is allowed: every user "
			"may pose as "
			"anybody by sending X-Remote-User");
	} else if (n_names == 0) {
		report_add(r, SEVERITY_WARNING, subject, mend,
			"no names are given: whoever has any certificate of the front proxies' CA may pose as anybody");
	} else if (is_shared) {
		report_add(r, SEVERITY_WARNING, subject, mend,
			"the CA of front proxies is also the CA of users' certificates: only the name keeps users from posing "
			"as anybody");
	} else {
		report_add(
			r, SEVERITY_OK, subject, NO_MEND, "front proxies have a CA of their own and must have an allowed name");
	}
}

/* ---- a certificate and its key ---- */

static bool is_key_of(gnutls_x509_privkey_t key, const struct certificate *c)
{
	unsigned char id[64];
	size_t n = sizeof(id);
	return gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, id, &n) >= 0 &&
		str_eq((struct str){(const char *)id, n}, c->key_id);
}

static void judge_key(struct report *r, const struct doctor_pair *p, gnutls_x509_privkey_t key, const struct certs *chain)
{
	struct str subject = str_of(p->key_file);
	size_t i = 0;
	while (i < chain->n && !is_key_of(key, &chain->v[i])) {
		i++;
	}
	if (i == chain->n) {
		report_add(r, SEVERITY_ERROR, subject, p->mend, "it is not the key of the certificate in %s", p->cert_file);
	} else if (i > 0) {
		report_add(r, SEVERITY_ERROR, str_of(p->cert_file), NO_MEND,
			"the certificate of the key is number %zu in it, and must be the first", i + 1);
	} else {
		report_add(r, SEVERITY_OK, subject, NO_MEND, "it is the certificate's key");
	}
}

static void check_key(struct report *r, const struct doctor_pair *p, const struct certs *chain)
{
	struct buf text;
	struct stat st;
	gnutls_x509_privkey_t key = NULL;
	buf_init(&text, DOCTOR_FILE_MAX);
	if (doctor_read_file(r, p->key_file, &text)) {
		gnutls_datum_t pem = {(unsigned char *)text.p, (unsigned)text.n};
		int e = gnutls_x509_privkey_init(&key);
		e = e < 0 ? e : gnutls_x509_privkey_import2(key, &pem, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
		if (e < 0) {
			report_add(r, SEVERITY_ERROR, str_of(p->key_file), p->mend, "it is no private key in PEM: %s",
				gnutls_strerror(e));
		} else {
			judge_key(r, p, key, chain);
		}
		if (stat(p->key_file, &st) == 0) {
			judge_key_mode(r, str_of(p->key_file), st.st_mode);
		}
		gnutls_memset(text.p, 0, text.n);
	}
	if (key) {
		gnutls_x509_privkey_deinit(key);
	}
	buf_done(&text);
}

static bool read_certs(struct report *r, const char *path, struct certs *ret, struct str mend)
{
	_cleanup_(buf_done) struct buf text, err;
	*ret = (struct certs){NULL, 0};
	buf_init(&text, DOCTOR_FILE_MAX);
	buf_init(&err, 4096);
	if (!doctor_read_file(r, path, &text)) {
		return false;
	}
	if (certs_parse(ret, buf_str(&text), &r->arena, &err)) {
		report_add(r, SEVERITY_ERROR, str_of(path), mend, STR_FMT, STR_ARG(buf_str(&err)));
		return false;
	}
	return true;
}

void doctor_check_pair(struct report *r, const struct doctor_pair *p, int64_t now_s)
{
	_cleanup_(certs_done) struct certs chain;
	struct str subject = str_of(p->cert_file);
	if (!read_certs(r, p->cert_file, &chain, p->mend)) {
		return;
	}
	if (p->is_server) {
		judge_leaf(r, subject, &chain.v[0], p->wanted_name, now_s, p->mend);
	} else {
		judge_life(r, subject, &chain.v[0], now_s, p->mend);
	}
	judge_chain(r, subject, &chain);
	if (p->key_file) {
		check_key(r, p, &chain);
	}
}

bool doctor_check_cas(struct report *r, const char *path, int64_t now_s, struct certs *ret)
{
	if (!read_certs(r, path, ret, NO_MEND)) {
		return false;
	}
	judge_cas(r, str_of(path), ret, now_s, NO_MEND);
	return true;
}
