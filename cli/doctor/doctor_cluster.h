/* The cluster part of `annals doctor`: what a kube-apiserver and the objects in it say of a deployment behind it. */
#ifndef CLI_DOCTOR_DOCTOR_CLUSTER_H
#define CLI_DOCTOR_DOCTOR_CLUSTER_H

#include "cli/doctor/doctor_cert.h"
#include "client/client.h"
#include "client/rest.h"

/* The deployment to look for, and the kubectl command that fixes use. */
struct deployment {
	struct str kubectl;     /* "kubectl --kubeconfig=FILE" */
	struct str ns, service; /* the Service in front of annals */
	struct str user;        /* the user as which annals calls kube-apiserver */
	struct str account;     /* the ServiceAccount of that user; empty: a user of another kind */
	int64_t now_s;
};

/* An annals whose user is no ServiceAccount runs on hosts, so there is no Deployment to look at. */
static inline bool deployment_is_on_hosts(const struct deployment *d)
{
	return d->account.n == 0;
}
#define HOSTS_LOG "systemctl status annals; journalctl -u annals    # on each host"

struct doctor_cluster {
	const char *kubeconfig, *context; /* context NULL: the current one */
	/* HOST:PORT at which annals can be reached from here; NULL: the address of its Service
	 * */
	const char *server;
	struct deployment deployment;
};
void doctor_check_cluster(struct report *r, const struct doctor_cluster *c);

/* ---- looking at objects ---- */

struct doctor_visit {
	struct report *r;
	struct client *client;
	const struct deployment *d;
};

/* Reads an object. A 404 alone does not prove that it is absent: see rest_find(). With REST_UNKNOWN a finding says why. */
enum rest_found doctor_find(const struct doctor_visit *v, struct str subject, const struct target *object, struct answer *ret);
/* Reads a list. Returns false after a finding with the reason. */
bool doctor_list(const struct doctor_visit *v, struct str subject, const char *path, struct answer *ret);

/* The version of annals.dev that is n-th in order of preference; NULL beyond the last. */
const char *doctor_version(size_t n);

/* ---- the checks: each asks, and calls the judgements below ---- */

void doctor_check_services(const struct doctor_visit *v, const char *server); /* APIServices, and the servers behind them */
void doctor_check_trust(const struct doctor_visit *v);
void doctor_check_access(const struct doctor_visit *v);
void doctor_check_policies(const struct doctor_visit *v);

/* ---- one GET of any text, and the other side's clock by its Date header ---- */

struct doctor_fetched {
	int code; /* 0: no answer, and problem says why */
	struct buf body;
	int64_t date_s; /* the other side's clock; 0: it does not say */
	int64_t sent_us, heard_us;
	char problem[256];
};

/* Blocks until there is an answer; never call it on the client's thread. doctor_fetched_done() in any case. */
void doctor_fetch(struct client *c, const char *path, struct doctor_fetched *ret);
void doctor_fetched_done(struct doctor_fetched *f);

/* ---- judgements of a Service and its certificates; an absent object is NULL ---- */

enum { DOCTOR_ADDRESSES_MAX = 8 };

/* The Service that an APIService names. */
void judge_service(struct report *r, const struct deployment *d, const struct json *api_service, const struct json *service);
/* The certificates that a server behind it shows; cas are those of judge_ca_bundle(). */
void judge_served(struct report *r, const struct deployment *d, struct str subject, const struct json *api_service,
	const struct certs *chain, const struct certs *cas);

/* Ready endpoints, by a list of EndpointSlices. Returns how many ret has; ret_n_ready: how many there are. */
struct doctor_address {
	struct str host;
	int64_t port;
};
size_t find_addresses(const struct json *slices, struct str port_name, struct doctor_address *ret, size_t *ret_n_ready);
void judge_endpoints(struct report *r, const struct deployment *d, size_t n_ready);
/* ---- judgements of the APIServices of annals.dev; an absent object is NULL ---- */

/* Judges the APIService of one version of the group. n: its rank in order of preference. The
 * other one, if any, is a registered version to compare with. */
void judge_api_service(struct report *r, const struct deployment *d, const char *version, size_t rank,
	const struct json *service, const struct json *sibling);
/* Judges kube-apiserver's own condition of an APIService. If it is bad, the cause is mostly
 * elsewhere. */
void judge_availability(struct report *r, const struct deployment *d, const struct json *service);
/* Later versions must not come before earlier ones. */
void judge_version_order(struct report *r, const struct deployment *d, const struct json *first, const struct json *second);
/* ret: the CAs of the caBundle; none if it cannot be read. */
void judge_ca_bundle(struct report *r, const struct deployment *d, const struct json *api_service, struct certs *ret);
void judge_discovery(
	struct report *r, const struct deployment *d, const char *version, int code, struct str message, uint32_t n_resources);

/* ---- judgements of what annals may do in the cluster ---- */

/* The binding that gives a permission. */
enum doctor_grant { GRANT_DELEGATOR, GRANT_READER, GRANT_SERVER, GRANT_POLICIES, N_GRANTS };

struct doctor_need {
	enum doctor_grant grant;
	const char *verb, *group, *resource, *ns, *name;
};
extern const struct doctor_need doctor_needs[];
extern const size_t doctor_n_needs;

/* is_allowed: one for each row of doctor_needs. */
void judge_access(struct report *r, const struct deployment *d, const bool *is_allowed);

/* ---- judgements of admission that annals does not do (docs/reference/deviations.md) ---- */

/* list: ValidatingAdmissionPolicies or MutatingAdmissionPolicies. Returns how many are for kinds of annals. */
size_t judge_policies(struct report *r, const struct deployment *d, const char *kind, const struct json *list);
/* list: webhook configurations. Returns how many have matchConditions and are for kinds of annals. */
size_t judge_webhooks(struct report *r, const struct deployment *d, const char *kind, const struct json *list);

/* ---- judgements of the authorities that annals trusts ---- */

/* config: the ConfigMap extension-apiserver-authentication; NULL: there is none. */
void judge_trust(struct report *r, const struct deployment *d, const struct json *config);

/* ---- clocks of other machines ---- */

/* text: "Sun, 06 Nov 1994 08:49:37 GMT", as in HTTP's Date. */
bool http_date_parse(const char *text, int64_t *ret_wall_s);
/* Their clock said theirs_s (a whole second) at some moment between sent_us and heard_us of ours. More than 2 s
 * apart is a warning, more than 60 s an error. */
void judge_clock(struct report *r, struct str subject, int64_t theirs_s, int64_t sent_us, int64_t heard_us);

#endif
