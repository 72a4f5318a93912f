/* Puts a server's parts together, each before the parts that need it, and takes them apart in reverse. Two threads wait:
 * the raiser makes the first namespaces once the cache is ready, and the drainer waits for the last requests, so that
 * the main thread goes on hearing signals.
 *
 * The lock is held while the migrator or the agreement is called, so that nobody frees it meanwhile. Nothing else is
 * called under it, and neither calls back. */
#include "cli/run/instance.h"

#include "api/custom/custom.h"
#include "api/custom/definition.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "delegation/conversion.h"
#include "server/metrics/certificate_metrics.h"
#include "server/server.h"
#include "storage/engine/agreement.h"
#include "storage/engine/definitions.h"
#include "storage/engine/migrator.h"
#include "storage/memory/memory.h"
#include "storage/upkeep.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Trying again is cheap, and a user waits for the start. */
enum { RETRY_MS = 250, WARN_AFTER_MS = 5000, FLUSH_MS = 5000 };

struct instance {
	struct instance_options options;
	struct storage *storage;
	struct cache *cache;
	struct compactor *compactor;
	struct alarms *alarms;
	struct agreement *agreement;   /* set and cleared under the lock */
	struct delegation *delegation; /* aggregated mode */
	struct server *server;
	pthread_t raiser, drainer;
	bool has_raiser, has_drainer;
	_Atomic bool is_ready, is_drained, has_warned_of_cache;
	bool has_stragglers;  /* written by the drainer, read once it is over */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	bool is_stopping;
	bool has_changed;   /* the cache's state or the replicas' agreement, since the raiser last looked */
	int64_t warn_at_ms; /* only the raiser uses it: when to warn that the first namespaces are missing; 0: not planned */
	bool is_following;  /* the cache has followed etcd */
	struct migrator *migrator;
	struct definitions *definitions; /* standalone */
	struct conversions *conversions; /* standalone */
};

/* Every connection is a descriptor. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* ---- coming up ---- */

static void wake_raiser(struct instance *i)
{
	pthread_mutex_lock(&i->lock);
	i->has_changed = true;
	pthread_cond_signal(&i->wake);
	pthread_mutex_unlock(&i->lock);
}

/* Lets the server register once its cache follows etcd. A registration that is written earlier puts the start of the
 * cache's watch into etcd's past, and etcd may serve such a watch 100 ms late: so late would the first answer be. */
static void register_if_following(struct instance *i, bool is_following)
{
	pthread_mutex_lock(&i->lock);
	i->is_following |= is_following;
	if (i->is_following && i->agreement) {
		agreement_register_now(i->agreement);
	}
	pthread_mutex_unlock(&i->lock);
}

/* While annals starts, an etcd that is away is no surprise. After a warning, the log also says when the trouble is over. */
static void on_cache_state(void *ctx, bool is_ready, const char *message)
{
	struct instance *i = ctx;
	bool is_trouble = !is_ready && atomic_load(&i->is_ready);
	bool is_over = atomic_exchange(&i->has_warned_of_cache, is_trouble);
	log_write(is_trouble || is_over ? LOG_WARNING : LOG_INFO, "cache", "%s", message);
	register_if_following(i, is_ready);
	wake_raiser(i);
}

static void on_agreement_change(void *ctx, struct agreement *a _unused_)
{
	struct instance *i = ctx;
	wake_raiser(i);
	pthread_mutex_lock(&i->lock);
	if (i->migrator) {
		migrator_notify(i->migrator);
	}
	pthread_mutex_unlock(&i->lock);
}

static void on_definitions_notice(void *ctx _unused_, struct str text)
{
	log_warning("definitions", STR_FMT, STR_ARG(text));
}

static void on_migrator_notice(void *ctx _unused_, bool is_trouble, struct str text)
{
	log_write(is_trouble ? LOG_WARNING : LOG_INFO, "migration", STR_FMT, STR_ARG(text));
}

static void on_alarm(void *ctx, bool is_trouble, struct str text)
{
	const struct instance *i = ctx;
	const char *what = i->options.memory_limit > 0 ? "store" : "etcd";
	log_write(is_trouble ? LOG_WARNING : LOG_INFO, what, STR_FMT, STR_ARG(text));
}

static void on_agreement_notice(void *ctx _unused_, bool is_trouble, struct str text)
{
	log_write(is_trouble ? LOG_WARNING : LOG_INFO, "storage-version", STR_FMT, STR_ARG(text));
}

/* Waits until something changes or it is time to try again. Returns false when the instance is stopping. */
static bool raiser_wait(struct instance *i)
{
	int64_t until_ms = clock_mono_ms() + RETRY_MS;
	pthread_mutex_lock(&i->lock);
	int r = 0;
	while (!i->is_stopping && !i->has_changed && r != ETIMEDOUT) {
		r = clock_cond_wait(&i->wake, &i->lock, until_ms);
	}
	i->has_changed = false;
	bool is_wanted = !i->is_stopping;
	pthread_mutex_unlock(&i->lock);
	return is_wanted;
}

/* Registering takes a moment, so the first failure is no reason to warn. */
static void warn_if_late(struct instance *i, const struct buf *why)
{
	int64_t now_ms = clock_mono_ms();
	if (i->warn_at_ms && now_ms < i->warn_at_ms) {
		return;
	}
	if (i->warn_at_ms) {
		log_warning("start", "cannot make what is there from the start: " STR_FMT, STR_ARG(buf_str(why)));
	}
	i->warn_at_ms = now_ms + WARN_AFTER_MS;
}

static bool try_bootstrap(struct instance *i)
{
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	if (!cache_is_ready(i->cache)) {
		return false;
	}
	if (server_read_salt_key(i->server, &err) == 0 && (i->delegation || server_bootstrap(i->server, &err) == 0)) {
		return true;
	}
	warn_if_late(i, &err);
	return false;
}

static void *bring_up(void *ctx)
{
	struct instance *i = ctx;
	while (!try_bootstrap(i)) {
		if (!raiser_wait(i)) {
			return NULL;
		}
	}
	atomic_store(&i->is_ready, true);
	log_info("start", "ready");
	loop_notify(i->options.loop);
	return NULL;
}

/* ---- the owner of a port ----
 *
 * It only makes the message "address in use" better. /proc hides the processes of other users, so nobody may be found. */

enum { TCP_LISTEN = 0x0a }; /* include/net/tcp_states.h */

/* A line of /proc/net/tcp: sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode. The inode, or 0. */
static unsigned long listener_of(const char *line, uint16_t port)
{
	unsigned local_port, state;
	unsigned long inode;
	if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &local_port, &state,
		    &inode) != 3) {
		return 0;
	}
	return local_port == port && state == TCP_LISTEN ? inode : 0;
}

static unsigned long find_listener(const char *table, uint16_t port)
{
	char line[512];
	unsigned long inode = 0;
	FILE *f = fopen(table, "re");
	if (!f) {
		return 0;
	}
	while (!inode && fgets(line, sizeof(line), f)) {
		inode = listener_of(line, port);
	}
	fclose(f);
	return inode;
}

/* Does /proc/PID/fd have the socket? */
static bool holds_socket(const char *pid, const char *socket)
{
	char path[300], target[64];
	bool holds = false;
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	DIR *d = opendir(path);
	if (!d) {
		return false;
	}
	for (struct dirent *e = readdir(d); e && !holds; e = readdir(d)) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		target[MAX(n, 0)] = '\0';
		holds = strcmp(target, socket) == 0;
	}
	closedir(d);
	return holds;
}

static void add_process(struct buf *out, const char *pid)
{
	char path[300], name[64] = "a process";
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	FILE *f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof(name), f)) {
			name[strcspn(name, "\n")] = '\0';
		}
		fclose(f);
	}
	buf_printf(out, "%s (pid %s)", name, pid);
}

/* Appends "kube-apiserver (pid 123)". Returns false, and appends nothing, if no process is
 * found. */
static bool add_port_owner(uint16_t port, struct buf *out)
{
	char socket[48];
	bool is_found = false;
	unsigned long inode = find_listener("/proc/net/tcp", port);
	inode = inode ? inode : find_listener("/proc/net/tcp6", port);
	DIR *d = inode ? opendir("/proc") : NULL;
	if (!d) {
		return false;
	}
	snprintf(socket, sizeof(socket), "socket:[%lu]", inode);
	for (struct dirent *e = readdir(d); e && !is_found; e = readdir(d)) {
		is_found = isdigit((unsigned char)e->d_name[0]) && holds_socket(e->d_name, socket);
		if (is_found) {
			add_process(out, e->d_name);
		}
	}
	closedir(d);
	return is_found;
}

/* ---- wiring ---- */

static void on_notice(void *ctx _unused_, struct str text)
{
	log_warning("server", STR_FMT, STR_ARG(text));
}

static void on_trust(void *ctx, const struct trust *trust)
{
	server_set_trust(((struct instance *)ctx)->server, trust);
}

static void on_slow(void *ctx _unused_, const struct log_field *fields, size_t n)
{
	log_write_fields(LOG_WARNING, "request.slow", "slow request", fields, n);
}

static void write_certificate_metrics(const struct instance_options *o, struct buf *out)
{
	const struct certificate_file files[] = {
		{"serving", o->cert_file, false},
		{"client-ca", o->client_ca_file, true},
		{"front-proxy-ca", o->front_ca_file, true},
		{"etcd-client", o->etcd.cert_file, false},
		{"etcd-ca", o->etcd.ca_file, true},
	};

	certificate_metrics_write(out, files, ARRAY_SIZE(files));
}

static void write_metrics(void *ctx, struct buf *out)
{
	struct instance *i = ctx;
	write_certificate_metrics(&i->options, out);
	if (i->delegation) {
		delegation_write_metrics(i->delegation, out);
	} else if (i->options.write_metrics) {
		i->options.write_metrics(i->options.metrics_ctx, out);
	}
	if (i->conversions) {
		conversions_write_metrics(i->conversions, out);
	}
	pthread_mutex_lock(&i->lock);
	if (i->migrator) {
		migrator_write_metrics(i->migrator, out);
	}
	pthread_mutex_unlock(&i->lock);
}

/* An aggregator sends the requests of all its clients over few connections. */
static unsigned choose_max_streams(const struct instance_options *o)
{
	bool is_behind = o->delegation || o->front_ca_file;
	return o->flags->http2_max_streams ? (unsigned)o->flags->http2_max_streams : is_behind ? 1000 : 100;
}

static int open_server(struct instance *i, struct buf *err)
{
	const struct instance_options *o = &i->options;
	const struct server_flags *f = o->flags;
	const struct server_options options = {
		.http = {.bind_address = o->bind_address,
			.port = o->port,
			.cert_file = o->cert_file,
			.key_file = o->key_file,
			.client_ca_file = o->client_ca_file,
			.front_ca_file = o->front_ca_file,
			.front = o->front,
			.has_no_http2 = f->disable_http2_serving,
			.http2_max_streams = choose_max_streams(o),
			.goaway_chance = f->goaway_chance},
		.storage = i->storage,
		.cache = i->cache,
		.agreement = i->agreement,
		.alarms = i->alarms,
		.prefix = str_of(o->prefix),
		.is_standalone = !i->delegation,
		.delegates = i->delegation ? delegation_delegates(i->delegation) : NULL,
		.converter = i->conversions ? conversions_converter(i->conversions) : NULL,
		.always_allow_paths = o->always_allow_paths,
		.token_auth_file = f->token_auth_file,
		.anonymous_auth = f->anonymous_auth,
		.authorization_policy_file = f->authorization_policy_file,
		.always_allow = f->always_allow,
		.storage_version_hash = f->storage_version_hash,
		.max_requests_inflight = (size_t)f->max_requests_inflight,
		.max_mutating_inflight = (size_t)f->max_mutating_requests_inflight,
		.max_watches = (size_t)f->max_watches_inflight,
		.max_requests_bytes = (size_t)f->max_requests_inflight_mib << 20,
		.max_mutating_bytes = (size_t)f->max_mutating_requests_inflight_mib << 20,
		.request_timeout_ms = f->request_timeout_ms,
		.event_ttl_s = f->event_ttl_ms / 1000,
		.access_log = f->access_log,
		.log_format = f->log_format,
		.audit = {.policy_file = f->audit_policy_file,
			.log = {.file = {.path = f->audit_log_path,
					.max_size = f->audit_log_max_size_mb * 1024 * 1024,
					.max_backups = f->audit_log_max_backups,
					.max_age_days = f->audit_log_max_age_days}},
			.truncates = f->audit_log_truncates,
			.max_event_bytes = f->audit_log_max_event_bytes},
		.version = STR(KUBE_VERSION "+annals." ANNALS_VERSION),
		.on_notice = on_notice,
		.slow_request_ms = f->slow_request_ms,
		.on_slow = on_slow,
		.write_metrics = write_metrics,
		.metrics_ctx = i,
	};
	return server_new(&i->server, &options, err);
}

static int open_delegation(struct instance *i, struct buf *err)
{
	if (!i->options.delegation) {
		return 0;
	}
	struct delegation_options options = *i->options.delegation;
	options.on_trust = on_trust;
	options.on_notice = on_notice;
	options.ctx = i;
	return delegation_new(&i->delegation, &options, err);
}

static void open_agreement(struct instance *i)
{
	const struct instance_options *o = &i->options;
	char host[256] = "";
	_cleanup_(buf_done) struct buf address;
	buf_init(&address, 4096);
	gethostname(host, sizeof(host) - 1);
	buf_adds(&address, host);
	if (o->port != 0) { /* else only the server will know it */
		buf_printf(&address, ":%u", o->port);
	}
	struct agreement *a = agreement_new(&(struct agreement_options){
		.storage = i->storage,
		.prefix = str_of(o->prefix),
		.versions = o->flags->storage_versions,
		.is_standalone = !o->delegation,
		.is_plain = !o->flags->compress_history,
		.address = buf_str(&address),
		.lease_s = o->flags->replica_lease_ms / 1000,
		.registers_later = true,
		.on_change = on_agreement_change,
		.on_notice = on_agreement_notice,
		.ctx = i,
	});
	pthread_mutex_lock(&i->lock);
	i->agreement = a;
	pthread_mutex_unlock(&i->lock);
	register_if_following(i, false);
}

static void close_agreement(struct instance *i)
{
	pthread_mutex_lock(&i->lock);
	struct agreement *a = take_ptr(i->agreement); /* from now on the cache's news do not reach it */
	pthread_mutex_unlock(&i->lock);
	agreement_free(a);
}

static void open_migrator(struct instance *i)
{
	const struct server_flags *f = i->options.flags;
	struct migrator *m = migrator_new(&(struct migrator_options){
		.storage = i->storage,
		.cache = i->cache,
		.agreement = i->agreement,
		.prefix = str_of(i->options.prefix),
		.is_standalone = !i->delegation,
		.mode = f->storage_migration,
		.rate = f->storage_migration_rate,
		.is_plain = !f->compress_history,
		.on_notice = on_migrator_notice,
		.ctx = i,
	});
	pthread_mutex_lock(&i->lock);
	i->migrator = m;
	pthread_mutex_unlock(&i->lock);
}

static void close_migrator(struct instance *i)
{
	pthread_mutex_lock(&i->lock);
	struct migrator *m = take_ptr(i->migrator); /* other threads no longer find it to notify it */
	pthread_mutex_unlock(&i->lock);
	migrator_free(m);
}

/* The memory of objects beside the store: in the cache, in its trees, and in controllers. Deletions cannot free the
 * windows of the cache, so these count for a quarter of the limit at most. */
static int64_t held_beside(void *ctx)
{
	enum { OF_TREES = 160, OF_CONTROLLERS = 400 };
	const struct instance *i = ctx;
	struct cache_stats stats;

	cache_stats(i->cache, NULL, &stats);
	return (int64_t)(stats.n_bytes + stats.n_objects * (OF_TREES + OF_CONTROLLERS)) +
		MIN((int64_t)stats.n_window_bytes, i->options.memory_limit / 4);
}

/* The cache's window of one kind. 0: the default. */
static size_t window_bytes(const struct instance *i)
{
	enum { LEAST = 1 << 20, MOST = 32 << 20, PARTS = 16 };

	return i->options.memory_limit ? (size_t)MAX(LEAST, MIN(i->options.memory_limit / PARTS, MOST)) : 0;
}

static int open_storage(struct instance *i, struct buf *err)
{
	if (i->options.memory_limit == 0) {
		return storage_etcd_new(&i->storage, &i->options.etcd, err);
	}
	i->storage = storage_memory_new_limited(i->options.memory_limit);
	return 0;
}

static void close_storage(struct instance *i)
{
	if (i->storage) {
		storage_free(i->storage);
	}
	if (i->storage && i->options.memory_limit == 0) {
		storage_etcd_shutdown();
	}
}

static int open_parts(struct instance *i, struct buf *err)
{
	const struct instance_options *o = &i->options;
	int r = open_storage(i, err);
	if (r) {
		return r;
	}
	struct cache_options cache = {
		.storage = i->storage,
		.prefix = str_of(o->prefix),
		.window_bytes = window_bytes(i),
		.pin_bytes = window_bytes(i),
		.on_state = on_cache_state,
		.ctx = i,
	};
	/* Behind a kube-apiserver, definitions are that server's. */
	if (!o->delegation) {
		i->definitions = definitions_new();
		i->conversions = conversions_new();
		cache.definitions = definitions_kind();
		cache.define = custom_define;
		cache.on_definition = definitions_note;
		cache.definitions_ctx = i->definitions;
	}
	i->cache = cache_new(&cache);
	if (o->memory_limit > 0) {
		storage_memory_count_others(i->storage, held_beside, i);
	}
	i->compactor = compactor_new(&(struct compactor_options){
		.storage = i->storage, .prefix = str_of(o->prefix), .interval_ms = o->flags->etcd_compaction_interval_ms});
	i->alarms = alarms_new(&(struct alarms_options){
		.storage = i->storage, .is_in_memory = o->memory_limit > 0, .on_notice = on_alarm, .ctx = i});
	open_agreement(i);
	r = open_delegation(i, err);
	r = r ? r : open_server(i, err);
	if (!r && i->delegation) {
		delegation_start(i->delegation);
	}
	if (!r) {
		open_migrator(i);
	}
	if (!r && i->definitions) {
		definitions_start(i->definitions,
			&(struct definitions_options){.storage = i->storage,
				.cache = i->cache,
				.agreement = i->agreement,
				.prefix = str_of(o->prefix),
				.on_notice = on_definitions_notice});
	}
	return r;
}

static int start_raiser(struct instance *i, struct buf *err)
{
	int r = -pthread_create(&i->raiser, NULL, bring_up, i);
	if (r) {
		buf_printf(err, "cannot start a thread: %s", strerror(-r));
		return r;
	}
	pthread_setname_np(i->raiser, "bring-up");
	i->has_raiser = true;
	return 0;
}

static void join_raiser(struct instance *i)
{
	if (i->has_raiser) {
		pthread_join(i->raiser, NULL);
	}
	i->has_raiser = false;
}

static void stop_raiser(struct instance *i)
{
	pthread_mutex_lock(&i->lock);
	i->is_stopping = true;
	pthread_cond_signal(&i->wake);
	pthread_mutex_unlock(&i->lock);
	join_raiser(i);
}

static void instance_free(struct instance *i)
{
	if (i) {
		stop_raiser(i);
		if (i->has_drainer) {
			pthread_join(i->drainer, NULL);
		}
		if (i->delegation) {
			delegation_stop(i->delegation); /* so that no request waits for an answer */
		}
		conversions_stop(i->conversions);
		server_free(i->server);
		conversions_free(i->conversions);
		delegation_free(i->delegation);
		close_migrator(i);
		definitions_stop(i->definitions);
		close_agreement(i);
		alarms_free(i->alarms);
		compactor_free(i->compactor);
		if (i->storage && i->options.memory_limit > 0) {
			storage_memory_count_others(i->storage, NULL, NULL);
		}
		cache_free(i->cache);
		definitions_free(i->definitions);
		close_storage(i);
		pthread_cond_destroy(&i->wake);
		pthread_mutex_destroy(&i->lock);
		mem_free(i);
	}
}

int instance_new(struct instance **ret, const struct instance_options *options, struct buf *err)
{
	struct instance *i = mem_new(struct instance);
	i->options = *options;
	clock_cond_init(&i->wake);
	pthread_mutex_init(&i->lock, NULL);
	raise_file_limit();
	int r = open_parts(i, err);
	if (r == -EADDRINUSE) {
		BUF_LITERAL(err, "; it is used by ");
		if (!add_port_owner(options->port, err)) {
			BUF_LITERAL(err, "another process");
		}
	}
	r = r ? r : start_raiser(i, err);
	if (r) {
		instance_free(i);
		return r;
	}
	*ret = i;
	return 0;
}

uint16_t instance_port(const struct instance *i)
{
	return server_port(i->server);
}

bool instance_is_ready(const struct instance *i)
{
	return atomic_load(&i->is_ready);
}

/* ---- going down ---- */

static void *drain(void *ctx)
{
	struct instance *i = ctx;
	const struct server_flags *f = i->options.flags;
	i->has_stragglers = !server_drain(i->server, f->shutdown_delay_ms, f->request_timeout_ms);
	atomic_store(&i->is_drained, true);
	loop_notify(i->options.loop);
	return NULL;
}

/* Drains in a thread of its own, so that the main thread hears a second signal. */
void instance_drain(struct instance *i)
{
	if (instance_is_ready(i)) {
		join_raiser(i); /* its work is done; join it here, since the process may exit without instance_free() */
	}
	if (!i->has_drainer) {
		i->has_drainer = pthread_create(&i->drainer, NULL, drain, i) == 0;
		if (i->has_drainer) {
			pthread_setname_np(i->drainer, "drain");
		} else {
			drain(i);
		}
	}
}

bool instance_is_drained(const struct instance *i)
{
	return atomic_load(&i->is_drained);
}

/* Closes parts in the order of instance_free(), except those that connections may still use. */
static void instance_abandon(struct instance *i)
{
	log_warning("stop", "connections remain that do not end: leaving without them");
	if (i->has_drainer) {
		pthread_join(i->drainer, NULL); /* it has reported that there are stragglers, and is over */
		i->has_drainer = false;
	}
	stop_raiser(i);
	if (i->delegation) {
		delegation_stop(i->delegation);
	}
	conversions_stop(i->conversions);
	close_migrator(i);
	agreement_leave(i->agreement);
	server_flush_logs(i->server, clock_mono_ms() + FLUSH_MS);
}

bool instance_close(struct instance *i)
{
	assert(!i->has_stragglers || atomic_load(&i->is_drained));
	if (i->has_stragglers) {
		instance_abandon(i);
		return false;
	}
	instance_free(i);
	return true;
}
