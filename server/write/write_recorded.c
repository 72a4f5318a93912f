/* The rules for users who write recorded states, the archive of those whose namespace is deleted, and the salts that hide parts. */
#include "server/write/write_recorded.h"

#include "api/model/history.h"
#include "api/model/members.h"
#include "base/base64.h"
#include "base/keyed_hash.h"
#include "server/request/agreed_version.h"

#include <assert.h>
#include <string.h>

static const struct kind *histories(void)
{
	return kind_by_hub(STR("annals.dev"), STR("histories"));
}

struct authz_attributes recorded_attributes(const struct request *q, struct str history)
{
	const struct kind *k = histories();

	return (struct authz_attributes){
		.user = q->user,
		.verb = str_of(verb_name(VERB_UPDATE)),
		.is_resource = true,
		.group = str_of(k->versions[0].group),
		.version = str_of(k->versions[0].name),
		.resource = str_of(k->resource),
		.subresource = STR("status"),
		.ns = request_ns(q),
		.name = history,
	};
}

/* ---- look-ups ---- */

struct cached *object_of_uid(struct request *q, const struct kind *k, struct str uid)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *all = cache_snapshot(q->server->options.cache, k);
	const struct cache_filter filter = {.ns = k->is_namespaced ? request_ns(q) : STR("")};
	const struct cached *o;
	struct cache_iter it;

	cache_iter_init(&it, all, &filter, STR(""));
	while ((o = cache_iter_next(&it))) {
		if (str_eq(o->uid, uid)) {
			return cached_ref((struct cached *)o);
		}
	}
	return NULL;
}

struct cached *history_of_uid(struct request *q, struct str uid)
{
	return object_of_uid(q, histories(), uid);
}

const struct kind *owner_kind(const struct request *q, const struct owner_reference *owner)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (str_is(owner->kind, k->kind) && kind_version(k, owner->api_version) &&
			version_is_visible(kind_version(k, owner->api_version), q->server->options.is_standalone)) {
			return k;
		}
	}
	return NULL;
}

struct cached *history_in_archive(struct request *q, struct str ns, struct str name,
	bool (*is_wanted)(const struct cached *o, const void *ctx), const void *ctx)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *all = cache_snapshot(q->server->options.cache, histories());
	struct str directory = arena_printf(q->a, STR_FMT ".", STR_ARG(ns)), from = directory;
	const struct cached *o, *found = NULL;
	struct cache_iter it;

	/* Two look-ups for each archive of the namespace: the next archive, and the name in it. */
	for (;;) {
		cache_iter_init(&it, all, &(struct cache_filter){0}, from);
		o = cache_iter_next(&it);
		if (!o || !str_starts(o->ns, directory)) {
			return found ? cached_ref((struct cached *)found) : NULL;
		}
		struct str archive = o->ns;
		cache_iter_init(&it, all, &(struct cache_filter){0},
			arena_printf(q->a, STR_FMT "/" STR_FMT, STR_ARG(archive), STR_ARG(name)));
		o = cache_iter_next(&it);
		bool is_named = o && str_eq(o->ns, archive) && str_eq(o->name, name);
		if (is_named && is_wanted(o, ctx) && (!found || o->revision > found->revision)) {
			found = o;
		}
		from = arena_printf(q->a, STR_FMT "0", STR_ARG(archive)); /* '0' is behind '/' */
	}
}

struct wanted_uid {
	struct arena *arena;
	struct str uid; /* that the History had before it moved */
};

static bool had_uid(const struct cached *o, const void *ctx)
{
	const struct wanted_uid *wanted = ctx;

	return str_eq(o->uid, archive_uid(o->ns, wanted->uid, wanted->arena));
}

/* By its name where it has that name: a walk over all Histories of the namespace costs more. A History moves into the archive
 * before its states do. */
static struct cached *find_history(struct request *q, const struct owner_reference *owner)
{
	bool is_history = history_is_owner(owner->api_version, owner->kind);
	struct str ns = request_ns(q);
	struct cached *named = is_history ? cache_get(q->server->options.cache, histories(), ns, owner->name) : NULL;

	if (named && str_eq(named->uid, owner->uid)) {
		return named;
	}
	cached_unref(named);
	const struct wanted_uid wanted = {q->a, owner->uid};
	struct cached *o = history_of_uid(q, owner->uid);
	return o || !is_history || namespace_is_archive(ns) ? o : history_in_archive(q, ns, owner->name, had_uid, &wanted);
}

/* ---- the namespace ---- */

struct namespace_seen {
	enum namespace_phase phase;
	struct str uid;   /* if it is there */
	int64_t revision; /* standalone */
};

/* A cache's "active" is not trusted: what a namespace controller deletes must not be lost because the cache has not heard of
 * the end. Returns 0; 1 with q->st; or ASK_FIRST. */
static int see_cluster_namespace(struct request *q, struct namespace_seen *ret)
{
	const struct delegates *d = q->server->options.delegates;

	if (!d || !d->ask_namespace || !d->namespace_phase) {
		ret->phase = NAMESPACE_UNKNOWN;
		return 0;
	}
	ret->phase = d->namespace_phase(d->ctx, request_ns(q));
	ret->uid = d->namespace_uid ? d->namespace_uid(d->ctx, request_ns(q), q->a) : STR("");
	if (ret->phase == NAMESPACE_TERMINATING && ret->uid.n) {
		return 0;
	}
	const struct namespace_question *answer = questions_namespace(&q->questions, request_ns(q));
	if (!answer) {
		return ASK_FIRST;
	}
	if (answer->base.failure.n > 0) {
		status_internal(&q->st, STR_FMT, STR_ARG(answer->base.failure));
		return 1;
	}
	ret->phase = answer->phase;
	ret->uid = arena_dup(q->a, str_of(answer->uid));
	return 0;
}

static int see_namespace(struct request *q, struct namespace_seen *ret)
{
	const struct kind *k = q->server->namespaces;

	*ret = (struct namespace_seen){.phase = NAMESPACE_ABSENT};
	if (!k) {
		return see_cluster_namespace(q, ret);
	}
	_cleanup_(cached_unrefp) struct cached *ns = cache_get(q->server->options.cache, k, STR(""), request_ns(q));
	if (!ns) {
		return agreed_version_check_readable(q, k);
	}
	ret->phase = ns->is_deleting ? NAMESPACE_TERMINATING : NAMESPACE_ACTIVE;
	ret->uid = arena_dup(q->a, ns->uid);
	ret->revision = ns->revision;
	return 0;
}

/* ---- the question ---- */

static int ask(struct request *q, const struct object *o, struct str history)
{
	const struct authz_attributes what = recorded_attributes(q, history);
	struct authz_verdict verdict;
	int r = authz_check(q->server->authz, &what, &q->questions, &verdict, q->a, &q->st);

	if (r != 1 || verdict.is_turned_away) {
		return r;
	}
	status_init(&q->st, q->a);
	status_forbidden(&q->st, request_group(q), q->route.resource, o->meta.name,
		STR_FMT ", which a state of the History \"" STR_FMT "\" needs", STR_ARG(authz_sentence(&what, q->a)),
		STR_ARG(history));
	return 1;
}

/* An owner that names one History and has the uid of another needs the right to both. */
static int ask_both(
	struct request *q, const struct object *o, const struct owner_reference *owner, const struct cached *history)
{
	bool is_history = history_is_owner(owner->api_version, owner->kind);
	int r = is_history ? ask(q, o, owner->name) : 0;

	if (r || !history || (is_history && str_eq(history->name, owner->name))) {
		return r;
	}
	return ask(q, o, history->name);
}

static int ask_controller(struct request *q, const struct object *o, const struct owner_reference *owner)
{
	_cleanup_(cached_unrefp) struct cached *history = find_history(q, owner);

	return ask_both(q, o, owner, history);
}

/* Asks about a revision as it is stored, which is free once nobody records in it any more, or if its deletion only moves it. */
static int ask_stored_controller(
	struct request *q, const struct object *old, const struct owner_reference *owner, bool is_deletion)
{
	_cleanup_(cached_unrefp) struct cached *history = NULL;
	struct namespace_seen seen;

	if (!history_is_owner(owner->api_version, owner->kind)) {
		return 0;
	}
	history = find_history(q, owner);
	if (!history) {
		return agreed_version_check_readable(q, histories());
	}
	if (history->is_deleting) {
		return 0;
	}
	if (is_deletion && !namespace_is_archive(request_ns(q))) {
		int r = see_namespace(q, &seen);
		if (r || seen.phase == NAMESPACE_TERMINATING) {
			return r;
		}
	}
	return ask_both(q, old, owner, history);
}

static bool is_same_owner(const struct owner_reference *a, const struct owner_reference *b)
{
	return str_eq(a->uid, b->uid) && str_eq(a->kind, b->kind) && str_eq(a->name, b->name) &&
		str_eq(a->api_version, b->api_version);
}

int write_ask_recorded(struct request *q, const struct object *o, const struct object *old)
{
	struct owner_reference before = {0}, after = {0};

	if (!(o ? o : old)->kind->history) {
		return 0;
	}
	bool was_controlled = old && meta_controller(&old->meta, &before);
	bool is_controlled = o && meta_controller(&o->meta, &after);
	int r = was_controlled ? ask_stored_controller(q, old, &before, !o) : 0;
	if (r || !is_controlled || (was_controlled && is_same_owner(&before, &after))) {
		return r;
	}
	return ask_controller(q, o, &after);
}

/* ---- the archive ---- */

bool write_is_recorded(const struct object *o)
{
	struct owner_reference owner;

	return o && o->kind->history && meta_controller(&o->meta, &owner) && history_is_owner(owner.api_version, owner.kind);
}

/* Where a History moves. Two of one name can come from one namespace, if the first has moved before the second was made: then the
 * second has an archive of its own. */
static struct str archive_for(struct request *q, const struct namespace_seen *seen, struct str name, struct str uid)
{
	struct str archive = archive_of(request_ns(q), seen->uid, q->a);
	_cleanup_(cached_unrefp) struct cached *taken = cache_get(q->server->options.cache, histories(), archive, name);

	return taken && !str_eq(taken->uid, archive_uid(archive, uid, q->a))
		? arena_printf(q->a, STR_FMT "." STR_FMT, STR_ARG(archive), STR_ARG(uid))
		: archive;
}

/* The owner of a state is its History, under the uid that it has in the archive. Other owners stay behind. */
static struct json *archived_owners(struct request *q, const struct object *o, struct str archive)
{
	const struct json *owners = o->meta.owner_references, *one;
	struct owner_reference controller;
	struct json *ret = json_array(q->a);

	if (!o->kind->history || !meta_controller(&o->meta, &controller)) {
		return NULL;
	}
	for (uint32_t i = 0; (one = list_item(owners, i)); i++) {
		if (str_eq(member_text(one, "uid"), controller.uid) && member_is_true(one, "controller")) {
			struct json *copy = json_copy(q->a, one);
			json_set(q->a, copy, STR("uid"), json_string(q->a, archive_uid(archive, controller.uid, q->a)));
			json_append(q->a, ret, copy);
		}
	}
	return ret;
}

/* Finalizers stay behind: whoever they wait for may never hear of the archive. */
static void move(struct request *q, struct write_moved *m, const struct object *from, struct str archive)
{
	struct object *to = object_copy(from, q->a);

	assert(!namespace_is_archive(from->meta.ns) && namespace_is_archive(archive));
	to->meta.ns = archive;
	to->meta.uid = archive_uid(archive, from->meta.uid, q->a);
	to->meta.finalizers = NULL;
	to->meta.owner_references = archived_owners(q, from, archive);
	meta_set_annotation(&to->meta, q->a, ANNOTATION_ARCHIVED_UID, json_string(q->a, from->meta.uid));
	to->mod_revision = 0;
	m->from = from;
	m->to = to;
}

/* A History moves with the first of its states. A garbage collector would take a state that came before. */
static int move_history(struct request *q, struct write *w, const struct cached *history, struct str archive)
{
	struct object *whole;

	if (cached_object(&whole, history, q->a)) {
		status_internal(&q->st, "the stored object " STR_FMT " cannot be read", STR_ARG(history->name));
		return 1;
	}
	move(q, &w->moved_history, whole, archive);
	return 0;
}

static int move_state(struct request *q, struct write *w, const struct namespace_seen *seen)
{
	_cleanup_(cached_unrefp) struct cached *history = NULL, *taken = NULL;
	const struct object *o = w->present;
	struct owner_reference owner;

	meta_controller(&o->meta, &owner);
	history = find_history(q, &owner);
	if (!history) {
		return agreed_version_check_readable(q, histories());
	}
	if (history->is_deleting) {
		return 0;
	}
	bool has_moved = namespace_is_archive(history->ns);
	struct str archive = has_moved ? arena_dup(q->a, history->ns) : archive_for(q, seen, history->name, history->uid);
	/* A state of that name holds the same, since the name is its digest. */
	taken = cache_get(q->server->options.cache, o->kind, archive, o->meta.name);
	if (taken) {
		return 0;
	}
	move(q, &w->moved, o, archive);
	return has_moved ? 0 : move_history(q, w, history, archive);
}

int write_archive(struct request *q, struct write *w)
{
	const struct object *o = w->present;
	bool is_record =
		o->kind == histories() ? member_count(json_gets(o->fields, "status"), "changes") > 0 : write_is_recorded(o);
	struct namespace_seen seen;

	if (!is_record || namespace_is_archive(request_ns(q)) || meta_is_deleting(&o->meta)) {
		return 0;
	}
	int r = see_namespace(q, &seen);
	if (r) {
		return r;
	}
	if (q->server->namespaces) {
		w->namespace_guard = PLAN_NAMESPACE_AS_SEEN;
		w->namespace_revision = seen.revision;
	}
	if (seen.phase != NAMESPACE_TERMINATING) {
		return 0;
	}
	if (o->kind->history) {
		return move_state(q, w, &seen);
	}
	move(q, &w->moved, o, archive_for(q, &seen, o->meta.name, o->meta.uid));
	return 0;
}

/* ---- one revision of each state ---- */

int selectable_index(const struct kind *k, const char *path)
{
	size_t i = 0;

	while (i < k->n_selectable && strcmp(k->selectable[i].path, path) != 0) {
		i++;
	}
	assert(i < k->n_selectable);
	return (int)i;
}

/* Does the decision bring a recorded state into a history in which there must not be another one like it? A Snapshot has
 * looked itself. */
static bool joins_history(const struct request *q, const struct write *w, struct history_place *ret)
{
	const struct object *o = w->object;
	struct history_place before;

	if (w->extend || !history_is_unique(q, w) || !o->kind->is_packed || !o->kind->is_packed(o) ||
		!o->kind->history(o, ret)) {
		return false;
	}
	return !(w->present && o->kind->history(w->present, &before) && str_eq(before.owner, ret->owner));
}

/* Returns 1 with q->st if the revision cannot be read. */
static int read_digest(struct request *q, const struct cached *o, struct str *ret)
{
	struct object *whole;

	if (cached_object(&whole, o, q->a)) {
		status_internal(&q->st, "the stored object " STR_FMT " cannot be read", STR_ARG(o->name));
		return 1;
	}
	*ret = history_digest(whole, q->a);
	return 0;
}

int recorded_check_unique(struct request *q, struct write *w)
{
	struct history_place place;
	struct str digest, other;
	const struct cached *o;
	struct cache_iter it;

	w->history_seen = 0;
	if (!joins_history(q, w, &place)) {
		return 0;
	}
	const struct kind *k = w->object->kind;
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *seen = cache_snapshot(q->server->options.cache, k);
	struct field_term term = {
		.path = STR("controller.uid"), .value = place.owner, .field = selectable_index(k, "controller.uid")};
	struct field_selector selector = {&term, 1};
	const struct cache_filter filter = {.ns = request_ns(q), .fields = &selector};

	if (agreed_version_check_readable(q, k)) {
		return 1;
	}
	digest = history_digest(w->object, q->a);
	cache_iter_init(&it, seen, &filter, STR(""));
	while ((o = cache_iter_next(&it))) {
		if (str_eq(o->name, w->name)) {
			continue;
		}
		if (read_digest(q, o, &other)) {
			return 1;
		}
		if (str_eq(other, digest)) {
			return history_refuse_clash(q, w, &(struct plan_clash){.name = o->name});
		}
	}
	w->history_seen = MAX(cache_snapshot_revision(seen), 1);
	return 0;
}

void recorded_guard(const struct request *q, const struct write *w, struct plan *p)
{
	struct history_place place;
	bool has_place = w->object->kind->history(w->object, &place);

	assert(w->history_seen > 0 && has_place);
	(void)has_place;
	plan_guard_history(p, request_ns(q), place.owner, w->history_seen);
}

/* ---- salts ---- */

enum { SALT_BYTES = 16 };

void write_fill_salt(struct request *q, struct object *o)
{
	const struct server *s = q->server;
	struct json *spec = (struct json *)(uintptr_t)object_spec(o);
	unsigned char hash[SHA256_SIZE];
	char resources[DIGEST_SIZE], *text = arena_array(q->a, char, BASE64_SIZE(SALT_BYTES));

	if (strcmp(o->kind->kind, "Recorder") != 0 || member_text(spec, "salt").n > 0 || !atomic_load(&s->has_salt_key)) {
		return;
	}
	digest_of(resources, json_gets(spec, "resources"), q->a);
	const struct str parts[] = {o->meta.name, str_of(resources)};
	keyed_hash_of_parts((struct str){(const char *)s->salt_key, sizeof(s->salt_key)}, parts, ARRAY_SIZE(parts), hash);
	base64_encode(text, (struct str){(const char *)hash, SALT_BYTES});
	struct json *salt = json_string(q->a, (struct str){text, BASE64_SIZE(SALT_BYTES)});
	const struct type *type = type_field(o->kind->type, STR("spec"))->type;
	object_set_spec(o, schema_with(type, spec, "salt", salt, q->a), q->a);
}
