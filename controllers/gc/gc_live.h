/* The server as an attempt of the garbage collector asks it: by reference rather than by
 * resource. Each call goes to the server; no answer is cached. */
#ifndef CONTROLLERS_GC_GC_LIVE_H
#define CONTROLLERS_GC_GC_LIVE_H

#include "controllers/gc/gc_core.h"

struct gc_live {
	struct gc_core *core;
	struct gc_types *types;
	struct arena arena;
};

void gc_live_init(struct gc_live *l, struct gc_core *core);
void gc_live_done(struct gc_live *l);

enum gc_found {
	GC_FOUND,
	GC_ABSENT,     /* certain: no object has that name, or it has another uid */
	GC_UNKNOWN,    /* no answer, or the kind is not served, perhaps not yet */
	GC_IMPOSSIBLE, /* the kind is namespaced, but the dependent is cluster-scoped, so the reference names no namespace */
};

/* Reads the metadata of the object with that uid. place (or NULL) gets the reference with the
 * namespace that suits its kind; only set if the kind is known. */
enum gc_found gc_live_get(struct gc_live *l, const struct gc_ref *r, struct answer *answer, struct gc_ref *place);

/* Does a 404 prove that the object does not exist? A 404 that does not name the object may be
 * about the whole resource. Resources come and go with aggregated servers and definitions, which is
 * no reason to collect what their objects own. */
bool gc_live_is_absent(struct gc_live *l, const struct gc_ref *r, const struct answer *answer);

/* Returns 0, or a rest_error with the server's answer. */
int gc_live_delete(
	struct gc_live *l, const struct gc_ref *r, struct str version, const char *propagation, struct answer *answer);
int gc_live_unrefer(struct gc_live *l, const struct gc_ref *r, const struct str *uids, size_t n, struct answer *answer);
int gc_live_unblock(struct gc_live *l, const struct gc_ref *r, const struct json *meta, struct answer *answer);
/* Returns 0 also if the finalizer is not there. */
int gc_live_finalize(
	struct gc_live *l, const struct gc_ref *r, const struct json *meta, const char *finalizer, struct answer *answer);

void gc_live_complain(
	struct gc_live *l, const struct gc_ref *r, const char *what, const struct answer *answer); /* logs the problem */

#endif
