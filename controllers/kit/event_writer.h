/* Reports to users about their objects by Events (v1), like client-go's recorder: a repeated
 * event raises the count. event_say() never blocks; a worker of the pool writes.
 *
 * An event that got no answer is tried again for about a minute. An event that the server
 * refuses, or that finds the queue full, is dropped. Events are for people: nothing depends on
 * them. */
#ifndef CONTROLLERS_KIT_EVENT_WRITER_H
#define CONTROLLERS_KIT_EVENT_WRITER_H

#include "controllers/kit/controller.h"

struct event_writer;

struct event {
	struct str api_version, kind, ns, name, uid; /* the object that the event is about; ns "": cluster-scoped */
	struct str reason, message;
	bool is_warning;
};

/* The controller's name is the source of its events. */
struct event_writer *event_writer_new(const struct controller_run *run);
/* Returns at once if the client has been stopped, otherwise after the write under way. */
struct event_writer *event_writer_free(struct event_writer *w);
void event_say(struct event_writer *w, const struct event *e); /* any thread */

#endif
