/* Keeps PodTemplates, labelled with their owner's name and the generation of the template. */
#include "controllers/kit/history_private.h"

#include "api/model/members.h"

enum {
	LABEL_MAX = 63, /* characters of a label's value; a longer name is cut, and ends with a digest */
	NAME_MAX_ = 253,
	NUMBER_MAX = 19, /* digits of an int64 */
	HASH_MAX = 10,   /* digits of a hash */
};

/* The owner's name for a label. A name that is too long is cut, and ends in a hash of the whole
 * name: names may be longer than label values. */
static struct str name_within(struct str name, size_t max, struct arena *a)
{
	char hash[16];
	if (name.n <= max) {
		return name;
	}
	history_hash(name, 0, hash);
	name.n = max - HASH_MAX - 1;
	return revision_name(name, hash, a);
}

static bool matches(const struct history_owner *o, const struct json *object)
{
	char room[512];
	struct arena a;
	arena_init_with(&a, 1 << 20, room, sizeof(room));
	struct str label = member_text(json_gets(json_gets(object, "metadata"), "labels"), HISTORY_LABEL_CREATED_BY);
	bool is_match = o->name.n && str_eq(label, name_within(o->name, LABEL_MAX, &a));
	arena_done(&a);
	return is_match;
}

static bool read_revision(const struct json *object, struct revision *ret, struct arena *a _unused_, struct str *ret_problem)
{
	struct revision r = history_read_metadata(object);
	if (!history_read_generation(json_gets(json_gets(object, "metadata"), "labels"), &r.generation)) {
		*ret_problem = STR("its label " HISTORY_LABEL_GENERATION " is no generation");
		return false;
	}
	const struct json *template = json_gets(object, "template");
	r.number = r.generation;
	r.state = json_is(template, JSON_OBJECT) ? template : NULL;
	*ret = r;
	return true;
}

/* A taken name cannot be replaced by another: the generation is part of it. The dash separates
 * "web" and 11 from "web1" and 1. */
static struct json *make(const struct history_owner *o, int64_t number, int64_t collisions _unused_, struct arena *a)
{
	if (!json_is(o->state, JSON_OBJECT)) {
		return NULL;
	}
	struct str prefix = name_within(o->name, NAME_MAX_ - NUMBER_MAX - 1, a);
	struct str name = arena_printf(a, STR_FMT "-%lld", STR_ARG(prefix), (long long)number);
	struct json *labels = json_object(a), *object = json_object(a);
	json_add_text(a, labels, STR(HISTORY_LABEL_CREATED_BY), name_within(o->name, LABEL_MAX, a));
	json_add(a, labels, STR(HISTORY_LABEL_GENERATION), history_text_of_number(number, a));
	json_add_text(a, object, STR("apiVersion"), o->revision_api_version.n ? o->revision_api_version : STR("v1"));
	json_add_text(a, object, STR("kind"), STR("PodTemplate"));
	json_add(a, object, STR("metadata"), history_metadata(o, name, labels, NULL, a));
	json_add(a, object, STR("template"), json_copy(a, o->state));
	return object;
}

const struct carrier carrier_podtemplates = {
	.name = "podtemplates",
	.resource = "podtemplates",
	.kind = "PodTemplate",
	.is_adopted = true,
	.is_total_limited = true,
	.matches = matches,
	.read = read_revision,
	.make = make,
};
