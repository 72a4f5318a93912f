/* Writes manifests and the kubeconfig as text rather than as objects, since people read them, and keep them in a
 * repository. Values come from files that this program made and from labels that were checked, so nothing needs quotes. */
#include "api/model/kind.h"
#include "cli/certs/certs.h"

/* Versions of annals.dev, more than the kinds have; further ones would get no APIService. */
enum { VERSIONS_MAX = 8 };

/* ---- Secrets ---- */

/* Secrets as cert-manager makes them: a certificate, its key, and the CA that signed it. */
static const struct secret {
	const char *suffix, *cert, *ca; /* the Secret NAME-SUFFIX holds CERT.crt, CERT.key and CA.crt */
	bool is_etcds;
} secrets[] = {
	{"serving", "serving", "ca", false},
	{"etcd-client", "etcd-client", "etcd-ca", true},
	{"etcd-server", "etcd-server", "etcd-ca", true},
	{"etcd-peer", "etcd-peer", "etcd-ca", true},
};

static int write_datum(
	const struct datadir *d, const char *key, const char *name, const char *suffix, struct buf *out, struct buf *err)
{
	_cleanup_(mem_freep) char *file = mem_printf("%s.%s", name, suffix);
	_cleanup_(mem_freep) char *value = NULL;
	int r = datadir_encode(d, file, &value, err);
	if (!r) {
		buf_printf(out, "  %s: %s\n", key, value);
	}
	return r;
}

static int write_secret(
	const struct datadir *d, const struct manifests_options *o, const struct secret *s, struct buf *out, struct buf *err)
{
	buf_printf(out,
		"---\n"
		"apiVersion: v1\n"
		"kind: Secret\n"
		"metadata:\n"
		"  name: %s-%s\n"
		"  namespace: %s\n"
		"  labels:\n"
		"    app.kubernetes.io/part-of: annals\n"
		"type: kubernetes.io/tls\n"
		"data:\n",
		o->service, s->suffix, o->ns);
	int r = write_datum(d, "ca.crt", s->ca, "crt", out, err);
	r = r ? r : write_datum(d, "tls.crt", s->cert, "crt", out, err);
	return r ? r : write_datum(d, "tls.key", s->cert, "key", out, err);
}

static int write_secrets(const struct datadir *d, const struct manifests_options *o, struct buf *out, struct buf *err)
{
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(secrets) && !r; i++) {
		if (o->has_etcd || !secrets[i].is_etcds) {
			r = write_secret(d, o, &secrets[i], out, err);
		}
	}
	return r;
}

/* ---- APIServices ---- */

struct versions {
	const char *v[VERSIONS_MAX]; /* the preferred one first, as kinds name them */
	size_t n;
};

static void versions_add(struct versions *versions, const char *version)
{
	for (size_t i = 0; i < versions->n; i++) {
		if (strcmp(versions->v[i], version) == 0) {
			return;
		}
	}
	if (versions->n < VERSIONS_MAX) {
		versions->v[versions->n++] = version;
	}
}

static void find_versions(struct versions *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t n = 0; n < k->n_versions; n++) {
			if (strcmp(k->versions[n].group, "annals.dev") == 0) {
				versions_add(ret, k->versions[n].name);
			}
		}
	}
}

/* The group comes after Kubernetes' own, so that `kubectl get controllerrevisions` stays what it was. */
static void write_service(const struct manifests_options *o, const char *version, size_t rank, const char *ca, struct buf *out)
{
	buf_printf(out,
		"---\n"
		"apiVersion: apiregistration.k8s.io/v1\n"
		"kind: APIService\n"
		"metadata:\n"
		"  name: %s.annals.dev\n"
		"  labels:\n"
		"    app.kubernetes.io/part-of: annals\n"
		"spec:\n"
		"  group: annals.dev\n"
		"  version: %s\n"
		"  groupPriorityMinimum: 1000\n"
		"  versionPriority: %zu\n"
		"  service:\n"
		"    name: %s\n"
		"    namespace: %s\n"
		"    port: 443\n"
		"  caBundle: %s\n",
		version, version, 10 * (VERSIONS_MAX - rank), o->service, o->ns, ca);
}

static int write_services(const struct datadir *d, const struct manifests_options *o, struct buf *out, struct buf *err)
{
	_cleanup_(mem_freep) char *ca = NULL;
	struct versions versions;
	int r = datadir_encode(d, "ca.crt", &ca, err);
	if (r) {
		return r;
	}
	find_versions(&versions);
	for (size_t i = 0; i < versions.n; i++) {
		write_service(o, versions.v[i], i, ca, out);
	}
	return 0;
}

int certs_write_manifests(const struct datadir *d, const struct manifests_options *options, struct buf *out, struct buf *err)
{
	int r = write_secrets(d, options, out, err);
	return r || !options->has_services ? r : write_services(d, options, out, err);
}

/* Everything is embedded, so the file can be copied to another machine. It is written only when
 * it would change: kubectl's own edits of other contexts are in other files. */

/* Bytes of a kubeconfig with its certificates; a longer one is not written. */
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

int kubeconfig_ensure(const struct datadir *d, const char *url, struct buf *err)
{
	char *data[ARRAY_SIZE(embedded)] = {NULL};
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(embedded) && !r; i++) {
		r = datadir_encode(d, embedded[i], &data[i], err);
	}
	if (!r) {
		_cleanup_(mem_freep) char *text = mem_printf(template, url, data[0], data[1], data[2]);
		r = is_already(d, text) ? 0 : datadir_write(d, "kubeconfig", str_of(text), 0600, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(embedded); i++) {
		mem_free(data[i]);
	}
	return r;
}
