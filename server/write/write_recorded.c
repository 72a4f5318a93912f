/* The rules for users who write recorded states. */
#include "server/write/write_recorded.h"

#include "api/model/history.h"
#include "server/request/agreed_version.h"

static const struct kind *histories(void)
{
	return kind_by_hub(STR("annals.dev"), STR("histories"));
}

struct authz_attributes recorded_attributes(const struct request *q, struct str history)
{
	const struct kind *k = histories();

	return (struct authz_attributes){
		.user = q->user,
		.verb = str_of(verb_name(VERB_UPDATE)),
		.is_resource = true,
		.group = str_of(k->versions[0].group),
		.version = str_of(k->versions[0].name),
		.resource = str_of(k->resource),
		.subresource = STR("status"),
		.ns = request_ns(q),
		.name = history,
	};
}

/* ---- look-ups ---- */

struct cached *object_of_uid(struct request *q, const struct kind *k, struct str uid)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *all = cache_snapshot(q->server->options.cache, k);
	const struct cache_filter filter = {.ns = k->is_namespaced ? request_ns(q) : STR("")};
	const struct cached *o;
	struct cache_iter it;

	cache_iter_init(&it, all, &filter, STR(""));
	while ((o = cache_iter_next(&it))) {
		if (str_eq(o->uid, uid)) {
			return cached_ref((struct cached *)o);
		}
	}
	return NULL;
}

struct cached *history_of_uid(struct request *q, struct str uid)
{
	return object_of_uid(q, histories(), uid);
}

const struct kind *owner_kind(const struct request *q, const struct owner_reference *owner)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (str_is(owner->kind, k->kind) && kind_version(k, owner->api_version) &&
			version_is_visible(kind_version(k, owner->api_version), q->server->options.is_standalone)) {
			return k;
		}
	}
	return NULL;
}

/* By its name where it has that name: a walk over all Histories of the namespace costs more. */
static struct cached *find_history(struct request *q, const struct owner_reference *owner)
{
	bool is_history = history_is_owner(owner->api_version, owner->kind);
	struct cached *named = is_history ? cache_get(q->server->options.cache, histories(), request_ns(q), owner->name) : NULL;

	if (named && str_eq(named->uid, owner->uid)) {
		return named;
	}
	cached_unref(named);
	return history_of_uid(q, owner->uid);
}

static bool is_namespace_going(struct request *q)
{
	const struct delegates *d = q->server->options.delegates;
	const struct kind *k = q->server->namespaces;
	_cleanup_(cached_unrefp) struct cached *ns = k ? cache_get(q->server->options.cache, k, STR(""), request_ns(q)) : NULL;

	if (k) {
		return ns && ns->is_deleting;
	}
	return d && d->namespace_phase && d->namespace_phase(d->ctx, request_ns(q)) == NAMESPACE_TERMINATING;
}

/* ---- the question ---- */

static int ask(struct request *q, const struct object *o, struct str history)
{
	const struct authz_attributes what = recorded_attributes(q, history);
	struct authz_verdict verdict;
	int r = authz_check(q->server->authz, &what, &q->questions, &verdict, q->a, &q->st);

	if (r != 1 || verdict.is_turned_away) {
		return r;
	}
	status_init(&q->st, q->a);
	status_forbidden(&q->st, request_group(q), q->route.resource, o->meta.name,
		STR_FMT ", which a state of the History \"" STR_FMT "\" needs", STR_ARG(authz_sentence(&what, q->a)),
		STR_ARG(history));
	return 1;
}

/* An owner that names one History and has the uid of another needs the right to both. */
static int ask_both(
	struct request *q, const struct object *o, const struct owner_reference *owner, const struct cached *history)
{
	bool is_history = history_is_owner(owner->api_version, owner->kind);
	int r = is_history ? ask(q, o, owner->name) : 0;

	if (r || !history || (is_history && str_eq(history->name, owner->name))) {
		return r;
	}
	return ask(q, o, history->name);
}

static int ask_controller(struct request *q, const struct object *o, const struct owner_reference *owner)
{
	_cleanup_(cached_unrefp) struct cached *history = find_history(q, owner);

	return ask_both(q, o, owner, history);
}

/* Asks about a revision as it is stored, which is free once nobody records in it any more. */
static int ask_stored_controller(
	struct request *q, const struct object *old, const struct owner_reference *owner, bool is_deletion)
{
	_cleanup_(cached_unrefp) struct cached *history = NULL;

	if (!history_is_owner(owner->api_version, owner->kind) || (is_deletion && is_namespace_going(q))) {
		return 0;
	}
	history = find_history(q, owner);
	if (!history && agreed_version_check_readable(q, histories())) {
		return 1;
	}
	return !history || history->is_deleting ? 0 : ask_both(q, old, owner, history);
}

static bool is_same_owner(const struct owner_reference *a, const struct owner_reference *b)
{
	return str_eq(a->uid, b->uid) && str_eq(a->kind, b->kind) && str_eq(a->name, b->name) &&
		str_eq(a->api_version, b->api_version);
}

int write_ask_recorded(struct request *q, const struct object *o, const struct object *old)
{
	struct owner_reference before = {0}, after = {0};

	if (!(o ? o : old)->kind->history) {
		return 0;
	}
	bool was_controlled = old && meta_controller(&old->meta, &before);
	bool is_controlled = o && meta_controller(&o->meta, &after);
	int r = was_controlled ? ask_stored_controller(q, old, &before, !o) : 0;
	if (r || !is_controlled || (was_controlled && is_same_owner(&before, &after))) {
		return r;
	}
	return ask_controller(q, o, &after);
}
