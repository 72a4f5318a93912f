/* The status of a definition, as upstream's naming, establishing and finalizing controllers write
 * it, computed at once. */
#include "api/custom/definition.h"

#include "api/custom/custom.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/schema/crd.h"

#include <assert.h>

const struct kind *definitions_kind(void)
{
	return kind_by_hub(STR(DEFINITIONS_GROUP), STR(DEFINITIONS_RESOURCE));
}

/* ---- versions ---- */

const struct json *definition_version(const struct json *spec, struct str name)
{
	const struct json *versions = json_gets(spec, "versions"), *each;

	for (uint32_t i = 0; (each = list_item(versions, i)); i++) {
		if (str_eq(member_text(each, "name"), name)) {
			return each;
		}
	}
	return NULL;
}

const struct json *definition_stored_version(const struct json *spec)
{
	const struct json *versions = json_gets(spec, "versions"), *each;

	for (uint32_t i = 0; (each = list_item(versions, i)); i++) {
		if (member_is_true(each, "storage")) {
			return each;
		}
	}
	return NULL;
}

/* ---- conditions ---- */

static bool has_condition(const struct object *d, const char *type)
{
	const struct json *c = condition_find(json_gets(object_status(d), "conditions"), type);

	return str_is(member_text(c, "status"), "True");
}

bool definition_is_established(const struct object *d)
{
	return has_condition(d, "Established");
}

bool definition_is_pending(const struct object *d)
{
	return meta_is_deleting(&d->meta) || !has_condition(d, "NamesAccepted") || !definition_is_established(d);
}

struct condition {
	const char *type;
	bool is_true;
	const char *reason;
	struct str message;
};

static struct json *condition_make(const struct condition *c, struct str since, struct arena *a)
{
	struct json *out = json_object(a);

	json_add(a, out, STR("type"), json_string(a, str_of(c->type)));
	json_add(a, out, STR("status"), json_string(a, c->is_true ? STR("True") : STR("False")));
	json_add(a, out, STR("lastTransitionTime"), json_string(a, since));
	json_add(a, out, STR("reason"), json_string(a, str_of(c->reason)));
	json_add(a, out, STR("message"), json_string(a, c->message));
	return out;
}

/* A condition keeps its place, and its time while its status stays. */
static void condition_set(struct json *list, const struct condition *c, struct str now, struct arena *a)
{
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *old = list->items[i];
		if (str_is(member_text(old, "type"), c->type)) {
			bool is_same = str_is(member_text(old, "status"), c->is_true ? "True" : "False");
			list->items[i] = condition_make(c, is_same ? member_text(old, "lastTransitionTime") : now, a);
			return;
		}
	}
	json_append(a, list, condition_make(c, now, a));
}

static struct json *conditions_copy(const struct object *d, struct arena *a)
{
	const struct json *list = json_gets(object_status(d), "conditions");

	return json_is(list, JSON_ARRAY) ? json_copy(a, list) : json_array(a);
}

/* ---- names ---- */

struct naming {
	const struct object *d;
	const struct kinds *defined;
	const struct json *wanted, *accepted;
	struct json *names; /* the new acceptedNames */
	struct arena *arena;
	const char *reason; /* of the last conflict; NULL: none */
	struct str message;
};

static bool is_other(const struct naming *n, const struct kind *k)
{
	return str_is(member_text(object_spec(n->d), "group"), k->versions[0].group) &&
		!(k->life && str_eq(k->life->definition, n->d->meta.name));
}

static bool has_resource(const struct kind *k, struct str name)
{
	bool has = str_is(name, k->resource) || str_is(name, k->singular);

	for (const char *const *s = k->short_names; s && *s && !has; s++) {
		has = str_is(name, *s);
	}
	return has;
}

static bool is_taken(const struct naming *n, struct str name, bool is_kind)
{
	for (size_t i = 0; i < kinds_total(n->defined); i++) {
		const struct kind *k = kinds_nth(n->defined, i);
		if (is_other(n, k) && (is_kind ? str_is(name, k->kind) || str_is(name, k->list_kind) : has_resource(k, name))) {
			return true;
		}
	}
	return false;
}

static bool naming_accepts(struct naming *n, struct str wanted, struct str accepted, bool is_kind, const char *reason)
{
	if (wanted.n == 0 || str_eq(wanted, accepted) || !is_taken(n, wanted, is_kind)) {
		return true;
	}
	n->reason = reason;
	n->message = arena_printf(n->arena, STR_FMT " is already in use", STR_ARG(go_quote(n->arena, wanted)));
	return false;
}

static bool naming_accepts_short(struct naming *n)
{
	const struct json *wanted = json_gets(n->wanted, "shortNames"), *accepted = json_gets(n->accepted, "shortNames");
	bool is_fine = true;

	for (uint32_t i = 0; json_is(wanted, JSON_ARRAY) && i < wanted->n; i++) {
		struct str name = json_text(wanted->items[i]);
		is_fine =
			naming_accepts(n, name, list_has_text(accepted, name) ? name : STR(""), false, "ShortNamesConflict") &&
			is_fine;
	}
	return is_fine;
}

static void naming_take(struct naming *n, const char *name, bool is_fine)
{
	struct json *value = json_gets(is_fine ? n->wanted : n->accepted, name);

	if (value) {
		json_add(n->arena, n->names, str_of(name), value);
	}
}

/* In upstream's order: of several conflicts the last one is shown. */
static void naming_run(struct naming *n)
{
	static const struct {
		const char *name, *reason;
		bool is_kind;
	} rows[] = {{"plural", "PluralConflict", false}, {"singular", "SingularConflict", false}, {"shortNames", NULL, false},
		{"kind", "KindConflict", true}, {"listKind", "ListKindConflict", true}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_fine = rows[i].reason ? naming_accepts(n, member_text(n->wanted, rows[i].name),
							member_text(n->accepted, rows[i].name), rows[i].is_kind, rows[i].reason)
					      : naming_accepts_short(n);
		naming_take(n, rows[i].name, is_fine);
	}
	naming_take(n, "categories", true);
	/* Both are there, empty, where nothing is accepted. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_shown = str_is(str_of(rows[i].name), "plural") || str_is(str_of(rows[i].name), "kind");
		if (is_shown && !json_gets(n->names, rows[i].name)) {
			json_add(n->arena, n->names, str_of(rows[i].name), json_string(n->arena, STR("")));
		}
	}
}

/* ---- other conditions ---- */

/* KubernetesAPIApprovalPolicyConformant and NonStructuralSchema are there where something is to be said. */
static void conditions_of_rules(struct json *conditions, const struct object *d, struct str now, struct arena *a)
{
	static const char *const reasons[] = {[CRD_APPROVAL_INVALID] = "InvalidAnnotation",
		[CRD_APPROVED] = "ApprovedAnnotation",
		[CRD_APPROVAL_BYPASSED] = "UnapprovedAnnotation",
		[CRD_APPROVAL_MISSING] = "MissingAnnotation"};
	struct str message = STR(""), nonstructural = crd_nonstructural(d, a);
	enum crd_approval approval = crd_approval(d, a, &message);

	if (approval != CRD_APPROVAL_NOT_NEEDED) {
		const struct condition c = {.type = "KubernetesAPIApprovalPolicyConformant",
			.is_true = approval == CRD_APPROVED,
			.reason = reasons[approval],
			.message = message};
		condition_set(conditions, &c, now, a);
	}
	if (nonstructural.n > 0) {
		const struct condition c = {
			.type = "NonStructuralSchema", .is_true = true, .reason = "Violations", .message = nonstructural};
		condition_set(conditions, &c, now, a);
	}
}

/* ---- the status ---- */

/* The stored versions stay: crd_prepare_create() and crd_prepare_update() have set them. */
static void status_set_all(struct object *d, struct json *conditions, struct json *names, struct arena *a)
{
	struct json *status = json_object(a), *versions = json_gets(object_status(d), "storedVersions");

	json_add(a, status, STR("conditions"), conditions);
	json_add(a, status, STR("acceptedNames"), names);
	if (versions) {
		json_add(a, status, STR("storedVersions"), versions);
	}
	object_set_status(d, status, a);
}

void definition_settle(struct object *d, const struct kinds *defined, struct str now, struct arena *a)
{
	struct naming n = {.d = d,
		.defined = defined,
		.wanted = json_gets(object_spec(d), "names"),
		.accepted = json_gets(object_status(d), "acceptedNames"),
		.names = json_object(a),
		.arena = a};
	struct json *conditions = conditions_copy(d, a);
	bool was_established = definition_is_established(d);

	naming_run(&n);
	const struct condition names = {.type = "NamesAccepted",
		.is_true = !n.reason,
		.reason = n.reason ? n.reason : "NoConflicts",
		.message = n.reason ? n.message : STR("no conflicts found")};
	bool is_established = was_established || !n.reason;
	const struct condition established = {.type = "Established",
		.is_true = is_established,
		.reason = is_established ? "InitialNamesAccepted" : "NotAccepted",
		.message = is_established ? STR("the initial names have been accepted") : STR("not all names are accepted")};
	condition_set(conditions, &names, now, a);
	condition_set(conditions, &established, now, a);
	conditions_of_rules(conditions, d, now, a);
	status_set_all(d, conditions, n.names, a);
}

void definition_terminate(struct object *d, struct str now, struct arena *a)
{
	static const struct condition terminating = {.type = "Terminating",
		.is_true = true,
		.reason = "InstanceDeletionInProgress",
		.message = {"CustomResource deletion is in progress", sizeof("CustomResource deletion is in progress") - 1}};
	struct json *conditions = conditions_copy(d, a), *status = json_copy(a, object_status(d));

	condition_set(conditions, &terminating, now, a);
	json_set(a, status, STR("conditions"), conditions);
	object_set_status(d, status, a);
}
