/* What the page is told of where it is. A cluster without annals has workloads to show all the same:
 * the page then shows those, and the revisions that their own controllers keep. */
#include "cli/kubectl/page.h"

static struct json *resource_json(struct arena *a, const struct api_resource *r)
{
	struct json *j = json_object(a), *short_names = json_array(a);
	struct str rest = r->short_names, each;
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		json_append(a, short_names, json_string(a, each));
	}
	json_add(a, j, STR("group"), json_string(a, r->resource.group));
	json_add(a, j, STR("version"), json_string(a, r->resource.version));
	json_add(a, j, STR("resource"), json_string(a, r->resource.plural));
	json_add(a, j, STR("kind"), json_string(a, r->kind));
	json_add(a, j, STR("namespaced"), json_bool(a, r->is_namespaced));
	json_add(a, j, STR("shortNames"), short_names);
	return j;
}

static struct json *resources_json(struct arena *a, const struct discovery *d)
{
	struct json *all = json_array(a);
	for (size_t i = 0; i < d->n; i++) {
		const struct api_resource *r = &d->resources[i];
		if (r->is_preferred && (r->verbs & API_GET)) {
			json_append(a, all, resource_json(a, r));
		}
	}
	return all;
}

void page_about(void *ctx, struct ui_call *call)
{
	const struct page *p = ctx;
	struct arena *a = call->arena;
	struct kubectl k;
	if (!page_init_call(p, &k, call)) {
		bool has_annals = discovery_find_resource(&k.discovery, &histories) != NULL;
		struct json *about = json_object(a);
		json_add(a, about, STR("version"), json_string(a, STR(ANNALS_VERSION)));
		json_add(a, about, STR("server"), json_string(a, str_of(p->k->config_server)));
		json_add(a, about, STR("context"), json_string(a, str_of(p->k->config_context)));
		json_add(a, about, STR("namespace"), json_string(a, str_of(p->k->ns)));
		json_add(a, about, STR("mode"), json_string(a, has_annals ? STR("annals") : STR("plain")));
		json_add(a, about, STR("canWrite"), json_bool(a, p->k->may_write));
		json_add(a, about, STR("resources"), resources_json(a, &k.discovery));
		json_encode(&call->out, about);
	}
	page_done_call(&k);
}
