/* The defaults and rules of Jobs and CronJobs: k8s.io/kubernetes/pkg/apis/batch v1.36 says what is allowed, in this order and with these
 * texts. Nothing here makes Jobs or pods. */
#ifndef API_WORKLOAD_JOB_RULES_H
#define API_WORKLOAD_JOB_RULES_H

#include "api/model/kind.h"

/* See struct kind. */
void job_set_defaults(struct object *o, struct arena *a);
/* Which pods are the Job's: unless the client says so, those with the labels that this gives them, of which the UID is one. */
void job_prepare_create(struct object *o, struct arena *a);
void job_validate(const struct object *o, struct field_errors *errors);
void job_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
size_t job_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX]);

void cron_job_set_defaults(struct object *o, struct arena *a);
void cron_job_prepare_create(struct object *o, struct arena *a);
void cron_job_validate(const struct object *o, struct field_errors *errors);
void cron_job_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
size_t cron_job_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX]);

#endif
