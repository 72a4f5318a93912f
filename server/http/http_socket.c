/* Options are set on the listening socket, and accepted ones inherit them: no system call for each
 * client. A client that vanishes is noticed after 90 s either way, by keep-alive while nothing is
 * sent (30 s and four times 15 s), by TCP_USER_TIMEOUT while something is. */
#include "server/http/http_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

/* Newcomers wait there while strangers have their time of grace (http_keeper.h). */
enum { BACKLOG = 4096 };

static int fail_listen(const char *host, uint16_t port, const char *why, int error, struct buf *err)
{
	buf_printf(err, "cannot listen on %s port %u: %s", host, port, why);
	return -error;
}

static int resolve(const char *host, uint16_t port, struct sockaddr_storage *ret, socklen_t *ret_size, struct buf *err)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	int r = getaddrinfo(host, service, &hints, &found);
	if (r != 0) {
		return fail_listen(host, port, gai_strerror(r), EINVAL, err);
	}
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_size = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* Accepted sockets inherit these. Keep-alive notices clients that vanish without a word; the time-out, those who do not acknowledge. */
static void set_socket_options(int fd)
{
	static const struct {
		int level, name, value;
	} rows[] = {
		{SOL_SOCKET, SO_REUSEADDR, 1},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 30},
		{IPPROTO_TCP, TCP_KEEPINTVL, 15},
		{IPPROTO_TCP, TCP_KEEPCNT, 4},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, 90000},
		{IPPROTO_IPV6, IPV6_V6ONLY, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value, sizeof(rows[i].value));
	}
}

int socket_listen(int *ret_fd, uint16_t *ret_port, const char *host, uint16_t port, struct buf *err)
{
	struct sockaddr_storage address;
	struct sockaddr *a = (struct sockaddr *)&address;
	socklen_t size;
	int r = resolve(host, port, &address, &size, err);
	if (r < 0) {
		return r;
	}
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return fail_listen(host, port, strerror(errno), errno, err);
	}
	set_socket_options(fd);
	size = sizeof(address);
	if (bind(fd, a, size) < 0 || listen(fd, BACKLOG) < 0 || getsockname(fd, a, &size) < 0) {
		r = fail_listen(host, port, strerror(errno), errno, err);
		close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret_port = ntohs(((struct sockaddr_in *)(void *)a)->sin_port); /* at the same place in sockaddr_in6 */
	return 0;
}

static void format_ipv4(char out[SOCKET_ADDRESS_SIZE], const struct in_addr *host, in_port_t port)
{
	char text[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, host, text, sizeof(text));
	snprintf(out, SOCKET_ADDRESS_SIZE, "%s:%u", text, ntohs(port));
}

/* An IPv4 client of a socket that serves both comes as ::ffff:a.b.c.d. */
static void format_ipv6(char out[SOCKET_ADDRESS_SIZE], const struct sockaddr_in6 *a)
{
	if (IN6_IS_ADDR_V4MAPPED(&a->sin6_addr)) {
		struct in_addr host;
		memcpy(&host, &a->sin6_addr.s6_addr[12], sizeof(host));
		format_ipv4(out, &host, a->sin6_port);
		return;
	}
	char text[INET6_ADDRSTRLEN];
	inet_ntop(AF_INET6, &a->sin6_addr, text, sizeof(text));
	snprintf(out, SOCKET_ADDRESS_SIZE, "[%s]:%u", text, ntohs(a->sin6_port));
}

void socket_format_address(char out[SOCKET_ADDRESS_SIZE], const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6) {
		format_ipv6(out, (const struct sockaddr_in6 *)(const void *)a);
	} else {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)a;
		format_ipv4(out, &in->sin_addr, in->sin_port);
	}
}
