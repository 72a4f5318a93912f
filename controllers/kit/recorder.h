/* Tells users about their objects, by Events (v1) beside them, as client-go's recorder does: the same thing said again raises the
 * event's count. Saying never blocks; a thread writes. What cannot be written, or waits behind too much else, is dropped. */
#ifndef CONTROLLERS_KIT_RECORDER_H
#define CONTROLLERS_KIT_RECORDER_H

#include "client/client.h"

struct recorder;

struct event {
	struct str api_version, kind, ns, name, uid; /* the object it is about; ns "": cluster-scoped */
	struct str reason, message;
	bool is_warning;
};

/* component: who says so; not copied. NULL: there is no thread for it. */
struct recorder *recorder_new(struct client *client, const char *component);
/* When the client has been stopped, or else after what is being written. */
struct recorder *recorder_free(struct recorder *r);
void recorder_say(struct recorder *r, const struct event *e); /* any thread; r may be NULL */

#endif
