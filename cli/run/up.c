/* `annals up`: everything from etcd to controllers, without any flag. The main thread only waits and decides, and other
 * threads do all that takes long. The main thread also has to start etcd, because the kernel ends a child
 * (PR_SET_PDEATHSIG) with the thread that forked it. */
#include "base/clock.h"
#include "base/ids.h"
#include "cli/certs/certs.h"
#include "cli/common/command.h"
#include "cli/common/etcd_flags.h"
#include "cli/kubectl/page.h"
#include "cli/run/control.h"
#include "cli/run/etcd_child.h"
#include "cli/run/instance.h"
#include "cli/run/loop.h"
#include "cli/run/ready.h"
#include "cli/run/scratch.h"
#include "cli/run/server_flags.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	/* An etcd that cannot start must not spin, and one that was killed once should be back
	 * soon. */
	BACKOFF_FIRST_MS = 100,
	BACKOFF_LAST_MS = 5000,
	STEADY_MS = 10 * 1000,      /* an etcd that ends after that long has started well */
	PATIENCE_MS = 10 * 1000,    /* before the user learns what annals waits for */
	CHORES_MS = 60 * 60 * 1000, /* certificates and logs are looked at every hour */
	ETCD_STOP_MS = 10 * 1000,
	TOKEN_SIZE = 41, /* with the NUL: 190 bits */
	UP_PAGE_FLAGS_MAX = 4,
};

/* --ui, --ui-port and --ui-write. */
struct up_page_flags {
	bool is_wanted, may_write;
	int64_t port; /* 0: any */
};

struct up_flags {
	const char *data_dir, *etcd;
	int64_t port;
	bool is_port_given, is_ephemeral;
	struct store_flags store;
	struct ready_flags ready;
	struct etcd_flags etcd_flags; /* with servers: an etcd that runs already, and none of our own */
	struct control_flags control;
	struct up_page_flags page;
	struct server_flags server;
};

/* The state of one run. Only the main thread uses it. */
struct up {
	struct up_flags *flags;
	struct loop loop;
	struct scratch *scratch; /* --ephemeral */
	char token[TOKEN_SIZE], *token_file;
	struct datadir dir;
	char *cert_file, *key_file, *ca_file;
	char *url;
	struct etcd_child *etcd; /* NULL: --etcd-servers, or --store=memory */
	struct instance *instance;
	struct control *control;
	struct up_page *page; /* NULL: no --ui */
	bool is_announced;
	int64_t waiting_since_ms; /* until everything is up; monotonic, like all times here */
	int64_t etcd_began_ms;
	int64_t backoff_ms, restart_at_ms; /* 0: nothing to restart */
	int64_t chores_at_ms;
	struct buf err;
};

/* ---- the page ----
 *
 * It is the page of `kubectl annals ui`, and asks this server as its administrator. It listens before the server is
 * ready: a user whose port is taken shall learn that at once. */

struct up_page {
	const struct up_page_flags *flags;
	char *kubeconfig;
	int64_t port;
	struct kubectl k;
	struct page page;
};

static void up_page_flags_rows(struct up_page_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Page"),
		FLAG("ui", OPTION_BOOL, &f->is_wanted, NULL,
			"Serve a page that shows in a browser what changed, and print a link to it."),
		{"ui-port", OPTION_INT, &f->port, "PORT", "The page's port on 127.0.0.1 and ::1; 0: any that is free.", 0,
			65535},
		FLAG("ui-write", OPTION_BOOL, &f->may_write, NULL, "Let the page undo and restore, each after a dry run."),
	};
	_Static_assert(ARRAY_SIZE(rows) <= UP_PAGE_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
}

static int up_page_flags_check(struct up_page_flags *f, struct buf *err)
{
	if (!f->is_wanted && (f->port || f->may_write)) {
		return command_refuse(err, "--ui-port and --ui-write need --ui");
	}
	return 0;
}

static int up_page_begin(struct up_page *p, struct buf *err)
{
	kubectl_init(&p->k);
	p->k.kubeconfig = p->kubeconfig;
	p->k.port = p->port;
	p->k.may_write = p->flags->may_write;
	if (kubectl_open(&p->k) || page_open(&p->page, &p->k)) {
		buf_add_str(err, buf_str(&p->k.err));
		buf_adds(err, p->flags->port ? ". Give the page another one with --ui-port, or none for any that is free" : "");
		return -EADDRNOTAVAIL;
	}
	p->port = ui_port(p->page.ui);
	return 0;
}

static void up_page_end(struct up_page *p)
{
	page_close(&p->page);
	kubectl_done(&p->k);
}

static struct up_page *up_page_free(struct up_page *p)
{
	if (p) {
		up_page_end(p);
		mem_free(p->kubeconfig);
		mem_free(p);
	}
	return NULL;
}

static int up_page_new(struct up_page **ret, const struct datadir *dir, const struct up_page_flags *flags, struct buf *err)
{
	struct up_page *p = mem_new(struct up_page);
	p->flags = flags;
	p->kubeconfig = mem_printf("%s/kubeconfig", dir->path);
	p->port = flags->port;
	int r = up_page_begin(p, err);
	if (r) {
		up_page_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

/* The administrator has a new certificate: the page begins again at the same port, and users need a new link. */
static int up_page_renew(struct up_page *p, struct buf *err)
{
	up_page_end(p);
	return up_page_begin(p, err);
}

/* ---- flags ---- */

static int check_flags(void *flags, struct buf *err)
{
	struct up_flags *f = flags;

	if (f->etcd && f->etcd_flags.servers.n > 0) {
		return command_refuse(
			err, "--etcd names an etcd to start, --etcd-servers one that runs already: give one of them");
	}
	if (f->etcd_flags.servers.n == 0 && strcmp(f->etcd_flags.prefix, ETCD_PREFIX) != 0) {
		return command_refuse(err, "--etcd-prefix goes with --etcd-servers: nobody else uses an etcd of annals' own");
	}
	if (f->is_ephemeral && (f->data_dir || f->etcd_flags.servers.n > 0)) {
		return command_refuse(
			err, "--ephemeral keeps nothing: it goes neither with --data-dir nor with --etcd-servers");
	}
	bool names_etcd = f->etcd || f->etcd_flags.servers.n > 0;
	int r = store_flags_check(&f->store, names_etcd, err);
	r = r ? r : ready_flags_check(&f->ready, f->page.is_wanted, err);
	r = r ? r : control_flags_check(&f->control, err);
	r = r ? r : up_page_flags_check(&f->page, err);
	r = r ? r : etcd_flags_check(&f->etcd_flags, err);
	r = r ? r : server_flags_check(&f->server, err);
	f->control.settings.allows_max_unavailable = f->server.max_unavailable;
	if (f->is_ephemeral && !f->is_port_given) {
		f->port = 0;
	}
	return r;
}

/* Is the flag on the command line? The value of a number does not say that. */
static bool is_given(const char *flag, int argc, char **argv)
{
	size_t n = strlen(flag);
	int i = 1;
	while (i < argc && (strncmp(argv[i], flag, n) != 0 || (argv[i][n] != '\0' && argv[i][n] != '='))) {
		i++;
	}
	return i < argc;
}

static int parse_flags(const struct command *command, struct up_flags *f, int argc, char **argv)
{
	struct option options[10 + STORE_FLAGS_MAX + READY_FLAGS_MAX + CONTROL_FLAGS_MAX + UP_PAGE_FLAGS_MAX + ETCD_FLAGS_MAX +
		SERVER_FLAGS_MAX] = {
		OPTIONS_GROUP("General"),
		FLAG("data-dir", OPTION_STRING, &f->data_dir, "DIR",
			"The directory of certificates, kubeconfig and data; $XDG_DATA_HOME/annals or ~/.local/share/annals by "
			"default."),
		{"port", OPTION_INT, &f->port, "PORT",
			"The port to listen on, at 127.0.0.1; 0: any that is free, which is printed. --ephemeral takes any.", 0,
			65535},
		FLAG("ephemeral", OPTION_BOOL, &f->is_ephemeral, NULL,
			"For tests: works in a temporary directory, which is removed however annals ends. annals ends with the "
			"process that started it."),
		FLAG("etcd", OPTION_STRING, &f->etcd, "PATH", "The etcd to start, 3.4 or later; the one in $PATH by default."),
	};
	store_flags_rows(&f->store, options + options_count(options));
	ready_flags_rows(&f->ready, options + options_count(options));
	control_flags_rows(&f->control, options + options_count(options));
	up_page_flags_rows(&f->page, options + options_count(options));
	etcd_flags_rows(&f->etcd_flags, options + options_count(options));
	server_flags_rows(&f->server, options + options_count(options));
	assert(options_count(options) < ARRAY_SIZE(options)); /* the last row ends the table */
	f->is_port_given = is_given("--port", argc, argv);
	return command_parse(command, options, argc, argv, check_flags, f);
}

/* ---- starting ---- */

/* --ephemeral makes a token: it is easier to use and to hand on than a certificate. */
static int make_token(struct up *u)
{
	random_suffix(u->token, TOKEN_SIZE - 1);
	_cleanup_(mem_freep) char *line = mem_printf("%s,annals-admin,annals-admin,\"system:masters\"\n", u->token);
	u->token_file = datadir_file(&u->dir, "tokens.csv");
	u->flags->server.token_auth_file = u->token_file;
	return datadir_write(&u->dir, "tokens.csv", str_of(line), 0600, &u->err);
}

static char *choose_folder(const struct up *u)
{
	const char *given = u->scratch ? scratch_path(u->scratch) : u->flags->data_dir;
	return given ? mem_strdup(given) : datadir_default();
}

static int open_folder(struct up *u)
{
	if (u->flags->is_ephemeral) {
		loop_watch_parent(&u->loop);
		int r = scratch_new(&u->scratch, &u->err);
		if (r) {
			return r;
		}
	}
	_cleanup_(mem_freep) char *path = choose_folder(u);
	int r = datadir_open(&u->dir, path, &u->err);
	if (r) {
		return r;
	}
	u->dir.is_fleeting = u->scratch != NULL;
	u->ca_file = datadir_file(&u->dir, "ca.crt");
	u->cert_file = datadir_file(&u->dir, "server.crt");
	u->key_file = datadir_file(&u->dir, "server.key");
	if (u->scratch && !u->flags->server.token_auth_file) {
		r = make_token(u);
	}
	return r ? r : certs_ensure(&u->dir, clock_wall_s(), NULL, &u->err);
}

static int start_etcd(struct up *u)
{
	u->etcd_began_ms = clock_mono_ms();
	u->restart_at_ms = 0;
	return etcd_child_start(u->etcd, &u->err);
}

/* etcd starts first: it takes longest, and the fork has to come before there are threads. */
static int open_etcd(struct up *u)
{
	int r = etcd_child_new(&u->etcd, &u->dir, u->flags->etcd, &u->err);
	return r ? r : start_etcd(u);
}

/* Objects of an earlier run may be in the directory, and the user may have meant those. */
static void warn_of_other_data(struct up *u)
{
	if (faccessat(u->dir.fd, "etcd", F_OK, 0) == 0) {
		fprintf(stderr, "annals up: what is in %s/etcd is not used with %s\n", u->dir.path,
			u->flags->store.is_memory ? "--store=memory" : "--etcd-servers");
	}
}

static int open_server(struct up *u)
{
	const char *endpoint = u->etcd ? etcd_child_endpoint(u->etcd) : NULL;
	const struct storage_etcd_options own = {.endpoints = &endpoint, .n_endpoints = 1};
	const struct instance_options options = {
		.loop = &u->loop,
		.flags = &u->flags->server,
		.memory_limit = store_flags_memory_limit(&u->flags->store),
		.etcd = u->etcd ? own : etcd_flags_options(&u->flags->etcd_flags),
		.prefix = u->flags->etcd_flags.prefix,
		.bind_address = "127.0.0.1",
		.port = (uint16_t)u->flags->port,
		.cert_file = u->cert_file,
		.key_file = u->key_file,
		.client_ca_file = u->ca_file,
		.write_metrics = control_write_metrics,
		.metrics_ctx = u->control,
	};
	int r = instance_new(&u->instance, &options, &u->err);
	if (r == -EADDRINUSE) {
		BUF_LITERAL(&u->err, ". Give another one with --port, or --port 0 for any");
	}
	if (r) {
		return r;
	}
	u->url = mem_printf("https://127.0.0.1:%u", instance_port(u->instance));
	return ready_write_kubeconfig(&u->flags->ready, &u->dir, u->url, &u->err);
}

static int up_start(struct up *u)
{
	int r = open_folder(u);
	if (!r && (u->flags->etcd_flags.servers.n > 0 || u->flags->store.is_memory)) {
		warn_of_other_data(u);
	} else if (!r) {
		r = open_etcd(u);
	}
	u->control = control_new(&u->dir, &u->flags->control);
	r = r ? r : open_server(u);
	return r || !u->flags->page.is_wanted ? r : up_page_new(&u->page, &u->dir, &u->flags->page, &u->err);
}

/* ---- messages to the user ---- */

static void show_link(struct up *u)
{
	printf("\nWhat changes is shown by this page%s, to whoever opens this link first:\n",
		u->flags->page.may_write ? ", which may also undo and restore" : "");
	page_print_link(&u->page->page, false);
}

static int up_announce(struct up *u)
{
	const char *asked = u->flags->ready.kubeconfig_out;
	_cleanup_(mem_freep) char *kubeconfig = asked ? realpath(asked, NULL) : mem_printf("%s/kubeconfig", u->dir.path);
	const struct ready_server server = {
		.dir = &u->dir,
		.kubeconfig = kubeconfig ? kubeconfig : asked,
		.url = u->url,
		.token = u->scratch && u->flags->server.token_auth_file == u->token_file ? u->token : NULL,
		.store = u->flags->store.name,
		.is_ephemeral = u->scratch != NULL,
		.has_etcd = u->etcd != NULL,
	};
	u->is_announced = true;
	int r = ready_tell(&u->flags->ready, &server, &u->err);
	if (!r && u->page) {
		show_link(u);
	}
	return r;
}

static void up_complain(struct up *u)
{
	fputs("annals up: ", stderr);
	command_print(stderr, buf_str(&u->err));
	fputc('\n', stderr);
	buf_clear(&u->err);
}

/* An error is reported, and annals goes on: the server is of use without controllers. */
static void start_controllers(struct up *u)
{
	if (control_start(u->control, u->url, &u->err)) {
		up_complain(u);
	}
}

/* ---- while it runs ---- */

static void plan_restart(struct up *u)
{
	bool was_steady = clock_mono_ms() - u->etcd_began_ms >= STEADY_MS;
	u->backoff_ms = was_steady || u->backoff_ms == 0 ? BACKOFF_FIRST_MS : MIN(u->backoff_ms * 2, (int64_t)BACKOFF_LAST_MS);
	u->restart_at_ms = clock_mono_ms() + u->backoff_ms;
}

/* An etcd that never came up needs the user's help. One that did is started again, and the server answers 503 until
 * it is back. */
static int etcd_ended(struct up *u)
{
	if (!u->is_announced) {
		return -ECHILD;
	}
	up_complain(u);
	plan_restart(u);
	fprintf(stderr, "annals up: starting etcd again in %lld ms; requests are answered 503 until then\n",
		(long long)u->backoff_ms);
	return 0;
}

static void restart_if_due(struct up *u)
{
	if (u->restart_at_ms && clock_mono_ms() >= u->restart_at_ms && start_etcd(u)) {
		up_complain(u);
		plan_restart(u);
	}
}

static void renew_page(struct up *u)
{
	if (u->page && up_page_renew(u->page, &u->err)) {
		up_complain(u);
		u->page = up_page_free(u->page);
	} else if (u->page) {
		show_link(u);
	}
}

/* The server reads its certificate again by itself; the kubeconfig has a copy of the administrator's. */
static void do_chores(struct up *u)
{
	unsigned n_made = 0;
	if (clock_mono_ms() < u->chores_at_ms) {
		return;
	}
	u->chores_at_ms = clock_mono_ms() + CHORES_MS;
	if (u->etcd) {
		etcd_child_trim_log(u->etcd);
	}
	if (certs_ensure(&u->dir, clock_wall_s(), &n_made, &u->err) ||
		(n_made > 0 && ready_write_kubeconfig(&u->flags->ready, &u->dir, u->url, &u->err))) {
		up_complain(u);
	} else if (n_made > 0 && u->is_announced) {
		start_controllers(u);
		renew_page(u);
	}
}

static void show_patience(struct up *u)
{
	if (u->is_announced || clock_mono_ms() - u->waiting_since_ms <= PATIENCE_MS) {
		return;
	}
	if (u->etcd) {
		fprintf(stderr, "annals up: still waiting for etcd; what it does is in %s/etcd.log\n", u->dir.path);
	} else if (u->flags->store.is_memory) {
		fputs("annals up: still starting; this machine is busy\n", stderr);
	} else {
		fprintf(stderr, "annals up: still waiting for etcd; annals doctor --etcd-servers %s ... says what is wrong\n",
			u->flags->etcd_flags.servers.v[0]);
	}
	u->waiting_since_ms = clock_mono_ms();
}

static int64_t next_wake_ms(const struct up *u)
{
	int64_t at = u->chores_at_ms;
	at = u->restart_at_ms ? MIN(at, u->restart_at_ms) : at;
	at = u->is_announced ? at : MIN(at, u->waiting_since_ms + PATIENCE_MS + 1);
	return MAX(at - clock_mono_ms(), (int64_t)0);
}

/* Returns 0 after a signal to stop, or an error after which annals cannot go on. */
static int watch_over(struct up *u)
{
	for (;;) {
		unsigned events = loop_wait(&u->loop, next_wake_ms(u));
		if (events & LOOP_STOP) {
			return 0;
		}
		if ((events & LOOP_CHILD) && u->etcd && etcd_child_has_ended(u->etcd, &u->err)) {
			int r = etcd_ended(u);
			if (r) {
				return r;
			}
		}
		if ((events & LOOP_NEWS) && instance_is_ready(u->instance) && !u->is_announced) {
			int r = up_announce(u);
			if (r) {
				return r;
			}
			start_controllers(u);
			if (u->page) {
				loop_take_keyboard(&u->loop);
			}
		}
		if ((events & LOOP_ENTER) && u->page) {
			show_link(u);
		}
		restart_if_due(u);
		do_chores(u);
		show_patience(u);
	}
}

/* ---- stopping ---- */

/* Returns false when a second signal asks to hurry. */
static bool up_drain(struct up *u)
{
	instance_drain(u->instance);
	while (!instance_is_drained(u->instance)) {
		unsigned events = loop_wait(&u->loop, -1);
		if (events & LOOP_STOP) {
			return false;
		}
		if ((events & LOOP_CHILD) && u->etcd) {
			etcd_child_has_ended(u->etcd, &u->err);
		}
	}
	return true;
}

static void stop_etcd(struct up *u)
{
	int64_t give_up_ms = clock_mono_ms() + ETCD_STOP_MS;
	etcd_child_stop(u->etcd, false);
	while (etcd_child_pid(u->etcd) > 0 && !etcd_child_has_ended(u->etcd, &u->err)) {
		int64_t left_ms = give_up_ms - clock_mono_ms();
		if (left_ms <= 0 || (loop_wait(&u->loop, left_ms) & LOOP_STOP)) {
			etcd_child_stop(u->etcd, true);
			give_up_ms = clock_mono_ms() + ETCD_STOP_MS;
		}
	}
}

/* Controllers stop first, since the server would only refuse them. etcd stops last, since requests under way need it. */
static void up_stop(struct up *u, int status)
{
	deadline_start(u->flags->server.shutdown_delay_ms + u->flags->server.request_timeout_ms);
	u->page = up_page_free(u->page);
	if (u->control) {
		control_stop(u->control);
	}
	bool is_over = !u->instance || (up_drain(u) && instance_close(u->instance));
	if (u->etcd) {
		stop_etcd(u);
	}
	if (!is_over) {
		_exit(status);
	}
	u->control = control_free(u->control);
}

static void up_done(struct up *u)
{
	etcd_child_free(u->etcd);
	mem_free(u->url);
	mem_free(u->ca_file);
	mem_free(u->cert_file);
	mem_free(u->key_file);
	datadir_done(&u->dir);
	scratch_free(u->scratch);
	mem_free(u->token_file);
	loop_done(&u->loop);
	buf_done(&u->err);
}

static int up(struct up_flags *flags)
{
	_cleanup_(up_done) struct up u = {
		.flags = flags,
		.dir = {.fd = -1, .lock_fd = -1},
		.loop = LOOP_NONE,
		.waiting_since_ms = clock_mono_ms(),
	};
	buf_init(&u.err, 64 * 1024);
	u.chores_at_ms = u.waiting_since_ms + CHORES_MS;
	int r = loop_init(&u.loop, &u.err);
	if (!r) {
		r = up_start(&u);
	}
	if (!r) {
		r = watch_over(&u);
	}
	if (r) {
		up_complain(&u);
	}
	int status = r ? EXIT_FAILED : EXIT_OK;
	up_stop(&u, status);
	return status;
}

static int command_run(const struct command *command, int argc, char **argv)
{
	struct up_flags flags = {.port = 6443};
	store_flags_init(&flags.store);
	ready_flags_init(&flags.ready);
	etcd_flags_init(&flags.etcd_flags);
	server_flags_init(&flags.server);
	int r = parse_flags(command, &flags, argc, argv);
	r = r >= 0 ? r : up(&flags);
	option_strings_done(&flags.control.choice);
	etcd_flags_done(&flags.etcd_flags);
	server_flags_done(&flags.server);
	return r;
}

const struct command command_up = {
	.name = "up",
	.usage = "[--data-dir DIR | --ephemeral] [--port PORT] [--etcd PATH | --etcd-servers URL,... | --store memory] "
		 "[--controllers NAME,...] [--fake-nodes N] [flags]",
	.summary = "everything on one machine: certificates, an etcd of its own, the API server, controllers",
	.description = "Makes certificates and a kubeconfig, starts an etcd that only this server can talk to, and serves on\n"
		       "127.0.0.1. A second start on the same data directory takes the data up again. With --etcd-servers it\n"
		       "starts no etcd, and keeps the data in that one.",
	.examples = "  # everything, with the data in ~/.local/share/annals\n"
		    "  annals up\n"
		    "  # for a test: any free port, its own directory, pods that come up on two simulated nodes\n"
		    "  annals up --ephemeral --fake-nodes 2\n"
		    "  # for a program: no etcd, nothing is kept, one line of JSON says where it is\n"
		    "  annals up --ephemeral --store=memory -o json\n"
		    "  # with a page in the browser\n"
		    "  annals up --ui\n",
	.files = "DIR/kubeconfig\tfor kubectl, as an administrator\n"
		 "DIR/ca.crt, DIR/ca.key\tthe CA of all certificates\n"
		 "DIR/server.crt, DIR/admin.crt, DIR/controllers.crt\tcertificates, with their keys beside them\n"
		 "DIR/etcd\tetcd's data\n"
		 "DIR/etcd.log\twhat etcd logs\n",
	.exit_status = "0\tstopped by SIGTERM or SIGINT\n1\tit cannot serve\n2\tthe command line was wrong\n",
	.run = command_run,
};
