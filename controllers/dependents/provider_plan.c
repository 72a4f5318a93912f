/* When the finalizer of a Provider is removed. A wrong optimization would hide in these decisions: tests/broken links another
 * provider_next() in front of this one and shows what it breaks, which the linker can do only across files. */
#include "controllers/dependents/provider_plan.h"

#include "api/model/members.h"
#include "api/model/reference.h"
#include "controllers/kit/meta.h"

enum provider_step provider_next(const struct json *meta, bool is_referred_to_in_cache)
{
	if (!json_meta_is_deleting(meta) || !json_meta_has_finalizer(meta, FINALIZER_PROTECTION.p) || is_referred_to_in_cache) {
		return PROVIDER_LEAVE;
	}
	return PROVIDER_ASK;
}

enum provider_step provider_next_by_list(const struct json *list)
{
	const struct json *items = json_gets(list, "items");
	bool is_empty = json_is(items, JSON_NULL) || (json_is(items, JSON_ARRAY) && items->n == 0);
	/* An empty page may have more behind it. */
	bool is_whole = !member_text(json_gets(list, "metadata"), "continue").n;
	return is_empty && is_whole ? PROVIDER_LET_GO : PROVIDER_LEAVE;
}
