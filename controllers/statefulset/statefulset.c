/* The StatefulSet controller: informers and handlers that wake sets, workers that run a pass
 * over each, and the start.
 *
 * The controller always handles the sets of annals.dev/v1beta1. Where apps/v1 shows the same
 * objects, as in a stand-alone server, it reads both forms: apps/v1 has fields that the other
 * lacks. Behind a kube-apiserver the sets of apps/v1 belong to kube-controller-manager, and are
 * never looked at. Discovery decides between the two: API versions that show one stored object
 * have one storageVersionHash. */
#include "api/model/members.h"
#include "base/clock.h"
#include "controllers/kit/meta.h"
#include "controllers/kit/route.h"
#include "controllers/statefulset/state.h"

enum {
	WORKERS = 5, /* upstream's */
	RETRY_FIRST_MS = 5,
	RETRY_LAST_MS = 60 * 1000,   /* upstream waits up to a quarter of an hour, long after a failure may be over */
	POLL_LAST_MS = 1000,         /* until the informers have caught up */
	SETS_MAX = 10 * 1000 * 1000, /* as many as an informer keeps */
	ASK_FIRST_MS = 500,          /* until discovery shows the API versions */
	ASK_LAST_MS = 15 * 1000,
	TELL_AT_FAILURES = 5, /* failed passes of one set in a row before it is logged */
};

const struct resource stateful_beta = {{"annals.dev", 10}, {"v1beta1", 7}, {"statefulsets", 12}};
const struct resource stateful_apps = {{"apps", 4}, {"v1", 2}, {"statefulsets", 12}};
const struct resource stateful_pods = {{"", 0}, {"v1", 2}, {"pods", 4}};
const struct resource stateful_claims = {{"", 0}, {"v1", 2}, {"persistentvolumeclaims", 22}};
static const struct resource revisions_apps = {{"apps", 4}, {"v1", 2}, {"controllerrevisions", 19}};
static const struct resource revisions_annals = {{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}};
static const struct resource pod_templates = {{"", 0}, {"v1", 2}, {"podtemplates", 12}};

static const struct counter_name counted[] = {
	[PASSES] = {"annals_statefulset_passes_total", "Passes over a StatefulSet"},
	[STALE_SKIPS] = {"statefulset_controller_stale_sync_skips_total",
		"Passes put off because an informer had not seen the controller's own writes yet"},
	[PODS_CREATED] = {"annals_statefulset_pods_created_total", "Pods that were asked for"},
	[PODS_DELETED] = {"annals_statefulset_pods_deleted_total", "Pods that were taken away"},
	[ADOPTIONS] = {"annals_statefulset_adoptions_total", "Orphans that were to be adopted"},
	[RELEASES] = {"annals_statefulset_releases_total", "Pods that were to be released"},
};

/* ---- one set ---- */

static bool sync_begin(struct sync *y, struct stateful_state *s, struct str ns, struct str name)
{
	*y = (struct sync){.s = s};
	arena_init(&y->arena, SYNC_ARENA_MAX);
	list_init(&y->claims);
	y->set_beta = informer_get(s->sets_beta, ns, name);
	y->set_apps = s->has_apps ? informer_get(s->sets_apps, ns, name) : NULL;
	if (!y->set_beta || (s->has_apps && !y->set_apps)) {
		return false;
	}
	/* Two watches show one object: the event of the later one wakes the set again. */
	return !s->has_apps || y->set_apps->version == y->set_beta->version;
}

static void sync_end(struct sync *y)
{
	server_io_done(y);
	family_release(y->pods, y->n_pods);
	family_release(y->revisions, y->n_revisions);
	item_unref(y->set_apps);
	item_unref(y->set_beta);
	arena_done(&y->arena);
}

static uint64_t version_seen(void *ctx, unsigned kind)
{
	const struct stateful_state *s = ctx;

	switch (kind) {
	case OWN_PODS:
		return informer_version(s->pods_informer);
	case OWN_CLAIMS:
		return informer_version(s->claims_informer);
	case OWN_REVISIONS:
		return informer_version(s->revisions_informer);
	default:
		return s->has_apps ? MIN(informer_version(s->sets_beta), informer_version(s->sets_apps))
				   : informer_version(s->sets_beta);
	}
}

/* The set was read from the cache before the caches were checked, and may have been replaced
 * there since. */
static bool is_latest(const struct sync *y)
{
	const struct owner *o = &y->pass.set.owner;
	_cleanup_(item_unrefp) struct item *latest = informer_get(y->s->sets_beta, o->ns, o->name);
	return latest == y->set_beta;
}

static bool is_behind(struct sync *y)
{
	bool behind = own_writes_behind(&y->s->own, y->pass.set.owner.uid) >= 0 || !sync_is_abreast(y) || !is_latest(y);

	if (behind) {
		count(&y->s->counters, STALE_SKIPS);
	}
	return behind;
}

static int64_t recall_replaced(struct stateful_state *s, struct str uid)
{
	pthread_mutex_lock(&s->lock);
	int64_t replaced = (int64_t)(intptr_t)map_get(&s->replaced, uid);
	pthread_mutex_unlock(&s->lock);
	return replaced;
}

static void remember_replaced(struct stateful_state *s, struct str uid, int64_t replaced)
{
	pthread_mutex_lock(&s->lock);
	if (replaced) {
		map_set(&s->replaced, uid, (void *)(intptr_t)replaced, NULL);
	} else {
		map_remove(&s->replaced, uid);
	}
	pthread_mutex_unlock(&s->lock);
}

/* If the set was deleted during the pass, its handler ran before the pass noted its writes: they
 * are forgotten here. */
static void forget_what_has_gone(struct stateful_state *s, struct str uid)
{
	_cleanup_(item_unrefp) struct item *set = family_get(&s->sets, uid);

	if (!set) {
		own_writes_forget(&s->own, uid);
		remember_replaced(s, uid, 0);
	}
}

static void on_pass_problem(void *ctx, struct str problem)
{
	struct sync *y = ctx;
	controller_notice(&y->s->run, true, problem);
}

/* Applies the operator's ceiling to a set's history limit. */
static int64_t history_limit(int64_t wanted, int64_t ceiling)
{
	return ceiling && (wanted < 0 || wanted > ceiling) ? ceiling : wanted;
}

static bool run_pass(struct sync *y)
{
	struct pass *p = &y->pass;
	struct stateful_state *s = y->s;
	struct str uid = p->set.owner.uid, ns = p->set.owner.ns;

	if (!p->set.status.observed_generation) {
		sync_tell_of_overlaps(y); /* the first pass */
	}
	y->n_revisions = family_of(&s->revisions, uid, ns, &y->revisions);
	y->n_pods = family_of(&s->pods, uid, ns, &y->pods);
	bool is_done = false;
	bool is_claimed = sync_claim_revisions(y) && sync_claim_pods(y);
	if (is_claimed && y->has_adopted) {
		/* While a pod had no owner the cache may have missed changes, such as its
		 * deletion. The next pass reads everything as of one moment. */
		p->has_more = is_done = true;
	} else if (is_claimed) {
		p->replaced = recall_replaced(s, uid);
		p->set.limit = history_limit(p->set.limit, s->run.env->settings->statefulset_history_limit);
		count(&s->counters, PASSES);
		is_done = stateful_pass(p);
		remember_replaced(s, uid, p->replaced);
	}
	forget_what_has_gone(s, uid);
	return is_done;
}

/* Works on one set. An event brings the set back, or the delay chosen here. */
static void set_look_at(struct stateful_state *s, struct str key, struct str ns, struct str name)
{
	struct sync y;
	struct str problem;

	if (!sync_begin(&y, s, ns, name)) {
		workqueue_forget(s->run.queue, key);
		sync_end(&y);
		return;
	}
	struct pass *p = &y.pass;
	*p = (struct pass){
		.io = &server_io,
		.ctx = &y,
		.arena = &y.arena,
		.carrier = s->carrier,
		.revision_api_version = s->revision_api_version,
		.now_s = clock_wall_s(),
		.allows_max_unavailable = s->run.env->settings->allows_max_unavailable,
		.on_problem = on_pass_problem,
	};
	y.target = (struct target){.resource = &s->main, .namespace = ns, .name = name};
	if (!set_read(&p->set, y.set_apps ? y.set_apps->object : NULL, y.set_beta->object, &y.arena, &problem)) {
		controller_notice(&s->run, true, problem); /* only a change of the set can help */
		workqueue_forget(s->run.queue, key);
	} else if (is_behind(&y)) {
		workqueue_poll(s->run.queue, key, POLL_LAST_MS);
	} else if (run_pass(&y)) {
		workqueue_forget(s->run.queue, key);
		if (p->has_more) {
			workqueue_add(s->run.queue, key);
		} else if (p->again_in_s) {
			workqueue_add_after(s->run.queue, key, p->again_in_s * 1000);
		}
	} else {
		if (workqueue_failures(s->run.queue, key) == TELL_AT_FAILURES) {
			controller_notice(
				&s->run, true, arena_printf(&y.arena, STR_FMT ": " STR_FMT, STR_ARG(key), STR_ARG(p->problem)));
		}
		workqueue_retry(s->run.queue, key);
	}
	sync_end(&y);
}

static bool has_synced(const struct stateful_state *s)
{
	return atomic_load(&s->is_started) && informer_has_synced(s->sets_beta) && (!s->has_apps || informer_has_synced(s->sets_apps)) &&
		informer_has_synced(s->pods_informer) && informer_has_synced(s->claims_informer) &&
		informer_has_synced(s->revisions_informer);
}

/* ---- whom an event wakes ---- */

static void on_set_put(struct stateful_state *s, struct item *set)
{
	family_put(&s->sets, set);
	workers_wake(s->run.queue, set->namespace, set->name);
}

static void forget_set(struct stateful_state *s, const struct item *set)
{
	family_remove(&s->sets, set->uid);
	own_writes_forget(&s->own, set->uid);
	remember_replaced(s, set->uid, 0);
}

static void on_set_add(void *ctx, struct item *set, bool is_initial _unused_)
{
	on_set_put(ctx, set);
}

static void on_set_update(void *ctx, struct item *old, struct item *set)
{
	if (!str_eq(old->uid, set->uid)) {
		forget_set(ctx, old);
	}
	on_set_put(ctx, set);
}

static void on_set_delete(void *ctx, struct item *set, bool is_guess _unused_)
{
	struct stateful_state *s = ctx;
	forget_set(s, set);
	workers_wake(s->run.queue, set->namespace, set->name);
}

/* The set's form at apps/v1 has fields that the other form lacks. */
static void on_twin_add(void *ctx, struct item *set, bool is_initial _unused_)
{
	struct stateful_state *s = ctx;
	workers_wake(s->run.queue, set->namespace, set->name);
}

static void on_twin_update(void *ctx, struct item *old _unused_, struct item *set)
{
	struct stateful_state *s = ctx;
	workers_wake(s->run.queue, set->namespace, set->name);
}

static void wake_owner(struct stateful_state *s, const struct json *meta)
{
	struct owner_reference ref;
	_cleanup_(item_unrefp) struct item *set = NULL;

	if (!ownership_controller(meta, &ref) || !(set = family_get(&s->sets, ref.uid))) {
		return;
	}
	const struct owner owner = {.kind = STR("StatefulSet"), .name = set->name, .uid = set->uid};
	if (route_is_owner(&ref, &owner)) {
		workers_wake(s->run.queue, set->namespace, set->name);
	}
}

static void wake_matching(struct stateful_state *s, const struct item *pod)
{
	_cleanup_(arena_done) struct arena of_pod;
	_cleanup_(arena_done) struct arena of_set;
	struct item **sets;
	const struct label *labels;
	size_t n = family_of(&s->sets, (struct str){0}, pod->namespace, &sets);

	arena_init(&of_pod, SYNC_ARENA_MAX);
	arena_init(&of_set, SYNC_ARENA_MAX);
	size_t n_labels = labels_read(&labels, json_gets(item_meta(pod), "labels"), &of_pod);
	for (size_t i = 0; i < n; i++) {
		struct label_selector selector;
		struct str problem;
		arena_clear(&of_set); /* only one selector is in memory at a time */
		if (!label_selector_read(
			    &selector, json_gets(json_gets(sets[i]->object, "spec"), "selector"), &of_set, &problem) &&
			selector.n && label_selector_matches(&selector, labels, n_labels)) {
			workers_wake(s->run.queue, sets[i]->namespace, sets[i]->name);
		}
	}
	family_release(sets, n);
}

static void wake(struct stateful_state *s, unsigned route, const struct item *old, const struct item *pod)
{
	if (route & ROUTE_OLD_OWNER) {
		wake_owner(s, item_meta(old));
	}
	if (route & ROUTE_OWNER) {
		wake_owner(s, item_meta(pod));
	}
	if (route & ROUTE_MATCHING) {
		wake_matching(s, pod);
	}
}

static void on_pod_add(void *ctx, struct item *pod, bool is_initial _unused_)
{
	struct stateful_state *s = ctx;
	family_put(&s->pods, pod);
	wake(s, route_added(item_meta(pod)), NULL, pod);
}

/* A pod with another uid has taken the name: the watch missed the deletion of the old pod. */
static void on_pod_update(void *ctx, struct item *old, struct item *pod)
{
	struct stateful_state *s = ctx;

	family_replace(&s->pods, old->uid, pod);
	if (str_eq(old->uid, pod->uid)) {
		wake(s, route_updated(item_meta(old), item_meta(pod)), old, pod);
		return;
	}
	wake(s, route_deleted(item_meta(old)), NULL, old);
	wake(s, route_added(item_meta(pod)), NULL, pod);
}

static void on_pod_delete(void *ctx, struct item *pod, bool is_guess _unused_)
{
	struct stateful_state *s = ctx;
	family_remove(&s->pods, pod->uid);
	wake(s, route_deleted(item_meta(pod)), NULL, pod);
}

static void put_revision(struct stateful_state *s, struct item *revision)
{
	family_put(&s->revisions, revision);
	if (stranger_is(s->carrier, revision)) {
		family_put(&s->strangers, revision);
	} else {
		family_remove(&s->strangers, revision->uid);
	}
}

static void remove_revision(struct stateful_state *s, struct str uid)
{
	family_remove(&s->revisions, uid);
	family_remove(&s->strangers, uid);
}

static void on_revision_add(void *ctx, struct item *revision, bool is_initial _unused_)
{
	put_revision(ctx, revision);
}

static void on_revision_update(void *ctx, struct item *old, struct item *revision)
{
	if (!str_eq(old->uid, revision->uid)) {
		remove_revision(ctx, old->uid);
	}
	put_revision(ctx, revision);
}

/* Wakes the owner, which recreates a lost revision; upstream would notice only at the next
 * event. */
static void on_revision_delete(void *ctx, struct item *revision, bool is_guess _unused_)
{
	struct stateful_state *s = ctx;
	remove_revision(s, revision->uid);
	wake_owner(s, item_meta(revision));
}

/* ---- the start ---- */

/* Reads a discovery document of that kind. */
static bool read_document(struct stateful_state *s, const char *path, const char *kind, struct answer *answer)
{
	return !rest_do(s->run.env->client, &(struct rest_call){.method = "GET", .path = path}, answer) &&
		str_is(member_text(answer->body, "kind"), kind);
}

/* A 404 at the group's path does not prove that the group is absent; its absence from the list
 * of groups does. */
static bool is_group_absent(struct stateful_state *s, struct str group)
{
	_cleanup_(answer_done) struct answer answer;
	const struct json *one;
	bool is_found = false;

	answer_init(&answer);
	if (!read_document(s, "/apis", "APIGroupList", &answer)) {
		return false;
	}
	for (uint32_t i = 0; !is_found && (one = list_item(json_gets(answer.body, "groups"), i)); i++) {
		is_found = str_eq(member_text(one, "name"), group);
	}
	return !is_found;
}

/* Finds the storageVersionHash of statefulsets in v1 or v1beta1 of a group. */
static enum rest_found find_hash(
	struct stateful_state *s, struct str group, const char *path, struct answer *answer, struct str *ret)
{
	const struct json *r;

	if (!read_document(s, path, "APIResourceList", answer)) {
		return is_group_absent(s, group) ? REST_ABSENT : REST_UNKNOWN;
	}
	for (uint32_t i = 0; (r = list_item(json_gets(answer->body, "resources"), i)); i++) {
		if (str_is(member_text(r, "name"), "statefulsets")) {
			*ret = member_text(r, "storageVersionHash");
			return REST_FOUND;
		}
	}
	return REST_ABSENT;
}

/* Returns true once the API versions are known. Replicas that disagree on the stored version
 * omit the hash until they agree. */
static bool read_api_versions(struct stateful_state *s)
{
	_cleanup_(answer_done) struct answer beta, apps;
	struct str of_beta, of_apps;

	answer_init(&beta);
	answer_init(&apps);
	if (find_hash(s, STR("annals.dev"), "/apis/annals.dev/v1beta1", &beta, &of_beta) != REST_FOUND) {
		return false;
	}
	enum rest_found found = find_hash(s, STR("apps"), "/apis/apps/v1", &apps, &of_apps);
	if (found != REST_FOUND) {
		return found == REST_ABSENT;
	}
	s->has_apps = of_beta.n && str_eq(of_beta, of_apps);
	return of_beta.n && of_apps.n;
}

/* The parts that no pass reads, which are most of each object. */
static const char *const left_out_of_pods[] = {"metadata.managedFields", "metadata.annotations", "spec.containers", "spec.initContainers",
	"spec.tolerations", "status.containerStatuses", "status.initContainerStatuses", NULL};
static const char *const left_out_of_twins[] = {
	"metadata.managedFields", "metadata.annotations", "spec.template", "spec.volumeClaimTemplates", NULL};

static struct informer *stateful_watch(struct stateful_state *s, const struct resource *resource, const char *const *left_out,
	struct informer_handlers handlers)
{
	return controller_watch(&s->run,
		(struct informer_options){
			.resource = *resource,
			.metadata_only = resource == &stateful_claims,
			.left_out = left_out,
			.handlers = handlers,
			.ctx = s,
		});
}

static void watch_all(struct stateful_state *s)
{
	const struct informer_handlers of_sets = {.on_add = on_set_add, .on_update = on_set_update, .on_delete = on_set_delete};
	bool has_templates = s->carrier == &carrier_podtemplates;

	s->main = s->has_apps ? stateful_apps : stateful_beta;
	s->revision = has_templates ? pod_templates : s->has_apps ? revisions_apps : revisions_annals;
	s->revision_api_version = has_templates ? STR("v1") : s->has_apps ? STR("apps/v1") : STR("annals.dev/v1");
	s->pods_informer = stateful_watch(s, &stateful_pods, left_out_of_pods,
		(struct informer_handlers){.on_add = on_pod_add, .on_update = on_pod_update, .on_delete = on_pod_delete});
	s->claims_informer = stateful_watch(s, &stateful_claims, item_managers, (struct informer_handlers){0});
	s->revisions_informer = stateful_watch(s, &s->revision, item_managers,
		(struct informer_handlers){
			.on_add = on_revision_add, .on_update = on_revision_update, .on_delete = on_revision_delete});
	if (s->has_apps) {
		s->sets_apps = stateful_watch(s, &stateful_apps, item_managers, of_sets);
		s->sets_beta = stateful_watch(s, &stateful_beta, left_out_of_twins,
			(struct informer_handlers){.on_add = on_twin_add, .on_update = on_twin_update});
	} else {
		s->sets_beta = stateful_watch(s, &stateful_beta, item_managers, of_sets);
	}
	atomic_store(&s->is_started, true);
}

/* Runs for the empty key. */
static void ask_and_begin(struct stateful_state *s)
{
	if (read_api_versions(s)) {
		watch_all(s);
		return;
	}
	workqueue_add_after(s->run.queue, (struct str){"", 0}, s->ask_again_ms);
	s->ask_again_ms = MIN(2 * s->ask_again_ms, (int64_t)ASK_LAST_MS);
}

static void set_work(void *ctx, struct str key)
{
	struct stateful_state *s = ctx;
	struct str ns, name;

	if (!key.n) {
		ask_and_begin(s);
	} else if (!has_synced(s)) {
		workqueue_poll(s->run.queue, key, POLL_LAST_MS);
	} else if (str_cut(key, '/', &ns, &name)) {
		set_look_at(s, key, ns, name);
	}
}

/* ---- its life ---- */

static void stateful_begin(void *state)
{
	struct stateful_state *s = state;

	s->carrier = carrier_by_name(s->run.env->settings->statefulset_history);
	s->events = event_writer_new(&s->run);
	family_init(&s->sets, true);
	family_init(&s->pods, false);
	family_init(&s->revisions, false);
	family_init(&s->strangers, true);
	own_writes_init(&s->own, version_seen, s);
	pthread_mutex_init(&s->lock, NULL);
	map_init(&s->replaced, SETS_MAX);
	s->ask_again_ms = ASK_FIRST_MS;
	workqueue_add(s->run.queue, (struct str){"", 0}); /* runs ask_and_begin() */
}

static void stateful_end(void *state)
{
	struct stateful_state *s = state;

	event_writer_free(s->events);
	map_done(&s->replaced);
	pthread_mutex_destroy(&s->lock);
	own_writes_done(&s->own);
	family_done(&s->strangers);
	family_done(&s->revisions);
	family_done(&s->pods);
	family_done(&s->sets);
}

static void write_metrics(void *state, struct buf *out)
{
	struct stateful_state *s = state;
	counters_write(&s->counters, counted, ARRAY_SIZE(counted), out);
}

const struct controller stateful_set_controller = {
	.name = "statefulset-controller",
	.alias = "statefulset",
	.queues = {{"statefulset", WORKERS, RETRY_FIRST_MS, RETRY_LAST_MS, set_work}},
	.state_size = sizeof(struct stateful_state),
	.begin = stateful_begin,
	.end = stateful_end,
	.write_metrics = write_metrics,
};
