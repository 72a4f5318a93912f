/* "Did you mean ...?": of the names that there are, those that a misspelt one is nearest to. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/buf.h"

/* More than three names would not help; further ones that are as near are left out. */
enum { SUGGESTIONS_MAX = 3 };

/* Names that are offered must outlive it. */
struct suggestions {
	struct str misspelt;
	struct str names[SUGGESTIONS_MAX]; /* all equally near, in the order in which they were offered */
	size_t n, distance;
};

void suggestions_init(struct suggestions *s, struct str misspelt);
void suggestions_offer(struct suggestions *s, struct str name);
/* Appends ". Did you mean --port or --ports?", each name behind prefix; nothing, when none is near. */
void suggestions_write(const struct suggestions *s, const char *prefix, struct buf *out);
/* How many letters must be added, left out, changed or swapped with their neighbour; above SUGGEST_LENGTH_MAX letters: SIZE_MAX. */
enum { SUGGEST_LENGTH_MAX = 63 };
size_t edit_distance(struct str a, struct str b);

#endif
