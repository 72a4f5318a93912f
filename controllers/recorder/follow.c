/* Runs on the client's thread. Each object that arrives is reduced to digests at once. Only a
 * state to be written is kept whole, until it is written. */
#include "controllers/recorder/follow.h"

#include "api/diff/sighting.h"
#include "api/model/members.h"
#include "base/sha256.h"
#include "controllers/kit/meta.h"

/* Bytes of one object and its state as trees; an object that needs more has no digest. */
enum { SCRATCH_MAX = 256 << 20, TEXT_BYTES_MAX = 64 << 20 };

/* ---- what the ledger keeps of an object, and by whom it is kept ---- */

static void print_text(unsigned char out[16], struct str text)
{
	unsigned char hash[SHA256_SIZE];

	sha256(text, hash);
	memcpy(out, hash, 16);
}

void ledger_print_of(struct ledger_print *ret, struct str uid, struct str digest)
{
	print_text(ret->uid, uid);
	print_text(ret->digest, digest);
}

struct followed *followed_unref(struct followed *f)
{
	if (f && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1) {
		recordings_done(&f->recordings);
		arena_done(&f->arena);
		mem_free(f);
	}
	return NULL;
}

/* ---- objects ---- */

/* Is the object a revision of a History, shown among revisions of other owners? Recording it
 * would create another one, without end. */
static bool is_of_history(const struct json *metadata)
{
	const struct json *owner = json_meta_controller(metadata);

	return str_is(member_text(owner, "kind"), "History") &&
		str_starts(member_text(owner, "apiVersion"), STR("annals.dev/"));
}

/* Adds the kind: items of lists do not carry it. */
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

/* Noted once per resource: otherwise a Recorder would seem to record objects that another one
 * records by other rules. */
static void note_overridden(struct follow *f, size_t by, size_t which)
{
	const struct recording *first = f->followed->recordings.v[by], *other = f->followed->recordings.v[which];
	struct str message = arena_printf(&f->scratch,
		"Recorder " STR_FMT " records " STR_FMT " that Recorder " STR_FMT
		" selects as well, because its name sorts first",
		STR_ARG(first->name), STR_ARG(f->followed->resource.plural), STR_ARG(other->name));

	atomic_store(&f->overridden_by[which], (uint32_t)by + 1);
	f->n_overridden++;
	recorder_notice(f->core, true, STR_FMT, STR_ARG(message));
	recorder_event(f->core, other, true, STR("Overridden"), message);
	f->core->wake(f->core);
}

static struct recording *select_first(struct follow *f, const struct json *object, const struct json *namespace_labels)
{
	const struct recordings *all = &f->followed->recordings;
	size_t first = 0;
	struct recording *selected = recordings_next(all, object, namespace_labels, &f->scratch, &first);

	for (size_t i = first + 1; selected && i < all->n && f->n_overridden < all->n - 1; i++) {
		if (recordings_next(all, object, namespace_labels, &f->scratch, &i) && !atomic_load(&f->overridden_by[i])) {
			note_overridden(f, first, i);
		}
	}
	return selected;
}

static struct recording *select_recording(struct follow *f, const struct json *object, struct str ns)
{
	bool is_asked = f->core->namespaces && ns.n && recordings_need_namespaces(&f->followed->recordings);
	_cleanup_(item_unrefp) struct item *namespace =
		is_asked ? informer_get(f->core->namespaces, (struct str){NULL, 0}, ns) : NULL;

	f->is_stranger = is_asked && !namespace;
	if (f->is_stranger) {
		atomic_store(&f->has_strangers, true);
	}
	/* A known namespace without labels differs from an unknown namespace. */
	const struct json *labels = namespace ? json_gets(item_meta(namespace), "labels") : NULL;
	struct json *none = namespace && !labels ? json_object(&f->scratch) : NULL;
	return select_first(f, object, labels ? labels : none);
}

/* recording: NULL if no Recorder selects the object. */
static void queue_sighting(
	struct follow *f, const struct ledger_key *key, const struct sighting *s, struct recording *recording, bool is_listed)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, TEXT_BYTES_MAX);
	struct ledger_change *c = ledger_change_new(
		recording ? LEDGER_STATE : LEDGER_RELEASED, s->version, sighting_write(s, &text, &f->scratch));

	c->recording = recording ? recording_ref(recording) : NULL;
	ledger_print_of(&c->print, s->uid, str_of(s->digest));
	c->is_listed = is_listed;
	c->is_after_gap = is_listed && !f->resume_from;
	ledger_queue(f->core->ledger, key, c);
}

static void follow_show(struct follow *f, const struct ledger_key *key, const struct json *found, bool is_listed)
{
	const struct json *object = as_kind(f, found);
	struct recording *recording = select_recording(f, object, key->ns);
	struct sighting s;
	struct ledger_shown shown = {.list = f->list};

	if (!recording) {
		/* If the namespace is not known yet, or no longer, nobody knows whether a Recorder selects the object. */
		if (ledger_pass_by(f->core->ledger, key, f->list) && !f->is_stranger) {
			/* Without a Recorder, no rules say which parts of the state must be hidden: so the change has no state. */
			sighting_without_state(&s, object, &f->scratch);
			queue_sighting(f, key, &s, NULL, is_listed);
		}
		return;
	}
	sighting_of(&s, object, &recording->rules, &f->scratch);
	ledger_print_of(&shown.print, s.uid, str_of(s.digest));
	shown.version = s.version;
	shown.recorder = recording->id;
	/* on_object() lets a list show only what was recorded before, if the watch resumes. */
	shown.is_settled = is_listed && f->resume_from;
	shown.is_replayed = !is_listed && s.version <= f->replayed_to;
	bool is_news = ledger_show(f->core->ledger, key, &shown);
	s.after = ledger_succeed(f->core->ledger, key, s.version, is_listed);
	if (is_news) {
		sighting_complete(&s, object, &f->scratch);
		queue_sighting(f, key, &s, recording, is_listed);
	}
}

static void on_object(void *ctx, const struct json *object, bool is_gone, bool is_listed)
{
	struct follow *f = ctx;
	const struct json *metadata = json_gets(object, "metadata");
	const struct ledger_key key = {f->kind, member_text(metadata, "namespace"), member_text(metadata, "name")};
	uint64_t version = 0;

	arena_clear(&f->scratch);
	str_to_uint64(member_text(metadata, "resourceVersion"), &version);
	/* The list must not show a state before the watch shows it: states in between would be skipped. */
	bool will_come = is_listed && f->resume_from && version > f->resume_from;
	if (is_of_history(metadata) || will_come) {
		return;
	}
	if (is_gone) {
		ledger_miss(f->core->ledger, &key, version);
	} else {
		follow_show(f, &key, object, is_listed);
	}
}

static void on_begin(void *ctx)
{
	struct follow *f = ctx;
	f->list = ledger_begin(f->core->ledger, f->resume_from ? NULL : f->kind);
}

/* The watch shows all that happens after resume_from, deletions included. If the list is older, a backup was restored, and the watch
 * goes on from the list. */
static void on_end(void *ctx, uint64_t version)
{
	struct follow *f = ctx;
	bool is_resumed = f->resume_from && f->resume_from <= version;

	f->resume_from = 0;
	f->replayed_to = is_resumed ? version : 0;
	if (ledger_recorded(f->core->ledger, f->kind, 0) > version) {
		ledger_resume(f->core->ledger, f->kind, 0);
	}
	if (!is_resumed) {
		ledger_end(f->core->ledger, f->kind, f->list);
	}
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
		f->core->discover_soon(f->core); /* the resource may no longer be served, or have another version */
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

uint64_t follow_version(const struct follow *f)
{
	return informer_version(f->informer);
}

const struct recording *follow_overrider(const struct follow *f, const struct recording *r)
{
	const struct recordings *all = &f->followed->recordings;

	for (size_t i = 0; i < all->n; i++) {
		uint32_t by = atomic_load(&f->overridden_by[i]);
		if (by && str_eq(all->v[i]->uid, r->uid)) {
			return all->v[by - 1];
		}
	}
	return NULL;
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

struct follow *follow_new(
	struct recorder_core *core, const struct api_resource *resource, struct recordings *recordings, uint64_t resume_from)
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
	f->resume_from = resume_from;
	list_init(&f->link);
	arena_init(&f->scratch, SCRATCH_MAX);
	f->followed = followed_new(resource, recordings);
	ledger_set_followed(core->ledger, kind, f->followed);
	f->followed = ledger_followed(core->ledger, kind);
	f->overridden_by = mem_array(f->followed->recordings.n, sizeof(*f->overridden_by));
	for (size_t i = 0; i < f->followed->recordings.n; i++) {
		atomic_init(&f->overridden_by[i], 0);
	}
	f->informer = informer_new(&(struct informer_options){
		.client = core->run.env->client,
		.outage = core->run.env->outage,
		.resource = f->followed->resource,
		.handlers = {.on_synced = on_synced, .on_problem = on_problem},
		.stream = &stream,
		.resume_from = resume_from,
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
		mem_free(f->overridden_by);
		arena_done(&f->scratch);
		mem_free(f);
	}
	return NULL;
}
