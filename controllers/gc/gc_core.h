/* The state that the threads of the garbage collector share, under one lock: the graph, and
 * which resource serves which kind. The lock is held for look-ups and changes in memory, never for
 * I/O. The graph's sink runs under it, and may only put keys into queues, which have their own
 * locks. */
#ifndef CONTROLLERS_GC_GC_CORE_H
#define CONTROLLERS_GC_GC_CORE_H

#include "client/api_resources.h"
#include "controllers/gc/gc_graph.h"
#include "controllers/kit/controller.h"

#include <pthread.h>
#include <stdatomic.h>

/* The result of one discovery; reference-counted. */
struct gc_types {
	struct discovery found;
	_Atomic unsigned refs;
};

struct gc_types *gc_types_new(void); /* nothing found */
struct gc_types *gc_types_unref(struct gc_types *t);
DEFINE_CLEANUP(struct gc_types *, gc_types_unref)

struct gc_core {
	const struct controller_env *env;
	struct client *client; /* env's */
	pthread_mutex_t lock;  /* guards what follows */
	struct gc_graph *graph;
	struct gc_types *types;
};

void gc_core_init(struct gc_core *c, const struct controller_env *env, const struct gc_sink *sink, void *context);
void gc_core_done(struct gc_core *c);

struct gc_types *gc_core_types(struct gc_core *c); /* a reference */
void gc_core_set_types(struct gc_core *c, struct gc_types *t);

/* Writes to the log; a long text is cut. */
void gc_core_notice(struct gc_core *c, bool is_problem, const char *format, ...) _printf_(3, 4);

/* As the functions of gc_graph.h. */
int gc_core_observe(struct gc_core *c, const struct gc_object *o);
void gc_core_forget(struct gc_core *c, const struct gc_ref *r, bool is_guess);
uint32_t gc_core_begin_list(struct gc_core *c);
void gc_core_end_list(struct gc_core *c, struct str api_version, struct str kind, uint32_t listing);
void gc_core_deny(struct gc_core *c, const struct gc_ref *r);
bool gc_core_get(struct gc_core *c, struct str uid, struct arena *a, struct gc_item *ret);
size_t gc_core_dependents(struct gc_core *c, struct str uid, struct arena *a, struct gc_ref **ret);
size_t gc_core_attempt_blockers(struct gc_core *c, struct str uid);
void gc_core_note_absent(struct gc_core *c, const struct gc_ref *r);
bool gc_core_is_absent(struct gc_core *c, const struct gc_ref *r);

#endif
