/* /metrics and /healthz over plain HTTP: of processes that serve nothing else. On an address that others reach, the metrics are made once a
 * second at most, however often they are asked for. */
#ifndef CLI_RUN_METRICS_PORT_H
#define CLI_RUN_METRICS_PORT_H

#include "base/buf.h"

struct metrics_port;

struct metrics_port_options {
	const char *bind_address;
	uint16_t port; /* 0: any that is free */
	void (*write)(void *ctx, struct buf *out);
	void *ctx;
};

/* 0, or -errno with a sentence in err. */
int metrics_port_new(struct metrics_port **ret, const struct metrics_port_options *options, struct buf *err);
struct metrics_port *metrics_port_free(struct metrics_port *p);
uint16_t metrics_port_number(const struct metrics_port *p);

#endif
