/* Namespace and ServiceAccount: the scope of names, and a name in it under which programs act. */
#include "api/model/schema.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"

#include <assert.h>

/* Namespace: the scope of names. A deleted one stays, Terminating, until it holds no objects and
 * spec.finalizers is empty. */

static const struct json *spec_finalizers(const struct object *o)
{
	return json_gets(object_spec(o), "finalizers");
}

static struct str phase(const struct object *o)
{
	return json_text(json_gets(object_status(o), "phase"));
}

static void set_phase(struct object *o, struct arena *a, struct str phase_name)
{
	const struct json *old = object_status(o);
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, phase_name)); /* in the order of the schema */
	for (uint32_t i = 0; i < old->n; i++) {
		if (!str_is(old->members[i].name, "phase")) {
			json_add(a, status, old->members[i].name, old->members[i].value);
		}
	}
	object_set_status(o, status, a);
}

/* Keys of labels are sorted. */
static void set_label(struct object *o, struct arena *a, struct str key, struct str value)
{
	struct json *labels = o->meta.labels ? json_copy(a, o->meta.labels) : json_object(a), *sorted = json_object(a);
	uint32_t i = 0;
	for (; i < labels->n && str_cmp(labels->members[i].name, key) < 0; i++) {
		json_add(a, sorted, labels->members[i].name, labels->members[i].value);
	}
	json_add(a, sorted, key, json_string(a, value));
	for (; i < labels->n; i++) {
		if (!str_eq(labels->members[i].name, key)) {
			json_add(a, sorted, labels->members[i].name, labels->members[i].value);
		}
	}
	o->meta.labels = sorted;
}

/* The label lets selectors of namespaces select one by its name; upstream sets it on every write,
 * too. */
static void label_with_name(struct object *o, struct arena *a)
{
	if (o->meta.name.n) {
		set_label(o, a, STR("kubernetes.io/metadata.name"), o->meta.name);
	}
}

static void set_defaults(struct object *o, struct arena *a)
{
	label_with_name(o, a);
	if (!phase(o).n) {
		set_phase(o, a, STR("Active"));
	}
}

static bool has_finalizer(const struct json *finalizers, struct str name)
{
	for (uint32_t i = 0; finalizers && i < finalizers->n; i++) {
		if (str_eq(json_text(finalizers->items[i]), name)) {
			return true;
		}
	}
	return false;
}

static void namespace_prepare_create(struct object *o, struct arena *a)
{
	label_with_name(o, a);
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, STR("Active")));
	object_set_status(o, status, a);

	const struct json *given = spec_finalizers(o);
	/* Removed by the namespace controller when all is gone: without it nothing would wait
	 * for the contents. */
	if (!has_finalizer(given, STR("kubernetes"))) {
		struct json *spec = json_copy(a, object_spec(o));
		struct json *finalizers = given ? json_copy(a, given) : json_array(a);
		json_append(a, finalizers, json_string(a, STR("kubernetes")));
		json_set(a, spec, STR("finalizers"), finalizers);
		object_set_spec(o, spec, a);
	}
}

/* Keeps spec: otherwise a plain update could change finalizers without the right to the subresource
 * finalize. */
static void namespace_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	object_set_spec(o, object_spec(old), a);
	keep_status(o, old, a);
}

static void validate_finalizers(const struct object *o, bool by_index, struct field_errors *errors)
{
	const struct json *finalizers = spec_finalizers(o);
	for (uint32_t i = 0; finalizers && i < finalizers->n; i++) {
		struct str path = by_index ? field_index(errors->arena, STR("spec.finalizers"), i) : STR("spec.finalizers");
		validate_finalizer(path, path, json_text(finalizers->items[i]), errors);
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_finalizers(o, false, errors);
}

static void namespace_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	(void)old;
	validate_meta(o->kind, &o->meta, errors);
	validate_finalizers(o, false, errors);
}

static void validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	(void)old;
	bool is_deleting = meta_is_deleting(&o->meta);
	if (!str_is(phase(o), is_deleting ? "Terminating" : "Active")) {
		/* The capital letter is upstream's. */
		field_invalid_str(errors, STR("status.Phase"), phase(o), "may only be '%s' if `deletionTimestamp` is %s",
			is_deleting ? "Terminating" : "Active", is_deleting ? "not empty" : "empty");
	}
}

static void validate_finalize(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	(void)old;
	validate_finalizers(o, true, errors);
}

static void merge_spec(struct object *stored, const struct object *sent, struct arena *a)
{
	assert(stored->kind == sent->kind);
	stored->meta = sent->meta;
	object_set_spec(stored, object_spec(sent), a);
}

static bool has_spec_finalizers(const struct object *o)
{
	const struct json *finalizers = spec_finalizers(o);
	return finalizers && finalizers->n;
}

/* The first delete only says Terminating, even with nothing left to wait for; a later one removes. */
static bool keep_on_delete(struct object *o, struct arena *a)
{
	bool is_kept = !meta_is_deleting(&o->meta) || has_spec_finalizers(o);
	if (is_kept && !str_is(phase(o), "Terminating")) {
		set_phase(o, a, STR("Terminating"));
	}
	return is_kept;
}

static bool may_remove(const struct object *o)
{
	return !has_spec_finalizers(o);
}

static void write_status(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, phase(o));
}

static struct str select_phase(const struct object *o, struct arena *a)
{
	(void)a;
	return phase(o);
}

static const struct column namespace_columns[] = {
	COLUMN_NAME,
	{"Status", "string", "", "The status of the namespace", 0, write_status, false},
	COLUMN_AGE,
};

static const struct selectable_field selectable[] = {
	{"status.phase", select_phase, false},
};

static const struct subresource subresources[] = {
	{"finalize", VERB_UPDATE, merge_spec, validate_finalize, resets_status, false, false, NULL},
	{"status", VERB_GET | VERB_UPDATE | VERB_PATCH, merge_status, validate_status, resets_spec, false, false, NULL},
};

static const struct version namespace_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.Namespace", .standalone_only = true},
};

static struct kind namespaces = {
	.kind = "Namespace",
	.list_kind = "NamespaceList",
	.resource = "namespaces",
	.singular = "namespace",
	.short_names = (const char *const[]){"ns", NULL},
	.verbs = VERBS_ALL & ~VERB_DELETECOLLECTION,
	.name_rule = NAME_DNS_LABEL,
	.versions = namespace_versions,
	.n_versions = ARRAY_SIZE(namespace_versions),
	.type = &type_namespace,
	.doc = "A scope for names.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.has_own_delete = true,
	.reset_fields = resets_status,
	.set_defaults = set_defaults,
	.prepare_create = namespace_prepare_create,
	.prepare_update = namespace_prepare_update,
	.validate = validate,
	.validate_update = namespace_validate_update,
	.keep_on_delete = keep_on_delete,
	.may_remove = may_remove,
	.columns = namespace_columns,
	.n_columns = ARRAY_SIZE(namespace_columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(namespaces)

/* ServiceAccount: a name under which programs act. */

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
static void account_prepare_create(struct object *o, struct arena *a)
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

static void account_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	(void)old;
	account_prepare_create(o, a);
}

static void account_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	(void)old;
	validate_meta(o->kind, &o->meta, errors);
}

static bool limits_secrets(const struct object *o)
{
	return o && json_gets(o->meta.annotations, "kubernetes.io/enforce-mountable-secrets");
}

static size_t warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	assert(!old || o->kind == old->kind);
	if (!limits_secrets(o) || limits_secrets(old)) {
		return 0;
	}
	ret[0] = STR("metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate "
		     "namespaces to "
		     "isolate access to mounted secrets");
	return 1;
}

static const struct column account_columns[] = {
	COLUMN_NAME,
	COLUMN_AGE,
};

static const struct version account_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.ServiceAccount", .standalone_only = true},
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
	.versions = account_versions,
	.n_versions = ARRAY_SIZE(account_versions),
	.type = &type_service_account,
	.doc = "A name under which programs act.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.prepare_create = account_prepare_create,
	.prepare_update = account_prepare_update,
	.validate_update = account_validate_update,
	.warn = warn,
	.columns = account_columns,
	.n_columns = ARRAY_SIZE(account_columns),
};
KIND_REGISTER(serviceaccounts)
