/* Which version of a kind is stored: the door that objects are written in (seed 003). Every version that the kind knows is read at any time. */
#ifndef API_MODEL_STORAGE_VERSION_H
#define API_MODEL_STORAGE_VERSION_H

#include "api/model/kind.h"
#include "base/buf.h"

/* By kind->index. */
struct storage_versions {
	const struct door *doors[KIND_COUNT_MAX];
};

/* What the declarations say (struct kind's storage_door). */
void storage_versions_init(struct storage_versions *v);
/* RESOURCE=VERSION, as the flag --storage-version has it: "dependents=v1beta1", "controllerrevisions.annals.dev=apps/v1". RESOURCE is the hub's, with
 * its group where resources of several groups have the name; a VERSION without group is of the hub's group. 0, or -EINVAL with a sentence in err. */
int storage_versions_set(struct storage_versions *v, struct str setting, struct buf *err);

/* What happens to objects that are stored in another version than is written now: --storage-migration. */
enum storage_migration {
	STORAGE_MIGRATION_AUTO,   /* they are rewritten once all servers agree */
	STORAGE_MIGRATION_MANUAL, /* they are rewritten where a StorageMigration asks for it */
	STORAGE_MIGRATION_OFF,    /* nothing: this server rewrites none */
};
/* "Auto", "Manual", "Off". */
bool storage_migration_parse(enum storage_migration *ret, struct str name);

/* "dependents.annals.dev", "namespaces": how messages, flags, metrics and StorageVersions call a kind (upstream: schema.GroupResource). */
struct str kind_group_resource(const struct kind *k, struct arena *a);
void kind_write_group_resource(const struct kind *k, struct buf *out);

enum { STORAGE_VERSION_HASH_SIZE = 13 };
/* base64 of the first 8 bytes of SHA-256("group/version/Kind"), as upstream's discovery.StorageVersionHash. */
void storage_version_hash(const struct kind *k, const struct door *d, char out[STORAGE_VERSION_HASH_SIZE]);

#endif
