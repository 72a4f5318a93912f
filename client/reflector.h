/* List and watch without end: tells what there is, then what happens to it (informer.h says how). Runs on the client's thread; a
 * machine of states, each of which is an exchange under way or a timer:
 *
 *      begin -> WATCH_LIST --end of the initial events--> WATCH
 *        |          | (the server has none)                 | ended or broke: WATCH again from the version seen
 *        '------> LIST pages ------------------------------>' 410: begin
 */
#ifndef CLIENT_REFLECTOR_H
#define CLIENT_REFLECTOR_H

#include "client/backoff.h"
#include "client/gathering.h"
#include "client/informer.h"
#include "client/lines.h"

enum reflector_state { REFLECTOR_WATCH_LIST, REFLECTOR_LIST, REFLECTOR_WATCH };

struct reflector_sink {
	/* The complete list: a map from "NAMESPACE/NAME" to items, whose references the callee
	 * takes over. */
	void (*on_all)(void *ctx, struct map *items);
	void (*on_current)(void *ctx); /* after on_all(), once the version is known */
	/* The callee owns the reference to item. */
	void (*on_event)(void *ctx, struct item *item, bool is_gone);
	void (*on_problem)(void *ctx, bool is_over, struct str text);
	void *ctx;
};

struct reflector {
	struct informer_options options;
	struct reflector_sink sink;
	_Atomic uint64_t version; /* the latest seen; 0: none */

	/* private */
	struct exchange x;
	struct client_timer retry, patience, settling;
	struct backoff backoff;
	enum reflector_state state;
	bool is_running, is_ending; /* an exchange is under way; it is the last */
	bool must_list;             /* what is known cannot be built on */
	bool no_watch_list;
	bool is_whole;         /* the list is asked for without pages */
	/* the next list asks for the latest version, not one that is NotOlderThan: the server
	 * has lost that history */
	bool asks_latest;
	bool is_relist_needed; /* an event said so; the stream is being ended */
	bool has_told;         /* a problem has been reported since the last success */
	bool is_lost;          /* reported to the outage as lost */
	uint64_t n_events;     /* of this stream */
	uint64_t resume_from;  /* the options', until the first list is whole */
	int64_t began_ms;
	int64_t page;
	struct buf path, text, token;
	struct lines lines;
	struct gathering fresh;
	struct arena scratch; /* an event */
	void (*on_ended)(struct reflector *r);
};

void reflector_init(struct reflector *r, const struct informer_options *options, const struct reflector_sink *sink);
void reflector_done(struct reflector *r);
/* On the client's thread. */
void reflector_begin(struct reflector *r);
/* Ends the reflector, and calls on_ended() when nothing of it runs any more, perhaps at once. */
void reflector_end(struct reflector *r, void (*on_ended)(struct reflector *r));

#endif
