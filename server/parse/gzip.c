/* For answers that are made once and thrown away. Lists, which are asked for again and again, have
 * a way of their own (server/request/gzip_list.h). */
#include "server/parse/gzip.h"

#include "base/deflate.h"

#include <isa-l/crc.h>

/* Pieces are compressed each by itself, which hardly shows in the result: so memory is bounded. */
#define PIECE_MAX ((size_t)256 << 10)

/* ISA-L's takes a tenth of the time that zlib's does. */
uint32_t gzip_checksum(struct str text)
{
	return text.n > 0 ? crc32_gzip_refl(0, (const unsigned char *)text.p, text.n) : 0;
}

void gzip_put_le(char *p, uint32_t n, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		p[i] = (char)(n >> (8 * i));
	}
}

void gzip_put_tail(char *p, uint32_t crc, uint32_t text_n)
{
	gzip_put_le(p, crc, 4);
	gzip_put_le(p + 4, text_n, 4);
}

static void add_pieces(struct buf *out, struct str in)
{
	struct deflater *deflater = deflater_new();
	char *packed = mem_alloc(deflate_bound(MIN(in.n, PIECE_MAX)));

	while (in.n > 0 && !out->is_over) {
		struct str piece = {in.p, MIN(in.n, PIECE_MAX)};

		buf_add(out, packed, deflate_text(deflater, piece, packed));
		in = (struct str){in.p + piece.n, in.n - piece.n};
	}
	mem_free(packed);
	deflater_free(deflater);
}

bool gzip_all(struct buf *out, struct str in)
{
	char tail[GZIP_TAIL_SIZE];

	gzip_put_tail(tail, gzip_checksum(in), (uint32_t)in.n);
	buf_add_str(out, GZIP_HEAD);
	add_pieces(out, in);
	buf_add_str(out, DEFLATE_END);
	return buf_add(out, tail, sizeof(tail));
}
