/* Everything is checked before anything is written, since an import that stops in its middle leaves
 * a store that is neither the old one nor the new one. */
#include "cli/export/import.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "base/sha256.h"
#include "cli/common/command.h"
#include "cli/export/export_form.h"
#include "cli/fsck/fsck_store.h"
#include "client/rest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the input: a file, or a copy of what comes through a pipe, which can be read once only ---- */

enum { CHUNK = 256 << 10 };

int import_file_temporary(struct buf *err)
{
	const char *dir = getenv("TMPDIR");
	_cleanup_(mem_freep) char *path = mem_printf("%s/annals-import-XXXXXX", dir && dir[0] == '/' ? dir : "/var/tmp");
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		int r = errno;
		buf_printf(err, "cannot make %s: %s", path, strerror(r));
		return -r;
	}
	unlink(path);
	return fd;
}

static int copy(int from, int to, struct buf *err)
{
	_cleanup_(mem_freep) char *chunk = mem_alloc(CHUNK);
	uint64_t total = 0;
	ssize_t n;
	while ((n = read(from, chunk, CHUNK)) != 0) {
		int r = n > 0 ? file_write(to, (struct str){chunk, (size_t)n}) : errno == EINTR ? 0 : -errno;
		total += n > 0 ? (uint64_t)n : 0;
		if (r) {
			buf_printf(err, "cannot keep a copy of standard input (in $TMPDIR, or /var/tmp): %s", strerror(-r));
			return r;
		}
		if (total > IMPORT_COPY_MAX) {
			buf_printf(err, "standard input is larger than %" PRIu64 " GiB: give a file", IMPORT_COPY_MAX >> 30);
			return -EFBIG;
		}
	}
	return 0;
}

static int open_copy(int from, struct buf *err)
{
	int fd = import_file_temporary(err);
	int r = fd < 0 ? fd : copy(from, fd, err);
	if (r && fd >= 0) {
		close(fd);
	}
	return r ? r : fd;
}

int import_file_open(const char *path, struct buf *err)
{
	struct stat st;
	if (strcmp(path, "-") == 0) {
		return open_copy(STDIN_FILENO, err);
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = errno;
		buf_printf(err, "cannot open %s: %s", path, strerror(r));
		return -r;
	}
	if (S_ISREG(st.st_mode)) {
		return fd;
	}
	int copied = open_copy(fd, err);
	close(fd);
	return copied;
}

static int digest(int fd, uint64_t upto, unsigned char all[32], unsigned char part[32])
{
	_cleanup_(mem_freep) char *chunk = mem_alloc(CHUNK);
	struct sha256_ctx whole, first;
	uint64_t at = 0;
	ssize_t n;
	sha256_init(&whole);
	sha256_init(&first);
	while ((n = pread(fd, chunk, CHUNK, (off_t)at)) != 0) {
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0) {
			size_t length = (size_t)n;
			sha256_update(&whole, length, (const uint8_t *)chunk);
			sha256_update(&first, at < upto ? (size_t)MIN((uint64_t)length, upto - at) : 0, (const uint8_t *)chunk);
			at += length;
		}
	}
	sha256_digest(&whole, SHA256_SIZE, all);
	sha256_digest(&first, SHA256_SIZE, part);
	return 0;
}

int import_file_digest(int fd, uint64_t upto, unsigned char all[32], unsigned char part[32], struct buf *err)
{
	int r = digest(fd, upto, all, part);
	if (r) {
		buf_printf(err, "cannot read the file: %s", strerror(-r));
	}
	return r;
}

int import_file_read(struct import *im, const struct entry *e, struct arena *a, struct str *ret)
{
	char *text = arena_text(a, e->length);
	size_t done = 0;
	while (done < e->length) {
		ssize_t n = pread(im->fd, text + done, e->length - done, (off_t)(e->offset + done));
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			buf_printf(im->err, "cannot read line %u again: %s", e->line,
				n < 0 ? strerror(errno) : "the file is shorter");
			return -EIO;
		}
		done += (size_t)n;
	}
	*ret = (struct str){text, e->length};
	return 0;
}

/* ---- another cluster: its objects become lines of a file without a name, so all is checked before anything is written ---- */

enum { LINE_BYTES = EXPORT_LINE_MAX, TREE_BYTES = 256 << 20 };

struct fetch {
	struct client *client;
	int fd;
	uint64_t n_bytes; /* bytes written to the copy */
	struct buf line;
	struct arena arena;
	const struct kind *kind;
	const struct version *version;
	int error;
	struct buf *err;
};

/* Adds kind and version, which items of a list lack. */
static bool write_item(void *ctx, const struct json *item)
{
	struct fetch *f = ctx;
	struct json *whole = json_object(&f->arena);
	json_add(&f->arena, whole, STR("kind"), json_string(&f->arena, str_of(f->kind->kind)));
	json_add(&f->arena, whole, STR("apiVersion"), json_string(&f->arena, version_api_version(f->version, &f->arena)));
	for (uint32_t i = 0; json_is(item, JSON_OBJECT) && i < item->n; i++) {
		if (!str_is(item->members[i].name, "kind") && !str_is(item->members[i].name, "apiVersion")) {
			json_add(&f->arena, whole, item->members[i].name, item->members[i].value);
		}
	}
	if (!json_encode(&f->line, whole) || !buf_addc(&f->line, '\n')) {
		f->error = -EFBIG;
	} else if (f->line.n > IMPORT_COPY_MAX - f->n_bytes) {
		f->error = -EFBIG;
	} else {
		f->error = file_write(f->fd, buf_str(&f->line));
		f->n_bytes += f->line.n;
	}
	buf_clear(&f->line);
	arena_clear(&f->arena);
	if (f->error) {
		buf_printf(f->err, "cannot keep a copy of a %s: %s", f->kind->kind, strerror(-f->error));
	}
	return f->error == 0;
}

static int refuse(struct fetch *f, const struct answer *a)
{
	buf_printf(f->err, "cannot list %s of the other cluster: " STR_FMT, f->kind->resource, STR_ARG(a->message));
	return -EIO;
}

static int fetch_list(struct fetch *f, const char *ns)
{
	const struct resource resource = {str_of(f->version->group), str_of(f->version->name), str_of(f->kind->resource)};
	const struct target target = {.resource = &resource, .namespace = str_of(ns)};
	struct answer answer;
	answer_init(&answer);
	int r = rest_each(f->client, &target, false, write_item, f, &answer) ? refuse(f, &answer) : f->error;
	answer_done(&answer);
	return r;
}

/* Finds the API version to list: controllerrevisions.apps in apps, controllerrevisions in the
 * kind's own group. */
static const struct version *find_version(const struct kind *k, struct str name)
{
	struct str resource, group;
	bool has_group = str_cut(name, '.', &resource, &group);
	for (size_t i = 0; i < k->n_versions; i++) {
		if (!has_group || str_is(group, k->versions[i].group)) {
			return &k->versions[i];
		}
	}
	return &k->versions[0];
}

static int fetch_all(struct fetch *f, const struct option_strings *resources, const struct option_strings *namespaces)
{
	int r = 0;
	for (size_t i = 0; i < resources->n && !r; i++) {
		f->kind = export_find_kind(str_of(resources->v[i]));
		f->version = find_version(f->kind, str_of(resources->v[i]));
		if (!namespaces->n || !f->kind->is_namespaced) {
			r = fetch_list(f, NULL);
		}
		for (size_t n = 0; n < namespaces->n && f->kind->is_namespaced && !r; n++) {
			r = fetch_list(f, namespaces->v[n]);
		}
	}
	return r;
}

int import_fetch(const char *kubeconfig, const char *context, const struct option_strings *resources,
	const struct option_strings *namespaces, struct buf *err)
{
	struct fetch f = {.err = err, .fd = -1};
	struct client_config config = {0};
	buf_init(&f.line, LINE_BYTES);
	arena_init(&f.arena, TREE_BYTES);
	int r = client_config_load(&config, kubeconfig, context, err);
	r = r ? r : client_new(&f.client, &config, err);
	f.fd = r ? r : import_file_temporary(err);
	r = f.fd < 0 ? f.fd : fetch_all(&f, resources, namespaces);
	if (f.client) {
		client_free(f.client);
	}
	client_config_done(&config);
	if (r && f.fd >= 0) {
		close(f.fd);
	}
	arena_done(&f.arena);
	buf_done(&f.line);
	return r ? r : f.fd;
}

/* ---- the command ---- */

struct import_flags {
	struct data_flags store;
	struct option_strings resources, namespaces, renames;
	const char *on_conflict, *kubeconfig, *context, *file;
	bool is_exact, is_rehearsal, creates_namespaces;
	struct import_options options; /* derived from the flags above */
};

/* ---- flags ---- */

static int read_rename(struct import_flags *f, const char *text, struct buf *err)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	struct rename *r = &f->options.renames[f->options.n_renames];
	bool is_pair = str_cut(str_of(text), '=', &r->from, &r->to);
	if (!is_pair || validate_dns_label(r->from, messages) || validate_dns_label(r->to, messages)) {
		return command_refuse(err, "--rename-namespace %s: must be OLD=NEW, two names of namespaces", text);
	}
	if (f->options.n_renames++ == RENAMES_MAX - 1) {
		return command_refuse(err, "--rename-namespace: at most %d can be given", RENAMES_MAX - 1);
	}
	return 0;
}

static int read_conflict(struct import_flags *f, struct buf *err)
{
	static const char *const names[] = {"refuse", "skip", "replace"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(f->on_conflict, names[i]) == 0) {
			f->options.on_conflict = (enum on_conflict)i;
			return 0;
		}
	}
	return command_refuse(err, "--on-conflict %s: must be refuse, skip or replace", f->on_conflict);
}

static int read_resources(struct import_flags *f, struct buf *err)
{
	for (size_t i = 0; i < kind_count() && !f->resources.n; i++) {
		f->options.wants[i] = true;
	}
	for (size_t i = 0; i < f->resources.n; i++) {
		const struct kind *k = export_find_kind(str_of(f->resources.v[i]));
		bool may_be_defined = !k && export_may_be_defined(str_of(f->resources.v[i]));
		if (!k && !may_be_defined) {
			return command_refuse(err,
				"--resources %s: no such resource is stored; give plurals, such as "
				"controllerrevisions.apps, and of a custom resource the name of its definition",
				f->resources.v[i]);
		}
		if (may_be_defined && f->kubeconfig) {
			return command_refuse(err,
				"--resources %s: --from-kubeconfig reads built-in resources; kubectl get -A -o json writes "
				"custom ones, and annals import - reads them",
				f->resources.v[i]);
		}
		if (k) {
			f->options.wants[k->index] = true;
		}
	}
	return 0;
}

static int check_flags(void *flags, struct buf *err)
{
	struct import_flags *f = flags;
	if (!f->file == !f->kubeconfig) {
		return command_refuse(err, "give what is to be imported: a file, - for standard input, or --from-kubeconfig");
	}
	if (f->kubeconfig && !f->resources.n) {
		return command_refuse(err, "--from-kubeconfig needs --resources, such as controllerrevisions.apps");
	}
	if (f->context && !f->kubeconfig) {
		return command_refuse(err, "--context goes with --from-kubeconfig");
	}
	int r = read_resources(f, err);
	for (size_t i = 0; i < f->renames.n && !r; i++) {
		r = read_rename(f, f->renames.v[i], err);
	}
	r = r ? r : read_conflict(f, err);
	return r ? r : data_flags_check(&f->store, err);
}

/* The file may come before or after the flags. */
static int parse_flags(const struct command *command, struct import_flags *f, int argc, char **argv)
{
	struct option options[11 + DATA_FLAGS_MAX] = {
		OPTIONS_GROUP("General"),
		FLAG("exact", OPTION_BOOL, &f->is_exact, NULL,
			"Keep uids, creation times and managedFields: for a backup that is put back. Else objects are new "
			"ones."),
		FLAG("rename-namespace", OPTION_STRINGS, &f->renames, "OLD=NEW",
			"Put what was in OLD into NEW; what refers to it follows. Repeatable."),
		FLAG("on-conflict", OPTION_STRING, &f->on_conflict, "refuse|skip|replace",
			"When another object of the name is stored: refuse everything, skip it, or replace it."),
		FLAG("resources", OPTION_STRINGS, &f->resources, "NAME,...",
			"Only these: providers, controllerrevisions.apps, widgets.example.com, ..."),
		FLAG("namespaces", OPTION_STRINGS, &f->namespaces, "NAME,...",
			"Only what is in these, as the file calls them."),
		FLAG("create-namespaces", OPTION_BOOL, &f->creates_namespaces, NULL,
			"Make the Namespaces that are neither stored nor in the file."),
		FLAG("dry-run", OPTION_BOOL, &f->is_rehearsal, NULL, "Check everything, and write nothing."),
		FLAG("from-kubeconfig", OPTION_STRING, &f->kubeconfig, "FILE",
			"Read the objects from the cluster of this kubeconfig, rather than from a file."),
		FLAG("context", OPTION_STRING, &f->context, "NAME", "The context of that kubeconfig."),
	};
	data_flags_rows(&f->store, options + options_count(options));
	assert(options_count(options) < ARRAY_SIZE(options)); /* the last row ends the table */
	return command_parse_file(command, options, argc, argv, check_flags, f, &f->file);
}

/* ---- the work ---- */

static void import_init(struct import *im, const struct import_options *options, struct buf *err)
{
	/* Histories, uids or namespaces: 100 bytes each. A file with more uids or namespaces is
	 * refused. */
	enum { NAMES_BYTES = 256 << 20, NAMES_MAX = 1 << 20 };
	*im = (struct import){
		.options = options, .err = err, .fd = -1, .shelf = {.storage = options->storage, .prefix = options->prefix}};
	arena_init(&im->names, NAMES_BYTES);
	map_init(&im->histories, NAMES_MAX);
	map_init(&im->present_uids, NAMES_MAX);
	map_init(&im->namespaces, NAMES_MAX);
	map_init(&im->customs_by_name, KINDS_DEFINED_MAX);
	map_init(&im->customs_by_kind, KINDS_DEFINED_MAX);
}

static void import_done(struct import *im)
{
	if (im->fd >= 0) {
		close(im->fd);
	}
	hash_table_done(&im->by_uid);
	hash_table_done(&im->by_key);
	map_done(&im->namespaces);
	map_done(&im->present_uids);
	map_done(&im->histories);
	arena_done(&im->names);
	base_shelf_done(&im->shelf);
	import_definitions_done(im);
	mem_free(im->told_of);
	mem_free(im->order);
	mem_free(im->edges);
	mem_free(im->entries);
}

static int refuse_troubles(const struct import *im, struct buf *err)
{
	if (im->n_troubles == 0) {
		return 0;
	}
	buf_printf(err, "%" PRIu64 " thing%s wrong: nothing has been changed", im->n_troubles,
		im->n_troubles == 1 ? " is" : "s are");
	return -EINVAL;
}

/* Runs both passes of checks, and reports everything that they find. */
static int check_all(struct import *im)
{
	int r = import_scan(im);
	r = r ? r : refuse_troubles(im, im->err);
	if (!r) {
		import_arrange(im);
		r = import_compare(im);
	}
	return r ? r : refuse_troubles(im, im->err);
}

static int write_all(struct import *im)
{
	int r = import_write(im);
	if (!r && im->n_troubles) {
		buf_printf(im->err,
			"%" PRIu64 " object%s changed while the import ran, by a controller perhaps; all others are there",
			im->n_troubles, im->n_troubles == 1 ? " was" : "s were");
		r = -EBUSY;
	}
	return r;
}

static void count_rehearsed(struct import *im)
{
	for (size_t i = 0; i < im->n; i++) {
		uint64_t *counts[] = {
			[ENTRY_NEW] = &im->counts.created,
			[ENTRY_SAME] = &im->counts.same,
			[ENTRY_REPLACE] = &im->counts.replaced,
			[ENTRY_SKIP] = &im->counts.skipped,
			[ENTRY_DONE] = &im->counts.created,
		};
		*counts[im->entries[i].state] += 1;
	}
}

int import_decode(struct import *im, struct object **ret, const struct kind *k, const struct storage_kv *kv, struct arena *a)
{
	int r = base_shelf_fetch(&im->shelf, kv->value, 0);

	return r ? r : object_decode_stored(ret, k, arena_dup(a, kv->value), kv->mod_revision, a);
}

int import_run(const struct import_options *options, int fd, struct import_counts *ret, struct buf *err)
{
	assert(options->n_renames <= RENAMES_MAX && options->storage && fd >= 0);
	struct import im;
	import_init(&im, options, err);
	im.fd = fd;
	int r = check_all(&im);
	if (!r && options->is_rehearsal) {
		count_rehearsed(&im);
	} else if (!r) {
		r = write_all(&im);
	}
	*ret = im.counts;
	import_done(&im);
	return r;
}

static int import(const struct import_flags *f, struct storage *storage, struct buf *err)
{
	struct import_counts counts;
	struct import_options options = f->options;
	options.storage = storage;
	options.prefix = str_of(f->store.etcd_flags.prefix);
	options.is_exact = f->is_exact;
	options.is_rehearsal = f->is_rehearsal;
	options.creates_namespaces = f->creates_namespaces;
	options.namespaces = &f->namespaces;
	options.resources = &f->resources;
	int fd = f->kubeconfig ? import_fetch(f->kubeconfig, f->context, &f->resources, &f->namespaces, err)
			       : import_file_open(f->file, err);
	int r = fd < 0 ? fd : import_run(&options, fd, &counts, err);
	if (fd >= 0 && (!r || r == -EBUSY)) {
		printf("%s%" PRIu64 " created, %" PRIu64 " there already, %" PRIu64 " replaced, %" PRIu64 " left as they are\n",
			options.is_rehearsal ? "would be: " : "", counts.created, counts.same, counts.replaced, counts.skipped);
	}
	return r;
}

static int open_and_import(const struct command *command, const struct import_flags *f)
{
	struct fsck_store store;
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 64 * 1024);
	int r = data_flags_open(&f->store, &store, &err);
	r = r ? r : import(f, store.storage, &err);
	fsck_store_done(&store);
	return r ? command_fail(command, &err) : EXIT_OK;
}

static int import_command_run(const struct command *command, int argc, char **argv)
{
	struct import_flags flags = {.on_conflict = "refuse"};
	data_flags_init(&flags.store);
	int r = parse_flags(command, &flags, argc, argv);
	r = r >= 0 ? r : open_and_import(command, &flags);
	option_strings_done(&flags.resources);
	option_strings_done(&flags.namespaces);
	option_strings_done(&flags.renames);
	data_flags_done(&flags.store);
	return r;
}

const struct command command_import = {
	.name = "import",
	.usage = "FILE | - | --from-kubeconfig FILE [flags]",
	.summary = "puts the objects of an export, or of another cluster, into the store",
	.description = "Reads what `annals export` has written, or JSON objects and Lists as `kubectl get -o json` prints\n"
		       "them. The whole file is checked first; if anything is wrong, nothing is changed. An import that was\n"
		       "interrupted goes on when the same command is run again.\n\n"
		       "Custom resources need their CustomResourceDefinition: in the file, where it may stand anywhere, or\n"
		       "in the store. Its schema judges them.\n\n"
		       "Servers may run meanwhile. Their controllers act on objects as these come: stop them before you\n"
		       "bring workloads or Dependents.\n\n"
		       "Without --data-dir and --etcd-servers it takes the data of `annals up` in its default directory.",
	.examples = "  # put a backup back\n"
		    "  annals import backup.jsonl --exact\n"
		    "  # a copy of one namespace beside it\n"
		    "  annals import backup.jsonl --namespaces=shop --rename-namespace=shop=shop-copy\n"
		    "  # the histories that workloads have in another cluster\n"
		    "  annals import --from-kubeconfig=$HOME/.kube/config --resources=controllerrevisions.apps --exact \\\n"
		    "    --create-namespaces\n",
	.exit_status = "0\tall objects are there\n1\tsomething was wrong\n2\tthe command line was wrong\n",
	.section = 8,
	.run = import_command_run,
};
