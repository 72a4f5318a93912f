/* What a ConfigMap made from Providers looks like, and how one tells that it is up to date,
 * without any request. That it is complete is known by its annotation alone: there is no moment
 * at which it is filled and not marked. */
#include "controllers/dependents/configmap_plan.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

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
	json_append(a, owners, gc_meta_controlled_by(&owner, a));
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

/* A Provider's is its name. No name has a "_", so no Provider's key is a revision's. */
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
	struct json *changed = copy_or_empty(a, object);
	json_set(a, changed, str_of(name), value);
	return changed;
}

static struct json *marked(struct arena *a, const struct json *meta, struct str sources)
{
	struct json *labels = with_member(
		a, json_gets(meta, "labels"), CONFIGMAP_LABEL, json_string(a, STR(CONFIGMAP_LABEL_VALUE)));
	struct json *annotations =
		with_member(a, json_gets(meta, "annotations"), CONFIGMAP_MADE_FROM, json_string(a, sources));
	return with_member(a, with_member(a, meta, "labels", labels), "annotations", annotations);
}

/* Nothing is written that would change nothing: an informer would tell of it, and the controller
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
