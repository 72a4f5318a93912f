/* The command who-uses. It asks the server by a DELETE with dryRun=All what prevents a deletion, so the answer follows that
 * server's rules. Users are found by computed field selectors, so that not all Dependents have to be read. */
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

static void write_users(struct kubectl *k, const struct json *list)
{
	const struct json *items = json_gets(list, "items"), *item;
	struct text_table t = {.n_columns = 3};
	struct str *row = text_table_row(&t);
	row[0] = STR("USED BY"), row[1] = STR("PHASE"), row[2] = STR("AGE");
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		const struct json *meta = json_gets(item, "metadata");
		struct str phase = member_text(json_gets(item, "status"), "phase");
		row = text_table_row(&t);
		row[0] = arena_printf(&k->arena, "dependent/" STR_FMT, STR_ARG(member_text(meta, "name")));
		row[1] = json_gets(meta, "deletionTimestamp") ? STR("Terminating") : phase.n ? phase : STR("<none>");
		row[2] = age_text(&k->arena, item);
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

static int list_users(struct kubectl *k, const char *field, struct answer *ret)
{
	const struct target all = {&dependents, str_of(k->ns), STR(""), NULL};
	const struct list_options options = {
		.field_selector = arena_printf(&k->arena, "%s" STR_FMT "=true", field, STR_ARG(k->target.name))};
	int error = rest_list(k->client, &all, &options, ret);
	return error ? kubectl_refused(k, error, ret) : 0;
}

static int print_users(struct kubectl *k, const char *field)
{
	struct answer users, rehearsal;
	answer_init(&users);
	answer_init(&rehearsal);
	int r = list_users(k, field, &users);
	if (!r && !kubectl_print(k, users.body)) {
		int error = rehearse(k, &rehearsal);
		if (error && error != REST_STATUS) {
			r = kubectl_refused(k, error, &rehearsal);
		} else {
			write_state(k);
			write_rehearsal(k, error, &rehearsal);
			write_users(k, users.body);
		}
	}
	answer_done(&users);
	answer_done(&rehearsal);
	return r;
}

static int run(struct kubectl *k)
{
	const char *field = field_of(k->target.resource);
	if (!field) {
		return kubectl_fail(k, "nothing refers to " STR_FMT ": only to providers and controllerrevisions",
			STR_ARG(k->target.resource->plural));
	}
	return kubectl_get(k) ? -1 : print_users(k, field);
}

const struct kubectl_command kubectl_who_uses = {
	.name = "who-uses",
	.usage = "provider/NAME | controllerrevision/NAME [flags]",
	.summary = "Lists what refers to an object, and what keeps it",
	.description = "Shows the objects that refer to a Provider or a ControllerRevision, whether it is being deleted, and\n"
		       "which of them keep it from being deleted. -o json and -o yaml print these objects.",
	.examples = "  # what keeps a Provider\n"
		    "  kubectl annals who-uses provider/colours\n",
	.flags = "",
	.outputs = "text,json,yaml",
	.run = run,
};
