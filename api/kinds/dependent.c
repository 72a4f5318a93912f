/* Provider and Dependent: an object that others depend on, and an object that needs it to stay. */
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"

#include <assert.h>

/* Provider: an object that others depend on. It is born with a finalizer that cannot be taken off
 * while a Dependent refers to it. */

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

static void provider_prepare_create(struct object *o, struct arena *a)
{
	object_set_status(o, schema_zero(&type_provider_status, a), a);
	meta_add_finalizer(&o->meta, a, FINALIZER_PROTECTION);
}

static void provider_validate(const struct object *o, struct field_errors *errors)
{
	const struct json *data = json_gets(object_spec(o), "data");
	if (data && data->kind != JSON_NULL && data->kind != JSON_OBJECT) {
		field_invalid(errors, STR("spec.data"), data, "must be a JSON object");
	}
}

static void provider_validate_update(const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	provider_validate(o, errors);
}

static void provider_validate_status(const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	validate_conditions(STR("status.conditions"), json_gets(object_status(o), "conditions"), errors);
}

static void write_state(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	json_encode_string(out, meta_is_deleting(&o->meta) ? STR("Terminating") : STR("Active"));
}

static const struct column provider_columns[] = {
	COLUMN_NAME,
	{"Dependents", "integer", "", "How many Dependents refer to it.", 0, NULL, false},
	{"State", "string", "", "Active, or Terminating: deleted, and waiting for its Dependents to go.", 0, write_state,
		false},
	COLUMN_AGE,
};

static const struct subresource provider_subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, provider_validate_status, resets_spec, false, false,
		NULL},
};

static const struct version provider_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.Provider"},
	{.group = "annals.dev",
		.name = "v1beta1",
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
	.versions = provider_versions,
	.n_versions = ARRAY_SIZE(provider_versions),
	.type = &provider_type,
	.doc = "An object that Dependents need.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.prepare_create = provider_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = provider_validate,
	.validate_update = provider_validate_update,
	.columns = provider_columns,
	.n_columns = ARRAY_SIZE(provider_columns),
	.subresources = provider_subresources,
	.n_subresources = ARRAY_SIZE(provider_subresources),
	.is_protected = true,
};
KIND_REGISTER(provider)

/* Dependent: needs Providers to stay. Its references never change. `v1` names any number of
 * objects, `v1beta1` one Provider. */

/* ---- schema ---- */

static const struct type type_dependent_reference = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.DependentReference",
	.go_type = "v1.DependentReference",
	.doc = "An object of the same namespace.",
	.fields =
		(const struct field[]){
			{"kind", &type_string, FIELD_ALWAYS, "The kind of the object: Provider or ControllerRevision.", NULL,
				"\"Provider\""},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The name of the object.", NULL, NULL},
			{0},
		},
};

static const struct type list_references = {
	.kind = TYPE_LIST,
	.elem = &type_dependent_reference,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"kind", "name", NULL},
};

#define WHEN_MISSING                                                                                                           \
	{                                                                                                                      \
		"whenMissing", &type_string, FIELD_ALWAYS,                                                                     \
			"Decides about the creation of a Dependent while an object that it names is absent or being deleted. " \
			"Wait: the Dependent is created, and waits for the object. Refuse: the server refuses it with 409 "    \
			"Conflict.",                                                                                           \
			NULL, "\"Wait\""                                                                                       \
	}

static const struct type type_dependent_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.DependentSpec",
	.go_type = "v1.DependentSpec",
	.doc = "The objects that a Dependent needs. It cannot be changed.",
	.fields =
		(const struct field[]){
			{"providers", &list_references, FIELD_ALWAYS | FIELD_MANDATORY,
				"The objects that must stay as long as this Dependent: 1 to 32, in its namespace. A "
				"ControllerRevision must have the label annals.dev/protect=true from its creation on.",
				NULL, NULL},
			WHEN_MISSING,
			{0},
		},
};

static const struct type type_dependent_implementation = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.DependentImplementation",
	.go_type = "v1.DependentImplementation",
	.doc = "The object that was made for a Dependent.",
	.fields =
		(const struct field[]){
			{"kind", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "Its kind.", NULL, NULL},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The name of the object.", NULL, NULL},
			{0},
		},
};

static const struct type type_dependent_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.DependentStatus",
	.go_type = "v1.DependentStatus",
	.doc = "The observed state of a Dependent.",
	.fields =
		(const struct field[]){
			{"phase", &type_string, 0,
				"Pending: it waits for objects. Implemented: it has its implementation. Broken: it can never "
				"have one.",
				NULL, NULL},
			{"implementation", &type_dependent_implementation, FIELD_KEEP_EMPTY,
				"The object that was made for the Dependent, from the data of its Providers.", NULL, NULL},
			{"observedGeneration", &type_int64, 0, "The metadata.generation that this status is about.", NULL,
				NULL},
			{"conditions", &list_conditions, FIELD_PATCH_MERGE, "The conditions Ready and Broken.", "type", NULL},
			{0},
		},
};

static const struct type dependent_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.Dependent",
	.go_type = "v1.Dependent",
	.doc = "Needs the objects that it names: none of them is removed before the Dependent is.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_dependent_spec, FIELD_ALWAYS, "The objects that it needs. It cannot be changed.", NULL,
				NULL},
			{"status", &type_dependent_status, FIELD_ALWAYS, "The observed state. The controller writes it.", NULL,
				NULL},
			{0},
		},
};

/* ---- v1beta1 ---- */

static const struct type type_beta_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1beta1.DependentSpec",
	.go_type = "v1beta1.DependentSpec",
	.doc = "The objects that a Dependent needs. It cannot be changed.",
	.fields =
		(const struct field[]){
			{"providerName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The name of the Provider that must stay as long as this Dependent.", NULL, NULL},
			WHEN_MISSING,
			{0},
		},
};

static const struct type beta_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1beta1.Dependent",
	.go_type = "v1beta1.Dependent",
	.doc = "Needs the Provider that it names: the Provider is not removed before the Dependent is.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_beta_spec, FIELD_ALWAYS, "The objects that it needs. It cannot be changed.", NULL, NULL},
			{"status", &type_dependent_status, FIELD_ALWAYS, "The observed state. The controller writes it.", NULL,
				NULL},
			{0},
		},
};

static struct str first_provider(const struct json *hub)
{
	const struct json *list = json_gets(json_gets(hub, "spec"), "providers"), *r;
	for (uint32_t i = 0; (r = list_item(list, i)); i++) {
		if (str_is(member_text(r, "kind"), "Provider")) {
			return member_text(r, "name");
		}
	}
	return STR("");
}

static struct json *with_spec(const struct json *object, struct json *spec, struct arena *a)
{
	struct json *changed = json_copy(a, object);
	json_set(a, changed, STR("spec"), spec);
	return changed;
}

/* An object that somebody else has stored may lack whenMissing. */
static void add_when_missing(struct json *spec, const struct json *from, struct arena *a)
{
	struct json *when_missing = json_gets(from, "whenMissing");
	if (when_missing) {
		json_add(a, spec, STR("whenMissing"), when_missing);
	}
}

static struct json *beta_from_hub(const struct json *hub, struct arena *a)
{
	struct json *spec = json_object(a);
	json_add(a, spec, STR("providerName"), json_string(a, first_provider(hub)));
	add_when_missing(spec, json_gets(hub, "spec"), a);
	return with_spec(hub, spec, a);
}

static struct json *one_provider(struct str name, struct arena *a)
{
	struct json *list = json_array(a), *reference = json_object(a);
	json_add(a, reference, STR("kind"), json_string(a, STR("Provider")));
	json_add(a, reference, STR("name"), json_string(a, name));
	json_append(a, list, reference);
	return list;
}

/* If the client leaves the name as it was shown, all references stay, including those that this
 * version cannot show. */
static struct json *beta_to_hub(const struct json *sent, const struct json *stored, struct arena *a)
{
	const struct json *beta = json_gets(sent, "spec");
	struct str name = member_text(beta, "providerName");
	struct json *spec = json_object(a);
	bool is_same = stored && str_eq(name, first_provider(stored));
	struct json *present = is_same ? json_gets(json_gets(stored, "spec"), "providers") : NULL;
	json_add(a, spec, STR("providers"), present ? present : one_provider(name, a));
	add_when_missing(spec, beta, a);
	return with_spec(sent, spec, a);
}

/* ---- rules ---- */

static const struct reference_field reference_fields[] = {
	{"spec.providers.", "annals.dev", "providers", "Provider", REFERENCE_BESIDE},
	{"spec.controllerRevisions.", "annals.dev", "controllerrevisions", "ControllerRevision", REFERENCE_BESIDE},
	{0},
};

static const struct reference_field *field_of_kind(struct str kind)
{
	for (const struct reference_field *f = reference_fields; f->prefix; f++) {
		if (str_is(kind, f->kind)) {
			return f;
		}
	}
	return NULL;
}

static size_t references(const struct object *o, struct reference ret[REFERENCES_MAX])
{
	const struct json *list = json_gets(object_spec(o), "providers"), *r;
	size_t n = 0;
	for (uint32_t i = 0; n < REFERENCES_MAX && (r = list_item(list, i)); i++) {
		const struct reference_field *f = field_of_kind(member_text(r, "kind"));
		if (f) {
			ret[n++] = (struct reference){.field = f, .name = member_text(r, "name")};
		}
	}
	return n;
}

static bool needs_references(const struct object *o)
{
	return str_is(member_text(object_spec(o), "whenMissing"), "Refuse");
}

static void dependent_prepare_create(struct object *o, struct arena *a)
{
	object_set_status(o, schema_zero(&type_dependent_status, a), a);
}

/* Is the object v1beta1's? That version has a single name in another field. */
static bool is_beta(const struct object *o)
{
	return o->version && o->version->type == &beta_type;
}

static void validate_name(struct str path, struct str name, struct field_errors *errors)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	if (name.n == 0) {
		field_required(errors, path, "name is required");
		return;
	}
	size_t n = validate_dns_subdomain(name, messages);
	for (size_t i = 0; i < n; i++) {
		field_invalid_str(errors, path, name, "%s", messages[i]);
	}
}

static bool is_earlier(const struct json *list, uint32_t i)
{
	const struct json *r = list_item(list, i);
	for (uint32_t k = 0; k < i; k++) {
		const struct json *other = list_item(list, k);
		if (str_eq(member_text(other, "name"), member_text(r, "name")) &&
			str_eq(member_text(other, "kind"), member_text(r, "kind"))) {
			return true;
		}
	}
	return false;
}

static void validate_reference(const struct json *list, uint32_t i, struct field_errors *errors)
{
	static const char *const kinds[] = {"ControllerRevision", "Provider"};
	struct arena *a = errors->arena;
	const struct json *r = list_item(list, i);
	struct str path = field_index(a, STR("spec.providers"), i);
	if (!field_of_kind(member_text(r, "kind"))) {
		field_not_supported(errors, field_path(a, path, "kind"), member_text(r, "kind"), kinds, ARRAY_SIZE(kinds));
	}
	validate_name(field_path(a, path, "name"), member_text(r, "name"), errors);
	if (is_earlier(list, i)) {
		field_duplicate(errors, path, r);
	}
}

static void validate_references(const struct json *list, struct field_errors *errors)
{
	uint32_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	if (n == 0) {
		field_required(errors, STR("spec.providers"), "a Dependent names at least one object that it needs");
	}
	/* The loop below compares each reference with all before it, so their number is checked first. */
	if (n > REFERENCES_MAX) {
		field_forbidden(errors, STR("spec.providers"), "must have at most %d items", REFERENCES_MAX);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		validate_reference(list, i, errors);
	}
}

static void dependent_validate(const struct object *o, struct field_errors *errors)
{
	static const char *const choices[] = {"Refuse", "Wait"};
	struct str when_missing = member_text(object_spec(o), "whenMissing");
	const struct json *list = json_gets(object_spec(o), "providers");
	if (is_beta(o)) {
		validate_name(STR("spec.providerName"), member_text(list_item(list, 0), "name"), errors);
	} else {
		validate_references(list, errors);
	}
	if (!str_is(when_missing, choices[0]) && !str_is(when_missing, choices[1])) {
		field_not_supported(errors, STR("spec.whenMissing"), when_missing, choices, ARRAY_SIZE(choices));
	}
}

static void refuse_change(
	const struct object *o, const struct object *old, const char *name, const char *path, struct field_errors *errors)
{
	const struct json *now = json_gets(object_spec(o), name);
	if (!json_equal(now, json_gets(object_spec(old), name))) {
		field_invalid(errors, str_of(path), now, "field is immutable");
	}
}

static void dependent_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	refuse_change(o, old, "providers", is_beta(o) ? "spec.providerName" : "spec.providers", errors);
	refuse_change(o, old, "whenMissing", "spec.whenMissing", errors);
}

static void dependent_validate_status(const struct object *o, const struct object *old _unused_, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const phases[] = {"Broken", "Implemented", "Pending"};
	struct str phase = member_text(object_status(o), "phase");
	bool is_known = phase.n == 0;
	for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
		is_known |= str_is(phase, phases[i]);
	}
	if (!is_known) {
		field_not_supported(errors, STR("status.phase"), phase, phases, ARRAY_SIZE(phases));
	}
	validate_conditions(STR("status.conditions"), json_gets(object_status(o), "conditions"), errors);
}

/* ---- columns of Dependents ---- */

static void write_providers(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	struct reference all[REFERENCES_MAX];
	size_t n = references(o, all);
	struct buf text;
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < n; i++) {
		bool is_provider = all[i].field == &reference_fields[0];
		buf_printf(&text, "%s%s" STR_FMT, i ? "," : "", is_provider ? "" : "controllerrevision/", STR_ARG(all[i].name));
	}
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

static void write_phase(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	json_encode_string(out, meta_is_deleting(&o->meta) ? STR("Terminating") : member_text(object_status(o), "phase"));
}

static const struct column dependent_columns[] = {
	COLUMN_NAME,
	{"Providers", "string", "", "The objects that it needs. It cannot be changed.", 0, write_providers, false},
	{"Phase", "string", "", "What became of it: Pending, Implemented, Broken, or Terminating.", 0, write_phase, false},
	COLUMN_AGE,
};

static const struct subresource dependent_subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, dependent_validate_status, resets_spec, false, false,
		NULL},
};

static const struct version dependent_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.Dependent"},
	{.group = "annals.dev",
		.name = "v1beta1",
		.definition = "dev.annals.v1beta1.Dependent",
		.deprecation = "annals.dev/v1beta1 Dependent is deprecated; use annals.dev/v1 Dependent",
		.type = &beta_type,
		.from_hub = beta_from_hub,
		.to_hub = beta_to_hub},
};

static struct kind dependent = {
	.kind = "Dependent",
	.list_kind = "DependentList",
	.resource = "dependents",
	.singular = "dependent",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = dependent_versions,
	.n_versions = ARRAY_SIZE(dependent_versions),
	.type = &dependent_type,
	.doc = "Needs the objects it names.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.prepare_create = dependent_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = dependent_validate,
	.validate_update = dependent_validate_update,
	.columns = dependent_columns,
	.n_columns = ARRAY_SIZE(dependent_columns),
	.subresources = dependent_subresources,
	.n_subresources = ARRAY_SIZE(dependent_subresources),
	.reference_fields = reference_fields,
	.references = references,
	.needs_references = needs_references,
};
KIND_REGISTER(dependent)
