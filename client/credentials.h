/* What a client shows and trusts, in the forms libcurl takes: PEM as files that are in memory alone, a bearer token that may change. */
#ifndef CLIENT_CREDENTIALS_H
#define CLIENT_CREDENTIALS_H

#include "client/config.h"

/* A PEM text where libcurl looks for a file; private keys never get to a disk. */
struct pem {
	int fd; /* of memory; -1: none */
	char path[32];
};

struct credentials {
	const struct client_config *config;
	struct pem ca, cert, key;
	struct buf token; /* of the file */
	int64_t token_read_ms;
};

/* The configuration stays. 0, or -errno with a sentence in err; credentials_done() in any case. */
int credentials_init(struct credentials *c, const struct client_config *config, struct buf *err);
void credentials_done(struct credentials *c);
bool pem_is_there(const struct pem *p);
/* Empty: none. Reads the file again when it is time; one that cannot be read leaves what was read before. */
struct str credentials_token(struct credentials *c);

#endif
