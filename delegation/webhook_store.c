/* Follows the cluster's admission: configurations of webhooks, and policies.
 *
 * A reader takes a reference to a set under a lock held for that alone; a set never changes.
 * Until configurations have been listed there is no set, and writes wait: an unknown webhook is
 * not an absent one. `may_have` saves even the lock where there are none. */
#include "delegation/webhook_store.h"

#include "api/model/members.h"
#include "client/informer.h"
#include "delegation/webhook.h"

#include <assert.h>
#include <pthread.h>

enum {
	NOTICES_MAX = 64 << 10, /* bytes of notices about one set; further ones are left out */
	RETRY_MAX_MS = 4000,    /* as for namespaces: a stale configuration lets through what should not be */
};

struct followed_webhooks {
	struct webhook_store *store;
	struct informer *informer;
	struct item **items; /* sorted by name; used by the client's thread */
	size_t n, cap;
	bool has_synced;
	struct buf notices; /* of the latest set: logged already */
	_Atomic bool may_have;
	struct webhook_set *set; /* guarded by the store's lock */
};

struct webhook_store {
	struct webhook_store_options options;
	/* Guards the phases' `set`. */
	pthread_mutex_t lock;
	struct followed_webhooks phases[2]; /* of enum webhook_phase */
};

static const char *const plurals[] = {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"};

/* ---- notices ---- */

static void store_notify(struct webhook_store *s, struct str text)
{
	if (s->options.on_notice) {
		s->options.on_notice(s->options.ctx, text);
	}
}

static void store_tell_news(struct followed_webhooks *f, const struct buf *notices)
{
	for (struct str line, text = buf_str(notices); text.n;) {
		str_cut(text, '\n', &line, &text);
		if (!str_contains(buf_str(&f->notices), line)) {
			store_notify(f->store, line);
		}
	}
}

/* ---- sets ---- */

static void store_publish(struct followed_webhooks *f, struct webhook_set *set)
{
	assert(f->has_synced && set);
	pthread_mutex_lock(&f->store->lock);
	struct webhook_set *old = f->set;
	f->set = set;
	pthread_mutex_unlock(&f->store->lock);
	atomic_store(&f->may_have, set->n > 0 || set->is_over);
	webhook_set_unref(old);
}

static void store_rebuild(struct followed_webhooks *f)
{
	assert(client_is_this_thread(f->store->options.client));
	if (!f->has_synced) {
		return;
	}
	struct buf notices;
	buf_init(&notices, NOTICES_MAX);
	const struct json **configurations = mem_array(f->n + 1, sizeof(*configurations));
	for (size_t i = 0; i < f->n; i++) {
		configurations[i] = f->items[i]->object;
	}
	store_publish(f, webhook_set_new(configurations, f->n, &notices));
	mem_free(configurations);
	store_tell_news(f, &notices);
	buf_done(&f->notices);
	f->notices = notices;
}

/* ---- items ---- */

/* Returns the place of the name, or where it would be. */
static size_t store_place(const struct followed_webhooks *f, struct str name, bool *ret_is_there)
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

static void store_insert(struct followed_webhooks *f, size_t at, struct item *item)
{
	assert(at <= f->n && f->n <= f->cap);
	if (f->n == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 16;
		f->items = mem_realloc_array(f->items, f->cap, sizeof(*f->items));
	}
	memmove(&f->items[at + 1], &f->items[at], (f->n - at) * sizeof(*f->items));
	f->items[at] = item_ref(item);
	f->n++;
}

static void store_put(struct followed_webhooks *f, struct item *item)
{
	bool is_there;
	size_t at = store_place(f, item->name, &is_there);
	if (is_there) {
		item_unref(f->items[at]);
		f->items[at] = item_ref(item);
	} else {
		store_insert(f, at, item);
	}
}

static void on_webhooks_add(void *ctx, struct item *item, bool is_initial _unused_)
{
	struct followed_webhooks *f = ctx;
	store_put(f, item);
	store_rebuild(f);
}

static void on_webhooks_update(void *ctx, struct item *old _unused_, struct item *item)
{
	on_webhooks_add(ctx, item, false);
}

static void on_webhooks_delete(void *ctx, struct item *item, bool is_guess _unused_)
{
	struct followed_webhooks *f = ctx;
	bool is_there;
	size_t at = store_place(f, item->name, &is_there);
	if (is_there) {
		item_unref(f->items[at]);
		f->n--;
		memmove(&f->items[at], &f->items[at + 1], (f->n - at) * sizeof(*f->items));
	}
	store_rebuild(f);
}

static void on_webhooks_synced(void *ctx)
{
	struct followed_webhooks *f = ctx;
	f->has_synced = true;
	store_rebuild(f);
}

/* Nothing is logged: the informer tries again, and /readyz says that the configurations are
 * missing. */
static void on_webhooks_problem(void *ctx, bool is_over _unused_, struct str problem)
{
	struct followed_webhooks *f = ctx;
	_cleanup_(mem_freep) char *text = mem_printf("%s: " STR_FMT, plurals[f - f->store->phases], STR_ARG(problem));
	store_notify(f->store, str_of(text));
}

/* ---- lifetime ---- */

static void followed_init(struct webhook_store *s, enum webhook_phase phase)
{
	struct followed_webhooks *f = &s->phases[phase];
	f->store = s;
	buf_init(&f->notices, NOTICES_MAX);
	atomic_store(&f->may_have, true);
}

static void store_follow(struct webhook_store *s, enum webhook_phase phase)
{
	struct followed_webhooks *f = &s->phases[phase];
	assert(!f->informer);
	f->informer = informer_new(&(struct informer_options){
		.client = s->options.client,
		.resource = {STR("admissionregistration.k8s.io"), STR("v1"), str_of(plurals[phase])},
		.left_out = item_managers,
		.retry_max_ms = RETRY_MAX_MS,
		.handlers = {on_webhooks_add, on_webhooks_update, on_webhooks_delete, on_webhooks_synced, on_webhooks_problem},
		.ctx = f,
	});
}

struct webhook_store *webhook_store_new(const struct webhook_store_options *options)
{
	assert(options->client);
	struct webhook_store *s = mem_new(struct webhook_store);
	s->options = *options;
	pthread_mutex_init(&s->lock, NULL);
	followed_init(s, WEBHOOKS_MUTATING);
	followed_init(s, WEBHOOKS_VALIDATING);
	return s;
}

void webhook_store_start(struct webhook_store *s)
{
	store_follow(s, WEBHOOKS_MUTATING);
	store_follow(s, WEBHOOKS_VALIDATING);
}

void webhook_store_end(struct webhook_store *s)
{
	s->phases[WEBHOOKS_MUTATING].informer = informer_free(s->phases[WEBHOOKS_MUTATING].informer);
	s->phases[WEBHOOKS_VALIDATING].informer = informer_free(s->phases[WEBHOOKS_VALIDATING].informer);
}

static void followed_done(struct followed_webhooks *f)
{
	assert(!f->informer); /* webhook_store_end() came before */
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
		followed_done(&s->phases[WEBHOOKS_MUTATING]);
		followed_done(&s->phases[WEBHOOKS_VALIDATING]);
		pthread_mutex_destroy(&s->lock);
		mem_free(s);
	}
	return NULL;
}

struct webhook_set *webhook_store_get(struct webhook_store *s, enum webhook_phase phase)
{
	assert(phase <= WEBHOOKS_VALIDATING);
	pthread_mutex_lock(&s->lock);
	struct webhook_set *set = s->phases[phase].set ? webhook_set_ref(s->phases[phase].set) : NULL;
	pthread_mutex_unlock(&s->lock);
	return set;
}

bool webhook_store_may_have(const struct webhook_store *s, enum webhook_phase phase)
{
	assert(phase <= WEBHOOKS_VALIDATING);
	return atomic_load(&s->phases[phase].may_have);
}

/* ---- policies ----
 *
 * Policies need CEL, which does not run here. An administrator whose policy is not applied would
 * count on a protection that does not exist. So each policy that matches a kind of annals is
 * reported once, when it begins to match. */

enum { RULES_MAX = 16 << 20 }; /* bytes of the rules of one policy */

struct followed_policies {
	struct policies *policies;
	const char *kind;
	struct informer *informer;
};

struct policies {
	struct client *client;
	void (*on_notice)(void *ctx, struct str text);
	void *ctx;
	struct followed_policies followed[2]; /* of `resources` */
};

static const struct {
	const char *plural, *kind;
} policy_resources[] = {
	{"validatingadmissionpolicies", "ValidatingAdmissionPolicy"},
	{"mutatingadmissionpolicies", "MutatingAdmissionPolicy"},
};

static bool policy_concerns_us(const struct item *policy)
{
	const struct json *constraints = json_gets(json_gets(policy->object, "spec"), "matchConstraints");
	const struct json *rule, *rules = json_gets(constraints, "resourceRules");
	bool answer = false;
	struct arena a;
	arena_init(&a, RULES_MAX);
	for (uint32_t i = 0; !answer && (rule = list_item(rules, i)); i++) {
		struct webhook_rule parsed;
		webhook_rule_read(&parsed, rule, &a);
		answer = webhook_rule_concerns_us(&parsed);
	}
	arena_done(&a);
	return answer;
}

static void policy_tell(const struct followed_policies *f, const struct item *policy)
{
	_cleanup_(mem_freep) char *text = mem_printf(
		"%s \"" STR_FMT "\" means kinds that are served here, but is not run for them: only admission webhooks are",
		f->kind, STR_ARG(policy->name));
	f->policies->on_notice(f->policies->ctx, str_of(text));
}

static void on_policy_add(void *ctx, struct item *policy, bool is_initial _unused_)
{
	if (policy_concerns_us(policy)) {
		policy_tell(ctx, policy);
	}
}

static void on_policy_update(void *ctx, struct item *old, struct item *policy)
{
	if (policy_concerns_us(policy) && !policy_concerns_us(old)) {
		policy_tell(ctx, policy);
	}
}

struct policies *policies_new(struct client *client, void (*on_notice)(void *ctx, struct str text), void *ctx)
{
	struct policies *p = mem_new(struct policies);
	*p = (struct policies){.client = client, .on_notice = on_notice, .ctx = ctx};
	return p;
}

void policies_start(struct policies *p)
{
	for (size_t i = 0; p->on_notice && i < ARRAY_SIZE(policy_resources); i++) {
		struct followed_policies *f = &p->followed[i];
		f->policies = p;
		f->kind = policy_resources[i].kind;
		f->informer = informer_new(&(struct informer_options){
			.client = p->client,
			.resource = {STR("admissionregistration.k8s.io"), STR("v1"), str_of(policy_resources[i].plural)},
			.left_out = item_managers,
			.handlers = {.on_add = on_policy_add, .on_update = on_policy_update},
			.ctx = f,
		});
	}
}

struct policies *policies_free(struct policies *p)
{
	if (p) {
		for (size_t i = 0; i < ARRAY_SIZE(p->followed); i++) {
			informer_free(p->followed[i].informer);
		}
		mem_free(p);
	}
	return NULL;
}
