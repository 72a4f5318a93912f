/* Label selectors: the lexer and parser of k8s.io/apimachinery/pkg/labels, with its messages, and
 * selectors that are objects.
 *
 * Odd rules are kept on purpose, since `in ()`, `app=` and NULs mean something to clients by now. */
#include "api/model/gotext.h"
#include "api/model/members.h"
#include "api/rules/selector.h"
#include "api/rules/validate.h"

#include <assert.h>
#include <stdlib.h>

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_IN,
	TOKEN_NOT_IN,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_NOT,
	TOKEN_EQUAL,
	TOKEN_DOUBLE_EQUAL,
	TOKEN_NOT_EQUAL,
	TOKEN_GREATER,
	TOKEN_LESS,
};

struct token {
	enum token_kind kind;
	struct str text;
};

/* Longer symbols before their beginnings. */
static const struct symbol {
	const char *text;
	enum token_kind kind;
} symbols[] = {
	{"==", TOKEN_DOUBLE_EQUAL},
	{"!=", TOKEN_NOT_EQUAL},
	{"=", TOKEN_EQUAL},
	{"!", TOKEN_NOT},
	{">", TOKEN_GREATER},
	{"<", TOKEN_LESS},
	{"(", TOKEN_OPEN},
	{")", TOKEN_CLOSE},
	{",", TOKEN_COMMA},
};

static const struct symbol keywords[] = {
	{"in", TOKEN_IN},
	{"notin", TOKEN_NOT_IN},
};

static const struct operator
{
	enum token_kind token;
	enum selector_op op;
	bool has_list;
}
operators[] = {
	{TOKEN_IN, SELECTOR_IN, true},
	{TOKEN_NOT_IN, SELECTOR_NOT_IN, true},
	{TOKEN_EQUAL, SELECTOR_IN, false},
	{TOKEN_DOUBLE_EQUAL, SELECTOR_IN, false},
	{TOKEN_NOT_EQUAL, SELECTOR_NOT_IN, false},
	{TOKEN_GREATER, SELECTOR_GREATER, false},
	{TOKEN_LESS, SELECTOR_LESS, false},
};

struct parser {
	struct str rest; /* behind `next` */
	struct token next;
	struct arena *arena;
	struct status *st;
	struct label_selector selector;
	size_t cap;
};

static bool is_special(char c)
{
	return c && strchr("=!(),><", c);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str cut_off(struct str *rest, size_t n)
{
	struct str head = {rest->p, n};
	rest->p += n;
	rest->n -= n;
	return head;
}

static struct token scan_symbol(struct str *rest)
{
	const struct symbol *s = symbols;
	while (!str_starts(*rest, str_of(s->text))) {
		s++;
	}
	return (struct token){s->kind, cut_off(rest, strlen(s->text))};
}

static struct token scan_name(struct str *rest)
{
	size_t n = 0;
	while (n < rest->n && rest->p[n] && !is_special(rest->p[n]) && !is_blank(rest->p[n])) {
		n++;
	}
	struct token token = {TOKEN_NAME, cut_off(rest, n)};
	/* Keys may be called "in", so words become names again where a name is expected. */
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
		if (str_is(token.text, keywords[i].text)) {
			token.kind = keywords[i].kind;
		}
	}
	return token;
}

/* Upstream's lexer takes a NUL for the end of the text where a token may begin, and swallows one behind a token. */
static struct token scan(struct str *rest)
{
	while (rest->n > 0 && is_blank(rest->p[0])) {
		cut_off(rest, 1);
	}
	if (rest->n == 0 || rest->p[0] == '\0') {
		rest->n = 0;
		return (struct token){TOKEN_END, STR("")};
	}
	struct token token = is_special(rest->p[0]) ? scan_symbol(rest) : scan_name(rest);
	if (rest->n > 0 && rest->p[0] == '\0') {
		cut_off(rest, 1);
	}
	return token;
}

static struct token parser_take(struct parser *p)
{
	struct token token = p->next;
	p->next = scan(&p->rest);
	return token;
}

/* Keys and values may be called "in". */
static bool is_name(struct token token)
{
	return token.kind == TOKEN_NAME || token.kind == TOKEN_IN || token.kind == TOKEN_NOT_IN;
}

static bool ends_requirement(struct token token)
{
	return token.kind == TOKEN_END || token.kind == TOKEN_COMMA;
}

static int parser_refuse(struct parser *p, struct token found, const char *expected)
{
	status_bad_request(p->st, "found '" STR_FMT "', expected: %s", STR_ARG(found.text), expected);
	return 1;
}

static int refuse_requirement(struct parser *p, struct token found, const char *expected)
{
	status_bad_request(p->st, "unable to parse requirement: found '" STR_FMT "'%s", STR_ARG(found.text), expected);
	return 1;
}

/* The messages of a validator as one, "; " between them. */
static struct str join(struct arena *a, const char *const *messages, size_t n)
{
	struct str all = str_of(n ? messages[0] : NULL);
	for (size_t i = 1; i < n; i++) {
		all = arena_printf(a, STR_FMT "; %s", STR_ARG(all), messages[i]);
	}
	return all;
}

static int check_key(struct parser *p, struct str key)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = validate_qualified_name(key, messages);
	if (n == 0) {
		return 0;
	}
	status_bad_request(p->st, "unable to parse requirement: <nil>: Invalid value: " STR_FMT ": " STR_FMT,
		STR_ARG(go_quote(p->arena, key)), STR_ARG(join(p->arena, messages, n)));
	return 1;
}

/* The errors in a requirement's values, in the form of
 * k8s.io/apimachinery/pkg/util/errors.Aggregate. */
struct complaints {
	struct str text;
	size_t n;
};

static void parser_complain(struct parser *p, struct complaints *c, struct str path, struct str value, struct str what)
{
	struct str one = arena_printf(p->arena, STR_FMT ": Invalid value: " STR_FMT ": " STR_FMT, STR_ARG(path),
		STR_ARG(go_quote(p->arena, value)), STR_ARG(what));
	c->text = c->n++ ? arena_printf(p->arena, STR_FMT ", " STR_FMT, STR_ARG(c->text), STR_ARG(one)) : one;
}

static void check_value(struct parser *p, const struct requirement *r, size_t i, struct complaints *c)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = validate_label_value(r->values[i], messages);
	if (n > 0) {
		struct str path = arena_printf(p->arena, "values[%zu][" STR_FMT "]", i, STR_ARG(r->key));
		parser_complain(p, c, path, r->values[i], join(p->arena, messages, n));
	}
}

static int check_values(struct parser *p, struct requirement *r)
{
	struct complaints c = {0};
	if ((r->op == SELECTOR_GREATER || r->op == SELECTOR_LESS) && !str_to_int64(r->values[0], &r->number)) {
		parser_complain(
			p, &c, STR("values[0]"), r->values[0], STR("for 'Gt', 'Lt' operators, the value must be an integer"));
	}
	for (size_t i = 0; i < r->n_values; i++) {
		check_value(p, r, i, &c);
	}
	if (c.n > 0) {
		status_bad_request(p->st,
			c.n > 1 ? "unable to parse requirement: [" STR_FMT "]" : "unable to parse requirement: " STR_FMT,
			STR_ARG(c.text));
	}
	return c.n > 0;
}

/* Room for as many values as the list can hold: names before, between and behind the commas up to its end. */
static struct str *values_new(const struct parser *p)
{
	const char *close = memchr(p->rest.p, ')', p->rest.n);
	const char *end = close ? close : p->rest.p + p->rest.n;
	size_t n = 2;
	for (const char *c = p->rest.p; c < end; c++) {
		n += *c == ',';
	}
	return arena_array(p->arena, struct str, n);
}

static void values_normalize(struct requirement *r)
{
	str_sort(r->values, r->n_values);
	size_t kept = 0;
	for (size_t i = 0; i < r->n_values; i++) {
		if (kept == 0 || !str_eq(r->values[kept - 1], r->values[i])) {
			r->values[kept++] = r->values[i];
		}
	}
	r->n_values = kept;
}

/* From behind "(" to behind ")": nothing between two commas, or between one and a parenthesis, is the empty value. */
static int parse_list_items(struct parser *p, struct requirement *r)
{
	bool is_after_name = false;
	while (p->next.kind != TOKEN_CLOSE) {
		struct token token = parser_take(p);
		if (is_name(token)) {
			r->values[r->n_values++] = token.text;
			is_after_name = true;
			if (p->next.kind != TOKEN_COMMA && p->next.kind != TOKEN_CLOSE) {
				return refuse_requirement(p, p->next, ", expected: ',' or ')'");
			}
			continue;
		}
		if (token.kind != TOKEN_COMMA) {
			return refuse_requirement(p, token, ", expected: ',', or identifier");
		}
		if (!is_after_name || p->next.kind == TOKEN_CLOSE) {
			r->values[r->n_values++] = STR("");
		}
		is_after_name = false;
	}
	return 0;
}

static int parse_list(struct parser *p, struct requirement *r)
{
	struct token open = parser_take(p);
	if (open.kind != TOKEN_OPEN) {
		return refuse_requirement(p, open, " expected: '('");
	}
	if (!is_name(p->next) && p->next.kind != TOKEN_COMMA && p->next.kind != TOKEN_CLOSE) {
		return refuse_requirement(p, p->next, ", expected: ',', ')' or identifier");
	}

	r->values = values_new(p);
	if (p->next.kind == TOKEN_CLOSE) {
		r->values[r->n_values++] = STR("");
	}
	if (parse_list_items(p, r)) {
		return 1;
	}
	parser_take(p);
	values_normalize(r);
	return 0;
}

static int parse_one_value(struct parser *p, struct requirement *r)
{
	r->values = arena_new(p->arena, struct str);
	r->n_values = 1;
	if (ends_requirement(p->next)) {
		r->values[0] = STR("");
		return 0;
	}
	struct token token = parser_take(p);
	if (!is_name(token)) {
		return refuse_requirement(p, token, ", expected: identifier");
	}
	r->values[0] = token.text;
	return 0;
}

static int parse_comparison(struct parser *p, struct requirement *r)
{
	struct token token = parser_take(p);
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (operators[i].token == token.kind) {
			r->op = operators[i].op;
			int failed = operators[i].has_list ? parse_list(p, r) : parse_one_value(p, r);
			return failed ? failed : check_values(p, r);
		}
	}
	return refuse_requirement(p, token, ", expected: in, notin, =, ==, !=, gt, lt");
}

static int parse_requirement(struct parser *p, struct requirement *r)
{
	struct token token = parser_take(p);
	bool is_not = token.kind == TOKEN_NOT;
	if (is_not) {
		token = parser_take(p);
	}
	if (!is_name(token)) {
		return refuse_requirement(p, token, ", expected: identifier");
	}
	if (check_key(p, token.text)) {
		return 1;
	}

	r->key = token.text;
	if (is_not || ends_requirement(p->next)) {
		r->op = is_not ? SELECTOR_NOT_EXISTS : SELECTOR_EXISTS;
		return 0;
	}
	return parse_comparison(p, r);
}

static void selector_add(struct parser *p, const struct requirement *r)
{
	if (p->selector.n == p->cap) {
		p->cap = MAX(2 * p->cap, (size_t)4);
		struct requirement *v = arena_array(p->arena, struct requirement, p->cap);
		if (p->selector.n) {
			memcpy(v, p->selector.v, p->selector.n * sizeof(*v));
		}
		p->selector.v = v;
	}
	p->selector.v[p->selector.n++] = *r;
}

static int parse_requirements(struct parser *p)
{
	while (p->next.kind != TOKEN_END) {
		struct requirement r = {0};
		if (parse_requirement(p, &r)) {
			return 1;
		}
		selector_add(p, &r);

		struct token token = parser_take(p);
		if (!ends_requirement(token)) {
			return parser_refuse(p, token, "',' or 'end of string'");
		}
		if (token.kind == TOKEN_COMMA && !is_name(p->next) && p->next.kind != TOKEN_NOT) {
			return parser_refuse(p, p->next, "identifier after ','");
		}
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct requirement *x = a, *y = b;
	return str_cmp(x->key, y->key);
}

int label_selector_parse(struct label_selector *ret, struct str text, struct arena *a, struct status *st)
{
	struct parser p = {.rest = text, .arena = a, .st = st};
	parser_take(&p);
	if (p.next.kind != TOKEN_END && p.next.kind != TOKEN_NOT && !is_name(p.next)) {
		return parser_refuse(&p, p.next, "!, identifier, or 'end of string'");
	}
	if (parse_requirements(&p)) {
		return 1;
	}
	if (p.selector.n > 1) {
		/* By key, as upstream: errors and printed selectors come in this order. */
		qsort(p.selector.v, p.selector.n, sizeof(*p.selector.v), compare_keys);
	}
	*ret = p.selector;
	return 0;
}

static const struct label *find_label(const struct label *labels, size_t n, struct str key)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(labels[middle].key, key);
		if (order == 0) {
			return &labels[middle];
		}
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

static bool has_value(const struct requirement *r, struct str value)
{
	assert(r->n_values > 0);
	if (r->n_values == 1) {
		return str_eq(r->values[0], value);
	}
	return bsearch(&value, r->values, r->n_values, sizeof(*r->values), str_cmp_at);
}

static bool requirement_matches(const struct requirement *r, const struct label *labels, size_t n)
{
	const struct label *label = find_label(labels, n, r->key);
	int64_t number;
	switch (r->op) {
	case SELECTOR_IN:
		return label && has_value(r, label->value);
	case SELECTOR_NOT_IN:
		return !label || !has_value(r, label->value);
	case SELECTOR_EXISTS:
		return label;
	case SELECTOR_NOT_EXISTS:
		return !label;
	case SELECTOR_GREATER:
		return label && str_to_int64(label->value, &number) && number > r->number;
	case SELECTOR_LESS:
		return label && str_to_int64(label->value, &number) && number < r->number;
	}
	return false;
}

bool label_selector_matches(const struct label_selector *s, const struct label *labels, size_t n)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!requirement_matches(&s->v[i], labels, n)) {
			return false;
		}
	}
	return true;
}

/* The texts around a requirement's key and values; a list has parentheses. */
static const struct spelling {
	const char *before, *one, *list;
} spellings[] = {
	[SELECTOR_IN] = {"", "=", " in "},
	[SELECTOR_NOT_IN] = {"", "!=", " notin "},
	[SELECTOR_EXISTS] = {"", "", ""},
	[SELECTOR_NOT_EXISTS] = {"!", "", ""},
	[SELECTOR_GREATER] = {"", ">", ""},
	[SELECTOR_LESS] = {"", "<", ""},
};

static void write_requirement(struct buf *b, const struct requirement *r)
{
	const struct spelling *s = &spellings[r->op];
	bool is_list = r->n_values > 1;
	buf_adds(b, s->before);
	buf_add_str(b, r->key);
	buf_adds(b, is_list ? s->list : s->one);
	for (size_t i = 0; i < r->n_values; i++) {
		if (is_list) {
			buf_addc(b, i ? ',' : '(');
		}
		buf_add_str(b, r->values[i]);
	}
	if (is_list) {
		buf_addc(b, ')');
	}
}

struct str label_selector_string(const struct label_selector *s, struct arena *a)
{
	struct buf b;
	buf_init(&b, TEXT_MAX);
	for (size_t i = 0; i < s->n; i++) {
		if (i) {
			buf_addc(&b, ',');
		}
		write_requirement(&b, &s->v[i]);
	}
	struct str text = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return text;
}

/* ---- selectors as objects ----
 *
 * LabelSelectorAsSelector of k8s.io/apimachinery/pkg/apis/meta/v1: webhooks and policies have
 * selectors as objects. Both forms become one struct, so there is one matcher. */

static const struct operation {
	const char *name;
	enum selector_op op;
	bool has_values;
} operations[] = {
	{"In", SELECTOR_IN, true},
	{"NotIn", SELECTOR_NOT_IN, true},
	{"Exists", SELECTOR_EXISTS, false},
	{"DoesNotExist", SELECTOR_NOT_EXISTS, false},
};

static const struct operation *find_operation(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (str_is(name, operations[i].name)) {
			return &operations[i];
		}
	}
	return NULL;
}

static int compare_requirements(const void *a, const void *b)
{
	return str_cmp(((const struct requirement *)a)->key, ((const struct requirement *)b)->key);
}

static void set_values(struct requirement *r, const struct json *values, struct arena *a)
{
	uint32_t n = json_is(values, JSON_ARRAY) ? values->n : 0;
	struct str *sorted = arena_array(a, struct str, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = json_text(values->items[i]);
	}
	str_sort(sorted, n);
	r->values = sorted;
	for (uint32_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(sorted[i], sorted[i - 1])) {
			r->values[r->n_values++] = sorted[i];
		}
	}
}

static int add_expression(struct label_selector *s, const struct json *expression, struct arena *a, struct str *ret_problem)
{
	struct str name = member_text(expression, "operator");
	const struct operation *operation = find_operation(name);
	if (!operation) {
		*ret_problem = arena_printf(a, STR_FMT " is not a valid label selector operator", STR_ARG(go_quote(a, name)));
		return 1;
	}
	struct requirement *r = &s->v[s->n++];
	*r = (struct requirement){.op = operation->op, .key = member_text(expression, "key")};
	set_values(r, json_gets(expression, "values"), a);
	if (operation->has_values != (r->n_values > 0)) {
		*ret_problem = operation->has_values ? STR("for 'in', 'notin' operators, values set can't be empty")
						     : STR("values set must be empty for exists and does not exist");
		return 1;
	}
	return 0;
}

static void add_label(struct label_selector *s, const struct json_member *label, struct arena *a)
{
	struct requirement *r = &s->v[s->n++];
	*r = (struct requirement){.op = SELECTOR_IN, .key = label->name, .values = arena_new(a, struct str), .n_values = 1};
	r->values[0] = json_text(label->value);
}

int label_selector_read(struct label_selector *ret, const struct json *object, struct arena *a, struct str *ret_problem)
{
	const struct json *labels = json_gets(object, "matchLabels"), *expressions = json_gets(object, "matchExpressions");
	uint32_t n_labels = json_is(labels, JSON_OBJECT) ? labels->n : 0;
	uint32_t n_expressions = json_is(expressions, JSON_ARRAY) ? expressions->n : 0;
	struct label_selector s = {.v = arena_array(a, struct requirement, (size_t)n_labels + n_expressions + 1)};
	for (uint32_t i = 0; i < n_labels; i++) {
		add_label(&s, &labels->members[i], a);
	}
	for (uint32_t i = 0; i < n_expressions; i++) {
		int r = add_expression(&s, expressions->items[i], a, ret_problem);
		if (r) {
			return r;
		}
	}
	assert(s.n == (size_t)n_labels + n_expressions); /* none is lost: a selector without it would match more */
	qsort(s.v, s.n, sizeof(*s.v), compare_requirements);
	*ret = s;
	return 0;
}
