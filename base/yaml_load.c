/* From libyaml's events to nodes. Its own document API is not used: it loads a whole document
 * before anybody could count its nodes. Every node counts against the limits as it is made. */
#include "base/yaml_node.h"

#include "base/map.h"

#include <stdlib.h>
#include <yaml.h>

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

/* Up to the end of the first document. What follows is not even scanned, as upstream. */
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
