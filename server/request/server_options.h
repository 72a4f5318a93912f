/* Options of an API server, and functions that it may call while it runs. */
#ifndef SERVER_REQUEST_SERVER_OPTIONS_H
#define SERVER_REQUEST_SERVER_OPTIONS_H

#include "api/model/delegates.h"
#include "base/log.h"
#include "server/audit/audit.h"
#include "server/http/http.h"
#include "storage/cache/cache.h"
#include "storage/engine/agreement.h"
#include "storage/upkeep.h"

struct server_options {
	struct http_options http; /* handler is set by the server */
	struct storage *storage;
	struct cache *cache;
	const struct alarms *alarms; /* etcd's; NULL: nobody looks */
	struct agreement *agreement; /* on storage versions; NULL: this server is alone */
	struct str prefix;           /* --etcd-prefix */
	bool is_standalone;
	const struct delegates *delegates;     /* aggregated mode; lives longer than the server. NULL: standalone */
	const struct converter *converter;     /* lives longer than the server. NULL: no kind has a hook */
	const char *const *always_allow_paths; /* aggregated mode, ends with NULL */
	const char *token_auth_file;
	bool anonymous_auth;
	const char *authorization_policy_file; /* ABAC */
	bool always_allow;
	bool storage_version_hash;
	size_t max_requests_inflight; /* reads; 0: 400 */
	size_t max_mutating_inflight; /* 0: 200 */
	size_t max_watches;           /* 0: 16,384 */
	size_t max_requests_bytes;    /* that reads hold; 0: 64 MiB */
	size_t max_mutating_bytes;    /* that writes hold; 0: 96 MiB */
	int64_t request_timeout_ms;   /* 0: 60,000 */
	int64_t event_ttl_s;          /* how long what expires is kept; 0: 3,600 */
	const char *access_log;       /* NULL: none; "-": stderr */
	enum log_format log_format;
	struct audit_options audit; /* on_notice is set by the server */
	struct str version;         /* "v1.36.3+annals..." for /version: gitVersion */
	/* May be NULL. Something for the operator: a file that has changed and cannot be read again. From any thread. */
	void (*on_notice)(void *ctx, struct str text);
	void (*write_metrics)(void *ctx, struct buf *out); /* more for /metrics, from any thread; NULL: nothing */
	void *metrics_ctx;
	/* May be NULL. A request took longer than this: what it was, and what each of its phases took. Ten times a second at most. */
	int64_t slow_request_ms; /* 0: never */
	void (*on_slow)(void *ctx, const struct log_field *fields, size_t n);
	void *notice_ctx;
};

#endif
