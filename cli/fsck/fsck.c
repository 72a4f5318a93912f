/* The command, and its report. Objects are never touched: --repair changes indexes only, which follow from objects. Findings are printed when they are
 * found: a store may have more of them than memory has room for. Keys and values in etcd may be any bytes, so they are printed escaped. */
#include "api/model/storage_version.h"
#include "cli/common/command.h"
#include "cli/fsck/fsck_private.h"
#include "cli/fsck/fsck_store.h"

#include <assert.h>

/* ---- the report ---- */

enum {
	LINE_MAX_BYTES = 64 << 20,
	/* Counts of what definitions describe: 10,000 of them need 2 MiB, or 16 with the longest names. */
	DEFINED_MAX_BYTES = 16 << 20,
};

void fsck_report_init(struct fsck_report *r, FILE *out, bool is_json)
{
	*r = (struct fsck_report){.out = out, .is_json = is_json};
	buf_init(&r->line, LINE_MAX_BYTES);
	buf_init(&r->defined, DEFINED_MAX_BYTES);
}

void fsck_report_done(struct fsck_report *r)
{
	buf_done(&r->line);
	buf_done(&r->defined);
}

static void report_flush(struct fsck_report *r)
{
	command_print(r->out, buf_str(&r->line));
	buf_clear(&r->line);
}

/* Keys and values may be any bytes. JSON's escapes keep a terminal from obeying them. */
static void add_text(struct buf *out, struct str s)
{
	if (json_is_utf8(s)) {
		json_encode_string(out, s);
		return;
	}
	buf_addc(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		buf_printf(out, c < ' ' || c > '~' || c == '"' || c == '\\' ? "\\\\x%02x" : "%c", c);
	}
	buf_addc(out, '"');
}

static void add_plain(struct buf *out, struct str s)
{
	size_t start = out->n;
	add_text(out, s);
	if (!out->is_over) {
		memmove(out->p + start, out->p + start + 1, out->n - start - 2);
		buf_truncate(out, out->n - 2);
	}
}

static void write_text(struct fsck_report *r, const struct fsck_finding *f)
{
	buf_printf(&r->line, "%-10s  ", f->check);
	add_plain(&r->line, f->subject);
	buf_adds(&r->line, ": ");
	add_plain(&r->line, f->found);
	if (f->repair) {
		buf_printf(&r->line, "%s%s", f->is_repaired ? "; repaired: " : "; not repaired: ", f->repair);
	}
	buf_addc(&r->line, '\n');
}

static void write_json(struct fsck_report *r, const struct fsck_finding *f)
{
	const struct {
		const char *name;
		struct str value;
	} members[] = {{"subject", f->subject}, {"key", f->key}, {"found", f->found}};
	buf_printf(&r->line, "%s{\"check\":\"%s\"", r->n_findings ? ",\n" : "{\"findings\":[\n", f->check);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		buf_printf(&r->line, ",\"%s\":", members[i].name);
		add_text(&r->line, members[i].value);
	}
	buf_printf(&r->line, ",\"repaired\":%s", f->is_repaired ? "true" : "false");
	if (f->repair) {
		BUF_LITERAL(&r->line, ",\"repair\":");
		add_text(&r->line, str_of(f->repair));
	}
	buf_addc(&r->line, '}');
}

void fsck_report_add(struct fsck_report *r, const struct fsck_finding *f)
{
	assert(r->line.n == 0);
	if (r->is_json) {
		write_json(r, f);
	} else {
		write_text(r, f);
	}
	report_flush(r);
	r->n_findings++;
	r->n_repaired += f->is_repaired;
}

/* ---- the census ---- */

static void write_json_count(struct fsck_report *r, struct str resource, struct str version, unsigned long long n)
{
	const char *quote = version.n > 0 ? "\"" : "";
	struct str named = version.n > 0 ? version : STR("null");
	buf_printf(&r->line, "%s{\"resource\":\"" STR_FMT "\",\"version\":%s" STR_FMT "%s,\"count\":%llu}",
		r->n_counts++ ? "," : "", STR_ARG(resource), quote, STR_ARG(named), quote, n);
}

static void write_text_count(struct fsck_report *r, struct str resource, struct str version, unsigned long long n)
{
	const char *as = version.n > 0 ? "as " : "in a version that is not known here";
	buf_printf(&r->line, STR_FMT ": %llu stored %s" STR_FMT "\n", STR_ARG(resource), n, as, STR_ARG(version));
}

/* version: empty for all versions together that are not known here. */
static void write_count(struct fsck_report *r, struct str resource, struct str version, uint64_t n)
{
	if (n > 0) {
		(r->is_json ? write_json_count : write_text_count)(r, resource, version, n);
	}
}

static void write_counts(struct fsck_report *r, const struct kind *k, const struct fsck_counts *counts)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	struct str resource = kind_group_resource(k, &a);
	for (size_t i = 0; i < k->n_versions; i++) {
		write_count(r, resource, version_api_version(&k->versions[i], &a), counts->stored[i]);
	}
	write_count(r, resource, STR(""), counts->unknown);
}

void fsck_report_count(struct fsck_report *r, const struct kind *k, const struct fsck_counts *counts)
{
	assert(k->life && r->line.n == 0);
	write_counts(r, k, counts);
	if (r->line.n <= DEFINED_MAX_BYTES - r->defined.n) {
		buf_add_str(&r->defined, buf_str(&r->line));
	} else {
		r->n_left_out++;
	}
	buf_clear(&r->line);
}

/* Kinds of definitions come first, since their counts are there already. */
static void write_census(struct fsck_report *r)
{
	buf_add_str(&r->line, buf_str(&r->defined));
	for (size_t i = 0; i < kind_count(); i++) {
		write_counts(r, kind_at(i), &r->census[i]);
	}
	if (r->n_left_out > 0 && !r->is_json) {
		buf_printf(
			&r->line, "%llu more resources of definitions: not counted here\n", (unsigned long long)r->n_left_out);
	}
}

bool fsck_report_end(struct fsck_report *r, int64_t revision, bool has_repaired)
{
	const unsigned long long keys = r->n_keys, objects = r->n_objects, findings = r->n_findings, repaired = r->n_repaired;
	if (r->is_json) {
		buf_printf(&r->line, "%s],\"stored\":[", findings ? "\n" : "{\"findings\":[");
		write_census(r);
		buf_printf(&r->line,
			"],\"revision\":\"%lld\",\"keys\":%llu,\"objects\":%llu,\"found\":%llu,\"repaired\":%llu}\n",
			(long long)revision, keys, objects, findings, repaired);
	} else {
		write_census(r);
		buf_printf(&r->line, "%llu keys, %llu objects at revision %lld: ", keys, objects, (long long)revision);
		buf_printf(&r->line, findings ? "%llu wrong" : "all well", findings);
		buf_printf(&r->line, has_repaired && findings ? ", %llu repaired\n" : "\n", repaired);
	}
	report_flush(r);
	return fflush(r->out) == 0 && !ferror(r->out);
}

/* ---- the command ---- */

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
	assert(options_count(options) < ARRAY_SIZE(options)); /* the last row ends the table */
	return command_parse(command, options, argc, argv, check_flags, f);
}

static int fsck_check(const struct command *command, const struct fsck_flags *f, struct fsck_store *store, struct buf *err)
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
	r = r ? command_fail(command, &err) : fsck_check(command, f, &store, &err);
	fsck_store_done(&store);
	return r;
}

static int fsck_run(const struct command *command, int argc, char **argv)
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
	.run = fsck_run,
};
