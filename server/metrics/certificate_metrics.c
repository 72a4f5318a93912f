/* The files are read at each scrape, for they are replaced while the server runs: a few kilobytes,
 * four times a minute. Nobody has to be told of changes that way, and a certificate that was renewed
 * but never loaded does not hide: the log says when a file cannot be loaded. */
#include "server/metrics/certificate_metrics.h"

#include "base/exposition.h"
#include "base/file.h"

#include <gnutls/x509.h>

enum { FILE_MAX = 1 << 20 }; /* bytes */

static int64_t end_of(const gnutls_x509_crt_t *certs, unsigned n, bool is_bundle)
{
	int64_t end_s = gnutls_x509_crt_get_expiration_time(certs[0]);

	for (unsigned i = 1; i < n; i++) {
		int64_t one_s = gnutls_x509_crt_get_expiration_time(certs[i]);
		end_s = is_bundle ? MAX(end_s, one_s) : MIN(end_s, one_s);
	}
	return end_s;
}

/* Seconds since 1970; 0: there is no certificate that could be read. */
static int64_t file_end(const struct certificate_file *f)
{
	_cleanup_(buf_done) struct buf pem;
	gnutls_x509_crt_t *certs = NULL;
	unsigned n = 0;
	int64_t end_s = 0;

	buf_init(&pem, FILE_MAX);
	if (!f->path || file_read_path(f->path, &pem) != 0) {
		return 0;
	}
	const gnutls_datum_t text = {(unsigned char *)pem.p, (unsigned)pem.n};
	if (gnutls_x509_crt_list_import2(&certs, &n, &text, GNUTLS_X509_FMT_PEM, 0) < 0) {
		return 0;
	}
	if (n > 0) {
		end_s = end_of(certs, n, f->is_bundle);
	}
	for (unsigned i = 0; i < n; i++) {
		gnutls_x509_crt_deinit(certs[i]);
	}
	gnutls_free(certs);
	return end_s;
}

void certificate_metrics_write(struct buf *out, const struct certificate_file *files, size_t n)
{
	exposition_head(out, "annals_certificate_expiration_timestamp_seconds", "gauge",
		"When the first certificate of a chain ends, or the last authority of a bundle, since unix epoch in seconds.");
	for (size_t i = 0; i < n; i++) {
		int64_t end_s = file_end(&files[i]);
		if (end_s > 0) {
			buf_printf(out, "annals_certificate_expiration_timestamp_seconds{use=\"%s\"} %lld\n", files[i].use,
				(long long)end_s);
		}
	}
}
