/* From two texts to which lines become others. Lines are compared as texts once, when each gets the
 * number of its class. What only one text has is a difference for certain and need not be searched
 * for. */
#include "api/hunks/line_private.h"

/* ---- lines ---- */

void text_lines_init(struct text_lines *t, struct str text)
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
		/* One more where the last line has no newline: as if it had. */
		t->starts[i + 1] = (uint32_t)(newline ? (size_t)(newline - text.p) + 1 : text.n + 1);
	}
}

void text_lines_done(struct text_lines *t)
{
	t->starts = mem_free(t->starts);
}

struct str text_line(const struct text_lines *t, uint32_t i)
{
	return (struct str){t->text.p + t->starts[i], t->starts[i + 1] - t->starts[i] - 1};
}

/* ---- classes ---- */

struct line_class {
	const char *line;
	uint32_t length;
	bool is_in[2]; /* each text */
};

/* Open addressing: room for all lines of both texts, half of it empty. */
struct line_classes {
	struct {
		uint32_t hash, class; /* class + 1; 0: empty */
	} * slots;
	size_t mask;
	struct line_class *v;
	uint32_t n;
};

static void classes_init(struct line_classes *c, size_t n_lines)
{
	size_t n_slots = 16;

	while (n_slots < 2 * n_lines) {
		n_slots *= 2;
	}
	*c = (struct line_classes){.mask = n_slots - 1};
	c->slots = mem_array(n_slots, sizeof(*c->slots));
	c->v = mem_array(n_lines + 1, sizeof(*c->v));
}

static void classes_done(struct line_classes *c)
{
	mem_free(c->slots);
	mem_free(c->v);
}

static uint32_t classify(struct line_classes *c, struct str line)
{
	uint64_t hash = str_hash(line);
	size_t at = hash & c->mask;

	for (; c->slots[at].class; at = (at + 1) & c->mask) {
		uint32_t class = c->slots[at].class - 1;
		struct str other = {c->v[class].line, c->v[class].length};
		if (c->slots[at].hash == (uint32_t)(hash >> 32) && str_eq(other, line)) {
			return class;
		}
	}
	c->slots[at].hash = (uint32_t)(hash >> 32);
	c->slots[at].class = c->n + 1;
	c->v[c->n].line = line.p;
	c->v[c->n].length = (uint32_t)line.n;
	return c->n++;
}

/* ---- changes ---- */

/* Lines of one text between what both begin with and what both end with. */
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
	struct line_classes classes;

	classes_init(&classes, (size_t)sides[0].n + sides[1].n);
	for (int i = 0; i < 2; i++) {
		side_classify(&sides[i], &middles[i], &classes, i);
	}
	for (int i = 0; i < 2; i++) {
		side_keep_shared(&sides[i], &middles[i], &classes, 1 - i);
	}
	classes_done(&classes);
	line_split(sides);
}

static uint32_t skip(const bool *is_changed, uint32_t i, uint32_t n)
{
	while (i < n && is_changed[i]) {
		i++;
	}
	return i;
}

/* What is not changed is the same in both: so both are walked side by side. */
static size_t collect(const struct line_changes *c, const struct line_side sides[2], struct line_change *ret)
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

void line_changes_init(struct line_changes *c, struct str from, struct str to)
{
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
	c->n = collect(c, sides, NULL);
	c->v = mem_array(c->n + 1, sizeof(*c->v));
	collect(c, sides, c->v);
	for (int i = 0; i < 2; i++) {
		side_done(&sides[i]);
	}
	line_slide(c);
}

void line_changes_done(struct line_changes *c)
{
	text_lines_done(&c->from);
	text_lines_done(&c->to);
	c->v = mem_free(c->v);
}
