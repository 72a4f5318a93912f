/* Parses a path once, and walks an object along it. A walk takes the first value that it finds, and
 * goes back where a branch ends: as upstream prints the first of several results. */
#include "api/custom/jsonpath.h"

#include <stdlib.h>

enum { STEPS_MAX = 64 }; /* of a path: its text has at most 1,000 bytes or so, and real ones have six */

enum step_kind { STEP_MEMBER, STEP_ITEM, STEP_ALL, STEP_FILTER };

struct step {
	enum step_kind kind;
	struct str name;    /* the member of a STEP_MEMBER, or the one that a STEP_FILTER compares */
	struct str literal; /* STEP_FILTER: without quotes */
	bool is_text;       /* the literal had quotes */
	bool is_unequal;    /* != */
	int64_t index;      /* STEP_ITEM; negative from the end */
};

struct jsonpath {
	size_t n;
	bool is_readable;
	struct step steps[];
};

struct parser {
	const char *p, *end;
	struct arena *a;
	struct step steps[STEPS_MAX];
	size_t n;
};

static struct step *parser_add(struct parser *ps, enum step_kind kind)
{
	if (ps->n == STEPS_MAX) {
		return NULL;
	}
	ps->steps[ps->n] = (struct step){.kind = kind};
	return &ps->steps[ps->n++];
}

static bool ends_name(char c)
{
	return c == '.' || c == '[' || c == ']' || c == ' ' || c == '=' || c == '!' || c == ')' || c == '<' || c == '>';
}

/* A name in which a backslash hides the next character. */
static struct str parser_name(struct parser *ps)
{
	char *name = arena_text(ps->a, (size_t)(ps->end - ps->p));
	size_t n = 0;

	while (ps->p < ps->end && !ends_name(*ps->p)) {
		if (*ps->p == '\\' && ps->p + 1 < ps->end) {
			ps->p++;
		}
		name[n++] = *ps->p++;
	}
	return (struct str){name, n};
}

static bool parser_quoted(struct parser *ps, struct str *ret)
{
	char quote = *ps->p++;
	const char *start = ps->p;

	while (ps->p < ps->end && *ps->p != quote) {
		ps->p++;
	}
	if (ps->p == ps->end) {
		return false;
	}
	*ret = (struct str){start, (size_t)(ps->p - start)};
	ps->p++;
	return true;
}

static bool parser_takes(struct parser *ps, const char *text)
{
	struct str rest = {ps->p, (size_t)(ps->end - ps->p)};

	if (!str_starts(rest, str_of(text))) {
		return false;
	}
	ps->p += strlen(text);
	return true;
}

static void parser_skip_blanks(struct parser *ps)
{
	while (ps->p < ps->end && *ps->p == ' ') {
		ps->p++;
	}
}

/* Behind "[?(". */
static bool parser_filter(struct parser *ps)
{
	struct step *s = parser_add(ps, STEP_FILTER);

	if (!s || !parser_takes(ps, "@.")) {
		return false;
	}
	s->name = parser_name(ps);
	parser_skip_blanks(ps);
	s->is_unequal = parser_takes(ps, "!=");
	if (!s->is_unequal && !parser_takes(ps, "==")) {
		return false;
	}
	parser_skip_blanks(ps);
	if (ps->p < ps->end && (*ps->p == '"' || *ps->p == '\'')) {
		s->is_text = true;
		if (!parser_quoted(ps, &s->literal)) {
			return false;
		}
	} else {
		s->literal = parser_name(ps);
	}
	parser_skip_blanks(ps);
	return parser_takes(ps, ")]");
}

/* Behind "[". */
static bool parser_bracket(struct parser *ps)
{
	struct str text;

	if (parser_takes(ps, "*]")) {
		return parser_add(ps, STEP_ALL) != NULL;
	}
	if (parser_takes(ps, "?(")) {
		return parser_filter(ps);
	}
	if (ps->p < ps->end && (*ps->p == '\'' || *ps->p == '"')) {
		struct step *s = parser_add(ps, STEP_MEMBER);
		return s && parser_quoted(ps, &s->name) && parser_takes(ps, "]");
	}
	text = parser_name(ps);
	struct step *s = parser_add(ps, STEP_ITEM);
	return s && str_to_int64(text, &s->index) && parser_takes(ps, "]");
}

static bool parser_run(struct parser *ps)
{
	while (ps->p < ps->end) {
		if (parser_takes(ps, "[")) {
			if (!parser_bracket(ps)) {
				return false;
			}
			continue;
		}
		/* The dot before a bracket, or at the end, leads nowhere else. */
		if (!parser_takes(ps, ".")) {
			return false;
		}
		if (ps->p == ps->end || *ps->p == '[') {
			continue;
		}
		if (parser_takes(ps, "*")) {
			if (!parser_add(ps, STEP_ALL)) {
				return false;
			}
			continue;
		}
		struct str name = parser_name(ps);
		struct step *s = name.n > 0 ? parser_add(ps, STEP_MEMBER) : NULL;
		if (!s) {
			return false;
		}
		s->name = name;
	}
	return true;
}

const struct jsonpath *jsonpath_parse(struct str text, struct arena *a)
{
	text = arena_dup(a, text);
	struct parser ps = {.p = text.p, .end = text.p + text.n, .a = a};
	bool is_readable = text.n > 0 && text.p[0] == '.' && parser_run(&ps);
	struct jsonpath *p = arena_zalloc(a, sizeof(*p) + ps.n * sizeof(p->steps[0]));

	p->n = ps.n;
	p->is_readable = is_readable;
	memcpy(p->steps, ps.steps, ps.n * sizeof(p->steps[0]));
	return p;
}

static bool filter_takes(const struct step *s, const struct json *item)
{
	const struct json *member = json_get(item, s->name);

	if (!member) {
		return false;
	}
	bool is_boolean = member->kind == JSON_BOOL && !s->is_text && str_is(s->literal, member->boolean ? "true" : "false");
	bool is_same = is_boolean || ((member->kind == JSON_STRING) == s->is_text && str_eq(json_text(member), s->literal));
	return is_same != s->is_unequal;
}

static const struct json *walk(const struct step *s, size_t n, const struct json *j);

static const struct json *walk_each(const struct step *s, size_t n, const struct json *j)
{
	bool is_list = json_is(j, JSON_ARRAY), is_object = json_is(j, JSON_OBJECT);
	const struct json *found = NULL;

	for (uint32_t i = 0; !found && (is_list || is_object) && i < j->n; i++) {
		const struct json *each = is_list ? j->items[i] : j->members[i].value;
		if (s->kind == STEP_ALL || filter_takes(s, each)) {
			found = walk(s + 1, n - 1, each);
		}
	}
	return found;
}

/* Recurses once for each step, and a path has a limited number of steps. */
static const struct json *walk(const struct step *s, size_t n, const struct json *j)
{
	if (n == 0 || !j) {
		return j;
	}
	switch (s->kind) {
	case STEP_MEMBER:
		return walk(s + 1, n - 1, json_get(j, s->name));
	case STEP_ITEM: {
		int64_t at = json_is(j, JSON_ARRAY) && s->index < 0 ? s->index + j->n : s->index;
		return json_is(j, JSON_ARRAY) && at >= 0 && at < j->n ? walk(s + 1, n - 1, j->items[at]) : NULL;
	}
	case STEP_ALL:
	case STEP_FILTER:
		return walk_each(s, n, j);
	}
	return NULL;
}

const struct json *jsonpath_first(const struct jsonpath *p, const struct json *root)
{
	return p->is_readable ? walk(p->steps, p->n, root) : NULL;
}
