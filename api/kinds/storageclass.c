/* StorageClass: a sort of storage, and who makes volumes of it. All but what may be mounted or grown is set once. */
#include "api/cluster/volume_schema.h"
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "api/rules/where.h"

#include <stdlib.h>

static const struct type type_binding_mode = {.kind = TYPE_STRING, .go_type = "v1.VolumeBindingMode"};

static const struct type type_label_requirement = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.TopologySelectorLabelRequirement",
	.go_type = "v1.TopologySelectorLabelRequirement",
	.doc = "A label of nodes, and the values that it may have.",
	.fields =
		(const struct field[]){
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The label.", NULL, NULL},
			{"values", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The values.", NULL,
				NULL},
			{0},
		},
};

static const struct type list_label_requirements = {.kind = TYPE_LIST, .elem = &type_label_requirement};

static const struct type type_topology_term = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.TopologySelectorTerm",
	.go_type = "v1.TopologySelectorTerm",
	.doc = "Labels of nodes of which all must fit.",
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"matchLabelExpressions", &list_label_requirements, FIELD_NUMBER(1), "The labels.", NULL, NULL},
			{0},
		},
};

static const struct type list_topology_terms = {.kind = TYPE_LIST, .elem = &type_topology_term};

static const struct field class_fields[] = {
	OBJECT_FIELDS,
	{"provisioner", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Who makes volumes of this class.",
		NULL, NULL},
	{"parameters", &type_string_map, FIELD_NUMBER(3), "What the provisioner is told.", NULL, NULL},
	{"reclaimPolicy", &type_reclaim_policy, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(4),
		"What becomes of volumes when their claims go: Delete or Retain.", NULL, "\"Delete\""},
	{"mountOptions", &type_string_list, FIELD_NUMBER(5), "Options with which volumes are mounted.", NULL, NULL},
	{"allowVolumeExpansion", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(6), "Whether volumes may grow.", NULL, NULL},
	{"volumeBindingMode", &type_binding_mode, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(7),
		"When claims are bound: Immediate, or WaitForFirstConsumer.", NULL, "\"Immediate\""},
	{"allowedTopologies", &list_topology_terms, FIELD_NUMBER(8), "Where volumes may be made.", NULL, NULL},
	{0},
};

static const struct type class_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.storage.v1.StorageClass",
	.go_type = "v1.StorageClass",
	.doc = "A sort of storage, and who makes volumes of it.",
	.fields = class_fields,
};

static const struct json *member(const struct object *o, const char *name)
{
	return json_gets(o->fields, name);
}

static void check_provisioner(const struct object *o, struct field_errors *errors)
{
	struct str name = json_text(member(o, "provisioner"));
	char *lower = arena_text(errors->arena, name.n);
	for (size_t i = 0; i < name.n; i++) {
		lower[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] - 'A' + 'a' : name.p[i]);
	}
	if (name.n) {
		check_text(errors, WHERE(NULL, "provisioner"), (struct str){lower, name.n}, validate_qualified_name);
	} else {
		refuse_absent(errors, WHERE(NULL, "provisioner"), "");
	}
}

static void check_parameters(const struct object *o, struct field_errors *errors)
{
	enum { COUNT_MAX = 512, SIZE_MAX_BYTES = 256 << 10 };
	const struct json *parameters = member(o, "parameters");
	size_t n_bytes = 0;
	if (parameters && parameters->n > COUNT_MAX) {
		field_too_long(errors, STR("parameters"), COUNT_MAX);
		return;
	}
	for (uint32_t i = 0; parameters && i < parameters->n; i++) {
		struct str name = parameters->members[i].name;
		if (!name.n) {
			refuse_text(errors, WHERE(NULL, "parameters"), name, "field can not be empty.");
		}
		n_bytes += name.n + json_text(parameters->members[i].value).n;
	}
	if (n_bytes > SIZE_MAX_BYTES) {
		field_too_long(errors, STR("parameters"), SIZE_MAX_BYTES);
	}
}

static void check_values(const struct where *at, const struct json *values, struct field_errors *errors)
{
	struct map seen;
	struct json *value;
	if (!list_item(values, 0)) {
		refuse_absent(errors, at, "");
	}
	map_init(&seen, json_is(values, JSON_ARRAY) ? values->n : 0);
	for (uint32_t i = 0; (value = list_item(values, i)); i++) {
		if (map_get(&seen, json_text(value))) {
			refuse_duplicate(errors, WHERE_ITEM(at, i), json_text(value));
		}
		map_set(&seen, json_text(value), value, NULL);
	}
	map_done(&seen);
}

static void check_term(const struct where *at, const struct json *term, struct field_errors *errors)
{
	const struct json *requirements = json_gets(term, "matchLabelExpressions");
	struct json *requirement;
	struct map seen;
	map_init(&seen, member_count(term, "matchLabelExpressions"));
	for (uint32_t i = 0; (requirement = list_item(requirements, i)); i++) {
		const struct where *item = WHERE_ITEM(WHERE(at, "matchLabelExpressions"), i);
		struct str key = member_text(requirement, "key");
		check_values(WHERE(item, "values"), json_gets(requirement, "values"), errors);
		check_text(errors, WHERE(item, "key"), key, validate_qualified_name);
		if (map_get(&seen, key)) {
			refuse_duplicate(errors, WHERE(item, "key"), key);
		}
		map_set(&seen, key, requirement, NULL);
	}
	map_done(&seen);
}

static int compare_by_key(const void *x, const void *y)
{
	const struct json *const *one = x, *const *other = y;
	return str_cmp(member_text(*one, "key"), member_text(*other, "key"));
}

/* One text for all spellings of a term: neither the order of labels nor that of values means anything. */
static struct str term_text(const struct json *term, struct arena *a)
{
	uint32_t n = member_count(term, "matchLabelExpressions");
	const struct json **sorted = arena_array(a, const struct json *, n + 1);
	struct buf text;
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = json_gets(term, "matchLabelExpressions")->items[i];
	}
	qsort(sorted, n, sizeof(*sorted), compare_by_key);
	buf_init(&text, (size_t)8 << 20);
	for (uint32_t i = 0; i < n; i++) {
		const struct json *values = json_gets(sorted[i], "values");
		uint32_t n_values = member_count(sorted[i], "values");
		struct str *texts = arena_array(a, struct str, n_values + 1);
		for (uint32_t k = 0; k < n_values; k++) {
			texts[k] = json_text(values->items[k]);
		}
		str_sort(texts, n_values);
		json_encode_string(&text, member_text(sorted[i], "key"));
		for (uint32_t k = 0; k < n_values; k++) {
			json_encode_string(&text, texts[k]);
		}
		buf_addc(&text, ';');
	}
	struct str all = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return all;
}

/* A term without labels is a duplicate, too: upstream compares it with terms that are not there. */
static void check_topologies(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "allowedTopologies");
	const struct json *terms = member(o, "allowedTopologies");
	struct json *term;
	struct map seen;
	map_init(&seen, json_is(terms, JSON_ARRAY) ? terms->n : 0);
	for (uint32_t i = 0; (term = list_item(terms, i)); i++) {
		struct str text = term_text(term, errors->arena);
		check_term(WHERE_ITEM(at, i), term, errors);
		if (!text.n || map_get(&seen, text)) {
			refuse_duplicate(errors, WHERE(WHERE_ITEM(at, i), "matchLabelExpressions"), STR(""));
		}
		map_set(&seen, text, term, NULL);
	}
	map_done(&seen);
}

static void validate(const struct object *o, struct field_errors *errors)
{
	static const char *const policies[] = {"Delete", "Retain", NULL},
				 *const modes[] = {"Immediate", "WaitForFirstConsumer", NULL};
	struct str policy = json_text(member(o, "reclaimPolicy"));
	check_provisioner(o, errors);
	check_parameters(o, errors);
	if (policy.n) {
		check_choice(errors, WHERE(NULL, "reclaimPolicy"), policy, policies, false);
	}
	check_choice(errors, WHERE(NULL, "volumeBindingMode"), json_text(member(o, "volumeBindingMode")), modes, false);
	check_topologies(o, errors);
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	static const char *const once_set[] = {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"};
	validate_meta(o->kind, &o->meta, errors);
	validate(o, errors);
	for (size_t i = 0; i < ARRAY_SIZE(once_set); i++) {
		const struct json *now = member(o, once_set[i]), *before = member(old, once_set[i]);
		if ((now || before) && !(now && before && json_equal(now, before))) {
			refuse_invalid(errors, WHERE_NAMED(NULL, once_set[i]), now, "field is immutable");
		}
	}
}

static void write_name(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	static const char *const marks[] = {
		"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"};
	bool is_default = false;
	struct buf text;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		is_default |= str_is(json_text(json_gets(o->meta.annotations, marks[i])), "true");
	}
	buf_init(&text, TEXT_MAX);
	buf_add_str(&text, o->meta.name);
	buf_adds(&text, is_default ? " (default)" : "");
	json_encode_string(out, buf_str(&text));
	buf_done(&text);
}

static void write_provisioner(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(member(o, "provisioner")));
}

static void write_policy(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(member(o, "reclaimPolicy")));
}

static void write_mode(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, json_text(member(o, "volumeBindingMode")));
}

static void write_expansion(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	buf_adds(out, member_is_true(o->fields, "allowVolumeExpansion") ? "true" : "false");
}

static const struct column columns[] = {
	{"Name", "string", "name", COLUMN_NAME_TEXT, 0, write_name, false},
	{"Provisioner", "string", "", "Who makes volumes of this class.", 0, write_provisioner, false},
	{"ReclaimPolicy", "string", "", "What becomes of volumes when their claims go.", 0, write_policy, false},
	{"VolumeBindingMode", "string", "", "When claims are bound.", 0, write_mode, false},
	{"AllowVolumeExpansion", "string", "", "Whether volumes may grow.", 0, write_expansion, false},
	COLUMN_AGE,
};

static const struct door doors[] = {
	{.group = "storage.k8s.io",
		.version = "v1",
		.definition = "io.k8s.api.storage.v1.StorageClass",
		.standalone_only = true},
};

static struct kind storageclass = {
	.kind = "StorageClass",
	.list_kind = "StorageClassList",
	.resource = "storageclasses",
	.singular = "storageclass",
	.short_names = (const char *const[]){"sc", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &class_type,
	.doc = "A sort of storage, and who makes volumes of it.",
	.unconditional_update = true,
	.keeps_generation = true,
	.delete_answers_object = true,
	.retired_versions = (const char *const[]){"storage.k8s.io/v1beta1", NULL},
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(storageclass)
