/* All requests of the collector, and what their answers prove (see enum rest_found). A 404 for a
 * whole resource may come from an API service that is briefly away, and must delete nothing. */
#include "controllers/gc/gc_live.h"

#include "controllers/kit/patch.h"

/* Bytes of a patch, which has references or finalizers of one object: etcd takes 1.5 MiB. */
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

/* Returns false if no resource serves the kind. */
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

bool gc_live_is_absent(struct gc_live *l, const struct gc_ref *r, const struct answer *answer)
{
	const struct api_resource *kind;
	struct target t;

	return find_target(l, r, &kind, &t) && answer_is_absent(answer, &t);
}

static enum gc_found get(struct gc_live *l, const struct gc_ref *r, const struct target *t, struct answer *answer)
{
	switch (rest_find_metadata(l->core->client, t, answer)) {
	case REST_ABSENT:
		return GC_ABSENT;
	case REST_UNKNOWN:
		gc_live_complain(l, r, "cannot get", answer);
		return GC_UNKNOWN;
	case REST_FOUND:
		break;
	}
	/* Another object with that name is not the one that was meant. */
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

/* If the kind is no longer served, fails as if the server could not be reached. */
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

	/* Preconditions: since the look the object may have been replaced, or given another
	 * owner. */
	options.uid = r->uid;
	options.resource_version = version;
	options.propagation = propagation;
	return error ? error : rest_delete(l->core->client, &t, &options, answer);
}

/* Sends the strategic patch. Kinds without a schema refuse it with 415, which sets *is_refused. */
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
		answer_done(answer);
		*answer = present;
		answer_init(&present);
		return error;
	}
	meta_patch_unrefer_merge(&text, r->uid, json_gets(present.body, "metadata"), uids, n);
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
	meta_patch_unrefer(&text, r->uid, uids, n);
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
	meta_patch_unblock(&text, meta);
	error = patch_strategic(l, &t, &text, answer, &is_refused);
	if (!is_refused) {
		return error;
	}
	buf_clear(&text);
	meta_patch_unblock_merge(&text, meta);
	return rest_patch(l->core->client, &t, PATCH_MERGE, buf_str(&text), answer);
}

int gc_live_finalize(
	struct gc_live *l, const struct gc_ref *r, const struct json *meta, const char *finalizer, struct answer *answer)
{
	_cleanup_(buf_done) struct buf text;
	struct target t;
	int error = find_or_fail(l, r, &t, answer);

	buf_init(&text, PATCH_MAX);
	if (error || !meta_patch_finalize(&text, meta, finalizer)) {
		return error;
	}
	return rest_patch(l->core->client, &t, PATCH_MERGE, buf_str(&text), answer);
}
