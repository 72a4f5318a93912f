/* Custom resources in another version than they are stored in, where only a webhook knows how one becomes the other (struct kind's
 * hook). Cached objects go in, and come out as cached objects whose body has the fields of that version: whatever shows an object
 * shows these.
 *
 * Nothing of it is kept: each request, and each watch, asks for itself. Objects are sent in chunks, one after the other. No thread
 * waits. */
#ifndef SERVER_REQUEST_CONVERT_H
#define SERVER_REQUEST_CONVERT_H

#include "server/request/request.h"

/* The most that one question has, unless a single object is larger. */
enum { CONVERSION_OBJECTS = 500, CONVERSION_BYTES = 256 << 10 };

struct conversion;

/* Shall the object be converted before the request shows it? Metadata alone is shown as it is stored. */
bool conversion_is_needed(const struct request *q, const struct cached *o);
/* deadline_ms: monotonic, of each question. wake(ctx) is called after conversion_step() has said false; from any thread, under a
 * lock: it must only signal. */
struct conversion *conversion_new(const struct converter *converter, const struct kind *k, const struct version *to,
	int64_t deadline_ms, void (*wake)(void *ctx), void *ctx);
void conversion_add(struct conversion *c, const struct cached *o); /* before the first step */
size_t conversion_count(const struct conversion *c);
bool conversion_is_full(const struct conversion *c); /* what was added makes one question */
/* Goes on. Returns true when everything is converted, or nothing more will be: there is a failure. */
bool conversion_step(struct conversion *c);
bool conversion_has_failed(const struct conversion *c);
void conversion_refuse(const struct conversion *c, struct request *q);    /* the failure goes into q->st: 500, or 429 */
const struct cached *conversion_at(const struct conversion *c, size_t i); /* in the order of conversion_add() */
size_t conversion_bytes(const struct conversion *c);                      /* of all that is converted so far */
/* wake() is not called any more. A question under way goes on, and its answer is dropped. */
struct conversion *conversion_free(struct conversion *c); /* NULL */

/* A conversion into the version of the request, for request_convert(). */
struct conversion *request_conversion(struct request *q);
/* Takes c and converts what was added to it. Then calls next on a thread of HTTP: all is in q->converting, or q->st has the 500. The
 * request keeps it until its end, unless request_converted() hands it out. */
void request_convert(struct request *q, struct conversion *c, void (*next)(struct request *q));
struct conversion *request_converted(struct request *q);

#endif
