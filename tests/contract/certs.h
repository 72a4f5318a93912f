/* Certificates for one test: an authority, a server's for 127.0.0.1 and localhost, a client's, and an authority nobody trusts. */
#ifndef TESTS_CONTRACT_CERTS_H
#define TESTS_CONTRACT_CERTS_H

struct certs {
	char *ca, *server_cert, *server_key, *client_cert, *client_key, *stranger_ca; /* paths of PEM files */
};

void certs_init(struct certs *c, const char *dir);
void certs_done(struct certs *c);

#endif
