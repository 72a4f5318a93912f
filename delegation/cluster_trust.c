/* Follows the ConfigMap in which the cluster says whose client certificates are trusted.
 *
 * It is followed with an informer, not read on request, because a change must take effect within a
 * moment. Callbacks are made under the lock, so trust_follower_stop() can promise that none is
 * under way.
 *
 * Each half is used whole or not at all. A list that cannot be read must not look like an empty
 * one, which allows a front proxy any name. So reading begins with a struct that trusts nobody,
 * and only a good one replaces it. */
#include "delegation/cluster_trust.h"

#include "api/model/members.h"
#include "client/informer.h"

#include <assert.h>
#include <pthread.h>

/* ---- reading the ConfigMap ---- */

enum {
	LIST_MAX = 256, /* names in a list */
	NAME_MAX_BYTES = 1024,
};

static const struct json_limits list_limits = {.depth = 2, .values = LIST_MAX + 1};

static void trust_add_problem(struct buf *problems, const char *key, const char *what)
{
	buf_printf(problems, "%s%s %s", problems->n ? "; " : "", key, what);
}

struct list_row {
	const char *key;
	const struct str **list;
	size_t *n;
	bool is_names; /* of certificates, which may be empty */
	bool is_needed;
};

static const char *name_problem(const struct json *name, bool may_be_empty)
{
	if (!json_is(name, JSON_STRING)) {
		return "is no list of strings";
	}
	if (name->n > NAME_MAX_BYTES) {
		return "has too long a name in it";
	}
	return !may_be_empty && str_trim(json_text(name)).n == 0 ? "has an empty name in it" : NULL;
}

/* Reads a list. Returns what is wrong, or NULL. Absent, "" and null are an empty list. */
static const char *trust_read_list(const struct list_row *row, struct str text, struct arena *a)
{
	struct json *list;
	size_t at;
	if (text.n == 0) {
		return NULL;
	}
	int r = json_parse(&list, a, text, list_limits, &at);
	if (r == JSON_E_VALUES) {
		return "has too many names";
	}
	if (r || !(json_is(list, JSON_ARRAY) || json_is(list, JSON_NULL))) {
		return "is no list of strings";
	}

	size_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	struct str *names = arena_array(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		const char *problem = name_problem(list->items[i], row->is_names);
		if (problem) {
			return problem;
		}
		names[i] = json_text(list->items[i]);
	}
	*row->list = names;
	*row->n = n;
	return NULL;
}

static bool trust_read_lists(struct trust *t, const struct json *data, struct arena *a, struct buf *problems)
{
	const struct list_row rows[] = {
		{"requestheader-allowed-names", &t->front_names, &t->n_front_names, .is_names = true},
		{"requestheader-username-headers", &t->user_headers, &t->n_user_headers, .is_needed = true},
		{"requestheader-uid-headers", &t->uid_headers, &t->n_uid_headers, .is_needed = false},
		{"requestheader-group-headers", &t->group_headers, &t->n_group_headers, .is_needed = false},
		{"requestheader-extra-headers-prefix", &t->extra_prefixes, &t->n_extra_prefixes, .is_needed = false},
	};
	bool is_good = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *problem = trust_read_list(&rows[i], member_text(data, rows[i].key), a);
		if (!problem && rows[i].is_needed && *rows[i].n == 0) {
			problem = "is missing";
		}
		if (problem) {
			trust_add_problem(problems, rows[i].key, problem);
			is_good = false;
		}
	}
	return is_good;
}

static struct str trust_read_ca(const struct json *data, const char *key, struct buf *problems)
{
	struct str pem = member_text(data, key);
	if (pem.n == 0) {
		trust_add_problem(problems, key, "is missing");
	}
	return pem;
}

void trust_read_users(struct trust *ret, const struct json *config_map, struct buf *problems)
{
	ret->client_ca = config_map ? trust_read_ca(json_gets(config_map, "data"), "client-ca-file", problems) : STR("");
}

void trust_read_fronts(struct trust *ret, const struct json *config_map, struct arena *a, struct buf *problems)
{
	const struct json *data = json_gets(config_map, "data");
	struct trust fronts = {.n_front_names = 0};
	if (!config_map) {
		return;
	}
	fronts.front_ca = trust_read_ca(data, "requestheader-client-ca-file", problems);
	if (trust_read_lists(&fronts, data, a, problems) && fronts.front_ca.n > 0) {
		fronts.client_ca = ret->client_ca;
		*ret = fronts;
	}
}

/* ---- following it ---- */

#define NAMESPACE "kube-system"
#define NAME "extension-apiserver-authentication"
#define CONFIG_MAP "ConfigMap " NAMESPACE "/" NAME

enum {
	NOTICE_MAX = 4096,     /* bytes of a notice for the log */
	SCRATCH_MAX = 8 << 20, /* above what etcd takes for one object */
	/* A short pause costs little: there is only one kube-apiserver and one object. */
	RETRY_MAX_MS = 2000,
};

struct trust_follower {
	struct trust_follower_options options;
	struct informer *informer; /* NULL before the start */
	struct arena scratch;      /* used by the client's thread */
	bool is_broken;            /* as was reported; used by the client's thread */
	pthread_mutex_t lock;      /* held during callbacks */
	bool is_stopped;           /* under the lock */
	_Atomic bool is_known;     /* it has been read, or found to be absent */
};

static void follower_notify(struct trust_follower *f, struct str text)
{
	pthread_mutex_lock(&f->lock);
	if (!f->is_stopped && f->options.on_notice) {
		f->options.on_notice(f->options.ctx, text);
	}
	pthread_mutex_unlock(&f->lock);
}

static void follower_tell_problems(struct trust_follower *f, const struct json *config_map, struct str problems)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NOTICE_MAX);
	if (!config_map) {
		BUF_LITERAL(&text, CONFIG_MAP " is not there: no client is trusted by it until it is");
	} else if (problems.n > 0) {
		buf_printf(&text, CONFIG_MAP ": " STR_FMT ": no client is trusted by it until it is fixed", STR_ARG(problems));
	} else if (f->is_broken) {
		BUF_LITERAL(&text, CONFIG_MAP " is valid again and in use");
	}
	f->is_broken = !config_map || problems.n > 0;
	if (text.n > 0) {
		follower_notify(f, buf_str(&text));
	}
}

static void follower_give(struct trust_follower *f, const struct trust *trust)
{
	pthread_mutex_lock(&f->lock);
	if (!f->is_stopped) {
		f->options.on_trust(f->options.ctx, trust);
	}
	pthread_mutex_unlock(&f->lock);
	atomic_store_explicit(&f->is_known, true, memory_order_release);
}

/* Takes the ConfigMap; config_map NULL: it does not exist. */
static void follower_take(struct trust_follower *f, const struct json *config_map)
{
	assert(client_is_this_thread(f->options.client));
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
	follower_give(f, &trust);
	follower_tell_problems(f, config_map, buf_str(&problems));
}

/* ---- events of the informer ---- */

static void on_config_map_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	follower_take(ctx, item->object);
}

static void on_config_map_update(void *ctx, struct item *old, struct item *item)
{
	const struct json *before = json_gets(old->object, "data"), *now = json_gets(item->object, "data");
	/* With each new verifier, every connection's verdict has to be computed again. */
	if (!before || !now || !json_equal(before, now)) {
		follower_take(ctx, item->object);
	}
}

static void on_config_map_delete(void *ctx, struct item *item _unused_, bool is_guess _unused_)
{
	follower_take(ctx, NULL);
}

static void on_config_map_synced(void *ctx)
{
	struct trust_follower *f = ctx;
	if (!atomic_load_explicit(&f->is_known, memory_order_acquire)) {
		follower_take(f, NULL);
	}
}

static void on_config_map_problem(void *ctx, bool is_over _unused_, struct str problem)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NOTICE_MAX);
	buf_printf(&text, CONFIG_MAP ": " STR_FMT, STR_ARG(problem));
	if (str_contains(problem, STR("is forbidden"))) {
		BUF_LITERAL(&text,
			"; a RoleBinding in " NAMESPACE " to the Role extension-apiserver-authentication-reader allows it");
	}
	follower_notify(ctx, buf_str(&text));
}

/* ---- lifetime ---- */

struct trust_follower *trust_follower_new(const struct trust_follower_options *options)
{
	assert(options->client && (options->on_trust || (!options->wants_users && !options->wants_fronts)));
	struct trust_follower *f = mem_new(struct trust_follower);
	f->options = *options;
	arena_init(&f->scratch, SCRATCH_MAX);
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

void trust_follower_start(struct trust_follower *f)
{
	assert(!f->informer);
	const struct informer_options options = {
		.client = f->options.client,
		.resource = {STR(""), STR("v1"), STR("configmaps")},
		.namespace = STR(NAMESPACE),
		.field_selector = STR("metadata.name=" NAME),
		.left_out = item_managers,
		.retry_max_ms = RETRY_MAX_MS,
		.handlers = {.on_add = on_config_map_add,
			.on_update = on_config_map_update,
			.on_delete = on_config_map_delete,
			.on_synced = on_config_map_synced,
			.on_problem = on_config_map_problem},
		.ctx = f,
	};
	if (f->options.wants_users || f->options.wants_fronts) {
		f->informer = informer_new(&options);
	}
}

void trust_follower_stop(struct trust_follower *f)
{
	assert(!client_is_this_thread(f->options.client)); /* it waits for callbacks under way */
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
		assert(!f->informer);
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
		BUF_LITERAL(out, "the authorities of client certificates have not been read yet from the " CONFIG_MAP "\n");
	}
}
