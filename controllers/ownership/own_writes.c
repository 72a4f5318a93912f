/* Versions are compared as numbers: both etcds behind annals and kube-apiserver count them so, and a kind is compared with itself only. */
#include "controllers/ownership/own_writes.h"

/* As many owners as an informer keeps. */
enum { OWNERS_MAX = 10 * 1000 * 1000 };

struct written {
	uint64_t versions[OWN_WRITES_KINDS];
};

void own_writes_init(struct own_writes *w)
{
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

int own_writes_behind(struct own_writes *w, struct str owner_uid, const uint64_t seen[OWN_WRITES_KINDS])
{
	int behind = -1;

	pthread_mutex_lock(&w->lock);
	const struct written *written = map_get(&w->by_owner, owner_uid);
	for (int i = 0; written && behind < 0 && i < OWN_WRITES_KINDS; i++) {
		if (seen[i] < written->versions[i]) {
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
