/* Empties namespaces that are being deleted, and lets them go: what kube-controller-manager's namespace controller does. */
#include "base/clock.h"
#include "client/informer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/workers.h"
#include "controllers/namespace/namespace_plan.h"

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5, /* kube's for this controller */
	RETRY_LAST_MS = 60 * 1000,
	/* Other servers may still take in objects by what they knew of the namespace before its deletion: kube waits so long before
	 * it begins. Where creations are guarded by the namespace itself nothing can come in. */
	GRACE_MS = 5 * 1000,
	BEGIN_AGAIN_MS = 1000,
	FINALIZER_ESTIMATE_S = 15, /* kube's */
	SCRATCH_MAX = 64 << 20,
	PROBLEM_MAX = 8192,
};

static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};

struct namespaces_state {
	const struct controller_env *env;
	struct workqueue *queue;
	struct informer *informer;
	struct workers workers;
	int64_t grace_ms; /* like the informer, once the server could be asked */
	bool has_told;    /* that it cannot */
};

/* One look at one namespace. */
struct look {
	struct namespaces_state *s;
	struct str name;
	struct answer namespace; /* as it is */
	struct answer last;      /* to the latest request about its content; of an error it tells more */
	struct discovery discovery;
	struct arena scratch;
	struct namespace_found found;
	uint64_t n_here;     /* objects of the resource at hand */
	bool has_finalizers; /* one of them */
};

static void notice(struct namespaces_state *s, bool is_problem, struct str text)
{
	s->env->on_notice(s->env->ctx, namespace_controller.name, is_problem, text);
}

/* ---- content ---- */

static struct target in_namespace(const struct look *l, const struct resource *r, struct str name)
{
	return (struct target){.resource = r, .namespace = l->name, .name = name};
}

/* A resource that is in discovery's list but has no such verb, or is gone since: nothing to be done, as kube has it. */
static bool is_not_there(int r, const struct answer *a)
{
	return r == REST_STATUS && (a->code == 404 || a->code == 405);
}

/* A walk through all objects of a resource, until one step fails. */
struct walk {
	struct look *l;
	const struct resource *r;
	int (*each)(struct look *l, const struct resource *r, const struct json *o);
	int error; /* of the step */
};

static bool walk_step(void *ctx, const struct json *object)
{
	struct walk *w = ctx;
	w->error = w->each(w->l, w->r, object);
	return !w->error;
}

/* 0 or a rest_error. */
static int each_object(
	struct look *l, const struct resource *r, int (*each)(struct look *l, const struct resource *r, const struct json *o))
{
	const struct target t = in_namespace(l, r, (struct str){NULL, 0});
	struct walk w = {.l = l, .r = r, .each = each};
	struct answer page;
	answer_init(&page);
	int error = rest_each(l->s->env->client, &t, true, walk_step, &w, &page);
	if (error) {
		answer_done(&l->last);
		l->last = page;
		return error;
	}
	answer_done(&page);
	return w.error;
}

/* Owners and owned all go: nobody is to be orphaned or waited for. */
static int delete_one(struct look *l, const struct resource *r, struct str name)
{
	const struct target t = in_namespace(l, r, name);
	struct delete_options options = DELETE_OPTIONS_DEFAULT;
	options.propagation = "Background";
	return rest_delete(l->s->env->client, &t, &options, &l->last);
}

static int delete_object(struct look *l, const struct resource *r, const struct json *object)
{
	int error = delete_one(l, r, json_text(json_gets(json_gets(object, "metadata"), "name")));
	return is_not_there(error, &l->last) ? 0 : error;
}

static int delete_all(struct look *l, const struct api_resource *r)
{
	if (r->verbs & API_DELETECOLLECTION) {
		int error = delete_one(l, &r->resource, (struct str){NULL, 0});
		if (!is_not_there(error, &l->last)) {
			return error;
		}
	}
	int error = r->verbs & API_LIST ? each_object(l, &r->resource, delete_object) : 0;
	return is_not_there(error, &l->last) ? 0 : error;
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
	return is_not_there(error, &l->last) ? 0 : error;
}

static int estimate(struct look *l, const struct resource *r, int64_t *ret_s)
{
	*ret_s = 0;
	if (!namespace_resource_is_pods(r)) {
		return 0;
	}
	const struct target t = in_namespace(l, r, (struct str){NULL, 0});
	int error = rest_list(l->s->env->client, &t, &(struct list_options){.limit = 0}, &l->last);
	if (!error) {
		*ret_s = namespace_pods_estimate_s(l->last.body, l->namespace.body, clock_wall_s());
	}
	return error;
}

/* What remains is waited for while it has time left or finalizers; else it should not be there. */
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
	if (discovery_fetch(l->s->env->client, &l->discovery, &l->last)) {
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

/* Pods first: what they use and what speaks for them goes when they are gone. */
static void empty(struct look *l)
{
	discover(l);
	const struct api_resource *first = find_pods(l);
	if (first) {
		empty_resource(l, first);
		if (l->n_here) {
			return;
		}
	}
	for (size_t i = 0; i < l->discovery.n && !client_is_stopped(l->s->env->client); i++) {
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

/* Writes it; what comes back is how it is now. */
static int write(struct look *l, const char *subresource, const struct json *changed)
{
	const struct target t = itself(l, subresource);
	struct answer now;
	answer_init(&now);
	int error = rest_update(l->s->env->client, &t, changed, &now);
	if (error) {
		answer_done(&l->last);
		l->last = now;
	} else {
		answer_done(&l->namespace);
		l->namespace = now;
	}
	return error;
}

static int read_namespace(struct look *l)
{
	const struct target t = itself(l, NULL);
	int error = rest_get(l->s->env->client, &t, &l->namespace);
	if (error) {
		l->last.code = l->namespace.code;
		l->last.message = arena_dup(&l->last.arena, l->namespace.message);
	}
	return error;
}

static int mark(struct look *l)
{
	return write(l, "status", namespace_with_phase(&l->scratch, l->namespace.body));
}

/* Conditions are for people: where they cannot be written just now, the next look writes them. */
static void tell_conditions(struct look *l)
{
	const struct json *changed = namespace_with_conditions(&l->scratch, l->namespace.body, &l->found, clock_wall_s());
	if (changed && write(l, "status", changed) == REST_STATUS && !answer_is(&l->last, 409, NULL) &&
		!answer_is(&l->last, 404, NULL)) {
		notice(l->s, true, l->last.message);
	}
}

/* Its resourceVersion makes sure that nobody has changed it since. */
static int let_go(struct look *l)
{
	int error = write(l, "finalize", namespace_finalized(&l->scratch, l->namespace.body));
	return is_not_there(error, &l->last) ? 0 : error;
}

enum outcome { DONE, AGAIN_LATER, FAILED };

static enum outcome outcome_of(int error)
{
	return error ? FAILED : DONE;
}

static enum outcome empty_and_let_go(struct look *l)
{
	empty(l);
	if (client_is_stopped(l->s->env->client)) {
		return DONE; /* what was found does not count */
	}
	tell_conditions(l);
	if (l->found.discovery_problem.n || l->found.n_problems) {
		return FAILED;
	}
	return namespace_found_any(&l->found) ? AGAIN_LATER : outcome_of(let_go(l));
}

static enum outcome look_at(struct look *l)
{
	int error = read_namespace(l);
	if (error) {
		return is_not_there(error, &l->last) ? DONE : FAILED;
	}
	if (namespace_next(l->namespace.body) == NAMESPACE_MARK) {
		error = mark(l);
		if (error) {
			return is_not_there(error, &l->last) ? DONE : FAILED;
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
	notice(l->s, true, buf_str(&text));
}

static void finish(struct look *l, enum outcome outcome)
{
	struct namespaces_state *s = l->s;
	switch (outcome) {
	case DONE:
		workqueue_forget(s->queue, l->name);
		break;
	case AGAIN_LATER:
		workqueue_forget(s->queue, l->name);
		workqueue_add_after(
			s->queue, l->name, namespace_look_again_ms(l->found.estimate_s, l->namespace.body, clock_wall_s()));
		break;
	case FAILED:
		if (!answer_is(&l->last, 409, NULL) && !client_is_stopped(s->env->client)) {
			tell_failure(l);
		}
		workqueue_retry(s->queue, l->name);
		break;
	}
}

/* ---- beginning ---- */

static void enqueue(struct namespaces_state *s, const struct item *item)
{
	if (item_is_deleting(item)) {
		workqueue_add_after(s->queue, item->name, s->grace_ms);
	}
}

static void on_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	enqueue(ctx, item);
}

static void on_update(void *ctx, struct item *old _unused_, struct item *item)
{
	enqueue(ctx, item);
}

static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	notice(ctx, true, text);
}

static void begin(struct namespaces_state *s)
{
	s->informer = informer_new(&(struct informer_options){
		.client = s->env->client,
		.outage = s->env->outage,
		.resource = namespaces,
		.metadata_only = true,
		.handlers = {.on_add = on_add, .on_update = on_update, .on_problem = on_problem},
		.ctx = s,
	});
}

static void begin_later(struct namespaces_state *s, struct str why)
{
	_cleanup_(mem_freep) char *text = mem_printf("cannot begin yet: " STR_FMT, STR_ARG(why));
	if (!s->has_told) {
		notice(s, true, str_of(text));
	}
	s->has_told = true;
	workqueue_add_after(s->queue, (struct str){"", 0}, BEGIN_AGAIN_MS);
}

/* The empty key. Does the server guard creations by their namespace? Ours says so by its version. */
static void learn_and_begin(struct namespaces_state *s)
{
	struct answer a;
	answer_init(&a);
	int error = rest_do(s->env->client, &(struct rest_call){.method = "GET", .path = "/version"}, &a);
	if (error && error != REST_STOPPED) {
		begin_later(s, a.message);
	} else if (!error) {
		s->grace_ms = str_contains(json_text(json_gets(a.body, "gitVersion")), STR("+annals.")) ? 0 : GRACE_MS;
		begin(s);
	}
	answer_done(&a);
}

static void work(void *ctx, struct str name)
{
	struct namespaces_state *s = ctx;
	struct look l;
	if (!name.n) {
		learn_and_begin(s);
		return;
	}
	look_init(&l, s, name);
	finish(&l, look_at(&l));
	look_done(&l);
}

/* ---- its life ---- */

static void *start(const struct controller_env *env)
{
	struct namespaces_state *s = mem_new(struct namespaces_state);
	s->env = env;
	s->queue = workqueue_new("namespace", RETRY_FIRST_MS, RETRY_LAST_MS);
	workqueue_add(s->queue, (struct str){"", 0}); /* learn_and_begin() */
	s->workers = (struct workers){.queue = s->queue, .work = work, .ctx = s};
	if (workers_start(&s->workers, WORKERS)) {
		notice(s, true, STR("cannot start a thread: nothing will be done"));
	}
	return s;
}

static void stop(void *state)
{
	struct namespaces_state *s = state;
	workers_stop(&s->workers);
	informer_free(s->informer);
	workqueue_free(s->queue);
	mem_free(s);
}

static struct workqueue *queue(void *state, size_t i)
{
	struct namespaces_state *s = state;
	return i == 0 ? s->queue : NULL;
}

const struct controller namespace_controller = {
	.name = "namespace-controller",
	.alias = "namespace",
	.start = start,
	.stop = stop,
	.queue = queue,
};
