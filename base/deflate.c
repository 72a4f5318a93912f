/* DEFLATE and gzip by ISA-L at its level 1. It is five times as fast as zlib, and its output is
 * smaller (docs/explanation/performance.md, "gzip"). deflate_text() compresses each text by itself
 * and flushes it; the result does not end a stream. */
#include "base/deflate.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

enum {
	LEVEL = 1,
	STORED_MAX = 65535, /* bytes of a block that is not compressed */
	BLOCK_HEAD = 5,     /* of such a block, and of what a flush adds */
	SLACK = 64,         /* what the library may want at the end */
};

struct deflater {
	struct isal_zstream stream;
	uint8_t buffer[ISAL_DEF_LVL1_SMALL];
};

struct deflater *deflater_new(void)
{
	return mem_new(struct deflater);
}

struct deflater *deflater_free(struct deflater *d)
{
	return mem_free(d);
}

size_t deflate_bound(size_t n)
{
	return n + (n / STORED_MAX + 2) * BLOCK_HEAD + SLACK;
}

/* Data that compression would enlarge is stored as it is, so deflate_bound() is always enough. */
size_t deflate_text(struct deflater *d, struct str text, char *out)
{
	struct isal_zstream *s = &d->stream;
	isal_deflate_stateless_init(s);
	s->level = LEVEL;
	s->level_buf = d->buffer;
	s->level_buf_size = sizeof(d->buffer);
	s->gzip_flag = IGZIP_DEFLATE;
	s->flush = FULL_FLUSH;
	s->next_in = (uint8_t *)(uintptr_t)text.p;
	s->avail_in = (uint32_t)text.n;
	s->next_out = (uint8_t *)out;
	s->avail_out = (uint32_t)deflate_bound(text.n);
	int r = isal_deflate_stateless(s);
	assert(r == COMP_OK && s->avail_in == 0);
	return s->total_out;
}

/* ---- gzip ---- */

/* gzip_all() is for answers that are made once and thrown away. Lists, which are asked for again
 * and again, keep what they have compressed (server/request/gzip_list.h). */

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
