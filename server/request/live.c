/* Every look is answered by an index of the cache, so it costs what it finds. LIVE_UNKNOWN is an
 * answer of its own: where some objects cannot be read, or pods are kept elsewhere, nothing may be
 * taken for unused. */
#include "server/request/live.h"

enum { PATH_MAX_BYTES = 4096 }; /* of a computed field */

/* What generated objects say of the revision they were made from: upstream's label, and that of seed 002. */
static const char *const generated_labels[] = {"controller-revision-hash", "statefulset-template-revision"};

static struct str label_of(const struct cached *o, const char *key)
{
	for (size_t i = 0; i < o->n_labels; i++) {
		struct label label = cached_label(o, i);

		if (str_is(label.key, key)) {
			return label.value;
		}
	}
	return (struct str){NULL, 0};
}

static bool is_labelled(struct cache_snapshot *pods, struct str ns, const char *key, struct str value)
{
	struct requirement requirement = {.op = SELECTOR_IN, .key = str_of(key), .values = &value, .n_values = 1};
	struct label_selector selector = {&requirement, 1};
	const struct cache_filter filter = {.ns = ns, .labels = &selector};
	struct cache_iter it;

	if (value.n == 0) {
		return false;
	}
	cache_iter_init(&it, pods, &filter, STR(""));
	return cache_iter_next(&it) != NULL;
}

/* By its name, as StatefulSets do; or by the hash that it has as a label itself, as DaemonSets do. */
bool live_is_generated_from(struct cache_snapshot *pods, const struct cached *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(generated_labels); i++) {
		const char *key = generated_labels[i];
		if (is_labelled(pods, o->ns, key, o->name) || is_labelled(pods, o->ns, key, label_of(o, key))) {
			return true;
		}
	}
	return false;
}

static size_t count_of_kind(struct cache *c, const struct kind *k, const struct kind *target, struct str ns, struct str name)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(c, k);
	_cleanup_(buf_done) struct buf path;
	size_t n = 0;

	buf_init(&path, PATH_MAX_BYTES);
	for (const struct reference_field *f = NULL; s && (f = kind_reference_to(k, target, f));) {
		buf_clear(&path);
		buf_printf(&path, "%s" STR_FMT, f->prefix, STR_ARG(name));
		n += cache_snapshot_count_computed(s, ns, buf_str(&path));
	}
	return n;
}

bool live_count_referrers(struct cache *c, const struct kind *kind, struct str ns, struct str name, size_t *ret)
{
	bool is_known = true;

	*ret = 0;
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (k->reference_fields) {
			*ret += count_of_kind(c, k, kind, ns, name);
			is_known &= !cache_has_unknown(c, k);
		}
	}
	return is_known;
}

/* Most namespaces with revisions have no pods at all here. */
static enum liveness find_generated(struct cache *c, const struct cached *o, const struct kind *pods)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(c, pods);

	if (cache_snapshot_count(s, o->ns) > 0 && live_is_generated_from(s, o)) {
		return LIVE_YES;
	}
	return cache_has_unknown(c, pods) ? LIVE_UNKNOWN : LIVE_NO;
}

enum liveness live_find(struct cache *c, const struct cached *o, const struct kind *pods)
{
	enum liveness generated = pods ? find_generated(c, o, pods) : LIVE_UNKNOWN;
	size_t n;

	if (generated == LIVE_YES) {
		return LIVE_YES;
	}
	bool is_known = live_count_referrers(c, o->kind, o->ns, o->name, &n);
	return n > 0 ? LIVE_YES : is_known ? generated : LIVE_UNKNOWN;
}
