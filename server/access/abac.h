/* An ABAC policy file (--authorization-policy-file): one abac.authorization.kubernetes.io/v1beta1 Policy a line, as JSON;
 * empty lines and lines that begin with # do not count. Each line allows something; nothing forbids. Immutable. */
#ifndef SERVER_ACCESS_ABAC_H
#define SERVER_ACCESS_ABAC_H

#include "server/access/authz.h"

struct abac;

/* Parses a policy. Returns 0, or -EINVAL with a sentence in err that names the line. Unknown
 * members are refused: otherwise a policy would promise what is not enforced. */
int abac_parse(struct abac **ret, struct str text, struct buf *err);
struct abac *abac_free(struct abac *abac);
DEFINE_CLEANUP(struct abac *, abac_free)
bool abac_allows(const struct abac *abac, const struct authz_attributes *attributes);
/* Adds the rules that apply to the user in that namespace; texts are copied. */
void abac_rules(const struct abac *abac, const struct user *user, struct str ns, struct authz_rules *rules);

#endif
