/* The cluster part of `annals doctor`: what a kube-apiserver and the objects in it say of a deployment behind it. */
#ifndef CLI_DOCTOR_DOCTOR_CLUSTER_H
#define CLI_DOCTOR_DOCTOR_CLUSTER_H

#include "cli/doctor/doctor_cert.h"
#include "client/rest.h"

/* What is looked for, and how mends call it. */
struct deployment {
	struct str kubectl;     /* "kubectl --kubeconfig=FILE" */
	struct str ns, service; /* of the Service in front of annals */
	struct str user;        /* as whom annals asks kube-apiserver */
	struct str account;     /* the ServiceAccount that is; empty: a user of another kind */
	int64_t now_s;
};

/* Who is not a ServiceAccount runs on hosts: there is no Deployment to look at. */
static inline bool deployment_is_on_hosts(const struct deployment *d)
{
	return d->account.n == 0;
}
#define HOSTS_LOG "systemctl status annals; journalctl -u annals    # on each host"

struct doctor_cluster {
	const char *kubeconfig, *context; /* context NULL: the current one */
	const char *server;               /* HOST:PORT at which annals can be reached from here; NULL: as its Service says */
	struct deployment deployment;
};
void doctor_check_cluster(struct report *r, const struct doctor_cluster *c);

/* ---- looking (doctor_look.c) ---- */

struct doctor_visit {
	struct report *r;
	struct client *client;
	const struct deployment *d;
};

enum doctor_sight {
	SIGHT_SEEN,
	SIGHT_ABSENT, /* 404 */
	SIGHT_NONE,   /* a finding says why */
};

enum doctor_sight doctor_look(const struct doctor_visit *v, struct str subject, const char *path, struct answer *ret);

/* The version of annals.dev that is n-th in order of preference; NULL beyond the last. */
const char *doctor_version(size_t n);

/* ---- the pieces: each asks, and leaves the judging to what is in its header ---- */

void doctor_check_services(const struct doctor_visit *v, const char *server); /* APIServices and what they lead to */
void doctor_check_trust(const struct doctor_visit *v);
void doctor_check_access(const struct doctor_visit *v);
void doctor_check_policies(const struct doctor_visit *v);

#endif
