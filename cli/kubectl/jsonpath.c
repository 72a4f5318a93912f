/* A path is a list of steps that each make values of values. There is no tree of it: a template is read
 * while it is carried out, which is once for each object of a range. */
#include "cli/kubectl/jsonpath.h"

#include "api/model/members.h"

/* Values of one step, and the greatest index; further values are left out. */
enum { VALUES_MAX = 1000000, DEPTH_MAX = 16 };

struct values {
	const struct json **v;
	size_t n, cap;
};

struct reader {
	const char *p, *end;
	struct arena *a;
	struct buf *err;
};

static bool reader_refuse(struct reader *r, const char *why)
{
	buf_printf(r->err, "%s at \"%.*s\"", why, (int)MIN(r->end - r->p, 40), r->p);
	return false;
}

static void reader_add(struct reader *r, struct values *values, const struct json *value)
{
	if (!value || values->n == VALUES_MAX) {
		return;
	}
	if (values->n == values->cap) {
		size_t cap = values->cap ? values->cap * 2 : 8;
		const struct json **v = arena_array(r->a, const struct json *, cap);
		if (values->n) {
			memcpy(v, values->v, values->n * sizeof(*v));
		}
		values->v = v;
		values->cap = cap;
	}
	values->v[values->n++] = value;
}

/* ---- steps ---- */

static void add_children(struct reader *r, struct values *to, const struct json *value)
{
	for (uint32_t i = 0; json_is(value, JSON_OBJECT) && i < value->n; i++) {
		reader_add(r, to, value->members[i].value);
	}
	for (uint32_t i = 0; json_is(value, JSON_ARRAY) && i < value->n; i++) {
		reader_add(r, to, value->items[i]);
	}
}

static void step_name(struct reader *r, struct values *values, struct str name)
{
	struct values next = {0};
	for (size_t i = 0; i < values->n; i++) {
		if (str_is(name, "*")) {
			add_children(r, &next, values->v[i]);
		} else if (json_is(values->v[i], JSON_OBJECT)) {
			reader_add(r, &next, json_get(values->v[i], name));
		}
	}
	*values = next;
}

static void step_slice(struct reader *r, struct values *values, int64_t from, int64_t to)
{
	struct values next = {0};
	for (size_t i = 0; i < values->n; i++) {
		int64_t n = json_is(values->v[i], JSON_ARRAY) ? values->v[i]->n : 0;
		int64_t first = from < 0 ? from + n : from, last = MIN(to < 0 ? to + n : to, n);
		for (int64_t k = MAX(first, 0); k < last; k++) {
			reader_add(r, &next, values->v[i]->items[k]);
		}
	}
	*values = next;
}

/* A name as far as it goes; a backslash keeps the next character. */
static struct str read_name(struct reader *r)
{
	_cleanup_(buf_done) struct buf name;
	buf_init(&name, 64 * 1024);
	while (r->p < r->end && !strchr(".[]}()=!<> \t\n,\"'", *r->p)) {
		r->p += *r->p == '\\' && r->p + 1 < r->end;
		buf_addc(&name, *r->p++);
	}
	return arena_dup(r->a, buf_str(&name));
}

/* Between quotes of either kind; \n, \t and \r are what they say. */
static bool read_quoted(struct reader *r, struct str *ret)
{
	char quote = *r->p++;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 64 * 1024);
	for (; r->p < r->end && *r->p != quote; r->p++) {
		bool is_escaped = *r->p == '\\' && r->p + 1 < r->end;
		char c = is_escaped ? *++r->p : *r->p;
		buf_addc(&text, !is_escaped ? c : c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
	}
	if (r->p == r->end) {
		return reader_refuse(r, "a string has no end");
	}
	r->p++;
	*ret = arena_dup(r->a, buf_str(&text));
	return true;
}

static bool reader_take(struct reader *r, const char *text)
{
	size_t n = strlen(text);
	bool is_here = (size_t)(r->end - r->p) >= n && memcmp(r->p, text, n) == 0;
	r->p += is_here ? n : 0;
	return is_here;
}

static void skip_blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t')) {
		r->p++;
	}
}

static bool read_number(struct reader *r, int64_t *ret)
{
	const char *start = r->p;
	r->p += r->p < r->end && *r->p == '-';
	while (r->p < r->end && *r->p >= '0' && *r->p <= '9') {
		r->p++;
	}
	return str_to_int64((struct str){start, (size_t)(r->p - start)}, ret) && *ret > -VALUES_MAX && *ret < VALUES_MAX;
}

static bool read_path(struct reader *r, const struct json *at, const struct json *root, struct values *ret, int depth);

/* ---- filters ---- */

static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">"};

static bool read_operand(struct reader *r, const struct json *at, const struct json *root, const struct json **ret, int depth)
{
	struct values values = {0};
	struct str text;
	size_t from;
	skip_blanks(r);
	*ret = NULL;
	if (r->p < r->end && (*r->p == '"' || *r->p == '\'')) {
		if (!read_quoted(r, &text)) {
			return false;
		}
		*ret = json_string(r->a, text);
	} else if (r->p < r->end && (*r->p == '@' || *r->p == '$')) {
		if (!read_path(r, at, root, &values, depth)) {
			return false;
		}
		*ret = values.n ? values.v[0] : NULL;
	} else {
		const char *start = r->p;
		struct json *plain;
		while (r->p < r->end && !strchr(" )=!<>", *r->p)) {
			r->p++;
		}
		text = (struct str){start, (size_t)(r->p - start)};
		if (json_parse(&plain, r->a, text, JSON_LIMITS_DEFAULT, &from)) {
			return reader_refuse(r, "a value is needed");
		}
		*ret = plain;
	}
	skip_blanks(r);
	return true;
}

static bool compare(const struct json *x, const struct json *y, size_t op)
{
	if (!x || !y || x->kind != y->kind) {
		return x && y && op == 1;
	}
	bool has_order = x->kind == JSON_STRING || x->kind == JSON_NUMBER;
	int order = x->kind == JSON_STRING ? str_cmp(json_text(x), json_text(y))
		: x->kind == JSON_NUMBER   ? json_number_cmp(json_text(x), json_text(y))
					   : !json_equal(x, y);
	const bool results[] = {order == 0, order != 0, order <= 0, order >= 0, order<0, order> 0};
	return results[op] && (has_order || op < 2);
}

/* ?(@.a=="b"), behind the bracket. Each item reads the same text. */
static bool step_filter(struct reader *r, struct values *values, const struct json *root, int depth)
{
	struct values items = {0}, next = {0};
	const char *start = r->p;
	static const struct json nothing = {.kind = JSON_NULL};
	for (size_t i = 0; i < values->n; i++) {
		add_children(r, &items, values->v[i]);
	}
	for (size_t i = 0; i < MAX(items.n, (size_t)1); i++) {
		const struct json *item = i < items.n ? items.v[i] : &nothing, *x, *y = NULL;
		size_t op = 0;
		r->p = start;
		if (!read_operand(r, item, root, &x, depth)) {
			return false;
		}
		while (op < ARRAY_SIZE(operators) && !reader_take(r, operators[op])) {
			op++;
		}
		bool compares = op < ARRAY_SIZE(operators);
		if (compares && !read_operand(r, item, root, &y, depth)) {
			return false;
		}
		if (!reader_take(r, ")")) {
			return reader_refuse(r, "a filter has no end");
		}
		if (i < items.n && (compares ? compare(x, y, op) : x != NULL)) {
			reader_add(r, &next, item);
		}
	}
	*values = next;
	return true;
}

/* ---- paths ---- */

static bool read_bracket(struct reader *r, struct values *values, const struct json *root, int depth)
{
	struct str name;
	int64_t from = 0, to;
	if (reader_take(r, "?(")) {
		if (!step_filter(r, values, root, depth)) {
			return false;
		}
	} else if (reader_take(r, "*")) {
		step_name(r, values, STR("*"));
	} else if (r->p < r->end && (*r->p == '\'' || *r->p == '"')) {
		if (!read_quoted(r, &name)) {
			return false;
		}
		step_name(r, values, name);
	} else {
		bool has_from = r->p < r->end && *r->p != ':';
		if (has_from && !read_number(r, &from)) {
			return reader_refuse(r, "an index, a name between quotes, * or a filter is needed");
		}
		to = from == -1 ? VALUES_MAX : from + 1;
		if (reader_take(r, ":")) {
			to = VALUES_MAX;
			if (r->p < r->end && *r->p != ']' && !read_number(r, &to)) {
				return reader_refuse(r, "a number is needed");
			}
		}
		step_slice(r, values, from, to);
	}
	return reader_take(r, "]") || reader_refuse(r, "] is needed");
}

static bool read_path(struct reader *r, const struct json *at, const struct json *root, struct values *ret, int depth)
{
	*ret = (struct values){0};
	if (depth > DEPTH_MAX) {
		return reader_refuse(r, "filters are nested too deeply");
	}
	bool is_root = reader_take(r, "$");
	bool is_bare = !is_root && !reader_take(r, "@");
	reader_add(r, ret, is_root ? root : at);
	if (is_bare && r->p < r->end && *r->p != '.' && *r->p != '[') {
		struct str name = read_name(r); /* {a.b} is {.a.b} */
		if (!name.n) {
			return reader_refuse(r, "a path is needed");
		}
		step_name(r, ret, name);
	}
	while (r->p < r->end && (*r->p == '.' || *r->p == '[')) {
		if (reader_take(r, "[")) {
			if (!read_bracket(r, ret, root, depth + 1)) {
				return false;
			}
			continue;
		}
		if (reader_take(r, "..")) {
			/* The value and all below it. The list grows while it is walked. */
			for (size_t i = 0; i < ret->n; i++) {
				add_children(r, ret, ret->v[i]);
			}
		} else {
			r->p++;
		}
		struct str name = read_name(r);
		if (name.n) {
			step_name(r, ret, name);
		}
	}
	return true;
}

/* ---- templates ---- */

static void write_value(const struct json *value, struct buf *out)
{
	if (json_is(value, JSON_STRING)) {
		buf_add_str(out, json_text(value));
	} else {
		json_encode(out, value);
	}
}

static void write_values(const struct values *values, const char *between, struct buf *out)
{
	for (size_t i = 0; i < values->n; i++) {
		buf_adds(out, i ? between : "");
		write_value(values->v[i], out);
	}
}

static bool write_all(
	struct reader *r, const struct json *at, const struct json *root, struct buf *out, bool is_in_range, int depth);

/* Behind {range: what stands up to its {end} is carried out for each value; for none, it is read for what is wrong in it. */
static bool write_range(struct reader *r, const struct json *at, const struct json *root, struct buf *out, int depth)
{
	struct values values;
	static const struct json nothing = {.kind = JSON_NULL};
	skip_blanks(r);
	if (!read_path(r, at, root, &values, 0)) {
		return false;
	}
	skip_blanks(r);
	if (!reader_take(r, "}")) {
		return reader_refuse(r, "} is needed");
	}
	const char *body = r->p;
	_cleanup_(buf_done) struct buf nowhere;
	buf_init(&nowhere, 1 << 20);
	for (size_t i = 0; i < MAX(values.n, (size_t)1); i++) {
		r->p = body;
		if (!write_all(r, values.n ? values.v[i] : &nothing, root, values.n ? out : &nowhere, true, depth + 1)) {
			return false;
		}
	}
	return true;
}

static bool write_all(
	struct reader *r, const struct json *at, const struct json *root, struct buf *out, bool is_in_range, int depth)
{
	struct values values;
	struct str text;
	if (depth > DEPTH_MAX) {
		return reader_refuse(r, "ranges are nested too deeply");
	}
	while (r->p < r->end) {
		if (!reader_take(r, "{")) {
			buf_addc(out, *r->p++);
			continue;
		}
		skip_blanks(r);
		if (reader_take(r, "end}")) {
			return is_in_range || reader_refuse(r, "an end without a range");
		}
		if (reader_take(r, "range ")) {
			if (!write_range(r, at, root, out, depth)) {
				return false;
			}
			continue;
		}
		if (r->p < r->end && (*r->p == '"' || *r->p == '\'')) {
			if (!read_quoted(r, &text)) {
				return false;
			}
			buf_add_str(out, text);
		} else if (read_path(r, at, root, &values, 0)) {
			write_values(&values, " ", out);
		} else {
			return false;
		}
		skip_blanks(r);
		if (!reader_take(r, "}")) {
			return reader_refuse(r, "} is needed");
		}
	}
	return !is_in_range || reader_refuse(r, "a range without {end}");
}

bool jsonpath_write(struct str template, const struct json *value, struct arena *a, struct buf *out, struct buf *err)
{
	static const struct json nothing = {.kind = JSON_NULL};
	struct reader r = {.p = template.p, .end = str_end(template), .a = a, .err = err};
	const struct json *root = value ? value : &nothing;
	return write_all(&r, root, root, out, false, 0);
}

bool jsonpath_column(struct str expression, const struct json *value, struct arena *a, struct buf *out, struct buf *err)
{
	static const struct json nothing = {.kind = JSON_NULL};
	struct values values;
	if (expression.n > 1 && expression.p[0] == '{' && expression.p[expression.n - 1] == '}') {
		expression = (struct str){expression.p + 1, expression.n - 2};
	}
	struct reader r = {.p = expression.p, .end = str_end(expression), .a = a, .err = err};
	const struct json *root = value ? value : &nothing;
	if (!read_path(&r, root, root, &values, 0)) {
		return false;
	}
	if (r.p < r.end) {
		return reader_refuse(&r, "the path ends");
	}
	write_values(&values, ",", out);
	if (!values.n) {
		BUF_LITERAL(out, "<none>");
	}
	return true;
}
