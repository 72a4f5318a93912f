/* ControllerRevision: one state of a controller's object, kept for history. `data` never changes once written (an admission rule). */
#include "api/rules/validate.h"

static const struct field revision_fields[] = {
	OBJECT_FIELDS,
	{"data", &type_raw, FIELD_ALWAYS | FIELD_NUMBER(2), "The state: any JSON object. It cannot be changed.", NULL, NULL},
	{"revision", &type_int64, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
		"The number of the state: the highest number is the newest state. It is 0 or more, and can be changed.", NULL,
		NULL},
	{0},
};

static const struct type revision_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.apps.v1.ControllerRevision",
	.go_type = "v1.ControllerRevision",
	.doc = "One state of a controller's object, kept for history: the state (data) and the order in which it came "
	       "(revision). The data cannot be changed once it is written. To roll back, write the data into the object again.",
	.fields = revision_fields,
};

/* Who makes it says so at its birth, once for ever. */
static void protect(struct object *o, struct arena *a)
{
	if (str_is(json_text(json_gets(o->meta.labels, "annals.dev/protect")), "true")) {
		meta_add_finalizer(&o->meta, a, FINALIZER_PROTECTION);
	}
}

/* Of one without a controller there is no history to be in: numbers count among one owner's
 * revisions. */
static bool find_place(const struct object *o, struct history_place *ret)
{
	struct owner_reference owner;

	if (!meta_controller(&o->meta, &owner)) {
		return false;
	}
	ret->owner = owner.uid;
	ret->number = 0;
	json_to_int64(json_gets(o->fields, "revision"), &ret->number);
	return true;
}

static void validate_revision(const struct object *o, struct field_errors *errors)
{
	const struct json *revision = json_gets(o->fields, "revision");
	int64_t n;
	if (json_to_int64(revision, &n) && n < 0) {
		field_invalid(errors, STR("revision"), revision, "must be greater than or equal to 0");
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_revision(o, errors);

	const struct json *data = json_gets(o->fields, "data");
	if (!data || data->kind == JSON_NULL) {
		field_required(errors, STR("data"), "data is mandatory");
	} else if (data->kind != JSON_OBJECT) {
		field_required(errors, STR("data"), "data must be a valid JSON object");
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	(void)old;
	validate_meta(o->kind, &o->meta, errors);
	validate_revision(o, errors);
}

static void write_controller(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct owner_reference owner;
	struct str group, version;
	if (!meta_controller(&o->meta, &owner)) {
		json_encode_string(out, STR("<none>"));
		return;
	}
	group = str_cut(owner.api_version, '/', &group, &version) ? group : STR("");
	column_write_object(owner.kind, group, owner.name, out);
}

static void write_revision(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode(out, json_gets(o->fields, "revision"));
}

static void write_size(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	struct buf data;
	buf_init(&data, TEXT_MAX);
	json_encode(&data, json_gets(o->fields, "data"));
	buf_add_int(out, (int64_t)data.n);
	buf_done(&data);
}

/* upstream declares the number a string, too */
static const struct column columns[] = {
	COLUMN_NAME,
	{"Controller", "string", "", "Controller of the object", 0, write_controller, false},
	{"Revision", "string", "", "Revision indicates the revision of the state represented by Data.", 0, write_revision,
		false},
	{"Live", "string", "", "Whether a pod or a Dependent was made from it.", 0, column_write_live, true},
	{"Size", "integer", "", "Size of the data in bytes.", 0, write_size, true},
	COLUMN_AGE,
};

static struct str select_revision(const struct object *o, struct arena *a)
{
	(void)a;
	return json_text(json_gets(o->fields, "revision"));
}

static struct str select_controller_uid(const struct object *o, struct arena *a)
{
	(void)a;
	struct owner_reference owner;
	return meta_controller(&o->meta, &owner) ? owner.uid : (struct str){0};
}

static struct str select_controller_name(const struct object *o, struct arena *a)
{
	(void)a;
	struct owner_reference owner;
	return meta_controller(&o->meta, &owner) ? owner.name : (struct str){0};
}

static struct str data_text(const struct object *o, const char *name)
{
	const struct json *v = json_gets(json_gets(o->fields, "data"), name);
	return json_is(v, JSON_STRING) ? json_text(v) : (struct str){0};
}

static struct str select_data_api_version(const struct object *o, struct arena *a)
{
	(void)a;
	return data_text(o, "apiVersion");
}

static struct str select_data_kind(const struct object *o, struct arena *a)
{
	(void)a;
	return data_text(o, "kind");
}

static const struct selectable_field selectable[] = {
	{"revision", select_revision, true},
	{"controller.uid", select_controller_uid, true},
	{"controller.name", select_controller_name, true},
	{"data.apiVersion", select_data_api_version, true},
	{"data.kind", select_data_kind, true},
};

static const struct subresource subresources[] = {
	{.name = "diff", .verbs = VERB_GET, .annals_only = true, .is_diff = true},
};

static const struct door doors[] = {
	{.group = "annals.dev", .version = "v1", .definition = "dev.annals.v1.ControllerRevision"},
	{.group = "annals.dev",
		.version = "v1beta1",
		.definition = "dev.annals.v1beta1.ControllerRevision",
		.deprecation = "annals.dev/v1beta1 ControllerRevision is deprecated; use annals.dev/v1 ControllerRevision"},
	{.group = "apps", .version = "v1", .definition = "io.k8s.api.apps.v1.ControllerRevision", .standalone_only = true},
};

static struct kind controllerrevision = {
	.kind = "ControllerRevision",
	.list_kind = "ControllerRevisionList",
	.resource = "controllerrevisions",
	.singular = "controllerrevision",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &revision_type,
	.doc = "One state of a controller's object, kept for history.",
	.unconditional_update = true,
	.keeps_generation = true,
	.prepare_create = protect,
	.retired_versions = (const char *const[]){"apps/v1beta1", "apps/v1beta2", NULL},
	.history = find_place,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(controllerrevision)
