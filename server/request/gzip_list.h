/* Lists as gzip. The items are compressed in runs, each by itself, and runs are kept. The next
 * client that lists the same objects, whole or in pages, gets the kept runs; after a write only
 * the changed run is rebuilt. The objects in a run decide where it ends, so lists of other
 * lengths, or other beginnings, share most runs. */
#ifndef SERVER_REQUEST_GZIP_LIST_H
#define SERVER_REQUEST_GZIP_LIST_H

#include "base/buf.h"
#include "base/bytes.h"
#include "storage/cache/cache.h"

/* Runs that have been sent before. Beyond max_bytes, the least recently used run goes first. Any thread. */
struct gzip_runs;
struct gzip_runs *gzip_runs_new(size_t max_bytes);
struct gzip_runs *gzip_runs_free(struct gzip_runs *r);
void gzip_runs_stats(struct gzip_runs *r, size_t *ret_n_bytes, uint64_t *ret_n_found, uint64_t *ret_n_made);

/* Items in another form than JSON. */
struct gzip_form {
	/* Differs for two forms that differ in any byte of any item. 0: runs are not kept, and
	 * sizes are estimates. */
	uint64_t id;
	size_t (*size)(void *ctx, size_t i);
	bool (*add)(struct buf *out, void *ctx, size_t i); /* that many bytes; false: it cannot be made any more */
	void *ctx;
};

/* HEAD {item},{item}... TAIL, where an item is the body of an object as the version shows it; or HEAD item
 * item... TAIL in another form. All that the struct points to must outlive it; head and tail are at most 65,535
 * bytes each. */
struct gzip_list {
	struct gzip_runs *runs;
	struct str head, tail;
	const struct version *version;
	struct str opening; /* of each item but the first, which lacks the comma; empty: `,{` */
	const struct cached *const *items;
	size_t n_items;
	const struct gzip_form *form; /* NULL: JSON */
	/* private */
	struct bytes *chunk; /* being read, from chunk_at on */
	size_t chunk_at;
	size_t item; /* the next to come */
	bool has_head, has_tail;
	unsigned long crc; /* of the text so far */
	uint32_t text_n;   /* its length modulo 2^32 */
};
/* Fills p, making one run at most. Returns 0 at the end, or when an item could not be made. */
size_t gzip_list_read(struct gzip_list *g, char *p, size_t max);
void gzip_list_done(struct gzip_list *g);

#endif
