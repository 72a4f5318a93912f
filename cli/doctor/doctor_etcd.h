/* The etcd part of `annals doctor`: how the members are, and what is under the prefix. */
#ifndef CLI_DOCTOR_DOCTOR_ETCD_H
#define CLI_DOCTOR_DOCTOR_ETCD_H

#include "cli/doctor/doctor_report.h"
#include "storage/etcd/etcd_health.h"

struct doctor_etcd {
	const char *const *endpoints;
	size_t n_endpoints;
	const char *ca_file, *cert_file, *key_file, *prefix;
	int64_t now_s;
};
void doctor_check_etcd(struct report *r, const struct doctor_etcd *e);

/* ---- judgements (doctor_etcd_judge.c) ---- */

/* How to call etcdctl so that it finds this etcd: "etcdctl --endpoints ...". */
struct str etcdctl_command(struct arena *a, const struct doctor_etcd *e, const char *endpoint);

/* What an endpoint says of its version, size, role and leader. metered_quota: as its metrics have it; 0: unknown. */
void judge_etcd_member(
	struct report *r, struct str subject, const struct etcd_health *h, int64_t metered_quota, struct str etcdctl);
/* What one of them says of the cluster. */
void judge_etcd_cluster(struct report *r, struct str subject, const struct etcd_health *h, struct str etcdctl);
/* Do the endpoints belong together? */
void judge_etcd_endpoints(struct report *r, const char *const *endpoints, const struct etcd_health *h, size_t n);

/* What of etcd's metrics is of interest; 0 where they do not say. */
struct etcd_metrics {
	int64_t quota;         /* bytes */
	double fsync_s, syncs; /* in all, and how many */
};
void etcd_metrics_parse(struct etcd_metrics *ret, struct str text);
void judge_etcd_disk(struct report *r, struct str subject, const struct etcd_metrics *m);

/* What is in the store, by the first part of its keys. */
struct etcd_prefix {
	struct str name; /* "/registry" */
	int64_t n_keys;
	bool is_annals; /* has what annals writes */
};
void judge_etcd_prefixes(
	struct report *r, struct str wanted, int64_t n_objects, bool is_binary, const struct etcd_prefix *others, size_t n);

#endif
