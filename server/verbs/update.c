/* PUT and PATCH of an object or a subresource of it. */
#include "server/verbs/verbs.h"

#include "api/patch/managed.h"
#include "api/patch/patch.h"
#include "api/patch/unstructured.h"
#include "api/rules/validate.h"
#include "server/request/agreed_version.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/write/write.h"

#include <assert.h>

struct update {
	struct write write;
	struct write_options options;
	struct write_rules rules;
	struct body body;                /* PUT */
	struct object *sent;             /* what it says of an object that is not there yet */
	enum patch_type patch_type;      /* PATCH */
	struct json *patch;              /* once the object was found */
	struct str repeated;             /* of an apply: media_repeated_keys() */
	const struct object *seen; /* what the client sees of the present object: itself, or the subresource's view of it */
	const struct json *before;       /* what it is applied to */
	struct decode_report patch_strict; /* what is odd in it: said together with what is odd in the result */
};

static const struct view *update_view(const struct request *q)
{
	return q->route.sub ? q->route.sub->view : NULL;
}

static enum decision update_not_found(struct request *q, const struct write *w)
{
	agreed_version_not_found(q, w->name);
	return DECIDE_REFUSE;
}

/* u->seen becomes the present object, in the form of the subresource's view if it has one. */
static void update_see(struct request *q, struct update *u)
{
	const struct view *view = update_view(q);
	struct object *shown;

	u->seen = u->write.present;
	if (u->seen && view) {
		shown = view_show(view, u->seen, q->a);
		shown->meta.managed_fields = managed_of_view(view, u->seen, q->a);
		u->seen = shown;
	}
}

static int update_refuse_modified(struct request *q, const struct write *w)
{
	status_conflict(&q->st, request_group(q), q->route.resource, w->name,
			"the object has been modified; please apply your changes to the latest version and try again");
	return 1;
}

/* A resourceVersion in what was sent is a precondition; absent, "" and "0" are not, as in kube-apiserver. */
static int update_check_version(struct request *q, const struct write *w, const struct object *sent)
{
	struct str text = sent->meta.resource_version;
	uint64_t version = 0;

	if (text.n > 0 && !str_to_uint64(text, &version)) {
		status_bad_request(&q->st, "metadata.resourceVersion: Invalid value: \"" STR_FMT "\": must be an unsigned integer",
				   STR_ARG(text));
		return 1;
	}
	if (version == 0 && !q->route.kind->unconditional_update) {
		struct field_errors errors;
		field_errors_init(&errors, q->a);
		field_invalid(&errors, STR("metadata.resourceVersion"), json_int(q->a, 0), "must be specified for an update");
		status_invalid(&q->st, request_group(q), q->route.resource, w->name, &errors);
		return 1;
	}
	return version != 0 && version != (uint64_t)w->present->mod_revision ? update_refuse_modified(q, w) : 0;
}

/* A uid names the object meant, not merely its name. resource: as the error calls it. */
static int update_check_uid(struct request *q, const struct write *w, const struct object *sent, struct str resource)
{
	struct str present = w->present ? w->present->meta.uid : STR("");

	if (sent->meta.uid.n == 0 || str_eq(sent->meta.uid, present)) {
		return 0;
	}
	return write_refuse_precondition(q, resource, w->name, "UID", sent->meta.uid, present);
}

static bool update_may_remove(const struct object *o)
{
	if (!meta_is_deleting(&o->meta) || o->meta.finalizers || o->meta.grace_period_s > 0) {
		return false;
	}
	return !o->kind->may_remove || o->kind->may_remove(o);
}

/* Decides on the sent object as the new version: the rules, then whether anything changes. */
static enum decision update_settle(struct request *q, struct update *u, struct object *sent)
{
	struct write *w = &u->write;
	assert(w->present && sent->kind == w->present->kind);

	w->object = sent;
	if (write_admit_update(q, w, &u->rules)) {
		return DECIDE_REFUSE;
	}
	w->object->mod_revision = w->present->mod_revision;
	if (update_may_remove(w->object)) {
		return DECIDE_REMOVE;
	}
	return object_equal(w->object, w->present) ? write_keep(q, w) : DECIDE_PUT;
}

static int view_validate(struct request *q, const struct object *sent)
{
	const struct kind *k = sent->kind;
	struct field_errors errors;

	field_errors_init(&errors, q->a);
	validate_meta(k, &sent->meta, &errors);
	k->validate(sent, &errors);
	if (errors.n > 0) {
		status_invalid(&q->st, str_of(k->versions[0].group), str_of(k->kind), q->route.name, &errors);
	}
	return errors.n > 0;
}

/* Decides on a sent view: it is taken into the object, which then passes the rules as any other version does. */
static enum decision view_settle(struct request *q, struct update *u, struct object *sent)
{
	const struct view *view = update_view(q);
	const struct route *r = &q->route;
	struct write *w = &u->write;
	assert(view && w->present && u->seen);

	if (!u->rules.is_applied) {
		managed_update(sent, u->seen, r->body_version, r->subresource, u->rules.manager, request_now(q), q->a);
	}
	struct str resource = arena_printf(q->a, STR_FMT "/" STR_FMT, STR_ARG(r->resource), STR_ARG(r->subresource));
	if (view_validate(q, sent) || update_check_uid(q, w, sent, resource) || update_check_version(q, w, sent)) {
		return DECIDE_REFUSE;
	}
	struct object *o = object_copy(w->present, q->a);
	view->take(view, o, sent, q->a);
	o->meta.managed_fields = managed_from_view(view, w->present, sent->meta.managed_fields, r->version, q->a);
	o->version = r->version;
	return update_settle(q, u, o);
}

static void update_finish(struct request *q, struct write *w)
{
	assert(w->decision != DECIDE_REFUSE);
	bool is_created = !w->present;

	write_reply(q, is_created ? 201 : 200, w);
}

/* A user who may update need not be allowed to create. Asked only for a valid creation, so that other errors come first. */
static int update_authorize_creation(struct request *q)
{
	struct authz_attributes what = request_attributes(q);

	what.verb = str_of(verb_name(VERB_CREATE));
	return authz_check(q->server->authz, &what, &q->questions, NULL, q->a, &q->st);
}

static enum decision update_create(struct request *q, struct update *u, struct object *sent)
{
	assert(!u->write.present && !q->route.sub);
	sent->meta.resource_version = STR("");
	u->write.object = sent;
	if (write_admit_create(q, &u->write, &u->rules) || update_authorize_creation(q)) {
		return DECIDE_REFUSE;
	}
	return DECIDE_PUT;
}

/* ---- PUT ---- */

static int put_read(struct request *q, struct update *u, enum field_validation validation)
{
	write_begin_reading(q);
	return write_read_body(q, &u->body) || write_decode(q, &u->body, validation, NULL, &u->sent) ||
		write_match_namespace(q, u->sent) || write_match_name(q, u->sent);
}

static int put_read_again(struct request *q, struct write *w)
{
	return put_read(q, container_of(w, struct update, write), VALIDATE_IGNORE);
}

/* Decoded once, but for versions that cannot express all that is stored. */
static int put_sent(struct request *q, struct update *u, struct object **ret)
{
	const struct object *present = u->seen;

	if (write_read_again(q, &u->write, put_read_again)) {
		return 1;
	}
	if (present && q->route.body_version->to_hub) {
		return write_decode(q, &u->body, VALIDATE_IGNORE, present, ret) || write_match_namespace(q, *ret);
	}
	*ret = object_copy(u->sent, q->a);
	(*ret)->beyond = present ? present->beyond : NULL;
	return 0;
}

static enum decision put_decide(struct request *q, struct write *w)
{
	struct update *u = container_of(w, struct update, write);
	struct object *sent;

	if (!w->present && (q->route.sub || !q->route.kind->create_on_update)) {
		return update_not_found(q, w);
	}
	update_see(q, u);
	if (put_sent(q, u, &sent) || update_check_uid(q, w, sent, q->route.resource)) {
		return DECIDE_REFUSE;
	}
	if (update_view(q)) {
		return view_settle(q, u, sent);
	}
	if (!w->present) {
		return update_create(q, u, sent);
	}
	return update_check_version(q, w, sent) ? DECIDE_REFUSE : update_settle(q, u, sent);
}

/* A body that is wrong in itself is refused before anything is looked up. */
static int put_parse(struct request *q, struct update *u)
{
	if (write_options_parse(&u->options, &q->route.params, "UpdateOptions", false, q->a, &q->st)) {
		return 1;
	}
	u->rules.manager = request_manager(q, u->options.field_manager);
	u->rules.has_owners = update_view(q) != NULL;
	return put_read(q, u, u->options.field_validation);
}

static void update_run(struct request *q, struct update *u, enum decision (*decide)(struct request *q, struct write *w))
{
	assert(decide && !u->write.decide);
	q->is_dry_run = u->options.dry_run;
	u->write.name = q->route.name;
	u->write.shedding = u->rules.is_applied ? SHED_NOTHING : SHED_IF_TOO_LARGE;
	u->write.decide = decide;
	u->write.finish = update_finish;
	write_run(q, &u->write);
}

void verb_update(struct request *q)
{
	struct update *u = arena_new(q->a, struct update);

	if (put_parse(q, u)) {
		reply_status(q);
		return;
	}
	update_run(q, u, put_decide);
}

/* ---- PATCH ---- */

/* The text that a message quotes: the patch itself if it is strategic, otherwise the patched object. */
static struct str patch_text(struct request *q, const struct update *u, const struct json *patched)
{
	struct buf text;

	if (u->patch_type == PATCH_STRATEGIC) {
		return unstructured_patch_text(u->patch, u->before, q->a);
	}
	buf_init(&text, (size_t)64 << 20);
	json_encode(&text, patched);
	struct str shown = arena_dup(q->a, buf_str(&text));
	buf_done(&text);
	return shown;
}

/* kube's 422 for a patched object that is none: it has neither kind nor name in its text. */
static int patch_refuse_result(struct request *q, const struct update *u, const struct json *patched, struct str reason)
{
	struct field_errors errors;

	field_errors_init(&errors, q->a);
	field_invalid_str(&errors, STR("patch"), patch_text(q, u, patched), STR_FMT, STR_ARG(reason));
	status_invalid(&q->st, STR(""), STR(""), STR(""), &errors);
	return 1;
}

static struct str report_text(struct request *q, const struct decode_report *report)
{
	struct str text = report->strict[0];

	for (size_t i = 1; i < report->n_strict; i++) {
		text = arena_printf(q->a, STR_FMT ", " STR_FMT, STR_ARG(text), STR_ARG(report->strict[i]));
	}
	return arena_printf(q->a, "strict decoding error: " STR_FMT, STR_ARG(text));
}

static const struct decode_report *report_join(const struct decode_report *first, const struct decode_report *second, struct arena *a)
{
	struct decode_report *all = arena_new(a, struct decode_report);

	all->strict = arena_array(a, struct str, first->n_strict + second->n_strict);
	for (size_t i = 0; i < first->n_strict; i++) {
		all->strict[all->n_strict++] = first->strict[i];
	}
	for (size_t i = 0; i < second->n_strict; i++) {
		all->strict[all->n_strict++] = second->strict[i];
	}
	return all;
}

static int patch_report(struct request *q, const struct update *u, const struct json *patched, const struct decode_report *report)
{
	if (report->n_strict == 0 || u->options.field_validation == VALIDATE_IGNORE) {
		return 0;
	}
	if (u->options.field_validation == VALIDATE_STRICT) {
		return patch_refuse_result(q, u, patched, report_text(q, report));
	}
	for (size_t i = 0; i < report->n_strict; i++) {
		request_warn(q, report->strict[i]);
	}
	return 0;
}

/* The body is looked at only when the object is there (api/patch/patch.h). */
static int patch_read(struct request *q, struct write *w)
{
	struct update *u = container_of(w, struct update, write);

	u->patch_strict = (struct decode_report){0};
	return patch_parse(&u->patch, u->patch_type, http_body(q->x), BODY_JSON_LIMITS, q->a, &u->patch_strict, &q->st);
}

/* kube decodes an object without apiVersion into a type that has no other members: they are unknown, and the name is gone with them.
 * Seen on v1.36.3; strategic merge does not come by there. */
static int patch_check_version(struct request *q, const struct update *u, const struct json *patched)
{
	struct decode_report report = {0};
	bool has_version = json_text(json_gets(patched, "apiVersion")).n > 0;

	if (u->patch_type == PATCH_STRATEGIC || has_version || !json_is(patched, JSON_OBJECT)) {
		return 0;
	}
	report.strict = arena_array(q->a, struct str, patched->n);
	for (uint32_t i = 0; i < patched->n; i++) {
		struct str name = patched->members[i].name;
		if (!str_is(name, "kind") && !str_is(name, "apiVersion")) {
			report.strict[report.n_strict++] = arena_printf(q->a, "unknown field \"" STR_FMT "\"", STR_ARG(name));
		}
	}
	if (!patch_report(q, u, patched, &report)) {
		write_refuse_nameless(q);
	}
	return 1;
}

static int patch_make(struct request *q, struct update *u, struct object **ret)
{
	assert(u->seen && u->write.present);
	const struct route *r = &q->route;
	struct decode_report report = {0};
	const struct kind *k = r->body_kind;
	const struct version *v = r->body_version;
	struct json *doc = object_to_json(history_shown(u->seen, v, q->a), v, q->a), *patched;
	struct str reason;

	u->before = doc;
	if (write_read_again(q, &u->write, patch_read) ||
		patch_apply(&patched, u->patch_type, doc, u->patch, version_type(k, v), q->a, &q->st)) {
		return 1;
	}
	if (patch_check_version(q, u, patched)) {
		return 1;
	}
	bool is_strategic = u->patch_type == PATCH_STRATEGIC;
	const struct json *settled = is_strategic ? unstructured_settle(patched, k, v, q->a) : patched;
	if (is_strategic && unstructured_refuses(settled, k, v, q->a, &reason)) {
		return patch_refuse_result(q, u, patched, reason);
	}
	if (object_decode(ret, k, v, settled, u->seen, q->a, &report, &reason)) {
		return patch_refuse_result(q, u, patched, reason);
	}
	if (is_strategic) {
		/* kube keeps the members of what it leads to in Go's maps, and names unknown ones by their texts' order. */
		str_sort(report.strict, report.n_strict);
	}
	return patch_report(q, u, patched, report_join(&u->patch_strict, &report, q->a));
}

static enum decision patch_decide(struct request *q, struct write *w)
{
	struct update *u = container_of(w, struct update, write);
	struct object *sent;

	if (!w->present) {
		return update_not_found(q, w);
	}
	update_see(q, u);
	if (patch_make(q, u, &sent) || write_match_name(q, sent) || write_match_namespace(q, sent)) {
		return DECIDE_REFUSE;
	}
	if (update_view(q)) {
		return view_settle(q, u, sent);
	}
	return update_check_version(q, w, sent) ? DECIDE_REFUSE : update_settle(q, u, sent);
}

/* ---- server-side apply ---- */

static int apply_parse(struct request *q, struct write *w)
{
	struct update *u = container_of(w, struct update, write);
	static const char converting[] = "YAML: error converting YAML to JSON:";
	struct str body = http_body(q->x);

	if (media_parse_body(&u->patch, MEDIA_YAML, body, q->a, &q->st)) {
		status_bad_request(&q->st, "error decoding %s " STR_FMT, converting, STR_ARG(q->st.message));
		return 1;
	}
	u->repeated = media_repeated_keys(MEDIA_YAML, body, q->a);
	if (u->repeated.n > 0 && u->options.field_validation == VALIDATE_STRICT) {
		status_bad_request(&q->st, "error strict decoding %s " STR_FMT, converting, STR_ARG(u->repeated));
		return 1;
	}
	return 0;
}

static int apply_read(struct request *q, struct update *u)
{
	if (write_read_again(q, &u->write, apply_parse)) {
		return 1;
	}
	if (u->options.field_validation == VALIDATE_WARN) {
		write_warn_repeated(q, u->repeated);
	}
	return 0;
}

/* Looked at before name and namespace, as in kube-apiserver: who migrates storage versions sends nothing but the uid, and takes this conflict
 * for what it is, an object that is gone. */
static int apply_check_uid(struct request *q, const struct update *u, const struct object *applied)
{
	if (u->write.present || applied->meta.uid.n == 0) {
		return 0;
	}
	status_conflict(&q->st, request_group(q), q->route.resource, u->write.name,
		"uid mismatch: the provided object specified uid " STR_FMT ", and no existing object was found",
		STR_ARG(applied->meta.uid));
	return 1;
}

static enum decision apply_decide(struct request *q, struct write *w)
{
	struct update *u = container_of(w, struct update, write);
	const struct route *r = &q->route;
	struct object *applied;

	if (!w->present && r->sub) {
		return update_not_found(q, w);
	}
	update_see(q, u);
	const struct managed_apply by = {.kind = r->body_kind,
		.version = r->body_version,
		.subresource = r->subresource,
		.manager = u->rules.manager,
		.now = request_now(q),
		.force = u->options.force};
	if (apply_read(q, u) || managed_apply(&applied, u->seen, u->patch, &by, q->a, &q->st)) {
		return DECIDE_REFUSE;
	}
	if (apply_check_uid(q, u, applied) || write_match_name(q, applied) || write_match_namespace(q, applied)) {
		return DECIDE_REFUSE;
	}
	if (!w->present) {
		return update_create(q, u, applied);
	}
	if (update_view(q)) {
		return view_settle(q, u, applied);
	}
	return update_check_version(q, w, applied) ? DECIDE_REFUSE : update_settle(q, u, applied);
}

/* Returns 0; or 1 with 415 in q->st. Upstream's router refuses for built-in kinds. Kinds of definitions have a handler that words
 * every refusal, and no strategic merge. */
static int patch_read_type(struct request *q, enum patch_type *ret)
{
	int r = media_of_patch(ret, http_header(q->x, "Content-Type"), &q->st);

	if (!q->route.body_kind->life) {
		q->is_routed = q->is_routed && !r;
		return r;
	}
	if (!r && *ret != PATCH_STRATEGIC) {
		return 0;
	}
	status_init(&q->st, q->a);
	status_set(&q->st, 415, REASON_UNSUPPORTED_MEDIA_TYPE,
		"the body of the request was in an unknown format - accepted media types include: "
		"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
	return 1;
}

void verb_patch(struct request *q)
{
	struct update *u = arena_new(q->a, struct update);

	if (patch_read_type(q, &u->patch_type)) {
		reply_status(q);
		return;
	}
	u->rules.is_applied = u->patch_type == PATCH_APPLY;
	u->rules.is_patch = true;
	if (write_options_parse(&u->options, &q->route.params, "PatchOptions", u->rules.is_applied, q->a, &q->st)) {
		reply_status(q);
		return;
	}
	u->rules.manager = request_manager(q, u->options.field_manager);
	u->rules.has_owners = update_view(q) != NULL;
	u->write.held = HELD_WITHOUT_BODY; /* it is read when the object was found */
	request_audit_sent_patch(q, http_body(q->x), u->rules.is_applied);
	update_run(q, u, u->rules.is_applied ? apply_decide : patch_decide);
}
