/* How large values are is not known beforehand, so each page is sized by the bytes of the one before:
 * answers stay small. */
#include "cli/fsck/store_pages.h"

#include <errno.h>
#include <inttypes.h>

enum {
	PAGE_FIRST = 64, /* keys; it shows how large values are */
	PAGE_MAX = 512,
	PAGE_BYTES = 1 << 20,
	KEY_MAX_BYTES = 64 << 20,
};

static int64_t next_limit(const struct storage_range *r)
{
	size_t bytes = 1;
	for (size_t i = 0; i < r->n_kvs; i++) {
		bytes += r->kvs[i].value.n;
	}
	int64_t fitting = (int64_t)(PAGE_BYTES * r->n_kvs / bytes);
	return MIN(MAX(fitting, (int64_t)1), (int64_t)PAGE_MAX);
}

int store_range_fail(const struct storage_range *r, int64_t revision, struct buf *err)
{
	if (r->op.result == STORAGE_COMPACTED) {
		buf_printf(err, "etcd has compacted revision %" PRId64 " while it was read: run again", revision);
	} else {
		buf_printf(err, "cannot read etcd: %s", r->op.message);
	}
	return -EIO;
}

int store_pages_each(struct storage *storage, struct str key, struct str end, int64_t *revision, store_page_fn *visit,
	void *ctx, struct buf *err)
{
	_cleanup_(buf_done) struct buf last;
	int64_t limit = PAGE_FIRST;
	bool has_more = true;
	int error = 0;
	buf_init(&last, KEY_MAX_BYTES);
	while (has_more && !error) {
		struct storage_range r = {.key = key, .range_end = end, .limit = limit, .at_revision = *revision};
		if (storage_range_wait(storage, &r) == STORAGE_OK) {
			*revision = *revision ? *revision : r.op.revision;
			error = visit(ctx, &r);
		} else {
			error = store_range_fail(&r, *revision, err);
		}
		has_more = !error && r.has_more && r.n_kvs > 0;
		if (has_more) { /* the next begins right behind the last key of this one */
			limit = next_limit(&r);
			buf_clear(&last);
			buf_add_str(&last, r.kvs[r.n_kvs - 1].key);
			buf_addc(&last, '\0');
			key = buf_str(&last);
		}
		storage_op_clear(&r.op);
	}
	return error;
}
