#include "delegation/delegation.h"

#include "delegation/access.h"

/* A client of one kube-apiserver as one user. */
struct link {
	struct client_config config;
	struct client *client;
};

struct delegation {
	struct delegation_options options;
	struct link core, access_link;
	struct client *client;
	struct access *access;
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

/* ---- life ---- */

static bool ask_access(void *ctx, struct access_question *q)
{
	struct delegation *d = ctx;
	return access_ask(d->access, q);
}

static void make_access(struct delegation *d)
{
	const struct link *l = link_or_core(d, &d->access_link);
	d->access = access_new(&(struct access_options){.client = l->client,
		.server = l->config.server,
		.allowed_ttl_ms = d->options.allowed_ttl_ms,
		.other_ttl_ms = d->options.not_allowed_ttl_ms});
	d->delegates.ask_access = ask_access;
}

int delegation_new(struct delegation **ret, const struct delegation_options *options, struct buf *err)
{
	_cleanup_(delegation_freep) struct delegation *d = mem_new(struct delegation);
	d->options = *options;
	d->delegates = (struct delegates){.ctx = d};
	int r = open_link(&d->core, options->core, err);
	r = r ? r : open_link(&d->access_link, options->access, err);
	if (r) {
		return r;
	}
	d->client = d->core.client;
	make_access(d);
	*ret = take_ptr(d);
	return 0;
}

void delegation_start(struct delegation *d _unused_)
{
}

const struct delegates *delegation_delegates(struct delegation *d)
{
	return &d->delegates;
}

void delegation_stop(struct delegation *d)
{
	access_stop(d->access);
	stop_link(&d->access_link);
	stop_link(&d->core);
}

struct delegation *delegation_free(struct delegation *d)
{
	if (d) {
		if (d->access) {
			delegation_stop(d);
		}
		close_link(&d->access_link);
		close_link(&d->core);
		access_free(d->access);
		mem_free(d);
	}
	return NULL;
}
