/* Addresses are parsed leniently and then judged, as upstream does, so that each mistake has its
 * own sentence: Kubernetes once took octets with leading zeros, which libraries read as octal. */
#include "api/rules/address.h"

#include <arpa/inet.h>
#include <stdio.h>

#define TEXT_MAX_LEN 64 /* longer than any address */

static const char bad_address[] = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
static const char bad_block[] = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

static bool is_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9') {
			return false;
		}
	}
	return s.n > 0;
}

static bool parse_v4(struct str text, struct address *ret)
{
	struct str part, rest = text;
	for (size_t i = 0; i < 4; i++) {
		int64_t n;
		bool has_more = str_cut(rest, '.', &part, &rest);
		if (has_more != (i < 3) || !is_digits(part) || part.n > TEXT_MAX_LEN) {
			return false;
		}
		ret->is_padded |= part.n > 1 && part.p[0] == '0';
		while (part.n > 1 && part.p[0] == '0') {
			part = (struct str){part.p + 1, part.n - 1};
		}
		if (!str_to_int64(part, &n) || n > UINT8_MAX) {
			return false;
		}
		ret->bytes[i] = (uint8_t)n;
	}
	return true;
}

static bool parse_v6(struct str text, struct address *ret)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char plain[TEXT_MAX_LEN];
	if (text.n >= sizeof(plain)) {
		return false;
	}
	snprintf(plain, sizeof(plain), STR_FMT, STR_ARG(text));
	if (inet_pton(AF_INET6, plain, ret->bytes) != 1) {
		return false;
	}
	ret->is_mapped = memcmp(ret->bytes, mapped, sizeof(mapped)) == 0;
	ret->is_v6 = !ret->is_mapped;
	if (ret->is_mapped) {
		memmove(ret->bytes, ret->bytes + sizeof(mapped), 4);
	}
	return true;
}

bool address_parse(struct str text, struct address *ret)
{
	*ret = (struct address){0};
	return str_contains(text, STR(":")) ? parse_v6(text, ret) : parse_v4(text, ret);
}

void check_address(struct field_errors *e, const struct where *at, struct str text)
{
	struct address address;
	if (!address_parse(text, &address)) {
		refuse_text(e, at, text, bad_address);
	} else if (address.is_padded) {
		refuse_text(e, at, text, "must not have leading 0s");
	} else if (address.is_mapped) {
		refuse_text(e, at, text, "must not be an IPv4-mapped IPv6 address");
	}
}

static bool has_bits_behind(const struct address *address, int64_t n_bits)
{
	size_t n_bytes = address->is_v6 ? 16 : 4;
	for (size_t i = 0; i < n_bytes; i++) {
		int64_t kept = n_bits - (int64_t)i * 8;
		unsigned mask = kept >= 8 ? 0 : kept <= 0 ? 0xffU : 0xffU >> kept;
		if (address->bytes[i] & mask) {
			return true;
		}
	}
	return false;
}

void check_block(struct field_errors *e, const struct where *at, struct str text)
{
	struct address address;
	struct str own, length;
	int64_t n_bits;
	bool has_length = str_cut(text, '/', &own, &length);
	bool is_padded = has_length && length.n > 1 && length.p[0] == '0';
	if (!has_length || !is_digits(length) || !str_to_int64(length, &n_bits) || !address_parse(own, &address) ||
		n_bits > (str_contains(own, STR(":")) ? 128 : 32)) {
		refuse_text(e, at, text, bad_block);
	} else if (address.is_padded || is_padded) {
		refuse_text(e, at, text, "must not have leading 0s in IP or prefix length");
	} else if (address.is_mapped) {
		refuse_text(e, at, text, "must not have an IPv4-mapped IPv6 address");
	} else if (has_bits_behind(&address, n_bits)) {
		refuse_text(e, at, text, "must not have bits set beyond the prefix length");
	}
}

bool block_is_v6(struct str text)
{
	struct str own, length;
	struct address address;
	return str_cut(text, '/', &own, &length) && address_parse(own, &address) && address.is_v6;
}

static bool is_zero(const struct address *address)
{
	static const uint8_t zero[16];
	return memcmp(address->bytes, zero, address->is_v6 ? 16 : 4) == 0;
}

static bool is_loopback(const struct address *address)
{
	static const uint8_t loopback[16] = {[15] = 1};
	return address->is_v6 ? memcmp(address->bytes, loopback, 16) == 0 : address->bytes[0] == 127;
}

void check_destination(struct field_errors *e, const struct where *at, struct str text)
{
	struct address address;
	address_parse(text, &address);
	const uint8_t *b = address.bytes;
	if (is_zero(&address)) {
		field_invalid_str(e, where_path(at, e->arena), text, "may not be unspecified (" STR_FMT ")", STR_ARG(text));
	}
	if (is_loopback(&address)) {
		refuse_text(e, at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
	}
	if (address.is_v6 ? b[0] == 0xfe && (b[1] & 0xc0) == 0x80 : b[0] == 169 && b[1] == 254) {
		refuse_text(e, at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
	}
	if (address.is_v6 ? b[0] == 0xff && (b[1] & 0x0f) == 2 : b[0] == 224 && b[1] == 0 && b[2] == 0) {
		refuse_text(e, at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
	}
}
