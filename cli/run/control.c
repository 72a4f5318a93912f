/* The controllers of `annals up`. They are clients like any other, over TLS, with a certificate and rights of their own,
 * so `annals controllers` is the same code. They read their files once, and are started again when certificates are
 * renewed. */
#include "cli/run/control.h"

#include "base/log.h"
#include "cli/common/command.h"
#include "controllers/kit/history.h"
#include "controllers/runner.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>

/* Bytes of a certificate or key of the data directory; with a longer file nothing starts. */
enum { FILE_MAX = 256 * 1024 };
enum { TRIM_INTERVAL_MS = 3600 * 1000 };

struct control {
	const struct datadir *dir;
	const struct control_flags *flags;
	pthread_mutex_t lock; /* guards runner, which control_write_metrics() reads on other threads */
	struct runner *runner;
};

void control_log(void *ctx _unused_, const char *what, bool is_problem, struct str text)
{
	log_write(is_problem ? LOG_WARNING : LOG_INFO, what, STR_FMT, STR_ARG(text));
}

/* ---- flags ---- */

void control_flags_rows(struct control_flags *f, struct option *ret)
{
	f->settings.history_trim_interval_ms = TRIM_INTERVAL_MS;
	const struct option rows[] = {
		OPTIONS_GROUP("Controller"),
		FLAG("controllers", OPTION_STRINGS, &f->choice, "NAME,...",
			"Which controllers to run, as kube-controller-manager has it: NAME runs one, -NAME switches one off, * "
			"means "
			"all that are not named. An empty value names none. For example: *,-namespace. All but fake-kubelet by "
			"default; default-objects and kubernetes-service only within annals up."),
		FLAG("statefulset-history", OPTION_STRING, &f->settings.statefulset_history, "controllerrevisions|podtemplates",
			"Which objects keep the revisions of StatefulSets; controllerrevisions by default."),
		{"statefulset-history-limit", OPTION_INT, &f->settings.statefulset_history_limit, "N",
			"How many old revisions any StatefulSet keeps at most, whatever its revisionHistoryLimit says; 0: as "
			"each "
			"says.",
			0, INT32_MAX},
		{"recorder-queue-mib", OPTION_INT, &f->settings.recorder_queue_mib, "N",
			"How many MiB of states may wait to be recorded. Beyond that, states between the last ones are skipped, "
			"and the next change of the object says so. 0: 32.",
			0, RECORDER_QUEUE_MIB_MAX},
		{"history-budget-mib", OPTION_INT, &f->settings.history_budget_mib, "N",
			"How many MiB the states of all Histories may take. Beyond it the Histories of deleted objects go, the "
			"oldest first, then half of the states of the largest. The newest state of an object stays. 0: no limit.",
			0, INT32_MAX},
		{"history-trim-interval", OPTION_DURATION, &f->settings.history_trim_interval_ms, "DURATION",
			"The time between two passes over all Histories, which remove states that the rules of their Recorder no "
			"longer keep.",
			1000, INT32_MAX},
		{"fake-nodes", OPTION_INT, &f->fake_nodes, "N",
			"How many nodes to simulate, for tests and demonstrations: pods come up on them without containers. It "
			"runs "
			"fake-kubelet, which by itself simulates one.",
			0, FAKE_NODES_MAX},
	};
	_Static_assert(ARRAY_SIZE(rows) <= CONTROL_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
}

int control_flags_check(struct control_flags *f, struct buf *err)
{
	if (!controllers_check(f->choice.v, f->choice.n, err)) {
		return -EINVAL;
	}
	if (!carrier_by_name(f->settings.statefulset_history)) {
		return command_refuse(err, "--statefulset-history %s: must be controllerrevisions or podtemplates",
			f->settings.statefulset_history);
	}
	if (f->fake_nodes == 0) {
		return 0;
	}
	if (f->choice.n == 0) {
		option_strings_add(&f->choice, STR("*"));
	}
	option_strings_add(&f->choice, str_of(fake_kubelet.name));
	if (!controller_is_chosen(&fake_kubelet, f->choice.v, f->choice.n, true)) {
		return command_refuse(err, "--fake-nodes needs fake-kubelet, which --controllers switches off");
	}
	return 0;
}

/* ---- its life ---- */

struct control *control_new(const struct datadir *d, const struct control_flags *flags)
{
	struct control *c = mem_new(struct control);
	c->dir = d;
	c->flags = flags;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

struct control *control_free(struct control *c)
{
	if (c) {
		control_stop(c);
		assert(!c->runner);
		pthread_mutex_destroy(&c->lock);
		mem_free(c);
	}
	return NULL;
}

static int read_file(struct control *c, const char *name, char **ret, struct buf *err)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, FILE_MAX);
	int r = datadir_read(c->dir, name, &text);
	if (r) {
		buf_printf(err, "cannot read %s/%s: %s", c->dir->path, name, strerror(-r));
		return r;
	}
	*ret = buf_take(&text, NULL);
	return 0;
}

static int read_config(struct control *c, struct client_config *ret, struct buf *err)
{
	int r = read_file(c, "ca.crt", &ret->ca, err);
	r = r ? r : read_file(c, "controllers.crt", &ret->cert, err);
	return r ? r : read_file(c, "controllers.key", &ret->key, err);
}

/* Is any controller switched on? */
static bool is_needed(const struct control *c)
{
	for (size_t i = 0; all_controllers[i]; i++) {
		if (controller_is_chosen(all_controllers[i], c->flags->choice.v, c->flags->choice.n, true)) {
			return true;
		}
	}
	return false;
}

static struct runner *set_runner(struct control *c, struct runner *runner)
{
	pthread_mutex_lock(&c->lock);
	struct runner *old = c->runner;
	c->runner = runner;
	pthread_mutex_unlock(&c->lock);
	return old;
}

int control_start(struct control *c, const char *url, struct buf *err)
{
	struct client_config config = {.server = mem_strdup(url)};
	struct runner *runner = NULL;
	control_stop(c);
	int r = is_needed(c) ? read_config(c, &config, err) : 0;
	if (!r && is_needed(c)) {
		r = runner_new(&runner,
			&(struct runner_options){
				.config = &config,
				.choice = c->flags->choice.v,
				.n_choice = c->flags->choice.n,
				.is_within_up = true,
				.fake_nodes = c->flags->fake_nodes,
				.settings = c->flags->settings,
				.on_notice = control_log,
			},
			err);
	}
	client_config_done(&config);
	set_runner(c, runner);
	return r;
}

void control_stop(struct control *c)
{
	runner_free(set_runner(c, NULL));
}

void control_write_metrics(void *control, struct buf *out)
{
	struct control *c = control;
	pthread_mutex_lock(&c->lock);
	if (c->runner) {
		runner_write_metrics(c->runner, out);
	}
	pthread_mutex_unlock(&c->lock);
}
