/* The server, fsck and doctor talk to the same etcd, so they have the same flags, with kube-apiserver's names. */
#include "cli/common/etcd_flags.h"

#include "cli/common/command.h"

void etcd_flags_init(struct etcd_flags *f)
{
	*f = (struct etcd_flags){.prefix = ETCD_PREFIX};
}

void etcd_flags_done(struct etcd_flags *f)
{
	option_strings_done(&f->servers);
}

size_t etcd_flags_rows(struct etcd_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Etcd"),
		FLAG("etcd-servers", OPTION_STRINGS, &f->servers, "URL,...",
			"Endpoints of one etcd cluster: https://HOST:PORT, http://HOST:PORT or unix:///PATH."),
		FLAG("etcd-cafile", OPTION_STRING, &f->cafile, "FILE",
			"CA of etcd's certificates; read again when it changes."),
		FLAG("etcd-certfile", OPTION_STRING, &f->certfile, "FILE",
			"Certificate to show to etcd; read again when it changes."),
		FLAG("etcd-keyfile", OPTION_STRING, &f->keyfile, "FILE", "The key of that certificate."),
		FLAG("etcd-prefix", OPTION_STRING, &f->prefix, "PREFIX", "All keys in etcd begin with this."),
	};
	_Static_assert(ARRAY_SIZE(rows) <= ETCD_FLAGS_MAX, "tables must have room for all");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows);
}

int etcd_flags_check(const struct etcd_flags *f, struct buf *err)
{
	size_t n = strlen(f->prefix);
	if (!f->certfile != !f->keyfile) {
		return command_refuse(err, "--etcd-certfile and --etcd-keyfile go together");
	}
	if (f->servers.n == 0 && (f->cafile || f->certfile)) {
		return command_refuse(err, "--etcd-cafile and --etcd-certfile go with --etcd-servers");
	}
	if (n < 2 || f->prefix[0] != '/' || f->prefix[n - 1] == '/') {
		return command_refuse(
			err, "--etcd-prefix must begin with a slash, end without one, and have something between");
	}
	return 0;
}

struct storage_etcd_options etcd_flags_options(const struct etcd_flags *f)
{
	return (struct storage_etcd_options){
		.endpoints = (const char *const *)f->servers.v,
		.n_endpoints = f->servers.n,
		.ca_file = f->cafile,
		.cert_file = f->certfile,
		.key_file = f->keyfile,
	};
}
