/* metav1.Condition: one thing that was observed about an object. */
#ifndef API_RULES_CONDITION_H
#define API_RULES_CONDITION_H

#include "api/model/schema.h"

extern const struct type type_condition, list_conditions;

/* The one of that type in status.conditions; NULL: none. */
const struct json *condition_find(const struct json *list, const char *type);

/* status.conditions at `path`: type, status, reason and their lengths, as k8s.io/apimachinery ValidateConditions. */
void validate_conditions(struct str path, const struct json *conditions, struct field_errors *errors);

#endif
