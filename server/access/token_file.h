/* The users of a static token file (--token-auth-file): CSV as Go's encoding/csv reads it, one user a record,
 *
 *   token,user name,user uid,"group1,group2"
 *
 * the groups optional. Records with an empty token are skipped; of several with one token the last counts (kube-apiserver).
 * Immutable. */
#ifndef SERVER_ACCESS_TOKEN_FILE_H
#define SERVER_ACCESS_TOKEN_FILE_H

#include "base/buf.h"

struct tokens;

struct token_user {
	struct str name, uid;
	const struct str *groups;
	size_t n_groups;
};

/* 0, or -EINVAL with a sentence in err. */
int tokens_parse(struct tokens **ret, struct str csv, struct buf *err);
struct tokens *tokens_free(struct tokens *t);
DEFINE_CLEANUP(struct tokens *, tokens_free)
/* NULL: nobody's. How long it takes says nothing about the tokens. */
const struct token_user *tokens_find(const struct tokens *t, struct str token);

#endif
