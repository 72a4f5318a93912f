/* Makes the status of a Recorder. It is written only if it differs: each write is an event for
 * everyone who watches Recorders. */
#include "controllers/recorder/report.h"

#include "api/diff/keep.h"
#include "api/diff/state.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "base/clock.h"
#include "base/options.h"

static void add_text(struct json *to, const char *name, struct str text, struct arena *a)
{
	json_add(a, to, str_of(name), json_string(a, text));
}

static bool is_of_row(const struct json *old, const struct report_row *row)
{
	return str_eq(member_text(old, "group"), row->group) && str_eq(member_text(old, "resource"), row->resource);
}

uint64_t report_recorded(const struct json *recorder, struct str group, struct str plural)
{
	const struct report_row row = {.group = group, .resource = plural};
	const struct json *rows = json_gets(json_gets(recorder, "status"), "resources"), *old;
	uint64_t version = 0;

	for (uint32_t i = 0; !version && (old = list_item(rows, i)); i++) {
		if (is_of_row(old, &row)) {
			str_to_uint64(member_text(old, "recordedResourceVersion"), &version);
		}
	}
	return version;
}

static void add_recorded(struct json *j, const struct report_row *row, uint64_t before, bool must_tell, struct arena *a)
{
	uint64_t version = must_tell || !before ? row->recorded : before;

	if (row->recorded) {
		add_text(j, "recordedResourceVersion", arena_printf(a, "%llu", (unsigned long long)version), a);
	}
}

static struct json *row_of(const struct report_row *row, uint64_t before, bool must_tell, struct arena *a)
{
	struct json *j = json_object(a);

	add_text(j, "group", row->group, a);
	json_add_text(a, j, STR("version"), row->version);
	add_text(j, "resource", row->resource, a);
	json_add(a, j, STR("objects"), json_int(a, row->objects));
	json_add(a, j, STR("revisions"), json_int(a, row->revisions));
	json_add(a, j, STR("bytes"), json_int(a, row->bytes));
	json_add(a, j, STR("refused"), json_int(a, row->refused));
	json_add_text(a, j, STR("lastError"), row->last_error);
	add_recorded(j, row, before, must_tell, a);
	return j;
}

struct verdict {
	bool is_fine;
	const char *reason, *message;
};

static struct verdict verdict_of(const struct report *report)
{
	static const struct verdict verdicts[] = {
		[LEDGER_UP_TO_DATE] = {true, "Following", "all that is named is followed"},
		[LEDGER_BEHIND] = {false, "Behind", "changes have waited for more than a minute"},
		[LEDGER_SKIPPED] = {false, "Skipped", "states were skipped in the last half minute: the changes after them say so"},
	};
	static const struct verdict not_followed = {false, "NotFollowed", "not all that is named is followed"};

	return report->is_following ? verdicts[report->standing] : not_followed;
}

static struct json *condition_of(
	const struct json *old, const struct recording *recording, const struct report *report, struct str now, struct arena *a)
{
	struct json *j = json_object(a);
	const struct verdict verdict = verdict_of(report);
	struct str status = verdict.is_fine ? STR("True") : STR("False");
	struct str since = str_eq(member_text(old, "status"), status) ? member_text(old, "lastTransitionTime") : now;

	add_text(j, "type", STR("Recording"), a);
	add_text(j, "status", status, a);
	json_add(a, j, STR("observedGeneration"), json_int(a, recording->generation));
	add_text(j, "lastTransitionTime", since.n ? since : now, a);
	add_text(j, "reason", str_of(verdict.reason), a);
	add_text(j, "message", str_of(verdict.message), a);
	return j;
}

/* This condition exists only while it is true: most Recorders never overlap. */
static struct json *overridden_condition(
	const struct json *old, const struct recording *recording, struct str message, struct str now, struct arena *a)
{
	struct json *j = json_object(a);
	struct str since = member_text(old, "lastTransitionTime");

	add_text(j, "type", STR("Overridden"), a);
	add_text(j, "status", STR("True"), a);
	json_add(a, j, STR("observedGeneration"), json_int(a, recording->generation));
	add_text(j, "lastTransitionTime", since.n ? since : now, a);
	add_text(j, "reason", STR("AnotherSortsFirst"), a);
	add_text(j, "message", message, a);
	return j;
}

struct json *report_status(const struct json *recorder, const struct recording *recording, const struct report *report,
	struct str now, struct arena *a)
{
	const struct json *old = json_gets(recorder, "status");
	struct json *status = json_object(a), *rows = json_array(a), *conditions = json_array(a);

	for (size_t i = 0; i < report->n; i++) {
		const struct report_row *row = &report->rows[i];
		uint64_t before = report_recorded(recorder, row->group, row->resource);
		json_append(a, rows, row_of(row, before, report->must_tell_recorded, a));
	}
	json_append(a, conditions,
		condition_of(condition_find(json_gets(old, "conditions"), "Recording"), recording, report, now, a));
	if (report->overridden.n) {
		json_append(a, conditions,
			overridden_condition(condition_find(json_gets(old, "conditions"), "Overridden"), recording,
				report->overridden, now, a));
	}
	json_add(a, status, STR("observedGeneration"), json_int(a, recording->generation));
	json_add(a, status, STR("resources"), rows);
	json_add(a, status, STR("conditions"), conditions);
	return old && json_equal(old, status) ? NULL : status;
}

/* ---- what is not followed ---- */

bool report_can_be_followed(const struct api_resource *r)
{
	const unsigned needed = API_LIST | API_WATCH;

	return r->is_preferred && (r->verbs & needed) == needed && !record_leaves_out(r->resource.group, r->resource.plural);
}

static bool has_failed(const struct discovery *found, struct str group)
{
	for (size_t i = 0; i < found->n_failures; i++) {
		if (str_eq(found->failures[i].group, group)) {
			return true;
		}
	}
	return false;
}

/* Returns why a resource that a Recorder names is not followed; empty: it is followed. */
static struct str why_not(const struct discovery *found, struct str group, struct str plural)
{
	const struct api_resource *one = NULL;

	for (size_t i = 0; i < found->n && !(one && report_can_be_followed(one)); i++) {
		const struct resource *r = &found->resources[i].resource;
		one = str_eq(r->group, group) && str_eq(r->plural, plural) ? &found->resources[i] : one;
	}
	if (one) {
		return report_can_be_followed(one) ? STR("") : STR("it cannot be listed and watched");
	}
	return has_failed(found, group) ? STR("the server that serves its group does not answer")
					: STR("the server does not serve it");
}

static void add_unserved(const struct discovery *found, struct report_rows *rows, struct str group, struct str plural)
{
	struct str why = str_is(group, "*") || str_is(plural, "*") ? STR("") : why_not(found, group, plural);
	bool is_listed = false;

	for (size_t i = 0; !is_listed && i < rows->n; i++) {
		is_listed = str_eq(rows->v[i].group, group) && str_eq(rows->v[i].resource, plural);
	}
	if (why.n && !is_listed && rows->n < REPORT_ROWS_MAX) {
		rows->v[rows->n++] = (struct report_row){.group = group, .resource = plural, .last_error = why};
		rows->is_whole = false;
	}
}

/* If a rule has several groups and resources, not every group needs each resource: one group
 * must have it, as in RBAC rules. */
static bool is_followed_in_one(const struct discovery *found, const struct json *groups, struct str plural)
{
	const struct json *group;
	bool is_followed = false;

	for (uint32_t i = 0; !is_followed && (group = list_item(groups, i)); i++) {
		is_followed = why_not(found, json_text(group), plural).n == 0;
	}
	return is_followed;
}

static void add_rule_unserved(const struct discovery *found, struct report_rows *rows, const struct json *rule)
{
	const struct json *groups = json_gets(rule, "groups"), *plurals = json_gets(rule, "resources"), *plural, *group;

	for (uint32_t i = 0; (plural = list_item(plurals, i)); i++) {
		bool is_followed = is_followed_in_one(found, groups, json_text(plural));
		for (uint32_t k = 0; (group = list_item(groups, k)); k++) {
			if (!is_followed || has_failed(found, json_text(group))) {
				add_unserved(found, rows, json_text(group), json_text(plural));
			}
		}
	}
}

void report_add_unserved(struct report_rows *rows, const struct recording *r, const struct discovery *found)
{
	const struct json *rules = json_gets(r->spec, "resources"), *rule;

	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		add_rule_unserved(found, rows, rule);
	}
}

/* ---- recordings ---- */

/* Reads Recorders. The server has validated their specs. */
enum { ARENA_MAX = 16 << 20, HISTORY_LIMIT_DEFAULT = 10, KEEP_DELETED_DEFAULT_S = 720 * 3600 };

static bool read_selector(struct label_selector *ret, const struct json *selector, struct arena *a)
{
	struct str problem;

	return label_selector_read(ret, selector, a, &problem) == 0;
}

static int64_t keep_deleted(const struct json *spec)
{
	int64_t ms;
	struct str text = member_text(spec, "keepDeleted");

	return text.n && duration_parse_ms(text, &ms) ? ms / 1000 : KEEP_DELETED_DEFAULT_S;
}

struct recording *recording_new(struct item *recorder)
{
	_cleanup_(recording_unrefp) struct recording *r = mem_new(struct recording);
	const struct json *history_limit;

	r->refs = 1;
	r->since_ms = clock_mono_ms();
	r->item = item_ref(recorder);
	arena_init(&r->arena, ARENA_MAX);
	r->spec = json_gets(recorder->object, "spec");
	r->name = recorder->name;
	r->uid = recorder->uid;
	r->id = str_hash(r->name);
	r->generation = member_int(item_meta(recorder), "generation");
	r->history_limit = HISTORY_LIMIT_DEFAULT;
	if ((history_limit = json_gets(r->spec, "historyLimit"))) {
		json_to_int64(history_limit, &r->history_limit);
	}
	r->keep_deleted_s = keep_deleted(r->spec);
	r->namespace = member_text(r->spec, "namespace");
	if (r->namespace.n == 0) {
		r->namespace = STR("default");
	}
	bool is_read = state_rules_read(&r->rules, r->spec, &r->arena) &&
		read_selector(&r->namespaces, json_gets(r->spec, "namespaceSelector"), &r->arena) &&
		read_selector(&r->objects, json_gets(r->spec, "objectSelector"), &r->arena);
	return is_read ? take_ptr(r) : NULL;
}

struct recording *recording_ref(struct recording *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

struct recording *recording_unref(struct recording *r)
{
	if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
		arena_done(&r->arena);
		item_unref(r->item);
		mem_free(r);
	}
	return NULL;
}

/* ---- resources ---- */

static bool has_text(const struct json *list, struct str text)
{
	const struct json *one;
	bool has = false;

	for (uint32_t i = 0; !has && (one = list_item(list, i)); i++) {
		has = str_is(json_text(one), "*") || str_eq(json_text(one), text);
	}
	return has;
}

/* The first item of spec.resources that names the resource; NULL: none does. */
static const struct json *rule_of(const struct recording *r, struct str group, struct str plural)
{
	const struct json *rules = json_gets(r->spec, "resources"), *rule;

	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		if (has_text(json_gets(rule, "groups"), group) && has_text(json_gets(rule, "resources"), plural)) {
			return rule;
		}
	}
	return NULL;
}

bool recording_names(const struct recording *r, struct str group, struct str plural)
{
	return rule_of(r, group, plural) != NULL;
}

const struct json *recording_keep(const struct recording *r, struct str group, struct str plural, struct arena *a)
{
	return keep_complete(json_gets(rule_of(r, group, plural), "keep"), json_gets(r->spec, "keep"), a);
}

/* ---- several ---- */

void recordings_pick(struct recordings *ret, const struct recordings *all, struct str group, struct str plural)
{
	*ret = (struct recordings){NULL, 0};
	for (size_t i = 0; i < all->n; i++) {
		if (recording_names(all->v[i], group, plural)) {
			ret->v = mem_realloc_array(ret->v, ret->n + 1, sizeof(*ret->v));
			ret->v[ret->n++] = recording_ref(all->v[i]);
		}
	}
}

void recordings_done(struct recordings *r)
{
	for (size_t i = 0; i < r->n; i++) {
		recording_unref(r->v[i]);
	}
	mem_free(r->v);
	*r = (struct recordings){NULL, 0};
}

bool recordings_equal(const struct recordings *a, const struct recordings *b)
{
	bool is_equal = a->n == b->n;
	for (size_t i = 0; is_equal && i < a->n; i++) {
		is_equal = str_eq(a->v[i]->uid, b->v[i]->uid) && a->v[i]->generation == b->v[i]->generation;
	}
	return is_equal;
}

int64_t recordings_keep_deleted_s(const struct recordings *r)
{
	int64_t longest_s = r->n ? 0 : INT32_MAX;
	for (size_t i = 0; i < r->n; i++) {
		longest_s = MAX(longest_s, r->v[i]->keep_deleted_s);
	}
	return longest_s;
}

bool recordings_need_namespaces(const struct recordings *r)
{
	bool is_needed = false;
	for (size_t i = 0; !is_needed && i < r->n; i++) {
		is_needed = r->v[i]->namespaces.n > 0;
	}
	return is_needed;
}

static bool selects(const struct label_selector *s, const struct json *labels, struct arena *scratch)
{
	const struct label *v;

	if (s->n == 0) {
		return true;
	}
	size_t n = labels_read(&v, labels, scratch);
	return label_selector_matches(s, v, n);
}

struct recording *recordings_next(const struct recordings *r, const struct json *object, const struct json *namespace_labels,
	struct arena *scratch, size_t *at)
{
	const struct json *metadata = json_gets(object, "metadata"), *labels = json_gets(metadata, "labels");
	bool has_namespace = member_text(metadata, "namespace").n > 0;

	for (; *at < r->n; ++*at) {
		struct recording *one = r->v[*at];
		bool is_in_place = !has_namespace || one->namespaces.n == 0 ||
			(namespace_labels && selects(&one->namespaces, namespace_labels, scratch));
		if (is_in_place && selects(&one->objects, labels, scratch)) {
			return one;
		}
	}
	return NULL;
}

struct recording *recordings_select(
	const struct recordings *r, const struct json *object, const struct json *namespace_labels, struct arena *scratch)
{
	size_t at = 0;

	return recordings_next(r, object, namespace_labels, scratch, &at);
}

bool recordings_tell_apart(
	const struct recordings *r, const struct json *labels, const struct json *other_labels, struct arena *scratch)
{
	bool is_apart = false;
	for (size_t i = 0; !is_apart && i < r->n; i++) {
		const struct label_selector *s = &r->v[i]->namespaces;
		is_apart = selects(s, labels, scratch) != selects(s, other_labels, scratch);
	}
	return is_apart;
}
