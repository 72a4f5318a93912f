/* PodTemplate: what pods made from it are to be, kept by name. A StatefulSet's history may be carried by these. */
#include "api/model/kind.h"
#include "api/pod/pod_columns.h"
#include "api/pod/pod_defaults.h"
#include "api/pod/pod_validate.h"

static const struct field podtemplate_fields[] = {
	OBJECT_FIELDS,
	{"template", &type_pod_template_spec, FIELD_ALWAYS | FIELD_NUMBER(2), "What the pods are to be.", NULL, NULL},
	{0},
};

static const struct type podtemplate_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.PodTemplate",
	.go_type = "v1.PodTemplate",
	.doc = "What pods made from it are to be, kept by name.",
	.fields = podtemplate_fields,
};

static const struct json *template_of(const struct object *o)
{
	return json_gets(o->fields, "template");
}

static void set_defaults(struct object *o, struct arena *a)
{
	json_set(a, o->fields, STR("template"), pod_template_defaults(template_of(o), a));
}

static bool bumps_generation(const struct object *o, const struct object *old)
{
	return !json_equal(template_of(o), template_of(old));
}

static void validate(const struct object *o, struct field_errors *errors)
{
	pod_template_validate(WHERE(NULL, "template"), template_of(o), errors);
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	(void)old;
	validate(o, errors);
}

static void write_containers(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	pod_template_write(template_of(o), "name", out);
}

static void write_images(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	pod_template_write(template_of(o), "image", out);
}

static void write_labels(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	const struct json *labels = json_gets(json_gets(template_of(o), "metadata"), "labels");
	struct buf text;
	buf_init(&text, TEXT_MAX);
	for (uint32_t i = 0; labels && i < labels->n; i++) {
		buf_adds(&text, i ? "," : "");
		buf_add_str(&text, labels->members[i].name);
		buf_addc(&text, '=');
		buf_add_str(&text, json_text(labels->members[i].value));
	}
	json_encode_string(out, text.n ? buf_str(&text) : STR("<none>"));
	buf_done(&text);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Containers", "string", "", "Names of each container in the template.", 0, write_containers, false},
	{"Images", "string", "", "Images referenced by each container in the template.", 0, write_images, false},
	{"Pod Labels", "string", "", "The labels for the pod template.", 0, write_labels, false},
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.PodTemplate", .standalone_only = true},
};

static struct kind podtemplate = {
	.kind = "PodTemplate",
	.list_kind = "PodTemplateList",
	.resource = "podtemplates",
	.singular = "podtemplate",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &podtemplate_type,
	.doc = "What pods made from it are to be, kept by name.",
	.unconditional_update = true,
	.delete_answers_object = true,
	.set_defaults = set_defaults,
	.bumps_generation = bumps_generation,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(podtemplate)
