/* Each part is looked at only when its place is told, and what is not looked at is said: a
 * report without findings must not look like health. It only reads, so it can be run by whoever
 * is nervous. */
#include "base/clock.h"
#include "cli/common/command.h"
#include "cli/common/etcd_flags.h"
#include "cli/doctor/doctor_cluster.h"
#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_files.h"
#include "cli/doctor/doctor_up.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUTPUT_MAX = 64 << 20 };

struct doctor_flags {
	const char *kubeconfig, *context, *server, *ns, *service, *account, *user;
	struct option_strings allowed_names;
	struct etcd_flags etcd;
	const char *tls_cert_file, *tls_key_file, *client_ca_file, *front_ca_file;
	const char *data_dir, *output;
};

/* ---- flags ---- */

static bool has_files(const struct doctor_flags *f)
{
	return f->tls_cert_file || f->client_ca_file || f->front_ca_file;
}

static int check_flags(void *flags, struct buf *err)
{
	const struct doctor_flags *f = flags;

	if (strcmp(f->output, "text") != 0 && strcmp(f->output, "json") != 0) {
		return command_refuse(err, "--output must be text or json");
	}
	if (!f->kubeconfig && (f->context || f->server)) {
		return command_refuse(err, "--context and --server go with --kubeconfig");
	}
	if (f->tls_key_file && !f->tls_cert_file) {
		return command_refuse(err, "--tls-private-key-file goes with --tls-cert-file");
	}
	int r = etcd_flags_check(&f->etcd, err);
	if (!r && !f->kubeconfig && !f->etcd.servers.n && !has_files(f) && !f->data_dir) {
		r = command_refuse(err,
			"give what is to be checked: --kubeconfig, --etcd-servers, --tls-cert-file, --client-ca-file, "
			"--requestheader-client-ca-file or --data-dir");
	}
	return r;
}

static int parse_flags(const struct command *command, struct doctor_flags *f, int argc, char **argv)
{
	struct option options[18 + ETCD_FLAGS_MAX] = {
		FLAG("kubeconfig", OPTION_STRING, &f->kubeconfig, "FILE",
			"The cluster, as somebody who may look: an administrator."),
		FLAG("context", OPTION_STRING, &f->context, "NAME", "Which one of the kubeconfig; the current one."),
		FLAG("namespace", OPTION_STRING, &f->ns, "NAME", "Where annals is deployed."),
		FLAG("service", OPTION_STRING, &f->service, "NAME", "The Service in front of it."),
		FLAG("service-account", OPTION_STRING, &f->account, "NAME", "As whom it runs, in that namespace."),
		FLAG("user", OPTION_STRING, &f->user, "NAME", "Instead: the user that its kubeconfig names."),
		FLAG("server", OPTION_STRING, &f->server, "HOST:PORT",
			"Where annals can be reached from here, to see its certificate; as the Service says by default."),
		FLAG("tls-cert-file", OPTION_STRING, &f->tls_cert_file, "FILE", "A serving certificate."),
		FLAG("tls-private-key-file", OPTION_STRING, &f->tls_key_file, "FILE", "Its key."),
		FLAG("client-ca-file", OPTION_STRING, &f->client_ca_file, "FILE", "CA of users' certificates."),
		FLAG("requestheader-client-ca-file", OPTION_STRING, &f->front_ca_file, "FILE",
			"CA of front proxies' certificates."),
		FLAG("requestheader-allowed-names", OPTION_STRINGS, &f->allowed_names, "NAME,...", "Which of them count."),
		FLAG("data-dir", OPTION_STRING, &f->data_dir, "DIR", "The directory of an annals up."),
		FLAG("output", OPTION_STRING, &f->output, "FORM", "text or json."),
		FLAG("o", OPTION_STRING, &f->output, "FORM", "The same."),
	};
	etcd_flags_rows(&f->etcd, options + options_count(options));
	return command_parse(command, options, argc, argv, check_flags, f);
}

/* ---- the parts ---- */

static struct str kubectl_command(struct report *r, const struct doctor_flags *f)
{
	struct str line =
		report_text(r, "kubectl --kubeconfig=" STR_FMT, STR_ARG(shell_word(&r->arena, str_of(f->kubeconfig))));
	return f->context ? report_text(r, STR_FMT " --context=" STR_FMT, STR_ARG(line),
				    STR_ARG(shell_word(&r->arena, str_of(f->context))))
			  : line;
}

static void check_cluster(struct report *r, const struct doctor_flags *f, int64_t now_s)
{
	doctor_check_cluster(r,
		&(struct doctor_cluster){
			.kubeconfig = f->kubeconfig,
			.context = f->context,
			.server = f->server,
			.deployment =
				{
					.kubectl = kubectl_command(r, f),
					.ns = str_of(f->ns),
					.service = str_of(f->service),
					.user = f->user ? str_of(f->user)
							: report_text(r, "system:serviceaccount:%s:%s", f->ns, f->account),
					.account = str_of(f->user ? NULL : f->account),
					.now_s = now_s,
				},
		});
}

static void check_etcd(struct report *r, const struct doctor_flags *f, int64_t now_s)
{
	doctor_check_etcd(r,
		&(struct doctor_etcd){
			.endpoints = (const char *const *)f->etcd.servers.v,
			.n_endpoints = f->etcd.servers.n,
			.ca_file = f->etcd.cafile,
			.cert_file = f->etcd.certfile,
			.key_file = f->etcd.keyfile,
			.prefix = f->etcd.prefix,
			.now_s = now_s,
		});
}

static void check_files(struct report *r, const struct doctor_flags *f, int64_t now_s)
{
	_cleanup_(certs_done) struct certs clients = {NULL, 0}, front = {NULL, 0};
	r->part = "files";
	if (f->tls_cert_file) {
		struct doctor_pair pair = {
			.cert_file = f->tls_cert_file,
			.key_file = f->tls_key_file,
			.is_server = true,
			.wanted_name = f->kubeconfig ? report_text(r, "%s.%s.svc", f->service, f->ns) : NO_MEND,
			.mend = report_text(r, "annals certs --dir=DIR --namespace=%s --service=%s    # DIR keeps the CA",
				f->ns, f->service),
		};
		doctor_check_pair(r, &pair, now_s);
	}
	if (f->client_ca_file) {
		doctor_check_cas(r, f->client_ca_file, now_s, &clients);
	}
	if (f->front_ca_file && doctor_check_cas(r, f->front_ca_file, now_s, &front)) {
		judge_front_names(r, STR("--requestheader-allowed-names"), &front, &clients, f->allowed_names.n,
			STR("annals serve --requestheader-client-ca-file=OTHER "
			    "--requestheader-allowed-names=front-proxy-client"));
	}
}

static void skip(struct report *r, const char *part, const char *flags)
{
	r->part = part;
	report_add(r, SEVERITY_SKIPPED, str_of(part), NO_MEND, "give %s", flags);
}

static void check_all(struct report *r, const struct doctor_flags *f)
{
	int64_t now_s = clock_wall_s();
	if (f->data_dir) {
		_cleanup_(mem_freep) char *path = realpath(f->data_dir, NULL);
		doctor_check_up(r, path ? path : f->data_dir, now_s);
	}
	if (f->kubeconfig) {
		check_cluster(r, f, now_s);
	} else if (!f->data_dir) {
		skip(r, "cluster", "--kubeconfig");
	}
	if (f->etcd.servers.n) {
		check_etcd(r, f, now_s);
	} else if (!f->data_dir) {
		skip(r, "etcd", "--etcd-servers, and --etcd-cafile, --etcd-certfile and --etcd-keyfile");
	}
	if (has_files(f)) {
		check_files(r, f, now_s);
	} else if (!f->data_dir) {
		skip(r, "files",
			"--tls-cert-file and --tls-private-key-file, --client-ca-file, --requestheader-client-ca-file");
	}
}

static int print(const struct command *command, struct report *r, bool is_json)
{
	struct buf out;
	buf_init(&out, OUTPUT_MAX);
	if (is_json) {
		report_write_json(r, &out);
	} else {
		report_write_text(r, &out);
	}
	bool is_printed = !out.is_over && command_print(stdout, buf_str(&out)) && fflush(stdout) == 0;
	buf_clear(&out);
	if (!is_printed) {
		buf_printf(&out, "cannot print what was found: %s", strerror(errno));
		command_fail(command, &out);
	}
	buf_done(&out);
	return is_printed && r->counts[SEVERITY_ERROR] == 0 ? EXIT_OK : EXIT_FAILED;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct doctor_flags flags = {
		.ns = "annals-system",
		.service = "annals",
		.account = "annals",
		.output = "text",
	};
	etcd_flags_init(&flags.etcd);
	int r = parse_flags(command, &flags, argc, argv);
	if (r < 0) {
		struct report report;
		report_init(&report);
		check_all(&report, &flags);
		r = print(command, &report, strcmp(flags.output, "json") == 0);
		report_done(&report);
		storage_etcd_shutdown();
	}
	etcd_flags_done(&flags.etcd);
	option_strings_done(&flags.allowed_names);
	return r;
}

const struct command command_doctor = {
	.name = "doctor",
	.usage = "[--kubeconfig FILE] [--etcd-servers URL,...] [--tls-cert-file FILE ...] [--data-dir DIR] [flags]",
	.summary = "looks at a deployment and says what is wrong and how to mend it",
	.description =
		"Looks at a deployment and says what is wrong with it, and how to mend that. It changes nothing. Each part is "
		"looked at\n"
		"when it is told where that is: the cluster (--kubeconfig), etcd (--etcd-servers), certificates in files, the\n"
		"directory of an `annals up`.\n\n"
		"Exit status: 0 all well, perhaps with warnings; 1 something is wrong; 2 misuse.",
	.run = run,
};
