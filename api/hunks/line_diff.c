/* Changes become hunks, and hunks become what diff -u shows, which people and tools read already. */
#include "api/hunks/line_diff.h"

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

static bool tell(const struct line_walk *w, char sign, uint32_t begin, uint32_t end)
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
		if (!tell(&w, ' ', at, change->to) || !tell(&w, '-', change->from, end_of(change)) ||
			!tell(&w, '+', change->to, change->to + change->n_to)) {
			return false;
		}
		at = change->to + change->n_to;
	}
	return tell(&w, ' ', at, h->to + h->n_to);
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
		/* Without lines, the number is that of the line before. */
		buf_printf(out, "@@ -%u,%u +%u,%u @@\n", h.from + (h.n_from > 0), h.n_from, h.to + (h.n_to > 0), h.n_to);
		line_hunk_each(&changes, &h, write_line, out);
	}
	line_changes_done(&changes);
}
