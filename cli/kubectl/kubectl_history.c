/* The commands that read revisions: history, show, diff. A revision is live if a Pod has its label, or a Dependent needs it
 * (only annals' own revisions). A user who may read revisions but no Pods gets "<unknown>" in that column. */
#include "api/diff/changes.h"
#include "api/diff/diff.h"
#include "api/diff/keep.h"
#include "api/diff/line_diff.h"
#include "api/model/members.h"
#include "base/yaml.h"
#include "cli/kubectl/kubectl.h"

#include <assert.h>

#define CHANGE_CAUSE "kubernetes.io/change-cause"
#define HASH_LABEL "controller-revision-hash"

static const struct resource pods = {{"", 0}, {"v1", 2}, {"pods", 4}};
static const struct resource dependents = {{"annals.dev", 10}, {"v1", 2}, {"dependents", 10}};

/* The label of objects that were made from a revision has its name (StatefulSets) or its hash (DaemonSets). */
static bool is_label_of(struct str label, const struct revision *r)
{
	const struct json *labels = json_gets(json_gets(r->object, "metadata"), "labels");
	return label.n > 0 &&
		(str_eq(label, r->name) || str_eq(label, member_text(labels, HASH_LABEL)) ||
			str_eq(label, member_text(labels, "controller.kubernetes.io/hash")));
}

struct liveness {
	const struct revisions *revisions;
	struct str owner; /* uid */
	bool *is_live;    /* one for each revision */
};

static bool is_owned(const struct json *object, struct str uid)
{
	const struct json *owners = json_gets(json_gets(object, "metadata"), "ownerReferences"), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (str_eq(member_text(owner, "uid"), uid)) {
			return true;
		}
	}
	return false;
}

static bool note_pod(void *ctx, const struct json *pod)
{
	struct liveness *l = ctx;
	struct str label = member_text(json_gets(json_gets(pod, "metadata"), "labels"), HASH_LABEL);
	for (size_t i = 0; i < l->revisions->n && is_owned(pod, l->owner); i++) {
		l->is_live[i] |= is_label_of(label, &l->revisions->v[i]);
	}
	return true;
}

static bool note_dependent(void *ctx, const struct json *dependent)
{
	struct liveness *l = ctx;
	const struct json *needed = json_gets(json_gets(dependent, "spec"), "providers"), *each;
	for (uint32_t i = 0; (each = list_item(needed, i)); i++) {
		for (size_t k = 0; k < l->revisions->n && str_is(member_text(each, "kind"), "ControllerRevision"); k++) {
			l->is_live[k] |= str_eq(member_text(each, "name"), l->revisions->v[k].name);
		}
	}
	return true;
}

/* Returns false if the user may not read them. That is not an error. */
static bool look_at(struct kubectl *k, const struct resource *resource, bool metadata_only,
	bool (*note)(void *ctx, const struct json *object), struct liveness *l)
{
	struct answer answer;
	const struct target all = {resource, str_of(k->ns), STR(""), NULL};
	if (!discovery_find_resource(&k->discovery, resource)) {
		return true;
	}
	answer_init(&answer);
	int r = rest_each(k->client, &all, metadata_only, note, l, &answer);
	answer_done(&answer);
	return r == 0;
}

/* A Deployment's pods are those of its ReplicaSets, which count them. */
static bool find_live_sets(const struct revisions *revisions, bool *ret_is_live)
{
	for (size_t i = 0; i < revisions->n; i++) {
		ret_is_live[i] = member_int(json_gets(revisions->v[i].object, "status"), "replicas") > 0;
	}
	return true;
}

static bool find_live(struct kubectl *k, const struct revisions *revisions, bool *ret_is_live)
{
	if (str_is(revisions->type->resource.plural, "replicasets")) {
		return find_live_sets(revisions, ret_is_live);
	}
	struct liveness l = {revisions, member_text(json_gets(k->object, "metadata"), "uid"), ret_is_live};
	bool is_known = look_at(k, &pods, true, note_pod, &l);
	/* Only annals' own revisions can be what a Dependent needs. */
	bool is_ours = str_eq(revisions->type->resource.group, dependents.group);
	return (!is_ours || look_at(k, &dependents, false, note_dependent, &l)) && is_known;
}

struct str revision_cause(const struct revision *r)
{
	return json_text(json_gets(json_gets(json_gets(r->object, "metadata"), "annotations"), CHANGE_CAUSE));
}

static const char *yes_no(bool is_so)
{
	return is_so ? "yes" : "no";
}

static void write_table(struct kubectl *k, const struct revisions *revisions, const bool *is_live, bool is_known)
{
	static const char *const headings[] = {"REVISION", "NAME", "AGE", "LIVE", "CURRENT", "CHANGE-CAUSE"};
	struct text_table t = {.n_columns = ARRAY_SIZE(headings)};
	struct str *row = text_table_row(&t);
	for (size_t c = 0; c < ARRAY_SIZE(headings); c++) {
		row[c] = str_of(headings[c]);
	}
	for (size_t i = 0; i < revisions->n; i++) {
		const struct revision *r = &revisions->v[i];
		struct str cause = revision_cause(r);
		row = text_table_row(&t);
		row[0] = arena_printf(&k->arena, "%lld", (long long)r->number);
		row[1] = r->name;
		row[2] = age_text(&k->arena, r->object);
		row[3] = str_of(is_live[i] || is_known ? yes_no(is_live[i]) : "<unknown>");
		row[4] = str_of(yes_no(r == revisions_today(k, revisions)));
		row[5] = cause.n ? cause : STR("<none>");
	}
	text_table_write(&t, &k->arena, &k->out);
	text_table_done(&t);
}

/* ---- recorded revisions ---- */

const struct json *change_to(struct kubectl *k, const struct revisions *all, const struct revision *r)
{
	assert(all->history);
	const struct json *change = record_change_to(json_gets(all->history, "status"), r->name);

	return change ? change : keep_facts_of(json_gets(r->object, "metadata"), &k->arena);
}

static struct str or_none(struct str text)
{
	return text.n ? text : STR("<none>");
}

static void fill_recorded(struct kubectl *k, const struct revisions *all, const struct revision *r, struct str *row)
{
	const struct json *change = change_to(k, all, r);
	bool is_wide = kubectl_wants(k, "wide"), is_today = r == revisions_today(k, all);
	row[0] = arena_printf(&k->arena, "%lld", (long long)r->number);
	row[1] = change ? age_of_time(&k->arena, member_text(change, "time")) : age_text(&k->arena, r->object);
	row[2] = is_today && history_is_deleted(all->history) ? STR("deleted") : str_of(yes_no(is_today));
	row[3] = change ? change_by(&k->arena, change) : STR("<unknown>");
	row[4] = change ? change_what(&k->arena, change, is_wide) : STR("<unknown>");
	row[5] = or_none(member_text(change, "cause"));
	row[6] = r->name;
}

static void write_recorded(struct kubectl *k, const struct revisions *all)
{
	static const char *const headings[] = {"REVISION", "AGE", "CURRENT", "BY", "CHANGE", "CHANGE-CAUSE", "NAME"};
	struct text_table t = {.n_columns = kubectl_wants(k, "wide") ? 7 : 5};
	struct str *row = text_table_row(&t);
	for (size_t c = 0; c < ARRAY_SIZE(headings); c++) {
		row[c] = str_of(headings[c]);
	}
	for (size_t i = 0; i < all->n; i++) {
		fill_recorded(k, all, &all->v[i], text_table_row(&t));
	}
	text_table_write(&t, &k->arena, &k->out);
	text_table_done(&t);
}

/* ---- in other forms ---- */

/* Items of a typed list have no apiVersion and kind, but items of a List need them. */
static struct json *whole(struct kubectl *k, const struct api_resource *type, const struct json *item)
{
	const struct resource *r = &type->resource;
	struct str version =
		r->group.n ? arena_printf(&k->arena, STR_FMT "/" STR_FMT, STR_ARG(r->group), STR_ARG(r->version)) : r->version;
	struct json *ret = json_object(&k->arena);
	json_add(&k->arena, ret, STR("apiVersion"), json_string(&k->arena, version));
	json_add(&k->arena, ret, STR("kind"), json_string(&k->arena, type->kind));
	for (uint32_t i = 0; i < item->n; i++) {
		json_set(&k->arena, ret, item->members[i].name, item->members[i].value);
	}
	return ret;
}

static int print_objects(struct kubectl *k, const struct revisions *all)
{
	struct json *list = json_object(&k->arena), *items = json_array(&k->arena);
	for (size_t i = 0; i < all->n; i++) {
		if (all->history && revision_load(k, all, &all->v[i])) {
			return -1;
		}
		json_append(&k->arena, items, whole(k, all->type, all->v[i].object));
	}
	json_add(&k->arena, list, STR("apiVersion"), json_string(&k->arena, STR("v1")));
	json_add(&k->arena, list, STR("kind"), json_string(&k->arena, STR("List")));
	json_add(&k->arena, list, STR("items"), items);
	kubectl_print(k, list);
	return 0;
}

static void print_own(struct kubectl *k, const struct revisions *all)
{
	bool *is_live = mem_array(all->n, sizeof(*is_live));
	bool is_known = find_live(k, all, is_live);
	write_table(k, all, is_live, is_known);
	mem_free(is_live);
}

static int print_history(struct kubectl *k, const struct revisions *all)
{
	if (kubectl_prints_objects(k)) {
		return print_objects(k, all);
	}
	if (kubectl_wants(k, "name")) {
		struct str type = kubectl_type_name(k, all->type);
		for (size_t i = 0; i < all->n; i++) {
			buf_printf(&k->out, STR_FMT "/" STR_FMT "\n", STR_ARG(type), STR_ARG(all->v[i].name));
		}
	} else if (all->history) {
		write_recorded(k, all);
	} else {
		print_own(k, all);
	}
	return 0;
}

static int run_history(struct kubectl *k)
{
	struct revisions revisions;
	int r = revisions_list(k, &revisions);
	if (!r && revisions.n == 0) {
		r = kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	r = r ? r : print_history(k, &revisions);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_history = {
	.name = "history",
	.usage = "TYPE/NAME [flags]",
	.summary = "Lists the revisions of an object",
	.description = "Shows the revisions of an object of any kind, oldest first. Where a Recorder has recorded the\n"
		       "object, the revisions are its recorded states. They say who made the last change, and which parts\n"
		       "changed. A deleted object has them, too.\n\n"
		       "Elsewhere, and with --own, the revisions are those that the object's own controller keeps. These are\n"
		       "ControllerRevisions, the PodTemplates of a StatefulSet without any, or the ReplicaSets of a\n"
		       "Deployment.\n\n"
		       "LIVE: a pod or a Dependent was made from the revision. CURRENT: the object is now as the revision\n"
		       "says. -o wide shows all of a change. -o json and -o yaml print the revisions themselves.",
	.examples = "  # the revisions of a Deployment\n"
		    "  kubectl annals history deployment/web\n"
		    "  # those that its own controller keeps\n"
		    "  kubectl annals history deployment/web --own\n",
	.flags = "own",
	.outputs = "text,wide,json,yaml,name",
	.run = run_history,
};

/* ---- show ---- */

static int show(struct kubectl *k, const struct revisions *all)
{
	if (all->n == 0) {
		return kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	struct revision *r = k->revision >= 0 ? revisions_find(k, all, k->revision) : revisions_today(k, all);
	if (!r || revision_load(k, all, r)) {
		return -1;
	}
	k->output = kubectl_prints_objects(k) ? k->output : "yaml";
	kubectl_print(k, r->data);
	return 0;
}

static int run_show(struct kubectl *k)
{
	struct revisions revisions;
	int r = revisions_list(k, &revisions);
	r = r ? r : show(k, &revisions);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_show = {
	.name = "show",
	.usage = "TYPE/NAME [--revision=N] [flags]",
	.summary = "Shows the state that a revision holds",
	.description = "Shows an object as YAML, as it was in one of its revisions; by default in the newest.\n\n"
		       "A recorded revision has the object's state, without status and without the parts that the Recorder\n"
		       "ignores. Redacted values show as digests. A revision of the object's own controller has a part of the\n"
		       "object, such as the template of its pods. It is shown with --own, or where nothing was recorded.",
	.examples = "  # the newest revision\n"
		    "  kubectl annals show configmap/shop\n"
		    "  # another one, as JSON\n"
		    "  kubectl annals show configmap/shop --revision=2 -o json\n",
	.flags = "revision,own",
	.outputs = "text,yaml,json",
	.run = run_show,
};

/* ---- diff ----
 *
 * It works for the revisions of any API server, even for apps/v1. So the plugin computes the difference itself, with the
 * same code as the server's /diff. */

/* Bytes of one state as YAML: stored objects have at most 1.5 MiB as JSON. */
enum { DATA_MAX = 64 << 20 };

void kubectl_write_yaml_diff(const struct json *const values[2], const struct str names[2], struct buf *out)
{
	struct buf texts[2];
	for (size_t i = 0; i < 2; i++) {
		buf_init(&texts[i], DATA_MAX);
		if (values[i]) {
			yaml_from_json_visible(&texts[i], values[i]);
		}
	}
	line_diff(out, buf_str(&texts[0]), buf_str(&texts[1]), names[0].p, names[1].p);
	buf_done(&texts[0]);
	buf_done(&texts[1]);
}

struct str revision_title(struct kubectl *k, const struct revision *r)
{
	return arena_printf(&k->arena, STR_FMT " revision %lld (" STR_FMT ")", STR_ARG(kubectl_name(k)), (long long)r->number,
		STR_ARG(r->name));
}

void revisions_write_diff(struct kubectl *k, const struct revision *from, const struct revision *to, struct buf *out)
{
	assert(from->data && to->data);
	const struct json *const values[] = {from->data, to->data};
	const struct str names[] = {revision_title(k, from), revision_title(k, to)};
	kubectl_write_yaml_diff(values, names, out);
}

static int write(struct kubectl *k, const struct json *const values[2], const struct str names[2])
{
	if (kubectl_wants(k, "patch")) {
		const struct json *patch = diff_merge(values[0], values[1], &k->arena);
		if (!patch) {
			return kubectl_fail(k, "a merge patch cannot say what became null; -o json gives a JSON patch");
		}
		k->output = "json";
		kubectl_print(k, patch);
	} else if (!kubectl_print(k, diff_json(values[0], values[1], &k->arena))) {
		kubectl_write_yaml_diff(values, names, &k->out);
		k->is_diff = true;
	}
	return 0;
}

static int diff(struct kubectl *k, const struct revisions *all)
{
	if (all->n == 0) {
		return kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	struct revision *newest = all->history ? revisions_today(k, all) : &all->v[all->n - 1];
	struct revision *from = k->revision >= 0 ? revisions_find(k, all, k->revision) : revisions_before(k, all);
	struct revision *to = k->to >= 0 ? revisions_find(k, all, k->to) : newest;
	if (!from && k->revision < 0) {
		return kubectl_fail(k, STR_FMT " has one revision alone", STR_ARG(kubectl_name(k)));
	}
	if (!from || !to || revision_load(k, all, from) || revision_load(k, all, to)) {
		return -1;
	}
	return write(k, (const struct json *[]){from->data, to->data},
		(struct str[]){revision_title(k, from), revision_title(k, to)});
}

/* Compares the newest states of two objects. */
static int diff_objects(struct kubectl *k, const struct revisions *all, struct str other)
{
	struct revisions others;
	struct revision *from = all->n ? revisions_today(k, all) : NULL;
	if (!from) {
		return kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	struct str title = revision_title(k, from);
	if (revision_load(k, all, from) || kubectl_find(k, other, WORDS_OBJECT)) {
		return -1;
	}
	int r = revisions_list(k, &others);
	struct revision *to = !r && others.n ? revisions_today(k, &others) : NULL;
	r = r ? r : to ? revision_load(k, &others, to) : kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	r = r ? r : write(k, (const struct json *[]){from->data, to->data}, (struct str[]){title, revision_title(k, to)});
	revisions_done(&others);
	return r;
}

static bool has_other(const struct kubectl *k)
{
	return k->n_words == 1 && strchr(k->words[0], '/');
}

/* The words behind the object: N [M], or another object. */
static int check(struct kubectl *k)
{
	int64_t *numbers[] = {&k->revision, &k->to};
	if (k->n_words && (k->revision >= 0 || k->to >= 0)) {
		return kubectl_fail(k, "give revisions as words or by --revision and --to, not both");
	}
	for (size_t i = 0; !has_other(k) && i < k->n_words; i++) {
		if (!str_to_int64(str_of(k->words[i]), numbers[i]) || *numbers[i] < 0) {
			return kubectl_fail(k, "\"%s\" is no revision, and no other object as TYPE/NAME", k->words[i]);
		}
	}
	return 0;
}

static int run_diff(struct kubectl *k)
{
	struct revisions revisions;
	int r = revisions_list(k, &revisions);
	r = r ? r : has_other(k) ? diff_objects(k, &revisions, str_of(k->words[0])) : diff(k, &revisions);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_diff = {
	.name = "diff",
	.usage = "TYPE/NAME [N [M] | TYPE/NAME] [flags]",
	.summary = "Shows the difference of two revisions",
	.description = "Shows line by line, as YAML, how one revision of an object differs from another. By default these\n"
		       "are the newest revision and the one before. With N it begins at that revision, and with M it ends\n"
		       "there. With another object it compares the newest revisions of both.\n\n"
		       "-o json and -o yaml print the JSON Patch (RFC 6902) that leads from one to the other. -o patch\n"
		       "prints the merge patch (RFC 7396).",
	.examples = "  # the newest revision and the one before\n"
		    "  kubectl annals diff configmap/shop\n"
		    "  # two others, as a merge patch\n"
		    "  kubectl annals diff configmap/shop 1 3 -o patch\n"
		    "  # of two objects\n"
		    "  kubectl annals diff configmap/shop configmap/shop-test\n",
	.flags = "revision,to,own,color",
	.outputs = "text,json,yaml,patch",
	.words = WORDS_REVISIONS,
	.check = check,
	.run = run_diff,
};
