/* ServiceAccount: a name under which programs act. */
#include "api/model/object_reference.h"
#include "api/pod/pod_schema.h"
#include "api/rules/validate.h"

static const struct type secrets_type = {
	.kind = TYPE_LIST,
	.elem = &type_object_reference,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"name", NULL},
};

static const struct type image_pull_secrets_type = {.kind = TYPE_LIST, .elem = &type_local_object_reference};

static const struct field account_fields[] = {
	OBJECT_FIELDS,
	{"secrets", &secrets_type, FIELD_PATCH_MERGE | FIELD_NUMBER(2),
		"Secrets that pods of this account may mount, where they are limited to those; of each only the name is kept.",
		"name", NULL},
	{"imagePullSecrets", &image_pull_secrets_type, FIELD_NUMBER(3), "Secrets with which images of such pods are pulled.",
		NULL, NULL},
	{"automountServiceAccountToken", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
		"Whether such pods get a token of the account; each pod may say otherwise.", NULL, NULL},
	{0},
};

static const struct type account_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.ServiceAccount",
	.go_type = "v1.ServiceAccount",
	.doc = "A name under which programs act.",
	.fields = account_fields,
};

static struct json *name_alone(const struct json *reference, struct arena *a)
{
	struct json *kept = json_object(a), *name = json_gets(reference, "name");
	if (name) {
		json_add(a, kept, STR("name"), name);
	}
	return kept;
}

/* cleanSecretReferences: all but the name is dropped, as these secrets are always of the
 * account's own namespace. */
static void prepare_create(struct object *o, struct arena *a)
{
	const struct json *secrets = json_gets(o->fields, "secrets");
	if (!secrets) {
		return;
	}
	struct json *kept = json_array(a);
	for (uint32_t i = 0; i < secrets->n; i++) {
		json_append(a, kept, name_alone(secrets->items[i], a));
	}
	json_set(a, o->fields, STR("secrets"), kept);
}

static void prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	(void)old;
	prepare_create(o, a);
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	(void)old;
	validate_meta(o->kind, &o->meta, errors);
}

static bool limits_secrets(const struct object *o)
{
	return o && json_gets(o->meta.annotations, "kubernetes.io/enforce-mountable-secrets");
}

static size_t warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	if (!limits_secrets(o) || limits_secrets(old)) {
		return 0;
	}
	ret[0] = STR("metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate "
		     "namespaces to "
		     "isolate access to mounted secrets");
	return 1;
}

static const struct column columns[] = {
	COLUMN_NAME,
	COLUMN_AGE,
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.ServiceAccount", .standalone_only = true},
};

static struct kind serviceaccounts = {
	.kind = "ServiceAccount",
	.list_kind = "ServiceAccountList",
	.resource = "serviceaccounts",
	.singular = "serviceaccount",
	.short_names = (const char *const[]){"sa", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &account_type,
	.doc = "A name under which programs act.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.prepare_create = prepare_create,
	.prepare_update = prepare_update,
	.validate_update = validate_update,
	.warn = warn,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(serviceaccounts)
