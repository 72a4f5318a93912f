/* Checks files before any server reads them: certificates and keys of `annals serve`, and the directory of
 * `annals up`. A directory has everything that is to be known about its annals, so it needs no other flags.
 *
 * The worst mistake is a CA that signs certificates of users and of front proxies alike: then each user can pose
 * as a proxy, and name any user. */
#include "cli/doctor/doctor_files.h"
#include "base/file.h"
#include "cli/common/etcd_flags.h"
#include "cli/doctor/doctor_cluster.h"
#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_report.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool doctor_read_file(struct report *r, const char *path, struct buf *out)
{
	int error = file_read_path(path, out);
	if (error) {
		report_add(r, SEVERITY_ERROR, str_of(path), NO_FIX, "it cannot be read: %s", strerror(-error));
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
	struct str subject = STR("the server");
	struct client_config config = {0};
	struct client *client;
	struct doctor_fetched f;
	buf_init(&err, 4096);
	int error = client_config_load(&config, path, NULL, &err);
	error = error ? error : client_new(&client, &config, &err);
	if (error) {
		report_add(r, SEVERITY_ERROR, str_of(path), START_FIX(r, dir), STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		doctor_fetch(client, "/readyz", &f);
		bool is_ready = f.code == 200;
		report_add(r, is_ready ? SEVERITY_OK : SEVERITY_ERROR, subject, is_ready ? NO_FIX : readiness_fix(r, dir),
			is_ready ? "%s: ready%s" : "%s: not ready: %s", config.server, f.code ? "" : f.problem);
		doctor_fetched_done(&f);
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
