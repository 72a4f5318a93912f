/* The writes of a plan, and what is printed of it: the plan, the question, each outcome, the summary. */
#include "api/diff/state.h"
#include "api/model/members.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl_bulk.h"
#include "cli/kubectl/kubectl_undo.h"

#include <assert.h>
#include <unistd.h>

enum {
	TRIES = 16,  /* of a write, while a controller writes the status */
	WAITS = 150, /* for the end of an object, or for a type to be served */
	WAIT_MS = 200,
};

static const char *const action_names[] = {"skip", "create", "change", "replace", "delete", "refuse"};
static const char *const done_names[] = {"skipped", "created", "changed", "replaced", "deleted", "refused"};
static const char *const outcome_names[] = {"planned", "done", "failed"};

/* ---- writing ---- */

static int fail(struct bulk *b, struct bulk_item *item, struct str why)
{
	item->outcome = BULK_FAILED;
	item->reason = bulk_kept(b, why);
	return -1;
}

/* References to owners that have a uid by now. The others stay in item->links. */
static void take_links(struct bulk *b, struct bulk_item *item, struct json *references, struct arena *a)
{
	struct json *later = json_array(&b->arena), *each;
	for (uint32_t i = 0; (each = list_item(item->links, i)); i++) {
		const struct bulk_item *owner = bulk_owner_of(b, each);
		if (!owner->new_uid.n) {
			json_append(&b->arena, later, each);
			continue;
		}
		struct json *reference = json_copy(a, each);
		bool is_there = false;
		for (uint32_t j = 0; j < references->n && !is_there; j++) {
			is_there = str_eq(member_text(references->items[j], "uid"), owner->new_uid);
		}
		json_set(a, reference, STR("uid"), json_string(a, owner->new_uid));
		if (!is_there) {
			json_append(a, references, reference);
		}
	}
	item->links = later;
}

static struct str with_links(struct bulk *b, struct bulk_item *item)
{
	if (!item->links || !item->links->n) {
		return item->object;
	}
	struct arena a;
	arena_init(&a, BULK_ITEM_BYTES_MAX);
	const struct json *object = bulk_decoded(item->object, &a), *owners;
	struct json *ret = json_copy(&a, object), *meta = json_copy(&a, json_gets(object, "metadata"));
	owners = json_gets(meta, "ownerReferences");
	struct json *references = json_is(owners, JSON_ARRAY) ? json_copy(&a, owners) : json_array(&a);
	take_links(b, item, references, &a);
	if (references->n) {
		json_set(&a, meta, STR("ownerReferences"), references);
	}
	json_set(&a, ret, STR("metadata"), meta);
	struct str text = bulk_encoded(b, ret);
	arena_done(&a);
	return text;
}

/* A controller may have created it meanwhile, as it creates the default ServiceAccount of a new namespace. */
static int accept_twin(struct bulk *b, struct bulk_item *item)
{
	struct arena a;
	struct answer answer;
	const struct target target = {&item->type->resource, item->namespace, item->name, NULL};
	arena_init(&a, BULK_ITEM_BYTES_MAX);
	answer_init(&answer);
	bool is_same = rest_find(b->k->client, &target, &answer) == REST_FOUND &&
		json_equal(state_of(answer.body, NULL, &a), state_of(bulk_decoded(item->object, &a), NULL, &a));
	if (is_same) {
		item->new_uid = bulk_kept(b, member_text(json_gets(answer.body, "metadata"), "uid"));
	}
	answer_done(&answer);
	arena_done(&a);
	return is_same ? 0 : fail(b, item, STR("it was created meanwhile, in another state"));
}

static int create(struct bulk *b, struct bulk_item *item)
{
	struct str body = with_links(b, item);
	struct answer a;
	answer_init(&a);
	int error = bulk_request(b, item, "POST", NULL, body, false, &a);
	for (int i = 0; error == REST_STATUS && i < WAITS; i++) {
		bool is_type_to_come = a.code == 404 && bulk_is_new(b, item->type);
		if (!is_type_to_come && !bulk_missing_of(b, item, &a)) {
			break;
		}
		client_sleep(b->k->client, WAIT_MS);
		error = bulk_request(b, item, "POST", NULL, body, false, &a);
	}
	int r = 0;
	if (error == REST_STATUS && item->action == BULK_CREATE && answer_is(&a, 409, "AlreadyExists")) {
		r = accept_twin(b, item);
	} else if (error) {
		r = fail(b, item, bulk_refusal(b, error, &a));
	} else {
		item->new_uid = bulk_kept(b, member_text(json_gets(a.body, "metadata"), "uid"));
	}
	answer_done(&a);
	return r;
}

static const struct json *without_version(struct str patch, struct arena *a)
{
	struct json *value = bulk_decoded(patch, a), *ret = json_copy(a, value), *each;
	if (json_is(value, JSON_OBJECT)) {
		struct json *meta = json_copy(a, json_gets(value, "metadata"));
		json_remove(meta, STR("resourceVersion"));
		json_set(a, ret, STR("metadata"), meta);
		return ret;
	}
	ret = json_array(a);
	for (uint32_t i = 0; (each = list_item(value, i)); i++) {
		if (!str_is(member_text(each, "path"), "/metadata/resourceVersion")) {
			json_append(a, ret, each);
		}
	}
	return ret;
}

static bool is_same_plan(const struct bulk_item *planned, const struct bulk_item *now)
{
	enum bulk_action action = planned->action == BULK_REPLACE ? BULK_CHANGE : planned->action;
	if (now->action != action || now->revision != planned->revision || !str_eq(now->uid, planned->uid)) {
		return false;
	}
	if (action != BULK_CHANGE) {
		return true;
	}
	struct arena a;
	arena_init(&a, BULK_ITEM_BYTES_MAX);
	bool is_same = planned->patch_type == now->patch_type &&
		json_equal(without_version(planned->patch, &a), without_version(now->patch, &a));
	arena_done(&a);
	return is_same;
}

/* Somebody has written the object since it was read, perhaps only its status. If the same remains to be done, it is done for
 * the new version. */
static int plan_again(struct bulk *b, struct bulk_item *item)
{
	struct bulk_item now = {
		.group = item->group, .kind = item->kind, .namespace = item->namespace, .name = item->name, .revision = -1};
	bulk_plan_item(b, &now);
	if (!is_same_plan(item, &now)) {
		return fail(b, item,
			now.action == BULK_REFUSE ? now.reason
						  : STR("it was changed after the plan was made; nothing was written"));
	}
	item->patch = now.patch;
	item->version = now.version;
	return 0;
}

static int change(struct bulk *b, struct bulk_item *item)
{
	int r = 0;
	for (int i = 0; i < TRIES && !r; i++) {
		struct answer a;
		answer_init(&a);
		int error = item->action == BULK_CHANGE
			? bulk_request(b, item, "PATCH", item->patch_type, item->patch, false, &a)
			: bulk_request_deletion(b, item, false, &a);
		bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
		const struct target target = {&item->type->resource, item->namespace, item->name, NULL};
		bool is_gone = error == REST_STATUS && item->action == BULK_DELETE && answer_is_absent(&a, &target);
		if (!error || is_gone) {
			answer_done(&a);
			return 0;
		}
		r = is_conflict && i + 1 < TRIES ? plan_again(b, item) : fail(b, item, bulk_refusal(b, error, &a));
		answer_done(&a);
	}
	return r;
}

/* Waits until the object with the old uid is gone. */
static int await_end(struct bulk *b, struct bulk_item *item)
{
	const struct target target = {&item->type->resource, item->namespace, item->name, NULL};
	enum rest_found found = REST_UNKNOWN;
	for (int i = 0; i < WAITS && found != REST_ABSENT; i++) {
		struct answer a;
		answer_init(&a);
		found = rest_find_metadata(b->k->client, &target, &a);
		if (found == REST_FOUND && !str_eq(member_text(json_gets(a.body, "metadata"), "uid"), item->uid)) {
			found = REST_ABSENT; /* somebody has created another one */
		}
		answer_done(&a);
		if (found != REST_ABSENT) {
			client_sleep(b->k->client, WAIT_MS);
		}
	}
	return found == REST_ABSENT ? 0
				    : fail(b, item,
					      bulk_text(b,
						      "it was deleted, but is not gone yet: kubectl annals restore " STR_FMT
						      " creates it once it is",
						      STR_ARG(bulk_name_of(b, item))));
}

static int replace(struct bulk *b, struct bulk_item *item)
{
	if (change(b, item) || await_end(b, item)) {
		return -1;
	}
	if (create(b, item)) {
		return fail(b, item,
			bulk_text(b,
				"it was deleted, and could not be created anew: " STR_FMT "; kubectl annals restore " STR_FMT
				" creates it",
				STR_ARG(item->reason), STR_ARG(bulk_name_of(b, item))));
	}
	return 0;
}

static void tell(struct bulk *b, const struct bulk_item *item)
{
	struct kubectl *k = b->k;
	_cleanup_(buf_done) struct buf line;
	struct str name = bulk_name_of(b, item);
	bool is_done = item->outcome == BULK_DONE;
	buf_init(&line, 1 << 20);
	if (is_done && kubectl_wants(k, "name")) {
		buf_printf(&line, STR_FMT "\n", STR_ARG(name));
	} else if (is_done && kubectl_wants(k, "text")) {
		buf_printf(&line, STR_FMT " %s", STR_ARG(name), done_names[item->action]);
		if (item->namespace.n && k->is_everywhere) {
			buf_printf(&line, " in " STR_FMT, STR_ARG(item->namespace));
		}
		buf_addc(&line, '\n');
	} else if (!is_done) {
		buf_printf(&line, "error: " STR_FMT ": " STR_FMT "\n", STR_ARG(name), STR_ARG(item->reason));
	}
	command_print(is_done ? stdout : stderr, buf_str(&line));
	fflush(stdout);
}

static void write_item(struct bulk *b, struct bulk_item *item)
{
	int r = item->action == BULK_CREATE    ? create(b, item)
		: item->action == BULK_REPLACE ? replace(b, item)
					       : change(b, item);
	item->outcome = r ? BULK_FAILED : BULK_DONE;
	tell(b, item);
}

/* The second pass: owners that were created after their dependents. */
static void link_later(struct bulk *b, struct bulk_item *item)
{
	const struct target target = {&item->type->resource, item->namespace, item->name, NULL};
	int error = 0, r = -1;
	for (int i = 0; i < TRIES && r; i++) {
		struct answer live, a;
		struct arena scratch;
		answer_init(&live);
		answer_init(&a);
		arena_init(&scratch, BULK_ITEM_BYTES_MAX);
		error = rest_get(b->k->client, &target, &live);
		const struct json *meta = json_gets(live.body, "metadata"), *owners = json_gets(meta, "ownerReferences");
		struct json *references = json_is(owners, JSON_ARRAY) ? json_copy(&scratch, owners) : json_array(&scratch);
		struct json *links = item->links, *patch = json_object(&scratch), *sent = json_object(&scratch);
		uint32_t n = references->n;
		bool is_ours = !error && str_eq(member_text(meta, "uid"), item->new_uid);
		if (is_ours) {
			take_links(b, item, references, &scratch);
		}
		if (is_ours && references->n > n) {
			json_add_text(&scratch, sent, STR("uid"), item->new_uid);
			json_add_text(&scratch, sent, STR("resourceVersion"), member_text(meta, "resourceVersion"));
			json_add(&scratch, sent, STR("ownerReferences"), references);
			json_add(&scratch, patch, STR("metadata"), sent);
			error = bulk_request(b, item, "PATCH", PATCH_MERGE, bulk_encoded(b, patch), false, &a);
		}
		bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
		r = error ? -1 : 0;
		if (error && !is_conflict) {
			fail(b, item,
				bulk_text(b, "it was created, but not linked to its owner: " STR_FMT,
					STR_ARG(bulk_refusal(b, error, a.code || a.message.n ? &a : &live))));
			tell(b, item);
			r = 0;
		}
		item->links = error ? links : item->links;
		arena_done(&scratch);
		answer_done(&a);
		answer_done(&live);
	}
	if (r) {
		fail(b, item, STR("it was created, but not linked to its owner: it is being changed all the time"));
		tell(b, item);
	}
}

/* Deletions come first: what is created may need their names, ports and quotas. */
static void write_all(struct bulk *b)
{
	for (size_t i = b->n; i > 0; i--) {
		if (b->v[i - 1].action == BULK_DELETE) {
			write_item(b, &b->v[i - 1]);
		}
	}
	for (size_t i = 0; i < b->n; i++) {
		if (bulk_is_written(&b->v[i]) && b->v[i].action != BULK_DELETE) {
			write_item(b, &b->v[i]);
		}
	}
	for (size_t i = 0; i < b->n; i++) {
		if (b->v[i].outcome == BULK_DONE && b->v[i].links && b->v[i].links->n) {
			link_later(b, &b->v[i]);
		}
	}
}

/* ---- output ---- */

struct counts {
	size_t actions[ARRAY_SIZE(action_names)], n_done[ARRAY_SIZE(action_names)], n_failed, n_written;
};

static struct counts count(const struct bulk *b)
{
	struct counts ret = {0};
	for (size_t i = 0; i < b->n; i++) {
		const struct bulk_item *item = &b->v[i];
		ret.actions[item->action]++;
		ret.n_done[item->action] += item->outcome == BULK_DONE;
		ret.n_failed += item->outcome == BULK_FAILED;
		ret.n_written += bulk_is_written(item);
	}
	return ret;
}

static struct str in_one_line(struct bulk *b, const struct bulk_item *item)
{
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, 1 << 20);
	buf_add_str(&out, item->reason);
	for (size_t i = 0; i < item->notes.n; i++) {
		if (i == 0) {
			buf_adds(&out, item->reason.n ? "; " : "");
		}
		if (item->notes.p[i] == '\n') {
			buf_adds(&out, "; ");
		} else {
			buf_addc(&out, item->notes.p[i]);
		}
	}
	return bulk_kept(b, buf_str(&out));
}

static void write_plan(struct bulk *b, struct buf *out)
{
	static const char *const headings[] = {"NAMESPACE", "ACTION", "OBJECT", "REVISION", "REASON"};
	struct text_table table = {.n_columns = ARRAY_SIZE(headings)};
	size_t from = bulk_is_anywhere(b) ? 0 : 1;
	struct str *row = text_table_row(&table);
	for (size_t i = from; i < ARRAY_SIZE(headings); i++) {
		row[i - from] = str_of(headings[i]);
	}
	table.n_columns -= from;
	for (size_t i = 0; i < b->n; i++) {
		const struct bulk_item *item = &b->v[i];
		const struct str cells[] = {item->namespace.n ? item->namespace : STR("<none>"),
			str_of(action_names[item->action]), bulk_name_of(b, item),
			item->revision >= 0 ? bulk_text(b, "%lld", (long long)item->revision) : STR("<none>"),
			in_one_line(b, item)};
		row = text_table_row(&table);
		for (size_t j = from; j < ARRAY_SIZE(cells); j++) {
			row[j - from] = cells[j];
		}
	}
	text_table_write(&table, &b->arena, out);
	text_table_done(&table);
}

/* Differences have no namespaces in their headings. */
static void write_diffs(struct bulk *b, struct buf *out)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct bulk_item *item = &b->v[i];
		if (!item->diff.n || !bulk_is_written(item)) {
			continue;
		}
		if (out->n + item->diff.n > OUTPUT_MAX / 2) {
			kubectl_note(b->k, "the differences of the other objects are not shown: choose fewer");
			break;
		}
		buf_printf(out, "\n" STR_FMT, STR_ARG(bulk_name_of(b, item)));
		if (item->namespace.n) {
			buf_printf(out, " in namespace " STR_FMT, STR_ARG(item->namespace));
		}
		buf_addc(out, '\n');
		buf_add_str(out, item->diff);
	}
	buf_adds(out, b->k->shows_diffs ? "\n" : "");
}

static void write_counts(const size_t *n, const char *const *names, struct buf *out)
{
	const char *separator = "";
	for (size_t i = 0; i < ARRAY_SIZE(action_names); i++) {
		if (n[i]) {
			buf_printf(out, "%s%zu %s", separator, n[i], names[i]);
			separator = ", ";
		}
	}
	buf_adds(out, *separator ? "" : "nothing");
}

static struct json *item_value(struct bulk *b, const struct bulk_item *item)
{
	struct arena *a = &b->arena;
	struct json *ret = json_object(a), *object = json_object(a), *notes = json_array(a);
	struct str rest = item->notes, note;
	json_add_text(a, ret, STR("apiVersion"), STR("annals.dev/v1"));
	json_add_text(a, ret, STR("kind"), STR("PlannedWrite"));
	json_add_text(a, ret, STR("action"), str_of(action_names[item->action]));
	json_add_text(a, ret, STR("outcome"), str_of(outcome_names[item->outcome]));
	json_add_text(a, object, STR("group"), item->group);
	json_add_text(a, object, STR("kind"), item->kind);
	json_add_text(a, object, STR("namespace"), item->namespace);
	json_add_text(a, object, STR("name"), item->name);
	json_add(a, ret, STR("object"), object);
	if (item->revision >= 0) {
		json_add(a, ret, STR("revision"), json_int(a, item->revision));
	}
	json_add_text(a, ret, STR("reason"), item->reason);
	while (rest.n > 0) {
		str_cut(rest, '\n', &note, &rest);
		json_append(a, notes, json_string(a, note));
	}
	if (notes->n) {
		json_add(a, ret, STR("notes"), notes);
	}
	return ret;
}

static void write_values(struct bulk *b)
{
	struct arena *a = &b->arena;
	struct json *list = json_object(a), *items = json_array(a);
	for (size_t i = 0; i < b->n; i++) {
		json_append(a, items, item_value(b, &b->v[i]));
	}
	json_add_text(a, list, STR("apiVersion"), STR("v1"));
	json_add_text(a, list, STR("kind"), STR("List"));
	json_add(a, list, STR("items"), items);
	kubectl_print(b->k, list);
}

static void print_plan(struct bulk *b, const struct counts *c)
{
	struct kubectl *k = b->k;
	bool is_dry = !undo_is_dry(k, "none");
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, OUTPUT_MAX);
	if (!is_dry && !kubectl_wants(k, "text") && !kubectl_may_ask()) {
		return;
	}
	write_plan(b, &text);
	write_diffs(b, &text);
	if (is_dry) {
		write_counts(c->actions, action_names, &text);
		buf_printf(&text, " (%s dry run)\n", k->dry_run);
	}
	if (is_dry && kubectl_wants(k, "text")) {
		buf_add_str(&k->out, buf_str(&text));
	} else if (!is_dry) {
		command_print(stderr, buf_str(&text));
	}
}

static bool is_yes(const char *line)
{
	return strcasecmp(line, "y\n") == 0 || strcasecmp(line, "yes\n") == 0;
}

/* 1: go on; 0: the user declines; -1: nobody can be asked. */
static int ask(struct bulk *b, const struct counts *c)
{
	struct kubectl *k = b->k;
	char line[16];
	if (k->is_agreed) {
		return 1;
	}
	if (!kubectl_may_ask()) {
		return kubectl_fail(k, "nothing was %s: without a terminal, --yes is needed", b->verb);
	}
	_cleanup_(buf_done) struct buf question;
	buf_init(&question, 64 * 1024);
	write_counts(c->actions, action_names, &question);
	buf_adds(&question, ". Continue? [y/N] ");
	command_print(stderr, buf_str(&question));
	fflush(stderr);
	if (fgets(line, sizeof(line), stdin) && is_yes(line)) {
		return 1;
	}
	buf_printf(&k->out, "nothing was %s\n", b->verb);
	return 0;
}

/* Writes that were done are printed even if the command fails. */
static int finish(struct bulk *b)
{
	struct kubectl *k = b->k;
	const struct counts c = count(b);
	size_t n_wrong = c.n_failed + c.actions[BULK_REFUSE];
	bool is_dry = !undo_is_dry(k, "none");
	if (kubectl_prints_objects(k)) {
		write_values(b);
	} else if (kubectl_wants(k, "text") && !is_dry) {
		write_counts(c.n_done, done_names, &k->out);
		buf_adds(&k->out, c.actions[BULK_REFUSE] || c.n_failed ? "" : "\n");
		if (n_wrong) {
			buf_printf(&k->out, "; %zu refused, %zu failed\n", c.actions[BULK_REFUSE], c.n_failed);
		}
	}
	if (!n_wrong) {
		return 0;
	}
	command_print(stdout, buf_str(&k->out));
	fflush(stdout);
	buf_clear(&k->out);
	return kubectl_fail(k, "%zu of %zu objects %s not %s", n_wrong, n_wrong + c.n_written - c.n_failed,
		is_dry ? "would be" : "were", b->verb);
}

int bulk_carry_out(struct bulk *b)
{
	struct kubectl *k = b->k;
	const struct counts c = count(b);
	if (!b->n && kubectl_wants(k, "text")) {
		buf_printf(&k->out, "nothing is to be %s\n", b->verb);
		return 0;
	}
	print_plan(b, &c);
	if (c.n_written && undo_is_dry(k, "none")) {
		int r = ask(b, &c);
		if (r <= 0) {
			return r;
		}
		write_all(b);
	}
	return finish(b);
}
