/* Whoever asks takes a reference under a lock held for that alone; the set never changes. Until
 * configurations have been listed there is no set, and writes wait: an unknown webhook is not an
 * absent one. `may_have` spares even the lock where there are none. */
#include "delegation/webhooks/webhook_store.h"

#include <pthread.h>

enum {
	NOTICES_MAX = 64 << 10,
	RETRY_MAX_MS = 4000, /* as for namespaces: a stale configuration lets through what should not be */
};

struct followed {
	struct webhook_store *store;
	struct informer *informer;
	struct item **items; /* sorted by name; of the client's thread */
	size_t n, cap;
	bool has_synced;
	struct buf notices; /* of the latest set: told already */
	_Atomic bool may_have;
	struct webhook_set *set; /* guarded by the store's lock */
};

struct webhook_store {
	struct webhook_store_options options;
	/* Guards the phases' `set`. */
	pthread_mutex_t lock;
	struct followed phases[2]; /* of enum webhook_phase */
};

static const char *const plurals[] = {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"};

/* ---- what is told ---- */

static void tell(struct webhook_store *s, struct str text)
{
	if (s->options.on_notice) {
		s->options.on_notice(s->options.ctx, text);
	}
}

static void tell_news(struct followed *f, const struct buf *notices)
{
	for (struct str line, text = buf_str(notices); text.n;) {
		str_cut(text, '\n', &line, &text);
		if (!str_contains(buf_str(&f->notices), line)) {
			tell(f->store, line);
		}
	}
}

/* ---- sets ---- */

static void publish(struct followed *f, struct webhook_set *set)
{
	pthread_mutex_lock(&f->store->lock);
	struct webhook_set *old = f->set;
	f->set = set;
	pthread_mutex_unlock(&f->store->lock);
	atomic_store(&f->may_have, set->n > 0 || set->is_over);
	webhook_set_unref(old);
}

static void rebuild(struct followed *f)
{
	if (!f->has_synced) {
		return;
	}
	struct buf notices;
	buf_init(&notices, NOTICES_MAX);
	const struct json **configurations = mem_array(f->n + 1, sizeof(*configurations));
	for (size_t i = 0; i < f->n; i++) {
		configurations[i] = f->items[i]->object;
	}
	publish(f, webhook_set_new(configurations, f->n, &notices));
	mem_free(configurations);
	tell_news(f, &notices);
	buf_done(&f->notices);
	f->notices = notices;
}

/* ---- items ---- */

/* Where the name is, or would be. */
static size_t place_of(const struct followed *f, struct str name, bool *ret_is_there)
{
	size_t low = 0, high = f->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(f->items[middle]->name, name) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	*ret_is_there = low < f->n && str_eq(f->items[low]->name, name);
	return low;
}

static void insert(struct followed *f, size_t at, struct item *item)
{
	if (f->n == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 16;
		f->items = mem_realloc_array(f->items, f->cap, sizeof(*f->items));
	}
	memmove(&f->items[at + 1], &f->items[at], (f->n - at) * sizeof(*f->items));
	f->items[at] = item_ref(item);
	f->n++;
}

static void put(struct followed *f, struct item *item)
{
	bool is_there;
	size_t at = place_of(f, item->name, &is_there);
	if (is_there) {
		item_unref(f->items[at]);
		f->items[at] = item_ref(item);
	} else {
		insert(f, at, item);
	}
}

static void on_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	struct followed *f = ctx;
	put(f, item);
	rebuild(f);
}

static void on_update(void *ctx, struct item *old _unused_, struct item *item)
{
	on_add(ctx, item, false);
}

static void on_delete(void *ctx, struct item *item, bool is_guess _unused_)
{
	struct followed *f = ctx;
	bool is_there;
	size_t at = place_of(f, item->name, &is_there);
	if (is_there) {
		item_unref(f->items[at]);
		f->n--;
		memmove(&f->items[at], &f->items[at + 1], (f->n - at) * sizeof(*f->items));
	}
	rebuild(f);
}

static void on_synced(void *ctx)
{
	struct followed *f = ctx;
	f->has_synced = true;
	rebuild(f);
}

/* It is tried again and again, and /readyz says that it is missing. */
static void on_problem(void *ctx, bool is_over _unused_, struct str problem)
{
	struct followed *f = ctx;
	_cleanup_(mem_freep) char *text = mem_printf("%s: " STR_FMT, plurals[f - f->store->phases], STR_ARG(problem));
	tell(f->store, str_of(text));
}

/* ---- life ---- */

static void init_followed(struct webhook_store *s, enum webhook_phase phase)
{
	struct followed *f = &s->phases[phase];
	f->store = s;
	buf_init(&f->notices, NOTICES_MAX);
	atomic_store(&f->may_have, true);
}

static void follow(struct webhook_store *s, enum webhook_phase phase)
{
	struct followed *f = &s->phases[phase];
	f->informer = informer_new(&(struct informer_options){
		.client = s->options.client,
		.resource = {STR("admissionregistration.k8s.io"), STR("v1"), str_of(plurals[phase])},
		.left_out = item_managers,
		.retry_max_ms = RETRY_MAX_MS,
		.handlers = {on_add, on_update, on_delete, on_synced, on_problem},
		.ctx = f,
	});
}

struct webhook_store *webhook_store_new(const struct webhook_store_options *options)
{
	struct webhook_store *s = mem_new(struct webhook_store);
	s->options = *options;
	pthread_mutex_init(&s->lock, NULL);
	init_followed(s, WEBHOOKS_MUTATING);
	init_followed(s, WEBHOOKS_VALIDATING);
	return s;
}

void webhook_store_start(struct webhook_store *s)
{
	follow(s, WEBHOOKS_MUTATING);
	follow(s, WEBHOOKS_VALIDATING);
}

void webhook_store_end(struct webhook_store *s)
{
	s->phases[WEBHOOKS_MUTATING].informer = informer_free(s->phases[WEBHOOKS_MUTATING].informer);
	s->phases[WEBHOOKS_VALIDATING].informer = informer_free(s->phases[WEBHOOKS_VALIDATING].informer);
}

static void done_followed(struct followed *f)
{
	for (size_t i = 0; i < f->n; i++) {
		item_unref(f->items[i]);
	}
	mem_free(f->items);
	buf_done(&f->notices);
	webhook_set_unref(f->set);
}

struct webhook_store *webhook_store_free(struct webhook_store *s)
{
	if (s) {
		done_followed(&s->phases[WEBHOOKS_MUTATING]);
		done_followed(&s->phases[WEBHOOKS_VALIDATING]);
		pthread_mutex_destroy(&s->lock);
		mem_free(s);
	}
	return NULL;
}

struct webhook_set *webhook_store_get(struct webhook_store *s, enum webhook_phase phase)
{
	pthread_mutex_lock(&s->lock);
	struct webhook_set *set = s->phases[phase].set ? webhook_set_ref(s->phases[phase].set) : NULL;
	pthread_mutex_unlock(&s->lock);
	return set;
}

bool webhook_store_may_have(const struct webhook_store *s, enum webhook_phase phase)
{
	return atomic_load(&s->phases[phase].may_have);
}
