/* CustomResourceDefinition: an object that describes a kind, which is served from then on
 * (api/custom). Only a standalone server has them; behind a kube-apiserver they are that server's. */
#include "api/custom/custom.h"
#include "api/custom/declared.h"
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
			{"plural", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The resource, as paths and rules have it: plural, in lower case.", NULL, NULL},
			{"singular", &type_string, FIELD_NUMBER(2),
				"The singular of the resource. Absent: the kind in lower case.", NULL, NULL},
			{"shortNames", &type_string_list, FIELD_NUMBER(3),
				"Short names of the resource, for people at a command line.", NULL, NULL},
			{"kind", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(4),
				"The kind of the objects, as they name it.", NULL, NULL},
			{"listKind", &type_string, FIELD_NUMBER(5),
				"The kind of their lists. Absent: the kind with List behind it.", NULL, NULL},
			{"categories", &type_string_list, FIELD_NUMBER(6),
				"Groups of resources that contain this one, such as all.", NULL, NULL},
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
			{"specReplicasPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The path of the wanted number, such as .spec.replicas.", NULL, NULL},
			{"statusReplicasPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"The path of the present number, such as .status.replicas.", NULL, NULL},
			{"labelSelectorPath", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"The path of a label selector as text. Absent: there is none.", NULL, NULL},
			END,
		},
};

static const struct type type_subresources = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceSubresources",
	.fields =
		(const struct field[]){
			{"status", &type_nothing, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"Objects have the subresource status: others may not write their status.", NULL, NULL},
			{"scale", &type_scale, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Objects have the subresource scale.", NULL,
				NULL},
			END,
		},
};

static const struct type type_column = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceColumnDefinition",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The heading.", NULL, NULL},
			{"type", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"One of integer, number, string, boolean, date.", NULL, NULL},
			{"format", &type_string, FIELD_NUMBER(3), "A hint for clients, such as int32 or name.", NULL, NULL},
			{"description", &type_string, FIELD_NUMBER(4), "What the column shows.", NULL, NULL},
			{"priority", &type_int32, FIELD_NUMBER(5), "0: always shown; more: with -o wide.", NULL, NULL},
			{"jsonPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(6),
				"The path of the value within an object.", NULL, NULL},
			END,
		},
};
static const struct type list_columns = {.kind = TYPE_LIST, .elem = &type_column};

static const struct type type_selectable = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.SelectableField",
	.fields =
		(const struct field[]){
			{"jsonPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The path of the field, such as .spec.colour.", NULL, NULL},
			END,
		},
};
static const struct type list_selectable = {.kind = TYPE_LIST, .elem = &type_selectable};

/* Upstream's JSONSchemaProps, as protobuf has it: in JSON a schema is kept as it was written. */

#define PROP(name, type, flags)                     \
	{                                           \
		name, type, (flags), "", NULL, NULL \
	}
#define POINTER(name, type, number) PROP(name, type, FIELD_KEEP_EMPTY | FIELD_NUMBER(number))
#define VALUE(name, type, number) PROP(name, type, FIELD_NUMBER(number))
#define CHOICE(of, ...)                                                                                      \
	static const struct type of##_message = {                                                            \
		.kind = TYPE_OBJECT, .is_choice = true, .fields = (const struct field[]){__VA_ARGS__, END}}; \
	static const struct type of = {.kind = TYPE_RAW, .message = &of##_message}

static const struct type type_props;
static const struct type type_schema = {
	.kind = TYPE_RAW,
	.definition = "io.k8s.apimachinery.pkg.runtime.RawExtension",
	.go_type = "runtime.RawExtension",
	.doc = "Any JSON, kept as it was first written.",
	.message = &type_props,
};
static const struct type type_number = {.kind = TYPE_DOUBLE};
static const struct type list_values = {.kind = TYPE_LIST, .elem = &type_raw};
static const struct type list_schemas = {.kind = TYPE_LIST, .elem = &type_schema};
static const struct type map_schemas = {.kind = TYPE_MAP, .elem = &type_schema};
CHOICE(type_schema_or_bool, VALUE("allows", &type_bool, 1), POINTER("schema", &type_schema, 2));
CHOICE(type_schema_or_schemas, POINTER("schema", &type_schema, 1), VALUE("jSONSchemas", &list_schemas, 2));
CHOICE(type_schema_or_names, POINTER("schema", &type_schema, 1), VALUE("property", &type_string_list, 2));
static const struct type map_dependencies = {.kind = TYPE_MAP, .elem = &type_schema_or_names};

static const struct type type_documentation = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.ExternalDocumentation",
	.fields = (const struct field[]){VALUE("description", &type_string, 1), VALUE("url", &type_string, 2), END},
};

static const struct type type_validation_rule = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.ValidationRule",
	.fields =
		(const struct field[]){
			PROP("rule", &type_string, FIELD_ALWAYS | FIELD_NUMBER(1)),
			VALUE("message", &type_string, 2),
			VALUE("messageExpression", &type_string, 3),
			POINTER("reason", &type_string, 4),
			VALUE("fieldPath", &type_string, 5),
			POINTER("optionalOldSelf", &type_bool, 6),
			END,
		},
};
static const struct type list_validation_rules = {.kind = TYPE_LIST, .elem = &type_validation_rule};

static const struct type type_props = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.JSONSchemaProps",
	.fields =
		(const struct field[]){
			VALUE("id", &type_string, 1),
			VALUE("$schema", &type_string, 2),
			POINTER("$ref", &type_string, 3),
			VALUE("description", &type_string, 4),
			VALUE("type", &type_string, 5),
			VALUE("format", &type_string, 6),
			VALUE("title", &type_string, 7),
			POINTER("default", &type_raw, 8),
			POINTER("maximum", &type_number, 9),
			VALUE("exclusiveMaximum", &type_bool, 10),
			POINTER("minimum", &type_number, 11),
			VALUE("exclusiveMinimum", &type_bool, 12),
			POINTER("maxLength", &type_int64, 13),
			POINTER("minLength", &type_int64, 14),
			VALUE("pattern", &type_string, 15),
			POINTER("maxItems", &type_int64, 16),
			POINTER("minItems", &type_int64, 17),
			VALUE("uniqueItems", &type_bool, 18),
			POINTER("multipleOf", &type_number, 19),
			VALUE("enum", &list_values, 20),
			POINTER("maxProperties", &type_int64, 21),
			POINTER("minProperties", &type_int64, 22),
			VALUE("required", &type_string_list, 23),
			POINTER("items", &type_schema_or_schemas, 24),
			VALUE("allOf", &list_schemas, 25),
			VALUE("oneOf", &list_schemas, 26),
			VALUE("anyOf", &list_schemas, 27),
			POINTER("not", &type_schema, 28),
			VALUE("properties", &map_schemas, 29),
			POINTER("additionalProperties", &type_schema_or_bool, 30),
			VALUE("patternProperties", &map_schemas, 31),
			VALUE("dependencies", &map_dependencies, 32),
			POINTER("additionalItems", &type_schema_or_bool, 33),
			VALUE("definitions", &map_schemas, 34),
			POINTER("externalDocs", &type_documentation, 35),
			POINTER("example", &type_raw, 36),
			VALUE("nullable", &type_bool, 37),
			POINTER("x-kubernetes-preserve-unknown-fields", &type_bool, 38),
			VALUE("x-kubernetes-embedded-resource", &type_bool, 39),
			VALUE("x-kubernetes-int-or-string", &type_bool, 40),
			VALUE("x-kubernetes-list-map-keys", &type_string_list, 41),
			POINTER("x-kubernetes-list-type", &type_string, 42),
			POINTER("x-kubernetes-map-type", &type_string, 43),
			VALUE("x-kubernetes-validations", &list_validation_rules, 44),
			END,
		},
};

static const struct type type_validation = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceValidation",
	.fields =
		(const struct field[]){
			{"openAPIV3Schema", &type_schema, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"The structural schema of the objects.", NULL, NULL},
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
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The name, as paths have it: v1, v2beta1.", NULL, NULL},
			{"served", &type_bool, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The version can be used.",
				NULL, NULL},
			{"storage", &type_bool, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"Objects are stored in this version. Exactly one version says so.", NULL, NULL},
			{"deprecated", &type_bool, FIELD_NUMBER(7), "Requests through this version get a Warning.", NULL, NULL},
			{"deprecationWarning", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(8),
				"The text of that Warning. Absent: one that names the version.", NULL, NULL},
			{"schema", &type_validation, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "What objects may contain.", NULL,
				NULL},
			{"subresources", &type_subresources, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Which subresources objects have.", NULL, NULL},
			{"additionalPrinterColumns", &list_columns, FIELD_NUMBER(6), "The columns of tables. Absent: the age.",
				NULL, NULL},
			{"selectableFields", &list_selectable, FIELD_NUMBER(9), "Fields that field selectors may name.", NULL,
				NULL},
			END,
		},
};
static const struct type list_versions = {.kind = TYPE_LIST, .elem = &type_version};

static const struct type type_service_reference = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.ServiceReference",
	.fields =
		(const struct field[]){
			{"namespace", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The namespace of the service.", NULL, NULL},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The name of the service.",
				NULL, NULL},
			{"path", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "The path that is called.", NULL, NULL},
			{"port", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "The port. Absent: 443.", NULL, NULL},
			END,
		},
};

static const struct type type_client_config = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.WebhookClientConfig",
	.fields =
		(const struct field[]){
			{"url", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Where the webhook is.", NULL, NULL},
			{"service", &type_service_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "The service that has it.",
				NULL, NULL},
			{"caBundle", &type_bytes, FIELD_NUMBER(2), "The authorities that its certificate is checked with.",
				NULL, NULL},
			END,
		},
};

static const struct type type_webhook = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.WebhookConversion",
	.fields =
		(const struct field[]){
			{"clientConfig", &type_client_config, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "How the webhook is called.",
				NULL, NULL},
			{"conversionReviewVersions", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"The versions of ConversionReview that it understands.", NULL, NULL},
			END,
		},
};

static const struct type type_conversion = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.CustomResourceConversion",
	.fields =
		(const struct field[]){
			{"strategy", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"None: versions differ in apiVersion alone. Webhook: a webhook is asked for each other form.",
				NULL, NULL},
			{"webhook", &type_webhook, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "The webhook that converts.", NULL,
				NULL},
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
			{"group", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The API group of the kind. It has a dot, and cannot be changed.", NULL, NULL},
			{"names", &type_names, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "The names of the kind.", NULL,
				NULL},
			{"scope", &type_resource_scope, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(4),
				"Namespaced or Cluster.", NULL, NULL},
			{"versions", &list_versions, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(7),
				"The versions of the API.", NULL, NULL},
			{"conversion", &type_conversion, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),
				"How objects of one version become those of another.", NULL, NULL},
			{"preserveUnknownFields", &type_bool, FIELD_NUMBER(10), "Must be false or absent.", NULL, NULL},
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
			{"type", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"NamesAccepted, Established, Terminating, NonStructuralSchema, KubernetesAPIApprovalPolicyConformant.",
				NULL, NULL},
			{"status", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "True, False or Unknown.",
				NULL, NULL},
			{"lastTransitionTime", &type_time, FIELD_BY_VALUE | FIELD_NUMBER(3), "When the status changed.", NULL,
				NULL},
			{"reason", &type_string, FIELD_NUMBER(4), "Why, in one word.", NULL, NULL},
			{"message", &type_string, FIELD_NUMBER(5), "Why, for people.", NULL, NULL},
			{"observedGeneration", &type_int64, FIELD_NUMBER(6),
				"The generation that the condition is about. This server does not set it.", NULL, NULL},
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
			{"conditions", &list_definition_conditions, FIELD_ALWAYS | FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"Facts: are the names accepted, is the kind served?", NULL, NULL},
			{"acceptedNames", &type_names, FIELD_ALWAYS | FIELD_NUMBER(2),
				"The names that the kind is served under.", NULL, NULL},
			{"storedVersions", &type_string_list, FIELD_ALWAYS | FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"The versions that objects may be stored in.", NULL, NULL},
			{"observedGeneration", &type_int64, FIELD_NUMBER(4),
				"The generation that the status is about. This server does not set it.", NULL, NULL},
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
			{"spec", &type_spec, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The kind.", NULL, NULL},
			{"status", &type_status_of_definition, FIELD_ALWAYS | FIELD_NUMBER(3),
				"What has become of the definition.", NULL, NULL},
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

	if (json_is(versions, JSON_ARRAY) && versions->n > KIND_VERSIONS_MAX) {
		field_too_many(errors, STR("spec.versions"), versions->n, KIND_VERSIONS_MAX);
	}
}

static void definition_validate(const struct object *o, struct field_errors *errors)
{
	crd_validate(o, errors);
	validate_limits(o, errors);
	declared_validate(o, NULL, errors);
}

static void definition_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	crd_validate_update(o, old, errors);
	validate_limits(o, errors);
	declared_validate(o, old, errors);
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
