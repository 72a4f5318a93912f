/* Authenticates requests by front proxy, client certificate, token, or as anonymous. The first
 * way that knows the caller decides; a wrong credential is 401. */
#ifndef SERVER_ACCESS_AUTHN_H
#define SERVER_ACCESS_AUTHN_H

#include "api/model/delegates.h"
#include "api/model/status.h"
#include "api/model/user.h"
#include "base/arena.h"
#include "base/watched_file.h"
#include "server/access/questions.h"
#include "server/http/http.h"

struct authn;

struct authn_options {
	const char *token_file; /* CSV: token,user,uid,"group1,group2"; reloaded when it changes. NULL: none */
	bool anonymous;         /* --anonymous-auth */
	struct reload_hook on_reload;
	void (*on_notice)(void *ctx, struct str text); /* for the operator, from any thread; may be NULL */
	void *notice_ctx;
};

int authn_new(struct authn **ret, const struct authn_options *options, struct buf *err);
struct authn *authn_free(struct authn *a);
/* Returns 0 with *ret in the request's arena (groups include system:authenticated or
 * system:unauthenticated); 1 with 401 or 503 in st; or ASK_FIRST. Tokens are compared in
 * constant time. The caller handles Impersonate-* headers (impersonate(), server/access/authz.h). */
int authn_request(struct authn *authn, struct http_exchange *x, struct questions *questions, struct user **ret, struct arena *a,
	struct status *st);
/* Finds the user of a bearer token. Returns true with *ret as above. */
bool authn_token(struct authn *authn, struct str token, struct user **ret, struct arena *a);
/* Returns true for "Bearer" and two blanks: such a header names no user, and the client should
 * get an error. */
bool authn_token_is_misplaced(struct http_exchange *x);

/* Users for whom a front proxy speaks, in headers: X-Remote-User and its like (k8s.io/apiserver
 * pkg/authentication/request/headerrequest). Pure; whoever asks has made sure that it is a front proxy. */

/* Returns true when a certificate with this common name, signed by the CA of front proxies, may
 * speak for others. */
bool front_proxy_may_have(const struct trust *t, struct str common_name);
/* Reads groups and extra values from the headers. Returns false when they name no user. Text is
 * that of the headers, but for keys, which are in the arena. */
bool front_proxy_read(const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret);

/* Reports why a client certificate led to a 401: which authority, date or name is wrong. At most
 * once in ten seconds, since any client may show one. */

struct refused_certificate {
	void (*on_notice)(void *ctx, struct str text); /* NULL: nothing is reported. Any thread */
	void *ctx;
	_Atomic int64_t next_ms; /* private; monotonic */
};

void refused_certificate_tell(struct refused_certificate *r, const struct http_peer *peer);

/* Keys of a user's extra values as they stand behind a prefix in the names of headers (Impersonate-Extra-KEY, X-Remote-Extra-KEY). */

/* The name begins with the prefix, in any case; *ret_key: lower-cased, then %-decoded; one that cannot be decoded is taken as it is. */
bool extra_key(struct str header, struct str prefix, struct arena *a, struct str *ret_key);

#endif
