/* One object is followed with an informer rather than asked for: whose certificates count must
 * change within a moment of the ConfigMap. Callbacks are made under the lock, so that stopping can
 * promise that none is under way. */
#include "delegation/cluster_trust.h"

#include "client/informer.h"
#include "delegation/cluster_trust_read.h"

#include <pthread.h>

#define NAMESPACE "kube-system"
#define NAME "extension-apiserver-authentication"
#define CONFIG_MAP "ConfigMap " NAMESPACE "/" NAME

enum {
	NOTICE_MAX = 4096,
	SCRATCH_MAX = 8 << 20, /* above what etcd takes for one object */
	/* One kube-apiserver and one object: being back soon costs it nothing. */
	RETRY_MAX_MS = 2000,
};

struct trust_follower {
	struct trust_follower_options options;
	struct informer *informer; /* NULL before the start */
	struct arena scratch;      /* the client's thread's */
	bool is_broken;            /* as was told; likewise */
	pthread_mutex_t lock;      /* held during callbacks */
	bool is_stopped;           /* under the lock */
	_Atomic bool is_known;     /* it has been read, or found to be absent */
};

static void tell(struct trust_follower *f, struct str text)
{
	pthread_mutex_lock(&f->lock);
	if (!f->is_stopped && f->options.on_notice) {
		f->options.on_notice(f->options.ctx, text);
	}
	pthread_mutex_unlock(&f->lock);
}

static void tell_problems(struct trust_follower *f, const struct json *config_map, struct str problems)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NOTICE_MAX);
	if (!config_map) {
		BUF_LITERAL(&text, CONFIG_MAP " is not there: nobody is believed because of it until it is");
	} else if (problems.n > 0) {
		buf_printf(&text, CONFIG_MAP ": " STR_FMT ": nobody is believed because of that until it is mended",
			STR_ARG(problems));
	} else if (f->is_broken) {
		BUF_LITERAL(&text, CONFIG_MAP " is mended: what it says counts");
	}
	f->is_broken = !config_map || problems.n > 0;
	if (text.n > 0) {
		tell(f, buf_str(&text));
	}
}

static void give(struct trust_follower *f, const struct trust *trust)
{
	pthread_mutex_lock(&f->lock);
	if (!f->is_stopped) {
		f->options.on_trust(f->options.ctx, trust);
	}
	pthread_mutex_unlock(&f->lock);
	atomic_store_explicit(&f->is_known, true, memory_order_release);
}

/* config_map NULL: it is not there. */
static void take(struct trust_follower *f, const struct json *config_map)
{
	struct trust trust = {.n_front_names = 0};
	_cleanup_(buf_done) struct buf problems;
	buf_init(&problems, NOTICE_MAX);
	arena_clear(&f->scratch);
	if (f->options.wants_users) {
		trust_read_users(&trust, config_map, &problems);
	}
	if (f->options.wants_fronts) {
		trust_read_fronts(&trust, config_map, &f->scratch, &problems);
	}
	give(f, &trust);
	tell_problems(f, config_map, buf_str(&problems));
}

/* ---- what the informer says ---- */

static void on_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	take(ctx, item->object);
}

static void on_update(void *ctx, struct item *old, struct item *item)
{
	const struct json *before = json_gets(old->object, "data"), *now = json_gets(item->object, "data");
	/* Each new verifier makes every connection's verdict be passed again. */
	if (!before || !now || !json_equal(before, now)) {
		take(ctx, item->object);
	}
}

static void on_delete(void *ctx, struct item *item _unused_, bool is_guess _unused_)
{
	take(ctx, NULL);
}

static void on_synced(void *ctx)
{
	struct trust_follower *f = ctx;
	if (!atomic_load_explicit(&f->is_known, memory_order_acquire)) {
		take(f, NULL);
	}
}

static void on_problem(void *ctx, bool is_over _unused_, struct str problem)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NOTICE_MAX);
	buf_printf(&text, CONFIG_MAP ": " STR_FMT, STR_ARG(problem));
	if (str_contains(problem, STR("is forbidden"))) {
		BUF_LITERAL(&text, "; a RoleBinding in " NAMESPACE " to the Role extension-apiserver-authentication-reader allows it");
	}
	tell(ctx, buf_str(&text));
}

/* ---- life ---- */

struct trust_follower *trust_follower_new(const struct trust_follower_options *options)
{
	struct trust_follower *f = mem_new(struct trust_follower);
	f->options = *options;
	arena_init(&f->scratch, SCRATCH_MAX);
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

void trust_follower_start(struct trust_follower *f)
{
	const struct informer_options options = {
		.client = f->options.client,
		.resource = {STR(""), STR("v1"), STR("configmaps")},
		.namespace = STR(NAMESPACE),
		.field_selector = STR("metadata.name=" NAME),
		.left_out = item_managers,
		.retry_max_ms = RETRY_MAX_MS,
		.handlers = {.on_add = on_add,
			.on_update = on_update,
			.on_delete = on_delete,
			.on_synced = on_synced,
			.on_problem = on_problem},
		.ctx = f,
	};
	if (f->options.wants_users || f->options.wants_fronts) {
		f->informer = informer_new(&options);
	}
}

void trust_follower_stop(struct trust_follower *f)
{
	pthread_mutex_lock(&f->lock);
	f->is_stopped = true;
	pthread_mutex_unlock(&f->lock);
}

void trust_follower_end(struct trust_follower *f)
{
	f->informer = informer_free(f->informer);
}

struct trust_follower *trust_follower_free(struct trust_follower *f)
{
	if (f) {
		arena_done(&f->scratch);
		pthread_mutex_destroy(&f->lock);
		mem_free(f);
	}
	return NULL;
}

bool trust_follower_is_settled(const struct trust_follower *f)
{
	bool is_wanted = f->options.wants_users || f->options.wants_fronts;
	return !is_wanted || f->options.tolerates_failure || atomic_load_explicit(&f->is_known, memory_order_acquire);
}

void trust_follower_write_missing(const struct trust_follower *f, struct buf *out)
{
	if (!trust_follower_is_settled(f)) {
		BUF_LITERAL(out, "whose certificates to believe has not been read yet from the " CONFIG_MAP "\n");
	}
}
