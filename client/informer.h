/* List and watch of one resource: a store that follows the server, and handlers for each change.
 *
 *  - It starts with a watch-list (sendInitialEvents), one consistent stream without pages; where the server has none, with a
 *    consistent LIST in pages. Then it watches from the version that ended it.
 *  - A watch that ends or breaks resumes from the last version seen, bookmarks included; nothing is listed again for that.
 *  - 410 means list again. Comparing yields additions, updates and deletions for the time between.
 *  - It never goes back in time: an event or a list older than what was seen is not taken; a relist asks for NotOlderThan. Only a server
 *    that says its present is older (ResourceVersionTooLarge, a restored backup) makes it start over.
 *  - Trouble is met by exponential back-off with jitter, 0.8 s to 30 s, and by Retry-After; the store stays as it is meanwhile.
 *
 * Handlers run on the client's thread, one at a time, after the store has changed; they must not block. Usually they put a key
 * into a work queue. The store may be asked from any thread. */
#ifndef CLIENT_INFORMER_H
#define CLIENT_INFORMER_H

#include "client/client.h"
#include "client/item.h"
#include "client/outage.h"
#include "client/rest.h"

struct informer;

struct informer_handlers {
	/* is_initial: it was there when the informer first looked. */
	void (*on_add)(void *ctx, struct item *item, bool is_initial);
	/* Also for a relist that found another version; also when the object was replaced (another uid). */
	void (*on_update)(void *ctx, struct item *old, struct item *item);
	/* The last state: of the deletion's event, or, is_guess, what was known when a relist did not find it. */
	void (*on_delete)(void *ctx, struct item *item, bool is_guess);
	/* Called once, when all objects that were there have been reported. */
	void (*on_synced)(void *ctx);
	/* Reports a problem in one sentence; the informer goes on by itself. Watches that end every few minutes
	 * are no problem. A problem is reported once, and its end as well: is_over. */
	void (*on_problem)(void *ctx, bool is_over, struct str text);
}; /* any may be NULL */

/* Objects as they come, for who keeps less of them than an informer does. There is no store then, and a list is not
 * gathered: what has been shown of one that breaks off is shown again. Of the handlers, on_synced and on_problem are
 * called. On the client's thread, too. */
struct informer_stream {
	void (*on_begin)(void *ctx); /* a list begins, perhaps anew */
	/* The object goes when this returns. is_listed: of the list that has begun. */
	void (*on_object)(void *ctx, const struct json *object, bool is_gone, bool is_listed);
	/* All there is has been shown since on_begin(). version: of the list. */
	void (*on_end)(void *ctx, uint64_t version);
};

/* All text is copied. */
struct informer_options {
	struct client *client;
	struct outage
		*outage; /* of that client, which reports troubles that are not of this resource alone; NULL: on_problem is */
	struct resource resource;
	struct str namespace; /* empty: all */
	struct str label_selector, field_selector;
	bool metadata_only; /* PartialObjectMetadata, managedFields left out: works for any resource, costs a tenth */
	const char *const *left_out; /* of whole objects: members that nobody here looks at, item_managers for one (client/item.h); stays */
	bool no_watch_list; /* begins with pages, also where a watch-list works */
	int64_t retry_max_ms; /* of the back-off; 0: 30 s */
	struct informer_handlers handlers;
	const struct informer_stream *stream; /* not copied; NULL: a store is kept */
	/* Needs a stream. After its first list, the informer watches from this version, if the list is not older: so events that the
	 * list already contains come as well. If the server no longer has them (410), another list follows. 0: from the list's version. */
	uint64_t resume_from;
	void *ctx;
	void *problem_ctx; /* of on_problem; NULL: ctx */
};

/* Starts; handlers may run before it returns, that is before the caller has the pointer. */
struct informer *informer_new(const struct informer_options *options);
/* No handler runs any more when it returns; none may call it. The client must still be there (it may be stopped). */
struct informer *informer_free(struct informer *f);
DEFINE_CLEANUP(struct informer *, informer_free)

bool informer_has_synced(const struct informer *f);
/* The latest seen, of which the handlers have returned: whoever waits for a version finds the store, and what handlers keep, as new. 0: none. */
uint64_t informer_version(const struct informer *f);

/* References, or NULL. Any thread. */
struct item *informer_get(struct informer *f, struct str namespace, struct str name);
struct item *informer_get_by_uid(struct informer *f, struct str uid);
size_t informer_count(struct informer *f);

#endif
