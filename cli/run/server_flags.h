/* The flags of servers: tables of options, and what they come to. Values point into argv, so they live as long as the
 * process. Each theme has the same functions: init sets defaults, rows appends its rows to a command's table, check
 * says which flags do not go together, done frees lists. */
#ifndef CLI_RUN_SERVER_FLAGS_H
#define CLI_RUN_SERVER_FLAGS_H

#include "api/model/delegates.h"
#include "api/model/storage_version.h"
#include "base/log.h"
#include "base/options.h"
#include "delegation/delegation.h"

/* The flag -v of servers. 4 and above, kube's debug levels, set LOG_DEBUG, at which nothing is logged today. */
#define VERBOSITY_FLAG(target)                                                                                               \
	{                                                                                                                    \
		"v", OPTION_INT, target, "N",                                                                                \
			"How much to log. 0: errors and warnings, such as an etcd that is away or a slow request. 1: also "  \
			"starts and stops, connections to etcd, migrations and the notices of controllers. Levels up to 10 " \
			"are "                                                                                               \
			"taken, as kube-apiserver has them, and add nothing. Requests are logged by --access-log.",          \
			0, 10                                                                                                \
	}

/* Format and verbosity of the log. 0, or -EINVAL with a sentence in err. */
int server_flags_setup_log(const char *format, int64_t verbosity, struct buf *err);

/* A feature that --feature-gates may name; a list of them ends with no name. */
struct feature_gate {
	const char *name;
	bool *value;
};
/* texts: "NAME=true". 0, or -EINVAL with a sentence in err. */
int feature_gates_set(const struct feature_gate *gates, const struct option_strings *texts, struct buf *err);

/* ---- flags that servers share ---- */

struct server_flags {
	const char *token_auth_file;
	const char *authorization_mode, *authorization_policy_file;
	bool anonymous_auth;
	struct option_strings feature_gates, storage_version;
	const char *storage_migration_mode;
	int64_t storage_migration_rate; /* objects a second; 0: no limit */
	bool compress_history;
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
	/* worked out of the above by server_flags_check() */
	bool always_allow, storage_version_hash, max_unavailable;
	struct storage_versions storage_versions;
	enum storage_migration storage_migration;
	enum log_format log_format;
};

#define SERVER_FLAGS_MAX 53
void server_flags_init(struct server_flags *f);
void server_flags_done(struct server_flags *f);
/* Appends the rows to a table that has room for SERVER_FLAGS_MAX more; returns how many. */
size_t server_flags_rows(struct server_flags *f, struct option *ret);
/* Sets the log up, too. 0, or -EINVAL with a sentence in err. */
int server_flags_check(struct server_flags *f, struct buf *err);

/* ---- delegation: a kube-apiserver that knows users and rights ---- */

struct delegation_flags {
	const char *authentication_kubeconfig, *authorization_kubeconfig;
	int64_t token_ttl_ms, allowed_ttl_ms, not_allowed_ttl_ms;
	struct option_strings allowed_paths;
	/* worked out of the above by delegation_flags_check() */
	char **always_allow_paths; /* ends with NULL; each begins with a slash */
};

#define DELEGATION_FLAGS_MAX 7
void delegation_flags_init(struct delegation_flags *f);
void delegation_flags_done(struct delegation_flags *f);
/* Appends the rows to a table that has room for DELEGATION_FLAGS_MAX more; returns how many. */
size_t delegation_flags_rows(struct delegation_flags *f, struct option *ret);
/* 0, or -EINVAL with a sentence in err. */
int delegation_flags_check(struct delegation_flags *f, bool is_standalone, struct buf *err);

/* The contents of the flags' files; empty where no file was given. */
struct delegation_configs {
	struct client_config core, tokens, access;
};
/* kubeconfig: --kubeconfig; NULL: the pod's. ret points into ret_configs and the flags. 0, or -errno with a sentence in
 * err; delegation_configs_done() in any case. */
int delegation_flags_load(const struct delegation_flags *f, const char *kubeconfig, struct delegation_configs *ret_configs,
	struct delegation_options *ret, struct buf *err);
void delegation_configs_done(struct delegation_configs *c);

/* ---- the store of `annals up`: an etcd, or memory alone ---- */

struct store_flags {
	const char *name;         /* --store: "etcd" or "memory" */
	int64_t memory_limit_mib; /* --memory-limit-mib */
	bool is_memory;           /* worked out of the name by store_flags_check() */
};
#define STORE_FLAGS_MAX 3
void store_flags_init(struct store_flags *f);
/* Appends the rows to a table that has room for STORE_FLAGS_MAX more, and for its end. */
void store_flags_rows(struct store_flags *f, struct option *ret);
/* names_etcd: other flags say which etcd. 0, or -EINVAL with a sentence in err. */
int store_flags_check(struct store_flags *f, bool names_etcd, struct buf *err);
int64_t store_flags_memory_limit(const struct store_flags *f); /* bytes; 0: data are in etcd */

/* ---- front proxies: the authorities of their certificates, and their headers ---- */

struct trust_flags {
	const char *front_ca_file;
	struct option_strings front_names, user_headers, uid_headers, group_headers, extra_prefixes;
	bool skips_lookup, tolerates_failure;
	/* worked out of the above by trust_flags_check() */
	struct trust front; /* names and headers; its lists are owned */
};

#define TRUST_FLAGS_MAX 9
void trust_flags_done(struct trust_flags *f);
/* Appends the rows to a table that has room for TRUST_FLAGS_MAX more; returns how many. */
size_t trust_flags_rows(struct trust_flags *f, struct option *ret);
/* 0, or -EINVAL with a sentence in err. The struct begins as all zero. */
int trust_flags_check(struct trust_flags *f, bool is_standalone, struct buf *err);
/* Appends a sentence about flags that are allowed, but hardly meant. */
void trust_flags_warn(const struct trust_flags *f, struct buf *out);

#endif
