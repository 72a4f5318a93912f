/* Whether a revision is live is asked of Pods by their label, and of Dependents where annals
 * keeps the revisions. Who may read revisions may still not read Pods: then the column says so
 * and the command does not fail. */
#include "api/model/members.h"
#include "cli/kubectl/kubectl.h"

#define CHANGE_CAUSE "kubernetes.io/change-cause"
#define HASH_LABEL "controller-revision-hash"

static const struct resource pods = {{"", 0}, {"v1", 2}, {"pods", 4}};
static const struct resource dependents = {{"annals.dev", 10}, {"v1", 2}, {"dependents", 10}};

/* What a revision is called on the objects made from it: its own name (StatefulSets) or its hash
 * (DaemonSets). */
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
	bool *is_live;    /* one for each */
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

/* Who may not look at them does not get to know; that is no reason to show nothing. */
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

/* ---- of a Recorder ---- */

const struct json *change_to(const struct revisions *all, const struct revision *r)
{
	const struct json *changes = json_gets(json_gets(all->history, "status"), "changes");
	for (uint32_t i = json_is(changes, JSON_ARRAY) ? changes->n : 0; i > 0; i--) {
		if (str_eq(member_text(changes->items[i - 1], "revision"), r->name)) {
			return changes->items[i - 1];
		}
	}
	return NULL;
}

static struct str or_none(struct str text)
{
	return text.n ? text : STR("<none>");
}

static void fill_recorded(struct kubectl *k, const struct revisions *all, const struct revision *r, struct str *row)
{
	const struct json *change = change_to(all, r);
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

/* Lists leave out what all of their items have in common; a List of anything must not. */
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

static void print_names(struct kubectl *k, const struct revisions *all)
{
	struct str type = kubectl_type_name(k, all->type);
	for (size_t i = 0; i < all->n; i++) {
		buf_printf(&k->out, STR_FMT "/" STR_FMT "\n", STR_ARG(type), STR_ARG(all->v[i].name));
	}
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
	if (kubectl_wants(k, "json") || kubectl_wants(k, "yaml")) {
		return print_objects(k, all);
	}
	if (kubectl_wants(k, "name")) {
		print_names(k, all);
	} else if (all->history) {
		write_recorded(k, all);
	} else {
		print_own(k, all);
	}
	return 0;
}

static int run(struct kubectl *k)
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
	.summary = "the revisions of an object",
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
	.run = run,
};
