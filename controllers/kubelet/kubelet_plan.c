/* The order of things in a pod's life: it gets a node, is started, runs, is asked to stop, is
 * gone. Annotations of the pod say where that differs; they are read anew at each look, so that
 * they can be changed at any time. */
#include "controllers/kubelet/kubelet_plan.h"

#include "api/model/members.h"
#include "base/options.h"
#include "controllers/kit/meta.h"
#include "controllers/kubelet/kubelet_status.h"
#include "controllers/kubelet/node_plan.h"

enum { STRANDED_MS = 1000 };

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

static int64_t order_ms(const struct json *pod, const char *name)
{
	int64_t ms = 0;
	return duration_parse_ms(order(pod, name), &ms) ? MAX(ms, (int64_t)0) : 0;
}

/* -1: nothing says how long it may take to stop. */
static int64_t grace_s(const struct json *pod)
{
	int64_t s = -1;
	json_to_int64(json_gets(meta_of(pod), "deletionGracePeriodSeconds"), &s);
	return s;
}

static int64_t stop_after_ms(const struct json *pod)
{
	int64_t grace = MIN(MAX(grace_s(pod), (int64_t)0), INT64_MAX / 1000);
	return MIN(order_ms(pod, ORDER("stop-after")), grace * 1000);
}

/* Gates keep a pod from getting a node; they are all of scheduling that is heeded, because the server insists on them. */
static bool is_to_be_bound(const struct json *pod)
{
	return !gc_meta_is_deleting(meta_of(pod)) && !kubelet_is_final(pod) &&
		member_count(spec_of(pod), "schedulingGates") == 0;
}

static enum pod_stage ordered_stage(const struct json *pod, int64_t started_for_ms, int64_t *ret_wait_ms)
{
	struct str phase = order(pod, ORDER("phase"));
	bool was_started = str_is(phase_of(pod), "Running");
	int64_t left_ms = order_ms(pod, ORDER("start-after")) - started_for_ms;
	if (str_is(phase, "Pending")) {
		return POD_WAITS;
	}
	if (!was_started && left_ms > 0) {
		*ret_wait_ms = left_ms;
		return POD_WAITS;
	}
	return str_is(phase, "Failed") ? POD_FAILED : str_is(phase, "Succeeded") ? POD_SUCCEEDED : POD_RUNS;
}

/* ---- decisions ---- */

static struct kubelet_plan report(
	struct arena *a, const struct json *pod, const struct kubelet_look *look, enum pod_stage stage, int64_t wait_ms)
{
	bool is_ready = !str_is(order(pod, ORDER("ready")), "false");
	struct json *changes = kubelet_status(a, pod, look, stage, is_ready);
	return (struct kubelet_plan){changes->n ? KUBELET_REPORT : KUBELET_NOTHING, changes, wait_ms};
}

/* Of a pod that something holds, the end is told, as it can be seen from then on; any other is gone with its end. With no grace left
 * the server needs nobody: it goes with its last finalizer. */
static struct kubelet_plan stop(struct arena *a, const struct json *pod, const struct kubelet_look *look)
{
	struct kubelet_plan plan = {KUBELET_NOTHING, NULL, -1};
	if (member_count(meta_of(pod), "finalizers") > 0 && !kubelet_is_final(pod)) {
		plan = report(a, pod, look, POD_SUCCEEDED, -1);
	}
	if (plan.step == KUBELET_NOTHING && grace_s(pod) > 0) {
		plan.step = KUBELET_REMOVE;
	}
	return plan;
}

/* The server removes such a pod in the same breath; one that died in between has left it behind, and nobody else would take it away. */
static bool is_stranded(const struct json *pod)
{
	return gc_meta_is_deleting(meta_of(pod)) && grace_s(pod) == 0 && member_count(meta_of(pod), "finalizers") == 0;
}

static struct kubelet_plan remove_stranded(const struct kubelet_look *look)
{
	int64_t left_ms = STRANDED_MS - look->stopping_for_ms;
	return (struct kubelet_plan){left_ms > 0 ? KUBELET_NOTHING : KUBELET_REMOVE, NULL, left_ms > 0 ? left_ms : -1};
}

struct kubelet_plan kubelet_decide(struct arena *a, const struct json *pod, const struct kubelet_look *look)
{
	struct kubelet_plan nothing = {KUBELET_NOTHING, NULL, -1};
	int64_t wait_ms = -1;
	if (!kubelet_is_concerned(pod)) {
		return nothing;
	}
	if (is_stranded(pod)) {
		return remove_stranded(look);
	}
	if (member_text(spec_of(pod), "nodeName").n == 0) {
		nothing.step = is_to_be_bound(pod) ? KUBELET_BIND : KUBELET_NOTHING;
		return nothing;
	}
	if (gc_meta_is_deleting(meta_of(pod))) {
		wait_ms = stop_after_ms(pod) - look->stopping_for_ms;
		if (wait_ms <= 0 || kubelet_is_final(pod)) {
			return stop(a, pod, look);
		}
	}
	if (kubelet_is_final(pod)) {
		return nothing;
	}
	int64_t start_ms = -1;
	enum pod_stage stage = ordered_stage(pod, look->started_for_ms, &start_ms);
	return report(a, pod, look, stage, start_ms < 0 ? wait_ms : wait_ms < 0 ? start_ms : MIN(start_ms, wait_ms));
}
