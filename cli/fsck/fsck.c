/* All is read at one revision, so what servers write meanwhile cannot look like a fault. Objects
 * are never touched: --repair changes indexes only, which follow from objects and can be made
 * again. */
#include "cli/common/command.h"
#include "cli/common/etcd_flags.h"
#include "cli/fsck/fsck_store.h"
#include "cli/fsck/fsck_walk.h"

struct fsck_flags {
	struct etcd_flags etcd_flags;
	const char *data_dir, *etcd, *output;
	bool repair;
};

static int check_flags(void *flags, struct buf *err)
{
	const struct fsck_flags *f = flags;

	if (strcmp(f->output, "text") != 0 && strcmp(f->output, "json") != 0) {
		return command_refuse(err, "--output must be text or json");
	}
	if (!f->etcd_flags.servers.n == !f->data_dir) {
		return command_refuse(err, "give what is to be checked: one of --etcd-servers and --data-dir");
	}
	if (f->etcd && !f->data_dir) {
		return command_refuse(err, "--etcd goes with --data-dir");
	}
	return etcd_flags_check(&f->etcd_flags, err);
}

static int parse_flags(const struct command *command, struct fsck_flags *f, int argc, char **argv)
{
	struct option options[6 + ETCD_FLAGS_MAX] = {
		FLAG("data-dir", OPTION_STRING, &f->data_dir, "DIR",
			"The directory of an annals up; its etcd is started where it does not run."),
		FLAG("etcd", OPTION_STRING, &f->etcd, "PATH", "The etcd to start; the one in $PATH by default."),
		FLAG("repair", OPTION_BOOL, &f->repair, NULL,
			"Bring indexes in line with the objects, also while servers run."),
		FLAG("output", OPTION_STRING, &f->output, "FORM", "text or json."),
		FLAG("o", OPTION_STRING, &f->output, "FORM", "The same."),
	};
	etcd_flags_rows(&f->etcd_flags, options + options_count(options));
	return command_parse(command, options, argc, argv, check_flags, f);
}

static int open_store(struct fsck_store *s, const struct fsck_flags *f, struct buf *err)
{
	const struct storage_etcd_options options = etcd_flags_options(&f->etcd_flags);
	return f->data_dir ? fsck_store_open_dir(s, f->data_dir, f->etcd, err) : fsck_store_open(s, &options, err);
}

static int check(const struct command *command, const struct fsck_flags *f, struct fsck_store *store, struct buf *err)
{
	struct fsck_report report;
	int64_t revision;
	int r = EXIT_FAILED;
	fsck_report_init(&report, stdout, strcmp(f->output, "json") == 0);
	const struct fsck_options options = {
		.storage = store->storage, .prefix = str_of(f->etcd_flags.prefix), .repairs = f->repair};
	if (fsck_walk(&options, &report, &revision, err)) {
		command_fail(command, err);
	} else if (!fsck_report_end(&report, revision, f->repair)) {
		buf_adds(err, "cannot print what was found");
		command_fail(command, err);
	} else {
		r = report.n_findings ? EXIT_FAILED : EXIT_OK;
	}
	fsck_report_done(&report);
	return r;
}

static int fsck(const struct command *command, const struct fsck_flags *f)
{
	struct fsck_store store;
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 64 * 1024);
	int r = open_store(&store, f, &err);
	r = r ? command_fail(command, &err) : check(command, f, &store, &err);
	fsck_store_done(&store);
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct fsck_flags flags = {.output = "text"};
	etcd_flags_init(&flags.etcd_flags);
	int r = parse_flags(command, &flags, argc, argv);
	r = r >= 0 ? r : fsck(command, &flags);
	etcd_flags_done(&flags.etcd_flags);
	return r;
}

const struct command command_fsck = {
	.name = "fsck",
	.usage = "[--etcd-servers URL,... | --data-dir DIR] [--repair] [flags]",
	.summary = "reads everything that is stored and says what is wrong with it",
	.description = "Reads every key under the prefix, at one revision, and says by object what is wrong. It changes\n"
		       "nothing unless told to --repair: then entries of indexes are written and removed as the objects\n"
		       "want them, each in a transaction that a concurrent write of the object makes void. Objects are\n"
		       "never touched.\n\n"
		       "Exit status: 0 all well; 1 something was wrong, repaired or not, or etcd cannot be read; 2 misuse.",
	.run = run,
};
