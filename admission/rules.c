/* The admission rules, and the chain that they form. Rules are pure, and see other objects through
 * the attributes only.
 *
 * The order of the rules matters, so it is one table at the end of this file. */
#include "admission/admission.h"

#include "api/model/digest.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "api/model/schema.h"
#include "api/upstream/upstream.h"

#include <assert.h>

/* ---- namespaces ---- */

/* Namespaces that do not exist or are being deleted take no new objects, and three namespaces
 * can never be deleted (k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle). */
static const char *const protected_namespaces[] = {"default", "kube-public", "kube-system"};

static struct str group_of(const struct admission_attributes *attributes)
{
	return str_of(attributes->version->group);
}

static int protect(const struct admission_attributes *attributes, struct arena *a _unused_, struct status *st)
{
	for (size_t i = 0; i < ARRAY_SIZE(protected_namespaces); i++) {
		if (str_is(attributes->name, protected_namespaces[i])) {
			status_forbidden(st, group_of(attributes), str_of(attributes->kind->resource), attributes->name,
				"this namespace may not be deleted");
			return 1;
		}
	}
	return 0;
}

/* The name to show in messages: generateName where the server has not generated the name yet. */
static struct str shown_name(const struct admission_attributes *attributes)
{
	const struct meta *m = &attributes->object->meta;
	const struct str names[] = {attributes->name, m->name, m->generate_name};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].n) {
			return names[i];
		}
	}
	return STR("Unknown");
}

static int refuse_terminating(const struct admission_attributes *attributes, struct arena *a, struct status *st)
{
	status_forbidden(st, group_of(attributes), str_of(attributes->kind->resource), shown_name(attributes),
		"unable to create new content in namespace " STR_FMT " because it is being terminated",
		STR_ARG(attributes->ns));
	status_add_cause(st, "NamespaceTerminating", STR("metadata.namespace"),
		arena_printf(a, "namespace " STR_FMT " is being terminated", STR_ARG(attributes->ns)));
	return 1;
}

static int check_namespace(const struct admission_attributes *attributes, struct arena *a, struct status *st)
{
	if (!attributes->kind->is_namespaced) {
		return 0;
	}
	switch (attributes->environment->namespace_phase(attributes->environment->ctx, attributes->ns)) {
	case NAMESPACE_ABSENT:
		status_not_found(st, STR(""), STR("namespaces"), attributes->ns);
		return 1;
	case NAMESPACE_TERMINATING:
		return refuse_terminating(attributes, a, st);
	case NAMESPACE_UNDECIDED:
		return 1;
	case NAMESPACE_UNKNOWN:
	case NAMESPACE_ACTIVE:
		break;
	}
	return 0;
}

static const struct admission_hook rule_namespace_lifecycle = {
	.name = "NamespaceLifecycle",
	.operations = ADMIT_CREATE,
	.mutate = check_namespace,
};

static const struct admission_hook rule_namespace_protection = {
	.name = "NamespaceProtection",
	.operations = ADMIT_DELETE,
	.resource = "namespaces",
	.mutate = protect,
};

/* ---- classes of pods ---- */

/* A pod's priority and runtime must name classes that exist, and its numbers must follow from
 * the class. PriorityClasses and RuntimeClasses are no kinds here, so only the classes that
 * every cluster has from the start exist. */
static const struct json *spec_of(const struct admission_attributes *attributes)
{
	return object_spec(attributes->object);
}

static void set_spec_field(const struct admission_attributes *attributes, const char *name, struct json *value, struct arena *a)
{
	object_set_spec(attributes->object, schema_with(&type_pod_spec, spec_of(attributes), name, value, a), a);
}

/* Returns false when there is no such PriorityClass. */
static bool pod_priority_of(struct str class_name, int64_t *ret)
{
	static const struct {
		const char *name;
		int64_t priority;
	} classes[] = {{"", 0}, {"system-cluster-critical", 2000000000}, {"system-node-critical", 2000001000}};
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (str_is(class_name, classes[i].name)) {
			*ret = classes[i].priority;
			return true;
		}
	}
	return false;
}

static int check_priority(const struct admission_attributes *attributes, struct status *st)
{
	const struct json *spec = spec_of(attributes), *sent = json_gets(spec, "priority"),
			  *policy = json_gets(spec, "preemptionPolicy");
	struct str class_name = member_text(spec, "priorityClassName");
	int64_t priority;
	if (!pod_priority_of(class_name, &priority)) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name, "no PriorityClass with name " STR_FMT " was found",
			STR_ARG(class_name));
		return 1;
	}
	if (sent && member_int(spec, "priority") != priority) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name,
			"the integer value of priority (" STR_FMT ") must not be provided in pod spec; priority admission "
			"controller computed %lld from the given PriorityClass name",
			STR_ARG(json_text(sent)), (long long)priority);
		return 1;
	}
	if (policy && !str_is(json_text(policy), "PreemptLowerPriority")) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name,
			"the string value of PreemptionPolicy (" STR_FMT
			") must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from "
			"the given "
			"PriorityClass name",
			STR_ARG(json_text(policy)));
		return 1;
	}
	return 0;
}

static int check_runtime(const struct admission_attributes *attributes, struct status *st)
{
	const struct json *name = json_gets(spec_of(attributes), "runtimeClassName");
	if (name) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name, "pod rejected: RuntimeClass " STR_FMT " not found",
			STR_ARG(go_quote(st->arena, json_text(name))));
	}
	return name != NULL;
}

static int check_classes(const struct admission_attributes *attributes, struct arena *a _unused_, struct status *st)
{
	return attributes->subresource.n ? 0 : check_priority(attributes, st) || check_runtime(attributes, st);
}

static void fill_in_priority(const struct admission_attributes *attributes, struct arena *a)
{
	int64_t priority = 0;
	pod_priority_of(member_text(spec_of(attributes), "priorityClassName"), &priority);
	set_spec_field(attributes, "priority", json_int(a, priority), a);
	set_spec_field(attributes, "preemptionPolicy", json_string(a, STR("PreemptLowerPriority")), a);
}

static const struct admission_hook rule_pod_classes = {
	.name = "PodClasses",
	.operations = ADMIT_CREATE,
	.resource = "pods",
	.mutate = check_classes,
	.complete = fill_in_priority,
};

/* ---- tolerations of pods ---- */

/* A node may be away for a while before its pods are. */
static bool tolerates(const struct json *tolerations, struct str key)
{
	const struct json *t;
	for (uint32_t i = 0; (t = list_item(tolerations, i)); i++) {
		struct str own = member_text(t, "key"), effect = member_text(t, "effect");
		if ((!own.n || str_eq(own, key)) && (!effect.n || str_is(effect, "NoExecute"))) {
			return true;
		}
	}
	return false;
}

static struct json *default_toleration(struct str key, struct arena *a)
{
	/* The plugin's default. */
	enum { TOLERATED_S = 300 };
	struct json *t = json_object(a);
	json_add(a, t, STR("key"), json_string(a, key));
	json_add(a, t, STR("operator"), json_string(a, STR("Exists")));
	json_add(a, t, STR("effect"), json_string(a, STR("NoExecute")));
	json_add(a, t, STR("tolerationSeconds"), json_int(a, TOLERATED_S));
	return t;
}

static void tolerate_absence(const struct admission_attributes *attributes, struct arena *a)
{
	static const char *const keys[] = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"};
	const struct json *spec = spec_of(attributes);
	struct json *present = json_gets(spec, "tolerations"), *all = present;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!tolerates(present, str_of(keys[i]))) {
			all = all == present && all ? json_copy(a, all) : all ? all : json_array(a);
			json_append(a, all, default_toleration(str_of(keys[i]), a));
		}
	}
	if (all != present) {
		set_spec_field(attributes, "tolerations", all, a);
	}
}

static const struct admission_hook rule_tolerations = {
	.name = "DefaultTolerationSeconds",
	.operations = ADMIT_CREATE | ADMIT_UPDATE,
	.resource = "pods",
	.complete = tolerate_absence,
};

/* ---- claims ---- */

/* A claim that a pod uses must stay. persistentvolumeclaim.c of the controllers takes the finalizer
 * off. PersistentVolumes get none: no controller here would take it off. */
static void protect_claim(const struct admission_attributes *attributes, struct arena *a)
{
	meta_add_finalizer(&attributes->object->meta, a, STR("kubernetes.io/pvc-protection"));
}

static const struct admission_hook rule_claim_protection = {
	.name = "StorageObjectInUseProtection",
	.operations = ADMIT_CREATE,
	.resource = "persistentvolumeclaims",
	.complete = protect_claim,
};

/* ---- revisions: the data ---- */

/* The data of a ControllerRevision never changes. kube-apiserver compares its bytes, so there an
 * object with a blank in its data cannot be written back. Here the values are compared, and the
 * first spelling stays. */
static struct json *data_of(const struct object *o)
{
	return json_gets(o->fields, "data");
}

static bool is_same(const struct admission_attributes *attributes)
{
	return json_equal(data_of(attributes->object), data_of(attributes->old));
}

static int keep_spelling(const struct admission_attributes *attributes, struct arena *a, struct status *st _unused_)
{
	if (is_same(attributes)) {
		json_set(a, attributes->object->fields, STR("data"), data_of(attributes->old));
	}
	return 0;
}

static void check_data(const struct admission_attributes *attributes, struct field_errors *errors)
{
	if (!is_same(attributes)) {
		field_invalid(errors, STR("data"), data_of(attributes->object), "field is immutable");
	}
}

static const struct admission_hook rule_data_immutable = {
	.name = "DataImmutable",
	.operations = ADMIT_UPDATE,
	.resource = "controllerrevisions",
	.mutate = keep_spelling,
	.validate = check_data,
};

/* ---- revisions: the digest ---- */

/* Keeps the digest of a ControllerRevision's data (docs/reference/digest.md) in an annotation of the server's. Objects made through versions
 * of upstream's groups do not get it, since they must look as upstream makes them, unless such a version is sent one. Our versions show it all
 * the same, and what they are sent back is no wish. */
static struct json *stored_digest(const struct object *o)
{
	return o ? json_get(o->meta.annotations, ANNOTATION_DIGEST) : NULL;
}

static struct json *compute(const struct json *data, struct arena *a)
{
	char digest[DIGEST_SIZE];
	digest_of(digest, data, a);
	return json_string(a, arena_dup(a, str_of(digest)));
}

/* Without data there is no digest, and the write is going to be refused. */
static int keep_digest(const struct admission_attributes *attributes, struct arena *a, struct status *st _unused_)
{
	struct object *o = attributes->object;
	const struct object *old = attributes->old;
	const struct json *data = json_gets((old ? old : o)->fields, "data");
	struct json *stored = stored_digest(old);
	history_take_back(o, old, attributes->version, a);
	bool is_wanted = stored_digest(o) || (!old && version_is_own(attributes->version, attributes->kind));
	if (stored) {
		meta_set_annotation(&o->meta, a, ANNOTATION_DIGEST, stored);
	} else if (is_wanted && json_is(data, JSON_OBJECT)) {
		meta_set_annotation(&o->meta, a, ANNOTATION_DIGEST, compute(data, a));
	}
	return 0;
}

static const struct admission_hook rule_digest = {
	.name = "Digest",
	.operations = ADMIT_CREATE | ADMIT_UPDATE,
	.resource = "controllerrevisions",
	.mutate = keep_digest,
};

/* ---- adoption ---- */

/* An owner that is being deleted adopts nothing: its new dependents would be orphaned or
 * collected at once. api/rules/validate.c checks that an object has only one controller, with
 * the other rules of owner references, because clients see the causes in that order. */
static bool is_new_controller(const struct admission_attributes *attributes, const struct owner_reference *owner)
{
	struct owner_reference old;
	return owner->is_controller && !(meta_controller(&attributes->old->meta, &old) && str_eq(old.uid, owner->uid));
}

static void check_adoption(const struct admission_attributes *attributes, struct field_errors *errors)
{
	const struct meta *m = &attributes->object->meta;
	const struct admission_environment *env = attributes->environment;
	for (size_t i = 0; i < meta_owner_count(m); i++) {
		struct owner_reference owner;
		meta_owner(m, i, &owner);
		if (is_new_controller(attributes, &owner) && env->is_owner_deleting(env->ctx, attributes->ns, &owner)) {
			field_forbidden(errors, field_index(errors->arena, STR("metadata.ownerReferences"), i),
				STR_FMT "/" STR_FMT " is being deleted and cannot adopt", STR_ARG(owner.kind),
				STR_ARG(owner.name));
		}
	}
}

static const struct admission_hook rule_adoption = {
	.name = "Adoption",
	.operations = ADMIT_UPDATE,
	.validate = check_adoption,
};

/* ---- what a Recorder records ---- */

/* A Recorder names resources that are to be watched. If nobody serves them, it would wait for ever
 * without a word. */
static bool need_matches(struct str wanted, const char *name)
{
	return str_is(wanted, "*") || str_is(wanted, name);
}

static bool is_served_in(const struct kind *k, struct str group)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		if (need_matches(group, k->versions[i].group)) {
			return true;
		}
	}
	return false;
}

static bool is_watchable(const struct need *need)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if ((k->verbs & VERB_WATCH) && need_matches(need->resource, k->resource) && is_served_in(k, need->group)) {
			return true;
		}
	}
	return false;
}

/* Counts the needs of one field, from the first on: it may name a resource of several groups. */
static size_t count_of_field(const struct need *needs, size_t n)
{
	size_t i = 1;

	while (i < n && str_eq(needs[i].path, needs[0].path)) {
		i++;
	}
	return i;
}

static bool is_any_watchable(const struct need *needs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!needs[i].is_to_be_watched || is_watchable(&needs[i])) {
			return true;
		}
	}
	return false;
}

void admission_validate_needs(const struct need *needs, size_t n, struct field_errors *errors)
{
	size_t n_same;

	for (size_t i = 0; i < n; i += n_same) {
		n_same = count_of_field(needs + i, n - i);
		if (!is_any_watchable(needs + i, n_same)) {
			field_invalid_str(errors, needs[i].path, needs[i].resource,
				"no such resource is served here that can be watched");
		}
	}
}

/* ---- the chain ---- */

/* Refusals that need no look at the object come first. Rules that compute from the object's data
 * come after rules that may restore it. */
static const struct admission_hook *const chain[] = {
	&rule_namespace_protection,
	&rule_namespace_lifecycle,
	&rule_pod_classes,
	&rule_tolerations,
	&rule_claim_protection,
	&rule_data_immutable,
	&rule_digest,
	&rule_adoption,
};

static bool is_about(const struct admission_hook *hook, const struct admission_attributes *attributes)
{
	return (hook->operations & attributes->operation) &&
		(!hook->resource || strcmp(hook->resource, attributes->kind->resource) == 0);
}

/* Rules read `object` of all writes but deletions, and `old` of every update. */
static void assert_attributes(const struct admission_attributes *attributes)
{
	assert(attributes->object || attributes->operation == ADMIT_DELETE);
	assert(attributes->old || attributes->operation != ADMIT_UPDATE);
	assert(attributes->version && attributes->environment);
}

int admission_mutate(const struct admission_attributes *attributes, struct arena *a, struct status *st)
{
	assert_attributes(attributes);
	for (size_t i = 0; i < ARRAY_SIZE(chain); i++) {
		if (chain[i]->mutate && is_about(chain[i], attributes) && chain[i]->mutate(attributes, a, st)) {
			return 1;
		}
	}
	return 0;
}

void admission_complete(const struct admission_attributes *attributes, struct arena *a)
{
	assert(attributes->object && attributes->operation & (ADMIT_CREATE | ADMIT_UPDATE));
	for (size_t i = 0; i < ARRAY_SIZE(chain); i++) {
		if (chain[i]->complete && is_about(chain[i], attributes)) {
			chain[i]->complete(attributes, a);
		}
	}
}

void admission_validate(const struct admission_attributes *attributes, struct field_errors *errors)
{
	assert_attributes(attributes);
	for (size_t i = 0; i < ARRAY_SIZE(chain); i++) {
		if (chain[i]->validate && is_about(chain[i], attributes)) {
			chain[i]->validate(attributes, errors);
		}
	}
}
