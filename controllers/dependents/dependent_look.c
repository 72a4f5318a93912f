/* One look at one Dependent, from what is there to what should be, as requests to the server.
 * Every look begins anew, so a crash at any place leaves nothing that the next look does not
 * see. Seed 004 names the steps; their order is what keeps its promise. */
#include "controllers/dependents/dependent_look.h"

#include "base/clock.h"
#include "controllers/dependents/dependent_plan.h"
#include "controllers/kit/patch.h"

enum { SCRATCH_MAX = 64 << 20, PATCH_MAX = 4 << 20, WHY_MAX = 4096 };

enum outcome { DONE, AGAIN };

struct look {
	struct dependents_state *s;
	struct item *first;     /* as it was seen first: what provided points into, which never changes */
	struct item *dependent; /* as it was seen last */
	struct provision provisions[REFERENCES_MAX];
	struct provided provided[REFERENCES_MAX];
	enum use uses[REFERENCES_MAX];
	size_t n;
	struct place place;
	struct buf key;
	struct arena scratch;
};

/* What passes by itself is not worth a line. */
static void tell_problem(const struct look *l, const struct answer *a)
{
	if (a->message.n && !answer_is(a, 404, NULL) && !answer_is(a, 409, NULL)) {
		l->s->env->on_notice(l->s->env->ctx, dependent_controller.name, true, a->message);
	}
}

static struct str key_of(struct look *l, size_t i)
{
	return provider_key(&l->key, l->provided[i].kind, l->dependent->namespace, l->provided[i].name);
}

/* ---- the Dependent itself ---- */

static int patch_itself(struct look *l, const char *subresource, const struct buf *patch)
{
	const struct target t = {.resource = &dependents_resource,
		.namespace = l->dependent->namespace,
		.name = l->dependent->name,
		.subresource = subresource};
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf text;
	answer_init(&answer);
	buf_init(&text, PATCH_MAX);
	int r = rest_patch(l->s->env->client, &t, PATCH_MERGE, buf_str(patch), &answer);
	struct item *now = !r && json_encode(&text, answer.body) ? item_new(buf_str(&text), item_managers) : NULL;
	if (now) {
		item_unref(l->dependent);
		l->dependent = now;
	}
	return r;
}

static enum outcome tell(struct look *l, const struct verdict *v)
{
	_cleanup_(buf_done) struct buf patch;
	buf_init(&patch, PATCH_MAX);
	if (!dependent_patch_status(&patch, l->dependent, v, l->s->implementer->kind, clock_wall_s())) {
		return DONE;
	}
	return patch_itself(l, "status", &patch) ? AGAIN : DONE;
}

/* From here on it cannot go before what it is made into has gone. */
static bool keep(struct look *l)
{
	_cleanup_(buf_done) struct buf patch;
	buf_init(&patch, PATCH_MAX);
	if (dependent_has_finalizer(l->dependent)) {
		return true;
	}
	dependent_add_finalizer(&patch, l->dependent);
	/* The answer is looked at: the deletion may have been faster than the patch. */
	return !patch_itself(l, NULL, &patch) && dependent_has_finalizer(l->dependent) && !item_is_deleting(l->dependent);
}

/* ---- undoing ---- */

/* Others stop relying on it first: who still found it among the holdings did so before it could go. */
static bool withdraw(struct look *l)
{
	implemented_release(&l->s->implemented, l->dependent);
	if (l->place.state != PLACE_EMPTY && l->place.state != PLACE_FILLED) {
		return true;
	}
	if (l->s->implementer->withdraw(l->s->env->client, l->dependent, &l->place)) {
		return false;
	}
	count(&l->s->counters, WITHDRAWN);
	return l->place.state == PLACE_NONE || l->place.state == PLACE_TAKEN;
}

static enum outcome tear_down(struct look *l)
{
	_cleanup_(buf_done) struct buf patch;
	buf_init(&patch, PATCH_MAX);
	if (!withdraw(l)) {
		return AGAIN;
	}
	if (!gc_patch_finalize(&patch, item_meta(l->dependent), DEPENDENT_FINALIZER)) {
		return DONE;
	}
	return patch_itself(l, NULL, &patch) ? AGAIN : DONE;
}

static enum outcome give_up(struct look *l, const struct verdict *v)
{
	return withdraw(l) && tell(l, v) == DONE ? DONE : AGAIN;
}

/* ---- may it be implemented ---- */

static bool is_made_from(const struct look *l, size_t i, const struct item *object)
{
	return object && l->s->implementer->is_made_from(&l->place, &l->provided[i], object->uid);
}

static struct item *cached(const struct look *l, size_t i)
{
	return dependents_watch_get(&l->s->watch, l->provided[i].kind, l->dependent->namespace, l->provided[i].name);
}

/* By what informers have told: whatever hinders it may be believed, since what ends that will be told as well. That nothing does is not. */
static struct verdict verdict_by_cache(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		_cleanup_(item_unrefp) struct item *object = cached(l, i);
		l->uses[i] = provider_use(object, is_made_from(l, i, object));
	}
	return verdict_of(&l->scratch, l->provided, l->uses, l->n);
}

/* The latest there is, from etcd. *ret_object NULL: it is not there. */
static int get_fresh(struct look *l, size_t i, struct item **ret_object)
{
	const struct target t = {.resource = &l->provided[i].kind->resource,
		.namespace = l->dependent->namespace,
		.name = l->provided[i].name};
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf text;
	answer_init(&answer);
	buf_init(&text, PATCH_MAX);
	count(&l->s->counters, PROVIDER_GETS);
	int r = rest_get(l->s->env->client, &t, &answer);
	if (r) {
		return answer_is(&answer, 404, NULL) ? 0 : r;
	}
	*ret_object = json_encode(&text, answer.body) ? item_new(buf_str(&text), item_managers) : NULL;
	return *ret_object ? 0 : REST_GARBLED;
}

/* What an informer was told later than what was read. */
static void take_newer(struct look *l, size_t i)
{
	struct provision *v = &l->provisions[i];
	_cleanup_(item_unrefp) struct item *told = cached(l, i);
	if (!v->provided.kind->is_constant && told && str_eq(told->uid, v->object->uid) && told->version > v->object->version) {
		item_unref(v->object);
		v->object = item_ref(told);
	}
}

static int look_at_provided(struct look *l, size_t i)
{
	struct item *object = implemented_get(&l->s->implemented, key_of(l, i));
	bool is_held = object != NULL;
	int r = is_held ? 0 : get_fresh(l, i, &object);
	if (r) {
		return r;
	}
	if (is_held) {
		count(&l->s->counters, SPARED_GETS);
	}
	l->uses[i] = provider_use(object, is_held || is_made_from(l, i, object));
	l->provisions[i] = (struct provision){l->provided[i], object};
	if (object) {
		take_newer(l, i);
	}
	return 0;
}

static int look_at_all(struct look *l)
{
	int r = 0;
	for (size_t i = 0; !r && i < l->n; i++) {
		r = look_at_provided(l, i);
	}
	return r;
}

/* ---- doing ---- */

static void hold_all(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		implemented_add(&l->s->implemented, key_of(l, i), l->provisions[i].object, l->dependent);
	}
}

static enum outcome refused(struct look *l, const char *reason, struct str why)
{
	const struct verdict v = verdict_pending(&l->scratch, reason, why);
	give_up(l, &v);
	return AGAIN;
}

static enum outcome fill(struct look *l)
{
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, WHY_MAX);
	int r = l->s->implementer->fill(l->s->env->client, l->dependent, &l->place, l->provisions, l->n, &why);
	if (r == IMPLEMENTER_UNFIT) {
		return refused(l, "Unfit", buf_str(&why));
	}
	if (r) {
		tell_problem(l, &l->place.object);
		return AGAIN;
	}
	hold_all(l);
	count(&l->s->counters, IMPLEMENTED);
	const struct verdict v = verdict_implemented();
	return tell(l, &v);
}

/* The order matters: it is kept before a place is made, and there is a place before Providers are looked at (implementer.h). */
static enum outcome implement(struct look *l)
{
	if (!keep(l)) {
		return AGAIN;
	}
	if (l->place.state == PLACE_NONE && l->s->implementer->reserve(l->s->env->client, l->dependent, &l->place)) {
		const struct answer *a = &l->place.object;
		return a->code == 403 || a->code == 422 ? refused(l, "Refused", a->message) : AGAIN;
	}
	if (look_at_all(l)) {
		return AGAIN;
	}
	struct verdict v = verdict_of(&l->scratch, l->provided, l->uses, l->n);
	return v.phase == DEPENDENT_IMPLEMENTED ? fill(l) : give_up(l, &v);
}

static enum outcome look(struct look *l)
{
	if (l->s->implementer->find(l->s->env->client, l->dependent, &l->place)) {
		return AGAIN;
	}
	if (item_is_deleting(l->dependent)) {
		return tear_down(l);
	}
	if (l->place.state == PLACE_TAKEN) {
		return refused(l, "NameTaken", STR("something else has the name of its implementation"));
	}
	struct verdict v = verdict_by_cache(l);
	/* One that is filled goes on to the server's word: it must not be undone for what a
	 * cache has not seen yet. */
	if (l->place.state != PLACE_FILLED && v.phase != DEPENDENT_IMPLEMENTED) {
		return give_up(l, &v);
	}
	return implement(l);
}

/* ---- its life ---- */

static void look_init(struct look *l, struct dependents_state *s, struct item *dependent)
{
	*l = (struct look){.s = s, .first = dependent, .dependent = item_ref(dependent)};
	l->n = provider_of(dependent->object, l->provided);
	place_init(&l->place);
	buf_init(&l->key, PROVIDED_KEY_MAX);
	arena_init(&l->scratch, SCRATCH_MAX);
}

static void look_done(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		item_unref(l->provisions[i].object);
	}
	place_done(&l->place);
	buf_done(&l->key);
	arena_done(&l->scratch);
	item_unref(l->dependent);
	item_unref(l->first);
}

bool dependent_look(struct dependents_state *s, struct str namespace, struct str name)
{
	struct item *dependent = informer_get(s->watch.dependents, namespace, name);
	struct look l;
	if (!dependent || (item_is_deleting(dependent) && !dependent_has_finalizer(dependent))) {
		item_unref(dependent);
		return true;
	}
	look_init(&l, s, dependent);
	enum outcome outcome = look(&l);
	look_done(&l);
	return outcome == DONE;
}
