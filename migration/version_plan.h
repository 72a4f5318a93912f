/* What replicas and objects say of one kind, and the StorageVersion that says it: without I/O. */
#ifndef MIGRATION_VERSION_PLAN_H
#define MIGRATION_VERSION_PLAN_H

#include "api/model/kind.h"
#include "storage/agreement/agreement.h"
#include "storage/cache/cache.h"

/* Whether there is a StorageVersion of the kind: it is stored, and served by a door that such a server has. */
bool kind_has_version(const struct kind *k, bool is_standalone);
/* What all replicas of the view write that write the kind; NULL: they differ, or it is not known of one. */
const struct door *view_common(const struct agreement_view *v, const struct kind *k);
/* Who writes what, as a sentence. */
struct str view_disagreement(const struct agreement_view *v, const struct kind *k, struct arena *a);
/* As of which the registrations are what the view says: that of its own replica may be newer than what it has been told of the others, among whom nothing
 * happened meanwhile. */
int64_t view_revision(const struct agreement_view *v);

/* Objects that are not stored in that version, and all. Those of unknown versions count. */
int64_t census_others(const struct cache_census *c, const struct kind *k, const struct door *version);
int64_t census_total(const struct cache_census *c, const struct kind *k);

/* The status of the StorageVersion. old: what it is now, or NULL; common: what discovery shows a hash of, or NULL. */
struct json *version_status(const struct agreement_view *v, const struct kind *k, const struct door *common,
	const struct cache_census *census, const struct json *old, int64_t now_s, struct arena *a);
/* Do they differ in more than the numbers of objects? */
bool version_status_is_news(const struct json *status, const struct json *old);

#endif
