/* The server's delegates, put together. Three kubeconfigs may name three servers or users, so there
 * are up to three clients; the core one is used where another is not given.
 *
 * Shutdown has three steps, each needed for the next. Stop: every question ends, and no new one
 * begins. Then the clients end, and with them the threads that call back. Only then the parts
 * are freed. */
#include "delegation/delegation.h"

#include "delegation/access_reviews.h"
#include "delegation/cluster_trust.h"
#include "delegation/namespaces.h"
#include "delegation/token_reviews.h"
#include "delegation/webhook_store.h"
#include "delegation/webhooks.h"

#include <assert.h>

/* A client of one kube-apiserver as one user. */
struct link {
	struct client_config config;
	struct client *client;
};

struct delegation {
	struct delegation_options options;
	struct link core, token_link, access_link;
	struct client *client;
	struct token_reviews *tokens;
	struct access *access;
	struct namespaces *namespaces;
	struct webhooks *webhooks;
	struct policies *policies;
	struct trust_follower *trust;
	struct delegates delegates;
};

/* ---- clients ---- */

static int open_link(struct link *l, const struct client_config *config, struct buf *err)
{
	if (!config) {
		return 0;
	}
	client_config_copy(&l->config, config);
	return client_new(&l->client, &l->config, err);
}

static void close_link(struct link *l)
{
	client_free(l->client);
	client_config_done(&l->config);
}

static void stop_link(struct link *l)
{
	if (l->client) {
		client_stop(l->client);
	}
}

static const struct link *link_or_core(const struct delegation *d, const struct link *l)
{
	return l->client ? l : &d->core;
}

/* ---- the server's questions ---- */

static bool ask_token(void *ctx, struct token_question *q)
{
	struct delegation *d = ctx;
	return token_reviews_ask(d->tokens, q);
}

static bool ask_access(void *ctx, struct access_question *q)
{
	struct delegation *d = ctx;
	return access_ask(d->access, q);
}

static enum namespace_phase namespace_phase(void *ctx, struct str name)
{
	struct delegation *d = ctx;
	return namespaces_phase(d->namespaces, name);
}

static bool ask_namespace(void *ctx, struct namespace_question *q)
{
	struct delegation *d = ctx;
	return namespaces_ask(d->namespaces, q);
}

static struct str namespace_uid(void *ctx, struct str name, struct arena *a)
{
	struct delegation *d = ctx;
	return namespaces_uid(d->namespaces, name, a);
}

static bool has_webhooks(void *ctx, const struct webhook_question *q)
{
	struct delegation *d = ctx;
	return webhooks_would_ask(d->webhooks, q);
}

static bool ask_webhooks(void *ctx, struct webhook_question *q)
{
	struct delegation *d = ctx;
	return webhooks_ask(d->webhooks, q);
}

static bool knows_trust(void *ctx)
{
	const struct delegation *d = ctx;
	return trust_follower_is_settled(d->trust);
}

static void write_missing(void *ctx, struct buf *out)
{
	const struct delegation *d = ctx;
	if (!namespaces_are_known(d->namespaces)) {
		BUF_LITERAL(out, "the cluster's namespaces have not been listed yet\n");
	}
	webhooks_write_missing(d->webhooks, out);
	trust_follower_write_missing(d->trust, out);
}

/* ---- lifetime ---- */

static void make_tokens(struct delegation *d)
{
	const struct link *l = link_or_core(d, &d->token_link);
	d->tokens = token_reviews_new(&(struct token_reviews_options){.client = l->client,
		.server = l->config.server,
		.ttl_ms = d->options.token_ttl_ms,
		.on_notice = d->options.on_notice,
		.ctx = d->options.ctx});
}

static void make_access(struct delegation *d)
{
	const struct link *l = link_or_core(d, &d->access_link);
	d->access = access_new(&(struct access_options){.client = l->client,
		.server = l->config.server,
		.allowed_ttl_ms = d->options.allowed_ttl_ms,
		.other_ttl_ms = d->options.not_allowed_ttl_ms,
		.on_notice = d->options.on_notice,
		.ctx = d->options.ctx});
}

static void make_namespaces(struct delegation *d)
{
	d->namespaces = namespaces_new(&(struct namespaces_options){.client = d->core.client,
		.server = d->core.config.server,
		.on_notice = d->options.on_notice,
		.ctx = d->options.ctx});
}

static struct item *get_namespace(void *ctx, struct str name)
{
	struct delegation *d = ctx;
	return namespaces_get(d->namespaces, name);
}

static bool has_namespaces(void *ctx)
{
	const struct delegation *d = ctx;
	return namespaces_are_known(d->namespaces);
}

static void make_webhooks(struct delegation *d)
{
	d->webhooks = webhooks_new(&(struct webhooks_options){.client = d->core.client,
		.get_namespace = get_namespace,
		.has_namespaces = has_namespaces,
		.namespace_ctx = d,
		.on_notice = d->options.on_notice,
		.ctx = d->options.ctx});
}

static void make_trust(struct delegation *d)
{
	d->trust = trust_follower_new(&(struct trust_follower_options){.client = link_or_core(d, &d->token_link)->client,
		.wants_users = d->options.wants_client_ca,
		.wants_fronts = d->options.wants_front_ca,
		.tolerates_failure = d->options.tolerates_lookup_failure,
		.on_trust = d->options.on_trust,
		.on_notice = d->options.on_notice,
		.ctx = d->options.ctx});
}

int delegation_new(struct delegation **ret, const struct delegation_options *options, struct buf *err)
{
	assert(options->core && options->token_ttl_ms >= 0);
	_cleanup_(delegation_freep) struct delegation *d = mem_new(struct delegation);
	d->options = *options;
	d->delegates = (struct delegates){.ctx = d,
		.ask_token = ask_token,
		.ask_access = ask_access,
		.namespace_phase = namespace_phase,
		.ask_namespace = ask_namespace,
		.namespace_uid = namespace_uid,
		.has_webhooks = has_webhooks,
		.ask_webhooks = ask_webhooks,
		.knows_trust = knows_trust,
		.write_missing = write_missing};
	int r = open_link(&d->core, options->core, err);
	r = r ? r : open_link(&d->token_link, options->tokens, err);
	r = r ? r : open_link(&d->access_link, options->access, err);
	if (r) {
		return r;
	}
	d->client = d->core.client;
	make_tokens(d);
	make_access(d);
	make_namespaces(d);
	make_webhooks(d);
	d->policies = policies_new(d->core.client, options->on_notice, options->ctx);
	make_trust(d);
	*ret = take_ptr(d);
	return 0;
}

void delegation_start(struct delegation *d)
{
	namespaces_start(d->namespaces);
	webhooks_start(d->webhooks);
	policies_start(d->policies);
	trust_follower_start(d->trust);
}

void delegation_write_metrics(void *ctx, struct buf *out)
{
	struct delegation *d = ctx;
	token_reviews_write_metrics(d->tokens, out);
	access_write_metrics(d->access, out);
	webhooks_write_metrics(d->webhooks, out);
}

const struct delegates *delegation_delegates(struct delegation *d)
{
	return &d->delegates;
}

void delegation_stop(struct delegation *d)
{
	token_reviews_stop(d->tokens);
	access_stop(d->access);
	namespaces_stop(d->namespaces);
	webhooks_stop(d->webhooks);
	trust_follower_stop(d->trust);
	/* After the parts: a client that has stopped could not run their last callbacks. */
	stop_link(&d->token_link);
	stop_link(&d->access_link);
	stop_link(&d->core);
}

struct delegation *delegation_free(struct delegation *d)
{
	if (d) {
		if (d->namespaces) {
			delegation_stop(d);
			namespaces_end(d->namespaces);
			webhooks_end(d->webhooks);
			policies_free(d->policies);
			trust_follower_end(d->trust);
		}
		close_link(&d->token_link);
		close_link(&d->access_link);
		close_link(&d->core);
		trust_follower_free(d->trust);
		webhooks_free(d->webhooks);
		namespaces_free(d->namespaces);
		access_free(d->access);
		token_reviews_free(d->tokens);
		mem_free(d);
	}
	return NULL;
}
