/* The etcd part of `annals doctor`: what in an etcd stops annals, and the keys under the prefix. */
#ifndef CLI_DOCTOR_DOCTOR_ETCD_H
#define CLI_DOCTOR_DOCTOR_ETCD_H

#include "cli/doctor/doctor_report.h"
#include "storage/etcd/etcd_endpoint.h"

struct doctor_etcd {
	const char *const *endpoints;
	size_t n_endpoints;
	const char *ca_file, *cert_file, *key_file, *prefix;
	int64_t now_s;
};
void doctor_check_etcd(struct report *r, const struct doctor_etcd *e);

/* ---- judgements ---- */

/* How to call etcdctl so that it finds this etcd: "etcdctl --endpoints ...". */
struct str etcdctl_command(struct arena *a, const struct doctor_etcd *e, const char *endpoint);

/* Judges an endpoint's version and role, and whether it sees a leader. */
void judge_etcd_member(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl);
/* Judges the alarms that one endpoint reports for all members. */
void judge_etcd_alarms(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl);
/* Judges whether the endpoints belong to one cluster. */
void judge_etcd_endpoints(struct report *r, const char *const *endpoints, const struct etcd_health *h, size_t n);

#endif
