/* Flags that several servers share are one table, with kube-apiserver's names and defaults
 * wherever it has the same thing. Checks that look at several flags are apart from parsing, so
 * that each can say which two do not go together. */
#include "cli/common/command.h"

#include "api/model/feature.h"
#include "base/visible.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Who wants the next table rather than the help. One thread, before the program does anything. */
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

static void show_help(const struct command *command, const struct option *options)
{
	if (table_reader.use) {
		table_reader.use(table_reader.ctx, command, options);
	} else {
		print_help(command, options);
	}
}

int command_parse_file(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags, const char **ret_file)
{
	_cleanup_(buf_done) struct buf err;
	int n_positional, n_wanted = ret_file ? 1 : 0;
	buf_init(&err, 4096);
	if (asks_for_help(argc, argv)) {
		show_help(command, options);
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
	complain(command, err);
	return EXIT_FAILED;
}

int command_misuse(const struct command *command, const struct buf *err)
{
	complain(command, err);
	fprintf(stderr, "See annals help %s.\n", command->name);
	return EXIT_USAGE;
}

int command_setup_log(const char *format, int64_t verbosity, struct buf *err)
{
	bool is_json = strcmp(format, "json") == 0;
	if (!is_json && strcmp(format, "text") != 0) {
		buf_printf(err, "--logging-format %s: must be text or json", format);
		return -EINVAL;
	}
	log_setup(is_json ? LOG_JSON : LOG_TEXT, verbosity >= 4 ? LOG_DEBUG : verbosity >= 1 ? LOG_INFO : LOG_WARNING);
	return 0;
}

/* ---- flags that servers share ---- */

void common_flags_init(struct common_flags *f)
{
	*f = (struct common_flags){
		.anonymous_auth = true,
		/* kube-apiserver's defaults; the limits in MiB are ours, since a number of
		 * requests bounds no memory. */
		.max_requests_inflight = 400,
		.max_mutating_requests_inflight = 200,
		.max_requests_inflight_mib = 64,
		.max_mutating_requests_inflight_mib = 96,
		.max_watches_inflight = 16384,
		.goaway_chance_text = "0",
		.request_timeout_ms = 60 * 1000,
		.slow_request_ms = 500,
		.etcd_compaction_interval_ms = 5 * 60 * 1000,
		.event_ttl_ms = 60 * 60 * 1000,
		.storage_migration_mode = "Auto",
		.storage_migration_rate = 1000,
		.replica_lease_ms = 10 * 1000,
		.logging_format = "text",
		.audit_log_format = "json",
		.audit_log_version = "audit.k8s.io/v1",
		.audit_log_max_age_days = 366,
		.audit_log_max_backups = 100,
		.audit_log_max_size_mb = 100,
		.audit_log_max_event_bytes = 100 * 1024,
		.storage_version_hash = true,
	};
}

void common_flags_done(struct common_flags *f)
{
	option_strings_done(&f->feature_gates);
	option_strings_done(&f->storage_version);
}

size_t common_flags_rows(struct common_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Authentication"),
		FLAG("token-auth-file", OPTION_STRING, &f->token_auth_file, "FILE",
			"CSV file of bearer tokens, one a line: token,user,uid,\"group1,group2\". It is read again when it "
			"changes."),
		FLAG("anonymous-auth", OPTION_BOOL, &f->anonymous_auth, NULL,
			"Take requests without credentials as from system:anonymous, who may see /healthz, /livez, /readyz and "
			"/version."),

		OPTIONS_GROUP("Authorization"),
		FLAG("authorization-mode", OPTION_STRING, &f->authorization_mode, "ABAC|AlwaysAllow",
			"How requests are authorized. ABAC is the default where there is a policy file. system:masters may "
			"always "
			"do everything."),
		FLAG("authorization-policy-file", OPTION_STRING, &f->authorization_policy_file, "FILE",
			"ABAC policy: what users beyond system:masters may do, one JSON object a line. It is read again when "
			"it "
			"changes."),

		OPTIONS_GROUP("Stored version"),
		FLAG("storage-version", OPTION_STRINGS, &f->storage_version, "RESOURCE=VERSION,...",
			"In which version objects of a resource are stored, for example dependents=v1beta1. All versions can "
			"be "
			"read at any time."),
		FLAG("storage-migration", OPTION_STRING, &f->storage_migration_mode, "Auto|Manual|Off",
			"When objects that are stored in another version are rewritten. Auto: once all servers agree. Manual: "
			"when "
			"a StorageMigration asks for it. Off: this server rewrites none. Any write of an object rewrites it as "
			"well."),
		{"storage-migration-rate", OPTION_INT, &f->storage_migration_rate, "N",
			"How many objects a second are rewritten at most; 0: as many as possible.", 0, 1000000},
		{"replica-lease-duration", OPTION_DURATION, &f->replica_lease_ms, "DURATION",
			"How long the other servers wait for one that has died before the stored version changes; whole "
			"seconds.",
			2000, 3600 * 1000},

		OPTIONS_GROUP("Request limit"),
		{"max-requests-inflight", OPTION_INT, &f->max_requests_inflight, "N",
			"How many reads may be under way at once. More are answered 429.", 1, 1000000},
		{"max-mutating-requests-inflight", OPTION_INT, &f->max_mutating_requests_inflight, "N",
			"How many writes may be under way at once. More are answered 429.", 1, 1000000},
		{"max-requests-inflight-mib", OPTION_INT, &f->max_requests_inflight_mib, "MIB",
			"How much memory answers to reads may hold until clients have taken them. More reads are answered 429.",
			1, 1000000},
		{"max-mutating-requests-inflight-mib", OPTION_INT, &f->max_mutating_requests_inflight_mib, "MIB",
			"How much memory writes under way may hold. More are answered 429.", 1, 1000000},
		{"max-watches-inflight", OPTION_INT, &f->max_watches_inflight, "N",
			"How many watches may be open at once. More are answered 429.", 1, 1000000},
		{"request-timeout", OPTION_DURATION, &f->request_timeout_ms, "DURATION",
			"How long a request may take, watches apart.", 1000, 0},

		OPTIONS_GROUP("Connection"),
		{"http2-max-streams-per-connection", OPTION_INT, &f->http2_max_streams, "N",
			"How many requests and watches may be open at once on an HTTP/2 connection. 0: 1000 where a front "
			"proxy is "
			"trusted, else 100.",
			0, 10000},
		FLAG("goaway-chance", OPTION_STRING, &f->goaway_chance_text, "CHANCE",
			"How likely an answer over HTTP/2 sends its client to another connection, so that load balancers can "
			"spread "
			"clients: 0 (never) to 0.02."),
		FLAG("disable-http2-serving", OPTION_BOOL, &f->disable_http2_serving, NULL, "Serve HTTP/1.1 only."),
		{"shutdown-delay-duration", OPTION_DURATION, &f->shutdown_delay_ms, "DURATION",
			"How long to go on serving, not ready, after SIGTERM, until load balancers have noticed. 0s by "
			"default.",
			0, 0},

		OPTIONS_GROUP("Data"),
		{"etcd-compaction-interval", OPTION_DURATION, &f->etcd_compaction_interval_ms, "DURATION",
			"How much of its history etcd keeps for watches and lists of old revisions; 0: all.", 0, 0},
		{"event-ttl", OPTION_DURATION, &f->event_ttl_ms, "DURATION", "How long events are kept.", 1000, 0},

		OPTIONS_GROUP("Feature"),
		FLAG("feature-gates", OPTION_STRINGS, &f->feature_gates, "NAME=BOOL,...",
			"StorageVersionHash=false (true by default) leaves the hash out of discovery. "
			"MaxUnavailableStatefulSet=true (false by default) lets a rolling update take down several pods at "
			"once."),

		OPTIONS_GROUP("Logging"),
		FLAG("logging-format", OPTION_STRING, &f->logging_format, "text|json",
			"The form of the log on standard error."),
		VERBOSITY_FLAG(&f->verbosity),
		FLAG("access-log", OPTION_STRING, &f->access_log, "FILE",
			"Write a line for each request to this file; - for standard error. None by default."),
		{"slow-request-threshold", OPTION_DURATION, &f->slow_request_ms, "DURATION",
			"For requests that take longer, the log says where the time went; 0: never.", 0, 0},

		OPTIONS_GROUP("Audit"),
		FLAG("audit-policy-file", OPTION_STRING, &f->audit_policy_file, "FILE",
			"What is audited: a Policy of audit.k8s.io/v1. Nothing is audited without it."),
		FLAG("audit-log-path", OPTION_STRING, &f->audit_log_path, "FILE",
			"Where audit events go, one a line; - for standard output."),
		FLAG("audit-log-format", OPTION_STRING, &f->audit_log_format, "json", "The form of audit events."),
		FLAG("audit-log-version", OPTION_STRING, &f->audit_log_version, "audit.k8s.io/v1",
			"The version of audit events."),
		{"audit-log-maxsize", OPTION_INT, &f->audit_log_max_size_mb, "MB",
			"A longer audit log is set aside, as NAME-2006-01-02T15-04-05.000.EXT (UTC), and begun anew; 0: never.",
			0, 1 << 30},
		{"audit-log-maxbackup", OPTION_INT, &f->audit_log_max_backups, "N", "How many old audit logs to keep; 0: all.",
			0, 1 << 30},
		{"audit-log-maxage", OPTION_INT, &f->audit_log_max_age_days, "DAYS",
			"How long to keep old audit logs; 0: for ever.", 0, 1 << 20},
		FLAG("audit-log-truncate-enabled", OPTION_BOOL, &f->audit_log_truncates, NULL,
			"Write long audit events without the objects sent and answered, and with the annotation "
			"audit.k8s.io/truncated."),
		{"audit-log-truncate-max-event-size", OPTION_INT, &f->audit_log_max_event_bytes, "BYTES",
			"An audit event with more bytes is long.", 1, 1 << 30},
	};
	_Static_assert(ARRAY_SIZE(rows) <= COMMON_FLAGS_MAX, "tables must have room for all");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows);
}

int command_refuse(struct buf *err, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(err, format, ap);
	va_end(ap);
	return -EINVAL;
}

static int set_gate(const struct feature_gate *gates, struct str text, struct buf *err)
{
	const struct feature_gate *g = gates;
	struct str name, value;

	if (!str_cut(text, '=', &name, &value) || !(str_eq_nocase(value, STR("true")) || str_eq_nocase(value, STR("false")))) {
		return command_refuse(err, "--feature-gates " STR_FMT ": must be NAME=true or NAME=false", STR_ARG(text));
	}
	while (g->name && !str_is(name, g->name)) {
		g++;
	}
	if (!g->name) {
		command_refuse(err, "--feature-gates " STR_FMT ": the feature gates are", STR_ARG(name));
		for (g = gates; g->name; g++) {
			buf_printf(err, "%s %s", g == gates ? "" : ",", g->name);
		}
		return -EINVAL;
	}
	*g->value = str_eq_nocase(value, STR("true"));
	return 0;
}

int feature_gates_set(const struct feature_gate *gates, const struct option_strings *texts, struct buf *err)
{
	int r = 0;

	for (size_t i = 0; i < texts->n && !r; i++) {
		r = set_gate(gates, str_of(texts->v[i]), err);
	}
	return r;
}

static int check_gates(struct common_flags *f, struct buf *err)
{
	const struct feature_gate gates[] = {
		{"StorageVersionHash", &f->storage_version_hash},
		{"MaxUnavailableStatefulSet", &f->max_unavailable},
		{0},
	};
	int r = feature_gates_set(gates, &f->feature_gates, err);
	feature_enable(FEATURE_MAX_UNAVAILABLE_STATEFULSET, f->max_unavailable);
	return r;
}

/* ABAC goes with a policy file, and a policy file with ABAC: one without the other would allow less, or more, than it seems. */
static int check_authorization(struct common_flags *f, struct buf *err)
{
	const char *mode = f->authorization_mode;
	if (!mode) {
		return 0;
	}
	f->always_allow = strcmp(mode, "AlwaysAllow") == 0;
	if (!f->always_allow && strcmp(mode, "ABAC") != 0) {
		return command_refuse(err, "--authorization-mode %s: a stand-alone server knows ABAC and AlwaysAllow", mode);
	}
	if (f->always_allow && f->authorization_policy_file) {
		return command_refuse(
			err, "--authorization-mode AlwaysAllow makes --authorization-policy-file pointless: give one of them");
	}
	if (!f->always_allow && !f->authorization_policy_file) {
		return command_refuse(err, "--authorization-mode ABAC needs --authorization-policy-file");
	}
	return 0;
}

static int check_logging(struct common_flags *f, struct buf *err)
{
	f->log_format = strcmp(f->logging_format, "json") == 0 ? LOG_JSON : LOG_TEXT;
	return command_setup_log(f->logging_format, f->verbosity, err);
}

static int check_audit(const struct common_flags *f, struct buf *err)
{
	if (strcmp(f->audit_log_format, "json") != 0) {
		return command_refuse(err, "--audit-log-format %s: must be json", f->audit_log_format);
	}
	if (strcmp(f->audit_log_version, "audit.k8s.io/v1") != 0) {
		return command_refuse(err, "--audit-log-version %s: must be audit.k8s.io/v1", f->audit_log_version);
	}
	return 0;
}

static int check_storage_versions(struct common_flags *f, struct buf *err)
{
	int r = 0;
	storage_versions_init(&f->storage_versions);
	for (size_t i = 0; i < f->storage_version.n && !r; i++) {
		buf_adds(err, "--storage-version ");
		r = storage_versions_set(&f->storage_versions, str_of(f->storage_version.v[i]), err);
		if (!r) {
			buf_clear(err);
		}
	}
	return r;
}

static int check_migration(struct common_flags *f, struct buf *err)
{
	if (!storage_migration_parse(&f->storage_migration, str_of(f->storage_migration_mode))) {
		return command_refuse(err, "--storage-migration %s: must be Auto, Manual or Off", f->storage_migration_mode);
	}
	if (f->replica_lease_ms % 1000) {
		return command_refuse(err, "--replica-lease-duration: must be whole seconds, as leases of etcd are");
	}
	return 0;
}

/* Its range is kube-apiserver's: with more, connections would be made anew all the time. */
static int check_goaway(struct common_flags *f, struct buf *err)
{
	char *end;
	f->goaway_chance = strtod(f->goaway_chance_text, &end);
	if (end == f->goaway_chance_text || *end || !(f->goaway_chance >= 0 && f->goaway_chance <= 0.02)) {
		return command_refuse(err, "--goaway-chance %s: must be a number from 0 to 0.02", f->goaway_chance_text);
	}
	return 0;
}

int common_flags_check(struct common_flags *f, struct buf *err)
{
	int r = check_logging(f, err);
	if (!r) {
		r = check_goaway(f, err);
	}
	if (!r) {
		r = check_storage_versions(f, err);
	}
	if (!r) {
		r = check_migration(f, err);
	}
	if (!r) {
		r = check_audit(f, err);
	}
	if (!r) {
		r = check_gates(f, err);
	}
	return r ? r : check_authorization(f, err);
}
