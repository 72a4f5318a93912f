/* The requests of a pass. Each successful write to the set's objects is noted, so that the next
 * pass waits until the informers have seen it. Deletions name uid and version. A new pod with the
 * same name is another object, and a changed pod may have another owner. */
#include "api/model/members.h"
#include "controllers/kit/meta.h"
#include "controllers/statefulset/state.h"

#include <assert.h>

enum {
	BODY_MAX = 4 << 20, /* bytes of a patch, or of a revision: etcd takes 1.5 MiB */
	STATUS_TRIES = 5,
};

static struct client *client_of(const struct sync *y)
{
	return y->s->run.env->client;
}

/* Could the server differ from the cache, without a version to wait for? That happens if an
 * answer is lost, or the object differs from the cache. A lost answer can cause the latter: HTTP
 * clients repeat requests of a closed connection. Sets are exempt from the latter, because users
 * change them. */
static bool leaves_doubt(unsigned kind, int error, const struct answer *answer)
{
	if (error != REST_STATUS || answer->code >= 500) {
		return true;
	}
	return kind != OWN_SETS && (answer_is(answer, 404, NULL) || answer_is(answer, 409, NULL));
}

void sync_note_write(struct sync *y, unsigned kind, struct str name, int error, const struct answer *answer)
{
	assert(kind <= OWN_REVISIONS && name.n > 0);
	struct own_writes *own = &y->s->own;
	struct str uid = y->pass.set.owner.uid;

	if (!error) {
		own_writes_note(own, uid, kind, answer_version(answer));
	} else if (leaves_doubt(kind, error, answer)) {
		own_writes_doubt(own, uid, kind, name);
	}
}

/* Translates the answer; its sentence goes to the pass. */
static enum io_result sync_judge(
	struct sync *y, const struct target *t, int error, const struct answer *answer, struct str *problem)
{
	if (!error) {
		return IO_DONE;
	}
	*problem = arena_dup(&y->arena, answer->message);
	if (answer_is_absent(answer, t)) {
		return IO_GONE;
	}
	return answer_is(answer, 409, "AlreadyExists") ? IO_EXISTS : answer_is(answer, 409, NULL) ? IO_CONFLICT : IO_FAILED;
}

static enum io_result sync_create(
	struct sync *y, const struct resource *resource, unsigned kind, const struct json *object, struct str *problem)
{
	_cleanup_(answer_done) struct answer answer;
	const struct target t = {.resource = resource, .namespace = y->pass.set.owner.ns};

	answer_init(&answer);
	int error = rest_create(client_of(y), &t, object, &answer);
	sync_note_write(y, kind, member_text(json_gets(object, "metadata"), "name"), error, &answer);
	return sync_judge(y, &t, error, &answer, problem);
}

/* ---- patches ---- */

/* Begins a patch {"metadata": {...}} for exactly that version of the object. */
static struct json *patch_of(struct sync *y, struct json **ret_meta, struct str uid, struct str version)
{
	struct arena *a = &y->arena;
	struct json *patch = json_object(a), *meta = json_object(a);

	json_add(a, patch, STR("metadata"), meta);
	json_add(a, meta, STR("uid"), json_string(a, uid));
	json_add(a, meta, STR("resourceVersion"), json_string(a, version));
	*ret_meta = meta;
	return patch;
}

static enum io_result send_patch(struct sync *y, const struct target *t, unsigned kind, struct str text, struct str *problem)
{
	_cleanup_(answer_done) struct answer answer;

	answer_init(&answer);
	int error = rest_patch(client_of(y), t, PATCH_MERGE, text, &answer);
	sync_note_write(y, kind, t->name, error, &answer);
	return sync_judge(y, t, error, &answer, problem);
}

static enum io_result sync_change(
	struct sync *y, const struct target *t, unsigned kind, const struct json *patch, struct str *problem)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, BODY_MAX);
	json_encode(&text, patch);
	return send_patch(y, t, kind, buf_str(&text), problem);
}

/* ---- revisions ---- */

/* Makes a copy that lives as long as the pass. */
static const struct json *sync_keep(struct sync *y, const struct json *body)
{
	_cleanup_(buf_done) struct buf text;
	struct json *copy;
	size_t at;

	buf_init(&text, BODY_MAX);
	if (!json_encode(&text, body)) {
		return NULL;
	}
	return json_parse(&copy, &y->arena, arena_dup(&y->arena, buf_str(&text)), JSON_LIMITS_DEFAULT, &at) ? NULL : copy;
}

static const struct json *read_revision(struct sync *y, const struct json *wanted)
{
	_cleanup_(answer_done) struct answer answer;
	const struct target t = {.resource = &y->s->revision,
		.namespace = y->pass.set.owner.ns,
		.name = member_text(json_gets(wanted, "metadata"), "name")};

	answer_init(&answer);
	return rest_get(client_of(y), &t, &answer) ? NULL : sync_keep(y, answer.body);
}

static enum io_result create_revision(void *ctx, const struct json *object, const struct json **ret, struct str *problem)
{
	struct sync *y = ctx;
	enum io_result result = sync_create(y, &y->s->revision, OWN_REVISIONS, object, problem);

	*ret = result == IO_EXISTS ? read_revision(y, object) : NULL;
	return result;
}

static struct target revision_target(const struct sync *y, const struct revision *r)
{
	return (struct target){.resource = &y->s->revision, .namespace = y->pass.set.owner.ns, .name = r->name};
}

static enum io_result renumber_revision(void *ctx, const struct revision *r, int64_t number, struct str *problem)
{
	struct sync *y = ctx;
	_cleanup_(buf_done) struct buf patch;
	const struct target t = revision_target(y, r);

	buf_init(&patch, BODY_MAX);
	history_renumber(r, number, &patch);
	return send_patch(y, &t, OWN_REVISIONS, buf_str(&patch), problem);
}

static enum io_result delete_revision(void *ctx, const struct revision *r, struct str *problem)
{
	struct sync *y = ctx;
	_cleanup_(answer_done) struct answer answer;
	const struct target t = revision_target(y, r);
	struct delete_options options = DELETE_OPTIONS_DEFAULT;

	answer_init(&answer);
	options.uid = r->uid;
	options.resource_version = r->version;
	int error = rest_delete(client_of(y), &t, &options, &answer);
	if (error) {
		sync_note_write(y, OWN_REVISIONS, r->name, error, &answer);
	} else {
		/* The answer has no version to wait for. The deleted version is the latest in
		 * the cache, so no later event brings it back. */
		family_remove(&y->s->revisions, r->uid);
	}
	return sync_judge(y, &t, error, &answer, problem);
}

/* ---- pods ---- */

/* Asks for the owner of the pod that already has the name. If the server does not say, it is not reported as
 * another owner's. */
static enum io_result whose_pod(struct sync *y, struct str name)
{
	_cleanup_(answer_done) struct answer answer;
	const struct target t = {.resource = &stateful_pods, .namespace = y->pass.set.owner.ns, .name = name};

	answer_init(&answer);
	if (rest_find_metadata(client_of(y), &t, &answer) != REST_FOUND) {
		return IO_FAILED;
	}
	return ownership_is_ours(&y->pass.set.owner, json_gets(answer.body, "metadata")) ? IO_CONFLICT : IO_EXISTS;
}

static enum io_result create_pod(void *ctx, const struct json *pod, struct str *problem)
{
	struct sync *y = ctx;

	count(&y->s->counters, PODS_CREATED);
	enum io_result result = sync_create(y, &stateful_pods, OWN_PODS, pod, problem);
	return result == IO_EXISTS ? whose_pod(y, member_text(json_gets(pod, "metadata"), "name")) : result;
}

/* Updates labels and volumes of exactly that version. A pass changes nothing else, and the cache
 * holds only part of a pod. */
static enum io_result update_pod(void *ctx, const struct json *pod, struct str *problem)
{
	struct sync *y = ctx;
	struct arena *a = &y->arena;
	const struct json *meta = json_gets(pod, "metadata"), *volumes = json_gets(json_gets(pod, "spec"), "volumes");
	const struct target t = {
		.resource = &stateful_pods, .namespace = y->pass.set.owner.ns, .name = member_text(meta, "name")};
	struct json *patch_meta, *spec = json_object(a), *labels = json_copy_or_empty(a, json_gets(meta, "labels"));
	struct json *patch = patch_of(y, &patch_meta, member_text(meta, "uid"), member_text(meta, "resourceVersion"));

	json_add(a, patch_meta, STR("labels"), labels);
	/* A pod may have to lose this label: a patch without it would keep it. */
	if (!json_gets(labels, HISTORY_LABEL_GENERATION)) {
		json_set(a, labels, STR(HISTORY_LABEL_GENERATION), json_null(a));
	}
	if (volumes) {
		json_add(a, patch, STR("spec"), spec);
		json_add(a, spec, STR("volumes"), json_copy(a, volumes));
	}
	return sync_change(y, &t, OWN_PODS, patch, problem);
}

static enum io_result delete_pod(void *ctx, const struct member *m, struct str *problem)
{
	struct sync *y = ctx;
	_cleanup_(answer_done) struct answer answer;
	const struct target t = {.resource = &stateful_pods, .namespace = y->pass.set.owner.ns, .name = m->name};
	struct delete_options options = DELETE_OPTIONS_DEFAULT;

	answer_init(&answer);
	options.uid = m->uid;
	options.resource_version = m->version;
	count(&y->s->counters, PODS_DELETED);
	int error = rest_delete(client_of(y), &t, &options, &answer);
	if (error || str_is(member_text(answer.body, "kind"), "Pod")) {
		sync_note_write(y, OWN_PODS, m->name, error, &answer);
	}
	return sync_judge(y, &t, error, &answer, problem);
}

/* ---- claims ---- */

struct seen_claim {
	struct list link;
	struct item *item;
};

/* The reference is held as long as the pass, which points into it. */
static const struct json *claim_meta(void *ctx, struct str name)
{
	struct sync *y = ctx;
	struct item *item = informer_get(y->s->claims_informer, y->pass.set.owner.ns, name);

	if (!item) {
		return NULL;
	}
	struct seen_claim *seen = arena_new(&y->arena, struct seen_claim);
	seen->item = item;
	list_append(&y->claims, &seen->link);
	return item_meta(item);
}

static enum io_result create_claim(void *ctx, const struct json *claim, struct str *problem)
{
	return sync_create(ctx, &stateful_claims, OWN_CLAIMS, claim, problem);
}

static enum io_result own_claim(void *ctx, const struct json *meta, const struct json *owners, struct str *problem)
{
	struct sync *y = ctx;
	const struct target t = {
		.resource = &stateful_claims, .namespace = y->pass.set.owner.ns, .name = member_text(meta, "name")};
	struct json *patch_meta;
	struct json *patch = patch_of(y, &patch_meta, member_text(meta, "uid"), member_text(meta, "resourceVersion"));

	json_add(&y->arena, patch_meta, STR("ownerReferences"), json_copy(&y->arena, owners));
	return sync_change(y, &t, OWN_CLAIMS, patch, problem);
}

/* ---- the status ---- */

static void add_number(struct arena *a, struct json *to, struct str name, int64_t n, bool is_null)
{
	json_add(a, to, name, is_null ? json_null(a) : json_int(a, n));
}

static void add_text(struct arena *a, struct json *to, struct str name, struct str text)
{
	json_add(a, to, name, text.n ? json_string(a, text) : json_null(a));
}

/* Makes every field that this controller writes, and no other: others' fields stay, such as
 * their conditions. */
static struct json *status_json(struct arena *a, const struct set_status *st)
{
	struct json *status = json_object(a);

	add_number(a, status, STR("observedGeneration"), st->observed_generation, false);
	add_number(a, status, STR("replicas"), st->replicas, false);
	add_number(a, status, STR("readyReplicas"), st->ready, false);
	add_number(a, status, STR("availableReplicas"), st->available, false);
	add_number(a, status, STR("currentReplicas"), MAX(st->current, 0), false);
	add_number(a, status, STR("updatedReplicas"), st->updated, false);
	add_text(a, status, STR("currentRevision"), st->current_revision);
	add_text(a, status, STR("updateRevision"), st->update_revision);
	add_number(a, status, STR("collisionCount"), st->collisions, false);
	add_number(a, status, STR("templateGeneration"), st->current_generation, !st->current_generation);
	add_number(a, status, STR("targetTemplateGeneration"), st->update_generation, !st->update_generation);
	return status;
}

/* After a conflict: reads the version for another try. Fails if the set was replaced, or if
 * somebody has reported on a later generation. */
static bool read_version(struct sync *y, const struct target *t, const struct set_status *st, struct str *ret_version)
{
	_cleanup_(answer_done) struct answer answer;

	answer_init(&answer);
	if (rest_get(client_of(y), t, &answer)) {
		return false;
	}
	const struct json *meta = json_gets(answer.body, "metadata");
	*ret_version = arena_dup(&y->arena, member_text(meta, "resourceVersion"));
	return str_eq(member_text(meta, "uid"), y->pass.set.owner.uid) &&
		member_int(json_gets(answer.body, "status"), "observedGeneration") <= st->observed_generation;
}

/* Writes the status through the API version that has all fields and exists in every mode. */
static enum io_result write_status(void *ctx, const struct set_status *st, struct str *problem)
{
	struct sync *y = ctx;
	const struct owner *o = &y->pass.set.owner;
	const struct target t = {.resource = &stateful_beta, .namespace = o->ns, .name = o->name, .subresource = "status"};
	struct str version = member_text(y->pass.set.meta, "resourceVersion");
	enum io_result result = IO_CONFLICT;

	for (int i = 0; result == IO_CONFLICT && i < STATUS_TRIES; i++) {
		struct json *meta;
		if (i && !read_version(y, &(struct target){.resource = &stateful_beta, .namespace = o->ns, .name = o->name}, st, &version)) {
			return IO_CONFLICT;
		}
		struct json *patch = patch_of(y, &meta, o->uid, version);
		json_add(&y->arena, patch, STR("status"), status_json(&y->arena, st));
		result = sync_change(y, &t, OWN_SETS, patch, problem);
	}
	return result;
}

/* ---- the rest ---- */

static void say(void *ctx, bool is_warning, struct str reason, struct str message)
{
	struct sync *y = ctx;
	const struct owner *o = &y->pass.set.owner;

	event_say(y->s->events,
		&(struct event){.api_version = o->api_version,
			.kind = o->kind,
			.ns = o->ns,
			.name = o->name,
			.uid = o->uid,
			.reason = reason,
			.message = message,
			.is_warning = is_warning});
}

void server_io_done(struct sync *y)
{
	list_for_each_safe(it, &y->claims)
	{
		item_unref(list_entry(it, struct seen_claim, link)->item);
	}
	list_init(&y->claims);
}

const struct pass_io server_io = {
	.create_revision = create_revision,
	.renumber_revision = renumber_revision,
	.delete_revision = delete_revision,
	.create_pod = create_pod,
	.update_pod = update_pod,
	.delete_pod = delete_pod,
	.claim_meta = claim_meta,
	.create_claim = create_claim,
	.own_claim = own_claim,
	.write_status = write_status,
	.say = say,
};
