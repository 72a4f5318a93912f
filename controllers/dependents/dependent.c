/* Implements Dependents while the objects that they refer to exist, and removes the
 * implementation before a Dependent goes. */
#include "base/clock.h"
#include "base/thread.h"
#include "client/store.h"
#include "controllers/dependents/dependent_look.h"
#include "controllers/dependents/dependent_plan.h"
#include "controllers/dependents/implemented.h"
#include "controllers/kit/patch.h"

#include <assert.h>

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
};

static const struct counter_name counted[] = {
	[PROVIDER_GETS] = {"annals_dependent_provider_gets_total", "Reads of what Dependents refer to, from the server"},
	[SPARED_GETS] = {"annals_dependent_spared_gets_total",
		"Times that another Dependent's implementation was answer enough"},
	[IMPLEMENTED] = {"annals_dependent_implemented_total", "Implementations made, or found as they should be"},
	[WITHDRAWN] = {"annals_dependent_withdrawn_total", "Implementations undone"},
};

static void dependent_work(void *ctx, struct str key)
{
	struct dependents_state *s = ctx;
	struct str ns, name;
	/* Until the informers have synced, an object that seems missing may only be unread. */
	if (dependents_watch_has_synced(&s->watch) && str_cut(key, '/', &ns, &name) && dependent_look(s, ns, name)) {
		workqueue_forget(s->run.queue, key);
	} else {
		workqueue_retry(s->run.queue, key);
	}
}

/* ---- what happens ---- */

static void dependent_enqueue(struct dependents_state *s, const struct item *item)
{
	workers_wake(s->run.queue, item->namespace, item->name);
}

static void on_dependent_add(void *ctx, struct item *dependent, bool is_initial _unused_)
{
	struct dependents_state *s = ctx;
	dependents_put(&s->index, dependent);
	dependent_enqueue(s, dependent);
}

static void on_dependent_update(void *ctx, struct item *old, struct item *dependent)
{
	struct dependents_state *s = ctx;
	dependents_put(&s->index, dependent);
	/* Another Dependent has taken the name: the watch missed the deletion of the old one. */
	if (!str_eq(old->uid, dependent->uid)) {
		implemented_release(&s->implemented, old);
	}
	dependent_enqueue(s, dependent);
}

/* A Dependent may vanish without tear_down(). From here on nobody relies on it any more. */
static void on_dependent_delete(void *ctx, struct item *dependent, bool is_guess _unused_)
{
	struct dependents_state *s = ctx;
	dependents_remove(&s->index, dependent->namespace, dependent->name);
	implemented_release(&s->implemented, dependent);
}

static void on_implementation_update(void *ctx, struct item *old _unused_, struct item *implementation)
{
	dependent_enqueue(ctx, implementation); /* which has the Dependent's name */
}

static void on_implementation_delete(void *ctx, struct item *implementation, bool is_guess _unused_)
{
	dependent_enqueue(ctx, implementation);
}

static void enqueue_referrer(void *ctx, const struct item *dependent)
{
	dependent_enqueue(ctx, dependent);
}

static void on_provided(void *ctx, const struct provider_kind *kind, const struct item *item, bool is_gone)
{
	struct dependents_state *s = ctx;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	struct str key = provider_key(&text, kind, item->namespace, item->name);
	if (is_gone) {
		implemented_forget(&s->implemented, key);
	}
	dependents_each(&s->index, key, enqueue_referrer, s);
}

/* ---- its life ---- */

static void dependents_begin(void *state)
{
	struct dependents_state *s = state;
	s->implementer = &configmap_implementer;
	dependents_init(&s->index);
	implemented_init(&s->implemented);
	dependents_watch_start(&s->watch,
		&(struct dependents_watcher){
			.run = &s->run,
			.dependents = {.on_add = on_dependent_add,
				.on_update = on_dependent_update,
				.on_delete = on_dependent_delete},
			.on_provided = on_provided,
		});
	controller_watch(&s->run,
		(struct informer_options){
			.resource = *s->implementer->resource,
			.label_selector = str_of(s->implementer->label_selector),
			.metadata_only = true,
			.handlers = {.on_update = on_implementation_update, .on_delete = on_implementation_delete},
		});
}

static void dependents_end(void *state)
{
	struct dependents_state *s = state;
	implemented_done(&s->implemented);
	dependents_done(&s->index);
}

static void write_metrics(void *state, struct buf *out)
{
	struct dependents_state *s = state;
	counters_write(&s->counters, counted, ARRAY_SIZE(counted), out);
}

const struct controller dependent_controller = {
	.name = "dependent-controller",
	.alias = "dependent",
	.queues = {{"dependent", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, dependent_work}},
	.state_size = sizeof(struct dependents_state),
	.begin = dependents_begin,
	.end = dependents_end,
	.write_metrics = write_metrics,
};

/* ---- one look ---- */

/* One look at one Dependent: compares what exists with what should exist, and sends requests to
 * the server. Every look starts from scratch, so a crash at any point leaves nothing that the next
 * look does not see. The order of the steps keeps the promise that no implemented Dependent loses a
 * Provider. */

/* Bytes of one look: the Dependent, its Providers and its place. */
enum { SCRATCH_MAX = 64 << 20, PATCH_MAX = 4 << 20, WHY_MAX = 4096 };

enum outcome { DONE, AGAIN };

struct look {
	struct dependents_state *s;
	struct item *first;     /* the Dependent as first seen: `provided` points into its spec, which never changes */
	struct item *dependent; /* the Dependent as last seen */
	struct provision provisions[REFERENCES_MAX];
	struct provided provided[REFERENCES_MAX];
	enum use uses[REFERENCES_MAX];
	size_t n;
	struct place place;
	struct buf key;
	struct arena scratch;
};

/* An answer that the object has changed or gone is not worth a log line: the next look finds
 * that out. */
static void tell_problem(const struct look *l, const struct answer *a)
{
	if (a->message.n && !(a->reason.n && a->code == 404) && !answer_is(a, 409, NULL)) {
		controller_notice(&l->s->run, true, a->message);
	}
}

static struct str key_of(struct look *l, size_t i)
{
	return provider_key(&l->key, l->provided[i].kind, l->dependent->namespace, l->provided[i].name);
}

/* ---- the Dependent itself ---- */

static int patch_itself(struct look *l, const char *subresource, const struct buf *patch)
{
	const struct target t = {.resource = &dependents_resource,
		.namespace = l->dependent->namespace,
		.name = l->dependent->name,
		.subresource = subresource};
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf text;
	answer_init(&answer);
	buf_init(&text, PATCH_MAX);
	int r = rest_patch(l->s->run.env->client, &t, PATCH_MERGE, buf_str(patch), &answer);
	struct item *now = !r && json_encode(&text, answer.body) ? item_new(buf_str(&text), item_managers) : NULL;
	if (now) {
		item_unref(l->dependent);
		l->dependent = now;
	}
	return r;
}

static enum outcome dependent_report(struct look *l, const struct verdict *v)
{
	_cleanup_(buf_done) struct buf patch;
	buf_init(&patch, PATCH_MAX);
	if (!dependent_patch_status(&patch, l->dependent, v, l->s->implementer->kind, clock_wall_s())) {
		return DONE;
	}
	return patch_itself(l, "status", &patch) ? AGAIN : DONE;
}

/* Adds the finalizer: from here on the Dependent cannot go before its implementation has gone. */
static bool keep(struct look *l)
{
	_cleanup_(buf_done) struct buf patch;
	buf_init(&patch, PATCH_MAX);
	if (dependent_has_finalizer(l->dependent)) {
		return true;
	}
	dependent_add_finalizer(&patch, l->dependent);
	/* Checks the answer, because the deletion may have come before the patch. */
	return !patch_itself(l, NULL, &patch) && dependent_has_finalizer(l->dependent) && !item_is_deleting(l->dependent);
}

/* ---- undoing ---- */

/* First the other Dependents must stop relying on this one. A worker that still found it in
 * `implemented` did so before it could go. */
static bool withdraw(struct look *l)
{
	implemented_release(&l->s->implemented, l->dependent);
	if (l->place.state != PLACE_EMPTY && l->place.state != PLACE_FILLED) {
		return true;
	}
	if (l->s->implementer->withdraw(l->s->run.env->client, l->dependent, &l->place)) {
		return false;
	}
	count(&l->s->counters, WITHDRAWN);
	return l->place.state == PLACE_NONE || l->place.state == PLACE_TAKEN;
}

static enum outcome tear_down(struct look *l)
{
	_cleanup_(buf_done) struct buf patch;
	buf_init(&patch, PATCH_MAX);
	if (!withdraw(l)) {
		return AGAIN;
	}
	if (!meta_patch_finalize(&patch, item_meta(l->dependent), DEPENDENT_FINALIZER)) {
		return DONE;
	}
	return patch_itself(l, NULL, &patch) ? AGAIN : DONE;
}

static enum outcome give_up(struct look *l, const struct verdict *v)
{
	return withdraw(l) && dependent_report(l, v) == DONE ? DONE : AGAIN;
}

/* ---- may it be implemented ---- */

static bool is_made_from(const struct look *l, size_t i, const struct item *object)
{
	return object && l->s->implementer->is_made_from(&l->place, &l->provided[i], object->uid);
}

static struct item *cached(const struct look *l, size_t i)
{
	return dependents_watch_get(&l->s->watch, l->provided[i].kind, l->dependent->namespace, l->provided[i].name);
}

/* Decides from the informers' caches. A hindrance found there can be trusted, since an event
 * will report its end. The absence of one cannot. */
static struct verdict verdict_by_cache(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		_cleanup_(item_unrefp) struct item *object = cached(l, i);
		l->uses[i] = provider_use(object, is_made_from(l, i, object));
	}
	return verdict_of(&l->scratch, l->provided, l->uses, l->n);
}

/* Reads the latest object from etcd. *ret_object is NULL if it does not exist. */
static int get_fresh(struct look *l, size_t i, struct item **ret_object)
{
	const struct target t = {
		.resource = &l->provided[i].kind->resource, .namespace = l->dependent->namespace, .name = l->provided[i].name};
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf text;
	answer_init(&answer);
	buf_init(&text, PATCH_MAX);
	count(&l->s->counters, PROVIDER_GETS);
	int r = rest_get(l->s->run.env->client, &t, &answer);
	if (r) {
		return r == REST_STATUS && answer_is_absent(&answer, &t) ? 0 : r;
	}
	*ret_object = json_encode(&text, answer.body) ? item_new(buf_str(&text), item_managers) : NULL;
	return *ret_object ? 0 : REST_GARBLED;
}

/* Takes the informer's object if it is newer than the one that was read. */
static void take_newer(struct look *l, size_t i)
{
	struct provision *v = &l->provisions[i];
	_cleanup_(item_unrefp) struct item *told = cached(l, i);
	if (!v->provided.kind->is_constant && told && str_eq(told->uid, v->object->uid) && told->version > v->object->version) {
		item_unref(v->object);
		v->object = item_ref(told);
	}
}

static int look_at_provided(struct look *l, size_t i)
{
	struct item *object = implemented_get(&l->s->implemented, key_of(l, i));
	bool is_held = object != NULL;
	int r = is_held ? 0 : get_fresh(l, i, &object);
	if (r) {
		return r;
	}
	if (is_held) {
		count(&l->s->counters, SPARED_GETS);
	}
	l->uses[i] = provider_use(object, is_held || is_made_from(l, i, object));
	l->provisions[i] = (struct provision){l->provided[i], object};
	if (object) {
		take_newer(l, i);
	}
	return 0;
}

static int look_at_all(struct look *l)
{
	int r = 0;
	for (size_t i = 0; !r && i < l->n; i++) {
		r = look_at_provided(l, i);
	}
	return r;
}

/* ---- doing ---- */

static enum outcome refused(struct look *l, const char *reason, struct str why)
{
	const struct verdict v = verdict_pending(&l->scratch, reason, why);
	give_up(l, &v);
	return AGAIN;
}

static enum outcome fill(struct look *l)
{
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, WHY_MAX);
	int r = l->s->implementer->fill(l->s->run.env->client, l->dependent, &l->place, l->provisions, l->n, &why);
	if (r == IMPLEMENTER_UNFIT) {
		return refused(l, "Unfit", buf_str(&why));
	}
	if (r) {
		tell_problem(l, &l->place.object);
		return AGAIN;
	}
	for (size_t i = 0; i < l->n; i++) {
		implemented_add(&l->s->implemented, key_of(l, i), l->provisions[i].object, l->dependent);
	}
	count(&l->s->counters, IMPLEMENTED);
	const struct verdict v = verdict_implemented();
	return dependent_report(l, &v);
}

/* The order matters: the finalizer comes before the place, and the place before the look at
 * Providers (implementer.h). */
static enum outcome implement(struct look *l)
{
	if (!keep(l)) {
		return AGAIN;
	}
	if (l->place.state == PLACE_NONE && l->s->implementer->reserve(l->s->run.env->client, l->dependent, &l->place)) {
		const struct answer *a = &l->place.object;
		return a->code == 403 || a->code == 422 ? refused(l, "Refused", a->message) : AGAIN;
	}
	if (look_at_all(l)) {
		return AGAIN;
	}
	struct verdict v = verdict_of(&l->scratch, l->provided, l->uses, l->n);
	return v.phase == DEPENDENT_IMPLEMENTED ? fill(l) : give_up(l, &v);
}

static enum outcome look(struct look *l)
{
	if (l->s->implementer->find(l->s->run.env->client, l->dependent, &l->place)) {
		return AGAIN;
	}
	if (item_is_deleting(l->dependent)) {
		return tear_down(l);
	}
	if (l->place.state == PLACE_TAKEN) {
		return refused(l, "NameTaken", STR("something else has the name of its implementation"));
	}
	struct verdict v = verdict_by_cache(l);
	/* A filled place is checked against the server too: it must not be undone because of an
	 * object that a cache has not seen yet. */
	if (l->place.state != PLACE_FILLED && v.phase != DEPENDENT_IMPLEMENTED) {
		return give_up(l, &v);
	}
	return implement(l);
}

/* ---- its life ---- */

static void look_init(struct look *l, struct dependents_state *s, struct item *dependent)
{
	*l = (struct look){.s = s, .first = dependent, .dependent = item_ref(dependent)};
	l->n = provider_of(dependent->object, l->provided);
	place_init(&l->place);
	buf_init(&l->key, PROVIDED_KEY_MAX);
	arena_init(&l->scratch, SCRATCH_MAX);
}

static void look_done(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		item_unref(l->provisions[i].object);
	}
	place_done(&l->place);
	buf_done(&l->key);
	arena_done(&l->scratch);
	item_unref(l->dependent);
	item_unref(l->first);
}

bool dependent_look(struct dependents_state *s, struct str namespace, struct str name)
{
	struct item *dependent = informer_get(s->watch.dependents, namespace, name);
	struct look l;
	if (!dependent || (item_is_deleting(dependent) && !dependent_has_finalizer(dependent))) {
		item_unref(dependent);
		return true;
	}
	look_init(&l, s, dependent);
	enum outcome outcome = look(&l);
	look_done(&l);
	return outcome == DONE;
}

/* ---- what is implemented ---- */

/* An optimization that must not break the promise to Dependents: the header says why it does
 * not. `lock` guards all of it and is never held during a request. Returned items are counted
 * references. */
enum { HOLDINGS_MAX = 10 * 1000 * 1000 }; /* as many as an informer keeps */

struct holding {
	struct item *object;
	struct map holders; /* "NAMESPACE/NAME" of Dependents */
};

void implemented_init(struct implemented *h)
{
	pthread_mutex_init(&h->lock, NULL);
	map_init(&h->by_provided, HOLDINGS_MAX);
}

static void holding_free(struct holding *g)
{
	if (g) {
		item_unref(g->object);
		map_done(&g->holders);
		mem_free(g);
	}
}

void implemented_done(struct implemented *h)
{
	for (struct map_entry *e = map_next(&h->by_provided, NULL); e; e = map_next(&h->by_provided, e)) {
		holding_free(e->value);
	}
	map_done(&h->by_provided);
	pthread_mutex_destroy(&h->lock);
}

struct item *implemented_get(struct implemented *h, struct str provider_key)
{
	pthread_mutex_lock(&h->lock);
	const struct holding *g = map_get(&h->by_provided, provider_key);
	struct item *object = g ? item_ref(g->object) : NULL;
	pthread_mutex_unlock(&h->lock);
	return object;
}

static struct holding *holding_make(struct implemented *h, struct str provider_key, struct item *object)
{
	struct holding *g = mem_new(struct holding);
	g->object = item_ref(object);
	map_init(&g->holders, HOLDINGS_MAX);
	map_set(&h->by_provided, provider_key, g, NULL);
	return g;
}

void implemented_add(struct implemented *h, struct str provider_key, struct item *object, const struct item *dependent)
{
	assert(object && provider_key.n > 0);
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	struct str key = store_key(&text, dependent->namespace, dependent->name);

	pthread_mutex_lock(&h->lock);
	struct holding *g = map_get(&h->by_provided, provider_key);
	g = g ? g : holding_make(h, provider_key, object);
	/* Workers may finish in any order: an older answer must not replace a newer one. */
	if (object->version > g->object->version) {
		item_unref(g->object);
		g->object = item_ref(object);
	}
	map_set(&g->holders, key, g, NULL);
	pthread_mutex_unlock(&h->lock);
}

/* Under the lock. */
static void forget(struct implemented *h, struct str provider_key)
{
	assert_locked(&h->lock);
	holding_free(map_remove(&h->by_provided, provider_key));
}

void implemented_release(struct implemented *h, const struct item *dependent)
{
	struct provided provided[REFERENCES_MAX];
	size_t n = provider_of(dependent->object, provided);
	_cleanup_(buf_done) struct buf text, to;
	buf_init(&text, PROVIDED_KEY_MAX);
	buf_init(&to, PROVIDED_KEY_MAX);
	struct str key = store_key(&text, dependent->namespace, dependent->name);

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < n; i++) {
		struct str of = provider_key(&to, provided[i].kind, dependent->namespace, provided[i].name);
		struct holding *g = map_get(&h->by_provided, of);
		if (g && map_remove(&g->holders, key) && !g->holders.n) {
			forget(h, of);
		}
	}
	pthread_mutex_unlock(&h->lock);
}

void implemented_forget(struct implemented *h, struct str provider_key)
{
	pthread_mutex_lock(&h->lock);
	forget(h, provider_key);
	pthread_mutex_unlock(&h->lock);
}
