/* Finds the revisions of an object. annals answers from its index, by the field selector controller.uid. apps/v1 has no such
 * selector, so all revisions of the namespace are read.
 *
 * The controller of a StatefulSet may keep its revisions in PodTemplates (seed 002); then there is no ControllerRevision. The
 * revisions of a Deployment are its ReplicaSets.
 *
 * A Recorder's revisions may be many and big, so a state is read only if it is needed. */
#include "api/diff/changes.h"
#include "api/diff/keep.h"
#include "api/diff/state.h"
#include "api/model/digest.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "cli/kubectl/log_entries.h"

#include <assert.h>
#include <stdlib.h>

#define LABEL_CREATED_BY "created-by-statefulset"
#define LABEL_GENERATION "statefulset-template-revision"
#define LABEL_TEMPLATE_HASH "pod-template-hash"
#define ANNOTATION_REVISION "deployment.kubernetes.io/revision"

enum {
	/* Characters of a label's value; names that are longer are found without the label. */
	LABEL_MAX = 63,
	PAGE = 50, /* states; each may have a MiB */
};

static bool read_controllerrevision(
	const struct json *object, const struct json *owner _unused_, struct revision *ret, struct arena *a _unused_)
{
	const struct json *data = json_gets(object, "data");
	ret->number = member_int(object, "revision");
	ret->data = json_is(data, JSON_OBJECT) ? data : NULL;
	return true;
}

/* Is it the volume of one of the set's claims? A PodTemplate needs a volume for each mount; the set's template does not. */
static bool is_of_claim(const struct json *volume, const struct json *owner)
{
	const struct json *templates = json_gets(json_gets(owner, "spec"), "volumeClaimTemplates"), *t;
	struct str name = member_text(volume, "name");
	for (uint32_t i = 0; (t = list_item(templates, i)); i++) {
		if (str_eq(member_text(json_gets(t, "metadata"), "name"), name)) {
			return str_eq(member_text(json_gets(volume, "persistentVolumeClaim"), "claimName"), name);
		}
	}
	return false;
}

static void drop_claims(struct json *template, const struct json *owner, struct arena *a)
{
	const struct json *old = json_gets(json_gets(template, "spec"), "volumes"), *volume;
	struct json *kept = json_array(a);
	for (uint32_t i = 0; (volume = list_item(old, i)); i++) {
		if (!is_of_claim(volume, owner)) {
			json_append(a, kept, json_copy(a, volume));
		}
	}
	if (!old || kept->n == old->n) {
		return;
	}
	struct json *spec = json_copy(a, json_gets(template, "spec"));
	if (kept->n) {
		json_set(a, spec, STR("volumes"), kept);
	} else {
		json_remove(spec, STR("volumes"));
	}
	json_set(a, template, STR("spec"), spec);
}

/* Makes the patch that a ControllerRevision would hold. */
static bool read_podtemplate(const struct json *object, const struct json *owner, struct revision *ret, struct arena *a)
{
	const struct json *labels = json_gets(json_gets(object, "metadata"), "labels"), *state = json_gets(object, "template");
	if (!str_to_int64(member_text(labels, LABEL_GENERATION), &ret->number) || !json_is(state, JSON_OBJECT)) {
		return false;
	}
	struct json *data = json_object(a), *spec = json_object(a), *template = json_copy(a, state);
	drop_claims(template, owner, a);
	json_set(a, template, STR("$patch"), json_string(a, STR("replace")));
	json_add(a, spec, STR("template"), template);
	json_add(a, data, STR("spec"), spec);
	ret->data = data;
	return true;
}

/* Annotations of ReplicaSets that the deployment controller uses itself. kubectl rollout undo leaves them as they are. */
static const char *const kept_annotations[] = {
	"kubectl.kubernetes.io/last-applied-configuration",
	"deployment.kubernetes.io/revision",
	"deployment.kubernetes.io/revision-history",
	"deployment.kubernetes.io/desired-replicas",
	"deployment.kubernetes.io/max-replicas",
	"deprecated.deployment.rollback.to",
};

static bool is_kept(struct str annotation)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept_annotations); i++) {
		if (str_is(annotation, kept_annotations[i])) {
			return true;
		}
	}
	return false;
}

static void copy_annotations(struct json *to, const struct json *object, bool are_kept, struct arena *a)
{
	const struct json *from = json_gets(json_gets(object, "metadata"), "annotations");
	for (uint32_t i = 0; json_is(from, JSON_OBJECT) && i < from->n; i++) {
		if (is_kept(from->members[i].name) == are_kept) {
			json_set(a, to, from->members[i].name, from->members[i].value);
		}
	}
}

static struct json *without_hash(const struct json *template, struct arena *a)
{
	struct json *ret = json_copy(a, template);
	const struct json *old_meta = json_gets(ret, "metadata"), *old_labels = json_gets(old_meta, "labels");
	if (json_is(old_labels, JSON_OBJECT)) {
		struct json *meta = json_copy(a, old_meta), *labels = json_copy(a, old_labels);
		json_remove(labels, STR(LABEL_TEMPLATE_HASH));
		json_set(a, meta, STR("labels"), labels);
		json_set(a, ret, STR("metadata"), meta);
	}
	return ret;
}

/* Takes what kubectl rollout undo takes: the template, and the annotations that the controller had copied. */
static bool read_replicaset(const struct json *object, const struct json *owner, struct revision *ret, struct arena *a)
{
	const struct json *annotations = json_gets(json_gets(object, "metadata"), "annotations");
	const struct json *state = json_gets(json_gets(object, "spec"), "template");
	if (!str_to_int64(member_text(annotations, ANNOTATION_REVISION), &ret->number) || !json_is(state, JSON_OBJECT)) {
		return false;
	}
	struct json *data = json_object(a), *meta = json_object(a), *spec = json_object(a), *wanted = json_object(a);
	struct json *template = without_hash(state, a);
	json_add(a, wanted, STR("$patch"), json_string(a, STR("replace")));
	copy_annotations(wanted, owner, true, a);
	copy_annotations(wanted, object, false, a);
	json_set(a, template, STR("$patch"), json_string(a, STR("replace")));
	json_add(a, meta, STR("annotations"), wanted);
	json_add(a, spec, STR("template"), template);
	json_add(a, data, STR("metadata"), meta);
	json_add(a, data, STR("spec"), spec);
	ret->data = data;
	return true;
}

static void select_owner(struct kubectl *k, struct list_options *options)
{
	struct str uid = member_text(json_gets(k->object, "metadata"), "uid");
	options->field_selector = arena_printf(&k->arena, "controller.uid=" STR_FMT, STR_ARG(uid));
}

static void select_set(struct kubectl *k, struct list_options *options)
{
	if (k->target.name.n <= LABEL_MAX) { /* else the label is another one */
		options->label_selector = arena_printf(&k->arena, LABEL_CREATED_BY "=" STR_FMT, STR_ARG(k->target.name));
	}
}

/* The types that may hold revisions: annals' own first, whose index finds those of one owner; then those of the cluster's
 * controllers. */
static const struct place {
	struct resource resource;
	const char *kind; /* of owners; NULL: any */
	void (*select)(struct kubectl *k, struct list_options *options);
	bool (*read)(const struct json *object, const struct json *owner, struct revision *ret, struct arena *a);
} places[] = {
	{{{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}}, NULL, select_owner, read_controllerrevision},
	{{{"apps", 4}, {"v1", 2}, {"controllerrevisions", 19}}, NULL, NULL, read_controllerrevision},
	{{{"", 0}, {"v1", 2}, {"podtemplates", 12}}, "StatefulSet", select_set, read_podtemplate},
	{{{"apps", 4}, {"v1", 2}, {"replicasets", 11}}, "Deployment", NULL, read_replicaset},
};

static bool is_controlled_by(const struct json *object, struct str uid)
{
	const struct json *owners = json_gets(json_gets(object, "metadata"), "ownerReferences"), *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		if (member_is_true(owner, "controller") && str_eq(member_text(owner, "uid"), uid)) {
			return true;
		}
	}
	return false;
}

static void take_owned(struct kubectl *k, struct revisions *r, const struct place *place)
{
	struct str uid = member_text(json_gets(k->object, "metadata"), "uid");
	const struct json *items = json_gets(r->answer.body, "items"), *item;
	r->v = mem_array(member_count(r->answer.body, "items") + 1, sizeof(*r->v));
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		struct revision one = {.name = member_text(json_gets(item, "metadata"), "name"), .object = item};
		if (is_controlled_by(item, uid) && place->read(item, k->object, &one, &k->arena)) {
			r->v[r->n++] = one;
		}
	}
}

static int by_number(const void *a, const void *b)
{
	const struct revision *x = a, *y = b;
	return x->number != y->number ? (x->number < y->number ? -1 : 1) : str_cmp(x->name, y->name);
}

static void sort(struct revisions *r)
{
	if (r->n) {
		qsort(r->v, r->n, sizeof(*r->v), by_number);
	}
}

static int list_place(struct kubectl *k, struct revisions *r, const struct place *place)
{
	const struct target all = {&r->type->resource, str_of(k->ns), STR(""), NULL};
	struct list_options options = {0};
	if (place->select) {
		place->select(k, &options);
	}
	int error = rest_list(k->client, &all, &options, &r->answer);
	if (error) {
		return kubectl_refused(k, error, &r->answer);
	}
	take_owned(k, r, place);
	sort(r);
	return 0;
}

static bool may_have(const struct place *place, const struct kubectl *k)
{
	return !place->kind || str_is(k->type->kind, place->kind);
}

static int list_own(struct kubectl *k, struct revisions *ret)
{
	bool is_served = false;
	if (kubectl_get(k)) {
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(places) && ret->n == 0; i++) {
		const struct api_resource *type = discovery_find_resource(&k->discovery, &places[i].resource);
		if (!type || !may_have(&places[i], k)) {
			continue;
		}
		is_served = true;
		ret->type = type;
		ret->v = mem_free(ret->v);
		if (list_place(k, ret, &places[i])) {
			return -1;
		}
	}
	return is_served ? 0 : kubectl_fail(k, "the server doesn't have a resource type \"controllerrevisions\"");
}

/* ---- recorded revisions ---- */

/* Keeps the name of a revision, its time, and the facts of its change. revision_load() reads its state. */
static void add_recorded(struct kubectl *k, struct revisions *r, const struct json *object)
{
	struct arena *a = &k->arena;
	const struct json *from = json_gets(object, "metadata");
	struct json *kept = json_object(a), *meta = json_object(a);
	struct str name = arena_dup(a, member_text(from, "name")), born = arena_dup(a, member_text(from, "creationTimestamp"));
	json_add(a, meta, STR("name"), json_string(a, name));
	json_add(a, meta, STR("creationTimestamp"), json_string(a, born));
	struct str facts = arena_dup(a, json_text(json_get(json_gets(from, "annotations"), ANNOTATION_CHANGE)));
	if (facts.n > 0) {
		struct json *annotations = json_object(a);
		json_add(a, annotations, ANNOTATION_CHANGE, json_string(a, facts));
		json_add(a, meta, STR("annotations"), annotations);
	}
	json_add(a, kept, STR("metadata"), meta);
	r->v = mem_realloc_array(r->v, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = (struct revision){.number = member_int(object, "revision"),
		.name = name,
		.earlier = arena_dup(a, json_text(json_get(json_gets(from, "annotations"), ANNOTATION_EARLIER))),
		.object = kept};
}

static int list_recorded(struct kubectl *k, struct revisions *r)
{
	const struct json *meta = json_gets(r->history, "metadata");
	const struct target all = {&places[0].resource, member_text(meta, "namespace"), STR(""), NULL};
	struct list_options options = {.limit = PAGE};
	options.field_selector = arena_printf(&k->arena, "controller.uid=" STR_FMT, STR_ARG(member_text(meta, "uid")));
	r->type = discovery_find_resource(&k->discovery, all.resource);
	if (!r->type) {
		return kubectl_fail(k, "the server doesn't have a resource type \"controllerrevisions\" of annals.dev");
	}
	do {
		const struct json *item;
		int error = rest_list(k->client, &all, &options, &r->answer);
		if (error) {
			return kubectl_refused(k, error, &r->answer);
		}
		for (uint32_t i = 0; (item = list_item(json_gets(r->answer.body, "items"), i)); i++) {
			add_recorded(k, r, item);
		}
		options.continue_token = arena_dup(&k->arena, list_continue(r->answer.body));
	} while (options.continue_token.n);
	sort(r);
	return 0;
}

int revisions_list(struct kubectl *k, struct revisions *ret)
{
	*ret = (struct revisions){0};
	answer_init(&ret->answer);
	answer_init(&ret->history_answer);
	int found = k->wants_own ? 0 : history_find(k, &ret->history_answer, &ret->history);
	if (found < 0) {
		return -1;
	}
	return found ? list_recorded(k, ret) : list_own(k, ret);
}

void revisions_done(struct revisions *r)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].is_loaded) {
			answer_done(&r->v[i].answer);
		}
	}
	mem_free(r->v);
	answer_done(&r->answer);
	answer_done(&r->history_answer);
}

int state_check(struct kubectl *k, struct str revision, const struct json *data, struct str recorded)
{
	char digest[DIGEST_SIZE];

	if (recorded.n == 0 || !json_is(data, JSON_OBJECT)) {
		return 0;
	}
	digest_of(digest, data, &k->arena);
	return str_is(recorded, digest)
		? 0
		: kubectl_fail(k,
			  "revision " STR_FMT
			  " is not the state that was recorded: its data were altered; kubectl annals verify "
			  "shows all that differs",
			  STR_ARG(revision));
}

static int load_recorded(struct kubectl *k, const struct revisions *all, struct revision *r)
{
	assert(all->history && !r->is_loaded);
	struct str namespace = member_text(json_gets(all->history, "metadata"), "namespace");
	const struct target one = {&places[0].resource, namespace, r->name, NULL};
	answer_init(&r->answer);
	r->is_loaded = true;
	int error = rest_get(k->client, &one, &r->answer);
	if (error) {
		return kubectl_refused(k, error, &r->answer);
	}
	r->object = r->answer.body;
	r->data = json_gets(r->object, "data");
	return state_check(k, r->name, r->data, record_digest(json_gets(all->history, "status"), r->name));
}

int revision_load(struct kubectl *k, const struct revisions *all, struct revision *r)
{
	assert(r >= all->v && r < all->v + all->n);
	if (all->history && !r->is_loaded && load_recorded(k, all, r)) {
		return -1;
	}
	return json_is(r->data, JSON_OBJECT) ? 0 : kubectl_fail(k, "revision %lld has no data", (long long)r->number);
}

/* ---- choosing a revision ---- */

struct revision *revisions_by_name(const struct revisions *r, struct str name)
{
	for (size_t i = 0; i < r->n; i++) {
		if (str_eq(r->v[i].name, name)) {
			return &r->v[i];
		}
	}
	return NULL;
}

struct revision *revisions_today(const struct kubectl *k, const struct revisions *r)
{
	assert(r->history || k->object);
	struct str name = r->history ? member_text(json_gets(json_gets(r->history, "status"), "revision"), "name")
				     : member_text(json_gets(k->object, "status"), "updateRevision");
	struct revision *update = revisions_by_name(r, name);
	return update ? update : r->n ? &r->v[r->n - 1] : NULL;
}

/* The revision of the last change that led to another state than today's. Its number may be lower than that of an older
 * one. Before a change that nobody made, the object was in the same state, recorded in another form. */
static struct revision *before_of_changes(const struct revisions *r, const struct revision *today)
{
	const struct json *changes = json_gets(json_gets(r->history, "status"), "changes");
	bool is_form = false;
	for (uint32_t i = json_is(changes, JSON_ARRAY) ? changes->n : 0; i > 0; i--) {
		const struct json *change = changes->items[i - 1];
		struct revision *one = revisions_by_name(r, member_text(change, "revision"));
		if (one && one != today && !is_form) {
			return one;
		}
		is_form = change_is_rerecorded(change) || (is_form && change_is_stateless(change));
	}
	return NULL;
}

struct revision *revisions_before(const struct kubectl *k, const struct revisions *r)
{
	const struct revision *today = revisions_today(k, r);
	struct revision *found = before_of_changes(r, today);
	for (size_t i = r->n; i > 0 && !found; i--) {
		bool is_listed = r->history && record_change_to(json_gets(r->history, "status"), r->v[i - 1].name);
		found = &r->v[i - 1] != today && !is_listed ? &r->v[i - 1] : NULL;
	}
	return found;
}

/* A state that came back has got a higher number. It knows its earlier numbers, and changes still name them. */
static struct revision *find_earlier(const struct revisions *r, int64_t number)
{
	for (size_t i = r->n; i > 0; i--) {
		struct str rest = r->v[i - 1].earlier, each;
		int64_t earlier;
		while (rest.n > 0) {
			str_cut(rest, ',', &each, &rest);
			if (str_to_int64(each, &earlier) && earlier == number) {
				return &r->v[i - 1];
			}
		}
	}
	const struct json *changes = json_gets(json_gets(r->history, "status"), "changes"), *change;
	for (uint32_t i = 0; (change = list_item(changes, i)); i++) {
		if (member_int(change, "number") == number) {
			return revisions_by_name(r, member_text(change, "revision"));
		}
	}
	return NULL;
}

struct revision *revisions_find(struct kubectl *k, const struct revisions *r, int64_t number)
{
	for (size_t i = r->n; i > 0; i--) {
		if (r->v[i - 1].number == number) {
			return &r->v[i - 1];
		}
	}
	struct revision *found = find_earlier(r, number);
	if (!found) {
		kubectl_fail(k, "unable to find revision %lld of " STR_FMT, (long long)number, STR_ARG(kubectl_name(k)));
	}
	if (!found && r->history && r->n > 0 && number > 0 && number < r->v[r->n - 1].number) {
		buf_printf(&k->err, ": it is not kept any more (" STR_FMT ")",
			STR_ARG(log_limit_of(k, k->type, k->target.namespace, k->target.name, "historyLimit")));
	}
	return found;
}

/* Histories: which one is whose. The name says it, where the subject has a namespace. That of a
 * subject without one is in a namespace that its Recorder chose, so it is looked for by fields. */
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
	assert(k->type);
	struct arena *a = &k->arena;
	struct str group = k->type->resource.group, kind = k->type->kind, name = escaped(a, k->target.name);
	return arena_printf(a, "spec.subject.group=" STR_FMT ",spec.subject.kind=" STR_FMT "%s" STR_FMT, STR_ARG(group),
		STR_ARG(kind), name.n ? ",spec.subject.name=" : "", STR_ARG(name));
}

/* If a Recorder's namespace was changed, there is a History in both namespaces. */
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

/* Where its namespace was deleted, the History is in an archive. For users who may not see that, there is none. */
static int get_archived(struct kubectl *k, struct answer *ret_answer, const struct json **ret)
{
	const struct target all = {&histories, STR(""), STR(""), NULL};
	const struct list_options options = {
		.field_selector = arena_printf(&k->arena, "spec.subject.namespace=%s,metadata.namespace!=%s," STR_FMT, k->ns,
			k->ns, STR_ARG(histories_selector(k)))};
	int error = rest_list(k->client, &all, &options, ret_answer);
	if (error == REST_STATUS && ret_answer->code == 403) {
		return 0;
	}
	if (error) {
		return kubectl_refused(k, error, ret_answer);
	}
	*ret = latest(ret_answer->body);
	return *ret ? 1 : 0;
}

static int get_named(struct kubectl *k, struct answer *ret_answer, const struct json **ret)
{
	const struct history_subject subject = {k->type->resource.group, k->type->kind, str_of(k->ns), k->target.name};
	const struct target target = {&histories, subject.namespace, history_name(&subject, &k->arena), NULL};
	int error = rest_get(k->client, &target, ret_answer);
	if (error == REST_STATUS && answer_is_absent(ret_answer, &target)) {
		return get_archived(k, ret_answer, ret);
	}
	if (error == REST_STATUS && ret_answer->code == 403) {
		return forbidden(k, ret_answer);
	}
	*ret = ret_answer->body;
	return error ? kubectl_refused(k, error, ret_answer) : 1;
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
	assert(k->type);
	if (str_eq(k->type->resource.group, histories.group)) {
		return 0; /* annals' own kinds are never recorded */
	}
	if (!discovery_find_resource(&k->discovery, &histories)) {
		/* Own revisions have other numbers, so they must not take the place of recorded ones. */
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

/* A client chooses the name of its field manager freely, so managers do not look like a user. */
struct str change_by(struct arena *a, const struct json *change)
{
	struct str user = member_text(change, "user");
	const struct json *managers = json_gets(change, "managers"), *each;
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, 64 * 1024);
	for (uint32_t i = 0; !user.n && (each = list_item(managers, i)); i++) {
		buf_printf(&out, "%s" STR_FMT, i ? "," : "", STR_ARG(json_text(each)));
	}
	if (out.n) {
		buf_printf(&out, " (manager%s)", managers->n > 1 ? "s" : "");
	}
	if (change_is_rerecorded(change)) {
		return STR("<none>");
	}
	return user.n ? user : out.n ? arena_dup(a, buf_str(&out)) : STR("<unknown>");
}

bool change_is_in_gap_by(const struct json *change, struct str user, struct str *ret_time)
{
	const struct json *authors = json_gets(json_gets(change, "gap"), "authors"), *each;
	for (uint32_t i = 0; member_is_true(change, "skipped") && (each = list_item(authors, i)); i++) {
		if (str_eq(member_text(each, "user"), user)) {
			*ret_time = member_text(each, "time");
			return true;
		}
	}
	return false;
}

enum { AUTHORS_SHOWN = 3 }; /* in a row; -o wide shows all */

/* States between this change and the one before were not seen. */
static void write_gap(struct buf *out, const struct json *change, bool is_wide)
{
	const struct json *gap = json_gets(change, "gap"), *authors = json_gets(gap, "authors"), *each;
	int64_t states = member_int(gap, "states");
	uint32_t n = member_count(gap, "authors");

	if (!member_is_true(change, "skipped")) {
		return;
	}
	if (states) {
		buf_printf(out, " (at least %lld states skipped before", (long long)states);
	} else {
		buf_adds(out, " (states skipped before");
	}
	for (uint32_t i = 0; (each = list_item(authors, i)) && (is_wide || i < AUTHORS_SHOWN); i++) {
		buf_printf(out, "%s" STR_FMT, i ? ", " : ", also by ", STR_ARG(member_text(each, "user")));
	}
	if (n > AUTHORS_SHOWN && !is_wide) {
		buf_printf(out, " and %u more", n - AUTHORS_SHOWN);
	}
	buf_adds(out, n > 0 && member_is_true(gap, "moreAuthors") ? ", perhaps others)" : ")");
}

enum { SHORT = 60 }; /* columns of paths */

struct str change_what(struct arena *a, const struct json *change, bool is_wide)
{
	const struct json *paths = json_gets(change, "paths"), *each;
	struct str type = member_text(change, "type");
	bool is_changed = str_is(type, "Changed") || str_is(type, "Adopted");
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
	write_gap(&out, change, is_wide);
	return arena_dup(a, buf_str(&out));
}
