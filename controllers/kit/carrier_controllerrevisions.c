/* Keeps ControllerRevisions like kube-controller-manager does for a StatefulSet, so it may take
 * over such a history and hand it back. */
#include "controllers/kit/history_private.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"

static bool matches(const struct history_owner *o, const struct json *object)
{
	char room[2048];
	struct arena a;
	arena_init_with(&a, 1 << 20, room, sizeof(room));
	const struct label *labels;
	size_t n = labels_read(&labels, json_gets(json_gets(object, "metadata"), "labels"), &a);
	bool is_match = o->selector && label_selector_matches(o->selector, labels, n);
	arena_done(&a);
	return is_match;
}

static bool read_revision(const struct json *object, struct revision *ret, struct arena *a, struct str *ret_problem)
{
	struct revision r = history_read_metadata(object);
	if (!json_to_int64(json_gets(object, "revision"), &r.number)) {
		*ret_problem = STR("its revision is no number");
		return false;
	}
	/* Upstream's revisions have no generation, and the generation does not order them. A
	 * broken label is therefore ignored. */
	history_read_generation(json_gets(json_gets(object, "metadata"), "labels"), &r.generation);
	r.state = history_data_state(json_gets(object, "data"), a);
	*ret = r;
	return true;
}

static struct json *data_of(const struct json *state, struct str *ret_text, struct arena *a)
{
	struct buf text;
	struct json *data = NULL;
	size_t at;
	buf_init(&text, HISTORY_DATA_MAX);
	history_data_write(state, &text);
	if (!text.is_over) {
		*ret_text = arena_dup(a, buf_str(&text));
		if (json_parse(&data, a, *ret_text, HISTORY_DATA_LIMITS, &at)) {
			data = NULL;
		}
	}
	buf_done(&text);
	return data;
}

static struct json *make(const struct history_owner *o, int64_t number, int64_t collisions, struct arena *a)
{
	struct str text;
	struct json *data = json_is(o->state, JSON_OBJECT) ? data_of(o->state, &text, a) : NULL;
	if (!data) {
		return NULL;
	}
	/* If the name is taken, another name is tried, but the hash label stays: upstream does
	 * so too, and kubectl finds revisions by it. */
	char first[16], hash[16];
	history_hash(text, o->collisions, first);
	history_hash(text, o->collisions + collisions, hash);

	struct json *labels = json_copy_or_empty(a, o->labels), *object = json_object(a);
	json_set(a, labels, STR(HISTORY_LABEL_HASH), json_string(a, arena_dup(a, str_of(first))));
	if (o->generation) {
		json_set(a, labels, STR(HISTORY_LABEL_GENERATION), history_text_of_number(o->generation, a));
	}
	struct str api_version = o->revision_api_version.n ? o->revision_api_version : STR("apps/v1");
	json_add_text(a, object, STR("apiVersion"), api_version);
	json_add_text(a, object, STR("kind"), STR("ControllerRevision"));
	json_add(a, object, STR("metadata"),
		history_metadata(o, revision_name(o->name, hash, a), labels, json_copy_or_empty(a, o->annotations), a));
	json_add(a, object, STR("data"), data);
	json_add(a, object, STR("revision"), json_int(a, number));
	return object;
}

const struct carrier carrier_controllerrevisions = {
	.name = "controllerrevisions",
	.resource = "controllerrevisions",
	.kind = "ControllerRevision",
	.is_adopted = true,
	.matches = matches,
	.read = read_revision,
	.make = make,
	.renumbers = true,
};
