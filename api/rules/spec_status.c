/* The rules shared by kinds with a status: who may write which part, and which conditions are
 * valid. */
#include "api/rules/spec_status.h"

#include "api/model/members.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"

#include <assert.h>

const char *const resets_status[] = {"status", NULL};
const char *const resets_spec[] = {"spec", NULL};

void keep_status(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	object_set_status(o, object_status(old), a);
}

void merge_status(struct object *stored, const struct object *sent, struct arena *a)
{
	assert(stored->kind == sent->kind);
	stored->meta = sent->meta;
	object_set_status(stored, object_status(sent), a);
}

bool bumps_generation_of_spec(const struct object *o, const struct object *old)
{
	assert(o->kind == old->kind);
	return !json_equal(object_spec(o), object_spec(old));
}

/* ---- conditions: ValidateConditions of k8s.io/apimachinery/pkg/apis/meta/v1/validation ---- */

/* Conditions are keyed by type, so that by server-side apply several controllers can own one each. */

/* The limits of the generated CRD schema of metav1.Condition. */
enum { REASON_MAX = 1024, MESSAGE_MAX = 32768 };

const struct type list_conditions = {
	.kind = TYPE_LIST,
	.elem = &type_condition,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"type", NULL},
};

const struct json *condition_find(const struct json *list, const char *type)
{
	const struct json *each;

	for (uint32_t i = 0; (each = list_item(list, i)); i++) {
		if (str_is(member_text(each, "type"), type)) {
			return each;
		}
	}
	return NULL;
}

static void validate_type(struct str path, struct str type, struct field_errors *errors)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = type.n > 0 ? validate_qualified_name(type, messages) : 0;
	for (size_t i = 0; i < n; i++) {
		field_invalid_str(errors, path, type, "%s", messages[i]);
	}
	if (type.n == 0) {
		field_required(errors, path, "must be set");
	}
}

static void validate_status(struct str path, struct str status, struct field_errors *errors)
{
	static const char *const known[] = {"False", "True", "Unknown"};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (str_is(status, known[i])) {
			return;
		}
	}
	field_not_supported(errors, path, status, known, ARRAY_SIZE(known));
}

static void validate_condition(struct str path, const struct json *condition, struct field_errors *errors)
{
	struct arena *a = errors->arena;
	validate_type(field_path(a, path, "type"), member_text(condition, "type"), errors);
	validate_status(field_path(a, path, "status"), member_text(condition, "status"), errors);
	if (member_text(condition, "lastTransitionTime").n == 0) {
		field_required(errors, field_path(a, path, "lastTransitionTime"), "must be set");
	}
	if (member_text(condition, "reason").n == 0) {
		field_required(errors, field_path(a, path, "reason"), "must be set");
	} else if (member_text(condition, "reason").n > REASON_MAX) {
		field_too_long(errors, field_path(a, path, "reason"), REASON_MAX);
	}
	if (member_text(condition, "message").n > MESSAGE_MAX) {
		field_too_long(errors, field_path(a, path, "message"), MESSAGE_MAX);
	}
}

void validate_conditions(struct str path, const struct json *conditions, struct field_errors *errors)
{
	struct map seen;
	const struct json *condition;
	list_index(&seen, conditions, "type");
	for (uint32_t i = 0; (condition = list_item(conditions, i)); i++) {
		struct str at = field_index(errors->arena, path, i);
		validate_condition(at, condition, errors);
		if (map_get(&seen, member_text(condition, "type")) != condition) {
			field_duplicate(errors, field_path(errors->arena, at, "type"), json_gets(condition, "type"));
		}
	}
	map_done(&seen);
}
