/* Continue tokens. The first letter says of which list: n, within a namespace; a, across namespaces. A token that is understood means the
 * same when it is made anew; no other gets past. */
#include "server/params.h"
#include "tests/fuzz/fuzz.h"

/* Tokens are made of objects' names alone. */
static bool could_be_a_name(struct str s)
{
	return s.n > 0 && s.n <= 253 && !memchr(s.p, '\0', s.n);
}

static void run(struct str text, bool has_ns, struct arena *a)
{
	struct continue_token token, again;
	struct status st;
	status_init(&st, a);
	if (continue_token_parse(&token, text, has_ns, a, &st)) {
		CHECK(st.code == 400 && st.message.n > 0);
		return;
	}
	CHECK(token.revision == -1 || token.revision > 0);
	CHECK(has_ns || token.ns.n == 0);
	if ((has_ns && !could_be_a_name(token.ns)) || !could_be_a_name(token.name)) {
		return;
	}
	struct str made = continue_token_make(token.revision, token.ns, token.name, has_ns, a);
	if (continue_token_parse(&again, made, has_ns, a, &st)) {
		abort();
	}
	CHECK(again.revision == token.revision && str_eq(again.ns, token.ns) && str_eq(again.name, token.name));
	CHECK(str_eq(continue_token_make(again.revision, again.ns, again.name, has_ns, a), made));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a;
	if (n > 0 && (data[0] == 'n' || data[0] == 'a')) {
		arena_init(&a, CEILING);
		run((struct str){(const char *)data + 1, n - 1}, data[0] == 'a', &a);
		arena_done(&a);
	}
	return 0;
}
