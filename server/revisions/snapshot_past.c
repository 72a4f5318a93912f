/* Reads the states that a controller has, from the cache, for a Snapshot to decide on. */
#include "server/revisions/snapshot_past.h"

#include "api/diff/keep.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/table.h"
#include "server/write/write.h"
#include "server/write/write_recorded.h"

void snapshot_history_done(struct snapshot_history *h)
{
	cache_snapshot_unref(h->seen);
	*h = (struct snapshot_history){0};
}

/* Objects made through upstream's version do not show it: it is computed of their data. */
static struct str digest_of_hidden(const struct cached *o, struct arena *a)
{
	struct object *whole;

	return cached_object(&whole, o, a) ? STR("") : history_digest(whole, a);
}

/* Has the revision an owner besides its controller, or a finalizer? */
static bool is_held(const struct json *metadata)
{
	const struct json *owners = json_gets(metadata, "ownerReferences"), *finalizers = json_gets(metadata, "finalizers");

	return (owners && owners->n > 1) || (finalizers && finalizers->n > 0);
}

/* Notes a controller that has the uid of the owner, and is another object by kind or name. Versions and groups of a kind may
 * differ, but for a History. */
static void note_other(struct snapshot_history *h, const struct json *metadata, const struct owner_reference *owner)
{
	const struct json *owners = json_gets(metadata, "ownerReferences"), *one;

	for (uint32_t i = 0; (one = list_item(owners, i)); i++) {
		const struct owner_reference found = {.api_version = member_text(one, "apiVersion"),
			.kind = member_text(one, "kind"),
			.name = member_text(one, "name"),
			.uid = member_text(one, "uid")};
		if (!member_is_true(one, "controller") || !str_eq(found.uid, owner->uid)) {
			continue;
		}
		bool is_same = str_eq(found.kind, owner->kind) && str_eq(found.name, owner->name) &&
			history_is_owner(found.api_version, found.kind) == history_is_owner(owner->api_version, owner->kind);
		h->other = is_same ? h->other : found;
	}
}

/* States of earlier versions do not say who made them, and began when their revision was made. */
static void read_change_of(struct snapshot_past *past, const struct json *metadata, struct arena *a)
{
	const struct json *facts = keep_facts_of(metadata, a);
	struct str time = member_text(facts, "time");
	int64_t time_us = 0;

	time_parse_rfc3339(time.n > 0 ? time : member_text(metadata, "creationTimestamp"), &time_us);
	past->time_s = time_us / 1000000;
	past->user = member_text(facts, "user");
}

static struct snapshot_past read_past(struct snapshot_history *h, const struct cached *o, int number_field,
	const struct owner_reference *owner, struct arena *a)
{
	struct snapshot_past past = {
		.name = o->name, .create_revision = o->create_revision, .is_deleting = o->is_deleting, .ctx = o};
	struct json *metadata = NULL;
	size_t at;

	json_parse(&metadata, a, cached_metadata(o, a), BODY_JSON_LIMITS, &at);
	past.digest = json_text(json_get(json_gets(metadata, "annotations"), ANNOTATION_DIGEST));
	past.digest = past.digest.n > 0 ? past.digest : digest_of_hidden(o, a);
	past.is_live = is_held(metadata);
	past.bytes = cached_stored_size(o);
	note_other(h, metadata, owner);
	read_change_of(&past, metadata, a);
	str_to_int64(cached_value(o, (size_t)number_field), &past.number);
	return past;
}

/* Nothing is generated from a recorded state. Elsewhere the server knows pods that it serves itself, or the client names
 * the revisions that are in use. Without such knowledge each revision counts as live. */
static void find_live(struct request *q, struct snapshot_history *h, const struct snapshot_asked *asked)
{
	const struct kind *k = kind_by_hub(STR(""), STR("pods"));
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *pods = cache_snapshot(q->server->options.cache, k);

	bool serves_pods = q->server->options.is_standalone && agreed_version_is_readable(q, k, NULL);
	h->is_blind = !serves_pods && !asked->live && !asked->is_recorded;
	for (size_t i = 0; i < h->n; i++) {
		struct snapshot_past *past = &h->past[i];
		const struct cached *o = past->ctx;
		past->is_live = past->is_live || h->is_blind || list_has_text(asked->live, past->name) ||
			live_is_generated_from(pods, o) || references_exist(q, o->kind, o->name);
	}
}

/* A base counts as a part of the states that continue it, in equal shares. */
static void share_bases(struct snapshot_history *h)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct cached *one = h->past[i].ctx;
		size_t n_users = 0;
		for (size_t k = 0; cached_base(one) && k < h->n; k++) {
			n_users += cached_base(h->past[k].ctx) == cached_base(one);
		}
		h->past[i].bytes += n_users > 0 ? cached_base_size(one) / n_users : 0;
	}
}

int snapshot_history_read(
	struct request *q, struct snapshot_history *h, const struct snapshot_asked *asked, struct arena *scratch)
{
	struct field_term term = {.path = STR("controller.uid"),
		.value = asked->owner->uid,
		.field = selectable_index(asked->revisions, "controller.uid")};
	struct field_selector selector = {&term, 1};
	const struct cache_filter filter = {.ns = request_ns(q), .fields = &selector};
	int number_field = selectable_index(asked->revisions, "revision");
	const struct cached *o;
	struct cache_iter it;

	snapshot_history_done(h);
	h->seen = cache_snapshot(q->server->options.cache, asked->revisions);
	h->revision = cache_snapshot_revision(h->seen);
	if (agreed_version_check_readable(q, asked->revisions)) {
		return 1;
	}
	h->past = arena_array(scratch, struct snapshot_past, HISTORY_LENGTH_MAX);
	cache_iter_init(&it, h->seen, &filter, STR(""));
	while ((o = cache_iter_next(&it))) {
		/* The guard over a history costs etcd something for each key (docs/explanation/storage.md). */
		if (h->n == HISTORY_LENGTH_MAX) {
			status_conflict(&q->st, request_group(q), q->route.resource, STR(""),
				"its controller has more than %d revisions; remove some of them first", HISTORY_LENGTH_MAX);
			return 1;
		}
		h->past[h->n++] = read_past(h, o, number_field, asked->owner, scratch);
	}
	share_bases(h);
	/* Below the limit no revision is trimmed, so nobody asks what needs them. */
	if (h->n > asked->limit) {
		find_live(q, h, asked);
	}
	return 0;
}
