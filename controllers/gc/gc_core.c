/* The one lock of the collector, around calls that are pure and short. It is never held during a
 * request. Work queues and the recorder are called under it, and have locks of their own that
 * are taken last. */
#include "controllers/gc/gc_core.h"

#include "controllers/gc/gc.h"

enum {
	NOTICE_MAX = 16 * 1024,
	/* A ceiling on memory: beyond it new objects are not collected, which is told once. */
	NODES_MAX = 20 * 1000 * 1000,
	ABSENT_MAX = 500, /* as kube-controller-manager's */
};

struct gc_types *gc_types_new(void)
{
	struct gc_types *t = mem_new(struct gc_types);

	discovery_init(&t->found);
	atomic_init(&t->refs, 1);
	return t;
}

struct gc_types *gc_types_unref(struct gc_types *t)
{
	if (t && atomic_fetch_sub(&t->refs, 1) == 1) {
		discovery_done(&t->found);
		mem_free(t);
	}
	return NULL;
}

void gc_core_init(struct gc_core *c, const struct controller_env *env, const struct gc_sink *sink, void *context)
{
	*c = (struct gc_core){
		.env = env,
		.client = env->client,
		.graph = gc_graph_new(NODES_MAX, ABSENT_MAX, sink, context),
		.types = gc_types_new(),
	};
	pthread_mutex_init(&c->lock, NULL);
}

void gc_core_done(struct gc_core *c)
{
	gc_graph_free(c->graph);
	gc_types_unref(c->types);
	pthread_mutex_destroy(&c->lock);
}

void gc_core_notice(struct gc_core *c, bool is_problem, const char *format, ...)
{
	_cleanup_(buf_done) struct buf text;
	va_list ap;

	buf_init(&text, NOTICE_MAX);
	va_start(ap, format);
	if (!buf_vprintf(&text, format, ap)) {
		BUF_LITERAL(&text, "(too long to say)");
	}
	va_end(ap);
	c->env->on_notice(c->env->ctx, garbage_collector.name, is_problem, buf_str(&text));
}

struct gc_types *gc_core_types(struct gc_core *c)
{
	struct gc_types *t;

	pthread_mutex_lock(&c->lock);
	t = c->types;
	atomic_fetch_add(&t->refs, 1);
	pthread_mutex_unlock(&c->lock);
	return t;
}

void gc_core_set_types(struct gc_core *c, struct gc_types *t)
{
	struct gc_types *old;

	pthread_mutex_lock(&c->lock);
	old = c->types;
	c->types = t;
	atomic_fetch_add(&t->refs, 1);
	pthread_mutex_unlock(&c->lock);
	/* Outside the lock: freeing what discovery said takes long. */
	gc_types_unref(old);
}

int gc_core_observe(struct gc_core *c, const struct gc_object *o)
{
	pthread_mutex_lock(&c->lock);
	int r = gc_graph_observe(c->graph, o);
	pthread_mutex_unlock(&c->lock);
	return r;
}

void gc_core_forget(struct gc_core *c, const struct gc_ref *r, bool is_guess)
{
	pthread_mutex_lock(&c->lock);
	gc_graph_forget(c->graph, r, is_guess);
	pthread_mutex_unlock(&c->lock);
}

void gc_core_deny(struct gc_core *c, const struct gc_ref *r)
{
	pthread_mutex_lock(&c->lock);
	gc_graph_deny(c->graph, r);
	pthread_mutex_unlock(&c->lock);
}

bool gc_core_get(struct gc_core *c, struct str uid, struct arena *a, struct gc_item *ret)
{
	pthread_mutex_lock(&c->lock);
	bool is_there = gc_graph_get(c->graph, uid, a, ret);
	pthread_mutex_unlock(&c->lock);
	return is_there;
}

size_t gc_core_dependents(struct gc_core *c, struct str uid, struct arena *a, struct gc_ref **ret)
{
	pthread_mutex_lock(&c->lock);
	size_t n = gc_graph_dependents(c->graph, uid, a, ret);
	pthread_mutex_unlock(&c->lock);
	return n;
}

size_t gc_core_attempt_blockers(struct gc_core *c, struct str uid)
{
	pthread_mutex_lock(&c->lock);
	size_t n = gc_graph_attempt_blockers(c->graph, uid);
	pthread_mutex_unlock(&c->lock);
	return n;
}

void gc_core_note_absent(struct gc_core *c, const struct gc_ref *r)
{
	pthread_mutex_lock(&c->lock);
	gc_graph_note_absent(c->graph, r);
	pthread_mutex_unlock(&c->lock);
}

bool gc_core_is_absent(struct gc_core *c, const struct gc_ref *r)
{
	pthread_mutex_lock(&c->lock);
	bool is_absent = gc_graph_is_absent(c->graph, r);
	pthread_mutex_unlock(&c->lock);
	return is_absent;
}
