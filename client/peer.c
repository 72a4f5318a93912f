/* Its CA is opened once, not for each question: webhooks are asked with every write. */
#include "client/peer.h"

int peer_new(struct peer **ret, struct str base, const char *ca, struct buf *err)
{
	_cleanup_(peer_freep) struct peer *p = mem_new(struct peer);
	p->base = mem_strndup(base.p, base.n);
	int r = pem_open(&p->ca, ca, err);
	if (r) {
		return r;
	}
	*ret = take_ptr(p);
	return 0;
}

struct peer *peer_free(struct peer *p)
{
	if (p) {
		pem_close(&p->ca);
		mem_free(p->base);
		mem_free(p);
	}
	return NULL;
}
