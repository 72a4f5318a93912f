/* Objects and their events: lists, then watches, and again after an interruption. Everything is called on the caller's thread,
 * so callbacks may ask the server, too. */
#ifndef CLI_KUBECTL_KUBECTL_WATCH_H
#define CLI_KUBECTL_KUBECTL_WATCH_H

#include "cli/kubectl/kubectl.h"

struct kubectl_watch {
	struct target target;
	struct str field_selector;
	/* Called for each object of the list or of an event; it may come again unchanged.
	 * Returns false to stop. */
	bool (*on_object)(void *ctx, const struct json *object);
	void (*on_gone)(void *ctx, const struct json *object);
	/* Called when a list begins, perhaps again. */
	void (*on_listing)(void *ctx);
	/* Called when the list is complete; events follow one by one. Returns false to stop. */
	bool (*on_listed)(void *ctx);
	void *ctx;
};

/* Lists all objects, in pages. *ret_version is the list's version, in k->arena. 0; or -1 with a sentence in k->err. */
int kubectl_list(struct kubectl *k, const struct kubectl_watch *w, struct str *ret_version);
/* Lists the Histories of a deleted namespace, which have moved into an archive; and that of the namespace itself, if it was
 * deleted. To see them needs the right to list Histories at the cluster scope: without it there are none, and *ret_is_forbidden
 * is set. Returns 0; or -1 with a sentence in k->err. */
int kubectl_list_archived(struct kubectl *k, const struct kubectl_watch *w, bool with_namespace, bool *ret_is_forbidden);
/* Lists and watches until a callback says that it is enough (0), or the server refuses for good (-1). Interruptions are
 * reported on standard error. */
int kubectl_follow(struct kubectl *k, const struct kubectl_watch *w);

#endif
