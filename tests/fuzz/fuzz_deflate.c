/* What we compress is what zlib reads: whole, and cut in two. The first byte says how often the rest is repeated, with a byte that
 * counts behind each copy: short inputs reach several blocks, and matches of all kinds. */
#include "base/buf.h"
#include "base/deflate.h"
#include "tests/fuzz/fuzz.h"

#include <zlib.h>

enum { TEXT_BYTES = 200 << 10 };

/* Into memory of the size that is promised to be enough: a sanitizer sees what is written beyond it. */
static void add_packed(struct buf *stream, struct deflater *d, struct str text)
{
	char *out = mem_alloc(deflate_bound(text.n));
	size_t n = deflate_text(d, text, out);

	CHECK(n <= deflate_bound(text.n));
	buf_add(stream, out, n);
	mem_free(out);
}

static void check_stream(struct str stream, struct str text)
{
	char *found = mem_alloc(text.n + 1);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)stream.p,
		.avail_in = (uInt)stream.n,
		.next_out = (Bytef *)found,
		.avail_out = (uInt)text.n + 1};

	CHECK(inflateInit2(&z, -15) == Z_OK);
	CHECK(inflate(&z, Z_FINISH) == Z_STREAM_END);
	CHECK(z.avail_in == 0);
	CHECK(str_eq((struct str){found, z.total_out}, text));
	inflateEnd(&z);
	mem_free(found);
}

static void check_text(struct str text)
{
	struct deflater *d = deflater_new();
	struct str half = {text.p, text.n / 2};
	struct buf stream;

	buf_init(&stream, 1 << 20);
	add_packed(&stream, d, text);
	buf_add_str(&stream, DEFLATE_END);
	check_stream(buf_str(&stream), text);

	buf_clear(&stream);
	add_packed(&stream, d, half);
	add_packed(&stream, d, (struct str){text.p + half.n, text.n - half.n});
	buf_add_str(&stream, DEFLATE_END);
	check_stream(buf_str(&stream), text);
	buf_done(&stream);
	deflater_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf text;

	if (n == 0) {
		return 0;
	}
	buf_init(&text, TEXT_BYTES);
	for (unsigned i = 0; i < 1 + data[0] * 4U && text.n + n < TEXT_BYTES; i++) {
		buf_add(&text, data + 1, n - 1);
		buf_addc(&text, (char)i);
	}
	/* Exactly as long as it is: reading beyond it shows. */
	char *exact = mem_alloc(text.n);
	memcpy(exact, text.p, text.n);
	check_text((struct str){exact, text.n});
	mem_free(exact);
	buf_done(&text);
	return 0;
}
