/* Servers write these keys in the transactions that write the object; whoever writes one without a
 * server writes the same keys. */
#include "cli/fsck/index_entries.h"

#include "api/model/storage_version.h"
#include "storage/keys.h"

struct str object_id_title(const struct object_id *id, struct arena *a)
{
	struct str resource = kind_group_resource(id->kind, a);
	return arena_printf(a, STR_FMT " " STR_FMT "%s" STR_FMT, STR_ARG(resource), STR_ARG(id->ns), id->ns.n ? "/" : "",
		STR_ARG(id->name));
}

struct str object_id_key(const struct object_id *id, struct str prefix, struct arena *a)
{
	return key_object(a, prefix, str_of(id->kind->doors[0].group), str_of(id->kind->resource), id->ns, id->name);
}

size_t index_reference_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX])
{
	struct reference references[REFERENCES_MAX];
	const struct kind *k = id->kind;
	size_t n = k->references ? k->references(o, references) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct reference_field *field = references[i].field;
		struct str of =
			key_references(a, prefix, str_of(field->group), str_of(field->resource), id->ns, references[i].name);
		ret[i].key = key_reference(a, of, str_of(k->doors[0].group), str_of(k->resource), id->name);
		ret[i].value = o->meta.uid;
	}
	return n;
}

size_t index_history_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX])
{
	struct history_place place;
	if (!id->kind->history || !id->kind->history(o, &place)) {
		return 0;
	}
	struct str history = key_history(a, prefix, id->ns, place.owner);
	const struct str directories[] = {
		key_history_digest(a, history, history_digest(o, a)),
		key_history_number(a, history, place.number),
	};
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		ret[i] = (struct index_entry){key_below(a, directories[i], id->name), o->meta.uid};
	}
	return ARRAY_SIZE(directories);
}
