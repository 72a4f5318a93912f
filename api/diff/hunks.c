/* A page that shows a difference wants to know more than diff -u says: which value a line is about, so
 * that its path can be copied. Both texts are walked beside the hunks for that, so nothing is kept
 * for lines that nobody is shown. */
#include "api/diff/hunks.h"
#include "api/diff/line_diff.h"
#include "api/diff/pointer.h"
#include "base/yaml.h"
#include "base/yaml_walk.h"

#include <errno.h>

enum { CONTEXT_DEFAULT = 3 };

bool hunks_parse_context(struct str text, uint32_t *ret)
{
	int64_t n = CONTEXT_DEFAULT;

	if (str_is(text, "all")) {
		*ret = UINT32_MAX;
		return true;
	}
	if (text.n > 0 && (!str_to_int64(text, &n) || n < 0 || n > HUNKS_CONTEXT_MAX)) {
		return false;
	}
	*ret = (uint32_t)n;
	return true;
}

/* ---- lines ---- */

struct writer {
	struct buf *out;
	struct buf pointer; /* of one line */
	struct yaml_walk *from, *to;
	bool is_first;  /* of its hunk */
	bool is_unread; /* a text cannot be read */
};

static void write_member(struct buf *out, const char *before, struct str text)
{
	buf_adds(out, before);
	json_encode_string(out, text);
}

static struct str pointer_of(struct writer *w, const struct yaml_walk *walk)
{
	const struct yaml_step *steps;
	size_t n = yaml_walk_path(walk, &steps);

	buf_clear(&w->pointer);
	for (size_t i = 0; i < n; i++) {
		char index[POINTER_INDEX_SIZE];
		pointer_push(&w->pointer, steps[i].is_item ? pointer_index(index, steps[i].index) : steps[i].name);
	}
	/* A pointer that does not fit is longer than an answer may be. */
	w->out->is_over |= w->pointer.is_over;
	return buf_str(&w->pointer);
}

static bool write_line(void *ctx, const struct hunk_line *line)
{
	struct writer *w = ctx;
	struct yaml_walk *walk = line->sign == '-' ? w->from : w->to;

	if (!yaml_walk_to(walk, line->number)) {
		w->is_unread = true;
		return false;
	}
	buf_printf(w->out, "%s{\"op\":\"%c\"", w->is_first ? "" : ",", line->sign);
	w->is_first = false;
	write_member(w->out, ",\"text\":", line->text);
	write_member(w->out, ",\"path\":", pointer_of(w, walk));
	return buf_addc(w->out, '}');
}

/* ---- hunks ---- */

static bool write_hunks(struct writer *w, const struct line_changes *c, uint32_t context)
{
	struct line_hunk hunk = {0};

	while (line_hunk_next(c, context, &hunk)) {
		buf_printf(w->out, "%s{\"from\":%u,\"to\":%u,\"lines\":[", hunk.first ? "," : "", hunk.from + 1, hunk.to + 1);
		w->is_first = true;
		if (!line_hunk_each(c, &hunk, write_line, w)) {
			return false;
		}
		BUF_LITERAL(w->out, "]}");
	}
	return true;
}

static int write_difference(struct buf *out, const struct hunks *h, const struct line_changes *c)
{
	struct writer w = {.out = out, .from = yaml_walk_new(c->from.text), .to = yaml_walk_new(c->to.text)};

	buf_init(&w.pointer, HUNKS_ANSWER_MAX);
	write_member(out, "{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"Hunks\",\"from\":", h->from_name);
	write_member(out, ",\"to\":", h->to_name);
	buf_printf(out, ",\"fromLines\":%u,\"toLines\":%u,\"hunks\":[", c->from.n, c->to.n);
	write_hunks(&w, c, h->context);
	BUF_LITERAL(out, "]}");
	buf_done(&w.pointer);
	yaml_walk_free(w.from);
	yaml_walk_free(w.to);
	if (w.is_unread) {
		return error_trace(-EBADMSG);
	}
	return out->is_over ? HUNKS_TOO_LARGE : 0;
}

static size_t count_lines(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		n += text.p[i] == '\n';
	}
	return n;
}

static bool write_text(struct buf *text, const struct json *value)
{
	return !value || (yaml_from_json_visible(text, value) && count_lines(buf_str(text)) <= HUNKS_LINES_MAX);
}

int hunks_write(struct buf *out, const struct hunks *h)
{
	struct buf texts[2];
	int r = HUNKS_TOO_LARGE;

	buf_init(&texts[0], HUNKS_TEXT_MAX);
	buf_init(&texts[1], HUNKS_TEXT_MAX);
	if (write_text(&texts[0], h->from) && write_text(&texts[1], h->to)) {
		struct line_changes changes;
		line_changes_init(&changes, buf_str(&texts[0]), buf_str(&texts[1]));
		r = write_difference(out, h, &changes);
		line_changes_done(&changes);
	}
	buf_done(&texts[0]);
	buf_done(&texts[1]);
	return r;
}
