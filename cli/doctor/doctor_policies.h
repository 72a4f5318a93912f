/* Admission that the cluster asks for and annals does not do (docs/reference/deviations.md): judgements of `annals doctor`. */
#ifndef CLI_DOCTOR_DOCTOR_POLICIES_H
#define CLI_DOCTOR_DOCTOR_POLICIES_H

#include "cli/doctor/doctor_cluster.h"

/* A list of ValidatingAdmissionPolicies or MutatingAdmissionPolicies; how many are for kinds of ours. */
size_t judge_policies(struct report *r, const struct deployment *d, const char *kind, const struct json *list);
/* A list of webhook configurations; how many have matchConditions and are for kinds of ours. */
size_t judge_webhooks(struct report *r, const struct deployment *d, const char *kind, const struct json *list);

#endif
