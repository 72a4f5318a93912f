/* Accept and Content-Type are free text of anybody who can connect. The first byte says what is asked for. */
#include "server/parse/negotiate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok) {
		abort();
	}
}

static void fuzz_accept(struct str header, unsigned allowed, struct arena *a)
{
	struct status st;
	struct media m;

	status_init(&st, a);
	int r = media_negotiate(&m, header, header, header, header, allowed, a, &st);
	check(r ? st.code == 406 && st.message.n > 0 : st.code == 0);
	check(m.as == AS_OBJECT || allowed != 0);
}

static void fuzz_content_type(struct str header, struct arena *a)
{
	enum media_format format;
	enum patch_type type;
	struct status st;

	status_init(&st, a);
	check(media_of_body(&format, header, &type_delete_options, a, &st) == (st.code == 415));
	status_init(&st, a);
	check(media_of_patch(&type, header, &st) == (st.code == 415));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena arena;

	if (n == 0) {
		return 0;
	}
	arena_init(&arena, 1 << 20);
	struct str header = {(const char *)data + 1, n - 1};
	fuzz_accept(header, data[0] & 0x1f, &arena);
	fuzz_content_type(header, &arena);
	arena_done(&arena);
	return 0;
}
