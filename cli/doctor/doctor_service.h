/* What an APIService leads to, a Service and certificates: judgements of `annals doctor`. An object that is not there is NULL. */
#ifndef CLI_DOCTOR_DOCTOR_SERVICE_H
#define CLI_DOCTOR_DOCTOR_SERVICE_H

#include "cli/doctor/doctor_cluster.h"

enum { DOCTOR_ADDRESSES_MAX = 8 };

/* The Service that an APIService names. */
void judge_service(struct report *r, const struct deployment *d, const struct json *api_service, const struct json *service);
/* What a server behind it shows; cas are those of judge_ca_bundle(). */
void judge_served(struct report *r, const struct deployment *d, struct str subject, const struct json *api_service,
	const struct certs *chain, const struct certs *cas);

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
