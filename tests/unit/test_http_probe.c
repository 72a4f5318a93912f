#include "tests/unit/http_world.h"

/* No session has a transport, as it is where libmicrohttpd finds GnuTLS' own functions instead of ours. */
__attribute__((visibility("default"))) void *gnutls_db_get_ptr(gnutls_session_t session _unused_)
{
	return NULL;
}

static void test_http_probe__server_that_cannot_see_heads_does_not_start(void **state _unused_)
{
	assert_no_start(&(struct http_options){0}, -EIO, "does not serve as it must (");
	assert_no_start(&(struct http_options){0}, -EIO, "); versions 0.9.75 to 1.0.1 are known to");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_http_probe__server_that_cannot_see_heads_does_not_start),
	};
	return run_both_ways(tests);
}
