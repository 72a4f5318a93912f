/* The command who-uses. It asks the server by a DELETE with dryRun=All what prevents a deletion, so the answer follows that
 * server's rules. Users are found by computed field selectors, so that not all objects have to be read: those of Dependents,
 * and those that definitions declare (api/custom/declared.h). */
#include "api/custom/custom.h"
#include "api/custom/declared.h"
#include "api/model/members.h"
#include "cli/kubectl/kubectl.h"

static const struct resource dependents = {{"annals.dev", 10}, {"v1", 2}, {"dependents", 10}};

/* Computed fields of Dependents (api/model/reference.h), by the type that they refer to. */
static const struct {
	const char *plural, *field;
} fields[] = {
	{"providers", "spec.providers."},
	{"controllerrevisions", "spec.controllerRevisions."},
};

static const char *field_of(const struct resource *r)
{
	bool may_be_revision = str_is(r->group, "annals.dev") || str_is(r->group, "apps");
	for (size_t i = 0; i < ARRAY_SIZE(fields) && may_be_revision; i++) {
		if (str_is(r->plural, fields[i].plural)) {
			return fields[i].field;
		}
	}
	return NULL;
}

enum { LISTS_MAX = 256 }; /* requests for users: each definition that declares references to the type is one or more */

/* Lists of users: of Dependents, then of each field that a definition declares. */
struct users {
	struct kubectl *k;
	struct answer *lists; /* LISTS_MAX */
	struct str *titles;   /* "dependent", "widgets.example.com" */
	size_t n;
	int error; /* of kubectl's functions */
};

static void write_user(struct kubectl *k, struct text_table *t, struct str title, const struct json *item)
{
	const struct json *meta = json_gets(item, "metadata");
	struct str phase = member_text(json_gets(item, "status"), "phase"), ns = member_text(meta, "namespace");
	bool is_elsewhere = ns.n > 0 && !str_eq(ns, k->target.namespace);
	struct str *row = text_table_row(t);

	row[0] = arena_printf(&k->arena, STR_FMT "/" STR_FMT "%s" STR_FMT, STR_ARG(title), STR_ARG(member_text(meta, "name")),
		is_elsewhere ? " -n " : "", is_elsewhere ? (int)ns.n : 0, ns.p ? ns.p : "");
	row[1] = json_gets(meta, "deletionTimestamp") ? STR("Terminating") : phase.n ? phase : STR("<none>");
	row[2] = age_text(&k->arena, item);
}

static void write_users(struct kubectl *k, const struct users *u)
{
	const struct json *item;
	struct text_table t = {.n_columns = 3};
	struct str *row = text_table_row(&t);
	row[0] = STR("USED BY"), row[1] = STR("PHASE"), row[2] = STR("AGE");
	for (size_t n = 0; n < u->n; n++) {
		for (uint32_t i = 0; (item = list_item(json_gets(u->lists[n].body, "items"), i)); i++) {
			write_user(k, &t, u->titles[n], item);
		}
	}
	if (t.n == 1) {
		buf_adds(&k->out, "nothing uses it\n");
	} else {
		text_table_write(&t, &k->arena, &k->out);
	}
	text_table_done(&t);
}

static void write_state(struct kubectl *k)
{
	const struct json *meta = json_gets(k->object, "metadata"), *finalizers = json_gets(meta, "finalizers"), *each;
	struct str since = member_text(meta, "deletionTimestamp");
	buf_printf(&k->out, STR_FMT " is %s" STR_FMT "\n", STR_ARG(kubectl_name(k)),
		since.n ? "being deleted since " : "not being deleted", STR_ARG(since));
	buf_adds(&k->out, "finalizers:");
	for (uint32_t i = 0; (each = list_item(finalizers, i)); i++) {
		buf_printf(&k->out, " " STR_FMT, STR_ARG(json_text(each)));
	}
	buf_adds(&k->out, member_count(meta, "finalizers") ? "\n" : " none\n");
}

/* Prints the answer of a deletion's dry run. That a user may not delete is a message, and no failure. */
static void write_rehearsal(struct kubectl *k, int error, const struct answer *a)
{
	const struct json *causes = json_gets(json_gets(a->body, "details"), "causes"), *cause;
	bool keeps = member_count(json_gets(k->object, "metadata"), "finalizers") > 0;
	if (!error) {
		buf_printf(&k->out, "a deletion %s\n",
			keeps ? "would begin, and end when its finalizers have been removed" : "would remove it at once");
		return;
	}
	buf_printf(&k->out, "a deletion would not be carried out: " STR_FMT "\n", STR_ARG(a->message));
	for (uint32_t i = 0; (cause = list_item(causes, i)); i++) {
		buf_printf(&k->out, "  " STR_FMT ": " STR_FMT "\n", STR_ARG(member_text(cause, "reason")),
			STR_ARG(member_text(cause, "message")));
	}
}

static int rehearse(struct kubectl *k, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, 64 * 1024);
	target_path(&path, &k->target);
	query_add(&path, "dryRun", STR("All"));
	buf_addc(&path, '\0');
	return rest_do(k->client, &(struct rest_call){.method = "DELETE", .path = path.p}, ret);
}

/* Adds the list of the objects of a type that refer to the object by that computed field. */
static int users_list(struct users *u, const struct resource *r, struct str title, struct str ns, struct str path)
{
	struct kubectl *k = u->k;
	const struct target all = {r, ns, STR(""), NULL};
	const struct list_options options = {.field_selector = arena_printf(&k->arena, STR_FMT "=true", STR_ARG(path))};

	if (u->n == LISTS_MAX) {
		return kubectl_fail(k, "more than %d fields refer to such objects", LISTS_MAX);
	}
	struct answer *list = &u->lists[u->n];
	answer_init(list);
	u->titles[u->n++] = title;
	int error = rest_list(k->client, &all, &options, list);
	return error ? kubectl_refused(k, error, list) : 0;
}

/* The hub's group, under which references name what several groups have. */
static struct str hub_group(const struct resource *r)
{
	const struct kind *k = kind_by_any_group(r->group, r->plural);

	return k ? str_of(k->versions[0].group) : r->group;
}

static const struct api_resource *served(const struct discovery *d, struct str group, struct str plural)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct resource *r = &d->resources[i].resource;
		if (d->resources[i].is_preferred && str_eq(r->group, group) && str_eq(r->plural, plural)) {
			return &d->resources[i];
		}
	}
	return NULL;
}

static bool on_definition(void *ctx, const struct json *definition)
{
	struct users *u = ctx;
	struct kubectl *k = u->k;
	const struct json *meta = json_gets(definition, "metadata");
	struct str text = json_text(json_gets(json_gets(meta, "annotations"), ANNOTATION_REFERS_TO)), plural, group;
	struct declared d = {.text = STR("")};

	str_cut(member_text(meta, "name"), '.', &plural, &group);
	const struct api_resource *type = text.n ? served(&k->discovery, group, plural) : NULL;
	if (!type) {
		return true;
	}
	declared_read_references(&d, text, &k->arena);
	for (size_t i = 0; i < d.n_references && !u->error; i++) {
		const struct reference_field *f = &d.fields[i];
		struct str title = arena_printf(&k->arena, STR_FMT "." STR_FMT, STR_ARG(plural), STR_ARG(group));
		if (str_is(k->target.resource->plural, f->resource) && str_is(hub_group(k->target.resource), f->group)) {
			u->error = users_list(u, &type->resource, title,
				f->scope == REFERENCE_BESIDE && type->is_namespaced ? k->target.namespace : STR(""),
				reference_path(f, k->target.namespace, k->target.name, &k->arena));
		}
	}
	return !u->error;
}

/* Only a server of such kinds has them: behind another one, and without the right to read them, Dependents are listed alone. */
static int users_find_declared(struct users *u)
{
	static const struct resource definitions = {{DEFINITIONS_GROUP, sizeof(DEFINITIONS_GROUP) - 1}, {"v1", 2},
		{DEFINITIONS_RESOURCE, sizeof(DEFINITIONS_RESOURCE) - 1}};
	const struct target all = {&definitions, STR(""), STR(""), NULL};
	struct answer a;

	answer_init(&a);
	int error = rest_each(u->k->client, &all, true, on_definition, u, &a);
	if (error == REST_STATUS) {
		if (a.code != 404) {
			kubectl_note(u->k, "what definitions declare is left out: " STR_FMT, STR_ARG(a.message));
		}
		error = 0;
	} else if (error && !u->error) {
		u->error = kubectl_refused(u->k, error, &a);
	}
	answer_done(&a);
	return u->error;
}

/* One list as the server answers it; of several, their items. */
static const struct json *users_json(const struct users *u)
{
	struct arena *a = &u->k->arena;
	struct json *all = json_object(a), *items = json_array(a), *item;

	if (u->n == 1) {
		return u->lists[0].body;
	}
	for (size_t n = 0; n < u->n; n++) {
		for (uint32_t i = 0; (item = list_item(json_gets(u->lists[n].body, "items"), i)); i++) {
			json_append(a, items, item);
		}
	}
	json_add(a, all, STR("kind"), json_string(a, STR("List")));
	json_add(a, all, STR("apiVersion"), json_string(a, STR("v1")));
	json_add(a, all, STR("items"), items);
	return all;
}

static int users_print(struct users *u)
{
	struct kubectl *k = u->k;
	struct answer rehearsal;
	int r = 0;

	if (kubectl_print(k, users_json(u))) {
		return 0;
	}
	answer_init(&rehearsal);
	int error = rehearse(k, &rehearsal);
	if (error && error != REST_STATUS) {
		r = kubectl_refused(k, error, &rehearsal);
	} else {
		write_state(k);
		write_rehearsal(k, error, &rehearsal);
		write_users(k, u);
	}
	answer_done(&rehearsal);
	return r;
}

static int run(struct kubectl *k)
{
	const char *field = field_of(k->target.resource);
	struct users u = {.k = k};

	if (kubectl_get(k)) {
		return -1;
	}
	u.lists = arena_zalloc_array(&k->arena, LISTS_MAX, sizeof(*u.lists));
	u.titles = arena_zalloc_array(&k->arena, LISTS_MAX, sizeof(*u.titles));
	int r = field ? users_list(&u, &dependents, STR("dependent"), k->target.namespace,
				arena_printf(&k->arena, "%s" STR_FMT, field, STR_ARG(k->target.name)))
		      : 0;
	r = r ? r : users_find_declared(&u);
	r = r ? r : users_print(&u);
	for (size_t i = 0; i < u.n; i++) {
		answer_done(&u.lists[i]);
	}
	return r;
}

const struct kubectl_command kubectl_who_uses = {
	.name = "who-uses",
	.usage = "TYPE/NAME [flags]",
	.summary = "Lists what refers to an object, and what keeps it",
	.description =
		"Shows the objects that refer to an object, whether it is being deleted, and which of them keep it from\n"
		"being deleted. These are Dependents of a Provider or a ControllerRevision, and objects of definitions\n"
		"with the annotation annals.dev/refers-to. -o json and -o yaml print them.",
	.examples = "  # what keeps a Provider\n"
		    "  kubectl annals who-uses provider/colours\n",
	.flags = "",
	.outputs = "text,json,yaml",
	.run = run,
};
