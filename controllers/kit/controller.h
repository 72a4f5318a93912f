/* A controller: a loop that compares what exists with what should exist, and acts, purely as a
 * client of the API server.
 *
 * Each is described by one `struct controller`: its queues, what it does with a key, and the
 * watches that begin() starts. The runner (controllers/runner.c) starts all of them on one
 * client and one pool of threads. It stops them after that client, when every request has been
 * given up: stopping never waits for a server.
 *
 * Handlers of watches run on the client's thread and put keys into queues. work() runs on the
 * pool's threads and may block. */
#ifndef CONTROLLERS_KIT_CONTROLLER_H
#define CONTROLLERS_KIT_CONTROLLER_H

#include "client/informer.h"
#include "controllers/kit/workers.h"

enum {
	FAKE_NODES_MAX = 5000, /* what Kubernetes says a cluster may have */
	/* The recorder's queue. Beyond it, states between the last ones are skipped, and the next change says so. */
	RECORDER_QUEUE_MIB = 32,
	RECORDER_QUEUE_MIB_MAX = 65536, /* what a machine may have to spare */
};
/* Settings of controllers that come from flags. */
struct controller_settings {
	const char *statefulset_history;   /* --statefulset-history: the carrier's name (controllers/kit/history.h) */
	int64_t statefulset_history_limit; /* an upper limit for every revisionHistoryLimit; 0: none */
	int64_t history_budget_mib;        /* of the states of all Histories; 0: no limit */
	int64_t history_trim_interval_ms;  /* between two passes over all Histories */
	bool allows_max_unavailable;     /* the feature gate MaxUnavailableStatefulSet */
	int64_t recorder_queue_mib;      /* --recorder-queue-mib: of states that wait to be written; 0: the default */
};

/* The environment of a controller, which outlives it. */
struct controller_env {
	struct client *client;
	struct pool *pool; /* the threads that run work() */
	const struct controller_settings *settings;
	struct outage *outage; /* of the client; for informers */
	/* Logs what a controller did, or a problem (the controller goes on by itself) and the
	 * problem's end, which has is_problem too. Any thread may call it. */
	void (*on_notice)(void *ctx, const char *controller, bool is_problem, struct str text);
	void *ctx;
	int64_t fake_nodes; /* for fake-kubelet; 0: one */
	struct str server;  /* the API server's URL */
	struct str ca;      /* PEM of the CA that verifies the server; empty: the system's CAs */
};

/* Queues and watches that one controller can have; a further one is a mistake of the developer. */
enum { CONTROLLER_QUEUES_MAX = 2, CONTROLLER_WATCHES_MAX = 8 };

/* A queue of keys and the function that works on each. */
struct controller_queue {
	const char *name;                          /* in metrics */
	unsigned workers;                          /* keys worked on at a time; 0: there is no such queue */
	int64_t retry_first_ms, retry_last_ms;     /* pauses after failures */
	void (*work)(void *state, struct str key); /* decides itself whether the key is queued again */
};

struct controller {
	const char *name;   /* kube-controller-manager's name: "namespace-controller" */
	const char *alias;  /* a short name that --controllers also takes: "namespace" */
	bool is_on_request; /* "*" leaves it out: it runs only if it is named */
	bool is_for_up;     /* "*" includes it only within `annals up`: a cluster has its own */
	bool starts_late;   /* begin() starts no workers: controller_work() does */
	struct controller_queue queues[CONTROLLER_QUEUES_MAX];
	size_t state_size; /* size of its state, which begins with a struct controller_run */
	/* Creates what the state needs and starts watches. Must not block. */
	void (*begin)(void *state);
	/* Ends the threads and informers that the controller created itself, before workers
	 * stop. May be NULL. */
	void (*halt)(void *state);
	/* Undoes begin() once no worker and no watch runs any more. May be NULL. */
	void (*end)(void *state);
	/* Writes the controller's own metrics as Prometheus text. May be NULL. */
	void (*write_metrics)(void *state, struct buf *out);
};

/* A running controller. */
struct controller_run {
	const struct controller *controller;
	const struct controller_env *env;
	struct workqueue *queue; /* the first one */
	struct workers workers[CONTROLLER_QUEUES_MAX];
	struct informer *watches[CONTROLLER_WATCHES_MAX];
	size_t n_watches;
};

/* Starts the controller without waiting for it. */
struct controller_run *controller_start(const struct controller *c, const struct controller_env *env);
/* Call it after env->client has been stopped. Waits for the controller's threads and frees
 * everything. */
void controller_stop(struct controller_run *r);
/* for starts_late: call it once, from begin(), a worker, or a thread that halt() ends */
void controller_work(struct controller_run *r);

/* Starts an informer that controller_stop() frees. It uses the run's client and outage, and logs
 * problems. Its handlers get the state as ctx unless options names another. Call it from begin() or
 * from one worker. */
struct informer *controller_watch(struct controller_run *r, struct informer_options options);
void controller_notice(const struct controller_run *r, bool is_problem, struct str text);

extern const struct controller namespace_controller, claim_protection_controller;
extern const struct controller fake_kubelet, default_objects_controller, kubernetes_service_controller;
extern const struct controller recorder_controller;
extern const struct controller provider_finalization_controller, dependent_controller, stateful_set_controller;

/* All controllers, ended by NULL. */
extern const struct controller *const all_controllers[];

/* Reads kube-controller-manager's --controllers: names or aliases. "-name" switches one off. "*"
 * means all that are not named, except those on request and, outside `annals up`, those for it.
 * Named items take precedence in any order. n 0 means "*". One empty item means none. */
bool controller_is_chosen(const struct controller *c, char *const *choice, size_t n, bool is_within_up);
/* Returns false, with a sentence in err, if a name is unknown. */
bool controllers_check(char *const *choice, size_t n, struct buf *err);

#endif
