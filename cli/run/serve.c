/* `annals serve`: one command for both modes, behind kube-aggregator and --standalone, so that both start and stop alike.
 * It refuses flags of other aggregated servers that annals does not have, and says why: an ignored flag would promise
 * something that nobody does. */
#include "cli/common/command.h"
#include "cli/common/etcd_flags.h"
#include "cli/run/instance.h"
#include "cli/run/loop.h"
#include "cli/run/server_flags.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct serve_flags {
	struct etcd_flags etcd;
	const char *bind_address;
	int64_t secure_port;
	const char *tls_cert_file, *tls_private_key_file, *client_ca_file;
	bool standalone;
	const char *kubeconfig;
	struct delegation_flags delegation;
	struct trust_flags trust;
	struct server_flags server;
};

static void flags_init(struct serve_flags *f)
{
	*f = (struct serve_flags){.bind_address = "0.0.0.0", .secure_port = 6443};
	etcd_flags_init(&f->etcd);
	delegation_flags_init(&f->delegation);
	server_flags_init(&f->server);
	f->server.verbosity = 1;
}

static void flags_done(struct serve_flags *f)
{
	etcd_flags_done(&f->etcd);
	delegation_flags_done(&f->delegation);
	trust_flags_done(&f->trust);
	server_flags_done(&f->server);
}

/* ---- flags ---- */

/* Flags of other servers, by their beginning, and why annals refuses them. */
static const struct {
	const char *prefix, *why;
} refused_flags[] = {
	{"--audit-webhook-", "audit events go to a file or stdout here"},
	{"--audit-log-batch-", "a writer thread takes what is there: nothing to be set"},
	{"--audit-log-mode",
		"events are always handed to a writer thread, and nothing is lost silently: see docs/how-to/audit-log.md"},
	{"--audit-log-compress", "old audit logs are not compressed here"},
};

static int refuse_flags(int argc, char **argv, struct buf *err)
{
	for (int i = 1; i < argc; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(refused_flags); k++) {
			if (str_starts(str_of(argv[i]), str_of(refused_flags[k].prefix))) {
				buf_printf(err, "%s: %s", argv[i], refused_flags[k].why);
				return -EINVAL;
			}
		}
	}
	return 0;
}

static int check_flags(void *flags, struct buf *err)
{
	struct serve_flags *f = flags;

	if (f->standalone && f->kubeconfig) {
		return command_refuse(err, "--standalone needs no kube-apiserver: give one of --standalone and --kubeconfig");
	}
	if (!f->standalone && !f->kubeconfig && !client_config_is_in_pod()) {
		return command_refuse(err, "give --kubeconfig, the kube-apiserver to serve behind, or --standalone");
	}
	if (!f->standalone && (f->server.authorization_mode || f->server.authorization_policy_file)) {
		return command_refuse(err,
			"behind a kube-apiserver it is the cluster that authorizes: --authorization-mode and "
			"--authorization-policy-file belong to --standalone");
	}
	if (f->etcd.servers.n == 0) {
		return command_refuse(err, "give --etcd-servers, for example --etcd-servers=https://127.0.0.1:2379");
	}
	if (!f->tls_cert_file || !f->tls_private_key_file) {
		return command_refuse(err, "give --tls-cert-file and --tls-private-key-file: annals serves over TLS only");
	}
	int r = etcd_flags_check(&f->etcd, err);
	r = r ? r : delegation_flags_check(&f->delegation, f->standalone, err);
	r = r ? r : trust_flags_check(&f->trust, f->standalone, err);
	return r ? r : server_flags_check(&f->server, err);
}

static int parse_flags(const struct command *command, struct serve_flags *f, int argc, char **argv)
{
	struct option options[16 + ETCD_FLAGS_MAX + DELEGATION_FLAGS_MAX + TRUST_FLAGS_MAX + SERVER_FLAGS_MAX] = {
		OPTIONS_GROUP("Mode"),
		FLAG("standalone", OPTION_BOOL, &f->standalone, NULL,
			"Serve everything alone, without a kube-apiserver in front."),
		FLAG("kubeconfig", OPTION_STRING, &f->kubeconfig, "FILE",
			"The kube-apiserver in front, and the user who asks it for namespaces, webhooks and decisions. Within "
			"a "
			"pod its service account by default."),

		OPTIONS_GROUP("Secure serving"),
		FLAG("bind-address", OPTION_STRING, &f->bind_address, "ADDRESS", "The address to listen on."),
		{"secure-port", OPTION_INT, &f->secure_port, "PORT", "The port to listen on; 0: any, which the log tells.", 0,
			65535},
		FLAG("tls-cert-file", OPTION_STRING, &f->tls_cert_file, "FILE",
			"Serving certificate, required; read again when it changes."),
		FLAG("tls-private-key-file", OPTION_STRING, &f->tls_private_key_file, "FILE",
			"The key of that certificate, required; read again when it changes."),
		FLAG("client-ca-file", OPTION_STRING, &f->client_ca_file, "FILE",
			"CA of clients' certificates, whose CN is the user and O the groups; read again when it changes. "
			"Behind a "
			"kube-apiserver by default the CA in kube-system/extension-apiserver-authentication."),
	};
	size_t n = options_count(options);
	n += etcd_flags_rows(&f->etcd, options + n);
	n += delegation_flags_rows(&f->delegation, options + n);
	n += trust_flags_rows(&f->trust, options + n);
	server_flags_rows(&f->server, options + n);
	assert(options_count(options) < ARRAY_SIZE(options)); /* the last row ends the table */

	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	/* Before flags are parsed, which would only call them unknown. */
	if (refuse_flags(argc, argv, &err)) {
		return command_misuse(command, &err);
	}
	return command_parse(command, options, argc, argv, check_flags, f);
}

/* ---- serving ---- */

static int open_instance(struct instance **ret, const struct serve_flags *f, const struct delegation_options *delegation,
	const struct loop *loop, struct buf *err)
{
	const struct instance_options options = {
		.loop = loop,
		.flags = &f->server,
		.etcd = etcd_flags_options(&f->etcd),
		.prefix = f->etcd.prefix,
		.bind_address = f->bind_address,
		.port = (uint16_t)f->secure_port,
		.cert_file = f->tls_cert_file,
		.key_file = f->tls_private_key_file,
		.client_ca_file = f->client_ca_file,
		.front_ca_file = f->trust.front_ca_file,
		.front = &f->trust.front,
		.delegation = delegation,
		.always_allow_paths = (const char *const *)f->delegation.always_allow_paths,
	};
	return instance_new(ret, &options, err);
}

/* Waits until requests are over, or for a second signal: everything that was acknowledged is stored by then. */
static void wait_for_end(struct instance *i, struct loop *loop, const struct server_flags *f)
{
	while (!(loop_wait(loop, -1) & LOOP_STOP)) {
	}
	deadline_start(f->shutdown_delay_ms + f->request_timeout_ms);
	log_info("stop", "draining");
	instance_drain(i);
	while (!instance_is_drained(i)) {
		if (loop_wait(loop, -1) & LOOP_STOP) {
			log_warning("stop", "second signal: leaving at once");
			_exit(EXIT_OK);
		}
	}
}

static int serve(const struct command *command, const struct serve_flags *f, const struct delegation_options *delegation)
{
	struct instance *i;
	struct loop loop;
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	if (loop_init(&loop, &err)) {
		return command_fail(command, &err);
	}
	if (open_instance(&i, f, delegation, &loop, &err)) {
		loop_done(&loop);
		return command_fail(command, &err);
	}

	trust_flags_warn(&f->trust, &err);
	if (err.n > 0) {
		log_warning("start", STR_FMT, STR_ARG(buf_str(&err)));
	}
	log_info("start", "listening on %s port %u", f->bind_address, instance_port(i));
	wait_for_end(i, &loop, &f->server);
	if (!instance_close(i)) {
		_exit(EXIT_OK);
	}
	loop_done(&loop);
	return EXIT_OK;
}

static int serve_aggregated(const struct command *command, const struct serve_flags *f)
{
	_cleanup_(delegation_configs_done) struct delegation_configs configs;
	struct delegation_options delegation;
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	if (delegation_flags_load(&f->delegation, f->kubeconfig, &configs, &delegation, &err)) {
		return command_fail(command, &err);
	}
	delegation.wants_client_ca = !f->client_ca_file && !f->trust.skips_lookup;
	delegation.wants_front_ca = !f->trust.front_ca_file && !f->trust.skips_lookup;
	delegation.tolerates_lookup_failure = f->trust.tolerates_failure;
	return serve(command, f, &delegation);
}

static int serve_run(const struct command *command, int argc, char **argv)
{
	_cleanup_(flags_done) struct serve_flags flags;
	flags_init(&flags);
	int r = parse_flags(command, &flags, argc, argv);
	if (r >= 0) {
		return r;
	}
	return flags.standalone ? serve(command, &flags, NULL) : serve_aggregated(command, &flags);
}

const struct command command_serve = {
	.name = "serve",
	.usage = "[--standalone | --kubeconfig FILE] --etcd-servers URL,... --tls-cert-file FILE --tls-private-key-file FILE "
		 "[flags]",
	.summary = "the API server alone, on an etcd that is there already",
	.description = "Serves the API from an etcd that is there already. Any number of replicas may share one etcd.\n\n"
		       "Behind a kube-apiserver, annals is an aggregated API server: the cluster says who a user is and what\n"
		       "the user may do. --kubeconfig names that kube-apiserver; in a pod the service account does. With\n"
		       "--standalone annals needs no kube-apiserver.\n\n"
		       "Flags have kube-apiserver's names wherever it has the same flag.",
	.examples = "  # alone, on an etcd of this machine\n"
		    "  annals serve --standalone --etcd-servers=http://127.0.0.1:2379 \\\n"
		    "    --tls-cert-file=serving.crt --tls-private-key-file=serving.key --client-ca-file=ca.crt\n"
		    "  # behind a kube-apiserver\n"
		    "  annals serve --kubeconfig=annals.kubeconfig --etcd-servers=https://etcd:2379 \\\n"
		    "    --etcd-cafile=etcd-ca.crt --etcd-certfile=etcd-client.crt --etcd-keyfile=etcd-client.key \\\n"
		    "    --tls-cert-file=serving.crt --tls-private-key-file=serving.key\n",
	.files =
		"/var/run/secrets/kubernetes.io/serviceaccount\tthe service account of a pod, where there is no --kubeconfig\n",
	.exit_status = "0\tstopped by SIGTERM or SIGINT\n1\tit cannot serve\n2\tthe command line was wrong\n",
	.section = 8,
	.run = serve_run,
};
