/* ISA-L's compression at its level 1: five times as fast as zlib's, and what it makes is smaller
 * (docs/explanation/performance.md, "gzip"). Each text is compressed by itself, flushed, and not a stream's end. */
#include "base/deflate.h"

#include <assert.h>
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

/* What would grow is stored as it is: so there always is room. */
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
