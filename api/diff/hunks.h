/* The difference of two JSON values, as hunks of lines of their YAML (`application/vnd.annals.hunks+json`). Pure.
 *
 * The texts are those of yaml_from_json_visible(). Each line names the value that it is about, by a JSON pointer
 * (RFC 6901): what begins on it last, or else what began last before it, of which it is one more line. */
#ifndef API_DIFF_HUNKS_H
#define API_DIFF_HUNKS_H

#include "base/json.h"

#define HUNKS_MEDIA_TYPE "application/vnd.annals.hunks+json"

enum {
	HUNKS_TOO_LARGE = 1, /* a text, or the answer */

	HUNKS_TEXT_MAX = 16 << 20,   /* bytes of each text */
	HUNKS_LINES_MAX = 1 << 20,   /* lines of each */
	HUNKS_ANSWER_MAX = 32 << 20, /* bytes: for the ceiling of `out` */

	/* Lines of context that a request may ask for; a larger number is refused, "all" has no
	 * limit. */
	HUNKS_CONTEXT_MAX = 1000000,
};

struct hunks {
	const struct json *from, *to; /* NULL: an empty text */
	struct str from_name, to_name;
	uint32_t context; /* lines around changes */
};

/* Lines around changes: a number, `all`, or nothing, which is 3. False: neither. */
bool hunks_parse_context(struct str text, uint32_t *ret);
/* The message for a text that hunks_parse_context() refuses. */
#define HUNKS_CONTEXT_HELP "context must be a number from 0 to 1000000, or all"

/* Appends the hunks as JSON text. 0; HUNKS_TOO_LARGE; negative: a text could not be read. */
int hunks_write(struct buf *out, const struct hunks *h);

#endif
