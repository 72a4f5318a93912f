/* Each way of authentication says what it has found, and only the end decides, as upstream's union
 * does: a credential that is wrong for one way may be right for a later one. Clients take a 401 as
 * final. So what nobody could look at is answered otherwise: 503 while the cluster's authorities
 * are not read yet, 429 for a token about which nobody may ask now. */
#include "server/access/authn.h"

#include "server/access/front_proxy.h"
#include "server/access/refused_certificate.h"
#include "server/access/token_file.h"
#include "server/http/client_source.h"

struct authn {
	struct authn_options options;
	struct watched_file token_file;
	pthread_rwlock_t lock; /* guards `tokens`: readers hold it for a look-up */
	struct tokens *tokens;
	struct refused_certificate refused_certificate;
};

/* What one way of authentication says. */
enum answer {
	ANSWER_UNKNOWN, /* no credential of this kind: ask the next */
	ANSWER_KNOWN,
	ANSWER_WRONG, /* a credential that is not valid: 401 unless a later way knows the caller */
	ANSWER_LATER, /* the cluster must be asked first */
	ANSWER_BUSY,  /* it is asked too much by this source, or by all */
};

struct credentials {
	struct http_exchange *x;
	struct questions *questions;
	struct arena *arena;
};

/* ---- token file ---- */

static int load_tokens(void *ctx, struct str text, struct buf *err)
{
	struct authn *authn = ctx;
	struct tokens *fresh, *old;
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, 1024);
	int r = tokens_parse(&fresh, text, &why);
	if (r) {
		buf_printf(err, "token file %s: " STR_FMT, authn->options.token_file, STR_ARG(buf_str(&why)));
		return r;
	}

	pthread_rwlock_wrlock(&authn->lock);
	/* The old ones are freed behind the lock: whoever read them has copied what it needs. */
	old = authn->tokens;
	authn->tokens = fresh;
	pthread_rwlock_unlock(&authn->lock);
	tokens_free(old);
	return 0;
}

int authn_new(struct authn **ret, const struct authn_options *options, struct buf *err)
{
	struct authn *authn = mem_new(struct authn);
	authn->options = *options;
	authn->refused_certificate = (struct refused_certificate){.on_notice = options->on_notice, .ctx = options->notice_ctx};
	pthread_rwlock_init(&authn->lock, NULL);
	if (options->token_file) {
		int r = watched_file_init(&authn->token_file, options->token_file, load_tokens, authn, options->on_reload, err);
		if (r) {
			authn_free(authn);
			return r;
		}
	}
	*ret = authn;
	return 0;
}

struct authn *authn_free(struct authn *authn)
{
	if (authn) {
		watched_file_done(&authn->token_file);
		tokens_free(authn->tokens);
		pthread_rwlock_destroy(&authn->lock);
		mem_free(authn);
	}
	return NULL;
}

/* ---- users ---- */

/* A user of that name and these groups, copied, and system:authenticated, but for system:anonymous (k8s.io/apiserver
 * AuthenticatedGroupAdder). */
static struct user *user_new(struct arena *a, struct str name, const struct str *groups, size_t n)
{
	struct user *u = arena_new(a, struct user);
	struct str *all = arena_array(a, struct str, n + 1);
	for (size_t i = 0; i < n; i++) {
		all[i] = arena_dup(a, groups[i]);
	}
	u->name = arena_dup(a, name);
	u->groups = all;
	u->n_groups = n;
	if (!str_eq(name, USER_ANONYMOUS) && !user_in_group(u, GROUP_AUTHENTICATED) &&
		!user_in_group(u, GROUP_UNAUTHENTICATED)) {
		all[u->n_groups++] = GROUP_AUTHENTICATED;
	}
	return u;
}

/* Which of a user's credentials it was (k8s.io/apiserver user.CredentialIDKey). */
static void user_set_credential(struct user *u, struct arena *a, struct str id)
{
	struct user_extra *extra = arena_new(a, struct user_extra);

	*extra = (struct user_extra){STR("authentication.kubernetes.io/credential-id"), id};
	u->extra = extra;
	u->n_extra = 1;
}

static struct user *user_new_anonymous(struct arena *a)
{
	struct user *u = arena_new(a, struct user);
	struct str *group = arena_new(a, struct str);
	*group = GROUP_UNAUTHENTICATED;
	u->name = USER_ANONYMOUS;
	u->groups = group;
	u->n_groups = 1;
	return u;
}

/* ---- ways of authentication ---- */

/* Whom a front proxy speaks for. Its certificate is wrong for everybody who is none, also when no header names a user; a later way may know
 * them all the same (k8s.io/apiserver x509.Verifier). */
static enum answer ask_front_proxy(struct authn *authn _unused_, const struct credentials *c, struct user **ret)
{
	const struct http_peer *peer = http_peer(c->x);
	const struct http_header *headers;
	struct user named;
	if (!peer->has_certificate || !peer->trust || peer->trust->front_ca.n == 0) {
		return ANSWER_UNKNOWN;
	}
	if (!peer->is_front_proxy || !front_proxy_may_have(peer->trust, peer->common_name)) {
		return ANSWER_WRONG;
	}
	size_t n = http_headers(c->x, &headers);
	if (!front_proxy_read(peer->trust, headers, n, c->arena, &named)) {
		return ANSWER_UNKNOWN;
	}
	struct user *u = user_new(c->arena, named.name, named.groups, named.n_groups);
	u->uid = named.uid;
	u->extra = named.extra;
	u->n_extra = named.n_extra;
	*ret = u;
	return ANSWER_KNOWN;
}

/* A certificate without a common name names nobody (k8s.io/apiserver x509.CommonNameUserConversion). */
static enum answer ask_certificate(struct authn *authn _unused_, const struct credentials *c, struct user **ret)
{
	const struct http_peer *peer = http_peer(c->x);
	struct arena *a = c->arena;
	if (!peer->has_certificate || !peer->trust || peer->trust->client_ca.n == 0) {
		return ANSWER_UNKNOWN;
	}
	if (!peer->is_verified) {
		return ANSWER_WRONG;
	}
	if (peer->common_name.n == 0) {
		return ANSWER_UNKNOWN;
	}
	struct user *u = user_new(a, peer->common_name, peer->organizations, peer->n_organizations);
	u->uid = arena_dup(a, peer->uid);
	user_set_credential(u, a, arena_printf(a, "X509SHA256=" STR_FMT, STR_ARG(peer->fingerprint)));
	*ret = u;
	return ANSWER_KNOWN;
}

/* The second word behind "Bearer"; empty for every other header: Basic, or "Bearer" with two blanks, names nobody and is
 * not wrong. */
static struct str bearer_token(struct str authorization)
{
	struct str scheme, token, rest;
	if (!str_cut(str_trim(authorization), ' ', &scheme, &rest) || !str_eq_nocase(scheme, STR("bearer"))) {
		return STR("");
	}
	str_cut(rest, ' ', &token, &rest);
	return token;
}

bool authn_token_is_misplaced(struct http_exchange *x)
{
	struct str scheme, token, rest;
	return str_cut(str_trim(http_header(x, "Authorization")), ' ', &scheme, &rest) && str_eq_nocase(scheme, STR("bearer")) &&
		str_cut(rest, ' ', &token, &rest) && token.n == 0;
}

bool authn_token(struct authn *authn, struct str token, struct user **ret, struct arena *a)
{
	if (!authn->options.token_file) {
		return false;
	}

	watched_file_poll(&authn->token_file);
	pthread_rwlock_rdlock(&authn->lock);
	const struct token_user *known = tokens_find(authn->tokens, token);
	if (known) {
		struct user *u = user_new(a, known->name, known->groups, known->n_groups);
		u->uid = arena_dup(a, known->uid);
		*ret = u;
	}
	pthread_rwlock_unlock(&authn->lock);
	return known != NULL;
}

/* Groups as the review has them, and system:authenticated. */
static enum answer ask_review(const struct credentials *c, struct str token, struct user **ret)
{
	const struct delegates *delegates = c->questions->delegates;
	if (!delegates || !delegates->ask_token) {
		return ANSWER_WRONG;
	}
	const struct token_question *q = questions_token(c->questions, token, source_of(http_peer(c->x)->address, c->arena));
	if (!q) {
		return ANSWER_LATER;
	}
	if (q->base.is_turned_away) {
		return ANSWER_BUSY;
	}
	if (q->base.failure.n > 0 || !q->is_known) {
		return ANSWER_WRONG;
	}
	struct user *u = user_new(c->arena, q->user.name, q->user.groups, q->user.n_groups);
	u->uid = q->user.uid;
	u->extra = q->user.extra;
	u->n_extra = q->user.n_extra;
	*ret = u;
	return ANSWER_KNOWN;
}

static enum answer ask_token(struct authn *authn, const struct credentials *c, struct user **ret)
{
	struct str token = bearer_token(http_header(c->x, "Authorization"));
	if (token.n == 0) {
		return ANSWER_UNKNOWN;
	}
	return authn_token(authn, token, ret, c->arena) ? ANSWER_KNOWN : ask_review(c, token, ret);
}

/* Who shows a certificate may be believed in a moment: 401, or what anonymous may do, would be a wrong answer for good. */
static bool must_come_again(const struct credentials *c)
{
	const struct delegates *delegates = c->questions->delegates;
	return delegates && delegates->knows_trust && http_peer(c->x)->has_certificate &&
		!delegates->knows_trust(delegates->ctx);
}

typedef enum answer (*authn_way)(struct authn *authn, const struct credentials *c, struct user **ret);

/* Upstream's order. A front proxy is asked for first: its certificate may be a user's as well, but
 * whom it speaks for is who asks. */
static const authn_way ways[] = {ask_front_proxy, ask_certificate, ask_token};

int authn_request(struct authn *authn, struct http_exchange *x, struct questions *questions, struct user **ret, struct arena *a,
	struct status *st)
{
	const struct credentials c = {x, questions, a};
	bool is_wrong = false, is_busy = false;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		enum answer answer = ways[i](authn, &c, ret);
		if (answer == ANSWER_KNOWN) {
			http_vouch(x);
			return 0;
		}
		/* Nothing is remembered of the ways before: they are cheap, and are asked again. */
		if (answer == ANSWER_LATER) {
			return ASK_FIRST;
		}
		is_busy |= answer == ANSWER_BUSY;
		is_wrong |= answer == ANSWER_WRONG;
	}
	/* Nobody has looked at the token: 401 would tell its owner that it is no good. */
	if (is_busy) {
		status_set(st, 429, REASON_TOO_MANY_REQUESTS, "too many tokens are being asked about, please try again later");
		st->retry_after_s = 1;
		return 1;
	}
	if (must_come_again(&c)) {
		status_set(st, 503, REASON_SERVICE_UNAVAILABLE,
			"whose certificates are believed has not been read yet; try again");
		st->retry_after_s = 1;
		return 1;
	}
	if (is_wrong || !authn->options.anonymous) {
		refused_certificate_tell(&authn->refused_certificate, http_peer(x));
		status_set(st, 401, REASON_UNAUTHORIZED, "Unauthorized");
		return 1;
	}
	*ret = user_new_anonymous(a);
	return 0;
}
