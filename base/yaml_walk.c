/* Only who reads a text knows how many lines a value has taken: long strings are folded, others are
 * blocks, and names that are long stand on a line of their own. libyaml says where each event
 * begins, so the walk follows its events as far as the line. */
#include "base/yaml_walk.h"

#include <stdlib.h>
#include <yaml.h>

/* A collection that has begun, and where in it the walk is. */
struct frame {
	bool is_list, has_name; /* has_name: of a member, whose value comes next */
	bool has_step;          /* something of it has begun */
	char *name;             /* owned: what step.name is */
};

struct yaml_walk {
	yaml_parser_t parser;
	yaml_event_t event; /* the next one */
	bool has_event, is_over;
	struct frame *frames;
	struct yaml_step *steps; /* of each frame */
	size_t depth, cap;
};

static bool fetch(struct yaml_walk *w)
{
	if (!w->has_event) {
		w->has_event = yaml_parser_parse(&w->parser, &w->event);
	}
	return w->has_event;
}

static void drop(struct yaml_walk *w)
{
	if (w->has_event) {
		yaml_event_delete(&w->event);
		w->has_event = false;
	}
}

struct yaml_walk *yaml_walk_new(struct str text)
{
	struct yaml_walk *w = mem_new(struct yaml_walk);

	if (!yaml_parser_initialize(&w->parser)) {
		abort(); /* out of memory: see base.h */
	}
	yaml_parser_set_input_string(&w->parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
	return w;
}

struct yaml_walk *yaml_walk_free(struct yaml_walk *w)
{
	if (w) {
		drop(w);
		yaml_parser_delete(&w->parser);
		for (size_t i = 0; i < w->cap; i++) {
			mem_free(w->frames[i].name);
		}
		mem_free(w->frames);
		mem_free(w->steps);
	}
	return mem_free(w);
}

/* ---- one event ---- */

static void take_name(struct yaml_walk *w, struct frame *f, struct yaml_step *step)
{
	size_t n = w->event.data.scalar.length;

	mem_free(f->name);
	f->name = mem_strndup((const char *)w->event.data.scalar.value, n);
	*step = (struct yaml_step){.name = {f->name, n}};
	f->has_step = f->has_name = true;
}

/* A value or a name begins in the innermost collection. */
static void begin_in_frame(struct yaml_walk *w)
{
	if (w->depth == 0) {
		return;
	}
	struct frame *f = &w->frames[w->depth - 1];
	struct yaml_step *step = &w->steps[w->depth - 1];
	if (f->is_list) {
		step->index += f->has_step;
		step->is_item = f->has_step = true;
	} else if (!f->has_name) {
		take_name(w, f, step);
	} else {
		f->has_name = false;
	}
}

static void open_frame(struct yaml_walk *w, bool is_list)
{
	if (w->depth == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 16;
		w->frames = mem_realloc_array(w->frames, cap, sizeof(*w->frames));
		w->steps = mem_realloc_array(w->steps, cap, sizeof(*w->steps));
		memset(w->frames + w->cap, 0, (cap - w->cap) * sizeof(*w->frames));
		w->cap = cap;
	}
	char *name = w->frames[w->depth].name;
	w->frames[w->depth] = (struct frame){.is_list = is_list, .name = name};
	w->steps[w->depth] = (struct yaml_step){0};
	w->depth++;
}

static void take_event(struct yaml_walk *w)
{
	switch (w->event.type) {
	case YAML_SCALAR_EVENT:
		begin_in_frame(w);
		break;
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		begin_in_frame(w);
		open_frame(w, w->event.type == YAML_SEQUENCE_START_EVENT);
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		w->depth--;
		break;
	case YAML_STREAM_END_EVENT:
		w->is_over = true;
		break;
	default:
		break;
	}
}

bool yaml_walk_to(struct yaml_walk *w, size_t line)
{
	while (!w->is_over) {
		if (!fetch(w)) {
			return false;
		}
		if (w->event.start_mark.line > line) {
			return true;
		}
		take_event(w);
		drop(w);
	}
	return true;
}

size_t yaml_walk_path(const struct yaml_walk *w, const struct yaml_step **ret)
{
	bool is_inside = w->depth > 0 && w->frames[w->depth - 1].has_step;

	*ret = w->steps;
	return w->depth - (w->depth > 0 && !is_inside);
}
