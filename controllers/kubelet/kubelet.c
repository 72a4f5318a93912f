/* Nodes without machines: binds pods to nodes and writes their status, as a kubelet would whose
 * containers start at once and never fail by themselves. No container runs. It does what
 * Kubernetes' scheduler and kubelet do for everyone who watches pods.
 *
 * The pod itself decides everything (kubelet_plan.h). This file keeps only what a restart may
 * forget: since when it has seen a pod, and which addresses are taken. */
#include "api/model/members.h"
#include "base/clock.h"
#include "base/thread.h"
#include "client/informer.h"
#include "controllers/kit/controller.h"
#include "controllers/kubelet/addresses.h"
#include "controllers/kubelet/kubelet_plan.h"
#include "controllers/kubelet/node_plan.h"
#include "controllers/kubelet/placement.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum {
	WORKERS = 4,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
	TOLD_AFTER = 8,              /* that many failures take about a second */
	SCRATCH_MAX = 64 << 20,      /* bytes of one object that is changed: etcd takes 1.5 MiB */
	PATCH_MAX = 16 << 20,        /* bytes of a patch of a status; a longer one is not sent */
	KEY_MAX = 4096,              /* bytes of a sentence, or of the patch of a Lease */
	RENEW_MS = 10 * 1000,        /* kubelets' interval */
	PODS_MAX = 10 * 1000 * 1000, /* as many as an informer keeps */
};

static const struct resource pods = {{"", 0}, {"v1", 2}, {"pods", 4}};
static const struct resource nodes = {{"", 0}, {"v1", 2}, {"nodes", 5}};
static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};
static const struct resource leases = {{"coordination.k8s.io", 19}, {"v1", 2}, {"leases", 6}};

/* All that the controller keeps about a pod that it has seen. */
struct sandbox {
	uint32_t address;                      /* 0: none yet */
	int64_t started_at_ms, stopping_at_ms; /* first seen with a node, deleted; monotonic; 0: not yet */
};

struct kubelet {
	struct controller_run run; /* keys: NAMESPACE/NAME of pods, NAME of nodes */
	uint32_t n_nodes;
	_Atomic uint32_t next_node;
	_Atomic bool is_missed; /* a node controller waits for signs of life, so Leases are renewed */
	struct informer *pods, *nodes, *namespaces;
	pthread_mutex_t lock; /* guards what follows; the client's thread and workers use it */
	struct map sandboxes; /* by uid */
	struct map dependent; /* keys of pods to be looked at again when a node or a namespace changes; values: themselves */
	struct addresses addresses;
};

static struct str now(struct arena *a)
{
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, clock_wall_s());
	return arena_dup(a, str_of(text));
}

/* ---- sandboxes ---- */

/* The caller holds the lock. Returns NULL if there are too many. */
static struct sandbox *find_sandbox(struct kubelet *k, struct str uid)
{
	assert_locked(&k->lock);
	struct sandbox *s = map_get(&k->sandboxes, uid);
	if (!s) {
		s = mem_new(struct sandbox);
		s = map_set(&k->sandboxes, uid, s, NULL) ? s : mem_free(s);
	}
	return s;
}

/* Marks an address that the pod has already as taken, no matter who gave it. */
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

/* Fills in how the pod is looked at now. Returns false if the pod is gone, and its sandbox with
 * it. */
static bool pod_look(struct kubelet *k, struct arena *a, const struct item *pod, struct kubelet_look *ret)
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

/* ---- nodes for pods ---- */

/* A pod that depends on nodes must be noted before the nodes are read, so that no change in
 * between is missed. */
static void note_dependent(struct kubelet *k, struct str key, bool is_dependent)
{
	pthread_mutex_lock(&k->lock);
	if (is_dependent) {
		map_set(&k->dependent, key, k, NULL);
	} else {
		map_remove(&k->dependent, key);
	}
	pthread_mutex_unlock(&k->lock);
}

static void wake_dependent(struct kubelet *k)
{
	pthread_mutex_lock(&k->lock);
	for (struct map_entry *e = map_next(&k->dependent, NULL); e; e = map_next(&k->dependent, e)) {
		workqueue_add(k->run.queue, e->key);
	}
	pthread_mutex_unlock(&k->lock);
}

/* Chooses nodes in turn, among those that take the pod. Returns false with the reason if none
 * does; the reason is empty if no node is registered yet. */
static bool choose_node(struct kubelet *k, struct arena *a, const struct item *pod, uint32_t *ret, struct str *ret_why)
{
	uint32_t first = atomic_fetch_add(&k->next_node, 1);
	unsigned counts[PLACEMENT_FITS] = {0}, n_nodes = 0;
	char name[NODE_NAME_SIZE];
	for (uint32_t i = 0; i < k->n_nodes; i++) {
		uint32_t index = (first + i) % k->n_nodes;
		fake_node_name(name, index);
		_cleanup_(item_unrefp) struct item *node = informer_get(k->nodes, STR(""), str_of(name));
		if (!node || item_is_deleting(node)) {
			continue;
		}
		enum placement p = placement_of(pod->object, node->object);
		if (p == PLACEMENT_FITS) {
			*ret = index;
			return true;
		}
		counts[p]++;
		n_nodes++;
	}
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, KEY_MAX);
	if (n_nodes) {
		placement_explain(&why, counts);
	}
	*ret_why = arena_dup(a, buf_str(&why));
	return false;
}

/* ---- what is written ---- */

/* If the version or the uid is no longer the pod's, the event of that change brings the pod
 * back. */
static bool is_settled(int error, const struct target *t, const struct answer *answer)
{
	return !error || answer_is_absent(answer, t) || answer_is(answer, 409, NULL);
}

static bool bind_pod(struct kubelet *k, struct arena *a, const struct target *t, const struct item *pod, uint32_t index,
	struct answer *answer)
{
	struct target binding = *t;
	struct json *body = json_object(a), *meta = json_object(a), *node = json_object(a);
	char name[NODE_NAME_SIZE];
	fake_node_name(name, index);
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
	return is_settled(rest_create(k->run.env->client, &binding, body, answer), t, answer);
}

/* A merge patch replaces lists. It carries the version that was read, so it overwrites no change
 * by others. */
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
		is_settled(rest_patch(k->run.env->client, &status, PATCH_MERGE, buf_str(&text), answer), t, answer);
}

static bool remove_pod(struct kubelet *k, const struct target *t, const struct item *pod, struct answer *answer)
{
	const struct delete_options options = {.uid = pod->uid, .grace_s = 0};
	return is_settled(rest_delete(k->run.env->client, t, &options, answer), t, answer);
}

/* ---- one pod ---- */

static bool carry_out(struct kubelet *k, struct arena *a, const struct item *pod, const struct kubelet_plan *plan,
	uint32_t node, struct answer *answer)
{
	const struct target t = {.resource = &pods, .namespace = pod->namespace, .name = pod->name};
	switch (plan->step) {
	case KUBELET_BIND:
		return bind_pod(k, a, &t, pod, node, answer);
	case KUBELET_REPORT:
		return report(k, a, &t, pod, plan->status, answer);
	case KUBELET_REMOVE:
		return remove_pod(k, &t, pod, answer);
	case KUBELET_NOTHING:
		break;
	}
	return true;
}

static struct str node_of(const struct item *pod)
{
	return member_text(json_gets(pod->object, "spec"), "nodeName");
}

/* Returns true when nothing is left to do until something changes. It waits until all pods,
 * nodes and namespaces are known: pods show which addresses are taken, and nodes and namespaces
 * carry annotations. */
static bool look_at_pod(struct kubelet *k, struct str key, struct str ns, struct str name, struct answer *answer)
{
	_cleanup_(item_unrefp) struct item *pod = informer_get(k->pods, ns, name);
	_cleanup_(item_unrefp) struct item *node = NULL, *namespace = NULL;
	_cleanup_(arena_done) struct arena a;
	struct kubelet_look how = {0};
	uint32_t index = 0;
	arena_init(&a, SCRATCH_MAX);
	if (!informer_has_synced(k->pods) || !informer_has_synced(k->nodes) || !informer_has_synced(k->namespaces)) {
		return false;
	}
	if (!pod || !pod_look(k, &a, pod, &how)) {
		return true;
	}
	note_dependent(k, key, true);
	node = informer_get(k->nodes, STR(""), node_of(pod));
	namespace = informer_get(k->namespaces, STR(""), ns);
	how.node = node ? item_meta(node) : NULL;
	how.namespace = namespace ? item_meta(namespace) : NULL;
	if (kubelet_is_to_be_bound(pod->object) && !choose_node(k, &a, pod, &index, &how.unschedulable) &&
		!how.unschedulable.n) {
		return true;
	}
	const struct kubelet_plan plan = kubelet_decide(&a, pod->object, &how);
	if (!plan.is_dependent) {
		note_dependent(k, key, false);
	}
	if (plan.wait_ms >= 0) {
		workqueue_add_after(k->run.queue, key, plan.wait_ms);
	}
	return carry_out(k, &a, pod, &plan, index, answer);
}

/* ---- one node ---- */

static bool register_node(struct kubelet *k, struct arena *a, uint32_t index, struct answer *answer)
{
	const struct target t = {.resource = &nodes};
	return is_settled(rest_create(k->run.env->client, &t, fake_node(a, index, now(a)), answer), &t, answer);
}

/* Called only if somebody waits for the Lease: otherwise idle nodes cost nothing. */
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
	int error = rest_patch(k->run.env->client, &own, PATCH_MERGE, buf_str(&text), answer);
	if (answer_is_absent(answer, &own)) {
		error = rest_create(k->run.env->client, &all, fake_node_lease(a, name, str_of(renewed)), answer);
	}
	workqueue_add_after(k->run.queue, name, RENEW_MS);
	return is_settled(error, &own, answer) || answer_is_without_namespace(answer, all.namespace);
}

static bool look_at_node(struct kubelet *k, struct str name, struct answer *answer)
{
	assert(name.n > 0);
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

/* Logs only problems that last, once per object: a server that restarts refuses for a moment. */
static void complain(struct kubelet *k, struct str key, const struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, KEY_MAX);
	if (workqueue_failures(k->run.queue, key) == TOLD_AFTER && answer->code) {
		buf_printf(&text, STR_FMT ": " STR_FMT "; trying again", STR_ARG(key), STR_ARG(answer->message));
		controller_notice(&k->run, true, buf_str(&text));
	}
}

static void pod_work(void *ctx, struct str key)
{
	struct kubelet *k = ctx;
	struct str ns, name;
	_cleanup_(answer_done) struct answer answer;
	answer_init(&answer);
	if (str_cut(key, '/', &ns, &name) ? look_at_pod(k, key, ns, name, &answer) : look_at_node(k, key, &answer)) {
		workqueue_forget(k->run.queue, key);
	} else {
		workqueue_retry(k->run.queue, key);
		complain(k, key, &answer);
	}
}

/* ---- what happens ---- */

static void pod_changed(struct kubelet *k, const struct item *pod)
{
	note_pod(k, pod);
	if (kubelet_is_concerned(pod->object)) {
		workers_wake(k->run.queue, pod->namespace, pod->name);
	}
}

static void on_add(void *ctx, struct item *pod, bool is_initial _unused_)
{
	pod_changed(ctx, pod);
}

/* A pod with another uid has taken the name: the watch missed the deletion of the old pod. */
static void on_update(void *ctx, struct item *old, struct item *pod)
{
	if (!str_eq(old->uid, pod->uid)) {
		forget_pod(ctx, old);
	}
	pod_changed(ctx, pod);
}

static void on_delete(void *ctx, struct item *pod, bool is_guess _unused_)
{
	_cleanup_(mem_freep) char *key = mem_printf(STR_FMT "/" STR_FMT, STR_ARG(pod->namespace), STR_ARG(pod->name));
	note_dependent(ctx, str_of(key), false);
	forget_pod(ctx, pod);
}

static void ask_for_nodes(struct kubelet *k)
{
	char name[NODE_NAME_SIZE];
	for (uint32_t i = 0; i < k->n_nodes; i++) {
		fake_node_name(name, i);
		workqueue_add(k->run.queue, str_of(name));
	}
}

static void on_node(void *ctx, struct item *node)
{
	struct kubelet *k = ctx;
	if (fake_node_index(node->name) >= 0) {
		if (fake_node_is_missed(node->object) && !atomic_exchange(&k->is_missed, true)) {
			ask_for_nodes(k);
		}
		workqueue_add(k->run.queue, node->name);
	}
}

static void on_node_add(void *ctx, struct item *node, bool is_initial _unused_)
{
	on_node(ctx, node);
	wake_dependent(ctx);
}

static void on_node_update(void *ctx, struct item *old, struct item *node)
{
	on_node(ctx, node);
	if (placement_may_differ(old->object, node->object)) {
		wake_dependent(ctx);
	}
}

static void on_node_delete(void *ctx, struct item *node, bool is_guess _unused_)
{
	on_node(ctx, node);
}

static void on_namespace_update(void *ctx, struct item *old, struct item *namespace)
{
	if (placement_may_differ(old->object, namespace->object)) {
		wake_dependent(ctx);
	}
}

/* ---- its life ---- */

static void kubelet_begin(void *state)
{
	struct kubelet *k = state;
	k->n_nodes = (uint32_t)MIN(MAX(k->run.env->fake_nodes, (int64_t)1), (int64_t)FAKE_NODES_MAX);
	pthread_mutex_init(&k->lock, NULL);
	map_init(&k->sandboxes, PODS_MAX);
	map_init(&k->dependent, PODS_MAX);
	addresses_init(&k->addresses);
	k->pods = controller_watch(&k->run,
		(struct informer_options){
			.resource = pods,
			.left_out = item_managers,
			.handlers = {.on_add = on_add, .on_update = on_update, .on_delete = on_delete},
		});
	k->nodes = controller_watch(&k->run,
		(struct informer_options){
			.resource = nodes,
			.left_out = item_managers,
			.handlers = {.on_add = on_node_add, .on_update = on_node_update, .on_delete = on_node_delete},
		});
	k->namespaces = controller_watch(&k->run,
		(struct informer_options){
			.resource = namespaces,
			.metadata_only = true,
			.handlers = {.on_update = on_namespace_update},
		});
	ask_for_nodes(k);
}

static void kubelet_end(void *state)
{
	struct kubelet *k = state;
	for (struct map_entry *e = map_next(&k->sandboxes, NULL); e; e = map_next(&k->sandboxes, e)) {
		mem_free(e->value);
	}
	map_done(&k->sandboxes);
	map_done(&k->dependent);
	addresses_done(&k->addresses);
	pthread_mutex_destroy(&k->lock);
}

const struct controller fake_kubelet = {
	.name = "fake-kubelet",
	.alias = "fake-kubelet",
	.is_on_request = true,
	.queues = {{"fake_kubelet", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, pod_work}},
	.state_size = sizeof(struct kubelet),
	.begin = kubelet_begin,
	.end = kubelet_end,
};

/* ---- addresses ---- */

/* Addresses are numbers with the most significant byte first, as on the wire. Four million are
 * more than a server keeps pods, and take half a megabyte. */
enum {
	FIRST = 10u << 24 | 128u << 16,
	COUNT = 1u << 22,
	PER_WORD = 64,
};

void addresses_init(struct addresses *a)
{
	a->bits = mem_array(COUNT / PER_WORD, sizeof(*a->bits));
	a->next = 0;
}

void addresses_done(struct addresses *a)
{
	mem_free(a->bits);
	a->bits = NULL;
}

static bool is_ours(uint32_t address)
{
	return address >= FIRST && address - FIRST < COUNT;
}

/* The first and last address of each node-sized network, ending with 0 and 255, belong to no
 * pod. */
static bool is_of_a_pod(uint32_t i)
{
	return (i & 255) != 0 && (i & 255) != 255;
}

static uint64_t bit(uint32_t i)
{
	return (uint64_t)1 << i % PER_WORD;
}

static bool try(struct addresses *a, uint32_t i)
{
	bool is_free = is_of_a_pod(i) && !(a->bits[i / PER_WORD] & bit(i));
	if (is_free) {
		a->bits[i / PER_WORD] |= bit(i);
	}
	return is_free;
}

uint32_t addresses_take(struct addresses *a)
{
	for (uint32_t n = 0; n < COUNT; n++) {
		uint32_t i = a->next;
		a->next = (i + 1) % COUNT;
		if (try(a, i)) {
			return FIRST + i;
		}
	}
	return 0;
}

/* Accepts four numbers and three dots, nothing else. */
static uint32_t parse(struct str text)
{
	uint32_t address = 0;
	struct str rest = text;
	for (int i = 0; i < 4; i++) {
		struct str part = rest;
		uint64_t n;
		bool has_more = str_cut(rest, '.', &part, &rest);
		if (has_more != (i < 3) || part.n > 3 || !str_to_uint64(part, &n) || n > 255) {
			return 0;
		}
		address = address << 8 | (uint32_t)n;
	}
	return address;
}

uint32_t addresses_note(struct addresses *a, struct str text)
{
	uint32_t address = parse(text);
	if (!is_ours(address)) {
		return 0;
	}
	a->bits[(address - FIRST) / PER_WORD] |= bit(address - FIRST);
	return address;
}

void addresses_give_back(struct addresses *a, uint32_t address)
{
	if (is_ours(address)) {
		a->bits[(address - FIRST) / PER_WORD] &= ~bit(address - FIRST);
	}
}

void address_format(char out[ADDRESS_SIZE], uint32_t address)
{
	snprintf(out, ADDRESS_SIZE, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}
