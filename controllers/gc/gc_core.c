/* The one lock of the collector, around calls that are pure and short. It is never held during a
 * request. Work queues and the recorder are called under it, and have locks of their own that
 * are taken last. */
#include "controllers/gc/gc_core.h"
#include "client/informer.h"
#include "controllers/gc/gc.h"
#include "controllers/gc/gc_monitors.h"
#include "controllers/kit/meta.h"

#include <assert.h>

enum {
	NOTICE_MAX = 16 * 1024, /* bytes of a notice; a longer one is replaced by a remark */
	/* A ceiling on memory: beyond it new objects are not collected, which is reported once. */
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
	assert(!t || t->refs > 0);
	if (t && atomic_fetch_sub(&t->refs, 1) == 1) {
		discovery_done(&t->found);
		mem_free(t);
	}
	return NULL;
}

void gc_core_init(struct gc_core *c, const struct controller_env *env, const struct gc_sink *sink, void *context)
{
	assert(sink->attempt_delete && sink->invalid_namespace);
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
	assert(c->env->on_notice);
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
	assert(t && t->refs > 0);
	atomic_fetch_add(&t->refs, 1);
	pthread_mutex_unlock(&c->lock);
	return t;
}

void gc_core_set_types(struct gc_core *c, struct gc_types *t)
{
	assert(t->refs > 0);
	struct gc_types *old;

	pthread_mutex_lock(&c->lock);
	old = c->types;
	c->types = t;
	atomic_fetch_add(&t->refs, 1);
	pthread_mutex_unlock(&c->lock);
	/* Outside the lock: freeing the old types takes long. */
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

uint32_t gc_core_begin_list(struct gc_core *c)
{
	pthread_mutex_lock(&c->lock);
	uint32_t listing = gc_graph_begin_list(c->graph);
	pthread_mutex_unlock(&c->lock);
	return listing;
}

void gc_core_end_list(struct gc_core *c, struct str api_version, struct str kind, uint32_t listing)
{
	pthread_mutex_lock(&c->lock);
	gc_graph_end_list(c->graph, api_version, kind, listing);
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

/* ---- monitors ---- */

/* Discovery decides which informers exist, like upstream's resyncMonitors. A group that did not
 * answer keeps its informers: without them its objects would look deleted. Informers watch only
 * metadata, of the preferred version. */
/* Room for the owners of nearly all objects, so that an event allocates nothing. */
enum { OWNERS_SCRATCH = 4096 };

struct monitor {
	struct list link;
	struct gc_monitors *monitors;
	char *group, *version, *plural, *api_version, *kind;
	struct informer *informer;
	bool is_wanted;
	/* Only the client's thread uses these two. */
	uint32_t listing; /* the latest list; 0: none has begun */
	bool is_again;    /* the list was not the first */
};

/* ---- what informers tell ---- */

static void on_object(void *ctx, const struct json *object, bool is_gone, bool is_listed _unused_)
{
	struct monitor *m = ctx;
	const struct json *meta = json_gets(object, "metadata");
	char scratch[OWNERS_SCRATCH];
	_cleanup_(arena_done) struct arena a;
	arena_init_with(&a, SIZE_MAX, scratch, sizeof(scratch));
	struct gc_object o = gc_object_read(meta, str_of(m->api_version), str_of(m->kind), &a);

	if (is_gone) {
		gc_core_forget(m->monitors->core, &o.ref, false);
		return;
	}
	str_to_uint64(json_text(json_gets(meta, "resourceVersion")), &o.version);
	o.listing = m->listing;
	if (gc_core_observe(m->monitors->core, &o) && !atomic_exchange(&m->monitors->has_refused, true)) {
		gc_core_notice(m->monitors->core, true,
			"there is no room for more objects: some of those that lose their owner will stay");
	}
}

static void on_begin(void *ctx)
{
	struct monitor *m = ctx;

	m->is_again = m->listing > 0;
	m->listing = gc_core_begin_list(m->monitors->core);
}

/* An object missing from a later list is gone, but nobody saw its deletion: that is a guess, not
 * proof. */
static void on_end(void *ctx, uint64_t version _unused_)
{
	const struct monitor *m = ctx;
	assert(m->listing > 0); /* on_begin() came before */

	if (m->is_again) {
		gc_core_end_list(m->monitors->core, str_of(m->api_version), str_of(m->kind), m->listing);
	}
}

/* The stream feeds the graph without a store: a store of metadata took ten times the graph's
 * memory. */
static const struct informer_stream stream = {on_begin, on_object, on_end};

static void on_all_shown(void *ctx)
{
	const struct monitor *m = ctx;
	m->monitors->on_synced(m->monitors->context);
}

static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	const struct monitor *m = ctx;
	gc_core_notice(m->monitors->core, true, "%s of %s: " STR_FMT, m->plural, m->api_version, STR_ARG(text));
}

/* ---- one resource ---- */

static char *dup(struct str s)
{
	return mem_strndup(s.p, s.n);
}

static void monitor_start(struct monitor *m)
{
	const struct informer_options options = {
		.client = m->monitors->core->client,
		.outage = m->monitors->core->env->outage,
		.resource = {str_of(m->group), str_of(m->version), str_of(m->plural)},
		.metadata_only = true,
		.handlers = {.on_synced = on_all_shown, .on_problem = on_problem},
		.stream = &stream,
		.ctx = m,
	};
	m->informer = informer_new(&options);
}

static void monitor_new(struct gc_monitors *all, const struct api_resource *r)
{
	struct monitor *m = mem_new(struct monitor);

	m->monitors = all;
	m->group = dup(r->resource.group);
	m->version = dup(r->resource.version);
	m->plural = dup(r->resource.plural);
	m->kind = dup(r->kind);
	m->api_version = r->resource.group.n > 0 ? mem_printf("%s/%s", m->group, m->version) : mem_strdup(m->version);
	m->is_wanted = true;
	list_append(&all->all, &m->link);
	monitor_start(m);
}

static void monitor_free(struct monitor *m)
{
	informer_free(m->informer);
	list_remove(&m->link);
	mem_free(m->group);
	mem_free(m->version);
	mem_free(m->plural);
	mem_free(m->api_version);
	mem_free(m->kind);
	mem_free(m);
}

/* ---- all of them ---- */

void gc_monitors_init(struct gc_monitors *m, struct gc_core *core, void (*on_synced)(void *context), void *context)
{
	m->core = core;
	m->on_synced = on_synced;
	m->context = context;
	list_init(&m->all);
	atomic_init(&m->has_refused, false);
}

void gc_monitors_done(struct gc_monitors *m)
{
	list_for_each_safe(it, &m->all) {
		monitor_free(list_entry(it, struct monitor, link));
	}
}

/* Events own nothing, are owned by nothing, and are many. */
static bool is_event(const struct resource *r)
{
	return str_is(r->plural, "events") && (r->group.n == 0 || str_is(r->group, "events.k8s.io"));
}

static bool is_to_be_watched(const struct api_resource *r)
{
	const unsigned needed = API_DELETE | API_LIST | API_WATCH;
	return r->is_preferred && (r->verbs & needed) == needed && !is_event(&r->resource);
}

static struct monitor *find_monitor(const struct gc_monitors *m, const struct resource *r)
{
	list_for_each(it, &m->all) {
		struct monitor *monitor = list_entry(it, struct monitor, link);
		if (str_is(r->group, monitor->group) && str_is(r->version, monitor->version) &&
			str_is(r->plural, monitor->plural)) {
			return monitor;
		}
	}
	return NULL;
}

static void mark_wanted(struct gc_monitors *m, const struct discovery *found)
{
	list_for_each(it, &m->all) {
		struct monitor *monitor = list_entry(it, struct monitor, link);
		monitor->is_wanted = discovery_has_failed(found, str_of(monitor->group), str_of(monitor->version));
	}
	for (size_t i = 0; i < found->n; i++) {
		const struct api_resource *r = &found->resources[i];
		struct monitor *monitor = is_to_be_watched(r) ? find_monitor(m, &r->resource) : NULL;
		if (monitor) {
			monitor->is_wanted = true;
		}
	}
}

static void gc_monitors_update(struct gc_monitors *m, const struct discovery *found)
{
	mark_wanted(m, found);
	list_for_each_safe(it, &m->all) {
		struct monitor *monitor = list_entry(it, struct monitor, link);
		if (!monitor->is_wanted) {
			gc_core_notice(m->core, false, "%s of %s are no longer served", monitor->plural, monitor->api_version);
			monitor_free(monitor);
		}
	}
	for (size_t i = 0; i < found->n; i++) {
		const struct api_resource *r = &found->resources[i];
		if (is_to_be_watched(r) && !find_monitor(m, &r->resource)) {
			monitor_new(m, r);
		}
	}
}

bool gc_monitors_sync(struct gc_monitors *m)
{
	_cleanup_(gc_types_unrefp) struct gc_types *t = gc_types_new();
	_cleanup_(answer_done) struct answer answer;
	int r;

	answer_init(&answer);
	r = discovery_fetch(m->core->client, &t->found, &answer);
	if (r == REST_STOPPED) {
		return false;
	}
	if (r || t->found.n == 0) {
		if (!m->has_told) {
			gc_core_notice(m->core, true, "cannot discover what is served: " STR_FMT, STR_ARG(answer.message));
		}
		m->has_told = true;
		return false;
	}
	if (m->has_told) {
		gc_core_notice(m->core, true, "what is served can be discovered again");
	}
	m->has_told = false;
	gc_core_set_types(m->core, t);
	gc_monitors_update(m, &t->found);
	return true;
}

bool gc_monitors_have_synced(const struct gc_monitors *m)
{
	list_for_each(it, &m->all) {
		if (!informer_has_synced(list_entry(it, struct monitor, link)->informer)) {
			return false;
		}
	}
	return !list_is_empty(&m->all);
}
