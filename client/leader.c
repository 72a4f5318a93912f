/* client-go's leaderelection, on a thread of its own. The thread may block: nothing else runs on
 * it, and on_stopped() may wait for workers. Only the local monotonic clock decides; the times in
 * the Lease are for people.
 *
 * `lock` guards only is_stopping and is never held during a request or a callback. */
#include "client/leader.h"

#include "base/clock.h"
#include "client/backoff.h"
#include "client/rest.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
	LEASE_MS = 15 * 1000, /* client-go's */
	RENEW_MS = 10 * 1000,
	RETRY_MS = 2 * 1000,
	BODY_MAX = 1 << 20,    /* a Lease has less than one KiB; a longer one is not written */
	PATH_BYTES_MAX = 4096, /* of a Lease, whose namespace and name are short */
	PROBLEM_MAX = 4096,    /* bytes of a sentence for the log; a longer one is left out */
};

static const struct resource leases = {{"coordination.k8s.io", 19}, {"v1", 2}, {"leases", 6}};

struct leader {
	struct leader_options options;
	char *namespace, *name, *identity;
	pthread_t thread;
	_Atomic bool is_leading;
	/* used by the election's thread alone: the Lease as it was last seen */
	struct answer seen;    /* its body; NULL: none yet, or none there */
	int64_t seen_since_ms; /* since when it has been as it is, by our clock */
	int64_t renewed_ms;    /* when we last began a renewal that succeeded */
	char *holder;          /* the holder that was last reported */
	bool has_told;         /* a problem has been reported since the last success */
	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t wake;
	bool is_stopping;
};

/* ---- small pieces ---- */

static bool is_stopping(struct leader *l)
{
	pthread_mutex_lock(&l->lock);
	bool answer = l->is_stopping;
	pthread_mutex_unlock(&l->lock);
	return answer || client_is_stopped(l->options.client);
}

/* Sleeps until leader_free() is called or the time has passed. */
static void pause_for(struct leader *l, int64_t ms)
{
	int64_t until_ms = clock_mono_ms() + ms;
	pthread_mutex_lock(&l->lock);
	int r = 0;
	while (!l->is_stopping && r != ETIMEDOUT) {
		r = clock_cond_wait(&l->wake, &l->lock, until_ms);
	}
	pthread_mutex_unlock(&l->lock);
}

static void leader_tell(struct leader *l, const char *doing, const struct answer *a)
{
	if (!l->has_told && l->options.on_problem) {
		_cleanup_(buf_done) struct buf problem;
		buf_init(&problem, PROBLEM_MAX);
		buf_printf(&problem, "cannot %s lease %s/%s: " STR_FMT, doing, l->namespace, l->name, STR_ARG(a->message));
		l->options.on_problem(l->options.ctx, buf_str(&problem));
	}
	l->has_told = true;
}

static const struct json *spec(const struct leader *l)
{
	return json_gets(l->seen.body, "spec");
}

static struct str holder(const struct leader *l)
{
	return json_text(json_gets(spec(l), "holderIdentity"));
}

static bool is_ours(const struct leader *l)
{
	return str_is(holder(l), l->identity);
}

static int64_t number_of(const struct json *j, const char *name, int64_t otherwise)
{
	int64_t n = otherwise;
	json_to_int64(json_gets(j, name), &n);
	return n;
}

static void tell_holder(struct leader *l)
{
	struct str now = holder(l);
	if (!str_is(now, l->holder)) {
		mem_free(l->holder);
		l->holder = mem_strndup(now.p ? now.p : "", now.n);
		if (now.n && l->options.on_new_leader) {
			l->options.on_new_leader(l->options.ctx, now);
		}
	}
}

/* ---- the Lease ---- */

/* Remembers the Lease. If anybody has changed its spec, the time for which it must stay
 * unchanged begins anew. */
static void see(struct leader *l, struct answer *now, int64_t at_ms)
{
	if (!json_equal(json_gets(now->body, "spec"), spec(l))) {
		l->seen_since_ms = at_ms;
	}
	answer_done(&l->seen);
	l->seen = *now;
	answer_init(now);
	tell_holder(l);
}

/* The timeout of one call: half of the time left to renew, so that one lost request does not
 * cost the lease. It never exceeds the moment of stepping down. */
static int64_t time_for_call(const struct leader *l)
{
	int64_t half = l->options.renew_ms / 2;
	if (!atomic_load(&l->is_leading)) {
		return half;
	}
	int64_t left = l->renewed_ms + l->options.renew_ms - clock_mono_ms();
	return MAX(MIN(half, left), 1);
}

static struct target target_of(const struct leader *l, bool is_named)
{
	return (struct target){.resource = &leases,
		.namespace = str_of(l->namespace),
		.name = is_named ? str_of(l->name) : (struct str){NULL, 0}};
}

static int call(struct leader *l, const char *method, bool is_named, const struct json *body, struct answer *ret)
{
	_cleanup_(buf_done) struct buf path, text;
	const struct target t = target_of(l, is_named);
	buf_init(&path, PATH_BYTES_MAX);
	buf_init(&text, BODY_MAX);
	target_path(&path, &t);
	if (body) {
		json_encode(&text, body);
	}
	return rest_do(l->options.client,
		&(struct rest_call){.method = method,
			.path = path.p,
			.body = buf_str(&text),
			.timeout_ms = time_for_call(l),
			.is_single = true},
		ret);
}

struct wish {
	const char *holder;
	int64_t lease_s;
	bool keeps_term; /* acquireTime and leaseTransitions stay */
	bool is_next;    /* the lease begins a new term */
};

static void set_text(struct arena *a, struct json *object, const char *name, const char *text)
{
	json_set(a, object, str_of(name), json_string(a, arena_dup(a, str_of(text))));
}

static struct json *make_spec(const struct leader *l, const struct wish *w, struct arena *a)
{
	char now[TIME_RFC3339_MICRO_SIZE];
	const struct json *old = spec(l);
	struct json *made = json_is(old, JSON_OBJECT) ? json_copy(a, old) : json_object(a);
	time_format_rfc3339_micro(now, clock_wall_us());
	set_text(a, made, "holderIdentity", w->holder);
	json_set(a, made, STR("leaseDurationSeconds"), json_int(a, w->lease_s));
	set_text(a, made, "renewTime", now);
	if (!w->keeps_term) {
		set_text(a, made, "acquireTime", now);
		json_set(a, made, STR("leaseTransitions"), json_int(a, number_of(old, "leaseTransitions", 0) + w->is_next));
	}
	return made;
}

static struct json *make_lease(const struct leader *l, const struct wish *w, struct arena *a)
{
	struct json *lease = l->seen.body ? json_copy(a, l->seen.body) : json_object(a);
	if (!l->seen.body) {
		struct json *meta = json_object(a);
		set_text(a, lease, "apiVersion", "coordination.k8s.io/v1");
		set_text(a, lease, "kind", "Lease");
		set_text(a, meta, "namespace", l->namespace);
		set_text(a, meta, "name", l->name);
		json_add(a, lease, STR("metadata"), meta);
	}
	json_set(a, lease, STR("spec"), make_spec(l, w, a));
	return lease;
}

/* Writes the Lease. Its resourceVersion ensures that nobody else has written it since it was
 * last read. */
static bool write_lease(struct leader *l, const struct wish *w, const char *doing)
{
	struct arena arena;
	struct answer a;
	int64_t began_ms = clock_mono_ms();
	bool is_new = !l->seen.body;
	arena_init(&arena, BODY_MAX);
	answer_init(&a);
	int r = call(l, is_new ? "POST" : "PUT", !is_new, make_lease(l, w, &arena), &a);
	arena_done(&arena);
	if (r == 0) {
		see(l, &a, began_ms);
		/* The moment when the request began counts, not when it ended: other candidates
		 * count from the server's write. */
		l->renewed_ms = began_ms;
		l->has_told = false;
	} else if (r != REST_STOPPED && !answer_is(&a, 409, NULL)) {
		leader_tell(l, doing, &a);
	}
	answer_done(&a);
	return r == 0;
}

/* Reads the Lease. Returns false when the server gave no usable answer. */
static bool leader_look(struct leader *l)
{
	struct answer a;
	const struct target t = target_of(l, true);
	answer_init(&a);
	int r = call(l, "GET", true, NULL, &a);
	bool is_known = r == 0 || (r == REST_STATUS && answer_is_absent(&a, &t));
	if (r == 0) {
		see(l, &a, clock_mono_ms());
	} else if (is_known) {
		answer_done(&l->seen);
	} else if (r != REST_STOPPED) {
		leader_tell(l, "read", &a);
	}
	answer_done(&a);
	return is_known;
}

/* ---- terms ---- */

static bool is_held_by_another(const struct leader *l)
{
	int64_t lease_ms = number_of(spec(l), "leaseDurationSeconds", 0) * 1000;
	return holder(l).n && !is_ours(l) && clock_mono_ms() - l->seen_since_ms < lease_ms;
}

static bool try_to_hold(struct leader *l)
{
	struct wish w = {.holder = l->identity, .lease_s = l->options.lease_ms / 1000};
	/* client-go's fast path: a leader renews from the Lease it wrote last, and reads only
	 * when that fails. */
	if (is_ours(l) && write_lease(l, &(struct wish){w.holder, w.lease_s, true, false}, "renew")) {
		return true;
	}
	if (!leader_look(l) || is_held_by_another(l)) {
		return false;
	}
	w.keeps_term = is_ours(l);
	w.is_next = l->seen.body && !is_ours(l);
	return write_lease(l, &w, w.keeps_term ? "renew" : "take");
}

static void leader_lead(struct leader *l)
{
	assert(!atomic_load(&l->is_leading));
	const struct leader_options *o = &l->options;
	atomic_store(&l->is_leading, true);
	o->on_started(o->ctx);
	bool is_held = true;
	while (is_held && !is_stopping(l)) {
		pause_for(l, o->retry_ms);
		if (!is_stopping(l)) {
			is_held = try_to_hold(l) || clock_mono_ms() - l->renewed_ms < o->renew_ms;
			is_held = is_held && is_ours(l);
		}
	}
	atomic_store(&l->is_leading, false);
	o->on_stopped(o->ctx);
}

/* Releases the Lease, so that another candidate need not wait until it ends. */
static void give_back(struct leader *l)
{
	if (is_ours(l)) {
		/* As in client-go's release(): no holder, and a duration of one second. */
		write_lease(l, &(struct wish){.holder = "", .lease_s = 1}, "give back");
	}
}

static void *leader_run(void *ctx)
{
	struct leader *l = ctx;
	int64_t retry_ms = l->options.retry_ms;
	while (!is_stopping(l)) {
		if (try_to_hold(l)) {
			leader_lead(l);
		} else {
			/* client-go's JitterFactor of 1.2 keeps candidates from coming all at
			 * once. */
			pause_for(l, retry_ms + random_below(retry_ms * 6 / 5));
		}
	}
	give_back(l);
	return NULL;
}

/* ---- lifetime ---- */

static struct leader *leader_clear(struct leader *l)
{
	answer_done(&l->seen);
	mem_free(l->holder);
	mem_free(l->namespace);
	mem_free(l->name);
	mem_free(l->identity);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->wake);
	return mem_free(l);
}

int leader_new(struct leader **ret, const struct leader_options *options, struct buf *err)
{
	assert(options->client && options->namespace && options->name && options->identity);
	assert(options->on_started && options->on_stopped);
	struct leader *l = mem_new(struct leader);
	l->options = *options;
	l->namespace = mem_strdup(options->namespace);
	l->name = mem_strdup(options->name);
	l->identity = mem_strdup(options->identity);
	l->options.lease_ms = options->lease_ms ? options->lease_ms : LEASE_MS;
	l->options.renew_ms = options->renew_ms ? options->renew_ms : RENEW_MS;
	l->options.retry_ms = options->retry_ms ? options->retry_ms : RETRY_MS;
	answer_init(&l->seen);
	assert(l->options.retry_ms <= l->options.renew_ms && l->options.renew_ms <= l->options.lease_ms);
	clock_cond_init(&l->wake);
	pthread_mutex_init(&l->lock, NULL);
	int r = -pthread_create(&l->thread, NULL, leader_run, l);
	if (r) {
		buf_printf(err, "cannot start a thread: %s", strerror(-r));
		leader_clear(l);
		return r;
	}
	pthread_setname_np(l->thread, "leader");
	*ret = l;
	return 0;
}

struct leader *leader_free(struct leader *l)
{
	if (l) {
		pthread_mutex_lock(&l->lock);
		l->is_stopping = true;
		pthread_cond_signal(&l->wake);
		pthread_mutex_unlock(&l->lock);
		pthread_join(l->thread, NULL);
		leader_clear(l);
	}
	return NULL;
}

bool leader_is_leading(const struct leader *l)
{
	return atomic_load(&l->is_leading);
}
