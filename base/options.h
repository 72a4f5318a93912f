/* Command-line flags as a table, in the manner of kube-apiserver's (pflag): --name=value, --name value, --bool, --bool=false.
 * One row per flag; unknown flags, missing and malformed values are errors with a sentence.
 *
 * A row of one letter that has the target of the row before it is that one's short form: -o of --output. A row
 * OPTIONS_GROUP("Etcd") is the heading of all flags behind it, as far as the next one. A value name with bars
 * ("text|json") lists the values that there are. FILE, DIR and PATH are completed as such by shells. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/buf.h"

enum option_type {
	OPTION_STRING,   /* const char **; points into argv */
	OPTION_STRINGS,  /* struct option_strings *: comma separated and repeatable */
	OPTION_BOOL,     /* bool * */
	OPTION_INT,      /* int64_t *, within [min, max] */
	OPTION_DURATION, /* int64_t * in milliseconds; Go's spelling: 1m30s, 500ms, 0 */
	OPTION_HEADING,  /* no flag: see OPTIONS_GROUP */
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
	const char *help;       /* sentences */
	int64_t min, max;       /* OPTION_INT, OPTION_DURATION; max 0: no limit */
};

/* Printed as "Etcd flags:". */
#define OPTIONS_GROUP(title)                            \
	{                                               \
		.name = (title), .type = OPTION_HEADING \
	}

size_t options_count(const struct option *table);
/* The flag of that name, long or short; or NULL. */
const struct option *options_find(const struct option *table, struct str name);
/* Parses argv[1..]; positional arguments are moved to the front, *ret_n_positional counts them. Returns 0, 1 when --help was
 * printed, or -EINVAL with the sentence in err. Behind "--" everything is positional. A one-letter name has one dash or two, and its
 * value may stand behind it: -o json, -ojson, -o=json; switches may stand together: -Aw. */
int options_parse(const struct option *table, int argc, char **argv, int *ret_n_positional, struct buf *err);
void option_strings_add(struct option_strings *s, struct str value); /* copied */
void option_strings_done(struct option_strings *s);

/* ---- help ---- */

/* Prints one entry per flag under the headings of their groups. The default shown is the value that
 * the flag's target has now. Lines end before column 100 where words allow it. */
void options_print_help(const struct option *table, struct buf *out);
/* A flag with its short form: what help, manuals and completion say of it. */
struct option_entry {
	const struct option *option;
	const char *group;      /* its heading; NULL: none has come yet */
	const char *short_name; /* or NULL */
};
/* Moves *e, which begins as {0}, to the first flag or the next one. Returns false at the end. */
bool options_next(const struct option *table, struct option_entry *e);
/* "-o, --output text|json", "-v, --v N". */
void option_add_title(const struct option_entry *e, struct buf *out);
/* The default without its flag: "5m", "6443"; nothing where the default goes without saying. */
void option_add_default(const struct option *o, struct buf *out);
/* A number as one writes it behind that flag: "6443", "5m". */
void option_add_number(const struct option *o, int64_t n, struct buf *out);

/* ---- durations ---- */

/* Go's time.ParseDuration, to milliseconds: "1m30s", "500ms", "1.5h", "0". */
bool duration_parse_ms(struct str s, int64_t *ret_ms);
/* Writes what duration_parse_ms() reads, without zeros at the end: "1m30s", "5m", "0s". */
void duration_add_ms(struct buf *out, int64_t ms);

#endif
