/* Judgements only, of what doctor_etcd.c has asked: no etcd is needed to test them. The table of
 * versions follows etcd's changelogs and names the defects that concern annals. */
#include "cli/doctor/doctor_etcd.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	MIB = 1 << 20,
	QUOTA_PERCENT = 80,
	SLOW_SYNC_MS = 25, /* etcd's own advice: the 99th percentile under 10 ms */
	VERSION_TEXT = 64,
};
/* What etcd itself uses where --quota-backend-bytes is not given. */
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

struct version {
	int major, minor, patch;
};

static bool parse_version(struct str text, struct version *ret)
{
	char copy[VERSION_TEXT];
	snprintf(copy, sizeof(copy), STR_FMT, STR_ARG(text));
	return sscanf(copy, "%d.%d.%d", &ret->major, &ret->minor, &ret->patch) == 3;
}

static int version_cmp(struct version a, struct version b)
{
	return a.major != b.major ? a.major - b.major : a.minor != b.minor ? a.minor - b.minor : a.patch - b.patch;
}

/* The first row that fits counts. */
static const struct {
	struct version from, to; /* both included */
	enum severity severity;
	const char *what;
} versions[] = {
	{{0, 0, 0}, {3, 4, 22}, SEVERITY_ERROR, "older than 3.4.23, the oldest that annals is tested with"},
	{{3, 5, 0}, {3, 5, 2}, SEVERITY_ERROR,
		"loses consistency when it is killed under load (etcd issue 13766, mended in 3.5.3)"},
	{{3, 4, 23}, {3, 4, 24}, SEVERITY_OK,
		"its progress notifications race (mended in 3.4.25 and 3.5.8), which annals does without"},
	{{3, 5, 3}, {3, 5, 7}, SEVERITY_OK,
		"its progress notifications race (mended in 3.4.25 and 3.5.8), which annals does without"},
};

static void judge_version(struct report *r, struct str subject, struct str text)
{
	struct version v;
	if (!parse_version(text, &v)) {
		report_add(r, SEVERITY_WARNING, subject, NO_MEND, "its version cannot be understood: " STR_FMT, STR_ARG(text));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		if (version_cmp(v, versions[i].from) >= 0 && version_cmp(v, versions[i].to) <= 0) {
			bool is_bad = versions[i].severity == SEVERITY_ERROR;
			report_add(r, versions[i].severity, subject, is_bad ? mend_install_etcd(&r->host, &r->arena) : NO_MEND,
				"etcd " STR_FMT ": %s", STR_ARG(text), versions[i].what);
			return;
		}
	}
	report_add(r, SEVERITY_OK, subject, NO_MEND, "etcd " STR_FMT, STR_ARG(text));
}

/* ---- a member ---- */

/* History goes first, then the space it took, then the alarm. */
static struct str space_mend(struct report *r, struct str etcdctl)
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
	const char *which = is_known ? "its quota of" : "the default quota (its own is not told) of";
	bool is_tight = percent >= QUOTA_PERCENT;
	report_add(r, is_tight ? SEVERITY_WARNING : SEVERITY_OK, subject,
		is_tight ? report_text(r,
				   STR_FMT " defrag    # and start etcd with a larger --quota-backend-bytes, 8 GiB at most",
				   STR_ARG(etcdctl))
			 : NO_MEND,
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
		report_add(r, SEVERITY_ERROR, subject, space_mend(r, etcdctl),
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
		report_add(r, SEVERITY_SKIPPED, subject, NO_MEND, "alarms: " STR_FMT, STR_ARG(h->alarms_problem));
	} else if (h->leader && h->n_alarms == 0) {
		report_add(r, SEVERITY_OK, subject, NO_MEND, "no alarms");
	}
}

void judge_etcd_cluster(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl)
{
	judge_alarms(r, subject, h, etcdctl);
	if (h->members_problem.n) {
		report_add(r, SEVERITY_SKIPPED, subject, NO_MEND, "members: " STR_FMT, STR_ARG(h->members_problem));
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
		is_odd ? NO_MEND : report_text(r, STR_FMT " member add NAME --peer-urls=https://HOST:2380", STR_ARG(etcdctl)),
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
		is_slow ? STR("etcd --data-dir=DIR    # on a local SSD that nothing else writes to") : NO_MEND,
		"since it started, its disk has taken %.2f ms for an fsync on average%s", ms,
		is_slow ? ": every write waits for one, and leaders may be lost" : "");
}

/* ---- what is in the store ---- */

void judge_etcd_prefixes(
	struct report *r, struct str wanted, int64_t n_objects, bool is_binary, const struct etcd_prefix *others, size_t n)
{
	struct str subject = report_text(r, "keys under " STR_FMT, STR_ARG(wanted));
	if (is_binary) {
		report_add(r, SEVERITY_ERROR, subject, STR("--etcd-prefix=/annals    # one that nobody else uses"),
			"what is stored there is not annals' JSON, but somebody else's, a kube-apiserver's perhaps");
	} else {
		report_add(r, SEVERITY_OK, subject, NO_MEND, "%lld object%s", (long long)n_objects, n_objects == 1 ? "" : "s");
	}
	for (size_t i = 0; i < n; i++) {
		const struct etcd_prefix *p = &others[i];
		bool is_lost = p->is_annals && n_objects == 0;
		report_add(r, is_lost ? SEVERITY_WARNING : SEVERITY_OK, report_text(r, "keys under " STR_FMT, STR_ARG(p->name)),
			is_lost ? report_text(r, "--etcd-prefix=" STR_FMT "    # if those are the objects you are looking for",
					  STR_ARG(p->name))
				: NO_MEND,
			"%lld key%s, %s", (long long)p->n_keys, p->n_keys == 1 ? "" : "s",
			is_lost                ? "which another annals has written; none are under the prefix asked for"
				: p->is_annals ? "of another annals"
					       : "not annals'");
	}
}
