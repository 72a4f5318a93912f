/* Keys that follow from objects, in the indexes beside them (storage/keys.h): what fsck holds a store to, and import writes. */
#ifndef CLI_FSCK_INDEX_ENTRIES_H
#define CLI_FSCK_INDEX_ENTRIES_H

#include "api/model/kind.h"

/* Where an object is. */
struct object_id {
	const struct kind *kind; /* NULL: nobody knows it */
	struct str ns, name;
};

/* For people: "dependents.annals.dev default/web". */
struct str object_id_title(const struct object_id *id, struct arena *a);
struct str object_id_key(const struct object_id *id, struct str prefix, struct arena *a);

enum { INDEX_ENTRIES_MAX = REFERENCES_MAX }; /* of one object in one index */

struct index_entry {
	struct str key, value;
};

/* What the object has in PREFIX/references/, and in PREFIX/history/. How many. */
size_t index_reference_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX]);
size_t index_history_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX]);

#endif
