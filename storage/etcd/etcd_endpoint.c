/* gRPC takes nearly any text for a target, and complains of it at the first call. So the form is
 * checked here, at the start, where the one who wrote the flag sees it. */
#include "storage/etcd/etcd_endpoint.h"

#include <errno.h>

static bool is_host_and_port(struct str s)
{
	size_t colon = s.n;
	while (colon > 0 && s.p[colon - 1] != ':') {
		colon--;
	}
	if (colon < 2) {
		return false;
	}
	struct str host = {s.p, colon - 1}, port = {s.p + colon, s.n - colon};
	uint64_t number;
	bool is_v6 = host.p[0] == '[' && host.p[host.n - 1] == ']';
	return str_to_uint64(port, &number) && number > 0 && number <= UINT16_MAX && !memchr(host.p, '/', host.n) &&
		(is_v6 || !memchr(host.p, ':', host.n));
}

static bool is_absolute_path(struct str s)
{
	return s.n > 1 && s.p[0] == '/';
}

/* The address itself may not begin like a scheme of gRPC's, hence the explicit dns:. */
static const struct scheme {
	const char *prefix;
	const char *target_prefix;
	bool is_tls;
	bool (*is_valid)(struct str rest);
	const char *shape;
} schemes[] = {
	{"https://", "dns:///", true, is_host_and_port, "https://HOST:PORT"},
	{"http://", "dns:///", false, is_host_and_port, "http://HOST:PORT"},
	{"unix://", "unix:", false, is_absolute_path, "unix:///PATH"},
	{"", "dns:///", false, is_host_and_port, "HOST:PORT"},
};

int etcd_endpoint_init(struct etcd_endpoint *e, const char *text, struct buf *err)
{
	const struct scheme *scheme = schemes;
	while (!str_starts(str_of(text), str_of(scheme->prefix))) {
		scheme++;
	}
	struct str rest = str_of(text + strlen(scheme->prefix));
	if (scheme->is_valid == is_host_and_port && rest.n > 0 && rest.p[rest.n - 1] == '/') {
		rest.n--;
	}
	if (!scheme->is_valid(rest)) {
		buf_printf(err, "etcd endpoint \"%s\" should look like %s", text, scheme->shape);
		return -EINVAL;
	}
	*e = (struct etcd_endpoint){
		.target = mem_printf("%s" STR_FMT, scheme->target_prefix, STR_ARG(rest)),
		.is_tls = scheme->is_tls,
	};
	return 0;
}

void etcd_endpoint_done(struct etcd_endpoint *e)
{
	e->target = mem_free(e->target);
}
