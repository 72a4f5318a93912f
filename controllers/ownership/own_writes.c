/* Versions are compared as numbers: both etcds behind annals and kube-apiserver count them so, and a kind is compared with itself only. */
#include "controllers/ownership/own_writes.h"

/* As many owners as an informer keeps. */
enum { OWNERS_MAX = 10 * 1000 * 1000 };

struct written {
	uint64_t versions[OWN_WRITES_KINDS];
};

void own_writes_init(struct own_writes *w, own_writes_seen *seen, void *ctx)
{
	*w = (struct own_writes){.seen = seen, .ctx = ctx};
	pthread_mutex_init(&w->lock, NULL);
	map_init(&w->by_owner, OWNERS_MAX);
}

void own_writes_done(struct own_writes *w)
{
	for (struct map_entry *e = map_next(&w->by_owner, NULL); e; e = map_next(&w->by_owner, e)) {
		mem_free(e->value);
	}
	map_done(&w->by_owner);
	pthread_mutex_destroy(&w->lock);
}

void own_writes_note(struct own_writes *w, struct str owner_uid, unsigned kind, struct str version)
{
	uint64_t n;

	if (!str_to_uint64(version, &n)) {
		return;
	}
	pthread_mutex_lock(&w->lock);
	struct written *written = map_get(&w->by_owner, owner_uid);
	if (!written) {
		written = mem_new(struct written);
		if (!map_set(&w->by_owner, owner_uid, written, NULL)) {
			written = mem_free(written);
		}
	}
	if (written) {
		written->versions[kind] = MAX(written->versions[kind], n);
	}
	pthread_mutex_unlock(&w->lock);
}

static void forget_kind(struct own_writes *w, unsigned kind)
{
	for (struct map_entry *e = map_next(&w->by_owner, NULL); e; e = map_next(&w->by_owner, e)) {
		struct written *written = e->value;
		written->versions[kind] = 0;
	}
}

/* Under the lock: of two workers that looked without it, the slower one would seem to see versions that go back. */
static uint64_t look(struct own_writes *w, unsigned kind)
{
	uint64_t seen = w->seen(w->ctx, kind);

	if (seen < w->last_seen[kind]) {
		forget_kind(w, kind);
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
		uint64_t seen = look(w, (unsigned)i);
		if (behind < 0 && (!seen || (written && seen < written->versions[i]))) {
			behind = i;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return behind;
}

void own_writes_forget(struct own_writes *w, struct str owner_uid)
{
	pthread_mutex_lock(&w->lock);
	mem_free(map_remove(&w->by_owner, owner_uid));
	pthread_mutex_unlock(&w->lock);
}
