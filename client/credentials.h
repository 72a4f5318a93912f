/* The credentials that a client shows and the authorities it trusts, in the forms libcurl takes.
 * PEM texts are files that exist in memory only; the bearer token may change. */
#ifndef CLIENT_CREDENTIALS_H
#define CLIENT_CREDENTIALS_H

#include "client/config.h"

/* A PEM text as a file for libcurl; private keys never reach a disk. libcurl reuses a kept
 * connection for requests that name the same file. So no two texts ever get the same path,
 * although descriptor numbers are reused. */
struct pem {
	int fd; /* of memory; -1: none */
	char path[128];
};

/* Opens a PEM text; text NULL: none. Returns 0, or -errno with a sentence in err. The caller
 * calls pem_close() in any case. */
int pem_open(struct pem *p, const char *text, struct buf *err);
void pem_close(struct pem *p);
bool pem_is_there(const struct pem *p);

struct credentials {
	const struct client_config *config;
	struct pem ca, cert, key;
	struct buf token; /* of the file */
	int64_t token_read_ms;
};

/* The configuration must outlive the credentials. Returns 0, or -errno with a sentence in err.
 * The caller calls credentials_done() in any case. */
int credentials_init(struct credentials *c, const struct client_config *config, struct buf *err);
void credentials_done(struct credentials *c);
/* Returns the token; empty: none. Reads the file again when it is time; if that fails, the last
 * token stays. */
struct str credentials_token(struct credentials *c);

#endif
