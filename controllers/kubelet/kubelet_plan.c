/* The stages of a pod's life: it gets a node, starts, runs, is asked to stop, is gone.
 * Annotations of the pod change these, and some of its node or namespace change them for all pods
 * there. They are read at each look, so they can be changed at any time. */
#include "controllers/kubelet/kubelet_plan.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "base/options.h"
#include "controllers/kit/meta.h"
#include "controllers/kubelet/kubelet_status.h"
#include "controllers/kubelet/node_plan.h"

#include <assert.h>

enum {
	STRANDED_MS = 1000,
	/* How long a container takes to stop after SIGTERM. Long enough for watchers to see the
	 * pod terminate. */
	STOP_MS = 1000,
};

#define ORDER(name) "fake-node.annals.dev/" name

static const struct json *meta_of(const struct json *pod)
{
	return json_gets(pod, "metadata");
}

static const struct json *spec_of(const struct json *pod)
{
	return json_gets(pod, "spec");
}

static struct str phase_of(const struct json *pod)
{
	return member_text(json_gets(pod, "status"), "phase");
}

/* ---- what the pod says ---- */

bool kubelet_is_concerned(const struct json *pod)
{
	struct str node = member_text(spec_of(pod), "nodeName");
	return node.n == 0 || fake_node_index(node) >= 0;
}

bool kubelet_is_final(const struct json *pod)
{
	return str_is(phase_of(pod), "Failed") || str_is(phase_of(pod), "Succeeded");
}

static struct str order(const struct json *pod, const char *name)
{
	return member_text(json_gets(meta_of(pod), "annotations"), name);
}

/* The annotation of the pod, else of its node, else of its namespace. */
static struct str order_around(const struct json *pod, const struct kubelet_look *look, const char *name)
{
	const struct json *metas[] = {meta_of(pod), look->node, look->namespace};
	struct str value = STR("");
	for (size_t i = 0; i < ARRAY_SIZE(metas) && !value.n; i++) {
		value = member_text(json_gets(metas[i], "annotations"), name);
	}
	return value;
}

static int64_t duration_ms(struct str text, int64_t otherwise_ms)
{
	int64_t ms;
	return duration_parse_ms(text, &ms) ? MAX(ms, (int64_t)0) : otherwise_ms;
}

/* Returns -1 if nothing says how long the pod may take to stop. */
static int64_t grace_s(const struct json *pod)
{
	int64_t s = -1;
	json_to_int64(json_gets(meta_of(pod), "deletionGracePeriodSeconds"), &s);
	return s;
}

static int64_t stop_after_ms(const struct json *pod, const struct kubelet_look *look)
{
	int64_t grace = MIN(MAX(grace_s(pod), (int64_t)0), INT64_MAX / 1000);
	return MIN(duration_ms(order_around(pod, look, ORDER("stop-after")), STOP_MS), grace * 1000);
}

static bool has_exec_probe(const struct json *pod)
{
	const struct json *containers = json_gets(spec_of(pod), "containers"), *c;
	for (uint32_t i = 0; (c = list_item(containers, i)); i++) {
		if (kubelet_has_exec_probe(c)) {
			return true;
		}
	}
	return false;
}

bool kubelet_is_to_be_bound(const struct json *pod)
{
	return member_text(spec_of(pod), "nodeName").n == 0 && !json_meta_is_deleting(meta_of(pod)) && !kubelet_is_final(pod) &&
		member_count(spec_of(pod), "schedulingGates") == 0;
}

static enum pod_stage ordered_stage(const struct json *pod, int64_t started_for_ms, int64_t *ret_wait_ms)
{
	struct str phase = order(pod, ORDER("phase"));
	bool was_started = str_is(phase_of(pod), "Running");
	int64_t left_ms = duration_ms(order(pod, ORDER("start-after")), 0) - started_for_ms;
	if (str_is(phase, "Pending")) {
		return POD_WAITS;
	}
	if (!was_started && left_ms > 0) {
		*ret_wait_ms = left_ms;
		return POD_WAITS;
	}
	return str_is(phase, "Failed") ? POD_FAILED : str_is(phase, "Succeeded") ? POD_SUCCEEDED : POD_RUNS;
}

/* How long the pod may still run, by spec.activeDeadlineSeconds, which counts from
 * status.startTime. Returns -1 if it may run for ever. */
static int64_t deadline_left_ms(const struct json *pod, const struct kubelet_look *look)
{
	int64_t allowed_s, start_us, now_us;
	if (!json_to_int64(json_gets(spec_of(pod), "activeDeadlineSeconds"), &allowed_s)) {
		return -1;
	}
	allowed_s = MIN(MAX(allowed_s, (int64_t)0), (int64_t)INT32_MAX); /* as validation has it */
	if (!time_parse_rfc3339(member_text(json_gets(pod, "status"), "startTime"), &start_us) ||
		!time_parse_rfc3339(look->now, &now_us)) {
		return allowed_s * 1000;
	}
	return MAX((start_us - now_us) / 1000 + allowed_s * 1000, (int64_t)0);
}

static int64_t sooner_ms(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

/* ---- decisions ---- */

static struct kubelet_plan report(
	struct arena *a, const struct json *pod, const struct kubelet_look *look, enum pod_stage stage, int64_t wait_ms)
{
	struct str ready = order(pod, ORDER("ready"));
	bool is_asked = ready.n == 0 && has_exec_probe(pod);
	struct kubelet_readiness readiness = {
		.is_ready = !str_is(ready, "false"),
		.fails_exec = is_asked && str_is(order_around(pod, look, ORDER("probes")), "manual"),
	};
	struct json *changes = kubelet_status(a, pod, look, stage, readiness);
	return (struct kubelet_plan){changes->n ? KUBELET_REPORT : KUBELET_NOTHING, changes, wait_ms, is_asked};
}

/* A kubelet's words for a pod that has run for too long. */
static struct kubelet_plan expire(struct arena *a, const struct json *pod, const struct kubelet_look *look)
{
	struct kubelet_plan plan = report(a, pod, look, POD_FAILED, -1);
	json_set(a, plan.status, STR("reason"), json_string(a, STR("DeadlineExceeded")));
	json_set(a, plan.status, STR("message"),
		json_string(a, STR("Pod was active on the node longer than the specified deadline")));
	return plan;
}

/* Like a kubelet: first the status says that the containers have ended, then the pod is deleted.
 * With no grace period left the server deletes the pod itself, with its last finalizer. */
static struct kubelet_plan stop(struct arena *a, const struct json *pod, const struct kubelet_look *look)
{
	struct kubelet_plan plan = {KUBELET_NOTHING, NULL, -1, false};
	if (!kubelet_is_final(pod)) {
		plan = report(a, pod, look, POD_SUCCEEDED, -1);
	}
	if (plan.step == KUBELET_NOTHING && grace_s(pod) > 0) {
		plan.step = KUBELET_REMOVE;
	}
	return plan;
}

/* The server normally deletes such a pod at once. A server that died in between has left it
 * behind, and nobody else would delete it. */
static bool is_stranded(const struct json *pod)
{
	return json_meta_is_deleting(meta_of(pod)) && grace_s(pod) == 0 && member_count(meta_of(pod), "finalizers") == 0;
}

static struct kubelet_plan remove_stranded(const struct kubelet_look *look)
{
	int64_t left_ms = STRANDED_MS - look->stopping_for_ms;
	return (struct kubelet_plan){left_ms > 0 ? KUBELET_NOTHING : KUBELET_REMOVE, NULL, left_ms > 0 ? left_ms : -1, false};
}

static struct kubelet_plan bind(struct arena *a, const struct json *pod, const struct kubelet_look *look)
{
	assert(kubelet_is_to_be_bound(pod));
	struct kubelet_plan plan = {KUBELET_BIND, NULL, -1, false};
	if (look->unschedulable.n) {
		plan.status = kubelet_unscheduled_status(a, pod, look);
		plan.step = plan.status->n ? KUBELET_REPORT : KUBELET_NOTHING;
		plan.is_dependent = true;
	}
	return plan;
}

struct kubelet_plan kubelet_decide(struct arena *a, const struct json *pod, const struct kubelet_look *look)
{
	assert(look->now.n > 0 && look->stopping_for_ms >= 0);
	struct kubelet_plan nothing = {KUBELET_NOTHING, NULL, -1, false};
	int64_t wait_ms = -1;
	if (!kubelet_is_concerned(pod)) {
		return nothing;
	}
	if (is_stranded(pod)) {
		return remove_stranded(look);
	}
	if (member_text(spec_of(pod), "nodeName").n == 0) {
		return kubelet_is_to_be_bound(pod) ? bind(a, pod, look) : nothing;
	}
	if (json_meta_is_deleting(meta_of(pod))) {
		wait_ms = stop_after_ms(pod, look) - look->stopping_for_ms;
		if (wait_ms <= 0 || kubelet_is_final(pod)) {
			return stop(a, pod, look);
		}
	}
	if (kubelet_is_final(pod)) {
		return nothing;
	}
	int64_t start_ms = -1, deadline_ms = deadline_left_ms(pod, look);
	if (deadline_ms == 0) {
		return expire(a, pod, look);
	}
	enum pod_stage stage = ordered_stage(pod, look->started_for_ms, &start_ms);
	return report(a, pod, look, stage, sooner_ms(sooner_ms(start_ms, wait_ms), deadline_ms));
}

/* ---- the status ---- */

/* The new status is a changed copy of the old one. Conditions that others wrote stay, such as those of
 * readiness gates. Conditions that have not changed keep their times. An equal status is not written, so an
 * idle pod costs nothing. */
enum { NAMES_MAX = 16 * 1024 }; /* for the names of containers in a sentence */

struct writing {
	struct arena *a;
	const struct json *pod, *spec, *old; /* old: its status */
	const struct kubelet_look *look;
	enum pod_stage stage;
	struct kubelet_readiness readiness;
};

static struct json *text(const struct writing *w, struct str s)
{
	return json_string(w->a, s);
}

static bool is_final(const struct writing *w)
{
	return w->stage == POD_FAILED || w->stage == POD_SUCCEEDED;
}

static const struct json *find(const struct json *list, const char *key, struct str value)
{
	const struct json *item;
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_eq(member_text(item, key), value)) {
			return item;
		}
	}
	return NULL;
}

/* ---- containers ---- */

bool kubelet_has_exec_probe(const struct json *container)
{
	return json_gets(json_gets(container, "readinessProbe"), "exec") != NULL;
}

static bool is_container_ready(const struct writing *w, const struct json *container)
{
	return w->readiness.is_ready && !(w->readiness.fails_exec && kubelet_has_exec_probe(container));
}

enum container_role { ROLE_MAIN, ROLE_INIT, ROLE_EPHEMERAL };

static bool is_sidecar(const struct json *container, enum container_role role)
{
	return role == ROLE_INIT && str_is(member_text(container, "restartPolicy"), "Always");
}

/* An init container that has completed does not run again. */
static const char *state_name(
	const struct writing *w, const struct json *container, const struct json *old, enum container_role role)
{
	if (role == ROLE_INIT && json_gets(json_gets(old, "state"), "terminated")) {
		return "terminated";
	}
	if (w->stage == POD_WAITS) {
		return "waiting";
	}
	return is_final(w) || (role == ROLE_INIT && !is_sidecar(container, role)) ? "terminated" : "running";
}

static bool was_started(const struct json *status)
{
	const struct json *state = json_gets(status, "state");
	return json_gets(state, "running") || json_gets(state, "terminated");
}

static struct str waiting_reason(const struct writing *w)
{
	return member_count(w->spec, "initContainers") ? STR("PodInitializing") : STR("ContainerCreating");
}

/* A container that was running keeps its start time; one that ends at its first look has run for
 * no time. */
static struct json *terminated(const struct writing *w, const struct json *old, struct str id, bool is_well)
{
	struct json *t = json_object(w->a);
	struct str began = member_text(json_gets(json_gets(old, "state"), "running"), "startedAt");
	json_add(w->a, t, STR("exitCode"), json_int(w->a, is_well ? 0 : 1));
	json_add(w->a, t, STR("reason"), text(w, is_well ? STR("Completed") : STR("Error")));
	json_add(w->a, t, STR("startedAt"), text(w, began.n ? began : w->look->now));
	json_add(w->a, t, STR("finishedAt"), text(w, w->look->now));
	json_add(w->a, t, STR("containerID"), text(w, id));
	return t;
}

static struct json *new_state(
	const struct writing *w, const char *name, const struct json *old, struct str id, enum container_role role)
{
	struct json *state = json_object(w->a), *said = json_object(w->a);
	if (strcmp(name, "waiting") == 0) {
		json_add(w->a, said, STR("reason"), text(w, waiting_reason(w)));
	} else if (strcmp(name, "running") == 0) {
		json_add(w->a, said, STR("startedAt"), text(w, w->look->now));
	} else {
		said = terminated(w, old, id, w->stage != POD_FAILED || role == ROLE_INIT);
	}
	json_add(w->a, state, str_of(name), said);
	return state;
}

/* A changed image means a new container: the old one has been restarted. */
static struct json *container_status(
	const struct writing *w, const struct json *container, const struct json *old, enum container_role role)
{
	struct arena *a = w->a;
	struct str name = member_text(container, "name"), image = member_text(container, "image");
	struct str id = arena_printf(
		a, "fake://" STR_FMT "/" STR_FMT, STR_ARG(member_text(json_gets(w->pod, "metadata"), "uid")), STR_ARG(name));
	const char *state = state_name(w, container, old, role);
	bool is_started = strcmp(state, "waiting") != 0, is_running = strcmp(state, "running") == 0;
	bool is_restarted = is_running && was_started(old) && !str_eq(member_text(old, "image"), image);
	bool is_kept = json_gets(json_gets(old, "state"), state) && !is_restarted;
	bool is_ready = role == ROLE_MAIN ? is_running && is_container_ready(w, container)
					  : role == ROLE_INIT && is_started && (is_running || !is_final(w));
	struct json *s = json_copy_or_empty(w->a, old);
	json_set(a, s, STR("name"), text(w, name));
	if (!is_kept) {
		json_set(a, s, STR("state"), new_state(w, state, old, id, role));
	}
	if (!json_gets(old, "lastState")) {
		json_set(a, s, STR("lastState"), json_object(a));
	}
	json_set(a, s, STR("ready"), json_bool(a, is_ready));
	json_set(a, s, STR("restartCount"), json_int(a, member_int(old, "restartCount") + is_restarted));
	json_set(a, s, STR("image"), text(w, image));
	json_set(a, s, STR("imageID"), text(w, is_started ? arena_printf(a, "fake://" STR_FMT, STR_ARG(image)) : STR("")));
	if (is_started) {
		json_set(a, s, STR("containerID"), text(w, id));
	}
	json_set(a, s, STR("started"), json_bool(a, is_running));
	return s;
}

static struct json *container_statuses(
	const struct writing *w, const char *list, const char *statuses, enum container_role role)
{
	struct json *out = json_array(w->a);
	const struct json *containers = json_gets(w->spec, list), *c;
	struct map before;
	list_index(&before, json_gets(w->old, statuses), "name");
	for (uint32_t i = 0; (c = list_item(containers, i)); i++) {
		json_append(w->a, out, container_status(w, c, map_get(&before, member_text(c, "name")), role));
	}
	map_done(&before);
	return out;
}

/* ---- conditions ---- */

struct verdict {
	bool is_true;
	struct str reason, message; /* mostly set if the status is not True */
};

static void set_or_remove(const struct writing *w, struct json *object, struct str name, struct str value)
{
	if (value.n) {
		json_set(w->a, object, name, text(w, value));
	} else {
		json_remove(object, name);
	}
}

static void put_condition(const struct writing *w, struct json *conditions, const char *type, struct verdict v)
{
	const struct json *old = find(conditions, "type", str_of(type)),
			  *generation = json_gets(json_gets(w->pod, "metadata"), "generation");
	struct json *c = json_copy_or_empty(w->a, old);
	struct str status = v.is_true ? STR("True") : STR("False");
	json_set(w->a, c, STR("type"), text(w, str_of(type)));
	if (!str_eq(member_text(old, "status"), status)) {
		json_set(w->a, c, STR("status"), text(w, status));
		json_set(w->a, c, STR("lastTransitionTime"), text(w, w->look->now));
	}
	set_or_remove(w, c, STR("reason"), v.reason);
	set_or_remove(w, c, STR("message"), v.message);
	if (generation) {
		json_set(w->a, c, STR("observedGeneration"), json_copy(w->a, generation));
	}
	for (uint32_t i = 0; old && i < conditions->n; i++) {
		if (conditions->items[i] == old) {
			conditions->items[i] = c;
			return;
		}
	}
	json_append(w->a, conditions, c);
}

static struct str names_of_unready(const struct writing *w)
{
	const struct json *containers = json_gets(w->spec, "containers"), *c;
	_cleanup_(buf_done) struct buf names;
	buf_init(&names, NAMES_MAX);
	for (uint32_t i = 0; (c = list_item(containers, i)); i++) {
		if (w->stage != POD_RUNS || !is_container_ready(w, c)) {
			buf_printf(&names, "%s" STR_FMT, names.n ? " " : "", STR_ARG(member_text(c, "name")));
		}
	}
	return arena_dup(w->a, buf_str(&names));
}

static struct verdict containers_ready(const struct writing *w)
{
	if (is_final(w)) {
		return (struct verdict){false, w->stage == POD_FAILED ? STR("PodFailed") : STR("PodCompleted"), STR("")};
	}
	struct str unready = names_of_unready(w);
	if (!unready.n) {
		return (struct verdict){.is_true = true};
	}
	return (struct verdict){false, STR("ContainersNotReady"),
		arena_printf(w->a, "containers with unready status: [" STR_FMT "]", STR_ARG(unready))};
}

/* A readiness gate can hold back a pod whose containers are ready; others write the gate's
 * condition. */
static struct verdict ready(const struct writing *w)
{
	const struct json *gates = json_gets(w->spec, "readinessGates"), *gate;
	struct verdict v = containers_ready(w);
	struct map there;
	list_index(&there, json_gets(w->old, "conditions"), "type");
	for (uint32_t i = 0; v.is_true && (gate = list_item(gates, i)); i++) {
		struct str type = member_text(gate, "conditionType");
		const struct json *c = map_get(&there, type);
		if (!str_is(member_text(c, "status"), "True")) {
			v = (struct verdict){false, STR("ReadinessGatesNotReady"),
				arena_printf(w->a, "corresponding condition of pod readiness gate \"" STR_FMT "\" %s",
					STR_ARG(type), c ? "is not True." : "does not exist.")};
		}
	}
	map_done(&there);
	return v;
}

static struct verdict initialized(const struct writing *w)
{
	const struct json *old = find(json_gets(w->old, "conditions"), "type", STR("Initialized"));
	if (w->stage == POD_WAITS && member_count(w->spec, "initContainers") && !str_is(member_text(old, "status"), "True")) {
		return (struct verdict){false, STR("ContainersNotInitialized"), STR("")};
	}
	return (struct verdict){true, w->stage == POD_SUCCEEDED ? STR("PodCompleted") : STR(""), STR("")};
}

static struct json *conditions(const struct writing *w)
{
	const struct json *old = json_gets(w->old, "conditions");
	struct json *list = json_is(old, JSON_ARRAY) ? json_copy(w->a, old) : json_array(w->a);
	put_condition(w, list, "PodReadyToStartContainers", (struct verdict){.is_true = w->stage == POD_RUNS});
	put_condition(w, list, "Initialized", initialized(w));
	put_condition(w, list, "Ready", ready(w));
	put_condition(w, list, "ContainersReady", containers_ready(w));
	put_condition(w, list, "PodScheduled", (struct verdict){.is_true = true});
	return list;
}

/* ---- the whole ---- */

static void change(const struct writing *w, struct json *changes, struct str name, struct json *value)
{
	if (!json_equal(json_get(w->old, name), value)) {
		json_add(w->a, changes, name, value);
	}
}

static void change_containers(
	const struct writing *w, struct json *changes, const char *list, const char *statuses, enum container_role role)
{
	if (member_count(w->spec, list)) {
		change(w, changes, str_of(statuses), container_statuses(w, list, statuses, role));
	}
}

static void change_address(const struct writing *w, struct json *changes, const char *one, const char *all, struct str ip)
{
	struct json *list = json_array(w->a), *entry = json_object(w->a);
	json_add(w->a, entry, STR("ip"), text(w, ip));
	json_append(w->a, list, entry);
	if (ip.n && !member_text(w->old, one).n) {
		json_add(w->a, changes, str_of(one), text(w, ip));
		json_add(w->a, changes, str_of(all), list);
	}
}

struct json *kubelet_status(struct arena *a, const struct json *pod, const struct kubelet_look *look, enum pod_stage stage,
	struct kubelet_readiness readiness)
{
	static const char *const phases[] = {
		[POD_WAITS] = "Pending",
		[POD_RUNS] = "Running",
		[POD_FAILED] = "Failed",
		[POD_SUCCEEDED] = "Succeeded",
	};
	assert(stage < ARRAY_SIZE(phases) && look->now.n > 0);
	const struct writing w = {a, pod, json_gets(pod, "spec"), json_gets(pod, "status"), look, stage, readiness};
	const struct json *generation = json_gets(json_gets(pod, "metadata"), "generation");
	struct json *changes = json_object(a);
	change(&w, changes, STR("phase"), text(&w, str_of(phases[stage])));
	change(&w, changes, STR("conditions"), conditions(&w));
	change_containers(&w, changes, "initContainers", "initContainerStatuses", ROLE_INIT);
	change_containers(&w, changes, "containers", "containerStatuses", ROLE_MAIN);
	change_containers(&w, changes, "ephemeralContainers", "ephemeralContainerStatuses", ROLE_EPHEMERAL);
	change_address(&w, changes, "hostIP", "hostIPs", look->host_ip);
	/* A pod gets its address once its sandbox exists. */
	if (stage == POD_RUNS) {
		change_address(
			&w, changes, "podIP", "podIPs", member_is_true(w.spec, "hostNetwork") ? look->host_ip : look->pod_ip);
	}
	if (!json_gets(w.old, "startTime")) {
		json_add(a, changes, STR("startTime"), text(&w, look->now));
	}
	if (generation) {
		change(&w, changes, STR("observedGeneration"), json_copy(a, generation));
	}
	return changes;
}

/* Writes this condition alone, as kube-scheduler does. */
struct json *kubelet_unscheduled_status(struct arena *a, const struct json *pod, const struct kubelet_look *look)
{
	const struct writing w = {
		.a = a, .pod = pod, .spec = json_gets(pod, "spec"), .old = json_gets(pod, "status"), .look = look};
	const struct json *old = json_gets(w.old, "conditions");
	struct json *changes = json_object(a), *list = json_is(old, JSON_ARRAY) ? json_copy(a, old) : json_array(a);
	put_condition(&w, list, "PodScheduled", (struct verdict){false, STR("Unschedulable"), look->unschedulable});
	change(&w, changes, STR("conditions"), list);
	return changes;
}
