/* What a client of TLS sends first. Nothing outside it is read; and it is judged the same however it comes: more of it is wanted until it can be
 * judged, never more than there may be, and what has been judged once is not judged otherwise when more has come. */
#include "server/http/h2.h"
#include "tests/fuzz/fuzz.h"

static enum h2_hello judge(const uint8_t *data, size_t n, size_t *ret_wanted)
{
	/* Memory of that size exactly, so that a sanitizer sees a read beyond it. */
	char *copy = mem_dup(data, n);
	enum h2_hello verdict = h2_hello_judge((struct str){copy, n}, ret_wanted);
	mem_free(copy);
	return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t wanted = 0;
	enum h2_hello whole = judge(data, n, &wanted);
	if (whole == H2_HELLO_MORE) {
		CHECK(wanted > n && wanted <= H2_HELLO_MAX);
	}
	size_t at = 0;
	enum h2_hello verdict = judge(data, at, &wanted);
	while (verdict == H2_HELLO_MORE && at < n) {
		CHECK(wanted > at && wanted <= H2_HELLO_MAX);
		at = MIN(wanted, n);
		verdict = judge(data, at, &wanted);
	}
	CHECK(verdict == whole);
	return 0;
}
