/* Other forms of cached objects: Table and PartialObjectMetadata(List), with kubectl's columns, and protobuf. */
#ifndef SERVER_REQUEST_TABLE_H
#define SERVER_REQUEST_TABLE_H

#include "base/bytes.h"
#include "server/parse/negotiate.h"
#include "storage/cache/cache.h"

enum include_object { INCLUDE_METADATA, INCLUDE_NONE, INCLUDE_OBJECT };
/* The query parameter includeObject. 0, or 1 with 400 in st. */
int include_object_parse(enum include_object *ret, struct str param, struct status *st);

/* {"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{...},"columnDefinitions":[...] or null,"rows":[  (open) */
bool table_begin(struct buf *out, const struct kind *kind, const struct version *version, const struct media *m,
	struct str metadata_json, bool with_columns);
/* The cache in which cells look up other objects. */
struct table_world {
	struct cache *cache;
	const struct kind *pods; /* live_find()'s */
};
/* Writes one row, with a separator before it unless is_first. world NULL: there are no other
 * objects. a: scratch. Returns false also when the object cannot be decoded. */
bool table_row(struct buf *out, const struct kind *kind, const struct version *version, const struct media *m,
	enum include_object include, const struct cached *o, bool is_first, const struct table_world *world, struct arena *a);
/* A row of an object that is not cached, such as a bookmark's: object_json ("null" for none) goes into its `object`. */
bool table_row_of(struct buf *out, const struct kind *kind, const struct version *version, const struct object *o,
	struct str object_json, bool is_first);
bool table_end(struct buf *out); /* ]} */
/* {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{...}} */
bool partial_object(struct buf *out, const struct media *m, const struct cached *o, const struct version *version);

/* meta.k8s.io/v1, or v1beta1: what Tables and partial metadata call themselves. */
const char *meta_version(const struct media *m);

/* A revision is live when objects that were made from it still need it. */

/* Returns true when a pod names the revision, or the hash that it has as a label. */
bool live_is_generated_from(struct cache_snapshot *pods, const struct cached *o);
/* Counts objects of all kinds that refer to one of this kind and name. Returns false when some
 * that may refer to it cannot be read. */
bool live_count_referrers(struct cache *c, const struct kind *kind, struct str ns, struct str name, size_t *ret);

enum liveness { LIVE_NO, LIVE_YES, LIVE_UNKNOWN };

/* Decides by its pods and its referrers. pods: their kind; NULL: pods are not kept here, but in
 * the cluster before this server. */
enum liveness live_find(struct cache *c, const struct cached *o, const struct kind *pods);

/* Objects of the cache in protobuf. Each is made from its JSON when a client asks for it, and kept for the next one. Any thread. */

enum protobuf_part { PROTOBUF_WHOLE, PROTOBUF_METADATA /* as a PartialObjectMetadata */ };

/* Messages that were made before. They are at most max_bytes; what has not been used for long goes first. */
struct protobuf_items;
struct protobuf_items *protobuf_items_new(size_t max_bytes);
struct protobuf_items *protobuf_items_free(struct protobuf_items *p);
void protobuf_items_stats(struct protobuf_items *p, size_t *ret_n_bytes, uint64_t *ret_n_found, uint64_t *ret_n_made);

/* The message of an object of the cache as the version shows it, without an envelope; a reference. NULL: it cannot be read. */
struct bytes *protobuf_items_get(
	struct protobuf_items *p, const struct cached *o, const struct version *v, enum protobuf_part part);
/* The same of an object that is not in the cache (yet), or not as it is stored: made and not kept. */
struct bytes *protobuf_item_make(const struct cached *o, const struct version *v, enum protobuf_part part);

#endif
