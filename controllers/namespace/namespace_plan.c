/* After k8s.io/kubernetes/pkg/controller/namespace/deletion; pure. Steps, conditions and times.
 * People and `kubectl wait` read the conditions, so reasons and messages are upstream's word for
 * word. */
#include "controllers/namespace/namespace_plan.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "controllers/kit/meta.h"

#include <assert.h>
#include <stdlib.h>

enum {
	/* Content without finalizers goes within milliseconds, and `kubectl delete namespace`
	 * waits for that. */
	FIRST_LOOK_MS = 100,
	MESSAGE_MAX = 32 * 1024, /* a condition that lists thousands of resources helps nobody */
};

static uint32_t count(const struct json *array)
{
	return json_is(array, JSON_ARRAY) ? array->n : 0;
}

static const struct json *meta(const struct json *object)
{
	return json_gets(object, "metadata");
}

enum namespace_step namespace_next(const struct json *namespace)
{
	if (!member_text(meta(namespace), "deletionTimestamp").n) {
		return NAMESPACE_NOTHING;
	}
	if (!str_is(member_text(json_gets(namespace, "status"), "phase"), "Terminating")) {
		return NAMESPACE_MARK;
	}
	return count(json_gets(json_gets(namespace, "spec"), "finalizers")) ? NAMESPACE_EMPTY : NAMESPACE_NOTHING;
}

/* ---- what was found ---- */

void namespace_found_problem(struct namespace_found *f, struct str problem)
{
	f->problems = mem_realloc_array(f->problems, f->n_problems + 1, sizeof(*f->problems));
	f->problems[f->n_problems++] = arena_dup(f->arena, problem);
}

static void add_count(struct namespace_count **list, size_t *n, struct arena *a, struct str name, uint64_t more)
{
	for (size_t i = 0; i < *n; i++) {
		if (str_eq((*list)[i].name, name)) {
			(*list)[i].n += more;
			return;
		}
	}
	*list = mem_realloc_array(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = (struct namespace_count){arena_dup(a, name), more};
}

void namespace_found_remaining(struct namespace_found *f, const struct resource *r, uint64_t n)
{
	if (n) {
		add_count(&f->remaining, &f->n_remaining, f->arena,
			arena_printf(f->arena, STR_FMT "." STR_FMT, STR_ARG(r->plural), STR_ARG(r->group)), n);
	}
}

void namespace_found_finalizer(struct namespace_found *f, struct str finalizer)
{
	add_count(&f->finalizers, &f->n_finalizers, f->arena, finalizer, 1);
}

bool namespace_found_any(const struct namespace_found *f)
{
	return f->discovery_problem.n || f->n_problems || f->n_remaining || f->estimate_s;
}

/* ---- conditions ---- */

/* Sorts the items, so that the message is the same each time. */
static struct str join(struct arena *a, struct str *v, size_t n)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, MESSAGE_MAX);
	str_sort(v, n);
	for (size_t i = 0; i < n; i++) {
		buf_adds(&text, i ? ", " : "");
		buf_add_str(&text, v[i]);
	}
	return arena_dup(a, buf_str(&text));
}

static struct str join_counts(struct arena *a, const struct namespace_count *v, size_t n, const char *verb)
{
	struct str *texts = arena_array(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		texts[i] = arena_printf(
			a, STR_FMT " %s %llu resource instances", STR_ARG(v[i].name), verb, (unsigned long long)v[i].n);
	}
	return join(a, texts, n);
}

static struct str discovery_message(struct arena *a _unused_, const struct namespace_found *f)
{
	return f->discovery_problem;
}

static struct str no_message(struct arena *a _unused_, const struct namespace_found *f _unused_)
{
	return (struct str){NULL, 0};
}

static struct str content_message(struct arena *a, const struct namespace_found *f)
{
	if (!f->n_problems) {
		return (struct str){NULL, 0};
	}
	struct str *sorted = arena_array(a, struct str, f->n_problems);
	memcpy(sorted, f->problems, f->n_problems * sizeof(*sorted));
	return arena_printf(a, "Failed to delete all resource types, %zu remaining: " STR_FMT, f->n_problems,
		STR_ARG(join(a, sorted, f->n_problems)));
}

static struct str remaining_message(struct arena *a, const struct namespace_found *f)
{
	if (!f->n_remaining) {
		return (struct str){NULL, 0};
	}
	return arena_printf(
		a, "Some resources are remaining: " STR_FMT, STR_ARG(join_counts(a, f->remaining, f->n_remaining, "has")));
}

static struct str finalizers_message(struct arena *a, const struct namespace_found *f)
{
	if (!f->n_finalizers) {
		return (struct str){NULL, 0};
	}
	return arena_printf(a, "Some content in the namespace has finalizers remaining: " STR_FMT,
		STR_ARG(join_counts(a, f->finalizers, f->n_finalizers, "in")));
}

/* In kube's order. */
static const struct {
	const char *type, *reason, *ok_reason, *ok_message;
	struct str (*message)(struct arena *a, const struct namespace_found *f); /* an empty message: all is well */
} conditions[] = {
	{"NamespaceDeletionDiscoveryFailure", "DiscoveryFailed", "ResourcesDiscovered", "All resources successfully discovered",
		discovery_message},
	{"NamespaceDeletionGroupVersionParsingFailure", "GroupVersionParsingFailed", "ParsedGroupVersions",
		"All legacy kube types successfully parsed", no_message},
	{"NamespaceDeletionContentFailure", "ContentDeletionFailed", "ContentDeleted",
		"All content successfully deleted, may be waiting on finalization", content_message},
	{"NamespaceContentRemaining", "SomeResourcesRemain", "ContentRemoved", "All content successfully removed",
		remaining_message},
	{"NamespaceFinalizersRemaining", "SomeFinalizersRemain", "ContentHasNoFinalizers",
		"All content-preserving finalizers finished", finalizers_message},
};

static void set(struct arena *a, struct json *object, const char *name, struct str value)
{
	json_set(a, object, str_of(name), json_string(a, value));
}

static struct json *make_condition(struct arena *a, const struct namespace_found *f, size_t i, struct str now)
{
	struct json *c = json_object(a);
	struct str message = conditions[i].message(a, f);
	set(a, c, "type", str_of(conditions[i].type));
	set(a, c, "status", message.n ? STR("True") : STR("False"));
	set(a, c, "lastTransitionTime", now);
	set(a, c, "reason", str_of(message.n ? conditions[i].reason : conditions[i].ok_reason));
	set(a, c, "message", message.n ? message : str_of(conditions[i].ok_message));
	return c;
}

static bool is_same(const struct json *a, const struct json *b, const char *name)
{
	return str_eq(member_text(a, name), member_text(b, name));
}

/* Returns the index of the condition, or the length of the list. */
static uint32_t find_condition(const struct json *list, struct str type)
{
	uint32_t i = 0;
	while (i < list->n && !str_eq(member_text(list->items[i], "type"), type)) {
		i++;
	}
	return i;
}

/* Returns true if something changed. lastTransitionTime changes with the status. */
static bool put_condition(struct arena *a, struct json *list, struct json *condition)
{
	uint32_t at = find_condition(list, member_text(condition, "type"));
	if (at == list->n) {
		json_append(a, list, condition);
		return true;
	}
	const struct json *old = list->items[at];
	if (is_same(old, condition, "status") && is_same(old, condition, "reason") && is_same(old, condition, "message")) {
		return false;
	}
	if (is_same(old, condition, "status")) {
		set(a, condition, "lastTransitionTime", member_text(old, "lastTransitionTime"));
	}
	list->items[at] = condition;
	return true;
}

static struct json *copy_member(struct arena *a, const struct json *object, const char *name)
{
	return json_copy_or_empty(a, json_gets(object, name));
}

static struct json *with_status(struct arena *a, const struct json *namespace, const char *name, struct json *value)
{
	struct json *changed = json_copy(a, namespace), *status = copy_member(a, namespace, "status");
	json_set(a, status, str_of(name), value);
	json_set(a, changed, STR("status"), status);
	return changed;
}

struct json *namespace_with_phase(struct arena *a, const struct json *namespace)
{
	return with_status(a, namespace, "phase", json_string(a, STR("Terminating")));
}

struct json *namespace_with_conditions(
	struct arena *a, const struct json *namespace, const struct namespace_found *f, int64_t now_s)
{
	char time[TIME_RFC3339_SIZE];
	const struct json *old = json_gets(json_gets(namespace, "status"), "conditions");
	struct json *list = json_is(old, JSON_ARRAY) ? json_copy(a, old) : json_array(a);
	bool has_changed = false;
	time_format_rfc3339(time, now_s);
	struct str now = arena_dup(a, str_of(time));
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		has_changed |= put_condition(a, list, make_condition(a, f, i, now));
	}
	return has_changed ? with_status(a, namespace, "conditions", list) : NULL;
}

/* ---- letting go ---- */

struct json *namespace_finalized(struct arena *a, const struct json *namespace)
{
	const struct json *old = json_gets(json_gets(namespace, "spec"), "finalizers");
	struct str *others = arena_array(a, struct str, (size_t)count(old) + 1);
	size_t n = 0;
	for (uint32_t i = 0; i < count(old); i++) {
		if (!str_is(json_text(old->items[i]), "kubernetes")) {
			others[n++] = json_text(old->items[i]);
		}
	}
	str_sort(others, n);

	struct json *changed = json_copy(a, namespace), *spec = copy_member(a, namespace, "spec"), *list = json_array(a);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(others[i], others[i - 1])) {
			json_append(a, list, json_string(a, others[i]));
		}
	}
	json_set(a, spec, STR("finalizers"), list);
	json_set(a, changed, STR("spec"), spec);
	return changed;
}

/* ---- resources ---- */

struct str namespace_discovery_problem(struct arena *a, const struct discovery *d)
{
	if (!d->n_failures) {
		return (struct str){NULL, 0};
	}
	struct str *texts = arena_array(a, struct str, d->n_failures);
	for (size_t i = 0; i < d->n_failures; i++) {
		const struct discovery_failure *f = &d->failures[i];
		texts[i] = arena_printf(a, STR_FMT "%s" STR_FMT ": " STR_FMT, STR_ARG(f->group), f->group.n ? "/" : "",
			STR_ARG(f->version), STR_ARG(f->message));
	}
	return arena_printf(a,
		"Discovery failed for some groups, %zu failing: unable to retrieve the complete list of server APIs: " STR_FMT,
		d->n_failures, STR_ARG(join(a, texts, d->n_failures)));
}

bool namespace_resource_counts(const struct api_resource *r)
{
	return r->is_namespaced && r->is_preferred && (r->verbs & API_DELETE);
}

bool namespace_resource_is_pods(const struct resource *r)
{
	return !r->group.n && str_is(r->version, "v1") && str_is(r->plural, "pods");
}

/* ---- time ---- */

static bool is_at_end(const struct json *pod)
{
	struct str phase = member_text(json_gets(pod, "status"), "phase");
	return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

static int64_t deleted_for_s(const struct json *namespace, int64_t now_s)
{
	int64_t deleted_us = 0;
	time_parse_rfc3339(member_text(meta(namespace), "deletionTimestamp"), &deleted_us);
	return MAX(now_s - deleted_us / 1000000, 0);
}

int64_t namespace_pods_estimate_s(const struct json *pods, const struct json *namespace, int64_t now_s)
{
	const struct json *items = json_gets(pods, "items");
	int64_t longest = 0;
	for (uint32_t i = 0; i < count(items); i++) {
		int64_t grace = 0;
		json_to_int64(json_gets(json_gets(items->items[i], "spec"), "terminationGracePeriodSeconds"), &grace);
		longest = is_at_end(items->items[i]) ? longest : MAX(longest, grace);
	}
	return deleted_for_s(namespace, now_s) >= longest ? 0 : longest;
}

int64_t namespace_look_again_ms(int64_t estimate_s, const struct json *namespace, int64_t now_s)
{
	assert(estimate_s >= 0);
	int64_t pause = MAX(deleted_for_s(namespace, now_s) * 1000 / 4, (int64_t)FIRST_LOOK_MS);
	return MIN(pause, (estimate_s / 2 + 1) * 1000);
}
