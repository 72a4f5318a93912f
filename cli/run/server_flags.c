/* The flags of servers, in four tables: those that `annals up` and `annals serve` share, delegation, the store of
 * `annals up`, and front proxies. Names and defaults are kube-apiserver's wherever it has the same thing, so that
 * manifests of other aggregated servers can be taken over. Checks are apart from parsing, since most of them look at
 * several flags, and say which two do not go together. */
#include "cli/run/server_flags.h"

#include "api/model/kind.h"
#include "cli/common/command.h"

#include <errno.h>
#include <stdlib.h>

/* ---- flags that servers share ---- */

int server_flags_setup_log(const char *format, int64_t verbosity, struct buf *err)
{
	bool is_json = strcmp(format, "json") == 0;
	if (!is_json && strcmp(format, "text") != 0) {
		buf_printf(err, "--logging-format %s: must be text or json", format);
		return -EINVAL;
	}
	log_setup(is_json ? LOG_JSON : LOG_TEXT, verbosity >= 4 ? LOG_DEBUG : verbosity >= 1 ? LOG_INFO : LOG_WARNING);
	return 0;
}

void server_flags_init(struct server_flags *f)
{
	*f = (struct server_flags){
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
		.compress_history = true,
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

void server_flags_done(struct server_flags *f)
{
	option_strings_done(&f->feature_gates);
	option_strings_done(&f->storage_version);
}

size_t server_flags_rows(struct server_flags *f, struct option *ret)
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
		FLAG("compress-history", OPTION_BOOL, &f->compress_history, NULL,
			"Store recorded states and Histories in compressed form, once all servers can read it. Before a downgrade "
			"to a build that cannot read it, set this to false on one server. Then no server writes that form, and "
			"this one rewrites what is stored in it."),
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
	_Static_assert(ARRAY_SIZE(rows) <= SERVER_FLAGS_MAX, "tables must have room for all");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows);
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

static int check_gates(struct server_flags *f, struct buf *err)
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
static int check_authorization(struct server_flags *f, struct buf *err)
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

static int check_audit(const struct server_flags *f, struct buf *err)
{
	if (strcmp(f->audit_log_format, "json") != 0) {
		return command_refuse(err, "--audit-log-format %s: must be json", f->audit_log_format);
	}
	if (strcmp(f->audit_log_version, "audit.k8s.io/v1") != 0) {
		return command_refuse(err, "--audit-log-version %s: must be audit.k8s.io/v1", f->audit_log_version);
	}
	return 0;
}

static int check_storage_versions(struct server_flags *f, struct buf *err)
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

static int check_migration(struct server_flags *f, struct buf *err)
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
static int check_goaway(struct server_flags *f, struct buf *err)
{
	char *end;
	f->goaway_chance = strtod(f->goaway_chance_text, &end);
	if (end == f->goaway_chance_text || *end || !(f->goaway_chance >= 0 && f->goaway_chance <= 0.02)) {
		return command_refuse(err, "--goaway-chance %s: must be a number from 0 to 0.02", f->goaway_chance_text);
	}
	return 0;
}

int server_flags_check(struct server_flags *f, struct buf *err)
{
	f->log_format = strcmp(f->logging_format, "json") == 0 ? LOG_JSON : LOG_TEXT;
	int r = server_flags_setup_log(f->logging_format, f->verbosity, err);
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

/* ---- delegation: a kube-apiserver that knows users and rights ---- */

/* k8s.io/apiserver's default. A right that is revoked still counts for as long. */
enum { TTL_MS = 10 * 1000 };

static const char *const default_paths[] = {"/healthz", "/readyz", "/livez"};

void delegation_flags_init(struct delegation_flags *f)
{
	*f = (struct delegation_flags){.token_ttl_ms = TTL_MS, .allowed_ttl_ms = TTL_MS, .not_allowed_ttl_ms = TTL_MS};
}

void delegation_flags_done(struct delegation_flags *f)
{
	for (size_t i = 0; f->always_allow_paths && f->always_allow_paths[i]; i++) {
		mem_free(f->always_allow_paths[i]);
	}
	f->always_allow_paths = mem_free(f->always_allow_paths);
	option_strings_done(&f->allowed_paths);
}

size_t delegation_flags_rows(struct delegation_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Delegated authentication and authorization"),
		{"authentication-kubeconfig", OPTION_STRING, &f->authentication_kubeconfig, "FILE",
			"The kube-apiserver, and the user there, to ask for the user whom a token names; as --kubeconfig by "
			"default.",
			0, 0},
		{"authentication-token-webhook-cache-ttl", OPTION_DURATION, &f->token_ttl_ms, "DURATION",
			"How long the answer about a token is kept; 0: not at all.", 0, 0},
		{"authorization-kubeconfig", OPTION_STRING, &f->authorization_kubeconfig, "FILE",
			"The kube-apiserver, and the user there, to ask whether a request is allowed; as --kubeconfig by "
			"default.",
			0, 0},
		{"authorization-webhook-cache-authorized-ttl", OPTION_DURATION, &f->allowed_ttl_ms, "DURATION",
			"How long the answer \"allowed\" is kept; 0: not at all.", 0, 0},
		{"authorization-webhook-cache-unauthorized-ttl", OPTION_DURATION, &f->not_allowed_ttl_ms, "DURATION",
			"How long the answer \"not allowed\" is kept; 0: not at all.", 0, 0},
		{"authorization-always-allow-paths", OPTION_STRINGS, &f->allowed_paths, "PATH,...",
			"Paths that need no authorization, in the place of /healthz, /readyz and /livez; a final * matches any "
			"rest, and an "
			"empty list means none.",
			0, 0},
	};
	_Static_assert(ARRAY_SIZE(rows) <= DELEGATION_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows);
}

static bool is_given(const struct delegation_flags *f)
{
	return f->authentication_kubeconfig || f->authorization_kubeconfig || f->allowed_paths.n || f->token_ttl_ms != TTL_MS ||
		f->allowed_ttl_ms != TTL_MS || f->not_allowed_ttl_ms != TTL_MS;
}

/* As k8s.io/apiserver's path authorizer reads them: a slash in front is not needed. */
static int add_path(struct delegation_flags *f, size_t i, const char *path, struct buf *err)
{
	const char *star = strchr(path, '*');
	if (star && star[1]) {
		buf_printf(err, "--authorization-always-allow-paths: only trailing * allowed in \"%s\"", path);
		return -EINVAL;
	}
	f->always_allow_paths[i] = mem_printf("/%s", path[0] == '/' ? path + 1 : path);
	return 0;
}

/* `--flag=`: an empty list, such as `--authorization-always-allow-paths=`: every path needs authorization. */
static bool is_emptied(const struct option_strings *given)
{
	return given->n == 1 && !given->v[0][0];
}

int delegation_flags_check(struct delegation_flags *f, bool is_standalone, struct buf *err)
{
	bool is_default = f->allowed_paths.n == 0;
	size_t n = is_default ? ARRAY_SIZE(default_paths) : is_emptied(&f->allowed_paths) ? 0 : f->allowed_paths.n;
	if (is_standalone && is_given(f)) {
		buf_adds(err,
			"--standalone asks no kube-apiserver: --authentication-kubeconfig, --authorization-kubeconfig, "
			"--authorization-always-allow-paths and the times for which answers are kept do not go with it");
		return -EINVAL;
	}
	f->always_allow_paths = mem_array(n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		int r = add_path(f, i, is_default ? default_paths[i] : f->allowed_paths.v[i], err);
		if (r) {
			return r;
		}
	}
	return 0;
}

/* ---- files ---- */

static int load_core(const char *kubeconfig, struct client_config *ret, struct buf *err)
{
	return kubeconfig ? client_config_load(ret, kubeconfig, NULL, err) : client_config_load_pod(ret, POD_FOLDER, err);
}

/* A kubeconfig that is the core's too needs no client of its own. */
static bool is_other(const char *kubeconfig, const char *core)
{
	return kubeconfig && !(core && strcmp(kubeconfig, core) == 0);
}

static int load_other(const char *kubeconfig, const char *core, struct client_config *ret, struct buf *err)
{
	return is_other(kubeconfig, core) ? client_config_load(ret, kubeconfig, NULL, err) : 0;
}

int delegation_flags_load(const struct delegation_flags *f, const char *kubeconfig, struct delegation_configs *c,
	struct delegation_options *ret, struct buf *err)
{
	*c = (struct delegation_configs){0};
	int r = load_core(kubeconfig, &c->core, err);
	r = r ? r : load_other(f->authentication_kubeconfig, kubeconfig, &c->tokens, err);
	r = r ? r : load_other(f->authorization_kubeconfig, kubeconfig, &c->access, err);
	if (r) {
		return r;
	}
	*ret = (struct delegation_options){.core = &c->core,
		.tokens = c->tokens.server ? &c->tokens : NULL,
		.access = c->access.server ? &c->access : NULL,
		.token_ttl_ms = f->token_ttl_ms,
		.allowed_ttl_ms = f->allowed_ttl_ms,
		.not_allowed_ttl_ms = f->not_allowed_ttl_ms};
	return 0;
}

void delegation_configs_done(struct delegation_configs *c)
{
	client_config_done(&c->access);
	client_config_done(&c->tokens);
	client_config_done(&c->core);
}

/* ---- the store of `annals up` ----
 *
 * The store is in memory only if the user names it, and never because no etcd was found: otherwise a missing program
 * would cost users their data. */

/* A TiB; a greater --memory-limit-mib is refused. */
enum { MEMORY_LIMIT_MIB = 512, MEMORY_LIMIT_MIB_MAX = 1024 * 1024 };

void store_flags_init(struct store_flags *f)
{
	*f = (struct store_flags){.name = "etcd", .memory_limit_mib = MEMORY_LIMIT_MIB};
}

void store_flags_rows(struct store_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Store"),
		FLAG("store", OPTION_STRING, &f->name, "etcd|memory",
			"Where objects are. memory needs no etcd, and keeps nothing: objects are gone when annals ends."),
		{"memory-limit-mib", OPTION_INT, &f->memory_limit_mib, "N",
			"With --store=memory: how much objects and their history may take, in the store, in the watch cache "
			"and "
			"for controllers. Old history goes first; then writes are refused, as by an etcd that is full.",
			1, MEMORY_LIMIT_MIB_MAX},
	};
	_Static_assert(ARRAY_SIZE(rows) <= STORE_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
}

int store_flags_check(struct store_flags *f, bool names_etcd, struct buf *err)
{
	f->is_memory = strcmp(f->name, "memory") == 0;
	if (!f->is_memory && strcmp(f->name, "etcd") != 0) {
		return command_refuse(err, "--store %s: must be etcd or memory", f->name);
	}
	if (f->is_memory && names_etcd) {
		return command_refuse(err, "--store=memory uses no etcd: it goes neither with --etcd nor with --etcd-servers");
	}
	return 0;
}

int64_t store_flags_memory_limit(const struct store_flags *f)
{
	return f->is_memory ? f->memory_limit_mib << 20 : 0;
}

/* ---- front proxies ---- */

/* A flag with a list of headers, or of the names of proxies that may send them. */
struct list_row {
	const char *name;
	const struct option_strings *given;
	const char *fallback; /* NULL: none */
	const char *standard; /* what kube-apiserver's aggregator sends; NULL: nothing */
	const struct str **list;
	size_t *n;
};

enum { LISTS = 5 };

static void list_rows(struct trust_flags *f, struct list_row ret[LISTS])
{
	const struct list_row rows[LISTS] = {
		{"requestheader-allowed-names", &f->front_names, NULL, NULL, &f->front.front_names, &f->front.n_front_names},
		{"requestheader-username-headers", &f->user_headers, "x-remote-user", "X-Remote-User", &f->front.user_headers,
			&f->front.n_user_headers},
		{"requestheader-uid-headers", &f->uid_headers, NULL, "X-Remote-Uid", &f->front.uid_headers,
			&f->front.n_uid_headers},
		{"requestheader-group-headers", &f->group_headers, "x-remote-group", "X-Remote-Group", &f->front.group_headers,
			&f->front.n_group_headers},
		{"requestheader-extra-headers-prefix", &f->extra_prefixes, "x-remote-extra-", "X-Remote-Extra-",
			&f->front.extra_prefixes, &f->front.n_extra_prefixes},
	};
	memcpy(ret, rows, sizeof(rows));
}

void trust_flags_done(struct trust_flags *f)
{
	struct list_row rows[LISTS];
	list_rows(f, rows);
	for (size_t i = 0; i < LISTS; i++) {
		mem_free((void *)(uintptr_t)*rows[i].list);
	}
	f->front = (struct trust){.n_front_names = 0};
	option_strings_done(&f->front_names);
	option_strings_done(&f->user_headers);
	option_strings_done(&f->uid_headers);
	option_strings_done(&f->group_headers);
	option_strings_done(&f->extra_prefixes);
}

size_t trust_flags_rows(struct trust_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Front proxy"),
		{"requestheader-client-ca-file", OPTION_STRING, &f->front_ca_file, "FILE",
			"CA of front proxies, whose headers are trusted; read again when it changes. Behind a kube-apiserver "
			"by "
			"default the CA in kube-system/extension-apiserver-authentication, which is followed, and the rest of "
			"this "
			"group comes from there, too.",
			0, 0},
		{"requestheader-allowed-names", OPTION_STRINGS, &f->front_names, "NAME,...",
			"Common names that certificates of front proxies may have, with --requestheader-client-ca-file; none: "
			"any.",
			0, 0},
		{"requestheader-username-headers", OPTION_STRINGS, &f->user_headers, "HEADER,...",
			"Headers that name the user, with --requestheader-client-ca-file; by default x-remote-user.", 0, 0},
		{"requestheader-uid-headers", OPTION_STRINGS, &f->uid_headers, "HEADER,...",
			"Headers with the user's uid, with --requestheader-client-ca-file; by default none, X-Remote-Uid is "
			"usual.",
			0, 0},
		{"requestheader-group-headers", OPTION_STRINGS, &f->group_headers, "HEADER,...",
			"Headers with the user's groups, with --requestheader-client-ca-file; by default x-remote-group.", 0,
			0},
		{"requestheader-extra-headers-prefix", OPTION_STRINGS, &f->extra_prefixes, "PREFIX,...",
			"What headers with more about the user begin with, with --requestheader-client-ca-file; by default "
			"x-remote-extra-.",
			0, 0},
		{"authentication-skip-lookup", OPTION_BOOL, &f->skips_lookup, NULL,
			"Do not ask kube-apiserver for the CAs that no flag gives.", 0, 0},
		{"authentication-tolerate-lookup-failure", OPTION_BOOL, &f->tolerates_failure, NULL,
			"Be ready before the CAs that no flag names have been read from kube-apiserver.", 0, 0},
	};
	_Static_assert(ARRAY_SIZE(rows) <= TRUST_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows);
}

static int read_list(const struct list_row *row, struct buf *err)
{
	bool is_default = row->given->n == 0 && row->fallback;
	size_t n = is_default ? 1 : is_emptied(row->given) ? 0 : row->given->n;
	struct str *list = mem_array(n + 1, sizeof(*list));
	*row->list = list;
	*row->n = n;
	for (size_t i = 0; i < n; i++) {
		list[i] = str_of(is_default ? row->fallback : row->given->v[i]);
		if (str_trim(list[i]).n == 0) {
			buf_printf(err, "--%s: there is an empty name among them", row->name);
			return -EINVAL;
		}
	}
	return 0;
}

static bool has_standard(const struct list_row *row)
{
	for (size_t i = 0; i < *row->n; i++) {
		if (str_eq_nocase((*row->list)[i], str_of(row->standard))) {
			return true;
		}
	}
	return *row->n == 0 || !row->standard;
}

static bool is_any_list_given(const struct trust_flags *f)
{
	return f->front_names.n + f->user_headers.n + f->uid_headers.n + f->group_headers.n + f->extra_prefixes.n > 0;
}

int trust_flags_check(struct trust_flags *f, bool is_standalone, struct buf *err)
{
	struct list_row rows[LISTS];
	list_rows(f, rows);
	for (size_t i = 0; i < LISTS; i++) {
		int r = read_list(&rows[i], err);
		if (r) {
			return r;
		}
	}
	if (is_standalone && (f->skips_lookup || f->tolerates_failure)) {
		return command_refuse(err,
			"--standalone asks no kube-apiserver: --authentication-skip-lookup and "
			"--authentication-tolerate-lookup-failure do not go with it");
	}
	if (f->front_ca_file && f->front.n_user_headers == 0) {
		return command_refuse(err, "--requestheader-username-headers: there must be one, or nobody could be named");
	}
	return 0;
}

void trust_flags_warn(const struct trust_flags *f, struct buf *out)
{
	struct list_row rows[LISTS];
	list_rows((struct trust_flags *)(uintptr_t)f, rows);
	if (is_any_list_given(f) && !f->front_ca_file) {
		BUF_LITERAL(out,
			"--requestheader-allowed-names and the flags of headers say nothing without "
			"--requestheader-client-ca-file");
		return;
	}
	for (size_t i = 0; i < LISTS; i++) {
		if (!has_standard(&rows[i])) {
			buf_printf(out, "%s--%s lacks %s, which kube-apiserver sends", out->n ? "; " : "", rows[i].name,
				rows[i].standard);
		}
	}
}
