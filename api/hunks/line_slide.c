/* Where an item comes into a list, its lines are often like its neighbour's: then a difference is as
 * short when it begins with the end of the item before. People read it as one item, if it begins
 * where the item does: with the line that is indented least. */
#include "api/hunks/line_private.h"

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

/* Of several places that are as good, the last. */
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

void line_slide(struct line_changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].n_from == 0 || c->v[i].n_to == 0) {
			slide(c, i);
		}
	}
}
