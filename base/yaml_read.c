/* YAML to JSON text, as sigs.k8s.io/yaml does it with go-yaml v2 and encoding/json: keys sorted,
 * floats as Go writes them, errors word for word. It makes text, not a tree, so that one parser
 * applies its rules to both formats.
 *
 * The way has two halves. yaml_load() turns libyaml's events into a graph of nodes, and what
 * follows writes the graph. Aliases are expanded only while writing, where spend() counts what
 * comes of them: a billion laughs stops there. */
#include "base/map.h"
#include "base/yaml_node.h"
#include "base/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>
#include <yaml.h>

struct repetition {
	size_t line;
	struct str key;
	struct repetition *next;
};

struct writer {
	struct buf *out;
	struct yaml_limits limits;
	struct arena *arena;
	unsigned depth, alias_depth;
	size_t n_values, n_from_aliases;
	struct repetition *repetitions; /* newest first */
	struct str *ret_error;
};

static int write_node(struct writer *w, struct node *n);

#define TAG_PREFIX "tag:yaml.org,2002:"

static const struct {
	const char *tag;
	enum yaml_scalar_kind kind;
	const char *name;
} tags[] = {
	{TAG_PREFIX "bool", YAML_BOOL, "!!bool"},
	{TAG_PREFIX "int", YAML_INT, "!!int"},
	{TAG_PREFIX "float", YAML_FLOAT, "!!float"},
	{TAG_PREFIX "null", YAML_NULL, "!!null"},
};

static const char *const kind_tags[] = {
	[YAML_STRING] = "!!str",
	[YAML_NULL] = "!!null",
	[YAML_BOOL] = "!!bool",
	[YAML_INT] = "!!int",
	[YAML_FLOAT] = "!!float",
	[YAML_TIMESTAMP] = "!!timestamp",
};

/* Base64 to text, in place of what json would make of it anyway. */
static bool decode_base64(struct str in, struct arena *a, struct str *ret)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = arena_text(a, in.n / 4 * 3 + 3);
	size_t n = 0, digits = 0, padding = 0;
	uint32_t group = 0;

	for (size_t i = 0; i < in.n; i++) {
		const char *digit = in.p[i] ? strchr(alphabet, in.p[i]) : NULL;
		if (in.p[i] == '\n' || in.p[i] == '\r') {
			continue;
		}
		if (in.p[i] == '=' && digits >= 2) {
			padding++;
		} else if (!digit || padding > 0) {
			return false;
		}
		group = group << 6 | (uint32_t)(digit ? digit - alphabet : 0);
		if (++digits == 4) {
			out[n] = (char)(group >> 16);
			out[n + 1] = (char)(group >> 8);
			out[n + 2] = (char)group;
			n += 3 - padding;
			digits = 0;
		}
	}
	*ret = (struct str){out, n};
	return digits == 0;
}

static int tagged_scalar(struct writer *w, const struct node *n, struct yaml_scalar *ret)
{
	if (str_is(n->tag, TAG_PREFIX "binary") && !decode_base64(n->value, w->arena, &ret->lexeme)) {
		return yaml_fail(w->ret_error, STR("yaml: !!binary value contains invalid base64 data"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (!str_is(n->tag, tags[i].tag)) {
			continue;
		}
		yaml_scalar_resolve(ret, n->value, w->arena);
		if (ret->kind == YAML_INT && tags[i].kind == YAML_FLOAT) {
			*ret = (struct yaml_scalar){
				.kind = YAML_FLOAT, .number = strtod(ret->lexeme.p, NULL), .lexeme = ret->lexeme};
		}
		if (ret->kind != tags[i].kind) {
			return yaml_fail(w->ret_error,
				arena_printf(w->arena, "yaml: cannot decode %s `" STR_FMT "` as a %s", kind_tags[ret->kind],
					STR_ARG(n->value), tags[i].name));
		}
	}
	return 0;
}

static bool is_string_kind(enum yaml_scalar_kind kind)
{
	return kind == YAML_STRING || kind == YAML_TIMESTAMP;
}

/* A key or a value: what a scalar is once its tag and style are regarded. */
static int scalar_of(struct writer *w, const struct node *n, struct yaml_scalar *ret)
{
	*ret = (struct yaml_scalar){.kind = YAML_STRING, .lexeme = n->value};
	if (n->tag.n > 0) {
		return tagged_scalar(w, n, ret);
	}
	if (n->is_plain) {
		yaml_scalar_resolve(ret, n->value, w->arena);
		if (is_string_kind(ret->kind)) {
			ret->lexeme = n->value;
		}
	}
	return 0;
}

/* Go would write the float64; so do we where that is the same number. */
static struct str float_lexeme(const struct yaml_scalar *s, struct arena *a)
{
	struct str text = yaml_format_json_float(s->number, a);

	return json_number_cmp(text, s->lexeme) == 0 ? text : s->lexeme;
}

static int write_scalar(struct writer *w, const struct node *n)
{
	struct yaml_scalar s;
	int r = scalar_of(w, n, &s);

	if (r) {
		return r;
	}
	switch (s.kind) {
	case YAML_NULL:
		BUF_LITERAL(w->out, "null");
		return 0;
	case YAML_BOOL:
		buf_adds(w->out, s.boolean ? "true" : "false");
		return 0;
	case YAML_INT:
		buf_add_str(w->out, s.lexeme);
		return 0;
	case YAML_FLOAT:
		if (!isfinite(s.number)) {
			return yaml_fail(w->ret_error,
				arena_printf(w->arena, "json: unsupported value: %s",
					isnan(s.number)        ? "NaN"
						: s.number > 0 ? "+Inf"
							       : "-Inf"));
		}
		buf_add_str(w->out, float_lexeme(&s, w->arena));
		return 0;
	default:
		json_encode_string(w->out, s.lexeme);
		return 0;
	}
}

static int write_sequence(struct writer *w, const struct node *n)
{
	buf_addc(w->out, '[');
	for (struct node *item = n->first; item; item = item->next) {
		int r = write_node(w, item);
		if (r) {
			return r;
		}
		if (item->next) {
			buf_addc(w->out, ',');
		}
	}
	buf_addc(w->out, ']');
	return 0;
}

/* Aliases nest deeper than the text does, so depth is watched here again. */
static int enter(struct writer *w, struct node *n)
{
	if (n->is_open) {
		return yaml_fail(
			w->ret_error, arena_printf(w->arena, "yaml: line %zu: an anchor's value contains itself", n->line));
	}
	if (w->depth == w->limits.depth) {
		return yaml_fail(w->ret_error, arena_printf(w->arena, "yaml: more than %u levels", w->limits.depth));
	}
	w->depth++;
	n->is_open = true;
	return 0;
}

static void leave(struct writer *w, struct node *n)
{
	n->is_open = false;
	w->depth--;
}

/* ---- mappings ---- */

struct entry {
	struct str key;
	struct node *value;
	size_t seq;
};

struct entries {
	struct entry *v; /* heap: merges make it grow */
	size_t n, cap;
};

static const struct node *follow(const struct node *n)
{
	return n->kind == NODE_ALIAS ? n->target : n;
}

static int key_of_scalar(struct writer *w, const struct node *n, struct str *ret)
{
	struct yaml_scalar s;
	int r = scalar_of(w, n, &s);

	if (r) {
		return r;
	}
	switch (s.kind) {
	case YAML_NULL:
		return yaml_fail(w->ret_error, STR("unsupported map key of type: null"));
	case YAML_BOOL:
		*ret = str_of(s.boolean ? "true" : "false");
		return 0;
	case YAML_FLOAT:
		if (isfinite(s.number)) {
			*ret = yaml_format_float(s.number, true, w->arena);
		} else {
			*ret = str_of(isnan(s.number) ? ".nan" : s.number > 0 ? ".inf" : "-.inf");
		}
		return 0;
	default:
		*ret = s.lexeme;
		return 0;
	}
}

static int key_of(struct writer *w, const struct node *n, struct str *ret)
{
	n = follow(n);
	if (n->kind != NODE_SCALAR) {
		return yaml_fail(w->ret_error, arena_printf(w->arena, "yaml: line %zu: invalid map key", n->line));
	}
	return key_of_scalar(w, n, ret);
}

static bool is_merge(const struct node *n)
{
	return n->kind == NODE_SCALAR && str_is(n->value, "<<") && (n->is_plain || str_is(n->tag, TAG_PREFIX "merge"));
}

static int collect(struct writer *w, struct entries *e, struct node *n);

/* Counts what is looked at, and stops a text that mostly repeats itself: the ratios are upstream's. */
static int spend(struct writer *w)
{
	size_t total = ++w->n_values;
	double allowed = 0.99;

	if (w->alias_depth > 0) {
		w->n_from_aliases++;
	}
	/* go-yaml's decode.go: up to 400,000 values nearly all may come from aliases, from 4
	 * million on a tenth. */
	if (total > 400000) {
		allowed = MAX(0.10, 0.99 - 0.89 * ((double)(total - 400000) / 3600000));
	}
	if (w->n_from_aliases > 100 && total > 1000 && (double)w->n_from_aliases / (double)total > allowed) {
		return yaml_fail(w->ret_error, STR("yaml: document contains excessive aliasing"));
	}
	if (total > w->limits.values || w->out->is_over || arena_is_full(w->arena)) {
		return yaml_fail(w->ret_error, arena_printf(w->arena, "yaml: more than %zu values", w->limits.values));
	}
	return 0;
}

/* Merges of merges nest like collections do. */
static int merge_mapping(struct writer *w, struct entries *e, struct node *n)
{
	bool is_alias = n->kind == NODE_ALIAS;

	n = is_alias ? n->target : n;
	if (n->kind != NODE_MAPPING) {
		return yaml_fail(w->ret_error, STR("yaml: map merge requires map or sequence of maps as the value"));
	}
	w->alias_depth += is_alias;
	int r = spend(w);
	if (!r) {
		r = enter(w, n);
	}
	if (!r) {
		r = collect(w, e, n);
		leave(w, n);
	}
	w->alias_depth -= is_alias;
	return r;
}

/* Merges a list of maps. The first map has precedence, so it is merged last. */
static int merge_sequence(struct writer *w, struct entries *e, const struct node *sequence)
{
	size_t n = 0;
	int r = 0;

	for (struct node *item = sequence->first; item; item = item->next) {
		n++;
	}
	struct node **items = arena_array(w->arena, struct node *, n);
	size_t i = 0;
	for (struct node *item = sequence->first; item; item = item->next) {
		items[i++] = item;
	}
	while (n > 0 && !r) {
		r = merge_mapping(w, e, items[--n]);
	}
	return r;
}

static int merge(struct writer *w, struct entries *e, struct node *value)
{
	return value->kind == NODE_SEQUENCE ? merge_sequence(w, e, value) : merge_mapping(w, e, value);
}

static void entries_add(struct entries *e, struct str key, struct node *value)
{
	if (e->n == e->cap) {
		e->cap = MAX((size_t)8, e->cap * 2);
		e->v = mem_realloc_array(e->v, e->cap, sizeof(*e->v));
	}
	e->v[e->n] = (struct entry){.key = key, .value = value, .seq = e->n};
	e->n++;
}

/* Collects the entries of a map. Each key counts against the limit of values, so a merge that
 * aliases repeat costs as much as it adds. */
static int collect(struct writer *w, struct entries *e, struct node *n)
{
	int r = 0;

	for (struct node *key = n->first; key && !r; key = key->next->next) {
		struct str name;
		r = spend(w);
		if (r) {
			break;
		}
		if (is_merge(key)) {
			r = merge(w, e, key->next);
			continue;
		}
		r = key_of(w, key, &name);
		if (!r) {
			entries_add(e, name, key->next);
		}
	}
	return r;
}

static int entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = str_cmp(x->key, y->key);

	return r ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

static void note_repetition(struct writer *w, const struct entry *e)
{
	struct repetition *r = arena_new(w->arena, struct repetition);

	*r = (struct repetition){.line = e->value->line, .key = e->key, .next = w->repetitions};
	w->repetitions = r;
}

static int write_entries(struct writer *w, const struct entries *e)
{
	bool is_first = true;

	for (size_t i = 0; i < e->n; i++) {
		if (i > 0 && str_eq(e->v[i].key, e->v[i - 1].key)) {
			note_repetition(w, &e->v[i]);
		}
		/* Sorted by key, then by place: the last of equal ones is the one that counts. */
		if (i + 1 < e->n && str_eq(e->v[i].key, e->v[i + 1].key)) {
			continue;
		}
		if (!is_first) {
			buf_addc(w->out, ',');
		}
		is_first = false;
		json_encode_string(w->out, e->v[i].key);
		buf_addc(w->out, ':');
		int r = write_node(w, e->v[i].value);
		if (r) {
			return r;
		}
	}
	return 0;
}

static int write_mapping(struct writer *w, struct node *n)
{
	struct entries e = {0};
	int r = collect(w, &e, n);

	if (!r) {
		if (e.n > 1) {
			qsort(e.v, e.n, sizeof(*e.v), entry_cmp);
		}
		buf_addc(w->out, '{');
		r = write_entries(w, &e);
		buf_addc(w->out, '}');
	}
	mem_free(e.v);
	return r;
}

static int write_collection(struct writer *w, struct node *n)
{
	int r = enter(w, n);

	if (r) {
		return r;
	}
	r = n->kind == NODE_SEQUENCE ? write_sequence(w, n) : write_mapping(w, n);
	leave(w, n);
	return r;
}

static int write_node(struct writer *w, struct node *n)
{
	bool is_alias = n->kind == NODE_ALIAS;
	int r = spend(w);

	if (r) {
		return r;
	}
	n = is_alias ? n->target : n;
	w->alias_depth += is_alias;
	r = n->kind == NODE_SCALAR ? write_scalar(w, n) : write_collection(w, n);
	w->alias_depth -= is_alias;
	return r;
}

/* ---- all together ---- */

static int repetition_cmp(const void *a, const void *b)
{
	const struct repetition *const *x = a, *const *y = b;

	return ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

/* A Warning or an error shows the repeated keys, and 100 of them are enough for their author. */
enum { REPETITIONS_SHOWN = 100, REPETITIONS_TEXT_MAX = 64 * 1024 };

static struct str describe_repetitions(struct repetition *list, struct arena *a)
{
	struct repetition **sorted;
	struct buf out;
	size_t n = 0;

	for (struct repetition *r = list; r; r = r->next) {
		n++;
	}
	if (n == 0) {
		return (struct str){NULL, 0};
	}
	sorted = arena_array(a, struct repetition *, n);
	for (size_t i = n; i-- > 0; list = list->next) {
		sorted[i] = list;
	}
	qsort(sorted, n, sizeof(struct repetition *), repetition_cmp);
	buf_init(&out, REPETITIONS_TEXT_MAX);
	buf_adds(&out, "yaml: unmarshal errors:");
	for (size_t i = 0; i < MIN(n, (size_t)REPETITIONS_SHOWN); i++) {
		buf_printf(&out, "\n  line %zu: key ", sorted[i]->line);
		json_encode_string(&out, sorted[i]->key);
		buf_adds(&out, " already set in map");
	}
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}

int yaml_to_json(struct buf *out, struct str yaml, struct yaml_limits limits, struct arena *a, struct str *ret_error,
	struct str *ret_repeated)
{
	struct writer w = {.out = out, .limits = limits, .arena = a, .ret_error = ret_error};
	struct node *root;
	int r = yaml_load(&root, yaml, limits, a, ret_error);

	if (!r && root) {
		r = write_node(&w, root);
	} else if (!r) {
		BUF_LITERAL(out, "null");
	}
	if (!r && out->is_over) {
		r = yaml_fail(ret_error, arena_printf(a, "yaml: more than %zu bytes", out->ceiling));
	}
	if (!r && ret_repeated) {
		*ret_repeated = describe_repetitions(w.repetitions, a);
	}
	return r;
}

/* ---- loading ---- */

/* libyaml's own document API loads a whole document before anybody could count its nodes. So nodes
 * are made from its events, and each counts against the limits as it is made. */

struct loader {
	yaml_parser_t parser;
	struct yaml_limits limits;
	struct arena *arena;
	struct map anchors;
	struct node **open; /* collections around, outermost first */
	unsigned depth;
	size_t n_nodes;
	struct node *root;
	struct str *ret_error;
};

/* Scanner errors count lines from 0, parser errors name the line before; upstream prints what comes out of that. */
static int fail_parse(struct loader *l)
{
	const yaml_parser_t *p = &l->parser;
	const char *problem = p->problem ? p->problem : "unknown problem parsing YAML content";
	size_t line = p->problem_mark.line;

	if (line != 0 && p->error == YAML_SCANNER_ERROR) {
		line++;
	} else if (line == 0) {
		line = p->context_mark.line;
	}
	if (line == 0) {
		return yaml_fail(l->ret_error, arena_printf(l->arena, "yaml: %s", problem));
	}
	return yaml_fail(l->ret_error, arena_printf(l->arena, "yaml: line %zu: %s", line, problem));
}

static struct str text_of(struct arena *a, const yaml_char_t *p, size_t n)
{
	return p ? arena_dup(a, (struct str){(const char *)p, n}) : (struct str){NULL, 0};
}

static struct str cstr_of(struct arena *a, const yaml_char_t *p)
{
	return text_of(a, p, p ? strlen((const char *)p) : 0);
}

static void node_append(struct node *parent, struct node *child)
{
	if (parent->last) {
		parent->last->next = child;
	} else {
		parent->first = child;
	}
	parent->last = child;
}

static int add_node(struct loader *l, struct node **ret, enum node_kind kind, const yaml_event_t *event,
	const yaml_char_t *anchor, const yaml_char_t *tag)
{
	struct node *n;

	if (++l->n_nodes > l->limits.values || arena_is_full(l->arena)) {
		return yaml_fail(l->ret_error, arena_printf(l->arena, "yaml: more than %zu values", l->limits.values));
	}
	n = arena_new(l->arena, struct node);
	n->kind = kind;
	n->line = event->start_mark.line + 1;
	n->tag = cstr_of(l->arena, tag);
	if (l->depth > 0) {
		node_append(l->open[l->depth - 1], n);
	} else {
		l->root = n;
	}
	/* A name may be given again: an alias means the nearest before it. */
	if (anchor) {
		map_set(&l->anchors, str_of((const char *)anchor), n, NULL);
	}
	*ret = n;
	return 0;
}

static int open_collection(
	struct loader *l, enum node_kind kind, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	struct node *n;

	if (l->depth == l->limits.depth) {
		return yaml_fail(l->ret_error, arena_printf(l->arena, "yaml: more than %u levels", l->limits.depth));
	}
	int r = add_node(l, &n, kind, event, anchor, tag);
	if (r) {
		return r;
	}
	l->open[l->depth++] = n;
	return 0;
}

static int add_scalar(struct loader *l, const yaml_event_t *event)
{
	struct node *n;
	int r = add_node(l, &n, NODE_SCALAR, event, event->data.scalar.anchor, event->data.scalar.tag);

	if (r) {
		return r;
	}
	n->value = text_of(l->arena, event->data.scalar.value, event->data.scalar.length);
	n->is_plain = event->data.scalar.plain_implicit;
	return 0;
}

static int add_alias(struct loader *l, const yaml_event_t *event)
{
	struct str name = cstr_of(l->arena, event->data.alias.anchor);
	struct node *target = map_get(&l->anchors, name), *n;

	if (!target) {
		return yaml_fail(
			l->ret_error, arena_printf(l->arena, "yaml: unknown anchor '" STR_FMT "' referenced", STR_ARG(name)));
	}
	int r = add_node(l, &n, NODE_ALIAS, event, NULL, NULL);
	if (r) {
		return r;
	}
	n->value = name;
	n->target = target;
	return 0;
}

static int load_event(struct loader *l, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return add_scalar(l, event);
	case YAML_ALIAS_EVENT:
		return add_alias(l, event);
	case YAML_SEQUENCE_START_EVENT:
		return open_collection(
			l, NODE_SEQUENCE, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return open_collection(l, NODE_MAPPING, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		l->depth--;
		return 0;
	default:
		return 0;
	}
}

/* Up to the end of the first document. The text behind it is not even scanned, as upstream. */
static int load_document(struct loader *l)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	yaml_event_t event;

	while (type != YAML_DOCUMENT_END_EVENT && type != YAML_STREAM_END_EVENT) {
		if (!yaml_parser_parse(&l->parser, &event)) {
			return fail_parse(l);
		}
		type = event.type;
		int r = load_event(l, &event);
		yaml_event_delete(&event);
		if (r) {
			return r;
		}
	}
	return 0;
}

int yaml_load(struct node **ret_root, struct str yaml, struct yaml_limits limits, struct arena *a, struct str *ret_error)
{
	struct loader l = {.limits = limits, .arena = a, .ret_error = ret_error};

	if (!yaml_parser_initialize(&l.parser)) {
		abort(); /* out of memory: see base.h */
	}
	yaml_parser_set_input_string(&l.parser, (const yaml_char_t *)(yaml.n > 0 ? yaml.p : ""), yaml.n);
	map_init(&l.anchors, limits.values);
	l.open = arena_array(a, struct node *, limits.depth + 1);
	int r = load_document(&l);
	map_done(&l.anchors);
	yaml_parser_delete(&l.parser);
	*ret_root = l.root;
	return r;
}
