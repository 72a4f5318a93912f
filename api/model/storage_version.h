/* The version in which objects of a kind are stored. Every version that
 * the kind knows can be read at any time. */
#ifndef API_MODEL_STORAGE_VERSION_H
#define API_MODEL_STORAGE_VERSION_H

#include "api/model/kind.h"
#include "base/buf.h"

/* By kind->index. */
struct storage_versions {
	const struct version *versions[KIND_COUNT_MAX];
};

/* Sets the versions that the declarations name (struct kind's storage_version). */
void storage_versions_init(struct storage_versions *v);
/* RESOURCE=VERSION, as the flag --storage-version has it: "dependents=v1beta1", "controllerrevisions.annals.dev=apps/v1". RESOURCE is the hub's, with
 * its group where resources of several groups have the name; a VERSION without group is of the hub's group. 0, or -EINVAL with a sentence in err. */
int storage_versions_set(struct storage_versions *v, struct str setting, struct buf *err);

/* The fate of objects that are stored in another version than is written now:
 * --storage-migration. */
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
void storage_version_hash(const struct kind *k, const struct version *v, char out[STORAGE_VERSION_HASH_SIZE]);

#endif
