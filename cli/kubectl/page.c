/* Every call has a plugin of its own, since one remembers the object that it is about. They share the
 * client, whose requests may come from any thread. */
#include "cli/kubectl/page.h"

enum { LINK_MAX = 256 };

static const struct ui_route routes[] = {
	{"GET", "about", page_about},
	{"GET", "diff", page_diff},
	{"GET", "revisions", page_revisions},
	{"POST", "restore", page_restore},
	{"POST", "undo", page_undo},
	{0},
};

int page_open(struct page *p, struct kubectl *k)
{
	const struct ui_options options = {.client = k->client, .port = (uint16_t)k->port, .routes = routes, .ctx = p};
	p->k = k;
	keyed_hash_init(&p->proofs);
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

void page_print_link(struct page *p, bool opens)
{
	_cleanup_(buf_done) struct buf link;
	buf_init(&link, LINK_MAX);
	ui_add_link(p->ui, &link);
	printf("%s\n", link.p);
	fflush(stdout);
	if (opens && !browser_open(link.p)) {
		fputs("Open it in a browser.\n", stderr);
	}
	explicit_bzero(link.p, link.n);
}

void page_fail_call(struct kubectl *k, struct ui_call *call)
{
	enum { OURS = 422 };
	int code = k->refused_code >= 400 ? k->refused_code : k->refused_code ? 502 : OURS;
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

/* They become parts of a path, and no part may mean another place. */
static bool is_part(struct str text)
{
	return !str_is(text, ".") && !str_is(text, "..") && !str_contains(text, STR("/")) &&
		(text.n == 0 || !memchr(text.p, '\0', text.n));
}

int page_find(struct kubectl *k, struct str type, struct str namespace, struct str name)
{
	if (!is_part(namespace) || !is_part(name)) {
		return kubectl_fail(k, "this is not the name of an object");
	}
	if (namespace.n) {
		k->ns = arena_dup(&k->arena, namespace).p;
	}
	struct str both = arena_printf(&k->arena, STR_FMT "/" STR_FMT, STR_ARG(type), STR_ARG(name));
	return kubectl_find(k, both, WORDS_OBJECT);
}
