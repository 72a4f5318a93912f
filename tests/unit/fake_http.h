/* An exchange that is only what a test says: for modules that ask http.h about a request. Link nothing that pulls in
 * server/http/http_exchange.c. */
#ifndef TESTS_UNIT_FAKE_HTTP_H
#define TESTS_UNIT_FAKE_HTTP_H

#include "server/http/http.h"

struct http_exchange {
	struct http_request request;
	bool is_vouched;
};

void http_vouch(struct http_exchange *x)
{
	x->is_vouched = true;
}

struct str http_header(const struct http_exchange *x, const char *name)
{
	for (size_t i = 0; i < x->request.head.n_fields; i++) {
		if (str_eq_nocase(x->request.head.fields[i].name, str_of(name))) {
			return x->request.head.fields[i].value;
		}
	}
	return STR("");
}

#endif
