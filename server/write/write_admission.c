/* The rules that every new version of an object passes before it is stored, in kube's order (rest.BeforeCreate, rest.BeforeUpdate):
 * mutating admission, the server's own fields, mutating webhooks, validation, rights, validating webhooks.
 *
 * Rights that an object needs are asked about one after the other, as any request's are, and all that are missing are
 * reported. They are asked about the object as webhooks have left it, because that is what would be carried out.
 *
 * Webhooks see what upstream shows them at this place of the chain, which is not what will be stored: a new object has no
 * uid yet, and a generated name is not sent. Their answer is decoded like a client's body. Then the fields that the server
 * owns are put back: a webhook has no rights that a client lacks.
 *
 * Rules about other objects, which hold for deletions too, are in write_references.c. */
#include "server/write/write.h"

#include "admission/admission.h"
#include "api/model/protobuf.h"
#include "api/patch/managed.h"
#include "api/rules/validate.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/request_audit.h"
#include "server/write/definitions.h"
#include "server/write/write_memory.h"
#include "server/write/write_recorded.h"

#include <assert.h>

/* ---- the question for webhooks ---- */

static const char *operation_name(enum admission_operation operation)
{
	switch (operation) {
	case ADMIT_CREATE:
		return "CREATE";
	case ADMIT_UPDATE:
		return "UPDATE";
	case ADMIT_DELETE:
		return "DELETE";
	case ADMIT_CONNECT:
		return "CONNECT";
	}
	return "";
}

/* The options' kind follows from the operation, not from the method: a patch may update or create. */
static const char *options_kind(struct str operation)
{
	return str_is(operation, "CREATE") ? "CreateOptions" : str_is(operation, "UPDATE") ? "UpdateOptions" : "DeleteOptions";
}

static void add_param(struct request *q, struct json *options, const char *name)
{
	json_add_text(q->a, options, str_of(name), params_get(&q->route.params, name));
}

/* metav1's options of the request, as the query or the body of a deletion gave them. */
static const struct json *options_of(struct request *q, const struct write *w, const char *operation)
{
	struct json *options = w->delete_options ? json_copy(q->a, w->delete_options) : json_object(q->a);

	json_set(q->a, options, STR("kind"), json_string(q->a, str_of(options_kind(str_of(operation)))));
	json_set(q->a, options, STR("apiVersion"), json_string(q->a, STR("meta.k8s.io/v1")));
	if (w->delete_options) {
		return options;
	}
	if (q->is_dry_run) {
		struct json *all = json_array(q->a);
		json_append(q->a, all, json_string(q->a, STR("All")));
		json_set(q->a, options, STR("dryRun"), all);
	}
	add_param(q, options, "fieldManager");
	add_param(q, options, "fieldValidation");
	add_param(q, options, "propagationPolicy");
	return options;
}

/* The object's name in the path or the body; empty for a collection, or where the name is to be generated. */
static struct str name_of(const struct request *q, const struct write *w)
{
	return w->has_generated_name || q->route.action == VERB_DELETECOLLECTION ? STR("") : w->name;
}

/* As this request sees objects. */
static const struct object *seen(struct request *q, const struct object *o)
{
	return o && q->route.sub && q->route.sub->view ? view_show(q->route.sub->view, o, q->a) : o;
}

static struct webhook_question question_of(
	struct request *q, struct write *w, enum admission_operation operation, enum webhook_phase phase)
{
	return (struct webhook_question){
		.phase = phase,
		.operation = operation_name(operation),
		.kind = q->route.kind,
		.version = q->route.version,
		.sub = q->route.sub,
		.subresource = q->route.subresource,
		.ns = request_ns(q),
		.name = name_of(q, w),
		.user = q->user,
		.is_dry_run = q->is_dry_run,
		.object = seen(q, w->object),
		.old = operation == ADMIT_CREATE ? NULL : seen(q, w->present),
		.audit_id = q->audit_id,
	};
}

/* ---- the answer of webhooks ---- */

static int take_verdict(struct request *q, const struct webhook_question *answer)
{
	for (size_t i = 0; i < answer->n_warnings; i++) {
		request_warn(q, answer->warnings[i]);
	}
	for (size_t i = 0; i < answer->n_annotations; i++) {
		request_audit_annotate(q, answer->annotations[i].key, answer->annotations[i].value);
	}
	if (answer->base.failure.n > 0) {
		status_internal(&q->st, STR_FMT, STR_ARG(answer->base.failure));
		return 1;
	}
	if (answer->st.code) {
		q->st = answer->st;
		return 1;
	}
	return 0;
}

/* 0 with the answer in *ret; 1; or ASK_FIRST. */
static int webhooks_ask(
	struct request *q, const struct write *w, struct webhook_question *what, const struct webhook_question **ret)
{
	what->options = options_of(q, w, what->operation);
	*ret = questions_webhooks(&q->questions, what);
	return *ret ? take_verdict(q, *ret) : ASK_FIRST;
}

/* The server's own fields stay, whatever a webhook has made of them. */
static void keep_own(struct object *to, const struct object *from)
{
	to->meta.uid = from->meta.uid;
	to->meta.creation_timestamp = from->meta.creation_timestamp;
	to->meta.deletion_timestamp = from->meta.deletion_timestamp;
	to->meta.has_grace_period = from->meta.has_grace_period;
	to->meta.grace_period_s = from->meta.grace_period_s;
	to->meta.generation = from->kind->keeps_generation && !from->mod_revision ? to->meta.generation : from->meta.generation;
	to->mod_revision = from->mod_revision;
}

/* A webhook may rename a new object. Otherwise one that was named by generateName keeps that name. */
static void take_name(struct request *q, struct write *w, struct object *fresh)
{
	if (fresh->meta.name.n == 0 && fresh->meta.generate_name.n > 0) {
		fresh->meta.name = w->object->meta.name;
	}
	if (fresh->meta.name.n > 0 && !str_eq(fresh->meta.name, w->name)) {
		write_rename(q, w, fresh->meta.name);
	}
}

static int take_change(struct request *q, struct write *w, enum admission_operation operation, const struct json *changed)
{
	struct object *fresh;
	struct str reason;

	if (object_decode(&fresh, q->route.body_kind, q->route.body_version, changed, w->object, q->a, NULL, &reason)) {
		status_internal(
			&q->st, "what admission webhooks have made of the object cannot be read: " STR_FMT, STR_ARG(reason));
		return 1;
	}
	if (write_match_namespace(q, fresh)) {
		return 1;
	}
	if (q->route.body_kind != q->route.kind) {
		struct object *o = object_copy(w->object, q->a);
		q->route.sub->view->take(q->route.sub->view, o, fresh, q->a);
		w->object = o;
		return 0;
	}
	keep_own(fresh, w->object);
	if (operation == ADMIT_CREATE) {
		take_name(q, w, fresh);
	}
	w->object = fresh;
	return 0;
}

/* A new object is shown without what it has only once it is stored. */
static const struct object *unborn(const struct write *w, struct arena *a)
{
	struct object *shown = object_copy(w->object, a);

	if (w->has_generated_name) {
		shown->meta.name = STR("");
	}
	shown->meta.uid = shown->meta.creation_timestamp = STR("");
	return shown;
}

/* Returns 0; 1 with the refusal in q->st; or ASK_FIRST. A webhook that changes the object makes w->object another one. */
static int write_ask_mutating(struct request *q, struct write *w, enum admission_operation operation)
{
	struct webhook_question what = question_of(q, w, operation, WEBHOOKS_MUTATING);
	const struct webhook_question *answer;

	/* Most writes concern no webhook: known before anything is made for one. */
	if (!questions_has_webhooks(&q->questions, &what)) {
		return 0;
	}
	if (operation == ADMIT_CREATE) {
		what.object = unborn(w, q->a);
	}
	int r = webhooks_ask(q, w, &what, &answer);
	return r || !answer->changed ? r : take_change(q, w, operation, answer->changed);
}

static int write_ask_validating(struct request *q, struct write *w, enum admission_operation operation)
{
	struct webhook_question what = question_of(q, w, operation, WEBHOOKS_VALIDATING);
	const struct webhook_question *answer;

	return questions_has_webhooks(&q->questions, &what) ? webhooks_ask(q, w, &what, &answer) : 0;
}

/* ---- rights that an object needs of its writer ---- */

/* Missing rights that the answer names; further ones are counted. */
enum { TOLD_MAX = 8, TOLD_BYTES_MAX = 16384 };

/* The rights that are missing so far. */
struct missing {
	struct buf text;
	size_t n;
};

static void add_missing(struct missing *m, const struct authz_attributes *what, struct str path, struct arena *a)
{
	if (m->n++ < TOLD_MAX) {
		buf_printf(&m->text, "%s" STR_FMT ", which " STR_FMT " needs", m->n > 1 ? "; " : "",
			STR_ARG(authz_sentence(what, a)), STR_ARG(path));
	}
}

/* 0; 1 with the status of a question that got no answer; or ASK_FIRST. */
static int ask_right(struct request *q, const struct need *need, struct missing *m)
{
	const struct authz_attributes what = {
		.user = q->user,
		.verb = need->verb,
		.is_resource = true,
		.group = need->group,
		.version = STR("*"),
		.resource = need->resource,
		.ns = need->ns,
		.name = need->name,
	};
	struct authz_verdict verdict;

	int r = authz_check(q->server->authz, &what, &q->questions, &verdict, q->a, &q->st);
	if (r != 1 || verdict.is_turned_away) {
		return r;
	}
	add_missing(m, &what, need->path, q->a);
	status_init(&q->st, q->a);
	return 0;
}

static int refuse_missing(struct request *q, const struct object *o, const struct missing *m)
{
	struct str more = m->n > TOLD_MAX ? arena_printf(q->a, "; and %zu more", m->n - TOLD_MAX) : STR("");

	status_forbidden(&q->st, request_group(q), q->route.resource, o->meta.name, STR_FMT STR_FMT, STR_ARG(buf_str(&m->text)),
		STR_ARG(more));
	return 1;
}

static int ask_all(struct request *q, const struct object *o, const struct need *needs, size_t n, struct missing *m)
{
	for (size_t i = 0; i < n; i++) {
		int r = ask_right(q, &needs[i], m);
		if (r) {
			return r;
		}
	}
	return m->n > 0 ? refuse_missing(q, o, m) : 0;
}

/* Asks for the rights that a validated version needs of its writer (struct kind's needs); old NULL: a new object. Returns 0;
 * or 1 with q->st: 403 with all that the user may not do, or, standalone, 422 where it names what is not served; or ASK_FIRST. */
static int write_ask_needs(struct request *q, const struct object *o, const struct object *old)
{
	const struct kind *k = o->kind;
	struct missing m = {.n = 0};
	struct field_errors errors;
	struct need *needs;

	if (!k->needs || q->route.sub) {
		return 0;
	}
	needs = arena_array(q->a, struct need, NEEDS_MAX);
	size_t n = k->needs(o, old, needs, q->a);
	assert(n <= NEEDS_MAX);
	/* Behind a kube-apiserver, others serve what is named, perhaps later on. */
	if (q->server->options.is_standalone) {
		field_errors_init(&errors, q->a);
		admission_validate_needs(needs, n, &errors);
		if (errors.n > 0) {
			status_invalid(&q->st, request_group(q), str_of(o->kind->kind), o->meta.name, &errors);
			return 1;
		}
	}
	buf_init(&m.text, TOLD_BYTES_MAX);
	int r = ask_all(q, o, needs, n, &m);
	buf_done(&m.text);
	return r;
}

/* ---- what the server fills in, and what it says ---- */

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
	const char *group = q->route.version->invalid_group;
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
	assert(n <= KIND_WARNINGS_MAX);
	for (size_t i = 0; i < n; i++) {
		request_warn(q, warnings[i]);
	}
	return 0;
}

/* ---- admission's view of the world ---- */

/* A cache's "absent" is not trusted (k8s.io/apiserver's NamespaceLifecycle looks again, too). */
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

	if (namespace_is_archive(name)) {
		return write_is_recorded(w->object) ? NAMESPACE_ACTIVE : NAMESPACE_ABSENT;
	}
	_cleanup_(cached_unrefp) struct cached *ns = k ? cache_get(q->server->options.cache, k, STR(""), name) : NULL;

	/* The same namespace, in the same state, is a guard of the transaction: a creation and a deletion of it cannot both win. */
	w->namespace_guard = k ? PLAN_NAMESPACE_AS_SEEN : PLAN_NAMESPACE_ANY;
	w->namespace_revision = ns ? ns->revision : 0;
	if (!k) {
		return look_up_cluster_namespace(q, name);
	}
	if (!ns) {
		return agreed_version_check_readable(q, k) ? NAMESPACE_UNDECIDED : NAMESPACE_ABSENT;
	}
	return ns->is_deleting ? NAMESPACE_TERMINATING : NAMESPACE_ACTIVE;
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

static void admission_fill(struct admission_attributes *at, struct admission_environment *env, struct request *q,
	struct write *w, enum admission_operation operation)
{
	*env = (struct admission_environment){
		.ctx = q, .namespace_phase = look_up_namespace, .is_owner_deleting = look_up_owner_deleting};
	*at = (struct admission_attributes){
		.operation = operation,
		.kind = q->route.kind,
		.version = q->route.version,
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
			w->object, w->present, q->route.version, q->route.subresource, rules->manager, request_now(q), q->a);
	}
}

static void write_shed_fields(const struct write *w)
{
	if (w->shedding == SHED_MANAGED_FIELDS) {
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

	if (create_check_version(q, o) || definitions_refuse_create(q, o)) {
		return 1;
	}
	write_dedup_owners(q, o, rules->is_patch);
	admission_fill(&at, &env, q, w, ADMIT_CREATE);
	if (admission_mutate(&at, q->a, &q->st)) {
		return 1;
	}
	write_prepare_create(q, w);
	/* No manager owns what the kind and webhooks fill in, so fields are owned before. */
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
	admission_complete(&at, q->a);
	write_fill_salt(q, o);
	if (k->prepare_create) {
		k->prepare_create(o, q->a);
	}
	field_errors_init(&errors, q->a);
	create_validate(o, &errors);
	admission_validate(&at, &errors);
	if (write_pass(q, o, NULL, &errors)) {
		return 1;
	}
	definitions_settle(q, w);
	r = write_ask_needs(q, o, NULL);
	r = r ? r : write_ask_recorded(q, o, NULL);
	return r ? r : write_ask_validating(q, w, ADMIT_CREATE);
}

static void update_prepare(struct request *q, const struct admission_attributes *at)
{
	struct object *o = at->object;
	const struct object *old = at->old;
	const struct kind *k = o->kind;
	bool is_status = q->route.sub && strcmp(q->route.sub->name, "status") == 0;

	meta_prepare_update(o, old, q->a);
	if (!q->route.sub) {
		admission_complete(at, q->a);
	}
	if (k->prepare_update && !q->route.sub) {
		k->prepare_update(o, old, q->a);
	}
	if (k->prepare_status && is_status) {
		k->prepare_status(o, old, q->a);
	}
	if (!is_status && !k->keeps_generation && k->bumps_generation && k->bumps_generation(o, old)) {
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

/* w->object becomes the stored object with those fields of the sent one that the subresource may change. */
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
	update_prepare(q, &at);
	field_errors_init(&errors, q->a);
	update_validate(q, o, w->present, &errors);
	admission_validate(&at, &errors);
	if (write_pass(q, o, w->present, &errors)) {
		return 1;
	}
	definitions_settle(q, w);
	if (definitions_refuse_update(q, w)) {
		return 1;
	}
	r = write_ask_needs(q, o, w->present);
	r = r ? r : write_ask_recorded(q, o, w->present);
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
	int r = write_ask_recorded(q, NULL, w->present);
	r = r ? r : write_ask_mutating(q, w, ADMIT_DELETE);
	return r ? r : write_ask_validating(q, w, ADMIT_DELETE);
}
