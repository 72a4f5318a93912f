/* Lines of two texts: which come, which go, and how people read that.
 *
 * The shortest way from one sequence to another is found in linear space (Myers, "An O(ND)
 * Difference Algorithm and Its Variations", 1986): ways from both ends meet in the middle, which
 * cuts the problem in two.
 *
 * Time grows with the number of differences times the length. So a search that has taken many
 * steps gives up, as in GNU diff: it cuts where the best way so far has come to. All searches
 * together have a budget. Once that is used up, the rest counts as replaced. */
#include "api/diff/line_diff.h"
#include "base/hash_table.h"

#include <assert.h>

/* ---- lines ---- */

static void text_lines_init(struct text_lines *t, struct str text)
{
	const char *end = str_end(text);

	*t = (struct text_lines){.text = text};
	for (const char *p = text.p; p < end; t->n++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		p = newline ? newline + 1 : end;
	}
	t->starts = mem_array((size_t)t->n + 1, sizeof(*t->starts));
	for (uint32_t i = 0; i < t->n; i++) {
		size_t start = t->starts[i];
		const char *newline = memchr(text.p + start, '\n', text.n - start);
		/* A last line without a newline counts as if it had one. */
		t->starts[i + 1] = (uint32_t)(newline ? (size_t)(newline - text.p) + 1 : text.n + 1);
	}
}

static void text_lines_done(struct text_lines *t)
{
	t->starts = mem_free(t->starts);
}

/* A line without its newline. */
static struct str text_line(const struct text_lines *t, uint32_t i)
{
	return (struct str){t->text.p + t->starts[i], t->starts[i + 1] - t->starts[i] - 1};
}

/* The part of one text that has to be compared: equal lines have equal classes. */
struct line_side {
	uint32_t *classes; /* of each line that is in both texts */
	uint32_t *lines;   /* and its number */
	bool *is_changed;  /* by number of the line: it is not in what both texts share */
	uint32_t n;        /* classes */
};

enum {
	EFFORT = 64 << 20, /* comparisons of lines, and steps from one diagonal to another */
	ROUNDS_MAX = 2048, /* of one search: twice as many differences are found for certain */
	ROUNDS_MIN = 32,
};

/* Ways from one end. Ways with the same x - y are on one diagonal: the struct has for each diagonal how far the
 * best way has come. */
struct ways {
	int64_t *x;          /* by diagonal, from that of the beginning on in both directions */
	int64_t middle;      /* diagonal */
	int64_t first, last; /* diagonals that have been reached */
};

struct splitter {
	const uint32_t *from, *to;
	struct line_side *sides;
	struct ways ahead, back;
	int64_t effort; /* what is left of it */
	int64_t rounds; /* of one search */
};

/* Lines `from` to `from_end` of the one, and `to` to `to_end` of the other. */
struct box {
	int64_t from, from_end, to, to_end;
};

static int64_t *way(const struct ways *w, int64_t diagonal)
{
	return &w->x[diagonal - w->middle];
}

static void ways_begin(struct ways *w, int64_t middle, int64_t x)
{
	w->middle = w->first = w->last = middle;
	*way(w, middle) = x;
}

/* Adds one diagonal on either side, but none that leaves the box. `none` is worse than any way. */
static void ways_widen(struct ways *w, const struct box *b, int64_t none)
{
	if (w->first > b->from - b->to_end) {
		w->first--;
		*way(w, w->first - 1) = none;
	} else {
		w->first++;
	}
	if (w->last < b->from_end - b->to) {
		w->last++;
		*way(w, w->last + 1) = none;
	} else {
		w->last--;
	}
}

static bool ways_have(const struct ways *w, int64_t diagonal)
{
	return w->first <= diagonal && diagonal <= w->last;
}

/* Goes one difference further on each diagonal, then along equal lines. Returns true when it has
 * met a way back. */
static bool go_ahead(struct splitter *s, const struct box *b, bool may_meet, int64_t ret[2])
{
	for (int64_t d = s->ahead.last; d >= s->ahead.first; d -= 2) {
		int64_t below = *way(&s->ahead, d - 1), above = *way(&s->ahead, d + 1);
		int64_t start = below < above ? above : below + 1, x = start, y = x - d;
		while (x < b->from_end && y < b->to_end && s->from[x] == s->to[y]) {
			x++;
			y++;
		}
		*way(&s->ahead, d) = x;
		s->effort -= x - start + 1;
		if (may_meet && ways_have(&s->back, d) && *way(&s->back, d) <= x) {
			ret[0] = x;
			ret[1] = y;
			return true;
		}
	}
	return false;
}

static bool go_back(struct splitter *s, const struct box *b, bool may_meet, int64_t ret[2])
{
	for (int64_t d = s->back.last; d >= s->back.first; d -= 2) {
		int64_t below = *way(&s->back, d - 1), above = *way(&s->back, d + 1);
		int64_t start = below < above ? below : above - 1, x = start, y = x - d;
		while (x > b->from && y > b->to && s->from[x - 1] == s->to[y - 1]) {
			x--;
			y--;
		}
		*way(&s->back, d) = x;
		s->effort -= start - x + 1;
		if (may_meet && ways_have(&s->ahead, d) && x <= *way(&s->ahead, d)) {
			ret[0] = x;
			ret[1] = y;
			return true;
		}
	}
	return false;
}

/* Finds the point of the way from the beginning that has come furthest. */
static int64_t furthest_ahead(const struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t best = -1;

	for (int64_t d = s->ahead.last; d >= s->ahead.first; d -= 2) {
		int64_t x = MIN(*way(&s->ahead, d), b->from_end), y = x - d;
		if (y > b->to_end) {
			y = b->to_end;
			x = y + d;
		}
		if (x + y > best) {
			best = x + y;
			ret[0] = x;
			ret[1] = y;
		}
	}
	return best - (b->from + b->to);
}

/* And of those from the end. */
static int64_t furthest_back(const struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t best = INT64_MAX;

	for (int64_t d = s->back.last; d >= s->back.first; d -= 2) {
		int64_t x = MAX(*way(&s->back, d), b->from), y = x - d;
		if (y < b->to) {
			y = b->to;
			x = y + d;
		}
		if (x + y < best) {
			best = x + y;
			ret[0] = x;
			ret[1] = y;
		}
	}
	return b->from_end + b->to_end - best;
}

static void cut_at_best(const struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t ahead[2] = {0}, back[2] = {0};
	bool is_ahead = furthest_ahead(s, b, ahead) > furthest_back(s, b, back);

	memcpy(ret, is_ahead ? ahead : back, sizeof(ahead));
}

/* Finds a point on a shortest way, or on a good one. Returns false if no effort was left to
 * look. */
static bool find_middle(struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t begin = b->from - b->to, end = b->from_end - b->to_end;
	bool is_odd = (begin - end) & 1;

	ways_begin(&s->ahead, begin, b->from);
	ways_begin(&s->back, end, b->from_end);
	for (int64_t round = 1; s->effort > 0; round++) {
		ways_widen(&s->ahead, b, -1);
		if (go_ahead(s, b, is_odd, ret)) {
			return true;
		}
		ways_widen(&s->back, b, INT64_MAX);
		if (go_back(s, b, !is_odd, ret)) {
			return true;
		}
		if (round == s->rounds) {
			cut_at_best(s, b, ret);
			return true;
		}
	}
	return false;
}

static void line_side_mark(const struct line_side *side, int64_t begin, int64_t end)
{
	for (int64_t i = begin; i < end; i++) {
		side->is_changed[side->lines[i]] = true;
	}
}

static void sides_trim(const struct splitter *s, struct box *b)
{
	while (b->from < b->from_end && b->to < b->to_end && s->from[b->from] == s->to[b->to]) {
		b->from++;
		b->to++;
	}
	while (b->from < b->from_end && b->to < b->to_end && s->from[b->from_end - 1] == s->to[b->to_end - 1]) {
		b->from_end--;
		b->to_end--;
	}
}

static int64_t size_of(const struct box *b)
{
	return b->from_end - b->from + b->to_end - b->to;
}

/* The smaller part by recursion, the bigger one by the loop: the stack is never deep. */
static void split(struct splitter *s, struct box b)
{
	for (;;) {
		int64_t at[2];
		sides_trim(s, &b);
		if (b.from == b.from_end || b.to == b.to_end || !find_middle(s, &b, at)) {
			line_side_mark(&s->sides[0], b.from, b.from_end);
			line_side_mark(&s->sides[1], b.to, b.to_end);
			return;
		}
		struct box head = {b.from, at[0], b.to, at[1]}, tail = {at[0], b.from_end, at[1], b.to_end};
		bool is_head_smaller = size_of(&head) < size_of(&tail);
		split(s, is_head_smaller ? head : tail);
		b = is_head_smaller ? tail : head;
	}
}

/* Marks the lines that only one side has. */
static void line_split(struct line_side sides[2])
{
	int64_t n = (int64_t)sides[0].n + sides[1].n;
	struct splitter s = {.from = sides[0].classes, .to = sides[1].classes, .sides = sides, .effort = EFFORT};

	/* Searches follow each other through the texts: the more lines, the fewer rounds each may have. */
	s.rounds = MAX(ROUNDS_MIN, MIN(ROUNDS_MAX, EFFORT / (4 * (n + 1))));
	size_t width = (size_t)(2 * s.rounds + 3);
	int64_t *x = mem_array(2 * width, sizeof(*x));
	s.ahead.x = x + s.rounds + 1;
	s.back.x = x + width + s.rounds + 1;
	split(&s, (struct box){0, sides[0].n, 0, sides[1].n});
	mem_free(x);
}

/* ---- changes where they read best ----
 *
 * When an item comes into a list, its lines are often like its neighbour's. Then a difference is
 * as short when it begins with the end of the item before. People read it as one item if it
 * begins where the item does: with the line that is indented least. */

static size_t indent_of(struct str line)
{
	size_t n = 0;

	while (n < line.n && line.p[n] == ' ') {
		n++;
	}
	return n;
}

/* Lines that only come, or only go. */
struct block {
	const struct text_lines *text;
	uint32_t begin, n;
	uint32_t min, max; /* of begin: a line stays between it and its neighbours */
};

static bool can_go_up(const struct block *b)
{
	return b->begin > b->min && str_eq(text_line(b->text, b->begin - 1), text_line(b->text, b->begin + b->n - 1));
}

static bool can_go_down(const struct block *b)
{
	return b->begin < b->max && str_eq(text_line(b->text, b->begin), text_line(b->text, b->begin + b->n));
}

/* Finds the place of least indentation for a block. Of several such places it takes the last. */
static uint32_t best_begin(struct block b)
{
	while (can_go_up(&b)) {
		b.begin--;
	}
	uint32_t best = b.begin;
	size_t best_indent = indent_of(text_line(b.text, best));
	while (can_go_down(&b)) {
		b.begin++;
		size_t indent = indent_of(text_line(b.text, b.begin));
		if (indent <= best_indent) {
			best = b.begin;
			best_indent = indent;
		}
	}
	return best;
}

static void slide(struct line_changes *c, size_t i)
{
	struct line_change *change = &c->v[i];
	bool comes = change->n_from == 0;
	const struct text_lines *text = comes ? &c->to : &c->from;
	uint32_t begin = comes ? change->to : change->from, n = comes ? change->n_to : change->n_from;
	/* In the first text, whose lines between changes are those of the second. */
	uint32_t before = i > 0 ? change->from - (c->v[i - 1].from + c->v[i - 1].n_from) - 1 : change->from;
	uint32_t end = change->from + change->n_from;
	uint32_t after = i + 1 < c->n ? c->v[i + 1].from - end - 1 : c->from.n - end;
	uint32_t best = best_begin((struct block){text, begin, n, begin - before, begin + after});

	/* Unsigned numbers wrap around in both directions. */
	change->from += best - begin;
	change->to += best - begin;
}

/* Moves each change that could as well be some lines earlier or later to where it reads best. */
static void line_slide(struct line_changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].n_from == 0 || c->v[i].n_to == 0) {
			slide(c, i);
		}
	}
}

/* ---- from two texts to their changes ----
 *
 * Lines are compared as texts once, when each gets the number of its class. A line that only one
 * text has is a difference for certain and need not be searched for. */

/* ---- classes ---- */

struct line_class {
	struct hash_node node;
	struct str line;
	bool is_in[2]; /* each text */
};

struct line_classes {
	struct hash_table table; /* of struct line_class */
	struct line_class *v;    /* room for all lines of both texts: none moves */
	uint32_t n;
};

static uint32_t classify(struct line_classes *c, struct str line)
{
	uint64_t hash = str_hash(line);

	for (struct hash_node *n = hash_table_first(&c->table, hash); n; n = hash_node_next(n)) {
		struct line_class *class = container_of(n, struct line_class, node);
		if (str_eq(class->line, line)) {
			return (uint32_t)(class - c->v);
		}
	}
	c->v[c->n].line = line;
	hash_table_add(&c->table, &c->v[c->n].node, hash);
	return c->n++;
}

/* ---- changes ---- */

/* The lines of one text between the common beginning and the common end of both. */
struct middle {
	const struct text_lines *text;
	uint32_t begin, end;
};

static void side_init(struct line_side *side, const struct middle *m)
{
	uint32_t n = m->end - m->begin;

	*side = (struct line_side){.n = n};
	side->classes = mem_array((size_t)n + 1, sizeof(*side->classes));
	side->lines = mem_array((size_t)n + 1, sizeof(*side->lines));
	side->is_changed = mem_array((size_t)m->text->n + 1, sizeof(*side->is_changed));
}

static void side_done(struct line_side *side)
{
	mem_free(side->classes);
	mem_free(side->lines);
	mem_free(side->is_changed);
}

static void side_classify(struct line_side *side, const struct middle *m, struct line_classes *c, int which)
{
	for (uint32_t i = 0; i < side->n; i++) {
		side->classes[i] = classify(c, text_line(m->text, m->begin + i));
		c->v[side->classes[i]].is_in[which] = true;
	}
}

/* Keeps the lines that are in the other text as well; all others are changed. */
static void side_keep_shared(struct line_side *side, const struct middle *m, const struct line_classes *c, int other)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < side->n; i++) {
		if (c->v[side->classes[i]].is_in[other]) {
			side->classes[kept] = side->classes[i];
			side->lines[kept++] = m->begin + i;
		} else {
			side->is_changed[m->begin + i] = true;
		}
	}
	side->n = kept;
}

static void compare(struct line_side sides[2], const struct middle middles[2])
{
	struct line_classes classes = {.v = mem_array((size_t)sides[0].n + sides[1].n + 1, sizeof(*classes.v))};

	for (int i = 0; i < 2; i++) {
		side_classify(&sides[i], &middles[i], &classes, i);
	}
	for (int i = 0; i < 2; i++) {
		side_keep_shared(&sides[i], &middles[i], &classes, 1 - i);
	}
	hash_table_done(&classes.table);
	mem_free(classes.v);
	line_split(sides);
}

static uint32_t skip(const bool *is_changed, uint32_t i, uint32_t n)
{
	while (i < n && is_changed[i]) {
		i++;
	}
	return i;
}

/* Collects the changes. Unchanged lines are the same in both texts, so both are walked side by
 * side. */
static size_t line_changes_collect(const struct line_changes *c, const struct line_side sides[2], struct line_change *ret)
{
	uint32_t i = 0, j = 0;
	size_t n = 0;

	while (i < c->from.n || j < c->to.n) {
		uint32_t i_end = skip(sides[0].is_changed, i, c->from.n), j_end = skip(sides[1].is_changed, j, c->to.n);
		if (i_end == i && j_end == j) {
			i++;
			j++;
			continue;
		}
		if (ret) {
			ret[n] = (struct line_change){i, i_end - i, j, j_end - j};
		}
		n++;
		i = i_end;
		j = j_end;
	}
	return n;
}

static void trim(struct middle m[2])
{
	while (m[0].begin < m[0].end && m[1].begin < m[1].end &&
		str_eq(text_line(m[0].text, m[0].begin), text_line(m[1].text, m[1].begin))) {
		m[0].begin++;
		m[1].begin++;
	}
	while (m[0].begin < m[0].end && m[1].begin < m[1].end &&
		str_eq(text_line(m[0].text, m[0].end - 1), text_line(m[1].text, m[1].end - 1))) {
		m[0].end--;
		m[1].end--;
	}
}

/* Hunks are made of changes in order that do not touch. */
static bool line_changes_are_apart(const struct line_changes *c)
{
	for (size_t i = 1; i < c->n; i++) {
		const struct line_change *before = &c->v[i - 1], *change = &c->v[i];
		if (change->from <= before->from + before->n_from || change->to <= before->to + before->n_to) {
			return false;
		}
	}
	return true;
}

void line_changes_init(struct line_changes *c, struct str from, struct str to)
{
	assert(from.n < UINT32_MAX && to.n < UINT32_MAX);
	struct line_side sides[2];

	*c = (struct line_changes){0};
	text_lines_init(&c->from, from);
	text_lines_init(&c->to, to);
	struct middle middles[2] = {{&c->from, 0, c->from.n}, {&c->to, 0, c->to.n}};
	trim(middles);
	for (int i = 0; i < 2; i++) {
		side_init(&sides[i], &middles[i]);
	}
	compare(sides, middles);
	c->n = line_changes_collect(c, sides, NULL);
	c->v = mem_array(c->n + 1, sizeof(*c->v));
	size_t n = line_changes_collect(c, sides, c->v);
	assert(n == c->n); /* there is room for those that were counted */
	for (int i = 0; i < 2; i++) {
		side_done(&sides[i]);
	}
	line_slide(c);
	assert(line_changes_are_apart(c));
}

void line_changes_done(struct line_changes *c)
{
	text_lines_done(&c->from);
	text_lines_done(&c->to);
	c->v = mem_free(c->v);
}

/* ---- from changes to hunks, and to the text that diff -u shows ---- */

enum { CONTEXT = 3 };

/* ---- hunks ---- */

static uint32_t end_of(const struct line_change *change)
{
	return change->from + change->n_from;
}

/* Changes share a hunk where what is shown around them would meet. */
bool line_hunk_next(const struct line_changes *c, uint32_t context, struct line_hunk *h)
{
	size_t first = h->first + h->n, last = first;

	assert(first <= c->n);
	if (first == c->n) {
		return false;
	}
	while (last + 1 < c->n && c->v[last + 1].from - end_of(&c->v[last]) <= (uint64_t)context * 2) {
		last++;
	}
	const struct line_change *begin = &c->v[first], *end = &c->v[last];
	uint32_t before = MIN(context, first > 0 ? begin->from - end_of(begin - 1) : begin->from);
	uint32_t after = MIN(context, c->from.n - end_of(end));

	*h = (struct line_hunk){.from = begin->from - before, .to = begin->to - before, .first = first, .n = last + 1 - first};
	h->n_from = end_of(end) + after - h->from;
	h->n_to = end->to + end->n_to + after - h->to;
	return true;
}

struct line_walk {
	const struct line_changes *changes;
	bool (*line)(void *ctx, const struct hunk_line *line);
	void *ctx;
};

static bool line_walk_tell(const struct line_walk *w, char sign, uint32_t begin, uint32_t end)
{
	const struct text_lines *text = sign == '-' ? &w->changes->from : &w->changes->to;

	for (uint32_t i = begin; i < end; i++) {
		if (!w->line(w->ctx, &(struct hunk_line){sign, i, text_line(text, i)})) {
			return false;
		}
	}
	return true;
}

bool line_hunk_each(const struct line_changes *c, const struct line_hunk *h,
	bool (*line)(void *ctx, const struct hunk_line *line), void *ctx)
{
	const struct line_walk w = {c, line, ctx};
	uint32_t at = h->to;

	for (size_t i = h->first; i < h->first + h->n; i++) {
		const struct line_change *change = &c->v[i];
		if (!line_walk_tell(&w, ' ', at, change->to) || !line_walk_tell(&w, '-', change->from, end_of(change)) ||
			!line_walk_tell(&w, '+', change->to, change->to + change->n_to)) {
			return false;
		}
		at = change->to + change->n_to;
	}
	return line_walk_tell(&w, ' ', at, h->to + h->n_to);
}

/* ---- as diff -u ---- */

static bool write_line(void *ctx, const struct hunk_line *line)
{
	return buf_printf(ctx, "%c" STR_FMT "\n", line->sign, STR_ARG(line->text));
}

void line_diff(struct buf *out, struct str from, struct str to, const char *from_name, const char *to_name)
{
	struct line_changes changes;
	struct line_hunk h = {0};

	line_changes_init(&changes, from, to);
	if (changes.n > 0) {
		buf_printf(out, "--- %s\n+++ %s\n", from_name, to_name);
	}
	while (line_hunk_next(&changes, CONTEXT, &h)) {
		/* A range without lines has the number of the line before it. */
		buf_printf(out, "@@ -%u,%u +%u,%u @@\n", h.from + (h.n_from > 0), h.n_from, h.to + (h.n_to > 0), h.n_to);
		line_hunk_each(&changes, &h, write_line, out);
	}
	line_changes_done(&changes);
}
