/* The command ui, and the calls of its page that read. Each call has a struct kubectl of its own, which holds the object of
 * the call. They share the client, which any thread may use. */
#include "cli/kubectl/page.h"
#include "api/diff/hunks.h"
#include "api/model/members.h"
#include "cli/common/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Bytes of the link: an address, a port and a token. */
enum { LINK_MAX = 256 };

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

/* May the text be a part of a path? A part must not lead elsewhere. */
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

/* ---- calls: about ----
 *
 * The page's description of its cluster. In a cluster without annals, the page shows workloads and the revisions that their
 * own controllers keep. */

static struct json *resource_json(struct arena *a, const struct api_resource *r)
{
	struct json *j = json_object(a), *short_names = json_array(a);
	struct str rest = r->short_names, each;
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		json_append(a, short_names, json_string(a, each));
	}
	json_add(a, j, STR("group"), json_string(a, r->resource.group));
	json_add(a, j, STR("version"), json_string(a, r->resource.version));
	json_add(a, j, STR("resource"), json_string(a, r->resource.plural));
	json_add(a, j, STR("kind"), json_string(a, r->kind));
	json_add(a, j, STR("namespaced"), json_bool(a, r->is_namespaced));
	json_add(a, j, STR("shortNames"), short_names);
	return j;
}

static struct json *resources_json(struct arena *a, const struct discovery *d)
{
	struct json *all = json_array(a);
	for (size_t i = 0; i < d->n; i++) {
		const struct api_resource *r = &d->resources[i];
		if (r->is_preferred && (r->verbs & API_GET)) {
			json_append(a, all, resource_json(a, r));
		}
	}
	return all;
}

static void page_about(void *ctx, struct ui_call *call)
{
	const struct page *p = ctx;
	struct arena *a = call->arena;
	struct kubectl k;
	if (!page_init_call(p, &k, call)) {
		bool has_annals = discovery_find_resource(&k.discovery, &histories) != NULL;
		struct json *about = json_object(a);
		json_add(a, about, STR("version"), json_string(a, STR(ANNALS_VERSION)));
		json_add(a, about, STR("server"), json_string(a, str_of(p->k->config_server)));
		json_add(a, about, STR("context"), json_string(a, str_of(p->k->config_context)));
		json_add(a, about, STR("namespace"), json_string(a, str_of(p->k->ns)));
		json_add(a, about, STR("mode"), json_string(a, has_annals ? STR("annals") : STR("plain")));
		json_add(a, about, STR("canWrite"), json_bool(a, p->k->may_write));
		json_add(a, about, STR("resources"), resources_json(a, &k.discovery));
		json_encode(&call->out, about);
	}
	page_done_call(&k);
}

/* ---- calls: revisions and their difference ----
 *
 * The page could ask the API server for recorded revisions. But the revisions of a Deployment or a StatefulSet have many
 * forms, and the plugin can read them in any cluster. */

static bool is_true(struct str text)
{
	return str_is(text, "true");
}

/* The object that the query names. 0 or -1. */
static int find(struct kubectl *k, const struct ui_call *call)
{
	k->wants_own = is_true(ui_parameter(call, "own"));
	return page_find(k, ui_parameter(call, "type"), ui_parameter(call, "namespace"), ui_parameter(call, "name"));
}

typedef int page_answer(struct kubectl *k, const struct revisions *all, struct ui_call *call);

static void answer_call(const struct page *p, struct ui_call *call, page_answer *answer)
{
	struct kubectl k;
	struct revisions all = {0};
	if (!page_init_call(p, &k, call)) {
		int r = find(&k, call);
		if (!r) {
			r = revisions_list(&k, &all);
			r = r ? r : answer(&k, &all, call);
			revisions_done(&all);
		}
		if (r) {
			page_fail_call(&k, call);
		}
	}
	page_done_call(&k);
}

static struct json *revision_json(struct kubectl *k, const struct revisions *all, const struct revision *r)
{
	struct arena *a = &k->arena;
	const struct json *change = all->history ? change_to(k, all, r) : NULL;
	struct str time =
		change ? member_text(change, "time") : member_text(json_gets(r->object, "metadata"), "creationTimestamp");
	struct json *j = json_object(a);
	json_add(a, j, STR("number"), json_int(a, r->number));
	json_add(a, j, STR("name"), json_string(a, r->name));
	json_add(a, j, STR("time"), json_string(a, time));
	json_add(a, j, STR("cause"), json_string(a, all->history ? member_text(change, "cause") : revision_cause(r)));
	json_add(a, j, STR("by"), json_string(a, change ? change_by(a, change) : STR("")));
	json_add(a, j, STR("isCurrent"), json_bool(a, r == revisions_today(k, all)));
	return j;
}

static int answer_revisions(struct kubectl *k, const struct revisions *all, struct ui_call *call)
{
	struct arena *a = &k->arena;
	struct json *answer = json_object(a), *items = json_array(a);
	for (size_t i = 0; i < all->n; i++) {
		json_append(a, items, revision_json(k, all, &all->v[i]));
	}
	json_add(a, answer, STR("items"), items);
	json_add(a, answer, STR("source"), json_string(a, all->history ? STR("history") : STR("own")));
	json_encode(&call->out, answer);
	return 0;
}

static void page_revisions(void *ctx, struct ui_call *call)
{
	answer_call(ctx, call, answer_revisions);
}

static int load(struct kubectl *k, const struct revisions *all, const struct ui_call *call, const char *parameter,
	struct revision **ret)
{
	struct str text = ui_parameter(call, parameter);
	int64_t number;
	if (!str_to_int64(text, &number) || number < 0) {
		return kubectl_fail(k, "%s must be the number of a revision", parameter);
	}
	*ret = revisions_find(k, all, number);
	return *ret ? revision_load(k, all, *ret) : -1;
}

static int answer_diff(struct kubectl *k, const struct revisions *all, struct ui_call *call)
{
	struct revision *from = NULL, *to = NULL;
	if (load(k, all, call, "to", &to) || (ui_parameter(call, "from").n && load(k, all, call, "from", &from))) {
		return -1;
	}
	struct hunks h = {.from = from ? from->data : NULL,
		.to = to->data,
		.from_name = from ? from->name : STR(""),
		.to_name = to->name};
	if (!hunks_parse_context(ui_parameter(call, "context"), &h.context)) {
		return kubectl_fail(k, HUNKS_CONTEXT_HELP);
	}
	return hunks_write(&call->out, &h) ? kubectl_fail(k, "the difference is too large to be shown line by line") : 0;
}

/* Without `from`, all lines of `to`. */
static void page_diff(void *ctx, struct ui_call *call)
{
	answer_call(ctx, call, answer_diff);
}

/* ---- the page ---- */

static const struct ui_route routes[] = {
	{"GET", "about", page_about},
	{"GET", "diff", page_diff},
	{"GET", "revisions", page_revisions},
	{"POST", "restore", page_restore},
	{"POST", "undo", page_undo},
	{0},
};

static void on_notice(void *ctx _unused_, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

int page_open(struct page *p, struct kubectl *k)
{
	const struct ui_options options = {
		.client = k->client, .port = (uint16_t)k->port, .routes = routes, .ctx = p, .on_notice = on_notice};
	p->k = k;
	keyed_hash_init(&p->proofs);
	return ui_new(&p->ui, &options, &k->err) ? -1 : 0;
}

/* The client stops first, so that no call waits for the API server. */
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

/* ---- the command ----
 *
 * It serves the page until a signal stops it. The signal handler only writes to a descriptor, since any thread of the client
 * may run it. */

static int stop_fd = -1;

static void on_signal(int number _unused_)
{
	const uint64_t one = 1;
	ssize_t n = write(stop_fd, &one, sizeof(one));
	(void)n; /* if the counter is full, serve() has been woken already */
}

static int catch_signals(struct kubectl *k)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0) {
		return kubectl_fail(k, "cannot wait for signals: %s", strerror(errno));
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction old;
		/* nohup(1) makes SIGHUP ignored, and annals keeps that. */
		if (sigaction(numbers[i], NULL, &old) || old.sa_handler != SIG_IGN || numbers[i] != SIGHUP) {
			sigaction(numbers[i], &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
		}
	}
	signal(SIGPIPE, SIG_IGN); /* a browser that goes away is an error of write(2), not of the process */
	return 0;
}

static void serve(struct page *p)
{
	struct pollfd fds[] = {
		{.fd = stop_fd, .events = POLLIN}, {.fd = keyboard_is_ours() ? STDIN_FILENO : -1, .events = POLLIN}};
	while (!(fds[0].revents & POLLIN)) {
		bool is_enter = false;
		if (poll(fds, ARRAY_SIZE(fds), -1) <= 0) {
			fds[0].revents = 0;
			continue;
		}
		if (fds[1].revents && !keyboard_read(&is_enter)) {
			fds[1].fd = -1;
		}
		if (is_enter) {
			page_print_link(p, false);
		}
	}
}

static int run_ui(struct kubectl *k)
{
	struct page page = {0};
	if (catch_signals(k)) {
		return -1;
	}
	if (page_open(&page, k)) {
		buf_adds(&k->err, k->port ? ". Give another one with --port, or none for any that is free" : "");
		return -1;
	}
	fprintf(stderr, "The page is served until Ctrl-C. %s%s\n",
		k->may_write ? "It may undo and restore." : "It only shows; --write lets it undo and restore.",
		keyboard_is_ours() ? " Enter prints a new link, for another browser." : "");
	page_print_link(&page, !k->has_no_browser && isatty(STDOUT_FILENO));
	serve(&page);
	page_close(&page);
	return 0;
}

const struct kubectl_command kubectl_ui = {
	.name = "ui",
	.usage = "[flags]",
	.summary = "Shows changes in a browser, and may undo them",
	.description = "Serves a page on 127.0.0.1 and ::1 and opens it in a browser. The page shows changes as they happen,\n"
		       "the difference of two revisions, the pods of each revision, and the users of a Provider.\n\n"
		       "The page asks the API server as you. Its link is good for one browser, and the page is for you\n"
		       "alone.",
	.examples = "  # in the browser\n"
		    "  kubectl annals ui\n"
		    "  # where there is no browser, at a fixed port, and with undo\n"
		    "  kubectl annals ui --no-browser --port=8080 --write\n",
	.flags = "port,write,no-browser",
	.outputs = "text",
	.words = WORDS_NONE,
	.run = run_ui,
};
