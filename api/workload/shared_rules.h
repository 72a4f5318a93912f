/* The rules that workloads share: which pods are theirs, what these may be, and numbers of them. Order and texts are those of
 * k8s.io/kubernetes/pkg/apis/apps/validation v1.36.
 *
 * Each sort of workload has defaults, fields that an update keeps, and rules: set_*.c for
 * StatefulSets, replica_rules.c for ReplicaSets, Deployments and ReplicationControllers,
 * daemon_rules.c for DaemonSets, job_*.c and cron.c for Jobs and CronJobs. set_forms.c converts a
 * StatefulSet between its versions, and scale.c shows the subresource. The declarations in api/kinds
 * point to these functions; pods of a template are checked by api/pod. All are pure. */
#ifndef API_WORKLOAD_SHARED_RULES_H
#define API_WORKLOAD_SHARED_RULES_H

#include "api/rules/selector.h"
#include "api/rules/where.h"

/* A LabelSelector that must select something. NULL: there is none. True: *ret can be used; of no selector it is an empty one. */
struct selector_texts {
	const char *empty,
		*invalid; /* why an empty one, and one that cannot be read, is refused; invalid NULL: that is not said */
};
bool check_workload_selector(struct field_errors *e, const struct where *at, const struct json *selector,
	const struct selector_texts *texts, struct label_selector *ret);
/* Does a readable selector take these labels? None takes nothing. */
bool selector_takes(const struct json *selector, const struct label_selector *read, const struct json *labels, struct arena *a);

/* The pods of a workload run for ever. `forbidden`: why activeDeadlineSeconds is refused. at: of the template. */
void check_pods_run_on(struct field_errors *e, const struct where *at, const struct json *template, const char *forbidden);

/* A number of pods or a share of them: 3, "25%". */
void check_share(struct field_errors *e, const struct where *at, const struct json *share);      /* is it one? */
void check_share_fits(struct field_errors *e, const struct where *at, const struct json *share); /* not above 100% */
int64_t share_value(const struct json *share); /* the number alone; 0 of what is none */

/* A strategy as messages show it: upstream's own form has no names for JSON, and numbers in place of pointers.
 * members: of rollingUpdate, NULL-terminated. */
struct json *strategy_in_go(const struct json *strategy, const char *const *members, struct arena *a);

/* Counts in status, none of them negative; `names` ends with NULL. */
void check_counts(struct field_errors *e, const struct json *status, const char *const *names);
void check_at_most(struct field_errors *e, const struct json *status, const char *name, const char *limit, const char *message);
void check_collisions(struct field_errors *e, const struct json *status, const struct json *old_status);

/* The same value, or none in both. */
bool is_same_value(const struct json *x, const struct json *y);
/* "field is immutable" */
void check_fixed(struct field_errors *e, const struct where *at, const struct json *now, const struct json *before);

#endif
