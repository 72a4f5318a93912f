/* Letters that were swapped count as one slip of the finger (optimal string alignment), so that
 * "sevre" finds "serve". A beginning counts as near, however much is missing. */
#include "base/suggest.h"

size_t edit_distance(struct str a, struct str b)
{
	size_t rows[3][SUGGEST_LENGTH_MAX + 1];
	size_t *before_last = rows[0], *last = rows[1], *row = rows[2];
	if (a.n > SUGGEST_LENGTH_MAX || b.n > SUGGEST_LENGTH_MAX) {
		return SIZE_MAX;
	}
	for (size_t j = 0; j <= b.n; j++) {
		last[j] = j;
	}
	for (size_t i = 1; i <= a.n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t changed = last[j - 1] + (a.p[i - 1] != b.p[j - 1]);
			row[j] = MIN(changed, MIN(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1]) {
				row[j] = MIN(row[j], before_last[j - 2] + 1);
			}
		}
		size_t *free_row = before_last;
		before_last = last;
		last = row;
		row = free_row;
	}
	return last[b.n];
}

/* A third of the letters may be wrong: with more, names of few letters would all be alike. */
static size_t most_wrong(struct str name)
{
	return name.n < 3 ? name.n / 2 : MIN(name.n / 3, (size_t)3);
}

enum { BEGINNING_MIN = 2, BEGINNING_DISTANCE = 1 };

void suggestions_init(struct suggestions *s, struct str misspelt)
{
	*s = (struct suggestions){.misspelt = misspelt, .distance = SIZE_MAX};
}

void suggestions_offer(struct suggestions *s, struct str name)
{
	bool is_beginning = s->misspelt.n >= BEGINNING_MIN && str_starts(name, s->misspelt);
	size_t distance = edit_distance(s->misspelt, name);
	if (is_beginning) {
		distance = MIN(distance, (size_t)BEGINNING_DISTANCE);
	}
	if (distance > most_wrong(s->misspelt) || distance > s->distance) {
		return;
	}
	if (distance < s->distance) {
		s->distance = distance;
		s->n = 0;
	}
	if (s->n < SUGGESTIONS_MAX) {
		s->names[s->n++] = name;
	}
}

void suggestions_write(const struct suggestions *s, const char *prefix, struct buf *out)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *link = i == 0 ? ". Did you mean " : i + 1 == s->n ? " or " : ", ";
		buf_printf(out, "%s%s" STR_FMT "%s", link, prefix, STR_ARG(s->names[i]), i + 1 == s->n ? "?" : "");
	}
}
