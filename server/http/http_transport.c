/* GnuTLS' functions are looked up behind ours (RTLD_NEXT), so whatever the program links they are
 * found. A session has two pointers for its owner. One is the connection's; the other is meant for
 * a cache of sessions, which there is none of, so the transport has it. */
#include "server/http/http_transport.h"

#include <dlfcn.h>
#include <pthread.h>

/* GnuTLS' own functions, which those below hide. */
static struct {
	int (*handshake)(gnutls_session_t session);
	ssize_t (*receive)(gnutls_session_t session, void *p, size_t n);
	ssize_t (*send)(gnutls_session_t session, const void *p, size_t n);
} hidden;

#ifdef LIBRARIES_ARE_STATIC

/* Within one executable there is no behind: the linker, told to --wrap these functions, has both. */
int __real_gnutls_handshake(gnutls_session_t session);
ssize_t __real_gnutls_record_recv(gnutls_session_t session, void *p, size_t n);
ssize_t __real_gnutls_record_send(gnutls_session_t session, const void *p, size_t n);
int __wrap_gnutls_handshake(gnutls_session_t session);
ssize_t __wrap_gnutls_record_recv(gnutls_session_t session, void *p, size_t n);
ssize_t __wrap_gnutls_record_send(gnutls_session_t session, const void *p, size_t n);
#define OURS(name) __wrap_##name

static void find_hidden(void)
{
	hidden.handshake = __real_gnutls_handshake;
	hidden.receive = __real_gnutls_record_recv;
	hidden.send = __real_gnutls_record_send;
}

#else

#define OURS(name) __attribute__((visibility("default"))) name

static void find_hidden(void)
{
	/* POSIX allows what ISO C does not: a function from a data pointer. */
	*(void **)&hidden.handshake = dlsym(RTLD_NEXT, "gnutls_handshake");
	*(void **)&hidden.receive = dlsym(RTLD_NEXT, "gnutls_record_recv");
	*(void **)&hidden.send = dlsym(RTLD_NEXT, "gnutls_record_send");
}

#endif

static void find_hidden_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_hidden);
}

/* The pointer for a cache of sessions, which we do not keep, and which clients have no use for. */
static struct transport *transport_of(gnutls_session_t session)
{
	return gnutls_db_get_ptr(session);
}

/* Of a plain connection nothing goes through GnuTLS but its alert at the end. */
static ssize_t discard(gnutls_transport_ptr_t p, const void *data, size_t n)
{
	(void)p;
	(void)data;
	return (ssize_t)n;
}

static ssize_t find_end(gnutls_transport_ptr_t p, void *data, size_t n)
{
	(void)p;
	(void)data;
	(void)n;
	return 0;
}

void transport_attach(struct transport *t, gnutls_session_t session)
{
	gnutls_db_set_ptr(session, t);
	if (t->is_plain) {
		gnutls_transport_set_push_function(session, discard);
		gnutls_transport_set_pull_function(session, find_end);
	}
}

ssize_t transport_tls_receive(gnutls_session_t session, void *p, size_t n)
{
	find_hidden_once();
	return hidden.receive(session, p, n);
}

int OURS(gnutls_handshake)(gnutls_session_t session)
{
	const struct transport *t = transport_of(session);
	find_hidden_once();
	return t && t->is_plain ? GNUTLS_E_SUCCESS : hidden.handshake(session);
}

ssize_t OURS(gnutls_record_recv)(gnutls_session_t session, void *p, size_t n)
{
	struct transport *t = transport_of(session);
	find_hidden_once();
	return t ? t->receive(t, p, n) : hidden.receive(session, p, n);
}

ssize_t OURS(gnutls_record_send)(gnutls_session_t session, const void *p, size_t n)
{
	struct transport *t = transport_of(session);
	find_hidden_once();
	return t && t->send ? t->send(t, p, n) : hidden.send(session, p, n);
}
