/* The name of a state (docs/reference/digest.md): every replica and every release must compute the same
 * one, for ever. Any change of the canonical text would give all revisions that are stored
 * another digest, and duplicates for each. */
#include "api/model/digest.h"

#include "api/model/gotext.h"
#include "api/model/patch_tree.h"
#include "base/sha256.h"

#include <assert.h>

/* kube's alphabet for generated names: no vowels, no bad words. */
static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
enum { BASE = sizeof(alphabet) - 1 };

static bool is_void(const struct json *j)
{
	return j->kind == JSON_NULL || ((j->kind == JSON_OBJECT || j->kind == JSON_ARRAY) && j->n == 0);
}

static struct json *prune(struct arena *a, struct json *j);

static struct json *prune_object(struct arena *a, const struct json *j)
{
	struct json *copy = open_copy(a, j);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < copy->n; i++) {
		struct json *value = prune(a, copy->members[i].value);
		if (!is_void(value)) {
			copy->members[kept++] = (struct json_member){copy->members[i].name, value};
		}
	}
	copy->n = kept;
	return copy;
}

/* Elements count by their place, so even empty ones stay. */
static struct json *prune_array(struct arena *a, const struct json *j)
{
	struct json *copy = json_copy(a, j);
	for (uint32_t i = 0; i < copy->n; i++) {
		copy->items[i] = prune(a, copy->items[i]);
	}
	return copy;
}

static struct json *prune(struct arena *a, struct json *j)
{
	switch (j->kind) {
	case JSON_OBJECT:
		return prune_object(a, j);
	case JSON_ARRAY:
		return prune_array(a, j);
	default:
		return j;
	}
}

static void write_escape(struct buf *out, unsigned char c)
{
	static const char *const named[] = {
		['\b'] = "\\b",
		['\t'] = "\\t",
		['\n'] = "\\n",
		['\f'] = "\\f",
		['\r'] = "\\r",
		['"'] = "\\\"",
		['\\'] = "\\\\",
	};
	if (c < ARRAY_SIZE(named) && named[c]) {
		buf_adds(out, named[c]);
	} else if (c < 0x20) {
		buf_printf(out, "\\u%04x", c);
	} else {
		buf_addc(out, (char)c);
	}
}

static void write_string(struct buf *out, struct str s)
{
	buf_addc(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		write_escape(out, (unsigned char)s.p[i]);
	}
	buf_addc(out, '"');
}

static void write_value(struct buf *out, const struct json *j);

static void write_object(struct buf *out, const struct json *j)
{
	buf_addc(out, '{');
	for (uint32_t i = 0; i < j->n; i++) {
		if (i) {
			buf_addc(out, ',');
		}
		write_string(out, j->members[i].name);
		buf_addc(out, ':');
		write_value(out, j->members[i].value);
	}
	buf_addc(out, '}');
}

static void write_array(struct buf *out, const struct json *j)
{
	buf_addc(out, '[');
	for (uint32_t i = 0; i < j->n; i++) {
		if (i) {
			buf_addc(out, ',');
		}
		write_value(out, j->items[i]);
	}
	buf_addc(out, ']');
}

static void write_value(struct buf *out, const struct json *j)
{
	switch (j->kind) {
	case JSON_NULL:
		buf_adds(out, "null");
		break;
	case JSON_BOOL:
		buf_adds(out, j->boolean ? "true" : "false");
		break;
	case JSON_NUMBER:
		digest_number(out, json_text(j));
		break;
	case JSON_STRING:
		write_string(out, json_text(j));
		break;
	case JSON_ARRAY:
		write_array(out, j);
		break;
	case JSON_OBJECT:
		write_object(out, j);
		break;
	}
}

bool digest_canonical(struct buf *out, const struct json *value, struct arena *a)
{
	write_value(out, prune(a, (struct json *)value));
	return !out->is_over;
}

/* Divides a number of eight 32-bit digits, most significant first, by the base, and returns the remainder. */
static uint32_t divide(uint32_t number[8])
{
	uint64_t remainder = 0;
	for (size_t i = 0; i < 8; i++) {
		uint64_t digit = remainder << 32 | number[i];
		number[i] = (uint32_t)(digit / BASE);
		remainder = digit % BASE;
	}
	return (uint32_t)remainder;
}

static void spell(char out[DIGEST_SIZE], const unsigned char hash[SHA256_SIZE])
{
	uint32_t number[8];
	for (size_t i = 0; i < 8; i++) {
		const unsigned char *p = hash + 4 * i;
		number[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	}
	for (size_t i = DIGEST_SIZE - 1; i > 0; i--) {
		out[i - 1] = alphabet[divide(number)];
	}
	out[DIGEST_SIZE - 1] = '\0';
}

void digest_attempt(char out[DIGEST_SIZE], const struct json *value, unsigned number, struct arena *a)
{
	struct buf text;
	unsigned char hash[SHA256_SIZE];
	buf_init(&text, TEXT_MAX);
	bool is_whole = digest_canonical(&text, value, a);
	is_whole = is_whole && (number == 0 || buf_printf(&text, "%u", number));
	assert(is_whole); /* at most five times a request's body */
	sha256(buf_str(&text), hash);
	buf_done(&text);
	spell(out, hash);
}

void digest_of(char out[DIGEST_SIZE], const struct json *value, struct arena *a)
{
	digest_attempt(out, value, 0, a);
}
