/* Histories: which one is whose. The name says it, where the subject has a namespace. That of a
 * subject without one is in a namespace that its Recorder chose, so it is looked for by fields. */
#include "api/model/members.h"
#include "api/record/names.h"
#include "cli/kubectl/kubectl.h"

const struct resource histories = {{"annals.dev", 10}, {"v1", 2}, {"histories", 9}};

int histories_check(struct kubectl *k)
{
	if (discovery_find_resource(&k->discovery, &histories)) {
		return 0;
	}
	if (discovery_has_failed(&k->discovery, histories.group, histories.version)) {
		return kubectl_fail(k, "annals.dev, which keeps histories, cannot be asked: is annals running?");
	}
	return kubectl_fail(k, "the server has no annals.dev: annals, which records what is changed, is not installed there");
}

static int forbidden(struct kubectl *k, const struct answer *a)
{
	kubectl_note(k, "Histories are not looked at (" STR_FMT "); what follows is what the object's own controller keeps",
		STR_ARG(a->message));
	return 0;
}

static int get_named(struct kubectl *k, struct answer *ret_answer, const struct json **ret)
{
	const struct history_subject subject = {k->type->resource.group, k->type->kind, str_of(k->ns), k->target.name};
	const struct target target = {&histories, subject.namespace, history_name(&subject, &k->arena), NULL};
	int error = rest_get(k->client, &target, ret_answer);
	if (error == REST_STATUS && ret_answer->code == 404) {
		return 0;
	}
	if (error == REST_STATUS && ret_answer->code == 403) {
		return forbidden(k, ret_answer);
	}
	*ret = ret_answer->body;
	return error ? kubectl_refused(k, error, ret_answer) : 1;
}

/* A value of a field selector. */
static struct str escaped(struct arena *a, struct str text)
{
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, 64 * 1024);
	for (size_t i = 0; i < text.n; i++) {
		if (strchr("\\,=", text.p[i])) {
			buf_addc(&out, '\\');
		}
		buf_addc(&out, text.p[i]);
	}
	return arena_dup(a, buf_str(&out));
}

struct str histories_selector(struct kubectl *k)
{
	struct arena *a = &k->arena;
	struct str group = k->type->resource.group, kind = k->type->kind, name = escaped(a, k->target.name);
	return arena_printf(a, "spec.subject.group=" STR_FMT ",spec.subject.kind=" STR_FMT "%s" STR_FMT, STR_ARG(group),
		STR_ARG(kind), name.n ? ",spec.subject.name=" : "", STR_ARG(name));
}

/* Recorders that say another namespace than before leave histories in both. */
static const struct json *latest(const struct json *list)
{
	const struct json *items = json_gets(list, "items"), *item, *found = NULL;
	struct str newest = {NULL, 0};
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		const struct json *changes = json_gets(json_gets(item, "status"), "changes");
		struct str time = changes && changes->n ? member_text(list_item(changes, changes->n - 1), "time") : STR("");
		if (!found || str_cmp(time, newest) > 0) {
			found = item;
			newest = time;
		}
	}
	return found;
}

static int list_named(struct kubectl *k, struct answer *ret_answer, const struct json **ret)
{
	struct target all = {&histories, STR(""), STR(""), NULL};
	const struct list_options options = {.field_selector = histories_selector(k)};
	int error = rest_list(k->client, &all, &options, ret_answer);
	if (error == REST_STATUS && ret_answer->code == 403) {
		all.namespace = str_of(k->ns);
		error = rest_list(k->client, &all, &options, ret_answer);
	}
	if (error == REST_STATUS && ret_answer->code == 403) {
		return forbidden(k, ret_answer);
	}
	if (error) {
		return kubectl_refused(k, error, ret_answer);
	}
	*ret = latest(ret_answer->body);
	return *ret ? 1 : 0;
}

int history_find(struct kubectl *k, struct answer *ret_answer, const struct json **ret)
{
	if (str_eq(k->type->resource.group, histories.group)) {
		return 0; /* annals' own kinds are never recorded */
	}
	if (!discovery_find_resource(&k->discovery, &histories)) {
		/* Numbers of own revisions are others: who means recorded ones must not get those. */
		return discovery_has_failed(&k->discovery, histories.group, histories.version)
			? kubectl_fail(
				  k, "annals.dev cannot be asked for Histories; --own shows what the object's controller keeps")
			: 0;
	}
	return k->type->is_namespaced ? get_named(k, ret_answer, ret) : list_named(k, ret_answer, ret);
}

struct str history_subject(struct arena *a, const struct json *history)
{
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");
	struct str kind = member_text(subject, "kind"), group = member_text(subject, "group"),
		   name = member_text(subject, "name");
	char *lower = arena_text(a, kind.n + 1);
	for (size_t i = 0; i < kind.n; i++) {
		char c = kind.p[i];
		lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	return arena_printf(
		a, "%.*s%s" STR_FMT "/" STR_FMT, (int)kind.n, lower, group.n ? "." : "", STR_ARG(group), STR_ARG(name));
}

bool history_is_deleted(const struct json *history)
{
	return member_text(json_gets(history, "status"), "deletionTime").n > 0;
}

/* ---- changes ---- */

struct str change_by(struct arena *a, const struct json *change)
{
	struct str user = member_text(change, "user");
	const struct json *managers = json_gets(change, "managers"), *each;
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, 64 * 1024);
	for (uint32_t i = 0; !user.n && (each = list_item(managers, i)); i++) {
		buf_printf(&out, "%s" STR_FMT, i ? "," : "", STR_ARG(json_text(each)));
	}
	return user.n ? user : out.n ? arena_dup(a, buf_str(&out)) : STR("<unknown>");
}

enum { SHORT = 60 }; /* columns of paths */

struct str change_what(struct arena *a, const struct json *change, bool is_wide)
{
	const struct json *paths = json_gets(change, "paths"), *each;
	struct str type = member_text(change, "type");
	bool is_changed = str_is(type, "Changed");
	_cleanup_(buf_done) struct buf out;
	uint32_t i = 0;
	int64_t more = member_int(change, "morePaths") + member_count(change, "paths");
	buf_init(&out, 64 * 1024);
	buf_add_str(&out, type);
	for (; is_changed && (each = list_item(paths, i)); i++, more--) {
		struct str path = json_text(each);
		if (!is_wide && i > 0 && out.n + path.n > SHORT) {
			break;
		}
		buf_printf(&out, "%s" STR_FMT, i ? ", " : " ", STR_ARG(path));
	}
	if (is_changed && more > 0) {
		buf_printf(&out, i ? " and %lld more" : " %lld values", (long long)more);
	}
	return arena_dup(a, buf_str(&out));
}
