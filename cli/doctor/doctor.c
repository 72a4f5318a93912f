/* Each part is checked only if its flags are given. Skipped parts are listed, because a report
 * without findings must not look like health. doctor only reads, so it is safe to run at any time.
 * */
#include "base/clock.h"
#include "cli/common/command.h"
#include "cli/common/datadir.h"
#include "cli/common/etcd_flags.h"
#include "cli/common/terminal.h"
#include "cli/doctor/doctor_cluster.h"
#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_files.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of the report; a longer one is not printed, and the command fails. */
enum { OUTPUT_MAX = 64 << 20 };

struct doctor_flags {
	const char *kubeconfig, *context, *ns, *service, *account, *user;
	struct option_strings allowed_names;
	struct etcd_flags etcd;
	const char *tls_cert_file, *tls_key_file, *client_ca_file, *front_ca_file;
	const char *data_dir, *output, *colour;
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
	if (!f->kubeconfig && f->context) {
		return command_refuse(err, "--context goes with --kubeconfig");
	}
	if (f->tls_key_file && !f->tls_cert_file) {
		return command_refuse(err, "--tls-private-key-file goes with --tls-cert-file");
	}
	int r = colour_check(f->colour, err);
	return r ? r : etcd_flags_check(&f->etcd, err);
}

static int parse_flags(const struct command *command, struct doctor_flags *f, int argc, char **argv)
{
	struct option options[20 + ETCD_FLAGS_MAX] = {
		OPTIONS_GROUP("General"),
		FLAG("data-dir", OPTION_STRING, &f->data_dir, "DIR",
			"Look at the directory of an `annals up`. Where nothing else is to be looked at, $XDG_DATA_HOME/annals "
			"or "
			"~/.local/share/annals is the default."),
		FLAG("output", OPTION_STRING, &f->output, "text|json", "The form of the report."),
		FLAG("o", OPTION_STRING, &f->output, "text|json", "The same."),
		COLOUR_FLAG(&f->colour),

		OPTIONS_GROUP("Cluster"),
		FLAG("kubeconfig", OPTION_STRING, &f->kubeconfig, "FILE",
			"Look at the cluster of this file, as its user, who must be allowed to look: an administrator."),
		FLAG("context", OPTION_STRING, &f->context, "NAME",
			"The context of the kubeconfig; its current one by default."),
		FLAG("namespace", OPTION_STRING, &f->ns, "NAMESPACE", "The namespace where annals is deployed."),
		FLAG("service", OPTION_STRING, &f->service, "NAME", "The Service in front of annals."),
		FLAG("service-account", OPTION_STRING, &f->account, "NAME",
			"The service account that annals uses, in that namespace."),
		FLAG("user", OPTION_STRING, &f->user, "NAME",
			"The user that annals' own kubeconfig names, where it uses no service account."),

		OPTIONS_GROUP("File"),
		FLAG("tls-cert-file", OPTION_STRING, &f->tls_cert_file, "FILE", "Look at this serving certificate."),
		FLAG("tls-private-key-file", OPTION_STRING, &f->tls_key_file, "FILE", "The key of that certificate."),
		FLAG("client-ca-file", OPTION_STRING, &f->client_ca_file, "FILE", "Look at this CA of users' certificates."),
		FLAG("requestheader-client-ca-file", OPTION_STRING, &f->front_ca_file, "FILE",
			"Look at this CA of front proxies' certificates."),
		FLAG("requestheader-allowed-names", OPTION_STRINGS, &f->allowed_names, "NAME,...",
			"The common names that certificates of front proxies may have."),
	};
	etcd_flags_rows(&f->etcd, options + options_count(options));
	assert(options_count(options) < ARRAY_SIZE(options)); /* the last row ends the table */
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
	r->topic = TOPIC_SERVING_FILES;
	if (f->tls_cert_file) {
		struct doctor_pair pair = {
			.cert_file = f->tls_cert_file,
			.key_file = f->tls_key_file,
			.is_server = true,
			.wanted_name = f->kubeconfig ? report_text(r, "%s.%s.svc", f->service, f->ns) : NO_FIX,
			.fix = report_text(r, "annals certs --dir=DIR --namespace=%s --service=%s    # DIR keeps the CA", f->ns,
				f->service),
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
	report_add(r, SEVERITY_SKIPPED, str_of(part), NO_FIX, "give %s", flags);
}

static void check_all(struct report *r, const struct doctor_flags *f)
{
	int64_t now_s = clock_wall_s();
	bool is_default = !f->data_dir && !f->kubeconfig && !f->etcd.servers.n && !has_files(f);
	if (f->data_dir || is_default) {
		_cleanup_(mem_freep) char *dir = f->data_dir ? mem_strdup(f->data_dir) : datadir_default();
		_cleanup_(mem_freep) char *path = realpath(dir, NULL);
		doctor_check_up(r, path ? path : dir, now_s);
	}
	if (f->kubeconfig) {
		check_cluster(r, f, now_s);
	} else if (!f->data_dir) {
		skip(r, "cluster", "--kubeconfig");
	}
	if (f->etcd.servers.n) {
		check_etcd(r, f, now_s);
	} else if (!f->data_dir && !is_default) {
		skip(r, "etcd", "--etcd-servers, and --etcd-cafile, --etcd-certfile and --etcd-keyfile");
	}
	if (has_files(f)) {
		check_files(r, f, now_s);
	} else if (!f->data_dir) {
		skip(r, "files",
			"--tls-cert-file and --tls-private-key-file, --client-ca-file, --requestheader-client-ca-file");
	}
	report_find_causes(r);
}

static int print(const struct command *command, struct report *r, const struct doctor_flags *f)
{
	struct buf out;
	buf_init(&out, OUTPUT_MAX);
	if (strcmp(f->output, "json") == 0) {
		report_write_json(r, &out);
	} else {
		report_write_text(r, colour_is_wanted(f->colour, stdout), &out);
	}
	/* The text has already been escaped for terminals. */
	bool is_printed = !out.is_over && fwrite(out.p, 1, out.n, stdout) == out.n && fflush(stdout) == 0;
	buf_clear(&out);
	if (!is_printed) {
		buf_printf(&out, "cannot print what was found: %s", strerror(errno));
		command_fail(command, &out);
	}
	buf_done(&out);
	return is_printed && r->counts[SEVERITY_ERROR] == 0 ? EXIT_OK : EXIT_FAILED;
}

static int doctor_run(const struct command *command, int argc, char **argv)
{
	struct doctor_flags flags = {
		.ns = "annals-system",
		.service = "annals",
		.account = "annals",
		.output = "text",
		.colour = COLOUR_AUTO,
	};
	etcd_flags_init(&flags.etcd);
	int r = parse_flags(command, &flags, argc, argv);
	if (r < 0) {
		struct report report;
		report_init(&report);
		check_all(&report, &flags);
		r = print(command, &report, &flags);
		report_done(&report);
		storage_etcd_shutdown();
	}
	etcd_flags_done(&flags.etcd);
	option_strings_done(&flags.allowed_names);
	return r;
}

const struct command command_doctor = {
	.name = "doctor",
	.usage = "[--data-dir DIR] [--kubeconfig FILE] [--etcd-servers URL,...] [--tls-cert-file FILE ...] [flags]",
	.summary = "looks at a deployment and says what is wrong and how to fix it",
	.description =
		"Looks at a deployment and says what is wrong with it, and how to fix that. It changes nothing. It looks\n"
		"at each part whose place is given: the cluster (--kubeconfig), etcd (--etcd-servers), certificates in\n"
		"files, the directory of an `annals up` (--data-dir). Without any flag it looks at the default directory\n"
		"of `annals up`.\n\n"
		"An error from which others may follow is printed first.",
	.examples = "  # what annals up keeps where it does by default\n"
		    "  annals doctor\n"
		    "  # a deployment: the cluster, its etcd and the serving certificate\n"
		    "  annals doctor --kubeconfig=admin.kubeconfig --etcd-servers=https://127.0.0.1:2379 \\\n"
		    "    --etcd-cafile=etcd-ca.crt --etcd-certfile=etcd-client.crt --etcd-keyfile=etcd-client.key \\\n"
		    "    --tls-cert-file=serving.crt --tls-private-key-file=serving.key\n",
	.exit_status = "0\tall is well, perhaps with warnings\n1\tsomething is wrong\n2\tthe command line was wrong\n",
	.run = doctor_run,
};
