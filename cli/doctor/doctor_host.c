/* A mend that names systemctl is no use in a container, and apt-get is none on Fedora. What the
 * machine is like, files say; of an etcd on another machine nothing is known but its name. */
#include "cli/doctor/doctor_host.h"

#include "cli/doctor/doctor_report.h"

#include <stdlib.h>
#include <unistd.h>

static bool is_there(const char *root, const char *path)
{
	_cleanup_(mem_freep) char *whole = mem_printf("%s%s", root, path);
	return access(whole, F_OK) == 0;
}

void doctor_host_look(struct doctor_host *ret, const char *root)
{
	static const struct {
		const char *path, *install;
	} managers[] = {
		{"/usr/bin/apt-get", "apt-get install etcd-server"},
		{"/usr/bin/dnf", "dnf install etcd"},
		{"/sbin/apk", "apk add etcd"},
		{"/usr/bin/zypper", "zypper install etcd"},
	};
	*ret = (struct doctor_host){
		.has_systemd = is_there(root, "/run/systemd/system"),
		/* docker's and podman's marks; and any pod's. */
		.is_container = is_there(root, "/.dockerenv") || is_there(root, "/run/.containerenv") ||
			is_there(root, "/var/run/secrets/kubernetes.io"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(managers) && !ret->install; i++) {
		ret->install = is_there(root, managers[i].path) ? managers[i].install : NULL;
	}
}

/* ---- etcd ---- */

/* Of https://HOST:PORT, without brackets. */
static struct str host_of(struct str endpoint)
{
	struct str host, rest = endpoint;
	for (size_t i = 0; i + 2 < endpoint.n; i++) {
		if (memcmp(endpoint.p + i, "://", 3) == 0) {
			rest = (struct str){endpoint.p + i + 3, endpoint.n - i - 3};
		}
	}
	str_cut(rest, '/', &host, &rest);
	if (host.n && host.p[0] == '[') {
		str_cut((struct str){host.p + 1, host.n - 1}, ']', &host, &rest);
		return host;
	}
	str_cut(host, ':', &host, &rest);
	return host;
}

static bool is_here(struct str endpoint, struct str host)
{
	return str_starts(endpoint, STR("unix:")) || str_is(host, "localhost") || str_is(host, "::1") ||
		str_starts(host, STR("127."));
}

/* SERVICE.NAMESPACE.svc..., perhaps with a pod's name before it. */
static bool is_in_cluster(struct str host, struct str *ret_namespace)
{
	struct str label, before = {NULL, 0};
	while (host.n > 0) {
		str_cut(host, '.', &label, &host);
		if (str_is(label, "svc") && before.n > 0) {
			*ret_namespace = before;
			return true;
		}
		before = label;
	}
	return false;
}

struct str mend_start_etcd(const struct doctor_host *h, struct arena *a, struct str endpoint)
{
	struct str host = host_of(endpoint), ns;
	if (is_in_cluster(host, &ns)) {
		return arena_printf(a,
			"kubectl --namespace=" STR_FMT " get pods,services    # does etcd run, and is that its Service?",
			STR_ARG(shell_word(a, ns)));
	}
	if (!is_here(endpoint, host)) {
		return arena_printf(a,
			"# on " STR_FMT ": start etcd, as it is started there; and see that the address is right",
			STR_ARG(host));
	}
	if (h->has_systemd) {
		return STR("systemctl start etcd    # and see that the address is right");
	}
	return arena_printf(a,
		"etcd --data-dir=DIR --listen-client-urls=" STR_FMT " --advertise-client-urls=" STR_FMT
		"    # and see that the address is right",
		STR_ARG(shell_word(a, endpoint)), STR_ARG(shell_word(a, endpoint)));
}

struct str mend_install_etcd(const struct doctor_host *h, struct arena *a)
{
	const char *which = "a release from 3.4.25, 3.5.8 or 3.6 on; one member after the other";
	return h->install && !h->is_container ? arena_printf(a, "%s    # or %s", h->install, which)
					      : arena_printf(a, "# run etcd of %s", which);
}

/* ---- clocks ---- */

struct str mend_clock(const struct doctor_host *h)
{
	if (h->is_container) {
		return STR("date --utc    # compare both machines; a container has its machine's clock, to be set there");
	}
	return h->has_systemd ? STR("timedatectl set-ntp true    # on the machine whose clock is wrong")
			      : STR("date --utc    # compare both machines; then let chrony or ntpd set the wrong clock");
}
