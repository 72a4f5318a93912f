/* What the two halves of the reflector share: reflector.c asks and hears how exchanges end, reflector_events.c reads what watches say. */
#ifndef CLIENT_REFLECTOR_PRIVATE_H
#define CLIENT_REFLECTOR_PRIVATE_H

#include "client/reflector.h"

/* A watch-list is given up when nothing came for so long: servers that do not know sendInitialEvents ignore it and never say where the
 * initial events end. */
enum { REFLECTOR_PATIENCE_MS = 10 * 1000 };

/* Of what ails this resource; of what ails the server, which the outage tells where there is one. */
void reflector_tell(struct reflector *r, struct str problem);
void reflector_tell_of_server(struct reflector *r, struct str problem);
bool reflector_is_server_code(int code);
void reflector_went_well(struct reflector *r);
/* Everything has come, as of that version. */
void reflector_hand_over(struct reflector *r, uint64_t version);
bool reflector_has_lost_history(struct reflector *r, int code, const struct json *status);
/* To options.stream. False: it has no name or no version. */
bool reflector_show(struct reflector *r, const struct json *object, bool is_gone, bool is_listed);
struct item *reflector_make_item(struct reflector *r, const struct json *object);
struct json *reflector_parse(struct arena *a, struct str text); /* NULL: no JSON */

/* One event; false: the stream is of no more use. */
bool reflector_on_line(void *reflector, struct str line);

#endif
