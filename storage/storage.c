/* The common part of all stores: names of results, operations that block, and keys (keys.h).
 *
 * From a result, callers decide whether a failed write may have happened. That stands beside
 * each result's name, so a new result cannot lack it. */
#include "storage/storage.h"

#include "storage/keys.h"

#include <assert.h>

#include <pthread.h>

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
	[STORAGE_NO_SPACE] = {"NoSpace", false},
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

/* Returns the prefix without its trailing 0xff bytes, and with its last byte incremented. */
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

/* ---- waiting ----
 *
 * An operation's `done` runs on another thread, perhaps before submit returns. It clears itself
 * under the lock, which signals the waiter: no memory is needed beside the operation. */

/* One lock for all waiting threads: they are few, at start and in tests. An operation is over
 * when its `done` is cleared. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wait_done(struct storage_op *op)
{
	assert(op->done == wait_done);
	pthread_mutex_lock(&lock);
	op->done = NULL;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static enum storage_result wait_for(struct storage_op *op)
{
	pthread_mutex_lock(&lock);
	while (op->done) {
		pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
	return op->result;
}

enum storage_result storage_range_wait(struct storage *s, struct storage_range *op)
{
	op->op.done = wait_done;
	storage_range(s, op);
	return wait_for(&op->op);
}

void storage_ranges_wait(struct storage *s, struct storage_range *const *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ops[i]->op.done = wait_done;
		storage_range(s, ops[i]);
	}
	for (size_t i = 0; i < n; i++) {
		wait_for(&ops[i]->op);
	}
}

enum storage_result storage_txn_wait(struct storage *s, struct storage_txn *op)
{
	op->op.done = wait_done;
	storage_txn(s, op);
	return wait_for(&op->op);
}

void storage_txns_wait(struct storage *s, struct storage_txn *const *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ops[i]->op.done = wait_done;
		storage_txn(s, ops[i]);
	}
	for (size_t i = 0; i < n; i++) {
		wait_for(&ops[i]->op);
	}
}

enum storage_result storage_compact_wait(struct storage *s, struct storage_compact *op)
{
	op->op.done = wait_done;
	storage_compact(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_status_wait(struct storage *s, struct storage_status *op)
{
	op->op.done = wait_done;
	storage_status(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_lease_grant_wait(struct storage *s, struct storage_lease *op)
{
	op->op.done = wait_done;
	storage_lease_grant(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_lease_keep_alive_wait(struct storage *s, struct storage_lease *op)
{
	op->op.done = wait_done;
	storage_lease_keep_alive(s, op);
	return wait_for(&op->op);
}

enum storage_result storage_lease_revoke_wait(struct storage *s, struct storage_lease *op)
{
	op->op.done = wait_done;
	storage_lease_revoke(s, op);
	return wait_for(&op->op);
}

/* ---- keys ----
 *
 * All keys are made here, since two spellings of one key would be two objects. The empty group is
 * spelled "core": an empty part would make "//", which key_split() refuses. */

#define OBJECTS "/objects/"
#define CORE "core"
#define REFERENCES "/references/"
#define HISTORY "/history/"

struct str key_object(struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	const char *slash = ns.n ? "/" : "";
	return arena_printf(a, STR_FMT OBJECTS STR_FMT "/" STR_FMT "/" STR_FMT "%s" STR_FMT, STR_ARG(prefix), STR_ARG(dir),
		STR_ARG(resource), STR_ARG(ns), slash, STR_ARG(name));
}

struct str key_objects_prefix(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT OBJECTS, STR_ARG(prefix));
}

/* A dash sorts before the group of any kind. So a load has read all bases when it comes to the first object. */
struct str key_bases(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT OBJECTS "-/bases/", STR_ARG(prefix));
}

struct str key_references(
	struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	return arena_printf(a, STR_FMT REFERENCES STR_FMT "/" STR_FMT "/" STR_FMT "/" STR_FMT "/", STR_ARG(prefix),
		STR_ARG(dir), STR_ARG(resource), STR_ARG(ns), STR_ARG(name));
}

struct str key_referenced(
	struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	return arena_printf(a, STR_FMT "/referenced/" STR_FMT "/" STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(prefix),
		STR_ARG(dir), STR_ARG(resource), STR_ARG(ns), STR_ARG(name));
}

struct str key_reference(struct arena *a, struct str references, struct str group, struct str resource, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	return arena_printf(a, STR_FMT STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(references), STR_ARG(dir), STR_ARG(resource),
		STR_ARG(name));
}

struct str key_escape(struct arena *a, struct str s)
{
	static const char digits[] = "0123456789ABCDEF";
	char *p = arena_text(a, 3 * s.n + 1), *end = p;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || c == '/' || c == '%') {
			*end++ = '%';
			*end++ = digits[c >> 4];
			*end++ = digits[c & 15];
		} else {
			*end++ = s.p[i];
		}
	}
	return (struct str){p, (size_t)(end - p)};
}

struct str key_history(struct arena *a, struct str prefix, struct str ns, struct str owner)
{
	struct str dir = key_escape(a, owner);
	return arena_printf(a, STR_FMT HISTORY STR_FMT "/" STR_FMT "/", STR_ARG(prefix), STR_ARG(ns), STR_ARG(dir));
}

struct str key_history_digest(struct arena *a, struct str history, struct str digest)
{
	return arena_printf(a, STR_FMT "digest/" STR_FMT "/", STR_ARG(history), STR_ARG(digest));
}

struct str key_history_number(struct arena *a, struct str history, int64_t number)
{
	return arena_printf(a, STR_FMT "number/%lld/", STR_ARG(history), (long long)number);
}

struct str key_below(struct arena *a, struct str directory, struct str name)
{
	return arena_printf(a, STR_FMT STR_FMT, STR_ARG(directory), STR_ARG(name));
}

struct str key_replicas(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/replicas/", STR_ARG(prefix));
}

struct str key_replicas_seen(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/replicas-seen/", STR_ARG(prefix));
}

struct str key_user_notes(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/user-notes/", STR_ARG(prefix));
}

struct str key_imports(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/imports/", STR_ARG(prefix));
}

struct str key_recorder_salts(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/recorder-salts", STR_ARG(prefix));
}

struct str key_migrator(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/migrator", STR_ARG(prefix));
}

struct str key_compact(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/compact_rev_key", STR_ARG(prefix));
}

struct str key_fence(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/fence", STR_ARG(prefix));
}

bool key_split(struct str key, struct str objects_prefix, struct key_parts *ret)
{
	if (!str_starts(key, objects_prefix)) {
		return false;
	}
	struct str rest = {key.p + objects_prefix.n, key.n - objects_prefix.n};
	struct str group, resource;
	if (!str_cut(rest, '/', &group, &rest) || !str_cut(rest, '/', &resource, &rest)) {
		return false;
	}
	if (group.n == 0 || resource.n == 0 || rest.n == 0) {
		return false;
	}
	*ret = (struct key_parts){
		.group = str_is(group, CORE) ? (struct str){NULL, 0} : group,
		.resource = resource,
		.rest = rest,
	};
	return true;
}
