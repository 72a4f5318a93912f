/* The etcd part of `annals doctor`: the health of the members, and the keys under the prefix. */
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

/* Judges an endpoint's version, size, role and leader. metered_quota: the quota in its metrics;
 * 0: unknown. */
void judge_etcd_member(
	struct report *r, struct str subject, const struct etcd_health *h, int64_t metered_quota, struct str etcdctl);
/* Judges what one endpoint reports about the cluster. */
void judge_etcd_cluster(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl);
/* Judges whether the endpoints belong to one cluster. */
void judge_etcd_endpoints(struct report *r, const char *const *endpoints, const struct etcd_health *h, size_t n);

/* The values that doctor needs from etcd's metrics; 0 if they are missing. */
struct etcd_metrics {
	int64_t quota;         /* bytes */
	double fsync_s, syncs; /* seconds in total, and how many syncs */
};
void etcd_metrics_parse(struct etcd_metrics *ret, struct str text);
void judge_etcd_disk(struct report *r, struct str subject, const struct etcd_metrics *m);

/* The keys in the store that share their first part. */
struct etcd_prefix {
	struct str name; /* "/registry" */
	int64_t n_keys;
	bool is_annals; /* contains keys that annals writes */
};
void judge_etcd_prefixes(
	struct report *r, struct str wanted, int64_t n_objects, bool is_binary, const struct etcd_prefix *others, size_t n);

#endif
