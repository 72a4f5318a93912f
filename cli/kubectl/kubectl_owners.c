/* Owners of a recorded state. One that is gone, or was made again since, must not be named: the
 * garbage collector would delete the object for it. */
#include "api/model/members.h"
#include "cli/kubectl/kubectl_undo.h"

enum presence { IS_THERE, IS_GONE, IS_UNKNOWN };

static enum presence look_for(struct kubectl *k, const struct json *reference)
{
	const struct api_resource *type =
		discovery_find_kind(&k->discovery, member_text(reference, "apiVersion"), member_text(reference, "kind"));
	if (!type) {
		return k->discovery.n_failures ? IS_UNKNOWN : IS_GONE;
	}
	struct answer answer;
	const struct target owner = {
		&type->resource, type->is_namespaced ? k->target.namespace : STR(""), member_text(reference, "name"), NULL};
	answer_init(&answer);
	int error = rest_get_metadata(k->client, &owner, &answer);
	enum presence ret = IS_UNKNOWN;
	if (!error) {
		struct str uid = member_text(json_gets(answer.body, "metadata"), "uid");
		ret = str_eq(uid, member_text(reference, "uid")) ? IS_THERE : IS_GONE;
	} else if (error == REST_STATUS && answer.code == 404) {
		ret = IS_GONE;
	}
	answer_done(&answer);
	return ret;
}

static bool has_owner(const struct json *owners, struct str uid)
{
	const struct json *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (str_eq(member_text(owner, "uid"), uid)) {
			return true;
		}
	}
	return false;
}

static struct json *with_owners(struct kubectl *k, const struct json *state, struct json *owners)
{
	struct json *meta = json_copy(&k->arena, json_gets(state, "metadata")), *ret = json_copy(&k->arena, state);
	if (owners->n) {
		json_set(&k->arena, meta, STR("ownerReferences"), owners);
	} else {
		json_remove(meta, STR("ownerReferences"));
	}
	json_set(&k->arena, ret, STR("metadata"), meta);
	return ret;
}

int undo_drop_lost_owners(struct kubectl *k, const struct json **state, const struct json *live)
{
	const struct json *owners = json_gets(json_gets(*state, "metadata"), "ownerReferences");
	const struct json *here = json_gets(json_gets(live, "metadata"), "ownerReferences");
	struct json *kept = json_array(&k->arena), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		struct str kind = member_text(owner, "kind"), name = member_text(owner, "name"),
			   uid = member_text(owner, "uid");
		enum presence presence = has_owner(here, uid) ? IS_THERE : look_for(k, owner);
		if (presence == IS_UNKNOWN) {
			return kubectl_fail(k,
				"cannot find out whether its owner " STR_FMT " " STR_FMT " (uid " STR_FMT ") is there",
				STR_ARG(kind), STR_ARG(name), STR_ARG(uid));
		}
		if (presence == IS_THERE) {
			json_append(&k->arena, kept, owner);
		} else {
			kubectl_note(k, "its owner " STR_FMT " " STR_FMT " (uid " STR_FMT ") is gone, and is left out",
				STR_ARG(kind), STR_ARG(name), STR_ARG(uid));
		}
	}
	if (kept->n != (json_is(owners, JSON_ARRAY) ? owners->n : 0)) {
		*state = with_owners(k, *state, kept);
	}
	return 0;
}
