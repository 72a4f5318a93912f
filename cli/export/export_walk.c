/* Counting comes first: it names the revision at which everything is read, and the header says how
 * many objects follow. */
#include "cli/export/export_walk.h"

#include "api/model/storage_version.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "cli/common/progress.h"
#include "cli/fsck/store_pages.h"
#include "storage/keys.h"

#include <errno.h>
#include <inttypes.h>

enum {
	ARENA_BYTES = 64 << 20,
	KEY_BYTES = 64 << 10,
};

struct walk {
	const struct export_options *options;
	int64_t revision;
	uint64_t counts[KIND_COUNT_MAX], n;
	struct sha256_ctx digest;
	struct arena keys, object;
	struct buf line;
	const struct kind *kind; /* of the range that is being read */
	struct progress progress;
	struct buf *err;
};

/* ---- which objects ---- */

static bool is_named(const struct option_strings *names, const struct kind *k)
{
	for (size_t i = 0; i < names->n; i++) {
		if (export_find_kind(str_of(names->v[i])) == k) {
			return true;
		}
	}
	return false;
}

static bool is_namespace(const struct kind *k)
{
	return strcmp(k->kind, "Namespace") == 0;
}

/* With namespaces chosen, these themselves belong to what is in them; other objects of the cluster do not. */
static bool is_wanted(const struct walk *w, const struct kind *k)
{
	const struct export_options *o = w->options;
	if (!kind_is_stored(k) || (o->namespaces->n && !k->is_namespaced && !is_namespace(k))) {
		return false;
	}
	return o->resources->n ? is_named(o->resources, k) : !export_is_momentary(k);
}

static struct str directory(struct walk *w, const struct kind *k)
{
	return key_object(&w->keys, w->options->prefix, str_of(k->doors[0].group), str_of(k->resource), STR(""), STR(""));
}

/* One range of a kind's keys: all of them, a namespace, or the Namespace itself (range_end empty). False: there are no more. */
static bool nth_range(struct walk *w, const struct kind *k, size_t i, struct str *ret_key, struct str *ret_end)
{
	const struct option_strings *namespaces = w->options->namespaces;
	struct str all = directory(w, k);
	if (i >= MAX(namespaces->n, (size_t)1)) {
		return false;
	}
	const char *slash = is_namespace(k) ? "" : "/";
	*ret_key = namespaces->n ? arena_printf(&w->keys, STR_FMT "%s%s", STR_ARG(all), namespaces->v[i], slash) : all;
	*ret_end = namespaces->n && is_namespace(k) ? STR("") : storage_prefix_end(&w->keys, *ret_key);
	return true;
}

/* ---- etcd ---- */

/* The first count names the revision of all that follows. */
static int count_range(struct walk *w, const struct kind *k, struct str key, struct str end)
{
	struct storage_range r = {.key = key, .range_end = end, .count_only = true, .at_revision = w->revision};
	int error = storage_range_wait(w->options->storage, &r) == STORAGE_OK ? 0 : store_range_fail(&r, w->revision, w->err);
	if (!error) {
		w->revision = w->revision ? w->revision : r.op.revision;
		w->counts[k->index] += (uint64_t)r.count;
		w->progress.total += (uint64_t)r.count;
	}
	storage_op_clear(&r.op);
	return error;
}

/* ---- lines ---- */

static int write_line(struct walk *w)
{
	if (w->line.is_over) {
		buf_adds(w->err, "a line would be too long");
		return -EFBIG;
	}
	buf_addc(&w->line, '\n');
	sha256_update(&w->digest, w->line.n, (const uint8_t *)w->line.p);
	if (fwrite(w->line.p, 1, w->line.n, w->options->out) != w->line.n) {
		int r = errno ? errno : EIO;
		buf_printf(w->err, "cannot write: %s", strerror(r));
		return -r;
	}
	buf_clear(&w->line);
	return 0;
}

static struct json *header(struct walk *w, struct arena *a)
{
	char now[TIME_RFC3339_SIZE];
	struct json *h = json_object(a), *counts = json_object(a), *namespaces = json_array(a);
	time_format_rfc3339(now, clock_wall_s());
	for (size_t i = 0; i < kind_count(); i++) {
		if (w->counts[i]) {
			json_add(a, counts, kind_group_resource(kind_at(i), a), json_int(a, (int64_t)w->counts[i]));
		}
	}
	for (size_t i = 0; i < w->options->namespaces->n; i++) {
		json_append(a, namespaces, json_string(a, str_of(w->options->namespaces->v[i])));
	}
	json_add(a, h, STR("kind"), json_string(a, STR(EXPORT_HEADER)));
	json_add(a, h, STR("apiVersion"), json_string(a, STR(EXPORT_API_VERSION)));
	json_add(a, h, STR("annals"), json_string(a, STR(ANNALS_VERSION)));
	json_add(a, h, STR("time"), json_string(a, arena_dup(a, str_of(now))));
	json_add(a, h, STR("prefix"), json_string(a, w->options->prefix));
	json_add(a, h, STR("revision"), json_string(a, arena_printf(a, "%" PRId64, w->revision)));
	json_add(a, h, STR("objects"), json_int(a, (int64_t)w->progress.total));
	json_add(a, h, STR("resources"), counts);
	if (namespaces->n) {
		json_add(a, h, STR("namespaces"), namespaces);
	}
	return h;
}

static int write_header(struct walk *w)
{
	arena_clear(&w->object);
	json_encode(&w->line, header(w, &w->object));
	return write_line(w);
}

/* The digest is that of all bytes before this line. */
static int write_trailer(struct walk *w)
{
	unsigned char digest[SHA256_SIZE];
	char hex[2 * SHA256_SIZE];
	struct sha256_ctx before = w->digest;
	sha256_digest(&before, SHA256_SIZE, digest);
	hex_write(hex, (const char *)digest, SHA256_SIZE);
	buf_printf(&w->line,
		"{\"kind\":\"" EXPORT_TRAILER "\",\"apiVersion\":\"" EXPORT_API_VERSION "\",\"objects\":%" PRIu64
		",\"sha256\":\"%.*s\"}",
		w->n, (int)sizeof(hex), hex);
	return write_line(w);
}

/* Whatever version it is stored in, the file has the hub form, which says everything. */
static int write_object(struct walk *w, const struct kind *k, const struct storage_kv *kv)
{
	struct object *o;
	arena_clear(&w->object);
	if (object_decode_stored(&o, k, kv->value, kv->mod_revision, &w->object)) {
		buf_printf(w->err,
			"the object at " STR_FMT " cannot be read, and nothing is left out silently: see annals fsck",
			STR_ARG(kv->key));
		return -EBADMSG;
	}
	object_encode_stored(&w->line, o, &k->doors[0]);
	w->n++;
	return write_line(w);
}

/* ---- pages ---- */

static int write_page(void *ctx, const struct storage_range *page)
{
	struct walk *w = ctx;
	int error = 0;
	for (size_t i = 0; i < page->n_kvs && !error; i++) {
		error = write_object(w, w->kind, &page->kvs[i]);
	}
	progress_add(&w->progress, page->n_kvs);
	return error;
}

static int write_range(struct walk *w, const struct kind *k, struct str key, struct str end)
{
	w->kind = k;
	return store_pages_each(w->options->storage, key, end, &w->revision, write_page, w, w->err);
}

/* ---- all of it ---- */

static int each_range(struct walk *w, int (*visit)(struct walk *w, const struct kind *k, struct str key, struct str end))
{
	int r = 0;
	for (size_t i = 0; i < kind_count() && !r; i++) {
		struct str key, end;
		for (size_t n = 0; is_wanted(w, kind_at(i)) && !r && nth_range(w, kind_at(i), n, &key, &end); n++) {
			r = visit(w, kind_at(i), key, end);
			arena_clear(&w->keys);
		}
	}
	return r;
}

static int walk(struct walk *w)
{
	int r = each_range(w, count_range);
	r = r ? r : write_header(w);
	r = r ? r : each_range(w, write_range);
	progress_clear(&w->progress);
	return r ? r : write_trailer(w);
}

int export_walk(const struct export_options *options, uint64_t *ret_n, int64_t *ret_revision, struct buf *err)
{
	struct walk w = {.options = options, .err = err};
	sha256_init(&w.digest);
	arena_init(&w.keys, KEY_BYTES);
	arena_init(&w.object, ARENA_BYTES);
	buf_init(&w.line, EXPORT_LINE_MAX);
	progress_init(&w.progress, "exported", "objects", 0);
	int r = walk(&w);
	*ret_n = w.n;
	*ret_revision = w.revision;
	buf_done(&w.line);
	arena_done(&w.object);
	arena_done(&w.keys);
	return r;
}
