/* Differences are written for people (kubectl) and applied by programs, so both forms must give
 * back exactly `to`. Where a form cannot express it, the caller gets an error, or the whole is replaced.
 * Lists are compared at both ends only: a true longest common subsequence would cost the product
 * of their lengths.
 *
 * At the end: the same difference as hunks of lines (hunks.h). */
#include "api/diff/diff.h"

#include "api/diff/hunks.h"
#include "api/diff/line_diff.h"
#include "api/diff/pointer.h"
#include "api/model/patch_tree.h"
#include "api/patch/patch.h"
#include "base/yaml.h"
#include "base/yaml_walk.h"

#include <errno.h>

enum {
	DEPTH_MAX = 64, /* what differs further below is replaced: to compare again on each level would cost its square */
	PATHS_MAX = 3 * 1024 * 1024, /* bytes of all paths: a long name can be on the way to each of many differences */
};

/* ---- two objects, member by member ---- */

struct pair {
	struct str name;
	struct json *from, *to; /* NULL: not there */
};

struct pairs {
	const struct json *from, *to; /* opened */
	uint32_t i, j;
};

static void pairs_init(struct pairs *p, const struct json *from, const struct json *to, struct arena *a)
{
	*p = (struct pairs){.from = open_copy(a, from), .to = open_copy(a, to)};
}

static bool pairs_next(struct pairs *p, struct pair *ret)
{
	const struct json_member *from = p->i < p->from->n ? &p->from->members[p->i] : NULL;
	const struct json_member *to = p->j < p->to->n ? &p->to->members[p->j] : NULL;

	if (!from && !to) {
		return false;
	}
	int order = !from ? 1 : !to ? -1 : str_cmp(from->name, to->name);
	*ret = (struct pair){.name = order <= 0 ? from->name : to->name,
		.from = order <= 0 ? from->value : NULL,
		.to = order >= 0 ? to->value : NULL};
	p->i += order <= 0;
	p->j += order >= 0;
	return true;
}

/* ---- RFC 6902 ---- */

struct diff {
	struct arena *a;
	struct json *operations;
	size_t n_paths; /* bytes of their paths */
};

/* The current place, as a chain up to the root: a path is written only where an operation needs
 * it. */
struct place {
	const struct place *parent; /* NULL: the root */
	struct str name;            /* of a member; else an item */
	uint32_t item;
	bool is_item;
};

static void diff_values(struct diff *d, const struct place *at, const struct json *from, struct json *to, unsigned depth);

static bool is_full(const struct diff *d)
{
	return d->operations->n > PATCH_MAX_OPERATIONS || d->n_paths > PATHS_MAX;
}

/* The size of a name within a JSON pointer, where ~ is ~0 and / is ~1. */
static size_t escaped_size(struct str name)
{
	size_t n = name.n;

	for (size_t i = 0; i < name.n; i++) {
		n += name.p[i] == '~' || name.p[i] == '/';
	}
	return n;
}

static char *escape_before(char *end, struct str name)
{
	for (size_t i = name.n; i > 0; i--) {
		char c = name.p[i - 1];
		if (c == '~' || c == '/') {
			*--end = c == '~' ? '0' : '1';
			c = '~';
		}
		*--end = c;
	}
	return end;
}

static struct str name_of(const struct place *at, struct arena *a)
{
	return at->is_item ? arena_printf(a, "%u", at->item) : at->name;
}

/* Writes a path from its end to its beginning, as the chain leads. Names may contain NULs, so they
 * are not printed. */
static struct str path_to(struct arena *a, const struct place *place)
{
	struct str names[DEPTH_MAX + 1];
	size_t n_names = 0, n = 0;

	for (const struct place *at = place; at->parent; at = at->parent) {
		names[n_names] = name_of(at, a);
		n += 1 + escaped_size(names[n_names++]);
	}
	char *text = arena_text(a, n + 1), *end = text + n;
	for (size_t i = 0; i < n_names; i++) {
		end = escape_before(end, names[i]);
		*--end = '/';
	}
	return (struct str){text, n};
}

static void add_operation(struct diff *d, const char *op, const struct place *at, struct json *value)
{
	struct json *operation = json_object(d->a);
	struct str path = path_to(d->a, at);

	json_add(d->a, operation, STR("op"), json_string(d->a, str_of(op)));
	json_add(d->a, operation, STR("path"), json_string(d->a, path));
	if (value) {
		json_add(d->a, operation, STR("value"), value);
	}
	json_append(d->a, d->operations, operation);
	d->n_paths += path.n;
}

static void diff_objects(
	struct diff *d, const struct place *here, const struct json *from, const struct json *to, unsigned depth)
{
	struct pairs pairs;
	struct pair pair;

	pairs_init(&pairs, from, to, d->a);
	while (!is_full(d) && pairs_next(&pairs, &pair)) {
		const struct place at = {.parent = here, .name = pair.name};
		if (!pair.to) {
			add_operation(d, "remove", &at, NULL);
		} else if (!pair.from) {
			add_operation(d, "add", &at, pair.to);
		} else {
			diff_values(d, &at, pair.from, pair.to, depth + 1);
		}
	}
}

static struct place item_of(const struct place *here, uint32_t i)
{
	return (struct place){.parent = here, .item = i, .is_item = true};
}

/* Keeps the items that are the same at both ends. The others are changed one by one; then items are
 * added or removed where one list is longer. */
static void diff_arrays(
	struct diff *d, const struct place *here, const struct json *from, const struct json *to, unsigned depth)
{
	uint32_t shorter = MIN(from->n, to->n), head = 0, tail = 0;

	while (head < shorter && json_equal(from->items[head], to->items[head])) {
		head++;
	}
	while (tail < shorter - head && json_equal(from->items[from->n - 1 - tail], to->items[to->n - 1 - tail])) {
		tail++;
	}
	uint32_t both = shorter - tail;
	for (uint32_t i = head; i < both && !is_full(d); i++) {
		const struct place at = item_of(here, i);
		diff_values(d, &at, from->items[i], to->items[i], depth + 1);
	}
	for (uint32_t i = from->n - tail; i > both && !is_full(d); i--) {
		const struct place at = item_of(here, i - 1);
		add_operation(d, "remove", &at, NULL);
	}
	for (uint32_t i = both; i < to->n - tail && !is_full(d); i++) {
		const struct place at = item_of(here, i);
		add_operation(d, "add", &at, to->items[i]);
	}
}

static void diff_values(struct diff *d, const struct place *at, const struct json *from, struct json *to, unsigned depth)
{
	bool is_same_kind = from->kind == to->kind && depth < DEPTH_MAX;

	if (is_same_kind && from->kind == JSON_OBJECT) {
		diff_objects(d, at, from, to, depth);
	} else if (is_same_kind && from->kind == JSON_ARRAY) {
		diff_arrays(d, at, from, to, depth);
	} else if (!json_equal(from, to)) {
		add_operation(d, "replace", at, to);
	}
}

struct json *diff_json(const struct json *from, const struct json *to, struct arena *a)
{
	struct diff d = {.a = a, .operations = json_array(a)};
	const struct place root = {0};

	diff_values(&d, &root, from, (struct json *)to, 0);
	if (is_full(&d)) {
		d.operations = json_array(a);
		add_operation(&d, "replace", &root, (struct json *)to);
	}
	return d.operations;
}

/* ---- RFC 7396 ---- */

/* A member that is null: a merge patch would take it away, even within lists, as evanphx/json-patch does it. */
static bool holds_null_member(const struct json *j)
{
	for (uint32_t i = 0; i < j->n && (j->kind == JSON_OBJECT || j->kind == JSON_ARRAY); i++) {
		const struct json *value = j->kind == JSON_OBJECT ? j->members[i].value : j->items[i];
		if ((j->kind == JSON_OBJECT && value->kind == JSON_NULL) || holds_null_member(value)) {
			return true;
		}
	}
	return false;
}

static bool merge_member(struct json *patch, const struct pair *pair, struct arena *a);

static struct json *merge_objects(const struct json *from, const struct json *to, struct arena *a)
{
	struct json *patch = json_object(a);
	struct pairs pairs;
	struct pair pair;

	pairs_init(&pairs, from, to, a);
	while (pairs_next(&pairs, &pair)) {
		if (!merge_member(patch, &pair, a)) {
			return NULL;
		}
	}
	return patch;
}

static bool merge_member(struct json *patch, const struct pair *pair, struct arena *a)
{
	struct json *value = pair->to;

	if (!pair->to) {
		value = json_null(a);
	} else if (pair->from && json_is(pair->from, JSON_OBJECT) && json_is(pair->to, JSON_OBJECT)) {
		value = merge_objects(pair->from, pair->to, a);
		if (!value || value->n == 0) {
			return value != NULL;
		}
	} else if (pair->from && json_equal(pair->from, pair->to)) {
		return true;
	} else if (json_is(pair->to, JSON_NULL) || holds_null_member(pair->to)) {
		return false;
	}
	json_add(a, patch, pair->name, value);
	return true;
}

struct json *diff_merge(const struct json *from, const struct json *to, struct arena *a)
{
	return merge_objects(from, to, a);
}

/* ---- hunks ----
 *
 * A page that shows a difference also needs the value that a line is about, so that its path can be
 * copied. Both texts are walked beside the hunks for that, so nothing is kept for lines that nobody is
 * shown. */

enum { CONTEXT_DEFAULT = 3 };

bool hunks_parse_context(struct str text, uint32_t *ret)
{
	int64_t n = CONTEXT_DEFAULT;

	if (str_is(text, "all")) {
		*ret = UINT32_MAX;
		return true;
	}
	if (text.n > 0 && (!str_to_int64(text, &n) || n < 0 || n > HUNKS_CONTEXT_MAX)) {
		return false;
	}
	*ret = (uint32_t)n;
	return true;
}

/* ---- lines ---- */

struct writer {
	struct buf *out;
	struct buf pointer; /* of one line */
	struct yaml_walk *from, *to;
	bool is_first;  /* of its hunk */
	bool is_unread; /* a text cannot be read */
};

static void write_member(struct buf *out, const char *before, struct str text)
{
	buf_adds(out, before);
	json_encode_string(out, text);
}

static struct str pointer_of(struct writer *w, const struct yaml_walk *walk)
{
	const struct yaml_step *steps;
	size_t n = yaml_walk_path(walk, &steps);

	buf_clear(&w->pointer);
	for (size_t i = 0; i < n; i++) {
		char index[POINTER_INDEX_SIZE];
		pointer_push(&w->pointer, steps[i].is_item ? pointer_index(index, steps[i].index) : steps[i].name);
	}
	/* A pointer that does not fit is longer than an answer may be. */
	w->out->is_over |= w->pointer.is_over;
	return buf_str(&w->pointer);
}

static bool write_line(void *ctx, const struct hunk_line *line)
{
	struct writer *w = ctx;
	struct yaml_walk *walk = line->sign == '-' ? w->from : w->to;

	if (!yaml_walk_to(walk, line->number)) {
		w->is_unread = true;
		return false;
	}
	buf_printf(w->out, "%s{\"op\":\"%c\"", w->is_first ? "" : ",", line->sign);
	w->is_first = false;
	write_member(w->out, ",\"text\":", line->text);
	write_member(w->out, ",\"path\":", pointer_of(w, walk));
	return buf_addc(w->out, '}');
}

/* ---- hunks ---- */

static bool write_hunks(struct writer *w, const struct line_changes *c, uint32_t context)
{
	struct line_hunk hunk = {0};

	while (line_hunk_next(c, context, &hunk)) {
		buf_printf(w->out, "%s{\"from\":%u,\"to\":%u,\"lines\":[", hunk.first ? "," : "", hunk.from + 1, hunk.to + 1);
		w->is_first = true;
		if (!line_hunk_each(c, &hunk, write_line, w)) {
			return false;
		}
		BUF_LITERAL(w->out, "]}");
	}
	return true;
}

static int write_difference(struct buf *out, const struct hunks *h, const struct line_changes *c)
{
	struct writer w = {.out = out, .from = yaml_walk_new(c->from.text), .to = yaml_walk_new(c->to.text)};

	buf_init(&w.pointer, HUNKS_ANSWER_MAX);
	write_member(out, "{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"Hunks\",\"from\":", h->from_name);
	write_member(out, ",\"to\":", h->to_name);
	buf_printf(out, ",\"fromLines\":%u,\"toLines\":%u,\"hunks\":[", c->from.n, c->to.n);
	write_hunks(&w, c, h->context);
	BUF_LITERAL(out, "]}");
	buf_done(&w.pointer);
	yaml_walk_free(w.from);
	yaml_walk_free(w.to);
	if (w.is_unread) {
		return error_trace(-EBADMSG);
	}
	return out->is_over ? HUNKS_TOO_LARGE : 0;
}

static size_t count_lines(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		n += text.p[i] == '\n';
	}
	return n;
}

static bool write_text(struct buf *text, const struct json *value)
{
	return !value || (yaml_from_json_visible(text, value) && count_lines(buf_str(text)) <= HUNKS_LINES_MAX);
}

int hunks_write(struct buf *out, const struct hunks *h)
{
	struct buf texts[2];
	int r = HUNKS_TOO_LARGE;

	buf_init(&texts[0], HUNKS_TEXT_MAX);
	buf_init(&texts[1], HUNKS_TEXT_MAX);
	if (write_text(&texts[0], h->from) && write_text(&texts[1], h->to)) {
		struct line_changes changes;
		line_changes_init(&changes, buf_str(&texts[0]), buf_str(&texts[1]));
		r = write_difference(out, h, &changes);
		line_changes_done(&changes);
	}
	buf_done(&texts[0]);
	buf_done(&texts[1]);
	return r;
}
