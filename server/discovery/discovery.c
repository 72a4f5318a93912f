/* Discovery documents. They are made once and served as bytes; a change of a storage version
 * rebuilds all of them. They are written as text, not as trees, so members come in upstream's
 * order at no cost. Groups and versions come in the order in which kubectl resolves bare names. */
#include "server/discovery/discovery.h"

#include "base/buf.h"
#include "base/sha256.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* Bytes. The list of all kinds has 500 bytes for each, and there are at most KINDS_DEFINED_MAX of 24 versions. */
	DOCUMENT_MAX = 256 << 20,
	ETAG_SIZE = 2 * SHA256_SIZE + 3,
};

struct document {
	char *path;
	bool is_aggregated, only_get;
	struct bytes *body;
	char etag[ETAG_SIZE]; /* empty in the legacy form */
};

struct discovery {
	_Atomic uint32_t refs;
	const struct version *common[KIND_COUNT_MAX];
	struct kinds *defined; /* a reference: so another table has another address */
	struct document *documents;
	size_t n_documents, cap_documents;
};

/* A kind and the version through which it is seen. */
struct entry {
	const struct kind *kind;
	const struct version *version;
};

/* All that is visible, in the order in which it is shown: group, version, resource. */
struct catalog {
	struct entry *v;
	size_t n;
	const struct discovery_options *options;
};

/* ---- order ---- */

/* The aggregator's: Kubernetes' own groups before extensions. kubectl resolves a bare resource name by it. */
static int group_rank(const char *group)
{
	static const char *const first[] = {"", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
		"batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
		"discovery.k8s.io", "flowcontrol.apiserver.k8s.io"};

	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		if (strcmp(group, first[i]) == 0) {
			return (int)i;
		}
	}
	return (int)ARRAY_SIZE(first) + (strcmp(group, "annals.dev") == 0);
}

/* v2 > v1 > v1beta2 > v1beta1 > v1alpha1. */
static long version_rank(const char *version)
{
	char *stage, *end;
	long major, minor;

	if (version[0] != 'v' || !isdigit((unsigned char)version[1])) {
		return 0;
	}
	major = strtol(version + 1, &stage, 10);
	if (*stage == '\0') {
		return 2000000 + major;
	}
	minor = strtol(stage + strspn(stage, "abcdefghijklmnopqrstuvwxyz"), &end, 10);
	return (strncmp(stage, "beta", 4) == 0 ? 1000000 : 0) + major * 1000 + minor;
}

static int entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = group_rank(x->version->group) - group_rank(y->version->group);

	if (!r) {
		r = strcmp(x->version->group, y->version->group);
	}
	if (!r) {
		long difference = version_rank(y->version->name) - version_rank(x->version->name);
		r = difference ? (difference > 0) - (difference < 0) : strcmp(x->version->name, y->version->name);
	}
	return r ? r : strcmp(x->kind->resource, y->kind->resource);
}

static void catalog_init(struct catalog *c, const struct discovery_options *options)
{
	size_t max = 0;

	for (size_t i = 0; i < kinds_total(options->defined); i++) {
		max += kinds_nth(options->defined, i)->n_versions;
	}
	*c = (struct catalog){.v = mem_array(max, sizeof(*c->v)), .options = options};
	for (size_t i = 0; i < kinds_total(options->defined); i++) {
		const struct kind *k = kinds_nth(options->defined, i);
		for (size_t j = 0; j < k->n_versions; j++) {
			if (version_is_visible(&k->versions[j], options->is_standalone)) {
				c->v[c->n++] = (struct entry){k, &k->versions[j]};
			}
		}
	}
	assert(c->n <= max);
	if (c->n > 1) {
		qsort(c->v, c->n, sizeof(*c->v), entry_cmp);
	}
}

static bool is_same_group(const struct entry *a, const struct entry *b)
{
	return strcmp(a->version->group, b->version->group) == 0;
}

static bool is_same_version(const struct entry *a, const struct entry *b)
{
	return is_same_group(a, b) && strcmp(a->version->name, b->version->name) == 0;
}

/* Where the run of entries that are the same as the first ends. */
static size_t run_end(const struct catalog *c, size_t first, bool (*is_same)(const struct entry *, const struct entry *))
{
	assert(first < c->n);
	size_t end = first + 1;

	while (end < c->n && is_same(&c->v[first], &c->v[end])) {
		end++;
	}
	return end;
}

/* ---- small pieces ---- */

static void add_name(struct buf *out, const char *name)
{
	json_encode_string(out, str_of(name));
	buf_addc(out, ':');
}

static void add_string(struct buf *out, const char *name, const char *value)
{
	add_name(out, name);
	json_encode_string(out, str_of(value));
}

/* ,"name":["a","b"] unless there are none. */
static void add_strings(struct buf *out, const char *name, const char *const *list)
{
	if (!list || !*list) {
		return;
	}
	buf_addc(out, ',');
	add_name(out, name);
	for (const char *separator = "["; *list; list++, separator = ",") {
		buf_adds(out, separator);
		json_encode_string(out, str_of(*list));
	}
	buf_addc(out, ']');
}

static int name_cmp(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void add_verbs(struct buf *out, unsigned verbs)
{
	const char *names[16] = {NULL};
	size_t n = 0;

	for (unsigned bit = 1; bit & VERBS_ALL; bit <<= 1) {
		if (verbs & bit) {
			names[n++] = verb_name((enum verb)bit);
		}
	}
	assert(n < ARRAY_SIZE(names)); /* the list ends with NULL */
	qsort(names, n, sizeof(names[0]), name_cmp);
	add_strings(out, "verbs", names);
}

/* Upstream lists those of its own kinds by name, and those of definitions in this order. */
static void add_verbs_of(struct buf *out, const struct kind *k)
{
	static const char *const defined[] = {
		"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch", NULL};

	if (k->life) {
		add_strings(out, "verbs", defined);
	} else {
		add_verbs(out, k->verbs);
	}
}

static int subresource_cmp(const void *a, const void *b)
{
	const struct subresource *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* By name. The caller frees it. */
static const struct subresource **sorted_subresources(const struct entry *e, size_t *ret_n)
{
	const struct kind *k = e->kind;
	const struct subresource **sorted = mem_array(k->n_subresources, sizeof(struct subresource *));

	size_t n = 0;

	for (size_t i = 0; i < k->n_subresources; i++) {
		if (subresource_is_visible(&k->subresources[i], k, e->version)) {
			sorted[n++] = &k->subresources[i];
		}
	}
	/* Subresources of definitions have their order: status, scale. */
	if (n > 1 && !k->life) {
		qsort(sorted, n, sizeof(struct subresource *), subresource_cmp);
	}
	*ret_n = n;
	return sorted;
}

static void add_group_version(struct buf *out, const struct version *v)
{
	add_name(out, "groupVersion");
	buf_addc(out, '"');
	version_write_api_version(v, out);
	buf_addc(out, '"');
}

/* ---- legacy documents ---- */

static void add_version(struct buf *out, const struct version *v)
{
	buf_addc(out, '{');
	add_group_version(out, v);
	buf_addc(out, ',');
	add_string(out, "version", v->name);
	buf_addc(out, '}');
}

/* name, versions and preferredVersion of the group of entries [first, end). */
static void add_group(struct buf *out, const struct catalog *c, size_t first, size_t end)
{
	add_string(out, "name", c->v[first].version->group);
	BUF_LITERAL(out, ",\"versions\":[");
	for (size_t i = first; i < end; i = run_end(c, i, is_same_version)) {
		buf_adds(out, i > first ? "," : "");
		add_version(out, c->v[i].version);
	}
	BUF_LITERAL(out, "],\"preferredVersion\":");
	add_version(out, c->v[first].version);
}

/* Returns the version of a view whose group differs from the object's: only then documents name
 * group and version. */
static const struct version *foreign_version(const struct subresource *s)
{
	const struct version *v = s && s->view ? subresource_version(s, NULL) : NULL;

	return v && *v->group ? v : NULL;
}

static void add_subresource(struct buf *out, const struct kind *k, const struct subresource *s)
{
	buf_printf(out, ",{\"name\":\"%s/%s\",\"singularName\":\"\",\"namespaced\":%s,", k->resource, s->name,
		k->is_namespaced ? "true" : "false");
	const struct version *v = foreign_version(s);
	if (v) {
		add_string(out, "group", v->group);
		buf_addc(out, ',');
		add_string(out, "version", v->name);
		buf_addc(out, ',');
	}
	add_string(out, "kind", subresource_kind(s, k)->kind);
	add_verbs(out, s->verbs);
	buf_addc(out, '}');
}

/* Returns true when a kind shows a hash. A migrator writes back every kind with a hash, which
 * would fail each time for a kind that cannot be written. */
static bool has_hash(const struct catalog *c, const struct kind *k)
{
	assert(k->life || k->index < kind_count());
	return c->options->storage_version_hash && (k->life || c->options->common[k->index]) && kind_is_stored(k) &&
		(k->verbs & VERB_UPDATE);
}

/* Returns the version that all replicas store. */
static const struct version *stored_version(const struct catalog *c, const struct kind *k)
{
	return k->life ? kind_storage_version(k) : c->options->common[k->index];
}

static bool is_annals(const struct version *v)
{
	return strcmp(v->group, "annals.dev") == 0;
}

/* Adds short names. A short name leads to one resource: where upstream has the kind too, to
 * upstream's (kubectl warns of two, and `get all` shows both). */
static void add_nicknames(struct buf *out, const struct entry *e)
{
	bool has_upstream = false;

	for (size_t i = 0; i < e->kind->n_versions; i++) {
		has_upstream = has_upstream || !is_annals(&e->kind->versions[i]);
	}
	if (!has_upstream || !is_annals(e->version)) {
		add_strings(out, "shortNames", e->kind->short_names);
		add_strings(out, "categories", e->kind->categories);
	}
}

static void add_resource(struct buf *out, const struct catalog *c, const struct entry *e)
{
	const struct kind *k = e->kind;
	char hash[STORAGE_VERSION_HASH_SIZE];

	buf_addc(out, '{');
	add_string(out, "name", k->resource);
	buf_addc(out, ',');
	add_string(out, "singularName", k->singular);
	buf_printf(out, ",\"namespaced\":%s,", k->is_namespaced ? "true" : "false");
	add_string(out, "kind", k->kind);
	add_verbs_of(out, k);
	add_nicknames(out, e);
	if (has_hash(c, k)) {
		storage_version_hash(k, stored_version(c, k), hash);
		buf_addc(out, ',');
		add_string(out, "storageVersionHash", hash);
	}
	buf_addc(out, '}');
}

/* Neither the core group's list nor APIVersions has an apiVersion: upstream keeps the form of
 * release 1.1. */
static void write_resource_list(struct buf *out, const struct catalog *c, size_t first, size_t end)
{
	bool is_core = c->v[first].version->group[0] == '\0';

	buf_adds(out, is_core ? "{\"kind\":\"APIResourceList\"," : "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",");
	add_group_version(out, c->v[first].version);
	BUF_LITERAL(out, ",\"resources\":[");
	for (size_t i = first; i < end; i++) {
		const struct kind *k = c->v[i].kind;
		size_t n_subresources;
		_cleanup_(mem_freep) const struct subresource **subresources = sorted_subresources(&c->v[i], &n_subresources);
		buf_adds(out, i > first ? "," : "");
		add_resource(out, c, &c->v[i]);
		for (size_t j = 0; j < n_subresources; j++) {
			add_subresource(out, k, subresources[j]);
		}
	}
	BUF_LITERAL(out, "]}\n");
}

static void write_group(struct buf *out, const struct catalog *c, size_t first, size_t end)
{
	BUF_LITERAL(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
	add_group(out, c, first, end);
	BUF_LITERAL(out, "}\n");
}

static void write_group_list(struct buf *out, const struct catalog *c, size_t first)
{
	BUF_LITERAL(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
	for (size_t i = first, end; i < c->n; i = end) {
		end = run_end(c, i, is_same_group);
		buf_adds(out, i > first ? ",{" : "{");
		add_group(out, c, i, end);
		buf_addc(out, '}');
	}
	BUF_LITERAL(out, "]}\n");
}

static void write_core_versions(struct buf *out, const struct catalog *c, size_t end)
{
	BUF_LITERAL(out, "{\"kind\":\"APIVersions\",\"versions\":[");
	for (size_t i = 0; i < end; i = run_end(c, i, is_same_version)) {
		buf_adds(out, i > 0 ? "," : "");
		json_encode_string(out, str_of(c->v[i].version->name));
	}
	BUF_LITERAL(out, "],\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":");
	json_encode_string(out, c->options->server_address);
	BUF_LITERAL(out, "}]}\n");
}

/* ---- the aggregated form ---- */

/* Group and version only where they are not those of the list; of definitions always. */
static void add_response_kind(struct buf *out, const struct entry *e, const struct subresource *s)
{
	const struct kind *k = e->kind;
	const struct version *foreign = foreign_version(s), *v = !foreign && k->life ? e->version : foreign;

	BUF_LITERAL(out, ",\"responseKind\":{");
	add_string(out, "group", v ? v->group : "");
	buf_addc(out, ',');
	add_string(out, "version", v ? v->name : "");
	buf_addc(out, ',');
	add_string(out, "kind", subresource_kind(s, k)->kind);
	buf_addc(out, '}');
}

static void add_aggregated_subresources(struct buf *out, const struct entry *e)
{
	size_t n;
	_cleanup_(mem_freep) const struct subresource **subresources = sorted_subresources(e, &n);

	if (n == 0) {
		return;
	}
	BUF_LITERAL(out, ",\"subresources\":[");
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i > 0 ? ",{" : "{");
		add_string(out, "subresource", subresources[i]->name);
		add_response_kind(out, e, subresources[i]);
		add_verbs(out, subresources[i]->verbs);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_aggregated_resource(struct buf *out, const struct entry *e)
{
	const struct kind *k = e->kind;

	buf_addc(out, '{');
	add_string(out, "resource", k->resource);
	add_response_kind(out, e, NULL);
	buf_addc(out, ',');
	add_string(out, "scope", k->is_namespaced ? "Namespaced" : "Cluster");
	buf_addc(out, ',');
	add_string(out, "singularResource", k->singular);
	add_verbs_of(out, k);
	add_nicknames(out, e);
	add_aggregated_subresources(out, e);
	buf_addc(out, '}');
}

static void add_aggregated_version(struct buf *out, const struct catalog *c, size_t first, size_t end)
{
	buf_addc(out, '{');
	add_string(out, "version", c->v[first].version->name);
	BUF_LITERAL(out, ",\"resources\":[");
	for (size_t i = first; i < end; i++) {
		buf_adds(out, i > first ? "," : "");
		add_aggregated_resource(out, &c->v[i]);
	}
	BUF_LITERAL(out, "],\"freshness\":\"Current\"}");
}

static void add_aggregated_group(struct buf *out, const struct catalog *c, size_t first, size_t end)
{
	BUF_LITERAL(out, "{\"metadata\":{");
	if (c->v[first].version->group[0]) {
		add_string(out, "name", c->v[first].version->group);
	}
	BUF_LITERAL(out, "},\"versions\":[");
	for (size_t i = first, version_end; i < end; i = version_end) {
		version_end = run_end(c, i, is_same_version);
		buf_adds(out, i > first ? "," : "");
		add_aggregated_version(out, c, i, version_end);
	}
	BUF_LITERAL(out, "]}");
}

/* Writes the groups whose entries are [first, end). */
static void write_aggregated(struct buf *out, const struct catalog *c, size_t first, size_t end)
{
	BUF_LITERAL(out,
		"{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[");
	for (size_t i = first, group_end; i < end; i = group_end) {
		group_end = run_end(c, i, is_same_group);
		buf_adds(out, i > first ? "," : "");
		add_aggregated_group(out, c, i, group_end);
	}
	BUF_LITERAL(out, "]}\n");
}

/* ---- all documents ---- */

static void make_etag(char out[ETAG_SIZE], struct str body)
{
	unsigned char sum[SHA256_SIZE];

	sha256(body, sum);
	out[0] = '"';
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		snprintf(out + 1 + 2 * i, 3, "%02X", sum[i]);
	}
	out[ETAG_SIZE - 2] = '"';
	out[ETAG_SIZE - 1] = '\0';
}

/* Upstream's router knows "/api" and versions, with their methods; "/apis" and groups are plain handlers. */
static bool is_routed(struct str path)
{
	struct str group, version;

	return !str_starts(path, STR("/apis")) ||
		(path.n > 6 && str_cut((struct str){path.p + 6, path.n - 6}, '/', &group, &version));
}

/* Takes path and the contents of body. */
static void discovery_keep(struct discovery *d, char *path, struct buf *body, bool is_aggregated)
{
	if (d->n_documents == d->cap_documents) {
		d->cap_documents = MAX(2 * d->cap_documents, (size_t)64);
		d->documents = mem_realloc_array(d->documents, d->cap_documents, sizeof(*d->documents));
	}
	struct document *doc = &d->documents[d->n_documents++];
	*doc = (struct document){
		.path = path,
		.is_aggregated = is_aggregated,
		.only_get = is_routed(str_of(path)),
		.body = bytes_dup(buf_str(body)),
	};
	if (is_aggregated) {
		make_etag(doc->etag, buf_str(body));
	}
	buf_clear(body);
}

static void make_version_documents(struct discovery *d, const struct catalog *c, struct buf *body)
{
	for (size_t i = 0, end; i < c->n; i = end) {
		const struct version *version = c->v[i].version;
		end = run_end(c, i, is_same_version);
		write_resource_list(body, c, i, end);
		discovery_keep(d, mem_printf("%s%s/%s", version->group[0] ? "/apis/" : "/api", version->group, version->name),
			body, false);
	}
}

static void make_group_documents(struct discovery *d, const struct catalog *c, size_t first, struct buf *body)
{
	for (size_t i = first, end; i < c->n; i = end) {
		end = run_end(c, i, is_same_group);
		write_group(body, c, i, end);
		discovery_keep(d, mem_printf("/apis/%s", c->v[i].version->group), body, false);
	}
}

/* The core group, whose name is empty, sorts first. */
static void make_root_documents(struct discovery *d, const struct catalog *c, size_t core_end, struct buf *body)
{
	write_group_list(body, c, core_end);
	discovery_keep(d, mem_strdup("/apis"), body, false);
	write_aggregated(body, c, core_end, c->n);
	discovery_keep(d, mem_strdup("/apis"), body, true);
	if (core_end == 0) {
		return;
	}
	write_core_versions(body, c, core_end);
	discovery_keep(d, mem_strdup("/api"), body, false);
	write_aggregated(body, c, 0, core_end);
	discovery_keep(d, mem_strdup("/api"), body, true);
}

struct discovery *discovery_new(const struct discovery_options *options)
{
	assert(options->common && kind_count() <= KIND_COUNT_MAX);
	struct discovery *d = mem_new(struct discovery);
	struct catalog c;
	struct buf body;

	atomic_init(&d->refs, 1);
	memcpy(d->common, options->common, kind_count() * sizeof(struct version *));
	d->defined = kinds_ref(options->defined);
	catalog_init(&c, options);
	buf_init(&body, DOCUMENT_MAX);
	size_t core_end = c.n > 0 && c.v[0].version->group[0] == '\0' ? run_end(&c, 0, is_same_group) : 0;
	make_root_documents(d, &c, core_end, &body);
	make_group_documents(d, &c, core_end, &body);
	make_version_documents(d, &c, &body);
	buf_done(&body);
	mem_free(c.v);
	return d;
}

struct discovery *discovery_ref(struct discovery *d)
{
	assert(atomic_load_explicit(&d->refs, memory_order_relaxed) > 0);
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return d;
}

bool discovery_shows(const struct discovery *d, const struct version *const *common, const struct kinds *defined)
{
	return d->defined == defined && memcmp(d->common, common, kind_count() * sizeof(struct version *)) == 0;
}

struct discovery *discovery_unref(struct discovery *d)
{
	assert(!d || atomic_load_explicit(&d->refs, memory_order_relaxed) > 0);
	if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1) {
		return NULL;
	}
	for (size_t i = 0; i < d->n_documents; i++) {
		mem_free(d->documents[i].path);
		bytes_unref(d->documents[i].body);
	}
	mem_free(d->documents);
	kinds_unref(d->defined);
	return mem_free(d);
}

bool discovery_find(struct discovery_answer *ret, const struct discovery *d, struct str path, bool is_aggregated)
{
	for (size_t i = 0; i < d->n_documents; i++) {
		const struct document *doc = &d->documents[i];
		if (doc->is_aggregated == is_aggregated && str_is(path, doc->path)) {
			*ret = (struct discovery_answer){
				.body = doc->body,
				.etag = str_of(doc->etag),
				.is_public = is_aggregated,
				.only_get = doc->only_get,
			};
			return true;
		}
	}
	return false;
}

/* "/apis/apps" of "/apis/apps/v1/anything", "/api" of "/api/v1/anything". */
static struct str group_path(struct str path)
{
	static const struct str groups = {"/apis/", 6};
	size_t skip = str_starts(path, groups) ? groups.n : 1;
	const char *slash = path.n > skip ? memchr(path.p + skip, '/', path.n - skip) : NULL;

	return slash ? (struct str){path.p, (size_t)(slash - path.p)} : path;
}

bool discovery_has_group(const struct discovery *d, struct str path)
{
	struct discovery_answer answer;

	return discovery_find(&answer, d, group_path(path), false);
}

bool discovery_next_path(const struct discovery *d, size_t *i, struct str *ret)
{
	assert(*i <= d->n_documents);
	while (*i < d->n_documents && d->documents[*i].is_aggregated) {
		(*i)++;
	}
	if (*i == d->n_documents) {
		return false;
	}
	*ret = str_of(d->documents[(*i)++].path);
	return true;
}
