/* The machine that annals doctor runs on, so that its mends are commands that exist there. */
#ifndef CLI_DOCTOR_DOCTOR_HOST_H
#define CLI_DOCTOR_DOCTOR_HOST_H

#include "base/arena.h"

struct doctor_host {
	bool has_systemd;    /* it runs; that systemctl is installed says nothing */
	bool is_container;   /* whose clock is another machine's, and where nothing can be installed to stay */
	const char *install; /* "apt-get install etcd-server"; NULL: no package manager that is known to have one */
};
/* root: "" for this machine. */
void doctor_host_look(struct doctor_host *ret, const char *root);

/* Commands, or a comment where nobody can know one. endpoint: an URL of etcd's. */
struct str mend_start_etcd(const struct doctor_host *h, struct arena *a, struct str endpoint);
struct str mend_install_etcd(const struct doctor_host *h, struct arena *a);
struct str mend_clock(const struct doctor_host *h);

#endif
