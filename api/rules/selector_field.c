/* k8s.io/apimachinery/pkg/fields. Only declared fields can be selected by: the cache keeps their
 * values parsed, so that selecting never reads an object. Computed fields (spec.providers.NAME) are
 * this server's own. */
#include "api/rules/selector.h"

#include "api/model/gotext.h"

#include <assert.h>
#include <stdlib.h>

/* Everywhere; kinds add their own. */
static const struct common_field {
	const char *path;
	int field;
} common_fields[] = {
	{"metadata.name", FIELD_TERM_NAME},
	{"metadata.namespace", FIELD_TERM_NAMESPACE},
};

/* The first of these in a term separates path and value; longer ones before their endings. */
static const struct comparison {
	const char *text;
	bool is_not;
} comparisons[] = {
	{"!=", true},
	{"==", false},
	{"=", false},
};

struct parser {
	struct str text;
	const struct kind *kind;
	const struct version *version;
	struct arena *arena;
	struct status *st;
};

/* The length of the first term. A comma behind a backslash is part of the value. */
static size_t term_length(struct str text)
{
	size_t n = 0;
	while (n < text.n && text.p[n] != ',') {
		n += text.p[n] == '\\' && n + 1 < text.n ? 2 : 1;
	}
	return n;
}

/* Upstream sorts the terms before it reads them, so the first mistake is the first in that order. */
static struct str *split_terms(struct parser *p, size_t *ret_n)
{
	size_t n = 1;
	for (size_t i = 0; i < p->text.n; i++) {
		n += p->text.p[i] == ',';
	}
	struct str *terms = arena_array(p->arena, struct str, n);

	struct str rest = p->text;
	for (n = 0; rest.n > 0;) {
		size_t length = term_length(rest);
		if (length > 0) {
			terms[n++] = (struct str){rest.p, length};
		}
		length = MIN(length + 1, rest.n);
		rest = (struct str){rest.p + length, rest.n - length};
	}
	str_sort(terms, n);
	*ret_n = n;
	return terms;
}

static const struct comparison *find_comparison(struct str text)
{
	for (size_t i = 0; i < ARRAY_SIZE(comparisons); i++) {
		if (str_starts(text, str_of(comparisons[i].text))) {
			return &comparisons[i];
		}
	}
	return NULL;
}

static bool is_escapable(char c)
{
	return c == '\\' || c == ',' || c == '=';
}

/* The character that begins at p, whole. */
static struct str rune_at(const char *p, const char *end)
{
	size_t n = 1;
	while (p + n < end && ((unsigned char)p[n] & 0xc0) == 0x80) {
		n++;
	}
	return (struct str){p, n};
}

static int unescape(struct parser *p, struct str raw, struct str *ret)
{
	char *text = arena_text(p->arena, raw.n);
	const char *end = raw.p + raw.n;
	size_t n = 0;
	for (const char *c = raw.p; c < end; c++) {
		if (*c == '\\') {
			c++;
			if (c == end || !is_escapable(*c)) {
				struct str rune = c == end ? STR("") : rune_at(c, end);
				status_bad_request(
					p->st, "invalid field selector: invalid escape sequence: \\" STR_FMT, STR_ARG(rune));
				return 1;
			}
		} else if (is_escapable(*c)) {
			status_bad_request(p->st, "invalid field selector: unescaped character in value: %d", *c);
			return 1;
		}
		text[n++] = *c;
	}
	*ret = (struct str){text, n};
	return 0;
}

static int parse_term(struct parser *p, struct str text, struct field_term *ret)
{
	for (size_t i = 0; i < text.n; i++) {
		const struct comparison *c = find_comparison((struct str){text.p + i, text.n - i});
		if (c) {
			size_t behind = i + strlen(c->text);
			ret->path = (struct str){text.p, i};
			ret->is_not = c->is_not;
			return unescape(p, (struct str){text.p + behind, text.n - behind}, &ret->value);
		}
	}
	status_bad_request(
		p->st, "invalid selector: '" STR_FMT "'; can't understand '" STR_FMT "'", STR_ARG(p->text), STR_ARG(text));
	return 1;
}

/* "=" and its like, which upstream takes for no condition at all. */
static bool is_everything(const struct field_term *term)
{
	return term->path.n == 0 && term->value.n == 0;
}

/* Upstream's versions show only upstream's fields, and a definition's those that it names. */
static bool is_selectable(const struct parser *p, const struct selectable_field *f)
{
	return selectable_is_visible(f, p->kind, p->version);
}

static bool has_own_fields(const struct parser *p)
{
	for (size_t i = 0; i < p->kind->n_selectable; i++) {
		if (is_selectable(p, &p->kind->selectable[i])) {
			return true;
		}
	}
	return false;
}

/* The kind's path of what the version calls otherwise; the empty one where the version has no such field. */
static struct str kinds_path(const struct version *version, struct str path)
{
	if (!version->field_aliases) {
		return path;
	}
	for (const struct field_alias *alias = version->field_aliases; alias->name; alias++) {
		if (str_is(path, alias->name)) {
			return str_of(alias->path);
		}
	}
	return STR("");
}

/* PREFIX and a name. */
static bool find_computed(const struct parser *p, struct str path, int *ret)
{
	for (const struct reference_field *f = p->kind->reference_fields; f && f->prefix; f++) {
		if (str_starts(path, str_of(f->prefix)) && path.n > strlen(f->prefix)) {
			*ret = FIELD_TERM_COMPUTED;
			return true;
		}
	}
	return false;
}

static bool find_field(const struct parser *p, struct str path, int *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(common_fields); i++) {
		if (str_is(path, common_fields[i].path)) {
			*ret = common_fields[i].field;
			return true;
		}
	}
	path = kinds_path(p->version, path);
	for (size_t i = 0; i < p->kind->n_selectable; i++) {
		if (str_is(path, p->kind->selectable[i].path) && is_selectable(p, &p->kind->selectable[i])) {
			*ret = (int)i;
			return true;
		}
	}
	return find_computed(p, path, ret);
}

/* Kinds with fields of their own name all they know, and upstream's cluster-scoped ones (Namespace) do not name
 * metadata.namespace; the others share one conversion, which speaks differently. */
static int resolve(struct parser *p, struct field_term *term)
{
	bool has_own = has_own_fields(p);
	bool is_known = find_field(p, term->path, &term->field);
	if (is_known && !(has_own && !p->kind->is_namespaced && term->field == FIELD_TERM_NAMESPACE)) {
		return 0;
	}
	if (has_own || p->kind->life) {
		status_bad_request(p->st, "field label not supported: " STR_FMT, STR_ARG(term->path));
	} else {
		status_bad_request(p->st,
			STR_FMT " is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
			STR_ARG(go_quote(p->arena, term->path)));
	}
	return 1;
}

/* Parses all terms. Their fields are looked up later, in the kind. */
static int parse_terms(struct parser *p, struct field_selector *ret)
{
	size_t n;
	struct str *terms = split_terms(p, &n);
	*ret = (struct field_selector){.v = arena_array(p->arena, struct field_term, n)};
	for (size_t i = 0; i < n; i++) {
		struct field_term *term = &ret->v[ret->n];
		if (parse_term(p, terms[i], term)) {
			return 1;
		}
		ret->n += !is_everything(term);
	}
	return 0;
}

bool field_selector_read(struct field_selector *ret, struct str text, struct arena *a)
{
	struct status ignored;
	status_init(&ignored, a);
	return parse_terms(&(struct parser){.text = text, .arena = a, .st = &ignored}, ret) == 0;
}

bool field_selector_is_readable(struct str text, struct arena *a)
{
	struct field_selector selector;
	return field_selector_read(&selector, text, a);
}

int field_selector_parse(struct field_selector *ret, struct str text, const struct kind *kind, const struct version *version,
	struct arena *a, struct status *st)
{
	struct parser p = {text, kind, version, a, st};
	struct field_selector selector;
	if (parse_terms(&p, &selector)) {
		return 1;
	}
	for (size_t i = 0; i < selector.n; i++) {
		if (resolve(&p, &selector.v[i])) {
			return 1;
		}
	}
	*ret = selector;
	return 0;
}

static bool field_values_has(const struct field_values *values, struct str computed)
{
	return values->n_computed > 0 &&
		bsearch(&computed, values->computed, values->n_computed, sizeof(computed), str_cmp_at) != NULL;
}

static struct str value_of(const struct field_term *t, struct str name, struct str ns, const struct field_values *values)
{
	switch (t->field) {
	case FIELD_TERM_NAME:
		return name;
	case FIELD_TERM_NAMESPACE:
		return ns;
	case FIELD_TERM_COMPUTED:
		return field_values_has(values, t->path) ? STR("true") : STR("");
	default:
		assert(t->field >= 0 && values->values);
		return values->values[t->field];
	}
}

bool field_selector_matches(const struct field_selector *s, struct str name, struct str ns, const struct field_values *values)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct field_term *t = &s->v[i];
		if (str_eq(value_of(t, name, ns, values), t->value) == t->is_not) {
			return false;
		}
	}
	return true;
}

bool field_selector_requires(const struct field_selector *s, int field, struct str *ret_value)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].field == field && !s->v[i].is_not) {
			*ret_value = s->v[i].value;
			return true;
		}
	}
	return false;
}
