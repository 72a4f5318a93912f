/* Answers in YAML and kubectl's edit buffers are compared with go-yaml's by people and tools, so
 * order of keys, quoting and block style are its. libyaml does the emitting; what is here
 * decides the order, and which strings must be quoted to stay strings. */
#include "base/yaml.h"

#include "base/visible.h"
#include "base/yaml_scalar.h"

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

/* Both strings differ first at i. */
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

struct writer {
	yaml_emitter_t emitter;
	struct arena arena; /* of one scalar at a time */
	struct buf *out;
};

static int on_output(void *ctx, unsigned char *p, size_t n)
{
	struct writer *w = ctx;

	return buf_add(w->out, p, n);
}

/* The emitter owns an event from here on, also when it fails. */
static bool emit(struct writer *w, yaml_event_t *event, int is_made)
{
	return is_made && yaml_emitter_emit(&w->emitter, event);
}

static bool emit_scalar(struct writer *w, struct str text, yaml_scalar_style_t style)
{
	yaml_event_t event;

	return emit(w, &event,
		yaml_scalar_event_initialize(
			&event, NULL, NULL, (const yaml_char_t *)(text.n ? text.p : ""), (int)text.n, 1, 1, style));
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
static bool can_be_plain(struct writer *w, struct str text)
{
	struct yaml_scalar s;

	yaml_scalar_resolve(&s, text, &w->arena);
	arena_clear(&w->arena);
	return s.kind == YAML_STRING && !is_base60(text) && !str_is(text, "<<");
}

static bool write_string(struct writer *w, struct str text)
{
	yaml_scalar_style_t style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;

	if (text.n > 0 && memchr(text.p, '\n', text.n)) {
		style = YAML_LITERAL_SCALAR_STYLE;
	} else if (can_be_plain(w, text)) {
		style = YAML_PLAIN_SCALAR_STYLE;
	}
	return emit_scalar(w, text, style);
}

/* As Go would write it, where that is the same number. */
static bool write_number(struct writer *w, struct str lexeme)
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

static bool write_value(struct writer *w, const struct json *j);

static bool write_array(struct writer *w, const struct json *j)
{
	yaml_event_t event;

	if (!emit(w, &event, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE))) {
		return false;
	}
	for (uint32_t i = 0; i < j->n; i++) {
		if (!write_value(w, j->items[i])) {
			return false;
		}
	}
	return emit(w, &event, yaml_sequence_end_event_initialize(&event));
}

static bool write_members(struct writer *w, struct json_member *const *members, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i + 1 < n && str_eq(members[i]->name, members[i + 1]->name)) {
			continue;
		}
		if (!write_string(w, members[i]->name) || !write_value(w, members[i]->value)) {
			return false;
		}
	}
	return true;
}

static bool write_object(struct writer *w, const struct json *j)
{
	_cleanup_(mem_freep) struct json_member **sorted = mem_array(j->n, sizeof(struct json_member *));
	yaml_event_t event;

	for (uint32_t i = 0; i < j->n; i++) {
		sorted[i] = &j->members[i];
	}
	if (j->n > 1) {
		qsort(sorted, j->n, sizeof(struct json_member *), member_cmp);
	}
	if (!emit(w, &event, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE))) {
		return false;
	}
	if (!write_members(w, sorted, j->n)) {
		return false;
	}
	return emit(w, &event, yaml_mapping_end_event_initialize(&event));
}

static bool write_value(struct writer *w, const struct json *j)
{
	switch (j->kind) {
	case JSON_NULL:
		return emit_scalar(w, STR("null"), YAML_PLAIN_SCALAR_STYLE);
	case JSON_BOOL:
		return emit_scalar(w, j->boolean ? STR("true") : STR("false"), YAML_PLAIN_SCALAR_STYLE);
	case JSON_NUMBER:
		return write_number(w, json_text(j));
	case JSON_STRING:
		return write_string(w, json_text(j));
	case JSON_ARRAY:
		return write_array(w, j);
	case JSON_OBJECT:
		return write_object(w, j);
	}
	return false;
}

/* A block scalar with newlines at its end makes libyaml mark the end of the document with "...", which Go's does not. */
static bool write_document(struct writer *w, const struct json *j)
{
	yaml_event_t event;

	if (!emit(w, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) ||
		!emit(w, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) || !write_value(w, j)) {
		return false;
	}
	w->emitter.open_ended = 0;
	return emit(w, &event, yaml_document_end_event_initialize(&event, 1)) &&
		emit(w, &event, yaml_stream_end_event_initialize(&event));
}

static bool write_yaml(struct buf *out, const struct json *j, bool is_unicode)
{
	struct writer w = {.out = out};

	if (!yaml_emitter_initialize(&w.emitter)) {
		abort(); /* out of memory: see base.h */
	}
	yaml_emitter_set_output(&w.emitter, on_output, &w);
	yaml_emitter_set_unicode(&w.emitter, is_unicode);
	arena_init(&w.arena, SIZE_MAX / 2);
	bool ok = write_document(&w, j);
	arena_done(&w.arena);
	yaml_emitter_delete(&w.emitter);
	return ok && !out->is_over;
}

bool yaml_from_json(struct buf *out, const struct json *j)
{
	return write_yaml(out, j, true);
}

/* Escapes mean something between double quotes only, which libyaml sets where it may not write Unicode. */
bool yaml_from_json_visible(struct buf *out, const struct json *j)
{
	size_t start = out->n;
	if (!write_yaml(out, j, true)) {
		return false;
	}
	if (visible_is((struct str){out->p + start, out->n - start})) {
		return true;
	}
	buf_truncate(out, start);
	return write_yaml(out, j, false);
}
