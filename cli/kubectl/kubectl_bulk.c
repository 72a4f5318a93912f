/* Undo and restore of many objects. All is planned before anything is asked, and asked before anything is written.
 *
 * A plan is kept as text: the answers from which it was made may be large, and are freed with each object. */
#include "cli/kubectl/kubectl_bulk.h"
#include "api/diff/state.h"
#include "api/model/members.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl_undo.h"
#include "cli/kubectl/kubectl_watch.h"
#include "cli/kubectl/put_back.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	ITEM_BYTES_MAX = 128 << 20, /* of all that is read to plan one object */
	BODY_MAX = 16 << 20,        /* of a request; servers refuse more than 3 MiB */
	KEY_MAX = 2048,             /* of a subject as one text */
	TRIES = 16,                 /* of a write, while a controller writes the status */
	WAITS = 150,                /* for the end of an object, or for a type to be served */
	WAIT_MS = 200,
};

static const char *const action_names[] = {"skip", "create", "change", "replace", "delete", "refuse"};
static const char *const done_names[] = {"skipped", "created", "changed", "replaced", "deleted", "refused"};
static const char *const outcome_names[] = {"planned", "done", "failed"};

/* ---- items ---- */

void bulk_init(struct bulk *b, struct kubectl *k)
{
	*b = (struct bulk){.k = k, .verb = "written"};
	arena_init(&b->arena, BULK_BYTES_MAX);
	map_init(&b->known, BULK_ITEMS_MAX);
	map_init(&b->by_uid, BULK_ITEMS_MAX);
	k->bulk = b;
}

void bulk_done(struct bulk *b)
{
	b->k->bulk = NULL;
	map_done(&b->by_uid);
	map_done(&b->known);
	arena_done(&b->arena);
	mem_free(b->v);
}

struct str bulk_text(struct bulk *b, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str ret = arena_vprintf(&b->arena, format, ap);
	va_end(ap);
	return ret;
}

static struct str kept(struct bulk *b, struct str text)
{
	return arena_dup(&b->arena, text);
}

static struct str encoded(struct bulk *b, const struct json *value)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, BODY_MAX);
	json_encode(&text, value);
	return text.is_over ? STR("") : kept(b, buf_str(&text));
}

static struct json *decoded(struct str text, struct arena *a)
{
	struct json *ret = NULL;
	size_t at;
	int r = json_parse(&ret, a, text, JSON_LIMITS_DEFAULT, &at);
	assert(r == 0 && ret); /* our own text */
	return ret;
}

/* The order in which things need each other. Dependents come before the controllers that adopt them by their labels: otherwise
 * the controller would make them first. Webhooks and API services come last, since they may depend on all others. */
static const struct {
	const char *group, *kind; /* NULL: any */
	int rank;
} ranks[] = {
	{"", "Namespace", 0},
	{"apiextensions.k8s.io", "CustomResourceDefinition", 10},
	{"scheduling.k8s.io", NULL, 20},
	{"node.k8s.io", NULL, 20},
	{"", "ServiceAccount", 30},
	{"rbac.authorization.k8s.io", "ClusterRole", 31},
	{"rbac.authorization.k8s.io", "Role", 31},
	{"rbac.authorization.k8s.io", NULL, 32},
	{"", "Secret", 33},
	{"", "ConfigMap", 33},
	{"", "LimitRange", 33},
	{"", "ResourceQuota", 33},
	{"storage.k8s.io", NULL, 40},
	{"", "PersistentVolume", 41},
	{"", "PersistentVolumeClaim", 42},
	{"", "Service", 50},
	{"apps", "ReplicaSet", 60},
	{"batch", "Job", 60},
	{"", "PodTemplate", 60},
	{"apps", NULL, 61},
	{"batch", NULL, 61},
	{"", "ReplicationController", 61},
	{"", "Pod", 62},
	{"admissionregistration.k8s.io", NULL, 80},
	{"apiregistration.k8s.io", NULL, 80},
};
enum { RANK_OTHERS = 70 };

static int rank_of(struct str group, struct str kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		if (str_is(group, ranks[i].group) && (!ranks[i].kind || str_is(kind, ranks[i].kind))) {
			return ranks[i].rank;
		}
	}
	return RANK_OTHERS;
}

static bool is_kind(const struct bulk_item *item, const char *group, const char *kind)
{
	return str_is(item->group, group) && str_is(item->kind, kind);
}

int bulk_add(struct bulk *b, const struct json *history)
{
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");
	struct bulk_item item = {
		.group = kept(b, member_text(subject, "group")),
		.kind = kept(b, member_text(subject, "kind")),
		.namespace = kept(b, member_text(subject, "namespace")),
		.name = kept(b, member_text(subject, "name")),
		.old_uid = kept(b, member_text(json_gets(history, "status"), "uid")),
		.revision = -1,
	};
	struct str key = bulk_text(b, STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT, STR_ARG(item.group), STR_ARG(item.kind),
		STR_ARG(item.namespace), STR_ARG(item.name));
	if (map_get(&b->known, key)) {
		return 0;
	}
	if (!map_set(&b->known, key, b, NULL)) {
		return kubectl_fail(
			b->k, "more than %d objects: choose fewer by a type, a namespace or a time", BULK_ITEMS_MAX);
	}
	item.rank = rank_of(item.group, item.kind);
	if (b->n == b->cap) {
		b->cap = b->cap * 2 + 64;
		b->v = mem_realloc_array(b->v, b->cap, sizeof(*b->v));
	}
	b->v[b->n++] = item;
	return 0;
}

/* ---- choosing ---- */

static int add_subject(struct kubectl *k, void *ctx)
{
	struct bulk *b = ctx;
	if (b->n_subjects == BULK_SUBJECTS_MAX) {
		return kubectl_fail(k, "more than %d types or objects", BULK_SUBJECTS_MAX);
	}
	b->subjects[b->n_subjects++] = (struct bulk_subject){k->type, k->target.name};
	return 0;
}

int bulk_find_subjects(struct bulk *b)
{
	int r = kubectl_find_all(b->k, add_subject, b);
	b->k->type = NULL;
	return r;
}

static bool is_anywhere(const struct bulk *b)
{
	bool is = b->k->is_everywhere;
	for (size_t i = 0; i < b->n_subjects && !is; i++) {
		is = !b->subjects[i].type->is_namespaced;
	}
	return is;
}

bool bulk_is_meant(const struct bulk *b, const struct json *history)
{
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");
	struct str group = member_text(subject, "group"), kind = member_text(subject, "kind"),
		   name = member_text(subject, "name"), namespace = member_text(subject, "namespace");
	bool is_meant = b->n_subjects == 0;
	bool is_here = b->k->is_everywhere || str_is(namespace, b->k->ns);
	for (size_t i = 0; i < b->n_subjects && !is_meant; i++) {
		const struct bulk_subject *s = &b->subjects[i];
		is_meant = str_eq(group, s->type->resource.group) && str_eq(kind, s->type->kind) &&
			(!s->name.n || str_eq(name, s->name));
		is_here |= is_meant && !s->type->is_namespaced;
	}
	return is_meant && is_here;
}

struct listing {
	bool (*each)(void *ctx, const struct json *history);
	void *ctx;
	bool has_failed;
};

static bool hand_over(void *ctx, const struct json *history)
{
	struct listing *l = ctx;
	l->has_failed = l->has_failed || !l->each(l->ctx, history);
	return !l->has_failed;
}

int bulk_list(struct bulk *b, struct str field_selector, bool (*each)(void *ctx, const struct json *history))
{
	struct listing l = {.each = each, .ctx = b};
	struct str version;
	const struct kubectl_watch w = {
		.target = {&histories, is_anywhere(b) ? STR("") : str_of(b->k->ns), STR(""), NULL},
		.field_selector = field_selector,
		.on_object = hand_over,
		.ctx = &l,
	};
	return kubectl_list(b->k, &w, &version) || l.has_failed ? -1 : 0;
}

/* ---- types and owners ---- */

struct new_type {
	struct api_resource resource;
	struct str api_version;
	struct new_type *next;
};

static void add_types(struct bulk *b, const struct bulk_item *item)
{
	const struct json *spec = json_gets(decoded(item->object, &b->arena), "spec"), *names = json_gets(spec, "names"),
			  *version;
	struct str group = member_text(spec, "group");
	for (uint32_t i = 0; (version = list_item(json_gets(spec, "versions"), i)); i++) {
		struct new_type *t = arena_new(&b->arena, struct new_type);
		t->resource = (struct api_resource){
			.resource = {group, member_text(version, "name"), member_text(names, "plural")},
			.kind = member_text(names, "kind"),
			.singular = member_text(names, "singular"),
			.is_namespaced = str_is(member_text(spec, "scope"), "Namespaced"),
			.is_preferred = true,
			.verbs = API_GET | API_CREATE,
		};
		t->api_version = bulk_text(b, STR_FMT "/" STR_FMT, STR_ARG(group), STR_ARG(t->resource.resource.version));
		t->next = b->new_types;
		b->new_types = t;
	}
}

const struct api_resource *bulk_find_kind(const struct bulk *b, struct str api_version, struct str kind)
{
	for (const struct new_type *t = b ? b->new_types : NULL; t; t = t->next) {
		if (str_eq(t->api_version, api_version) && str_eq(t->resource.kind, kind)) {
			return &t->resource;
		}
	}
	return NULL;
}

bool bulk_is_new(const struct bulk *b, const struct api_resource *type)
{
	const struct new_type *t = b ? b->new_types : NULL;
	while (t && &t->resource != type) {
		t = t->next;
	}
	return t != NULL;
}

static const struct api_resource *find_type(const struct bulk *b, const struct bulk_item *item)
{
	const struct discovery *d = &b->k->discovery;
	for (size_t i = 0; i < d->n; i++) {
		const struct api_resource *r = &d->resources[i];
		if (r->is_preferred && str_eq(r->resource.group, item->group) && str_eq(r->kind, item->kind)) {
			return r;
		}
	}
	for (const struct new_type *t = b->new_types; t; t = t->next) {
		if (str_eq(t->resource.resource.group, item->group) && str_eq(t->resource.kind, item->kind)) {
			return &t->resource;
		}
	}
	return NULL;
}

static struct bulk_item *owner_of(const struct bulk *b, const struct json *reference)
{
	struct bulk_item *const owner = map_get(&b->by_uid, member_text(reference, "uid"));
	bool is_it = owner && str_eq(owner->kind, member_text(reference, "kind")) &&
		str_eq(owner->name, member_text(reference, "name"));
	return is_it ? owner : NULL;
}

bool bulk_takes_owner(struct bulk *b, const struct json *reference)
{
	struct bulk_item *item = b ? b->planned : NULL, *owner = b ? owner_of(b, reference) : NULL;
	if (!item || !owner || owner == item) {
		return false;
	}
	if (!item->links) {
		item->links = json_array(&b->arena);
	}
	json_append(&b->arena, item->links, decoded(encoded(b, reference), &b->arena));
	return true;
}

static struct str name_of(struct bulk *b, const struct bulk_item *item)
{
	const struct api_resource *type = item->type ? item->type : find_type(b, item);
	return type
		? bulk_text(b, STR_FMT "/" STR_FMT, STR_ARG(kubectl_type_name(b->k, type)), STR_ARG(item->name))
		: bulk_text(b, STR_FMT "." STR_FMT "/" STR_FMT, STR_ARG(item->kind), STR_ARG(item->group), STR_ARG(item->name));
}

/* ---- planning ---- */

static void refuse(struct bulk *b, struct bulk_item *item, struct str why)
{
	item->action = BULK_REFUSE;
	item->reason = kept(b, why);
}

static void add_note(struct bulk *b, struct bulk_item *item, struct str note)
{
	item->notes = item->notes.n ? bulk_text(b, STR_FMT "\n" STR_FMT, STR_ARG(item->notes), STR_ARG(note)) : kept(b, note);
}

static void take(struct bulk *b, struct bulk_item *item, enum bulk_action action, int64_t revision)
{
	const struct json *meta = json_gets(b->k->object, "metadata");
	item->action = action;
	item->revision = revision;
	item->type = b->k->type;
	item->uid = kept(b, member_text(meta, "uid"));
	item->version = kept(b, member_text(meta, "resourceVersion"));
}

static void take_text(struct bulk *b, struct bulk_item *item, struct str *ret, const struct json *value)
{
	*ret = encoded(b, value);
	if (!ret->n || arena_is_full(&b->arena)) {
		refuse(b, item, STR("it is too big to be planned with the others: write it alone"));
	}
}

void bulk_create(struct bulk *b, struct bulk_item *item, const struct json *object, int64_t revision)
{
	take(b, item, BULK_CREATE, revision);
	take_text(b, item, &item->object, object);
}

void bulk_change(struct bulk *b, struct bulk_item *item, const char *type, const struct json *patch, const struct json *wanted,
	int64_t revision)
{
	take(b, item, BULK_CHANGE, revision);
	item->patch_type = type;
	take_text(b, item, &item->patch, patch);
	if (b->k->replaces) {
		/* As it can be created: without what the server sets. */
		const struct json *state = state_of(wanted, NULL, &b->k->arena);
		take_text(b, item, &item->object, job_labels_renew(state, NULL, &b->k->arena));
	}
}

void bulk_delete(struct bulk *b, struct bulk_item *item)
{
	take(b, item, BULK_DELETE, -1);
}

void bulk_skip(struct bulk *b, struct bulk_item *item, const char *why)
{
	take(b, item, BULK_SKIP, -1);
	item->reason = bulk_text(b, "%s", why);
}

static int plan_now(struct bulk *b, struct bulk_item *item)
{
	struct kubectl *k = b->k;
	k->type = find_type(b, item);
	if (!k->type) {
		return kubectl_fail(k, "the server has no kind " STR_FMT " of group \"" STR_FMT "\"%s", STR_ARG(item->kind),
			STR_ARG(item->group), k->discovery.n_failures ? " (not all groups of APIs could be asked)" : "");
	}
	k->ns = item->namespace.n ? item->namespace.p : k->ns;
	k->target = (struct target){&k->type->resource, item->namespace, item->name, NULL};
	k->object = NULL;
	return b->plan(b, item);
}

/* All that is read for one object is freed with it. */
static void plan_item(struct bulk *b, struct bulk_item *item)
{
	struct kubectl *k = b->k;
	struct arena whole = k->arena;
	const char *ns = k->ns;
	arena_init(&k->arena, ITEM_BYTES_MAX);
	buf_clear(&k->notes);
	buf_clear(&k->err);
	b->planned = item;
	if (plan_now(b, item)) {
		refuse(b, item, buf_str(&k->err));
	} else if (arena_is_full(&k->arena)) {
		refuse(b, item, STR("there is too much of it to be read"));
	}
	b->planned = NULL;
	if (k->notes.n) {
		item->notes = kept(b, (struct str){k->notes.p, k->notes.n - 1});
	}
	buf_clear(&k->notes);
	buf_clear(&k->err);
	k->ns = ns;
	k->type = NULL;
	k->object = NULL;
	k->to_revision = k->revision = -1;
	arena_done(&k->arena);
	k->arena = whole;
}

/* A link to an owner that is not created after all is left out. */
static void settle_links(struct bulk *b, struct bulk_item *item)
{
	struct json *links = item->links, *kept_links = links ? json_array(&b->arena) : NULL, *each;
	for (uint32_t i = 0; (each = list_item(links, i)); i++) {
		const struct bulk_item *owner = owner_of(b, each);
		bool is_made = owner->action == BULK_CREATE || owner->action == BULK_REPLACE;
		if (is_made) {
			json_append(&b->arena, kept_links, each);
		}
		add_note(b, item,
			bulk_text(b,
				is_made ? "its owner " STR_FMT " " STR_FMT " gets a new uid, and it is linked to that"
					: "its owner " STR_FMT " " STR_FMT " is not restored, and is left out",
				STR_ARG(owner->kind), STR_ARG(owner->name)));
	}
	item->links = kept_links;
}

static int by_rank(const void *a, const void *b)
{
	const struct bulk_item *x = a, *y = b;
	int c = x->rank - y->rank;
	c = c ? c : str_cmp(x->namespace, y->namespace);
	c = c ? c : str_cmp(x->group, y->group);
	c = c ? c : str_cmp(x->kind, y->kind);
	return c ? c : str_cmp(x->name, y->name);
}

static bool is_written(const struct bulk_item *item)
{
	return item->action != BULK_SKIP && item->action != BULK_REFUSE;
}

static void plan_all(struct bulk *b)
{
	if (b->n) {
		qsort(b->v, b->n, sizeof(*b->v), by_rank);
	}
	for (size_t i = 0; i < b->n; i++) {
		if (b->v[i].old_uid.n) {
			map_set(&b->by_uid, b->v[i].old_uid, &b->v[i], NULL);
		}
	}
	for (size_t i = 0; i < b->n; i++) {
		plan_item(b, &b->v[i]);
		if (b->v[i].action == BULK_CREATE && is_kind(&b->v[i], "apiextensions.k8s.io", "CustomResourceDefinition")) {
			add_types(b, &b->v[i]);
		}
	}
}

/* ---- namespaces ---- */

static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};

static const struct bulk_item *created_namespace(const struct bulk *b, struct str name)
{
	for (size_t i = 0; i < b->n; i++) {
		if (b->v[i].action == BULK_CREATE && is_kind(&b->v[i], "", "Namespace") && str_eq(b->v[i].name, name)) {
			return &b->v[i];
		}
	}
	return NULL;
}

/* Why nothing can be written there; empty: it can. Who may not read the namespace learns it from the dry run. */
static struct str namespace_problem(struct bulk *b, struct str name)
{
	const struct target target = {&namespaces, STR(""), name, NULL};
	struct str ret = STR("");
	struct answer answer;
	answer_init(&answer);
	enum rest_found found = rest_find(b->k->client, &target, &answer);
	if (found == REST_ABSENT) {
		ret = bulk_text(b, "namespace " STR_FMT " does not exist; kubectl annals restore namespace/" STR_FMT,
			STR_ARG(name), STR_ARG(name));
	} else if (found == REST_FOUND && member_text(json_gets(answer.body, "metadata"), "deletionTimestamp").n) {
		ret = bulk_text(b, "namespace " STR_FMT " is being deleted", STR_ARG(name));
	} else if (found == REST_UNKNOWN && answer.code != 403) {
		ret = bulk_text(b, "cannot find out whether namespace " STR_FMT " is there: " STR_FMT, STR_ARG(name),
			STR_ARG(answer.message));
	}
	answer_done(&answer);
	return ret;
}

static void check_namespaces(struct bulk *b)
{
	struct str last = STR(""), problem = STR("");
	bool is_new = false;
	if (!discovery_find_resource(&b->k->discovery, &namespaces)) {
		return;
	}
	/* Within a rank they are sorted by namespace. */
	for (size_t i = 0; i < b->n; i++) {
		struct bulk_item *item = &b->v[i];
		if (!is_written(item) || item->action == BULK_DELETE || !item->namespace.n) {
			continue;
		}
		if (!str_eq(item->namespace, last)) {
			last = item->namespace;
			is_new = created_namespace(b, last) != NULL;
			problem = is_new ? STR("") : namespace_problem(b, last);
		}
		item->is_untested |= is_new;
		if (problem.n) {
			refuse(b, item, problem);
		}
	}
}

/* ---- requests ---- */

static int request(struct bulk *b, const struct bulk_item *item, const char *method, const char *content_type, struct str body,
	bool is_dry, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path;
	bool is_creation = strcmp(method, "POST") == 0;
	const struct target target = {&item->type->resource, item->namespace, is_creation ? STR("") : item->name, NULL};
	buf_init(&path, 64 * 1024);
	target_path(&path, &target);
	query_add(&path, "fieldManager", strcmp(method, "DELETE") == 0 ? STR("") : STR(UNDO_MANAGER));
	query_add(&path, "dryRun", is_dry ? STR("All") : STR(""));
	buf_addc(&path, '\0');
	return rest_do(b->k->client,
		&(struct rest_call){.method = method, .path = path.p, .content_type = content_type, .body = body}, ret);
}

/* These controllers adopt what has their labels. Of other owners, dependents go with them. */
static const char *propagation_of(const struct bulk_item *item)
{
	bool adopts = str_is(item->group, "apps") || is_kind(item, "", "ReplicationController");
	return item->action == BULK_REPLACE && adopts ? "Orphan" : NULL;
}

static int request_deletion(struct bulk *b, const struct bulk_item *item, bool is_dry, struct answer *ret)
{
	struct arena a;
	_cleanup_(buf_done) struct buf body;
	const char *propagation = propagation_of(item);
	arena_init(&a, BODY_MAX);
	buf_init(&body, 64 * 1024);
	struct json *options = json_object(&a), *is = json_object(&a);
	json_add_text(&a, options, STR("apiVersion"), STR("v1"));
	json_add_text(&a, options, STR("kind"), STR("DeleteOptions"));
	json_add_text(&a, is, STR("uid"), item->uid);
	json_add_text(&a, is, STR("resourceVersion"), item->version);
	json_add(&a, options, STR("preconditions"), is);
	json_add_text(&a, options, STR("propagationPolicy"), propagation ? str_of(propagation) : STR(""));
	if (is_dry) {
		/* With a body, servers do not look at the query. */
		struct json *stages = json_array(&a);
		json_append(&a, stages, json_string(&a, STR("All")));
		json_add(&a, options, STR("dryRun"), stages);
	}
	json_encode(&body, options);
	int error = request(b, item, "DELETE", NULL, buf_str(&body), is_dry, ret);
	arena_done(&a);
	return error;
}

static struct str refusal(struct bulk *b, int error, const struct answer *a)
{
	return error == REST_STATUS
		? bulk_text(b, "from server (" STR_FMT "): " STR_FMT, STR_ARG(a->reason), STR_ARG(a->message))
		: bulk_text(b, "the server cannot be asked: " STR_FMT, STR_ARG(a->message));
}

/* Is something missing that the same command creates before it, such as the ServiceAccount of a pod? */
static const struct bulk_item *missing_of(const struct bulk *b, const struct bulk_item *item, const struct answer *a)
{
	for (size_t i = 0; i < b->n; i++) {
		char text[KEY_MAX];
		snprintf(text, sizeof(text), "\"" STR_FMT "\" not found", STR_ARG(b->v[i].name));
		if (b->v[i].action == BULK_CREATE && b->v[i].rank < item->rank && str_contains(a->message, str_of(text))) {
			return &b->v[i];
		}
	}
	return NULL;
}

/* ---- the dry run ---- */

static void test_creation(struct bulk *b, struct bulk_item *item)
{
	struct answer a;
	const struct bulk_item *first = NULL;
	answer_init(&a);
	int error = request(b, item, "POST", NULL, item->object, true, &a);
	if (error == REST_STATUS && (first = missing_of(b, item, &a))) {
		add_note(b, item, bulk_text(b, "it was not tested: " STR_FMT " comes first", STR_ARG(name_of(b, first))));
	} else if (error) {
		refuse(b, item, refusal(b, error, &a));
	}
	answer_done(&a);
}

/* An object of that name is there, and that is the last thing that a server checks: so it would take the new one. */
static void test_replacement(struct bulk *b, struct bulk_item *item)
{
	struct answer a;
	answer_init(&a);
	int error = request(b, item, "POST", NULL, item->object, true, &a);
	if (!error || answer_is(&a, 409, "AlreadyExists")) {
		error = request_deletion(b, item, true, &a);
	}
	if (error) {
		refuse(b, item, refusal(b, error, &a));
	}
	answer_done(&a);
}

static void test_change(struct bulk *b, struct bulk_item *item)
{
	struct answer a;
	answer_init(&a);
	int error = request(b, item, "PATCH", item->patch_type, item->patch, true, &a);
	/* What changed since it was read is looked at when it is written. */
	bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
	bool is_invalid = error == REST_STATUS && a.code == 422;
	if (is_invalid && b->k->replaces) {
		item->action = BULK_REPLACE;
		item->reason = bulk_text(
			b, STR_FMT "; the server refuses the change: " STR_FMT, STR_ARG(item->reason), STR_ARG(a.message));
		test_replacement(b, item);
	} else if (error && !is_conflict) {
		refuse(b, item,
			bulk_text(b, STR_FMT "%s", STR_ARG(refusal(b, error, &a)),
				is_invalid ? "; --replace deletes it and creates it anew" : ""));
	}
	answer_done(&a);
}

static void test_deletion(struct bulk *b, struct bulk_item *item)
{
	struct answer a;
	answer_init(&a);
	int error = request_deletion(b, item, true, &a);
	bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
	if (error && !is_conflict) {
		refuse(b, item, refusal(b, error, &a));
	}
	answer_done(&a);
}

static void test_all(struct bulk *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct bulk_item *item = &b->v[i];
		item->is_untested |= is_written(item) && bulk_is_new(b, item->type);
		if (item->is_untested) {
			add_note(b, item, STR("it was not tested: its namespace or its type comes first"));
		} else if (item->action == BULK_CREATE) {
			test_creation(b, item);
		} else if (item->action == BULK_CHANGE) {
			test_change(b, item);
		} else if (item->action == BULK_DELETE) {
			test_deletion(b, item);
		}
	}
}

/* ---- writing ---- */

static int fail(struct bulk *b, struct bulk_item *item, struct str why)
{
	item->outcome = BULK_FAILED;
	item->reason = kept(b, why);
	return -1;
}

/* References to owners that have a uid by now. The others stay in item->links. */
static void take_links(struct bulk *b, struct bulk_item *item, struct json *references, struct arena *a)
{
	struct json *later = json_array(&b->arena), *each;
	for (uint32_t i = 0; (each = list_item(item->links, i)); i++) {
		const struct bulk_item *owner = owner_of(b, each);
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
	arena_init(&a, ITEM_BYTES_MAX);
	const struct json *object = decoded(item->object, &a), *owners;
	struct json *ret = json_copy(&a, object), *meta = json_copy(&a, json_gets(object, "metadata"));
	owners = json_gets(meta, "ownerReferences");
	struct json *references = json_is(owners, JSON_ARRAY) ? json_copy(&a, owners) : json_array(&a);
	take_links(b, item, references, &a);
	if (references->n) {
		json_set(&a, meta, STR("ownerReferences"), references);
	}
	json_set(&a, ret, STR("metadata"), meta);
	struct str text = encoded(b, ret);
	arena_done(&a);
	return text;
}

/* A controller may have created it meanwhile, as it creates the default ServiceAccount of a new namespace. */
static int accept_twin(struct bulk *b, struct bulk_item *item)
{
	struct arena a;
	struct answer answer;
	const struct target target = {&item->type->resource, item->namespace, item->name, NULL};
	arena_init(&a, ITEM_BYTES_MAX);
	answer_init(&answer);
	bool is_same = rest_find(b->k->client, &target, &answer) == REST_FOUND &&
		json_equal(state_of(answer.body, NULL, &a), state_of(decoded(item->object, &a), NULL, &a));
	if (is_same) {
		item->new_uid = kept(b, member_text(json_gets(answer.body, "metadata"), "uid"));
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
	int error = request(b, item, "POST", NULL, body, false, &a);
	for (int i = 0; error == REST_STATUS && i < WAITS; i++) {
		bool is_type_to_come = a.code == 404 && bulk_is_new(b, item->type);
		if (!is_type_to_come && !missing_of(b, item, &a)) {
			break;
		}
		client_sleep(b->k->client, WAIT_MS);
		error = request(b, item, "POST", NULL, body, false, &a);
	}
	int r = 0;
	if (error == REST_STATUS && item->action == BULK_CREATE && answer_is(&a, 409, "AlreadyExists")) {
		r = accept_twin(b, item);
	} else if (error) {
		r = fail(b, item, refusal(b, error, &a));
	} else {
		item->new_uid = kept(b, member_text(json_gets(a.body, "metadata"), "uid"));
	}
	answer_done(&a);
	return r;
}

static const struct json *without_version(struct str patch, struct arena *a)
{
	struct json *value = decoded(patch, a), *ret = json_copy(a, value), *each;
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
	arena_init(&a, ITEM_BYTES_MAX);
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
	plan_item(b, &now);
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
		int error = item->action == BULK_CHANGE ? request(b, item, "PATCH", item->patch_type, item->patch, false, &a)
							: request_deletion(b, item, false, &a);
		bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
		const struct target target = {&item->type->resource, item->namespace, item->name, NULL};
		bool is_gone = error == REST_STATUS && item->action == BULK_DELETE && answer_is_absent(&a, &target);
		if (!error || is_gone) {
			answer_done(&a);
			return 0;
		}
		r = is_conflict && i + 1 < TRIES ? plan_again(b, item) : fail(b, item, refusal(b, error, &a));
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
						      STR_ARG(name_of(b, item))));
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
				STR_ARG(item->reason), STR_ARG(name_of(b, item))));
	}
	return 0;
}

static void tell(struct bulk *b, const struct bulk_item *item)
{
	struct kubectl *k = b->k;
	_cleanup_(buf_done) struct buf line;
	struct str name = name_of(b, item);
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
		arena_init(&scratch, ITEM_BYTES_MAX);
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
			error = request(b, item, "PATCH", PATCH_MERGE, encoded(b, patch), false, &a);
		}
		bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
		r = error ? -1 : 0;
		if (error && !is_conflict) {
			fail(b, item,
				bulk_text(b, "it was created, but not linked to its owner: " STR_FMT,
					STR_ARG(refusal(b, error, a.code || a.message.n ? &a : &live))));
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
		if (is_written(&b->v[i]) && b->v[i].action != BULK_DELETE) {
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
		ret.n_written += is_written(item);
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
	return kept(b, buf_str(&out));
}

static void write_plan(struct bulk *b, struct buf *out)
{
	static const char *const headings[] = {"NAMESPACE", "ACTION", "OBJECT", "REVISION", "REASON"};
	struct text_table table = {.n_columns = ARRAY_SIZE(headings)};
	size_t from = is_anywhere(b) ? 0 : 1;
	struct str *row = text_table_row(&table);
	for (size_t i = from; i < ARRAY_SIZE(headings); i++) {
		row[i - from] = str_of(headings[i]);
	}
	table.n_columns -= from;
	for (size_t i = 0; i < b->n; i++) {
		const struct bulk_item *item = &b->v[i];
		const struct str cells[] = {item->namespace.n ? item->namespace : STR("<none>"),
			str_of(action_names[item->action]), name_of(b, item),
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
	_cleanup_(buf_done) struct buf question;
	char line[16];
	if (k->is_agreed) {
		return 1;
	}
	if (!kubectl_may_ask()) {
		return kubectl_fail(k, "nothing was %s: without a terminal, --yes is needed", b->verb);
	}
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

/* What was done is printed even if the command fails. */
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

static void drop_hidden(struct bulk *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++) {
		if (!b->v[i].is_hidden) {
			b->v[n++] = b->v[i];
		}
	}
	b->n = n;
	map_done(&b->by_uid);
	map_init(&b->by_uid, BULK_ITEMS_MAX);
	for (size_t i = 0; i < b->n; i++) {
		if (b->v[i].old_uid.n) {
			map_set(&b->by_uid, b->v[i].old_uid, &b->v[i], NULL);
		}
	}
}

int bulk_run(struct bulk *b)
{
	struct kubectl *k = b->k;
	command_print(stderr, buf_str(&k->notes));
	buf_clear(&k->notes);
	plan_all(b);
	drop_hidden(b);
	check_namespaces(b);
	if (!undo_is_dry(k, "client")) {
		test_all(b);
	}
	for (size_t i = 0; i < b->n; i++) {
		settle_links(b, &b->v[i]);
	}
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
