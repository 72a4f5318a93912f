/* ---- applying ---- */

#include "api/patch/managed.h"
#include "api/patch/managers.h"
#include "api/patch/typed.h"
#include "api/patch/unstructured.h"
#include "api/rules/validate.h"

#include <assert.h>
#include <stdlib.h>

/* ---- from client-side apply ----
 *
 * kubectl's client-side apply leaves an annotation behind (csaupgrade in k8s.io/apimachinery/pkg/util/managedfields). Without this the
 * first `kubectl apply --server-side` would conflict with the user's own earlier applies. */

/* The only manager this is done for. */
#define LAST_APPLIED_MANAGER "kubectl"
#define ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

/* The fields that were applied by client and still have the applied value; NULL: none. live: a whole object at a version of this type. */
static struct field_set *last_applied_fields(
	const struct type *type, const struct json *live, struct str api_version, struct arena *a)
{
	struct str text = json_text(json_gets(json_gets(json_gets(live, "metadata"), "annotations"), ANNOTATION)), error;
	struct json *given, *applied;
	struct comparison c;
	size_t at;
	if (!text.n || json_parse(&given, a, text, JSON_LIMITS_DEFAULT, &at) ||
		!str_eq(json_text(json_gets(given, "apiVersion")), api_version) ||
		typed_validate(&applied, type, given, a, &error)) {
		return NULL;
	}
	typed_compare(&c, type, applied, live, a);
	struct field_set *fields = typed_fields(type, applied, a);
	fields = field_set_difference(fields, c.modified, a);
	fields = field_set_difference(fields, c.added, a);
	return field_set_difference(fields, c.removed, a);
}

static int compare_names(const void *x, const void *y)
{
	const struct json_member *a = x, *b = y;
	return str_cmp(a->name, b->name);
}

/* Sorts members at every depth, as Go writes maps. */
static struct json *sorted(const struct json *j, struct arena *a)
{
	struct json *out = json_copy(a, j);
	for (uint32_t i = 0; out->kind == JSON_ARRAY && i < out->n; i++) {
		out->items[i] = sorted(out->items[i], a);
	}
	if (out->kind == JSON_OBJECT && out->n) {
		for (uint32_t i = 0; i < out->n; i++) {
			out->members[i].value = sorted(out->members[i].value, a);
		}
		qsort(out->members, out->n, sizeof(*out->members), compare_names);
	}
	return out;
}

/* The applied object as the annotation holds it: without the annotation itself. */
static struct str print_applied(const struct json *applied, struct arena *a)
{
	struct json *whole = json_copy(a, applied);
	struct json *metadata = json_gets(whole, "metadata"), *annotations = json_gets(metadata, "annotations");
	if (json_is(annotations, JSON_OBJECT)) {
		metadata = json_copy(a, metadata);
		annotations = json_copy(a, annotations);
		json_remove(annotations, STR(ANNOTATION));
		json_set(a, metadata, STR("annotations"), annotations);
		json_set(a, whole, STR("metadata"), metadata);
	}
	struct buf text;
	buf_init(&text, TEXT_MAX);
	json_encode(&text, sorted(whole, a));
	buf_addc(&text, '\n');
	struct str printed = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return printed;
}

/* Updates the annotation to the applied object, if there is one. Drops it if annotations get too
 * big. */
static void last_applied_renew(struct meta *m, const struct json *applied, struct arena *a)
{
	if (!json_text(json_gets(m->annotations, ANNOTATION)).n) {
		return;
	}
	struct json *annotations = json_copy(a, m->annotations);
	json_set(a, annotations, STR(ANNOTATION), json_string(a, print_applied(applied, a)));
	/* The annotation holds the object once more: it must not make a write fail that would
	 * otherwise fit. */
	if (!validate_annotations_fit(annotations)) {
		json_remove(annotations, STR(ANNOTATION));
	}
	m->annotations = annotations->n ? annotations : NULL;
}

/* ---- applying ---- */
#define BEFORE_FIRST_APPLY "before-first-apply"

struct apply {
	const struct kind *kind;
	const struct version *version;
	const struct type *type; /* at the version */
	struct str subresource;
	struct manager self; /* without a set */
	struct arena *arena;
	struct status *st;
	struct managers managers;
};

/* "apps/v1, Kind=ControllerRevision", in the core group "/v1, Kind=Pod". */
static struct str print_type(struct str api_version, struct str kind, struct arena *a)
{
	bool has_group = api_version.n && memchr(api_version.p, '/', api_version.n);
	return arena_printf(a, "%s" STR_FMT ", Kind=" STR_FMT, has_group ? "" : "/", STR_ARG(api_version), STR_ARG(kind));
}

static struct str text_of(const struct json *object, const char *name)
{
	const struct json *v = json_gets(object, name);
	return json_is(v, JSON_STRING) ? json_text(v) : (struct str){0};
}

/* "namespace/name; apps/v1, Kind=ControllerRevision" */
static struct str describe(const struct apply *ap, const struct json *applied)
{
	const struct json *metadata = json_gets(applied, "metadata");
	return arena_printf(ap->arena, STR_FMT "/" STR_FMT "; " STR_FMT, STR_ARG(text_of(metadata, "namespace")),
		STR_ARG(text_of(metadata, "name")),
		STR_ARG(print_type(ap->self.api_version, str_of(ap->kind->kind), ap->arena)));
}

/* Puts the applied object in order; 1 with the refusal in st. */
static int check_applied(struct apply *ap, const struct json *applied, struct json **ret)
{
	struct str api_version = text_of(applied, "apiVersion"), kind = text_of(applied, "kind"), error;
	if (!str_eq(api_version, ap->self.api_version) || !str_is(kind, ap->kind->kind)) {
		status_bad_request(ap->st, "invalid object type: " STR_FMT, STR_ARG(print_type(api_version, kind, ap->arena)));
		return 1;
	}
	if (json_is(json_gets(json_gets(applied, "metadata"), "managedFields"), JSON_ARRAY)) {
		status_bad_request(ap->st, "metadata.managedFields must be nil");
		return 1;
	}
	if (typed_validate(ret, ap->type, applied, ap->arena, &error)) {
		status_bad_request(ap->st, "failed to create typed patch object (" STR_FMT "): " STR_FMT,
			STR_ARG(describe(ap, applied)), STR_ARG(error));
		return 1;
	}
	return 0;
}

/* If nobody owns any field of an object, it was there before the first apply: an entry for that time
 * owns all of it. */
static void claim_the_past(struct apply *ap, struct json *live)
{
	struct transition t;
	transition_init(&t, ap->kind, ap->version, ap->subresource, version_empty_object(ap->kind, ap->version, ap->arena),
		live, ap->arena);
	struct manager past = ap->self;
	past.name = STR(BEFORE_FIRST_APPLY);
	past.is_apply = false;
	managers_update(&ap->managers, &t, &past);
}

/* Fields last applied and left out now go, unless another entry has them. */

static struct field_set *with_fields(const struct apply *ap, const struct version *version, const struct field_set *set)
{
	return field_set_with_fields(set, version_type(ap->kind, version), ap->arena);
}

static struct field_set *fields_of(const struct apply *ap, const struct version *version, const struct json *j)
{
	const struct type *type = version_type(ap->kind, version);
	return field_set_with_fields(typed_fields(type, j, ap->arena), type, ap->arena);
}

/* Unites the fields of all entries at this version. Returns false if there is no entry. */
static bool owned_at(const struct apply *ap, const struct version *version, struct field_set **ret)
{
	bool any = false;
	*ret = NULL;
	for (size_t i = 0; i < ap->managers.n; i++) {
		if (kind_version(ap->kind, ap->managers.v[i].api_version) == version) {
			*ret = field_set_union(*ret, ap->managers.v[i].set, ap->arena);
			any = true;
		}
	}
	return any;
}

/* Removes the fields of merged that are neither in pruned nor owned, so that owned fields come
 * back. */
static struct json *add_back_owned(
	const struct apply *ap, const struct version *version, struct json *merged, struct json *pruned)
{
	struct field_set *owned;
	if (!owned_at(ap, version, &owned)) {
		return pruned;
	}
	struct field_set *kept = field_set_union(fields_of(ap, version, pruned), with_fields(ap, version, owned), ap->arena);
	struct field_set *gone = field_set_difference(fields_of(ap, version, merged), kept, ap->arena);
	return typed_remove(version_type(ap->kind, version), merged, gone, ap->arena);
}

/* Entries may name fields in other versions. Each decides in its own version, and has no say on
 * fields that this version cannot express. */
static struct json *add_back_owned_everywhere(
	const struct apply *ap, const struct version *first, struct json *merged, struct json *pruned)
{
	struct json *kept = add_back_owned(ap, first, merged, pruned);
	for (size_t i = 0; i < ap->kind->n_versions && kept; i++) {
		const struct version *version = &ap->kind->versions[i];
		struct field_set *owned;
		if (version != first && owned_at(ap, version, &owned)) {
			struct json *more = add_back_owned(ap, version, version_convert(first, version, merged, ap->arena),
				version_convert(first, version, kept, ap->arena));
			kept = version_convert_onto(version, first, more, kept, ap->arena);
		}
	}
	return kept;
}

/* Brings back the fields that this manager did not apply last time: they are not its to remove. */
static struct json *add_back_dangling(const struct apply *ap, const struct version *version, struct json *merged,
	struct json *pruned, const struct field_set *last)
{
	struct field_set *gone =
		field_set_difference(fields_of(ap, version, merged), fields_of(ap, version, pruned), ap->arena);
	gone = field_set_intersection(gone, with_fields(ap, version, last), ap->arena);
	return typed_remove(version_type(ap->kind, version), merged, gone, ap->arena);
}

static struct json *prune(const struct apply *ap, struct json *merged_here, const struct manager *last)
{
	const struct version *version = kind_version(ap->kind, last->api_version);
	if (field_set_is_empty(last->set) || !version) {
		return merged_here;
	}
	struct json *merged = version_convert(ap->version, version, merged_here, ap->arena);
	struct json *pruned =
		typed_remove(version_type(ap->kind, version), merged, with_fields(ap, version, last->set), ap->arena);
	pruned = add_back_owned_everywhere(ap, version, merged, pruned);
	pruned = add_back_dangling(ap, version, merged, pruned, last->set);
	return version_convert_onto(version, ap->version, pruned, merged_here, ap->arena);
}

/* Conflicts. */

/* "one", with subresource "status", using apps/v1 */
static struct str print_manager(const struct manager *m, struct arena *a)
{
	struct str quoted = go_quote(a, m->name);
	if (m->subresource.n) {
		quoted = arena_printf(
			a, STR_FMT " with subresource " STR_FMT, STR_ARG(quoted), STR_ARG(go_quote(a, m->subresource)));
	}
	return m->is_apply ? quoted : arena_printf(a, STR_FMT " using " STR_FMT, STR_ARG(quoted), STR_ARG(m->api_version));
}

struct conflict_report {
	struct status *st;
	struct buf *lines;
	struct str manager, only_path;
	size_t n;
};

static void report_conflict(void *data, const struct path *p)
{
	struct conflict_report *r = data;
	struct arena *a = r->st->arena;
	r->only_path = path_print(p, a);
	r->n++;
	buf_adds(r->lines, "\n- ");
	buf_add_str(r->lines, r->only_path);
	if (!arena_is_full(a)) {
		status_add_cause(r->st, "FieldManagerConflict", r->only_path,
			arena_printf(a, "conflict with " STR_FMT, STR_ARG(r->manager)));
	}
}

struct conflict {
	const struct manager *manager;
	const struct field_set *fields;
};

/* The order of kube's keys of managers: entries as JSON, of which appliers' have no version. A shorter text
 * comes after a longer one that begins with it. */
static int compare_conflicts(const void *x, const void *y)
{
	const struct manager *a = ((const struct conflict *)x)->manager, *b = ((const struct conflict *)y)->manager;
	int r = str_cmp(a->name, b->name);
	if (r == 0) {
		r = b->is_apply - a->is_apply;
	}
	if (r == 0 && !a->is_apply) {
		r = str_cmp(a->api_version, b->api_version);
	}
	if (r == 0 && !a->subresource.n != !b->subresource.n) {
		r = a->subresource.n ? -1 : 1;
	}
	return r ? r : str_cmp(a->subresource, b->subresource);
}

static struct conflict *list_conflicts(const struct apply *ap, struct field_set *const *conflicts, size_t *ret_n)
{
	struct conflict *list = arena_array(ap->arena, struct conflict, ap->managers.n + 1);
	*ret_n = 0;
	for (size_t i = 0; i < ap->managers.n; i++) {
		if (!field_set_is_empty(conflicts[i])) {
			list[(*ret_n)++] = (struct conflict){&ap->managers.v[i], conflicts[i]};
		}
	}
	qsort(list, *ret_n, sizeof(*list), compare_conflicts);
	return list;
}

/* 409: one cause for each field, in the text grouped by manager. */
static void refuse_conflicts(struct apply *ap, struct field_set *const *conflicts)
{
	struct buf lines;
	struct status *st = ap->st;
	buf_init(&lines, TEXT_MAX);
	struct conflict_report report = {.st = st, .lines = &lines};
	status_init(st, ap->arena);
	size_t n;
	const struct conflict *list = list_conflicts(ap, conflicts, &n);
	for (size_t i = 0; i < n; i++) {
		report.manager = print_manager(list[i].manager, ap->arena);
		buf_adds(&lines, lines.n ? "\n" : "");
		buf_adds(&lines, "conflicts with ");
		buf_add_str(&lines, report.manager);
		buf_addc(&lines, ':');
		field_set_each(list[i].fields, report_conflict, &report);
	}
	st->code = 409;
	st->reason = REASON_CONFLICT;
	st->message = report.n == 1
		? arena_printf(ap->arena, "Apply failed with 1 conflict: conflict with " STR_FMT ": " STR_FMT,
			  STR_ARG(report.manager), STR_ARG(report.only_path))
		: arena_printf(ap->arena, "Apply failed with %zu conflicts: " STR_FMT, report.n, STR_ARG(buf_str(&lines)));
	buf_done(&lines);
}

/* Lets kubectl take over fields that it applied client-side. Leaves only the conflicts that stay;
 * returns false if there are some. */
static bool is_forgiven(struct apply *ap, const struct json *live, struct field_set **conflicts)
{
	if (!str_is(ap->self.name, LAST_APPLIED_MANAGER)) {
		return false;
	}
	const struct field_set *mine = last_applied_fields(ap->type, live, ap->self.api_version, ap->arena);
	struct field_set **left = arena_array(ap->arena, struct field_set *, ap->managers.n + 1);
	bool any = false;
	for (size_t i = 0; i < ap->managers.n; i++) {
		left[i] = field_set_difference(conflicts[i], mine, ap->arena);
		any = any || left[i];
	}
	if (any) {
		memcpy(conflicts, left, ap->managers.n * sizeof(*left));
	}
	return !any;
}

/* The merged object with its entries; 1 with conflicts in st. */
static int merge(struct apply *ap, struct json *live, struct json *applied, bool force, struct json **ret)
{
	struct json *merged = typed_merge(ap->type, live, applied, ap->arena);
	struct manager *self = managers_want(&ap->managers, &ap->self), last = *self;
	const struct subresource *sub = kind_subresource(ap->kind, ap->version, ap->subresource);
	self->api_version = ap->self.api_version;
	self->set = field_set_without(
		typed_fields(ap->type, applied, ap->arena), kind_reset_fields(ap->kind, ap->version, sub), ap->arena);
	merged = prune(ap, merged, &last);

	struct transition t;
	bool any;
	transition_init(&t, ap->kind, ap->version, ap->subresource, live, merged, ap->arena);
	struct field_set **conflicts = managers_conflicts(&ap->managers, &t, self, &any);
	if (any && !force && !is_forgiven(ap, live, conflicts)) {
		refuse_conflicts(ap, conflicts);
		return 1;
	}
	managers_yield(&ap->managers, &t, conflicts, self);
	*ret = merged;
	return 0;
}

/* The old object, or an empty one where everything was pruned. */
static const struct json *or_empty(const struct json *j, struct arena *a)
{
	return j ? j : json_object(a);
}

int managed_apply(struct object **ret, const struct object *live, const struct json *applied, const struct managed_apply *by,
	struct arena *a, struct status *st)
{
	assert(by->kind && by->version && (!live || live->kind == by->kind));
	struct apply ap = {
		.kind = by->kind,
		.version = by->version,
		.type = version_type(by->kind, by->version),
		.subresource = by->subresource,
		.self = {.name = by->manager,
			.api_version = version_api_version(by->version, a),
			.subresource = by->subresource,
			.is_apply = true},
		.arena = a,
		.st = st,
	};
	struct json *ordered, *merged;
	if (check_applied(&ap, applied, &ordered)) {
		return 1;
	}
	struct json *before = version_empty_object(by->kind, by->version, a);
	if (live) {
		struct object bare = *live;
		bare.meta.managed_fields = NULL;
		before = object_to_json(&bare, by->version, a);
	}
	managers_decode(&ap.managers, live ? live->meta.managed_fields : NULL, a);
	ap.self.time = by->now;
	if (ap.managers.n == 0) {
		claim_the_past(&ap, before);
	}
	ap.self.time = (struct str){0};
	if (merge(&ap, before, ordered, by->force, &merged)) {
		return 1;
	}

	struct str error;
	const struct json *settled = unstructured_settle(or_empty(merged, a), by->kind, by->version, a);
	if (object_decode(ret, by->kind, by->version, settled, live, a, NULL, &error)) {
		status_bad_request(st,
			"failed to convert new object (" STR_FMT
			") to proper version: unable to convert unstructured object to " STR_FMT ": " STR_FMT,
			STR_ARG(describe(&ap, applied)), STR_ARG(print_type(ap.self.api_version, str_of(by->kind->kind), a)),
			STR_ARG(error));
		return 1;
	}
	struct manager *self = managers_find(&ap.managers, &ap.self);
	if (self && !json_equal(before, or_empty(merged, a))) {
		self->time = by->now;
	}
	(*ret)->meta.managed_fields = managers_encode(&ap.managers);
	if (str_is(by->manager, LAST_APPLIED_MANAGER)) {
		last_applied_renew(&(*ret)->meta, applied, a);
	}
	return 0;
}
