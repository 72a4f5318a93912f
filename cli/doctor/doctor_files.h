/* Certificates and keys in files, and the directory of `annals up`, as `annals doctor` judges them. */
#ifndef CLI_DOCTOR_DOCTOR_FILES_H
#define CLI_DOCTOR_DOCTOR_FILES_H

#include "cli/doctor/doctor_report.h"

#include <gnutls/x509.h>

/* Bytes of a file of certificates, a key or a kubeconfig; a longer one counts as unreadable. */
enum { DOCTOR_FILE_MAX = 1 << 20 };

/* The parts of a certificate that doctor judges; text in the arena it was read into. */
struct certificate {
	struct str subject;
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
void certs_done(struct certs *c);

/* A certificate with its chain, and its key. */
struct doctor_pair {
	const char *cert_file, *key_file; /* key_file NULL: the key is not checked */
	bool is_server;                   /* otherwise it is a client's pair */
	struct str wanted_name;           /* a name that a server's certificate must have; empty: any */
	struct str fix;                   /* the command that makes a new pair */
};
void doctor_check_pair(struct report *r, const struct doctor_pair *p, int64_t now_s);

/* Reads and judges a file of CAs. False where there are none; certs_done() in any case. */
bool doctor_check_cas(struct report *r, const char *path, int64_t now_s, struct certs *ret);

/* The directory of `annals up`, and what runs on it: a part of `annals doctor`. */
void doctor_check_up(struct report *r, const char *dir, int64_t now_s);

/* ---- judgements ---- */

/* Expired or not yet valid: an error; with less than 30 days left: a warning. */
void judge_life(struct report *r, struct str subject, const struct certificate *c, int64_t now_s, struct str fix);
/* Judges each CA of a file: is it valid in time, and may it sign? */
void judge_cas(struct report *r, struct str subject, const struct certs *cas, int64_t now_s, struct str fix);
/* Judges a server's leaf: expiry and names. wanted: a name that it must have; empty: any. */
void judge_leaf(
	struct report *r, struct str subject, const struct certificate *leaf, struct str wanted, int64_t now_s, struct str fix);
/* Judges whether each certificate is signed by the next, leaf first. */
void judge_chain(struct report *r, struct str subject, const struct certs *chain);
/* Judges which users may read a private key. */
void judge_key_mode(struct report *r, struct str path, unsigned mode);
/* May headers that name users be trusted? Any certificate of the front proxy's CA is, where no names are given; with the CA of all
 * users that is everybody. */
void judge_front_names(struct report *r, struct str subject, const struct certs *front, const struct certs *clients,
	size_t n_names, struct str fix);

#endif
