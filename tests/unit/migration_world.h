/* A server's cache, agreement and migrator without the server, over the store in memory or any other. */
#ifndef TESTS_UNIT_MIGRATION_WORLD_H
#define TESTS_UNIT_MIGRATION_WORLD_H

#include "api/model/members.h"
#include "storage/engine/migrator.h"
#include "storage/memory/memory.h"
#include "tests/unit/api_world.h"

#include <pthread.h>

#define WORLD_PREFIX "/t"
#define DEPENDENTS_PATH "annals.dev/v1/dependents"
#define MIGRATIONS_PATH "annals.dev/v1/storagemigrations"
#define VERSIONS_PATH "annals.dev/v1/storageversions"

/* One replica. Texts that come out of it are its own. */
struct world {
	struct arena a;
	struct storage *storage; /* the caller's */
	struct cache *cache;
	struct agreement *agreement;
	struct migrator *migrator;
	struct cache_watcher *watchers[2];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool has_changed;
	int64_t report_ms;   /* the migrator's */
	char notices[65536]; /* all that was said; under the lock */
};

/* version: as --storage-version has it; NULL: nothing is said. */
struct world *world_new(struct storage *s, const char *version);
struct world *world_free(struct world *w);
void world_migrate(struct world *w, enum storage_migration mode, int64_t rate); /* starts the migrator */
/* Until it holds, asked again whenever a StorageMigration or StorageVersion has changed, or something was said. */
void world_await(struct world *w, bool (*holds)(struct world *w, const void *ctx), const void *ctx);

/* What etcd has. */
struct world_stored {
	struct str version, value;
	int64_t mod_revision, lease;
};
bool world_stored(struct world *w, const char *path, const char *name, struct world_stored *ret);
/* Puts an object, stored in that version ("v1beta1"), under that lease. The name is ns/name, or name. */
int64_t world_store(struct world *w, const char *path, const char *version, const char *name, const char *text, int64_t lease);
void world_put(struct world *w, const char *path, const char *name, const char *value); /* as it stands */
void world_remove(struct world *w, const char *path, const char *name);
int64_t world_step(struct world *w, struct storage_step s); /* the revision */

/* What the cache has of a cluster-scoped object; NULL: none. */
struct json *world_fields(struct world *w, const char *path, const char *name);
/* The newest StorageMigration of the resource; NULL: none. */
const char *world_migration(struct world *w, const char *resource);
size_t world_count(struct world *w, const char *path);
struct json *world_condition(struct world *w, const char *migration, const char *type);
/* Until the newest one is in that state; its name. */
const char *world_await_state(struct world *w, const char *resource, const char *state);

#endif
