/* A server on a store in memory, behind a cluster that a test simulates. */
#ifndef TESTS_UNIT_BEHIND_WORLD_H
#define TESTS_UNIT_BEHIND_WORLD_H

#include "server/server.h"
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"

struct behind {
	struct storage *storage;
	struct cache *cache;
	struct server *server;
};

/* options: what is particular. */
static inline void behind_open(struct behind *b, const struct server_options *options)
{
	_cleanup_(buf_done) struct buf err;
	struct server_options all = *options;
	buf_init(&err, 4096);
	b->storage = storage_memory_new();
	b->cache = world_cache(b->storage, (struct cache_options){0});
	all.http.bind_address = "127.0.0.1";
	all.http.threads = 1;
	all.storage = b->storage;
	all.cache = b->cache;
	all.prefix = STR(WORLD_PREFIX);
	assert_int_equal(server_new(&b->server, &all, &err), 0);
}

static inline void behind_close(struct behind *b)
{
	server_free(b->server);
	cache_free(b->cache);
	storage_free(b->storage);
}

#endif
