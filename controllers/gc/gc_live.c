/* All requests of the collector, and what their answers prove. The trap is the 404: only one
 * that names the object says that it is absent. One for a whole resource may come from an API
 * service that is away for a moment, and must delete nothing. */
#include "controllers/gc/gc_live.h"

#include "controllers/kit/patch.h"

enum { PATCH_MAX = 16 << 20, ARENA_MAX = 256 << 20 };

void gc_live_init(struct gc_live *l, struct gc_core *core)
{
	l->core = core;
	l->types = gc_core_types(core);
	arena_init(&l->arena, ARENA_MAX);
}

void gc_live_done(struct gc_live *l)
{
	arena_done(&l->arena);
	gc_types_unref(l->types);
}

void gc_live_complain(struct gc_live *l, const struct gc_ref *r, const char *what, const struct answer *answer)
{
	if (!client_is_stopped(l->core->client)) {
		gc_core_notice(l->core, true, "%s " GC_REF_FMT ": " STR_FMT, what, GC_REF_ARG(r), STR_ARG(answer->message));
	}
}

/* False: the kind is not served. */
static bool find_target(struct gc_live *l, const struct gc_ref *r, const struct api_resource **ret_kind, struct target *ret)
{
	const struct api_resource *kind = discovery_find_kind(&l->types->found, r->api_version, r->kind);

	if (!kind || r->name.n == 0) { /* without a name it would be the whole collection */
		return false;
	}
	*ret_kind = kind;
	*ret = (struct target){.resource = &kind->resource, .name = r->name};
	if (kind->is_namespaced) {
		ret->namespace = r->ns;
	}
	return true;
}

bool gc_live_is_absent(const struct gc_ref *r, const struct answer *answer)
{
	const struct json *details = json_gets(answer->body, "details");

	return answer_is(answer, 404, "NotFound") && str_eq(json_text(json_gets(details, "name")), r->name);
}

static enum gc_found get(struct gc_live *l, const struct gc_ref *r, const struct target *t, struct answer *answer)
{
	int error = rest_get_metadata(l->core->client, t, answer);

	if (gc_live_is_absent(r, answer)) {
		return GC_ABSENT;
	}
	if (error) {
		gc_live_complain(l, r, "cannot get", answer);
		return GC_UNKNOWN;
	}
	/* Another object of that name is not the one that was meant. */
	return str_eq(json_text(json_gets(json_gets(answer->body, "metadata"), "uid")), r->uid) ? GC_FOUND : GC_ABSENT;
}

enum gc_found gc_live_get(struct gc_live *l, const struct gc_ref *r, struct answer *answer, struct gc_ref *place)
{
	const struct api_resource *kind;
	struct target t;

	if (!find_target(l, r, &kind, &t)) {
		return GC_UNKNOWN;
	}
	if (place) {
		*place = *r;
		place->ns = t.namespace;
	}
	return kind->is_namespaced && r->ns.n == 0 ? GC_IMPOSSIBLE : get(l, r, &t, answer);
}

/* What is to be done to an object of a kind that is no longer served fails as if nothing had been reached. */
static int find_or_fail(struct gc_live *l, const struct gc_ref *r, struct target *ret, struct answer *answer)
{
	const struct api_resource *kind;

	if (find_target(l, r, &kind, ret)) {
		return 0;
	}
	answer->message = STR("nothing serves this kind now");
	return REST_UNREACHABLE;
}

int gc_live_delete(
	struct gc_live *l, const struct gc_ref *r, struct str version, const char *propagation, struct answer *answer)
{
	struct delete_options options = DELETE_OPTIONS_DEFAULT;
	struct target t;
	int error = find_or_fail(l, r, &t, answer);

	/* Preconditions: between look and deletion the object may have been replaced, or given
	 * another owner. */
	options.uid = r->uid;
	options.resource_version = version;
	options.propagation = propagation;
	return error ? error : rest_delete(l->core->client, &t, &options, answer);
}

/* The strategic patch; kinds without a schema refuse it by 415: *is_refused. */
static int patch_strategic(
	struct gc_live *l, const struct target *t, const struct buf *text, struct answer *answer, bool *is_refused)
{
	int error = rest_patch(l->core->client, t, PATCH_STRATEGIC, buf_str(text), answer);

	*is_refused = error == REST_STATUS && answer->code == 415;
	return error;
}

static int unrefer_merge(struct gc_live *l, const struct gc_ref *r, const struct target *t, const struct str *uids, size_t n,
	struct answer *answer)
{
	_cleanup_(answer_done) struct answer present;
	_cleanup_(buf_done) struct buf text;
	int error;

	answer_init(&present);
	buf_init(&text, PATCH_MAX);
	error = rest_get_metadata(l->core->client, t, &present);
	if (error) {
		answer->code = present.code;
		answer->message = arena_dup(&answer->arena, present.message);
		return error;
	}
	gc_patch_unrefer_merge(&text, r->uid, json_gets(present.body, "metadata"), uids, n);
	return rest_patch(l->core->client, t, PATCH_MERGE, buf_str(&text), answer);
}

int gc_live_unrefer(struct gc_live *l, const struct gc_ref *r, const struct str *uids, size_t n, struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;
	struct target t;
	bool is_refused = false;
	int error = find_or_fail(l, r, &t, answer);

	buf_init(&text, PATCH_MAX);
	if (error) {
		return error;
	}
	gc_patch_unrefer(&text, r->uid, uids, n);
	error = patch_strategic(l, &t, &text, answer, &is_refused);
	return is_refused ? unrefer_merge(l, r, &t, uids, n, answer) : error;
}

int gc_live_unblock(struct gc_live *l, const struct gc_ref *r, const struct json *meta, struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;
	struct target t;
	bool is_refused = false;
	int error = find_or_fail(l, r, &t, answer);

	buf_init(&text, PATCH_MAX);
	if (error) {
		return error;
	}
	gc_patch_unblock(&text, meta);
	error = patch_strategic(l, &t, &text, answer, &is_refused);
	if (!is_refused) {
		return error;
	}
	buf_clear(&text);
	gc_patch_unblock_merge(&text, meta);
	return rest_patch(l->core->client, &t, PATCH_MERGE, buf_str(&text), answer);
}

int gc_live_finalize(
	struct gc_live *l, const struct gc_ref *r, const struct json *meta, const char *finalizer, struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;
	struct target t;
	int error = find_or_fail(l, r, &t, answer);

	buf_init(&text, PATCH_MAX);
	if (error || !gc_patch_finalize(&text, meta, finalizer)) {
		return error;
	}
	return rest_patch(l->core->client, &t, PATCH_MERGE, buf_str(&text), answer);
}
