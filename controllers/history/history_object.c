/* What the objects of all carriers have in common: metadata that says whose revision it is. */
#include "controllers/history/history_private.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

bool history_is_controlled(const struct history_owner *o, const struct json *object)
{
	const struct json *controller = gc_meta_controller(json_gets(object, "metadata"));
	return controller && o->uid.n && str_eq(member_text(controller, "uid"), o->uid);
}

struct revision history_read_metadata(const struct json *object)
{
	const struct json *meta = json_gets(object, "metadata");
	return (struct revision){
		.object = object,
		.name = member_text(meta, "name"),
		.uid = member_text(meta, "uid"),
		.version = member_text(meta, "resourceVersion"),
		.created = member_text(meta, "creationTimestamp"),
	};
}

bool history_read_generation(const struct json *labels, int64_t *ret)
{
	struct str text = member_text(labels, HISTORY_LABEL_GENERATION);
	int64_t n;
	if (!text.n || text.p[0] < '1' || text.p[0] > '9' || !str_to_int64(text, &n)) {
		return false;
	}
	*ret = n;
	return true;
}

struct json *history_text_of_number(int64_t number, struct arena *a)
{
	return json_string(a, arena_printf(a, "%lld", (long long)number));
}

struct json *history_metadata(
	const struct history_owner *o, struct str name, struct json *labels, struct json *annotations, struct arena *a)
{
	const struct gc_ref owner = {.api_version = o->api_version, .kind = o->kind, .name = o->name, .uid = o->uid};
	struct json *meta = json_object(a), *refs = json_array(a);
	json_append(a, refs, gc_meta_controlled_by(&owner, a));
	json_add_text(a, meta, STR("name"), name);
	json_add_text(a, meta, STR("namespace"), o->ns);
	json_add(a, meta, STR("labels"), labels);
	if (annotations && annotations->n) {
		json_add(a, meta, STR("annotations"), annotations);
	}
	json_add(a, meta, STR("ownerReferences"), refs);
	return meta;
}
