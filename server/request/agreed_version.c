/* Whether the kind may be written, whether it can be read, and which version is shown are asked at
 * other moments of a request. Each time the agreement is asked anew, since it may have changed.
 * Only a ticket is kept: it is a guard of the very transaction, so etcd refuses what rests on one
 * that has gone out of date. */
#include "server/request/agreed_version.h"

#include "server/request/respond.h"
#include "server/request/wait.h"

enum { RETRY_S = 1 };

/* ---- writing ---- */

int agreed_version_refuse(struct request *q, struct str why)
{
	status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, STR_FMT, STR_ARG(why));
	q->st.retry_after_s = RETRY_S;
	return 1;
}

int agreed_version_take(struct request *q, const struct kind *k, struct agreement_ticket *ret, void (*again)(struct request *q))
{
	struct agreement *a = q->server->options.agreement;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	if (!a || q->is_dry_run) {
		*ret = (struct agreement_ticket){.version = kind_storage_door(k)};
		return 0;
	}
	enum agreement_writing may = agreement_write(a, k, ret, &why);
	if (may == AGREEMENT_MAY_WRITE) {
		return 0;
	}
	/* Who has waited in vain is told so. */
	if (may == AGREEMENT_NOT_YET && q->versions.result == STORAGE_OK) {
		request_wait_versions(q, k, again);
	} else {
		agreed_version_refuse(q, buf_str(&why));
		reply_status(q);
	}
	return 1;
}

const struct door *agreed_version_now(const struct request *q)
{
	struct agreement *a = q->server->options.agreement;
	const struct kind *k = q->route.kind;
	struct agreement_ticket ticket;

	if (!a) {
		return kind_storage_door(k);
	}
	return agreement_write(a, k, &ticket, NULL) == AGREEMENT_MAY_WRITE ? ticket.version : NULL;
}

bool agreed_version_is_guarded(const struct agreement_ticket *ticket)
{
	return ticket->key.n > 0;
}

/* ---- reading ---- */

static bool is_all_known(struct request *q, const struct kind *k, struct buf *why)
{
	struct cache *c = q->server->options.cache;
	struct cache_census census;

	if (!cache_has_unknown(c, k)) {
		return true;
	}
	if (why) {
		cache_census(c, k, &census);
		bool is_one = census.n_unknown == 1;
		buf_printf(why, "%zu %s of ", census.n_unknown, is_one ? "object" : "objects");
		kind_write_group_resource(k, why);
		buf_printf(why, " %s stored in %s that this server does not know%s%s", is_one ? "is" : "are",
			is_one ? "a version" : "versions", is_one ? ": " : ", such as ", census.unknown_version);
	}
	return false;
}

bool agreed_version_is_readable(struct request *q, const struct kind *k, struct buf *why)
{
	struct agreement *a = q->server->options.agreement;

	return is_all_known(q, k, why) && (!a || agreement_can_read(a, k, why));
}

int agreed_version_check_readable(struct request *q, const struct kind *k)
{
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	return agreed_version_is_readable(q, k, &why) ? 0 : agreed_version_refuse(q, buf_str(&why));
}

void agreed_version_not_found(struct request *q, struct str name)
{
	if (!agreed_version_check_readable(q, q->route.kind)) {
		status_not_found(&q->st, request_group(q), q->route.resource, name);
	}
}

bool agreed_version_can_read(struct request *q)
{
	if (agreed_version_check_readable(q, q->route.kind)) {
		reply_status(q);
		return false;
	}
	return true;
}

const char *agreed_version_check(struct request *q)
{
	struct agreement *a = q->server->options.agreement;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	bool is_fine = !a || agreement_is_settled(a, &why);
	for (size_t i = 0; is_fine && i < kind_count(); i++) {
		is_fine = is_all_known(q, kind_at(i), &why);
	}
	if (is_fine) {
		return NULL;
	}
	return arena_dup(q->a, buf_str(&why)).p;
}

/* ---- discovery ---- */

static void read_common(struct server *s, const struct door *ret[KIND_COUNT_MAX])
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		ret[i] = s->options.agreement ? agreement_common(s->options.agreement, k) : kind_storage_door(k);
	}
}

struct discovery *agreed_version_discovery(struct server *s)
{
	const struct door *common[KIND_COUNT_MAX] = {NULL};

	/* Guards the pointer. What is common is read from atomics, so nothing else is locked under
	 * it. */
	pthread_mutex_lock(&s->discovery_lock);
	read_common(s, common); /* under the lock: what is shown never goes back to what was read before */
	if (!s->discovery || !discovery_shows(s->discovery, common)) {
		struct discovery_options options = s->discovery_options;
		options.common = common;
		discovery_unref(s->discovery);
		s->discovery = discovery_new(&options);
	}
	struct discovery *d = discovery_ref(s->discovery);
	pthread_mutex_unlock(&s->discovery_lock);
	return d;
}
