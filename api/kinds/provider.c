/* Provider: what others depend on (seed 004). It is born with a finalizer that cannot be taken off while a Dependent refers to it. */
#include "api/model/members.h"
#include "api/rules/condition.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"

static const struct type type_provider_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.ProviderSpec",
	.go_type = "v1.ProviderSpec",
	.doc = "The data that is provided.",
	.fields =
		(const struct field[]){
			{"data", &type_raw, FIELD_ALWAYS, "The data that Dependents get: any JSON object.", NULL, NULL},
			{0},
		},
};

static const struct type type_provider_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.ProviderStatus",
	.go_type = "v1.ProviderStatus",
	.doc = "The observed state of a Provider.",
	.fields =
		(const struct field[]){
			{"observedGeneration", &type_int64, 0, "The metadata.generation that this status is about.", NULL,
				NULL},
			{"conditions", &list_conditions, FIELD_PATCH_MERGE, "Conditions, one for each type. annals sets none.",
				"type", NULL},
			{0},
		},
};

static const struct field provider_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_provider_spec, FIELD_ALWAYS, "The data that is provided.", NULL, NULL},
	{"status", &type_provider_status, FIELD_ALWAYS, "The observed state.", NULL, NULL},
	{0},
};

static const struct type provider_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.Provider",
	.go_type = "v1.Provider",
	.doc = "An object that Dependents need. It stays as long as a Dependent refers to it: a deletion begins, and ends when "
	       "the last of these Dependents is gone.",
	.fields = provider_fields,
};

static const struct json *spec_of(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static void clear_status(struct object *o, struct arena *a)
{
	json_set(a, o->fields, STR("status"), schema_zero(&type_provider_status, a));
}

static void prepare_create(struct object *o, struct arena *a)
{
	clear_status(o, a);
	meta_add_finalizer(&o->meta, a, FINALIZER_PROTECTION);
}

static void validate(const struct object *o, struct field_errors *errors)
{
	const struct json *data = json_gets(spec_of(o), "data");
	if (data && data->kind != JSON_NULL && data->kind != JSON_OBJECT) {
		field_invalid(errors, STR("spec.data"), data, "must be a JSON object");
	}
}

static void validate_update(const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	validate(o, errors);
}

static void validate_status(const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	validate_conditions(STR("status.conditions"), json_gets(json_gets(o->fields, "status"), "conditions"), errors);
}

static void write_state(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	json_encode_string(out, meta_is_deleting(&o->meta) ? STR("Terminating") : STR("Active"));
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Dependents", "integer", "", "How many Dependents refer to it.", 0, NULL, false},
	{"State", "string", "", "Active, or Terminating: deleted, and waiting for its Dependents to go.", 0, write_state,
		false},
	COLUMN_AGE,
};

static const struct subresource subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, validate_status, resets_spec, false, false, NULL},
};

static const struct door doors[] = {
	{.group = "annals.dev", .version = "v1", .definition = "dev.annals.v1.Provider"},
	{.group = "annals.dev",
		.version = "v1beta1",
		.definition = "dev.annals.v1beta1.Provider",
		.deprecation = "annals.dev/v1beta1 Provider is deprecated; use annals.dev/v1 Provider"},
};

static struct kind provider = {
	.kind = "Provider",
	.list_kind = "ProviderList",
	.resource = "providers",
	.singular = "provider",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &provider_type,
	.doc = "An object that Dependents need.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.prepare_create = prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
	.is_protected = true,
};
KIND_REGISTER(provider)
