/* What the subcommands of `annals` share: their table's row, how their arguments are read, and what the process must be
 * like. */
#ifndef CLI_COMMON_COMMAND_H
#define CLI_COMMON_COMMAND_H

#include "api/model/storage_version.h"
#include "base/log.h"
#include "base/options.h"

#include <stdio.h>

/* What the process ends with. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define KUBE_VERSION "v1.36.3" /* whose behaviour is ours */

#define EXIT_STATUS_HELP "0\tsuccess\n1\tsomething went wrong\n2\tthe command line was wrong\n"

/* A row of a table of options, without limits. */
#define FLAG(name, type, target, value, help)         \
	{                                             \
		name, type, target, value, help, 0, 0 \
	}

/* The same on all servers; nothing is logged at LOG_DEBUG, which kube's 4 and above stand for. */
#define VERBOSITY_FLAG(target)                                                                                               \
	{                                                                                                                    \
		"v", OPTION_INT, target, "N",                                                                                \
			"How much to log. 0: errors and warnings, such as an etcd that is away or a slow request. 1: also "  \
			"starts and stops, connections to etcd, migrations and the notices of controllers. Levels up to 10 " \
			"are "                                                                                               \
			"taken, as kube-apiserver has them, and add nothing. Requests are logged by --access-log.",          \
			0, 10                                                                                                \
	}

struct command {
	const char *name;
	const char *usage;       /* behind the name: "[flags]" */
	const char *summary;     /* a line of the overview */
	const char *description; /* paragraphs, between empty lines */
	const char *examples;    /* lines: "  # what it does\n  annals ...\n"; or NULL */
	const char *files;       /* lines: "PATH\twhat it is\n"; or NULL */
	const char *exit_status; /* lines: "1\twhat it means\n"; NULL: EXIT_STATUS_HELP */
	int section;             /* of the manual: 1, as which 0 counts, or 8 */
	/* argv[0] is the command's name; an EXIT_* comes back. */
	int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command command_up, command_serve, command_controllers, command_certs, command_doctor, command_fsck,
	command_export, command_import, command_kubectl, command_kubectl_complete, command_version;

/* What `annals help COMMAND` prints. */
struct command_help {
	const char *program, *name, *usage, *description, *examples, *exit_status;
};
void command_add_help(struct buf *out, const struct command_help *help, const struct option *options);

/* Reads flags; positional arguments are refused. Then check, unless it is NULL, says in err which of them do not go together. -1: go on; else what to
 * end with, everything having been said. */
int command_parse(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags);
/* The same of a command that takes one argument without dashes, a file. *ret_file: NULL, none was given; check may look at it. */
int command_parse_file(const struct command *command, const struct option *options, int argc, char **argv,
	int (*check)(void *flags, struct buf *err), void *flags, const char **ret_file);
/* Calls use with the table of flags that the command parses, with all defaults in place. */
void command_table(
	const struct command *command, void (*use)(void *ctx, const struct command *, const struct option *), void *ctx);
/* What objects, servers and files may have put into: no control character of it reaches a terminal (base/visible.h). False: it could
 * not be written. */
bool command_print(FILE *out, struct str text);
/* Says why a command cannot go on, and returns EXIT_FAILED or EXIT_USAGE. */
int command_fail(const struct command *command, const struct buf *err);
int command_misuse(const struct command *command, const struct buf *err);
/* Appends a sentence about a flag; -EINVAL. */
int command_refuse(struct buf *err, const char *format, ...) _printf_(2, 3);

/* Format and verbosity of the log. 0, or -EINVAL with a sentence in err. */
int command_setup_log(const char *format, int64_t verbosity, struct buf *err);

/* What --feature-gates may name, and where it says so; ends with no name. */
struct feature_gate {
	const char *name;
	bool *value;
};
/* texts: "NAME=true". 0, or -EINVAL with a sentence in err. */
int feature_gates_set(const struct feature_gate *gates, const struct option_strings *texts, struct buf *err);

/* ---- flags that servers share ---- */

/* Values point into argv. */
struct common_flags {
	const char *token_auth_file;
	const char *authorization_mode, *authorization_policy_file;
	bool anonymous_auth;
	struct option_strings feature_gates, storage_version;
	const char *storage_migration_mode;
	int64_t storage_migration_rate; /* objects a second; 0: no limit */
	int64_t replica_lease_ms;
	int64_t max_requests_inflight, max_mutating_requests_inflight, max_watches_inflight;
	int64_t http2_max_streams;
	const char *goaway_chance_text;
	double goaway_chance;
	bool disable_http2_serving;
	int64_t max_requests_inflight_mib, max_mutating_requests_inflight_mib;
	int64_t request_timeout_ms, shutdown_delay_ms, slow_request_ms;
	int64_t etcd_compaction_interval_ms, event_ttl_ms;
	const char *logging_format, *access_log;
	int64_t verbosity;
	const char *audit_policy_file, *audit_log_path, *audit_log_format, *audit_log_version;
	int64_t audit_log_max_age_days, audit_log_max_backups, audit_log_max_size_mb;
	bool audit_log_truncates;
	int64_t audit_log_max_event_bytes;
	/* worked out of the above by common_flags_check() */
	bool always_allow, storage_version_hash, max_unavailable;
	struct storage_versions storage_versions;
	enum storage_migration storage_migration;
	enum log_format log_format;
};

#define COMMON_FLAGS_MAX 52
void common_flags_init(struct common_flags *f);
void common_flags_done(struct common_flags *f);
/* Appends the rows to a table that has room for COMMON_FLAGS_MAX more; returns how many. */
size_t common_flags_rows(struct common_flags *f, struct option *ret);
/* Gates, modes and formats; sets the log up. 0, or -EINVAL with a sentence in err. */
int common_flags_check(struct common_flags *f, struct buf *err);

#endif
