/* Continue tokens, as kube spells them: base64url of {"v":"meta.k8s.io/v1","rv":N,"start":"NAME\u0000"}; across namespaces the start is
 * "NAMESPACE/NAME\u0000". A token says nothing of its list: it carries on in any other namespace or resource. */
#ifndef SERVER_PARSE_CONTINUE_H
#define SERVER_PARSE_CONTINUE_H

#include "api/model/status.h"

struct continue_token {
	int64_t revision; /* -1: carry on inconsistently with what is newest */
	struct str start; /* the least key that is wanted, within what is listed; with a NUL at its end, what comes behind it */
};
struct str continue_token_make(const struct continue_token *token, struct arena *a);
/* 0; or 1 with a 400 in st. */
int continue_token_parse(struct continue_token *ret, struct str text, struct arena *a, struct status *st);

#endif
