/* Access control of the page: which requests it may pass on to the API server, from which origin a request may come, and
 * which browsers have a session. */
#include "cli/ui/access.h"
#include "base/hex.h"
#include "base/ids.h"
#include "base/keyed_hash.h"

#include <stdio.h>

enum {
	/* Bytes of path and query; the page needs less, and a longer one is refused. */
	TARGET_MAX = 8192,
	ACCEPTED_MAX = 8, /* media types of Accept that are passed on; further ones are left out */
	NAME_SIZE = 64,
};

/* ---- targets ----
 *
 * A path is passed on as it came, so both sides have to read it alike. Therefore it may have no escapes: the names of all
 * these objects are DNS labels with dots. A query may have escapes in its values, but not in its names. */

static const struct {
	const char *prefix, *resources;
} groups[] = {
	{"/api/v1/", "pods"},
	{"/apis/apps/v1/", "statefulsets,deployments,daemonsets,replicasets,controllerrevisions"},
	{"/apis/annals.dev/v1/", "histories,recorders,controllerrevisions,providers,dependents"},
	{"/apis/annals.dev/v1beta1/", "statefulsets"},
};

/* Namespaces may be listed, and nothing else below that path. */
static const char *const whole_paths[] = {"/api/v1/namespaces"};

static const char parameters[] = "allowWatchBookmarks,context,continue,fieldSelector,from,includeObject,labelSelector,limit,"
				 "resourceVersion,resourceVersionMatch,sendInitialEvents,timeoutSeconds,watch";

static const char *const media_types[] = {
	"application/json",
	"application/vnd.annals.hunks+json",
	"application/json;as=Table;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
};

static bool is_among(const char *names, struct str name)
{
	struct str rest = str_of(names), each;
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		if (str_eq(each, name)) {
			return true;
		}
	}
	return false;
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Is it a name: not empty, and neither "." nor ".."? */
static bool is_segment(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '.') {
			return false;
		}
	}
	return s.n > 0 && s.n <= 253 && is_alnum(s.p[0]);
}

/* Takes the next segment off a path. Returns false if it is not a name. */
static bool take_segment(struct str *rest, struct str *ret)
{
	bool has_more = str_cut(*rest, '/', ret, rest);
	return is_segment(*ret) && (!has_more || rest->n > 0);
}

/* [namespaces/NAMESPACE/]RESOURCE[/NAME[/diff]] */
static bool is_of_resources(struct str rest, const char *resources)
{
	struct str segment, namespace, name, subresource;
	if (!take_segment(&rest, &segment)) {
		return false;
	}
	if (str_is(segment, "namespaces") && (!take_segment(&rest, &namespace) || !take_segment(&rest, &segment))) {
		return false;
	}
	if (!is_among(resources, segment)) {
		return false;
	}
	if (rest.n == 0) {
		return true;
	}
	if (!take_segment(&rest, &name)) {
		return false;
	}
	if (rest.n == 0) {
		return true;
	}
	return str_is(segment, "controllerrevisions") && take_segment(&rest, &subresource) && rest.n == 0 &&
		str_is(subresource, "diff");
}

static bool is_known_path(struct str path)
{
	for (size_t i = 0; i < ARRAY_SIZE(whole_paths); i++) {
		if (str_is(path, whole_paths[i])) {
			return true;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct str prefix = str_of(groups[i].prefix);
		if (str_starts(path, prefix)) {
			return is_of_resources((struct str){path.p + prefix.n, path.n - prefix.n}, groups[i].resources);
		}
	}
	return false;
}

/* Text without characters that a server might take for the end of the value. */
static bool is_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!char_is_shown(s.p[i]) || strchr("#;\"<>\\^`{|}", s.p[i])) {
			return false;
		}
	}
	return true;
}

static bool is_known_query(struct str query)
{
	struct str pair, name, value;
	while (query.n > 0) {
		str_cut(query, '&', &pair, &query);
		str_cut(pair, '=', &name, &value);
		if (!is_among(parameters, name) || !is_value(value)) {
			return false;
		}
	}
	return true;
}

bool allowed_target(struct str path, struct str query, const char **ret_why)
{
	if (path.n + query.n > TARGET_MAX) {
		*ret_why = "the path is too long";
		return false;
	}
	if (!is_known_path(path)) {
		*ret_why = "the page has no need of this path";
		return false;
	}
	if (!is_known_query(query)) {
		*ret_why = "the page has no need of this query";
		return false;
	}
	return true;
}

static const char *known_type(struct str type)
{
	for (size_t i = 0; i < ARRAY_SIZE(media_types); i++) {
		if (str_is(type, media_types[i])) {
			return media_types[i];
		}
	}
	return str_is(type, "*/*") ? media_types[0] : NULL;
}

struct str allowed_accept(struct str accept, struct arena *a)
{
	struct str rest = accept.n ? accept : STR("*/*"), each, all = {0};
	for (size_t n = 0; rest.n > 0 && n < ACCEPTED_MAX;) {
		str_cut(rest, ',', &each, &rest);
		const char *type = known_type(str_trim(each));
		if (type) {
			all = n++ ? arena_printf(a, STR_FMT ",%s", STR_ARG(all), type) : arena_printf(a, "%s", type);
		}
	}
	return all;
}

/* ---- origin ----
 *
 * Names are compared letter by letter, as browsers write them. A request with another spelling comes from no browser that
 * followed a link of ours. */

static bool is_our_host(struct str host, uint16_t port)
{
	static const char *const names[] = {"127.0.0.1", "[::1]", "localhost"};
	char expected[NAME_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(expected, sizeof(expected), "%s:%u", names[i], port);
		if (str_is(host, expected)) {
			return true;
		}
	}
	return false;
}

static bool is_our_origin(struct str origin, uint16_t port)
{
	struct str scheme = STR("http://");
	return str_starts(origin, scheme) && is_our_host((struct str){origin.p + scheme.n, origin.n - scheme.n}, port);
}

unsigned origin_check(const struct http_header *headers, size_t n, uint16_t port, const char **ret_why)
{
	size_t n_hosts = 0;
	for (size_t i = 0; i < n; i++) {
		struct str name = headers[i].name, value = headers[i].value;
		if (str_eq_nocase(name, STR("Host"))) {
			n_hosts++;
			if (!is_our_host(value, port)) {
				*ret_why = "this is not the host that the request names";
				return 421;
			}
		} else if (str_eq_nocase(name, STR("Origin")) && !is_our_origin(value, port)) {
			*ret_why = "requests of other sites are not answered";
			return 403;
		} else if (str_eq_nocase(name, STR("Sec-Fetch-Site")) && !str_is(value, "same-origin") &&
			!str_is(value, "none")) {
			*ret_why = "requests of other sites are not answered";
			return 403;
		}
	}
	if (n_hosts != 1) {
		*ret_why = "the request names no host, or several";
		return 421;
	}
	return 0;
}

/* ---- sessions ----
 *
 * The time to compare a key does not depend on how much of it is right: all sessions are compared, even behind the one
 * that fits. */

static void make_key(char ret[KEY_SIZE])
{
	unsigned char bytes[(KEY_SIZE - 1) / 2];
	random_bytes(bytes, sizeof(bytes));
	hex_write(ret, bytes, sizeof(bytes));
	ret[KEY_SIZE - 1] = '\0';
	explicit_bzero(bytes, sizeof(bytes));
}

/* An empty key matches nothing. */
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
	s->unused = NULL;
	s->n_tries = 0;
	memcpy(ret_token, s->token, KEY_SIZE);
	pthread_mutex_unlock(&s->lock);
}

/* The caller holds the lock. */
static enum session_result try_token(struct sessions *s, struct str token)
{
	if (s->n_tries >= TRIES_MAX) {
		return SESSION_TOO_MANY_TRIES;
	}
	if (!key_is(s->token, token)) {
		s->n_tries++;
		return SESSION_REFUSED;
	}
	return SESSION_OPENED;
}

enum session_result sessions_open(struct sessions *s, struct str token, char ret_session[KEY_SIZE])
{
	pthread_mutex_lock(&s->lock);
	enum session_result result = try_token(s, token);
	if (result == SESSION_OPENED) {
		s->unused = s->unused ? s->unused : s->v[s->n++ % SESSIONS_MAX];
		make_key(s->unused);
		memcpy(ret_session, s->unused, KEY_SIZE);
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
		if (is_it && s->v[i] == s->unused) {
			s->unused = NULL;
			explicit_bzero(s->token, sizeof(s->token));
		}
	}
	pthread_mutex_unlock(&s->lock);
	return has;
}
