/* An exchange that is only what a test says: for modules that ask http.h about a request. Link nothing that pulls in
 * server/http/http_exchange.c. */
#ifndef TESTS_UNIT_FAKE_HTTP_H
#define TESTS_UNIT_FAKE_HTTP_H

#include "server/http/http.h"

struct http_exchange {
	struct http_peer peer;
	const struct http_header *headers;
	size_t n_headers;
	bool is_vouched;
};

void http_vouch(struct http_exchange *x)
{
	x->is_vouched = true;
}

const struct http_peer *http_peer(const struct http_exchange *x)
{
	return &x->peer;
}

size_t http_headers(const struct http_exchange *x, const struct http_header **ret)
{
	*ret = x->headers;
	return x->n_headers;
}

struct str http_header(const struct http_exchange *x, const char *name)
{
	for (size_t i = 0; i < x->n_headers; i++) {
		if (str_eq_nocase(x->headers[i].name, str_of(name))) {
			return x->headers[i].value;
		}
	}
	return STR("");
}

#endif
