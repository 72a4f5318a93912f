/* The cache counts as objects come and go, so a scrape asks etcd nothing. kube-apiserver's help
 * texts are kept as they are, for dashboards; what they say of errors cannot happen here. */
#include "server/metrics/object_metrics.h"

#include "api/model/storage_version.h"

static size_t objects_of(struct cache *c, const struct kind *k)
{
	struct cache_stats stats;

	cache_stats(c, k, &stats);
	return stats.n_objects;
}

static void write_resource_objects(struct buf *out, struct cache *c, const struct kind *k)
{
	buf_printf(out, "apiserver_resource_objects{group=\"%s\",resource=\"%s\"} %zu\n", k->doors[0].group, k->resource,
		objects_of(c, k));
}

static void write_storage_objects(struct buf *out, struct cache *c, const struct kind *k)
{
	BUF_LITERAL(out, "apiserver_storage_objects{resource=\"");
	kind_write_group_resource(k, out);
	buf_printf(out, "\"} %zu\n", objects_of(c, k));
}

/* door: NULL for those that none of ours can read. */
static void write_stored(struct buf *out, const struct kind *k, const struct door *door, size_t n)
{
	buf_printf(out, "annals_stored_objects{group=\"%s\",resource=\"%s\",version=\"", k->doors[0].group, k->resource);
	if (door) {
		door_write_api_version(door, out);
	} else {
		BUF_LITERAL(out, "unknown");
	}
	buf_printf(out, "\"} %zu\n", n);
}

static void write_stored_objects(struct buf *out, struct cache *c, const struct kind *k)
{
	struct cache_census census;

	cache_census(c, k, &census);
	for (size_t i = 0; i < k->n_doors; i++) {
		write_stored(out, k, &k->doors[i], census.stored[i]);
	}
	write_stored(out, k, NULL, census.n_unknown);
}

static const struct {
	const char *head;
	void (*write)(struct buf *out, struct cache *c, const struct kind *k);
} families[] = {
	{"# HELP apiserver_resource_objects [ALPHA] Number of stored objects at the time of last check split by kind. In case of a "
	 "fetching error, the value will be -1.\n# TYPE apiserver_resource_objects gauge\n",
		write_resource_objects},
	{"# HELP apiserver_storage_objects [STABLE] (Deprecated since 1.34.0) [DEPRECATED, consider using apiserver_resource_objects "
	 "instead] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be "
	 "-1.\n# TYPE apiserver_storage_objects gauge\n",
		write_storage_objects},
	{"# HELP annals_stored_objects Objects by the version in which etcd has them.\n# TYPE annals_stored_objects gauge\n",
		write_stored_objects},
};

void object_metrics_write(struct buf *out, struct cache *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		buf_adds(out, families[i].head);
		for (size_t k = 0; k < kind_count(); k++) {
			if (kind_is_stored(kind_at(k))) {
				families[i].write(out, c, kind_at(k));
			}
		}
	}
}
