/* Certificates in a directory, and files that are made of them: manifests and a kubeconfig. A certificate is a pair of
 * files, NAME.crt and NAME.key. Missing ones are made, old ones are renewed, and all others stay as they are. Only a key in
 * a form that not every program can read is written again, in the right form.
 *
 * A plan is an array of `struct cert`: a CA comes before the certificates that it signs.
 * key_pair.h makes, reads and checks one pair. certs_manifests.c writes what needs them: the
 * manifests of an aggregated server, and the kubeconfig of `annals up`. certs_command.c is `annals
 * certs`. The directory is cli/common/datadir.h. A running server notices new files by itself. */
#ifndef CLI_CERTS_CERTS_H
#define CLI_CERTS_CERTS_H

#include "cli/certs/key_pair.h"
#include "cli/common/datadir.h"

/* A certificate of a plan. */
struct cert {
	const char *name; /* of the files */
	const char *ca;   /* the name of an earlier one, which signs it. NULL: it is a CA, signed by itself */
	struct key_pair_recipe recipe;
};

/* The longest life of a certificate. A CA lives for ten years and is renewed in its last third, so it outlives all that it
 * signs. It keeps its key, and with it the trust of everybody who has the old certificate. */
#define CERTS_DAYS_MAX 1200

struct certs_plan {
	const struct cert *v;
	size_t n;
	int64_t days;              /* life of certificates that are not CAs */
	int64_t renew_before_days; /* before the end; 0: a third of their life */
	/* Refuses a CA that exists but cannot be used: others trust it, and its key may exist
	 * elsewhere. Without this a new CA replaces it. */
	bool keeps_ca;
};

/* The result for one certificate. */
struct cert_state {
	bool is_made;
	bool is_key_reshaped;   /* its key was rewritten in a form that all programs read (key_pair.h) */
	int64_t renew_s, end_s; /* when it will be renewed, and when it expires; since 1970 */
};

/* Makes each certificate that is missing or broken, has another signer or other names, or is about to expire. ret_states has
 * room for all of the plan, or is NULL. 0, or -errno with a sentence in err. */
int certs_ensure_plan(
	const struct datadir *d, const struct certs_plan *plan, int64_t now_s, struct cert_state *ret_states, struct buf *err);

/* The certificates of `annals up`: a CA, the server's, and the clients' of the administrator and the controllers.
 *
 *   ca.crt ca.key          CN=annals-ca
 *   server.crt server.key  127.0.0.1, ::1, localhost, kubernetes, the host's name
 *   admin.crt admin.key    O=system:masters, CN=annals-admin
 *   controllers.crt .key   O=system:masters, CN=system:annals-controllers
 *
 * *ret_n_made is how many were made; it may be NULL. */
int certs_ensure(const struct datadir *d, int64_t now_s, unsigned *ret_n_made, struct buf *err);

/* ---- manifests for `kubectl apply -f -`: the Secrets that deploy/ mounts, and APIServices with their CA ---- */

struct manifests_options {
	const char *service, *ns; /* both plain labels */
	bool has_etcd;
	bool has_services; /* APIServices, too */
};

/* Appends to out. 0, or -errno with a sentence in err. */
int certs_write_manifests(const struct datadir *d, const struct manifests_options *options, struct buf *out, struct buf *err);

/* ---- the kubeconfig of the administrator: one file of mode 0600 that can be copied elsewhere ---- */

/* Writes DIR/kubeconfig for a server at `url`, with ca.crt, admin.crt and admin.key of the folder, unless it has the same
 * contents already. 0, or -errno with a sentence in err. */
int kubeconfig_ensure(const struct datadir *d, const char *url, struct buf *err);

#endif
