#include "server/http/http_transport.h"
#include "tests/unit/http_world.h"

#include <dlfcn.h>

/* In the place of server/http/http_transport.c: as it is where libmicrohttpd finds GnuTLS' own functions instead of ours. */

#define VISIBLE __attribute__((visibility("default")))
#define OWN(f, ...) ((__typeof__(&(f)))(uintptr_t)dlsym(RTLD_NEXT, #f))(__VA_ARGS__)

VISIBLE int gnutls_handshake(gnutls_session_t session)
{
	return OWN(gnutls_handshake, session);
}

VISIBLE ssize_t gnutls_record_recv(gnutls_session_t session, void *p, size_t n)
{
	return OWN(gnutls_record_recv, session, p, n);
}

VISIBLE ssize_t gnutls_record_send(gnutls_session_t session, const void *p, size_t n)
{
	return OWN(gnutls_record_send, session, p, n);
}

void transport_attach(struct transport *t _unused_, gnutls_session_t session _unused_)
{
}

ssize_t transport_tls_receive(gnutls_session_t session, void *p, size_t n)
{
	return OWN(gnutls_record_recv, session, p, n);
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
