#include "server/gzip.h"

#include <assert.h>
#include <zlib.h>

#define GZIP_LEVEL 1
#define GZIP_WINDOW (15 + 16) /* the largest window, with gzip's header */

struct gzip {
	z_stream z;
};

struct gzip *gzip_new(void)
{
	struct gzip *g = mem_new(struct gzip);
	int r = deflateInit2(&g->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY);

	assert(r == Z_OK);
	(void)r;
	return g;
}

struct gzip *gzip_free(struct gzip *g)
{
	if (g) {
		deflateEnd(&g->z);
	}
	return mem_free(g);
}

size_t gzip_write(struct gzip *g, struct str *in, bool is_last, char *out, size_t max, bool *ret_is_end)
{
	size_t room = MIN(max, (size_t)1 << 30);

	g->z.next_in = (Bytef *)(uintptr_t)in->p;
	g->z.avail_in = (uInt)MIN(in->n, (size_t)1 << 30);
	g->z.next_out = (Bytef *)out;
	g->z.avail_out = (uInt)room;
	int r = deflate(&g->z, is_last && in->n <= (size_t)1 << 30 ? Z_FINISH : Z_NO_FLUSH);
	in->n -= (size_t)((const char *)g->z.next_in - in->p);
	in->p = (const char *)g->z.next_in;
	*ret_is_end = r == Z_STREAM_END;
	return room - g->z.avail_out;
}

bool gzip_all(struct buf *out, struct str in)
{
	_cleanup_(gzip_freep) struct gzip *g = gzip_new();
	char piece[16384];
	bool is_end = false;

	while (!is_end) {
		size_t n = gzip_write(g, &in, true, piece, sizeof(piece), &is_end);
		if (!buf_add(out, piece, n)) {
			return false;
		}
	}
	return true;
}
