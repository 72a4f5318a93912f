/* The index is changed in the transaction that changes the revision: so it is never behind, and a
 * guard on it is a guard on the history. That a directory must be empty is asked twice, as a guard
 * and as a look of the failure branch. Only the look can say who is there, and the answer names
 * that one. */
#include "server/write/write_history.h"

#include "storage/keys.h"

#define REASON_DUPLICATE "FieldValueDuplicate"

/* ---- what changes ---- */

static bool find_place(const struct object *o, struct history_place *ret)
{
	return o && o->kind->history && o->kind->history(o, ret);
}

static bool is_same_owner(const struct write_history *h)
{
	return h->was_in && h->is_in && str_eq(h->before.owner, h->after.owner);
}

static bool changes_owner(const struct write_history *h)
{
	return (h->was_in || h->is_in) && !is_same_owner(h);
}

static bool changes_number(const struct write_history *h)
{
	return changes_owner(h) || (is_same_owner(h) && h->before.number != h->after.number);
}

static struct str history_of(struct request *q, const struct history_place *place)
{
	return key_history(q->a, q->server->options.prefix, request_ns(q), place->owner);
}

static struct str digest_directory(struct request *q, const struct history_place *place, struct str digest)
{
	return key_history_digest(q->a, history_of(q, place), digest);
}

static struct str number_directory(struct request *q, const struct history_place *place)
{
	return key_history_number(q->a, history_of(q, place), place->number);
}

/* Controllers of upstream number and name their revisions themselves, and find their way out of collisions: their door stays as it is. */
static bool is_unique(const struct request *q, const struct object *o)
{
	return door_is_own(q->route.door, o->kind) && !history_allows_duplicates(o);
}

void history_note(struct request *q, struct write *w)
{
	struct write_history *h = &w->history;

	*h = (struct write_history){0};
	if (w->decision != DECIDE_PUT && w->decision != DECIDE_REMOVE) {
		return;
	}
	h->was_in = find_place(w->present, &h->before);
	h->is_in = w->decision == DECIDE_PUT && find_place(w->object, &h->after);
	if (!changes_number(h)) {
		return;
	}
	h->digest = changes_owner(h) ? history_digest(h->is_in ? w->object : w->present, q->a) : STR("");
	if (!h->is_in || !is_unique(q, w->object)) {
		return;
	}
	if (changes_owner(h)) {
		h->free[h->n_free++] = digest_directory(q, &h->after, h->digest);
	}
	h->free[h->n_free++] = number_directory(q, &h->after);
}

/* ---- the transaction ---- */

static struct storage_step removal(struct request *q, struct str directory, struct str name)
{
	return (struct storage_step){.kind = STEP_DELETE, .key = key_below(q->a, directory, name)};
}

static struct storage_step entry(struct request *q, const struct write *w, struct str directory)
{
	return (struct storage_step){
		.kind = STEP_PUT, .key = key_below(q->a, directory, w->name), .value = w->object->meta.uid};
}

size_t history_guards(struct request *q, struct write *w, struct storage_compare *out)
{
	const struct write_history *h = &w->history;

	for (size_t i = 0; i < h->n_free; i++) {
		out[i] = (struct storage_compare){.target = COMPARE_CREATE,
			.result = COMPARE_EQUAL,
			.key = h->free[i],
			.range_end = storage_prefix_end(q->a, h->free[i])};
	}
	return h->n_free;
}

size_t history_steps(struct request *q, struct write *w, struct storage_step *out)
{
	const struct write_history *h = &w->history;
	size_t n = 0;

	if (h->was_in && changes_owner(h)) {
		out[n++] = removal(q, digest_directory(q, &h->before, h->digest), w->name);
	}
	if (h->was_in && changes_number(h)) {
		out[n++] = removal(q, number_directory(q, &h->before), w->name);
	}
	if (h->is_in && changes_owner(h)) {
		out[n++] = entry(q, w, digest_directory(q, &h->after, h->digest));
	}
	if (h->is_in && changes_number(h)) {
		out[n++] = entry(q, w, number_directory(q, &h->after));
	}
	return n;
}

void history_removals(struct request *q, const struct history_place *place, struct str digest, struct str name,
	struct storage_step out[HISTORY_REMOVALS])
{
	out[0] = removal(q, digest_directory(q, place, digest), name);
	out[1] = removal(q, number_directory(q, place), name);
}

size_t history_looks(struct request *q, struct write *w, struct storage_step *out)
{
	const struct write_history *h = &w->history;

	for (size_t i = 0; i < h->n_free; i++) {
		out[i] = (struct storage_step){.kind = STEP_GET,
			.key = h->free[i],
			.range_end = storage_prefix_end(q->a, h->free[i]),
			.limit = 1,
			.keys_only = true};
	}
	return h->n_free;
}

void history_pack(struct write_history *h, struct arena *a)
{
	for (size_t i = 0; i < h->n_free; i++) {
		h->free[i] = arena_dup(a, h->free[i]);
	}
	h->digest = h->before.owner = h->after.owner = STR("");
}

/* ---- refusing ---- */

/* The number's look is the last one; a state is looked for only where the owner changes. */
static int refuse(struct request *q, const struct write *w, struct str name, bool is_number)
{
	const struct write_history *h = &w->history;
	struct str what = is_number ? arena_printf(q->a, "revision %lld", (long long)h->after.number) : STR("the same data");

	status_conflict(&q->st, request_group(q), q->route.resource, w->name,
		"controllerrevisions \"" STR_FMT "\" of the same controller has " STR_FMT
		"; where both are wanted, the annotation annals.dev/allow-duplicates: \"true\" says so",
		STR_ARG(name), STR_ARG(what));
	status_add_cause(&q->st, REASON_DUPLICATE, is_number ? STR("revision") : STR("data"),
		arena_printf(q->a, "controllerrevisions \"" STR_FMT "\" has " STR_FMT, STR_ARG(name), STR_ARG(what)));
	return 1;
}

int history_refuse(struct request *q, const struct write *w, const struct storage_step *looks)
{
	const struct write_history *h = &w->history;

	for (size_t i = 0; i < h->n_free; i++) {
		if (looks[i].n_kvs > 0) {
			struct str key = looks[i].kvs[0].key, directory = h->free[i];
			struct str name = arena_dup(q->a, (struct str){key.p + directory.n, key.n - directory.n});
			return refuse(q, w, name, i + 1 == h->n_free);
		}
	}
	return 0;
}
