/* Empties namespaces that are being deleted, and finalizes them, as kube-controller-manager's
 * namespace controller does. */
#include "base/clock.h"
#include "client/informer.h"
#include "controllers/kit/controller.h"
#include "controllers/namespace/namespace_plan.h"

#include <assert.h>

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5, /* kube's value for this controller */
	RETRY_LAST_MS = 60 * 1000,
	/* Other servers may still accept objects while their view of the namespace predates its
	 * deletion. kube waits this long before it begins. A server that checks the namespace on
	 * each creation needs no wait. */
	GRACE_MS = 5 * 1000,
	BEGIN_AGAIN_MS = 1000,
	FINALIZER_ESTIMATE_S = 15, /* kube's value */
	SCRATCH_MAX = 64 << 20,    /* bytes of one look at a namespace: its conditions and problems */
	PROBLEM_MAX = 8192,        /* bytes of a notice; a longer one is empty */
};

static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};

struct namespaces_state {
	struct controller_run run;
	int64_t grace_ms; /* set once the server could be asked, like the watch */
	bool has_told;    /* the log says that the server cannot be asked */
};

/* One look at one namespace. */
struct look {
	struct namespaces_state *s;
	struct str name;
	struct answer namespace; /* as it is */
	struct answer last;      /* to the latest request about its content; after an error it has the details */
	struct discovery discovery;
	struct arena scratch;
	struct namespace_found found;
	uint64_t n_here;     /* how many objects of the current resource */
	bool has_finalizers; /* one of them has finalizers */
};

/* ---- content ---- */

static struct target in_namespace(const struct look *l, const struct resource *r, struct str name)
{
	return (struct target){.resource = r, .namespace = l->name, .name = name};
}

/* The resource lacks that verb, even if discovery lists it: nothing to do.
 *
 * kube also treats a 404 of a whole resource so. But a proxy or a starting server answers 404
 * too, and the namespace would then go before its objects. A removed resource leaves discovery's
 * list, which the next look reads. */
static bool is_unsupported(int r, const struct answer *a)
{
	return r == REST_STATUS && answer_is(a, 405, "MethodNotAllowed");
}

/* A walk through all objects of a resource, until one step fails. */
struct walk {
	struct look *l;
	const struct resource *r;
	int (*each)(struct look *l, const struct resource *r, const struct json *o);
	int error; /* the error of the step */
};

static bool walk_step(void *ctx, const struct json *object)
{
	struct walk *w = ctx;
	w->error = w->each(w->l, w->r, object);
	return !w->error;
}

/* Returns 0 or a rest_error. */
static int each_object(
	struct look *l, const struct resource *r, int (*each)(struct look *l, const struct resource *r, const struct json *o))
{
	const struct target t = in_namespace(l, r, (struct str){NULL, 0});
	struct walk w = {.l = l, .r = r, .each = each};
	struct answer page;
	answer_init(&page);
	int error = rest_each(l->s->run.env->client, &t, true, walk_step, &w, &page);
	if (error) {
		answer_done(&l->last);
		l->last = page;
		return error;
	}
	answer_done(&page);
	return w.error;
}

/* Background deletion: all objects of the namespace go anyway, so nothing is orphaned or waited
 * for. */
static int delete_one(struct look *l, const struct resource *r, struct str name)
{
	const struct target t = in_namespace(l, r, name);
	assert(l->name.n > 0); /* without a namespace, it would be a deletion of all objects of the cluster */
	struct delete_options options = DELETE_OPTIONS_DEFAULT;
	options.propagation = "Background";
	return rest_delete(l->s->run.env->client, &t, &options, &l->last);
}

static int delete_object(struct look *l, const struct resource *r, const struct json *object)
{
	const struct target t = in_namespace(l, r, json_text(json_gets(json_gets(object, "metadata"), "name")));
	int error = delete_one(l, r, t.name);
	bool is_over = is_unsupported(error, &l->last) || (error == REST_STATUS && answer_is_absent(&l->last, &t));
	return is_over ? 0 : error;
}

static int delete_all(struct look *l, const struct api_resource *r)
{
	if (r->verbs & API_DELETECOLLECTION) {
		int error = delete_one(l, &r->resource, (struct str){NULL, 0});
		if (!is_unsupported(error, &l->last)) {
			return error;
		}
	}
	int error = r->verbs & API_LIST ? each_object(l, &r->resource, delete_object) : 0;
	return is_unsupported(error, &l->last) ? 0 : error;
}

static int count_object(struct look *l, const struct resource *r _unused_, const struct json *object)
{
	const struct json *finalizers = json_gets(json_gets(object, "metadata"), "finalizers");
	l->n_here++;
	for (uint32_t i = 0; json_is(finalizers, JSON_ARRAY) && i < finalizers->n; i++) {
		namespace_found_finalizer(&l->found, json_text(finalizers->items[i]));
		l->has_finalizers = true;
	}
	return 0;
}

static int count_all(struct look *l, const struct api_resource *r)
{
	l->n_here = 0;
	l->has_finalizers = false;
	int error = r->verbs & API_LIST ? each_object(l, &r->resource, count_object) : 0;
	namespace_found_remaining(&l->found, &r->resource, l->n_here);
	return is_unsupported(error, &l->last) ? 0 : error;
}

static int estimate(struct look *l, const struct resource *r, int64_t *ret_s)
{
	*ret_s = 0;
	if (!namespace_resource_is_pods(r)) {
		return 0;
	}
	const struct target t = in_namespace(l, r, (struct str){NULL, 0});
	int error = rest_list(l->s->run.env->client, &t, &(struct list_options){.limit = 0}, &l->last);
	if (!error) {
		*ret_s = namespace_pods_estimate_s(l->last.body, l->namespace.body, clock_wall_s());
	}
	return error;
}

/* Objects that remain may take their grace period or wait for finalizers. Any other remaining
 * object is a problem. */
static void weigh(struct look *l, const struct resource *r, int64_t estimate_s)
{
	if (!l->n_here) {
		return;
	}
	if (!estimate_s && !l->has_finalizers) {
		namespace_found_problem(&l->found,
			arena_printf(&l->scratch,
				"unexpected items still remain in namespace: " STR_FMT " for gvr: " STR_FMT "/" STR_FMT
				", Resource=" STR_FMT,
				STR_ARG(l->name), STR_ARG(r->group), STR_ARG(r->version), STR_ARG(r->plural)));
		return;
	}
	estimate_s = estimate_s ? estimate_s : FINALIZER_ESTIMATE_S;
	l->found.estimate_s = MAX(l->found.estimate_s, estimate_s);
}

static void empty_resource(struct look *l, const struct api_resource *r)
{
	assert(namespace_resource_counts(r));
	int64_t estimate_s = 0;
	int error = estimate(l, &r->resource, &estimate_s);
	error = error ? error : delete_all(l, r);
	error = error ? error : count_all(l, r);
	if (!error) {
		weigh(l, &r->resource, estimate_s);
	} else if (namespace_resource_is_pods(&r->resource)) {
		namespace_found_problem(&l->found,
			arena_printf(&l->scratch, "failed to delete pods for namespace: " STR_FMT ", err: " STR_FMT,
				STR_ARG(l->name), STR_ARG(l->last.message)));
	} else {
		namespace_found_problem(&l->found, l->last.message);
	}
}

static void discover(struct look *l)
{
	if (discovery_fetch(l->s->run.env->client, &l->discovery, &l->last)) {
		l->found.discovery_problem = arena_dup(&l->scratch, l->last.message.n ? l->last.message : STR("no answer"));
	} else {
		l->found.discovery_problem = namespace_discovery_problem(&l->scratch, &l->discovery);
	}
}

static const struct api_resource *find_pods(const struct look *l)
{
	for (size_t i = 0; i < l->discovery.n; i++) {
		const struct api_resource *r = &l->discovery.resources[i];
		if (namespace_resource_is_pods(&r->resource) && namespace_resource_counts(r)) {
			return r;
		}
	}
	return NULL;
}

/* Deletes pods first, and what they use or what protects them after they are gone. */
static void namespace_empty(struct look *l)
{
	discover(l);
	const struct api_resource *first = find_pods(l);
	if (first) {
		empty_resource(l, first);
		if (l->n_here) {
			return;
		}
	}
	for (size_t i = 0; i < l->discovery.n && !client_is_stopped(l->s->run.env->client); i++) {
		const struct api_resource *r = &l->discovery.resources[i];
		if (r != first && namespace_resource_counts(r)) {
			empty_resource(l, r);
		}
	}
}

/* ---- the namespace itself ---- */

static struct target itself(const struct look *l, const char *subresource)
{
	return (struct target){.resource = &namespaces, .name = l->name, .subresource = subresource};
}

/* Writes the namespace, and keeps the answer as its present state. */
static int namespace_write(struct look *l, const char *subresource, const struct json *changed)
{
	const struct target t = itself(l, subresource);
	struct answer now;
	answer_init(&now);
	int error = rest_update(l->s->run.env->client, &t, changed, &now);
	if (error) {
		answer_done(&l->last);
		l->last = now;
	} else {
		answer_done(&l->namespace);
		l->namespace = now;
	}
	return error;
}

/* Did the latest request find that the namespace is gone? Then nothing is left to do. */
static bool is_gone(const struct look *l, int error)
{
	const struct target t = itself(l, NULL);
	return error == REST_STATUS && answer_is_absent(&l->last, &t);
}

static int read_namespace(struct look *l)
{
	const struct target t = itself(l, NULL);
	int error = rest_get(l->s->run.env->client, &t, &l->namespace);
	if (error) {
		answer_done(&l->last);
		l->last = l->namespace;
		answer_init(&l->namespace);
	}
	return error;
}

static int namespace_mark(struct look *l)
{
	assert(namespace_next(l->namespace.body) == NAMESPACE_MARK);
	return namespace_write(l, "status", namespace_with_phase(&l->scratch, l->namespace.body));
}

/* Conditions are for people: if they cannot be written now, the next look writes them. */
static void tell_conditions(struct look *l)
{
	const struct json *changed = namespace_with_conditions(&l->scratch, l->namespace.body, &l->found, clock_wall_s());
	if (changed && namespace_write(l, "status", changed) == REST_STATUS && !answer_is(&l->last, 409, NULL) &&
		!is_gone(l, REST_STATUS)) {
		controller_notice(&l->s->run, true, l->last.message);
	}
}

/* The request carries the resourceVersion, so it fails if the namespace has changed since. */
static int namespace_let_go(struct look *l)
{
	/* Objects that are still there would be left without their namespace. */
	assert(!namespace_found_any(&l->found) && !l->found.n_problems && !l->found.discovery_problem.n);
	assert(namespace_next(l->namespace.body) == NAMESPACE_EMPTY);
	int error = namespace_write(l, "finalize", namespace_finalized(&l->scratch, l->namespace.body));
	return is_gone(l, error) ? 0 : error;
}

enum outcome { DONE, AGAIN_LATER, FAILED };

static enum outcome outcome_of(int error)
{
	return error ? FAILED : DONE;
}

static enum outcome empty_and_let_go(struct look *l)
{
	namespace_empty(l);
	if (client_is_stopped(l->s->run.env->client)) {
		return DONE; /* problems in a namespace that is gone do not count */
	}
	tell_conditions(l);
	if (l->found.discovery_problem.n || l->found.n_problems) {
		return FAILED;
	}
	return namespace_found_any(&l->found) ? AGAIN_LATER : outcome_of(namespace_let_go(l));
}

static enum outcome namespace_look_at(struct look *l)
{
	int error = read_namespace(l);
	if (error) {
		return is_gone(l, error) ? DONE : FAILED;
	}
	if (namespace_next(l->namespace.body) == NAMESPACE_MARK) {
		error = namespace_mark(l);
		if (error) {
			return is_gone(l, error) ? DONE : FAILED;
		}
	}
	return namespace_next(l->namespace.body) == NAMESPACE_EMPTY ? empty_and_let_go(l) : DONE;
}

/* ---- keys ---- */

static void look_init(struct look *l, struct namespaces_state *s, struct str name)
{
	*l = (struct look){.s = s, .name = name};
	answer_init(&l->namespace);
	answer_init(&l->last);
	discovery_init(&l->discovery);
	arena_init(&l->scratch, SCRATCH_MAX);
	l->found.arena = &l->scratch;
}

static void look_done(struct look *l)
{
	mem_free(l->found.problems);
	mem_free(l->found.remaining);
	mem_free(l->found.finalizers);
	arena_done(&l->scratch);
	discovery_done(&l->discovery);
	answer_done(&l->last);
	answer_done(&l->namespace);
}

static void tell_failure(struct look *l)
{
	_cleanup_(buf_done) struct buf text;
	struct str why = l->found.discovery_problem.n ? l->found.discovery_problem : l->last.message;
	buf_init(&text, PROBLEM_MAX);
	buf_printf(&text, "cannot remove namespace " STR_FMT " yet: " STR_FMT, STR_ARG(l->name),
		STR_ARG(l->found.n_problems ? l->found.problems[0] : why));
	controller_notice(&l->s->run, true, buf_str(&text));
}

static void namespace_finish(struct look *l, enum outcome outcome)
{
	struct namespaces_state *s = l->s;
	switch (outcome) {
	case DONE:
		workqueue_forget(s->run.queue, l->name);
		break;
	case AGAIN_LATER:
		workqueue_forget(s->run.queue, l->name);
		workqueue_add_after(
			s->run.queue, l->name, namespace_look_again_ms(l->found.estimate_s, l->namespace.body, clock_wall_s()));
		break;
	case FAILED:
		if (!answer_is(&l->last, 409, NULL) && !client_is_stopped(s->run.env->client)) {
			tell_failure(l);
		}
		workqueue_retry(s->run.queue, l->name);
		break;
	}
}

/* ---- beginning ---- */

static void namespace_enqueue(struct namespaces_state *s, const struct item *item)
{
	if (item_is_deleting(item)) {
		workqueue_add_after(s->run.queue, item->name, s->grace_ms);
	}
}

static void on_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	namespace_enqueue(ctx, item);
}

static void on_update(void *ctx, struct item *old _unused_, struct item *item)
{
	namespace_enqueue(ctx, item);
}

static void learn_later(struct namespaces_state *s, struct str why)
{
	_cleanup_(mem_freep) char *text = mem_printf("cannot begin yet: " STR_FMT, STR_ARG(why));
	if (!s->has_told) {
		controller_notice(&s->run, true, str_of(text));
	}
	s->has_told = true;
	workqueue_add_after(s->run.queue, (struct str){"", 0}, BEGIN_AGAIN_MS);
}

/* Runs for the empty key. Finds out whether the server checks the namespace on each creation:
 * annals does, and its version says that it is annals. */
static void learn_and_begin(struct namespaces_state *s)
{
	struct answer a;
	answer_init(&a);
	int error = rest_do(s->run.env->client, &(struct rest_call){.method = "GET", .path = "/version"}, &a);
	struct str version = json_text(json_gets(a.body, "gitVersion"));
	if (error ? error != REST_STOPPED : !version.n) {
		learn_later(s, error ? a.message : STR("the answer of /version is not a version"));
	} else if (!error) {
		s->grace_ms = str_contains(version, STR("+annals.")) ? 0 : GRACE_MS;
		controller_watch(&s->run,
			(struct informer_options){
				.resource = namespaces,
				.metadata_only = true,
				.handlers = {.on_add = on_add, .on_update = on_update},
			});
	}
	answer_done(&a);
}

static void namespace_work(void *ctx, struct str name)
{
	struct namespaces_state *s = ctx;
	struct look l;
	if (!name.n) {
		learn_and_begin(s);
		return;
	}
	look_init(&l, s, name);
	namespace_finish(&l, namespace_look_at(&l));
	look_done(&l);
}

/* ---- its life ---- */

static void namespaces_begin(void *state)
{
	struct namespaces_state *s = state;
	workqueue_add(s->run.queue, (struct str){"", 0}); /* runs learn_and_begin() */
}

const struct controller namespace_controller = {
	.name = "namespace-controller",
	.alias = "namespace",
	.queues = {{"namespace", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, namespace_work}},
	.state_size = sizeof(struct namespaces_state),
	.begin = namespaces_begin,
};
