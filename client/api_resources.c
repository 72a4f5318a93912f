/* This file reads discovery in the aggregated form and group by group: servers before Kubernetes
 * 1.30, and small ones, lack v2 of the aggregated form. A version that cannot be read is
 * recorded as a failure, as in client-go: the garbage collector must distinguish "not served"
 * from "not known". */
#include "client/api_resources.h"

#include "api/model/members.h"

enum {
	/* Ceilings against a server gone wrong: a large cluster's discovery has a few MiB, and
	 * some thousand resources. */
	DOCUMENTS_MAX = 256 << 20,  /* bytes */
	RESOURCES_MAX = 100 * 1000, /* further resources, or failures, are left out */
	/* A longer path of a group and version counts as an answer that is too big. */
	PATH_BYTES_MAX = 4096,
};

#define ACCEPT_AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

static const struct {
	const char *name;
	enum api_verb verb;
} verbs[] = {
	{"create", API_CREATE},
	{"delete", API_DELETE},
	{"deletecollection", API_DELETECOLLECTION},
	{"get", API_GET},
	{"list", API_LIST},
	{"patch", API_PATCH},
	{"update", API_UPDATE},
	{"watch", API_WATCH},
};

static uint32_t count(const struct json *array)
{
	return json_is(array, JSON_ARRAY) ? array->n : 0;
}

static bool is_true(const struct json *j)
{
	return json_is(j, JSON_BOOL) && j->boolean;
}

/* ---- adding up ---- */

static unsigned read_verbs(const struct json *names)
{
	unsigned all = 0;
	for (uint32_t i = 0; i < count(names); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(verbs); k++) {
			all |= str_is(json_text(names->items[i]), verbs[k].name) ? (unsigned)verbs[k].verb : 0;
		}
	}
	return all;
}

static struct str read_short_names(struct discovery *d, const struct json *names)
{
	struct str all = {"", 0};
	for (uint32_t i = 0; i < count(names); i++) {
		all = arena_printf(
			&d->arena, STR_FMT "%s" STR_FMT, STR_ARG(all), i ? "," : "", STR_ARG(json_text(names->items[i])));
	}
	return all;
}

static struct api_resource *find_preferred(struct discovery *d, struct str group, struct str plural)
{
	for (size_t i = d->n; i > 0 && str_eq(d->resources[i - 1].resource.group, group); i--) {
		struct api_resource *r = &d->resources[i - 1];
		if (r->is_preferred && str_eq(r->resource.plural, plural)) {
			return r;
		}
	}
	return NULL;
}

/* Adds a resource to d. The caller adds all resources of a group one after the other. */
static void add_resource(struct discovery *d, struct api_resource r, bool is_preferred_version)
{
	struct api_resource *preferred = find_preferred(d, r.resource.group, r.resource.plural);
	if (d->n == RESOURCES_MAX) {
		return;
	}
	r.is_preferred = !preferred || is_preferred_version;
	if (preferred && r.is_preferred) {
		preferred->is_preferred = false;
	}
	r.resource.group = arena_dup(&d->arena, r.resource.group);
	r.resource.version = arena_dup(&d->arena, r.resource.version);
	r.resource.plural = arena_dup(&d->arena, r.resource.plural);
	r.kind = arena_dup(&d->arena, r.kind);
	r.singular = arena_dup(&d->arena, r.singular);
	d->resources = mem_realloc_array(d->resources, d->n + 1, sizeof(*d->resources));
	d->resources[d->n++] = r;
}

static void add_failure(struct discovery *d, struct str group, struct str version, struct str message)
{
	if (d->n_failures < RESOURCES_MAX) {
		d->failures = mem_realloc_array(d->failures, d->n_failures + 1, sizeof(*d->failures));
		d->failures[d->n_failures++] = (struct discovery_failure){
			arena_dup(&d->arena, group), arena_dup(&d->arena, version), arena_dup(&d->arena, message)};
	}
}

/* ---- the aggregated form ---- */

static void read_version(struct discovery *d, struct str group, const struct json *v)
{
	struct str version = member_text(v, "version");
	const struct json *resources = json_gets(v, "resources");
	/* The aggregator marks a server that did not answer as "Stale": the resources it lists
	 * may be gone. */
	if (str_is(member_text(v, "freshness"), "Stale")) {
		add_failure(d, group, version,
			arena_printf(&d->arena, "stale GroupVersion discovery: " STR_FMT "%s" STR_FMT, STR_ARG(group),
				group.n ? "/" : "", STR_ARG(version)));
		return;
	}
	for (uint32_t i = 0; i < count(resources); i++) {
		const struct json *r = resources->items[i];
		struct str kind = member_text(json_gets(r, "responseKind"), "kind");
		if (kind.n) {
			add_resource(d,
				(struct api_resource){.resource = {group, version, member_text(r, "resource")},
					.kind = kind,
					.singular = member_text(r, "singularResource"),
					.short_names = read_short_names(d, json_gets(r, "shortNames")),
					.is_namespaced = str_is(member_text(r, "scope"), "Namespaced"),
					.verbs = read_verbs(json_gets(r, "verbs"))},
				false);
		}
	}
}

static void read_aggregated(struct discovery *d, const struct json *list)
{
	const struct json *groups = json_gets(list, "items");
	for (uint32_t i = 0; i < count(groups); i++) {
		struct str name = member_text(json_gets(groups->items[i], "metadata"), "name");
		const struct json *versions = json_gets(groups->items[i], "versions");
		for (uint32_t k = 0; k < count(versions); k++) {
			read_version(d, name, versions->items[k]);
		}
	}
}

/* ---- group by group ---- */

static void read_resources(
	struct discovery *d, struct str group, struct str version, const struct json *list, bool is_preferred)
{
	const struct json *resources = json_gets(list, "resources");
	for (uint32_t i = 0; i < count(resources); i++) {
		const struct json *r = resources->items[i];
		struct str plural = member_text(r, "name");
		if (!str_contains(plural, STR("/"))) {
			add_resource(d,
				(struct api_resource){.resource = {group, version, plural},
					.kind = member_text(r, "kind"),
					.singular = member_text(r, "singularName"),
					.short_names = read_short_names(d, json_gets(r, "shortNames")),
					.is_namespaced = is_true(json_gets(r, "namespaced")),
					.verbs = read_verbs(json_gets(r, "verbs"))},
				is_preferred);
		}
	}
}

static int discovery_get(struct client *c, const char *path, struct answer *ret)
{
	return rest_do(c, &(struct rest_call){.method = "GET", .path = path, .accept = ACCEPT_AGGREGATED}, ret);
}

/* Fetches one group version. A server's refusal is recorded in d; only a stopped client ends the
 * whole discovery. */
static int fetch_version(struct client *c, struct discovery *d, struct str group, struct str version, bool is_preferred)
{
	struct answer a;
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, PATH_BYTES_MAX);
	buf_printf(&path, "%s" STR_FMT "/" STR_FMT, group.n ? "/apis/" : "/api", STR_ARG(group), STR_ARG(version));
	answer_init(&a);
	int r = path.is_over ? REST_TOO_BIG : discovery_get(c, path.p, &a);
	/* The member decides, not the kind: servers that are written by hand may leave out the
	 * kind. */
	if (!r && !json_gets(a.body, "resources")) {
		add_failure(d, group, version, STR("the answer is not a list of resources"));
	} else if (!r) {
		read_resources(d, group, version, a.body, is_preferred);
	} else if (r != REST_STOPPED) {
		add_failure(d, group, version, a.message);
	}
	answer_done(&a);
	return r == REST_STOPPED ? r : 0;
}

/* /api: names of versions. */
static int fetch_core(struct client *c, struct discovery *d, const struct json *root)
{
	const struct json *versions = json_gets(root, "versions");
	int r = 0;
	for (uint32_t i = 0; i < count(versions) && !r; i++) {
		r = fetch_version(c, d, (struct str){"", 0}, json_text(versions->items[i]), i == 0);
	}
	return r;
}

static int fetch_group(struct client *c, struct discovery *d, const struct json *group)
{
	const struct json *versions = json_gets(group, "versions");
	struct str preferred = member_text(json_gets(group, "preferredVersion"), "version");
	int r = 0;
	for (uint32_t i = 0; i < count(versions) && !r; i++) {
		struct str version = member_text(versions->items[i], "version");
		r = fetch_version(c, d, member_text(group, "name"), version, str_eq(version, preferred));
	}
	return r;
}

static int fetch_groups(struct client *c, struct discovery *d, const struct json *root)
{
	const struct json *groups = json_gets(root, "groups");
	int r = 0;
	for (uint32_t i = 0; i < count(groups) && !r; i++) {
		r = fetch_group(c, d, groups->items[i]);
	}
	return r;
}

/* ---- all of it ---- */

void discovery_init(struct discovery *d)
{
	*d = (struct discovery){0};
	arena_init(&d->arena, DOCUMENTS_MAX);
}

void discovery_done(struct discovery *d)
{
	mem_free(d->resources);
	mem_free(d->failures);
	arena_done(&d->arena);
	discovery_init(d);
}

static int fetch_root(struct client *c, struct discovery *d, const char *path,
	int (*in_pieces)(struct client *c, struct discovery *d, const struct json *root), struct answer *a)
{
	int r = discovery_get(c, path, a);
	if (r) {
		return r;
	}
	struct str kind = member_text(a->body, "kind");
	if (str_is(kind, "APIGroupDiscoveryList")) {
		read_aggregated(d, a->body);
		return 0;
	}
	/* Without this check, any other document would seem to say that nothing is served. */
	if (!str_is(kind, "APIVersions") && !str_is(kind, "APIGroupList")) {
		a->message = STR("the answer is not a discovery document");
		return REST_GARBLED;
	}
	return in_pieces(c, d, a->body);
}

int discovery_fetch(struct client *c, struct discovery *d, struct answer *ret_answer)
{
	discovery_done(d);
	int r = fetch_root(c, d, "/api", fetch_core, ret_answer);
	/* A 404 comes from a server that has groups alone, or from a proxy that answers 404 for
	 * all paths. The failure keeps callers from concluding that Pods are no longer served. */
	if (r == REST_STATUS && ret_answer->code == 404) {
		add_failure(d, (struct str){"", 0}, STR("v1"), ret_answer->message);
		r = 0;
	}
	r = r ? r : fetch_root(c, d, "/apis", fetch_groups, ret_answer);
	if (r) {
		discovery_done(d);
	}
	return r;
}

/* ---- questions ---- */

const struct api_resource *discovery_find_kind(const struct discovery *d, struct str api_version, struct str kind)
{
	struct str group, version;
	if (!str_cut(api_version, '/', &group, &version)) {
		version = api_version;
		group = (struct str){NULL, 0};
	}
	for (size_t i = 0; i < d->n; i++) {
		const struct api_resource *r = &d->resources[i];
		if (str_eq(r->kind, kind) && str_eq(r->resource.version, version) && str_eq(r->resource.group, group)) {
			return r;
		}
	}
	return NULL;
}

const struct api_resource *discovery_find_resource(const struct discovery *d, const struct resource *wanted)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct resource *r = &d->resources[i].resource;
		if (str_eq(r->plural, wanted->plural) && str_eq(r->version, wanted->version) &&
			str_eq(r->group, wanted->group)) {
			return &d->resources[i];
		}
	}
	return NULL;
}

bool discovery_has_failed(const struct discovery *d, struct str group, struct str version)
{
	for (size_t i = 0; i < d->n_failures; i++) {
		if (str_eq(d->failures[i].group, group) && str_eq(d->failures[i].version, version)) {
			return true;
		}
	}
	return false;
}
