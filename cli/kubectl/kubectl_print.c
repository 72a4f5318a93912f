/* The output of commands: results in the form that -o names, tables, and errors. */
#include "api/model/members.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/visible.h"
#include "base/yaml.h"
#include "cli/common/command.h"
#include "cli/common/terminal.h"
#include "cli/kubectl/jsonpath.h"
#include "cli/kubectl/kubectl.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

int kubectl_fail(struct kubectl *k, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_clear(&k->err);
	buf_vprintf(&k->err, format, ap);
	va_end(ap);
	k->refused_code = 0;
	return -1;
}

enum { NO_ANSWER = 502 };

/* A 404 that names neither the object nor its namespace proves nothing (client/rest.h), so the page must not take it for one. */
static bool is_bare(struct kubectl *k, const struct answer *a)
{
	const struct target *t = &k->target;
	return a->code == 404 && !(t->resource && answer_is_absent(a, t)) && !answer_is_without_namespace(a, t->namespace);
}

int kubectl_refused(struct kubectl *k, int error, const struct answer *a)
{
	if (error != REST_STATUS) {
		kubectl_fail(k, "the server cannot be asked: " STR_FMT, STR_ARG(a->message));
		k->refused_code = NO_ANSWER;
		return -1;
	}
	kubectl_fail(k, "from server (" STR_FMT "): " STR_FMT, STR_ARG(a->reason), STR_ARG(a->message));
	k->refused_code = is_bare(k, a) ? NO_ANSWER : a->code;
	return -1;
}

void kubectl_note(struct kubectl *k, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(&k->notes, format, ap);
	va_end(ap);
	buf_addc(&k->notes, '\n');
}

bool kubectl_wants(const struct kubectl *k, const char *output)
{
	return strcmp(k->output, output) == 0;
}

bool kubectl_may_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static const char *colour_of(struct str line)
{
	static const struct {
		const char *begin, *colour;
	} colours[] = {{"---", COLOUR_BOLD}, {"+++", COLOUR_BOLD}, {"-", COLOUR_RED}, {"+", COLOUR_GREEN}, {"@@", COLOUR_CYAN}};
	for (size_t i = 0; i < ARRAY_SIZE(colours); i++) {
		if (str_starts(line, str_of(colours[i].begin))) {
			return colours[i].colour;
		}
	}
	return "";
}

bool kubectl_write_diff(const struct kubectl *k, FILE *out, struct str lines)
{
	struct str line;
	bool is_written = true;
	if (!colour_is_wanted(k->colour, out)) {
		return command_print(out, lines);
	}
	while (lines.n > 0 && is_written) {
		str_cut(lines, '\n', &line, &lines);
		const char *colour = colour_of(line);
		fputs(colour, out);
		is_written = command_print(out, line);
		fputs(*colour ? COLOUR_END "\n" : "\n", out);
	}
	return is_written;
}

/* ---- kubectl's templates ---- */

/* Bytes that printing one object by a template may take. */
enum { TEMPLATE_MAX = 256 << 20 };

static const char *template_of(const struct kubectl *k, const char *form)
{
	return str_starts(str_of(k->output), str_of(form)) ? k->output + strlen(form) : NULL;
}

static int fail_template(struct kubectl *k, const char *form, struct buf *why)
{
	return kubectl_fail(k, "--output %s: " STR_FMT, form, STR_ARG(buf_str(why)));
}

/* NAME:PATH,...: headings, then a row for each item of a list, or for the value. A value NULL only checks the columns. */
static int write_columns(struct kubectl *k, struct str columns, const struct json *value, struct arena *a)
{
	struct text_table table = {0};
	struct str rest = columns, each, name, path;
	const struct json *items = json_gets(value, "items"), *item;
	uint32_t n = json_is(items, JSON_ARRAY) ? items->n : value ? 1 : 0;
	struct buf cell, why;
	int r = 0;
	buf_init(&cell, OUTPUT_MAX);
	buf_init(&why, 4096);
	/* Make all rows first, since columns are filled in one by one. */
	size_t first = k->has_headings_behind ? 0 : 1;
	for (uint32_t i = 0; i < n + first; i++) {
		text_table_row(&table);
	}
	while (rest.n > 0 && !r) {
		str_cut(rest, ',', &each, &rest);
		if (!str_cut(each, ':', &name, &path) || !name.n || !path.n || table.n_columns == TABLE_COLUMNS_MAX) {
			buf_printf(&why, "at most %d of NAME:PATH, with commas between them, are needed", TABLE_COLUMNS_MAX);
			r = fail_template(k, "custom-columns", &why);
			break;
		}
		if (first) {
			table.rows[0][table.n_columns] = name;
		}
		for (uint32_t i = 0; i < MAX(n, 1U) && !r; i++) {
			item = json_is(items, JSON_ARRAY) ? list_item(items, i) : value;
			buf_clear(&cell);
			if (!jsonpath_column(path, item, a, &cell, &why)) {
				r = fail_template(k, "custom-columns", &why);
			} else if (i < n) {
				table.rows[i + first][table.n_columns] = arena_dup(a, buf_str(&cell));
			}
		}
		table.n_columns++;
	}
	if (!r && value) {
		text_table_write(&table, a, &k->out);
		k->has_headings_behind = true;
	}
	text_table_done(&table);
	buf_done(&why);
	buf_done(&cell);
	return r;
}

int kubectl_check_template(struct kubectl *k, bool *ret_is)
{
	const char *path = template_of(k, "jsonpath="), *columns = template_of(k, "custom-columns=");
	_cleanup_(buf_done) struct buf out, why;
	buf_init(&out, OUTPUT_MAX);
	buf_init(&why, 4096);
	*ret_is = path || columns;
	if ((path && !*path) || (columns && !*columns)) {
		return kubectl_fail(k, "--output %s needs a template behind it", k->output);
	}
	if (path && !jsonpath_write(str_of(path), NULL, &k->arena, &out, &why)) {
		return fail_template(k, "jsonpath", &why);
	}
	return columns ? write_columns(k, str_of(columns), NULL, &k->arena) : 0;
}

bool kubectl_prints_objects(const struct kubectl *k)
{
	return kubectl_wants(k, "json") || kubectl_wants(k, "yaml") || template_of(k, "jsonpath=") ||
		template_of(k, "custom-columns=");
}

/* The template was checked before the first request. */
static bool print_template(struct kubectl *k, const struct json *value)
{
	const char *path = template_of(k, "jsonpath="), *columns = template_of(k, "custom-columns=");
	_cleanup_(buf_done) struct buf why;
	_cleanup_(arena_done) struct arena arena; /* log -f prints for ever */
	arena_init(&arena, TEMPLATE_MAX);
	buf_init(&why, 4096);
	if (path) {
		jsonpath_write(str_of(path), value, &arena, &k->out, &why);
	} else if (columns) {
		write_columns(k, str_of(columns), value, &arena);
	}
	return path || columns;
}

bool kubectl_print(struct kubectl *k, const struct json *value)
{
	if (print_template(k, value)) {
		return true;
	}
	if (kubectl_wants(k, "yaml")) {
		yaml_from_json_visible(&k->out, value);
		return true;
	}
	if (!kubectl_wants(k, "json")) {
		return false;
	}
	struct buf text;
	buf_init(&text, OUTPUT_MAX);
	json_encode(&text, value);
	json_indent(&k->out, buf_str(&text), 4);
	buf_addc(&k->out, '\n');
	buf_done(&text);
	return true;
}

/* ---- tables ----
 *
 * Cells are escaped before widths are measured, or a name with control characters would shift its row. */

/* The padding of kubectl's tables (k8s.io/cli-runtime/pkg/printers). */
enum { GAP = 3, CELL_MAX = 4 << 20 };

struct str *text_table_row(struct text_table *t)
{
	assert(t->n <= t->cap);
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 16;
		t->rows = mem_realloc_array(t->rows, t->cap, sizeof(*t->rows));
	}
	memset(t->rows[t->n], 0, sizeof(t->rows[t->n]));
	return t->rows[t->n++];
}

static size_t width_of(const struct text_table *t, size_t column)
{
	size_t width = t->widths[column];
	for (size_t i = 0; i < t->n; i++) {
		width = MAX(width, t->rows[i][column].n);
	}
	return width;
}

/* A cell with several lines also becomes one line. */
static void escape_cells(const struct text_table *t, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, CELL_MAX);
	for (size_t i = 0; i < t->n; i++) {
		for (size_t c = 0; c < t->n_columns; c++) {
			buf_clear(&text);
			visible_add(&text, t->rows[i][c]);
			t->rows[i][c] = arena_dup(a, buf_str(&text));
		}
	}
}

void text_table_write(struct text_table *t, struct arena *a, struct buf *out)
{
	assert(t->n_columns > 0 && t->n_columns <= TABLE_COLUMNS_MAX);
	escape_cells(t, a);
	for (size_t c = 0; c < t->n_columns; c++) {
		t->widths[c] = width_of(t, c);
	}
	for (size_t i = 0; i < t->n; i++) {
		for (size_t c = 0; c + 1 < t->n_columns; c++) {
			buf_printf(out, "%-*.*s", (int)(t->widths[c] + GAP), STR_ARG(t->rows[i][c]));
		}
		buf_printf(out, STR_FMT "\n", STR_ARG(t->rows[i][t->n_columns - 1]));
	}
}

void text_table_done(struct text_table *t)
{
	t->rows = mem_free(t->rows);
}

struct str age_text(struct arena *a, const struct json *object)
{
	return age_of_time(a, member_text(json_gets(object, "metadata"), "creationTimestamp"));
}

struct str age_of_time(struct arena *a, struct str time)
{
	char age[32];
	int64_t us;
	if (!time_parse_rfc3339(time, &us)) {
		return STR("<unknown>");
	}
	duration_format_human(age, clock_wall_s() - us / 1000000);
	return arena_dup(a, str_of(age));
}
