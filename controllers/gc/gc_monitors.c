/* Which informers there should be follows discovery, like resyncMonitors upstream. A group that
 * could not be asked keeps its informers: without them its objects would look as if they were
 * gone. Only metadata is watched, of the preferred version. */
#include "controllers/gc/gc_monitors.h"

#include "client/informer.h"
#include "controllers/kit/meta.h"

/* The owners of nearly all objects fit, so that an event allocates nothing. */
enum { OWNERS_SCRATCH = 4096 };

struct monitor {
	struct list link;
	struct gc_monitors *monitors;
	char *group, *version, *plural, *api_version, *kind;
	struct informer *informer;
	bool is_wanted;
};

/* ---- what informers tell ---- */

static void on_change(struct monitor *m, const struct item *item)
{
	char scratch[OWNERS_SCRATCH];
	_cleanup_(arena_done) struct arena a;
	arena_init_with(&a, SIZE_MAX, scratch, sizeof(scratch));
	struct gc_object o = gc_meta_object(item_meta(item), str_of(m->api_version), str_of(m->kind), &a);

	o.version = item->version;
	if (gc_core_observe(m->monitors->core, &o) && !atomic_exchange(&m->monitors->has_refused, true)) {
		gc_core_notice(m->monitors->core, true,
			"there is no room for more objects: some of those that lose their owner will stay");
	}
}

static void on_delete(void *ctx, struct item *item, bool is_guess)
{
	struct monitor *m = ctx;
	const struct gc_ref r = {str_of(m->api_version), str_of(m->kind), item->namespace, item->name, item->uid};

	gc_core_forget(m->monitors->core, &r, is_guess);
}

static void on_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	on_change(ctx, item);
}

static void on_update(void *ctx, struct item *old, struct item *item)
{
	if (!str_eq(old->uid, item->uid)) {
		/* One name, another uid: the deletion of the first was not seen, and is no
		 * proof. */
		on_delete(ctx, old, true);
	}
	on_change(ctx, item);
}

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
		.handlers = {on_add, on_update, on_delete, on_all_shown, on_problem},
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

static void update(struct gc_monitors *m, const struct discovery *found)
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
	update(m, &t->found);
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
