#include "cli/command.h"
#include "cli/fsck_store.h"
#include "cli/fsck_walk.h"

struct fsck_flags {
	struct option_strings etcd_servers;
	const char *etcd_cafile, *etcd_certfile, *etcd_keyfile, *etcd_prefix;
	const char *data_dir, *etcd, *output;
	bool repair;
};

/* NULL, or what is wrong with them. */
static const char *wrong_with(const struct fsck_flags *f)
{
	size_t n = strlen(f->etcd_prefix);
	if (strcmp(f->output, "text") != 0 && strcmp(f->output, "json") != 0) {
		return "--output must be text or json";
	}
	if (!f->etcd_servers.n == !f->data_dir) {
		return "give what is to be checked: one of --etcd-servers and --data-dir";
	}
	if (!f->etcd_certfile != !f->etcd_keyfile) {
		return "--etcd-certfile and --etcd-keyfile go together";
	}
	if (f->etcd_servers.n == 0 && (f->etcd_cafile || f->etcd_certfile)) {
		return "--etcd-cafile and --etcd-certfile go with --etcd-servers";
	}
	if (f->etcd && !f->data_dir) {
		return "--etcd goes with --data-dir";
	}
	if (n < 2 || f->etcd_prefix[0] != '/' || f->etcd_prefix[n - 1] == '/') {
		return "--etcd-prefix must begin with a slash, end without one, and have something between";
	}
	return NULL;
}

#define FLAG(name, type, target, value, help)         \
	{                                             \
		name, type, target, value, help, 0, 0 \
	}

static int parse_flags(const struct command *command, struct fsck_flags *f, int argc, char **argv)
{
	const struct option options[] = {
		FLAG("etcd-servers", OPTION_STRINGS, &f->etcd_servers, "URL,...",
			"etcd's endpoints, as annals serve has them."),
		FLAG("etcd-cafile", OPTION_STRING, &f->etcd_cafile, "FILE", "CA of etcd's certificates."),
		FLAG("etcd-certfile", OPTION_STRING, &f->etcd_certfile, "FILE", "Certificate to show to etcd."),
		FLAG("etcd-keyfile", OPTION_STRING, &f->etcd_keyfile, "FILE", "Its key."),
		FLAG("etcd-prefix", OPTION_STRING, &f->etcd_prefix, "PREFIX", "What all keys begin with."),
		FLAG("data-dir", OPTION_STRING, &f->data_dir, "DIR",
			"The directory of an annals up; its etcd is started where it does not run."),
		FLAG("etcd", OPTION_STRING, &f->etcd, "PATH", "The etcd to start; the one in $PATH by default."),
		FLAG("repair", OPTION_BOOL, &f->repair, NULL,
			"Bring indexes in line with the objects, also while servers run."),
		FLAG("output", OPTION_STRING, &f->output, "FORM", "text or json."),
		FLAG("o", OPTION_STRING, &f->output, "FORM", "The same."),
		{0},
	};
	int r = command_parse(command, options, argc, argv);
	if (r >= 0) {
		return r;
	}
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	const char *wrong = wrong_with(f);
	if (wrong) {
		buf_adds(&err, wrong);
	}
	return wrong ? command_misuse(command, &err) : -1;
}

static int open_store(struct fsck_store *s, const struct fsck_flags *f, struct buf *err)
{
	const struct storage_etcd_options options = {
		.endpoints = (const char *const *)f->etcd_servers.v,
		.n_endpoints = f->etcd_servers.n,
		.ca_file = f->etcd_cafile,
		.cert_file = f->etcd_certfile,
		.key_file = f->etcd_keyfile,
	};
	return f->data_dir ? fsck_store_open_dir(s, f->data_dir, f->etcd, err) : fsck_store_open(s, &options, err);
}

static int check(const struct command *command, const struct fsck_flags *f, struct fsck_store *store, struct buf *err)
{
	struct fsck_report report;
	int64_t revision;
	int r = EXIT_FAILED;
	fsck_report_init(&report, stdout, strcmp(f->output, "json") == 0);
	const struct fsck_options options = {.storage = store->storage, .prefix = str_of(f->etcd_prefix), .repairs = f->repair};
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
	struct fsck_flags flags = {.etcd_prefix = "/annals", .output = "text"};
	int r = parse_flags(command, &flags, argc, argv);
	r = r >= 0 ? r : fsck(command, &flags);
	option_strings_done(&flags.etcd_servers);
	return r;
}

const struct command command_fsck = {
	.name = "fsck",
	.usage = "[--etcd-servers URL,... | --data-dir DIR] [--repair] [flags]",
	.summary = "reads everything that is stored and says what is wrong with it",
	.description = "Reads every key under the prefix, at one revision, and says by object what is wrong. It changes "
		       "nothing unless\n"
		       "told to --repair: then entries of indexes are written and removed as the objects want them, each in a\n"
		       "transaction that a concurrent write of the object makes void. Objects are never touched.\n\n"
		       "Exit status: 0 all well; 1 something was wrong, repaired or not, or etcd cannot be read; 2 misuse.",
	.run = run,
};
