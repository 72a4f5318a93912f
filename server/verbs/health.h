/* /livez, /readyz, /healthz and their single checks, with ?verbose and ?exclude as kube-apiserver has them.
 * Alive: the process answers. Ready: the cache is loaded and follows etcd, and the server is not draining. */
#ifndef SERVER_VERBS_HEALTH_H
#define SERVER_VERBS_HEALTH_H

#include "server/request/request.h"

void health_serve(struct request *q);

#endif
