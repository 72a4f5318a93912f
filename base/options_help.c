/* What a table of flags says of itself: help here, manuals and completion elsewhere. All take defaults
 * from the targets, so that what is printed is what is done. */
#include "base/options.h"

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

/* A number outside its range stands for "not given"; 0 goes without saying where a number has no range. */
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
