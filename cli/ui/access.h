/* Access control of the page: targets, origins, sessions. Any thread may call it. */
#ifndef CLI_UI_ACCESS_H
#define CLI_UI_ACCESS_H

#include "base/arena.h"
#include "base/str.h"
#include "server/http/http.h"

#include <pthread.h>

enum {
	KEY_SIZE = 64 + 1, /* hexadecimal digits and the NUL */
	SESSIONS_MAX = 16, /* another session ends the oldest */
	TRIES_MAX = 32,    /* wrong tokens, until the next link */
};

/* A link has a token, which is good for one session. The session is good until the program ends.
 *
 * A token is used up when its session is used for the first time: then the page has received the session. Before that, the
 * token opens another session instead, so an answer that is lost on its way does not cost the user the link.
 *
 * Tokens and sessions are 256 random bits, so nobody can guess them. Tries have a limit all the same, since a program that
 * tries is not our page, and the user should know about it. */
struct sessions {
	pthread_mutex_t lock;
	char token[KEY_SIZE]; /* empty: there is none */
	unsigned n_tries;
	char v[SESSIONS_MAX][KEY_SIZE];
	size_t n;     /* how many there were ever; the next one goes to v[n % SESSIONS_MAX] */
	char *unused; /* the session in v that the token has opened, until it is used; or NULL */
};

enum session_result { SESSION_OPENED, SESSION_REFUSED, SESSION_TOO_MANY_TRIES };

void sessions_init(struct sessions *s);
void sessions_done(struct sessions *s);
/* Makes a new token. The token before it becomes invalid. */
void sessions_invite(struct sessions *s, char ret_token[KEY_SIZE]);
enum session_result sessions_open(struct sessions *s, struct str token, char ret_session[KEY_SIZE]);
bool sessions_has(struct sessions *s, struct str session);

/* ---- targets: the requests of the page that are passed on, with the rights of its user ---- */

/* path: "/apis/apps/v1/..." as sent, query as sent. Returns false with a sentence in *ret_why if
 * the request must not be passed on. */
bool allowed_target(struct str path, struct str query, const char **ret_why);
/* The known media types of an Accept header, in its order, ended by a NUL; empty if it has none. JSON without a header,
 * or for any type. */
struct str allowed_accept(struct str accept, struct arena *a);

/* ---- origin: the page that makes a request ----
 *
 * Any page of any site can make a browser ask 127.0.0.1. Two things keep such requests out: the host that they name (a
 * name of that site may lead to 127.0.0.1, but it is not ours), and the site that makes them (Origin, Sec-Fetch-Site). */

/* Call it before anything else. 0; or 421 or 403, with a sentence in *ret_why. */
unsigned origin_check(const struct http_header *headers, size_t n, uint16_t port, const char **ret_why);

#endif
