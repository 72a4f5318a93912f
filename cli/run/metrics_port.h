/* /metrics and /healthz over plain HTTP on the loopback address: of processes that serve nothing else. */
#ifndef CLI_RUN_METRICS_PORT_H
#define CLI_RUN_METRICS_PORT_H

#include "base/buf.h"

struct metrics_port;

/* port 0: any that is free. 0, or -errno with a sentence in err. */
int metrics_port_new(
	struct metrics_port **ret, uint16_t port, void (*write)(void *ctx, struct buf *out), void *ctx, struct buf *err);
struct metrics_port *metrics_port_free(struct metrics_port *p);
uint16_t metrics_port_number(const struct metrics_port *p);

#endif
