/* What the files of this room share: lines as numbers, which lines go and come, and how that is made short. */
#ifndef API_HUNKS_LINE_PRIVATE_H
#define API_HUNKS_LINE_PRIVATE_H

#include "api/hunks/line_diff.h"

/* One text of two, as far as it has to be compared: equal lines have equal classes. */
struct line_side {
	uint32_t *classes; /* of each line that is in both texts */
	uint32_t *lines;   /* and its number */
	bool *is_changed;  /* by number of the line: it is not in what both texts share */
	uint32_t n;        /* classes */
};

/* Marks what is not shared. */
void line_split(struct line_side sides[2]);

/* Moves each change that could as well be some lines earlier or later to where it reads best. */
void line_slide(struct line_changes *c);

#endif
