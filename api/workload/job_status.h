/* The rules of a Job's status: ValidateJobStatusUpdate of k8s.io/kubernetes/pkg/apis/batch/validation v1.36. Most look only at what
 * changes, so that a status that became wrong can still be corrected. */
#ifndef API_WORKLOAD_JOB_STATUS_H
#define API_WORKLOAD_JOB_STATUS_H

#include "api/model/kind.h"

bool job_has_condition(const struct object *o, const char *type); /* one whose status is True */
void job_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
