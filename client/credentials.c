/* libcurl's GnuTLS flavour of Debian 12 takes certificates as files only. A temporary file on a
 * disk could be left behind with a key in it; memory with a name in /proc cannot. */
#include "client/credentials.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* A minute is client-go's: kubelet renews the tokens of pods long before they end. */
enum { TOKEN_MAX = 64 * 1024, TOKEN_AGE_MS = 60 * 1000 };

/* /proc/self/fd/N with a serial number spelled in its slashes: "/./" is a one, "/" a zero. */
static void name_file(struct pem *p)
{
	static _Atomic uint32_t serial;
	size_t n = (size_t)snprintf(p->path, sizeof(p->path), "/proc/self/fd");
	for (uint32_t left = atomic_fetch_add(&serial, 1) + 1; left; left >>= 1) {
		n += (size_t)snprintf(p->path + n, sizeof(p->path) - n, "%s", left & 1 ? "/./" : "/");
	}
	snprintf(p->path + n, sizeof(p->path) - n, "%d", p->fd);
}

int pem_open(struct pem *p, const char *text, struct buf *err)
{
	p->fd = -1;
	if (!text) {
		return 0;
	}
	p->fd = memfd_create("pem", MFD_CLOEXEC);
	int r = p->fd < 0 ? -errno : file_write(p->fd, str_of(text));
	if (r) {
		buf_printf(err, "cannot keep a certificate in memory: %s", strerror(-r));
		return r;
	}
	name_file(p);
	return 0;
}

void pem_close(struct pem *p)
{
	if (p->fd >= 0) {
		close(p->fd);
	}
	p->fd = -1;
}

bool pem_is_there(const struct pem *p)
{
	return p->fd >= 0;
}

int credentials_init(struct credentials *c, const struct client_config *config, struct buf *err)
{
	*c = (struct credentials){.config = config, .ca = {.fd = -1}, .cert = {.fd = -1}, .key = {.fd = -1}};
	buf_init(&c->token, TOKEN_MAX);
	int r = pem_open(&c->ca, config->ca, err);
	r = r ? r : pem_open(&c->cert, config->cert, err);
	return r ? r : pem_open(&c->key, config->key, err);
}

void credentials_done(struct credentials *c)
{
	if (c->config) {
		pem_close(&c->key);
		pem_close(&c->cert);
		pem_close(&c->ca);
		buf_done(&c->token);
	}
}

static void read_token_file(struct credentials *c)
{
	int64_t now = clock_mono_ms();
	if (c->token_read_ms && now - c->token_read_ms < TOKEN_AGE_MS) {
		return;
	}
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, TOKEN_MAX);
	if (file_read_path(c->config->token_file, &text) == 0) {
		buf_clear(&c->token);
		buf_add_str(&c->token, str_trim(buf_str(&text)));
		c->token_read_ms = now;
	}
}

/* As client-go: what a file says, or last said, goes before the text beside it. */
struct str credentials_token(struct credentials *c)
{
	if (c->config->token_file) {
		read_token_file(c);
	}
	return c->config->token && buf_str(&c->token).n == 0 ? str_of(c->config->token) : buf_str(&c->token);
}
