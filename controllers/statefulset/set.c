/* Fields are those of apps/v1 where that API version shows the same object, since annals.dev/v1beta1 cannot say all of them. */
#include "controllers/statefulset/set.h"

#include "api/model/members.h"
#include "api/pod/pod_defaults.h"
#include "controllers/kit/meta.h"

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

/* A number, or a percentage of the replicas, rounded down; at least 1. */
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
			.is_deleting = gc_meta_is_deleting(meta)},
		.object = main,
		.meta = meta,
		.generation = number(meta, "generation", 0),
		.template_generation = number(json_gets(beta, "spec"), "templateGeneration", 0),
		.follows_seed = is_true(json_gets(meta, "annotations"), SET_REPLACES_BROKEN),
	};
	read_spec(ret, json_gets(main, "spec"), apps);
	read_status(&ret->status, json_gets(beta, "status"));
	/* annals.dev/v1beta1 shows no updated pods once an update is complete: then they are the current ones. */
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
