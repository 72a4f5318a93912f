/* Three things may happen to references, and each has its own proof. Who refers appears: it writes
 * a key below each that it refers to. Who is referred to goes: no key may be below it. Who needs
 * others appears: their versions are guards. Nothing is asked of etcd beforehand. */
#include "server/write/write_references.h"

#include "server/request/agreed_version.h"
#include "storage/keys.h"

/* In a message for people; more are "and others". */
enum { BLOCKERS_NAMED_MAX = 20 };

#define REASON_IN_USE "InUse"
#define REASON_MISSING "ReferenceMissing"

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

static const struct object *gone(const struct write *w)
{
	return w->decision == DECIDE_REMOVE ? w->present : NULL;
}

static size_t references_of(const struct object *o, struct reference ret[REFERENCES_MAX])
{
	return o && o->kind->references ? o->kind->references(o, ret) : 0;
}

static struct str references_to(struct request *q, const struct reference *r)
{
	const struct reference_field *f = r->field;

	return key_references(q->a, q->server->options.prefix, str_of(f->group), str_of(f->resource), request_ns(q), r->name);
}

static struct str referenced(struct request *q, const char *group, const char *resource, struct str name)
{
	return key_referenced(q->a, q->server->options.prefix, str_of(group), str_of(resource), request_ns(q), name);
}

/* That of the object which is written. */
static struct str referenced_self(struct request *q, const struct write *w)
{
	const struct kind *k = q->route.kind;

	return referenced(q, k->doors[0].group, k->resource, w->name);
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
				a, "%s.%s \"" STR_FMT "\" refers to it", k->resource, k->doors[0].group, STR_ARG(o->name)));
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

/* ---- the transaction ---- */

struct storage_compare references_none(struct request *q, const struct kind *target, struct str name)
{
	struct str directory = key_references(q->a, q->server->options.prefix, str_of(target->doors[0].group),
		str_of(target->resource), request_ns(q), name);

	return (struct storage_compare){.target = COMPARE_CREATE,
		.result = COMPARE_EQUAL,
		.key = directory,
		.range_end = storage_prefix_end(q->a, directory)};
}

static struct storage_compare as_it_was(struct request *q, const struct reference *r, int64_t revision)
{
	const struct reference_field *f = r->field;
	struct str key =
		key_object(q->a, q->server->options.prefix, str_of(f->group), str_of(f->resource), request_ns(q), r->name);

	return storage_compare_mod(key, revision);
}

size_t references_guards(struct request *q, struct write *w, struct storage_compare *out)
{
	struct reference references[REFERENCES_MAX];
	size_t n = w->needed ? references_of(born(w), references) : 0;

	if (w->loses_protection) {
		out[0] = references_none(q, q->route.kind, w->name);
		return 1;
	}
	for (size_t i = 0; i < n; i++) {
		out[i] = as_it_was(q, &references[i], w->needed[i]);
	}
	return n;
}

static struct storage_step put(struct str key, struct str value)
{
	return (struct storage_step){.kind = STEP_PUT, .key = key, .value = value};
}

static struct storage_step drop(struct str key)
{
	return (struct storage_step){.kind = STEP_DELETE, .key = key};
}

size_t references_steps(struct request *q, struct write *w, struct storage_step *out)
{
	struct reference references[REFERENCES_MAX];
	const struct object *appears = born(w), *o = appears ? appears : gone(w);
	size_t n = references_of(o, references), n_out = 0;

	for (size_t i = 0; i < n; i++) {
		const struct reference *r = &references[i];
		struct str key = key_reference(
			q->a, references_to(q, r), str_of(o->kind->doors[0].group), str_of(o->kind->resource), w->name);
		out[n_out++] = appears ? put(key, o->meta.uid) : drop(key);
		if (appears) {
			out[n_out++] = put(referenced(q, r->field->group, r->field->resource, r->name), o->meta.uid);
		}
	}
	if (gone(w) && w->loses_protection) {
		out[n_out++] = drop(referenced_self(q, w));
	}
	return n_out;
}
