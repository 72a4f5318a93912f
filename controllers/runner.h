/* Runs the chosen controllers against one API server, either always or only while this process
 * holds a Lease. */
#ifndef CONTROLLERS_RUNNER_H
#define CONTROLLERS_RUNNER_H

#include "client/config.h"
#include "controllers/kit/controller.h"

struct runner;

struct runner_options {
	const struct client_config *config; /* copied */
	char *const *choice;                /* the items of --controllers; must outlive the runner */
	size_t n_choice;
	bool is_within_up;                   /* the server belongs to `annals up` */
	int64_t fake_nodes;                  /* the value of --fake-nodes */
	struct controller_settings settings; /* copied; its text must outlive the runner */
	/* NULL: starts at once, without election. Losing the Lease stops the controllers; they
	 * start again when it is won back. */
	const struct runner_election *election; /* copied; its text must outlive the runner */
	void (*on_notice)(void *ctx, const char *what, bool is_problem, struct str text);
	void *ctx;
};

struct runner_election {
	const char *namespace, *name, *identity;
	int64_t lease_ms, renew_ms, retry_ms;
};

/* 0, or -errno with a sentence in err. */
int runner_new(struct runner **ret, const struct runner_options *options, struct buf *err);
/* Ends all requests at once, waits for the controllers, and releases the Lease. */
struct runner *runner_free(struct runner *r);
/* Writes Prometheus text with client-go's names: workqueue_*, leader_election_master_status. Any
 * thread may call it. */
void runner_write_metrics(struct runner *r, struct buf *out);

#endif
