/* Nodes without machines: gives pods a node and tells in their status what a kubelet would tell
 * whose containers start at once and never fail by themselves. Nothing runs. What Kubernetes'
 * scheduler and kubelet do for whoever watches pods, and nothing of what they do for containers.
 *
 * Everything is decided by what stands in the pod (kubelet_plan.h). Kept here is only what a
 * restart may forget: since when a pod has been seen, and which addresses are taken. */
#include "api/model/members.h"
#include "base/clock.h"
#include "client/informer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/workers.h"
#include "controllers/kubelet/addresses.h"
#include "controllers/kubelet/kubelet_plan.h"
#include "controllers/kubelet/node_plan.h"

#include <pthread.h>

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
	TOLD_AFTER = 8, /* failures, which is after a second */
	SCRATCH_MAX = 64 << 20,
	PATCH_MAX = 16 << 20,
	KEY_MAX = 4096,
	RENEW_MS = 10 * 1000,        /* kubelets' */
	PODS_MAX = 10 * 1000 * 1000, /* as many as an informer keeps */
};

static const struct resource pods = {{"", 0}, {"v1", 2}, {"pods", 4}};
static const struct resource nodes = {{"", 0}, {"v1", 2}, {"nodes", 5}};
static const struct resource leases = {{"coordination.k8s.io", 19}, {"v1", 2}, {"leases", 6}};

/* What is kept about a pod that was seen. */
struct sandbox {
	uint32_t address;                      /* 0: none yet */
	int64_t started_at_ms, stopping_at_ms; /* first seen with a node, deleted; monotonic; 0: not yet */
};

struct kubelet {
	const struct controller_env *env;
	uint32_t n_nodes;
	_Atomic uint32_t next_node;
	_Atomic bool is_missed; /* somebody waits for signs of life */
	struct workqueue *queue;      /* NAMESPACE/NAME of pods, NAME of nodes */
	struct informer *pods, *nodes;
	struct workers workers;
	pthread_mutex_t lock; /* guards what follows; the client's thread and workers use it */
	struct map sandboxes; /* by uid */
	struct addresses addresses;
};

static void notice(struct kubelet *k, bool is_problem, struct str text)
{
	k->env->on_notice(k->env->ctx, fake_kubelet.name, is_problem, text);
}

static struct str now(struct arena *a)
{
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, clock_wall_s());
	return arena_dup(a, str_of(text));
}

/* ---- sandboxes ---- */

/* With the lock held. NULL: there are too many. */
static struct sandbox *find_sandbox(struct kubelet *k, struct str uid)
{
	struct sandbox *s = map_get(&k->sandboxes, uid);
	if (!s) {
		s = mem_new(struct sandbox);
		s = map_set(&k->sandboxes, uid, s, NULL) ? s : mem_free(s);
	}
	return s;
}

/* Addresses that pods have are nobody else's, whoever gave them. */
static void note_pod(struct kubelet *k, const struct item *pod)
{
	struct str ip = member_text(json_gets(pod->object, "status"), "podIP");
	pthread_mutex_lock(&k->lock);
	struct sandbox *s = find_sandbox(k, pod->uid);
	if (s && !s->address) {
		s->address = addresses_note(&k->addresses, ip);
	}
	pthread_mutex_unlock(&k->lock);
}

static void forget_pod(struct kubelet *k, const struct item *pod)
{
	pthread_mutex_lock(&k->lock);
	struct sandbox *s = map_remove(&k->sandboxes, pod->uid);
	if (s) {
		addresses_give_back(&k->addresses, s->address);
		mem_free(s);
	}
	pthread_mutex_unlock(&k->lock);
}

static int64_t since(int64_t *at_ms, int64_t now_ms)
{
	*at_ms = *at_ms ? *at_ms : now_ms;
	return now_ms - *at_ms;
}

/* How the pod is looked at now. False: it is gone, and with it its sandbox. */
static bool look(struct kubelet *k, struct arena *a, const struct item *pod, struct kubelet_look *ret)
{
	int64_t index = fake_node_index(member_text(json_gets(pod->object, "spec"), "nodeName")), now_ms = clock_mono_ms();
	char ip[ADDRESS_SIZE];
	pthread_mutex_lock(&k->lock);
	struct sandbox *s = map_get(&k->sandboxes, pod->uid);
	if (s && item_is_deleting(pod)) {
		ret->stopping_for_ms = since(&s->stopping_at_ms, now_ms);
	}
	if (s && index >= 0) {
		s->address = s->address ? s->address : addresses_take(&k->addresses);
		ret->started_for_ms = since(&s->started_at_ms, now_ms);
		if (s->address) {
			address_format(ip, s->address);
			ret->pod_ip = arena_dup(a, str_of(ip));
		}
	}
	pthread_mutex_unlock(&k->lock);
	if (index >= 0) {
		address_format(ip, fake_node_address((uint32_t)index));
		ret->host_ip = arena_dup(a, str_of(ip));
	}
	ret->now = now(a);
	return s != NULL;
}

/* ---- what is written ---- */

/* A version or a uid that is not the pod's any more: the change which made it so comes by itself. */
static bool is_settled(int error, const struct answer *answer)
{
	return !error || answer_is(answer, 404, NULL) || answer_is(answer, 409, NULL);
}

static bool bind_pod(struct kubelet *k, struct arena *a, const struct target *t, const struct item *pod, struct answer *answer)
{
	struct target binding = *t;
	struct json *body = json_object(a), *meta = json_object(a), *node = json_object(a);
	char name[NODE_NAME_SIZE];
	fake_node_name(name, atomic_fetch_add(&k->next_node, 1) % k->n_nodes);
	binding.subresource = "binding";
	json_add(a, body, STR("apiVersion"), json_string(a, STR("v1")));
	json_add(a, body, STR("kind"), json_string(a, STR("Binding")));
	json_add(a, body, STR("metadata"), meta);
	json_add(a, meta, STR("name"), json_string(a, pod->name));
	json_add(a, meta, STR("namespace"), json_string(a, pod->namespace));
	json_add(a, meta, STR("uid"), json_string(a, pod->uid));
	json_add(a, body, STR("target"), node);
	json_add(a, node, STR("apiVersion"), json_string(a, STR("v1")));
	json_add(a, node, STR("kind"), json_string(a, STR("Node")));
	json_add(a, node, STR("name"), json_string(a, str_of(name)));
	return is_settled(rest_create(k->env->client, &binding, body, answer), answer);
}

/* A merge patch replaces lists; the version that was looked at makes sure that nothing of others is lost with that. */
static bool report(struct kubelet *k, struct arena *a, const struct target *t, const struct item *item, struct json *changes,
	struct answer *answer)
{
	struct target status = *t;
	struct json *patch = json_object(a), *meta = json_object(a);
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PATCH_MAX);
	status.subresource = "status";
	json_add(a, patch, STR("metadata"), meta);
	json_add(a, meta, STR("uid"), json_string(a, item->uid));
	json_add(a, meta, STR("resourceVersion"), json_gets(item_meta(item), "resourceVersion"));
	json_add(a, patch, STR("status"), changes);
	return json_encode(&text, patch) &&
		is_settled(rest_patch(k->env->client, &status, PATCH_MERGE, buf_str(&text), answer), answer);
}

static bool remove_pod(struct kubelet *k, const struct target *t, const struct item *pod, struct answer *answer)
{
	const struct delete_options options = {.uid = pod->uid, .grace_s = 0};
	return is_settled(rest_delete(k->env->client, t, &options, answer), answer);
}

/* ---- one pod ---- */

static bool carry_out(
	struct kubelet *k, struct arena *a, const struct item *pod, const struct kubelet_plan *plan, struct answer *answer)
{
	const struct target t = {.resource = &pods, .namespace = pod->namespace, .name = pod->name};
	switch (plan->step) {
	case KUBELET_BIND:
		return bind_pod(k, a, &t, pod, answer);
	case KUBELET_REPORT:
		return report(k, a, &t, pod, plan->status, answer);
	case KUBELET_REMOVE:
		return remove_pod(k, &t, pod, answer);
	case KUBELET_NOTHING:
		break;
	}
	return true;
}

/* True: nothing is left to be done until something changes. Before all pods are known nobody knows which addresses are free. */
static bool look_at_pod(struct kubelet *k, struct str key, struct str ns, struct str name, struct answer *answer)
{
	_cleanup_(item_unrefp) struct item *pod = informer_get(k->pods, ns, name);
	_cleanup_(arena_done) struct arena a;
	struct kubelet_look how = {0};
	arena_init(&a, SCRATCH_MAX);
	if (!informer_has_synced(k->pods)) {
		return false;
	}
	if (!pod || !look(k, &a, pod, &how)) {
		return true;
	}
	const struct kubelet_plan plan = kubelet_decide(&a, pod->object, &how);
	if (plan.wait_ms >= 0) {
		workqueue_add_after(k->queue, key, plan.wait_ms);
	}
	return carry_out(k, &a, pod, &plan, answer);
}

/* ---- one node ---- */

static bool register_node(struct kubelet *k, struct arena *a, uint32_t index, struct answer *answer)
{
	const struct target t = {.resource = &nodes};
	return is_settled(rest_create(k->env->client, &t, fake_node(a, index, now(a)), answer), answer);
}

/* Only where somebody waits for it: where nobody does, nodes at rest cost nothing. */
static bool renew_lease(struct kubelet *k, struct arena *a, struct str name, struct answer *answer)
{
	const struct target all = {.resource = &leases, .namespace = STR("kube-node-lease")};
	struct target own = all;
	char renewed[TIME_RFC3339_MICRO_SIZE];
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, KEY_MAX);
	own.name = name;
	time_format_rfc3339_micro(renewed, clock_wall_us());
	json_encode(&text, fake_node_renewal(a, str_of(renewed)));
	int error = rest_patch(k->env->client, &own, PATCH_MERGE, buf_str(&text), answer);
	if (answer_is(answer, 404, NULL)) {
		error = rest_create(k->env->client, &all, fake_node_lease(a, name, str_of(renewed)), answer);
	}
	workqueue_add_after(k->queue, name, RENEW_MS);
	return is_settled(error, answer);
}

static bool look_at_node(struct kubelet *k, struct str name, struct answer *answer)
{
	_cleanup_(item_unrefp) struct item *node = informer_get(k->nodes, STR(""), name);
	_cleanup_(arena_done) struct arena a;
	const struct target t = {.resource = &nodes, .name = name};
	int64_t index = fake_node_index(name);
	arena_init(&a, SCRATCH_MAX);
	if (!informer_has_synced(k->nodes)) {
		return false;
	}
	if (!node) {
		return index >= k->n_nodes || register_node(k, &a, (uint32_t)index, answer);
	}
	struct json *changes = fake_node_status(&a, node->object, now(&a));
	bool is_done = !changes || report(k, &a, &t, node, changes, answer);
	return is_done && (!atomic_load(&k->is_missed) || renew_lease(k, &a, name, answer));
}

/* ---- work ---- */

/* Once for each object, and only of what goes on: a server that restarts refuses for a moment. */
static void complain(struct kubelet *k, struct str key, const struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, KEY_MAX);
	if (workqueue_failures(k->queue, key) == TOLD_AFTER && answer->code) {
		buf_printf(&text, STR_FMT ": " STR_FMT "; trying again", STR_ARG(key), STR_ARG(answer->message));
		notice(k, true, buf_str(&text));
	}
}

static void work(void *ctx, struct str key)
{
	struct kubelet *k = ctx;
	struct str ns, name;
	_cleanup_(answer_done) struct answer answer;
	answer_init(&answer);
	if (str_cut(key, '/', &ns, &name) ? look_at_pod(k, key, ns, name, &answer) : look_at_node(k, key, &answer)) {
		workqueue_forget(k->queue, key);
	} else {
		workqueue_retry(k->queue, key);
		complain(k, key, &answer);
	}
}

/* ---- what happens ---- */

static void pod_changed(struct kubelet *k, const struct item *pod)
{
	note_pod(k, pod);
	if (kubelet_is_concerned(pod->object)) {
		workers_wake(k->queue, pod->namespace, pod->name);
	}
}

static void on_add(void *ctx, struct item *pod, bool is_initial _unused_)
{
	pod_changed(ctx, pod);
}

/* One name, another pod: the deletion of the first was not seen. */
static void on_update(void *ctx, struct item *old, struct item *pod)
{
	if (!str_eq(old->uid, pod->uid)) {
		forget_pod(ctx, old);
	}
	pod_changed(ctx, pod);
}

static void on_delete(void *ctx, struct item *pod, bool is_guess _unused_)
{
	forget_pod(ctx, pod);
}

static void ask_for_nodes(struct kubelet *k)
{
	char name[NODE_NAME_SIZE];
	for (uint32_t i = 0; i < k->n_nodes; i++) {
		fake_node_name(name, i);
		workqueue_add(k->queue, str_of(name));
	}
}

static void on_node(void *ctx, struct item *node)
{
	struct kubelet *k = ctx;
	if (fake_node_index(node->name) >= 0) {
		if (fake_node_is_missed(node->object) && !atomic_exchange(&k->is_missed, true)) {
			ask_for_nodes(k);
		}
		workqueue_add(k->queue, node->name);
	}
}

static void on_node_add(void *ctx, struct item *node, bool is_initial _unused_)
{
	on_node(ctx, node);
}

static void on_node_update(void *ctx, struct item *old _unused_, struct item *node)
{
	on_node(ctx, node);
}

static void on_node_delete(void *ctx, struct item *node, bool is_guess _unused_)
{
	on_node(ctx, node);
}

static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	notice(ctx, true, text);
}

/* ---- its life ---- */

static void *start(const struct controller_env *env)
{
	struct kubelet *k = mem_new(struct kubelet);
	k->env = env;
	k->n_nodes = (uint32_t)MIN(MAX(env->fake_nodes, (int64_t)1), (int64_t)FAKE_NODES_MAX);
	pthread_mutex_init(&k->lock, NULL);
	map_init(&k->sandboxes, PODS_MAX);
	addresses_init(&k->addresses);
	k->queue = workqueue_new("fake_kubelet", RETRY_FIRST_MS, RETRY_LAST_MS);
	k->pods = informer_new(&(struct informer_options){
		.client = env->client,
		.outage = env->outage,
		.resource = pods,
		.left_out = item_managers,
		.handlers = {.on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_problem = on_problem},
		.ctx = k,
	});
	k->nodes = informer_new(&(struct informer_options){
		.client = env->client,
		.outage = env->outage,
		.resource = nodes,
		.left_out = item_managers,
		.handlers = {.on_add = on_node_add,
			.on_update = on_node_update,
			.on_delete = on_node_delete,
			.on_problem = on_problem},
		.ctx = k,
	});
	ask_for_nodes(k);
	k->workers = (struct workers){.queue = k->queue, .work = work, .ctx = k};
	if (workers_start(&k->workers, WORKERS)) {
		notice(k, true, STR("cannot start a thread: nothing will be done"));
	}
	return k;
}

static void stop(void *state)
{
	struct kubelet *k = state;
	workers_stop(&k->workers);
	informer_free(k->nodes);
	informer_free(k->pods);
	workqueue_free(k->queue);
	for (struct map_entry *e = map_next(&k->sandboxes, NULL); e; e = map_next(&k->sandboxes, e)) {
		mem_free(e->value);
	}
	map_done(&k->sandboxes);
	addresses_done(&k->addresses);
	pthread_mutex_destroy(&k->lock);
	mem_free(k);
}

static struct workqueue *queue(void *state, size_t i)
{
	struct kubelet *k = state;
	return i == 0 ? k->queue : NULL;
}

const struct controller fake_kubelet = {
	.name = "fake-kubelet",
	.alias = "fake-kubelet",
	.is_on_request = true,
	.start = start,
	.stop = stop,
	.queue = queue,
};
