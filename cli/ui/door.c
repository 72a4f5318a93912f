/* Names are compared as browsers write them, letter by letter: there is one right spelling of each,
 * and whoever writes another one has no browser that our link led here. */
#include "cli/ui/door.h"

#include <stdio.h>

enum { NAME_SIZE = 64 };

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

unsigned door_check(const struct http_header *headers, size_t n, uint16_t port, const char **ret_why)
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
