/* lastTransitionTime moves when the status does, and stays when only reason or message change: so
 * the API's conventions have it. That is why a condition is made from the one before it. */
#include "migration/migration_condition.h"

#include "api/model/members.h"
#include "base/clock.h"

struct json *condition_new(const struct json *list, const char *type, bool is_true, const char *reason, struct str message,
	int64_t now_s, struct arena *a)
{
	const struct json *old = condition_find(list, type);
	struct str status = is_true ? STR("True") : STR("False"), since = member_text(old, "lastTransitionTime");
	struct json *c = json_object(a);

	if (!str_eq(member_text(old, "status"), status)) {
		char now[TIME_RFC3339_SIZE];
		time_format_rfc3339(now, now_s);
		since = arena_dup(a, str_of(now));
	}
	json_add(a, c, STR("type"), json_string(a, str_of(type)));
	json_add(a, c, STR("status"), json_string(a, status));
	json_add(a, c, STR("lastTransitionTime"), json_string(a, since));
	json_add(a, c, STR("reason"), json_string(a, str_of(reason)));
	json_add(a, c, STR("message"), json_string(a, message));
	return c;
}
