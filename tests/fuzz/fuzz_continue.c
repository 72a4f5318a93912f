/* Continue tokens. One that is understood means the same when it is made anew, and leads to nothing above what is listed; no other gets
 * past. */
#include "server/parse/continue.h"
#include "tests/fuzz/fuzz.h"

/* Tokens are made of objects' keys alone. */
enum { START_MAX = 1000 };

static void run(struct str text, struct arena *a)
{
	struct continue_token token, again;
	struct status st;
	status_init(&st, a);
	if (continue_token_parse(&token, text, a, &st)) {
		CHECK(st.code == 400 && st.message.n > 0);
		return;
	}
	CHECK(token.revision == -1 || token.revision > 0);
	CHECK(!str_contains(token.start, STR("//")) && !str_starts(token.start, STR("../")));
	if (token.start.n == 0 || token.start.n > START_MAX) {
		return;
	}
	struct str made = continue_token_make(&token, a);
	CHECK(continue_token_parse(&again, made, a, &st) == 0);
	CHECK(again.revision == token.revision && str_eq(again.start, token.start));
	CHECK(str_eq(continue_token_make(&again, a), made));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a;
	arena_init(&a, CEILING);
	run((struct str){(const char *)data, n}, &a);
	arena_done(&a);
	return 0;
}
