/* Who is asking: whom a front proxy speaks for, client certificate, token, anonymous. First one that knows the caller wins; a wrong credential
 * is 401. */
#ifndef SERVER_ACCESS_AUTHN_H
#define SERVER_ACCESS_AUTHN_H

#include "api/model/status.h"
#include "api/model/user.h"
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
/* 0 with *ret in the request's arena (groups include system:authenticated or system:unauthenticated); 1 with 401 or 503 in st; or ASK_FIRST.
 * Tokens are compared in constant time. Impersonate-* headers are the caller's business (server/access/impersonate.h). */
int authn_request(struct authn *authn, struct http_exchange *x, struct questions *questions, struct user **ret, struct arena *a,
	struct status *st);
/* Whom a bearer token names: true with *ret as above. */
bool authn_token(struct authn *authn, struct str token, struct user **ret, struct arena *a);
/* "Bearer" and two blanks: such a header names nobody, and the client should be told. */
bool authn_token_is_misplaced(struct http_exchange *x);

#endif
