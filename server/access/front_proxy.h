/* Users for whom a front proxy speaks, in headers: X-Remote-User and its like (k8s.io/apiserver
 * pkg/authentication/request/headerrequest). Pure; whoever asks has made sure that it is a front proxy. */
#ifndef SERVER_ACCESS_FRONT_PROXY_H
#define SERVER_ACCESS_FRONT_PROXY_H

#include "api/model/delegates.h"
#include "base/arena.h"
#include "server/http/http.h"

/* May a certificate of this common name, signed by the CA of front proxies, speak for others? */
bool front_proxy_may_have(const struct trust *t, struct str common_name);
/* False: the headers name nobody. Else groups and extra values are as the headers have them; text is that of the headers, but for keys, which
 * are in the arena. */
bool front_proxy_read(
	const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret);

#endif
