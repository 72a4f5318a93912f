/* Shakes hands with a TLS server to see what it shows, and believes nothing. */
#ifndef CLI_DOCTOR_DOCTOR_PROBE_H
#define CLI_DOCTOR_DOCTOR_PROBE_H

#include "cli/doctor/doctor_cert.h"

enum probe_result {
	PROBE_OK,
	PROBE_UNREACHABLE, /* no connection */
	PROBE_REFUSED,     /* a connection, but no TLS, or not with us */
};

struct probe {
	const char *host, *port;
	const char *server_name; /* SNI; NULL: none */
	struct str cert, key;    /* PEM, shown when asked for; empty: none */
	bool speaks_http2;       /* says so, and waits a moment for what the server thinks of our certificate */
};

/* The server's chain, leaf first, is in ret wherever it was shown; certs_done() in any case. Unless PROBE_OK a sentence is in err. */
enum probe_result probe_run(const struct probe *p, struct certs *ret, struct arena *a, struct buf *err);

#endif
