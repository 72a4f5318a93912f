/* The difference of two texts, line by line. Pure.
 *
 * The difference is correct: the lines that are left over on both sides are the same ones in the same order. It
 * is also as short as can be, as long as that costs little; with very many lines that come and go it becomes
 * longer. Beyond reading the texts, time is a quarter of a second at most. Memory is 64 bytes for each line at
 * most. */
#ifndef API_DIFF_LINE_DIFF_H
#define API_DIFF_LINE_DIFF_H

#include "base/buf.h"

struct text_lines {
	struct str text;  /* of less than 4 GiB; must outlive this */
	uint32_t *starts; /* n + 1: where each line begins, and where one more would */
	uint32_t n;
};

/* Some lines become others; none of them, where lines only come or only go. */
struct line_change {
	uint32_t from, n_from; /* lines before it in the first text, and its own there */
	uint32_t to, n_to;     /* the same of the second */
};

struct line_changes {
	struct text_lines from, to;
	struct line_change *v; /* in order; between two of them is at least one line that stays */
	size_t n;
};

void line_changes_init(struct line_changes *c, struct str from, struct str to);
void line_changes_done(struct line_changes *c);

/* Changes that are near each other, with what is around them. */
struct line_hunk {
	uint32_t from, n_from, to, n_to; /* as of a change, with the lines around */
	size_t first, n;                 /* which changes */
};

/* The one behind *h, which begins as {0}; with so many lines around each change. False: there are no more. */
bool line_hunk_next(const struct line_changes *c, uint32_t context, struct line_hunk *h);

struct hunk_line {
	char sign;       /* ' ', '-' or '+' */
	uint32_t number; /* from 0: in the second text, or of a line that goes in the first */
	struct str text;
};
/* Calls back with each line of the hunk; stops where that says false. */
bool line_hunk_each(const struct line_changes *c, const struct line_hunk *h,
	bool (*line)(void *ctx, const struct hunk_line *line), void *ctx);

/* As diff -u shows it, with three lines around changes. Appends nothing where the texts are equal. */
void line_diff(struct buf *out, struct str from, struct str to, const char *from_name, const char *to_name);

#endif
