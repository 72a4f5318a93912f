/* A file with objects in it has Secrets in it: it is its owner's alone. It gets its name only once it is whole, so that nobody
 * takes half of one for a backup. */
#include "base/file.h"
#include "cli/common/command.h"
#include "cli/export/export_walk.h"
#include "cli/fsck/data_flags.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

struct export_flags {
	struct data_flags store;
	struct option_strings resources, namespaces;
	const char *output;
};

static int check_flags(void *flags, struct buf *err)
{
	const struct export_flags *f = flags;
	for (size_t i = 0; i < f->resources.n; i++) {
		if (!export_find_kind(str_of(f->resources.v[i]))) {
			return command_refuse(err,
				"--resources %s: no such resource is stored; give plurals, such as "
				"controllerrevisions.annals.dev",
				f->resources.v[i]);
		}
	}
	return data_flags_check(&f->store, err);
}

static int parse_flags(const struct command *command, struct export_flags *f, int argc, char **argv)
{
	struct option options[6 + DATA_FLAGS_MAX] = {
		OPTIONS_GROUP("General"),
		FLAG("output", OPTION_STRING, &f->output, "FILE", "The file to write; - is standard output."),
		FLAG("o", OPTION_STRING, &f->output, "FILE", "The same."),
		FLAG("resources", OPTION_STRINGS, &f->resources, "NAME,...",
			"Only these: providers, controllerrevisions.annals.dev, ... By default all but Leases and "
			"StorageVersions, which only say what processes do right now."),
		FLAG("namespaces", OPTION_STRINGS, &f->namespaces, "NAME,...",
			"Only what is in these namespaces, and the Namespaces themselves."),
	};
	data_flags_rows(&f->store, options + options_count(options));
	return command_parse(command, options, argc, argv, check_flags, f);
}

/* ---- the file ---- */

/* A device, a pipe or a link is written to. Only a file gives up its name: root must not replace /dev/null. */
static bool is_replaced(const char *path)
{
	struct stat st;
	return lstat(path, &st) < 0 || S_ISREG(st.st_mode);
}

/* temporary: NULL to write into what is there. */
static FILE *open_output(const char *path, const char *temporary, struct buf *err)
{
	if (strcmp(path, "-") == 0) {
		return stdout;
	}
	if (temporary) {
		unlink(temporary); /* of an export that died */
	}
	int fd = temporary ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
			   : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
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
	uint64_t n;
	int64_t revision;
	if (!out) {
		return -EIO;
	}
	const struct export_options options = {.storage = storage,
		.prefix = str_of(f->store.etcd_flags.prefix),
		.resources = &f->resources,
		.namespaces = &f->namespaces,
		.out = out};
	int r = export_walk(&options, &n, &revision, err);
	r = close_output(out, f->output, temporary, r, err);
	if (!r) {
		fprintf(stderr, "%" PRIu64 " objects at revision %" PRId64 "\n", n, revision);
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

static int run(const struct command *command, int argc, char **argv)
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
		       "not in it, nor what only says what processes do right now (Leases, StorageVersions). Secrets are:\n"
		       "keep the file as you keep them.\n\n"
		       "Without --data-dir and --etcd-servers it takes the data of `annals up` in its default directory.",
	.examples = "  # everything that annals up keeps, whether it runs or not\n"
		    "  annals export -o backup.jsonl\n"
		    "  # the histories of two namespaces\n"
		    "  annals export --namespaces=shop,bank --resources=histories,controllerrevisions -o histories.jsonl\n",
	.section = 8,
	.run = run,
};
