/* Whom a server behind kube-apiserver believes (the ConfigMap extension-apiserver-authentication): judgements of `annals doctor`. */
#ifndef CLI_DOCTOR_DOCTOR_TRUST_H
#define CLI_DOCTOR_DOCTOR_TRUST_H

#include "cli/doctor/doctor_cluster.h"

/* The ConfigMap; NULL: there is none. */
void judge_trust(struct report *r, const struct deployment *d, const struct json *config);

#endif
