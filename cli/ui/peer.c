/* The table lists both ends of such a connection. The end that is wanted has the peer's address as
 * its own, and our port as the remote one. Root is let in, since it may read our memory anyway; and
 * forwarders of ports run as root on some systems. */
#include "cli/ui/peer.h"

#include "base/buf.h"
#include "base/file.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	TABLE_MAX = 64 << 20, /* some 400,000 sockets */
	HOST_DIGITS = 32,
};

/* As the table writes an address: its words as numbers of this machine, in hexadecimal. An IPv4 address may be that of an IPv6 socket,
 * and then stands in the other table: is_mapped. */
static bool write_host(struct str host, bool is_mapped, char ret[HOST_DIGITS + 1])
{
	char text[INET6_ADDRSTRLEN];
	uint32_t words[4] = {0, 0, htonl(0xffff), 0};
	bool is_ipv6 = str_starts(host, STR("["));
	host = is_ipv6 ? (struct str){host.p + 1, host.n - 2} : host;
	if (host.n >= sizeof(text)) {
		return false;
	}
	snprintf(text, sizeof(text), STR_FMT, STR_ARG(host));
	if (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, text, is_ipv6 ? words : &words[3]) != 1) {
		return false;
	}
	size_t first = is_ipv6 || is_mapped ? 0 : 3;
	for (size_t i = first; i < ARRAY_SIZE(words); i++) {
		snprintf(ret + 8 * (i - first), 9, "%08X", words[i]);
	}
	return true;
}

/* "127.0.0.1:40000": at its last colon. */
static bool split_address(struct str address, struct str *ret_host, uint16_t *ret_port)
{
	const char *colon = address.n ? memrchr(address.p, ':', address.n) : NULL;
	int64_t port;
	if (!colon || !str_to_int64((struct str){colon + 1, address.n - (size_t)(colon + 1 - address.p)}, &port)) {
		return false;
	}
	*ret_host = (struct str){address.p, (size_t)(colon - address.p)};
	*ret_port = (uint16_t)port;
	return ret_host->n > 0;
}

/* sl local_address rem_address st tx:rx tr:when retrnsmt uid ... */
static bool read_line(struct str line, const char *host, uint16_t peer_port, uint16_t port, uid_t *ret)
{
	char text[256], local[HOST_DIGITS + 1];
	unsigned local_port, remote_port, uid;
	snprintf(text, sizeof(text), STR_FMT, STR_ARG(line));
	if (sscanf(text, " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %u", local, &local_port, &remote_port,
		    &uid) != 4 ||
		local_port != peer_port || remote_port != port || strcmp(local, host) != 0) {
		return false;
	}
	*ret = uid;
	return true;
}

static bool find(struct str table, const char *host, uint16_t peer_port, uint16_t port, uid_t *ret)
{
	struct str line;
	while (table.n > 0) {
		str_cut(table, '\n', &line, &table);
		if (read_line(line, host, peer_port, port, ret)) {
			return true;
		}
	}
	return false;
}

bool peer_find(struct str table, struct str address, uint16_t port, uid_t *ret)
{
	struct str host;
	uint16_t peer_port;
	char text[HOST_DIGITS + 1];
	if (!split_address(address, &host, &peer_port)) {
		return false;
	}
	return (write_host(host, false, text) && find(table, text, peer_port, port, ret)) ||
		(write_host(host, true, text) && find(table, text, peer_port, port, ret));
}

static bool is_let_in(uid_t uid)
{
	int64_t caller;
	const char *sudo = getenv("SUDO_UID");
	return uid == geteuid() || uid == 0 ||
		(geteuid() == 0 && sudo && str_to_int64(str_of(sudo), &caller) && caller >= 0 && uid == (uid_t)caller);
}

bool peer_may_come(struct str address, uint16_t port)
{
	static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};
	uid_t uid;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(buf_done) struct buf table;
		buf_init(&table, TABLE_MAX);
		if (file_read_path(paths[i], &table) == 0 && peer_find(buf_str(&table), address, port, &uid)) {
			return is_let_in(uid);
		}
	}
	return true;
}
