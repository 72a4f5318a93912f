/* Events end at a newline wherever TCP has cut them. Most pieces hold whole lines, which go on
 * as they are; only the rest of a line is ever copied. */
#include "client/lines.h"

void lines_init(struct lines *l, size_t longest)
{
	buf_init(&l->rest, longest);
}

void lines_done(struct lines *l)
{
	buf_done(&l->rest);
}

void lines_clear(struct lines *l)
{
	buf_clear(&l->rest);
}

/* A line that came whole is not copied. */
static bool end_line(struct lines *l, struct str last, bool (*each)(void *ctx, struct str line), void *ctx)
{
	if (last.n + l->rest.n > l->rest.ceiling) {
		return false;
	}
	struct str line = last;
	if (l->rest.n) {
		buf_add_str(&l->rest, last);
		line = buf_str(&l->rest);
	}
	line = str_trim(line);
	bool is_fine = !line.n || each(ctx, line);
	buf_clear(&l->rest);
	return is_fine;
}

bool lines_feed(struct lines *l, struct str bytes, bool (*each)(void *ctx, struct str line), void *ctx)
{
	struct str line, tail;
	while (str_cut(bytes, '\n', &line, &tail)) {
		if (!end_line(l, line, each, ctx)) {
			return false;
		}
		bytes = tail;
	}
	return buf_add_str(&l->rest, bytes);
}
