/* Removes the finalizer kubernetes.io/pvc-protection from each deleted PersistentVolumeClaim
 * that no pod uses. Every claim is created with this finalizer. kube-controller-manager's
 * persistentvolumeclaim-protection-controller does the same. */
#include "api/model/members.h"
#include "client/informer.h"
#include "controllers/dependents/claim_plan.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/meta.h"

#include <assert.h>

enum {
	WORKERS = 2,
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,
	SCRATCH_MAX = 64 << 20, /* bytes of one object that is changed: etcd takes 1.5 MiB */
};

static const struct resource claims = {{"", 0}, {"v1", 2}, {"persistentvolumeclaims", 22}};
static const struct resource pods = {{"", 0}, {"v1", 2}, {"pods", 4}};

struct claims_state {
	struct controller_run run; /* keys: NAMESPACE/NAME */
	struct workers workers;
};

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

/* The update carries the resourceVersion that was read, so it fails if somebody has changed the
 * claim since. */
static bool claim_let_go(struct claims_state *s, const struct target *t, const struct json *claim)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(arena_done) struct arena scratch;
	assert(claim_is_candidate(json_gets(claim, "metadata"))); /* any other claim keeps its protection */
	arena_init(&scratch, SCRATCH_MAX);
	answer_init(&answer);
	int error = rest_update(s->run.env->client, t, claim_unprotected(&scratch, claim), &answer);
	return !error || answer_is_absent(&answer, t);
}

/* Returns true when nothing is left to do until something changes. */
static bool claim_look_at(struct claims_state *s, struct str ns, struct str name)
{
	const struct target t = {.resource = &claims, .namespace = ns, .name = name};
	_cleanup_(answer_done) struct answer claim, page;
	answer_init(&claim);
	answer_init(&page);
	enum rest_found found = rest_find(s->run.env->client, &t, &claim);
	if (found != REST_FOUND) {
		return found == REST_ABSENT;
	}
	if (!claim_is_candidate(json_gets(claim.body, "metadata"))) {
		return true;
	}
	/* Lists the pods from the server: a pod that the informer has not seen yet may use the
	 * claim. */
	struct use use = {.claim = claim.body};
	if (rest_each(s->run.env->client, &(struct target){.resource = &pods, .namespace = ns}, false, find_use, &use, &page)) {
		return false;
	}
	return use.is_found || claim_let_go(s, &t, claim.body);
}

static void claim_work(void *ctx, struct str key)
{
	struct claims_state *s = ctx;
	struct str ns, name;
	if (str_cut(key, '/', &ns, &name) && claim_look_at(s, ns, name)) {
		workqueue_forget(s->run.queue, key);
	} else {
		workqueue_retry(s->run.queue, key);
	}
}

/* ---- what happens ---- */

static void claim_changed(struct claims_state *s, const struct item *claim)
{
	if (claim_is_candidate(item_meta(claim))) {
		workers_wake(s->run.queue, claim->namespace, claim->name);
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
		workers_wake(s->run.queue, pod->namespace, name);
	}
}

/* A pod with another uid has taken the name: the watch missed the deletion of the old pod. */
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

/* ---- its life ---- */

static void claims_begin(void *state)
{
	struct claims_state *s = state;
	controller_watch(&s->run,
		(struct informer_options){
			.resource = claims,
			.metadata_only = true,
			.handlers = {.on_add = on_claim_add, .on_update = on_claim_update},
		});
	controller_watch(&s->run,
		(struct informer_options){
			.resource = pods,
			.handlers = {.on_update = on_pod_update, .on_delete = on_pod_delete},
		});
}

const struct controller claim_protection_controller = {
	.name = "persistentvolumeclaim-protection-controller",
	.alias = "pvc-protection",
	.queues = {{"pvcprotection", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, claim_work}},
	.state_size = sizeof(struct claims_state),
	.begin = claims_begin,
};

/* ---- decisions ---- */

/* After k8s.io/kubernetes/pkg/controller/volume/pvcprotection. Pure, so that each way in which a
 * pod can use a claim is a line of a test. A pod without a node does not count: kubelet starts
 * none on a claim that is being deleted. */
#define FINALIZER "kubernetes.io/pvc-protection"

static const struct json *meta_of(const struct json *object)
{
	return json_gets(object, "metadata");
}

bool claim_is_candidate(const struct json *meta)
{
	return json_meta_is_deleting(meta) && json_meta_has_finalizer(meta, FINALIZER);
}

/* ---- volumes ---- */

static const struct json *volumes_of(const struct json *pod)
{
	return json_gets(json_gets(pod, "spec"), "volumes");
}

static struct str named_claim(const struct json *volume)
{
	return member_text(json_gets(volume, "persistentVolumeClaim"), "claimName");
}

/* The name that the ephemeral volume controller gives: POD-VOLUME. The owner reference must
 * agree, since somebody may have made a claim of that name by hand. */
static struct str made_claim(const struct json *pod, const struct json *volume, struct arena *a)
{
	return arena_printf(
		a, STR_FMT "-" STR_FMT, STR_ARG(member_text(meta_of(pod), "name")), STR_ARG(member_text(volume, "name")));
}

bool claim_of_pod(const struct json *pod, uint32_t *i, struct arena *a, struct str *ret_name)
{
	const struct json *volume;
	while ((volume = list_item(volumes_of(pod), *i))) {
		struct str name = named_claim(volume);
		(*i)++;
		if (name.n || json_is(json_gets(volume, "ephemeral"), JSON_OBJECT)) {
			*ret_name = name.n ? name : made_claim(pod, volume, a);
			return true;
		}
	}
	return false;
}

/* ---- who uses what ---- */

static bool is_controlled_by(const struct json *object, struct str uid)
{
	return uid.n && str_eq(member_text(json_meta_controller(meta_of(object)), "uid"), uid);
}

/* The pod was deleted with no grace period left: its containers have released their volumes. */
static bool is_shut_down(const struct json *pod)
{
	int64_t grace_s = -1;
	json_to_int64(json_gets(meta_of(pod), "deletionGracePeriodSeconds"), &grace_s);
	return json_meta_is_deleting(meta_of(pod)) && grace_s == 0;
}

/* NAME-VOLUME. */
static bool is_made_name(const struct json *pod, const struct json *volume, struct str claim)
{
	struct str pod_name = member_text(meta_of(pod), "name"), volume_name = member_text(volume, "name");
	return claim.n == pod_name.n + 1 + volume_name.n && str_starts(claim, pod_name) && claim.p[pod_name.n] == '-' &&
		str_ends(claim, volume_name);
}

static bool is_used_as(const struct json *pod, const struct json *volume, const struct json *claim)
{
	struct str name = member_text(meta_of(claim), "name");
	if (str_eq(named_claim(volume), name)) {
		return true;
	}
	return json_is(json_gets(volume, "ephemeral"), JSON_OBJECT) && !is_shut_down(pod) && is_made_name(pod, volume, name) &&
		is_controlled_by(claim, member_text(meta_of(pod), "uid"));
}

static bool has_node(const struct json *pod)
{
	return member_text(json_gets(pod, "spec"), "nodeName").n > 0;
}

bool claim_is_used_by(const struct json *pod, const struct json *claim)
{
	const struct json *volume;
	bool is_used = false;
	for (uint32_t i = 0; has_node(pod) && !is_used && (volume = list_item(volumes_of(pod), i)); i++) {
		is_used = is_used_as(pod, volume, claim);
	}
	return is_used;
}

bool claim_may_be_freed_by(const struct json *pod, bool is_gone)
{
	struct str phase = member_text(json_gets(pod, "status"), "phase");
	return is_gone || !has_node(pod) || is_shut_down(pod) || str_is(phase, "Failed") || str_is(phase, "Succeeded");
}

struct json *claim_unprotected(struct arena *a, const struct json *claim)
{
	const struct json *old = json_gets(meta_of(claim), "finalizers");
	struct json *finalizer;
	struct json *changed = json_copy(a, claim), *meta = json_copy(a, meta_of(claim)), *left = json_array(a);
	for (uint32_t i = 0; (finalizer = list_item(old, i)); i++) {
		if (!str_is(json_text(finalizer), FINALIZER)) {
			json_append(a, left, finalizer);
		}
	}
	json_set(a, meta, STR("finalizers"), left);
	json_set(a, changed, STR("metadata"), meta);
	return changed;
}
