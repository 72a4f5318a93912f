/* The collector's attempts in a world that never stands still: users change it between any two requests of an attempt, informers
 * are late, answers get lost. Nothing that has a live owner may be deleted; when everybody else rests, nothing that should go stays.
 *
 * The attempts are the real ones; gc_live.h, through which they see the server, is simulated here. */
#include "controllers/gc/gc_attempt.h"
#include "controllers/gc/gc_live.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { OBJECTS = 160, NAMES = 12, REFS = 3, EVENTS_MAX = 8192, ROUNDS = 250, STEPS = 300, REST_MAX = 50 };

struct owner {
	int object; /* whose uid it is; OBJECTS: nobody's */
	int name;
	bool blocks;
};

/* An object is its index, which is its uid; of those with one name at most one is there. */
struct object {
	bool is_there, is_deleting, has_orphan, has_foreground, has_hold;
	int name;
	uint64_t version;
	struct owner owners[REFS];
	size_t n_owners;
};

struct event {
	int object;
	bool is_deletion;
	struct object state;
};

static struct world {
	struct object objects[OBJECTS];
	int n_objects;
	struct event events[EVENTS_MAX]; /* what informers will tell, in order */
	size_t n_events, n_told;
	bool to_delete[OBJECTS + 1], to_orphan[OBJECTS + 1];
	uint64_t version;
	unsigned seed;
	bool is_resting; /* users do nothing, answers arrive */
	struct gc_core core;
} w;

static int pick(int n)
{
	return rand_r(&w.seed) % n;
}

/* ---- names ---- */

static struct str text(char out[16], char letter, int i)
{
	return (struct str){out, (size_t)snprintf(out, 16, "%c%d", letter, i)};
}

static int number(struct str s)
{
	int64_t n = 0;
	assert_true(s.n > 1 && str_to_int64((struct str){s.p + 1, s.n - 1}, &n));
	return (int)n;
}

struct ref_text {
	char name[16], uid[16];
};

static struct gc_ref ref_of(struct ref_text *t, int object, int name)
{
	return (struct gc_ref){STR("v1"), STR("Thing"), STR("ns"), text(t->name, 'n', name), text(t->uid, 'u', object)};
}

/* ---- the server ---- */

static struct object *by_name(int name)
{
	for (int i = 0; i < w.n_objects; i++) {
		if (w.objects[i].is_there && w.objects[i].name == name) {
			return &w.objects[i];
		}
	}
	return NULL;
}

static int index_of(const struct object *o)
{
	return (int)(o - w.objects);
}

static void tell(const struct object *o, bool is_deletion)
{
	assert_true(w.n_events < EVENTS_MAX);
	w.events[w.n_events++] = (struct event){index_of(o), is_deletion, *o};
}

static void settle(struct object *o)
{
	o->version = ++w.version;
	if (o->is_deleting && !o->has_orphan && !o->has_foreground && !o->has_hold) {
		o->is_there = false;
	}
	tell(o, !o->is_there);
}

static void remove_object(struct object *o, char policy)
{
	o->has_orphan = policy == 'O';
	o->has_foreground = policy == 'F';
	o->is_deleting = true;
	settle(o);
}

static bool is_dangling(const struct owner *ref)
{
	const struct object *o = ref->object < OBJECTS ? &w.objects[ref->object] : NULL;
	return !o || !o->is_there || o->name != ref->name;
}

/* Is it there, and does it not wait for its dependents to go? */
static bool is_solid(const struct owner *ref)
{
	const struct object *o = &w.objects[ref->object % OBJECTS];
	return !is_dangling(ref) && !(o->is_deleting && o->has_foreground);
}

static bool has_solid_owner(const struct object *o)
{
	for (size_t k = 0; k < o->n_owners; k++) {
		if (is_solid(&o->owners[k])) {
			return true;
		}
	}
	return false;
}

/* ---- users ---- */

static void user_creates(void)
{
	int name = pick(NAMES);
	struct object *o = &w.objects[w.n_objects];

	if (w.n_objects == OBJECTS || by_name(name)) {
		return;
	}
	*o = (struct object){.is_there = true, .name = name, .has_hold = pick(12) == 0, .n_owners = (size_t)pick(REFS)};
	for (size_t k = 0; k < o->n_owners; k++) {
		int owner = pick(10) ? pick(w.n_objects + 1) : OBJECTS;
		owner = owner == w.n_objects
			? OBJECTS
			: owner; /* nobody owns itself: foreground deletion would wait for ever, in kube too */
		int its_name = owner < OBJECTS && pick(15) ? w.objects[owner].name : pick(NAMES);
		o->owners[k] = (struct owner){owner, its_name, pick(2)};
	}
	w.n_objects++;
	settle(o);
}

static void user_deletes(struct object *o)
{
	remove_object(o, o->has_orphan ? 'O' : o->has_foreground ? 'F' : "BFO"[pick(3)]);
}

/* The race that matters most: an object gets a live owner while its collection is being decided. */
static void user_adopts(struct object *o)
{
	struct object *owner = by_name(pick(NAMES));

	if (!owner || owner == o || owner->is_deleting || o->n_owners == REFS) {
		return;
	}
	for (size_t k = 0; k < o->n_owners; k++) {
		if (o->owners[k].object == index_of(owner)) {
			return;
		}
	}
	o->owners[o->n_owners++] = (struct owner){index_of(owner), owner->name, pick(2)};
	settle(o);
}

static void user_releases(struct object *o)
{
	o->n_owners -= o->n_owners > 0;
	settle(o);
}

static void user_holds_or_not(struct object *o)
{
	o->has_hold = !o->has_hold && !o->is_deleting;
	settle(o);
}

static void user_touches(struct object *o)
{
	settle(o);
}

static void user_acts(void)
{
	static void (*const acts[])(struct object * o) = {
		user_deletes, user_adopts, user_adopts, user_releases, user_holds_or_not, user_touches};
	struct object *o = by_name(pick(NAMES));

	if (!o || pick(2)) {
		user_creates();
	} else {
		acts[pick(ARRAY_SIZE(acts))](o);
	}
}

/* ---- informers ---- */

static void observe(const struct event *e, const struct gc_ref *ref)
{
	struct ref_text texts[REFS];
	struct gc_owner owners[REFS];
	const struct gc_object o = {
		.ref = *ref,
		.version = e->state.version,
		.owners = owners,
		.n_owners = e->state.n_owners,
		.is_deleting = e->state.is_deleting,
		.has_orphan_finalizer = e->state.has_orphan,
		.has_foreground_finalizer = e->state.has_foreground,
	};

	for (size_t k = 0; k < e->state.n_owners; k++) {
		const struct owner *owner = &e->state.owners[k];
		owners[k] = (struct gc_owner){ref_of(&texts[k], owner->object, owner->name), owner->blocks};
	}
	gc_core_observe(&w.core, &o);
}

static void hear_event(void)
{
	const struct event *e = &w.events[w.n_told];
	struct ref_text t;
	const struct gc_ref r = ref_of(&t, e->object, e->state.name);

	if (w.n_told == w.n_events) {
		return;
	}
	w.n_told++;
	if (e->is_deletion) {
		gc_core_forget(&w.core, &r, pick(4) == 0);
	} else {
		observe(e, &r);
	}
}

static void hear_all(void)
{
	while (w.n_told < w.n_events) {
		hear_event();
	}
}

/* What happens while a request is on its way. */
static void world_goes_on(void)
{
	for (int i = w.is_resting ? 0 : pick(3); i > 0; i--) {
		user_acts();
	}
	for (int i = pick(3); i > 0; i--) {
		hear_event();
	}
}

/* ---- gc_live.h ---- */

void gc_live_init(struct gc_live *l, struct gc_core *core)
{
	*l = (struct gc_live){.core = core};
	arena_init(&l->arena, 64 << 20);
}

void gc_live_done(struct gc_live *l)
{
	arena_done(&l->arena);
}

static bool is_lost(void)
{
	return !w.is_resting && pick(20) == 0;
}

static struct object *target(const struct gc_ref *r)
{
	return by_name(number(r->name));
}

static int say(struct answer *a, int code)
{
	a->code = code;
	return code == 200 ? 0 : REST_STATUS;
}

static struct json *json_of(struct arena *a, const struct object *o)
{
	struct json *body = json_object(a), *meta = json_object(a), *refs = json_array(a), *finalizers = json_array(a);
	struct buf version;
	buf_init(&version, 64);
	buf_printf(&version, "%llu", (unsigned long long)o->version);
	json_add(a, body, STR("metadata"), meta);
	json_add(a, meta, STR("resourceVersion"), json_string(a, arena_dup(a, buf_str(&version))));
	buf_done(&version);
	for (size_t k = 0; k < o->n_owners; k++) {
		struct ref_text t;
		const struct gc_ref r = ref_of(&t, o->owners[k].object, o->owners[k].name);
		struct json *ref = json_object(a);
		json_add(a, ref, STR("apiVersion"), json_string(a, r.api_version));
		json_add(a, ref, STR("kind"), json_string(a, r.kind));
		json_add(a, ref, STR("name"), json_string(a, arena_dup(a, r.name)));
		json_add(a, ref, STR("uid"), json_string(a, arena_dup(a, r.uid)));
		json_append(a, refs, ref);
	}
	json_add(a, meta, STR("ownerReferences"), refs);
	if (o->has_orphan) {
		json_append(a, finalizers, json_string(a, STR("orphan")));
	}
	if (o->has_foreground) {
		json_append(a, finalizers, json_string(a, STR("foregroundDeletion")));
	}
	json_add(a, meta, STR("finalizers"), finalizers);
	json_add(a, meta, STR("deletionTimestamp"), o->is_deleting ? json_string(a, STR("now")) : json_null(a));
	return body;
}

enum gc_found gc_live_get(struct gc_live *l _unused_, const struct gc_ref *r, struct answer *answer, struct gc_ref *place)
{
	world_goes_on();
	if (place) {
		*place = *r;
	}
	const struct object *o = target(r);
	if (is_lost()) {
		return GC_UNKNOWN;
	}
	if (!o || index_of(o) != number(r->uid)) {
		return GC_ABSENT;
	}
	answer->body = json_of(&answer->arena, o);
	return GC_FOUND;
}

bool gc_live_is_absent(struct gc_live *l _unused_, const struct gc_ref *r _unused_, const struct answer *answer)
{
	return answer->code == 404;
}

static bool is_version(const struct object *o, struct str version)
{
	int64_t n;
	return str_to_int64(version, &n) && (uint64_t)n == o->version;
}

int gc_live_delete(
	struct gc_live *l _unused_, const struct gc_ref *r, struct str version, const char *propagation, struct answer *answer)
{
	world_goes_on();
	struct object *o = target(r);
	if (!o) {
		return say(answer, 404);
	}
	if (index_of(o) != number(r->uid) || !is_version(o, version)) {
		return say(answer, 409);
	}
	assert_true(o->n_owners > 0);
	assert_false(has_solid_owner(o));
	remove_object(o, propagation[0]);
	return is_lost() ? REST_UNREACHABLE : say(answer, 200);
}

int gc_live_unrefer(struct gc_live *l _unused_, const struct gc_ref *r, const struct str *uids, size_t n, struct answer *answer)
{
	world_goes_on();
	struct object *o = target(r);
	if (!o || index_of(o) != number(r->uid)) {
		return say(answer, o ? 409 : 404);
	}
	size_t kept = 0;
	for (size_t k = 0; k < o->n_owners; k++) {
		bool goes = false;
		for (size_t i = 0; i < n; i++) {
			goes |= number(uids[i]) == o->owners[k].object;
		}
		if (!goes) {
			o->owners[kept++] = o->owners[k];
		}
	}
	o->n_owners = kept;
	settle(o);
	return is_lost() ? REST_UNREACHABLE : say(answer, 200);
}

int gc_live_unblock(struct gc_live *l _unused_, const struct gc_ref *r, const struct json *meta, struct answer *answer)
{
	world_goes_on();
	struct object *o = target(r);
	if (!o || index_of(o) != number(r->uid) || !is_version(o, json_text(json_gets(meta, "resourceVersion")))) {
		return say(answer, o ? 409 : 404);
	}
	for (size_t k = 0; k < o->n_owners; k++) {
		o->owners[k].blocks = false;
	}
	settle(o);
	answer->body = json_of(&answer->arena, o);
	return say(answer, 200);
}

int gc_live_finalize(struct gc_live *l _unused_, const struct gc_ref *r, const struct json *meta, const char *finalizer,
	struct answer *answer)
{
	world_goes_on();
	struct object *o = target(r);
	if (!o || index_of(o) != number(r->uid) || !is_version(o, json_text(json_gets(meta, "resourceVersion")))) {
		return say(answer, o ? 409 : 404);
	}
	if (strcmp(finalizer, "orphan") == 0) {
		o->has_orphan = false;
	} else {
		o->has_foreground = false;
	}
	settle(o);
	return is_lost() ? REST_UNREACHABLE : say(answer, 200);
}

void gc_live_complain(struct gc_live *l _unused_, const struct gc_ref *r _unused_, const char *what _unused_,
	const struct answer *answer _unused_)
{
}

/* ---- the collector ---- */

static void on_delete(void *context _unused_, struct str uid)
{
	w.to_delete[number(uid)] = true;
}

static void on_orphan(void *context _unused_, struct str uid)
{
	w.to_orphan[number(uid)] = true;
}

static void on_invalid_namespace(
	void *context _unused_, const struct gc_ref *object _unused_, const struct gc_ref *owner _unused_)
{
	fail();
}

static const struct gc_sink sink = {on_delete, on_orphan, on_invalid_namespace};

static bool attempt_one(bool *queue, int i, enum gc_outcome (*attempt)(struct gc_core *c, struct str uid))
{
	char uid[16];

	if (!queue[i]) {
		return false;
	}
	queue[i] = false;
	if (attempt(&w.core, text(uid, 'u', i)) == GC_RETRY) {
		queue[i] = true;
	}
	return true;
}

static void attempt_some(void)
{
	attempt_one(w.to_delete, pick(OBJECTS + 1), gc_attempt_delete);
	attempt_one(w.to_orphan, pick(OBJECTS + 1), gc_attempt_orphan);
}

static void attempt_all(void)
{
	for (int i = 0; i <= OBJECTS; i++) {
		attempt_one(w.to_delete, i, gc_attempt_delete);
		attempt_one(w.to_orphan, i, gc_attempt_orphan);
	}
}

static bool is_at_rest(void)
{
	for (int i = 0; i <= OBJECTS; i++) {
		if (w.to_delete[i] || w.to_orphan[i]) {
			return false;
		}
	}
	return w.n_told == w.n_events;
}

/* ---- what has to hold in the end ---- */

static bool blocks_owner(const struct object *dependent, int owner)
{
	for (size_t k = 0; k < dependent->n_owners; k++) {
		if (dependent->owners[k].object == owner && dependent->owners[k].blocks) {
			return true;
		}
	}
	return false;
}

/* By something that is on its way and held; all else should have gone. */
static bool is_blocked(const struct object *o)
{
	bool is_blocked = false;

	for (int d = 0; d < w.n_objects; d++) {
		if (w.objects[d].is_there && blocks_owner(&w.objects[d], index_of(o))) {
			assert_true(w.objects[d].is_deleting);
			is_blocked = true;
		}
	}
	return is_blocked;
}

static void check_end(const struct object *o)
{
	if (o->is_deleting) {
		assert_false(o->has_orphan);
		assert_true(o->has_foreground ? is_blocked(o) : o->has_hold);
		return;
	}
	for (size_t k = 0; k < o->n_owners; k++) {
		assert_false(is_dangling(&o->owners[k]));
	}
}

static void play(unsigned seed)
{
	const struct controller_env env = {0};

	memset(&w, 0, sizeof(w));
	w.seed = seed;
	gc_core_init(&w.core, &env, &sink, NULL);
	for (int i = 0; i < STEPS; i++) {
		world_goes_on();
		attempt_some();
	}
	/* Some attempts may go on for ever: an owner that is not there, by another name each time, of an object that is held. */
	w.is_resting = true;
	for (int i = 0; i < REST_MAX && !is_at_rest(); i++) {
		hear_all();
		attempt_all();
	}
	for (int i = 0; i < w.n_objects; i++) {
		if (w.objects[i].is_there) {
			check_end(&w.objects[i]);
		}
	}
	gc_core_done(&w.core);
}

static void test_gc_attempt__spares_the_owned_and_takes_the_rest(void **state _unused_)
{
	for (unsigned seed = 1; seed <= ROUNDS; seed++) {
		play(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gc_attempt__spares_the_owned_and_takes_the_rest),
	};
	return cmocka_run_group_tests_name("gc_world", tests, NULL, NULL);
}
