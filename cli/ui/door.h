/* May this request come in? What browsers say of where it comes from, judged before anything else. Pure.
 *
 * Any page of any site can have a browser ask 127.0.0.1. Two things keep such requests out: what they are addressed to (Host: a name
 * of theirs that leads to 127.0.0.1 is not ours), and who makes them (Origin, Sec-Fetch-Site). */
#ifndef CLI_UI_DOOR_H
#define CLI_UI_DOOR_H

#include "server/http/http.h"

/* 0; or 421 or 403, with a sentence in *ret_why. */
unsigned door_check(const struct http_header *headers, size_t n, uint16_t port, const char **ret_why);

#endif
