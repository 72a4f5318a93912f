/* After k8s.io/kubernetes/pkg/controller/volume/pvcprotection. Pure, so that each way in which a
 * pod can use a claim is a line of a test. A pod without a node does not count: kubelet starts
 * none on a claim that is being deleted. */
#include "controllers/claim/claim_plan.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

#define FINALIZER "kubernetes.io/pvc-protection"

static const struct json *meta_of(const struct json *object)
{
	return json_gets(object, "metadata");
}

bool claim_is_candidate(const struct json *meta)
{
	return gc_meta_is_deleting(meta) && gc_meta_has_finalizer(meta, FINALIZER);
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
	return uid.n && str_eq(member_text(gc_meta_controller(meta_of(object)), "uid"), uid);
}

/* Deleted without grace left: what mounted its volumes has let go of them. */
static bool is_shut_down(const struct json *pod)
{
	int64_t grace_s = -1;
	json_to_int64(json_gets(meta_of(pod), "deletionGracePeriodSeconds"), &grace_s);
	return gc_meta_is_deleting(meta_of(pod)) && grace_s == 0;
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
