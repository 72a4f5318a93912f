/* The hindrances of a Dependent, and its status; pure. The message names all hindrances of the
 * worst kind at once, so that users do not fix one only to learn of the next. */
#include "controllers/dependents/dependent_plan.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "controllers/kit/meta.h"

/* MESSAGE_MAX: 32 references, each with a name of up to 253 characters, fit well. */
enum { MESSAGE_MAX = 32 * 1024, SCRATCH_MAX = 64 << 20 };

/* ---- may it be used ---- */

enum use provider_use(const struct item *object, bool is_used)
{
	if (!object) {
		return USE_ABSENT;
	}
	if (is_used) {
		return USE_ALLOWED;
	}
	if (item_is_deleting(object)) {
		return USE_TERMINATING;
	}
	return json_meta_has_finalizer(item_meta(object), FINALIZER_PROTECTION.p) ? USE_ALLOWED : USE_UNPROTECTED;
}

/* The status reports the first row that applies. */
static const struct {
	enum use use;
	enum dependent_phase phase;
	const char *reason, *how;
} hindrances[] = {
	{USE_TERMINATING, DEPENDENT_BROKEN, "ProviderTerminating", "is being deleted"},
	{USE_ABSENT, DEPENDENT_PENDING, "ProviderAbsent", "is not there"},
	{USE_UNPROTECTED, DEPENDENT_PENDING, "ProviderUnprotected",
		"can be deleted at any time: it lacks the finalizer annals.dev/provider-protection"},
};

static void list_hindered(struct buf *out, const struct provided *provided, const enum use *uses, size_t n, size_t row)
{
	for (size_t i = 0; i < n; i++) {
		if (uses[i] == hindrances[row].use) {
			buf_printf(out, "%s%s \"" STR_FMT "\" %s", out->n ? "; " : "", provided[i].kind->kind,
				STR_ARG(provided[i].name), hindrances[row].how);
		}
	}
}

struct verdict verdict_of(struct arena *a, const struct provided *provided, const enum use *uses, size_t n)
{
	_cleanup_(buf_done) struct buf message;
	buf_init(&message, MESSAGE_MAX);
	for (size_t row = 0; row < ARRAY_SIZE(hindrances); row++) {
		list_hindered(&message, provided, uses, n, row);
		if (message.n) {
			return (struct verdict){
				hindrances[row].phase, str_of(hindrances[row].reason), arena_dup(a, buf_str(&message))};
		}
	}
	return verdict_implemented();
}

struct verdict verdict_implemented(void)
{
	return (struct verdict){DEPENDENT_IMPLEMENTED, STR("Implemented"), STR("")};
}

struct verdict verdict_pending(struct arena *a, const char *reason, struct str message)
{
	message.n = MIN(message.n, (size_t)MESSAGE_MAX);
	return (struct verdict){DEPENDENT_PENDING, str_of(reason), arena_dup(a, message)};
}

/* ---- patches ---- */

bool dependent_has_finalizer(const struct item *dependent)
{
	return json_meta_has_finalizer(item_meta(dependent), DEPENDENT_FINALIZER);
}

static struct json *patch_of(struct arena *a, const struct item *dependent, struct json **ret_meta)
{
	struct json *patch = json_object(a);
	*ret_meta = json_object(a);
	json_add(a, patch, STR("metadata"), *ret_meta);
	json_add(a, *ret_meta, STR("uid"), json_string(a, dependent->uid));
	json_add(a, *ret_meta, STR("resourceVersion"), json_gets(item_meta(dependent), "resourceVersion"));
	return patch;
}

void dependent_add_finalizer(struct buf *out, const struct item *dependent)
{
	const struct json *old = json_gets(item_meta(dependent), "finalizers");
	struct json *meta, *all, *patch, *finalizer;
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	patch = patch_of(&scratch, dependent, &meta);
	all = json_array(&scratch);
	for (uint32_t i = 0; (finalizer = list_item(old, i)); i++) {
		json_append(&scratch, all, finalizer);
	}
	json_append(&scratch, all, json_string(&scratch, STR(DEPENDENT_FINALIZER)));
	json_add(&scratch, meta, STR("finalizers"), all);
	json_encode(out, patch);
}

static const struct json *status_of(const struct item *dependent)
{
	return json_gets(dependent->object, "status");
}

static const struct json *old_condition(const struct item *dependent, const char *type)
{
	const struct json *list = json_gets(status_of(dependent), "conditions"), *c;
	for (uint32_t i = 0; (c = list_item(list, i)); i++) {
		if (str_is(member_text(c, "type"), type)) {
			return c;
		}
	}
	return NULL;
}

struct condition {
	const char *type;
	bool is_true;
	struct str reason, message;
};

static struct json *time_text(struct arena *a, int64_t s)
{
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, s);
	return json_string(a, arena_dup(a, str_of(text)));
}

static struct json *condition_json(struct arena *a, const struct item *dependent, const struct condition *c, int64_t now_s)
{
	const struct json *old = old_condition(dependent, c->type);
	struct json *j = json_object(a);
	struct str status = c->is_true ? STR("True") : STR("False");
	bool is_old = old && str_eq(member_text(old, "status"), status);
	json_add(a, j, STR("type"), json_string(a, str_of(c->type)));
	json_add(a, j, STR("status"), json_string(a, status));
	json_add(a, j, STR("observedGeneration"), json_int(a, member_int(item_meta(dependent), "generation")));
	json_add(a, j, STR("lastTransitionTime"), is_old ? json_gets(old, "lastTransitionTime") : time_text(a, now_s));
	json_add(a, j, STR("reason"), json_string(a, c->reason));
	json_add(a, j, STR("message"), json_string(a, c->message));
	return j;
}

/* The controller's conditions come first, then those of others. */
static struct json *conditions_json(struct arena *a, const struct item *dependent, const struct verdict *v, int64_t now_s)
{
	const struct json *old = json_gets(status_of(dependent), "conditions");
	bool is_broken = v->phase == DEPENDENT_BROKEN;
	const struct condition ready = {"Ready", v->phase == DEPENDENT_IMPLEMENTED, v->reason, v->message};
	const struct condition broken = {
		"Broken", is_broken, is_broken ? v->reason : STR("NotBroken"), is_broken ? v->message : STR("")};
	struct json *list = json_array(a), *c;
	json_append(a, list, condition_json(a, dependent, &ready, now_s));
	json_append(a, list, condition_json(a, dependent, &broken, now_s));
	for (uint32_t i = 0; (c = list_item(old, i)); i++) {
		if (!str_is(member_text(c, "type"), ready.type) && !str_is(member_text(c, "type"), broken.type)) {
			json_append(a, list, c);
		}
	}
	return list;
}

static struct json *implementation_json(struct arena *a, const struct item *dependent, const char *kind)
{
	struct json *j = json_object(a);
	json_add(a, j, STR("kind"), json_string(a, str_of(kind)));
	json_add(a, j, STR("name"), json_string(a, dependent->name));
	return j;
}

/* An equal status is not written: each write is an event for everyone who watches Dependents. */
static bool is_same(const struct json *old, const struct json *status)
{
	for (uint32_t i = 0; i < status->n; i++) {
		const struct json *was = json_get(old, status->members[i].name), *is = status->members[i].value;
		bool was_absent = !was || was->kind == JSON_NULL;
		if (is->kind == JSON_NULL ? !was_absent : !json_equal(was, is)) {
			return false;
		}
	}
	return true;
}

bool dependent_patch_status(
	struct buf *out, const struct item *dependent, const struct verdict *v, const char *implementation_kind, int64_t now_s)
{
	static const char *const phases[] = {
		[DEPENDENT_PENDING] = "Pending", [DEPENDENT_IMPLEMENTED] = "Implemented", [DEPENDENT_BROKEN] = "Broken"};
	struct json *meta, *patch, *status;
	_cleanup_(arena_done) struct arena scratch;
	struct arena *a = &scratch;
	arena_init(a, SCRATCH_MAX);
	patch = patch_of(a, dependent, &meta);
	status = json_object(a);
	json_add(a, patch, STR("status"), status);
	json_add(a, status, STR("phase"), json_string(a, str_of(phases[v->phase])));
	json_add(a, status, STR("implementation"),
		v->phase == DEPENDENT_IMPLEMENTED ? implementation_json(a, dependent, implementation_kind) : json_null(a));
	json_add(a, status, STR("observedGeneration"), json_int(a, member_int(item_meta(dependent), "generation")));
	json_add(a, status, STR("conditions"), conditions_json(a, dependent, v, now_s));
	return !is_same(status_of(dependent), status) && json_encode(out, patch);
}
