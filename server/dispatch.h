/* The life of an API request as the HTTP front end sees it (struct http_handler): a head is there, some of the body, all of it, the end. */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include "base/base.h"

struct http_exchange;
struct server;

void request_on_headers(void *server, struct http_exchange *x);
bool request_on_body(void *server, struct http_exchange *x, size_t n);
void request_on_request(void *server, struct http_exchange *x);
void request_on_answered(void *server, struct http_exchange *x);
void request_on_done(void *server, struct http_exchange *x);
void request_on_freed(void *server, size_t n);

#endif
