/* Seed 002, "StatefulSet Validation", for what is written through annals.dev/v1beta1 itself: not through
 * its subresources, and not for what was set at apps/v1 and is left as it is. Only containers of the
 * template may change here; apps/v1 lets all of it. */
#include "api/workload/set_doors.h"
#include "api/workload/set_schema.h"
#include "api/workload/set_validate.h"

#include "api/model/members.h"
#include "api/rules/where.h"

enum { HISTORY_LIMIT_MIN = 2 };

static const struct json *spec_of(const struct object *o)
{
	return o ? json_gets(o->fields, "spec") : NULL;
}

bool set_is_beta(const struct object *o)
{
	return o->door && o->door->type == &type_set_beta;
}

static const struct json *strategy_of(const struct object *o)
{
	return json_gets(spec_of(o), "updateStrategy");
}

static const struct json *partition_of(const struct object *o)
{
	return json_gets(json_gets(strategy_of(o), "rollingUpdate"), "partition");
}

static bool is_written(const struct object *o, const struct object *old, const char *name)
{
	return !old || !set_is_same(json_gets(spec_of(o), name), json_gets(spec_of(old), name));
}

static void check_history_limit(const struct object *o, const struct object *old, struct field_errors *errors)
{
	const struct json *limit = json_gets(spec_of(o), "revisionHistoryLimit");
	if (limit && is_written(o, old, "revisionHistoryLimit") &&
		member_int(spec_of(o), "revisionHistoryLimit") < HISTORY_LIMIT_MIN) {
		refuse_invalid(errors, WHERE(WHERE(NULL, "spec"), "revisionHistoryLimit"), limit,
			"must be greater than or equal to 2");
	}
}

/* Replicas 0 leave no number in the range: there 0 is as good as none. */
static void check_partition(const struct object *o, const struct object *old, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "generationPartition");
	const struct json *partition = partition_of(o);
	bool is_set = !old || !set_is_same(partition, partition_of(old));
	int64_t n, replicas = member_int(spec_of(o), "replicas");
	if (!partition || !json_to_int64(partition, &n) || (!is_set && !is_written(o, old, "replicas"))) {
		return;
	}
	if (n < 0) {
		refuse_invalid(errors, at, partition, "must be greater than or equal to 0");
	} else if (n > 0 && n >= replicas) {
		refuse_invalid(errors, at, partition, "must be less than spec.replicas");
	}
	if (is_set && !str_is(member_text(strategy_of(o), "type"), "RollingUpdate")) {
		refuse_forbidden(errors, at, "only allowed where the update strategy is RollingUpdate");
	}
}

void set_validate_beta(const struct object *o, const struct object *old, struct field_errors *errors)
{
	check_history_limit(o, old, errors);
	check_partition(o, old, errors);
}

/* ---- what may not change ---- */

static void check_fixed(const struct where *at, const char *name, const struct json *now, const struct json *before,
	struct field_errors *errors)
{
	const struct json *value = json_gets(now, name);
	if (!set_is_same(value, json_gets(before, name))) {
		refuse_invalid(errors, WHERE_NAMED(at, name), value, "field is immutable");
	}
}

/* Of all members that either has, but for one. */
static void check_all_fixed(const struct where *at, const struct json *now, const struct json *before, const char *except,
	struct field_errors *errors)
{
	for (uint32_t i = 0; now && i < now->n; i++) {
		const char *name = arena_dup(errors->arena, now->members[i].name).p;
		if (strcmp(name, except) != 0) {
			check_fixed(at, name, now, before, errors);
		}
	}
	for (uint32_t i = 0; before && i < before->n; i++) {
		const char *name = arena_dup(errors->arena, before->members[i].name).p;
		if (!json_get(now, before->members[i].name) && strcmp(name, except) != 0) {
			check_fixed(at, name, now, before, errors);
		}
	}
}

void set_validate_beta_fixed(const struct object *o, const struct object *old, struct field_errors *errors)
{
	static const char *const fixed[] = {"selector", "volumeClaimTemplates", "serviceName"};
	const struct where *at = WHERE(NULL, "spec");
	const struct json *template = json_gets(spec_of(o), "template"), *before = json_gets(spec_of(old), "template");
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		check_fixed(at, fixed[i], spec_of(o), spec_of(old), errors);
	}
	const struct where *template_at = WHERE(at, "template");
	check_all_fixed(
		WHERE(template_at, "metadata"), json_gets(template, "metadata"), json_gets(before, "metadata"), "", errors);
	check_all_fixed(
		WHERE(template_at, "spec"), json_gets(template, "spec"), json_gets(before, "spec"), "containers", errors);
}
