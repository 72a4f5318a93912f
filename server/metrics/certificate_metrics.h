/* When certificates end, for /metrics: the one thing that an operator can know weeks before it hurts. */
#ifndef SERVER_METRICS_CERTIFICATE_METRICS_H
#define SERVER_METRICS_CERTIFICATE_METRICS_H

#include "base/buf.h"

struct certificate_file {
	const char *use;  /* a label: serving, etcd-client */
	const char *path; /* PEM; NULL: there is none */
	/* The file is a bundle of authorities. A bundle keeps old ones beside new ones, so its
	 * end is that of the last; a chain ends with the first. */
	bool is_bundle;
};

/* annals_certificate_expiration_timestamp_seconds. A file that cannot be read has no sample. Reads the files: for scrapes. */
void certificate_metrics_write(struct buf *out, const struct certificate_file *files, size_t n);

#endif
