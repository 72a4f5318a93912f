/* Both versions of OpenAPI describe the same operations, so these are tables here: verbs by level
 * of a path, parameters by what takes them. Names of operations are upstream's, because generated
 * clients have functions of these names. */
#include "api/model/protobuf_write.h"
#include "server/discovery/openapi_build.h"

#include <ctype.h>

const char *const openapi_patch_types[] = {"application/apply-patch+yaml", "application/json-patch+json",
	"application/merge-patch+json", "application/strategic-merge-patch+json", NULL};
static const char *const media_types[] = {"application/json", "application/yaml", NULL};
static const char *const media_types_protobuf[] = {
	"application/json", "application/vnd.kubernetes.protobuf", "application/yaml", NULL};
const char *const openapi_diff_types[] = {"application/json", "application/json-patch+json", "application/merge-patch+json",
	"application/vnd.annals.hunks+json", NULL};
static const char *const list_media_types[] = {"application/json", "application/json;stream=watch", "application/yaml", NULL};
static const char *const list_media_types_protobuf[] = {"application/json", "application/json;stream=watch",
	"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch", "application/yaml", NULL};

/* By name. */
const struct openapi_parameter openapi_parameters[] = {
	{"allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks, which only say how far it has come.",
		PARAMETERS_WATCH},
	{"context", "string", "In hunks, how many lines are shown around each change: 3, another number, or all.",
		PARAMETERS_DIFF},
	{"continue", "string", "What the part of the list before this one said in metadata.continue.", PARAMETERS_SELECT},
	{"dryRun", "string", "All: go through all steps, but store nothing.", PARAMETERS_WRITE | PARAMETERS_DELETE},
	{"fieldManager", "string", "Who makes the change, for metadata.managedFields; required to apply.", PARAMETERS_WRITE},
	{"fieldSelector", "string", "Only objects whose fields match: metadata.name=a,metadata.namespace!=b.",
		PARAMETERS_SELECT},
	{"fieldValidation", "string", "What unknown and repeated fields do: Ignore, Warn (default) or Strict.",
		PARAMETERS_WRITE},
	{"force", "boolean", "Whether to take over, when applying, fields that others own.", PARAMETERS_APPLY},
	{"from", "string", "Name of the object with which to compare; must be said.", PARAMETERS_DIFF},
	{"gracePeriodSeconds", "integer", "How long the object may take to stop.", PARAMETERS_DELETE},
	{"labelSelector", "string", "Only objects whose labels match: app=web,tier in (a, b),!canary.", PARAMETERS_SELECT},
	{"limit", "integer", "How many objects to answer at most; metadata.continue then leads to the rest.",
		PARAMETERS_SELECT},
	{"name", "string", "Name of the object.", PARAMETERS_NAME},
	{"namespace", "string", "Namespace of the objects.", PARAMETERS_NAMESPACE},
	{"orphanDependents", "boolean", "Whether dependents are kept. Superseded by propagationPolicy.", PARAMETERS_DELETE},
	{"pretty", "string", "true: indent the answer. Done unasked for browsers, curl and Wget.", PARAMETERS_EVERYWHERE},
	{"propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground.", PARAMETERS_DELETE},
	{"resourceVersion", "string", "Which version of the collection to read, or where to begin a watch.", PARAMETERS_SELECT},
	{"resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan.", PARAMETERS_SELECT},
	{"sendInitialEvents", "boolean", "Whether a watch begins with what is there.", PARAMETERS_SELECT},
	{"timeoutSeconds", "integer", "How long the request may take, watches included.", PARAMETERS_SELECT},
	{"watch", "boolean", "Answer the changes as they come rather than a list.", PARAMETERS_WATCH},
	{0},
};

/* ---- verbs ---- */

static const struct openapi_verb collection_verbs[] = {
	{VERB_LIST, "get", "list", "list", "list or watch objects of kind %s", PARAMETERS_SELECT | PARAMETERS_WATCH,
		PAYLOAD_NONE, PAYLOAD_LIST, false, false},
	{VERB_CREATE, "post", "post", "create", "create an object of kind %s", PARAMETERS_WRITE, PAYLOAD_OBJECT, PAYLOAD_OBJECT,
		true, true},
	{VERB_DELETECOLLECTION, "delete", "deletecollection", "delete", "delete all selected objects of kind %s",
		PARAMETERS_SELECT | PARAMETERS_DELETE, PAYLOAD_DELETE_OPTIONS, PAYLOAD_STATUS, false, false},
	{0},
};

static const struct openapi_verb all_namespaces_verbs[] = {
	{VERB_LIST, "get", "list", "list", "list or watch objects of kind %s in all namespaces",
		PARAMETERS_SELECT | PARAMETERS_WATCH, PAYLOAD_NONE, PAYLOAD_LIST, false, false},
	{0},
};

/* And of subresources, which alone can be posted to. */
static const struct openapi_verb object_verbs[] = {
	{VERB_GET, "get", "get", "read", "read an object of kind %s", 0, PAYLOAD_NONE, PAYLOAD_OBJECT, false, false},
	{VERB_CREATE, "post", "post", "create", "create an object of kind %s", PARAMETERS_WRITE, PAYLOAD_OBJECT, PAYLOAD_OBJECT,
		true, true},
	{VERB_UPDATE, "put", "put", "replace", "replace an object of kind %s", PARAMETERS_WRITE, PAYLOAD_OBJECT, PAYLOAD_OBJECT,
		true, false},
	{VERB_DELETE, "delete", "delete", "delete", "delete an object of kind %s", PARAMETERS_DELETE, PAYLOAD_DELETE_OPTIONS,
		PAYLOAD_STATUS, false, true},
	{VERB_PATCH, "patch", "patch", "patch", "change parts of an object of kind %s", PARAMETERS_WRITE | PARAMETERS_APPLY,
		PAYLOAD_PATCH, PAYLOAD_OBJECT, true, false},
	{0},
};

static const struct openapi_verb *const verbs_of_level[] = {
	[LEVEL_COLLECTION] = collection_verbs,
	[LEVEL_ALL_NAMESPACES] = all_namespaces_verbs,
	[LEVEL_OBJECT] = object_verbs,
	[LEVEL_SUBRESOURCE] = object_verbs,
};

static unsigned path_verbs(const struct openapi_path *p)
{
	unsigned own = p->level == LEVEL_OBJECT ? p->kind->verbs & ~(unsigned)VERB_CREATE : p->kind->verbs;

	return p->sub ? p->sub->verbs : own;
}

const struct openapi_verb *openapi_next_verb(const struct openapi_path *p, const struct openapi_verb *v)
{
	v = v ? v + 1 : verbs_of_level[p->level];
	while (v->method && !(path_verbs(p) & v->verb)) {
		v++;
	}
	return v->method ? v : NULL;
}

enum openapi_payload openapi_answer_of(const struct openapi_path *p, const struct openapi_verb *v)
{
	if (p->sub && p->sub->is_diff) {
		return PAYLOAD_PATCH;
	}
	return v->verb == VERB_DELETE && p->kind->delete_answers_object ? PAYLOAD_OBJECT : v->answer;
}

const char *const *openapi_answer_types(const struct openapi_path *p, const struct openapi_verb *v)
{
	if (p->sub && p->sub->is_diff) {
		return openapi_diff_types;
	}
	if (protobuf_has_objects(p->kind, p->door)) {
		return v->answer == PAYLOAD_LIST ? list_media_types_protobuf : media_types_protobuf;
	}
	return v->answer == PAYLOAD_LIST ? list_media_types : media_types;
}

/* ---- paths ---- */

struct path_level {
	enum openapi_level level;
	const char *format; /* root, resource, subresource */
	unsigned parameters;
};

static const struct path_level namespaced_levels[] = {
	{LEVEL_ALL_NAMESPACES, "%s/%s", 0},
	{LEVEL_COLLECTION, "%s/namespaces/{namespace}/%s", PARAMETERS_NAMESPACE},
	{LEVEL_OBJECT, "%s/namespaces/{namespace}/%s/{name}", PARAMETERS_NAMESPACE | PARAMETERS_NAME},
	{LEVEL_SUBRESOURCE, "%s/namespaces/{namespace}/%s/{name}/%s", PARAMETERS_NAMESPACE | PARAMETERS_NAME},
};

static const struct path_level cluster_levels[] = {
	{LEVEL_COLLECTION, "%s/%s", 0},
	{LEVEL_OBJECT, "%s/%s/{name}", PARAMETERS_NAME},
	{LEVEL_SUBRESOURCE, "%s/%s/{name}/%s", PARAMETERS_NAME},
};

/* The patterns of the tables above, filled in: %s by %s. */
static char *fill_in(struct arena *a, const char *format, const char *const parts[])
{
	struct buf out;

	buf_init(&out, 4096);
	for (const char *p = format; *p; p++) {
		if (p[0] == '%' && p[1] == 's') {
			buf_adds(&out, *parts++);
			p++;
		} else {
			buf_addc(&out, *p);
		}
	}
	char *path = arena_strdup(a, out.p);
	buf_done(&out);
	return path;
}

struct path_walk {
	struct openapi_builder *builder;
	const char *root; /* "/apis/apps/v1" */
	void (*add)(void *ctx, const struct openapi_path *path);
	void *ctx;
};

static void walk_path(struct path_walk *w, const struct path_level *level, struct openapi_path *p)
{
	const char *const parts[] = {w->root, p->kind->resource, p->sub ? p->sub->name : NULL};

	p->path = fill_in(w->builder->arena, level->format, parts);
	p->level = level->level;
	p->parameters = level->parameters | PARAMETERS_EVERYWHERE | (p->sub && p->sub->is_diff ? PARAMETERS_DIFF : 0U);
	if (openapi_next_verb(p, NULL)) {
		w->add(w->ctx, p);
	}
}

static void walk_subresources(struct path_walk *w, const struct path_level *level, struct openapi_path *p)
{
	for (size_t i = 0; i < p->kind->n_subresources; i++) {
		p->sub = &p->kind->subresources[i];
		if (subresource_is_visible(p->sub, p->kind, p->door)) {
			walk_path(w, level, p);
		}
	}
	p->sub = NULL;
}

void openapi_each_path(struct openapi_builder *b, const struct kind *kind, const struct door *door,
	void (*add)(void *ctx, const struct openapi_path *path), void *ctx)
{
	const struct path_level *levels = kind->is_namespaced ? namespaced_levels : cluster_levels;
	size_t n = kind->is_namespaced ? ARRAY_SIZE(namespaced_levels) : ARRAY_SIZE(cluster_levels);
	struct str version = door_api_version(door, b->arena);
	struct path_walk w = {
		.builder = b,
		.root = arena_printf(b->arena, "%s" STR_FMT, door->group[0] ? "/apis/" : "/api/", STR_ARG(version)).p,
		.add = add,
		.ctx = ctx,
	};
	struct openapi_path p = {.kind = kind, .door = door};

	for (size_t i = 0; i < n; i++) {
		if (levels[i].level == LEVEL_SUBRESOURCE) {
			walk_subresources(&w, &levels[i], &p);
		} else {
			walk_path(&w, &levels[i], &p);
		}
	}
}

/* ---- names ---- */

static void add_capitalized(struct buf *out, struct str s)
{
	if (s.n > 0) {
		buf_addc(out, (char)toupper((unsigned char)s.p[0]));
		buf_add(out, s.p + 1, s.n - 1);
	}
}

/* "annals.dev" is AnnalsDev, "coordination.k8s.io" Coordination, "" Core. */
static void add_group(struct buf *out, const char *group)
{
	struct str rest = str_of(group[0] ? group : "core"), part;

	if (str_ends(rest, STR(".k8s.io"))) {
		rest.n -= strlen(".k8s.io");
	}
	while (rest.n > 0) {
		str_cut(rest, '.', &part, &rest);
		add_capitalized(out, part);
	}
}

static const char *take_text(struct openapi_builder *b, struct buf *text)
{
	const char *copy = arena_strdup(b->arena, text->p);

	buf_done(text);
	return copy;
}

const char *openapi_operation_id(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	struct buf id;

	buf_init(&id, 1024);
	buf_adds(&id, v->id);
	add_group(&id, p->door->group);
	add_capitalized(&id, str_of(p->door->version));
	buf_adds(&id, v->verb == VERB_DELETECOLLECTION ? "Collection" : "");
	buf_adds(&id, p->parameters & PARAMETERS_NAMESPACE ? "Namespaced" : "");
	buf_adds(&id, p->kind->kind);
	if (p->sub) {
		add_capitalized(&id, str_of(p->sub->name));
	}
	buf_adds(&id, p->level == LEVEL_ALL_NAMESPACES ? "ForAllNamespaces" : "");
	return take_text(b, &id);
}

const char *openapi_operation_doc(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v)
{
	const char *const parts[] = {p->kind->kind};
	const char *doc = fill_in(b->arena, v->doc, parts);

	return p->sub ? arena_printf(b->arena, "%s through its subresource %s", doc, p->sub->name).p : doc;
}

struct json *openapi_path_gvk(struct openapi_builder *b, const struct openapi_path *p)
{
	const struct door *d = subresource_door(p->sub, p->door);

	return openapi_gvk(b, d->group, d->version, subresource_kind(p->sub, p->kind)->kind);
}

const char *openapi_tag(struct openapi_builder *b, const struct door *door)
{
	struct buf tag;

	buf_init(&tag, 1024);
	add_group(&tag, door->group);
	tag.p[0] = (char)tolower((unsigned char)tag.p[0]);
	buf_addc(&tag, '_');
	buf_adds(&tag, door->version);
	return take_text(b, &tag);
}

/* ---- payloads ---- */

struct json *openapi_payload_ref(struct openapi_builder *b, const struct openapi_path *p, enum openapi_payload payload)
{
	switch (payload) {
	case PAYLOAD_OBJECT:
		return openapi_define_kind(b, subresource_kind(p->sub, p->kind), subresource_door(p->sub, p->door));
	case PAYLOAD_LIST:
		return openapi_define_list(b, p->kind, p->door);
	case PAYLOAD_PATCH:
		return openapi_define(b, type_patch.definition, &type_patch);
	case PAYLOAD_DELETE_OPTIONS:
		return openapi_define_options(b);
	case PAYLOAD_STATUS:
		return openapi_define_status(b);
	case PAYLOAD_NONE:
		break;
	}
	return json_null(b->arena);
}
