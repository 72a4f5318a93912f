/* Keeps PersistentVolumeClaims while pods use them: takes the finalizer kubernetes.io/pvc-protection, which every claim is born with, off those
 * that were deleted and are used by no pod. What kube-controller-manager's persistentvolumeclaim-protection-controller does. */
#include "client/informer.h"
#include "controllers/claim/claim_plan.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/workers.h"

enum {
	WORKERS = 2,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
	SCRATCH_MAX = 64 << 20,
};

static const struct resource claims = {{"", 0}, {"v1", 2}, {"persistentvolumeclaims", 22}};
static const struct resource pods = {{"", 0}, {"v1", 2}, {"pods", 4}};

struct claims_state {
	const struct controller_env *env;
	struct workqueue *queue; /* NAMESPACE/NAME */
	struct informer *claims, *pods;
	struct workers workers;
};

static void notice(struct claims_state *s, bool is_problem, struct str text)
{
	s->env->on_notice(s->env->ctx, claim_protection_controller.name, is_problem, text);
}

/* ---- one claim ---- */

struct use {
	const struct json *claim;
	bool is_found;
};

static bool find_use(void *ctx, const struct json *pod)
{
	struct use *u = ctx;
	u->is_found = claim_is_used_by(pod, u->claim);
	return !u->is_found;
}

/* Its resourceVersion makes sure that nobody has changed it since. */
static bool let_go(struct claims_state *s, const struct target *t, const struct json *claim)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	answer_init(&answer);
	int error = rest_update(s->env->client, t, claim_unprotected(&scratch, claim), &answer);
	return !error || answer_is(&answer, 404, NULL);
}

/* True: nothing is left to be done until something changes. */
static bool look_at(struct claims_state *s, struct str ns, struct str name)
{
	const struct target t = {.resource = &claims, .namespace = ns, .name = name};
	_cleanup_(answer_done) struct answer claim, page;
	answer_init(&claim);
	answer_init(&page);
	if (rest_get(s->env->client, &t, &claim)) {
		return answer_is(&claim, 404, NULL);
	}
	if (!claim_is_candidate(json_gets(claim.body, "metadata"))) {
		return true;
	}
	/* The server is asked: a pod the informer has not heard of yet may use it. */
	struct use use = {.claim = claim.body};
	if (rest_each(s->env->client, &(struct target){.resource = &pods, .namespace = ns}, false, find_use, &use, &page)) {
		return false;
	}
	return use.is_found || let_go(s, &t, claim.body);
}

static void work(void *ctx, struct str key)
{
	struct claims_state *s = ctx;
	struct str ns, name;
	if (str_cut(key, '/', &ns, &name) && look_at(s, ns, name)) {
		workqueue_forget(s->queue, key);
	} else {
		workqueue_retry(s->queue, key);
	}
}

/* ---- what happens ---- */

static void claim_changed(struct claims_state *s, const struct item *claim)
{
	if (claim_is_candidate(item_meta(claim))) {
		workers_wake(s->queue, claim->namespace, claim->name);
	}
}

static void on_claim_add(void *ctx, struct item *claim, bool is_initial _unused_)
{
	claim_changed(ctx, claim);
}

static void on_claim_update(void *ctx, struct item *old _unused_, struct item *claim)
{
	claim_changed(ctx, claim);
}

static void pod_changed(struct claims_state *s, const struct item *pod, bool is_gone)
{
	_cleanup_(arena_done) struct arena scratch;
	struct str name;
	arena_init(&scratch, SCRATCH_MAX);
	for (uint32_t i = 0; claim_may_be_freed_by(pod->object, is_gone) && claim_of_pod(pod->object, &i, &scratch, &name);) {
		workers_wake(s->queue, pod->namespace, name);
	}
}

/* One name, another pod: the deletion of the first was not seen. */
static void on_pod_update(void *ctx, struct item *old, struct item *pod)
{
	pod_changed(ctx, pod, false);
	if (!str_eq(old->uid, pod->uid)) {
		pod_changed(ctx, old, true);
	}
}

static void on_pod_delete(void *ctx, struct item *pod, bool is_guess _unused_)
{
	pod_changed(ctx, pod, true);
}

static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	notice(ctx, true, text);
}

/* ---- its life ---- */

static void *start(const struct controller_env *env)
{
	struct claims_state *s = mem_new(struct claims_state);
	s->env = env;
	s->queue = workqueue_new("pvcprotection", RETRY_FIRST_MS, RETRY_LAST_MS);
	s->claims = informer_new(&(struct informer_options){
		.client = env->client,
		.outage = env->outage,
		.resource = claims,
		.metadata_only = true,
		.handlers = {.on_add = on_claim_add, .on_update = on_claim_update, .on_problem = on_problem},
		.ctx = s,
	});
	s->pods = informer_new(&(struct informer_options){
		.client = env->client,
		.outage = env->outage,
		.resource = pods,
		.handlers = {.on_update = on_pod_update, .on_delete = on_pod_delete, .on_problem = on_problem},
		.ctx = s,
	});
	s->workers = (struct workers){.queue = s->queue, .work = work, .ctx = s};
	if (workers_start(&s->workers, WORKERS)) {
		notice(s, true, STR("cannot start a thread: nothing will be done"));
	}
	return s;
}

static void stop(void *state)
{
	struct claims_state *s = state;
	workers_stop(&s->workers);
	informer_free(s->pods);
	informer_free(s->claims);
	workqueue_free(s->queue);
	mem_free(s);
}

static struct workqueue *queue(void *state, size_t i)
{
	struct claims_state *s = state;
	return i == 0 ? s->queue : NULL;
}

const struct controller claim_protection_controller = {
	.name = "persistentvolumeclaim-protection-controller",
	.alias = "pvc-protection",
	.start = start,
	.stop = stop,
	.queue = queue,
};
