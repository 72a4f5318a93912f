/* Is a value what its schema says? As k8s.io/kube-openapi/pkg/validation/validate judges, message by message: which errors of anyOf and
 * oneOf are shown depends on how many checks an alternative has passed, so they are counted as there. */
#include "api/schema/instance.h"

#include <assert.h>
#include <math.h>

/* The form that an error takes in the answer. */
enum issue_form {
	ISSUE_INVALID, /* the message, and a value */
	ISSUE_TYPE,    /* likewise, FieldValueTypeInvalid */
	ISSUE_REQUIRED,
	ISSUE_ENUM,
	ISSUE_TOO_LONG,
	ISSUE_TOO_MANY,
	ISSUE_BARE, /* the message at the root: of allOf and its like */
};

struct issue {
	enum issue_form form;
	struct str message, path;
	const struct json *value;         /* NULL: "" */
	const struct node_checks *checks; /* ISSUE_ENUM */
	int64_t n, max;
};

struct result {
	struct issue *v;
	size_t n, cap;
	bool is_bad;     /* an error was found, also one that is known already */
	uint64_t n_fine; /* checks passed: MatchCount upstream */
};

struct checker {
	struct arena *arena;
	size_t n_steps;
	bool is_over;
};

enum { ISSUES_MAX = 1000 }; /* of one object are collected; what is beyond is left out */

static void result_add(struct checker *c, struct result *r, struct issue issue)
{
	r->is_bad = true;
	for (size_t i = 0; i < r->n; i++) {
		if (str_eq(r->v[i].message, issue.message)) {
			return;
		}
	}
	if (r->n == ISSUES_MAX) {
		return;
	}
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 4;
		struct issue *v = arena_array(c->arena, struct issue, r->cap);
		if (r->n) {
			memcpy(v, r->v, r->n * sizeof(*v));
		}
		r->v = v;
	}
	r->v[r->n++] = issue;
}

static void result_merge(struct checker *c, struct result *r, const struct result *other)
{
	for (size_t i = 0; i < other->n; i++) {
		result_add(c, r, other->v[i]);
	}
	r->n_fine += other->n_fine;
}

/* The place's text, and "PLACE in body MESSAGE". */
static struct issue issue_at(
	struct checker *c, enum issue_form form, const struct spot *at, const struct json *value, struct str message)
{
	struct str path = spot_text(at, false, c->arena);
	return (struct issue){
		.form = form,
		.path = path,
		.message = arena_printf(c->arena, STR_FMT " in body " STR_FMT, STR_ARG(path), STR_ARG(message)),
		.value = value,
	};
}

static void add_invalid(
	struct checker *c, struct result *r, const struct spot *at, const struct json *value, struct str message)
{
	result_add(c, r, issue_at(c, ISSUE_INVALID, at, value, message));
}

static void add_bare(struct checker *c, struct result *r, struct str message)
{
	result_add(c, r, (struct issue){.form = ISSUE_BARE, .message = message});
}

static struct str quoted_place(struct checker *c, const struct spot *at)
{
	return go_quote(c->arena, spot_text(at, false, c->arena));
}

/* ---- types ---- */

static const char *type_of(enum value_kind kind)
{
	static const char *const names[] = {
		[VALUE_NULL] = "null",
		[VALUE_BOOL] = "boolean",
		[VALUE_INT] = "integer",
		[VALUE_DOUBLE] = "number",
		[VALUE_STRING] = "string",
		[VALUE_ARRAY] = "array",
		[VALUE_OBJECT] = "object",
	};
	return names[kind];
}

static const char *format_of(enum value_kind kind)
{
	return kind == VALUE_INT ? "int64" : kind == VALUE_DOUBLE ? "float64" : "";
}

static bool has_type(const struct node *n, enum node_type type)
{
	return n->is_int_or_string ? type == NODE_INTEGER || type == NODE_STRING : n->type == type;
}

static struct str types_text(const struct node *n)
{
	return n->is_int_or_string    ? STR("integer,string")
		: n->type == NODE_ODD ? STR("unknown")
				      : str_of(node_type_name((enum node_type)n->type));
}

#define JSON_INTEGER_MAX 9007199254740991.0 /* 2^53 - 1, swag's maxJSONFloat */

/* swag.IsFloat64AJSONInteger */
static bool is_json_integer(double d)
{
	if (!isfinite(d) || d < -JSON_INTEGER_MAX || d > JSON_INTEGER_MAX) {
		return false;
	}
	double whole = trunc(d), diff = fabs(d - whole);
	if (!(diff > 0)) {
		return true;
	}
	double g = d < 0 ? (double)(uint64_t)(int64_t)d : whole;
	diff = fabs(d - g);
	if (!(fabs(g) > 0)) {
		return false;
	}
	return diff / (fabs(d) + fabs(g)) < 1e-9;
}

static void add_type(struct checker *c, struct result *r, const struct spot *at, struct str wanted, const char *given)
{
	struct str value = str_of(given);
	result_add(c, r,
		issue_at(c, ISSUE_TYPE, at, json_string(c->arena, value),
			arena_printf(c->arena, "must be of type " STR_FMT ": " STR_FMT, STR_ARG(wanted),
				STR_ARG(go_quote(c->arena, value)))));
}

static void check_type(struct checker *c, const struct node *n, struct value v, const struct spot *at, struct result *r)
{
	static const enum node_type types[] = {
		[VALUE_BOOL] = NODE_BOOLEAN,
		[VALUE_INT] = NODE_INTEGER,
		[VALUE_DOUBLE] = NODE_NUMBER,
		[VALUE_STRING] = NODE_STRING,
		[VALUE_ARRAY] = NODE_ARRAY,
		[VALUE_OBJECT] = NODE_OBJECT,
	};
	bool has_any = n->is_int_or_string || n->type != NODE_ANY;
	if (v.kind == VALUE_NULL) {
		if (has_any && !n->is_nullable) {
			add_type(c, r, at, types_text(n), "null");
		} else {
			r->n_fine++;
		}
		return;
	}
	bool is_number_type = has_type(n, NODE_NUMBER) || has_type(n, NODE_INTEGER);
	bool is_fine = has_type(n, types[v.kind]) ||
		(v.kind == VALUE_DOUBLE && has_type(n, NODE_INTEGER) && is_json_integer(v.number)) ||
		(v.kind == VALUE_INT && has_type(n, NODE_NUMBER));
	bool is_text = v.kind == VALUE_STRING || v.kind == VALUE_ARRAY;
	if (n->format && !is_text && !is_fine) {
		if (!str_is(n->checks->format_text, format_of(v.kind))) {
			add_type(c, r, at, n->checks->format_text, format_of(v.kind));
			return;
		}
	}
	if (!is_fine && !(n->format && is_text && !is_number_type)) {
		add_type(c, r, at, types_text(n), type_of(v.kind));
		return;
	}
	r->n_fine++;
}

/* ---- enum ---- */

/* Is the value one of the enum's after Go's conversion to its type? That cuts fractions and makes characters of integers. */
static bool is_value(const struct json *j, struct value v, const struct json *allowed)
{
	struct value w = value_of(allowed);
	if (w.kind == VALUE_NULL || v.kind == VALUE_NULL) {
		return false;
	}
	if (w.kind == VALUE_DOUBLE && (v.kind == VALUE_INT || v.kind == VALUE_DOUBLE)) {
		return !(v.number < w.number) && !(v.number > w.number);
	}
	if (w.kind == VALUE_INT && v.kind == VALUE_DOUBLE) {
		return fabs(v.number) < 9.2e18 && (int64_t)v.number == w.integer;
	}
	if (w.kind == VALUE_STRING && v.kind == VALUE_INT) {
		uint32_t rune = 0;
		struct str text = json_text(allowed);
		return text.n && go_decode_rune(text.p, text.p + text.n, &rune) == text.n && (int64_t)rune == v.integer;
	}
	return value_equal(j, allowed);
}

static void check_enum(struct checker *c, const struct node_checks *checks, const struct json *j, struct value v,
	const struct spot *at, struct result *r)
{
	for (size_t i = 0; i < checks->n_values; i++) {
		c->n_steps++;
		if (is_value(j, v, checks->values[i])) {
			return;
		}
	}
	/* The text is not shown, but tells errors apart. */
	struct buf text;
	buf_init(&text, TEXT_MAX);
	buf_adds(&text, "should be one of [");
	for (size_t i = 0; i < checks->n_values; i++) {
		buf_adds(&text, i ? " " : "");
		go_print_value(&text, checks->values[i], c->arena);
	}
	struct issue issue = issue_at(c, ISSUE_ENUM, at, j, buf_str(&text));
	issue.checks = checks;
	result_add(c, r, issue);
	buf_done(&text);
}

/* ---- numbers ---- */

/* Go's int64(float64) on amd64. */
static int64_t go_int64(double d)
{
	return d >= -9223372036854775808.0 && d < 9223372036854775808.0 ? (int64_t)d : INT64_MIN;
}

/* Does a number have a place in the schema's type and format? */
static bool is_in_range(const struct node *n, struct value v)
{
	if (n->is_int_or_string) {
		return true;
	}
	if (n->type == NODE_INTEGER) {
		if (v.kind == VALUE_DOUBLE) {
			bool is_whole = !(trunc(v.number) < v.number) && !(trunc(v.number) > v.number);
			if (!is_whole || v.number < -9223372036854775808.0 || v.number >= 9223372036854775808.0) {
				return false;
			}
			v.integer = (int64_t)v.number;
		}
		return n->format != FORMAT_INT32 || (v.integer >= INT32_MIN && v.integer <= INT32_MAX);
	}
	return !(n->type == NODE_NUMBER && n->format == FORMAT_FLOAT) || !isinf((float)v.number);
}

static bool check_range(
	struct checker *c, const struct node *n, struct value v, const char *what, const struct spot *at, struct result *r)
{
	if (is_in_range(n, v)) {
		return true;
	}
	struct str place = spot_text(at, false, c->arena);
	if (n->format) {
		add_bare(c, r,
			arena_printf(c->arena, "%s value must be of type %s with format " STR_FMT " in " STR_FMT, what,
				node_type_name((enum node_type)n->type), STR_ARG(n->checks->format_text), STR_ARG(place)));
	} else {
		add_bare(c, r,
			arena_printf(c->arena, "%s value must be of type %s (default format) in " STR_FMT, what,
				node_type_name((enum node_type)n->type), STR_ARG(place)));
	}
	return false;
}

static struct value double_value(double d)
{
	return (struct value){.kind = VALUE_DOUBLE, .number = d};
}

/* The bound as messages show it, an integer where integers are compared. */
static struct str bound_text(struct checker *c, double bound, bool is_int)
{
	return is_int ? arena_printf(c->arena, "%lld", (long long)go_int64(bound)) : go_float_print(bound, c->arena);
}

static const struct json *number_value(struct checker *c, double d, bool is_int)
{
	return is_int ? json_int(c->arena, go_int64(d)) : json_number(c->arena, go_float_print(d, c->arena));
}

static void check_multiple(
	struct checker *c, const struct node *n, const struct json *j, struct value v, const struct spot *at, struct result *r)
{
	double factor = n->checks->multiple;
	/* Where the factor does not fit the type, both are compared as doubles. */
	bool is_int = check_range(c, n, double_value(factor), "MultipleOf", at, r) && v.kind == VALUE_INT;
	if (is_int ? go_int64(factor) <= 0 : !(factor > 0)) {
		struct issue issue = issue_at(c, ISSUE_INVALID, at, number_value(c, factor, is_int), (struct str){0});
		issue.message = arena_printf(c->arena, "factor MultipleOf declared for " STR_FMT " must be positive: " STR_FMT,
			STR_ARG(issue.path), STR_ARG(bound_text(c, factor, is_int)));
		result_add(c, r, issue);
		return;
	}
	bool is_multiple = is_int ? v.integer % go_int64(factor) == 0
				  : is_json_integer(factor < 1 ? 1 / factor * v.number : v.number / factor);
	if (!is_multiple) {
		const struct json *shown = is_int ? j : number_value(c, v.number, false);
		add_invalid(c, r, at, shown,
			arena_printf(c->arena, "should be a multiple of " STR_FMT, STR_ARG(bound_text(c, factor, is_int))));
	}
}

static void check_bound(struct checker *c, const struct node *n, const struct json *j, struct value v, bool is_maximum,
	const struct spot *at, struct result *r)
{
	const struct node_checks *checks = n->checks;
	double bound = is_maximum ? checks->maximum : checks->minimum;
	bool is_exclusive = checks->flags & (is_maximum ? CHECK_BELOW_MAXIMUM : CHECK_ABOVE_MINIMUM);
	const char *what = is_maximum ? "Maximum boundary" : "Minimum boundary";
	bool is_int = check_range(c, n, double_value(bound), what, at, r) && v.kind == VALUE_INT;
	int order;
	if (is_int) {
		order = v.integer < go_int64(bound) ? -1 : v.integer > go_int64(bound);
	} else {
		order = v.number < bound ? -1 : v.number > bound;
	}
	order = is_maximum ? order : -order;
	if (order > 0 || (order == 0 && is_exclusive)) {
		static const char *const words[2][2] = {
			{"should be greater than or equal to ", "should be greater than "},
			{"should be less than or equal to ", "should be less than "},
		};
		const struct json *shown = is_int ? j : number_value(c, v.number, false);
		add_invalid(c, r, at, shown,
			arena_printf(c->arena, "%s" STR_FMT, words[is_maximum][is_exclusive],
				STR_ARG(bound_text(c, bound, is_int))));
	}
}

static void check_number(
	struct checker *c, const struct node *n, const struct json *j, struct value v, const struct spot *at, struct result *r)
{
	check_range(c, n, v, "Checked", at, r);
	unsigned flags = n->checks ? n->checks->flags : 0;
	if (flags & CHECK_MULTIPLE) {
		check_multiple(c, n, j, v, at, r);
	}
	if (flags & CHECK_MINIMUM) {
		check_bound(c, n, j, v, false, at, r);
	}
	if (flags & CHECK_MAXIMUM) {
		check_bound(c, n, j, v, true, at, r);
	}
	r->n_fine++;
}

/* ---- texts ---- */

static int64_t count_runes(struct str text)
{
	int64_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
	}
	return n;
}

static void check_pattern(
	struct checker *c, const struct node_checks *checks, const struct json *j, const struct spot *at, struct result *r)
{
	uint64_t steps = 0;
	assert(checks->pattern); /* only schemas that nobody validates by are read without patterns */
	bool is_match = pattern_matches(checks->pattern, json_text(j), &steps);
	c->n_steps += steps / PATTERN_STEPS_EACH;
	c->is_over |= c->n_steps > SCHEMA_STEPS_MAX;
	if (is_match || c->is_over) {
		return;
	}
	c->n_steps += j->n / 16 + 1;
	const char *error = pattern_error(checks->pattern), *but = error ? ", but pattern is invalid: " : "";
	add_invalid(c, r, at, j,
		arena_printf(
			c->arena, "should match '" STR_FMT "%s%s'", STR_ARG(checks->pattern_text), but, error ? error : ""));
}

/* The first of length and pattern that is wrong is the only one. */
static void check_string(
	struct checker *c, const struct node_checks *checks, const struct json *j, const struct spot *at, struct result *r)
{
	struct str text = json_text(j);
	if (checks->flags & CHECK_MAX_LENGTH && count_runes(text) > checks->max_length) {
		struct issue issue = issue_at(c, ISSUE_TOO_LONG, at, j,
			arena_printf(c->arena, "should be at most %lld chars long", (long long)checks->max_length));
		issue.max = checks->max_length;
		result_add(c, r, issue);
	} else if (checks->flags & CHECK_MIN_LENGTH && count_runes(text) < checks->min_length) {
		add_invalid(c, r, at, j,
			arena_printf(c->arena, "should be at least %lld chars long", (long long)checks->min_length));
	} else if (checks->pattern_text.n) {
		check_pattern(c, checks, j, at, r);
	}
}

static void check_format(struct checker *c, const struct node *n, const struct json *j, const struct spot *at, struct result *r)
{
	if (n->format >= FORMAT_STRINGS && !format_accepts(n->format, json_text(j))) {
		result_add(c, r,
			issue_at(c, ISSUE_TYPE, at, j,
				arena_printf(c->arena, "must be of type " STR_FMT ": " STR_FMT, STR_ARG(n->checks->format_text),
					STR_ARG(go_quote(c->arena, json_text(j))))));
	}
}

/* ---- lists and objects ---- */

/* Whether what an update leaves alone is excused, and the value before. */
struct before {
	bool ratchets;
	const struct json *old; /* NULL: nothing corresponds */
};

static void check_value(struct checker *c, const struct node *n, const struct json *j, struct before before,
	const struct spot *at, struct result *r);

static void add_count(struct checker *c, struct result *r, const struct spot *at, int64_t n, int64_t max, const char *what)
{
	struct issue issue = issue_at(c, ISSUE_TOO_MANY, at, json_int(c->arena, n),
		arena_printf(c->arena, "should have at most %lld %s", (long long)max, what));
	issue.n = n;
	issue.max = max;
	result_add(c, r, issue);
}

static bool has_duplicates(struct checker *c, const struct json *list)
{
	for (uint32_t i = 1; i < list->n && !c->is_over; i++) {
		for (uint32_t k = 0; k < i; k++) {
			c->n_steps++;
			if (value_equal(list->items[i], list->items[k])) {
				return true;
			}
		}
		c->is_over = c->n_steps > SCHEMA_STEPS_MAX;
	}
	return false;
}

static void check_list(struct checker *c, const struct node *n, const struct json *j, struct before before,
	const struct spot *at, struct result *r)
{
	struct old_items old = {0};
	if (n->items && before.ratchets) {
		old_items_init(&old, n, before.old, c->arena);
	}
	for (uint32_t i = 0; n->items && i < j->n; i++) {
		struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
		const struct json *previous = before.ratchets ? old_items_find(&old, j->items[i]) : NULL;
		check_value(c, n->items, j->items[i], (struct before){previous != NULL, previous}, &below, r);
	}
	old_items_done(&old);
	if (n->checks) {
		const struct node_checks *checks = n->checks;
		if (checks->flags & CHECK_MIN_ITEMS && j->n < checks->min_items) {
			struct issue issue = issue_at(c, ISSUE_INVALID, at, json_int(c->arena, j->n),
				arena_printf(c->arena, "should have at least %lld items", (long long)checks->min_items));
			result_add(c, r, issue);
		}
		if (checks->flags & CHECK_MAX_ITEMS && j->n > checks->max_items) {
			add_count(c, r, at, j->n, checks->max_items, "items");
		}
		if (checks->flags & CHECK_UNIQUE && has_duplicates(c, j)) {
			add_invalid(c, r, at, NULL, STR("shouldn't contain duplicates"));
		}
	}
	r->n_fine++;
}

static const struct json *old_member(struct before before, struct str name)
{
	return before.ratchets ? json_get(before.old, name) : NULL;
}

/* apiVersion and kind of the root are never excused: those before were converted. */
static struct before before_of(struct before before, struct str name, const struct spot *at)
{
	const struct json *old = old_member(before, name);
	bool is_type = at->kind == SPOT_ROOT && (str_is(name, "kind") || str_is(name, "apiVersion"));
	return old && !is_type ? (struct before){true, old} : (struct before){0};
}

static void check_members(struct checker *c, const struct node *n, const struct json *j, struct before before,
	const struct spot *at, struct result *r)
{
	uint32_t hint = 0;
	for (uint32_t i = 0; i < j->n && n->has_additional && (!n->allows_additional || n->additional); i++) {
		struct str name = j->members[i].name;
		if (node_property(n, name, &hint)) {
			continue;
		}
		struct spot below = {.up = at, .name = name, .kind = SPOT_KEY};
		if (n->allows_additional) {
			check_value(c, n->additional, j->members[i].value, before_of(before, name, at), &below, r);
		} else {
			struct issue issue = issue_at(c, ISSUE_INVALID, at, json_string(c->arena, name), (struct str){0});
			issue.message = arena_printf(c->arena, STR_FMT "." STR_FMT " in body is a forbidden property",
				STR_ARG(issue.path), STR_ARG(name));
			result_add(c, r, issue);
		}
	}
	hint = 0;
	for (uint32_t i = 0; i < j->n; i++) {
		struct str name = j->members[i].name;
		const struct node *property = node_property(n, name, &hint);
		if (property) {
			struct spot below = {.up = at, .name = name, .kind = SPOT_MEMBER};
			check_value(c, property, j->members[i].value, before_of(before, name, at), &below, r);
		}
	}
}

static void check_required(
	struct checker *c, const struct node_checks *checks, const struct json *j, const struct spot *at, struct result *r)
{
	for (size_t i = 0; i < checks->required.n; i++) {
		struct spot below = {.up = at, .name = checks->required.v[i], .kind = SPOT_KEY};
		c->n_steps++;
		if (!json_get(j, below.name)) {
			result_add(c, r, issue_at(c, ISSUE_REQUIRED, &below, NULL, STR("is required")));
		}
	}
}

static void check_object(struct checker *c, const struct node *n, const struct json *j, struct before before,
	const struct spot *at, struct result *r)
{
	const struct node_checks *checks = n->checks;
	if (checks && checks->flags & CHECK_MIN_PROPERTIES && j->n < checks->min_properties) {
		add_invalid(c, r, at, json_int(c->arena, j->n),
			arena_printf(c->arena, "should have at least %lld properties", (long long)checks->min_properties));
	}
	if (checks && checks->flags & CHECK_MAX_PROPERTIES && j->n > checks->max_properties) {
		add_count(c, r, at, j->n, checks->max_properties, "properties");
	}
	check_members(c, n, j, before, at, r);
	if (checks) {
		check_required(c, checks, j, at, r);
	}
}

/* ---- allOf, anyOf, oneOf, not ---- */

static void check_any(
	struct checker *c, const struct node_list_of *any, const struct json *j, const struct spot *at, struct result *r)
{
	struct result best = {0}, first = {0};
	bool has_best = false;
	for (size_t i = 0; i < any->n; i++) {
		struct result one = {0};
		check_value(c, any->v[i], j, (struct before){0}, at, &one);
		if (!one.is_bad) {
			first = one;
			result_merge(c, r, &first);
			return;
		}
		if (!has_best || one.n_fine > best.n_fine) {
			best = one;
			has_best = true;
		}
	}
	add_bare(c, r,
		arena_printf(c->arena, STR_FMT " must validate at least one schema (anyOf)", STR_ARG(quoted_place(c, at))));
	result_merge(c, r, &best);
}

static void check_one(
	struct checker *c, const struct node_list_of *one_of, const struct json *j, const struct spot *at, struct result *r)
{
	struct result best = {0}, first = {0};
	bool has_best = false;
	size_t n_valid = 0;
	for (size_t i = 0; i < one_of->n; i++) {
		struct result one = {0};
		check_value(c, one_of->v[i], j, (struct before){0}, at, &one);
		if (!one.is_bad) {
			if (n_valid++ == 0) {
				first = one;
			}
			has_best = false;
		} else if (n_valid == 0 && (!has_best || one.n_fine > best.n_fine)) {
			best = one;
			has_best = true;
		}
	}
	if (n_valid == 1) {
		result_merge(c, r, &first);
		return;
	}
	struct str place = quoted_place(c, at);
	add_bare(c, r,
		n_valid ? arena_printf(c->arena,
				  STR_FMT " must validate one and only one schema (oneOf). Found %zu valid alternatives",
				  STR_ARG(place), n_valid)
			: arena_printf(c->arena, STR_FMT " must validate one and only one schema (oneOf). Found none valid",
				  STR_ARG(place)));
	if (has_best) {
		result_merge(c, r, &best);
	}
}

static void check_all(
	struct checker *c, const struct node_list_of *all, const struct json *j, const struct spot *at, struct result *r)
{
	size_t n_valid = 0;
	for (size_t i = 0; i < all->n; i++) {
		struct result one = {0};
		check_value(c, all->v[i], j, (struct before){0}, at, &one);
		n_valid += !one.is_bad;
		result_merge(c, r, &one);
		r->is_bad |= one.is_bad;
	}
	if (n_valid != all->n) {
		add_bare(c, r,
			arena_printf(c->arena, STR_FMT " must validate all the schemas (allOf)%s", STR_ARG(quoted_place(c, at)),
				n_valid ? "" : ". None validated"));
	}
}

static void check_nested(
	struct checker *c, const struct node_checks *checks, const struct json *j, const struct spot *at, struct result *r)
{
	if (checks->any.n) {
		check_any(c, &checks->any, j, at, r);
	}
	if (checks->one.n) {
		check_one(c, &checks->one, j, at, r);
	}
	if (checks->all.n) {
		check_all(c, &checks->all, j, at, r);
	}
	if (checks->not ) {
		struct result one = {0};
		check_value(c, checks->not, j, (struct before){0}, at, &one);
		if (!one.is_bad) {
			add_bare(c, r,
				arena_printf(
					c->arena, STR_FMT " must not validate the schema (not)", STR_ARG(quoted_place(c, at))));
		}
	}
}

/* ---- values ---- */

static void check_all_of_value(struct checker *c, const struct node *n, const struct json *j, struct before before,
	const struct spot *at, struct result *r)
{
	const struct node_checks *checks = n->checks;
	struct value v = value_of(j);
	bool is_typed = n->is_int_or_string || n->type != NODE_ANY || n->format;
	if (v.kind == VALUE_NULL) {
		check_type(c, n, v, at, r);
		if (checks && checks->n_values) {
			check_enum(c, checks, j, v, at, r);
		}
		return;
	}
	if (is_typed) {
		check_type(c, n, v, at, r);
		r->n_fine++;
	}
	if (checks) {
		check_nested(c, checks, j, at, r);
	}
	r->n_fine += 2; /* schemaPropsValidator counts itself, and is counted */
	if (v.kind == VALUE_STRING) {
		if (checks) {
			check_string(c, checks, j, at, r);
		}
		r->n_fine++;
		if (n->format >= FORMAT_STRINGS) {
			check_format(c, n, j, at, r);
			r->n_fine++;
		}
	}
	if (v.kind == VALUE_INT || v.kind == VALUE_DOUBLE) {
		check_number(c, n, j, v, at, r);
		r->n_fine++;
	}
	if (v.kind == VALUE_ARRAY) {
		check_list(c, n, j, before, at, r);
		r->n_fine++;
	}
	if (checks && checks->n_values) {
		check_enum(c, checks, j, v, at, r);
	}
	r->n_fine++;
	if (v.kind == VALUE_OBJECT) {
		check_object(c, n, j, before, at, r);
		r->n_fine++;
	}
	r->n_fine++;
}

static void check_value(struct checker *c, const struct node *n, const struct json *j, struct before before,
	const struct spot *at, struct result *r)
{
	if (c->is_over) {
		return;
	}
	if (++c->n_steps > SCHEMA_STEPS_MAX) {
		c->is_over = true;
		return;
	}
	if (!before.ratchets) {
		check_all_of_value(c, n, j, before, at, r);
		return;
	}
	bool was_bad = r->is_bad;
	size_t n_before = r->n;
	r->is_bad = false;
	check_all_of_value(c, n, j, before, at, r);
	if (r->is_bad && node_is_unchanged(n, j, before.old, c->arena)) {
		r->n = n_before;
		r->is_bad = false;
	}
	r->is_bad |= was_bad;
}

/* ---- answers ---- */

static void print_values(struct checker *c, const struct node_checks *checks, struct field_errors *errors,
	const struct issue *issue, struct str path)
{
	const char **texts = (const char **)arena_array(c->arena, char *, checks->n_values);
	for (size_t i = 0; i < checks->n_values; i++) {
		const struct json *value = checks->values[i];
		struct buf text;
		buf_init(&text, TEXT_MAX);
		if (value->kind == JSON_STRING) {
			buf_add_str(&text, json_text(value));
		} else if (value->kind == JSON_NUMBER && value_of(value).kind == VALUE_DOUBLE) {
			buf_add_str(&text, go_float_json(value_of(value).number, c->arena));
		} else {
			json_encode(&text, value_shown(value, c->arena));
		}
		texts[i] = arena_dup(c->arena, buf_str(&text)).p;
		buf_done(&text);
	}
	field_not_supported_value(errors, path, value_shown(issue->value, c->arena), texts, checks->n_values);
}

static void report_issue(struct checker *c, const struct issue *issue, struct str parent, struct field_errors *errors)
{
	struct str path = issue->path;
	if (path.n && path.p[0] == '.') {
		path = (struct str){path.p + 1, path.n - 1};
	}
	if (parent.n) {
		path = path.n ? arena_printf(c->arena, STR_FMT "." STR_FMT, STR_ARG(parent), STR_ARG(path)) : parent;
	}
	const struct json *empty = json_string(c->arena, STR(""));
	const struct json *value = issue->value ? value_shown(issue->value, c->arena) : empty;
	switch (issue->form) {
	case ISSUE_INVALID:
		field_invalid(errors, path, value, STR_FMT, STR_ARG(issue->message));
		break;
	case ISSUE_TYPE:
		field_type_invalid(errors, path, value, STR_FMT, STR_ARG(issue->message));
		break;
	case ISSUE_REQUIRED:
		field_required(errors, path, "%s", "");
		break;
	case ISSUE_ENUM:
		print_values(c, issue->checks, errors, issue, path);
		break;
	case ISSUE_TOO_LONG:
		field_too_long(errors, path, issue->max);
		break;
	case ISSUE_TOO_MANY:
		field_too_many(errors, path, issue->n, issue->max);
		break;
	case ISSUE_BARE:
		field_invalid(errors, parent, empty, STR_FMT, STR_ARG(issue->message));
		break;
	}
}

void value_validate(
	const struct node *n, const struct json *j, const struct json *old, struct str parent, struct field_errors *errors)
{
	struct checker c = {.arena = errors->arena};
	const struct spot root = {.kind = SPOT_ROOT};
	struct result r = {0};
	check_value(&c, n, j, (struct before){old != NULL, old}, &root, &r);
	for (size_t i = 0; i < r.n; i++) {
		report_issue(&c, &r.v[i], parent, errors);
	}
	if (c.is_over) {
		field_invalid_whole(errors, parent, "validation takes more than %d steps", SCHEMA_STEPS_MAX);
	}
}
