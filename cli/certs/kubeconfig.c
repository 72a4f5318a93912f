/* Everything is embedded, so the file can be copied to another machine. It is written only when
 * it would change: kubectl's own edits of other contexts are in other files. */
#include "cli/certs/kubeconfig.h"

enum { FILE_MAX = 256 * 1024 };

/* kubectl's order of members. */
static const char template[] = "apiVersion: v1\n"
			       "kind: Config\n"
			       "clusters:\n"
			       "- name: annals\n"
			       "  cluster:\n"
			       "    server: %s\n"
			       "    certificate-authority-data: %s\n"
			       "users:\n"
			       "- name: annals-admin\n"
			       "  user:\n"
			       "    client-certificate-data: %s\n"
			       "    client-key-data: %s\n"
			       "contexts:\n"
			       "- name: annals\n"
			       "  context:\n"
			       "    cluster: annals\n"
			       "    user: annals-admin\n"
			       "current-context: annals\n";

/* The three files of the template, as base64. */
static const char *const embedded[] = {"ca.crt", "admin.crt", "admin.key"};

static bool is_already(const struct datadir *d, const char *text)
{
	_cleanup_(buf_done) struct buf there;
	buf_init(&there, FILE_MAX);
	return datadir_read(d, "kubeconfig", &there) == 0 && str_is(buf_str(&there), text);
}

static int ensure(const struct datadir *d, const char *text, struct buf *err)
{
	return is_already(d, text) ? 0 : datadir_write(d, "kubeconfig", str_of(text), 0600, err);
}

int kubeconfig_ensure(const struct datadir *d, const char *url, struct buf *err)
{
	char *data[ARRAY_SIZE(embedded)] = {NULL};
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(embedded) && !r; i++) {
		r = datadir_encode(d, embedded[i], &data[i], err);
	}
	if (!r) {
		_cleanup_(mem_freep) char *text = mem_printf(template, url, data[0], data[1], data[2]);
		r = ensure(d, text, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(embedded); i++) {
		mem_free(data[i]);
	}
	return r;
}
