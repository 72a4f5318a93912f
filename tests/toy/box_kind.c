/* Boxes own toys, and are of an age in which clients emptied them by themselves: deleting one, with nothing else said, lets them go. */
#include "api/model/kind.h"

static const struct field box_fields[] = {OBJECT_FIELDS, {0}};

static const struct type box_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.toys.v1.Box",
	.go_type = "v1.Box",
	.doc = "Something to keep toys in.",
	.fields = box_fields,
};

static const struct column columns[] = {COLUMN_NAME, COLUMN_AGE};

static const struct version versions[] = {
	{.group = "toys.example.com", .name = "v1", .definition = "com.example.toys.v1.Box"},
};

static struct kind boxes = {
	.kind = "Box",
	.list_kind = "BoxList",
	.resource = "boxes",
	.singular = "box",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.dependents = DEPENDENTS_ORPHANED,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.type = &box_type,
	.doc = "Something to keep toys in.",
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(boxes)
