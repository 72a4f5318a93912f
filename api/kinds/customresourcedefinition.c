/* CustomResourceDefinition: an object that describes a kind, which is served from then on
 * (api/custom). Only a standalone server has them; behind a kube-apiserver they are that server's. */
#include "api/custom/custom.h"
#include "api/custom/definition.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/schema/crd.h"
#include "base/clock.h"

#define END                                     \
	{                                       \
		NULL, NULL, 0, NULL, NULL, NULL \
	}

static const struct type type_resource_scope = {.kind = TYPE_STRING, .go_type = "v1.ResourceScope"};

static const struct type type_names = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames",
	.go_type = "v1.CustomResourceDefinitionNames",
	.doc = "The names under which a kind is known.",
	.fields =
		(const struct field[]){
			{"plural", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The resource, as paths and rules have it: plural, in lower case.", NULL, NULL},
			{"singular", &type_string, 0, "The singular of the resource. Absent: the kind in lower case.", NULL,
				NULL},
			{"shortNames", &type_string_list, 0, "Short names of the resource, for people at a command line.", NULL,
				NULL},
			{"kind", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The kind of the objects, as they name it.",
				NULL, NULL},
			{"listKind", &type_string, 0, "The kind of their lists. Absent: the kind with List behind it.", NULL,
				NULL},
			{"categories", &type_string_list, 0, "Groups of resources that contain this one, such as all.", NULL,
				NULL},
			END,
		},
};

static const struct type type_nothing = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceSubresourceStatus",
	.fields = (const struct field[]){END},
};

static const struct type type_scale = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceSubresourceScale",
	.fields =
		(const struct field[]){
			{"specReplicasPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The path of the wanted number, such as .spec.replicas.", NULL, NULL},
			{"statusReplicasPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The path of the present number, such as .status.replicas.", NULL, NULL},
			{"labelSelectorPath", &type_string, FIELD_KEEP_EMPTY,
				"The path of a label selector as text. Absent: there is none.", NULL, NULL},
			END,
		},
};

static const struct type type_subresources = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceSubresources",
	.fields =
		(const struct field[]){
			{"status", &type_nothing, FIELD_KEEP_EMPTY,
				"Objects have the subresource status: others may not write their status.", NULL, NULL},
			{"scale", &type_scale, FIELD_KEEP_EMPTY, "Objects have the subresource scale.", NULL, NULL},
			END,
		},
};

static const struct type type_column = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceColumnDefinition",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The heading.", NULL, NULL},
			{"type", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "One of integer, number, string, boolean, date.",
				NULL, NULL},
			{"format", &type_string, 0, "A hint for clients, such as int32 or name.", NULL, NULL},
			{"description", &type_string, 0, "What the column shows.", NULL, NULL},
			{"priority", &type_int32, 0, "0: always shown; more: with -o wide.", NULL, NULL},
			{"jsonPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The path of the value within an object.",
				NULL, NULL},
			END,
		},
};
static const struct type list_columns = {.kind = TYPE_LIST, .elem = &type_column};

static const struct type type_selectable = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.SelectableField",
	.fields =
		(const struct field[]){
			{"jsonPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The path of the field, such as .spec.colour.", NULL, NULL},
			END,
		},
};
static const struct type list_selectable = {.kind = TYPE_LIST, .elem = &type_selectable};

static const struct type type_validation = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceValidation",
	.fields =
		(const struct field[]){
			{"openAPIV3Schema", &type_raw, FIELD_KEEP_EMPTY, "The structural schema of the objects.", NULL, NULL},
			END,
		},
};

static const struct type type_version = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion",
	.go_type = "v1.CustomResourceDefinitionVersion",
	.doc = "A version of the API through which the objects are read and written.",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The name, as paths have it: v1, v2beta1.", NULL,
				NULL},
			{"served", &type_bool, FIELD_ALWAYS | FIELD_MANDATORY, "The version can be used.", NULL, NULL},
			{"storage", &type_bool, FIELD_ALWAYS | FIELD_MANDATORY,
				"Objects are stored in this version. Exactly one version says so.", NULL, NULL},
			{"deprecated", &type_bool, 0, "Requests through this version get a Warning.", NULL, NULL},
			{"deprecationWarning", &type_string, FIELD_KEEP_EMPTY,
				"The text of that Warning. Absent: one that names the version.", NULL, NULL},
			{"schema", &type_validation, FIELD_KEEP_EMPTY, "What objects may contain.", NULL, NULL},
			{"subresources", &type_subresources, FIELD_KEEP_EMPTY, "Which subresources objects have.", NULL, NULL},
			{"additionalPrinterColumns", &list_columns, 0, "The columns of tables. Absent: the age.", NULL, NULL},
			{"selectableFields", &list_selectable, 0, "Fields that field selectors may name.", NULL, NULL},
			END,
		},
};
static const struct type list_versions = {.kind = TYPE_LIST, .elem = &type_version};

static const struct type type_service_reference = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.ServiceReference",
	.fields =
		(const struct field[]){
			{"namespace", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The namespace of the service.", NULL,
				NULL},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The name of the service.", NULL, NULL},
			{"path", &type_string, FIELD_KEEP_EMPTY, "The path that is called.", NULL, NULL},
			{"port", &type_int32, FIELD_KEEP_EMPTY, "The port. Absent: 443.", NULL, NULL},
			END,
		},
};

static const struct type type_client_config = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.WebhookClientConfig",
	.fields =
		(const struct field[]){
			{"url", &type_string, FIELD_KEEP_EMPTY, "Where the webhook is.", NULL, NULL},
			{"service", &type_service_reference, FIELD_KEEP_EMPTY, "The service that has it.", NULL, NULL},
			{"caBundle", &type_bytes, 0, "The authorities that its certificate is checked with.", NULL, NULL},
			END,
		},
};

static const struct type type_webhook = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.WebhookConversion",
	.fields =
		(const struct field[]){
			{"clientConfig", &type_client_config, FIELD_KEEP_EMPTY, "How the webhook is called.", NULL, NULL},
			{"conversionReviewVersions", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY,
				"The versions of ConversionReview that it understands.", NULL, NULL},
			END,
		},
};

static const struct type type_conversion = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceConversion",
	.fields =
		(const struct field[]){
			{"strategy", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"None: versions differ in apiVersion alone. Webhook is refused by this server.", NULL, NULL},
			{"webhook", &type_webhook, FIELD_KEEP_EMPTY, "The webhook that converts.", NULL, NULL},
			END,
		},
};

static const struct type type_spec = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec",
	.go_type = "v1.CustomResourceDefinitionSpec",
	.doc = "The kind that the definition describes.",
	.fields =
		(const struct field[]){
			{"group", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The API group of the kind. It has a dot, and cannot be changed.", NULL, NULL},
			{"names", &type_names, FIELD_ALWAYS | FIELD_MANDATORY, "The names of the kind.", NULL, NULL},
			{"scope", &type_resource_scope, FIELD_ALWAYS | FIELD_MANDATORY, "Namespaced or Cluster.", NULL, NULL},
			{"versions", &list_versions, FIELD_ALWAYS | FIELD_MANDATORY, "The versions of the API.", NULL, NULL},
			{"conversion", &type_conversion, FIELD_KEEP_EMPTY,
				"How objects of one version become those of another.", NULL, NULL},
			{"preserveUnknownFields", &type_bool, 0, "Must be false or absent.", NULL, NULL},
			END,
		},
};

static const struct type type_condition_of_definition = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition",
	.go_type = "v1.CustomResourceDefinitionCondition",
	.doc = "A fact about a definition.",
	.fields =
		(const struct field[]){
			{"type", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"NamesAccepted, Established, Terminating, NonStructuralSchema, KubernetesAPIApprovalPolicyConformant.",
				NULL, NULL},
			{"status", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "True, False or Unknown.", NULL, NULL},
			{"lastTransitionTime", &type_time, 0, "When the status changed.", NULL, NULL},
			{"reason", &type_string, 0, "Why, in one word.", NULL, NULL},
			{"message", &type_string, 0, "Why, for people.", NULL, NULL},
			END,
		},
};
static const struct type list_definition_conditions = {
	.kind = TYPE_LIST,
	.elem = &type_condition_of_definition,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"type", NULL},
};

static const struct type type_status_of_definition = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus",
	.go_type = "v1.CustomResourceDefinitionStatus",
	.doc = "What has become of a definition.",
	.fields =
		(const struct field[]){
			{"conditions", &list_definition_conditions, FIELD_ALWAYS | FIELD_KEEP_EMPTY,
				"Facts: are the names accepted, is the kind served?", NULL, NULL},
			{"acceptedNames", &type_names, FIELD_ALWAYS, "The names that the kind is served under.", NULL, NULL},
			{"storedVersions", &type_string_list, FIELD_ALWAYS | FIELD_KEEP_EMPTY,
				"The versions that objects may be stored in.", NULL, NULL},
			END,
		},
};

static const struct type type_definition = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
	.go_type = "v1.CustomResourceDefinition",
	.doc = "A kind that the server serves beside its own.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_spec, FIELD_ALWAYS | FIELD_MANDATORY, "The kind.", NULL, NULL},
			{"status", &type_status_of_definition, FIELD_ALWAYS, "What has become of the definition.", NULL, NULL},
			END,
		},
};

static struct json *in_type_order(const struct type *type, const struct json *object, struct arena *a)
{
	struct json *made = json_object(a);

	for (const struct field *f = type->fields; f->name; f++) {
		struct json *value = json_gets(object, f->name);
		if (value) {
			json_add(a, made, str_of(f->name), value);
		}
	}
	return made;
}

/* Defaults come at the end of what was sent. Their places are those that another decoding would give them. */
static void definition_set_defaults(struct object *o, struct arena *a)
{
	crd_set_defaults(o, a);
	const struct json *spec = object_spec(o);
	if (json_is(spec, JSON_OBJECT)) {
		struct json *ordered = in_type_order(&type_spec, spec, a);
		json_set(a, ordered, STR("names"), in_type_order(&type_names, json_gets(spec, "names"), a));
		object_set_spec(o, ordered, a);
	}
}

/* Limits of this server, beside upstream's rules. */
static void validate_limits(const struct object *o, struct field_errors *errors)
{
	const struct json *spec = object_spec(o), *versions = json_gets(spec, "versions");
	static const char *const strategies[] = {"None"};
	struct str strategy = member_text(json_gets(spec, "conversion"), "strategy");

	if (json_is(versions, JSON_ARRAY) && versions->n > KIND_VERSIONS_MAX) {
		field_too_many(errors, STR("spec.versions"), versions->n, KIND_VERSIONS_MAX);
	}
	if (errors->n == 0 && str_is(strategy, "Webhook")) {
		field_not_supported(errors, STR("spec.conversion.strategy"), strategy, strategies, ARRAY_SIZE(strategies));
	}
}

static void definition_validate(const struct object *o, struct field_errors *errors)
{
	crd_validate(o, errors);
	validate_limits(o, errors);
}

static void definition_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	crd_validate_update(o, old, errors);
	validate_limits(o, errors);
}

/* The definition stays until its objects are gone (storage/engine/definitions.h). */
static bool keep_on_delete(struct object *o, struct arena *a)
{
	char now[TIME_RFC3339_SIZE];

	if (!meta_is_deleting(&o->meta)) {
		time_format_rfc3339(now, clock_wall_s());
		meta_add_finalizer(&o->meta, a, STR(DEFINITION_FINALIZER));
		definition_terminate(o, arena_dup(a, str_of(now)), a);
	}
	return true;
}

static void write_created(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	json_encode_string(out, o->meta.creation_timestamp);
}

static const struct column definition_columns[] = {
	COLUMN_NAME,
	{"Created At", "date", "", COLUMN_AGE_TEXT, 0, write_created, false},
};

static const struct subresource definition_subresources[] = {
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, crd_validate_status, resets_spec, false, false, NULL},
};

static const struct version definition_versions[] = {
	{.group = DEFINITIONS_GROUP,
		.name = "v1",
		.definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
		.standalone_only = true},
};

static struct kind customresourcedefinitions = {
	.kind = "CustomResourceDefinition",
	.list_kind = "CustomResourceDefinitionList",
	.resource = DEFINITIONS_RESOURCE,
	.singular = "customresourcedefinition",
	.short_names = (const char *const[]){"crd", "crds", NULL},
	.categories = (const char *const[]){"api-extensions", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = definition_versions,
	.n_versions = ARRAY_SIZE(definition_versions),
	.retired_versions = (const char *const[]){DEFINITIONS_GROUP "/v1beta1", NULL},
	.type = &type_definition,
	.doc = "A kind that the server serves beside its own.",
	.reset_fields = resets_status,
	.set_defaults = definition_set_defaults,
	.prepare_create = crd_prepare_create,
	.prepare_update = crd_prepare_update,
	.bumps_generation = bumps_generation_of_spec,
	.validate = definition_validate,
	.validate_update = definition_validate_update,
	.keep_on_delete = keep_on_delete,
	.columns = definition_columns,
	.n_columns = ARRAY_SIZE(definition_columns),
	.subresources = definition_subresources,
	.n_subresources = ARRAY_SIZE(definition_subresources),
};
KIND_REGISTER(customresourcedefinitions)
