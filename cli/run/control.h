/* The controllers of `annals up`: clients of its own server like any others, over TLS on the loopback address. */
#ifndef CLI_RUN_CONTROL_H
#define CLI_RUN_CONTROL_H

#include "base/options.h"
#include "cli/common/datadir.h"
#include "controllers/kit/controller.h"

struct control;

/* Flags that choose and configure controllers. */
struct control_flags {
	struct option_strings choice; /* --controllers */
	int64_t fake_nodes;           /* --fake-nodes */
	struct controller_settings settings;
};
#define CONTROL_FLAGS_MAX 8
/* Appends the rows to a table that has room for CONTROL_FLAGS_MAX more, and for its end. */
void control_flags_rows(struct control_flags *f, struct option *ret);
/* --fake-nodes switches fake-kubelet on. 0, or -EINVAL with a sentence in err. */
int control_flags_check(struct control_flags *f, struct buf *err);

/* The flags have been checked, and must outlive it. */
struct control *control_new(const struct datadir *d, const struct control_flags *flags);
struct control *control_free(struct control *c); /* stops them */
/* Reads ca.crt, controllers.crt and controllers.key, and starts all controllers anew. 0, or -errno with a sentence in
 * err. */
int control_start(struct control *c, const char *url, struct buf *err);
/* Returns when all of them have stopped. */
void control_stop(struct control *c);
void control_write_metrics(void *control, struct buf *out); /* any thread */

/* A line of the log. */
void control_log(void *ctx, const char *what, bool is_problem, struct str text);

#endif
