/* For answers that are made once and thrown away. Lists, which are asked for again and again, have
 * a way of their own (server/request/gzip_list.h). */
#include "server/parse/gzip.h"

#include <assert.h>
#include <zlib.h>

#define GZIP_LEVEL 1
#define GZIP_WINDOW (15 + 16) /* the largest window, with gzip's header */
/* zlib counts what it is given in 32 bits. */
#define PIECE_MAX ((size_t)1 << 30)

static void add_input(z_stream *z, struct str *in)
{
	size_t n = MIN(in->n, PIECE_MAX);

	z->next_in = (Bytef *)(uintptr_t)in->p;
	z->avail_in = (uInt)n;
	in->p += n;
	in->n -= n;
}

bool gzip_all(struct buf *out, struct str in)
{
	char piece[16384];
	z_stream z = {0};
	int r = deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY);

	assert(r == Z_OK);
	while (r == Z_OK && !out->is_over) {
		if (z.avail_in == 0) {
			add_input(&z, &in);
		}
		z.next_out = (Bytef *)piece;
		z.avail_out = sizeof(piece);
		r = deflate(&z, in.n == 0 ? Z_FINISH : Z_NO_FLUSH);
		buf_add(out, piece, sizeof(piece) - z.avail_out);
	}
	deflateEnd(&z);
	return !out->is_over;
}
