/* The plugin's commands and flags. Output is collected, and printed when the command has succeeded, so an error never
 * follows half a table. Only `log -f` prints changes as they come. */
#include "cli/kubectl/kubectl.h"
#include "api/model/members.h"
#include "base/suggest.h"
#include "cli/common/command.h"
#include "cli/common/terminal.h"

#include <stdlib.h>

const struct kubectl_command *const kubectl_commands[] = {&kubectl_log, &kubectl_history, &kubectl_show, &kubectl_diff,
	&kubectl_undo, &kubectl_restore, &kubectl_verify, &kubectl_who_uses, &kubectl_migrations, &kubectl_ui, &kubectl_version,
	NULL};

const struct kubectl_command *kubectl_find_command(struct str name)
{
	for (size_t i = 0; kubectl_commands[i]; i++) {
		if (str_is(name, kubectl_commands[i]->name)) {
			return kubectl_commands[i];
		}
	}
	return NULL;
}

/* ---- flags ----
 *
 * A flag means the same as in kubectl, whose plugin this is. Each command lists the flags that it takes. */

static bool is_among(const char *names, const char *name)
{
	struct str rest = str_of(names), each;
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		if (str_is(each, name)) {
			return true;
		}
	}
	return false;
}

/* "text,json" as the name of a value, in which bars list the values: "text|json". */
static const char *with_bars(struct kubectl *k, const char *names)
{
	struct str text = arena_printf(&k->arena, "%s", names);
	for (size_t i = 0; i < text.n; i++) {
		if (names[i] == ',') {
			((char *)text.p)[i] = '|';
		}
	}
	return text.p;
}

size_t kubectl_flags(struct kubectl *k, const struct kubectl_command *c, struct option ret[KUBECTL_FLAGS_MAX])
{
	const char *outputs = c ? with_bars(k, c->outputs) : "FORM";
	const struct option own[] = {
		FLAG("all-namespaces", OPTION_BOOL, &k->is_everywhere, NULL, "Look in all namespaces."),
		FLAG("A", OPTION_BOOL, &k->is_everywhere, NULL, "The same."),
		FLAG("by", OPTION_STRING, &k->by, "USER",
			c == &kubectl_undo ? "Undo what this user changed; needs --since or --since-time."
					   : "Show only changes by this user. Changes whose user is not known are left out."),
		FLAG("path", OPTION_STRING, &k->path, "POINTER",
			"Show only changes of this part of objects, a JSON pointer such as /data/limit, and of what is in it. "
			"Creations and deletions are left out."),
		FLAG("patch", OPTION_BOOL, &k->shows_patches, NULL, "Show below each change the difference that it made."),
		FLAG("p", OPTION_BOOL, &k->shows_patches, NULL, "The same."),
		FLAG("follow", OPTION_BOOL, &k->is_following, NULL, "Go on with new changes, until interrupted."),
		FLAG("f", OPTION_BOOL, &k->is_following, NULL, "The same."),
		FLAG("watch", OPTION_BOOL, &k->is_following, NULL, "The same as --follow."),
		FLAG("w", OPTION_BOOL, &k->is_following, NULL, "The same."),
		FLAG("since", OPTION_STRING, &k->since, "DURATION",
			c == &kubectl_undo ? "Undo the changes that are not older, such as 90s, 30m, 12h or 7d."
					   : "Show only changes that are not older, such as 90s, 30m, 12h or 7d."),
		FLAG("since-time", OPTION_STRING, &k->since_time, "TIME",
			c == &kubectl_undo
				? "Undo the changes that are not older than this time, such as 2026-11-23T08:00:00Z."
				: "Show only changes that are not older than this time, such as 2026-11-23T08:00:00Z."),
		FLAG("until", OPTION_STRING, &k->until, "TIME", "Show only changes that are older: a time, or a duration ago."),
		{"tail", OPTION_INT, &k->tail, "N",
			"Show only the newest N changes; -1: all. 10000 by default, or 100 with -p.", -1, INT32_MAX},
		FLAG("no-headers", OPTION_BOOL, &k->has_no_headers, NULL, "Print no headings."),
		FLAG("client", OPTION_BOOL, &k->is_client_alone, NULL,
			"Print the plugin's version, and do not ask the server."),
		FLAG("field-selector", OPTION_STRING, &k->field_selector, "SELECTOR",
			"Choose Histories by fields: status.by=alice, status.deleted=true."),
		FLAG("selector", OPTION_STRING, &k->label_selector, "SELECTOR",
			c == &kubectl_restore
				? "Restore only objects that had such labels when they were recorded last."
				: "Show only objects that exist and have such labels; needs a TYPE. With -f, also those that get them later."),
		FLAG("l", OPTION_STRING, &k->label_selector, "SELECTOR", "The same."),
		FLAG("own", OPTION_BOOL, &k->wants_own, NULL,
			"Use the revisions that the object's own controller keeps, also where a Recorder has recorded the "
			"object."),
		FLAG("revision", OPTION_INT, &k->revision, "N", "The revision; of a difference, the one to begin at."),
		FLAG("to", OPTION_INT, &k->to, "N", "The revision to end at; the newest by default."),
		FLAG("to-revision", OPTION_INT, &k->to_revision, "N",
			"The revision to go back to; by default the one before the newest."),
		FLAG("dry-run", OPTION_STRING, &k->dry_run, "none|server|client",
			"server: let the server say what would happen, and change nothing. client: print only the request."),
		FLAG("yes", OPTION_BOOL, &k->is_agreed, NULL, "Do not ask before writing."),
		FLAG("y", OPTION_BOOL, &k->is_agreed, NULL, "The same."),
		FLAG("skip-redacted", OPTION_BOOL, &k->skips_redacted, NULL,
			"Leave out values that were redacted and are nowhere else."),
		FLAG("diff", OPTION_BOOL, &k->shows_diffs, NULL,
			"Show the difference that each write makes, before the question and in a dry run."),
		FLAG("all", OPTION_BOOL, &k->takes_all, NULL, "Restore all deleted objects of the namespace."),
		FLAG("deleted-since", OPTION_STRING, &k->deleted_since, "DURATION",
			"Restore only what was deleted since then, such as 10m, 12h or 7d."),
		FLAG("without", OPTION_STRINGS, &k->without, "POINTER",
			"Leave out this part of the recorded state, a JSON pointer such as /spec/clusterIP; may be repeated."),
		FLAG("replace", OPTION_BOOL, &k->replaces, NULL,
			"Where the server refuses the change, such as that of an immutable field, delete the object and create it "
			"anew."),
		FLAG("force-conflicts", OPTION_BOOL, &k->forces_conflicts, NULL,
			"Go back although others have changed the object since. What they changed is lost."),
		COLOUR_FLAG(&k->colour),
		{"port", OPTION_INT, &k->port, "PORT", "The port to listen on, at 127.0.0.1 and ::1; 0: any that is free.", 0,
			65535},
		FLAG("write", OPTION_BOOL, &k->may_write, NULL, "Let the page undo and restore, each after a dry run."),
		FLAG("no-browser", OPTION_BOOL, &k->has_no_browser, NULL, "Print the link, and open no browser."),
	};
	const struct option common[] = {
		FLAG("namespace", OPTION_STRING, &k->ns, "NAMESPACE",
			"The namespace of the object; that of the kubeconfig's context by default."),
		FLAG("n", OPTION_STRING, &k->ns, "NAMESPACE", "The same."),
		FLAG("output", OPTION_STRING, &k->output, outputs,
			c && is_among(c->outputs, "json") ? "The form of the output. Also jsonpath=TEMPLATE and "
							    "custom-columns=NAME:PATH,..., as kubectl has them."
							  : "The form of the output."),
		FLAG("o", OPTION_STRING, &k->output, outputs, "The same."),
		OPTIONS_GROUP("Connection"),
		FLAG("kubeconfig", OPTION_STRING, &k->kubeconfig, "FILE",
			"The file that names the API server and the user; $KUBECONFIG or ~/.kube/config by default."),
		FLAG("context", OPTION_STRING, &k->context, "NAME",
			"The context of the kubeconfig; its current one by default."),
		FLAG("server", OPTION_STRING, &k->server, "URL", "Another API server than that of the kubeconfig."),
		FLAG("s", OPTION_STRING, &k->server, "URL", "The same."),
		FLAG("token", OPTION_STRING, &k->token, "TOKEN", "A bearer token, instead of the kubeconfig's credentials."),
		FLAG("certificate-authority", OPTION_STRING, &k->ca_file, "FILE", "The CA of the server's certificate."),
		FLAG("insecure-skip-tls-verify", OPTION_BOOL, &k->is_insecure, NULL,
			"Do not verify the server's certificate: only for tests."),
		FLAG("as", OPTION_STRING, &k->as, "USER", "Act as another user."),
		FLAG("as-group", OPTION_STRINGS, &k->as_groups, "GROUP", "Act as a member of that group; may be repeated."),
		FLAG("request-timeout", OPTION_STRING, &k->request_timeout, "DURATION",
			"How long a request may take, watches apart: 10s, 2m, or a number of seconds; 0: any time. 30s by "
			"default."),
	};
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (c && is_among(c->flags, own[i].name)) {
			ret[n++] = own[i];
		}
	}
	memcpy(ret + n, common, sizeof(common));
	n += ARRAY_SIZE(common);
	_Static_assert(ARRAY_SIZE(own) + ARRAY_SIZE(common) < KUBECTL_FLAGS_MAX, "room for all rows, and the end");
	ret[n] = (struct option){0};
	return n;
}

/* Like kubectl: a number alone is seconds. */
static bool read_timeout(const char *text, int64_t *ret_ms)
{
	int64_t n;
	if (str_to_int64(str_of(text), &n)) {
		*ret_ms = n > INT32_MAX ? -1 : n * 1000;
	} else if (!duration_parse_ms(str_of(text), ret_ms)) {
		return false;
	}
	return *ret_ms >= 0 && *ret_ms <= INT32_MAX;
}

static int check_timeout(struct kubectl *k)
{
	int64_t ms;
	if (!k->request_timeout) {
		return 0;
	}
	if (!read_timeout(k->request_timeout, &ms)) {
		return kubectl_fail(k, "--request-timeout must be a duration such as 10s or 2m, or a number of seconds");
	}
	k->request_timeout_ms = ms ? ms : CLIENT_NO_TIMEOUT;
	return 0;
}

/* Are the values of flags allowed ones? 0; or -1. */
static int check_flags(struct kubectl *k, const struct kubectl_command *c)
{
	bool has_objects = is_among(c->outputs, "json"), is_template = false;
	k->has_headings_behind = k->has_no_headers;
	if (has_objects && kubectl_check_template(k, &is_template)) {
		return -1;
	}
	if (!is_template && !is_among(c->outputs, k->output)) {
		return kubectl_fail(k, "--output must be one of %s%s", c->outputs,
			has_objects ? ",jsonpath=TEMPLATE,custom-columns=NAME:PATH,..." : "");
	}
	if (!is_among("none,server,client", k->dry_run)) {
		return kubectl_fail(k, "--dry-run must be none, server or client");
	}
	if (k->as_groups.n && !k->as) {
		return kubectl_fail(k, "--as-group needs --as");
	}
	if (colour_check(k->colour, &k->err)) {
		return -1;
	}
	return check_timeout(k) ? -1 : c->check ? c->check(k) : 0;
}

/* ---- words ---- */

static int misuse(const struct kubectl_command *c, const struct buf *why)
{
	fputs("error: ", stderr);
	command_print(stderr, buf_str(why));
	fprintf(stderr, "\nSee kubectl annals %s --help.\n", c->name);
	return EXIT_USAGE;
}

static int print_help(const struct kubectl_command *c, const struct option *options)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 64 * 1024);
	command_add_help(&text,
		&(struct command_help){.program = "kubectl annals",
			.name = c->name,
			.usage = c->usage,
			.description = c->description,
			.examples = c->examples},
		options);
	fwrite(text.p, 1, text.n, stdout);
	return EXIT_OK;
}

static bool is_help(const char *s)
{
	return strcmp(s, "--help") == 0 || strcmp(s, "-h") == 0 || strcmp(s, "help") == 0;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (is_help(argv[i])) {
			return true;
		}
	}
	return false;
}

/* Takes TYPE/NAME or TYPE NAME, as kubectl does. Returns false if there are too many words, or
 * if a necessary one is missing. */
static bool read_name(struct kubectl *k, const struct kubectl_command *c, int n, char **words, struct str *ret)
{
	if (c->words == WORDS_OBJECTS) {
		k->words = words;
		k->n_words = (size_t)n;
		*ret = STR("");
		return true;
	}
	bool is_pair = n >= 2 && !strchr(words[0], '/') && !strchr(words[1], '/');
	if (c->words == WORDS_REVISIONS) {
		k->words = words + (is_pair ? 2 : 1);
		k->n_words = (size_t)MAX(n - (is_pair ? 2 : 1), 0);
		n = MIN(n, is_pair ? 2 : 1);
	}
	is_pair = is_pair && n == 2;
	*ret = is_pair ? arena_printf(&k->arena, "%s/%s", words[0], words[1]) : str_of(n == 1 ? words[0] : NULL);
	return k->n_words > 2            ? false
		: c->words == WORDS_NONE ? n == 0
					 : ret->n > 0 || (n == 0 && c->words == WORDS_OBJECT_OR_NONE);
}

/* -1: go on; else the status to end with. */
static int parse_flags(struct kubectl *k, const struct kubectl_command *c, int argc, char **argv, struct str *ret_name)
{
	struct option options[KUBECTL_FLAGS_MAX];
	int n_words;
	kubectl_flags(k, c, options);
	if (wants_help(argc, argv)) {
		return print_help(c, options);
	}
	if (options_parse(options, argc, argv, &n_words, &k->err) < 0) {
		return misuse(c, &k->err);
	}
	if (!read_name(k, c, n_words, argv + 1, ret_name)) {
		kubectl_fail(k,
			c->words == WORDS_NONE ? "it is about no object: give flags alone" : "give one object, as TYPE/NAME");
		return misuse(c, &k->err);
	}
	return check_flags(k, c) ? misuse(c, &k->err) : -1;
}

/* ---- a command ---- */

static int fail(const struct kubectl *k)
{
	bool is_from_server = str_starts(buf_str(&k->err), STR("from server"));
	command_print(stderr, buf_str(&k->notes));
	fputs(is_from_server ? "Error " : "error: ", stderr);
	command_print(stderr, buf_str(&k->err));
	fputc('\n', stderr);
	return EXIT_FAILED;
}

static bool print_result(const struct kubectl *k)
{
	bool is_printed =
		k->is_diff ? kubectl_write_diff(k, stdout, buf_str(&k->out)) : command_print(stdout, buf_str(&k->out));
	return is_printed && fflush(stdout) == 0;
}

static int work(struct kubectl *k, const struct kubectl_command *c, struct str name)
{
	int r = c->connects_itself ? 0 : kubectl_connect(k);
	if (r || (name.n && kubectl_find(k, name, c->words)) || c->run(k)) {
		return fail(k);
	}
	command_print(stderr, buf_str(&k->notes));
	buf_clear(&k->notes);
	if (k->out.is_over || !print_result(k)) {
		kubectl_fail(k, "cannot print the result");
		return fail(k);
	}
	return EXIT_OK;
}

static int run_command(const struct kubectl_command *c, int argc, char **argv)
{
	struct kubectl k;
	struct str name;
	kubectl_init(&k);
	int r = parse_flags(&k, c, argc, argv, &name);
	r = r >= 0 ? r : work(&k, c, name);
	kubectl_done(&k);
	return r;
}

static void print_overview(FILE *out)
{
	fputs("kubectl annals shows changes of objects, undoes them, and says what keeps an object.\n\n"
	      "usage: kubectl annals COMMAND [TYPE/NAME] [flags]\n\n",
		out);
	int width = 0;
	for (size_t i = 0; kubectl_commands[i]; i++) {
		width = MAX(width, (int)strlen(kubectl_commands[i]->name));
	}
	for (size_t i = 0; kubectl_commands[i]; i++) {
		fprintf(out, "  %-*s  %s\n", width, kubectl_commands[i]->name, kubectl_commands[i]->summary);
	}
	fputs("\nkubectl annals COMMAND --help explains a command.\n", out);
}

static int refuse_command(const char *name)
{
	struct suggestions near;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 4096);
	suggestions_init(&near, str_of(name));
	for (size_t i = 0; kubectl_commands[i]; i++) {
		suggestions_offer(&near, str_of(kubectl_commands[i]->name));
	}
	buf_printf(&text, "error: there is no command %.200s", name);
	suggestions_write(&near, "", &text);
	buf_printf(&text, "%s See kubectl annals help.\n", near.n ? "" : ".");
	command_print(stderr, buf_str(&text));
	return EXIT_USAGE;
}

static int run(const struct command *command _unused_, int argc, char **argv)
{
	if (argc > 2 && is_help(argv[1]) && argv[1][0] != '-') {
		/* help COMMAND */
		static char help[] = "--help";
		char *words[] = {argv[2], help, NULL};
		const struct kubectl_command *wanted = kubectl_find_command(str_of(argv[2]));
		return wanted ? run_command(wanted, 2, words) : refuse_command(argv[2]);
	}
	if (argc < 2 || is_help(argv[1])) {
		print_overview(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	const struct kubectl_command *c = kubectl_find_command(str_of(argv[1]));
	if (c) {
		return run_command(c, argc - 1, argv + 1);
	}
	return refuse_command(argv[1]);
}

/* ---- version ---- */

static int add_server_version(struct kubectl *k, struct json *versions)
{
	if (kubectl_open(k)) {
		return -1;
	}
	int error = rest_do(k->client, &(struct rest_call){.method = "GET", .path = "/version"}, &k->answer);
	if (error) {
		return kubectl_refused(k, error, &k->answer);
	}
	struct str version = member_text(k->answer.body, "gitVersion");
	json_add(&k->arena, versions, STR("serverVersion"), json_copy(&k->arena, k->answer.body));
	if (kubectl_wants(k, "text")) {
		buf_printf(&k->out, "Server Version: " STR_FMT "\n", STR_ARG(version));
	}
	return 0;
}

/* Prints both versions, as kubectl version does. The plugin's own is printed even if no server answers. */
static int run_version(struct kubectl *k)
{
	struct json *versions = json_object(&k->arena), *client = json_object(&k->arena);
	json_add_text(&k->arena, client, STR("gitVersion"), STR("v" ANNALS_VERSION));
	json_add(&k->arena, versions, STR("clientVersion"), client);
	if (kubectl_wants(k, "text")) {
		buf_adds(&k->out, "Client Version: v" ANNALS_VERSION "\n");
	}
	int r = k->is_client_alone ? 0 : add_server_version(k, versions);
	kubectl_print(k, versions);
	if (r) {
		print_result(k);
	}
	return r;
}

const struct kubectl_command kubectl_version = {
	.name = "version",
	.usage = "[--client] [flags]",
	.summary = "Shows the versions of the plugin and of the server",
	.description = "Shows the version of the plugin, and that of the API server that it asks.",
	.examples = "  # of the plugin alone\n"
		    "  kubectl annals version --client\n",
	.flags = "client",
	.outputs = "text,json,yaml",
	.words = WORDS_NONE,
	.connects_itself = true,
	.run = run_version,
};

const struct command command_kubectl = {
	.name = "kubectl",
	.usage = "COMMAND [TYPE/NAME] [flags]",
	.summary = "the kubectl plugin (kubectl annals): log, history, show, diff, undo, restore, who-uses, migrations, ui, "
		   "version",
	.description = "",
	.run = run,
};
