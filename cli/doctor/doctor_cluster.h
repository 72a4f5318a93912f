/* The cluster part of `annals doctor`: what in a cluster keeps the annals behind its kube-apiserver from serving. */
#ifndef CLI_DOCTOR_DOCTOR_CLUSTER_H
#define CLI_DOCTOR_DOCTOR_CLUSTER_H

#include "cli/doctor/doctor_report.h"
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

struct doctor_cluster {
	const char *kubeconfig, *context; /* context NULL: the current one */
	struct deployment deployment;
};
void doctor_check_cluster(struct report *r, const struct doctor_cluster *c);

struct doctor_visit {
	struct report *r;
	struct client *client;
	const struct deployment *d;
};

/* ---- the checks: each asks, and calls the judgements below ---- */

void doctor_check_services(const struct doctor_visit *v); /* APIServices */
void doctor_check_trust(const struct doctor_visit *v);
void doctor_check_access(const struct doctor_visit *v);
void doctor_check_policies(const struct doctor_visit *v);

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
void judge_ca_bundle(struct report *r, const struct deployment *d, const struct json *api_service);

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

#endif
