/* The particular rules of definitions when they are written. Their names are judged by the kinds that the cache shows, so the
 * transaction requires that no definition has changed since. */
#include "server/write/definitions.h"

#include "api/custom/custom.h"
#include "api/custom/declared.h"
#include "api/custom/definition.h"
#include "api/model/members.h"
#include "api/schema/crd.h"

bool definitions_are(const struct kind *k)
{
	return k == definitions_kind();
}

int definitions_refuse_create(struct request *q, const struct object *o)
{
	if (!o->kind->life || !atomic_load(&o->kind->life->is_terminating)) {
		return 0;
	}
	status_forbidden(&q->st, request_group(q), q->route.resource, o->meta.name,
		"create not allowed while custom resource definition is terminating");
	return 1;
}

void definitions_settle(struct request *q, struct write *w)
{
	struct object *o = w->object;

	if (o->kind->settle) {
		o->kind->settle(o, q->a);
	}
	if (!definitions_are(o->kind)) {
		return;
	}
	w->changes_references = w->present && !declared_same_references(o, w->present);
	if (meta_is_deleting(&o->meta)) {
		return;
	}
	struct str warnings[CRD_WARNINGS_MAX];
	size_t n = q->route.sub ? 0 : crd_warn(o, w->present, http_arena(q->x), warnings);
	for (size_t i = 0; i < n; i++) {
		request_warn(q, warnings[i]);
	}
	/* The revision first: the kinds are as of that one, or newer. */
	w->definitions_seen = cache_revision(q->server->options.cache);
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(q->server->options.cache);
	definition_settle(o, defined, request_now(q), q->a);
}

static bool has_objects(struct cache *c, const struct object *definition)
{
	const struct json *spec = object_spec(definition);
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(c);
	const struct kind *k =
		kinds_by_hub(defined, member_text(spec, "group"), member_text(json_gets(spec, "names"), "plural"));
	struct cache_census census = {.revision = 0};
	size_t n = 0;

	if (!k) {
		return false; /* the guard knows better */
	}
	cache_census(c, k, &census);
	for (size_t i = 0; i < k->n_versions; i++) {
		n += census.stored[i];
	}
	return n + census.n_unknown + census.n_unreadable > 0;
}

/* The index of references must be complete from the first object on. */
int definitions_refuse_update(struct request *q, const struct write *w)
{
	struct field_errors errors;

	if (!w->changes_references || !has_objects(q->server->options.cache, w->object)) {
		return 0;
	}
	field_errors_init(&errors, q->a);
	field_forbidden(&errors, STR("metadata.annotations[" ANNOTATION_REFERS_TO "]"),
		"may not be changed while there are objects of the kind");
	status_invalid(&q->st, request_group(q), str_of(w->object->kind->kind), w->object->meta.name, &errors);
	return 1;
}

void definitions_guard(const struct write *w, struct plan *p)
{
	if (w->definitions_seen) {
		plan_guard_kind(p, w->object->kind, w->definitions_seen);
	}
	/* Objects that a lost definition has left behind must not come back under this one. */
	if ((w->definitions_seen && !w->present) || w->changes_references) {
		const struct json *spec = object_spec(w->object);
		plan_guard_no_objects(p, member_text(spec, "group"), member_text(json_gets(spec, "names"), "plural"));
	}
}
