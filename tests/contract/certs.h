/* Certificates for one test: an authority, a server's for 127.0.0.1 and localhost, a client's, and an authority nobody trusts
 * with a client's of its own. */
#ifndef TESTS_CONTRACT_CERTS_H
#define TESTS_CONTRACT_CERTS_H

struct certs {
	char *ca, *server_cert, *server_key, *client_cert, *client_key; /* paths of PEM files */
	char *stranger_ca, *stranger_cert, *stranger_key;
};

void certs_init(struct certs *c, const char *dir);
void certs_done(struct certs *c);

#endif
