/* Keys are compared in a time that does not depend on how much of them is right. All sessions are
 * looked at, also behind the one that fits. */
#include "cli/ui/sessions.h"

#include "base/hex.h"
#include "base/ids.h"
#include "base/keyed_hash.h"

static void make_key(char ret[KEY_SIZE])
{
	unsigned char bytes[(KEY_SIZE - 1) / 2];
	random_bytes(bytes, sizeof(bytes));
	hex_write(ret, bytes, sizeof(bytes));
	ret[KEY_SIZE - 1] = '\0';
	explicit_bzero(bytes, sizeof(bytes));
}

/* An empty key fits nothing. */
static bool key_is(const char key[KEY_SIZE], struct str shown)
{
	return key[0] != '\0' && secret_equal((struct str){key, KEY_SIZE - 1}, shown);
}

void sessions_init(struct sessions *s)
{
	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
}

void sessions_done(struct sessions *s)
{
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s, sizeof(*s));
}

void sessions_invite(struct sessions *s, char ret_token[KEY_SIZE])
{
	pthread_mutex_lock(&s->lock);
	make_key(s->token);
	s->n_tries = 0;
	memcpy(ret_token, s->token, KEY_SIZE);
	pthread_mutex_unlock(&s->lock);
}

/* With the lock. */
static enum session_result try_token(struct sessions *s, struct str token)
{
	if (s->n_tries >= TRIES_MAX) {
		return SESSION_TOO_MANY_TRIES;
	}
	if (!key_is(s->token, token)) {
		s->n_tries++;
		return SESSION_REFUSED;
	}
	explicit_bzero(s->token, sizeof(s->token));
	return SESSION_OPENED;
}

enum session_result sessions_open(struct sessions *s, struct str token, char ret_session[KEY_SIZE])
{
	pthread_mutex_lock(&s->lock);
	enum session_result result = try_token(s, token);
	if (result == SESSION_OPENED) {
		char *session = s->v[s->n++ % SESSIONS_MAX];
		make_key(session);
		memcpy(ret_session, session, KEY_SIZE);
	}
	pthread_mutex_unlock(&s->lock);
	return result;
}

bool sessions_has(struct sessions *s, struct str session)
{
	bool has = false;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		bool is_it = key_is(s->v[i], session);
		has = has || is_it;
	}
	pthread_mutex_unlock(&s->lock);
	return has;
}
