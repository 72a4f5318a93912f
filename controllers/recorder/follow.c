/* On the client's thread: an object that comes is reduced to digests at once. Only of a state that is to be written more is
 * kept, until that is done. */
#include "controllers/recorder/follow.h"

#include "api/model/members.h"
#include "controllers/kit/meta.h"
#include "controllers/recorder/scribe_plan.h"

enum { SCRATCH_MAX = 256 << 20, TEXT_BYTES_MAX = 64 << 20 };

/* ---- objects ---- */

/* Revisions of Histories, where they are shown among those of others: each would be recorded in one more. */
static bool is_of_history(const struct json *metadata)
{
	const struct json *owner = gc_meta_controller(metadata);

	return str_is(member_text(owner, "kind"), "History") &&
		str_starts(member_text(owner, "apiVersion"), STR("annals.dev/"));
}

/* Items of lists do not say of what kind they are. */
static const struct json *as_kind(struct follow *f, const struct json *object)
{
	if (member_text(object, "kind").n) {
		return object;
	}
	struct json *j = json_copy(&f->scratch, object);
	json_set(&f->scratch, j, STR("apiVersion"), json_string(&f->scratch, f->followed->api_version));
	json_set(&f->scratch, j, STR("kind"), json_string(&f->scratch, f->followed->kind));
	return j;
}

static struct recording *select_recording(struct follow *f, const struct json *object, struct str ns)
{
	bool is_asked = f->core->namespaces && ns.n && recordings_need_namespaces(&f->followed->recordings);
	_cleanup_(item_unrefp) struct item *namespace =
		is_asked ? informer_get(f->core->namespaces, (struct str){NULL, 0}, ns) : NULL;

	if (is_asked && !namespace) {
		atomic_store(&f->has_strangers, true);
	}
	/* A namespace that is there and has no labels is not one that is not known. */
	const struct json *labels = namespace ? json_gets(item_meta(namespace), "labels") : NULL;
	struct json *none = namespace && !labels ? json_object(&f->scratch) : NULL;
	return recordings_select(&f->followed->recordings, object, labels ? labels : none, &f->scratch);
}

static void queue_state(struct follow *f, const struct ledger_key *key, const struct sighting *s, bool is_listed)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, TEXT_BYTES_MAX);
	struct ledger_change *c = ledger_change_new(LEDGER_STATE, s->version, sighting_write(s, &text, &f->scratch));

	c->recording = recording_ref((struct recording *)s->recording);
	c->is_listed = is_listed;
	ledger_queue(f->core->ledger, key, c);
}

static void show(struct follow *f, const struct ledger_key *key, const struct json *found, bool is_listed)
{
	const struct json *object = as_kind(f, found);
	struct recording *recording = select_recording(f, object, key->ns);
	struct sighting s;
	struct ledger_print print;

	if (!recording) {
		ledger_pass_by(f->core->ledger, key, f->list);
		return;
	}
	sighting_of(&s, object, recording, &f->scratch);
	ledger_print_of(&print, s.uid, str_of(s.digest));
	if (ledger_show(f->core->ledger, key, &print, recording->id, f->list)) {
		sighting_complete(&s, object, &f->scratch);
		queue_state(f, key, &s, is_listed);
	}
}

static void on_object(void *ctx, const struct json *object, bool is_gone, bool is_listed)
{
	struct follow *f = ctx;
	const struct json *metadata = json_gets(object, "metadata");
	const struct ledger_key key = {f->kind, member_text(metadata, "namespace"), member_text(metadata, "name")};
	uint64_t version = 0;

	arena_clear(&f->scratch);
	if (is_of_history(metadata)) {
		return;
	}
	if (is_gone) {
		str_to_uint64(member_text(metadata, "resourceVersion"), &version);
		ledger_miss(f->core->ledger, &key, version);
	} else {
		show(f, &key, object, is_listed);
	}
}

static void on_begin(void *ctx)
{
	struct follow *f = ctx;
	f->list = ledger_begin(f->core->ledger);
}

static void on_end(void *ctx)
{
	struct follow *f = ctx;
	ledger_end(f->core->ledger, f->kind, f->list);
}

static void on_synced(void *ctx)
{
	struct follow *f = ctx;
	f->core->wake(f->core);
}

static void on_problem(void *ctx, bool is_over, struct str text)
{
	struct follow *f = ctx;

	ledger_note_problem(f->core->ledger, f->kind, is_over ? STR("") : text);
	if (!is_over) {
		f->core->discover_soon(f->core); /* it may be served no longer, or in another version */
	}
	recorder_notice(f->core, true, STR_FMT, STR_ARG(text));
	for (size_t i = 0; !is_over && i < f->followed->recordings.n; i++) {
		recorder_event(f->core, f->followed->recordings.v[i], true, STR("CannotFollow"), text);
	}
}

static const struct informer_stream stream = {on_begin, on_object, on_end};

/* ---- namespaces ---- */

bool follow_note_namespace(struct follow *f, const struct json *before, const struct json *labels)
{
	const struct recordings *r = &f->followed->recordings;

	if (!recordings_need_namespaces(r)) {
		return false;
	}
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	bool is_stale = before ? recordings_tell_apart(r, before, labels, &scratch) : atomic_load(&f->has_strangers);
	if (is_stale) {
		atomic_store(&f->is_stale, true);
	}
	return is_stale;
}

bool follow_is_stale(const struct follow *f)
{
	return atomic_load(&f->is_stale);
}

bool follow_has_synced(const struct follow *f)
{
	return informer_has_synced(f->informer);
}

/* ---- its life ---- */

static struct followed *followed_new(const struct api_resource *r, struct recordings *recordings)
{
	struct followed *f = mem_new(struct followed);
	const struct resource *from = &r->resource;

	f->refs = 1;
	arena_init(&f->arena, SCRATCH_MAX);
	f->resource = (struct resource){
		arena_dup(&f->arena, from->group), arena_dup(&f->arena, from->version), arena_dup(&f->arena, from->plural)};
	f->kind = arena_dup(&f->arena, r->kind);
	f->api_version = from->group.n
		? arena_printf(&f->arena, STR_FMT "/" STR_FMT, STR_ARG(from->group), STR_ARG(from->version))
		: f->resource.version;
	f->is_namespaced = r->is_namespaced;
	f->recordings = *recordings;
	*recordings = (struct recordings){NULL, 0};
	return f;
}

struct follow *follow_new(struct recorder_core *core, const struct api_resource *resource, struct recordings *recordings)
{
	struct ledger_kind *kind = ledger_kind(core->ledger, resource->resource.group, resource->kind);

	if (!kind) {
		recordings_done(recordings);
		return NULL;
	}
	struct follow *f = mem_new(struct follow);
	f->core = core;
	f->kind = kind;
	f->is_wanted = true;
	list_init(&f->link);
	arena_init(&f->scratch, SCRATCH_MAX);
	f->followed = followed_new(resource, recordings);
	ledger_set_followed(core->ledger, kind, f->followed);
	f->followed = ledger_followed(core->ledger, kind);
	f->informer = informer_new(&(struct informer_options){
		.client = core->env->client,
		.outage = core->env->outage,
		.resource = f->followed->resource,
		.handlers = {.on_synced = on_synced, .on_problem = on_problem},
		.stream = &stream,
		.ctx = f,
	});
	return f;
}

struct follow *follow_free(struct follow *f, bool is_replaced)
{
	if (f) {
		informer_free(f->informer);
		if (!is_replaced) {
			ledger_unfollow(f->core->ledger, f->kind);
		}
		list_remove(&f->link);
		followed_unref(f->followed);
		arena_done(&f->scratch);
		mem_free(f);
	}
	return NULL;
}
