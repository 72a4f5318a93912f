/* Flags from one table: parsing, defaults, help, and suggestions for misspelt words. Why not
 * getopt: flags are kube-apiserver's (pflag), whose values may be "--name value" or "--name=value",
 * with its words in errors. Help, parsing and defaults read one table, so no flag can be
 * undocumented. */
#include "base/options.h"
#include "base/suggest.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

/* Where parsing stands. */
struct cursor {
	const struct option *table;
	int argc;
	char **argv;
	int at; /* the argument being read */
	int n_positional;
	struct buf *err;
};

static _printf_(2, 3) int refuse(struct cursor *c, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(c->err, format, ap);
	va_end(ap);
	return -EINVAL;
}

const struct option *options_find(const struct option *table, struct str name)
{
	for (const struct option *o = table; o->name; o++) {
		if (o->type != OPTION_HEADING && str_is(name, o->name)) {
			return o;
		}
	}
	return NULL;
}

/* Accepts the spellings that Go's strconv.ParseBool accepts. */
static bool parse_bool(const char *value, bool *ret)
{
	static const char *const spellings[2][6] = {
		{"false", "0", "f", "F", "FALSE", "False"},
		{"true", "1", "t", "T", "TRUE", "True"},
	};
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(spellings[i]); j++) {
			if (strcmp(value, spellings[i][j]) == 0) {
				*ret = i == 1;
				return true;
			}
		}
	}
	return false;
}

struct duration_unit {
	const char *name;
	int64_t ns;
};

static const struct duration_unit duration_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"\u00b5s", 1000}, /* micro sign */
	{"\u03bcs", 1000}, /* Greek mu */
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60 * (int64_t)1000000000},
	{"h", 3600 * (int64_t)1000000000},
};

static int64_t find_duration_unit(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++) {
		if (str_is(name, duration_units[i].name)) {
			return duration_units[i].ns;
		}
	}
	return 0;
}

static size_t span_digits(struct str s)
{
	size_t n = 0;
	while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') {
		n++;
	}
	return n;
}

static struct str take_head(struct str *s, size_t n)
{
	struct str head = {s->p, n};
	s->p += n;
	s->n -= n;
	return head;
}

static size_t span_unit(struct str s)
{
	size_t n = 0;
	while (n < s.n && s.p[n] != '.' && !(s.p[n] >= '0' && s.p[n] <= '9')) {
		n++;
	}
	return n;
}

/* Takes one "1.5h" off *s and adds it to *ns. */
static bool take_duration_part(struct str *s, int64_t *ns)
{
	struct str whole = take_head(s, span_digits(*s));
	struct str fraction = {NULL, 0};
	if (s->n > 0 && s->p[0] == '.') {
		take_head(s, 1);
		fraction = take_head(s, span_digits(*s));
	}
	int64_t unit = find_duration_unit(take_head(s, span_unit(*s)));
	if (unit == 0 || whole.n + fraction.n == 0) {
		return false;
	}

	int64_t count = 0, part;
	if (whole.n > 0 && !str_to_int64(whole, &count)) {
		return false;
	}
	if (__builtin_mul_overflow(count, unit, &part) || __builtin_add_overflow(*ns, part, ns)) {
		return false;
	}
	for (size_t i = 0; i < fraction.n && unit > 0; i++) {
		part = (fraction.p[i] - '0') * unit / 10;
		unit /= 10;
		if (__builtin_add_overflow(*ns, part, ns)) {
			return false;
		}
	}
	return true;
}

bool duration_parse_ms(struct str s, int64_t *ret_ms)
{
	bool is_negative = str_starts(s, STR("-"));
	if (is_negative || str_starts(s, STR("+"))) {
		take_head(&s, 1);
	}
	if (str_is(s, "0")) {
		*ret_ms = 0;
		return true;
	}

	int64_t ns = 0;
	do {
		if (!take_duration_part(&s, &ns)) {
			return false;
		}
	} while (s.n > 0);
	*ret_ms = (is_negative ? -ns : ns) / 1000000;
	return true;
}

void option_strings_add(struct option_strings *s, struct str value)
{
	s->v = mem_realloc_array(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = mem_strndup(value.p, value.n);
}

void option_strings_done(struct option_strings *s)
{
	for (size_t i = 0; i < s->n; i++) {
		mem_free(s->v[i]);
	}
	mem_free(s->v);
	*s = (struct option_strings){NULL, 0};
}

static bool is_within(const struct option *o, int64_t n)
{
	return n >= o->min && (o->max == 0 || n <= o->max);
}

static int set_string(struct cursor *c _unused_, const struct option *o, const char *value)
{
	*(const char **)o->target = value;
	return 0;
}

static int set_strings(struct cursor *c _unused_, const struct option *o, const char *value)
{
	struct str rest = str_of(value), item;
	bool more;
	do {
		more = str_cut(rest, ',', &item, &rest);
		option_strings_add(o->target, item);
	} while (more);
	return 0;
}

static int refuse_value(struct cursor *c, const struct option *o, const char *value, const char *why)
{
	return refuse(c, "invalid argument \"%s\" for \"--%s\" flag: %s", value, o->name, why);
}

static int set_bool(struct cursor *c, const struct option *o, const char *value)
{
	return parse_bool(value, o->target) ? 0 : refuse_value(c, o, value, "must be true or false");
}

static int refuse_range(struct cursor *c, const struct option *o, const char *value)
{
	refuse(c, "invalid argument \"%s\" for \"--%s\" flag: must be at least ", value, o->name);
	option_add_number(o, o->min, c->err);
	if (o->max) {
		buf_adds(c->err, " and at most ");
		option_add_number(o, o->max, c->err);
	}
	return -EINVAL;
}

static int set_int(struct cursor *c, const struct option *o, const char *value)
{
	int64_t n;
	if (!str_to_int64(str_of(value), &n)) {
		return refuse_value(c, o, value, "must be an integer");
	}
	if (!is_within(o, n)) {
		return refuse_range(c, o, value);
	}
	*(int64_t *)o->target = n;
	return 0;
}

static int set_duration(struct cursor *c, const struct option *o, const char *value)
{
	int64_t ms;
	if (!duration_parse_ms(str_of(value), &ms)) {
		return refuse_value(c, o, value, "must be a duration such as 1m30s, 500ms or 0");
	}
	if (!is_within(o, ms)) {
		return refuse_range(c, o, value);
	}
	*(int64_t *)o->target = ms;
	return 0;
}

typedef int (*option_setter)(struct cursor *, const struct option *, const char *);

static const option_setter setters[] = {
	[OPTION_STRING] = set_string,
	[OPTION_STRINGS] = set_strings,
	[OPTION_BOOL] = set_bool,
	[OPTION_INT] = set_int,
	[OPTION_DURATION] = set_duration,
};

/* The value behind '=', the implied one, or the next argument. */
static const char *take_value(struct cursor *c, const struct option *o, const char *equals)
{
	if (equals) {
		return equals + 1;
	}
	/* As pflag: "--flag false" is a flag and an argument. */
	if (o->type == OPTION_BOOL) {
		return "true";
	}
	return c->at + 1 < c->argc ? c->argv[++c->at] : NULL;
}

static int suggest_flag(struct cursor *c, struct str misspelt)
{
	struct suggestions near;
	suggestions_init(&near, misspelt);
	for (const struct option *o = c->table; o->name; o++) {
		if (o->type != OPTION_HEADING && o->name[1]) { /* everything is near to a letter */
			suggestions_offer(&near, str_of(o->name));
		}
	}
	suggestions_write(&near, "--", c->err);
	return -EINVAL;
}

static struct str name_of(const char *flag)
{
	const char *equals = strchr(flag, '=');
	return equals ? (struct str){flag, (size_t)(equals - flag)} : str_of(flag);
}

static int parse_flag(struct cursor *c, const char *flag)
{
	const char *equals = strchr(flag, '=');
	struct str name = name_of(flag);
	const struct option *o = options_find(c->table, name);
	if (!o) {
		refuse(c, "unknown flag: --" STR_FMT, STR_ARG(name));
		return suggest_flag(c, name);
	}

	const char *value = take_value(c, o, equals);
	if (!value) {
		return refuse(c, "flag needs an argument: --%s", o->name);
	}
	return setters[o->type](c, o, value);
}

static void keep_positional(struct cursor *c)
{
	c->argv[1 + c->n_positional++] = c->argv[c->at];
}

static bool is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

static void print_help(const struct option *table)
{
	_cleanup_(buf_done) struct buf help;
	buf_init(&help, 64 * 1024);
	options_print_help(table, &help);
	fwrite(help.p, 1, help.n, stdout);
}

static int refuse_letters(struct cursor *c, const char *arg)
{
	refuse(c, "unknown flag: " STR_FMT, STR_ARG(name_of(arg)));
	return suggest_flag(c, name_of(arg + 1));
}

/* The value of the letter's flag: the rest of the word, or the next argument. */
static int parse_letter_value(struct cursor *c, const struct option *o, const char *letter)
{
	const char *value = letter[1] == '=' ? letter + 2 : letter[1] ? letter + 1 : take_value(c, o, NULL);
	return value ? setters[o->type](c, o, value) : refuse(c, "flag needs an argument: -%s", o->name);
}

/* As pflag has it: -n NAME, -nNAME, -n=NAME, and switches in one word: -Aw. */
static int parse_letters(struct cursor *c, const char *arg)
{
	int r = 0;
	/* pflag would take -namespace=x for a namespace called "amespace=x". */
	if (arg[2] != '\0' && arg[2] != '=' && options_find(c->table, name_of(arg + 1))) {
		return refuse_letters(c, arg);
	}
	for (const char *letter = arg + 1; *letter && !r; letter++) {
		const struct option *o = options_find(c->table, (struct str){letter, 1});
		if (!o) {
			return refuse_letters(c, arg);
		}
		if (o->type != OPTION_BOOL || letter[1] == '=') {
			return parse_letter_value(c, o, letter);
		}
		r = set_bool(c, o, "true");
	}
	return r;
}

static int parse_argument(struct cursor *c)
{
	const char *arg = c->argv[c->at];
	if (arg[0] != '-' || arg[1] == '\0') {
		keep_positional(c);
		return 0;
	}
	return arg[1] == '-' ? parse_flag(c, arg + 2) : parse_letters(c, arg);
}

size_t options_count(const struct option *table)
{
	size_t n = 0;
	while (table[n].name) {
		n++;
	}
	return n;
}

int options_parse(const struct option *table, int argc, char **argv, int *ret_n_positional, struct buf *err)
{
	struct cursor c = {.table = table, .argc = argc, .argv = argv, .at = 1, .err = err};
	for (; c.at < argc && strcmp(argv[c.at], "--") != 0; c.at++) {
		if (is_help(argv[c.at])) {
			print_help(table);
			return 1;
		}
		int r = parse_argument(&c);
		if (r) {
			return r;
		}
	}
	for (c.at++; c.at < argc; c.at++) { /* behind "--" nothing is a flag */
		keep_positional(&c);
	}
	*ret_n_positional = c.n_positional;
	return 0;
}

/* ---- help ---- */

/* Help, manuals and completion read the table of flags. All take defaults from the targets, so that
 * what is printed is what is done. */

/* Columns of help and manuals; longer words stay whole. */
enum { COLUMNS_MAX = 100, INDENT = 8 };

/* ---- durations ---- */

void duration_add_ms(struct buf *out, int64_t ms)
{
	static const struct {
		int64_t ms;
		const char *name;
	} units[] = {{3600 * 1000, "h"}, {60 * 1000, "m"}, {1000, "s"}, {1, "ms"}};
	uint64_t rest = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;

	buf_adds(out, ms < 0 ? "-" : "");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		uint64_t n = rest / (uint64_t)units[i].ms;
		if (n > 0) {
			buf_printf(out, "%llu%s", (unsigned long long)n, units[i].name);
		}
		rest %= (uint64_t)units[i].ms;
	}
	buf_adds(out, ms == 0 ? "0s" : "");
}

/* ---- flags ---- */

static const char *short_of(const struct option *o)
{
	const struct option *next = o + 1;
	bool is_short = next->name && next->type == o->type && next->target == o->target && next->name[0] && !next->name[1];
	return is_short ? next->name : NULL;
}

bool options_next(const struct option *table, struct option_entry *e)
{
	const struct option *o = e->option ? e->option + (e->short_name ? 2 : 1) : table;
	for (; o->name && o->type == OPTION_HEADING; o++) {
		e->group = o->name;
	}
	e->option = o;
	e->short_name = o->name ? short_of(o) : NULL;
	return o->name;
}

void option_add_title(const struct option_entry *e, struct buf *out)
{
	const struct option *o = e->option;
	const char *letter = e->short_name ? e->short_name : o->name[1] ? NULL : o->name;
	if (letter) {
		buf_printf(out, "-%s, ", letter);
	}
	buf_printf(out, "--%s%s%s", o->name, o->value_name ? " " : "", o->value_name ? o->value_name : "");
}

void option_add_number(const struct option *o, int64_t n, struct buf *out)
{
	if (o->type == OPTION_DURATION) {
		duration_add_ms(out, n);
	} else {
		buf_printf(out, "%lld", (long long)n);
	}
}

/* Adds the default to the flag's help, unless it says nothing: a number outside the flag's range means
 * "not given", and 0 is the obvious default of a number without a range. */
static void add_default_number(const struct option *o, struct buf *out)
{
	int64_t n = *(const int64_t *)o->target;
	if (n >= o->min && (n || o->max)) {
		option_add_number(o, n, out);
	}
}

void option_add_default(const struct option *o, struct buf *out)
{
	const char *text;
	switch (o->type) {
	case OPTION_STRING:
		text = *(const char *const *)o->target;
		buf_adds(out, text ? text : "");
		break;
	case OPTION_BOOL:
		buf_adds(out, *(const bool *)o->target ? "true" : "");
		break;
	case OPTION_INT:
	case OPTION_DURATION:
		add_default_number(o, out);
		break;
	case OPTION_STRINGS:
	case OPTION_HEADING:
		break;
	}
}

/* ---- help ---- */

/* Where a line stands. */
struct filling {
	struct buf *out;
	size_t column;
};

static void add_word(struct filling *f, struct str word)
{
	if (f->column == 0 || f->column + 1 + word.n > COLUMNS_MAX) {
		buf_printf(f->out, "%s%*s", f->column ? "\n" : "", INDENT, "");
		f->column = INDENT;
	} else {
		buf_addc(f->out, ' ');
		f->column++;
	}
	buf_add_str(f->out, word);
	f->column += word.n;
}

static void add_text(struct buf *out, const struct option *o)
{
	_cleanup_(buf_done) struct buf value;
	struct filling f = {.out = out};
	struct str word, text = str_of(o->help);

	while (text.n > 0) {
		str_cut(text, ' ', &word, &text);
		add_word(&f, word);
	}
	buf_init(&value, 4096);
	BUF_LITERAL(&value, "(default ");
	size_t n = value.n;
	option_add_default(o, &value);
	if (value.n > n) { /* in one piece, for those who search for it */
		buf_addc(&value, ')');
		add_word(&f, buf_str(&value));
	}
	buf_addc(out, '\n');
}

void options_print_help(const struct option *table, struct buf *out)
{
	struct option_entry e = {0};
	const char *group = NULL;
	while (options_next(table, &e)) {
		if (e.group != group) {
			buf_printf(out, "%s%s flags:\n", out->n ? "\n" : "", e.group);
			group = e.group;
		}
		BUF_LITERAL(out, "  ");
		option_add_title(&e, out);
		buf_addc(out, '\n');
		add_text(out, e.option);
	}
}

/* ---- suggestions ---- */

/* Two swapped letters count as one slip of the finger (optimal string alignment), so that "sevre"
 * finds "serve". A word's beginning counts as near, however much is missing. */

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
