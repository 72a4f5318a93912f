/* What both commands must agree on. */
#include "cli/export/export_form.h"

bool export_is_momentary(const struct kind *k)
{
	static const char *const kinds[] = {"Lease", "StorageVersion"};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(k->kind, kinds[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* "controllerrevisions", "controllerrevisions.apps", "controllerrevisions.annals.dev": all are one kind here. */
static bool is_called(const struct kind *k, struct str resource, struct str group, bool has_group)
{
	if (!str_is(resource, k->resource)) {
		return false;
	}
	bool is_found = !has_group;
	for (size_t i = 0; i < k->n_doors && !is_found; i++) {
		is_found = str_is(group, k->doors[i].group);
	}
	return is_found;
}

const struct kind *export_find_kind(struct str name)
{
	struct str resource, group;
	bool has_group = str_cut(name, '.', &resource, &group);
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_is_stored(kind_at(i)) && is_called(kind_at(i), resource, group, has_group)) {
			return kind_at(i);
		}
	}
	return NULL;
}
