/* All is read at one revision, so what servers write meanwhile cannot look like a fault. Objects
 * are never touched: --repair changes indexes only, which follow from objects and can be made
 * again. */
#include "cli/common/command.h"
#include "cli/fsck/data_flags.h"
#include "cli/fsck/fsck_walk.h"

struct fsck_flags {
	struct data_flags store;
	const char *output;
	bool repair;
};

static int check_flags(void *flags, struct buf *err)
{
	const struct fsck_flags *f = flags;

	if (strcmp(f->output, "text") != 0 && strcmp(f->output, "json") != 0) {
		return command_refuse(err, "--output must be text or json");
	}
	return data_flags_check(&f->store, err);
}

static int parse_flags(const struct command *command, struct fsck_flags *f, int argc, char **argv)
{
	struct option options[5 + DATA_FLAGS_MAX] = {
		OPTIONS_GROUP("General"),
		FLAG("repair", OPTION_BOOL, &f->repair, NULL,
			"Write and remove entries of indexes as the objects want them, also while servers run."),
		FLAG("output", OPTION_STRING, &f->output, "text|json", "The form of the report."),
		FLAG("o", OPTION_STRING, &f->output, "text|json", "The same."),
	};
	data_flags_rows(&f->store, options + options_count(options));
	return command_parse(command, options, argc, argv, check_flags, f);
}

static int check(const struct command *command, const struct fsck_flags *f, struct fsck_store *store, struct buf *err)
{
	struct fsck_report report;
	int64_t revision;
	int r = EXIT_FAILED;
	fsck_report_init(&report, stdout, strcmp(f->output, "json") == 0);
	const struct fsck_options options = {
		.storage = store->storage, .prefix = str_of(f->store.etcd_flags.prefix), .repairs = f->repair};
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
	int r = data_flags_open(&f->store, &store, &err);
	r = r ? command_fail(command, &err) : check(command, f, &store, &err);
	fsck_store_done(&store);
	return r;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct fsck_flags flags = {.output = "text"};
	data_flags_init(&flags.store);
	int r = parse_flags(command, &flags, argc, argv);
	r = r >= 0 ? r : fsck(command, &flags);
	data_flags_done(&flags.store);
	return r;
}

const struct command command_fsck = {
	.name = "fsck",
	.usage = "[--repair] [flags]",
	.summary = "reads everything that is stored and says what is wrong with it",
	.description = "Reads every key under the prefix, at one revision, and says by object what is wrong. It changes\n"
		       "nothing without --repair.\n\n"
		       "With --repair it writes and removes entries of indexes as the objects want them. Each repair is a\n"
		       "transaction, which a concurrent write of the object makes void. Objects are never touched.\n\n"
		       "Without --data-dir and --etcd-servers it takes the data of `annals up` in its default directory.",
	.examples = "  # the data of annals up, whether it runs or not\n"
		    "  annals fsck\n"
		    "  # the data of annals serve; indexes are repaired\n"
		    "  annals fsck --etcd-servers=https://127.0.0.1:2379 --etcd-cafile=ca.crt \\\n"
		    "    --etcd-certfile=etcd-client.crt --etcd-keyfile=etcd-client.key --repair\n",
	.exit_status = "0\tall is well\n1\tsomething was wrong, repaired or not, or etcd cannot be read\n2\tthe command line "
		       "was wrong\n",
	.section = 8,
	.run = run,
};
