/* The audit policy: which requests are audited, and how much of each is written. It is a Policy
 * of audit.k8s.io/v1, YAML or JSON. The first rule that matches decides; a request that no rule
 * matches is not audited. Pure: read once, never changed. */
#ifndef SERVER_AUDIT_AUDIT_POLICY_H
#define SERVER_AUDIT_AUDIT_POLICY_H

#include "base/buf.h"
#include "server/access/authz.h"

enum audit_level { AUDIT_NONE, AUDIT_METADATA, AUDIT_REQUEST, AUDIT_REQUEST_RESPONSE, AUDIT_LEVELS };
enum audit_stage { AUDIT_REQUEST_RECEIVED, AUDIT_RESPONSE_STARTED, AUDIT_RESPONSE_COMPLETE, AUDIT_PANIC, AUDIT_STAGES };

extern const char *const audit_level_names[AUDIT_LEVELS];
extern const char *const audit_stage_names[AUDIT_STAGES];

struct audit_decision {
	enum audit_level level;
	unsigned omitted_stages; /* a bit for each audit_stage */
	bool omits_managed_fields;
};

struct audit_policy;

/* 0; or -EINVAL with everything that is wrong in err, by field path. */
int audit_policy_parse(struct audit_policy **ret, struct str text, struct buf *err);
struct audit_policy *audit_policy_free(struct audit_policy *p);
/* what->user may be NULL: nobody was recognized. */
struct audit_decision audit_policy_decide(const struct audit_policy *p, const struct authz_attributes *what);

#endif
