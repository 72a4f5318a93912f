/* Certificates in a directory, each a pair of files NAME.crt and NAME.key: made where they are missing, made again in time, and otherwise
 * left as they are, but for keys that not everybody can read: those are written again, the same keys in the right form. */
#ifndef CLI_CERTS_CERTS_H
#define CLI_CERTS_CERTS_H

#include "cli/certs/key_pair.h"
#include "cli/common/datadir.h"

/* One that is wanted. */
struct cert {
	const char *name; /* of the files */
	const char *ca;   /* the name of an earlier one, which signs it. NULL: it is a CA, signed by itself */
	struct key_pair_recipe recipe;
};

/* A CA lives for ten years and is made again in its last third: so it outlives what it signs as long as that lives for CERTS_DAYS_MAX
 * at most. It keeps its key then, and with it the trust of those who know the old certificate. */
#define CERTS_DAYS_MAX 1200

struct certs_plan {
	const struct cert *v;
	size_t n;
	int64_t days;              /* of those that are no CA */
	int64_t renew_before_days; /* before the end; 0: a third of their life */
	/* A CA that is there but cannot be used is refused: others trust it, and there may be a copy of its key. Otherwise a new one
	 * takes its place. */
	bool keeps_ca;
};

/* What has become of one. */
struct cert_state {
	bool is_made;
	bool is_key_reshaped;   /* its key was in a form that not everybody reads (private_key.h), and was written again */
	int64_t renew_s, end_s; /* when it is to be made again, and when it is good no more; since 1970 */
};

/* Makes what is missing, broken, signed by another, has other names, or is about to end. 0, with what has become of each in ret_states
 * (as many as the plan has, may be NULL), or -errno with a sentence in err. */
int certs_ensure_plan(
	const struct datadir *d, const struct certs_plan *plan, int64_t now_s, struct cert_state *ret_states, struct buf *err);

/* Those of `annals up`: a CA, the serving certificate, the administrator's client certificate and that of the controllers within.
 *
 *   ca.crt ca.key          CN=annals-ca
 *   server.crt server.key  127.0.0.1, ::1, localhost, kubernetes, the host's name
 *   admin.crt admin.key    O=system:masters, CN=annals-admin
 *   controllers.crt .key   O=system:masters, CN=system:annals-controllers
 *
 * *ret_n_made, which may be NULL, says how many were made. */
int certs_ensure(const struct datadir *d, int64_t now_s, unsigned *ret_n_made, struct buf *err);

#endif
