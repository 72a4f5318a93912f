/* `annals certs`: the certificates of a deployment, with the names that the manifests of deploy/ use. It checks everything
 * before it writes the first file. With manifests on standard output, reports go to standard error, so that
 * `annals certs | kubectl apply -f -` works. */
#include "api/rules/validate.h"
#include "base/clock.h"
#include "cli/certs/certs.h"
#include "cli/common/command.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

/* 64 names make a certificate of some KiB, which every handshake carries. */
enum { NAMES_MAX = 64, CERTS_MAX = 6, MANIFESTS_MAX = 4 * 1024 * 1024 };

struct certs_flags {
	const char *dir, *service, *ns, *output;
	struct option_strings dns, ip;
	bool has_etcd;
	int64_t days, renew_before_days;
	bool prints_secrets, prints_services; /* by --output */
};

/* ---- flags ---- */

static int check_label(const char *flag, const char *value, struct buf *err)
{
	const char *wrong[VALIDATE_MESSAGES_MAX];
	return validate_dns_label(str_of(value), wrong) ? command_refuse(err, "--%s %s: %s", flag, value, wrong[0]) : 0;
}

/* A leading *. stands for one label, as in certificates. */
static int check_dns(const char *name, struct buf *err)
{
	const char *wrong[VALIDATE_MESSAGES_MAX];
	const char *plain = strncmp(name, "*.", 2) == 0 ? name + 2 : name;
	return validate_dns_subdomain(str_of(plain), wrong) ? command_refuse(err, "--dns %s: %s", name, wrong[0]) : 0;
}

static int check_ip(const char *address, struct buf *err)
{
	unsigned char binary[16];
	bool is_address = inet_pton(AF_INET, address, binary) == 1 || inet_pton(AF_INET6, address, binary) == 1;
	return is_address ? 0 : command_refuse(err, "--ip %s: must be an IPv4 or IPv6 address", address);
}

static int check_names(const struct certs_flags *f, struct buf *err)
{
	int r = check_label("service", f->service, err);
	r = r ? r : check_label("namespace", f->ns, err);
	for (size_t i = 0; i < f->dns.n && !r; i++) {
		r = check_dns(f->dns.v[i], err);
	}
	for (size_t i = 0; i < f->ip.n && !r; i++) {
		r = check_ip(f->ip.v[i], err);
	}
	return r;
}

static const struct {
	const char *name;
	bool prints_secrets, prints_services;
} outputs[] = {{"files", false, false}, {"secrets", true, false}, {"manifests", true, true}};

static int check_output(struct certs_flags *f, struct buf *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		if (strcmp(f->output, outputs[i].name) == 0) {
			f->prints_secrets = outputs[i].prints_secrets;
			f->prints_services = outputs[i].prints_services;
			return 0;
		}
	}
	return command_refuse(err, "--output %s: must be files, secrets or manifests", f->output);
}

static int check_flags(void *flags, struct buf *err)
{
	struct certs_flags *f = flags;

	if (check_output(f, err)) {
		return -EINVAL;
	}
	if (!f->dir) {
		return command_refuse(err, "give --dir: the directory that keeps the CA and its key");
	}
	if (f->renew_before_days >= f->days) {
		return command_refuse(err, "--renew-before must be less than --days, or every run renews all of them");
	}
	return check_names(f, err);
}

static int parse_flags(const struct command *command, struct certs_flags *f, int argc, char **argv)
{
	const struct option options[] = {
		{"dir", OPTION_STRING, &f->dir, "DIR",
			"The directory of keys and certificates, required; it is made when it is missing, and only its owner "
			"may read it.",
			0, 0},
		{"service", OPTION_STRING, &f->service, "NAME", "The Service in front of annals.", 0, 0},
		{"namespace", OPTION_STRING, &f->ns, "NAMESPACE", "The namespace of that Service.", 0, 0},
		{"dns", OPTION_STRINGS, &f->dns, "NAME,...", "More DNS names of the servers; *.example.com, too.", 0, 0},
		{"ip", OPTION_STRINGS, &f->ip, "ADDRESS,...", "IP addresses of the servers.", 0, 0},
		{"etcd", OPTION_BOOL, &f->has_etcd, NULL,
			"Also make a CA for etcd, with certificates of its servers, of its peers, and of annals as its client.",
			0, 0},
		{"days", OPTION_INT, &f->days, "N", "How many days certificates are good; a CA is good for ten years.", 1,
			CERTS_DAYS_MAX},
		{"renew-before", OPTION_INT, &f->renew_before_days, "DAYS",
			"How many days before its end a certificate is renewed; 0: a third of its life.", 0, CERTS_DAYS_MAX},
		{"output", OPTION_STRING, &f->output, "files|secrets|manifests",
			"files: nothing else. secrets: also print the Secrets that deploy/ mounts, for kubectl apply -f -. "
			"manifests: also the APIServices, with the CA.",
			0, 0},
		{0},
	};
	return command_parse(command, options, argc, argv, check_flags, f);
}

/* ---- names ---- */

struct names {
	char *v[NAMES_MAX];
	size_t n;
	bool is_over;
};

/* Takes the name. */
static void names_add_take(struct names *names, char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->v[i], name) == 0) {
			mem_free(name);
			return;
		}
	}
	if (names->n == NAMES_MAX) {
		names->is_over = true;
		mem_free(name);
		return;
	}
	names->v[names->n++] = name;
}

static void names_done(struct names *names)
{
	while (names->n > 0) {
		mem_free(names->v[--names->n]);
	}
}

static void add_given(struct names *names, const struct certs_flags *f)
{
	for (size_t i = 0; i < f->dns.n; i++) {
		names_add_take(names, mem_strdup(f->dns.v[i]));
	}
	for (size_t i = 0; i < f->ip.n; i++) {
		names_add_take(names, mem_strdup(f->ip.v[i]));
	}
}

/* The ways to write a Service's name, from the shortest; `pods` as those of a StatefulSet behind it. */
static void add_service(struct names *names, const char *pods, const char *service, const char *suffix, const char *ns)
{
	if (!pods[0]) {
		names_add_take(names, mem_printf("%s%s", service, suffix));
		names_add_take(names, mem_printf("%s%s.%s", service, suffix, ns));
	}
	names_add_take(names, mem_printf("%s%s%s.%s.svc", pods, service, suffix, ns));
	names_add_take(names, mem_printf("%s%s%s.%s.svc.cluster.local", pods, service, suffix, ns));
}

/* From within the pod, and through kubectl port-forward. */
static void add_local(struct names *names)
{
	names_add_take(names, mem_strdup("localhost"));
	names_add_take(names, mem_strdup("127.0.0.1"));
	names_add_take(names, mem_strdup("::1"));
}

/* ---- plan ---- */

/* Everything that is wanted: names first, for certificates point to them. */
struct wanted {
	struct names serving, etcd_server, etcd_peer;
	struct cert certs[CERTS_MAX];
	size_t n;
};

static void add_cert(struct wanted *w, const char *name, const char *ca, const char *common_name, unsigned purposes,
	const struct names *names)
{
	w->certs[w->n++] = (struct cert){name, ca,
		{.common_name = common_name,
			.purposes = purposes,
			.names = names ? (const char *const *)names->v : NULL,
			.n_names = names ? names->n : 0}};
}

static void collect_names(struct wanted *w, const struct certs_flags *f)
{
	add_service(&w->serving, "", f->service, "", f->ns);
	add_local(&w->serving);
	add_given(&w->serving, f);
	add_service(&w->etcd_server, "", f->service, "-etcd", f->ns);
	/* Members of a StatefulSet have names of their own below the Service's. */
	add_service(&w->etcd_server, "*.", f->service, "-etcd", f->ns);
	add_local(&w->etcd_server);
	add_given(&w->etcd_server, f);
	add_service(&w->etcd_peer, "*.", f->service, "-etcd", f->ns);
	add_given(&w->etcd_peer, f);
}

/* etcd has its own CA: a client with a certificate of that CA may read and write everything.
 * etcd's servers are also clients, of each other and of themselves for the JSON gateway. */
static int plan(struct wanted *w, const struct certs_flags *f, struct buf *err)
{
	collect_names(w, f);
	if (w->serving.is_over || w->etcd_server.is_over) {
		return command_refuse(err, "more than %d names for a server", NAMES_MAX);
	}
	add_cert(w, "ca", NULL, "annals-ca", 0, NULL);
	add_cert(w, "serving", "ca", "annals", PAIR_SERVES, &w->serving);
	if (f->has_etcd) {
		add_cert(w, "etcd-ca", NULL, "annals-etcd-ca", 0, NULL);
		add_cert(w, "etcd-server", "etcd-ca", "annals-etcd", PAIR_SERVES | PAIR_CALLS, &w->etcd_server);
		add_cert(w, "etcd-peer", "etcd-ca", "annals-etcd-peer", PAIR_SERVES | PAIR_CALLS, &w->etcd_peer);
		add_cert(w, "etcd-client", "etcd-ca", "annals", PAIR_CALLS, NULL);
	}
	return 0;
}

static void wanted_done(struct wanted *w)
{
	names_done(&w->serving);
	names_done(&w->etcd_server);
	names_done(&w->etcd_peer);
}

/* ---- doing it ---- */

static void report(FILE *out, const struct datadir *d, const struct cert *c, const struct cert_state *state)
{
	char end[TIME_RFC3339_SIZE], renew[TIME_RFC3339_SIZE];
	time_format_rfc3339(end, state->end_s);
	time_format_rfc3339(renew, state->renew_s);
	fprintf(out, "%s %s/%s.crt: good until %s, to be renewed from %s\n", state->is_made ? "made" : "kept", d->path, c->name,
		end, renew);
	if (state->is_key_reshaped) {
		fprintf(out, "wrote %s/%s.key again: the same key, in the form that RFC 5915 asks for\n", d->path, c->name);
	}
}

static int print_manifests(const struct datadir *d, const struct certs_flags *f, struct buf *err)
{
	struct buf out;
	buf_init(&out, MANIFESTS_MAX);
	int r = certs_write_manifests(
		d, &(struct manifests_options){f->service, f->ns, f->has_etcd, f->prints_services}, &out, err);
	if (!r && (fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout) != 0)) {
		r = command_refuse(err, "cannot print the manifests: %s", strerror(errno));
	}
	buf_done(&out);
	return r;
}

static int ensure(const struct datadir *d, const struct certs_flags *f, const struct wanted *w, struct buf *err)
{
	struct cert_state states[CERTS_MAX];
	const struct certs_plan plan = {
		.v = w->certs, .n = w->n, .days = f->days, .renew_before_days = f->renew_before_days, .keeps_ca = true};
	int r = certs_ensure_plan(d, &plan, clock_wall_s(), states, err);
	if (r) {
		return r;
	}
	FILE *out = f->prints_secrets ? stderr : stdout;
	for (size_t i = 0; i < w->n; i++) {
		report(out, d, &w->certs[i], &states[i]);
	}
	return f->prints_secrets ? print_manifests(d, f, err) : 0;
}

static int make_all(const struct certs_flags *f, struct buf *err)
{
	struct datadir dir;
	_cleanup_(wanted_done) struct wanted wanted = {.n = 0};
	int r = plan(&wanted, f, err);
	if (r) {
		return r;
	}
	r = datadir_open(&dir, f->dir, err);
	if (!r) {
		r = ensure(&dir, f, &wanted, err);
	}
	datadir_done(&dir);
	return r;
}

static int certs_run(const struct command *command, int argc, char **argv)
{
	struct certs_flags flags = {.service = "annals", .ns = "annals-system", .output = "files", .days = 365};
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	int r = parse_flags(command, &flags, argc, argv);
	if (r < 0) {
		r = make_all(&flags, &err) ? command_fail(command, &err) : EXIT_OK;
	}
	option_strings_done(&flags.dns);
	option_strings_done(&flags.ip);
	return r;
}

const struct command command_certs = {
	.name = "certs",
	.usage = "--dir DIR [--service NAME] [--namespace NAMESPACE] [--etcd] [--output files|secrets|manifests] [flags]",
	.summary = "certificates for a deployment: of the server, and of an etcd",
	.description =
		"Makes a CA and the certificates that it signs, as files in DIR. A certificate that is about to end, or has\n"
		"other names than wanted, is renewed. All others are kept, and above all the CA. Run the command\n"
		"again, once a week for example, to renew certificates.\n\n"
		"Keep DIR safe: the CA's key lets its reader act as any user.",
	.examples = "  # the files, then the Secrets and APIServices of a cluster\n"
		    "  annals certs --dir=annals-certs --etcd --output=manifests | kubectl apply -f -\n",
	.files = "DIR/ca.crt, DIR/ca.key\tthe CA of serving certificates\n"
		 "DIR/serving.crt, DIR/serving.key\tthe server's certificate\n"
		 "DIR/etcd-*.crt, DIR/etcd-*.key\twith --etcd: the CA of etcd, its servers, its peers, and annals as its "
		 "client\n",
	.run = certs_run,
};
