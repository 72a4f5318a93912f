/* Three things may happen to references, and each has its own proof in the plan (storage/engine/plan.h). An object that refers to others appears: it
 * writes a key below each of them. An object that is referred to goes: no key may be below it. An object that needs others appears: their
 * revisions are guards. etcd is not asked beforehand. */
#include "server/write/write_references.h"

#include "server/request/agreed_version.h"

/* In a message for people; more are "and others". */
enum { BLOCKERS_NAMED_MAX = 20 };

#define REASON_IN_USE "InUse"
#define REASON_MISSING "ReferenceMissing"
#define REASON_DUPLICATE "FieldValueDuplicate"

/* ---- what happens ---- */

static bool is_removed(const struct request *q, const struct write *w)
{
	bool is_rehearsed = q->is_dry_run && (q->route.action & (VERB_DELETE | VERB_DELETECOLLECTION));

	return w->decision == DECIDE_REMOVE || is_rehearsed;
}

/* The rehearsal of a deletion says what would keep the object, although the deletion itself would only begin. */
static bool loses_protection(const struct request *q, const struct write *w)
{
	if (!w->present || (w->decision != DECIDE_PUT && w->decision != DECIDE_REMOVE && !q->is_dry_run)) {
		return false;
	}
	bool was_kept = meta_has_finalizer(&w->present->meta, FINALIZER_PROTECTION);
	bool is_let_go = is_removed(q, w) || (w->object && !meta_has_finalizer(&w->object->meta, FINALIZER_PROTECTION));

	return (was_kept && is_let_go) || (q->route.kind->is_protected && is_removed(q, w));
}

static const struct object *born(const struct write *w)
{
	return !w->present && w->decision == DECIDE_PUT ? w->object : NULL;
}

static size_t references_of(const struct object *o, struct reference ret[REFERENCES_MAX])
{
	return o && o->kind->references ? o->kind->references(o, ret) : 0;
}

/* ---- who refers to it ---- */

struct blockers {
	struct request *q;
	struct buf names;
	size_t n;
	struct buf why;   /* not all objects that may refer to it are understood */
	bool counts_only;
};

static void add_blocker(struct blockers *b, const struct cached *o)
{
	struct arena *a = b->q->a;
	const struct kind *k = o->kind;

	if (b->n++ < BLOCKERS_NAMED_MAX && !b->counts_only) {
		buf_printf(&b->names, "%s" STR_FMT, b->n > 1 ? ", " : "", STR_ARG(o->name));
		status_add_cause(&b->q->st, REASON_IN_USE, STR("metadata.finalizers"),
			arena_printf(
				a, "%s.%s \"" STR_FMT "\" refers to it", k->resource, k->versions[0].group, STR_ARG(o->name)));
	}
}

static void find_blockers(
	struct blockers *b, const struct kind *kind, const struct reference_field *field, struct str ns, struct str name)
{
	struct field_term term = {.path = arena_printf(b->q->a, "%s" STR_FMT, field->prefix, STR_ARG(name)),
		.value = STR("true"),
		.field = FIELD_TERM_COMPUTED};
	struct field_selector selector = {&term, 1};
	const struct cache_filter filter = {.ns = ns, .fields = &selector};
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(b->q->server->options.cache, kind);
	const struct cached *o;
	struct cache_iter it;

	if (b->why.n == 0) {
		agreed_version_is_readable(b->q, kind, &b->why);
	}
	cache_iter_init(&it, s, &filter, STR(""));
	while ((o = cache_iter_next(&it)) && b->n <= BLOCKERS_NAMED_MAX) {
		add_blocker(b, o);
	}
}

static void find_all_blockers(struct blockers *b, const struct kind *target, struct str name)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (const struct reference_field *f = NULL; (f = kind_reference_to(k, target, f));) {
			find_blockers(b, k, f, request_ns(b->q), name);
		}
	}
}

static void blockers_init(struct blockers *b, struct request *q)
{
	*b = (struct blockers){.q = q};
	buf_init(&b->names, (size_t)1 << 20);
	buf_init(&b->why, 4096);
}

static void blockers_done(struct blockers *b)
{
	buf_done(&b->names);
	buf_done(&b->why);
}

bool references_exist(struct request *q, const struct kind *target, struct str name)
{
	struct blockers b;

	blockers_init(&b, q);
	b.counts_only = true;
	find_all_blockers(&b, target, name);
	bool may_exist = b.n > 0 || b.why.n > 0;
	blockers_done(&b);
	return may_exist;
}

static int refuse_in_use(struct request *q, struct write *w)
{
	struct blockers b;

	status_init(&q->st, q->a);
	blockers_init(&b, q);
	find_all_blockers(&b, q->route.kind, w->name);
	if (b.n > 0) {
		struct status_cause *causes = q->st.causes;
		size_t n_causes = q->st.n_causes;
		status_conflict(&q->st, request_group(q), q->route.resource, w->name, "it is in use by " STR_FMT "%s",
			STR_ARG(buf_str(&b.names)), b.n > BLOCKERS_NAMED_MAX ? " and others" : "");
		q->st.causes = causes;
		q->st.n_causes = n_causes;
	} else if (b.why.n > 0) {
		agreed_version_refuse(q, buf_str(&b.why));
	}
	bool is_refused = b.n > 0 || b.why.n > 0;
	blockers_done(&b);
	return is_refused;
}

/* ---- what it needs ---- */

static int refuse_missing(struct request *q, const struct write *w, const struct reference *r, const char *how)
{
	status_conflict(&q->st, request_group(q), q->route.resource, w->name, "%s.%s \"" STR_FMT "\" %s", r->field->resource,
		r->field->group, STR_ARG(r->name), how);
	status_add_cause(&q->st, REASON_MISSING, STR("spec.providers"),
		arena_printf(q->a, "%s.%s \"" STR_FMT "\" %s", r->field->resource, r->field->group, STR_ARG(r->name), how));
	return 1;
}

/* The object as it is now becomes a guard: one that goes meanwhile, or begins to, makes the transaction fail. */
static int check_needed(struct request *q, struct write *w, const struct reference *r, int64_t *ret_revision)
{
	const struct kind *k = kind_by_hub(str_of(r->field->group), str_of(r->field->resource));
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, k, request_ns(q), r->name);

	if (!o) {
		return agreed_version_check_readable(q, k) || refuse_missing(q, w, r, "is not there");
	}
	*ret_revision = o->revision;
	return o->is_deleting ? refuse_missing(q, w, r, "is being deleted") : 0;
}

static int check_all_needed(struct request *q, struct write *w, const struct object *o)
{
	struct reference references[REFERENCES_MAX];
	size_t n = references_of(o, references);

	w->needed = arena_array(q->a, int64_t, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (check_needed(q, w, &references[i], &w->needed[i])) {
			return 1;
		}
	}
	return 0;
}

int references_check(struct request *q, struct write *w)
{
	const struct object *o = born(w);

	w->needed = NULL;
	w->loses_protection = loses_protection(q, w);
	if (w->loses_protection) {
		return refuse_in_use(q, w);
	}
	return o && o->kind->needs_references && o->kind->needs_references(o) ? check_all_needed(q, w, o) : 0;
}

/* ---- other revisions of its history ---- */

/* Controllers of upstream number and name their revisions themselves, and find their way out of collisions: their version stays as it is. */
bool history_is_unique(const struct request *q, const struct write *w)
{
	const struct object *o = w->decision == DECIDE_PUT ? w->object : NULL;

	return index_takes_place(w->present, o) && version_is_own(q->route.version, o->kind) && !history_allows_duplicates(o);
}

int history_refuse(struct request *q, const struct write *w)
{
	struct plan_clash clash;

	if (!plan_clashes(&q->plan, &clash)) {
		return 0;
	}
	struct str name = arena_dup(q->a, clash.name);
	struct str what = clash.is_number ? arena_printf(q->a, "revision %lld", (long long)clash.number) : STR("the same data");
	status_conflict(&q->st, request_group(q), q->route.resource, w->name,
		"controllerrevisions \"" STR_FMT "\" of the same controller has " STR_FMT
		"; where both are wanted, the annotation annals.dev/allow-duplicates: \"true\" says so",
		STR_ARG(name), STR_ARG(what));
	status_add_cause(&q->st, REASON_DUPLICATE, clash.is_number ? STR("revision") : STR("data"),
		arena_printf(q->a, "controllerrevisions \"" STR_FMT "\" has " STR_FMT, STR_ARG(name), STR_ARG(what)));
	return 1;
}
