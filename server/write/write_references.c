/* Rules about other objects, which hold for creations, updates and deletions alike: references and histories.
 *
 * Three things may happen to references, and each has its own proof in the plan
 * (storage/engine/plan.h). If an object that refers to others appears, it writes a key below each
 * of them. If an object that is referred to goes, no key may be below it. If an object that needs
 * others appears, their revisions are guards. etcd is not asked beforehand. */
#include "server/write/write.h"

#include "api/model/history.h"
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

/* The object goes, or begins to. */
static bool is_leaving(const struct request *q, const struct write *w)
{
	bool begins = w->present && w->decision == DECIDE_PUT && w->object && !meta_is_deleting(&w->present->meta) &&
		meta_is_deleting(&w->object->meta);

	return w->present && (begins || is_removed(q, w));
}

/* ---- who refers to it ---- */

struct blockers {
	struct request *q;
	struct buf names;
	size_t n;
	struct buf why; /* not all objects that may refer to it are understood */
	bool counts_only;
	bool only_declared; /* others do not keep the object */
};

static void add_blocker(struct blockers *b, const struct cached *o)
{
	struct arena *a = b->q->a;
	const struct kind *k = o->kind;

	if (b->n++ < BLOCKERS_NAMED_MAX && !b->counts_only) {
		bool is_beside = str_eq(o->ns, request_ns(b->q));
		struct str name = is_beside || o->ns.n == 0
			? o->name
			: arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(o->ns), STR_ARG(o->name));
		buf_printf(&b->names, "%s" STR_FMT, b->n > 1 ? ", " : "", STR_ARG(name));
		status_add_cause(&b->q->st, REASON_IN_USE, k->life ? STR("metadata.name") : STR("metadata.finalizers"),
			arena_printf(
				a, "%s.%s \"" STR_FMT "\" refers to it", k->resource, k->versions[0].group, STR_ARG(name)));
	}
}

static void find_blockers(
	struct blockers *b, const struct kind *kind, const struct reference_field *field, struct str ns, struct str name)
{
	struct field_term term = {
		.path = reference_path(field, ns, name, b->q->a), .value = STR("true"), .field = FIELD_TERM_COMPUTED};
	struct field_selector selector = {&term, 1};
	const struct cache_filter filter = {.ns = field->scope == REFERENCE_BESIDE ? ns : STR(""), .fields = &selector};
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
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(b->q->server->options.cache);

	for (size_t i = b->only_declared ? kind_count() : 0; i < kinds_total(defined); i++) {
		const struct kind *k = kinds_nth(defined, i);
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

static int refuse_in_use(struct request *q, struct write *w, bool only_declared)
{
	struct blockers b;

	blockers_init(&b, q);
	b.only_declared = only_declared;
	status_init(&q->st, q->a);
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

/* "providers.annals.dev "p"", with the namespace where that is another one. */
static struct str reference_title(const struct request *q, const struct reference *r)
{
	const struct reference_field *f = r->field;
	struct str ns = reference_ns(r, request_ns(q));
	bool is_elsewhere = ns.n > 0 && !str_eq(ns, request_ns(q));

	return arena_printf(q->a, "%s%s%s \"" STR_FMT "%s" STR_FMT "\"", f->resource, *f->group ? "." : "", f->group,
		is_elsewhere ? (int)ns.n : 0, ns.n ? ns.p : "", is_elsewhere ? "/" : "", STR_ARG(r->name));
}

/* The prefix of a declared field is its path, and a dot. */
static struct str reference_field_path(const struct reference_field *f)
{
	return reference_is_declared(f) ? (struct str){f->prefix, strlen(f->prefix) - 1} : STR("spec.providers");
}

static int refuse_reference(struct request *q, const struct write *w, const struct reference *r, const char *how)
{
	struct str title = reference_title(q, r);

	status_conflict(&q->st, request_group(q), q->route.resource, w->name, STR_FMT " %s", STR_ARG(title), how);
	status_add_cause(
		&q->st, REASON_MISSING, reference_field_path(r->field), arena_printf(q->a, STR_FMT " %s", STR_ARG(title), how));
	return 1;
}

/* The object as it is now becomes a guard: one that goes meanwhile, or begins to, makes the transaction fail. */
static int check_needed(struct request *q, struct write *w, const struct reference *r, int64_t *ret_revision)
{
	const struct reference_field *f = r->field;
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(q->server->options.cache);
	const struct kind *k = kind_by_hub(str_of(f->group), str_of(f->resource));
	k = k ? k : kinds_by_hub(defined, str_of(f->group), str_of(f->resource));
	if (!k) {
		return refuse_reference(q, w, r, "is not there: no such resource is served");
	}
	if (k->is_namespaced == (f->scope == REFERENCE_CLUSTER)) {
		return refuse_reference(q, w, r,
			k->is_namespaced ? "is looked for outside of namespaces, but has one"
					 : "is looked for in a namespace, but has none");
	}
	_cleanup_(cached_unrefp) struct cached *o =
		cache_get(q->server->options.cache, k, reference_ns(r, request_ns(q)), r->name);
	if (!o) {
		return agreed_version_check_readable(q, k) || refuse_reference(q, w, r, "is not there");
	}
	*ret_revision = o->revision;
	return o->is_deleting ? refuse_reference(q, w, r, "is being deleted") : 0;
}

/* The references that the object did not have before. The index keeps what the others name. */
static int check_all_needed(struct request *q, struct write *w, const struct object *o)
{
	struct reference is[REFERENCES_MAX], was[REFERENCES_MAX];
	size_t n = object_references(o, is), n_was = object_references(w->present, was);
	int64_t *needed = arena_zalloc_array(q->a, n + 1, sizeof(*needed));

	for (size_t i = 0; i < n; i++) {
		if (references_have(was, n_was, &is[i], request_ns(q))) {
			continue;
		}
		if (check_needed(q, w, &is[i], &needed[i])) {
			return 1;
		}
		w->needed = needed;
	}
	return 0;
}

int references_check(struct request *q, struct write *w)
{
	const struct object *o = w->decision == DECIDE_PUT ? w->object : NULL;

	w->needed = NULL;
	w->loses_protection = loses_protection(q, w);
	w->is_leaving = is_leaving(q, w);
	if ((w->loses_protection || w->is_leaving) && refuse_in_use(q, w, !w->loses_protection)) {
		return 1;
	}
	return o && o->kind->needs_references && o->kind->needs_references(o) ? check_all_needed(q, w, o) : 0;
}

bool references_are_blocking(const struct request *q, const struct write *w)
{
	return (w->is_leaving || w->loses_protection) && q->st.code == 409 && q->st.n_causes > 0 &&
		strcmp(q->st.causes[0].reason, REASON_IN_USE) == 0;
}

/* ---- other revisions of its history ---- */

/* Controllers of upstream number and name their revisions themselves, and find their way out of collisions: their version stays as it is. */
bool history_is_unique(const struct request *q, const struct write *w)
{
	const struct object *o = w->decision == DECIDE_PUT ? w->object : NULL;

	return index_takes_place(w->present, o) && version_is_own(q->route.version, o->kind) && !history_allows_duplicates(o);
}

int history_refuse_clash(struct request *q, const struct write *w, const struct plan_clash *clash)
{
	struct str name = arena_dup(q->a, clash->name);
	struct str what =
		clash->is_number ? arena_printf(q->a, "revision %lld", (long long)clash->number) : STR("the same data");
	status_conflict(&q->st, request_group(q), q->route.resource, w->name,
		"controllerrevisions \"" STR_FMT "\" of the same controller has " STR_FMT
		"; where both are wanted, the annotation annals.dev/allow-duplicates: \"true\" says so",
		STR_ARG(name), STR_ARG(what));
	status_add_cause(&q->st, REASON_DUPLICATE, clash->is_number ? STR("revision") : STR("data"),
		arena_printf(q->a, "controllerrevisions \"" STR_FMT "\" has " STR_FMT, STR_ARG(name), STR_ARG(what)));
	return 1;
}

int history_refuse(struct request *q, const struct write *w)
{
	struct plan_clash clash;

	return plan_clashes(&q->plan, &clash) ? history_refuse_clash(q, w, &clash) : 0;
}
