/* Table and PartialObjectMetadata(List) from cached objects: kubectl's columns. surprises.md 31, 38, 58. */
#ifndef SERVER_REQUEST_TABLE_H
#define SERVER_REQUEST_TABLE_H

#include "server/parse/negotiate.h"
#include "storage/cache/cache.h"

enum include_object { INCLUDE_METADATA, INCLUDE_NONE, INCLUDE_OBJECT };
/* The query parameter includeObject. 0, or 1 with 400 in st. */
int include_object_parse(enum include_object *ret, struct str param, struct status *st);

/* {"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{...},"columnDefinitions":[...] or null,"rows":[  (open) */
bool table_begin(struct buf *out, const struct kind *kind, const struct door *door, const struct media *m,
	struct str metadata_json, bool with_columns);
/* What cells ask about other objects. */
struct table_world {
	struct cache *cache;
	const struct kind *pods; /* live_find()'s */
};
/* One row; a separator before it unless is_first. world NULL: there are no others. a: scratch. False also when the object cannot be
 * decoded. */
bool table_row(struct buf *out, const struct kind *kind, const struct door *door, const struct media *m,
	enum include_object include, const struct cached *o, bool is_first, const struct table_world *world, struct arena *a);
/* A row of an object that is not cached, such as a bookmark's: object_json ("null" for none) goes into its `object`. */
bool table_row_of(struct buf *out, const struct kind *kind, const struct door *door, const struct object *o,
	struct str object_json, bool is_first);
bool table_end(struct buf *out); /* ]} */
/* {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{...}} */
bool partial_object(struct buf *out, const struct media *m, const struct cached *o, const struct door *door);

/* meta.k8s.io/v1, or v1beta1: what Tables and partial metadata call themselves. */
const char *meta_version(const struct media *m);

#endif
