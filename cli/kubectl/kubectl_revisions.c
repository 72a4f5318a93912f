/* A field selector on controller.uid lets annals answer from its index. For apps/v1 there is none,
 * so the namespace's revisions are all read and sifted here.
 *
 * A StatefulSet's controller may keep its revisions in PodTemplates instead (seed 002). Then
 * there is no ControllerRevision of it. */
#include "api/model/members.h"
#include "cli/kubectl/kubectl.h"

#include <stdlib.h>

#define LABEL_CREATED_BY "created-by-statefulset"
#define LABEL_GENERATION "statefulset-template-revision"

enum { LABEL_MAX = 63 };

static bool read_controllerrevision(
	const struct json *object, const struct json *owner _unused_, struct revision *ret, struct arena *a _unused_)
{
	const struct json *data = json_gets(object, "data");
	ret->number = member_int(object, "revision");
	ret->data = json_is(data, JSON_OBJECT) ? data : NULL;
	return true;
}

/* Does it stand for a claim of the set? A PodTemplate needs a volume for what its containers mount; the set's template has none. */
static bool is_of_claim(const struct json *volume, const struct json *owner)
{
	const struct json *templates = json_gets(json_gets(owner, "spec"), "volumeClaimTemplates"), *t;
	struct str name = member_text(volume, "name");
	for (uint32_t i = 0; (t = list_item(templates, i)); i++) {
		if (str_eq(member_text(json_gets(t, "metadata"), "name"), name)) {
			return str_eq(member_text(json_gets(volume, "persistentVolumeClaim"), "claimName"), name);
		}
	}
	return false;
}

static void drop_claims(struct json *template, const struct json *owner, struct arena *a)
{
	const struct json *old = json_gets(json_gets(template, "spec"), "volumes"), *volume;
	struct json *kept = json_array(a);
	for (uint32_t i = 0; (volume = list_item(old, i)); i++) {
		if (!is_of_claim(volume, owner)) {
			json_append(a, kept, json_copy(a, volume));
		}
	}
	if (!old || kept->n == old->n) {
		return;
	}
	struct json *spec = json_copy(a, json_gets(template, "spec"));
	if (kept->n) {
		json_set(a, spec, STR("volumes"), kept);
	} else {
		json_remove(spec, STR("volumes"));
	}
	json_set(a, template, STR("spec"), spec);
}

/* Such a patch as a ControllerRevision of it would hold. */
static bool read_podtemplate(const struct json *object, const struct json *owner, struct revision *ret, struct arena *a)
{
	const struct json *labels = json_gets(json_gets(object, "metadata"), "labels"), *state = json_gets(object, "template");
	if (!str_to_int64(member_text(labels, LABEL_GENERATION), &ret->number) || !json_is(state, JSON_OBJECT)) {
		return false;
	}
	struct json *data = json_object(a), *spec = json_object(a), *template = json_copy(a, state);
	drop_claims(template, owner, a);
	json_set(a, template, STR("$patch"), json_string(a, STR("replace")));
	json_add(a, spec, STR("template"), template);
	json_add(a, data, STR("spec"), spec);
	ret->data = data;
	return true;
}

static void select_owner(struct kubectl *k, struct list_options *options)
{
	struct str uid = member_text(json_gets(k->object, "metadata"), "uid");
	options->field_selector = arena_printf(&k->arena, "controller.uid=" STR_FMT, STR_ARG(uid));
}

static void select_set(struct kubectl *k, struct list_options *options)
{
	if (k->target.name.n <= LABEL_MAX) { /* else the label is another one */
		options->label_selector = arena_printf(&k->arena, LABEL_CREATED_BY "=" STR_FMT, STR_ARG(k->target.name));
	}
}

/* Where revisions may be: annals' own first, whose index answers for one owner; then those of
 * the cluster's own controllers. */
static const struct place {
	struct resource resource;
	const char *kind; /* of owners; NULL: any */
	void (*select)(struct kubectl *k, struct list_options *options);
	bool (*read)(const struct json *object, const struct json *owner, struct revision *ret, struct arena *a);
} places[] = {
	{{{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}}, NULL, select_owner, read_controllerrevision},
	{{{"apps", 4}, {"v1", 2}, {"controllerrevisions", 19}}, NULL, NULL, read_controllerrevision},
	{{{"", 0}, {"v1", 2}, {"podtemplates", 12}}, "StatefulSet", select_set, read_podtemplate},
};

static bool is_controlled_by(const struct json *object, struct str uid)
{
	const struct json *owners = json_gets(json_gets(object, "metadata"), "ownerReferences"), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (member_is_true(owner, "controller") && str_eq(member_text(owner, "uid"), uid)) {
			return true;
		}
	}
	return false;
}

static void take_owned(struct kubectl *k, struct revisions *r, const struct place *place)
{
	struct str uid = member_text(json_gets(k->object, "metadata"), "uid");
	const struct json *items = json_gets(r->answer.body, "items"), *item;
	r->v = mem_array(member_count(r->answer.body, "items") + 1, sizeof(*r->v));
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		struct revision one = {.name = member_text(json_gets(item, "metadata"), "name"), .object = item};
		if (is_controlled_by(item, uid) && place->read(item, k->object, &one, &k->arena)) {
			r->v[r->n++] = one;
		}
	}
}

static int by_number(const void *a, const void *b)
{
	const struct revision *x = a, *y = b;
	return x->number != y->number ? (x->number < y->number ? -1 : 1) : str_cmp(x->name, y->name);
}

static int list_place(struct kubectl *k, struct revisions *r, const struct place *place)
{
	const struct target all = {&r->type->resource, str_of(k->ns), STR(""), NULL};
	struct list_options options = {0};
	if (place->select) {
		place->select(k, &options);
	}
	int error = rest_list(k->client, &all, &options, &r->answer);
	if (error) {
		return kubectl_refused(k, error, &r->answer);
	}
	take_owned(k, r, place);
	qsort(r->v, r->n, sizeof(*r->v), by_number);
	return 0;
}

static bool may_have(const struct place *place, const struct kubectl *k)
{
	return !place->kind || str_is(k->type->kind, place->kind);
}

int revisions_list(struct kubectl *k, struct revisions *ret)
{
	*ret = (struct revisions){0};
	answer_init(&ret->answer);
	bool is_served = false;
	for (size_t i = 0; i < ARRAY_SIZE(places) && ret->n == 0; i++) {
		const struct api_resource *type = discovery_find_resource(&k->discovery, &places[i].resource);
		if (!type || !may_have(&places[i], k)) {
			continue;
		}
		is_served = true;
		ret->type = type;
		ret->v = mem_free(ret->v);
		if (list_place(k, ret, &places[i])) {
			return -1;
		}
	}
	return is_served ? 0 : kubectl_fail(k, "the server doesn't have a resource type \"controllerrevisions\"");
}

void revisions_done(struct revisions *r)
{
	mem_free(r->v);
	answer_done(&r->answer);
}

const struct revision *revisions_by_name(const struct revisions *r, struct str name)
{
	for (size_t i = 0; i < r->n; i++) {
		if (str_eq(r->v[i].name, name)) {
			return &r->v[i];
		}
	}
	return NULL;
}

const struct revision *revisions_today(const struct kubectl *k, const struct revisions *r)
{
	const struct revision *update = revisions_by_name(r, member_text(json_gets(k->object, "status"), "updateRevision"));
	return update ? update : r->n ? &r->v[r->n - 1] : NULL;
}

const struct revision *revisions_find(struct kubectl *k, const struct revisions *r, int64_t number)
{
	for (size_t i = r->n; i > 0; i--) {
		if (r->v[i - 1].number == number) {
			return &r->v[i - 1];
		}
	}
	kubectl_fail(k, "unable to find revision %lld of " STR_FMT, (long long)number, STR_ARG(kubectl_name(k)));
	return NULL;
}
