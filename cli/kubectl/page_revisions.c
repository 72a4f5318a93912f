/* Which revisions an object has, and how two of them differ. The page could ask the API server for
 * those of a History. What a Deployment or a StatefulSet keeps by itself has many forms, which the
 * plugin reads already, in any cluster. */
#include "api/hunks/hunks.h"
#include "api/model/members.h"
#include "cli/kubectl/page.h"

/* ---- what is asked ---- */

static bool is_true(struct str text)
{
	return str_is(text, "true");
}

/* The object that the query names. 0 or -1. */
static int find(struct kubectl *k, const struct ui_call *call)
{
	k->wants_own = is_true(ui_parameter(call, "own"));
	return page_find(k, ui_parameter(call, "type"), ui_parameter(call, "namespace"), ui_parameter(call, "name"));
}

typedef int page_answer(struct kubectl *k, const struct revisions *all, struct ui_call *call);

static void run(const struct page *p, struct ui_call *call, page_answer *answer)
{
	struct kubectl k;
	struct revisions all = {0};
	if (!page_init_call(p, &k, call)) {
		int r = find(&k, call);
		if (!r) {
			r = revisions_list(&k, &all);
			r = r ? r : answer(&k, &all, call);
			revisions_done(&all);
		}
		if (r) {
			page_fail_call(&k, call);
		}
	}
	page_done_call(&k);
}

/* ---- revisions ---- */

static struct json *revision_json(struct kubectl *k, const struct revisions *all, const struct revision *r)
{
	struct arena *a = &k->arena;
	const struct json *change = all->history ? change_to(all, r) : NULL;
	struct str time = change ? member_text(change, "time") : member_text(json_gets(r->object, "metadata"), "creationTimestamp");
	struct json *j = json_object(a);
	json_add(a, j, STR("number"), json_int(a, r->number));
	json_add(a, j, STR("name"), json_string(a, r->name));
	json_add(a, j, STR("time"), json_string(a, time));
	json_add(a, j, STR("cause"), json_string(a, all->history ? member_text(change, "cause") : revision_cause(r)));
	json_add(a, j, STR("by"), json_string(a, change ? change_by(a, change) : STR("")));
	json_add(a, j, STR("isCurrent"), json_bool(a, r == revisions_today(k, all)));
	return j;
}

static int answer_revisions(struct kubectl *k, const struct revisions *all, struct ui_call *call)
{
	struct arena *a = &k->arena;
	struct json *answer = json_object(a), *items = json_array(a);
	for (size_t i = 0; i < all->n; i++) {
		json_append(a, items, revision_json(k, all, &all->v[i]));
	}
	json_add(a, answer, STR("items"), items);
	json_add(a, answer, STR("source"), json_string(a, all->history ? STR("history") : STR("own")));
	json_encode(&call->out, answer);
	return 0;
}

void page_revisions(void *ctx, struct ui_call *call)
{
	run(ctx, call, answer_revisions);
}

/* ---- the difference of two ---- */

static int load(struct kubectl *k, const struct revisions *all, const struct ui_call *call, const char *parameter,
	struct revision **ret)
{
	struct str text = ui_parameter(call, parameter);
	int64_t number;
	if (!str_to_int64(text, &number) || number < 0) {
		return kubectl_fail(k, "%s must be the number of a revision", parameter);
	}
	*ret = revisions_find(k, all, number);
	return *ret ? revision_load(k, all, *ret) : -1;
}

static int answer_diff(struct kubectl *k, const struct revisions *all, struct ui_call *call)
{
	struct revision *from = NULL, *to = NULL;
	if (load(k, all, call, "to", &to) || (ui_parameter(call, "from").n && load(k, all, call, "from", &from))) {
		return -1;
	}
	struct hunks h = {.from = from ? from->data : NULL, .to = to->data, .from_name = from ? from->name : STR(""), .to_name = to->name};
	if (!hunks_parse_context(ui_parameter(call, "context"), &h.context)) {
		return kubectl_fail(k, HUNKS_CONTEXT_HELP);
	}
	return hunks_write(&call->out, &h) ? kubectl_fail(k, "the difference is too large to be shown line by line") : 0;
}

/* Without `from`: all of `to`. */
void page_diff(void *ctx, struct ui_call *call)
{
	run(ctx, call, answer_diff);
}
