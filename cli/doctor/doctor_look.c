/* One way to ask for all checks, so that all judge refusals alike. A 404 is an answer. A 401 or
 * 403 tells of the caller's rights and not of the deployment, so the check counts as skipped and
 * not as failed. */
#include "cli/doctor/doctor_cluster.h"

#include "api/model/kind.h"

enum { TIMEOUT_MS = 10 * 1000 };

static void say_refusal(const struct doctor_visit *v, struct str subject, const struct answer *a)
{
	if (a->code == 403 || a->code == 401) {
		report_add(v->r, SEVERITY_SKIPPED, subject, NO_MEND, "you may not look: " STR_FMT, STR_ARG(a->message));
	} else {
		report_add(v->r, SEVERITY_ERROR, subject, NO_MEND, "kube-apiserver answers %d: " STR_FMT, a->code,
			STR_ARG(a->message));
	}
}

enum doctor_sight doctor_look(const struct doctor_visit *v, struct str subject, const char *path, struct answer *ret)
{
	int r = rest_do(v->client,
		&(struct rest_call){.method = "GET", .path = path, .timeout_ms = TIMEOUT_MS, .is_single = true}, ret);
	if (r == 0) {
		return SIGHT_SEEN;
	}
	if (r == REST_STATUS && ret->code == 404) {
		return SIGHT_ABSENT;
	}
	say_refusal(v, subject, ret);
	return SIGHT_NONE;
}

/* Kinds name their doors in order of preference. */
const char *doctor_version(size_t n)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		size_t rank = 0;
		for (size_t k_door = 0; k_door < k->n_doors; k_door++) {
			if (strcmp(k->doors[k_door].group, "annals.dev") == 0 && rank++ == n) {
				return k->doors[k_door].version;
			}
		}
	}
	return NULL;
}
