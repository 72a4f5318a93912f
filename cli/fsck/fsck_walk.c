/* One pass over all keys, page by page. A key that annals does not write is a finding too: somebody
 * else uses this prefix. */
#include "cli/fsck/fsck_walk.h"

#include "cli/fsck/fsck_private.h"
#include "cli/fsck/store_pages.h"

void fsck_find(struct fsck *f, const char *check, struct str subject, struct str key, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str text = arena_vprintf(&f->page, format, ap);
	va_end(ap);
	progress_clear(&f->progress);
	fsck_report_add(&f->report, &(struct fsck_finding){.check = check, .subject = subject, .key = key, .found = text});
}

/* ---- one key ---- */

static bool read_id(const struct kind *k, struct str rest, struct object_id *ret)
{
	struct str ns = {NULL, 0}, name = rest;
	if (k->is_namespaced && (!str_cut(rest, '/', &ns, &name) || ns.n == 0)) {
		return false;
	}
	*ret = (struct object_id){k, ns, name};
	return name.n > 0 && !str_contains(name, STR("/"));
}

static int decode(struct fsck *f, struct subject *s, const struct storage_kv *kv)
{
	const struct kind *k = s->id.kind;
	int r = object_decode_stored(&s->object, k, kv->value, kv->mod_revision, &f->page);
	if (r == OBJECT_WRONG_VERSION) {
		struct str version = object_stored_version(kv->value, &f->page);
		f->report.census.unknown[k->index]++;
		fsck_find(f, "version", s->title, kv->key, "it is stored as \"" STR_FMT "\", a version that is not known here",
			STR_ARG(version));
	} else if (r) {
		fsck_find(f, "value", s->title, kv->key, "its value is no %s", k->kind);
	}
	return r;
}

static int check_object_key(struct fsck *f, const struct storage_kv *kv, struct str directory)
{
	struct subject *s = arena_new(&f->page, struct subject);
	struct key_parts parts;
	f->report.n_objects++;
	if (!key_split(kv->key, directory, &parts)) {
		fsck_find(f, "shape", kv->key, kv->key, "it is not shaped like the key of an object");
		return 0;
	}
	const struct kind *k = kind_by_hub(parts.group, parts.resource);
	if (!k) {
		fsck_find(f, "shape", kv->key, kv->key, "no kind is stored there");
		return 0;
	}
	if (!read_id(k, parts.rest, &s->id)) {
		fsck_find(f, "shape", kv->key, kv->key, "%s are stored as %s", k->resource,
			k->is_namespaced ? "NAMESPACE/NAME" : "NAME");
		return 0;
	}
	s->key = kv->key;
	s->title = object_id_title(&s->id, &f->page);
	if (decode(f, s, kv)) {
		return 0;
	}
	f->report.census.stored[k->index][s->object->stored_version - k->doors]++;
	return fsck_check_object(f, s);
}

/* GROUP/RESOURCE/NAMESPACE/NAME; it may be there without the object, and without anything that refers to it. */
static bool is_marker(struct fsck *f, struct str key)
{
	struct object_id id;
	struct key_parts parts;
	if (!key_split(key, arena_printf(&f->page, STR_FMT "/referenced/", STR_ARG(f->prefix)), &parts)) {
		return false;
	}
	const struct kind *k = kind_by_hub(parts.group, parts.resource);
	return k && read_id(k, parts.rest, &id);
}

static bool is_below(struct str key, struct str directory)
{
	return str_starts(key, directory) && key.n > directory.n && !memchr(key.p + directory.n, '/', key.n - directory.n);
}

static bool is_known(struct fsck *f, struct str key)
{
	const struct str single[] = {
		key_compact(&f->page, f->prefix), key_fence(&f->page, f->prefix), key_migrator(&f->page, f->prefix)};
	for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
		if (str_eq(key, single[i])) {
			return true;
		}
	}
	return is_marker(f, key) || is_below(key, key_replicas(&f->page, f->prefix)) ||
		is_below(key, key_replicas_seen(&f->page, f->prefix)) || is_below(key, key_user_notes(&f->page, f->prefix)) ||
		is_below(key, key_imports(&f->page, f->prefix));
}

static int check_key(struct fsck *f, const struct storage_kv *kv)
{
	struct str objects = key_objects_prefix(&f->page, f->prefix), rest;
	f->report.n_keys++;
	if (str_starts(kv->key, objects)) {
		return check_object_key(f, kv, objects);
	}
	const struct fsck_index *index = fsck_index_of(f, kv->key, &rest);
	if (index) {
		return fsck_check_entry(f, index, kv, rest);
	}
	if (!is_known(f, kv->key)) {
		fsck_find(f, "unknown", kv->key, kv->key, "annals writes no such key");
	}
	return 0;
}

/* ---- all of them ---- */

static int check_page(void *ctx, const struct storage_range *range)
{
	struct fsck *f = ctx;
	int r = 0;
	f->progress.total = f->progress.total ? f->progress.total : (uint64_t)range->count;
	for (size_t i = 0; i < range->n_kvs && !r; i++) {
		r = check_key(f, &range->kvs[i]);
	}
	r = r ? r : fsck_answer_all(f);
	progress_add(&f->progress, range->n_kvs);
	arena_clear(&f->page);
	return r;
}

static int walk(struct fsck *f, struct str directory)
{
	_cleanup_(arena_done) struct arena ends;
	arena_init(&ends, 64 * 1024);
	return store_pages_each(
		f->storage, directory, storage_prefix_end(&ends, directory), &f->revision, check_page, f, &f->err);
}

int fsck_walk(const struct fsck_options *options, struct fsck_report *report, int64_t *ret_revision, struct buf *err)
{
	struct fsck f = {
		.storage = options->storage, .prefix = options->prefix, .repairs = options->repairs, .report = *report};
	_cleanup_(mem_freep) char *directory = mem_printf(STR_FMT "/", STR_ARG(options->prefix));
	buf_init(&f.err, 64 * 1024);
	arena_init(&f.page, (size_t)256 << 20);
	progress_init(&f.progress, "checked", "keys", 0);
	int r = walk(&f, str_of(directory));
	progress_clear(&f.progress);
	buf_add_str(err, buf_str(&f.err));
	*report = f.report;
	*ret_revision = f.revision;
	mem_free(f.uids.slots);
	arena_done(&f.page);
	buf_done(&f.err);
	return r;
}
