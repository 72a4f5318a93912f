/* Reads and writes pointers into JSON, and walks a value with patterns of them. They name the fields
 * that a Recorder leaves out or hides, and those that a History lists as changed.
 */
#include "api/diff/pointer.h"

#include <assert.h>
#include <stdio.h>

static bool is_pointer(struct str text)
{
	if (text.n == 0 || text.p[0] != '/') {
		return false;
	}
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '~' && (i + 1 == text.n || (text.p[i + 1] != '0' && text.p[i + 1] != '1'))) {
			return false;
		}
	}
	return true;
}

const char *pointer_pattern_problem(struct str text)
{
	if (text.n > POINTER_PATTERN_MAX) {
		return "must be no more than 512 bytes";
	}
	return is_pointer(text) ? NULL
				: "must be a JSON pointer: it begins with /, and ~ is written ~0, and / within a name ~1";
}

bool pointer_push(struct buf *pointer, struct str segment)
{
	buf_addc(pointer, '/');
	for (size_t i = 0; i < segment.n; i++) {
		switch (segment.p[i]) {
		case '~':
			BUF_LITERAL(pointer, "~0");
			break;
		case '/':
			BUF_LITERAL(pointer, "~1");
			break;
		default:
			buf_addc(pointer, segment.p[i]);
		}
	}
	return !pointer->is_over;
}

static struct str unescaped(struct str segment, struct arena *a)
{
	if (!segment.n || !memchr(segment.p, '~', segment.n)) {
		return segment;
	}
	struct str out = arena_dup(a, segment);
	char *to = (char *)out.p;
	size_t n = 0;
	for (size_t i = 0; i < segment.n; i++) {
		bool is_escape = segment.p[i] == '~' && i + 1 < segment.n;
		to[n++] = !is_escape ? segment.p[i] : segment.p[++i] == '1' ? '/' : '~';
	}
	return (struct str){to, n};
}

bool pointer_shift(struct str *pointer, struct str *ret_segment, struct arena *a)
{
	struct str head, tail;

	if (pointer->n == 0) {
		return false;
	}
	assert(pointer->p[0] == '/'); /* is_pointer(), or pointer_push() has written it */
	bool is_cut = str_cut((struct str){pointer->p + 1, pointer->n - 1}, '/', &head, &tail);
	/* The slash belongs to the rest, which begins with one. */
	*pointer = is_cut ? (struct str){tail.p - 1, tail.n + 1} : (struct str){NULL, 0};
	*ret_segment = unescaped(head, a);
	return true;
}

static struct pointer_pattern pattern_of(struct str text, struct arena *a)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		n += text.p[i] == '/';
	}
	struct str *segments = arena_array(a, struct str, n);
	size_t i = 0;
	while (i < n && pointer_shift(&text, &segments[i], a)) {
		i++;
	}
	assert(i == n && text.n == 0);
	return (struct pointer_pattern){segments, n};
}

bool pointer_patterns_read(struct pointer_patterns *ret, const struct json *list, struct arena *a)
{
	if (!list || list->kind == JSON_NULL) {
		*ret = (struct pointer_patterns){NULL, 0};
		return true;
	}
	if (list->kind != JSON_ARRAY || list->n > POINTER_PATTERNS_MAX) {
		return false;
	}
	struct pointer_pattern *v = arena_array(a, struct pointer_pattern, list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		struct str text = json_is(list->items[i], JSON_STRING) ? json_text(list->items[i]) : STR("");
		if (pointer_pattern_problem(text)) {
			return false;
		}
		v[i] = pattern_of(text, a);
	}
	*ret = (struct pointer_patterns){v, list->n};
	return true;
}

uint64_t pointer_patterns_all(const struct pointer_patterns *p)
{
	assert(p->n <= POINTER_PATTERNS_MAX); /* a bit for each */
	return p->n == 0 ? 0 : UINT64_MAX >> (POINTER_PATTERNS_MAX - p->n);
}

uint64_t pointer_patterns_step(
	const struct pointer_patterns *p, uint64_t alive, size_t depth, struct str segment, bool *ret_ends)
{
	uint64_t on = 0;
	bool ends = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct pointer_pattern *pattern = &p->v[i];
		assert(!(alive >> i & 1) || depth < pattern->n); /* a pattern that has ended is not alive */
		if (!(alive >> i & 1) ||
			!(str_is(pattern->segments[depth], "*") || str_eq(pattern->segments[depth], segment))) {
			continue;
		}
		if (pattern->n == depth + 1) {
			ends = true;
		} else {
			on |= (uint64_t)1 << i;
		}
	}
	*ret_ends = ends;
	return on;
}

struct str pointer_index(char out[POINTER_INDEX_SIZE], uint32_t i)
{
	int n = snprintf(out, POINTER_INDEX_SIZE, "%u", i);
	return (struct str){out, (size_t)n};
}

struct json *pointer_step(const struct json *value, struct str segment)
{
	uint64_t i;

	if (!json_is(value, JSON_ARRAY)) {
		return json_get(value, segment);
	}
	return str_to_uint64(segment, &i) && i < value->n ? value->items[i] : NULL;
}
