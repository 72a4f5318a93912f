/* What annals has to be allowed in the cluster that it serves: a table, and judgements of `annals doctor`. */
#ifndef CLI_DOCTOR_DOCTOR_ACCESS_H
#define CLI_DOCTOR_DOCTOR_ACCESS_H

#include "cli/doctor/doctor_cluster.h"

/* Which binding gives a permission. */
enum doctor_grant { GRANT_DELEGATOR, GRANT_READER, GRANT_SERVER, GRANT_POLICIES, N_GRANTS };

struct doctor_need {
	enum doctor_grant grant;
	const char *verb, *group, *resource, *ns, *name;
};
extern const struct doctor_need doctor_needs[];
extern const size_t doctor_n_needs;

/* is_allowed: by need. */
void judge_access(struct report *r, const struct deployment *d, const bool *is_allowed);

#endif
