/* The rules of recording. They compare only a History and one sighting, so every recorder comes
 * to the same decision, even after a crash or a lost election. */
#include "api/diff/sighting.h"

#include "api/model/members.h"
#include "base/clock.h"

#include <assert.h>

enum {
	TEXT_MAX_BYTES = 64 * 1024 * 1024,
	SCRATCH_MAX = 256 << 20, /* bytes: an arena hands out more, and a state was parsed with a ceiling of its own */
};

/* ---- sightings ---- */

void sighting_of(struct sighting *ret, const struct json *object, const struct state_rules *rules, struct arena *a)
{
	const struct json *metadata = json_gets(object, "metadata");

	*ret = (struct sighting){
		.seen_s = clock_wall_s(),
		.uid = member_text(metadata, "uid"),
		.api_version = member_text(object, "apiVersion"),
		.cause = change_cause(object),
		.created = member_text(metadata, "creationTimestamp"),
		.generation = member_int(metadata, "generation"),
		.managed_fields = json_gets(metadata, "managedFields"),
		.state = state_of(object, rules, a),
	};
	str_to_uint64(member_text(metadata, "resourceVersion"), &ret->version);
	digest_of(ret->digest, ret->state, a);
}

void sighting_without_state(struct sighting *ret, const struct json *object, struct arena *a)
{
	const struct json *metadata = json_gets(object, "metadata");

	*ret = (struct sighting){
		.is_released = true,
		.seen_s = clock_wall_s(),
		.uid = member_text(metadata, "uid"),
		.api_version = member_text(object, "apiVersion"),
		.generation = member_int(metadata, "generation"),
	};
	str_to_uint64(member_text(metadata, "resourceVersion"), &ret->version);
	sighting_complete(ret, object, a);
}

void sighting_complete(struct sighting *s, const struct json *object, struct arena *a)
{
	digest_of(s->raw_digest, state_of(object, NULL, a), a);
}

static void add_node(struct json *to, const char *name, const struct json *value, struct arena *a)
{
	if (value) {
		json_add(a, to, str_of(name), (struct json *)value);
	}
}

static void add_version(struct json *to, const char *name, uint64_t version, struct arena *a)
{
	if (version) {
		json_add(a, to, str_of(name), json_string(a, arena_printf(a, "%llu", (unsigned long long)version)));
	}
}

/* ---- as JSON ----
 *
 * One form for what waits in a recorder and for what a recorder sends. */

static const char *found_name(const struct sighting *s)
{
	return s->is_unseen      ? SIGHTING_UNSEEN
		: s->is_gone     ? SIGHTING_ABSENT
		: s->is_released ? SIGHTING_UNSELECTED
				 : SIGHTING_PRESENT;
}

static void add_flag(struct json *to, const char *name, bool flag, struct arena *a)
{
	if (flag) {
		json_add(a, to, str_of(name), json_bool(a, true));
	}
}

static void add_number(struct json *to, const char *name, int64_t number, struct arena *a)
{
	if (number) {
		json_add(a, to, str_of(name), json_int(a, number));
	}
}

void sighting_add_look(struct json *to, const struct sighting *s, struct arena *a)
{
	char time[TIME_RFC3339_SIZE];

	time_format_rfc3339(time, s->seen_s);
	json_add_text(a, to, STR("found"), str_of(found_name(s)));
	json_add_text(a, to, STR("time"), arena_dup(a, str_of(time)));
	add_flag(to, "live", s->is_live, a);
	add_flag(to, "late", s->is_late, a);
	add_flag(to, "afterGap", s->is_after_gap, a);
	add_number(to, "skippedStates", s->n_skipped, a);
	add_version(to, "gapResourceVersion", s->gap_from, a);
	add_version(to, "resourceVersion", s->version, a);
	add_version(to, "settledResourceVersion", s->settled, a);
	add_node(to, "ignore", s->ignore, a);
}

void sighting_add_object(struct json *to, const struct sighting *s, struct arena *a)
{
	add_version(to, "afterResourceVersion", s->after, a);
	json_add_text(a, to, STR("uid"), s->uid);
	json_add_text(a, to, STR("apiVersion"), s->api_version);
	json_add_text(a, to, STR("cause"), s->cause);
	json_add_text(a, to, STR("creationTimestamp"), s->created);
	add_number(to, "generation", s->generation, a);
	json_add_text(a, to, STR("digest"), str_of(s->digest));
	json_add_text(a, to, STR("writeDigest"), str_of(s->raw_digest));
	add_node(to, "managedFields", s->managed_fields, a);
	add_node(to, "data", s->state, a);
}

static void copy_digest(char out[DIGEST_SIZE], struct str digest)
{
	size_t n = MIN(digest.n, (size_t)DIGEST_SIZE - 1);

	if (n) {
		memcpy(out, digest.p, n);
	}
	out[n] = '\0';
}

static void read_object(struct sighting *ret, const struct json *j)
{
	*ret = (struct sighting){
		.uid = member_text(j, "uid"),
		.api_version = member_text(j, "apiVersion"),
		.cause = member_text(j, "cause"),
		.created = member_text(j, "creationTimestamp"),
		.generation = member_int(j, "generation"),
		.managed_fields = json_gets(j, "managedFields"),
		.state = json_gets(j, "data"),
	};
	str_to_uint64(member_text(j, "afterResourceVersion"), &ret->after);
	copy_digest(ret->digest, member_text(j, "digest"));
	copy_digest(ret->raw_digest, member_text(j, "writeDigest"));
}

bool sighting_of_json(struct sighting *ret, const struct json *j)
{
	struct str found = member_text(j, "found");
	int64_t seen_us, n_skipped = member_int(j, "skippedStates");

	read_object(ret, j);
	ret->is_gone = str_is(found, SIGHTING_ABSENT);
	ret->is_released = str_is(found, SIGHTING_UNSELECTED);
	ret->is_unseen = str_is(found, SIGHTING_UNSEEN);
	ret->is_live = member_is_true(j, "live");
	ret->is_late = member_is_true(j, "late");
	ret->is_after_gap = member_is_true(j, "afterGap");
	ret->n_skipped = (uint32_t)MIN(MAX(n_skipped, (int64_t)0), (int64_t)UINT32_MAX);
	ret->ignore = json_gets(j, "ignore");
	str_to_uint64(member_text(j, "gapResourceVersion"), &ret->gap_from);
	str_to_uint64(member_text(j, "resourceVersion"), &ret->version);
	str_to_uint64(member_text(j, "settledResourceVersion"), &ret->settled);
	bool is_time = time_parse_rfc3339(member_text(j, "time"), &seen_us);
	ret->seen_s = is_time ? seen_us / 1000000 : 0;
	return is_time && (ret->is_unseen || ret->is_gone || ret->is_released || str_is(found, SIGHTING_PRESENT));
}

struct str sighting_write(const struct sighting *s, struct buf *out, struct arena *a)
{
	struct json *j = json_object(a);

	sighting_add_object(j, s, a);
	json_encode(out, j);
	return buf_str(out);
}

bool sighting_read(struct sighting *ret, struct str text, struct arena *a)
{
	struct json *j;
	size_t at;

	if (json_parse(&j, a, text, JSON_LIMITS_DEFAULT, &at)) {
		return false;
	}
	read_object(ret, j);
	ret->is_released = ret->state == NULL;
	return ret->uid.n > 0;
}

/* ---- deciding ---- */

static const struct json *status_of(const struct json *history)
{
	return json_gets(history, "status");
}

static bool has_changes(const struct json *history)
{
	return member_count(status_of(history), "changes") > 0;
}

static const struct json *last_change(const struct json *history)
{
	const struct json *changes = json_gets(status_of(history), "changes");

	return changes && changes->n ? list_item(changes, changes->n - 1) : NULL;
}

uint64_t record_last_version(const struct json *history)
{
	uint64_t version = 0;

	str_to_uint64(member_text(last_change(history), "resourceVersion"), &version);
	return version;
}

bool record_was_deleted(const struct json *history, const struct sighting *s)
{
	const struct json *status = status_of(history);

	return member_text(status, "deletionTime").n > 0 && str_eq(member_text(status, "uid"), s->uid);
}

/* A deletion that a list found has no version: the change before it has one. */
static uint64_t newest_version(const struct json *history)
{
	const struct json *changes = json_gets(status_of(history), "changes");
	uint64_t version = 0;

	for (uint32_t i = changes ? changes->n : 0; i > 0 && !version; i--) {
		str_to_uint64(member_text(list_item(changes, i - 1), "resourceVersion"), &version);
	}
	return version;
}

/* Something newer has been written: by another recorder, or by this one, whose watch begins again at an earlier version. Versions
 * of one object only grow, and no deleted object returns, unless a backup was restored; then a LOOK at the object decides. */
static bool is_overtaken(const struct json *history, const struct sighting *s)
{
	return !s->is_live && s->version &&
		(s->version < newest_version(history) || (!s->is_gone && record_was_deleted(history, s)));
}

bool record_is_released(const struct json *history)
{
	return str_is(member_text(last_change(history), "type"), "Released");
}

/* Several changes may name one version, as when the rules of the Recorder changed: the last one counts. */
const struct json *record_listed(const struct json *history, const struct sighting *s)
{
	const struct json *changes = json_gets(status_of(history), "changes"), *change = NULL;
	uint64_t version = 0;

	for (uint32_t i = changes ? changes->n : 0; i > 0 && s->version && version != s->version; i--) {
		change = list_item(changes, i - 1);
		version = 0;
		str_to_uint64(member_text(change, "resourceVersion"), &version);
	}
	if (!s->version || version != s->version) {
		return NULL;
	}
	bool is_same = s->is_gone ? change_is_deletion(change)
		: s->is_released  ? str_is(member_text(change, "type"), "Released")
				  : str_is(member_text(change, "digest"), s->digest);
	return is_same ? change : NULL;
}

static enum record_step decide_released(const struct json *history, const struct sighting *s)
{
	bool is_known =
		!has_changes(history) || member_text(status_of(history), "deletionTime").n > 0 || record_is_released(history);

	return is_known ? RECORD_NOTHING : is_overtaken(history, s) ? RECORD_LOOK : RECORD_RELEASED;
}

/* Was this version recorded before? Then the object is the same, and only the rules of the Recorder make another state of it. */
static bool is_recorded_version(const struct json *history, const struct sighting *s)
{
	return s->version && (s->version == record_last_version(history) || s->version <= s->settled);
}

/* annals 0.1 recorded these two members of metadata in no state. Its changes have no digest. */
static struct json *as_before(const struct json *state, struct arena *a)
{
	struct json *copy = json_copy(a, state), *metadata = json_copy(a, json_gets(state, "metadata"));

	json_remove(metadata, STR("finalizers"));
	json_remove(metadata, STR("generateName"));
	json_set(a, copy, STR("metadata"), metadata);
	return copy;
}

static struct json *with_version(const struct json *state, struct str api_version, struct arena *a)
{
	struct json *copy = json_copy(a, state);

	json_set(a, copy, STR("apiVersion"), json_string(a, api_version));
	return copy;
}

/* Is it the recorded state, but for its API version and what the recorder of that state left out? */
static bool is_in_another_form(const struct json *history, const struct sighting *s)
{
	struct str version = member_text(status_of(history), "apiVersion");
	bool is_old = !member_text(last_change(history), "digest").n;
	char digest[DIGEST_SIZE];

	if (!s->state || !version.n || (!is_old && str_eq(version, s->api_version))) {
		return false;
	}
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SCRATCH_MAX);
	const struct json *state = with_version(s->state, version, &scratch);
	digest_of(digest, is_old ? as_before(state, &scratch) : state, &scratch);
	return str_is(member_text(status_of(history), "digest"), digest);
}

enum record_step record_decide(const struct json *history, const struct sighting *s)
{
	const struct json *status = status_of(history);
	bool is_deleted = member_text(status, "deletionTime").n > 0;

	if (s->is_released) {
		return decide_released(history, s);
	}
	if (!has_changes(history)) {
		return s->is_gone ? RECORD_NOTHING : RECORD_CREATED;
	}
	if (s->is_gone && is_deleted) {
		return RECORD_NOTHING;
	}
	bool is_same_object = !s->is_gone && !is_deleted && str_eq(member_text(status, "uid"), s->uid);
	bool is_released = record_is_released(history);
	if (is_same_object && !is_released && str_is(member_text(status, "digest"), s->digest)) {
		return RECORD_NOTHING;
	}
	if (is_overtaken(history, s)) {
		return RECORD_LOOK;
	}
	if (is_same_object && !is_released && (is_recorded_version(history, s) || is_in_another_form(history, s))) {
		return RECORD_RERECORDED;
	}
	return s->is_gone ? RECORD_DELETED : !is_same_object ? RECORD_CREATED : is_released ? RECORD_ADOPTED : RECORD_CHANGED;
}

bool record_is_expired(const struct json *history, int64_t keep_s, int64_t now_s)
{
	int64_t deleted_us;

	return time_parse_rfc3339(member_text(status_of(history), "deletionTime"), &deleted_us) &&
		deleted_us / 1000000 + keep_s <= now_s;
}

/* Where the History begins with this sighting: had the object a state before? It was not recorded when the gap began, and has been
 * written since, so it was created in the gap or came to be selected. Which of its states since then is the first, nobody saw. */
static bool begins_in_gap(const struct sighting *s)
{
	return s->n_skipped > 0 || (s->gap_from > 0 && s->version > s->gap_from);
}

bool record_skips(const struct json *history, const struct sighting *s)
{
	return s->is_after_gap && (has_changes(history) ? !is_recorded_version(history, s) : begins_in_gap(s));
}

/* Each change of a spec raises metadata.generation by one. Changes of a Deployment's annotations raise it as well, and some
 * of these belong to no state. So a Deployment's generation says nothing of missing states. */
static bool generation_counts_specs(const struct json *history)
{
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");

	return !str_is(member_text(subject, "kind"), "Deployment") || !str_is(member_text(subject, "group"), "apps");
}

uint64_t record_states_skipped(const struct json *history, const struct sighting *s)
{
	int64_t before = generation_counts_specs(history) ? member_int(last_change(history), "generation") : 0;
	bool is_same = str_eq(member_text(status_of(history), "uid"), s->uid);
	int64_t specs = is_same && before && s->generation > before ? s->generation - before - 1 : 0;

	return (uint64_t)MAX(specs, (int64_t)s->n_skipped);
}

/* ---- what is sent ---- */

static void add_text(struct json *to, const char *name, struct str text, struct arena *a)
{
	json_add(a, to, str_of(name), json_string(a, text));
}

static struct json *add_object(struct json *to, const char *name, struct arena *a)
{
	struct json *inner = json_object(a);

	json_add(a, to, str_of(name), inner);
	return inner;
}

static struct json *new_object(const char *kind, struct arena *a)
{
	struct json *j = json_object(a);

	add_text(j, "apiVersion", STR("annals.dev/v1"), a);
	add_text(j, "kind", str_of(kind), a);
	return j;
}

struct json *record_history(const struct history_subject *subject, struct str name, struct str namespace, struct arena *a)
{
	struct json *j = new_object("History", a), *metadata = add_object(j, "metadata", a);
	struct json *about = add_object(add_object(j, "spec", a), "subject", a);

	add_text(metadata, "name", name, a);
	add_text(metadata, "namespace", namespace, a);
	add_text(about, "group", subject->group, a);
	add_text(about, "kind", subject->kind, a);
	json_add_text(a, about, STR("namespace"), subject->namespace);
	add_text(about, "name", subject->name, a);
	return j;
}

static struct json *owner_reference(const struct json *metadata, struct arena *a)
{
	struct json *owner = new_object("History", a);

	add_text(owner, "name", member_text(metadata, "name"), a);
	add_text(owner, "uid", member_text(metadata, "uid"), a);
	json_add(a, owner, STR("controller"), json_bool(a, true));
	json_add(a, owner, STR("blockOwnerDeletion"), json_bool(a, true));
	return owner;
}

static void add_paths(struct json *change, const struct changed_paths *paths, struct arena *a)
{
	size_t n = MIN(paths->n, (size_t)CHANGED_PATHS_MAX);
	struct json *list = json_array(a);

	for (size_t i = 0; i < n; i++) {
		json_append(a, list, json_string(a, paths->v[i]));
	}
	json_add(a, change, STR("paths"), list);
	if (paths->n > n || paths->more) {
		json_add(a, change, STR("morePaths"), json_int(a, (int64_t)(paths->n - n + paths->more)));
	}
}

static void add_managers(struct json *change, const struct change_authors *authors, struct arena *a)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < authors->n; i++) {
		json_append(a, list, json_string(a, authors->names[i]));
	}
	json_add(a, change, STR("managers"), list);
}

/* The time of a change. A watch reports changes at once. A change found late, after a pause of
 * the recorder, has the time of the managers that own the changed fields. A new object has the time
 * of its last write or of its creation. */
static struct str time_of(
	enum record_step step, const struct sighting *s, const struct change_authors *authors, struct arena *a)
{
	char now[TIME_RFC3339_SIZE];

	time_format_rfc3339(now, s->seen_s);
	if (!s->is_late || s->is_gone || step == RECORD_RERECORDED) {
		return arena_dup(a, str_of(now));
	}
	if (authors->time.n && (authors->is_known || step == RECORD_CREATED)) {
		return authors->time;
	}
	return step == RECORD_CREATED && s->created.n ? s->created : arena_dup(a, str_of(now));
}

static void add_who(
	struct json *change, enum record_step step, const struct sighting *s, const struct json *before, struct arena *a)
{
	struct changed_paths *paths = arena_new(a, struct changed_paths);
	struct change_authors authors = {.n = 0};

	if ((step == RECORD_CHANGED || step == RECORD_ADOPTED) && before) {
		/* Nobody changes the API version of an object: the recorder reads it in another one. */
		changed_paths(paths, with_version(before, s->api_version, a), s->state, a);
		add_paths(change, paths, a);
	}
	if (!s->is_gone && s->state && step != RECORD_RERECORDED) {
		change_authors(&authors, s->managed_fields, s->state, paths, a);
		add_managers(change, &authors, a);
	}
	add_text(change, "time", time_of(step, s, &authors, a), a);
}

static void add_gap(struct json *change, const struct json *history, const struct sighting *s, struct arena *a)
{
	const struct json *last = last_change(history);
	uint64_t states = record_states_skipped(history, s);
	struct json *gap;

	json_add(a, change, STR("skipped"), json_bool(a, true));
	gap = add_object(change, "gap", a);
	if (last) {
		json_add_text(a, gap, STR("resourceVersion"), member_text(last, "resourceVersion"));
		json_add_text(a, gap, STR("time"), member_text(last, "time"));
	} else {
		add_version(gap, "resourceVersion", s->gap_from, a);
	}
	if (states) {
		json_add(a, gap, STR("states"), json_int(a, (int64_t)states));
	}
}

static const char *const types[] = {[RECORD_CREATED] = "Created",
	[RECORD_CHANGED] = "Changed",
	[RECORD_DELETED] = "Deleted",
	[RECORD_RELEASED] = "Released",
	[RECORD_ADOPTED] = "Adopted",
	[RECORD_RERECORDED] = "Rerecorded"};

const char *record_type(enum record_step step)
{
	assert(step >= RECORD_CREATED && step <= RECORD_RERECORDED);
	return types[step];
}

bool record_step_of(enum record_step *ret, struct str type)
{
	for (enum record_step i = RECORD_CREATED; i <= RECORD_RERECORDED; i++) {
		if (str_is(type, types[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

bool record_needs_before(const struct json *history, enum record_step step)
{
	return (step == RECORD_CHANGED || step == RECORD_ADOPTED) && record_revision(history).n > 0;
}

struct str record_revision(const struct json *history)
{
	return member_text(json_gets(status_of(history), "revision"), "name");
}

static struct json *change_of(
	const struct json *history, enum record_step step, const struct sighting *s, const struct json *before, struct arena *a)
{
	struct json *change = json_object(a);

	add_text(change, "type", str_of(types[step]), a);
	add_who(change, step, s, before, a);
	add_text(change, "historyResourceVersion", member_text(json_gets(history, "metadata"), "resourceVersion"), a);
	add_version(change, "resourceVersion", s->version, a);
	if (step == RECORD_CHANGED) {
		add_version(change, "afterResourceVersion", s->after, a);
	}
	if (step != RECORD_RERECORDED && record_skips(history, s)) {
		add_gap(change, history, s, a);
	}
	if (!s->is_gone) {
		if (s->generation) {
			json_add(a, change, STR("generation"), json_int(a, s->generation));
		}
		bool is_written = step != RECORD_RERECORDED;
		json_add_text(a, change, STR("cause"), is_written ? s->cause : STR(""));
		add_text(change, "uid", s->uid, a);
		add_text(change, "apiVersion", s->api_version, a);
		json_add_text(a, change, STR("writeDigest"), is_written ? str_of(s->raw_digest) : STR(""));
		add_node(change, "ignore", s->ignore, a);
	}
	return change;
}

static struct json *snapshot_of(const struct json *history, const struct json *keep, struct json **ret_spec, struct arena *a)
{
	const struct json *metadata = json_gets(history, "metadata");
	struct json *j = new_object("Snapshot", a);

	add_text(add_object(j, "metadata", a), "namespace", member_text(metadata, "namespace"), a);
	*ret_spec = add_object(j, "spec", a);
	json_add(a, *ret_spec, STR("owner"), owner_reference(metadata, a));
	add_node(*ret_spec, "keep", keep, a);
	return j;
}

struct json *record_trim(const struct json *history, const struct json *keep, struct arena *a)
{
	struct json *spec;

	assert(keep);
	return snapshot_of(history, keep, &spec, a);
}

struct json *record_snapshot(const struct json *history, enum record_step step, const struct sighting *s,
	const struct json *before, int64_t history_limit, const struct json *keep, struct arena *a)
{
	struct str name = member_text(json_gets(history, "metadata"), "name");
	struct json *spec, *j = snapshot_of(history, keep, &spec, a);

	if (history_name_fits_label(name)) {
		json_add(a, add_object(spec, "labels", a), HISTORY_LABEL, json_string(a, name));
	}
	add_text(spec, "namePrefix", arena_printf(a, STR_FMT "-", STR_ARG(name)), a);
	json_add(a, spec, STR("historyLimit"), json_int(a, history_limit));
	if (!s->is_gone) {
		add_node(spec, "data", s->state, a);
	}
	json_add(a, spec, STR("change"), change_of(history, step, s, before, a));
	return j;
}
