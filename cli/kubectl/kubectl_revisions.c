/* A field selector on controller.uid lets annals answer from its index. For apps/v1 there is
 * none, so the namespace's revisions are all read and sifted here. */
#include "api/model/members.h"
#include "cli/kubectl/kubectl.h"

#include <stdlib.h>

/* Where revisions may be: annals' own first, whose index answers for one owner; then those of the cluster's own controllers. */
static const struct {
	struct resource resource;
	bool has_index;
} places[] = {
	{{{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}}, true},
	{{{"apps", 4}, {"v1", 2}, {"controllerrevisions", 19}}, false},
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

static void take_owned(struct revisions *r, struct str uid)
{
	const struct json *items = json_gets(r->answer.body, "items"), *item;
	r->v = mem_array(member_count(r->answer.body, "items") + 1, sizeof(*r->v));
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		if (is_controlled_by(item, uid)) {
			r->v[r->n++] = (struct revision){
				member_int(item, "revision"), member_text(json_gets(item, "metadata"), "name"), item};
		}
	}
}

static int by_number(const void *a, const void *b)
{
	const struct revision *x = a, *y = b;
	return x->number != y->number ? (x->number < y->number ? -1 : 1) : str_cmp(x->name, y->name);
}

static int list_place(struct kubectl *k, struct revisions *r, size_t place)
{
	struct str uid = member_text(json_gets(k->object, "metadata"), "uid");
	const struct target all = {&r->type->resource, str_of(k->ns), STR(""), NULL};
	struct list_options options = {0};
	if (places[place].has_index) {
		options.field_selector = arena_printf(&k->arena, "controller.uid=" STR_FMT, STR_ARG(uid));
	}
	int error = rest_list(k->client, &all, &options, &r->answer);
	if (error) {
		return kubectl_refused(k, error, &r->answer);
	}
	take_owned(r, uid);
	qsort(r->v, r->n, sizeof(*r->v), by_number);
	return 0;
}

int revisions_list(struct kubectl *k, struct revisions *ret)
{
	*ret = (struct revisions){0};
	answer_init(&ret->answer);
	bool is_served = false;
	for (size_t i = 0; i < ARRAY_SIZE(places) && ret->n == 0; i++) {
		const struct api_resource *type = discovery_find_resource(&k->discovery, &places[i].resource);
		if (!type) {
			continue;
		}
		is_served = true;
		ret->type = type;
		ret->v = mem_free(ret->v);
		if (list_place(k, ret, i)) {
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
