/* github.com/distribution/reference by hand: only the default of imagePullPolicy depends on it.
 * A name that cannot be parsed is not refused here, just never "latest", as upstream's
 * defaulting has it. */
#include "api/pod/image.h"

/* The library's limits. 64 hexadecimal digits are an identifier, which it takes for no name. */
enum { NAME_MAX_LENGTH = 255, TAG_MAX_LENGTH = 128, ID_LENGTH = 64 };

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

static bool are_all(struct str s, bool (*good)(char))
{
	for (size_t i = 0; i < s.n; i++) {
		if (!good(s.p[i])) {
			return false;
		}
	}
	return s.n > 0;
}

/* Letters and digits, with one '.', one or two '_', or any number of '-' between them. */
static bool is_path_component(struct str s)
{
	for (size_t i = 0, n_between = 0; i < s.n; i++) {
		char c = s.p[i];
		if (is_lower(c) || is_digit(c)) {
			n_between = 0;
			continue;
		}
		bool is_first = i == 0 || n_between == 0, is_same = !is_first && s.p[i - 1] == c;
		n_between++;
		bool is_allowed =
			is_first ? c == '.' || c == '_' || c == '-' : is_same && (c == '-' || (c == '_' && n_between == 2));
		if (i == 0 || i + 1 == s.n || !is_allowed) {
			return false;
		}
	}
	return s.n > 0;
}

static bool is_path(struct str s)
{
	struct str component;
	bool more;
	do {
		more = str_cut(s, '/', &component, &s);
		if (!is_path_component(component)) {
			return false;
		}
	} while (more);
	return true;
}

static bool is_domain_component(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		bool is_inner = i > 0 && i + 1 < s.n;
		if (!is_letter(s.p[i]) && !is_digit(s.p[i]) && !(is_inner && s.p[i] == '-')) {
			return false;
		}
	}
	return s.n > 0;
}

static bool is_address_character(char c)
{
	return is_hex(c) || (c >= 'A' && c <= 'F') || c == ':';
}

static bool is_host(struct str s)
{
	struct str component;
	bool more;
	if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']') {
		return are_all((struct str){s.p + 1, s.n - 2}, is_address_character);
	}
	do {
		more = str_cut(s, '.', &component, &s);
		if (!is_domain_component(component)) {
			return false;
		}
	} while (more);
	return true;
}

static size_t find_last(struct str s, char c)
{
	size_t i = s.n;
	while (i > 0 && s.p[i - 1] != c) {
		i--;
	}
	return i; /* behind it; 0: not there */
}

static bool is_domain(struct str s)
{
	size_t port = find_last(s, ':');
	bool has_port = port && s.p[s.n - 1] != ']';
	if (has_port && !are_all((struct str){s.p + port, s.n - port}, is_digit)) {
		return false;
	}
	return is_host(has_port ? (struct str){s.p, port - 1} : s);
}

/* Is what stands before the first slash a domain rather than the beginning of the path? */
static bool looks_like_domain(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' || s.p[i] == ':' || (s.p[i] >= 'A' && s.p[i] <= 'Z')) {
			return true;
		}
	}
	return str_is(s, "localhost");
}

static bool is_tag_character(char c)
{
	return is_word(c) || c == '.' || c == '-';
}

static bool is_tag(struct str s)
{
	return s.n && s.n <= TAG_MAX_LENGTH && is_word(s.p[0]) && are_all(s, is_tag_character);
}

static bool is_digest(struct str s)
{
	static const struct {
		const char *algorithm;
		size_t n;
	} known[] = {{"sha256", 64}, {"sha384", 96}, {"sha512", 128}};
	struct str algorithm, hex;
	str_cut(s, ':', &algorithm, &hex);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (str_is(algorithm, known[i].algorithm)) {
			return hex.n == known[i].n && are_all(hex, is_hex);
		}
	}
	return false;
}

static bool is_name(struct str s)
{
	struct str domain, path;
	if (!str_cut(s, '/', &domain, &path) || !looks_like_domain(domain)) {
		static const char implied[] = "docker.io/library/";
		return is_path(s) && s.n + sizeof(implied) - 1 <= NAME_MAX_LENGTH;
	}
	return is_domain(domain) && is_path(path) && s.n <= NAME_MAX_LENGTH;
}

bool image_is_latest(struct str image)
{
	struct str name, digest, tag = {0};
	bool has_digest = str_cut(image, '@', &name, &digest);
	size_t colon = find_last(name, ':');
	bool has_tag = colon && !memchr(name.p + colon, '/', name.n - colon);
	if (has_tag) {
		tag = (struct str){name.p + colon, name.n - colon};
		name.n = colon - 1;
	}
	bool is_id = name.n == ID_LENGTH && !has_tag && !has_digest && are_all(name, is_hex);
	if (is_id || !is_name(name) || (has_tag && !is_tag(tag)) || (has_digest && !is_digest(digest))) {
		return false;
	}
	return has_tag ? str_is(tag, "latest") : !has_digest;
}
