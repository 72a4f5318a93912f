/* Certificates as `annals doctor` judges them. */
#ifndef CLI_DOCTOR_DOCTOR_CERT_H
#define CLI_DOCTOR_DOCTOR_CERT_H

#include "cli/doctor/doctor_report.h"

#include <gnutls/x509.h>

/* The parts of a certificate that doctor judges; text in the arena it was read into. */
struct certificate {
	struct str subject, issuer;
	int64_t begin_s, end_s;
	bool is_ca, is_for_servers;
	struct str *names; /* DNS names and addresses */
	size_t n_names;
	struct str key_id;
	gnutls_x509_crt_t crt;
};

struct certs {
	struct certificate *v;
	size_t n;
};

/* Reads all certificates of a PEM text, in order. Returns 0 with one or more, or -EINVAL with a
 * sentence in err. Call certs_done() in any case. */
int certs_parse(struct certs *ret, struct str pem, struct arena *a, struct buf *err);
/* Appends a certificate from DER. */
int certs_add_der(struct certs *c, const gnutls_datum_t *der, struct arena *a);
void certs_done(struct certs *c);

bool cert_has_name(
	const struct certificate *c, struct str name); /* as TLS clients compare: wildcards, addresses; never the common name */
struct str cert_names(const struct certificate *c, struct arena *a); /* for people: "a, b" */
bool cert_is_signed_by(const struct certificate *c, const struct certificate *issuer);
/* Do these CAs sign a server's chain (leaf first)? Ignores expiry. Returns false with the reason
 * in why. */
bool certs_are_trusted(const struct certs *chain, const struct certs *cas, struct buf *why);
bool certs_share_key(const struct certs *a, const struct certs *b);

/* ---- judgements ---- */

/* Expired or not yet valid: an error; with less than 30 days left: a warning. */
void judge_life(struct report *r, struct str subject, const struct certificate *c, int64_t now_s, struct str fix);
/* Judges each CA of a file: is it valid in time, and may it sign? */
void judge_cas(struct report *r, struct str subject, const struct certs *cas, int64_t now_s, struct str fix);
/* Judges a server's leaf: expiry and names. wanted: a name that it must have; empty: any. */
void judge_leaf(
	struct report *r, struct str subject, const struct certificate *leaf, struct str wanted, int64_t now_s, struct str fix);

/* Shakes hands with a TLS server to see its certificates, without trusting them. */

enum probe_result {
	PROBE_OK,
	PROBE_UNREACHABLE, /* no connection */
	PROBE_REFUSED,     /* a connection, but no TLS, or the server refused our certificate */
};

struct probe {
	const char *host, *port;
	const char *server_name; /* SNI; NULL: none */
	struct str cert, key;    /* PEM, shown when asked for; empty: none */
	bool speaks_http2;       /* offers HTTP/2, and waits briefly for the server's verdict on our certificate */
};

/* The server's chain, leaf first, is in ret wherever it was shown; certs_done() in any case. Unless PROBE_OK a sentence is in err. */
enum probe_result probe_run(const struct probe *p, struct certs *ret, struct arena *a, struct buf *err);

#endif
