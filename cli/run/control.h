/* The controllers of `annals up`: clients of its own server like any others, over TLS on the loopback address. */
#ifndef CLI_RUN_CONTROL_H
#define CLI_RUN_CONTROL_H

#include "base/options.h"
#include "cli/common/datadir.h"
#include "controllers/kit/controller.h"

struct control;

/* Which controllers are to run, and how. */
struct control_flags {
	struct option_strings choice; /* --controllers */
	int64_t fake_nodes;           /* --fake-nodes */
	struct controller_settings settings;
};
#define CONTROL_FLAGS_MAX 5
/* Appends the rows to a table that has room for CONTROL_FLAGS_MAX more, and for its end. */
void control_flags_rows(struct control_flags *f, struct option *ret);
/* Whoever asks for nodes asks for the controller that plays them. 0, or -EINVAL with a sentence in err. */
int control_flags_check(struct control_flags *f, struct buf *err);

/* flags: checked; stay. */
struct control *control_new(const struct datadir *d, const struct control_flags *flags);
struct control *control_free(struct control *c); /* stops them */
/* With what ca.crt, controllers.crt and controllers.key say now; stops those that run. 0, or -errno with a sentence in err. */
int control_start(struct control *c, const char *url, struct buf *err);
/* Returns when none of them does anything any more. */
void control_stop(struct control *c);
void control_write_metrics(void *control, struct buf *out); /* any thread */

/* A line of the log. */
void control_log(void *ctx, const char *what, bool is_problem, struct str text);

#endif
