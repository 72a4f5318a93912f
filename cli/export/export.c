/* Objects of a store become lines of a file, all as they were at one revision. Counting comes first: it names that revision, and the header says how many
 * objects follow. The file has Secrets in it, so it is its owner's alone. It gets its name only once it is whole, so that nobody takes half of one for a
 * backup. */
#include "api/custom/custom.h"
#include "api/custom/definition.h"
#include "api/model/storage_version.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/options.h"
#include "base/sha256.h"
#include "cli/common/command.h"
#include "cli/common/terminal.h"
#include "cli/export/export_form.h"
#include "cli/fsck/fsck_store.h"
#include "storage/cache/bases.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- kinds: what both commands must agree on ---- */

bool export_is_momentary(const struct kind *k)
{
	static const char *const kinds[] = {"Lease", "StorageVersion"};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!k->life && strcmp(k->kind, kinds[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* "controllerrevisions", "controllerrevisions.apps", "controllerrevisions.annals.dev": all are one kind here. */
static bool is_called(const struct kind *k, struct str resource, struct str group, bool has_group)
{
	if (!str_is(resource, k->resource)) {
		return false;
	}
	bool is_found = !has_group;
	for (size_t i = 0; i < k->n_versions && !is_found; i++) {
		is_found = str_is(group, k->versions[i].group);
	}
	return is_found;
}

const struct kind *export_find_kind(struct str name)
{
	struct str resource, group;
	bool has_group = str_cut(name, '.', &resource, &group);
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_is_stored(kind_at(i)) && is_called(kind_at(i), resource, group, has_group)) {
			return kind_at(i);
		}
	}
	return NULL;
}

bool export_may_be_defined(struct str name)
{
	struct str resource, group;
	return str_cut(name, '.', &resource, &group) && resource.n > 0 && group.n > 0;
}

/* ---- the walk ---- */

struct export_options {
	struct storage *storage;
	struct str prefix;
	const struct option_strings *resources, *namespaces; /* both empty: export everything */
	FILE *out;
};

enum {
	ARENA_BYTES = 256 << 20, /* the tree of an object: a definition of 1.5 MiB takes thirty times that */
	KEY_BYTES = 64 << 10,
	CUSTOMS_BYTES_MAX = 16 << 20, /* names of definitions: of 10,000, each takes at most 300 bytes */
};

/* The objects of a definition. */
struct custom {
	struct str name; /* RESOURCE.GROUP */
	uint64_t n;
};

struct walk {
	const struct export_options *options;
	int64_t revision;
	uint64_t counts[KIND_COUNT_MAX], n;
	struct custom customs[KINDS_DEFINED_MAX]; /* in the order of their keys */
	size_t n_customs;
	uint64_t n_known;    /* objects below the directories of all kinds, if nothing was chosen */
	uint64_t n_left_out; /* objects that no definition describes */
	struct sha256_ctx digest;
	struct arena keys, object, names;
	struct buf line;
	const struct kind *kind; /* of the range that is being read */
	struct progress progress;
	struct base_shelf shelf; /* of what stored values continue */
	struct buf *err;
};

/* ---- which objects ---- */

static bool is_named(const struct option_strings *names, const struct kind *k)
{
	for (size_t i = 0; i < names->n; i++) {
		struct str name = str_of(names->v[i]);
		if (k->life ? str_eq(name, k->life->definition) : export_find_kind(name) == k) {
			return true;
		}
	}
	return false;
}

/* Where namespaces are chosen, the Namespaces themselves are exported, too; other cluster-scoped objects are not. */
static bool is_wanted(const struct walk *w, const struct kind *k)
{
	const struct export_options *o = w->options;
	if (!kind_is_stored(k) || (o->namespaces->n && !k->is_namespaced && !export_is_namespace(k))) {
		return false;
	}
	return o->resources->n ? is_named(o->resources, k) : !export_is_momentary(k);
}

static struct str directory(struct walk *w, const struct kind *k)
{
	return key_object(&w->keys, w->options->prefix, str_of(k->versions[0].group), str_of(k->resource), STR(""), STR(""));
}

/* Gives one range of a kind's keys: all of them, a namespace, or the Namespace itself (range_end
 * empty). Returns false if there are no more. */
static bool nth_range(struct walk *w, const struct kind *k, size_t i, struct str *ret_key, struct str *ret_end)
{
	const struct option_strings *namespaces = w->options->namespaces;
	struct str all = directory(w, k);
	if (i >= MAX(namespaces->n, (size_t)1)) {
		return false;
	}
	const char *slash = export_is_namespace(k) ? "" : "/";
	*ret_key = namespaces->n ? arena_printf(&w->keys, STR_FMT "%s%s", STR_ARG(all), namespaces->v[i], slash) : all;
	*ret_end = namespaces->n && export_is_namespace(k) ? STR("") : storage_prefix_end(&w->keys, *ret_key);
	return true;
}

/* ---- etcd ---- */

/* The first count names the revision of all that follows. */
static int count_keys(struct walk *w, struct str key, struct str end, uint64_t *ret)
{
	struct storage_range r = {.key = key, .range_end = end, .count_only = true, .at_revision = w->revision};
	int error = storage_range_wait(w->options->storage, &r) == STORAGE_OK ? 0 : store_range_fail(&r, w->revision, w->err);
	if (!error) {
		w->revision = w->revision ? w->revision : r.op.revision;
		*ret = (uint64_t)r.count;
	}
	storage_op_clear(&r.op);
	return error;
}

static int count_range(struct walk *w, const struct kind *k, struct str key, struct str end)
{
	uint64_t n = 0;
	int error = count_keys(w, key, end, &n);
	*(k->life ? &w->customs[w->n_customs - 1].n : &w->counts[k->index]) += n;
	w->progress.total += n;
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
	for (size_t i = 0; i < w->n_customs; i++) {
		if (w->customs[i].n > 0) {
			json_add(a, counts, w->customs[i].name, json_int(a, (int64_t)w->customs[i].n));
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

/* The digest covers all bytes before this line. */
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

/* The file has the hub form, which has all fields, in every version in which objects are stored. If only a webhook could make that
 * form, the object is in the version in which it is stored. */
static int write_object(struct walk *w, const struct kind *k, const struct storage_kv *kv)
{
	struct object *o;
	arena_clear(&w->object);
	if (base_shelf_fetch(&w->shelf, kv->value, w->revision) ||
		object_decode_stored(&o, k, kv->value, kv->mod_revision, &w->object)) {
		buf_printf(w->err,
			"the object at " STR_FMT " cannot be read, and nothing is left out silently: see annals fsck",
			STR_ARG(kv->key));
		return -EBADMSG;
	}
	object_encode_stored(&w->line, o, k->hook ? object_form(o) : &k->versions[0]);
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

/* ---- all ranges of a kind ---- */

typedef int visit_fn(struct walk *w, const struct kind *k, struct str key, struct str end);

static int each_range_of(struct walk *w, const struct kind *k, visit_fn *visit)
{
	struct str key, end;
	int r = 0;
	for (size_t n = 0; is_wanted(w, k) && !r && nth_range(w, k, n, &key, &end); n++) {
		r = visit(w, k, key, end);
		arena_clear(&w->keys);
	}
	return r;
}

static int each_range(struct walk *w, visit_fn *visit)
{
	int r = 0;
	for (size_t i = 0; i < kind_count() && !r; i++) {
		r = each_range_of(w, kind_at(i), visit);
	}
	return r;
}

/* ---- kinds that definitions describe: their names are kept, and one kind at a time is made ---- */

/* The kind of a stored definition, in *ret. NULL: the definition is not established, so it has no objects. */
static int define_kind(struct walk *w, const struct storage_kv *kv, const struct kind **ret)
{
	struct object *o;
	*ret = NULL;
	arena_clear(&w->object);
	if (object_decode_stored(&o, definitions_kind(), kv->value, kv->mod_revision, &w->object)) {
		buf_printf(w->err,
			"the definition at " STR_FMT " cannot be read, and nothing is left out silently: see annals fsck",
			STR_ARG(kv->key));
		return -EBADMSG;
	}
	if (!definition_is_established(o)) {
		return 0;
	}
	*ret = custom_define(o, NULL);
	if (!*ret) {
		buf_printf(w->err,
			"the definition " STR_FMT " describes no kind, and nothing is left out silently: see annals fsck",
			STR_ARG(o->meta.name));
	}
	return *ret ? 0 : -EBADMSG;
}

static int count_custom(struct walk *w, const struct kind *k)
{
	if (w->n_customs == KINDS_DEFINED_MAX) {
		buf_printf(w->err, "there are more than %d definitions: export by --resources", KINDS_DEFINED_MAX);
		return -EFBIG;
	}
	w->customs[w->n_customs++] = (struct custom){.name = arena_dup(&w->names, k->life->definition)};
	int r = each_range_of(w, k, count_range);
	w->n_known += w->customs[w->n_customs - 1].n;
	return r;
}

static int visit_definitions(void *ctx, const struct storage_range *page)
{
	struct walk *w = ctx;
	int error = 0;
	for (size_t i = 0; i < page->n_kvs && !error; i++) {
		const struct kind *k;
		error = define_kind(w, &page->kvs[i], &k);
		if (k && (w->options->resources->n == 0 || is_named(w->options->resources, k))) {
			error = count_custom(w, k);
		}
		kind_unref(k);
	}
	return error;
}

/* Built-in kinds alone can be chosen without a look at the definitions. */
static bool may_have_customs(const struct walk *w)
{
	const struct option_strings *resources = w->options->resources;
	bool may_have = resources->n == 0;
	for (size_t i = 0; i < resources->n && !may_have; i++) {
		may_have = !export_find_kind(str_of(resources->v[i]));
	}
	return may_have;
}

static bool has_custom(const struct walk *w, struct str name)
{
	bool has = false;
	for (size_t i = 0; i < w->n_customs && !has; i++) {
		has = str_eq(w->customs[i].name, name);
	}
	return has;
}

static int count_customs(struct walk *w)
{
	const struct option_strings *resources = w->options->resources;
	if (!may_have_customs(w)) {
		return 0;
	}
	_cleanup_(mem_freep) char *key = mem_printf(STR_FMT, STR_ARG(directory(w, definitions_kind())));
	_cleanup_(mem_freep) char *end = mem_printf(STR_FMT, STR_ARG(storage_prefix_end(&w->keys, str_of(key))));
	int r = store_pages_each(w->options->storage, str_of(key), str_of(end), &w->revision, visit_definitions, w, w->err);
	for (size_t i = 0; i < resources->n && !r; i++) {
		struct str name = str_of(resources->v[i]);
		if (!export_find_kind(name) && !has_custom(w, name)) {
			buf_printf(w->err,
				"--resources " STR_FMT ": no such resource is stored, and no definition of that name",
				STR_ARG(name));
			r = -ENOENT;
		}
	}
	return r;
}

/* The definition is that of the same revision, so it describes the same kind as when its objects were counted. */
static int write_custom(struct walk *w, const struct custom *c)
{
	struct str key = arena_printf(&w->keys, STR_FMT STR_FMT, STR_ARG(directory(w, definitions_kind())), STR_ARG(c->name));
	struct storage_range range = {.key = key, .at_revision = w->revision};
	const struct kind *k = NULL;
	int r = storage_range_wait(w->options->storage, &range) == STORAGE_OK ? 0
									      : store_range_fail(&range, w->revision, w->err);
	assert(r || range.n_kvs == 1);
	r = r ? r : define_kind(w, &range.kvs[0], &k);
	storage_op_clear(&range.op);
	assert(r || k);
	r = r ? r : each_range_of(w, k, write_range);
	kind_unref(k);
	return r;
}

static int write_customs(struct walk *w)
{
	int r = 0;
	for (size_t i = 0; i < w->n_customs && !r; i++) {
		r = w->customs[i].n > 0 ? write_custom(w, &w->customs[i]) : 0;
		arena_clear(&w->keys);
	}
	return r;
}

/* ---- what is left out: objects whose definition is gone, which no server serves ---- */

static int count_below(struct walk *w, struct str directory, uint64_t *ret)
{
	return count_keys(w, directory, storage_prefix_end(&w->keys, directory), ret);
}

static int find_left_out(struct walk *w)
{
	uint64_t n = 0, n_bases = 0;
	if (w->options->resources->n || w->options->namespaces->n) {
		return 0;
	}
	int r = count_below(w, key_objects_prefix(&w->keys, w->options->prefix), &n);
	r = r ? r : count_below(w, key_bases(&w->keys, w->options->prefix), &n_bases);
	for (size_t i = 0; i < kind_count() && !r; i++) {
		uint64_t n_of_kind = w->counts[i];
		if (kind_is_stored(kind_at(i)) && !is_wanted(w, kind_at(i))) {
			r = count_below(w, directory(w, kind_at(i)), &n_of_kind);
		}
		w->n_known += n_of_kind;
		arena_clear(&w->keys);
	}
	assert(r || n >= w->n_known + n_bases);
	w->n_left_out = n - w->n_known - n_bases;
	return r;
}

/* ---- all of it ---- */

static int walk(struct walk *w)
{
	int r = each_range(w, count_range);
	r = r ? r : count_customs(w);
	if (!r) {
		arena_clear(&w->object);
		json_encode(&w->line, header(w, &w->object));
		r = write_line(w);
	}
	r = r ? r : each_range(w, write_range);
	r = r ? r : write_customs(w);
	r = r ? r : find_left_out(w);
	progress_clear(&w->progress);
	return r ? r : write_trailer(w);
}

/* The sums of an export. */
struct export_result {
	uint64_t n, n_left_out; /* objects */
	int64_t revision;
};

/* 0, or -errno with a sentence in err. */
static int export_walk(const struct export_options *options, struct export_result *ret, struct buf *err)
{
	struct walk *w = mem_new(struct walk);
	w->options = options;
	w->err = err;
	w->shelf = (struct base_shelf){.storage = options->storage, .prefix = options->prefix};
	sha256_init(&w->digest);
	arena_init(&w->keys, KEY_BYTES);
	arena_init(&w->object, ARENA_BYTES);
	arena_init(&w->names, CUSTOMS_BYTES_MAX);
	buf_init(&w->line, EXPORT_LINE_MAX);
	progress_init(&w->progress, "exported", "objects", 0);
	int r = walk(w);
	*ret = (struct export_result){.n = w->n, .n_left_out = w->n_left_out, .revision = w->revision};
	base_shelf_done(&w->shelf);
	buf_done(&w->line);
	arena_done(&w->names);
	arena_done(&w->object);
	arena_done(&w->keys);
	mem_free(w);
	return r;
}

/* ---- flags ---- */

struct export_flags {
	struct data_flags store;
	struct option_strings resources, namespaces;
	const char *output;
};

static int check_flags(void *flags, struct buf *err)
{
	const struct export_flags *f = flags;
	for (size_t i = 0; i < f->resources.n; i++) {
		struct str name = str_of(f->resources.v[i]);
		if (!export_find_kind(name) && !export_may_be_defined(name)) {
			return command_refuse(err,
				"--resources %s: no such resource is stored; give plurals, such as "
				"controllerrevisions.annals.dev, and of a custom resource the name of its definition",
				f->resources.v[i]);
		}
	}
	return data_flags_check(&f->store, err);
}

static int parse_flags(const struct command *command, struct export_flags *f, int argc, char **argv)
{
	struct option options[6 + DATA_FLAGS_MAX] = {
		OPTIONS_GROUP("General"),
		FLAG("output", OPTION_STRING, &f->output, "FILE",
			"The file to write, readable by its owner alone, and no symbolic link; - is standard output."),
		FLAG("o", OPTION_STRING, &f->output, "FILE", "The same."),
		FLAG("resources", OPTION_STRINGS, &f->resources, "NAME,...",
			"Only these: providers, controllerrevisions.annals.dev, widgets.example.com, ... By default all but "
			"Leases and StorageVersions, which only say what processes do right now."),
		FLAG("namespaces", OPTION_STRINGS, &f->namespaces, "NAME,...",
			"Only what is in these namespaces, and the Namespaces themselves."),
	};
	data_flags_rows(&f->store, options + options_count(options));
	assert(options_count(options) < ARRAY_SIZE(options)); /* the last row ends the table */
	return command_parse(command, options, argc, argv, check_flags, f);
}

/* ---- the file ---- */

/* Devices and pipes are written to directly. Only a regular file is replaced: root must not
 * replace /dev/null. */
static bool is_replaced(const char *path)
{
	struct stat st;
	return lstat(path, &st) < 0 || S_ISREG(st.st_mode);
}

/* temporary: NULL to write into the existing file. */
static FILE *open_output(const char *path, const char *temporary, struct buf *err)
{
	if (strcmp(path, "-") == 0) {
		return stdout;
	}
	if (temporary) {
		unlink(temporary); /* left by an export that died */
	}
	int fd = temporary ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
			   : open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP) {
		/* A link could lead the file to a place of somebody else's choice, where others
		 * may read it. */
		buf_printf(err, "--output %s is a symbolic link: name the file itself, or - for standard output", path);
		return NULL;
	}
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		buf_printf(err, "cannot make %s: %s", temporary ? temporary : path, strerror(errno));
	}
	return out;
}

static int close_output(FILE *out, const char *path, const char *temporary, int error, struct buf *err)
{
	if (!error && fflush(out)) {
		error = -errno;
		buf_printf(err, "cannot write %s: %s", path, strerror(errno));
	}
	if (out == stdout) {
		return error;
	}
	bool is_kept = !error && (!temporary || fsync(fileno(out)) == 0);
	fclose(out);
	if (is_kept && (!temporary || rename(temporary, path) == 0)) {
		return 0;
	}
	if (!error) {
		error = -errno;
		buf_printf(err, "cannot write %s: %s", path, strerror(errno));
	}
	if (temporary) {
		unlink(temporary);
	}
	return error;
}

static int write_all(const struct export_flags *f, struct storage *storage, struct buf *err)
{
	_cleanup_(mem_freep) char *temporary = is_replaced(f->output) ? mem_printf("%s.part", f->output) : NULL;
	FILE *out = open_output(f->output, temporary, err);
	struct export_result result;
	if (!out) {
		return -EIO;
	}
	const struct export_options options = {.storage = storage,
		.prefix = str_of(f->store.etcd_flags.prefix),
		.resources = &f->resources,
		.namespaces = &f->namespaces,
		.out = out};
	int r = export_walk(&options, &result, err);
	r = close_output(out, f->output, temporary, r, err);
	if (!r) {
		fprintf(stderr, "%" PRIu64 " objects at revision %" PRId64 "\n", result.n, result.revision);
	}
	if (!r && result.n_left_out > 0) {
		fprintf(stderr,
			"%" PRIu64 " object%s left out: no CustomResourceDefinition describes %s. annals fsck names %s\n",
			result.n_left_out, result.n_left_out == 1 ? " is" : "s are", result.n_left_out == 1 ? "it" : "them",
			result.n_left_out == 1 ? "it" : "them");
	}
	return r;
}

static int export(const struct command *command, const struct export_flags *f)
{
	struct fsck_store store;
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 64 * 1024);
	int r = data_flags_open(&f->store, &store, &err);
	r = r ? r : write_all(f, store.storage, &err);
	fsck_store_done(&store);
	return r ? command_fail(command, &err) : EXIT_OK;
}

static int export_run(const struct command *command, int argc, char **argv)
{
	struct export_flags flags = {.output = "-"};
	data_flags_init(&flags.store);
	int r = parse_flags(command, &flags, argc, argv);
	r = r >= 0 ? r : export(command, &flags);
	option_strings_done(&flags.resources);
	option_strings_done(&flags.namespaces);
	data_flags_done(&flags.store);
	return r;
}

const struct command command_export = {
	.name = "export",
	.usage = "[-o FILE] [--resources NAME,...] [--namespaces NAME,...] [flags]",
	.summary = "writes all objects to a file, as JSON lines",
	.description = "Writes all objects, as they were at one revision, to a file: a header, an object a line, a trailer.\n"
		       "Servers may run meanwhile. `annals import` reads the file. What follows from objects (indexes) is\n"
		       "not in it, nor what only says what processes do right now (Leases, StorageVersions). Custom\n"
		       "resources come last, behind their definitions. Secrets are in it: keep the file as you keep them.\n\n"
		       "Without --data-dir and --etcd-servers it takes the data of `annals up` in its default directory.",
	.examples = "  # everything that annals up keeps, whether it runs or not\n"
		    "  annals export -o backup.jsonl\n"
		    "  # the histories of two namespaces\n"
		    "  annals export --namespaces=shop,bank --resources=histories,controllerrevisions -o histories.jsonl\n",
	.section = 8,
	.run = export_run,
};
