/* A field selector on controller.uid lets annals answer from its index. For apps/v1 there is none,
 * so the namespace's revisions are all read and sifted here.
 *
 * A StatefulSet's controller may keep its revisions in PodTemplates instead (seed 002). Then
 * there is no ControllerRevision of it. Those of a Deployment are its ReplicaSets.
 *
 * A Recorder's revisions may be many and big. Their states are read one by one, where one is
 * needed. */
#include "api/model/members.h"
#include "cli/kubectl/kubectl.h"

#include <stdlib.h>

#define LABEL_CREATED_BY "created-by-statefulset"
#define LABEL_GENERATION "statefulset-template-revision"
#define LABEL_TEMPLATE_HASH "pod-template-hash"
#define ANNOTATION_REVISION "deployment.kubernetes.io/revision"

enum {
	LABEL_MAX = 63,
	PAGE = 50, /* of states, each of which may have a MiB */
};

static bool read_controllerrevision(
	const struct json *object, const struct json *owner _unused_, struct revision *ret, struct arena *a _unused_)
{
	const struct json *data = json_gets(object, "data");
	ret->number = member_int(object, "revision");
	ret->data = json_is(data, JSON_OBJECT) ? data : NULL;
	return true;
}

/* Does it stand for a claim of the set? A PodTemplate needs a volume for what its containers mount; the set's template has none. */
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

/* Such a patch as a ControllerRevision of it would hold. */
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

/* What the deployment controller keeps in annotations of ReplicaSets for itself, and what kubectl rollout undo leaves as it is. */
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

/* As kubectl rollout undo takes a Deployment back: the template, and the annotations that the controller had copied. */
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

/* Where revisions may be: annals' own first, whose index answers for one owner; then those of
 * the cluster's own controllers. */
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

/* ---- a Recorder's ---- */

/* What is kept of one until it is loaded. */
static void add_recorded(struct kubectl *k, struct revisions *r, const struct json *object)
{
	struct arena *a = &k->arena;
	const struct json *from = json_gets(object, "metadata");
	struct json *kept = json_object(a), *meta = json_object(a);
	struct str name = arena_dup(a, member_text(from, "name")), born = arena_dup(a, member_text(from, "creationTimestamp"));
	json_add(a, meta, STR("name"), json_string(a, name));
	json_add(a, meta, STR("creationTimestamp"), json_string(a, born));
	json_add(a, kept, STR("metadata"), meta);
	r->v = mem_realloc_array(r->v, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = (struct revision){.number = member_int(object, "revision"), .name = name, .object = kept};
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

static int load_recorded(struct kubectl *k, const struct revisions *all, struct revision *r)
{
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
	return 0;
}

int revision_load(struct kubectl *k, const struct revisions *all, struct revision *r)
{
	if (all->history && !r->is_loaded && load_recorded(k, all, r)) {
		return -1;
	}
	return json_is(r->data, JSON_OBJECT) ? 0 : kubectl_fail(k, "revision %lld has no data", (long long)r->number);
}

/* ---- which one ---- */

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
	struct str name = r->history ? member_text(json_gets(json_gets(r->history, "status"), "revision"), "name")
				     : member_text(json_gets(k->object, "status"), "updateRevision");
	struct revision *update = revisions_by_name(r, name);
	return update ? update : r->n ? &r->v[r->n - 1] : NULL;
}

/* The state of the last change but those to today's: an older one may have the higher number. */
static struct revision *before_of_changes(const struct revisions *r, const struct revision *today)
{
	const struct json *changes = json_gets(json_gets(r->history, "status"), "changes");
	for (uint32_t i = json_is(changes, JSON_ARRAY) ? changes->n : 0; i > 0; i--) {
		struct revision *one = revisions_by_name(r, member_text(changes->items[i - 1], "revision"));
		if (one && one != today) {
			return one;
		}
	}
	return NULL;
}

struct revision *revisions_before(const struct kubectl *k, const struct revisions *r)
{
	const struct revision *today = revisions_today(k, r);
	struct revision *found = before_of_changes(r, today);
	for (size_t i = r->n; i > 0 && !found; i--) {
		found = &r->v[i - 1] != today ? &r->v[i - 1] : NULL;
	}
	return found;
}

/* One that came again has a higher number since, but changes still tell of the one it had. */
static struct revision *find_of_changes(const struct revisions *r, int64_t number)
{
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
	struct revision *found = find_of_changes(r, number);
	if (!found) {
		kubectl_fail(k, "unable to find revision %lld of " STR_FMT, (long long)number, STR_ARG(kubectl_name(k)));
	}
	return found;
}
