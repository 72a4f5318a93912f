#include "delegation/delegation.h"

struct delegation {
	struct delegation_options options;
	struct client *client;
	struct delegates delegates;
};

int delegation_new(struct delegation **ret, const struct delegation_options *options, struct buf *err)
{
	_cleanup_(delegation_freep) struct delegation *d = mem_new(struct delegation);
	d->options = *options;
	d->delegates = (struct delegates){.ctx = d};
	int r = client_new(&d->client, options->core, err);
	if (r) {
		return r;
	}
	*ret = take_ptr(d);
	return 0;
}

const struct delegates *delegation_delegates(struct delegation *d)
{
	return &d->delegates;
}

void delegation_stop(struct delegation *d)
{
	client_stop(d->client);
}

struct delegation *delegation_free(struct delegation *d)
{
	if (d) {
		client_free(d->client);
		mem_free(d);
	}
	return NULL;
}
