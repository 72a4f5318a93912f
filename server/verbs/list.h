/* Selecting objects: what LIST and deletecollection have in common. */
#ifndef SERVER_VERBS_LIST_H
#define SERVER_VERBS_LIST_H

#include "server/parse/continue.h"
#include "server/request/request.h"

struct listing {
	struct list_options options;
	struct label_selector labels;
	struct field_selector fields;
	struct cache_filter filter;
	struct continue_token token;         /* revision 0: none; its start is a whole key */
	struct cache_snapshot *snapshot;     /* owned */
	const struct cached **items;         /* owned; the objects are the snapshot's, or those of `converted` */
	struct conversion *converted;        /* owned; NULL: nothing was converted */
	size_t n_items, cap_items;
	size_t n_remaining;                  /* behind the page, without regard to selectors */
	bool is_limited;                     /* the page ended at the limit */
	/* Set before: upstream's deletecollection reads in pages of its own, so that a version means exactly that one, as with a limit. */
	bool is_in_pages;
	void (*next)(struct request *q, struct listing *l);
};

/* Selectors of list options, then what options fit together. 0, or 1 with 400 or 422 in q->st. */
int selectors_parse(struct request *q, struct list_options *o, struct label_selector *labels, struct field_selector *fields,
		    struct cache_filter *filter);
/* Reads options and selectors, waits as they ask, takes the snapshot and the items of the page, then calls next. Answers errors itself. */
void listing_run(struct request *q, struct listing *l, void (*next)(struct request *q, struct listing *l));
void listing_done(struct listing *l);
/* {"kind":"KList","apiVersion":V,"metadata":{...},"items":[...]} in the form the client asked for; takes the listing. */
void reply_listing(struct request *q, struct listing *l);
/* The same, of objects that have the version of the request. */
void reply_listing_shown(struct request *q, struct listing *l);
/* Where the page behind that object begins, as the whole key that a continue token names. */
struct str listing_start_behind(const struct request *q, const struct cached *last);

#endif
