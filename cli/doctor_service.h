/* From an APIService to a certificate: judgements of `annals doctor`. An object that is not there is NULL. */
#ifndef CLI_DOCTOR_SERVICE_H
#define CLI_DOCTOR_SERVICE_H

#include "cli/doctor_cluster.h"

enum { DOCTOR_ADDRESSES_MAX = 8 };

/* One version of the group, of rank n in order of preference. */
void judge_api_service(
	struct report *r, const struct deployment *d, const char *version, size_t rank, const struct json *service);
/* A version that is registered and that this annals does not know. */
void judge_foreign_version(struct report *r, const struct deployment *d, struct str name);
/* Later versions must not come before earlier ones. */
void judge_version_order(struct report *r, const struct deployment *d, const struct json *first, const struct json *second);
/* The CA within, into ret, where there is one that can be read. */
void judge_ca_bundle(struct report *r, const struct deployment *d, const struct json *api_service, struct certs *ret);
/* The Service that an APIService names. */
void judge_service(struct report *r, const struct deployment *d, const struct json *api_service, const struct json *service);
/* What a server behind it shows; cas are those of judge_ca_bundle(). */
void judge_served(struct report *r, const struct deployment *d, struct str subject, const struct json *api_service,
	const struct certs *chain, const struct certs *cas);
void judge_discovery(
	struct report *r, const struct deployment *d, const char *version, int code, struct str message, uint32_t n_resources);

/* Where its ready endpoints are, as a list of EndpointSlices says; how many are in ret, and in all in ret_n. */
struct doctor_address {
	struct str host;
	int64_t port;
};
size_t find_addresses(const struct json *slices, struct str port_name, struct doctor_address *ret, size_t *ret_n_ready);
void judge_endpoints(struct report *r, const struct deployment *d, size_t n_ready);
/* The name of the Service's port that the APIService means; false where there is none. */
bool find_port(const struct json *api_service, const struct json *service, struct str *ret_name);

#endif
