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
	KEY_MAX = 2048, /* of a subject as one text */
};

/* ---- items ---- */

void bulk_init(struct bulk *b, struct kubectl *k)
{
	assert(!k->bulk);
	*b = (struct bulk){.k = k, .verb = "written"};
	arena_init(&b->arena, BULK_BYTES_MAX);
	map_init(&b->known, BULK_ITEMS_MAX);
	map_init(&b->by_uid, BULK_ITEMS_MAX);
	k->bulk = b;
}

void bulk_done(struct bulk *b)
{
	assert(b->k->bulk == b && !b->planned);
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

struct str bulk_kept(struct bulk *b, struct str text)
{
	return arena_dup(&b->arena, text);
}

struct str bulk_encoded(struct bulk *b, const struct json *value)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, BULK_BODY_MAX);
	json_encode(&text, value);
	return text.is_over ? STR("") : bulk_kept(b, buf_str(&text));
}

struct json *bulk_decoded(struct str text, struct arena *a)
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
		.group = bulk_kept(b, member_text(subject, "group")),
		.kind = bulk_kept(b, member_text(subject, "kind")),
		.namespace = bulk_kept(b, member_text(subject, "namespace")),
		.name = bulk_kept(b, member_text(subject, "name")),
		.old_uid = bulk_kept(b, member_text(json_gets(history, "status"), "uid")),
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

bool bulk_is_anywhere(const struct bulk *b)
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
		.target = {&histories, bulk_is_anywhere(b) ? STR("") : str_of(b->k->ns), STR(""), NULL},
		.field_selector = field_selector,
		.on_object = hand_over,
		.ctx = &l,
	};
	bool is_forbidden;
	int r = kubectl_list(b->k, &w, &version);
	r = r || bulk_is_anywhere(b) ? r : kubectl_list_archived(b->k, &w, false, &is_forbidden);
	return r || l.has_failed ? -1 : 0;
}

/* ---- types and owners ---- */

struct new_type {
	struct api_resource resource;
	struct str api_version;
	struct new_type *next;
};

static void add_types(struct bulk *b, const struct bulk_item *item)
{
	const struct json *spec = json_gets(bulk_decoded(item->object, &b->arena), "spec"), *names = json_gets(spec, "names"),
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

struct bulk_item *bulk_owner_of(const struct bulk *b, const struct json *reference)
{
	struct bulk_item *const owner = map_get(&b->by_uid, member_text(reference, "uid"));
	bool is_it = owner && str_eq(owner->kind, member_text(reference, "kind")) &&
		str_eq(owner->name, member_text(reference, "name"));
	return is_it ? owner : NULL;
}

bool bulk_takes_owner(struct bulk *b, const struct json *reference)
{
	struct bulk_item *item = b ? b->planned : NULL, *owner = b ? bulk_owner_of(b, reference) : NULL;
	if (!item || !owner || owner == item) {
		return false;
	}
	if (!item->links) {
		item->links = json_array(&b->arena);
	}
	json_append(&b->arena, item->links, bulk_decoded(bulk_encoded(b, reference), &b->arena));
	return true;
}

struct str bulk_name_of(struct bulk *b, const struct bulk_item *item)
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
	item->reason = bulk_kept(b, why);
}

static void add_note(struct bulk *b, struct bulk_item *item, struct str note)
{
	item->notes =
		item->notes.n ? bulk_text(b, STR_FMT "\n" STR_FMT, STR_ARG(item->notes), STR_ARG(note)) : bulk_kept(b, note);
}

static void take(struct bulk *b, struct bulk_item *item, enum bulk_action action, int64_t revision)
{
	const struct json *meta = json_gets(b->k->object, "metadata");
	item->action = action;
	item->revision = revision;
	item->type = b->k->type;
	item->uid = bulk_kept(b, member_text(meta, "uid"));
	item->version = bulk_kept(b, member_text(meta, "resourceVersion"));
}

static void take_text(struct bulk *b, struct bulk_item *item, struct str *ret, const struct json *value)
{
	*ret = bulk_encoded(b, value);
	if (!ret->n || arena_is_full(&b->arena)) {
		refuse(b, item, STR("it is too big to be planned with the others: write it alone"));
	}
}

void bulk_create(struct bulk *b, struct bulk_item *item, const struct json *object, int64_t revision)
{
	assert(b->planned == item);
	take(b, item, BULK_CREATE, revision);
	take_text(b, item, &item->object, object);
}

void bulk_change(struct bulk *b, struct bulk_item *item, const char *type, const struct json *patch, const struct json *wanted,
	int64_t revision)
{
	assert(b->planned == item && b->k->object);
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
	assert(b->planned == item && b->k->object);
	take(b, item, BULK_DELETE, -1);
}

void bulk_show(
	struct bulk *b, struct bulk_item *item, const struct json *now, const struct json *then, const struct revision *r)
{
	_cleanup_(buf_done) struct buf lines;
	buf_init(&lines, BULK_DIFF_MAX);
	if (!b->k->shows_diffs) {
		return;
	}
	undo_write_diff(b->k, now, then, r, &lines);
	item->diff = lines.is_over ? STR("(the difference is too long to be shown)\n") : bulk_kept(b, buf_str(&lines));
}

void bulk_skip(struct bulk *b, struct bulk_item *item, const char *why)
{
	assert(b->planned == item);
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
void bulk_plan_item(struct bulk *b, struct bulk_item *item)
{
	assert(!b->planned && b->plan); /* one after the other */
	struct kubectl *k = b->k;
	struct arena whole = k->arena;
	const char *ns = k->ns;
	arena_init(&k->arena, BULK_ITEM_BYTES_MAX);
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
		item->notes = bulk_kept(b, (struct str){k->notes.p, k->notes.n - 1});
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
		const struct bulk_item *owner = bulk_owner_of(b, each);
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

bool bulk_is_written(const struct bulk_item *item)
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
		bulk_plan_item(b, &b->v[i]);
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

/* Why nothing can be written there; empty: it can. A user who may not read the namespace learns it from the dry run. */
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
		if (!bulk_is_written(item) || item->action == BULK_DELETE || !item->namespace.n) {
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

int bulk_request(struct bulk *b, const struct bulk_item *item, const char *method, const char *content_type, struct str body,
	bool is_dry, struct answer *ret)
{
	assert(item->type && bulk_is_written(item));
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

int bulk_request_deletion(struct bulk *b, const struct bulk_item *item, bool is_dry, struct answer *ret)
{
	struct arena a;
	_cleanup_(buf_done) struct buf body;
	const char *propagation = propagation_of(item);
	arena_init(&a, BULK_BODY_MAX);
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
	int error = bulk_request(b, item, "DELETE", NULL, buf_str(&body), is_dry, ret);
	arena_done(&a);
	return error;
}

struct str bulk_refusal(struct bulk *b, int error, const struct answer *a)
{
	return error == REST_STATUS
		? bulk_text(b, "from server (" STR_FMT "): " STR_FMT, STR_ARG(a->reason), STR_ARG(a->message))
		: bulk_text(b, "the server cannot be asked: " STR_FMT, STR_ARG(a->message));
}

/* Is something missing that the same command creates before it, such as the ServiceAccount of a pod? */
const struct bulk_item *bulk_missing_of(const struct bulk *b, const struct bulk_item *item, const struct answer *a)
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
	int error = bulk_request(b, item, "POST", NULL, item->object, true, &a);
	if (error == REST_STATUS && (first = bulk_missing_of(b, item, &a))) {
		add_note(b, item, bulk_text(b, "it was not tested: " STR_FMT " comes first", STR_ARG(bulk_name_of(b, first))));
	} else if (error) {
		refuse(b, item, bulk_refusal(b, error, &a));
	}
	answer_done(&a);
}

/* An object of that name is there, and that is the last thing that a server checks: so it would take the new one. */
static void test_replacement(struct bulk *b, struct bulk_item *item)
{
	struct answer a;
	answer_init(&a);
	int error = bulk_request(b, item, "POST", NULL, item->object, true, &a);
	if (!error || answer_is(&a, 409, "AlreadyExists")) {
		error = bulk_request_deletion(b, item, true, &a);
	}
	if (error) {
		refuse(b, item, bulk_refusal(b, error, &a));
	}
	answer_done(&a);
}

static void test_change(struct bulk *b, struct bulk_item *item)
{
	struct answer a;
	answer_init(&a);
	int error = bulk_request(b, item, "PATCH", item->patch_type, item->patch, true, &a);
	/* A change since it was read is looked at when it is written. */
	bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
	bool is_invalid = error == REST_STATUS && a.code == 422;
	if (is_invalid && b->k->replaces) {
		item->action = BULK_REPLACE;
		item->reason = bulk_text(
			b, STR_FMT "; the server refuses the change: " STR_FMT, STR_ARG(item->reason), STR_ARG(a.message));
		test_replacement(b, item);
	} else if (error && !is_conflict) {
		refuse(b, item,
			bulk_text(b, STR_FMT "%s", STR_ARG(bulk_refusal(b, error, &a)),
				is_invalid ? "; --replace deletes it and creates it anew" : ""));
	}
	answer_done(&a);
}

static void test_deletion(struct bulk *b, struct bulk_item *item)
{
	struct answer a;
	answer_init(&a);
	int error = bulk_request_deletion(b, item, true, &a);
	bool is_conflict = error == REST_STATUS && answer_is(&a, 409, "Conflict");
	if (error && !is_conflict) {
		refuse(b, item, bulk_refusal(b, error, &a));
	}
	answer_done(&a);
}

static void test_all(struct bulk *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct bulk_item *item = &b->v[i];
		item->is_untested |= bulk_is_written(item) && bulk_is_new(b, item->type);
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
	return bulk_carry_out(b);
}
