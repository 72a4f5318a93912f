/* Whatever a user calls a template: it is read, or refused with a sentence. A template that was read without a value is also read
 * with one, since the plugin checks it before the first request. The input is a template, a zero byte, and JSON. */
#include "cli/kubectl/jsonpath.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok) {
		abort();
	}
}

typedef bool jsonpath_function(
	struct str template, const struct json *value, struct arena *a, struct buf *out, struct buf *err);

static void check_reading(jsonpath_function *read, struct str template, const struct json *value, struct arena *a)
{
	struct buf out, err;
	buf_init(&out, 16 << 20);
	buf_init(&err, 4096);
	bool is_read = read(template, NULL, a, &out, &err);
	check(is_read == !err.n);
	buf_clear(&out);
	check(!is_read || !value || read(template, value, a, &out, &err));
	buf_done(&err);
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str template, text;
	struct json *value = NULL;
	struct arena arena;
	size_t at;
	arena_init(&arena, 256 << 20);
	str_cut((struct str){(const char *)data, n}, '\0', &template, &text);
	if (json_parse(&value, &arena, text, (struct json_limits){.depth = 32, .values = 1000}, &at)) {
		value = NULL;
	}
	check_reading(jsonpath_write, template, value, &arena);
	check_reading(jsonpath_column, template, value, &arena);
	arena_done(&arena);
	return 0;
}
