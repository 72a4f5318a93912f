/* What every new version of an object passes before it is stored, in kube's order (rest.BeforeCreate, rest.BeforeUpdate). */
#include "server/write/write.h"

#include "admission/admission.h"
#include "api/apply/managed.h"
#include "api/model/protobuf.h"
#include "api/rules/validate.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/request_audit.h"
#include "server/write/write_needs.h"
#include "server/write/write_webhooks.h"

/* A creation that is decided more than once stays the same object. */
static void write_prepare_create(struct request *q, struct write *w)
{
	struct meta *m = &w->object->meta;

	meta_prepare_create(w->object, request_ns(q), q->a);
	w->uid = w->uid.n > 0 ? w->uid : arena_dup(w->arena, m->uid);
	m->uid = w->uid;
	m->creation_timestamp = request_now(q);
}

static void write_dedup_owners(struct request *q, struct object *o, bool is_patch)
{
	struct str warnings[2];
	size_t n = meta_dedup_owners(&o->meta, is_patch, q->a, warnings);

	for (size_t i = 0; i < n; i++) {
		request_warn(q, warnings[i]);
	}
}

static int write_verdict(struct request *q, const struct object *o, const struct field_errors *errors)
{
	if (errors->n == 0) {
		return 0;
	}
	const char *group = q->route.door->invalid_group;
	status_invalid(&q->st, group ? str_of(group) : request_group(q), str_of(o->kind->kind), o->meta.name, errors);
	return 1;
}

/* 0, with what there is to warn of said; or 1 with the 422. */
static int write_pass(struct request *q, const struct object *o, const struct object *old, const struct field_errors *errors)
{
	struct str warnings[KIND_WARNINGS_MAX];

	if (write_verdict(q, o, errors)) {
		return 1;
	}
	/* Where a subresource has rules of its own, those of the object are not asked, unless it is the object in another form. */
	bool is_judged = !q->route.sub || q->route.sub->view;
	size_t n = is_judged && o->kind->warn ? o->kind->warn(o, old, warnings) : 0;
	for (size_t i = 0; i < n; i++) {
		request_warn(q, warnings[i]);
	}
	return 0;
}

/* ---- admission's view of the world ---- */

/* Absence is not believed of a cache (k8s.io/apiserver's NamespaceLifecycle looks again, too). */
static enum namespace_phase look_up_cluster_namespace(struct request *q, struct str name)
{
	const struct delegates *d = q->server->options.delegates;
	enum namespace_phase phase = d && d->namespace_phase ? d->namespace_phase(d->ctx, name) : NAMESPACE_UNKNOWN;

	if (phase != NAMESPACE_ABSENT || !d->ask_namespace) {
		return phase;
	}
	const struct namespace_question *answer = questions_namespace(&q->questions, name);
	if (!answer) {
		return NAMESPACE_UNDECIDED;
	}
	if (answer->base.failure.n > 0) {
		status_internal(&q->st, STR_FMT, STR_ARG(answer->base.failure));
		return NAMESPACE_UNDECIDED;
	}
	return answer->phase;
}

static enum namespace_phase look_up_namespace(void *ctx, struct str name)
{
	struct request *q = ctx;
	struct write *w = q->state;
	const struct kind *k = q->server->namespaces;
	_cleanup_(cached_unrefp) struct cached *ns = k ? cache_get(q->server->options.cache, k, STR(""), name) : NULL;

	/* The same namespace, in the same state, is a guard of the transaction: a creation and a deletion of it cannot both win. */
	w->guards_namespace = k != NULL;
	w->namespace_revision = ns ? ns->revision : 0;
	if (!k) {
		return look_up_cluster_namespace(q, name);
	}
	if (!ns) {
		return agreed_version_check_readable(q, k) ? NAMESPACE_UNDECIDED : NAMESPACE_ABSENT;
	}
	return ns->is_deleting ? NAMESPACE_TERMINATING : NAMESPACE_ACTIVE;
}

static const struct kind *owner_kind(const struct request *q, const struct owner_reference *owner)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (str_is(owner->kind, k->kind) && kind_door(k, owner->api_version) &&
		    door_is_visible(kind_door(k, owner->api_version), q->server->options.is_standalone)) {
			return k;
		}
	}
	return NULL;
}

static bool look_up_owner_deleting(void *ctx, struct str ns, const struct owner_reference *owner)
{
	struct request *q = ctx;
	const struct kind *k = owner_kind(q, owner);
	_cleanup_(cached_unrefp) struct cached *o = NULL;

	if (!k) {
		return false;
	}
	o = cache_get(q->server->options.cache, k, k->is_namespaced ? ns : STR(""), owner->name);
	return o && str_eq(o->uid, owner->uid) && o->is_deleting;
}

static void admission_fill(struct admission_attributes *at, struct admission_environment *env, struct request *q, struct write *w,
			   enum admission_operation operation)
{
	*env = (struct admission_environment){
		.ctx = q, .namespace_phase = look_up_namespace, .is_owner_deleting = look_up_owner_deleting};
	*at = (struct admission_attributes){
		.operation = operation,
		.kind = q->route.kind,
		.door = q->route.door,
		.subresource = q->route.subresource,
		.ns = request_ns(q),
		.name = w->name,
		.object = w->object,
		.old = operation == ADMIT_CREATE ? NULL : w->present,
		.user = q->user->name,
		.groups = q->user->groups,
		.n_groups = q->user->n_groups,
		.is_dry_run = q->is_dry_run,
		.environment = env,
	};
}

/* ---- the rules in their order ---- */

/* kube answers 500; it is the client's mistake, so 400 here (docs/reference/deviations.md). */
static int create_check_version(struct request *q, const struct object *o)
{
	uint64_t version;

	if (q->is_dry_run) {
		return 0; /* nothing is stored that it could contradict: upstream's looks only then */
	}
	if (str_to_uint64(o->meta.resource_version, &version) && version != 0) {
		status_bad_request(&q->st, "resourceVersion should not be set on objects to be created");
		return 1;
	}
	return 0;
}

static void write_own_fields(struct request *q, struct write *w, const struct write_rules *rules)
{
	if (!rules->is_applied && !rules->has_owners) {
		managed_update(
			w->object, w->present, q->route.door, q->route.subresource, rules->manager, request_now(q), q->a);
	}
}

static void write_shed_fields(const struct write *w)
{
	if (w->sheds_managed_fields) {
		w->object->meta.managed_fields = NULL;
	}
}

static void create_validate(const struct object *o, struct field_errors *errors)
{
	const struct kind *k = o->kind;

	if (!k->checks_meta_last) {
		validate_meta(k, &o->meta, errors);
	}
	if (k->validate) {
		k->validate(o, errors);
	}
	if (k->checks_meta_last && errors->n == 0) {
		validate_meta(k, &o->meta, errors);
	}
}

/* Webhooks change the object, which then is another one, and our own rules have another look at it. */
static int write_mutate(struct request *q, struct write *w, struct admission_attributes *at)
{
	int r = write_ask_mutating(q, w, at->operation);

	if (r || w->object == at->object) {
		return r;
	}
	at->object = w->object;
	return admission_mutate(at, q->a, &q->st);
}

int write_admit_create(struct request *q, struct write *w, const struct write_rules *rules)
{
	struct object *o = w->object;
	const struct kind *k = o->kind;
	struct admission_environment env;
	struct admission_attributes at;
	struct field_errors errors;

	if (create_check_version(q, o)) {
		return 1;
	}
	write_dedup_owners(q, o, rules->is_patch);
	admission_fill(&at, &env, q, w, ADMIT_CREATE);
	if (admission_mutate(&at, q->a, &q->st)) {
		return 1;
	}
	write_prepare_create(q, w);
	/* What the kind and webhooks fill in is nobody's. */
	write_own_fields(q, w, rules);
	int r = write_mutate(q, w, &at);
	if (r) {
		return r;
	}
	if (w->object != o) {
		o = w->object;
		write_prepare_create(q, w);
	}
	write_shed_fields(w);
	if (k->prepare_create) {
		k->prepare_create(o, q->a);
	}
	field_errors_init(&errors, q->a);
	create_validate(o, &errors);
	admission_validate(&at, &errors);
	if (write_pass(q, o, NULL, &errors)) {
		return 1;
	}
	r = write_ask_needs(q, o, NULL);
	return r ? r : write_ask_validating(q, w, ADMIT_CREATE);
}

static void update_prepare(struct request *q, struct object *o, const struct object *old)
{
	const struct kind *k = o->kind;

	meta_prepare_update(o, old, q->a);
	if (k->prepare_update && !q->route.sub) {
		k->prepare_update(o, old, q->a);
	}
	if (k->prepare_status && q->route.sub && strcmp(q->route.sub->name, "status") == 0) {
		k->prepare_status(o, old, q->a);
	}
	if (!k->keeps_generation && k->bumps_generation && k->bumps_generation(o, old)) {
		o->meta.generation = old->meta.generation + 1;
	}
}

static void update_validate(struct request *q, const struct object *o, const struct object *old, struct field_errors *errors)
{
	const struct subresource *sub = q->route.sub;

	validate_meta_update(o->kind, &o->meta, &old->meta, errors);
	if (sub && sub->validate_update) {
		sub->validate_update(o, old, errors);
	} else if (!sub && o->kind->validate_update) {
		o->kind->validate_update(o, old, errors);
	}
}

/* What is stored, with that part of what was sent which the subresource may change. */
static void update_keep_rest(struct request *q, struct write *w)
{
	const struct subresource *sub = q->route.sub;
	const struct object *sent = w->object;

	if (sub && sub->merge) {
		w->object = object_copy(w->present, q->a);
		w->object->meta.managed_fields = sent->meta.managed_fields;
		sub->merge(w->object, sent, q->a);
	}
}

int write_admit_update(struct request *q, struct write *w, const struct write_rules *rules)
{
	struct object *o;
	struct admission_environment env;
	struct admission_attributes at;
	struct field_errors errors;

	update_keep_rest(q, w);
	o = w->object;
	if (!rules->is_patch) {
		write_dedup_owners(q, o, false);
	}
	admission_fill(&at, &env, q, w, ADMIT_UPDATE);
	if (admission_mutate(&at, q->a, &q->st)) {
		return 1;
	}
	write_own_fields(q, w, rules);
	int r = write_mutate(q, w, &at);
	if (r) {
		return r;
	}
	if (w->object != o) {
		/* A webhook may change no more by way of a subresource than a client may. */
		update_keep_rest(q, w);
		o = at.object = w->object;
	}
	write_shed_fields(w);
	/* Upstream does so behind the admission of patches: whoever makes a duplicate comes to own the reference. */
	if (rules->is_patch) {
		write_dedup_owners(q, o, true);
	}
	update_prepare(q, o, w->present);
	field_errors_init(&errors, q->a);
	update_validate(q, o, w->present, &errors);
	admission_validate(&at, &errors);
	if (write_pass(q, o, w->present, &errors)) {
		return 1;
	}
	r = write_ask_needs(q, o, w->present);
	return r ? r : write_ask_validating(q, w, ADMIT_UPDATE);
}

int write_admit_delete(struct request *q, struct write *w)
{
	struct admission_environment env;
	struct admission_attributes at;

	w->object = NULL;
	admission_fill(&at, &env, q, w, ADMIT_DELETE);
	if (admission_mutate(&at, q->a, &q->st)) {
		return 1;
	}
	int r = write_ask_mutating(q, w, ADMIT_DELETE);
	return r ? r : write_ask_validating(q, w, ADMIT_DELETE);
}
