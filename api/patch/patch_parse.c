/* Refuses patches for reasons that need no object: media type, JSON, shapes, repeated members.
 * Order and words are those of kube-apiserver's patch handler. */
#include "api/patch/patch.h"

#include "api/model/gotext.h"

#include <assert.h>
#include <stdlib.h>


static const struct media_type {
	const char *name;
	enum patch_type type;
} media_types[] = {
	{"application/json-patch+json", PATCH_JSON},
	{"application/merge-patch+json", PATCH_MERGE},
	{"application/strategic-merge-patch+json", PATCH_STRATEGIC},
	{"application/apply-patch+yaml", PATCH_APPLY},
};

/* The members of an operation, and whether Go wants a string there. */
static const struct operation_member {
	const char *name;
	bool is_string;
} operation_members[] = {
	{"op", true},
	{"path", true},
	{"from", true},
	{"value", false},
};

/* The place of a value in the patch, innermost first. */
struct spot {
	const struct spot *up;
	struct str name;
	uint32_t index;
	bool is_item;
};

struct parser {
	struct arena *arena;
	struct decode_report *report; /* may be NULL */
	const char *prefix;           /* of reports */
	struct status *st;
};

bool patch_type_of(struct str content_type, enum patch_type *ret)
{
	struct str name, parameters;
	str_cut(content_type, ';', &name, &parameters);
	/* Case counts for PATCH, unlike for POST. */
	name = str_trim(name);
	for (size_t i = 0; i < ARRAY_SIZE(media_types); i++) {
		if (str_is(name, media_types[i].name)) {
			*ret = media_types[i].type;
			return true;
		}
	}
	return false;
}

static void print_spot(struct buf *out, const struct spot *at)
{
	if (at->up) {
		print_spot(out, at->up);
	}
	if (at->is_item) {
		buf_printf(out, "[%u]", at->index);
		return;
	}
	if (at->up) {
		buf_addc(out, '.');
	}
	buf_add_str(out, at->name);
}

static void report_add(struct parser *p, const char *what, const struct spot *up, struct str name)
{
	struct decode_report *r = p->report;
	if (!r || r->n_strict == DECODE_REPORT_MAX) {
		return;
	}
	struct buf path;
	buf_init(&path, TEXT_MAX);
	print_spot(&path, &(struct spot){.up = up, .name = name});
	struct str text =
		arena_printf(p->arena, "%s%s field " STR_FMT, p->prefix, what, STR_ARG(go_quote(p->arena, buf_str(&path))));
	buf_done(&path);
	decode_report_add(r, p->arena, text);
}

static int compare_members(const void *x, const void *y)
{
	const struct json_member *a = *(const struct json_member *const *)x, *b = *(const struct json_member *const *)y;
	int order = str_cmp(a->name, b->name);
	return order ? order : (a > b) - (a < b);
}

static bool is_sorted(const struct json *object)
{
	for (uint32_t i = 1; i < object->n; i++) {
		if (str_cmp(object->members[i - 1].name, object->members[i].name) >= 0) {
			return false;
		}
	}
	return true;
}

/* Returns, for each member, whether an earlier one has the same name; NULL when none has. */
static bool *find_repetitions(struct arena *a, const struct json *object)
{
	if (is_sorted(object)) {
		return NULL;
	}
	const struct json_member **sorted = arena_array(a, const struct json_member *, object->n);
	for (uint32_t i = 0; i < object->n; i++) {
		sorted[i] = &object->members[i];
	}
	qsort(sorted, object->n, sizeof(*sorted), compare_members);

	bool *repeats = NULL;
	for (uint32_t i = 1; i < object->n; i++) {
		if (str_eq(sorted[i - 1]->name, sorted[i]->name)) {
			repeats = repeats ? repeats : arena_array(a, bool, object->n);
			repeats[sorted[i] - object->members] = true;
		}
	}
	return repeats;
}

static void report_repetitions(struct parser *p, const struct json *j, const struct spot *at);

static void report_object(struct parser *p, const struct json *object, const struct spot *at)
{
	const bool *repeats = find_repetitions(p->arena, object);
	for (uint32_t i = 0; i < object->n; i++) {
		const struct json_member *m = &object->members[i];
		if (repeats && repeats[i]) {
			report_add(p, "duplicate", at, m->name);
		}
		report_repetitions(p, m->value, &(struct spot){.up = at, .name = m->name});
	}
}

/* Every member that repeats one before it, in the order of the text. No deeper than the text was allowed to be. */
static void report_repetitions(struct parser *p, const struct json *j, const struct spot *at)
{
	if (json_is(j, JSON_OBJECT)) {
		report_object(p, j, at);
	} else if (json_is(j, JSON_ARRAY)) {
		for (uint32_t i = 0; i < j->n; i++) {
			report_repetitions(p, j->items[i], &(struct spot){.up = at, .index = i, .is_item = true});
		}
	}
}

static const struct operation_member *find_operation_member(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operation_members); i++) {
		if (str_is(name, operation_members[i].name)) {
			return &operation_members[i];
		}
	}
	return NULL;
}

static int check_operation_member(struct parser *p, const struct operation_member *known, const struct json *value)
{
	if (known->is_string && !json_is(value, JSON_STRING) && !json_is(value, JSON_NULL)) {
		status_bad_request(p->st,
			"error decoding patch: json: cannot unmarshal %s into Go struct field jsonPatchOp.%s of type string",
			json_kind_name(value->kind), known->name);
		return 1;
	}
	return 0;
}

static int check_operation_members(struct parser *p, const struct json *operation, const struct spot *at)
{
	const bool *repeats = find_repetitions(p->arena, operation);
	for (uint32_t i = 0; i < operation->n; i++) {
		const struct json_member *m = &operation->members[i];
		const struct operation_member *known = find_operation_member(m->name);
		if (!known) {
			report_add(p, "unknown", at, m->name);
			continue;
		}
		if (repeats && repeats[i]) {
			report_add(p, "duplicate", at, m->name);
		}
		if (check_operation_member(p, known, m->value)) {
			return 1;
		}
		report_repetitions(p, m->value, &(struct spot){.up = at, .name = m->name});
	}
	return 0;
}

static int refuse_shape(struct parser *p, const struct json *j, const char *prefix, const char *go_type)
{
	status_bad_request(p->st, "%sjson: cannot unmarshal %s into Go value of type %s", prefix, json_kind_name(j->kind), go_type);
	return 1;
}

static int check_operation(struct parser *p, const struct json *operation, uint32_t index)
{
	switch (operation->kind) {
	case JSON_NULL:
		return 0;
	case JSON_OBJECT:
		return check_operation_members(p, operation, &(struct spot){.index = index, .is_item = true});
	default:
		return refuse_shape(p, operation, "error decoding patch: ", "handlers.jsonPatchOp");
	}
}

static int check_operations(struct parser *p, const struct json *patch)
{
	if (json_is(patch, JSON_NULL)) {
		return 0;
	}
	if (!json_is(patch, JSON_ARRAY)) {
		return refuse_shape(p, patch, "error decoding patch: ", "[]handlers.jsonPatchOp");
	}
	for (uint32_t i = 0; i < patch->n; i++) {
		if (check_operation(p, patch->items[i], i)) {
			return 1;
		}
	}
	if (patch->n > PATCH_MAX_OPERATIONS) {
		status_set(p->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE,
			"Request entity too large: The allowed maximum operations in a JSON patch is %d, got %u",
			PATCH_MAX_OPERATIONS, patch->n);
		return 1;
	}
	return 0;
}

static int check_merge(struct parser *p, const struct json *patch)
{
	if (json_is(patch, JSON_NULL)) {
		status_bad_request(p->st, "Invalid JSON Patch");
		return 1;
	}
	if (!json_is(patch, JSON_OBJECT)) {
		return refuse_shape(p, patch, "error decoding patch: ", "map[string]interface {}");
	}
	report_object(p, patch, NULL);
	return 0;
}

static int check_strategic(struct parser *p, const struct json *patch)
{
	if (json_is(patch, JSON_NULL)) {
		return 0;
	}
	if (!json_is(patch, JSON_OBJECT)) {
		return refuse_shape(p, patch, "", "map[string]interface {}");
	}
	report_object(p, patch, NULL);
	return 0;
}

static const struct rules {
	const char *syntax_prefix, *report_prefix;
	int (*check)(struct parser *p, const struct json *patch);
} rules[] = {
	[PATCH_JSON] = {"error decoding patch: ", "json patch ", check_operations},
	[PATCH_MERGE] = {"error decoding patch: ", "", check_merge},
	[PATCH_STRATEGIC] = {"", "", check_strategic},
};

int patch_parse(struct json **ret, enum patch_type type, struct str text, struct json_limits limits, struct arena *a,
	struct decode_report *report, struct status *st)
{
	assert(type < ARRAY_SIZE(rules));
	struct parser p = {a, report, rules[type].report_prefix, st};
	struct json *patch;
	size_t at;
	int error = json_parse(&patch, a, text, limits, &at);
	if (error) {
		status_bad_request(st, "%s%s", rules[type].syntax_prefix, json_error_text(a, error, text, at));
		return 1;
	}
	if (rules[type].check(&p, patch)) {
		return 1;
	}
	*ret = patch;
	return 0;
}

int patch_apply(struct json **ret, enum patch_type type, const struct json *doc, const struct json *patch,
	const struct type *schema, struct arena *a, struct status *st)
{
	assert(type < ARRAY_SIZE(rules));
	switch (type) {
	case PATCH_JSON:
		return patch_json(ret, doc, patch, a, st);
	case PATCH_MERGE:
		return patch_merge(ret, doc, patch, a, st);
	default:
		return patch_strategic(ret, doc, patch, schema, a, st);
	}
}

/* ---- refusals that say nothing about the operation that failed: kube-apiserver says nothing either ---- */

void patch_refuse(struct status *st)
{
	status_set(st, 422, REASON_INVALID, "the server rejected our request due to an error in our request");
	st->has_details = true;
}

void patch_refuse_memory(struct status *st)
{
	status_set(
		st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "Request entity too large: applying the patch takes too much memory");
}
