/* A ClientHello (RFC 8446, 4.1.2) lies in one record or in several, and these come in one segment or in several: with keys against
 * quantum computers it is longer than most segments. So first the message is put together, then it is walked through; every length is
 * checked against what encloses it. */
#include "server/http/h2_hello.h"

enum {
	RECORD_HEAD = 5,
	RECORD_HANDSHAKE = 22,
	RECORD_MAX = 16384,
	MESSAGE_HEAD = 4,
	MESSAGE_CLIENT_HELLO = 1,
	VERSION_AND_RANDOM = 2 + 32,
	EXTENSION_ALPN = 16,
};

/* Big-endian. */
static size_t number_at(const char *p, size_t n)
{
	size_t number = 0;
	for (size_t i = 0; i < n; i++) {
		number = number << 8 | (unsigned char)p[i];
	}
	return number;
}

/* The next n bytes of *text, which moves; false: there are fewer. */
static bool take(struct str *text, size_t n, struct str *ret)
{
	if (text->n < n) {
		return false;
	}
	*ret = (struct str){text->p, n};
	text->p += n;
	text->n -= n;
	return true;
}

/* What follows its own length of `width` bytes. */
static bool take_vector(struct str *text, size_t width, struct str *ret)
{
	struct str length;
	return take(text, width, &length) && take(text, number_at(length.p, width), ret);
}

static bool offers_h2(struct str alpn)
{
	struct str names;
	struct str name;
	if (!take_vector(&alpn, 2, &names)) {
		return false;
	}
	while (take_vector(&names, 1, &name)) {
		if (str_is(name, "h2")) {
			return true;
		}
	}
	return false;
}

static enum h2_hello judge_extensions(struct str extensions)
{
	struct str type;
	struct str data;
	while (take(&extensions, 2, &type) && take_vector(&extensions, 2, &data)) {
		if (number_at(type.p, 2) == EXTENSION_ALPN) {
			return offers_h2(data) ? H2_HELLO_OFFER : H2_HELLO_OTHER;
		}
	}
	return H2_HELLO_OTHER;
}

static enum h2_hello judge_message(struct str body)
{
	struct str part;
	struct str extensions;
	bool is_sound = take(&body, VERSION_AND_RANDOM, &part) && take_vector(&body, 1, &part) && /* session */
		take_vector(&body, 2, &part) && take_vector(&body, 1, &part) &&                   /* ciphers, compression */
		take_vector(&body, 2, &extensions);
	return is_sound ? judge_extensions(extensions) : H2_HELLO_OTHER;
}

static enum h2_hello want(size_t n, size_t *ret_wanted)
{
	*ret_wanted = n;
	return n <= H2_HELLO_MAX ? H2_HELLO_MORE : H2_HELLO_OTHER;
}

/* Of the message, as far as it is there in `message`. */
static bool is_whole(struct str message, size_t *ret_size)
{
	*ret_size = message.n < MESSAGE_HEAD ? SIZE_MAX : MESSAGE_HEAD + number_at(message.p + 1, 3);
	return message.n >= *ret_size;
}

enum h2_hello h2_hello_judge(struct str bytes, size_t *ret_wanted)
{
	char message[H2_HELLO_MAX];
	size_t n = 0;
	size_t at = 0;
	if (bytes.n > H2_HELLO_MAX) {
		bytes.n = H2_HELLO_MAX;
	}
	for (;;) {
		const char *record = bytes.p + at;
		if (bytes.n > at && record[0] != RECORD_HANDSHAKE) {
			return H2_HELLO_OTHER;
		}
		if (bytes.n - at < RECORD_HEAD) {
			return want(at + RECORD_HEAD, ret_wanted);
		}
		size_t length = number_at(record + 3, 2);
		if (record[1] != 3 || length == 0 || length > RECORD_MAX) {
			return H2_HELLO_OTHER;
		}
		if (bytes.n - at - RECORD_HEAD < length) {
			return want(at + RECORD_HEAD + length, ret_wanted);
		}
		memcpy(message + n, record + RECORD_HEAD, length);
		n += length;
		at += RECORD_HEAD + length;

		size_t size;
		if (message[0] != MESSAGE_CLIENT_HELLO) {
			return H2_HELLO_OTHER;
		}
		if (is_whole((struct str){message, n}, &size)) {
			return judge_message((struct str){message + MESSAGE_HEAD, size - MESSAGE_HEAD});
		}
	}
}
