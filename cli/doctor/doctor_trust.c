/* The ConfigMap extension-apiserver-authentication is where every aggregated server learns whom
 * to believe (k8s.io/apiserver, pkg/server/options). Its lists are JSON within strings, which
 * nobody checks when somebody edits it by hand. */
#include "cli/doctor/doctor_trust.h"

#include "api/model/members.h"
#include "cli/doctor/doctor_files.h"

#define PATH "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
#define SUBJECT STR("ConfigMap kube-system/extension-apiserver-authentication")

#define MEND_CLIENT STR("kube-apiserver --client-ca-file=ca.crt    # restart it with a CA that is valid")

/* kube-apiserver makes the ConfigMap of its flags, but adds them to what is there already, another's perhaps: so that has to go. */
static struct str mend_front(struct report *r, const struct deployment *d)
{
	return report_text(r,
		"kube-apiserver --requestheader-client-ca-file=front-proxy-ca.crt "
		"--requestheader-allowed-names=front-proxy-client "
		"--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group "
		"--requestheader-extra-headers-prefix=X-Remote-Extra- --proxy-client-cert-file=front-proxy-client.crt "
		"--proxy-client-key-file=front-proxy-client.key    # restart it with these, and then:\n" STR_FMT
		" --namespace=kube-system delete configmap extension-apiserver-authentication --ignore-not-found",
		STR_ARG(d->kubectl));
}

static const struct json *list_of(const struct json *data, const char *name, struct arena *a)
{
	struct json *list;
	size_t at;
	if (json_parse(&list, a, member_text(data, name), JSON_LIMITS_DEFAULT, &at)) {
		return NULL;
	}
	return json_is(list, JSON_ARRAY) ? list : NULL;
}

static void judge_headers(struct report *r, const struct deployment *d, const struct json *data)
{
	static const struct {
		const char *name, *usual;
		bool is_needed;
	} headers[] = {
		{"requestheader-username-headers", "X-Remote-User", true},
		{"requestheader-group-headers", "X-Remote-Group", false},
		{"requestheader-extra-headers-prefix", "X-Remote-Extra-", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		const struct json *list = list_of(data, headers[i].name, &r->arena);
		struct str subject = report_text(r, "%s of the ConfigMap", headers[i].name);
		if (list && list->n) {
			report_add(r, SEVERITY_OK, subject, NO_MEND, STR_FMT, STR_ARG(member_text(data, headers[i].name)));
		} else {
			report_add(r, headers[i].is_needed ? SEVERITY_ERROR : SEVERITY_WARNING, subject, mend_front(r, d),
				"no header is named: %s is usual, and without it %s", headers[i].usual,
				headers[i].is_needed ? "no user of the cluster is known to annals"
						     : "what it would say of a user is not known to annals");
		}
	}
}

static bool read_cas(struct report *r, const struct deployment *d, const struct json *data, const char *name, struct str mend,
	struct certs *ret)
{
	_cleanup_(buf_done) struct buf err;
	struct str subject = report_text(r, "%s of the ConfigMap", name);
	buf_init(&err, 4096);
	if (certs_parse(ret, member_text(data, name), &r->arena, &err)) {
		report_add(r, SEVERITY_ERROR, subject, mend, STR_FMT, STR_ARG(buf_str(&err)));
		return false;
	}
	judge_cas(r, subject, ret, d->now_s, mend);
	return true;
}

static void judge_front(struct report *r, const struct deployment *d, const struct json *data)
{
	_cleanup_(certs_done) struct certs front = {NULL, 0}, clients = {NULL, 0};
	const struct json *names = list_of(data, "requestheader-allowed-names", &r->arena);
	struct str subject = STR("requestheader-allowed-names of the ConfigMap");
	if (json_gets(data, "client-ca-file")) {
		read_cas(r, d, data, "client-ca-file", MEND_CLIENT, &clients);
	}
	if (!member_text(data, "requestheader-client-ca-file").n) {
		report_add(r, SEVERITY_ERROR, STR("requestheader-client-ca-file of the ConfigMap"), mend_front(r, d),
			"there is none: annals believes nothing that kube-apiserver says of users");
		return;
	}
	if (!read_cas(r, d, data, "requestheader-client-ca-file", mend_front(r, d), &front)) {
		return;
	}
	if (!names) {
		report_add(r, SEVERITY_ERROR, subject, mend_front(r, d), "it is no list of names, in JSON");
	} else {
		judge_front_names(r, subject, &front, &clients, names->n, mend_front(r, d));
	}
	judge_headers(r, d, data);
}

void judge_trust(struct report *r, const struct deployment *d, const struct json *config)
{
	if (!config) {
		report_add(r, SEVERITY_ERROR, SUBJECT, mend_front(r, d),
			"there is none: kube-apiserver makes it at its start, of the flags for a front proxy");
		return;
	}
	judge_front(r, d, json_gets(config, "data"));
}

void doctor_check_trust(const struct doctor_visit *v)
{
	struct answer config;
	answer_init(&config);
	enum doctor_sight sight = doctor_look(v, SUBJECT, PATH, &config);
	if (sight != SIGHT_NONE) {
		judge_trust(v->r, v->d, sight == SIGHT_SEEN ? config.body : NULL);
	}
	answer_done(&config);
}
