/* libmicrohttpd sets TCP_CORK or TCP_NODELAY around each piece that it sends: two system calls for an answer that change nothing. What
 * belongs together goes out in one call here anyway (http_wire.h), and a listener's sockets have TCP_NODELAY from birth.
 *
 * It calls setsockopt() by name, so a name of ours can stand in for the C library's. There libmicrohttpd is told that a client's socket
 * has no such options, as one of another family would say: it asks once and never again. Where the dynamic linker does not find the
 * program's own symbols first, all is as it was, and slower. */
#ifndef SERVER_HTTP_HTTP_SOCKET_OPTIONS_H
#define SERVER_HTTP_HTTP_SOCKET_OPTIONS_H

#include <stdint.h>

void socket_options_hide(int fd);
void socket_options_show(int fd);        /* before fd is closed: the next to have this number may need them */
uint64_t socket_options_n_refused(void); /* how often somebody was told that there are none; for tests */

#endif
