/* The cluster part of doctor: whether kube-apiserver answers, and then trust, services, access and policies.
 * Causes come before their consequences. If kube-apiserver does not answer, doctor asks nothing more: every
 * further finding would only repeat that. */
#include "cli/doctor/doctor_cluster.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define SUBJECT STR("kube-apiserver")

static void say_version(const struct doctor_visit *v, struct str text)
{
	struct json *version;
	size_t at;
	if (json_parse(&version, &v->r->arena, text, JSON_LIMITS_DEFAULT, &at)) {
		report_add(v->r, SEVERITY_WARNING, SUBJECT, NO_FIX, "its /version is no JSON: is it one?");
		return;
	}
	report_add(v->r, SEVERITY_OK, SUBJECT, NO_FIX, "it answers; version " STR_FMT,
		STR_ARG(member_text(version, "gitVersion")));
}

/* Returns false if no other check makes sense. */
static bool check_server(const struct doctor_visit *v)
{
	struct doctor_fetched f;
	doctor_fetch(v->client, "/version", &f);
	bool is_there = f.code != 0;
	if (f.code == 200) {
		say_version(v, buf_str(&f.body));
	} else {
		report_add(v->r, SEVERITY_ERROR, SUBJECT, report_text(v->r, STR_FMT " cluster-info", STR_ARG(v->d->kubectl)),
			is_there ? "its /version answers %d%s" : "it does not answer (%d): %s", f.code, f.problem);
	}
	if (f.date_s) {
		judge_clock(v->r, SUBJECT, f.date_s, f.sent_us, f.heard_us);
	}
	doctor_fetched_done(&f);
	return is_there;
}

static void check_all(const struct doctor_visit *v, const char *server)
{
	v->r->topic = TOPIC_APISERVER;
	if (!check_server(v)) {
		v->r->topic = TOPIC_CLUSTER;
		report_add(v->r, SEVERITY_SKIPPED, STR("everything in the cluster"), NO_FIX,
			"without an answer nothing can be seen");
		return;
	}
	v->r->topic = TOPIC_TRUST;
	doctor_check_trust(v);
	doctor_check_services(v, server);
	v->r->topic = TOPIC_ACCESS;
	doctor_check_access(v);
	v->r->topic = TOPIC_NONE;
	doctor_check_policies(v);
}

void doctor_check_cluster(struct report *r, const struct doctor_cluster *c)
{
	_cleanup_(buf_done) struct buf err;
	struct client_config config = {0};
	struct client *client;
	r->part = "cluster";
	buf_init(&err, 4096);
	int error = client_config_load(&config, c->kubeconfig, c->context, &err);
	error = error ? error : client_new(&client, &config, &err);
	if (error) {
		r->topic = TOPIC_APISERVER;
		report_add(r, SEVERITY_ERROR, str_of(c->kubeconfig), NO_FIX, STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		check_all(&(struct doctor_visit){.r = r, .client = client, .d = &c->deployment}, c->server);
		client_free(client);
	}
	r->topic = TOPIC_NONE;
	client_config_done(&config);
}

/* ---- one GET of any text ----
 *
 * Not by rest_do(): the answers of /readyz and /metrics are no JSON, and the header Date is wanted too. */

enum { BODY_MAX = 16 << 20, TIMEOUT_MS = 10 * 1000 };

struct fetch {
	struct exchange exchange;
	struct doctor_fetched *to;
	/* Guards is_over. Until it is true, everything else belongs to the client's thread. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over;
};

static bool on_bytes(struct exchange *x, struct str bytes)
{
	return buf_add_str(&container_of(x, struct fetch, exchange)->to->body, bytes);
}

static void on_done(struct exchange *x)
{
	struct fetch *f = container_of(x, struct fetch, exchange);
	pthread_mutex_lock(&f->lock);
	f->is_over = true;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

static void take_answer(const struct exchange *x, struct doctor_fetched *ret)
{
	ret->heard_us = clock_wall_us();
	if (x->result == EXCHANGE_OK) {
		ret->code = x->code;
		http_date_parse(x->answer_date, &ret->date_s);
	} else {
		snprintf(ret->problem, sizeof(ret->problem), "%s", x->problem[0] ? x->problem : "no answer in time");
	}
}

void doctor_fetch(struct client *c, const char *path, struct doctor_fetched *ret)
{
	struct fetch f = {
		.exchange = {.method = "GET",
			.path = path,
			.accept = "*/*",
			.timeout_ms = TIMEOUT_MS,
			.on_bytes = on_bytes,
			.on_done = on_done},
		.to = ret,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	*ret = (struct doctor_fetched){.sent_us = clock_wall_us()};
	buf_init(&ret->body, BODY_MAX);
	exchange_start(c, &f.exchange);
	pthread_mutex_lock(&f.lock);
	while (!f.is_over) {
		pthread_cond_wait(&f.changed, &f.lock);
	}
	pthread_mutex_unlock(&f.lock);
	take_answer(&f.exchange, ret);
}

void doctor_fetched_done(struct doctor_fetched *f)
{
	buf_done(&f->body);
}

/* ---- clocks ---- */

/* HTTP's Date has whole seconds, and the request takes time. A clock is wrong only by the rest, which neither of
 * these can explain. */
enum { S_US = 1000000, WARNING_US = 2 * S_US, ERROR_US = 60 * S_US };

bool http_date_parse(const char *text, int64_t *ret_wall_s)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (!end || *end) {
		return false;
	}
	*ret_wall_s = timegm(&tm);
	return true;
}

/* The least by which their clock must be ahead (negative: behind). */
static int64_t skew_us(int64_t theirs_s, int64_t sent_us, int64_t heard_us)
{
	int64_t first_us = theirs_s * S_US, last_us = first_us + S_US;
	if (first_us > heard_us) {
		return first_us - heard_us;
	}
	return last_us < sent_us ? last_us - sent_us : 0;
}

void judge_clock(struct report *r, struct str subject, int64_t theirs_s, int64_t sent_us, int64_t heard_us)
{
	int64_t skew = skew_us(theirs_s, sent_us, heard_us), size = skew < 0 ? -skew : skew;
	if (size <= WARNING_US) {
		report_add(r, SEVERITY_OK, subject, NO_FIX, "its clock agrees with this machine's");
		return;
	}
	report_add(r, size > ERROR_US ? SEVERITY_ERROR : SEVERITY_WARNING, subject, fix_clock(&r->host),
		"its clock is %s this machine's by %lld s or more: certificates, tokens and Leases go by clocks",
		skew > 0 ? "ahead of" : "behind", (long long)(size / S_US));
}

/* ---- looking at objects ---- */

/* A 401 or a 403 is about the caller's rights and not about the deployment: the check is skipped, and has not
 * failed. */
static void say_refusal(const struct doctor_visit *v, struct str subject, const struct answer *a)
{
	if (a->code == 403 || a->code == 401) {
		report_add(v->r, SEVERITY_SKIPPED, subject, NO_FIX, "you may not look: " STR_FMT, STR_ARG(a->message));
	} else {
		report_add(v->r, SEVERITY_ERROR, subject, NO_FIX, "kube-apiserver answers %d: " STR_FMT, a->code,
			STR_ARG(a->message));
	}
}

static int look(const struct doctor_visit *v, const char *path, struct answer *ret)
{
	const struct rest_call call = {.method = "GET", .path = path, .timeout_ms = TIMEOUT_MS, .is_single = true};
	return rest_do(v->client, &call, ret);
}

enum rest_found doctor_find(const struct doctor_visit *v, struct str subject, const struct target *object, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, 64 * 1024);
	target_path(&path, object);
	buf_addc(&path, '\0');
	int error = look(v, path.p, ret);
	if (error == REST_STATUS && answer_is_absent(ret, object)) {
		return REST_ABSENT;
	}
	if (error) {
		say_refusal(v, subject, ret);
	}
	return error ? REST_UNKNOWN : REST_FOUND;
}

bool doctor_list(const struct doctor_visit *v, struct str subject, const char *path, struct answer *ret)
{
	int error = look(v, path, ret);
	if (error) {
		say_refusal(v, subject, ret);
	}
	return !error;
}

/* A kind names its versions in order of preference. */
const char *doctor_version(size_t n)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		size_t rank = 0;
		for (size_t k_version = 0; k_version < k->n_versions; k_version++) {
			if (strcmp(k->versions[k_version].group, "annals.dev") == 0 && rank++ == n) {
				return k->versions[k_version].name;
			}
		}
	}
	return NULL;
}
