/* Command-line flags as a table, in the manner of kube-apiserver's (pflag): --name=value, --name value, --bool, --bool=false.
 * One row per flag; unknown flags, missing and malformed values are errors with a sentence. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/buf.h"

enum option_type {
	OPTION_STRING,   /* const char **; points into argv */
	OPTION_STRINGS,  /* struct option_strings *: comma separated and repeatable */
	OPTION_BOOL,     /* bool * */
	OPTION_INT,      /* int64_t *, within [min, max] */
	OPTION_DURATION, /* int64_t * in milliseconds; Go's spelling: 1m30s, 500ms, 0 */
};

struct option_strings {
	char **v; /* owned */
	size_t n;
};

struct option {
	const char *name; /* without the dashes; NULL ends the table */
	enum option_type type;
	void *target;
	const char *value_name; /* in the help: DIR, URL, ... */
	const char *help;       /* one sentence */
	int64_t min, max;       /* OPTION_INT, OPTION_DURATION; max 0: no limit */
};

size_t options_count(const struct option *table);
/* Parses argv[1..]; positional arguments are moved to the front, *ret_n_positional counts them. Returns 0, 1 when --help was
 * printed, or -EINVAL with the sentence in err. Behind "--" everything is positional; a one-letter name may have one dash. */
int options_parse(const struct option *table, int argc, char **argv, int *ret_n_positional, struct buf *err);
/* One entry a flag, with the value its target has now as the default. */
void options_print_help(const struct option *table, struct buf *out);
void option_strings_add(struct option_strings *s, struct str value); /* copied */
void option_strings_done(struct option_strings *s);
/* Go's time.ParseDuration, to milliseconds: "1m30s", "500ms", "1.5h", "0". */
bool duration_parse_ms(struct str s, int64_t *ret_ms);

#endif
