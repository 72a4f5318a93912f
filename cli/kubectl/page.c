/* Every call has a plugin of its own, since one remembers the object that it is about. They share the
 * client, whose requests may come from any thread. */
#include "cli/kubectl/page.h"

static const struct ui_route routes[] = {
	{"GET", "about", page_about},
	{0},
};

int page_open(struct page *p, struct kubectl *k)
{
	const struct ui_options options = {.client = k->client, .port = (uint16_t)k->port, .routes = routes, .ctx = p};
	p->k = k;
	return ui_new(&p->ui, &options, &k->err) ? -1 : 0;
}

/* The client first: whoever waits for the API server is let go. */
void page_close(struct page *p)
{
	if (p->ui) {
		client_stop(p->k->client);
		p->ui = ui_free(p->ui);
	}
}

void page_fail_call(struct kubectl *k, struct ui_call *call)
{
	int code = k->answer.code >= 400 ? k->answer.code : 502;
	ui_refuse(call, (unsigned)code, STR_FMT, STR_ARG(buf_str(&k->err)));
}

int page_init_call(const struct page *p, struct kubectl *k, struct ui_call *call)
{
	kubectl_init(k);
	k->client = p->k->client;
	k->ns = p->k->ns;
	int error = discovery_fetch(k->client, &k->discovery, &k->answer);
	if (error) {
		kubectl_refused(k, error, &k->answer);
		page_fail_call(k, call);
		return -1;
	}
	return 0;
}

void page_done_call(struct kubectl *k)
{
	k->client = NULL;
	kubectl_done(k);
}
