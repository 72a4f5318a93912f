/* The server, as one attempt of the garbage collector asks it: by reference rather than by resource. Each call goes to the server; nothing
 * here is remembered. */
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
	GC_ABSENT,     /* nothing of that name, or another uid: certain */
	GC_UNKNOWN,    /* no answer, or its kind is not served, perhaps not yet */
	GC_IMPOSSIBLE, /* its kind lives in namespaces and the reference, from outside of them, names none */
};

/* The metadata of the object with that uid. place (or NULL): the reference with the namespace that its kind has; only when the kind is known. */
enum gc_found gc_live_get(struct gc_live *l, const struct gc_ref *r, struct answer *answer, struct gc_ref *place);

/* Does a 404 say that there is no such object? One without its name may mean the whole resource, which comes and goes with
 * aggregated servers and definitions: no reason to collect what its objects own. */
bool gc_live_is_absent(const struct gc_ref *r, const struct answer *answer);

/* 0 or a rest_error with what the server said. */
int gc_live_delete(
	struct gc_live *l, const struct gc_ref *r, struct str version, const char *propagation, struct answer *answer);
int gc_live_unrefer(struct gc_live *l, const struct gc_ref *r, const struct str *uids, size_t n, struct answer *answer);
int gc_live_unblock(struct gc_live *l, const struct gc_ref *r, const struct json *meta, struct answer *answer);
/* 0 also when the finalizer is not there. */
int gc_live_finalize(
	struct gc_live *l, const struct gc_ref *r, const struct json *meta, const char *finalizer, struct answer *answer);

void gc_live_complain(
	struct gc_live *l, const struct gc_ref *r, const char *what, const struct answer *answer); /* into the log */

#endif
