/* A pod's status is made by changing the one it has: what others wrote into it stays (conditions
 * of readiness gates, above all), and so do the times of what has not changed. What comes out
 * the same is not written, which is why a pod at rest costs nothing. */
#include "controllers/kubelet/kubelet_status.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

enum { NAMES_MAX = 16 * 1024 }; /* of containers, in a sentence */

struct writing {
	struct arena *a;
	const struct json *pod, *spec, *old; /* old: its status */
	const struct kubelet_look *look;
	enum pod_stage stage;
	bool is_ready;
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

enum container_role { ROLE_MAIN, ROLE_INIT, ROLE_EPHEMERAL };

static bool is_sidecar(const struct json *container, enum container_role role)
{
	return role == ROLE_INIT && str_is(member_text(container, "restartPolicy"), "Always");
}

/* An init container that has done its work does it once. */
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

/* What has run says since when; what ends at its first look has run for no time. */
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

/* Another image is another container: the one before has been restarted. */
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
	bool is_ready =
		role == ROLE_MAIN ? is_running && w->is_ready : role == ROLE_INIT && is_started && (is_running || !is_final(w));
	struct json *s = copy_or_empty(w->a, old);
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
	struct str reason, message; /* of what is not true, mostly */
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
	struct json *c = copy_or_empty(w->a, old);
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

static struct str names_of_containers(const struct writing *w)
{
	const struct json *containers = json_gets(w->spec, "containers"), *c;
	_cleanup_(buf_done) struct buf names;
	buf_init(&names, NAMES_MAX);
	for (uint32_t i = 0; (c = list_item(containers, i)); i++) {
		buf_printf(&names, "%s" STR_FMT, i ? " " : "", STR_ARG(member_text(c, "name")));
	}
	return arena_dup(w->a, buf_str(&names));
}

static struct verdict containers_ready(const struct writing *w)
{
	if (is_final(w)) {
		return (struct verdict){false, w->stage == POD_FAILED ? STR("PodFailed") : STR("PodCompleted"), STR("")};
	}
	if (w->stage == POD_RUNS && w->is_ready) {
		return (struct verdict){.is_true = true};
	}
	return (struct verdict){false, STR("ContainersNotReady"),
		arena_printf(w->a, "containers with unready status: [" STR_FMT "]", STR_ARG(names_of_containers(w)))};
}

/* Gates hold a pod back whose containers are ready; others say when they open. */
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
				arena_printf(w->a, "corresponding condition of pod readiness gate \"" STR_FMT "\" %s", STR_ARG(type),
					c ? "is not True." : "does not exist.")};
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

struct json *kubelet_status(
	struct arena *a, const struct json *pod, const struct kubelet_look *look, enum pod_stage stage, bool is_ready)
{
	static const char *const phases[] = {
		[POD_WAITS] = "Pending",
		[POD_RUNS] = "Running",
		[POD_FAILED] = "Failed",
		[POD_SUCCEEDED] = "Succeeded",
	};
	const struct writing w = {a, pod, json_gets(pod, "spec"), json_gets(pod, "status"), look, stage, is_ready};
	const struct json *generation = json_gets(json_gets(pod, "metadata"), "generation");
	struct json *changes = json_object(a);
	change(&w, changes, STR("phase"), text(&w, str_of(phases[stage])));
	change(&w, changes, STR("conditions"), conditions(&w));
	change_containers(&w, changes, "initContainers", "initContainerStatuses", ROLE_INIT);
	change_containers(&w, changes, "containers", "containerStatuses", ROLE_MAIN);
	change_containers(&w, changes, "ephemeralContainers", "ephemeralContainerStatuses", ROLE_EPHEMERAL);
	change_address(&w, changes, "hostIP", "hostIPs", look->host_ip);
	/* A pod has an address once its sandbox is there. */
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
