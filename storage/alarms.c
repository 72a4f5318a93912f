/* Asked of Maintenance/Status, which a member answers by itself, and not of Alarm, which waits for
 * the quorum: an etcd that is in trouble must not keep this from being told. Only changes are told.
 * A member that does not answer changes nothing, since silence is the cache's trouble to report. */
#include "storage/alarms.h"

#include "base/clock.h"
#include "base/exposition.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum { INTERVAL_MS = 5000, TIMEOUT_MS = 2000 };

enum alarm { ALARM_NOSPACE, ALARM_CORRUPT, N_ALARMS };

static const struct {
	const char *name, *meaning;
} rows[] = {
	[ALARM_NOSPACE] = {"NOSPACE",
		"etcd has no room, and refuses all writes but deletions until it is compacted, defragmented, and the alarm "
		"disarmed"},
	[ALARM_CORRUPT] = {"CORRUPT", "etcd's members differ in what they have, and it answers nothing"},
};

static const char no_room_in_memory[] =
	"the store in memory has no room, and refuses all writes but deletions until there is room again; "
	"--memory-limit-mib gives it more";

struct alarms {
	struct alarms_options options;
	pthread_t thread;
	bool has_thread;
	atomic_bool are_on[N_ALARMS];
	_Atomic int64_t size, quota; /* of the database, bytes; 0: not known */
	pthread_mutex_t lock; /* guards is_closing */
	pthread_cond_t wake;
	bool is_closing;
};

static const char *meaning_of(const struct alarms *a, enum alarm alarm)
{
	return a->options.is_in_memory ? no_room_in_memory : rows[alarm].meaning;
}

static void tell(struct alarms *a, enum alarm alarm, bool is_on)
{
	enum { SENTENCE_MAX = 512 };
	const char *store = a->options.is_in_memory ? "the store" : "etcd";
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, SENTENCE_MAX);
	if (is_on) {
		buf_printf(&text, "%s has the alarm %s: %s", store, rows[alarm].name, meaning_of(a, alarm));
	} else {
		buf_printf(&text, "%s's alarm %s is over", store, rows[alarm].name);
	}
	if (a->options.on_notice) {
		a->options.on_notice(a->options.ctx, is_on, buf_str(&text));
	}
}

/* An etcd that does not answer says nothing of its alarms. */
static void look(struct alarms *a)
{
	struct storage_status status = {.op.timeout_ms = TIMEOUT_MS};

	if (storage_status_wait(a->options.storage, &status) == STORAGE_OK) {
		const bool are_on[N_ALARMS] = {[ALARM_NOSPACE] = status.has_nospace, [ALARM_CORRUPT] = status.has_corrupt};

		atomic_store(&a->size, status.db_size);
		atomic_store(&a->quota, status.db_quota);
		for (enum alarm i = 0; i < N_ALARMS; i++) {
			if (atomic_exchange(&a->are_on[i], are_on[i]) != are_on[i]) {
				tell(a, i, are_on[i]);
			}
		}
	}
	storage_op_clear(&status.op);
}

/* False: it is over. */
static bool pause_between(struct alarms *a)
{
	int64_t until_ms = clock_mono_ms() + a->options.interval_ms;
	int r = 0;

	pthread_mutex_lock(&a->lock);
	while (!a->is_closing && r != ETIMEDOUT) {
		r = clock_cond_wait(&a->wake, &a->lock, until_ms);
	}
	bool goes_on = !a->is_closing;
	pthread_mutex_unlock(&a->lock);
	return goes_on;
}

static void *run(void *ctx)
{
	struct alarms *a = ctx;

	pthread_setname_np(pthread_self(), "etcd-alarms");
	do {
		look(a);
	} while (pause_between(a));
	return NULL;
}

struct alarms *alarms_new(const struct alarms_options *options)
{
	struct alarms *a = mem_new(struct alarms);

	a->options = *options;
	a->options.interval_ms = options->interval_ms ? options->interval_ms : INTERVAL_MS;
	pthread_mutex_init(&a->lock, NULL);
	clock_cond_init(&a->wake);
	a->has_thread = pthread_create(&a->thread, NULL, run, a) == 0;
	if (!a->has_thread && a->options.on_notice) {
		a->options.on_notice(a->options.ctx, true, STR("cannot start a thread: etcd's alarms are not watched"));
	}
	return a;
}

struct alarms *alarms_free(struct alarms *a)
{
	if (!a) {
		return NULL;
	}
	pthread_mutex_lock(&a->lock);
	a->is_closing = true;
	pthread_cond_broadcast(&a->wake);
	pthread_mutex_unlock(&a->lock);
	if (a->has_thread) {
		pthread_join(a->thread, NULL);
	}
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	return mem_free(a);
}

const char *alarms_explain(const struct alarms *a)
{
	for (enum alarm i = 0; i < N_ALARMS; i++) {
		if (atomic_load(&a->are_on[i])) {
			return meaning_of(a, i);
		}
	}
	return NULL;
}

/* The size has kube-apiserver's name and label. The quota is told by etcd 3.6 and later. */
static void write_size(const struct alarms *a, struct buf *out)
{
	int64_t size = atomic_load(&a->size), quota = atomic_load(&a->quota);

	if (size > 0) {
		exposition_head(out, "apiserver_storage_size_bytes", "gauge",
			"[STABLE] Size of the storage database file physically allocated in bytes.");
		exposition_sample(out, "apiserver_storage_size_bytes", "storage_cluster_id=\"etcd-0\"", (double)size);
	}
	if (quota > 0) {
		exposition_gauge(out, "annals_etcd_quota_bytes",
			"How large etcd lets its database become, as etcd 3.6 and later say.", (double)quota);
	}
}

void alarms_write_metrics(const struct alarms *a, struct buf *out)
{
	exposition_head(out, "annals_etcd_alarm", "gauge", "1 while etcd has that alarm.");
	for (enum alarm i = 0; i < N_ALARMS; i++) {
		buf_printf(out, "annals_etcd_alarm{type=\"%s\"} %d\n", rows[i].name, atomic_load(&a->are_on[i]));
	}
	write_size(a, out);
}
