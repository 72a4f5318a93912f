/* JSON trees to YAML, and the way back from a line of such YAML to its value. People and tools
 * compare our YAML with go-yaml's. So the order of keys, the quoting and the block style are go-
 * yaml's. libyaml emits; this file decides the order, and which strings must be quoted to stay
 * strings. */
#include "base/visible.h"
#include "base/yaml.h"
#include "base/yaml_scalar.h"
#include "base/yaml_walk.h"

#include <stdlib.h>
#include <yaml.h>

/* ---- order of keys ---- */

/* Go's yaml sorts like a person: f2 before f10, punctuation before letters. Bytes beyond ASCII count as letters. */
static bool is_letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static unsigned char at(struct str s, size_t i)
{
	return (unsigned char)s.p[i];
}

/* The run of digits at i as a number (wrapping, as upstream), and where it ends. */
static int64_t number_at(struct str s, size_t *i, int64_t start)
{
	uint64_t n = (uint64_t)start;

	for (; *i < s.n && is_digit(at(s, *i)); (*i)++) {
		n = n * 10 + (uint64_t)(at(s, *i) - '0');
	}
	return (int64_t)n;
}

/* With a zero on either side, digits before the difference matter: 1 in front keeps 10 behind 1. */
static int64_t digits_before(struct str s, size_t i)
{
	while (i-- > 0 && is_digit(at(s, i))) {
		if (at(s, i) != '0') {
			return 1;
		}
	}
	return 0;
}

/* Compares two strings whose first difference is at i. */
static bool key_less_at(struct str a, struct str b, size_t i)
{
	bool a_letter = is_letter(at(a, i)), b_letter = is_letter(at(b, i));
	size_t a_end = i, b_end = i;
	int64_t start = 0;

	if (a_letter && b_letter) {
		return at(a, i) < at(b, i);
	}
	if (a_letter || b_letter) {
		return b_letter;
	}
	if (at(a, i) == '0' || at(b, i) == '0') {
		start = digits_before(a, i);
	}
	int64_t a_number = number_at(a, &a_end, start);
	int64_t b_number = number_at(b, &b_end, start);
	if (a_number != b_number) {
		return a_number < b_number;
	}
	return a_end != b_end ? a_end < b_end : at(a, i) < at(b, i);
}

static bool key_less(struct str a, struct str b)
{
	for (size_t i = 0; i < a.n && i < b.n; i++) {
		if (a.p[i] != b.p[i]) {
			return key_less_at(a, b, i);
		}
	}
	return a.n < b.n;
}

/* By key, then by place, so that the last of several comes last. */
static int member_cmp(const void *a, const void *b)
{
	const struct json_member *const *pa = a, *const *pb = b;
	const struct json_member *x = *pa, *y = *pb;

	if (key_less(x->name, y->name)) {
		return -1;
	}
	if (key_less(y->name, x->name)) {
		return 1;
	}
	return (x > y) - (x < y);
}

/* ---- events ---- */

/* A collection that has begun and not ended. */
struct place {
	const struct json *node;
	struct json_member **sorted; /* of an object */
	uint32_t next;               /* item or member */
};

struct yaml_writer {
	yaml_emitter_t emitter;
	struct arena arena; /* of one scalar at a time */
	const struct json *root;
	bool has_begun;
	struct place *places; /* from the root to where writing goes on: a slice may end anywhere */
	size_t n_places, cap_places;
	struct buf *out;
	/* For terminals. Texts that must be escaped get double quotes, within which the escapes of visible.h are YAML's. */
	bool is_visible;
	bool hides_emoji; /* from libyaml: see hide_emoji() */
	bool has_private; /* the text has characters of its own in the place of hidden ones */
};

static int on_output(void *ctx, unsigned char *p, size_t n)
{
	struct yaml_writer *w = ctx;

	return buf_add(w->out, p, n);
}

/* The emitter owns an event from here on, also when it fails. */
static bool yaml_writer_emit(struct yaml_writer *w, yaml_event_t *event, int is_made)
{
	return is_made && yaml_emitter_emit(&w->emitter, event);
}

static bool emit_scalar(struct yaml_writer *w, struct str text, yaml_scalar_style_t style)
{
	yaml_event_t event;

	return yaml_writer_emit(w, &event,
		yaml_scalar_event_initialize(
			&event, NULL, NULL, (const yaml_char_t *)(text.n ? text.p : ""), (int)text.n, 1, 1, style));
}

/* To libyaml nothing beyond U+FFFF is printable: for one emoji it writes a text of many lines as one line of escapes. So it is shown
 * two private characters in its place, U+E000 and U+E400 with ten bits each, and show_emoji() takes them back. */
enum { HIDDEN_FIRST = 0xe000, HIDDEN_SECOND = 0xe400, HIDDEN_END = 0xe800 };

static uint32_t private_at(const char *p, const char *end)
{
	bool is_here = end - p >= 3 && (unsigned char)p[0] == 0xee && (unsigned char)p[1] < 0xa0;
	return is_here ? 0xe000U | ((unsigned char)p[1] & 0x3fU) << 6 | ((unsigned char)p[2] & 0x3fU) : 0;
}

static void add_private(struct buf *out, uint32_t c)
{
	const char bytes[] = {(char)0xee, (char)(0x80 | ((c >> 6) & 0x3f)), (char)(0x80 | (c & 0x3f))};
	buf_add(out, bytes, sizeof(bytes));
}

static void hide_emoji(struct yaml_writer *w, struct str text, struct buf *ret)
{
	const char *end = str_end(text);
	for (const char *p = text.p; p < end; p++) {
		bool is_far = (unsigned char)*p >= 0xf0 && end - p >= 4;
		if (is_far && visible_is((struct str){p, 4})) {
			uint32_t c = ((unsigned char)p[0] & 7U) << 18 | ((unsigned char)p[1] & 0x3fU) << 12 |
				((unsigned char)p[2] & 0x3fU) << 6 | ((unsigned char)p[3] & 0x3fU);
			add_private(ret, HIDDEN_FIRST + ((c - 0x10000) >> 10));
			add_private(ret, HIDDEN_SECOND + ((c - 0x10000) & 0x3ff));
			p += 3;
		} else {
			w->has_private |= private_at(p, end) >= HIDDEN_FIRST;
			buf_addc(ret, *p);
		}
	}
}

static void show_emoji(struct buf *out, struct str text)
{
	const char *end = str_end(text);
	for (const char *p = text.p; p < end; p++) {
		uint32_t first = private_at(p, end), second = first ? private_at(p + 3, end) : 0;
		if (!first || second < HIDDEN_SECOND) {
			buf_addc(out, *p);
			continue;
		}
		uint32_t c = 0x10000 + ((first - HIDDEN_FIRST) << 10 | (second - HIDDEN_SECOND));
		const char bytes[] = {(char)(0xf0 | c >> 18), (char)(0x80 | ((c >> 12) & 0x3f)),
			(char)(0x80 | ((c >> 6) & 0x3f)), (char)(0x80 | (c & 0x3f))};
		buf_add(out, bytes, sizeof(bytes));
		p += 5;
	}
}

/* [-+]? digits (: [0-5]? digit)+ (. digits)?: base 60, a number to other YAML 1.1 readers. */
static bool is_base60(struct str s)
{
	size_t i = 0, colons = 0;

	if (s.n > 0 && (s.p[0] == '+' || s.p[0] == '-')) {
		i++;
	}
	if (i == s.n || !is_digit(at(s, i))) {
		return false;
	}
	while (i < s.n && (is_digit(at(s, i)) || s.p[i] == '_')) {
		i++;
	}
	while (i + 1 < s.n && s.p[i] == ':' && is_digit(at(s, i + 1))) {
		bool two = i + 2 < s.n && at(s, i + 1) <= '5' && is_digit(at(s, i + 2));
		i += two ? 3 : 2;
		colons++;
	}
	if (i < s.n && s.p[i] == '.') {
		for (i++; i < s.n && (is_digit(at(s, i)) || s.p[i] == '_');) {
			i++;
		}
	}
	return colons > 0 && i == s.n;
}

/* Would it be read back as a string, and no key as a merge? */
static bool can_be_plain(struct yaml_writer *w, struct str text)
{
	struct yaml_scalar s;

	yaml_scalar_resolve(&s, text, &w->arena);
	arena_clear(&w->arena);
	return s.kind == YAML_STRING && !is_base60(text) && !str_is(text, "<<");
}

static bool write_string(struct yaml_writer *w, struct str text)
{
	yaml_scalar_style_t style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;

	if (w->is_visible && !visible_is(text)) {
		style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	} else if (text.n > 0 && memchr(text.p, '\n', text.n)) {
		style = YAML_LITERAL_SCALAR_STYLE;
	} else if (can_be_plain(w, text)) {
		style = YAML_PLAIN_SCALAR_STYLE;
	}
	if (!w->hides_emoji) {
		return emit_scalar(w, text, style);
	}
	_cleanup_(buf_done) struct buf hidden;
	buf_init(&hidden, text.n * 2 + 1);
	hide_emoji(w, text, &hidden);
	return emit_scalar(w, buf_str(&hidden), style);
}

/* As Go would write it, where that is the same number. */
static bool write_number(struct yaml_writer *w, struct str lexeme)
{
	struct yaml_scalar s;
	struct str text;

	yaml_scalar_resolve(&s, lexeme, &w->arena);
	text = s.kind == YAML_FLOAT ? yaml_format_float(s.number, false, &w->arena) : s.lexeme;
	if (text.n == 0 || json_number_cmp(text, lexeme) != 0) {
		text = lexeme;
	}
	bool ok = emit_scalar(w, text, YAML_PLAIN_SCALAR_STYLE);
	arena_clear(&w->arena);
	return ok;
}

/* ---- values ---- */

static bool write_scalar(struct yaml_writer *w, const struct json *j)
{
	switch (j->kind) {
	case JSON_NULL:
		return emit_scalar(w, STR("null"), YAML_PLAIN_SCALAR_STYLE);
	case JSON_BOOL:
		return emit_scalar(w, j->boolean ? STR("true") : STR("false"), YAML_PLAIN_SCALAR_STYLE);
	case JSON_NUMBER:
		return write_number(w, json_text(j));
	default:
		return write_string(w, json_text(j));
	}
}

static struct json_member **sort_members(const struct json *j)
{
	struct json_member **sorted = mem_array(j->n, sizeof(struct json_member *));

	for (uint32_t i = 0; i < j->n; i++) {
		sorted[i] = &j->members[i];
	}
	if (j->n > 1) {
		qsort(sorted, j->n, sizeof(struct json_member *), member_cmp);
	}
	return sorted;
}

/* A scalar is written whole, of a collection its beginning: the stack remembers where it goes on. */
static bool write_node(struct yaml_writer *w, const struct json *j)
{
	yaml_event_t event;

	if (j->kind != JSON_ARRAY && j->kind != JSON_OBJECT) {
		return write_scalar(w, j);
	}
	if (w->n_places == w->cap_places) {
		w->cap_places = MAX(2 * w->cap_places, (size_t)16);
		w->places = mem_realloc_array(w->places, w->cap_places, sizeof(*w->places));
	}
	w->places[w->n_places++] = (struct place){.node = j, .sorted = j->kind == JSON_OBJECT ? sort_members(j) : NULL};
	return yaml_writer_emit(w, &event,
		j->kind == JSON_ARRAY ? yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE)
				      : yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
}

/* Skips a member if the next one has the same name: the last one counts. */
static bool write_member(struct yaml_writer *w, struct json_member *const *members, uint32_t i, uint32_t n)
{
	if (i + 1 < n && str_eq(members[i]->name, members[i + 1]->name)) {
		return true;
	}
	return write_string(w, members[i]->name) && write_node(w, members[i]->value);
}

/* The next element of the innermost collection, or its end. */
static bool write_next(struct yaml_writer *w)
{
	struct place *place = &w->places[w->n_places - 1];
	const struct json *j = place->node;
	yaml_event_t event;

	if (place->next < j->n) {
		uint32_t i = place->next++;
		return j->kind == JSON_ARRAY ? write_node(w, j->items[i]) : write_member(w, place->sorted, i, j->n);
	}
	place->sorted = mem_free(place->sorted);
	w->n_places--;
	return yaml_writer_emit(w, &event,
		j->kind == JSON_ARRAY ? yaml_sequence_end_event_initialize(&event) : yaml_mapping_end_event_initialize(&event));
}

/* ---- the document ---- */

static bool write_begin(struct yaml_writer *w)
{
	yaml_event_t event;

	return yaml_writer_emit(w, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
		yaml_writer_emit(w, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
		write_node(w, w->root);
}

/* A block scalar with newlines at its end makes libyaml mark the end of the document with "...", which Go's does not. */
static bool write_end(struct yaml_writer *w)
{
	yaml_event_t event;

	w->emitter.open_ended = 0;
	return yaml_writer_emit(w, &event, yaml_document_end_event_initialize(&event, 1)) &&
		yaml_writer_emit(w, &event, yaml_stream_end_event_initialize(&event));
}

static void writer_init(struct yaml_writer *w)
{
	if (!yaml_emitter_initialize(&w->emitter)) {
		abort(); /* out of memory: see base.h */
	}
	yaml_emitter_set_output(&w->emitter, on_output, w);
	yaml_emitter_set_unicode(&w->emitter, true);
	arena_init(&w->arena, SIZE_MAX / 2);
}

static void writer_done(struct yaml_writer *w)
{
	while (w->n_places > 0) {
		mem_free(w->places[--w->n_places].sorted);
	}
	mem_free(w->places);
	arena_done(&w->arena);
	yaml_emitter_delete(&w->emitter);
}

struct yaml_writer *yaml_writer_new(struct buf *out, const struct json *j)
{
	struct yaml_writer *w = mem_new(struct yaml_writer);

	*w = (struct yaml_writer){.out = out, .root = j};
	writer_init(w);
	return w;
}

struct yaml_writer *yaml_writer_free(struct yaml_writer *w)
{
	if (w) {
		writer_done(w);
	}
	return mem_free(w);
}

enum yaml_progress yaml_writer_step(struct yaml_writer *w, size_t n_values)
{
	bool ok = true;

	if (!w->has_begun) {
		w->has_begun = true;
		ok = write_begin(w);
	}
	for (; ok && w->n_places > 0 && n_values > 0; n_values--) {
		ok = write_next(w);
	}
	if (ok && w->n_places > 0) {
		return w->out->is_over ? YAML_FAILED : YAML_UNFINISHED;
	}
	return ok && write_end(w) && !w->out->is_over ? YAML_WRITTEN : YAML_FAILED;
}

static bool write_yaml(struct yaml_writer *w, const struct json *j)
{
	w->root = j;
	writer_init(w);
	bool ok = yaml_writer_step(w, SIZE_MAX) == YAML_WRITTEN;
	writer_done(w);
	return ok;
}

bool yaml_from_json(struct buf *out, const struct json *j)
{
	return write_yaml(&(struct yaml_writer){.out = out}, j);
}

bool yaml_from_json_visible(struct buf *out, const struct json *j)
{
	_cleanup_(buf_done) struct buf hidden, shown;
	struct yaml_writer w = {.out = &hidden, .is_visible = true, .hides_emoji = true};
	buf_init(&hidden, out->ceiling);
	buf_init(&shown, out->ceiling);
	bool ok = write_yaml(&w, j);
	if (w.has_private) {
		buf_clear(&hidden);
		w = (struct yaml_writer){.out = &hidden, .is_visible = true};
		ok = write_yaml(&w, j);
	}
	if (w.hides_emoji) {
		show_emoji(&shown, buf_str(&hidden));
	}
	visible_add_lines(out, buf_str(w.hides_emoji ? &shown : &hidden));
	return ok && !shown.is_over && !out->is_over;
}

/* ---- from lines to values ---- */

/* Only a reader of the text knows how many lines a value has taken: long strings are folded, others
 * are blocks, and long names stand on a line of their own. libyaml says where each event begins, so
 * the walk follows its events as far as the line. */

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

static bool yaml_walk_fetch(struct yaml_walk *w)
{
	if (!w->has_event) {
		w->has_event = yaml_parser_parse(&w->parser, &w->event);
	}
	return w->has_event;
}

static void yaml_walk_drop(struct yaml_walk *w)
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
		yaml_walk_drop(w);
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
		if (!yaml_walk_fetch(w)) {
			return false;
		}
		if (w->event.start_mark.line > line) {
			return true;
		}
		take_event(w);
		yaml_walk_drop(w);
	}
	return true;
}

size_t yaml_walk_path(const struct yaml_walk *w, const struct yaml_step **ret)
{
	bool is_inside = w->depth > 0 && w->frames[w->depth - 1].has_step;

	*ret = w->steps;
	return w->depth - (w->depth > 0 && !is_inside);
}
