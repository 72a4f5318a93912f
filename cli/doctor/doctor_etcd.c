/* The etcd part of doctor. etcdctl shows an etcd's health; this part judges what annals needs of it. It asks each
 * endpoint by itself, because one client for all of them would hide a dead member behind the living ones. Keys are
 * counted once, since all members hold the same. The judgements follow at the end. */
#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_files.h"
#include "storage/keys.h"

#include <ctype.h>
#include <stdio.h>

/* Other programs in the same etcd that the report lists; further ones are left out. */
enum { TIMEOUT_MS = 5000, PREFIXES_MAX = 16, ENDPOINTS_MAX = 64, VERSION_TEXT = 64 };

struct visit {
	struct report *r;
	const struct doctor_etcd *etcd;
};

static void check_files(const struct visit *v)
{
	const struct doctor_etcd *e = v->etcd;
	_cleanup_(certs_done) struct certs cas = {NULL, 0};
	if (e->ca_file) {
		doctor_check_cas(v->r, e->ca_file, e->now_s, &cas);
	}
	if (e->cert_file) {
		doctor_check_pair(v->r,
			&(struct doctor_pair){.cert_file = e->cert_file,
				.key_file = e->key_file,
				.fix = STR(
					"openssl x509 -req -in NEW.csr -CA etcd-ca.crt -CAkey etcd-ca.key -days 365 -out NEW.crt    "
					"# by etcd's CA")},
			e->now_s);
	}
}

/* ---- commands ---- */

struct flag_file {
	const char *flag, *file;
};

static struct str add_files(struct arena *a, struct str line, const struct flag_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (files[i].file) {
			line = arena_printf(a, STR_FMT " %s" STR_FMT, STR_ARG(line), files[i].flag,
				STR_ARG(shell_word(a, str_of(files[i].file))));
		}
	}
	return line;
}

struct str etcdctl_command(struct arena *a, const struct doctor_etcd *e, const char *endpoint)
{
	const struct flag_file files[] = {{"--cacert=", e->ca_file}, {"--cert=", e->cert_file}, {"--key=", e->key_file}};
	struct str line =
		arena_printf(a, "ETCDCTL_API=3 etcdctl --endpoints=" STR_FMT, STR_ARG(shell_word(a, str_of(endpoint))));
	return add_files(a, line, files, ARRAY_SIZE(files));
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

/* gRPC shows an untrusted certificate only as a time-out, and openssl says why. */
static struct str fix_endpoint(const struct visit *v, const char *endpoint)
{
	struct arena *a = &v->r->arena;
	const struct doctor_etcd *e = v->etcd;
	struct str health = report_text(v->r, STR_FMT " endpoint health", STR_ARG(etcdctl_command(a, e, endpoint)));
	if (!str_starts(str_of(endpoint), STR("https://"))) {
		return health;
	}
	struct str tls = report_text(v->r, STR_FMT "\nopenssl s_client -connect " STR_FMT, STR_ARG(health),
		STR_ARG(shell_word(a, str_of(endpoint + strlen("https://")))));
	const struct flag_file files[] = {{"-CAfile ", e->ca_file}, {"-cert ", e->cert_file}, {"-key ", e->key_file}};
	return report_text(v->r, STR_FMT " </dev/null", STR_ARG(add_files(a, tls, files, ARRAY_SIZE(files))));
}

static void check_endpoint(const struct visit *v, const char *endpoint, struct etcd_health *ret)
{
	_cleanup_(buf_done) struct buf err;
	struct str subject = str_of(endpoint);
	buf_init(&err, 4096);
	v->r->topic = TOPIC_ENDPOINT;
	struct storage_etcd_options options = options_of(v->etcd, &endpoint, 1);
	int error = etcd_health_read(ret, &options, &v->r->arena, &err);
	if (error) {
		report_add(v->r, SEVERITY_ERROR, subject, error > 0 ? fix_endpoint(v, endpoint) : NO_FIX, STR_FMT,
			STR_ARG(buf_str(&err)));
		return;
	}
	v->r->topic = TOPIC_MEMBER;
	judge_etcd_member(v->r, subject, ret, etcdctl_command(&v->r->arena, v->etcd, endpoint));
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

static void judge_keys(struct report *r, struct str prefix, int64_t n_objects, struct str value)
{
	struct str subject = report_text(r, "keys under " STR_FMT, STR_ARG(prefix));
	if (is_binary(value)) {
		report_add(r, SEVERITY_ERROR, subject, STR("--etcd-prefix=/annals    # one that nobody else uses"),
			"what is stored there is not annals' JSON, but somebody else's, a kube-apiserver's perhaps");
	} else {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "%lld object%s", (long long)n_objects, n_objects == 1 ? "" : "s");
	}
}

/* Where there is nothing under the prefix, it may be the wrong one: looks for keys of annals under others. */
static void find_lost_keys(struct report *r, struct storage *s, struct str wanted)
{
	struct arena *a = &r->arena;
	struct str key, found, from = STR("\0");
	/* In etcd, one zero byte means "to the end" as the end of a range; as its beginning it is the least key. */
	for (size_t n = 0; n < PREFIXES_MAX && first_key(s, a, from, STR("\0"), &key, NULL); n++) {
		struct str name = first_part(key), objects = key_objects_prefix(a, name);
		if (!str_eq(name, first_part(wanted)) &&
			first_key(s, a, objects, storage_prefix_end(a, objects), &found, NULL)) {
			report_add(r, SEVERITY_WARNING, report_text(r, "keys under " STR_FMT, STR_ARG(name)),
				report_text(r, "--etcd-prefix=" STR_FMT "    # if those are the objects you are looking for",
					STR_ARG(name)),
				"another annals has written them; none are under the prefix asked for");
		}
		from = storage_prefix_end(a, arena_printf(a, STR_FMT "/", STR_ARG(name)));
	}
}

static void check_prefix(const struct visit *v)
{
	_cleanup_(buf_done) struct buf err;
	struct arena *a = &v->r->arena;
	struct storage *s;
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
		report_add(v->r, SEVERITY_SKIPPED, prefix, NO_FIX, "its keys: etcd does not answer");
	} else {
		struct str scope = n_objects ? objects : folder;
		first_key(s, a, scope, storage_prefix_end(a, scope), &key, &value);
		judge_keys(v->r, prefix, n_objects, value);
	}
	if (n_objects == 0) {
		find_lost_keys(v->r, s, prefix);
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

static void check_members(const struct visit *v, struct etcd_health *health)
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
		judge_etcd_alarms(v->r, STR("the cluster"), &health[answering],
			etcdctl_command(&v->r->arena, e, arena_dup(&v->r->arena, all).p));
		v->r->topic = TOPIC_KEYS;
		check_prefix(v);
	}
	v->r->topic = TOPIC_NONE;
}

void doctor_check_etcd(struct report *r, const struct doctor_etcd *e)
{
	const struct visit v = {.r = r, .etcd = e};
	r->part = "etcd";
	r->topic = TOPIC_ETCD_FILES;
	check_files(&v);
	if (e->n_endpoints > ENDPOINTS_MAX) {
		report_add(r, SEVERITY_ERROR, STR("--etcd-servers"), NO_FIX, "there are more than %d", ENDPOINTS_MAX);
		return;
	}
	struct etcd_health *health = mem_array(e->n_endpoints, sizeof(*health));
	check_members(&v, health);
	mem_free(health);
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
			report_add(r, versions[i].severity, subject,
				is_bad ? STR("# run etcd of a release from 3.4.25, 3.5.8 or 3.6 on; one member after the other")
				       : NO_FIX,
				"etcd " STR_FMT ": %s", STR_ARG(text), versions[i].what);
			return;
		}
	}
	report_add(r, SEVERITY_OK, subject, NO_FIX, "etcd " STR_FMT, STR_ARG(text));
}

/* ---- members and alarms ---- */

/* Compaction drops old revisions, defragmentation gives their space back, and only then the alarm can go. */
static struct str space_fix(struct report *r, struct str etcdctl)
{
	return report_text(r,
		"rev=$(" STR_FMT
		" endpoint status --write-out=json | grep -o '\"revision\":[0-9]*' | head -n 1 | cut -d : -f 2)\n" STR_FMT
		" compact \"$rev\"\n" STR_FMT " defrag\n" STR_FMT " alarm disarm",
		STR_ARG(etcdctl), STR_ARG(etcdctl), STR_ARG(etcdctl), STR_ARG(etcdctl));
}

void judge_etcd_member(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl)
{
	judge_version(r, subject, h->version);
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

void judge_etcd_alarms(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl)
{
	for (size_t i = 0; i < h->n_alarms; i++) {
		bool is_space = h->alarms[i].kind == ETCD_ALARM_NOSPACE;
		report_add(r, SEVERITY_ERROR, subject,
			is_space ? space_fix(r, etcdctl) : report_text(r, STR_FMT " alarm list", STR_ARG(etcdctl)),
			"alarm %s, raised by member %llx%s",
			is_space                                          ? "NOSPACE"
				: h->alarms[i].kind == ETCD_ALARM_CORRUPT ? "CORRUPT"
									  : "of an unknown kind",
			(unsigned long long)h->alarms[i].member,
			is_space ? ": the quota is used up and writes are refused" : "");
	}
	if (h->alarms_problem.n) {
		report_add(r, SEVERITY_SKIPPED, subject, NO_FIX, "alarms: " STR_FMT, STR_ARG(h->alarms_problem));
	} else if (h->leader && h->n_alarms == 0) {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "no alarms");
	}
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
