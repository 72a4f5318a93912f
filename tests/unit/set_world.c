/* Objects are what a server would store: with uids, versions and, for a pod, a phase. Each write replaces one by a changed copy, so that what a pass has
 * read does not change under it. */
#include "tests/unit/set_world.h"

#include "api/model/members.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 1 << 20 };

void set_world_init(struct set_world *w, const struct carrier *c)
{
	*w = (struct set_world){
		.carrier = c,
		.replicas = 3,
		.limit = 10,
		.partition = -1,
		.generation = 1,
		.template_generation = 1,
		.follows_seed = true,
		.is_apps = true,
		.image = "a",
		.now_s = 1000,
	};
	arena_init(&w->arena, (size_t)1 << 30);
	buf_init(&w->trace, ROOM);
	buf_init(&w->events, ROOM);
	buf_init(&w->problems, ROOM);
}

void set_world_done(struct set_world *w)
{
	buf_done(&w->problems);
	buf_done(&w->events);
	buf_done(&w->trace);
	arena_done(&w->arena);
}

void set_image(struct set_world *w, const char *image)
{
	bool is_other = strcmp(w->image, image) != 0;

	w->image = image;
	w->generation += is_other;
	w->template_generation += is_other;
}

void set_replicas(struct set_world *w, int64_t replicas)
{
	w->replicas = replicas;
	w->generation++;
}

void set_partition(struct set_world *w, int64_t partition)
{
	w->partition = partition;
	w->generation++;
}

/* ---- the set, in both its forms ---- */

static void write_claim_templates(struct set_world *w, struct buf *b)
{
	buf_adds(b, "[");
	for (size_t i = 0; i < w->n_claim_templates; i++) {
		buf_printf(b,
			"%s{\"metadata\":{\"name\":\"%s\",\"labels\":{\"of\":\"template\"}},"
			"\"spec\":{\"accessModes\":[\"ReadWriteOnce\"]}}",
			i ? "," : "", i ? "log" : "www");
	}
	buf_adds(b, "]");
}

static void write_metadata(struct set_world *w, struct buf *b)
{
	buf_printf(b, "\"metadata\":{\"name\":\"web\",\"namespace\":\"ns\",\"uid\":\"uid-of-web\",\"generation\":%lld",
		(long long)w->generation);
	buf_adds(b, w->follows_seed ? ",\"annotations\":{\"" SET_REPLACES_BROKEN "\":\"true\"}" : "");
	buf_adds(b, w->is_deleting ? ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}" : "}");
}

static void write_common_spec(struct set_world *w, struct buf *b)
{
	buf_printf(b,
		"\"replicas\":%lld,\"revisionHistoryLimit\":%lld,\"serviceName\":\"svc\",\"selector\":{\"matchLabels\":{"
		"\"app\":\"web\"}},"
		"\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		"\"%s\"}]}},"
		"\"volumeClaimTemplates\":",
		(long long)w->replicas, (long long)w->limit, w->image);
	write_claim_templates(w, b);
}

static void write_strategy(struct set_world *w, struct buf *b)
{
	if (w->is_on_delete) {
		buf_adds(b, "{\"type\":\"OnDelete\"}");
		return;
	}
	buf_adds(b, "{\"type\":\"RollingUpdate\"");
	if (w->partition >= 0) {
		buf_printf(b, ",\"rollingUpdate\":{\"partition\":%lld", (long long)w->partition);
		if (w->max_unavailable) {
			buf_printf(b, ",\"maxUnavailable\":%lld", (long long)w->max_unavailable);
		}
		buf_adds(b, "}");
	}
	buf_adds(b, "}");
}

static const struct json *parsed_buf(struct set_world *w, struct buf *b)
{
	const struct json *object = parsed(&w->arena, arena_printf(&w->arena, STR_FMT "%c", STR_ARG(buf_str(b)), '\0').p);
	buf_done(b);
	return object;
}

static const struct json *apps_form(struct set_world *w)
{
	struct buf b;

	buf_init(&b, ROOM);
	buf_adds(&b, "{");
	write_metadata(w, &b);
	buf_adds(&b, ",\"spec\":{");
	write_common_spec(w, &b);
	buf_printf(&b,
		",\"podManagementPolicy\":\"%s\",\"minReadySeconds\":%lld,\"ordinals\":{\"start\":%lld},\"updateStrategy\":",
		w->is_parallel ? "Parallel" : "OrderedReady", (long long)w->min_ready_s, (long long)w->start);
	write_strategy(w, &b);
	buf_printf(&b, ",\"persistentVolumeClaimRetentionPolicy\":{\"whenDeleted\":\"%s\",\"whenScaled\":\"%s\"}}}",
		w->deletes_with_set ? "Delete" : "Retain", w->deletes_when_scaled ? "Delete" : "Retain");
	return parsed_buf(w, &b);
}

static void write_number(struct buf *b, const char *name, int64_t n)
{
	if (n) {
		buf_printf(b, ",\"%s\":%lld", name, (long long)n);
	}
}

/* The version shows no updated pods where the update is complete. */
static void write_status(const struct set_status *st, struct buf *b)
{
	bool is_complete = st->current_generation == st->update_generation && str_eq(st->current_revision, st->update_revision);

	buf_printf(b, "{\"replicas\":%lld", (long long)st->replicas);
	write_number(b, "observedGeneration", st->observed_generation);
	write_number(b, "collisionCount", st->collisions);
	write_number(b, "readyReplicas", st->ready);
	write_number(b, "availableReplicas", st->available);
	write_number(b, "currentReplicas", MAX(st->current, 0));
	write_number(b, "updatedReplicas", is_complete ? 0 : st->updated);
	write_number(b, "templateGeneration", st->current_generation);
	write_number(b, "targetTemplateGeneration", st->update_generation);
	if (st->current_revision.n) {
		buf_printf(b, ",\"currentRevision\":\"" STR_FMT "\"", STR_ARG(st->current_revision));
	}
	if (st->update_revision.n) {
		buf_printf(b, ",\"updateRevision\":\"" STR_FMT "\"", STR_ARG(st->update_revision));
	}
	buf_adds(b, "}");
}

static const struct json *beta_form(struct set_world *w)
{
	struct buf b;

	buf_init(&b, ROOM);
	buf_adds(&b, "{");
	write_metadata(w, &b);
	buf_adds(&b, ",\"spec\":{");
	write_common_spec(w, &b);
	write_number(&b, "templateGeneration", w->template_generation);
	if (w->partition >= 0) {
		buf_printf(&b, ",\"generationPartition\":%lld", (long long)w->partition);
	}
	buf_adds(&b, "},\"status\":");
	write_status(&w->status, &b);
	buf_adds(&b, "}");
	return parsed_buf(w, &b);
}

void set_as_read(struct set_world *w, struct set *ret)
{
	struct str problem;
	assert_true(set_read(ret, w->is_apps ? apps_form(w) : NULL, beta_form(w), &w->arena, &problem));
}

/* ---- objects ---- */

static struct str name_of(const struct json *object)
{
	return member_text(json_gets(object, "metadata"), "name");
}

static size_t index_of(const struct json *const *objects, size_t n, struct str name)
{
	size_t i = 0;

	while (i < n && !str_eq(name_of(objects[i]), name)) {
		i++;
	}
	return i;
}

static const struct json *stored(struct set_world *w, const struct json *object)
{
	struct arena *a = &w->arena;
	struct json *changed = with_meta(a, object, "uid", json_string(a, arena_printf(a, "uid-%lld", (long long)++w->n_made)));

	changed = with_meta(a, changed, "resourceVersion", json_string(a, arena_printf(a, "%lld", (long long)w->n_made)));
	return parsed(a, arena_printf(a, STR_FMT "%c", STR_ARG(encoded(a, changed)), '\0').p);
}

static void take_out(const struct json **objects, size_t *n, size_t i)
{
	assert_true(i < *n);
	memmove(&objects[i], &objects[i + 1], (--*n - i) * sizeof(*objects));
}

static bool is_going(const struct json *object)
{
	return json_gets(json_gets(object, "metadata"), "deletionTimestamp");
}

static bool is_ready(const struct json *pod)
{
	const struct json *status = json_gets(pod, "status");
	return str_is(member_text(list_item(json_gets(status, "conditions"), 0), "status"), "True");
}

/* As kubelets write it: startTime and the first condition Ready have one time, and a change of the condition has a later one. */
static const struct json *with_status(struct set_world *w, const struct json *pod, const char *phase, bool ready)
{
	struct arena *a = &w->arena;
	struct json *changed = json_copy(a, pod);
	const struct json *old = json_gets(pod, "status");
	struct str started = member_text(old, "startTime");
	struct tm tm;
	time_t now = w->now_s;
	char since[32];

	bool has_turned = started.n > 0 && is_ready(pod) != ready;
	strftime(since, sizeof(since), has_turned ? "%Y-%m-%dT%H:%M:%S.5Z" : "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	started = started.n > 0 ? started : str_of(since);
	struct str text = arena_printf(a,
		"{\"phase\":\"%s\",\"startTime\":\"" STR_FMT "\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
		"\"lastTransitionTime\":\"%s\"}]}%c",
		phase, STR_ARG(started), ready ? "True" : "False", since, '\0');
	json_set(a, changed, STR("status"), parsed(a, text.p));
	return changed;
}

size_t set_pod_at(const struct set_world *w, int64_t ordinal)
{
	char name[64];
	snprintf(name, sizeof(name), "web-%lld", (long long)ordinal);
	return index_of(w->pods, w->n_pods, str_of(name));
}

void set_pod_status(struct set_world *w, int64_t ordinal, const char *phase, bool ready)
{
	size_t i = set_pod_at(w, ordinal);
	assert_true(i < w->n_pods);
	w->pods[i] = with_status(w, w->pods[i], phase, ready);
}

void set_pod_start(struct set_world *w, int64_t ordinal)
{
	size_t i = set_pod_at(w, ordinal);
	assert_true(i < w->n_pods);
	struct json *pod = json_copy(&w->arena, w->pods[i]);
	json_remove(pod, STR("status"));
	w->pods[i] = with_status(w, pod, "Running", false);
}

void set_pod_label(struct set_world *w, int64_t ordinal, const char *name, const char *value)
{
	size_t i = set_pod_at(w, ordinal);
	assert_true(i < w->n_pods);
	w->pods[i] = with_label(&w->arena, w->pods[i], name, value ? json_string(&w->arena, str_of(value)) : NULL);
}

static void let_go(struct set_world *w, size_t i)
{
	assert_true(i < w->n_pods);
	w->pods[i] = with_meta(&w->arena, w->pods[i], "deletionTimestamp", json_string(&w->arena, STR("2026-01-01T00:00:00Z")));
}

void set_pod_delete(struct set_world *w, int64_t ordinal)
{
	let_go(w, set_pod_at(w, ordinal));
}

const struct json *set_claim(const struct set_world *w, const char *name)
{
	size_t i = index_of(w->claims, w->n_claims, str_of(name));
	return i < w->n_claims ? w->claims[i] : NULL;
}

/* ---- what a pass asks for ---- */

/* True: it is to be carried out. Its result is what *ret says. */
static bool arrives(struct set_world *w, enum io_result *ret, struct str *problem)
{
	bool is_hit = ++w->n_calls == w->fault_at;

	*ret = IO_DONE;
	w->is_dead = w->is_dead || (is_hit && w->fault == FAULT_DEATH);
	if (w->is_dead || (is_hit && w->fault != FAULT_NONE)) {
		*problem = STR("no");
		*ret = w->fault == FAULT_CONFLICT ? IO_CONFLICT : IO_FAILED;
	}
	return !w->is_dead && !(is_hit && (w->fault == FAULT_REFUSED || w->fault == FAULT_CONFLICT));
}

static void tell(struct set_world *w, const char *what, struct str name, enum io_result result)
{
	if (!w->is_dead) {
		buf_printf(&w->trace, "%s%s" STR_FMT "%s", w->trace.n ? " " : "", what, STR_ARG(name),
			result == IO_DONE ? "" : "?");
	}
}

static enum io_result create_revision(void *ctx, const struct json *object, const struct json **ret, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	*ret = NULL;
	if (arrives(w, &result, problem)) {
		size_t at = index_of(w->revisions, w->n_revisions, name_of(object));
		if (at < w->n_revisions) {
			*ret = w->revisions[at];
			*problem = STR("it exists");
			result = IO_EXISTS;
		} else {
			assert_true(w->n_revisions < SET_REVISIONS);
			w->revisions[w->n_revisions++] = stored(w, object);
		}
	}
	tell(w, "+revision", STR(""), result);
	return result;
}

static enum io_result renumber_revision(void *ctx, const struct revision *r, int64_t number, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		size_t i = index_of(w->revisions, w->n_revisions, r->name);
		assert_true(i < w->n_revisions);
		struct json *changed = json_copy(&w->arena, w->revisions[i]);
		json_set(&w->arena, changed, STR("revision"), json_int(&w->arena, number));
		w->revisions[i] = changed;
	}
	tell(w, "#revision", STR(""), result);
	return result;
}

static enum io_result delete_revision(void *ctx, const struct revision *r, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		take_out(w->revisions, &w->n_revisions, index_of(w->revisions, w->n_revisions, r->name));
	}
	tell(w, "-revision", STR(""), result);
	return result;
}

static enum io_result create_pod(void *ctx, const struct json *pod, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		if (index_of(w->pods, w->n_pods, name_of(pod)) < w->n_pods) {
			*problem = STR("it exists");
			result = IO_EXISTS;
		} else {
			assert_true(w->n_pods < SET_PODS);
			w->pods[w->n_pods++] = with_status(w, stored(w, pod), "Pending", false);
			w->n_created++;
		}
	}
	tell(w, "+", name_of(pod), result);
	return result;
}

static enum io_result update_pod(void *ctx, const struct json *pod, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		size_t i = index_of(w->pods, w->n_pods, name_of(pod));
		assert_true(i < w->n_pods);
		w->pods[i] = pod;
	}
	tell(w, "~", name_of(pod), result);
	return result;
}

static enum io_result delete_pod(void *ctx, const struct member *m, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		let_go(w, index_of(w->pods, w->n_pods, m->name));
		w->n_deleted++;
	}
	tell(w, "-", m->name, result);
	return result;
}

static const struct json *claim_meta(void *ctx, struct str name)
{
	struct set_world *w = ctx;
	size_t i = index_of(w->claims, w->n_claims, name);
	return i < w->n_claims ? json_gets(w->claims[i], "metadata") : NULL;
}

static enum io_result create_claim(void *ctx, const struct json *claim, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		assert_true(w->n_claims < SET_CLAIMS);
		w->claims[w->n_claims++] = stored(w, claim);
	}
	tell(w, "+", name_of(claim), result);
	return result;
}

static enum io_result own_claim(void *ctx, const struct json *meta, const struct json *owners, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		size_t i = index_of(w->claims, w->n_claims, member_text(meta, "name"));
		assert_true(i < w->n_claims);
		w->claims[i] = with_meta(&w->arena, w->claims[i], "ownerReferences", json_copy(&w->arena, owners));
	}
	tell(w, "~", member_text(meta, "name"), result);
	return result;
}

static enum io_result write_set_status(void *ctx, const struct set_status *status, struct str *problem)
{
	struct set_world *w = ctx;
	enum io_result result;

	if (arrives(w, &result, problem)) {
		w->status = *status;
		w->n_status_writes++;
	}
	tell(w, "=status", STR(""), result);
	return result;
}

static void say(void *ctx, bool is_warning, struct str reason, struct str message)
{
	struct set_world *w = ctx;

	if (!w->is_dead) {
		buf_printf(&w->events, "%s " STR_FMT " " STR_FMT "\n", is_warning ? "Warning" : "Normal", STR_ARG(reason),
			STR_ARG(message));
	}
}

static const struct pass_io world_io = {
	.create_revision = create_revision,
	.renumber_revision = renumber_revision,
	.delete_revision = delete_revision,
	.create_pod = create_pod,
	.update_pod = update_pod,
	.delete_pod = delete_pod,
	.claim_meta = claim_meta,
	.create_claim = create_claim,
	.own_claim = own_claim,
	.write_status = write_set_status,
	.say = say,
};

static void on_problem(void *ctx, struct str problem)
{
	struct set_world *w = ctx;
	buf_printf(&w->problems, STR_FMT "\n", STR_ARG(problem));
}

/* A pass reads what there was when it began. */
static const struct json *const *copy_of(struct set_world *w, const struct json *const *objects, size_t n)
{
	const struct json **copy = arena_array(&w->arena, const struct json *, n + 1);
	memcpy(copy, objects, n * sizeof(*copy));
	return copy;
}

bool set_pass(struct set_world *w)
{
	struct pass p = {
		.io = &world_io,
		.ctx = w,
		.arena = &w->arena,
		.carrier = w->carrier,
		.revision_api_version = w->carrier == &carrier_podtemplates ? STR("v1") : STR("apps/v1"),
		.revision_objects = copy_of(w, w->revisions, w->n_revisions),
		.n_revision_objects = w->n_revisions - w->n_unseen_revisions,
		.pods = copy_of(w, w->pods, w->n_pods),
		.n_pods = w->n_pods,
		.now_s = w->now_s,
		.allows_max_unavailable = w->allows_max_unavailable,
		.on_problem = on_problem,
		.replaced = w->replaced,
	};

	set_as_read(w, &p.set);
	w->trace.n = 0;
	w->n_created = w->n_deleted = 0;
	w->n_passes++;
	bool is_done = stateful_pass(&p);
	w->replaced = w->is_dead ? 0 : p.replaced;
	w->is_dead = false;
	w->problem = p.problem;
	w->again_in_s = p.again_in_s;
	w->has_more = p.has_more;
	assert_true(is_done || p.problem.n);
	return is_done;
}

/* ---- the kubelet ---- */

static struct str image_of(const struct json *pod)
{
	return member_text(list_item(json_gets(json_gets(pod, "spec"), "containers"), 0), "image");
}

bool set_kubelet(struct set_world *w)
{
	bool has_changed = false;

	for (size_t i = w->n_pods; i-- > 0;) {
		if (is_going(w->pods[i])) {
			take_out(w->pods, &w->n_pods, i);
			has_changed = true;
		} else if (str_is(member_text(json_gets(w->pods[i], "status"), "phase"), "Pending")) {
			bool is_broken = str_starts(image_of(w->pods[i]), STR(BROKEN));
			w->pods[i] = with_status(w, w->pods[i], "Running", !is_broken);
			has_changed = true;
		}
	}
	return has_changed;
}

void set_settle(struct set_world *w)
{
	for (size_t i = 0; i < 1000; i++) {
		bool is_done = set_pass(w);
		bool has_acted = w->trace.n > 0 || !is_done || w->has_more;
		if (!set_kubelet(w) && !has_acted) {
			return;
		}
	}
	fail_msg("it does not come to rest: " STR_FMT, STR_ARG(buf_str(&w->trace)));
}

/* ---- what there is to see ---- */

struct str set_images(struct set_world *w)
{
	_cleanup_(buf_done) struct buf b;
	int64_t last = w->start + w->replicas + SET_PODS;

	buf_init(&b, ROOM);
	for (int64_t ordinal = 0; ordinal < last; ordinal++) {
		size_t i = set_pod_at(w, ordinal);
		if (i < w->n_pods) {
			buf_printf(&b, "%s" STR_FMT "%s%s", b.n ? " " : "", STR_ARG(image_of(w->pods[i])),
				is_ready(w->pods[i]) ? "" : "!", is_going(w->pods[i]) ? "-" : "");
		}
	}
	return arena_dup(&w->arena, buf_str(&b));
}

const struct json *set_revision_of(struct set_world *w, const char *image)
{
	const struct json *found = NULL;

	for (size_t i = 0; i < w->n_revisions; i++) {
		const struct json *object = w->revisions[i], *data = json_gets(object, "data");
		const struct json *template =
			data ? json_gets(json_gets(data, "spec"), "template") : json_gets(object, "template");
		if (str_is(image_of(template), image)) {
			assert_null(found); /* never two of one state */
			found = object;
		}
	}
	return found;
}

struct str set_revision_name(struct set_world *w, const char *image)
{
	return name_of(set_revision_of(w, image));
}

struct str set_trace(struct set_world *w)
{
	return arena_dup(&w->arena, buf_str(&w->trace));
}
