/* Reads the arguments of every subcommand of `annals` in one way, prints its help and its mistakes; and the command
 * `annals version`. */
#include "cli/common/command.h"

#include "base/visible.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

/* ---- arguments ---- */

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			return true;
		}
	}
	return false;
}

void command_add_help(struct buf *out, const struct command_help *help, const struct option *options)
{
	buf_printf(out, "usage: %s %s %s\n\n%s\n", help->program, help->name, help->usage, help->description);
	if (help->examples) {
		buf_printf(out, "\nExamples:\n%s", help->examples);
	}
	if (options[0].name) {
		buf_adds(out, options[0].type == OPTION_HEADING ? "" : "\nFlags:\n");
		options_print_help(options, out);
	}
	BUF_LITERAL(out, "\nExit status:\n");
	struct str line, rows = str_of(help->exit_status ? help->exit_status : EXIT_STATUS_HELP);
	while (rows.n > 0) {
		struct str number, meaning;
		str_cut(rows, '\n', &line, &rows);
		str_cut(line, '\t', &number, &meaning);
		buf_printf(out, "  " STR_FMT "  " STR_FMT "\n", STR_ARG(number), STR_ARG(meaning));
	}
}

static void print_help(const struct command *command, const struct option *options)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 64 * 1024);
	command_add_help(&text,
		&(struct command_help){.program = "annals",
			.name = command->name,
			.usage = command->usage,
			.description = command->description,
			.examples = command->examples,
			.exit_status = command->exit_status},
		options);
	fwrite(text.p, 1, text.n, stdout);
}

/* Set while command_table() runs: the next command shows its table to it, and no help. There is only one thread yet. */
static struct {
	void (*use)(void *ctx, const struct command *, const struct option *);
	void *ctx;
} table_reader;

void command_table(
	const struct command *command, void (*use)(void *ctx, const struct command *, const struct option *), void *ctx)
{
	_cleanup_(mem_freep) char *name = mem_strdup(command->name);
	char *arguments[] = {name, (char[]){"--help"}, NULL};
	table_reader.use = use;
	table_reader.ctx = ctx;
	command->run(command, 2, arguments);
	table_reader.use = NULL;
}

int command_parse_file(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags, const char **ret_file)
{
	_cleanup_(buf_done) struct buf err;
	int n_positional, n_wanted = ret_file ? 1 : 0;
	buf_init(&err, 4096);
	if (asks_for_help(argc, argv)) {
		if (table_reader.use) {
			table_reader.use(table_reader.ctx, command, options);
		} else {
			print_help(command, options);
		}
		return EXIT_OK;
	}
	if (options_parse(options, argc, argv, &n_positional, &err) < 0) {
		return command_misuse(command, &err);
	}
	if (n_positional > n_wanted) {
		buf_printf(&err, "unexpected argument: %s", argv[1 + n_wanted]);
		return command_misuse(command, &err);
	}
	if (ret_file) {
		*ret_file = n_positional ? argv[1] : NULL;
	}
	return check && check(flags, &err) ? command_misuse(command, &err) : -1;
}

int command_parse(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags)
{
	return command_parse_file(command, options, argc, argv, check, flags, NULL);
}

bool command_print(FILE *out, struct str text)
{
	_cleanup_(buf_done) struct buf shown;
	buf_init(&shown, SIZE_MAX / 2);
	visible_add_lines(&shown, text);
	return shown.n == 0 || fwrite(shown.p, 1, shown.n, out) == shown.n;
}

static void complain(const struct command *command, const struct buf *err)
{
	fprintf(stderr, "annals %s: ", command->name);
	command_print(stderr, buf_str(err));
	fputc('\n', stderr);
}

int command_fail(const struct command *command, const struct buf *err)
{
	assert(err->n > 0); /* each failure has its sentence */
	complain(command, err);
	return EXIT_FAILED;
}

int command_misuse(const struct command *command, const struct buf *err)
{
	assert(err->n > 0);
	complain(command, err);
	fprintf(stderr, "See annals help %s.\n", command->name);
	return EXIT_USAGE;
}

int command_refuse(struct buf *err, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(err, format, ap);
	va_end(ap);
	return -EINVAL;
}

/* ---- annals version ---- */

/* Prints two versions, because clients care about the second: the Kubernetes version whose
 * behaviour annals has. */
static int run_version(const struct command *command, int argc, char **argv)
{
	const struct option none[] = {{.name = NULL}};
	int r = command_parse(command, none, argc, argv, NULL, NULL);
	if (r >= 0) {
		return r;
	}
	puts("annals " ANNALS_VERSION " (API of Kubernetes " KUBE_VERSION ")");
	return EXIT_OK;
}

const struct command command_version = {
	.name = "version",
	.usage = "",
	.summary = "prints the version",
	.description = "Prints the version of annals and of the Kubernetes API it follows.",
	.run = run_version,
};
