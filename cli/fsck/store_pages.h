/* The keys of a range as they were at one revision, page by page: memory holds one page, however many there are. */
#ifndef CLI_FSCK_STORE_PAGES_H
#define CLI_FSCK_STORE_PAGES_H

#include "base/buf.h"
#include "storage/storage.h"

/* What a page has, until it returns. 0, or -errno with a sentence told: it is the last one. */
typedef int store_page_fn(void *ctx, const struct storage_range *page);

/* *revision: 0, and the first page names that of all. 0, what visit returned, or -EIO with a sentence in err. */
int store_pages_each(struct storage *storage, struct str key, struct str end, int64_t *revision, store_page_fn *visit,
	void *ctx, struct buf *err);
/* The sentence for a range that failed: -EIO. */
int store_range_fail(const struct storage_range *r, int64_t revision, struct buf *err);

#endif
