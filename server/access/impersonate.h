/* Acting as somebody else: Impersonate-User, -Group, -Uid and -Extra-* as k8s.io/apiserver's impersonation filter has them. */
#ifndef SERVER_ACCESS_IMPERSONATE_H
#define SERVER_ACCESS_IMPERSONATE_H

#include "server/access/authz.h"

/* Replaces *user by the requested one if the caller may impersonate it. what: the request
 * itself, for the sentence of a refusal. Returns 0; 1 with 400 or 403 in st; or ASK_FIRST.
 * Without such headers: 0. */
int impersonate(struct authz *authz, struct questions *questions, const struct http_exchange *x,
	const struct authz_attributes *what, struct user **user, struct arena *a, struct status *st);

#endif
