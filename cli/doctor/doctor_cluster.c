/* Trust, services, access and policies, in this order: causes come before what follows from
 * them. If kube-apiserver itself does not answer, nothing more is asked, since all else would
 * only repeat that. */
#include "cli/doctor/doctor_cluster.h"

#include "api/model/members.h"
#include "cli/doctor/doctor_clock.h"
#include "cli/doctor/doctor_fetch.h"

#define SUBJECT STR("kube-apiserver")

static void say_version(const struct doctor_visit *v, struct str text)
{
	struct json *version;
	size_t at;
	if (json_parse(&version, &v->r->arena, text, JSON_LIMITS_DEFAULT, &at)) {
		report_add(v->r, SEVERITY_WARNING, SUBJECT, NO_MEND, "its /version is no JSON: is it one?");
		return;
	}
	report_add(v->r, SEVERITY_OK, SUBJECT, NO_MEND, "it answers; version " STR_FMT,
		STR_ARG(member_text(version, "gitVersion")));
}

/* False when nothing else need be asked. */
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
		report_add(v->r, SEVERITY_SKIPPED, STR("everything in the cluster"), NO_MEND,
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
		report_add(r, SEVERITY_ERROR, str_of(c->kubeconfig), NO_MEND, STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		check_all(&(struct doctor_visit){.r = r, .client = client, .d = &c->deployment}, c->server);
		client_free(client);
	}
	r->topic = TOPIC_NONE;
	client_config_done(&config);
}
