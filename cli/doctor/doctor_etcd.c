/* The etcd part of doctor. It asks each endpoint by itself, because one client for all of them would hide a dead
 * member behind the living ones. It tries TLS by hand first: gRPC shows an untrusted certificate only as a time-out.
 * Keys are counted once, since all members hold the same. The judgements follow at the end. */
#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_cert.h"
#include "cli/doctor/doctor_cluster.h"
#include "cli/doctor/doctor_files.h"
#include "storage/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMEOUT_MS = 5000, PREFIXES_MAX = 16, ENDPOINTS_MAX = 64, HOST_MAX = 256 };

/* The certificate, key and authorities of the connection. The key is wiped before its memory is freed. */
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

#define CERT_FIX \
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
			&(struct doctor_pair){.cert_file = e->cert_file, .key_file = e->key_file, .fix = CERT_FIX}, e->now_s);
	}
}

/* ---- TLS ---- */

struct address {
	char host[HOST_MAX], port[8];
	bool is_name; /* a DNS name, and no address */
};

/* endpoint: https://HOST:PORT. */
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

static void judge_issuer(struct visit *v, struct str subject, const struct certs *chain)
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
	struct str subject = str_of(endpoint), fix = fix_start_etcd(&v->r->host, &v->r->arena, subject);
	if (result == PROBE_REFUSED) {
		fix = v->etcd->cert_file
			? STR("--etcd-certfile=FILE --etcd-keyfile=FILE    # signed by the CA in etcd's --trusted-ca-file")
			: STR("--etcd-certfile=FILE --etcd-keyfile=FILE    # etcd may want a client's certificate");
		if (str_contains(why, STR("does not speak TLS"))) {
			fix = report_text(v->r, "--etcd-servers=http://%s", strstr(endpoint, "://") + 3);
		}
	}
	report_add(v->r, SEVERITY_ERROR, subject, fix, STR_FMT, STR_ARG(why));
}

/* Returns false if a request would fail too. */
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
			CERT_FIX);
		judge_issuer(v, str_of(endpoint), &chain);
	}
	if (result != PROBE_OK) {
		judge_refusal(v, endpoint, result, buf_str(&err));
	}
	return result == PROBE_OK;
}

/* ---- metrics, and the clock of the member ---- */

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
		report_add(
			v->r, SEVERITY_SKIPPED, subject, NO_FIX, "quota, disk and clock: its metrics need http:// or https://");
		return;
	}
	fetch_metrics(v, endpoint, &f);
	if (f.code == 200) {
		etcd_metrics_parse(ret, buf_str(&f.body));
		judge_etcd_disk(v->r, subject, ret);
	} else {
		report_add(
			v->r, SEVERITY_SKIPPED, subject, NO_FIX, "quota and disk: /metrics answers %d %s", f.code, f.problem);
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
			error > 0 ? fix_start_etcd(&v->r->host, &v->r->arena, subject) : NO_FIX, STR_FMT,
			STR_ARG(buf_str(&err)));
		return;
	}
	v->r->topic = TOPIC_NONE;
	check_metrics(v, endpoint, &metrics);
	v->r->topic = TOPIC_MEMBER;
	judge_etcd_member(v->r, subject, ret, metrics.quota, etcdctl_command(&v->r->arena, v->etcd, endpoint));
}

/* ---- the stored keys ---- */

static int64_t count_keys(struct storage *s, struct arena *a, struct str prefix)
{
	struct storage_range range = {.key = prefix, .range_end = storage_prefix_end(a, prefix), .count_only = true};
	int64_t n = storage_range_wait(s, &range) == STORAGE_OK ? range.count : -1;
	storage_op_clear(&range.op);
	return n;
}

/* Copies the first key from `from` on, and its value unless ret_value is NULL. False if there is none. */
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

/* "/registry" of "/registry/pods/..."; the whole key if it has no second slash. */
static struct str first_part(struct str key)
{
	for (size_t i = 1; i < key.n; i++) {
		if (key.p[i] == '/') {
			return (struct str){key.p, i};
		}
	}
	return key;
}

/* Protobuf, or encrypted. annals stores JSON. */
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
	/* In etcd, one zero byte means "to the end" as the end of a range; as its beginning it is the least key. */
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
		report_add(v->r, SEVERITY_ERROR, STR("--etcd-servers"), NO_FIX, STR_FMT, STR_ARG(buf_str(&err)));
		return;
	}
	struct str prefix = str_of(v->etcd->prefix), objects = key_objects_prefix(a, prefix);
	struct str folder = arena_printf(a, STR_FMT "/", STR_ARG(prefix)), key, value = {NULL, 0};
	int64_t n_objects = count_keys(s, a, objects);
	if (n_objects < 0) {
		report_add(v->r, SEVERITY_SKIPPED, str_of(v->etcd->prefix), NO_FIX, "its keys: etcd does not answer");
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
		report_add(r, SEVERITY_ERROR, STR("--etcd-servers"), NO_FIX, "there are more than %d", ENDPOINTS_MAX);
	} else if (load_pems(&v)) {
		struct etcd_health *health = mem_array(e->n_endpoints, sizeof(*health));
		check_members(&v, health);
		mem_free(health);
	}
	free_pems(&v.pems);
}

/* ---- judgements ---- */

enum {
	MIB = 1 << 20,
	QUOTA_PERCENT = 80,
	SLOW_SYNC_MS = 25, /* etcd's own advice: the 99th percentile under 10 ms */
	VERSION_TEXT = 64,
};
/* etcd's own default of --quota-backend-bytes. */
#define QUOTA_DEFAULT ((int64_t)2048 * MIB)

struct str etcdctl_command(struct arena *a, const struct doctor_etcd *e, const char *endpoint)
{
	struct str line =
		arena_printf(a, "ETCDCTL_API=3 etcdctl --endpoints=" STR_FMT, STR_ARG(shell_word(a, str_of(endpoint))));
	const struct {
		const char *flag, *file;
	} files[] = {{"cacert", e->ca_file}, {"cert", e->cert_file}, {"key", e->key_file}};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (files[i].file) {
			line = arena_printf(a, STR_FMT " --%s=" STR_FMT, STR_ARG(line), files[i].flag,
				STR_ARG(shell_word(a, str_of(files[i].file))));
		}
	}
	return line;
}

/* ---- versions ---- */

struct release {
	int major, minor, patch;
};

static bool parse_version(struct str text, struct release *ret)
{
	char copy[VERSION_TEXT];
	snprintf(copy, sizeof(copy), STR_FMT, STR_ARG(text));
	return sscanf(copy, "%d.%d.%d", &ret->major, &ret->minor, &ret->patch) == 3;
}

static int version_cmp(struct release a, struct release b)
{
	return a.major != b.major ? a.major - b.major : a.minor != b.minor ? a.minor - b.minor : a.patch - b.patch;
}

/* The defects that concern annals, by etcd's changelogs. The first row that fits counts. */
static const struct {
	struct release from, to; /* both included */
	enum severity severity;
	const char *what;
} versions[] = {
	{{0, 0, 0}, {3, 4, 22}, SEVERITY_ERROR, "older than 3.4.23, the oldest that annals is tested with"},
	{{3, 5, 0}, {3, 5, 2}, SEVERITY_ERROR,
		"loses consistency when it is killed under load (etcd issue 13766, fixed in 3.5.3)"},
	{{3, 4, 23}, {3, 4, 24}, SEVERITY_OK,
		"its progress notifications race (fixed in 3.4.25 and 3.5.8), which annals does without"},
	{{3, 5, 3}, {3, 5, 7}, SEVERITY_OK,
		"its progress notifications race (fixed in 3.4.25 and 3.5.8), which annals does without"},
};

static void judge_version(struct report *r, struct str subject, struct str text)
{
	struct release v;
	if (!parse_version(text, &v)) {
		report_add(r, SEVERITY_WARNING, subject, NO_FIX, "its version cannot be understood: " STR_FMT, STR_ARG(text));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		if (version_cmp(v, versions[i].from) >= 0 && version_cmp(v, versions[i].to) <= 0) {
			bool is_bad = versions[i].severity == SEVERITY_ERROR;
			report_add(r, versions[i].severity, subject, is_bad ? fix_install_etcd(&r->host, &r->arena) : NO_FIX,
				"etcd " STR_FMT ": %s", STR_ARG(text), versions[i].what);
			return;
		}
	}
	report_add(r, SEVERITY_OK, subject, NO_FIX, "etcd " STR_FMT, STR_ARG(text));
}

/* ---- a member ---- */

/* Compaction drops old revisions, defragmentation gives their space back, and only then the alarm can go. */
static struct str space_fix(struct report *r, struct str etcdctl)
{
	return report_text(r,
		"rev=$(" STR_FMT
		" endpoint status --write-out=json | grep -o '\"revision\":[0-9]*' | head -n 1 | cut -d : -f 2)\n" STR_FMT
		" compact \"$rev\"\n" STR_FMT " defrag\n" STR_FMT " alarm disarm",
		STR_ARG(etcdctl), STR_ARG(etcdctl), STR_ARG(etcdctl), STR_ARG(etcdctl));
}

static void judge_size(
	struct report *r, struct str subject, const struct etcd_health *h, int64_t metered_quota, struct str etcdctl)
{
	bool is_known = h->quota > 0 || metered_quota > 0;
	int64_t quota = h->quota > 0 ? h->quota : metered_quota > 0 ? metered_quota : QUOTA_DEFAULT;
	long long percent = (long long)(h->size / (quota / 100 ? quota / 100 : 1));
	const char *which = is_known ? "its quota of" : "the default quota (its own is not reported) of";
	bool is_tight = percent >= QUOTA_PERCENT;
	report_add(r, is_tight ? SEVERITY_WARNING : SEVERITY_OK, subject,
		is_tight ? report_text(r,
				   STR_FMT " defrag    # and start etcd with a larger --quota-backend-bytes, 8 GiB at most",
				   STR_ARG(etcdctl))
			 : NO_FIX,
		"its database has %lld MiB, %lld MiB of it in use; that is %lld%% of %s %lld MiB%s", (long long)(h->size / MIB),
		(long long)(h->in_use / MIB), percent, which, (long long)(quota / MIB),
		is_tight ? ": at 100% writes are refused" : "");
}

void judge_etcd_member(
	struct report *r, struct str subject, const struct etcd_health *h, int64_t metered_quota, struct str etcdctl)
{
	judge_version(r, subject, h->version);
	judge_size(r, subject, h, metered_quota, etcdctl);
	if (!h->leader) {
		report_add(r, SEVERITY_ERROR, subject,
			report_text(r, STR_FMT " endpoint status --cluster    # and start the members that are down",
				STR_ARG(etcdctl)),
			"it knows no leader: fewer than half of the members see each other, and nothing can be written");
	}
	if (h->is_learner) {
		report_add(r, SEVERITY_ERROR, subject,
			report_text(r, STR_FMT " member promote %llx    # or take this endpoint out of --etcd-servers",
				STR_ARG(etcdctl), (unsigned long long)h->member),
			"it is a learner, which refuses annals' requests");
	}
}

/* ---- the cluster ---- */

static struct str member_name(const struct etcd_health *h, uint64_t id)
{
	for (size_t i = 0; i < h->n_members; i++) {
		if (h->members[i].id == id) {
			return h->members[i].name;
		}
	}
	return STR("unknown");
}

static void judge_alarm(
	struct report *r, struct str subject, const struct etcd_health *h, const struct etcd_alarm *alarm, struct str etcdctl)
{
	struct str name = member_name(h, alarm->member);
	unsigned long long id = alarm->member;
	switch (alarm->kind) {
	case ETCD_ALARM_NOSPACE:
		report_add(r, SEVERITY_ERROR, subject, space_fix(r, etcdctl),
			"alarm NOSPACE, raised by member %llx (" STR_FMT "): the quota is used up and writes are refused", id,
			STR_ARG(name));
		return;
	case ETCD_ALARM_CORRUPT:
		report_add(r, SEVERITY_ERROR, subject,
			report_text(r,
				STR_FMT " member remove %llx\n# with an empty data directory, add it again (" STR_FMT
					" member add ...), or with one member only\n"
					"# restore a snapshot; then:\n" STR_FMT " alarm disarm",
				STR_ARG(etcdctl), id, STR_ARG(etcdctl), STR_ARG(etcdctl)),
			"alarm CORRUPT, raised for member %llx (" STR_FMT "): its data differ from the others'", id,
			STR_ARG(name));
		return;
	default:
		report_add(r, SEVERITY_ERROR, subject, report_text(r, STR_FMT " alarm list", STR_ARG(etcdctl)),
			"an alarm of an unknown kind, raised by member %llx (" STR_FMT ")", id, STR_ARG(name));
	}
}

static void judge_alarms(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl)
{
	for (size_t i = 0; i < h->n_alarms; i++) {
		judge_alarm(r, subject, h, &h->alarms[i], etcdctl);
	}
	if (h->alarms_problem.n) {
		report_add(r, SEVERITY_SKIPPED, subject, NO_FIX, "alarms: " STR_FMT, STR_ARG(h->alarms_problem));
	} else if (h->leader && h->n_alarms == 0) {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "no alarms");
	}
}

void judge_etcd_cluster(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl)
{
	judge_alarms(r, subject, h, etcdctl);
	if (h->members_problem.n) {
		report_add(r, SEVERITY_SKIPPED, subject, NO_FIX, "members: " STR_FMT, STR_ARG(h->members_problem));
		return;
	}
	size_t n_voters = 0;
	for (size_t i = 0; i < h->n_members; i++) {
		const struct etcd_member *m = &h->members[i];
		n_voters += !m->is_learner;
		if (!m->name.n) {
			report_add(r, SEVERITY_WARNING, subject,
				report_text(r, STR_FMT " member remove %llx    # or start it", STR_ARG(etcdctl),
					(unsigned long long)m->id),
				"member %llx has been added and never started: it counts as one that is down",
				(unsigned long long)m->id);
		}
	}
	bool is_odd = n_voters == 1 || n_voters % 2;
	report_add(r, is_odd ? SEVERITY_OK : SEVERITY_WARNING, subject,
		is_odd ? NO_FIX : report_text(r, STR_FMT " member add NAME --peer-urls=https://HOST:2380", STR_ARG(etcdctl)),
		"%zu voting member%s, %zu of which may fail%s", n_voters, n_voters == 1 ? "" : "s",
		n_voters ? (n_voters - 1) / 2 : 0, is_odd ? "" : ": one more or one less would serve as well or better");
}

void judge_etcd_endpoints(struct report *r, const char *const *endpoints, const struct etcd_health *h, size_t n)
{
	size_t first = 0;
	while (first < n && !h[first].version.n) {
		first++;
	}
	for (size_t i = first + 1; i < n; i++) {
		if (h[i].version.n && h[i].cluster != h[first].cluster) {
			report_add(r, SEVERITY_ERROR, str_of(endpoints[i]),
				report_text(r, "--etcd-servers=%s    # and its fellow members only", endpoints[first]),
				"it belongs to another cluster (%llx) than %s (%llx): objects would come and go with the "
				"endpoint",
				(unsigned long long)h[i].cluster, endpoints[first], (unsigned long long)h[first].cluster);
		}
	}
}

/* ---- metrics ---- */

static bool metric_is(struct str line, const char *name, double *ret)
{
	struct str head, tail;
	char number[VERSION_TEXT];
	if (!str_cut(line, ' ', &head, &tail) || !str_is(head, name)) {
		return false;
	}
	snprintf(number, sizeof(number), STR_FMT, STR_ARG(tail));
	*ret = strtod(number, NULL);
	return true;
}

void etcd_metrics_parse(struct etcd_metrics *ret, struct str text)
{
	struct str line;
	double quota;
	*ret = (struct etcd_metrics){0};
	while (text.n) {
		str_cut(text, '\n', &line, &text);
		if (metric_is(line, "etcd_server_quota_backend_bytes", &quota)) {
			ret->quota = quota >= 0 && quota < 1e18 ? (int64_t)quota : 0;
		}
		(void)(metric_is(line, "etcd_disk_wal_fsync_duration_seconds_sum", &ret->fsync_s) ||
			metric_is(line, "etcd_disk_wal_fsync_duration_seconds_count", &ret->syncs));
	}
}

void judge_etcd_disk(struct report *r, struct str subject, const struct etcd_metrics *m)
{
	if (m->syncs < 1) {
		return;
	}
	double ms = m->fsync_s / m->syncs * 1000;
	bool is_slow = ms > (double)SLOW_SYNC_MS;
	report_add(r, is_slow ? SEVERITY_WARNING : SEVERITY_OK, subject,
		is_slow ? STR("etcd --data-dir=DIR    # on a local SSD that nothing else writes to") : NO_FIX,
		"since it started, its disk has taken %.2f ms for an fsync on average%s", ms,
		is_slow ? ": every write waits for one, and leaders may be lost" : "");
}

/* ---- prefixes ---- */

void judge_etcd_prefixes(
	struct report *r, struct str wanted, int64_t n_objects, bool is_binary, const struct etcd_prefix *others, size_t n)
{
	struct str subject = report_text(r, "keys under " STR_FMT, STR_ARG(wanted));
	if (is_binary) {
		report_add(r, SEVERITY_ERROR, subject, STR("--etcd-prefix=/annals    # one that nobody else uses"),
			"what is stored there is not annals' JSON, but somebody else's, a kube-apiserver's perhaps");
	} else {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "%lld object%s", (long long)n_objects, n_objects == 1 ? "" : "s");
	}
	for (size_t i = 0; i < n; i++) {
		const struct etcd_prefix *p = &others[i];
		bool is_lost = p->is_annals && n_objects == 0;
		report_add(r, is_lost ? SEVERITY_WARNING : SEVERITY_OK, report_text(r, "keys under " STR_FMT, STR_ARG(p->name)),
			is_lost ? report_text(r, "--etcd-prefix=" STR_FMT "    # if those are the objects you are looking for",
					  STR_ARG(p->name))
				: NO_FIX,
			"%lld key%s, %s", (long long)p->n_keys, p->n_keys == 1 ? "" : "s",
			is_lost                ? "which another annals has written; none are under the prefix asked for"
				: p->is_annals ? "of another annals"
					       : "not annals'");
	}
}
