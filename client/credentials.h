/* What a client shows and trusts, in the forms libcurl takes: PEM as files that are in memory alone, a bearer token that may change. */
#ifndef CLIENT_CREDENTIALS_H
#define CLIENT_CREDENTIALS_H

#include "client/config.h"

/* A PEM text where libcurl looks for a file; private keys never get to a disk. libcurl uses a kept connection again for whoever names the
 * same file, so no two texts have ever the same path, although numbers of descriptors come again. */
struct pem {
	int fd; /* of memory; -1: none */
	char path[128];
};

/* NULL: none. 0, or -errno with a sentence in err; pem_close() in any case. */
int pem_open(struct pem *p, const char *text, struct buf *err);
void pem_close(struct pem *p);
bool pem_is_there(const struct pem *p);

struct credentials {
	const struct client_config *config;
	struct pem ca, cert, key;
	struct buf token; /* of the file */
	int64_t token_read_ms;
};

/* The configuration stays. 0, or -errno with a sentence in err; credentials_done() in any case. */
int credentials_init(struct credentials *c, const struct client_config *config, struct buf *err);
void credentials_done(struct credentials *c);
/* Empty: none. Reads the file again when it is time; one that cannot be read leaves what was read before. */
struct str credentials_token(struct credentials *c);

#endif
