#include "controllers/claim_plan.h"

#define FINALIZER "kubernetes.io/pvc-protection"

static const struct json *meta_of(const struct json *object)
{
	return json_gets(object, "metadata");
}

static struct str text_of(const struct json *j, const char *name)
{
	return json_text(json_gets(j, name));
}

static uint32_t length(const struct json *j)
{
	return json_is(j, JSON_ARRAY) ? j->n : 0;
}

bool claim_is_candidate(const struct json *meta)
{
	const struct json *finalizers = json_gets(meta, "finalizers");
	bool is_protected = false;
	for (uint32_t i = 0; i < length(finalizers); i++) {
		is_protected = is_protected || str_is(json_text(finalizers->items[i]), FINALIZER);
	}
	return is_protected && text_of(meta, "deletionTimestamp").n;
}

/* ---- volumes ---- */

static const struct json *volumes_of(const struct json *pod)
{
	return json_gets(json_gets(pod, "spec"), "volumes");
}

static struct str named_claim(const struct json *volume)
{
	return text_of(json_gets(volume, "persistentVolumeClaim"), "claimName");
}

static struct str made_claim(const struct json *pod, const struct json *volume, struct arena *a)
{
	return arena_printf(a, STR_FMT "-" STR_FMT, STR_ARG(text_of(meta_of(pod), "name")), STR_ARG(text_of(volume, "name")));
}

bool claim_of_pod(const struct json *pod, uint32_t *i, struct arena *a, struct str *ret_name)
{
	const struct json *volumes = volumes_of(pod);
	while (*i < length(volumes)) {
		const struct json *volume = volumes->items[(*i)++];
		struct str name = named_claim(volume);
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
	const struct json *owners = json_gets(meta_of(object), "ownerReferences");
	for (uint32_t i = 0; i < length(owners); i++) {
		const struct json *controller = json_gets(owners->items[i], "controller");
		if (json_is(controller, JSON_BOOL) && controller->boolean) {
			return uid.n && str_eq(text_of(owners->items[i], "uid"), uid);
		}
	}
	return false;
}

/* Deleted without grace left: what mounted its volumes has let go of them. */
static bool is_shut_down(const struct json *pod)
{
	int64_t grace_s = -1;
	json_to_int64(json_gets(meta_of(pod), "deletionGracePeriodSeconds"), &grace_s);
	return text_of(meta_of(pod), "deletionTimestamp").n && grace_s == 0;
}

/* NAME-VOLUME. */
static bool is_made_name(const struct json *pod, const struct json *volume, struct str claim)
{
	struct str pod_name = text_of(meta_of(pod), "name"), volume_name = text_of(volume, "name");
	return claim.n == pod_name.n + 1 + volume_name.n && str_starts(claim, pod_name) && claim.p[pod_name.n] == '-' &&
	       str_ends(claim, volume_name);
}

static bool is_used_as(const struct json *pod, const struct json *volume, const struct json *claim)
{
	struct str name = text_of(meta_of(claim), "name");
	if (str_eq(named_claim(volume), name)) {
		return true;
	}
	return json_is(json_gets(volume, "ephemeral"), JSON_OBJECT) && !is_shut_down(pod) && is_made_name(pod, volume, name) &&
	       is_controlled_by(claim, text_of(meta_of(pod), "uid"));
}

static bool has_node(const struct json *pod)
{
	return text_of(json_gets(pod, "spec"), "nodeName").n > 0;
}

bool claim_is_used_by(const struct json *pod, const struct json *claim)
{
	const struct json *volumes = volumes_of(pod);
	for (uint32_t i = 0; has_node(pod) && i < length(volumes); i++) {
		if (is_used_as(pod, volumes->items[i], claim)) {
			return true;
		}
	}
	return false;
}

bool claim_may_be_freed_by(const struct json *pod, bool is_gone)
{
	struct str phase = text_of(json_gets(pod, "status"), "phase");
	return is_gone || !has_node(pod) || is_shut_down(pod) || str_is(phase, "Failed") || str_is(phase, "Succeeded");
}

struct json *claim_unprotected(struct arena *a, const struct json *claim)
{
	const struct json *old = json_gets(meta_of(claim), "finalizers");
	struct json *changed = json_copy(a, claim), *meta = json_copy(a, meta_of(claim)), *left = json_array(a);
	for (uint32_t i = 0; i < length(old); i++) {
		if (!str_is(json_text(old->items[i]), FINALIZER)) {
			json_append(a, left, old->items[i]);
		}
	}
	json_set(a, meta, STR("finalizers"), left);
	json_set(a, changed, STR("metadata"), meta);
	return changed;
}
