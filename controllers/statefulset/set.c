/* Reads fields from apps/v1 if that API version shows the same object, since annals.dev/v1beta1
 * lacks some of them. */
#include "controllers/statefulset/set.h"
#include "api/core/pod_defaults.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "base/clock.h"
#include "controllers/kit/meta.h"
#include "controllers/statefulset/claim.h"
#include "controllers/statefulset/member.h"

#include <assert.h>

static int64_t number(const struct json *object, const char *name, int64_t absent)
{
	int64_t n;
	return json_to_int64(json_gets(object, name), &n) ? n : absent;
}

static void read_status(struct set_status *ret, const struct json *status)
{
	*ret = (struct set_status){
		.observed_generation = number(status, "observedGeneration", 0),
		.collisions = number(status, "collisionCount", 0),
		.replicas = number(status, "replicas", 0),
		.ready = number(status, "readyReplicas", 0),
		.available = number(status, "availableReplicas", 0),
		.current = number(status, "currentReplicas", 0),
		.updated = number(status, "updatedReplicas", 0),
		.current_revision = member_text(status, "currentRevision"),
		.update_revision = member_text(status, "updateRevision"),
		.current_generation = number(status, "templateGeneration", 0),
		.update_generation = number(status, "targetTemplateGeneration", 0),
	};
}

static bool is_true(const struct json *annotations, const char *name)
{
	return str_is(member_text(annotations, name), "true");
}

/* Converts a number, or a percentage of the replicas rounded down, to at least 1. */
static int64_t scale(const struct json *amount, int64_t replicas)
{
	int64_t n = 1;
	struct str s = json_text(amount);

	if (json_is(amount, JSON_STRING) && str_ends(s, STR("%"))) {
		n = str_to_int64((struct str){s.p, s.n - 1}, &n) && n <= 100 ? n * replicas / 100 : 1;
	} else {
		json_to_int64(amount, &n);
	}
	return MAX(n, 1);
}

static void read_strategy(struct set *s, const struct json *spec)
{
	const struct json *strategy = json_gets(spec, "updateStrategy"), *rolling = json_gets(strategy, "rollingUpdate");

	s->is_on_delete = str_is(member_text(strategy, "type"), "OnDelete");
	s->has_partition = json_is(rolling, JSON_OBJECT);
	s->partition = number(rolling, "partition", 0);
	s->max_unavailable = scale(json_gets(rolling, "maxUnavailable"), s->replicas);
}

static void read_spec(struct set *s, const struct json *spec, bool is_apps)
{
	const struct json *policy = json_gets(spec, "persistentVolumeClaimRetentionPolicy");

	s->spec = spec;
	s->template = json_gets(spec, "template");
	s->claim_templates = json_gets(spec, "volumeClaimTemplates");
	s->service = member_text(spec, "serviceName");
	s->replicas = number(spec, "replicas", 1);
	s->limit = number(spec, "revisionHistoryLimit", 10);
	if (is_apps) {
		s->start = number(json_gets(spec, "ordinals"), "start", 0);
		s->min_ready_s = number(spec, "minReadySeconds", 0);
		s->is_parallel = str_is(member_text(spec, "podManagementPolicy"), "Parallel");
		s->claims.deletes_with_set = str_is(member_text(policy, "whenDeleted"), "Delete");
		s->claims.deletes_when_scaled = str_is(member_text(policy, "whenScaled"), "Delete");
		read_strategy(s, spec);
	} else {
		s->max_unavailable = 1;
		s->has_partition = json_is(json_gets(spec, "generationPartition"), JSON_NUMBER);
		s->partition = number(spec, "generationPartition", 0);
	}
}

bool set_read(struct set *ret, const struct json *apps, const struct json *beta, struct arena *a, struct str *ret_problem)
{
	const struct json *main = apps ? apps : beta, *meta = json_gets(main, "metadata");

	*ret = (struct set){
		.owner = {.api_version = apps ? STR("apps/v1") : STR("annals.dev/v1beta1"),
			.kind = STR("StatefulSet"),
			.ns = member_text(meta, "namespace"),
			.name = member_text(meta, "name"),
			.uid = member_text(meta, "uid"),
			.is_deleting = json_meta_is_deleting(meta)},
		.object = main,
		.meta = meta,
		.generation = number(meta, "generation", 0),
		.template_generation = number(json_gets(beta, "spec"), "templateGeneration", 0),
		.follows_seed = is_true(json_gets(meta, "annotations"), SET_REPLACES_BROKEN),
	};
	read_spec(ret, json_gets(main, "spec"), apps);
	read_status(&ret->status, json_gets(beta, "status"));
	/* annals.dev/v1beta1 shows no updated pods once an update is complete: then they are the
	 * current ones. */
	if (!ret->status.updated && str_eq(ret->status.current_revision, ret->status.update_revision)) {
		ret->status.updated = ret->status.current;
	}
	ret->selector_json = json_gets(ret->spec, "selector");
	return label_selector_read(&ret->selector, ret->selector_json, a, ret_problem) == 0;
}

const struct label_selector *set_selects(const struct set *s)
{
	return json_is(s->selector_json, JSON_OBJECT) ? &s->selector : NULL;
}

bool set_has_slot(const struct set *s, int64_t ordinal)
{
	return ordinal >= s->start && ordinal < s->start + s->replicas;
}

bool set_has_same_status(const struct set_status *a, const struct set_status *b)
{
	return a->replicas == b->replicas && a->ready == b->ready && a->available == b->available && a->current == b->current &&
		a->updated == b->updated && str_eq(a->current_revision, b->current_revision) &&
		str_eq(a->update_revision, b->update_revision) && a->current_generation == b->current_generation &&
		a->update_generation == b->update_generation;
}

struct json *set_normal_template(const struct json *template, struct arena *a)
{
	struct json *normal;
	struct str problem;

	if (schema_decode(&normal, &type_pod_template_spec, template, a, NULL, &problem)) {
		return NULL;
	}
	return pod_template_defaults(normal, a);
}

/* ---- members ---- */

/* The readiness rules of upstream's stateful_set_utils.go. */
/* Sets ret to the time when the condition Ready became true. */
static bool is_ready_since(const struct json *status, int64_t *ret_us)
{
	const struct json *ready = condition_find(json_gets(status, "conditions"), "Ready");

	*ret_us = 0;
	time_parse_rfc3339(member_text(ready, "lastTransitionTime"), ret_us);
	return str_is(member_text(ready, "status"), "True");
}

/* A kubelet writes startTime and the first condition Ready together. Each later change of the
 * condition has a later time. */
static bool was_never_ready(const struct json *status)
{
	const struct json *ready = condition_find(json_gets(status, "conditions"), "Ready");
	int64_t started_us, since_us;
	bool is_started = time_parse_rfc3339(member_text(status, "startTime"), &started_us);

	if (!ready) {
		return true;
	}
	return is_started && str_is(member_text(ready, "status"), "False") &&
		time_parse_rfc3339(member_text(ready, "lastTransitionTime"), &since_us) && since_us <= started_us;
}

/* Like IsPodAvailable: available at once without minReadySeconds; otherwise the time of becoming
 * Ready must be known. */
static void read_readiness(struct member *m, const struct json *status, int64_t min_ready_s, int64_t now_s)
{
	int64_t since_us;

	m->is_ready = m->phase == POD_RUNNING && is_ready_since(status, &since_us);
	m->was_never_ready = was_never_ready(status);
	if (!m->is_ready || !min_ready_s) {
		m->is_available = m->is_ready;
		return;
	}
	int64_t left_s = since_us / 1000000 + min_ready_s - now_s;
	m->is_available = since_us && left_s <= 0;
	m->available_in_s = since_us ? MAX(left_s, 0) : 0;
}

bool member_read(struct member *ret, const struct json *pod, const struct set *s, int64_t now_s)
{
	const struct json *meta = json_gets(pod, "metadata"), *labels = json_gets(meta, "labels"),
			  *status = json_gets(pod, "status");
	struct str phase = member_text(status, "phase");

	*ret = (struct member){
		.pod = pod,
		.name = member_text(meta, "name"),
		.uid = member_text(meta, "uid"),
		.version = member_text(meta, "resourceVersion"),
		.revision = member_text(labels, LABEL_REVISION),
		.is_terminating = json_meta_is_deleting(meta),
	};
	ret->ordinal = ownership_ordinal(s->owner.name, ret->name);
	if (!str_to_int64(member_text(labels, HISTORY_LABEL_GENERATION), &ret->generation)) {
		ret->generation = 0;
	}
	bool is_over = str_is(phase, "Failed") || str_is(phase, "Succeeded");
	ret->phase = is_over ? POD_OVER : str_is(phase, "Pending") ? POD_PENDING : phase.n ? POD_RUNNING : POD_NEW;
	/* the phase "Unknown": the pod exists, and is not ready */
	if (!str_is(phase, "Running") && ret->phase == POD_RUNNING) {
		return ret->ordinal >= 0;
	}
	read_readiness(ret, status, s->min_ready_s, now_s);
	return ret->ordinal >= 0;
}

/* ---- making one ---- */

/* Returns a changeable copy of the member and puts it into the object. */
static struct json *own(struct arena *a, struct json *object, const char *name)
{
	struct json *copy = json_copy_or_empty(a, json_gets(object, name));
	json_set(a, object, str_of(name), copy);
	return copy;
}

static void set_text(struct arena *a, struct json *object, const char *name, struct str value)
{
	json_set(a, object, str_of(name), json_string(a, value));
}

static void identify(struct json *labels, struct str name, int64_t ordinal, struct arena *a)
{
	set_text(a, labels, LABEL_POD_NAME, name);
	set_text(a, labels, LABEL_POD_INDEX, arena_printf(a, "%lld", (long long)ordinal));
}

static void label_revision(struct json *labels, const struct revision *r, struct arena *a)
{
	set_text(a, labels, LABEL_REVISION, r->name);
	if (r->generation) {
		set_text(a, labels, HISTORY_LABEL_GENERATION, arena_printf(a, "%lld", (long long)r->generation));
	} else {
		json_remove(labels, STR(HISTORY_LABEL_GENERATION));
	}
}

static const struct json *find_volume(const struct json *volumes, struct str name)
{
	const struct json *v;

	for (uint32_t i = 0; (v = list_item(volumes, i)); i++) {
		if (str_eq(member_text(v, "name"), name)) {
			return v;
		}
	}
	return NULL;
}

static bool is_claimed(const struct set *s, struct str volume)
{
	const struct json *t;

	for (uint32_t i = 0; (t = list_item(s->claim_templates, i)); i++) {
		if (str_eq(claim_template_name(t), volume)) {
			return true;
		}
	}
	return false;
}

static void add_claim_volume(struct json *volumes, struct str name, struct str claim, struct arena *a)
{
	struct json *volume = json_object(a), *source = json_object(a);

	set_text(a, source, "claimName", claim);
	set_text(a, volume, "name", name);
	json_set(a, volume, STR("persistentVolumeClaim"), source);
	json_append(a, volumes, volume);
}

/* Adds one volume for each claim, then the template's volumes with other names. */
static void mount_claims(const struct set *s, struct json *spec, int64_t ordinal, struct arena *a)
{
	const struct json *old = json_gets(spec, "volumes"), *t, *v;
	struct json *volumes = json_array(a);

	for (uint32_t i = 0; (t = list_item(s->claim_templates, i)); i++) {
		add_claim_volume(volumes, claim_template_name(t), claim_name(s, t, ordinal, a), a);
	}
	for (uint32_t i = 0; (v = list_item(old, i)); i++) {
		if (!is_claimed(s, member_text(v, "name"))) {
			json_append(a, volumes, json_copy(a, v));
		}
	}
	if (volumes->n) {
		json_set(a, spec, STR("volumes"), volumes);
	}
}

static bool is_mounted_in(const struct json *containers, struct str volume)
{
	static const char *const lists[] = {"volumeMounts", "volumeDevices"};
	const struct json *c, *mount;

	for (uint32_t i = 0; (c = list_item(containers, i)); i++) {
		for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
			for (uint32_t j = 0; (mount = list_item(json_gets(c, lists[l]), j)); j++) {
				if (str_eq(member_text(mount, "name"), volume)) {
					return true;
				}
			}
		}
	}
	return false;
}

static bool is_mounted(const struct json *spec, struct str volume)
{
	return is_mounted_in(json_gets(spec, "containers"), volume) || is_mounted_in(json_gets(spec, "initContainers"), volume);
}

struct json *member_template(const struct set *s, struct arena *a)
{
	struct json *template = json_copy(a, s->template), *spec = own(a, template, "spec"), *volumes;
	const struct json *old = json_gets(spec, "volumes"), *t;

	volumes = json_is(old, JSON_ARRAY) ? json_copy(a, old) : json_array(a);
	for (uint32_t i = 0; (t = list_item(s->claim_templates, i)); i++) {
		if (is_mounted(spec, claim_template_name(t)) && !find_volume(old, claim_template_name(t))) {
			add_claim_volume(volumes, claim_template_name(t), claim_template_name(t), a);
		}
	}
	if (volumes->n) {
		json_set(a, spec, STR("volumes"), volumes);
	}
	return template;
}

static struct str pod_name(const struct set *s, int64_t ordinal, struct arena *a)
{
	return arena_printf(a, STR_FMT "-%lld", STR_ARG(s->owner.name), (long long)ordinal);
}

struct json *member_make(const struct set *s, const struct revision *r, int64_t ordinal, struct arena *a)
{
	assert(ordinal >= 0);
	assert(ordinal >= 0);
	const struct json *template = r ? r->state : s->template, *from = json_gets(template, "metadata");
	struct json *pod = json_object(a), *meta = json_object(a), *refs = json_array(a), *spec;
	struct str name = pod_name(s, ordinal, a);

	set_text(a, pod, "apiVersion", STR("v1"));
	set_text(a, pod, "kind", STR("Pod"));
	json_set(a, pod, STR("metadata"), meta);
	set_text(a, meta, "name", name);
	set_text(a, meta, "generateName", arena_printf(a, STR_FMT "-", STR_ARG(s->owner.name)));
	set_text(a, meta, "namespace", s->owner.ns);
	for (size_t i = 0; i < 3; i++) {
		static const char *const taken[] = {"labels", "annotations", "finalizers"};
		const struct json *value = json_gets(from, taken[i]);
		if (value) {
			json_set(a, meta, str_of(taken[i]), json_copy(a, value));
		}
	}
	/* The first write already names the controller, so the pod is never an orphan. */
	json_append(a, refs, ownership_reference(&s->owner, a));
	json_set(a, meta, STR("ownerReferences"), refs);
	struct json *labels = own(a, meta, "labels");
	identify(labels, name, ordinal, a);
	if (r) {
		label_revision(labels, r, a);
	}
	spec = json_copy_or_empty(a, json_gets(template, "spec"));
	json_set(a, pod, STR("spec"), spec);
	set_text(a, spec, "hostname", name);
	if (s->service.n) {
		set_text(a, spec, "subdomain", s->service);
	} else {
		json_remove(spec, STR("subdomain"));
	}
	mount_claims(s, spec, ordinal, a);
	return pod;
}

/* ---- fixing one ---- */

static bool has_identity(const struct member *m)
{
	const struct json *labels = json_gets(json_gets(m->pod, "metadata"), "labels");
	return str_eq(member_text(labels, LABEL_POD_NAME), m->name);
}

bool member_has_storage(const struct set *s, const struct member *m, struct arena *a)
{
	const struct json *volumes = json_gets(json_gets(m->pod, "spec"), "volumes"), *t;

	for (uint32_t i = 0; (t = list_item(s->claim_templates, i)); i++) {
		const struct json *claim = json_gets(find_volume(volumes, claim_template_name(t)), "persistentVolumeClaim");
		if (!claim || !str_eq(member_text(claim, "claimName"), claim_name(s, t, m->ordinal, a))) {
			return false;
		}
	}
	return true;
}

bool member_conforms(const struct set *s, const struct member *m, struct arena *a)
{
	return has_identity(m) && member_has_storage(s, m, a);
}

struct json *member_conformed(const struct set *s, const struct member *m, struct arena *a)
{
	struct json *pod = json_copy(a, m->pod);

	identify(own(a, own(a, pod, "metadata"), "labels"), m->name, m->ordinal, a);
	if (!member_has_storage(s, m, a)) {
		mount_claims(s, own(a, pod, "spec"), m->ordinal, a);
	}
	return pod;
}

struct json *member_relabelled(const struct member *m, const struct revision *r, struct arena *a)
{
	assert(r->name.n > 0);
	struct json *pod = json_copy(a, m->pod);

	label_revision(own(a, own(a, pod, "metadata"), "labels"), r, a);
	return pod;
}
