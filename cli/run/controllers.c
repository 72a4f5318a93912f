/* `annals controllers`: controllers alone, against any API server that has the kinds. The flags of leader election have
 * the names, defaults and rules of k8s.io/client-go and k8s.io/component-base. */
#include "base/clock.h"
#include "base/ids.h"
#include "cli/common/command.h"
#include "cli/run/control.h"
#include "cli/run/loop.h"
#include "cli/run/server_flags.h"
#include "controllers/runner.h"
#include "server/http/http.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

enum {
	NO_PORT = -1,
	HOST_NAME_SIZE = 256,
	METRICS_MAX = 16 << 20, /* bytes of one answer of /metrics */
	BODY_MAX = 4096,        /* bytes of a request to /metrics, which needs none */
	DRAIN_MS = 1000,
	KEPT_MS = 1000,
};

struct controllers_flags {
	const char *kubeconfig;
	struct control_flags control;
	struct option_strings feature_gates;
	bool is_elected;
	const char *lease_name, *lease_namespace;
	int64_t lease_ms, renew_ms, retry_ms;
	int64_t metrics_port;
	const char *metrics_bind_address;
	const char *logging_format;
	int64_t verbosity;
};

static int check_flags(void *flags, struct buf *err)
{
	struct controllers_flags *f = flags;

	if (!f->kubeconfig && !client_config_is_in_pod()) {
		return command_refuse(err, "give --kubeconfig: where the API server is, and who we are there");
	}
	/* client-go's rules: otherwise a leader could not step down in time. */
	if (f->lease_ms <= f->renew_ms) {
		return command_refuse(err, "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline");
	}
	if (f->renew_ms <= f->retry_ms * 6 / 5) {
		return command_refuse(
			err, "--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period");
	}
	const struct feature_gate gates[] = {
		{"MaxUnavailableStatefulSet", &f->control.settings.allows_max_unavailable},
		{0},
	};
	int r = feature_gates_set(gates, &f->feature_gates, err);
	r = r ? r : control_flags_check(&f->control, err);
	return r ? r : server_flags_setup_log(f->logging_format, f->verbosity, err);
}

static int parse_flags(const struct command *command, struct controllers_flags *f, int argc, char **argv)
{
	struct option options[19 + CONTROL_FLAGS_MAX] = {
		OPTIONS_GROUP("General"),
		FLAG("kubeconfig", OPTION_STRING, &f->kubeconfig, "FILE",
			"The API server and the user to act as: the file's current context. Required, but within a pod its "
			"service "
			"account is the default."),
		FLAG("feature-gates", OPTION_STRINGS, &f->feature_gates, "NAME=BOOL,...",
			"MaxUnavailableStatefulSet=true (false by default) lets a rolling update take down several pods at "
			"once."),
		{"metrics-port", OPTION_INT, &f->metrics_port, "PORT",
			"Where to serve /metrics and /healthz, without TLS; 0: any that is free; -1: nowhere.", NO_PORT, 65535},
		FLAG("metrics-bind-address", OPTION_STRING, &f->metrics_bind_address, "ADDRESS",
			"The address to serve them on. Whoever reaches it may read the metrics."),

		OPTIONS_GROUP("Leader election"),
		FLAG("leader-elect", OPTION_BOOL, &f->is_elected, NULL,
			"Work only while holding a Lease: of several processes one is active, and another takes over when it "
			"is "
			"gone."),
		{"leader-elect-lease-duration", OPTION_DURATION, &f->lease_ms, "DURATION",
			"How long other processes wait for a change of the Lease before they take it.", 1000, 0},
		{"leader-elect-renew-deadline", OPTION_DURATION, &f->renew_ms, "DURATION",
			"How long the holder tries to renew the Lease before it stops working.", 1, 0},
		{"leader-elect-retry-period", OPTION_DURATION, &f->retry_ms, "DURATION",
			"The time between two tries to take or renew the Lease.", 1, 0},
		{"leader-elect-resource-name", OPTION_STRING, &f->lease_name, "NAME", "The name of the Lease.", 0, 0},
		{"leader-elect-resource-namespace", OPTION_STRING, &f->lease_namespace, "NAME", "The namespace of the Lease.",
			0, 0},

		OPTIONS_GROUP("Logging"),
		FLAG("logging-format", OPTION_STRING, &f->logging_format, "text|json",
			"The form of the log on standard error."),
		{"v", OPTION_INT, &f->verbosity, "N",
			"How much to log. 0: errors and warnings. 1: also starts, stops and the notices of controllers. Levels "
			"up to "
			"10 are taken, and add nothing.",
			0, 10},
	};
	control_flags_rows(&f->control, options + options_count(options));
	assert(options_count(options) < ARRAY_SIZE(options)); /* the last row ends the table */
	return command_parse(command, options, argc, argv, check_flags, f);
}

/* ---- the port of metrics ----
 *
 * Controllers have no API of their own, so their metrics get a port: plain HTTP, without certificates to manage. On
 * an address that others reach, the text is made once a second at most. */

struct metrics_port {
	struct http_server *http;
	struct runner *runner;
	bool is_local;
	/* Only the one HTTP thread uses these. */
	struct buf text;
	int64_t made_ms; /* of text; 0: never */
};

/* Every client on loopback is trusted. */
static void on_headers(void *ctx, struct http_exchange *x)
{
	const struct metrics_port *p = ctx;

	if (p->is_local) {
		http_vouch(x);
	}
}

static void reply_metrics(struct metrics_port *p, struct http_exchange *x)
{
	int64_t now_ms = clock_mono_ms();

	if (p->is_local || !p->made_ms || now_ms - p->made_ms >= KEPT_MS) {
		buf_clear(&p->text);
		runner_write_metrics(p->runner, &p->text);
		p->made_ms = now_ms;
	}
	http_add_header(x, "Content-Type", STR("text/plain; version=0.0.4; charset=utf-8"));
	http_reply(x, 200, arena_dup(http_arena(x), buf_str(&p->text)));
}

static void on_request(void *ctx, struct http_exchange *x)
{
	struct str path, query;
	str_cut(http_target(x), '?', &path, &query);
	if (str_is(path, "/metrics")) {
		reply_metrics(ctx, x);
	} else if (str_is(path, "/healthz")) {
		http_reply(x, 200, STR("ok"));
	} else {
		http_reply(x, 404, STR("404 page not found\n"));
	}
}

static void on_done(void *ctx _unused_, struct http_exchange *x _unused_)
{
}

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static int metrics_port_new(
	struct metrics_port **ret, const struct controllers_flags *f, struct runner *runner, struct buf *err)
{
	struct metrics_port *p = mem_new(struct metrics_port);
	p->runner = runner;
	p->is_local = is_loopback(f->metrics_bind_address);
	const struct http_options options = {
		.bind_address = f->metrics_bind_address,
		.port = (uint16_t)f->metrics_port,
		.threads = 1,
		.max_connections = 64,
		.max_body = BODY_MAX,
		.handler = {.ctx = p, .on_headers = on_headers, .on_request = on_request, .on_done = on_done},
	};
	buf_init(&p->text, METRICS_MAX);
	int r = http_server_new(&p->http, &options, err);
	if (r) {
		buf_done(&p->text);
		mem_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static void metrics_port_free(struct metrics_port *p)
{
	/* A server that does not drain stays as it is: the process is about to end. */
	if (p && http_server_drain(p->http, DRAIN_MS)) {
		http_server_free(p->http);
		buf_done(&p->text);
		mem_free(p);
	}
}

/* ---- running ---- */

/* Like client-go's: the host's name and a unique suffix. */
static char *make_identity(void)
{
	char host[HOST_NAME_SIZE] = "", uuid[UUID_SIZE];
	gethostname(host, sizeof(host) - 1);
	uuid_new(uuid);
	return mem_printf("%s_%s", host, uuid);
}

static int start_runner(const struct controllers_flags *f, const char *identity, struct runner **ret, struct buf *err)
{
	struct client_config config = {0};
	const struct runner_election election = {
		.namespace = f->lease_namespace,
		.name = f->lease_name,
		.identity = identity,
		.lease_ms = f->lease_ms,
		.renew_ms = f->renew_ms,
		.retry_ms = f->retry_ms,
	};
	int r = f->kubeconfig ? client_config_load(&config, f->kubeconfig, NULL, err)
			      : client_config_load_pod(&config, POD_FOLDER, err);
	if (!r) {
		r = runner_new(ret,
			&(struct runner_options){
				.config = &config,
				.choice = f->control.choice.v,
				.n_choice = f->control.choice.n,
				.fake_nodes = f->control.fake_nodes,
				.settings = f->control.settings,
				.election = f->is_elected ? &election : NULL,
				.on_notice = control_log,
			},
			err);
	}
	client_config_done(&config);
	return r;
}

static int serve_metrics(const struct controllers_flags *f, struct runner *runner, struct metrics_port **ret, struct buf *err)
{
	if (f->metrics_port == NO_PORT) {
		return 0;
	}
	int r = metrics_port_new(ret, f, runner, err);
	if (!r) {
		log_info("start", "metrics on %s port %u", f->metrics_bind_address, http_server_port((*ret)->http));
	}
	return r;
}

static int control(const struct command *command, const struct controllers_flags *f)
{
	struct loop loop;
	struct runner *runner = NULL;
	struct metrics_port *metrics = NULL;
	_cleanup_(mem_freep) char *identity = make_identity();
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	int r = loop_init(&loop, &err);
	if (r) {
		return command_fail(command, &err);
	}
	r = start_runner(f, identity, &runner, &err);
	r = r ? r : serve_metrics(f, runner, &metrics, &err);
	if (!r) {
		log_info("start", "running");
		while (!(loop_wait(&loop, -1) & LOOP_STOP)) {
		}
		log_info("stop", "stopping");
	}
	metrics_port_free(metrics);
	runner_free(runner);
	loop_done(&loop);
	return r ? command_fail(command, &err) : EXIT_OK;
}

static int controllers_run(const struct command *command, int argc, char **argv)
{
	struct controllers_flags flags = {
		.lease_name = "annals-controllers",
		.lease_namespace = "kube-system",
		.lease_ms = 15 * 1000,
		.renew_ms = 10 * 1000,
		.retry_ms = 2 * 1000,
		.metrics_port = NO_PORT,
		.metrics_bind_address = "127.0.0.1",
		.logging_format = "text",
		.verbosity = 1,
	};
	int r = parse_flags(command, &flags, argc, argv);
	r = r >= 0 ? r : control(command, &flags);
	option_strings_done(&flags.control.choice);
	option_strings_done(&flags.feature_gates);
	return r;
}

const struct command command_controllers = {
	.name = "controllers",
	.usage = "--kubeconfig FILE [--controllers NAME,...] [--fake-nodes N] [--leader-elect] [flags]",
	.summary = "the controllers alone, as a client of any API server",
	.description =
		"Runs controllers against the API server of a kubeconfig. `annals up` runs them itself. Run this command\n"
		"beside `annals serve`, or beside a kube-apiserver without kube-controller-manager.\n\n"
		"The controllers empty deleted namespaces and collect garbage: objects whose owners are gone. They let\n"
		"go of deleted PersistentVolumeClaims that no pod uses, and of deleted Providers that no Dependent uses.\n"
		"They make ConfigMaps from Dependents, roll StatefulSets out and keep their history, and record the\n"
		"objects that Recorders name.\n\n"
		"With --leader-elect several processes may run: one is active, and another takes over when it is gone.",
	.examples = "  # beside annals serve\n"
		    "  annals controllers --kubeconfig=admin.kubeconfig\n"
		    "  # all but the namespace controller; one of several processes works\n"
		    "  annals controllers --kubeconfig=admin.kubeconfig --controllers='*,-namespace' --leader-elect\n",
	.files =
		"/var/run/secrets/kubernetes.io/serviceaccount\tthe service account of a pod, where there is no --kubeconfig\n",
	.exit_status = "0\tstopped by SIGTERM or SIGINT\n1\tit cannot run\n2\tthe command line was wrong\n",
	.section = 8,
	.run = controllers_run,
};
