/* metav1.Condition, as the migrator writes it. */
#ifndef MIGRATION_MIGRATION_CONDITION_H
#define MIGRATION_MIGRATION_CONDITION_H

#include "api/rules/condition.h"

/* Since when it has been so is taken from the condition of that type in `list`, if that has the same status. */
struct json *condition_new(const struct json *list, const char *type, bool is_true, const char *reason, struct str message,
	int64_t now_s, struct arena *a);

#endif
