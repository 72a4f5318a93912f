/* Implements a Dependent as a ConfigMap with the same name, owned by it. The ConfigMap has one
 * key for each object that the Dependent refers to; the value is the object's data as JSON. */
#include "api/model/members.h"
#include "controllers/dependents/configmap_plan.h"
#include "controllers/dependents/implementer.h"
#include "controllers/kit/meta.h"

/* Bytes of one ConfigMap that is created or filled: etcd takes 1.5 MiB. */
enum { SCRATCH_MAX = 64 << 20 };

static const struct resource configmaps = {{"", 0}, {"v1", 2}, {"configmaps", 10}};

void place_init(struct place *p)
{
	p->state = PLACE_NONE;
	answer_init(&p->object);
}

void place_done(struct place *p)
{
	answer_done(&p->object);
}

static struct target target_of(const struct item *dependent, struct str name)
{
	return (struct target){.resource = &configmaps, .namespace = dependent->namespace, .name = name};
}

static int configmap_find(struct client *c, const struct item *dependent, struct place *ret)
{
	const struct target t = target_of(dependent, dependent->name);
	int r = rest_get(c, &t, &ret->object);
	ret->state = r ? PLACE_NONE : configmap_state(ret->object.body, dependent->uid);
	return r == REST_STATUS && answer_is_absent(&ret->object, &t) ? 0 : r;
}

static int reserve(struct client *c, const struct item *dependent, struct place *ret)
{
	const struct target t = target_of(dependent, (struct str){NULL, 0});
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	int r = rest_create(c, &t, configmap_empty(&scratch, dependent), &ret->object);
	ret->state = r ? PLACE_NONE : PLACE_EMPTY;
	return r;
}

static bool is_made_from(const struct place *p, const struct provided *provided, struct str uid)
{
	return p->state == PLACE_FILLED && configmap_is_made_from(p->object.body, provided, uid);
}

static int configmap_write(struct client *c, const struct item *dependent, struct place *p, const struct json *filled)
{
	const struct target t = target_of(dependent, dependent->name);
	struct answer now;
	answer_init(&now);
	int r = rest_update(c, &t, filled, &now);
	answer_done(&p->object);
	p->object = now;
	p->state = r ? p->state : PLACE_FILLED;
	return r;
}

static int fill(struct client *c, const struct item *dependent, struct place *p, const struct provision *v, size_t n, struct buf *why)
{
	const struct json *filled = NULL;
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	if (!configmap_filled(&scratch, p->object.body, v, n, &filled, why)) {
		return IMPLEMENTER_UNFIT;
	}
	return filled ? configmap_write(c, dependent, p, filled) : 0;
}

/* A finalizer may hold the ConfigMap back, so it is read again after the deletion. */
static int withdraw(struct client *c, const struct item *dependent, struct place *p)
{
	const struct target t = target_of(dependent, dependent->name);
	struct delete_options options = DELETE_OPTIONS_DEFAULT;
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(mem_freep) char *uid = NULL;
	struct str of = member_text(json_gets(p->object.body, "metadata"), "uid");
	answer_init(&answer);
	if (!of.n) {
		return REST_GARBLED;
	}
	uid = mem_strndup(of.p, of.n);
	options.uid = str_of(uid);
	options.propagation = "Background";
	int r = rest_delete(c, &t, &options, &answer);
	return r && !answer_is_absent(&answer, &t) ? r : configmap_find(c, dependent, p);
}

const struct implementer configmap_implementer = {
	.kind = "ConfigMap",
	.resource = &configmaps,
	.label_selector = CONFIGMAP_LABEL "=" CONFIGMAP_LABEL_VALUE,
	.find = configmap_find,
	.reserve = reserve,
	.is_made_from = is_made_from,
	.fill = fill,
	.withdraw = withdraw,
};

/* ---- decisions ---- */

/* The contents of a ConfigMap that is made from Providers, and whether it is up to date; no requests. Only its
 * annotation marks it as complete: one write fills and marks it, so it is never filled without the mark. */
enum {
	NAME_MAX_BYTES = 253, /* of a key, Kubernetes' */
	DATA_MAX = 1 << 20,   /* of all keys and values, Kubernetes' */
};

static const struct json *meta_of(const struct json *object)
{
	return json_gets(object, "metadata");
}

/* ---- what is there ---- */

static const struct json *controller_of(const struct json *configmap)
{
	const struct json *owners = json_gets(meta_of(configmap), "ownerReferences"), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (member_is_true(owner, "controller")) {
			return owner;
		}
	}
	return NULL;
}

static struct str made_from(const struct json *configmap)
{
	return member_text(json_gets(meta_of(configmap), "annotations"), CONFIGMAP_MADE_FROM);
}

enum place_state configmap_state(const struct json *configmap, struct str dependent_uid)
{
	if (!dependent_uid.n || !str_eq(member_text(controller_of(configmap), "uid"), dependent_uid)) {
		return PLACE_TAKEN;
	}
	return made_from(configmap).n ? PLACE_FILLED : PLACE_EMPTY;
}

static void write_source(struct buf *out, const struct provided *p, struct str uid)
{
	buf_printf(out, "%s%s/" STR_FMT "/" STR_FMT, out->n ? " " : "", p->kind->kind, STR_ARG(p->name), STR_ARG(uid));
}

bool configmap_is_made_from(const struct json *configmap, const struct provided *provided, struct str uid)
{
	struct str rest = made_from(configmap), one;
	bool is_found = false;
	_cleanup_(buf_done) struct buf wanted;
	buf_init(&wanted, PROVIDED_KEY_MAX);
	write_source(&wanted, provided, uid);
	while (rest.n && !is_found) {
		str_cut(rest, ' ', &one, &rest);
		is_found = str_eq(one, buf_str(&wanted));
	}
	return is_found;
}

/* ---- what should be ---- */

static void add_text(struct arena *a, struct json *object, const char *name, const char *text)
{
	json_add(a, object, str_of(name), json_string(a, str_of(text)));
}

static struct json *owned_by(struct arena *a, const struct item *dependent)
{
	const struct gc_ref owner = {
		.api_version = STR("annals.dev/v1"), .kind = STR("Dependent"), .name = dependent->name, .uid = dependent->uid};
	struct json *owners = json_array(a);
	json_append(a, owners, json_meta_controlled_by(&owner, a));
	return owners;
}

const struct json *configmap_empty(struct arena *a, const struct item *dependent)
{
	struct json *configmap = json_object(a), *meta = json_object(a), *labels = json_object(a);
	add_text(a, configmap, "apiVersion", "v1");
	add_text(a, configmap, "kind", "ConfigMap");
	json_add(a, configmap, STR("metadata"), meta);
	json_add(a, meta, STR("name"), json_string(a, dependent->name));
	json_add(a, meta, STR("namespace"), json_string(a, dependent->namespace));
	json_add(a, meta, STR("labels"), labels);
	add_text(a, labels, CONFIGMAP_LABEL, CONFIGMAP_LABEL_VALUE);
	json_add(a, meta, STR("ownerReferences"), owned_by(a, dependent));
	return configmap;
}

/* The key of a Provider is its name. Names have no "_", so no Provider's key equals that of a
 * revision. */
static struct str key_of(struct arena *a, const struct provided *p)
{
	return strcmp(p->kind->kind, "Provider") == 0 ? p->name : arena_printf(a, "revision_" STR_FMT, STR_ARG(p->name));
}

static bool add_provision(struct arena *a, struct json *data, const struct provision *v, size_t *n_bytes, struct buf *why)
{
	const struct json *value = provider_data(v->provided.kind, v->object->object);
	struct str key = key_of(a, &v->provided);
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, DATA_MAX);
	if (!value || value->kind == JSON_NULL) {
		buf_adds(&text, "{}");
	} else {
		json_encode(&text, value);
	}
	*n_bytes += key.n + text.n;
	if (key.n > NAME_MAX_BYTES) {
		buf_printf(why, "a ConfigMap has no room for the key " STR_FMT, STR_ARG(key));
		return false;
	}
	if (text.is_over || *n_bytes > DATA_MAX) {
		buf_adds(why, "what is provided does not fit into a ConfigMap, which holds 1 MiB");
		return false;
	}
	json_add(a, data, key, json_string(a, arena_dup(a, buf_str(&text))));
	return true;
}

static struct json *with_member(struct arena *a, const struct json *object, const char *name, struct json *value)
{
	struct json *changed = json_copy_or_empty(a, object);
	json_set(a, changed, str_of(name), value);
	return changed;
}

static struct json *marked(struct arena *a, const struct json *meta, struct str sources)
{
	struct json *labels =
		with_member(a, json_gets(meta, "labels"), CONFIGMAP_LABEL, json_string(a, STR(CONFIGMAP_LABEL_VALUE)));
	struct json *annotations = with_member(a, json_gets(meta, "annotations"), CONFIGMAP_MADE_FROM, json_string(a, sources));
	return with_member(a, with_member(a, meta, "labels", labels), "annotations", annotations);
}

/* A write without a change is skipped: the informer would report it, and the controller would
 * look again. */
static bool is_so(const struct json *configmap, const struct json *filled)
{
	return json_equal(json_gets(configmap, "data"), json_gets(filled, "data")) && !json_gets(configmap, "binaryData") &&
		json_equal(meta_of(configmap), meta_of(filled));
}

bool configmap_filled(struct arena *a, const struct json *configmap, const struct provision *v, size_t n,
	const struct json **ret, struct buf *why)
{
	struct json *data = json_object(a);
	size_t n_bytes = 0;
	_cleanup_(buf_done) struct buf sources;
	buf_init(&sources, DATA_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!add_provision(a, data, &v[i], &n_bytes, why)) {
			return false;
		}
		write_source(&sources, &v[i].provided, v[i].object->uid);
	}
	struct json *meta = marked(a, meta_of(configmap), arena_dup(a, buf_str(&sources)));
	struct json *filled = with_member(a, with_member(a, configmap, "data", data), "metadata", meta);
	json_remove(filled, STR("binaryData"));
	*ret = is_so(configmap, filled) ? NULL : filled;
	return true;
}
