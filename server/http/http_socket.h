/* Sockets of the HTTP front end. */
#ifndef SERVER_HTTP_HTTP_SOCKET_H
#define SERVER_HTTP_HTTP_SOCKET_H

#include "base/buf.h"
#include <arpa/inet.h>
#include <sys/socket.h>

enum { SOCKET_ADDRESS_SIZE = INET6_ADDRSTRLEN + sizeof("[]:65535") };

/* Listens on a numeric IPv4 or IPv6 address ("::" takes IPv4 too), port 0 for any, without blocking. 0, or -errno with a sentence in err. */
int socket_listen(int *ret_fd, uint16_t *ret_port, const char *host, uint16_t port, struct buf *err);
/* "127.0.0.1:40000", "[::1]:40000". */
void socket_format_address(char out[SOCKET_ADDRESS_SIZE], const struct sockaddr *a);

#endif
