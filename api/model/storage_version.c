/* Which version a kind is stored in is set by flags here; what is written follows
 * storage/agreement, since all replicas must read it. Names are upstream's GroupResource, so
 * that flags, metrics and objects call a kind alike. */
#include "api/model/storage_version.h"

#include "base/base64.h"
#include "base/sha256.h"

#include <errno.h>

enum {
	/* As k8s.io/apiserver's discovery.StorageVersionHash: the beginning of a SHA-256, in
	 * base64. */
	HASHED_BYTES = 8,
	HASHED_TEXT_MAX = 4096,
};

void storage_versions_init(struct storage_versions *v)
{
	*v = (struct storage_versions){0};
	for (size_t i = 0; i < kind_count(); i++) {
		v->doors[i] = kind_storage_door(kind_at(i));
	}
}

/* ---- settings ---- */

static bool is_named(const struct kind *k, struct str resource, struct str group, bool has_group)
{
	return kind_is_stored(k) && str_is(resource, k->resource) && (!has_group || str_is(group, k->doors[0].group));
}

/* The one kind of that name; NULL with a sentence in err. */
static const struct kind *find_kind(struct str name, struct buf *err)
{
	const struct kind *found = NULL;
	struct str resource, group;
	bool has_group = str_cut(name, '.', &resource, &group);

	for (size_t i = 0; i < kind_count(); i++) {
		if (!is_named(kind_at(i), has_group ? resource : name, group, has_group)) {
			continue;
		}
		if (found) {
			buf_printf(err, STR_FMT ": there are several such resources; give the group, too: %s.GROUP",
				STR_ARG(name), found->resource);
			return NULL;
		}
		found = kind_at(i);
	}
	if (!found) {
		buf_printf(err, STR_FMT ": there is no such resource", STR_ARG(name));
	}
	return found;
}

static const struct door *find_door(const struct kind *k, struct str version)
{
	struct arena a;
	bool has_group = memchr(version.p, '/', version.n) != NULL;

	arena_init(&a, SIZE_MAX);
	const char *group = k->doors[0].group;
	struct str api_version = has_group || !*group ? version : arena_printf(&a, "%s/" STR_FMT, group, STR_ARG(version));
	const struct door *d = kind_door(k, api_version);
	arena_done(&a);
	return d;
}

static void list_versions(struct buf *out, const struct kind *k)
{
	for (size_t i = 0; i < k->n_doors; i++) {
		buf_adds(out, i ? ", " : "");
		door_write_api_version(&k->doors[i], out);
	}
}

int storage_versions_set(struct storage_versions *v, struct str setting, struct buf *err)
{
	struct str name, version;

	if (!str_cut(setting, '=', &name, &version) || name.n == 0 || version.n == 0) {
		buf_printf(err, STR_FMT ": must be RESOURCE=VERSION", STR_ARG(setting));
		return -EINVAL;
	}
	const struct kind *k = find_kind(name, err);
	if (!k) {
		return -EINVAL;
	}
	const struct door *d = find_door(k, version);
	if (!d) {
		buf_printf(err, STR_FMT ": %s has no such version; it has ", STR_ARG(setting), k->resource);
		list_versions(err, k);
		return -EINVAL;
	}
	v->doors[k->index] = d;
	return 0;
}

bool storage_migration_parse(enum storage_migration *ret, struct str name)
{
	static const char *const names[] = {
		[STORAGE_MIGRATION_AUTO] = "Auto", [STORAGE_MIGRATION_MANUAL] = "Manual", [STORAGE_MIGRATION_OFF] = "Off"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(name, names[i])) {
			*ret = (enum storage_migration)i;
			return true;
		}
	}
	return false;
}

/* ---- names ---- */

struct str kind_group_resource(const struct kind *k, struct arena *a)
{
	const char *group = k->doors[0].group;

	return *group ? arena_printf(a, "%s.%s", k->resource, group) : str_of(k->resource);
}

void kind_write_group_resource(const struct kind *k, struct buf *out)
{
	const char *group = k->doors[0].group;

	buf_printf(out, "%s%s%s", k->resource, *group ? "." : "", group);
}

void storage_version_hash(const struct kind *k, const struct door *d, char out[STORAGE_VERSION_HASH_SIZE])
{
	unsigned char sum[SHA256_SIZE];
	struct buf text;

	buf_init(&text, HASHED_TEXT_MAX);
	buf_printf(&text, "%s/%s/%s", d->group, d->version, k->kind);
	sha256(buf_str(&text), sum);
	buf_done(&text);
	base64_encode(out, (struct str){(const char *)sum, HASHED_BYTES});
	out[STORAGE_VERSION_HASH_SIZE - 1] = 0;
}
