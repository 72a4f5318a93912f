/* A controller: a loop that looks at what is and does what should be, as a client of the API server and nothing more.
 *
 * Each is one row of the table in table.c. It is started on a client that is its own while it runs (with those beside it), and stopped after
 * that client was: every request under way has been given up by then, so that stopping never waits for a server. */
#ifndef CONTROLLERS_KIT_CONTROLLER_H
#define CONTROLLERS_KIT_CONTROLLER_H

#include "client/outage.h"
#include "client/workqueue.h"

enum { FAKE_NODES_MAX = 5000 }; /* what Kubernetes says a cluster may have */
/* What flags say of controllers. */
struct controller_settings {
	const char *statefulset_history; /* --statefulset-history: the carrier's name (controllers/history/history.h) */
	int64_t statefulset_history_limit; /* a ceiling of all revisionHistoryLimits; 0: none */
	bool allows_max_unavailable;     /* the feature gate MaxUnavailableStatefulSet */
};

/* What a controller is given; outlives it. */
struct controller_env {
	struct client *client;
	const struct controller_settings *settings;
	struct outage *outage; /* its; for informers */
	/* For the log: what it did, or what went wrong (it goes on by itself) and that it is over, for the same readers. Any thread. */
	void (*on_notice)(void *ctx, const char *controller, bool is_problem, struct str text);
	void *ctx;
	int64_t fake_nodes; /* for fake-kubelet; 0: one */
};

struct controller {
	const char *name;  /* kube-controller-manager's: "namespace-controller" */
	const char *alias; /* "namespace", which --controllers takes as well */
	bool is_on_request; /* "*" does not mean it: nobody wants it who has not named it */
	/* Returns at once, its state. */
	void *(*start)(const struct controller_env *env);
	/* When env->client has been stopped. Waits for its threads and frees all. */
	void (*stop)(void *state);
	/* Its i-th queue, for metrics; NULL: no more. */
	struct workqueue *(*queue)(void *state, size_t i);
	/* More metrics of its own, as Prometheus' text; NULL: none. */
	void (*write_metrics)(void *state, struct buf *out);
};

extern const struct controller namespace_controller, claim_protection_controller;
extern const struct controller fake_kubelet;
extern const struct controller recorder_controller;
extern const struct controller provider_finalization_controller, dependent_controller, stateful_set_controller;

/* All there are; NULL ends them. */
extern const struct controller *const all_controllers[];

/* kube-controller-manager's --controllers: names or aliases; "-name" switches one off, "*" means all that are not named, but
 * for those on request. What was named counts first, whatever the order. n 0: "*". */
bool controller_is_chosen(const struct controller *c, char *const *choice, size_t n);
/* False with a sentence in err when a name is not known. */
bool controllers_check(char *const *choice, size_t n, struct buf *err);

#endif
