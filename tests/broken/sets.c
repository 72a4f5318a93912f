/* Takes laws and steps out of the StatefulSet controller of an annals that is linked with -Wl,--wrap of these functions: those that $ANNALS_UNGUARDED
 * names. Each of them is a mistake that a controller might have; tests must find objects that suffer by it (tests/integration/invariants.py). */
#include "api/model/members.h"
#include "base/clock.h"
#include "client/informer.h"
#include "controllers/kit/adoption.h"
#include "controllers/kit/family.h"
#include "controllers/kit/history_private.h"
#include "controllers/kit/own_writes.h"
#include "controllers/statefulset/member.h"
#include "tests/broken/unguarded.h"

#include <stdio.h>
#include <time.h>

/* ---- seed 001: the Three Laws ---- */

enum claim __real_ownership_claim(const struct owner *o, const struct json *meta, bool matches);
enum claim __wrap_ownership_claim(const struct owner *o, const struct json *meta, bool matches);

/* What has the right labels is taken for one's own, whoever controls it and whatever its name. */
enum claim __wrap_ownership_claim(const struct owner *o, const struct json *meta, bool matches)
{
	enum claim claim = __real_ownership_claim(o, meta, matches);
	return claim == CLAIM_IGNORED && matches && is_unguarded("claims") ? CLAIM_KEPT : claim;
}

bool __real_ownership_controller(const struct json *meta, struct owner_reference *ret);
bool __wrap_ownership_controller(const struct json *meta, struct owner_reference *ret);

/* So that those are looked at in the first place. */
bool __wrap_ownership_controller(const struct json *meta, struct owner_reference *ret)
{
	bool has = __real_ownership_controller(meta, ret);
	return has && (str_is(ret->kind, "StatefulSet") || !is_unguarded("claims"));
}

enum adoption_result __real_adoption_take(
	struct adoption *a, const struct target *object, struct str uid, struct answer *answer);
enum adoption_result __wrap_adoption_take(
	struct adoption *a, const struct target *object, struct str uid, struct answer *answer);

/* `slow-adoption` says that it begins, goes on when the owner is gone, and says when it is over. */
static void wait_until_gone(struct adoption *a)
{
	bool is_gone = false;

	for (int i = 0; !is_gone && i < 1000; i++) {
		_cleanup_(answer_done) struct answer answer;
		answer_init(&answer);
		is_gone = rest_get_metadata(a->client, a->owner_target, &answer) && answer_is(&answer, 404, NULL);
		nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
	}
}

/* The owner is not looked at first. */
enum adoption_result __wrap_adoption_take(
	struct adoption *a, const struct target *object, struct str uid, struct answer *answer)
{
	if (is_unguarded("slow-adoption")) {
		fprintf(stderr, "slow-adoption begins\n");
		wait_until_gone(a);
	}
	if (is_unguarded("live-read")) {
		a->owner_state = OWNER_STAYS;
	}
	enum adoption_result result = __real_adoption_take(a, object, uid, answer);
	if (is_unguarded("slow-adoption")) {
		fprintf(stderr, "slow-adoption: %d\n", result);
	}
	return result;
}

struct json *__real_member_make(const struct set *s, const struct revision *r, int64_t ordinal, struct arena *a);
struct json *__wrap_member_make(const struct set *s, const struct revision *r, int64_t ordinal, struct arena *a);

/* Born without a controller, or without a revision: to be adopted, or labelled, later. */
struct json *__wrap_member_make(const struct set *s, const struct revision *r, int64_t ordinal, struct arena *a)
{
	struct json *pod = __real_member_make(s, r, ordinal, a), *meta = json_gets(pod, "metadata");

	if (is_unguarded("reference")) {
		json_remove(meta, STR("ownerReferences"));
	}
	if (is_unguarded("revision-label")) {
		json_remove(json_gets(meta, "labels"), STR("controller-revision-hash"));
	}
	return pod;
}

/* ---- caches that lag ---- */

int __real_own_writes_behind(struct own_writes *w, struct str owner_uid);
int __wrap_own_writes_behind(struct own_writes *w, struct str owner_uid);

int __wrap_own_writes_behind(struct own_writes *w, struct str owner_uid)
{
	return is_unguarded("own-writes") ? -1 : __real_own_writes_behind(w, owner_uid);
}

/* With `slow-revisions` each new revision is kept from the controller for a while, and the caches say honestly that they are behind. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct family *family;
	struct item *item;
	int64_t since_ms;
} held;

enum { HELD_MS = 2000 };

void __real_family_put(struct family *f, struct item *item);
void __wrap_family_put(struct family *f, struct item *item);
uint64_t __real_informer_version(const struct informer *f);
uint64_t __wrap_informer_version(const struct informer *f);

static void release(bool is_due)
{
	if (held.item && (is_due || clock_mono_ms() - held.since_ms >= HELD_MS)) {
		__real_family_put(held.family, held.item);
		item_unref(held.item);
		held.item = NULL;
	}
}

void __wrap_family_put(struct family *f, struct item *item)
{
	const struct json *labels = json_gets(item_meta(item), "labels");

	pthread_mutex_lock(&lock);
	if (is_unguarded("slow-revisions") &&
		(json_gets(labels, HISTORY_LABEL_HASH) || json_gets(labels, HISTORY_LABEL_CREATED_BY))) {
		release(true);
		held.family = f;
		held.item = item_ref(item);
		held.since_ms = clock_mono_ms();
	} else {
		__real_family_put(f, item);
	}
	pthread_mutex_unlock(&lock);
}

/* What was last said of an informer: versions go back only where a backup is restored. */
static uint64_t *last_said(const struct informer *f)
{
	static struct {
		const struct informer *f;
		uint64_t version;
	} all[64];
	size_t i = 0;

	while (all[i].f && all[i].f != f && i < ARRAY_SIZE(all) - 1) {
		i++;
	}
	all[i].f = f;
	return &all[i].version;
}

uint64_t __wrap_informer_version(const struct informer *f)
{
	uint64_t version = __real_informer_version(f), *last;

	pthread_mutex_lock(&lock);
	release(false);
	last = last_said(f);
	if (held.item) {
		version = MIN(version, MAX(held.item->version - 1, *last));
	}
	*last = version;
	pthread_mutex_unlock(&lock);
	return version;
}

/* ---- seed 002: guarantees ---- */

bool __real_member_read(struct member *ret, const struct json *pod, const struct set *s, int64_t now_s);
bool __wrap_member_read(struct member *ret, const struct json *pod, const struct set *s, int64_t now_s);

/* Nobody is waited for: neither before the next pod is made, nor before the next one is updated. */
bool __wrap_member_read(struct member *ret, const struct json *pod, const struct set *s, int64_t now_s)
{
	bool is_member = __real_member_read(ret, pod, s, now_s);
	if (is_unguarded("waiting") && ret->phase != POD_OVER) {
		ret->phase = POD_RUNNING;
		ret->is_ready = ret->is_available = true;
		ret->is_terminating = false;
	}
	return is_member;
}

/* ---- seed 000: the history ---- */

bool __real_history_sample_equals(struct history_sample *s, const struct json *state);
bool __wrap_history_sample_equals(struct history_sample *s, const struct json *state);

/* A state is never known again, unless it is the newest one to the letter. */
bool __wrap_history_sample_equals(struct history_sample *s, const struct json *state)
{
	return is_unguarded("equality") ? false : __real_history_sample_equals(s, state);
}

size_t __real_history_excess(const struct carrier *c, const struct history *h, int64_t limit,
	bool (*is_live)(void *ctx, const struct revision *r), void *ctx, struct revision ***ret, struct arena *a);
size_t __wrap_history_excess(const struct carrier *c, const struct history *h, int64_t limit,
	bool (*is_live)(void *ctx, const struct revision *r), void *ctx, struct revision ***ret, struct arena *a);

static bool nobody_lives(void *ctx _unused_, const struct revision *r _unused_)
{
	return false;
}

size_t __wrap_history_excess(const struct carrier *c, const struct history *h, int64_t limit,
	bool (*is_live)(void *ctx, const struct revision *r), void *ctx, struct revision ***ret, struct arena *a)
{
	if (is_unguarded("limit")) {
		return 0;
	}
	if (is_unguarded("one-more") && limit > 0) {
		limit--;
	}
	return __real_history_excess(c, h, limit, is_unguarded("liveness") ? nobody_lives : is_live, ctx, ret, a);
}
