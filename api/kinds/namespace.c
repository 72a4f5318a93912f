/* Namespace: the scope of names. One that is deleted stays, Terminating, until what is in it is gone and spec.finalizers is empty. */
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"

static const struct type finalizer_type = {.kind = TYPE_STRING, .go_type = "v1.FinalizerName"};
static const struct type finalizers_type = {.kind = TYPE_LIST, .elem = &finalizer_type};
static const struct type phase_type = {.kind = TYPE_STRING, .go_type = "v1.NamespacePhase"};
static const struct type condition_type_type = {.kind = TYPE_STRING, .go_type = "v1.NamespaceConditionType"};
static const struct type condition_status_type = {.kind = TYPE_STRING, .go_type = "v1.ConditionStatus"};

static const struct field condition_fields[] = {
	{"type", &condition_type_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "What was observed.", NULL, NULL},
	{"status", &condition_status_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
		"Whether it holds: True, False or Unknown.", NULL, NULL},
	{"lastTransitionTime", &type_time, FIELD_ALWAYS | FIELD_NUMBER(4), "When the status last changed.", NULL, NULL},
	{"reason", &type_string, FIELD_NUMBER(5), "Why, as one word for programs.", NULL, NULL},
	{"message", &type_string, FIELD_NUMBER(6), "Why, as a sentence for people.", NULL, NULL},
	{0},
};

static const struct type condition_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.NamespaceCondition",
	.go_type = "v1.NamespaceCondition",
	.doc = "One thing that was observed about a namespace.",
	.fields = condition_fields,
};

static const struct type conditions_type = {
	.kind = TYPE_LIST,
	.elem = &condition_type,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"type", NULL},
};

static const struct field spec_fields[] = {
	{"finalizers", &finalizers_type, FIELD_NUMBER(1),
		"Who must agree before the namespace is removed; changed through finalize only.", NULL, NULL},
	{0},
};

static const struct type spec_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.NamespaceSpec",
	.go_type = "v1.NamespaceSpec",
	.doc = "What keeps a namespace.",
	.fields = spec_fields,
};

static const struct field status_fields[] = {
	{"phase", &phase_type, FIELD_NUMBER(1), "Active, or Terminating once deletion was asked for.", NULL, NULL},
	{"conditions", &conditions_type, FIELD_PATCH_MERGE | FIELD_NUMBER(2),
		"What was observed while the namespace was being emptied.", "type", NULL},
	{0},
};

static const struct type status_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.NamespaceStatus",
	.go_type = "v1.NamespaceStatus",
	.doc = "Where a namespace is in its life.",
	.fields = status_fields,
};

static const struct field namespace_fields[] = {
	OBJECT_FIELDS,
	{"spec", &spec_type, FIELD_ALWAYS | FIELD_NUMBER(2), "What keeps the namespace.", NULL, NULL},
	{"status", &status_type, FIELD_ALWAYS | FIELD_NUMBER(3), "Where the namespace is in its life.", NULL, NULL},
	{0},
};

static const struct type namespace_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.Namespace",
	.go_type = "v1.Namespace",
	.doc = "A scope for names: objects in different namespaces may have the same name, and go with their namespace.",
	.fields = namespace_fields,
};

static const struct json *spec_finalizers(const struct object *o)
{
	return json_gets(json_gets(o->fields, "spec"), "finalizers");
}

static struct str phase(const struct object *o)
{
	return json_text(json_gets(json_gets(o->fields, "status"), "phase"));
}

static void set_phase(struct object *o, struct arena *a, struct str phase_name)
{
	const struct json *old = json_gets(o->fields, "status");
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, phase_name)); /* in the order of the schema */
	for (uint32_t i = 0; i < old->n; i++) {
		if (!str_is(old->members[i].name, "phase")) {
			json_add(a, status, old->members[i].name, old->members[i].value);
		}
	}
	json_set(a, o->fields, STR("status"), status);
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

/* So that selectors of namespaces can mean one by its name; upstream sets it on every write,
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

static void prepare_create(struct object *o, struct arena *a)
{
	label_with_name(o, a);
	struct json *status = json_object(a);
	json_add(a, status, STR("phase"), json_string(a, STR("Active")));
	json_set(a, o->fields, STR("status"), status);

	const struct json *given = spec_finalizers(o);
	/* Removed by the namespace controller when all is gone: without it nothing would wait
	 * for the contents. */
	if (!has_finalizer(given, STR("kubernetes"))) {
		struct json *spec = json_copy(a, json_gets(o->fields, "spec"));
		struct json *finalizers = given ? json_copy(a, given) : json_array(a);
		json_append(a, finalizers, json_string(a, STR("kubernetes")));
		json_set(a, spec, STR("finalizers"), finalizers);
		json_set(a, o->fields, STR("spec"), spec);
	}
}

/* Who could change finalizers by a plain update would need no right to the subresource finalize. */
static void prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	json_set(a, o->fields, STR("spec"), json_gets(old->fields, "spec"));
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

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	(void)old;
	validate_meta(o->kind, &o->meta, errors);
	validate_finalizers(o, false, errors);
}

static void validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
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
	(void)old;
	validate_finalizers(o, true, errors);
}

static void merge_spec(struct object *stored, const struct object *sent, struct arena *a)
{
	stored->meta = sent->meta;
	json_set(a, stored->fields, STR("spec"), json_gets(sent->fields, "spec"));
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

static const struct column columns[] = {
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

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.Namespace", .standalone_only = true},
};

static struct kind namespaces = {
	.kind = "Namespace",
	.list_kind = "NamespaceList",
	.resource = "namespaces",
	.singular = "namespace",
	.short_names = (const char *const[]){"ns", NULL},
	.verbs = VERBS_ALL & ~VERB_DELETECOLLECTION,
	.name_rule = NAME_DNS_LABEL,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &namespace_type,
	.doc = "A scope for names.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.has_own_delete = true,
	.reset_fields = resets_status,
	.set_defaults = set_defaults,
	.prepare_create = prepare_create,
	.prepare_update = prepare_update,
	.validate = validate,
	.validate_update = validate_update,
	.keep_on_delete = keep_on_delete,
	.may_remove = may_remove,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(namespaces)
