/* Whether a failed write may have happened is what callers decide by. So it stands beside each
 * result's name: a new result cannot be without an answer. */
#include "storage/storage.h"

static const struct result_row {
	const char *name;
	bool is_certain;
} results[] = {
	[STORAGE_OK] = {"OK", true},
	[STORAGE_COMPACTED] = {"Compacted", true},
	[STORAGE_FUTURE] = {"Future", true},
	[STORAGE_TOO_LARGE] = {"TooLarge", true},
	[STORAGE_UNAVAILABLE] = {"Unavailable", true},
	[STORAGE_TIMEOUT] = {"Timeout", false},
	[STORAGE_UNKNOWN] = {"Unknown", false},
	[STORAGE_LEASE_GONE] = {"LeaseGone", true},
	[STORAGE_CANCELED] = {"Canceled", false},
	[STORAGE_ERROR] = {"Error", true},
	[STORAGE_RESTORED] = {"Restored", true},
};

const char *storage_result_name(enum storage_result r)
{
	return (size_t)r < ARRAY_SIZE(results) ? results[r].name : "?";
}

bool storage_result_is_certain(enum storage_result r)
{
	return (size_t)r < ARRAY_SIZE(results) && results[r].is_certain;
}

void storage_op_clear(struct storage_op *op)
{
	arena_done(&op->arena);
	op->impl = NULL;
	op->message = "";
}

struct storage *storage_free(struct storage *s)
{
	if (s) {
		s->ops->free(s);
	}
	return NULL;
}

/* The prefix without its trailing 0xff bytes, the last of the rest plus one. */
struct str storage_prefix_end(struct arena *a, struct str prefix)
{
	size_t n = prefix.n;
	while (n > 0 && (unsigned char)prefix.p[n - 1] == 0xff) {
		n--;
	}
	if (n == 0) {
		return (struct str){"", 1};
	}
	char *end = arena_text(a, n);
	memcpy(end, prefix.p, n);
	end[n - 1] = (char)((unsigned char)end[n - 1] + 1);
	return (struct str){end, n};
}
