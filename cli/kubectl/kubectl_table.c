/* Widths are measured after cells are escaped, or a name with control characters would shift its
 * row. */
#include "api/model/members.h"
#include "base/clock.h"
#include "base/visible.h"
#include "cli/kubectl/kubectl.h"

/* As kubectl's tables (k8s.io/cli-runtime/pkg/printers: tabwriter's padding). */
enum { GAP = 3, CELL_MAX = 4 << 20 };

struct str *text_table_row(struct text_table *t)
{
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

/* Before widths are measured; and what has several lines stays in its row. */
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
