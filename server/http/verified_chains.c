/* A table that is searched from end to end: comparing 64 hashes is nothing beside one signature.
 * Text is copied in and out under the lock, so a connection that gets a verdict has nothing of this
 * table, which may forget it at once. */
#include "server/http/verified_chains.h"

#include <pthread.h>

/* Beyond that a certificate is checked each time. */
#define TEXT_MAX ((size_t)4096)

struct kept {
	struct chain_id id;
	int64_t from_s, until_s; /* until_s 0: nothing is kept here */
	uint64_t used;           /* when it was asked for last, in questions */
	struct arena arena;
	struct http_peer peer;
};

struct verified_chains {
	pthread_mutex_t lock; /* guards all; held while text is copied */
	uint64_t questions;
	struct kept kept[VERDICTS_MAX];
};

struct verified_chains *verified_chains_new(void)
{
	struct verified_chains *s = mem_new(struct verified_chains);
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < VERDICTS_MAX; i++) {
		arena_init(&s->kept[i].arena, 4 * TEXT_MAX);
	}
	return s;
}

struct verified_chains *verified_chains_free(struct verified_chains *s)
{
	if (s) {
		for (size_t i = 0; i < VERDICTS_MAX; i++) {
			arena_done(&s->kept[i].arena);
		}
		pthread_mutex_destroy(&s->lock);
		mem_free(s);
	}
	return NULL;
}

static size_t text_size(const struct http_peer *peer)
{
	size_t n = peer->common_name.n + peer->uid.n + peer->fingerprint.n;
	for (size_t i = 0; i < peer->n_organizations; i++) {
		n += sizeof(struct str) + peer->organizations[i].n + 1;
	}
	return n;
}

static void copy_peer(struct http_peer *to, const struct http_peer *from, struct arena *a)
{
	struct str *organizations = arena_array(a, struct str, from->n_organizations);
	for (size_t i = 0; i < from->n_organizations; i++) {
		organizations[i] = arena_dup(a, from->organizations[i]);
	}
	to->is_verified = from->is_verified;
	to->is_front_proxy = from->is_front_proxy;
	to->trust = from->trust;
	to->common_name = arena_dup(a, from->common_name);
	to->uid = arena_dup(a, from->uid);
	to->fingerprint = arena_dup(a, from->fingerprint);
	to->organizations = organizations;
	to->n_organizations = from->n_organizations;
}

/* Under the lock. */
static struct kept *find(struct verified_chains *s, const struct chain_id *id)
{
	for (size_t i = 0; i < VERDICTS_MAX; i++) {
		if (s->kept[i].until_s && memcmp(&s->kept[i].id, id, sizeof(*id)) == 0) {
			return &s->kept[i];
		}
	}
	return NULL;
}

/* Under the lock. */
static struct kept *find_room(struct verified_chains *s)
{
	struct kept *oldest = &s->kept[0];
	for (size_t i = 1; i < VERDICTS_MAX; i++) {
		if (s->kept[i].used < oldest->used) {
			oldest = &s->kept[i];
		}
	}
	return oldest;
}

bool verified_chains_find(struct verified_chains *s, const struct chain_id *id, int64_t now_s, struct arena *a,
	struct http_peer *ret, int64_t *ret_until_s)
{
	pthread_mutex_lock(&s->lock);
	struct kept *k = find(s, id);
	bool holds = k && now_s >= k->from_s && now_s < k->until_s;
	if (holds) {
		k->used = ++s->questions;
		copy_peer(ret, &k->peer, a);
		*ret_until_s = k->until_s;
	}
	pthread_mutex_unlock(&s->lock);
	return holds;
}

void verified_chains_keep(
	struct verified_chains *s, const struct chain_id *id, int64_t from_s, int64_t until_s, const struct http_peer *peer)
{
	if (text_size(peer) > TEXT_MAX) {
		return;
	}
	pthread_mutex_lock(&s->lock);
	struct kept *k = find(s, id);
	/* Two connections may have verified the same chain at once. */
	k = k ? k : find_room(s);
	arena_clear(&k->arena);
	k->id = *id;
	k->from_s = from_s;
	k->until_s = until_s;
	k->used = ++s->questions;
	copy_peer(&k->peer, peer, &k->arena);
	pthread_mutex_unlock(&s->lock);
}
