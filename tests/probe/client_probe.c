/* client/ as a process, for tests that look at it from outside:
 *
 *     client_probe KUBECONFIG discover
 *     client_probe KUBECONFIG inform GROUP VERSION PLURAL [metadata] [pages]
 *
 * inform prints what its handlers hear, a line each, until SIGTERM:
 *     add|update|delete NAMESPACE/NAME VERSION [initial|guess] [data.n of the object]
 *     synced COUNT
 *     problem SENTENCE */
#include "client/api_resources.h"
#include "client/informer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _noreturn_ void fail(struct buf *err)
{
	fprintf(stderr, STR_FMT "\n", STR_ARG(buf_str(err)));
	exit(1);
}

static void print_item(const char *what, const struct item *i, const char *note)
{
	struct str n = json_text(json_gets(json_gets(i->object, "data"), "n"));
	printf("%s " STR_FMT "/" STR_FMT " %llu%s%s " STR_FMT "\n", what, STR_ARG(i->namespace), STR_ARG(i->name),
		(unsigned long long)i->version, note[0] ? " " : "", note, STR_ARG(n));
	fflush(stdout);
}

static void on_add(void *ctx, struct item *item, bool is_initial)
{
	++*(size_t *)ctx;
	print_item("add", item, is_initial ? "initial" : "");
}

static void on_update(void *ctx _unused_, struct item *old _unused_, struct item *item)
{
	print_item("update", item, "");
}

static void on_delete(void *ctx, struct item *item, bool is_guess)
{
	--*(size_t *)ctx;
	print_item("delete", item, is_guess ? "guess" : "");
}

static void on_synced(void *ctx)
{
	printf("synced %zu\n", *(size_t *)ctx);
	fflush(stdout);
}

static void on_problem(void *ctx _unused_, bool is_over, struct str text)
{
	printf("%s " STR_FMT "\n", is_over ? "over" : "problem", STR_ARG(text));
	fflush(stdout);
}

static bool has_word(char **words, const char *word)
{
	for (; *words; words++) {
		if (strcmp(*words, word) == 0) {
			return true;
		}
	}
	return false;
}

static int inform(struct client *c, char **words)
{
	int number;
	sigset_t set;
	size_t n_known = 0; /* the handlers' */
	const struct informer_options options = {
		.client = c,
		.resource = {str_of(words[0]), str_of(words[1]), str_of(words[2])},
		.metadata_only = has_word(words + 3, "metadata"),
		.no_watch_list = has_word(words + 3, "pages"),
		.handlers = {on_add, on_update, on_delete, on_synced, on_problem},
		.ctx = &n_known,
	};
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	struct informer *informer = informer_new(&options);
	sigwait(&set, &number);
	informer_free(informer);
	return 0;
}

static int discover(struct client *c)
{
	struct discovery d;
	struct answer a;
	discovery_init(&d);
	answer_init(&a);
	int r = discovery_fetch(c, &d, &a);
	if (r) {
		fprintf(stderr, STR_FMT "\n", STR_ARG(a.message));
	}
	for (size_t i = 0; i < d.n; i++) {
		const struct api_resource *p = &d.resources[i];
		printf(STR_FMT "/" STR_FMT "/" STR_FMT " " STR_FMT " %s %s 0x%02x\n", STR_ARG(p->resource.group),
			STR_ARG(p->resource.version), STR_ARG(p->resource.plural), STR_ARG(p->kind),
			p->is_namespaced ? "namespaced" : "cluster", p->is_preferred ? "preferred" : "other", p->verbs);
	}
	for (size_t i = 0; i < d.n_failures; i++) {
		printf("failure " STR_FMT "/" STR_FMT " " STR_FMT "\n", STR_ARG(d.failures[i].group),
			STR_ARG(d.failures[i].version), STR_ARG(d.failures[i].message));
	}
	discovery_done(&d);
	answer_done(&a);
	return r ? 1 : 0;
}

static void block_end(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	struct client *c;
	struct client_config config;
	struct buf err;
	buf_init(&err, 4096);
	block_end();
	bool is_inform = argc >= 6 && strcmp(argv[2], "inform") == 0;
	if (!is_inform && (argc != 3 || strcmp(argv[2], "discover") != 0)) {
		buf_adds(&err, "client_probe KUBECONFIG discover | inform GROUP VERSION PLURAL [metadata] [pages]");
		fail(&err);
	}
	if (client_config_load(&config, argv[1], NULL, &err) || client_new(&c, &config, &err)) {
		fail(&err);
	}
	int status = is_inform ? inform(c, argv + 3) : discover(c);
	client_free(c);
	client_config_done(&config);
	buf_done(&err);
	return status;
}
