/* All is read from one snapshot of the cache, and its revision is what the transaction guards.
 * Whether something needs a revision is asked only where more are there than may stay. What cannot
 * be read is taken to need it. */
#include "server/verbs/snapshot_history.h"

#include "api/model/members.h"
#include "server/request/agreed_version.h"
#include "server/request/live.h"
#include "server/write/write_references.h"

static int selectable_index(const struct kind *k, const char *path)
{
	for (size_t i = 0; i < k->n_selectable; i++) {
		if (strcmp(k->selectable[i].path, path) == 0) {
			return (int)i;
		}
	}
	return FIELD_TERM_NAME;
}

/* ---- what one is ---- */

/* Objects made through upstream's door do not show it: it is computed of their data. */
static struct str digest_of_hidden(const struct cached *o, struct arena *a)
{
	struct object *whole;

	return cached_object(&whole, o, a) ? STR("") : history_digest(whole, a);
}

/* Something beside its controller owns it, or holds on to it. */
static bool is_held(const struct json *metadata)
{
	const struct json *owners = json_gets(metadata, "ownerReferences"), *finalizers = json_gets(metadata, "finalizers");

	return (owners && owners->n > 1) || (finalizers && finalizers->n > 0);
}

static struct snapshot_past read_past(const struct cached *o, int number_field, struct arena *a)
{
	struct snapshot_past past = {
		.name = o->name, .create_revision = o->create_revision, .is_deleting = o->is_deleting, .ctx = o};
	struct json *metadata = NULL;
	size_t at;

	json_parse(&metadata, a, cached_metadata(o, a), BODY_JSON_LIMITS, &at);
	past.digest = json_text(json_get(json_gets(metadata, "annotations"), ANNOTATION_DIGEST));
	past.digest = past.digest.n > 0 ? past.digest : digest_of_hidden(o, a);
	past.is_live = is_held(metadata);
	str_to_int64(cached_value(o, (size_t)number_field), &past.number);
	return past;
}

/* ---- what needs it ---- */

static void find_live(struct snapshot_history *h, struct request *q)
{
	const struct kind *k = kind_by_hub(STR(""), STR("pods"));
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *pods = cache_snapshot(q->server->options.cache, k);

	bool knows_pods = agreed_version_is_readable(q, k, NULL);
	for (size_t i = 0; i < h->n; i++) {
		struct snapshot_past *past = &h->past[i];
		const struct cached *o = past->ctx;
		past->is_live = past->is_live || !knows_pods || live_is_generated_from(pods, o) ||
			references_exist(q, o->kind, o->name);
	}
}

/* ---- all ---- */

int snapshot_history_read(struct snapshot_history *h, struct request *q, const struct kind *revisions, struct str owner,
	size_t limit, struct arena *a)
{
	struct field_term term = {
		.path = STR("controller.uid"), .value = owner, .field = selectable_index(revisions, "controller.uid")};
	struct field_selector selector = {&term, 1};
	const struct cache_filter filter = {.ns = request_ns(q), .fields = &selector};
	int number_field = selectable_index(revisions, "revision");
	const struct cached *o;
	struct cache_iter it;

	snapshot_history_done(h);
	h->seen = cache_snapshot(q->server->options.cache, revisions);
	h->revision = cache_snapshot_revision(h->seen);
	if (agreed_version_check_readable(q, revisions)) {
		return 1;
	}
	h->past = arena_array(a, struct snapshot_past, HISTORY_LENGTH_MAX);
	cache_iter_init(&it, h->seen, &filter, STR(""));
	while ((o = cache_iter_next(&it))) {
		/* The guard over a history costs etcd something for each key (docs/explanation/storage.md). */
		if (h->n == HISTORY_LENGTH_MAX) {
			status_conflict(&q->st, request_group(q), q->route.resource, STR(""),
				"its controller has more than %d revisions; remove some of them first", HISTORY_LENGTH_MAX);
			return 1;
		}
		h->past[h->n++] = read_past(o, number_field, a);
	}
	/* All may go as far as they are to be counted: then nobody asks what needs them. */
	if (h->n > limit) {
		find_live(h, q);
	}
	return 0;
}

void snapshot_history_done(struct snapshot_history *h)
{
	cache_snapshot_unref(h->seen);
	*h = (struct snapshot_history){0};
}
