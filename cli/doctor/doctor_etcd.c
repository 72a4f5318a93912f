/* Every endpoint is asked by itself: one client for all would hide a dead member behind the
 * living ones. TLS is tried by hand first, because gRPC shows a certificate that is not trusted
 * only as a request that times out. Keys of the prefix are counted once, for members hold the
 * same. */
#include "cli/doctor/doctor_etcd.h"

#include "cli/doctor/doctor_clock.h"
#include "cli/doctor/doctor_fetch.h"
#include "cli/doctor/doctor_files.h"
#include "cli/doctor/doctor_probe.h"
#include "storage/keys.h"

#include <ctype.h>
#include <stdio.h>

enum { TIMEOUT_MS = 5000, PREFIXES_MAX = 16, ENDPOINTS_MAX = 64, HOST_MAX = 256 };

/* The files that are shown and believed, read once. The key is wiped before its memory is given back. */
struct pems {
	struct buf ca, cert, key;
};

struct visit {
	struct report *r;
	const struct doctor_etcd *etcd;
	struct pems pems;
	bool is_tls;
};

/* ---- files ---- */

#define CERT_MEND \
	STR("openssl x509 -req -in NEW.csr -CA etcd-ca.crt -CAkey etcd-ca.key -days 365 -out NEW.crt    # by etcd's CA")

static bool load(struct visit *v, const char *path, struct buf *out)
{
	buf_init(out, DOCTOR_FILE_MAX);
	return !path || doctor_read_file(v->r, path, out);
}

static bool load_pems(struct visit *v)
{
	bool has_ca = load(v, v->etcd->ca_file, &v->pems.ca);
	bool has_cert = load(v, v->etcd->cert_file, &v->pems.cert);
	return load(v, v->etcd->key_file, &v->pems.key) && has_ca && has_cert;
}

static void free_pems(struct pems *p)
{
	if (p->key.n) {
		gnutls_memset(p->key.p, 0, p->key.n);
	}
	buf_done(&p->ca);
	buf_done(&p->cert);
	buf_done(&p->key);
}

static void check_files(struct visit *v)
{
	const struct doctor_etcd *e = v->etcd;
	_cleanup_(certs_done) struct certs cas = {NULL, 0};
	if (e->ca_file) {
		doctor_check_cas(v->r, e->ca_file, e->now_s, &cas);
	}
	if (e->cert_file) {
		doctor_check_pair(v->r,
			&(struct doctor_pair){.cert_file = e->cert_file, .key_file = e->key_file, .mend = CERT_MEND}, e->now_s);
	}
}

/* ---- TLS ---- */

struct address {
	char host[HOST_MAX], port[8];
	bool is_name; /* not an address */
};

/* Of https://HOST:PORT. */
static bool split_endpoint(const char *endpoint, struct address *ret)
{
	struct str rest = str_of(strstr(endpoint, "://") ? strstr(endpoint, "://") + 3 : endpoint);
	while (str_ends(rest, STR("/"))) {
		rest.n--;
	}
	size_t colon = rest.n;
	while (colon > 0 && rest.p[colon - 1] != ':') {
		colon--;
	}
	if (colon < 2) {
		return false;
	}
	struct str host = {rest.p, colon - 1}, port = {rest.p + colon, rest.n - colon};
	if (host.p[0] == '[' && host.n > 2) {
		host = (struct str){host.p + 1, host.n - 2};
	}
	snprintf(ret->host, sizeof(ret->host), STR_FMT, STR_ARG(host));
	snprintf(ret->port, sizeof(ret->port), STR_FMT, STR_ARG(port));
	ret->is_name = strspn(ret->host, "0123456789.") != host.n && !strchr(ret->host, ':');
	return true;
}

static void judge_trust(struct visit *v, struct str subject, const struct certs *chain)
{
	_cleanup_(certs_done) struct certs cas;
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, 4096);
	if (!v->pems.ca.n || certs_parse(&cas, buf_str(&v->pems.ca), &v->r->arena, &why)) {
		return;
	}
	if (!certs_are_trusted(chain, &cas, &why)) {
		report_add(v->r, SEVERITY_ERROR, subject,
			report_text(v->r, "--etcd-cafile=FILE    # that of \"" STR_FMT "\"",
				STR_ARG(chain->v[chain->n - 1].issuer)),
			"its certificate is by \"" STR_FMT "\", which is not in %s. " STR_FMT,
			STR_ARG(chain->v[chain->n - 1].issuer), v->etcd->ca_file, STR_ARG(buf_str(&why)));
	}
}

static void judge_refusal(struct visit *v, const char *endpoint, enum probe_result result, struct str why)
{
	struct str subject = str_of(endpoint), mend = mend_start_etcd(&v->r->host, &v->r->arena, subject);
	if (result == PROBE_REFUSED) {
		mend = v->etcd->cert_file
			? STR("--etcd-certfile=FILE --etcd-keyfile=FILE    # signed by the CA in etcd's --trusted-ca-file")
			: STR("--etcd-certfile=FILE --etcd-keyfile=FILE    # etcd may want a client's certificate");
		if (str_contains(why, STR("does not speak TLS"))) {
			mend = report_text(v->r, "--etcd-servers=http://%s", strstr(endpoint, "://") + 3);
		}
	}
	report_add(v->r, SEVERITY_ERROR, subject, mend, STR_FMT, STR_ARG(why));
}

/* False where it is no use to go on. */
static bool check_tls(struct visit *v, const char *endpoint)
{
	_cleanup_(certs_done) struct certs chain = {0};
	_cleanup_(buf_done) struct buf err;
	struct address to;
	buf_init(&err, 4096);
	if (!split_endpoint(endpoint, &to)) {
		return true; /* the client says what is wrong with it */
	}
	enum probe_result result = probe_run(
		&(struct probe){
			.host = to.host,
			.port = to.port,
			.server_name = to.is_name ? to.host : NULL,
			.cert = buf_str(&v->pems.cert),
			.key = buf_str(&v->pems.key),
			.speaks_http2 = true,
		},
		&chain, &v->r->arena, &err);
	if (chain.n) {
		judge_leaf(v->r, str_of(endpoint), &chain.v[0], str_of(arena_strdup(&v->r->arena, to.host)), v->etcd->now_s,
			CERT_MEND);
		judge_trust(v, str_of(endpoint), &chain);
	}
	if (result != PROBE_OK) {
		judge_refusal(v, endpoint, result, buf_str(&err));
	}
	return result == PROBE_OK;
}

/* ---- metrics, and the clock of who answers ---- */

static char *text_of(const struct buf *b)
{
	return b->n ? mem_strndup(b->p, b->n) : NULL;
}

static void fetch_metrics(struct visit *v, const char *endpoint, struct doctor_fetched *ret)
{
	_cleanup_(buf_done) struct buf err;
	struct client *c;
	struct client_config config = {.server = mem_strdup(endpoint),
		.ca = text_of(&v->pems.ca),
		.cert = text_of(&v->pems.cert),
		.key = text_of(&v->pems.key)};
	buf_init(&err, 4096);
	*ret = (struct doctor_fetched){0};
	if (client_new(&c, &config, &err) == 0) {
		doctor_fetch(c, "/metrics", ret);
		client_free(c);
	} else {
		snprintf(ret->problem, sizeof(ret->problem), STR_FMT, STR_ARG(buf_str(&err)));
	}
	client_config_done(&config);
}

static void check_metrics(struct visit *v, const char *endpoint, struct etcd_metrics *ret)
{
	struct doctor_fetched f;
	struct str subject = str_of(endpoint);
	*ret = (struct etcd_metrics){0};
	if (strncmp(endpoint, "http", 4) != 0) {
		report_add(v->r, SEVERITY_SKIPPED, subject, NO_MEND,
			"quota, disk and clock: its metrics need http:// or https://");
		return;
	}
	fetch_metrics(v, endpoint, &f);
	if (f.code == 200) {
		etcd_metrics_parse(ret, buf_str(&f.body));
		judge_etcd_disk(v->r, subject, ret);
	} else {
		report_add(
			v->r, SEVERITY_SKIPPED, subject, NO_MEND, "quota and disk: /metrics answers %d %s", f.code, f.problem);
	}
	if (f.date_s) {
		judge_clock(v->r, subject, f.date_s, f.sent_us, f.heard_us);
	}
	doctor_fetched_done(&f);
}

/* ---- one endpoint ---- */

static struct storage_etcd_options options_of(const struct doctor_etcd *e, const char *const *endpoints, size_t n)
{
	return (struct storage_etcd_options){.endpoints = endpoints,
		.n_endpoints = n,
		.ca_file = e->ca_file,
		.cert_file = e->cert_file,
		.key_file = e->key_file,
		.timeout_ms = TIMEOUT_MS};
}

static void check_endpoint(struct visit *v, const char *endpoint, struct etcd_health *ret)
{
	_cleanup_(buf_done) struct buf err;
	struct etcd_metrics metrics;
	struct str subject = str_of(endpoint);
	buf_init(&err, 4096);
	v->r->topic = TOPIC_ENDPOINT;
	if (str_starts(subject, STR("https://")) && !check_tls(v, endpoint)) {
		return;
	}
	struct storage_etcd_options options = options_of(v->etcd, &endpoint, 1);
	int error = etcd_health_read(ret, &options, &v->r->arena, &err);
	if (error) {
		report_add(v->r, SEVERITY_ERROR, subject,
			error > 0 ? mend_start_etcd(&v->r->host, &v->r->arena, subject) : NO_MEND, STR_FMT,
			STR_ARG(buf_str(&err)));
		return;
	}
	v->r->topic = TOPIC_NONE;
	check_metrics(v, endpoint, &metrics);
	v->r->topic = TOPIC_MEMBER;
	judge_etcd_member(v->r, subject, ret, metrics.quota, etcdctl_command(&v->r->arena, v->etcd, endpoint));
}

/* ---- what is in it ---- */

static int64_t count_keys(struct storage *s, struct arena *a, struct str prefix)
{
	struct storage_range range = {.key = prefix, .range_end = storage_prefix_end(a, prefix), .count_only = true};
	int64_t n = storage_range_wait(s, &range) == STORAGE_OK ? range.count : -1;
	storage_op_clear(&range.op);
	return n;
}

/* The first key from `from` on, copied, with its value where that is wanted; false where there is none. */
static bool first_key(
	struct storage *s, struct arena *a, struct str from, struct str end, struct str *ret_key, struct str *ret_value)
{
	struct storage_range range = {.key = from, .range_end = end, .limit = 1, .keys_only = !ret_value};
	bool is_there = storage_range_wait(s, &range) == STORAGE_OK && range.n_kvs > 0;
	if (is_there) {
		*ret_key = arena_dup(a, range.kvs[0].key);
		if (ret_value) {
			*ret_value = arena_dup(a, range.kvs[0].value);
		}
	}
	storage_op_clear(&range.op);
	return is_there;
}

/* "/registry" of "/registry/pods/..."; a key without a second slash is all of it. */
static struct str first_part(struct str key)
{
	for (size_t i = 1; i < key.n; i++) {
		if (key.p[i] == '/') {
			return (struct str){key.p, i};
		}
	}
	return key;
}

/* Protobuf, or encrypted; ours is JSON. */
static bool is_binary(struct str value)
{
	for (size_t i = 0; i < value.n; i++) {
		if (iscntrl((unsigned char)value.p[i])) {
			return true;
		}
	}
	return false;
}

static struct etcd_prefix describe(struct storage *s, struct arena *a, struct str name)
{
	struct str key;
	struct str objects = key_objects_prefix(a, name), folder = arena_printf(a, STR_FMT "/", STR_ARG(name));
	return (struct etcd_prefix){
		.name = name,
		.n_keys = MAX(count_keys(s, a, folder), 1),
		.is_annals = first_key(s, a, objects, storage_prefix_end(a, objects), &key, NULL),
	};
}

static size_t list_others(struct storage *s, struct arena *a, struct str wanted, struct etcd_prefix *ret)
{
	size_t n = 0;
	struct str key, from = STR("\0");
	/* etcd's end of everything is one zero byte; as the beginning it is the first key there may be. */
	while (n < PREFIXES_MAX && first_key(s, a, from, STR("\0"), &key, NULL)) {
		struct str name = first_part(key);
		if (!str_eq(name, first_part(wanted))) {
			ret[n++] = describe(s, a, name);
		}
		from = storage_prefix_end(a, arena_printf(a, STR_FMT "/", STR_ARG(name)));
	}
	return n;
}

static void check_prefix(struct visit *v)
{
	_cleanup_(buf_done) struct buf err;
	struct arena *a = &v->r->arena;
	struct storage *s;
	struct etcd_prefix others[PREFIXES_MAX];
	buf_init(&err, 4096);
	struct storage_etcd_options options = options_of(v->etcd, v->etcd->endpoints, v->etcd->n_endpoints);
	if (storage_etcd_new(&s, &options, &err)) {
		report_add(v->r, SEVERITY_ERROR, STR("--etcd-servers"), NO_MEND, STR_FMT, STR_ARG(buf_str(&err)));
		return;
	}
	struct str prefix = str_of(v->etcd->prefix), objects = key_objects_prefix(a, prefix);
	struct str folder = arena_printf(a, STR_FMT "/", STR_ARG(prefix)), key, value = {NULL, 0};
	int64_t n_objects = count_keys(s, a, objects);
	if (n_objects < 0) {
		report_add(v->r, SEVERITY_SKIPPED, str_of(v->etcd->prefix), NO_MEND, "its keys: etcd does not answer");
	} else {
		struct str scope = n_objects ? objects : folder;
		first_key(s, a, scope, storage_prefix_end(a, scope), &key, &value);
		judge_etcd_prefixes(v->r, prefix, n_objects, is_binary(value), others, list_others(s, a, prefix, others));
	}
	storage_free(s);
}

/* ---- all of it ---- */

static struct str all_endpoints(struct arena *a, const struct doctor_etcd *e)
{
	struct str all = {NULL, 0};
	for (size_t i = 0; i < e->n_endpoints; i++) {
		all = arena_printf(a, STR_FMT "%s%s", STR_ARG(all), i ? "," : "", e->endpoints[i]);
	}
	return all;
}

static void check_members(struct visit *v, struct etcd_health *health)
{
	const struct doctor_etcd *e = v->etcd;
	struct str all = all_endpoints(&v->r->arena, e);
	size_t answering = e->n_endpoints;
	for (size_t i = 0; i < e->n_endpoints; i++) {
		check_endpoint(v, e->endpoints[i], &health[i]);
		answering = answering == e->n_endpoints && health[i].version.n ? i : answering;
	}
	v->r->topic = TOPIC_NONE;
	judge_etcd_endpoints(v->r, e->endpoints, health, e->n_endpoints);
	if (answering < e->n_endpoints) {
		judge_etcd_cluster(v->r, STR("the cluster"), &health[answering],
			etcdctl_command(&v->r->arena, e, arena_dup(&v->r->arena, all).p));
		v->r->topic = TOPIC_KEYS;
		check_prefix(v);
	}
	v->r->topic = TOPIC_NONE;
}

void doctor_check_etcd(struct report *r, const struct doctor_etcd *e)
{
	struct visit v = {.r = r, .etcd = e};
	r->part = "etcd";
	r->topic = TOPIC_ETCD_FILES;
	check_files(&v);
	if (e->n_endpoints > ENDPOINTS_MAX) {
		report_add(r, SEVERITY_ERROR, STR("--etcd-servers"), NO_MEND, "there are more than %d", ENDPOINTS_MAX);
	} else if (load_pems(&v)) {
		struct etcd_health *health = mem_array(e->n_endpoints, sizeof(*health));
		check_members(&v, health);
		mem_free(health);
	}
	free_pems(&v.pems);
}
