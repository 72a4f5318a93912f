/* Sources are compared as text, so one network must have one spelling: inet_ntop() writes it anew.
 * A link-local address comes with the name of an interface behind it, which inet_pton() does not
 * take. */
#include "server/http/client_source.h"

#include <arpa/inet.h>

/* Without the port, without brackets, and without the interface of a link-local address. */
static struct str host_of(struct str peer)
{
	struct str host = peer, rest;

	while (host.n > 0 && host.p[host.n - 1] != ':') {
		host.n--;
	}
	host.n -= host.n > 0;
	if (host.n >= 2 && host.p[0] == '[') {
		host = (struct str){host.p + 1, host.n - 2};
	}
	str_cut(host, '%', &host, &rest);
	return host;
}

struct str source_of(struct str peer, struct arena *a)
{
	struct str host = host_of(peer);
	struct in6_addr six;
	char text[INET6_ADDRSTRLEN];

	if (inet_pton(AF_INET6, arena_dup(a, host).p, &six) != 1) {
		return host;
	}
	memset(&six.s6_addr[8], 0, 8);
	return str_of(arena_strdup(a, inet_ntop(AF_INET6, &six, text, sizeof(text))));
}
