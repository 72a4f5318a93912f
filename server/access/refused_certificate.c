/* A 401 does not say why, here as upstream: the client may be an attacker. Without this the
 * operator had nothing to look at, and a wrong CA looks like a wrong name. One atomic time is the
 * whole limit: threads race to move it on, and who loses says nothing. */
#include "server/access/refused_certificate.h"

#include "base/clock.h"
#include "server/access/front_proxy.h"

#include <stdatomic.h>

enum { PAUSE_MS = 10 * 1000, NOTICE_MAX = 4096 };

static void write_reason(struct buf *out, const struct http_peer *peer)
{
	if (peer->problem.n > 0) {
		buf_add_str(out, peer->problem);
	} else if (!peer->is_front_proxy) {
		BUF_LITERAL(out, "It names nobody.");
	} else if (!front_proxy_may_have(peer->trust, peer->common_name)) {
		buf_printf(out, "It is signed by the CA of front proxies, but \"" STR_FMT "\" is no name that they may have.",
			STR_ARG(peer->common_name));
	} else {
		BUF_LITERAL(out, "It is a front proxy's, but no header names a user.");
	}
}

/* True for one of all threads in PAUSE_MS. */
static bool is_time(struct refused_certificate *r)
{
	int64_t now = clock_mono_ms(), next = atomic_load_explicit(&r->next_ms, memory_order_relaxed);
	return now >= next &&
		atomic_compare_exchange_strong_explicit(
			&r->next_ms, &next, now + PAUSE_MS, memory_order_relaxed, memory_order_relaxed);
}

void refused_certificate_tell(struct refused_certificate *r, const struct http_peer *peer)
{
	if (!r->on_notice || !peer->has_certificate || !peer->trust || !is_time(r)) {
		return;
	}
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NOTICE_MAX);
	buf_printf(&text, "401 to " STR_FMT " for its client certificate: ", STR_ARG(peer->address));
	write_reason(&text, peer);
	r->on_notice(r->ctx, buf_str(&text));
}
