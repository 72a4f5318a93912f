/* APIServices of the group annals.dev: judgements of `annals doctor`. An object that is not there is NULL. */
#ifndef CLI_DOCTOR_DOCTOR_APISERVICE_H
#define CLI_DOCTOR_DOCTOR_APISERVICE_H

#include "cli/doctor/doctor_cluster.h"

/* One version of the group, of rank n in order of preference, and another one that is registered, if any. */
void judge_api_service(struct report *r, const struct deployment *d, const char *version, size_t rank,
	const struct json *service, const struct json *sibling);
/* What kube-apiserver says of it: mostly a consequence of what is wrong elsewhere. */
void judge_availability(struct report *r, const struct deployment *d, const struct json *service);
/* A version that is registered and that this annals does not know. */
void judge_foreign_version(struct report *r, const struct deployment *d, struct str name);
/* Later versions must not come before earlier ones. */
void judge_version_order(struct report *r, const struct deployment *d, const struct json *first, const struct json *second);
/* The CA within, into ret, where there is one that can be read. */
void judge_ca_bundle(struct report *r, const struct deployment *d, const struct json *api_service, struct certs *ret);
void judge_discovery(
	struct report *r, const struct deployment *d, const char *version, int code, struct str message, uint32_t n_resources);

/* ---- speaking of them ---- */

struct str api_service_subject(struct report *r, const struct json *api_service);
int64_t api_service_port(const struct json *api_service); /* of the Service; NULL has the usual one */
/* A command that changes members of spec, which are JSON as it stands between double quotes of a shell. */
struct str api_service_patch(struct report *r, const struct deployment *d, const struct json *api_service, struct str spec);
struct str api_service_mend_ca(struct report *r, const struct deployment *d, const struct json *api_service);

#endif
