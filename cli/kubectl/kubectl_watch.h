/* What happens to objects, told to whoever may block: list, then watch, as long as the server and the network allow, and again. */
#ifndef CLI_KUBECTL_KUBECTL_WATCH_H
#define CLI_KUBECTL_KUBECTL_WATCH_H

#include "cli/kubectl/kubectl.h"

struct kubectl_watch {
	struct target target;
	struct str field_selector;
	/* An object, as it was listed, or is by an event; it may come again as it is. False: enough. */
	bool (*on_object)(void *ctx, const struct json *object);
	void (*on_gone)(void *ctx, const struct json *object);
	/* All of them will be listed, again if need be. */
	void (*on_listing)(void *ctx);
	/* That list is complete; then events come one by one. False: enough. */
	bool (*on_listed)(void *ctx);
	void *ctx;
};

/* Pages of all there is, and the version it was seen in; which k->arena holds. 0; or -1 with a sentence in k->err. */
int kubectl_list(struct kubectl *k, const struct kubectl_watch *w, struct str *ret_version);
/* Until one of the calls says that it is enough, 0; or the server refuses for good, -1. What interrupts it is told on standard error. */
int kubectl_follow(struct kubectl *k, const struct kubectl_watch *w);

#endif
