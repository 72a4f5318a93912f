/* Authenticates users: by certificates, front proxies, tokens of a file, and tokens that the
 * cluster reviews.
 *
 * Each way reports its finding, and only the end decides, as upstream's union does: a credential
 * that is wrong for one way may be right for a later one. Clients take a 401 as final. So a
 * credential that could not be checked gets another answer. It is 503 while the cluster's
 * authorities have not been read, and 429 for a token that cannot be reviewed now. */
#include "server/access/authn.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/keyed_hash.h"
#include "server/access/token_file.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct authn {
	struct authn_options options;
	struct watched_file token_file;
	pthread_rwlock_t lock; /* guards `tokens`: readers hold it for a look-up */
	struct tokens *tokens;
	struct refused_certificate refused_certificate;
};

/* The finding of one way of authentication. */
enum answer {
	ANSWER_UNKNOWN, /* no credential of this kind: ask the next */
	ANSWER_KNOWN,
	ANSWER_WRONG, /* a credential that is not valid: 401 unless a later way knows the caller */
	ANSWER_LATER, /* the answer needs a review by the cluster */
	ANSWER_BUSY,  /* this source, or all together, ask the cluster too much */
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
	/* The old tokens can be freed after the unlock: readers have copied what they need. */
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

/* Makes a user with that name and these groups, copied. All but system:anonymous get
 * system:authenticated (k8s.io/apiserver AuthenticatedGroupAdder). */
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

/* Records which of the user's credentials was used (k8s.io/apiserver user.CredentialIDKey). */
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

/* Finds the user for whom a front proxy speaks. A certificate that is no front proxy's is wrong
 * here, also when no header names a user; a later way may accept it (k8s.io/apiserver
 * x509.Verifier). */
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

/* Returns the second word behind "Bearer". It is empty for every other header: Basic, or
 * "Bearer" with two blanks, names no user and is not wrong. */
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
	assert(authn->tokens); /* authn_new() has read a file, and a later one must be good to replace it */
	const struct token_user *known = tokens_find(authn->tokens, token);
	if (known) {
		struct user *u = user_new(a, known->name, known->groups, known->n_groups);
		u->uid = arena_dup(a, known->uid);
		*ret = u;
	}
	pthread_rwlock_unlock(&authn->lock);
	return known != NULL;
}

/* Takes the user from the review, with its groups and system:authenticated. */
static enum answer ask_review(const struct credentials *c, struct str token, struct user **ret)
{
	const struct delegates *delegates = c->questions->delegates;
	if (!delegates || !delegates->ask_token) {
		return ANSWER_WRONG;
	}
	const struct token_question *q =
		questions_token(c->questions, token, http_source_of(http_peer(c->x)->address, c->arena));
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

/* Returns true when the authority of this certificate may be known soon: 401, or the rights of
 * anonymous, would be wrong then. */
static bool must_come_again(const struct credentials *c)
{
	const struct delegates *delegates = c->questions->delegates;
	return delegates && delegates->knows_trust && http_peer(c->x)->has_certificate &&
		!delegates->knows_trust(delegates->ctx);
}

typedef enum answer (*authn_way)(struct authn *authn, const struct credentials *c, struct user **ret);

/* Upstream's order. Front proxies come first: their certificate may be a user's as well, but the
 * headers name the user who asks. */
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
		/* Nothing is remembered of earlier ways: they are cheap, and are tried again. */
		if (answer == ANSWER_LATER) {
			return ASK_FIRST;
		}
		is_busy |= answer == ANSWER_BUSY;
		is_wrong |= answer == ANSWER_WRONG;
	}
	/* The token was not checked: 401 would say that it is not valid. */
	if (is_busy) {
		status_set(st, 429, REASON_TOO_MANY_REQUESTS, "too many tokens are being asked about, please try again later");
		st->retry_after_s = 1;
		return 1;
	}
	if (must_come_again(&c)) {
		status_set(st, 503, REASON_SERVICE_UNAVAILABLE,
			"the authorities of client certificates have not been read yet; try again");
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

/* ---- the file of tokens ---- */

/* The file means what it means to kube-apiserver, which reads it with Go's encoding/csv: quotes,
 * empty lines and CR LF are read in the same way. Look-ups search among sorted digests. So no byte
 * of a token that was sent is ever compared with one of the file's, and no token stays in memory. */

enum {
	FIELDS_MIN = 3,
	FIELDS_MAX = 4, /* further ones are ignored */
};

struct entry {
	unsigned char digest[SHA256_SIZE];
	size_t record; /* order in the file */
	struct token_user user;
};

struct tokens {
	struct keyed_hash hash;
	struct entry *entries; /* sorted by digest */
	size_t n;
	struct arena arena;
};

/* Reads one record after the other. */
struct csv {
	struct str rest;
	size_t line; /* from 1, of `rest` */
	struct arena *arena;
	struct buf *err;
};

struct record {
	struct str fields[FIELDS_MAX];
	size_t n; /* fields of the record; only FIELDS_MAX are kept */
};

static int csv_refuse(struct csv *c, const char *why)
{
	buf_printf(c->err, "line %zu: %s", c->line, why);
	return -EINVAL;
}

static void csv_skip(struct csv *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c->line += c->rest.p[i] == '\n';
	}
	c->rest.p += n;
	c->rest.n -= n;
}

static bool csv_at(const struct csv *c, char ch)
{
	return c->rest.n > 0 && c->rest.p[0] == ch;
}

/* A line break, in either form, counts as one '\n'. */
static bool csv_at_newline(const struct csv *c)
{
	return csv_at(c, '\n') || str_starts(c->rest, STR("\r\n"));
}

static int csv_quoted_field(struct csv *c, struct str *ret)
{
	char *out = arena_text(c->arena, c->rest.n);
	size_t n = 0, at = 1;
	for (; at < c->rest.n; at++) {
		if (c->rest.p[at] == '"') {
			if (at + 1 >= c->rest.n || c->rest.p[at + 1] != '"') {
				break;
			}
			at++;
		}
		out[n++] = c->rest.p[at];
	}
	if (at >= c->rest.n) {
		return csv_refuse(c, "a quoted field has no end");
	}

	csv_skip(c, at + 1);
	if (c->rest.n > 0 && !csv_at(c, ',') && !csv_at_newline(c)) {
		return csv_refuse(c, "a quoted field must be followed by a comma or the end of the line");
	}
	*ret = (struct str){out, n};
	return 0;
}

static int csv_plain_field(struct csv *c, struct str *ret)
{
	size_t n = 0;
	while (n < c->rest.n && c->rest.p[n] != ',' && c->rest.p[n] != '\n') {
		if (c->rest.p[n++] == '"') {
			return csv_refuse(c, "a quote within a field that does not begin with one");
		}
	}
	struct str field = {c->rest.p, n};
	if (n < c->rest.n && c->rest.p[n] == '\n' && str_ends(field, STR("\r"))) {
		field.n--;
	}
	csv_skip(c, field.n);
	*ret = field;
	return 0;
}

static int csv_record(struct csv *c, struct record *ret)
{
	*ret = (struct record){.n = 0};
	for (;;) {
		struct str field;
		int r = csv_at(c, '"') ? csv_quoted_field(c, &field) : csv_plain_field(c, &field);
		if (r) {
			return r;
		}
		if (ret->n < FIELDS_MAX) {
			ret->fields[ret->n] = field;
		}
		ret->n++;
		if (!csv_at(c, ',')) {
			break;
		}
		csv_skip(c, 1);
	}
	if (ret->n < FIELDS_MIN) {
		return csv_refuse(c, "a user has at least 3 columns: token, user name, user uid");
	}
	return 0;
}

static size_t count_groups(struct str list)
{
	size_t n = 1;
	for (size_t i = 0; i < list.n; i++) {
		n += list.p[i] == ',';
	}
	return n;
}

static void user_set_groups(struct token_user *u, struct str list, struct arena *a)
{
	struct str *groups = arena_array(a, struct str, count_groups(list));
	struct str rest = arena_dup(a, list);
	bool more;
	do {
		more = str_cut(rest, ',', &groups[u->n_groups++], &rest);
	} while (more);
	u->groups = groups;
}

static void tokens_add(struct tokens *t, const struct record *record)
{
	t->entries = mem_realloc_array(t->entries, t->n + 1, sizeof(*t->entries));
	struct entry *e = &t->entries[t->n];
	*e = (struct entry){.record = t->n};
	t->n++;

	keyed_hash(&t->hash, record->fields[0], e->digest);
	e->user.name = arena_dup(&t->arena, record->fields[1]);
	e->user.uid = arena_dup(&t->arena, record->fields[2]);
	if (record->n > FIELDS_MIN) {
		user_set_groups(&e->user, record->fields[3], &t->arena);
	}
}

static int compare_digests(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return memcmp(x->digest, y->digest, SHA256_SIZE);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_digests(x, y);
	return order ? order : (x->record > y->record) - (x->record < y->record);
}

/* Sorts the tokens. Of several records with one token the last stays. */
static void tokens_sort(struct tokens *t)
{
	size_t n = 0;
	if (t->n > 0) {
		qsort(t->entries, t->n, sizeof(*t->entries), compare_entries);
	}
	for (size_t i = 0; i < t->n; i++) {
		if (i + 1 == t->n || compare_digests(&t->entries[i], &t->entries[i + 1]) != 0) {
			t->entries[n++] = t->entries[i];
		}
	}
	t->n = n;
}

static int tokens_read(struct tokens *t, struct csv *c)
{
	while (c->rest.n > 0) {
		/* encoding/csv skips empty lines. */
		if (csv_at_newline(c)) {
			csv_skip(c, csv_at(c, '\r') ? 2 : 1);
			continue;
		}
		struct record record;
		int r = csv_record(c, &record);
		if (r) {
			return r;
		}
		/* kube-apiserver skips an empty token, too. */
		if (record.fields[0].n > 0) {
			tokens_add(t, &record);
		}
	}
	tokens_sort(t);
	return 0;
}

int tokens_parse(struct tokens **ret, struct str text, struct buf *err)
{
	_cleanup_(tokens_freep) struct tokens *t = mem_new(struct tokens);
	arena_init(&t->arena, SIZE_MAX);
	keyed_hash_init(&t->hash);

	struct arena scratch;
	arena_init(&scratch, SIZE_MAX);
	struct csv csv = {.rest = text, .line = 1, .arena = &scratch, .err = err};
	int r = tokens_read(t, &csv);
	arena_done(&scratch);
	if (r) {
		return r;
	}
	*ret = take_ptr(t);
	return 0;
}

struct tokens *tokens_free(struct tokens *t)
{
	if (t) {
		arena_done(&t->arena);
		mem_free(t->entries);
		mem_free(t);
	}
	return NULL;
}

const struct token_user *tokens_find(const struct tokens *t, struct str token)
{
	struct entry wanted;
	if (t->n == 0) {
		return NULL;
	}
	keyed_hash(&t->hash, token, wanted.digest);
	const struct entry *e = bsearch(&wanted, t->entries, t->n, sizeof(*t->entries), compare_digests);
	return e ? &e->user : NULL;
}

/* ---- front proxies ---- */

/* The lists of headers come from flags or from a ConfigMap of the cluster. The first header that
 * names a user decides, but the groups of all group headers are put together, and so are extra
 * values: upstream's headerrequest reads them so. An empty list of allowed names means any name
 * (--requestheader-allowed-names). */

bool front_proxy_may_have(const struct trust *t, struct str common_name)
{
	for (size_t i = 0; i < t->n_front_names; i++) {
		if (str_eq(t->front_names[i], common_name)) {
			return true;
		}
	}
	return t->n_front_names == 0;
}

/* Returns the first value of a header, even if it is empty and a later one is not. */
static struct str first_value(const struct http_header *headers, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq_nocase(headers[i].name, name)) {
			return headers[i].value;
		}
	}
	return STR("");
}

static struct str first_of(const struct http_header *headers, size_t n, const struct str *names, size_t n_names)
{
	struct str value = STR("");
	for (size_t i = 0; i < n_names && value.n == 0; i++) {
		value = first_value(headers, n, names[i]);
	}
	return value;
}

static void read_groups(const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret)
{
	/* A header may be listed twice, and then counts twice: so there is room for each in
	 * each. */
	struct str *groups = arena_array(a, struct str, n * t->n_group_headers);
	for (size_t i = 0; i < t->n_group_headers; i++) {
		for (size_t k = 0; k < n; k++) {
			if (headers[k].value.n > 0 && str_eq_nocase(headers[k].name, t->group_headers[i])) {
				groups[ret->n_groups++] = headers[k].value;
			}
		}
	}
	ret->groups = groups;
}

static void read_extra(const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret)
{
	struct user_extra *extra = arena_array(a, struct user_extra, n * t->n_extra_prefixes);
	for (size_t i = 0; i < t->n_extra_prefixes; i++) {
		for (size_t k = 0; k < n; k++) {
			struct str key;
			if (extra_key(headers[k].name, t->extra_prefixes[i], a, &key)) {
				extra[ret->n_extra++] = (struct user_extra){key, headers[k].value};
			}
		}
	}
	ret->extra = extra;
}

bool front_proxy_read(const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret)
{
	struct str name = first_of(headers, n, t->user_headers, t->n_user_headers);
	if (name.n == 0) {
		return false;
	}
	*ret = (struct user){.name = name, .uid = first_of(headers, n, t->uid_headers, t->n_uid_headers)};
	read_groups(t, headers, n, a, ret);
	read_extra(t, headers, n, a, ret);
	return true;
}

/* ---- refused certificates ---- */

/* A 401 does not say why, here as upstream: the client may be an attacker. So the log names the
 * reason for the operator; otherwise a wrong CA would look like a wrong name. One atomic time is
 * the whole limit: threads race to advance it, and the losers log nothing. */

/* Bytes of a line in the log. */
enum { PAUSE_MS = 10 * 1000, NOTICE_MAX = 4096 };

static void write_reason(struct buf *out, const struct http_peer *peer)
{
	if (peer->problem.n > 0) {
		buf_add_str(out, peer->problem);
	} else if (!peer->is_front_proxy) {
		BUF_LITERAL(out, "It names nobody.");
	} else if (!front_proxy_may_have(peer->trust, peer->common_name)) {
		buf_printf(out, "It is signed by the CA of front proxies, but \"" STR_FMT "\" is no name that they may have.",
			STR_ARG(peer->common_name));
	} else {
		BUF_LITERAL(out, "It is a front proxy's, but no header names a user.");
	}
}

/* Returns true for one thread in each PAUSE_MS. */
static bool is_time(struct refused_certificate *r)
{
	int64_t now = clock_mono_ms(), next = atomic_load_explicit(&r->next_ms, memory_order_relaxed);
	return now >= next &&
		atomic_compare_exchange_strong_explicit(
			&r->next_ms, &next, now + PAUSE_MS, memory_order_relaxed, memory_order_relaxed);
}

void refused_certificate_tell(struct refused_certificate *r, const struct http_peer *peer)
{
	if (!r->on_notice || !peer->has_certificate || !peer->trust || !is_time(r)) {
		return;
	}
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NOTICE_MAX);
	buf_printf(&text, "401 to " STR_FMT " for its client certificate: ", STR_ARG(peer->address));
	write_reason(&text, peer);
	r->on_notice(r->ctx, buf_str(&text));
}

/* ---- extra keys ---- */

/* HTTP does not keep the case of a header's name, and a name cannot hold every byte. So upstream
 * lower-cases keys and takes %-escapes in them. A key that is badly escaped is kept as it came,
 * like upstream's unescapeExtraKey: an extra value that vanished would make its user look like
 * another. */

/* Lower case only: the key has been lower-cased before. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct str lower_case(struct arena *a, struct str s)
{
	char *lower = arena_text(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		lower[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	return (struct str){lower, s.n};
}

static bool decode(struct arena *a, struct str s, struct str *ret)
{
	char *decoded = arena_text(a, s.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '%') {
			decoded[n++] = s.p[i];
			continue;
		}
		int high = i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1, low = high >= 0 ? hex_digit(s.p[i + 2]) : -1;
		if (low < 0) {
			return false;
		}
		decoded[n++] = (char)(high * 16 + low);
		i += 2;
	}
	*ret = (struct str){decoded, n};
	return true;
}

bool extra_key(struct str header, struct str prefix, struct arena *a, struct str *ret_key)
{
	struct str head = {header.p, MIN(header.n, prefix.n)};
	if (!str_eq_nocase(head, prefix)) {
		return false;
	}
	struct str lower = lower_case(a, (struct str){header.p + prefix.n, header.n - prefix.n});
	if (!decode(a, lower, ret_key)) {
		*ret_key = lower;
	}
	return true;
}
