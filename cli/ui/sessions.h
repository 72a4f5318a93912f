/* Who has been let in. A link has a token, which is good for one session; the session is good until the program ends. Any thread.
 *
 * Both are 256 random bits, so tries need no limit against guessing. There is one all the same: who tries is not our page, and the
 * user is to hear of it. */
#ifndef CLI_UI_SESSIONS_H
#define CLI_UI_SESSIONS_H

#include "base/str.h"

#include <pthread.h>

enum {
	KEY_SIZE = 64 + 1, /* hexadecimal digits and the NUL */
	SESSIONS_MAX = 16, /* a further one ends the oldest */
	TRIES_MAX = 32,    /* wrong tokens, until the next link */
};

struct sessions {
	pthread_mutex_t lock;
	char token[KEY_SIZE]; /* empty: there is none */
	unsigned n_tries;
	char v[SESSIONS_MAX][KEY_SIZE];
	size_t n; /* that were ever there; the next one goes to v[n % SESSIONS_MAX] */
};

enum session_result { SESSION_OPENED, SESSION_REFUSED, SESSION_TOO_MANY_TRIES };

void sessions_init(struct sessions *s);
void sessions_done(struct sessions *s);
/* A new token. One that nobody has used is worth nothing any more. */
void sessions_invite(struct sessions *s, char ret_token[KEY_SIZE]);
enum session_result sessions_open(struct sessions *s, struct str token, char ret_session[KEY_SIZE]);
bool sessions_has(struct sessions *s, struct str session);

#endif
