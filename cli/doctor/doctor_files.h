/* Certificates and keys in files: those of a server, and those in the directory of `annals up`. */
#ifndef CLI_DOCTOR_DOCTOR_FILES_H
#define CLI_DOCTOR_DOCTOR_FILES_H

#include "cli/doctor/doctor_cert.h"

enum { DOCTOR_FILE_MAX = 1 << 20 };

/* The whole file, appended. False with a finding. */
bool doctor_read_file(struct report *r, const char *path, struct buf *out);

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

/* ---- judgements ---- */

/* Judges whether each certificate is signed by the next, leaf first. */
void judge_chain(struct report *r, struct str subject, const struct certs *chain);
/* Judges which users may read a private key. */
void judge_key_mode(struct report *r, struct str path, unsigned mode);
/* May headers that name users be trusted? Any certificate of the front proxy's CA is, where no names are given; with the CA of all
 * users that is everybody. */
void judge_front_names(struct report *r, struct str subject, const struct certs *front, const struct certs *clients,
	size_t n_names, struct str fix);

/* The directory of `annals up`, and what runs on it: a part of `annals doctor`. */

void doctor_check_up(struct report *r, const char *dir, int64_t now_s);

#endif
