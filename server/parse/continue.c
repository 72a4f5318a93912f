/* A token is the client's when it comes back, so it is read as strictly as anything else: its start
 * is a key, and a key with ".." in it would lead out of what is listed. Mistakes are reported in the
 * words of Go's decoders, as far as one can see them through the API. C's library has no base64,
 * least of all one that names the place of an error. */
#include "server/parse/continue.h"

#include "base/json.h"

#include <assert.h>

#define VERSION "meta.k8s.io/v1"

/* Bytes of a token, which has a key: a namespace and a name. */
enum { TOKEN_MAX = 8192 };

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static struct str base64url_encode(struct str in, struct arena *a)
{
	char *out = arena_text(a, (in.n + 2) / 3 * 4);
	size_t n = 0;

	for (size_t i = 0; i < in.n; i += 3) {
		uint32_t v = (uint32_t)(uint8_t)in.p[i] << 16;
		v |= i + 1 < in.n ? (uint32_t)(uint8_t)in.p[i + 1] << 8 : 0;
		v |= i + 2 < in.n ? (uint32_t)(uint8_t)in.p[i + 2] : 0;
		size_t digits = MIN(in.n - i, (size_t)3) + 1;
		for (size_t d = 0; d < digits; d++) {
			out[n++] = base64url[v >> (18 - 6 * d) & 63];
		}
	}
	assert(n <= (in.n + 2) / 3 * 4);
	return (struct str){out, n};
}

/* Decodes base64url. Returns the place of the error that Go's decoder reports; in.n: there is
 * none. */
static size_t base64url_decode(struct str in, struct arena *a, struct str *ret)
{
	char *out = arena_text(a, in.n);
	uint32_t v = 0;
	unsigned bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < in.n; i++) {
		const char *digit = in.p[i] ? memchr(base64url, in.p[i], 64) : NULL;
		if (!digit) {
			return i;
		}
		v = v << 6 | (uint32_t)(digit - base64url);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[n++] = (char)(v >> bits & 255);
		}
	}
	*ret = (struct str){out, n};
	return in.n % 4 == 1 ? in.n - 1 : in.n;
}

struct str continue_token_make(const struct continue_token *token, struct arena *a)
{
	struct json *o = json_object(a);
	struct buf text;

	/* Without either, continue_token_parse() would refuse our own token. */
	assert(token->revision != 0 && token->start.n > 0);

	json_add(a, o, STR("v"), json_string(a, STR(VERSION)));
	json_add(a, o, STR("rv"), json_int(a, token->revision));
	json_add(a, o, STR("start"), json_string(a, token->start));
	buf_init(&text, TOKEN_MAX);
	json_encode(&text, o);
	struct str made = base64url_encode(buf_str(&text), a);
	buf_done(&text);
	return made;
}

static int refuse(struct status *st, struct str why)
{
	static const struct str what = {"invalid continue token: continue key is not valid: ", 51};
	char *message = arena_text(st->arena, what.n + why.n); /* why may have NULs in it */

	memcpy(message, what.p, what.n);
	memcpy(message + what.n, why.p, why.n);
	status_bad_request(st, "%s", "");
	st->message = (struct str){message, what.n + why.n};
	return 1;
}

/* Reads a member as Go decodes it: an absent or null one leaves the old value. Returns false,
 * with the reason in *ret_error, when it has another type. */

static struct str mismatch(const struct json *value, const char *name, const char *type, struct arena *a)
{
	struct str number = value->kind == JSON_NUMBER && !strcmp(type, "int64") ? json_text(value) : STR("");

	return arena_printf(a, "json: cannot unmarshal %s%s" STR_FMT " into Go struct field continueToken.%s of type %s",
		json_kind_name(value->kind), number.n ? " " : "", STR_ARG(number), name, type);
}

static bool read_text(const struct json *token, const char *name, struct str *ret, struct arena *a, struct str *ret_error)
{
	const struct json *value = json_gets(token, name);

	if (!value || json_is(value, JSON_NULL)) {
		return true;
	}
	if (!json_is(value, JSON_STRING)) {
		*ret_error = mismatch(value, name, "string", a);
		return false;
	}
	*ret = json_text(value);
	return true;
}

static bool read_number(const struct json *token, const char *name, int64_t *ret, struct arena *a, struct str *ret_error)
{
	const struct json *value = json_gets(token, name);

	if (!value || json_is(value, JSON_NULL) || json_to_int64(value, ret)) {
		return true;
	}
	*ret_error = mismatch(value, name, "int64", a);
	return false;
}

static bool read_members(
	const struct json *token, struct str *ret_version, struct continue_token *ret, struct arena *a, struct str *ret_error)
{
	if (json_is(token, JSON_NULL)) {
		return true;
	}
	if (!json_is(token, JSON_OBJECT)) {
		*ret_error = arena_printf(a, "json: cannot unmarshal %s into Go value of type storage.continueToken",
			json_kind_name(token->kind));
		return false;
	}
	return read_text(token, "v", ret_version, a, ret_error) && read_number(token, "rv", &ret->revision, a, ret_error) &&
		read_text(token, "start", &ret->start, a, ret_error);
}

/* Returns true when Go's path.Clean would not change the path, so that it leads nowhere else. */
static bool is_clean(struct str path)
{
	struct str segment;
	bool more = path.n > 0;

	while (more) {
		more = str_cut(path, '/', &segment, &path);
		if (segment.n == 0 || str_is(segment, ".") || str_is(segment, "..")) {
			return false;
		}
	}
	return true;
}

/* Drops a leading slash: kube's tokens of some lists begin with "/", and clients may send them
 * here. */
static struct str without_slash(struct str start)
{
	return start.n > 0 && start.p[0] == '/' ? (struct str){start.p + 1, start.n - 1} : start;
}

int continue_token_parse(struct continue_token *ret, struct str text, struct arena *a, struct status *st)
{
	struct str decoded, version = STR(""), error;
	struct continue_token token = {0};
	struct json *j;
	size_t at = base64url_decode(text, a, &decoded);

	if (at < text.n) {
		return refuse(st, arena_printf(a, "illegal base64 data at input byte %zu", at));
	}
	int r = json_parse(&j, a, decoded, (struct json_limits){.depth = 4, .values = 32}, &at);
	if (r) {
		return refuse(st, str_of(json_error_text(a, r, decoded, at)));
	}
	if (!read_members(j, &version, &token, a, &error)) {
		return refuse(st, error);
	}
	if (!str_is(version, VERSION)) {
		return refuse(st, arena_printf(a, "server does not recognize this encoded version " STR_FMT, STR_ARG(version)));
	}
	if (token.revision == 0) {
		return refuse(st, STR("incorrect encoded start resourceVersion (version " VERSION ")"));
	}
	if (token.start.n == 0) {
		return refuse(st, STR("encoded start key empty (version " VERSION ")"));
	}
	if (!is_clean(without_slash(token.start))) {
		return refuse(st, token.start);
	}
	/* Upstream takes every negative revision for "continue with the newest". */
	*ret = (struct continue_token){token.revision < 0 ? -1 : token.revision, without_slash(token.start)};
	return 0;
}
