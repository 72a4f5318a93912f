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

static void print_help(const struct command *command, const struct option *options)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, 64 * 1024);
	buf_printf(&text, "usage: annals %s %s\n\n%s\n", command->name, command->usage, command->description);
	if (options[0].name) {
		BUF_LITERAL(&text, "\nflags:\n");
		options_print_help(options, &text);
	}
	fwrite(text.p, 1, text.n, stdout);
}

int command_parse(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags)
{
	_cleanup_(buf_done) struct buf err;
	int n_positional;
	buf_init(&err, 4096);
	if (asks_for_help(argc, argv)) {
		print_help(command, options);
		return EXIT_OK;
	}
	if (options_parse(options, argc, argv, &n_positional, &err) < 0) {
		return command_misuse(command, &err);
	}
	if (n_positional > 0) {
		buf_printf(&err, "unexpected argument: %s", argv[1]);
		return command_misuse(command, &err);
	}
	return check && check(flags, &err) ? command_misuse(command, &err) : -1;
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
		{"token-auth-file", OPTION_STRING, &f->token_auth_file, "FILE",
			"CSV file of bearer tokens: token,user,uid,\"group1,group2\".", 0, 0},
		{"authorization-mode", OPTION_STRING, &f->authorization_mode, "MODE",
			"ABAC or AlwaysAllow; by default ABAC where there is a policy file. system:masters may always do "
			"everything.",
			0, 0},
		{"authorization-policy-file", OPTION_STRING, &f->authorization_policy_file, "FILE",
			"ABAC policy, one JSON object a line.", 0, 0},
		{"anonymous-auth", OPTION_BOOL, &f->anonymous_auth, NULL,
			"Take requests without credentials as from system:anonymous.", 0, 0},
		{"feature-gates", OPTION_STRINGS, &f->feature_gates, "NAME=BOOL,...",
			"StorageVersionHash=true|false (default true), MaxUnavailableStatefulSet=true|false (default false).",
			0, 0},
		{"storage-version", OPTION_STRINGS, &f->storage_version, "RESOURCE=VERSION,...",
			"In which version objects are stored, for example dependents=v1beta1. All versions are read at any "
			"time.",
			0, 0},
		{"storage-migration", OPTION_STRING, &f->storage_migration_mode, "MODE",
			"Objects stored in another version are rewritten: Auto, once all servers agree; Manual, when a "
			"StorageMigration asks for it; or Off.",
			0, 0},
		{"storage-migration-rate", OPTION_INT, &f->storage_migration_rate, "N",
			"How many objects a second are rewritten at most; 0: as many as go.", 0, 1000000},
		{"replica-lease-duration", OPTION_DURATION, &f->replica_lease_ms, "DURATION",
			"How long a server that has died is waited for before the version that is stored changes; whole "
			"seconds.",
			2000, 3600 * 1000},
		{"max-requests-inflight", OPTION_INT, &f->max_requests_inflight, "N",
			"Reads under way at once; more are answered 429.", 1, 1000000},
		{"max-mutating-requests-inflight", OPTION_INT, &f->max_mutating_requests_inflight, "N",
			"Writes under way at once; more are answered 429.", 1, 1000000},
		{"max-requests-inflight-mib", OPTION_INT, &f->max_requests_inflight_mib, "N",
			"Memory that answers to reads hold until they are taken, in MiB; more reads are answered 429.", 1,
			1000000},
		{"max-mutating-requests-inflight-mib", OPTION_INT, &f->max_mutating_requests_inflight_mib, "N",
			"Memory that writes under way hold, in MiB; more are answered 429.", 1, 1000000},
		{"max-watches-inflight", OPTION_INT, &f->max_watches_inflight, "N",
			"Watches open at once; more are answered 429.", 1, 1000000},
		{"http2-max-streams-per-connection", OPTION_INT, &f->http2_max_streams, "N",
			"Requests and watches at once on a connection of HTTP/2. 0: 1000 where a front proxy is trusted, else "
			"100.",
			0, 10000},
		{"goaway-chance", OPTION_STRING, &f->goaway_chance_text, "CHANCE",
			"How likely an answer over HTTP/2 sends its client elsewhere, so that load balancers can spread "
			"clients: 0 "
			"(never) to 0.02.",
			0, 0},
		{"disable-http2-serving", OPTION_BOOL, &f->disable_http2_serving, NULL, "Serve HTTP/1.1 only.", 0, 0},
		{"request-timeout", OPTION_DURATION, &f->request_timeout_ms, "DURATION",
			"How long a request may take, watches apart.", 1000, 0},
		{"slow-request-threshold", OPTION_DURATION, &f->slow_request_ms, "DURATION",
			"The log says of requests that take longer where the time went; 0: never.", 0, 0},
		{"shutdown-delay-duration", OPTION_DURATION, &f->shutdown_delay_ms, "DURATION",
			"How long to go on serving, not ready, after SIGTERM, until load balancers have noticed.", 0, 0},
		{"etcd-compaction-interval", OPTION_DURATION, &f->etcd_compaction_interval_ms, "DURATION",
			"How much history etcd keeps; 0: all.", 0, 0},
		{"event-ttl", OPTION_DURATION, &f->event_ttl_ms, "DURATION", "How long events are kept.", 1000, 0},
		{"logging-format", OPTION_STRING, &f->logging_format, "FORMAT", "text or json.", 0, 0},
		{"access-log", OPTION_STRING, &f->access_log, "FILE", "One line a request; - for stderr. None by default.", 0,
			0},
		{"audit-policy-file", OPTION_STRING, &f->audit_policy_file, "FILE",
			"What is audited: a Policy of audit.k8s.io/v1. Without it nothing is.", 0, 0},
		{"audit-log-path", OPTION_STRING, &f->audit_log_path, "FILE",
			"Where audit events go, one a line; - for stdout.", 0, 0},
		{"audit-log-format", OPTION_STRING, &f->audit_log_format, "FORMAT", "json.", 0, 0},
		{"audit-log-version", OPTION_STRING, &f->audit_log_version, "VERSION", "audit.k8s.io/v1.", 0, 0},
		{"audit-log-maxsize", OPTION_INT, &f->audit_log_max_size_mb, "MB",
			"A longer audit log is set aside and begun anew; 0: never.", 0, 1 << 30},
		{"audit-log-maxbackup", OPTION_INT, &f->audit_log_max_backups, "N", "How many old audit logs to keep; 0: all.",
			0, 1 << 30},
		{"audit-log-maxage", OPTION_INT, &f->audit_log_max_age_days, "DAYS",
			"How long to keep old audit logs; 0: for ever.", 0, 1 << 20},
		{"audit-log-truncate-enabled", OPTION_BOOL, &f->audit_log_truncates, NULL,
			"Write long audit events without the objects sent and answered.", 0, 0},
		{"audit-log-truncate-max-event-size", OPTION_INT, &f->audit_log_max_event_bytes, "BYTES",
			"Which audit events are long.", 1, 1 << 30},
		{"v", OPTION_INT, &f->verbosity, "N", "How much to log: 0 warnings, 1 what happens, 4 everything.", 0, 10},
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
