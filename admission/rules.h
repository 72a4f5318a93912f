/* The rules, one file each; admission/chain.c has them in their order. */
#ifndef ADMISSION_RULES_H
#define ADMISSION_RULES_H

#include "admission/admission.h"

extern const struct admission_hook rule_namespace_lifecycle, rule_namespace_protection;
extern const struct admission_hook rule_data_immutable;
extern const struct admission_hook rule_adoption;
extern const struct admission_hook rule_digest;
extern const struct admission_hook rule_pod_classes;

#endif
