/* Checks files before any server reads them: certificates and keys of `annals serve`, and the directory of
 * `annals up`. A directory has everything that is to be known about its annals, so it needs no other flags.
 *
 * The worst mistake is a CA that signs certificates of users and of front proxies alike: then each user can pose
 * as a proxy, and name any user. The common name never counts as a server's name: Go's crypto/x509 looks only at
 * subjectAltName. */
#include "cli/doctor/doctor_files.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/common/etcd_flags.h"
#include "cli/doctor/doctor_cluster.h"

#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Certificates of one file or chain; a file with more counts as unreadable. A bundle of all public
 * authorities has 150. */
enum { DAY_S = 24 * 60 * 60, CERTS_MAX = 256, NAMES_MAX = 256, SOON_DAYS = 30, NAME_SIZE = 1024 };

/* ---- reading ---- */

static struct str subject_of(gnutls_x509_crt_t crt, struct arena *a)
{
	gnutls_datum_t text;
	if (gnutls_x509_crt_get_dn3(crt, &text, 0) < 0) {
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
		.subject = subject_of(crt, a),
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

static bool cert_has_name(const struct certificate *c, struct str name)
{
	for (size_t i = 0; i < c->n_names; i++) {
		if (name_fits(c->names[i], name)) {
			return true;
		}
	}
	return false;
}

static struct str cert_names(const struct certificate *c, struct arena *a)
{
	struct str text = {NULL, 0};
	for (size_t i = 0; i < c->n_names; i++) {
		text = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(text), i ? ", " : "", STR_ARG(c->names[i]));
	}
	return c->n_names ? text : STR("none");
}

static bool cert_is_signed_by(const struct certificate *c, const struct certificate *issuer)
{
	unsigned status = 0;
	return gnutls_x509_crt_verify(c->crt, &issuer->crt, 1,
		       GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_ALLOW_ANY_X509_V1_CA_CRT, &status) >= 0 &&
		status == 0;
}

static bool certs_share_key(const struct certs *a, const struct certs *b)
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

/* ---- files ---- */

static bool doctor_read_file(struct report *r, const char *path, struct buf *out)
{
	int error = file_read_path(path, out);
	if (error) {
		report_add(r, SEVERITY_ERROR, str_of(path), NO_FIX, "it cannot be read: %s", strerror(-error));
	}
	return error == 0;
}

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
	size_t n_names, struct str fix)
{
	bool is_shared = certs_share_key(front, clients);
	if (is_shared && n_names == 0) {
		report_add(r, SEVERITY_ERROR, subject, fix,
			"the CA of front proxies is also the CA of users' certificates, and any name is allowed: every user "
			"may pose as "
			"anybody by sending X-Remote-User");
	} else if (n_names == 0) {
		report_add(r, SEVERITY_WARNING, subject, fix,
			"no names are given: whoever has any certificate of the front proxies' CA may pose as anybody");
	} else if (is_shared) {
		report_add(r, SEVERITY_WARNING, subject, fix,
			"the CA of front proxies is also the CA of users' certificates: only the name keeps users from posing "
			"as anybody");
	} else {
		report_add(
			r, SEVERITY_OK, subject, NO_FIX, "front proxies have a CA of their own and must have an allowed name");
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
		report_add(r, SEVERITY_ERROR, subject, p->fix, "it is not the key of the certificate in %s", p->cert_file);
	} else if (i > 0) {
		report_add(r, SEVERITY_ERROR, str_of(p->cert_file), NO_FIX,
			"the certificate of the key is number %zu in it, and must be the first", i + 1);
	} else {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "it is the certificate's key");
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
			report_add(r, SEVERITY_ERROR, str_of(p->key_file), p->fix, "it is no private key in PEM: %s",
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

static bool read_certs(struct report *r, const char *path, struct certs *ret, struct str fix)
{
	_cleanup_(buf_done) struct buf text, err;
	*ret = (struct certs){NULL, 0};
	buf_init(&text, DOCTOR_FILE_MAX);
	buf_init(&err, 4096);
	if (!doctor_read_file(r, path, &text)) {
		return false;
	}
	if (certs_parse(ret, buf_str(&text), &r->arena, &err)) {
		report_add(r, SEVERITY_ERROR, str_of(path), fix, STR_FMT, STR_ARG(buf_str(&err)));
		return false;
	}
	return true;
}

void doctor_check_pair(struct report *r, const struct doctor_pair *p, int64_t now_s)
{
	_cleanup_(certs_done) struct certs chain;
	struct str subject = str_of(p->cert_file);
	if (!read_certs(r, p->cert_file, &chain, p->fix)) {
		return;
	}
	if (p->is_server) {
		judge_leaf(r, subject, &chain.v[0], p->wanted_name, now_s, p->fix);
	} else {
		judge_life(r, subject, &chain.v[0], now_s, p->fix);
	}
	judge_chain(r, subject, &chain);
	if (p->key_file) {
		check_key(r, p, &chain);
	}
}

bool doctor_check_cas(struct report *r, const char *path, int64_t now_s, struct certs *ret)
{
	if (!read_certs(r, path, ret, NO_FIX)) {
		return false;
	}
	judge_cas(r, str_of(path), ret, now_s, NO_FIX);
	return true;
}

/* ---- the directory of `annals up` ---- */

#define PART "annals up"
#define START_FIX(r, dir)                                                                   \
	report_text(r, "annals up --data-dir=" STR_FMT "    # makes new ones at its start", \
		STR_ARG(shell_word(&(r)->arena, str_of(dir))))

/* False if there is no such directory. */
static bool check_directory(struct report *r, const char *dir)
{
	struct stat st;
	struct str subject = str_of(dir), word = shell_word(&r->arena, subject);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
		report_add(r, SEVERITY_ERROR, subject, report_text(r, "annals up --data-dir=" STR_FMT, STR_ARG(word)),
			"there is no such directory");
		return false;
	}
	if (st.st_mode & 022) {
		report_add(r, SEVERITY_ERROR, subject, report_text(r, "chmod 0700 " STR_FMT, STR_ARG(word)),
			"others may write to it (mode %04o), and annals up refuses it", st.st_mode & 07777);
	} else if (st.st_mode & 077) {
		report_add(r, SEVERITY_WARNING, subject, report_text(r, "chmod 0700 " STR_FMT, STR_ARG(word)),
			"others may look into it (mode %04o), and talk to its etcd", st.st_mode & 07777);
	} else {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "it is its owner's alone");
	}
	return true;
}

static void check_certificates(struct report *r, const char *dir, int64_t now_s)
{
	static const char *const names[] = {"server", "admin", "controllers"};
	_cleanup_(mem_freep) char *ca = mem_printf("%s/ca.crt", dir);
	struct certs cas;
	doctor_check_cas(r, ca, now_s, &cas);
	certs_done(&cas);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(mem_freep) char *cert = mem_printf("%s/%s.crt", dir, names[i]);
		_cleanup_(mem_freep) char *key = mem_printf("%s/%s.key", dir, names[i]);
		bool is_server = i == 0;
		doctor_check_pair(r,
			&(struct doctor_pair){.cert_file = cert,
				.key_file = key,
				.is_server = is_server,
				.wanted_name = is_server ? STR("localhost") : NO_FIX,
				.fix = START_FIX(r, dir)},
			now_s);
	}
}

/* The lock file names the process. doctor does not take the lock: that would keep an annals up from starting. */
static bool is_running(const char *dir)
{
	_cleanup_(mem_freep) char *path = mem_printf("%s/lock", dir);
	char text[32] = "";
	int64_t pid;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return false;
	}
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0 || !str_to_int64(str_trim((struct str){text, (size_t)n}), &pid) || pid <= 0) {
		return false;
	}
	_cleanup_(mem_freep) char *proc = mem_printf("/proc/%lld", (long long)pid);
	return access(proc, F_OK) == 0;
}

/* A server is mostly not ready because its etcd is away. Only an etcd of its own has a log here. */
static struct str readiness_fix(struct report *r, const char *dir)
{
	_cleanup_(mem_freep) char *log = mem_printf("%s/etcd.log", dir);
	return access(log, F_OK) == 0 ? report_text(r, "tail " STR_FMT "    # mostly it is etcd that is away",
						STR_ARG(shell_word(&r->arena, str_of(log))))
				      : STR("annals doctor --etcd-servers=URL,...    # mostly it is etcd that is away");
}

static void check_server(struct report *r, const char *dir)
{
	_cleanup_(mem_freep) char *path = mem_printf("%s/kubeconfig", dir);
	_cleanup_(buf_done) struct buf err;
	struct client_config config = {0};
	struct client *client;
	struct answer answer;
	buf_init(&err, 4096);
	int error = client_config_load(&config, path, NULL, &err);
	error = error ? error : client_new(&client, &config, &err);
	if (error) {
		report_add(r, SEVERITY_ERROR, str_of(path), START_FIX(r, dir), STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		answer_init(&answer);
		rest_do(client, &(struct rest_call){.method = "GET", .path = "/readyz", .accept = "*/*", .is_single = true},
			&answer);
		if (answer.code == 200) { /* its body is no JSON */
			report_add(r, SEVERITY_OK, STR("the server"), NO_FIX, "%s: ready", config.server);
		} else {
			report_add(r, SEVERITY_ERROR, STR("the server"), readiness_fix(r, dir), "%s: not ready: " STR_FMT,
				config.server, STR_ARG(answer.message));
		}
		answer_done(&answer);
		client_free(client);
	}
	client_config_done(&config);
}

static void check_running(struct report *r, const char *dir, int64_t now_s)
{
	_cleanup_(mem_freep) char *folder = mem_printf("%s/etcd", dir);
	_cleanup_(mem_freep) char *endpoint = mem_printf("unix://%s/client:0", folder);
	const char *const endpoints[] = {endpoint};
	/* The server waits for etcd, so etcd comes first. */
	if (access(folder, F_OK) < 0) {
		report_add(r, SEVERITY_SKIPPED, STR("etcd"), NO_FIX,
			"give --etcd-servers, if annals up has it; with --store=memory there is none");
	} else {
		doctor_check_etcd(r,
			&(struct doctor_etcd){.endpoints = endpoints, .n_endpoints = 1, .prefix = ETCD_PREFIX, .now_s = now_s});
		r->part = PART;
	}
	r->topic = TOPIC_UP_SERVER;
	check_server(r, dir);
	r->topic = TOPIC_NONE;
}

void doctor_check_up(struct report *r, const char *dir, int64_t now_s)
{
	r->part = PART;
	r->topic = TOPIC_DIRECTORY;
	if (!check_directory(r, dir)) {
		return;
	}
	r->topic = TOPIC_UP_FILES;
	check_certificates(r, dir, now_s);
	if (is_running(dir)) {
		check_running(r, dir, now_s);
	} else {
		report_add(r, SEVERITY_SKIPPED, STR("server and etcd"), NO_FIX, "annals up does not run on it");
	}
}
