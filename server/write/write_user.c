/* The same digest as the webhook's: of the state as the recorder will see it, through the version at which it
 * watches. A user who only sets a deletionTimestamp has deleted the object; a user who takes the last finalizer
 * off has not. */
#include "server/write/write_user.h"

#include "api/model/members.h"
#include "api/record/state.h"
#include "base/clock.h"

enum { RECORDERS_MAX = 16 }; /* that are looked at; where there are more, each is taken to name the kind */

/* Returns the version at which a Recorder may name the kind; NULL: none. Leases are written every
 * few seconds, and no Recorder may name them. */
static const struct version *recorded_version(const struct kind *k)
{
	bool is_never = k->expires || strcmp(k->kind, "Lease") == 0;

	for (size_t i = 0; i < k->n_versions && !is_never; i++) {
		if (strcmp(k->versions[i].group, "annals.dev") != 0) {
			return &k->versions[i];
		}
	}
	return NULL;
}

static bool names(const struct json *list, struct str name)
{
	const struct json *item;

	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_is(json_text(item), "*") || str_eq(json_text(item), name)) {
			return true;
		}
	}
	return false;
}

static bool recorder_names(const struct cached *recorder, const struct version *v, struct str resource, struct arena *a)
{
	const struct json *rule, *rules;
	struct object *o;

	if (cached_object(&o, recorder, a)) {
		return false;
	}
	rules = json_gets(json_gets(o->fields, "spec"), "resources");
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		if (names(json_gets(rule, "groups"), str_of(v->group)) && names(json_gets(rule, "resources"), resource)) {
			return true;
		}
	}
	return false;
}

static bool is_recorded(struct request *q, const struct version *v)
{
	const struct kind *recorders = q->server->recorders;
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s =
		recorders ? cache_snapshot(q->server->options.cache, recorders) : NULL;
	const struct cache_filter all = {0};
	const struct cached *recorder;
	struct cache_iter it;
	size_t n = 0;

	if (!s || cache_snapshot_count(s, STR("")) == 0) {
		return false;
	}
	cache_iter_init(&it, s, &all, STR(""));
	while ((recorder = cache_iter_next(&it))) {
		if (++n > RECORDERS_MAX || recorder_names(recorder, v, str_of(q->route.kind->resource), q->a)) {
			return true;
		}
	}
	return false;
}

static void digest_state(char out[DIGEST_SIZE], const struct object *o, const struct version *v, struct arena *a)
{
	digest_of(out, state_of(object_to_json(o, v, a), NULL, a), a);
}

static void take_digest(struct request *q, struct write *w, const struct version *v)
{
	const struct object *before = w->present, *after = w->decision == DECIDE_PUT ? w->object : NULL;
	bool was_deleting = before && meta_is_deleting(&before->meta);
	char old[DIGEST_SIZE] = "";

	if (before && !was_deleting && (!after || meta_is_deleting(&after->meta))) {
		user_notes_deletion(w->noted, before->meta.uid, q->a);
		return;
	}
	if (!after) {
		return;
	}
	digest_state(w->noted, after, v, q->a);
	if (before) {
		digest_state(old, before, v, q->a);
	}
	if (strcmp(old, w->noted) == 0) {
		w->noted[0] = '\0';
	}
}

void write_note_user(struct request *q, struct write *w)
{
	const struct version *v = recorded_version(q->route.kind);

	w->noted[0] = '\0';
	if (!q->server->options.is_standalone || q->is_dry_run || !v || w->extend || !is_recorded(q, v)) {
		return;
	}
	take_digest(q, w, v);
	if (w->noted[0] != '\0' && !arena_is_full(q->a)) {
		user_notes_add(q->server->user_notes, str_of(w->noted), q->user->name, clock_mono_ms());
	}
}

void write_forget_user(struct request *q, struct write *w)
{
	if (w->noted[0] != '\0') {
		user_notes_remove(q->server->user_notes, str_of(w->noted), q->user->name);
		w->noted[0] = '\0';
	}
}
