/* https://no-color.org: what is set and not empty turns colours off; but a flag is nearer than the
 * environment. */
#include "cli/common/colour.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int colour_check(const char *mode, struct buf *err)
{
	static const char *const modes[] = {COLOUR_AUTO, "always", "never"};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(mode, modes[i]) == 0) {
			return 0;
		}
	}
	buf_printf(err, "--color must be auto, always or never");
	return -EINVAL;
}

bool colour_is_wanted(const char *mode, FILE *out)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
	if (strcmp(mode, COLOUR_AUTO) != 0) {
		return strcmp(mode, "always") == 0;
	}
	return isatty(fileno(out)) && !(none && *none) && !(terminal && strcmp(terminal, "dumb") == 0);
}
