/* Lists as gzip. The items are compressed in runs, each without regard to what is before it, and runs are kept: the next client that lists
 * the same objects, whole or in pages, gets them as they are, and after a write only the run it fell into is made anew. Where a run
 * ends follows from the objects in it, so that lists of other lengths, and other beginnings, have most of their runs in common. */
#ifndef SERVER_REQUEST_GZIP_LIST_H
#define SERVER_REQUEST_GZIP_LIST_H

#include "base/buf.h"
#include "base/bytes.h"
#include "storage/cache/cache.h"

/* Runs that have been sent before. What has not been used for longest goes first when they are more than max_bytes. Any thread. */
struct gzip_runs;
struct gzip_runs *gzip_runs_new(size_t max_bytes);
struct gzip_runs *gzip_runs_free(struct gzip_runs *r);
void gzip_runs_stats(struct gzip_runs *r, size_t *ret_n_bytes, uint64_t *ret_n_found, uint64_t *ret_n_made);

/* Items in another form than JSON. */
struct gzip_form {
	uint64_t id; /* not 0; of two forms that differ in any byte of any item, different */
	size_t (*size)(void *ctx, size_t i);
	bool (*add)(struct buf *out, void *ctx, size_t i); /* that many bytes; false: it cannot be made any more */
	void *ctx;
};

/* HEAD {item},{item}... TAIL, where an item is the body of an object as the door shows it; or HEAD item item... TAIL in another form. What it
 * points to must outlive it; head and tail are at most 65,535 bytes each. */
struct gzip_list {
	struct gzip_runs *runs;
	struct str head, tail;
	const struct door *door;
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
/* Fills p: less than max bytes only at the end. 0: that was all, or an item could not be made. */
size_t gzip_list_read(struct gzip_list *g, char *p, size_t max);
void gzip_list_done(struct gzip_list *g);

#endif
