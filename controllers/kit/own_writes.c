/* Compares versions as numbers. Both etcds behind annals and kube-apiserver count up, and
 * versions are compared only within a kind. */
#include "controllers/kit/own_writes.h"
#include "base/thread.h"

#include <assert.h>

enum {
	OWNERS_MAX = 10 * 1000 * 1000, /* the same ceiling as for an informer's objects */
	DOUBTS_MAX = 1000,             /* per owner: an owner with this many doubts writes no more until they are settled */
	KEY_MAX = 512,                 /* bytes of a kind and a name */
};
_Static_assert(OWN_WRITES_KINDS <= 10, "a kind is one digit");

struct written {
	uint64_t versions[OWN_WRITES_KINDS];
	struct map *doubts; /* the kind's digit followed by the object's name; NULL: none */
};

void own_writes_init(struct own_writes *w, own_writes_seen *seen, void *ctx)
{
	assert(seen);
	*w = (struct own_writes){.seen = seen, .ctx = ctx};
	pthread_mutex_init(&w->lock, NULL);
	map_init(&w->by_owner, OWNERS_MAX);
}

static struct map *doubts_free(struct map *doubts)
{
	if (doubts) {
		map_done(doubts);
	}
	return mem_free(doubts);
}

static void written_free(struct written *written)
{
	if (written) {
		doubts_free(written->doubts);
	}
	mem_free(written);
}

void own_writes_done(struct own_writes *w)
{
	for (struct map_entry *e = map_next(&w->by_owner, NULL); e; e = map_next(&w->by_owner, e)) {
		written_free(e->value);
	}
	map_done(&w->by_owner);
	pthread_mutex_destroy(&w->lock);
}

/* The caller holds the lock. Returns NULL if there are too many owners. */
static struct written *written_by(struct own_writes *w, struct str owner_uid)
{
	assert_locked(&w->lock);
	assert(owner_uid.n > 0);
	struct written *written = map_get(&w->by_owner, owner_uid);

	if (!written) {
		written = mem_new(struct written);
		if (!map_set(&w->by_owner, owner_uid, written, NULL)) {
			written = mem_free(written);
		}
	}
	return written;
}

void own_writes_note(struct own_writes *w, struct str owner_uid, unsigned kind, struct str version)
{
	assert(kind < OWN_WRITES_KINDS);
	uint64_t n;

	if (!str_to_uint64(version, &n)) {
		return;
	}
	pthread_mutex_lock(&w->lock);
	struct written *written = written_by(w, owner_uid);
	if (written) {
		written->versions[kind] = MAX(written->versions[kind], n);
	}
	pthread_mutex_unlock(&w->lock);
}

/* The caller holds the lock: without it, the slower of two workers would seem to see the version
 * go back. */
static uint64_t own_writes_look(struct own_writes *w, unsigned kind)
{
	assert_locked(&w->lock);
	assert(kind < OWN_WRITES_KINDS);
	uint64_t seen = w->seen(w->ctx, kind);

	if (seen < w->last_seen[kind]) {
		for (struct map_entry *e = map_next(&w->by_owner, NULL); e; e = map_next(&w->by_owner, e)) {
			struct written *written = e->value;
			written->versions[kind] = 0;
		}
	}
	w->last_seen[kind] = seen;
	return seen;
}

int own_writes_behind(struct own_writes *w, struct str owner_uid)
{
	int behind = -1;

	pthread_mutex_lock(&w->lock);
	const struct written *written = map_get(&w->by_owner, owner_uid);
	for (int i = 0; i < OWN_WRITES_KINDS; i++) {
		uint64_t seen = own_writes_look(w, (unsigned)i);
		if (behind < 0 && (!seen || (written && seen < written->versions[i]))) {
			behind = i;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return behind;
}

/* ---- doubts ---- */

static struct str key_of_doubt(struct buf *out, unsigned kind, struct str name)
{
	buf_printf(out, "%u" STR_FMT, kind, STR_ARG(name));
	return buf_str(out);
}

void own_writes_doubt(struct own_writes *w, struct str owner_uid, unsigned kind, struct str name)
{
	assert(kind < OWN_WRITES_KINDS && name.n > 0);
	_cleanup_(buf_done) struct buf key;

	buf_init(&key, KEY_MAX);
	pthread_mutex_lock(&w->lock);
	struct written *written = written_by(w, owner_uid);
	if (written) {
		if (!written->doubts) {
			written->doubts = mem_new(struct map);
			map_init(written->doubts, DOUBTS_MAX);
		}
		map_set(written->doubts, key_of_doubt(&key, kind, name), w, NULL);
	}
	pthread_mutex_unlock(&w->lock);
}

bool own_writes_is_doubtful(struct own_writes *w, struct str owner_uid, unsigned *ret_kind, struct buf *ret_name)
{
	pthread_mutex_lock(&w->lock);
	const struct written *written = map_get(&w->by_owner, owner_uid);
	const struct map_entry *e = written && written->doubts ? map_next(written->doubts, NULL) : NULL;
	if (e) {
		*ret_kind = (unsigned)(e->key.p[0] - '0');
		buf_add(ret_name, e->key.p + 1, e->key.n - 1);
	}
	pthread_mutex_unlock(&w->lock);
	return e != NULL;
}

void own_writes_believe(struct own_writes *w, struct str owner_uid, unsigned kind, struct str name)
{
	assert(kind < OWN_WRITES_KINDS && name.n > 0);
	_cleanup_(buf_done) struct buf key;

	buf_init(&key, KEY_MAX);
	pthread_mutex_lock(&w->lock);
	struct written *written = map_get(&w->by_owner, owner_uid);
	if (written && written->doubts) {
		map_remove(written->doubts, key_of_doubt(&key, kind, name));
		if (!written->doubts->n) {
			written->doubts = doubts_free(written->doubts);
		}
	}
	pthread_mutex_unlock(&w->lock);
}

void own_writes_forget(struct own_writes *w, struct str owner_uid)
{
	pthread_mutex_lock(&w->lock);
	written_free(map_remove(&w->by_owner, owner_uid));
	pthread_mutex_unlock(&w->lock);
}
