/* The client runs libcurl's multi interface on one thread, since a controller has dozens of watches
 * that are nearly always idle. Its watches share a connection over HTTP/2. Everything that
 * callbacks touch belongs to this thread and needs no lock.
 *
 * `lock` guards only what other threads hand over: new exchanges, tasks, cancellations. It is
 * the only lock here, and no callback runs under it, so callers may hold locks of their own. */
#include "client/client.h"
#include "base/clock.h"
#include "client/peer.h"

#include <assert.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECT_MS = 10 * 1000,
	KEEPALIVE_S = 20, /* of a silent connection, so that watches notice within a minute that the server's machine is gone */
	/* The kernel would resend to a dead machine for 15 minutes, and all requests would wait
	 * with their one connection. client-go gives up after 45 s. */
	UNANSWERED_MS = 40 * 1000,
	SOCKETS_MAX = 64, /* connections whose silence is noticed: far more than a server that speaks HTTP/2 needs */
	/* The longest poll, which fits libcurl's int. A thread that hands something over wakes
	 * the client's thread. */
	POLL_MAX_MS = 60 * 60 * 1000,
};

struct client {
	struct client_config config;
	struct credentials credentials;
	CURLM *multi;
	pthread_t thread;
	_Atomic bool is_stopping;
	struct list running; /* used by the client's thread alone, like all fields above the lock */
	struct heap timers;
	int sockets[SOCKETS_MAX]; /* open to the client's own server */
	size_t n_sockets;
	pthread_mutex_t lock; /* guards what follows, and is_cancelled and is_resumed of exchanges */
	struct list starting, tasks;
	/* has_cancelled and has_resumed save a look at all exchanges in each round. is_over says
	 * that the thread takes nothing more, so a new request fails at once. */
	bool has_cancelled, has_resumed, is_over;
	pthread_cond_t stopped;
};

/* ---- timers ---- */

void client_timer_init(struct client_timer *t, void (*run)(struct client_timer *t))
{
	assert(run);
	*t = (struct client_timer){.run = run};
}

void client_timer_clear(struct client_timer *t)
{
	if (t->timers) {
		heap_remove(t->timers, &t->node);
	}
}

static void timers_run(struct heap *timers)
{
	int64_t now = clock_mono_ms();
	for (struct heap_node *first; (first = heap_first(timers)) && first->due <= now;) {
		struct client_timer *t = container_of(first, struct client_timer, node);
		heap_remove(timers, first);
		t->run(t);
	}
}

static void timers_drop(struct heap *timers)
{
	for (struct heap_node *first; (first = heap_first(timers));) {
		heap_remove(timers, first);
	}
	heap_done(timers);
}

static int timers_left_ms(const struct heap *timers, int max_ms)
{
	const struct heap_node *first = heap_first(timers);
	int64_t left = first ? first->due - clock_mono_ms() : max_ms;

	return (int)MIN(MAX(left, 0), (int64_t)max_ms);
}

/* ---- libcurl ---- */

#define CURL_CALLS(X)          \
	X(global_init)         \
	X(easy_init)           \
	X(easy_setopt)         \
	X(easy_getinfo)        \
	X(easy_strerror)       \
	X(easy_pause)          \
	X(easy_cleanup)        \
	X(slist_append)        \
	X(slist_free_all)      \
	X(multi_init)          \
	X(multi_add_handle)    \
	X(multi_remove_handle) \
	X(multi_perform)       \
	X(multi_info_read)     \
	X(multi_poll)          \
	X(multi_wakeup)        \
	X(multi_cleanup)

#undef curl_easy_setopt
#undef curl_easy_getinfo
static struct {
#define X(name) __typeof__(curl_##name) *name;
	CURL_CALLS(X)
#undef X
} curl;

/* The executable in tarballs needs only the C library: libcurl is linked into it. */
#ifdef LIBRARIES_ARE_STATIC

static int curl_result = -ENOENT;

static void load_curl(void)
{
#define X(name) curl.name = curl_##name;
	CURL_CALLS(X)
#undef X
	curl_result = curl.global_init(CURL_GLOBAL_DEFAULT) ? -EIO : 0;
}

#else

/* GnuTLS is in the process already, so its flavour of libcurl comes first. */
static const char *const flavours[] = {"libcurl-gnutls.so.4", "libcurl.so.4", "libcurl-nss.so.4"};

static int look_up(void *library, const char *name, void *ret_pointer)
{
	void *symbol = dlsym(library, name);
	memcpy(ret_pointer, &symbol, sizeof(symbol));
	return symbol ? 0 : -ENOSYS;
}

static int curl_result = -ENOENT;

static void load_curl(void)
{
	void *library = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(flavours) && !library; i++) {
		library = dlopen(flavours[i], RTLD_NOW | RTLD_LOCAL);
	}
	if (!library) {
		return;
	}
	int r = 0;
#define X(name) r = r ? r : look_up(library, "curl_" #name, &curl.name);
	CURL_CALLS(X)
#undef X
	curl_result = r ? r : curl.global_init(CURL_GLOBAL_DEFAULT) ? -EIO : 0;
}

#endif

static int need_curl(struct buf *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load_curl);
	if (curl_result) {
		buf_printf(err, "libcurl cannot be used (Debian's package is libcurl3-gnutls): %s", strerror(-curl_result));
	}
	return curl_result;
}

/* ---- an exchange ---- */

static void read_code(struct exchange *x)
{
	long code = 0;
	curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &code);
	x->code = (int)code;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct exchange *x = ctx;
	struct str line = {p, size * n}, name, value;
	if (str_starts(line, STR("HTTP/"))) {
		x->retry_after_s = -1; /* the last response head counts: a 100 may precede it */
		x->answer_type[0] = '\0';
	} else if (str_trim(line).n == 0) {
		read_code(x); /* a watch may send nothing else for a long time */
		if (x->on_head && x->code >= 200) {
			x->on_head(x);
		}
	} else if (str_cut(line, ':', &name, &value)) {
		value = str_trim(value);
		int64_t seconds;
		if (str_eq_nocase(name, STR("Retry-After")) && str_to_int64(value, &seconds) && seconds >= 0) {
			x->retry_after_s = MIN(seconds, (int64_t)RETRY_AFTER_MAX_S);
		} else if (str_eq_nocase(name, STR("Content-Type"))) {
			snprintf(x->answer_type, sizeof(x->answer_type), STR_FMT, STR_ARG(value));
		}
	}
	return size * n;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct exchange *x = ctx;
	read_code(x);
	x->is_pausing = false;
	bool is_wanted = !x->on_bytes || x->on_bytes(x, (struct str){p, size * n});
	if (!is_wanted) {
		x->result = EXCHANGE_REFUSED;
		return 0;
	}
	return x->is_pausing ? CURL_WRITEFUNC_PAUSE : size * n;
}

static void add_header(struct exchange *x, const char *name, const char *value)
{
	_cleanup_(mem_freep) char *line = mem_printf("%s: %s", name, value);
	x->headers = curl.slist_append(x->headers, line);
}

static void add_impersonation(const struct client_config *config, struct exchange *x)
{
	struct str rest = str_of(config->as_groups), group;
	if (config->as) {
		add_header(x, "Impersonate-User", config->as);
	}
	while (rest.n > 0) {
		str_cut(rest, '\n', &group, &rest);
		_cleanup_(mem_freep) char *value = mem_strndup(group.p, group.n);
		add_header(x, "Impersonate-Group", value);
	}
}

static void set_headers(struct client *c, struct exchange *x)
{
	/* A webhook's server must never see the client's bearer token. */
	struct str bearer = x->peer ? (struct str){0} : credentials_token(&c->credentials);
	add_header(x, "Accept", x->accept ? x->accept : "application/json");
	if (x->body.n) {
		add_header(x, "Content-Type", x->content_type ? x->content_type : "application/json");
		/* Without this, libcurl announces larger bodies with "Expect: 100-continue" and
		 * waits for the answer. */
		x->headers = curl.slist_append(x->headers, "Expect:");
	}
	if (bearer.n) {
		_cleanup_(mem_freep) char *value = mem_printf("Bearer " STR_FMT, STR_ARG(bearer));
		add_header(x, "Authorization", value);
	}
	if (!x->peer) {
		add_impersonation(c->credentials.config, x);
	}
	curl.easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
}

static void set_trust(CURL *easy, const struct pem *ca)
{
	if (pem_is_there(ca)) {
		curl.easy_setopt(easy, CURLOPT_CAINFO, ca->path);
		/* otherwise libcurl would also trust the system's authorities */
		curl.easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
}

static void set_identity(struct client *c, CURL *easy)
{
	const struct credentials *own = &c->credentials;
	if (pem_is_there(&own->cert)) {
		curl.easy_setopt(easy, CURLOPT_SSLCERT, own->cert.path);
		curl.easy_setopt(easy, CURLOPT_SSLKEY, own->key.path);
	}
	if (c->config.is_insecure) {
		curl.easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl.easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static void set_tls(struct client *c, struct exchange *x)
{
	if (x->peer) {
		set_trust(x->easy, &x->peer->ca);
	} else {
		set_trust(x->easy, &c->credentials.ca);
		set_identity(c, x->easy);
	}
}

static const char *base_of(const struct client *c, const struct exchange *x)
{
	return x->peer ? x->peer->base : c->config.server;
}

static void set_request(struct client *c, struct exchange *x)
{
	_cleanup_(mem_freep) char *url = mem_printf("%s%s", base_of(c, x), x->path);
	curl.easy_setopt(x->easy, CURLOPT_URL, url);
	curl.easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, x->method);
	curl.easy_setopt(x->easy, CURLOPT_USERAGENT, c->config.user_agent);
	/* Without this, libcurl removes "." and ".." from paths. */
	curl.easy_setopt(x->easy, CURLOPT_PATH_AS_IS, 1L);
	if (x->body.n) {
		curl.easy_setopt(x->easy, CURLOPT_POSTFIELDS, x->body.p);
		curl.easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.n);
	}
	set_headers(c, x);
}

/* libcurl reads the environment's proxy settings. As in net/http, servers on this machine are
 * reached without a proxy. */
static bool is_loopback(const char *server)
{
	static const char *const hosts[] = {"://127.", "://localhost", "://[::1]"};
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		if (strstr(server, hosts[i])) {
			return true;
		}
	}
	return false;
}

/* HTTP/2 is negotiated in the TLS handshake. Without TLS, libcurl would wait for a whole answer
 * to learn the version. */
static void set_version(const struct client *c, const struct exchange *x)
{
	bool is_shared = !x->peer && !x->is_alone && str_starts(str_of(c->config.server), STR("https:"));
	/* A libcurl without HTTP/2 refuses this and stays with HTTP/1.1. */
	curl.easy_setopt(x->easy, CURLOPT_HTTP_VERSION, (long)(is_shared ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	/* A request that comes while the first connection is being set up waits for it, and does
	 * not open another. */
	curl.easy_setopt(x->easy, CURLOPT_PIPEWAIT, is_shared ? 1L : 0L);
}

/* ---- sockets ---- */

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose _unused_)
{
	struct client *c = ctx;
	const unsigned unanswered_ms = UNANSWERED_MS;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
	if (c->n_sockets < SOCKETS_MAX) {
		c->sockets[c->n_sockets++] = fd;
	}
	return CURL_SOCKOPT_OK;
}

static int on_socket_close(void *ctx, curl_socket_t fd)
{
	struct client *c = ctx;
	for (size_t i = 0; i < c->n_sockets; i++) {
		if (c->sockets[i] == fd) {
			c->sockets[i] = c->sockets[--c->n_sockets];
			break;
		}
	}
	return close(fd);
}

static void set_socket(struct client *c, struct exchange *x)
{
	if (!x->peer) {
		curl.easy_setopt(x->easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
		curl.easy_setopt(x->easy, CURLOPT_SOCKOPTDATA, c);
		curl.easy_setopt(x->easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_close);
		curl.easy_setopt(x->easy, CURLOPT_CLOSESOCKETDATA, c);
	}
}

/* Cuts silent connections after a request has timed out. If the server or a proxy has forgotten
 * the connection, the next request over HTTP/2 would meet the same silence. A connection is cut
 * when it has sent something since the request began, and received nothing since. Its watches
 * resume on a new connection. */
static void cut_silent_sockets(struct client *c, int64_t began_ms)
{
	int64_t age_ms = clock_mono_ms() - began_ms;
	for (size_t i = 0; i < c->n_sockets; i++) {
		struct tcp_info info;
		socklen_t n = sizeof(info);
		if (getsockopt(c->sockets[i], IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && info.tcpi_last_data_recv >= age_ms &&
			info.tcpi_last_data_sent <= age_ms) {
			shutdown(c->sockets[i], SHUT_RDWR);
		}
	}
}

static void set_transport(struct client *c, struct exchange *x)
{
	if (is_loopback(base_of(c, x))) {
		curl.easy_setopt(x->easy, CURLOPT_PROXY, "");
	}
	/* The address comes from a file, so it must not name a local file or another protocol. */
	curl.easy_setopt(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	set_version(c, x);
	set_socket(c, x);
	/* Without this, libcurl may use SIGALRM for look-ups of names, in a process with many
	 * threads. */
	curl.easy_setopt(x->easy, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(x->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl.easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, (long)x->timeout_ms);
	curl.easy_setopt(x->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl.easy_setopt(x->easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
	curl.easy_setopt(x->easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S / 2);
}

static void set_answer(struct exchange *x)
{
	curl.easy_setopt(x->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl.easy_setopt(x->easy, CURLOPT_HEADERDATA, x);
	curl.easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl.easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
	curl.easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->problem);
	curl.easy_setopt(x->easy, CURLOPT_PRIVATE, x);
}

static void client_begin(struct client *c, struct exchange *x)
{
	x->easy = curl.easy_init();
	set_request(c, x);
	set_transport(c, x);
	set_tls(c, x);
	set_answer(x);
	x->began_ms = clock_mono_ms();
	list_append(&c->running, &x->link);
	curl.multi_add_handle(c->multi, x->easy);
}

/* Ends an exchange. on_done() may free it. */
static void exchange_end(struct exchange *x, enum exchange_result result)
{
	x->result = result;
	x->on_done(x);
}

static void end_running(struct client *c, struct exchange *x, enum exchange_result result)
{
	list_remove(&x->link);
	curl.multi_remove_handle(c->multi, x->easy);
	read_code(x);
	curl.easy_cleanup(x->easy);
	curl.slist_free_all(x->headers);
	x->easy = x->headers = NULL;
	exchange_end(x, result);
}

static enum exchange_result result_of(const struct exchange *x, CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return EXCHANGE_OK;
	case CURLE_OPERATION_TIMEDOUT:
		return EXCHANGE_TIMEOUT;
	default:
		return x->result == EXCHANGE_REFUSED ? EXCHANGE_REFUSED : EXCHANGE_UNREACHABLE;
	}
}

static bool has_broken(CURLcode code)
{
	return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
		code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM;
}

static void end_finished(struct client *c)
{
	CURLMsg *message;
	int n_left;
	while ((message = curl.multi_info_read(c->multi, &n_left))) {
		struct exchange *x = NULL;
		CURLcode code = message->data.result;
		if (message->msg == CURLMSG_DONE && !curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&x)) {
			if (code != CURLE_OK && !x->problem[0]) {
				snprintf(x->problem, sizeof(x->problem), "%s", curl.easy_strerror(code));
			}
			x->is_broken = has_broken(code);
			if (code == CURLE_OPERATION_TIMEDOUT && !x->peer) {
				cut_silent_sockets(c, x->began_ms);
			}
			end_running(c, x, result_of(x, code));
		}
	}
}

/* ---- the thread ---- */

static struct list *take_first(struct client *c, struct list *head)
{
	struct list *first = NULL;
	pthread_mutex_lock(&c->lock);
	if (!list_is_empty(head)) {
		first = head->next;
		list_remove(first);
	}
	pthread_mutex_unlock(&c->lock);
	return first;
}

static void run_tasks(struct client *c)
{
	struct list *link;
	while ((link = take_first(c, &c->tasks))) {
		struct client_task *t = list_entry(link, struct client_task, link);
		t->run(t);
	}
}

static bool is_cancelled(struct client *c, const struct exchange *x)
{
	pthread_mutex_lock(&c->lock);
	bool answer = x->is_cancelled;
	pthread_mutex_unlock(&c->lock);
	return answer;
}

static void begin_all(struct client *c)
{
	struct list *link;
	while ((link = take_first(c, &c->starting))) {
		struct exchange *x = list_entry(link, struct exchange, link);
		if (atomic_load(&c->is_stopping)) {
			exchange_end(x, EXCHANGE_STOPPED);
		} else {
			client_begin(c, x);
		}
	}
}

static struct exchange *find_cancelled(struct client *c)
{
	list_for_each(it, &c->running) {
		struct exchange *x = list_entry(it, struct exchange, link);
		if (is_cancelled(c, x)) {
			return x;
		}
	}
	return NULL;
}

static void end_cancelled(struct client *c)
{
	pthread_mutex_lock(&c->lock);
	bool has_cancelled = c->has_cancelled;
	c->has_cancelled = false;
	pthread_mutex_unlock(&c->lock);
	for (struct exchange *x; has_cancelled && (x = find_cancelled(c));) {
		end_running(c, x, EXCHANGE_CANCELLED);
	}
}

static struct exchange *take_resumed(struct client *c)
{
	struct exchange *found = NULL;
	pthread_mutex_lock(&c->lock);
	list_for_each(it, &c->running) {
		struct exchange *x = list_entry(it, struct exchange, link);
		if (x->is_resumed) {
			x->is_resumed = false;
			found = x;
			break;
		}
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* Resumes paused exchanges. This cannot happen inside exchange_resume(), because on_bytes may
 * still be about to pause. libcurl hands over the bytes it has kept during the call. If the
 * callback refuses them, the caller must end the exchange. */
static void go_on_resumed(struct client *c)
{
	pthread_mutex_lock(&c->lock);
	bool has_resumed = c->has_resumed;
	c->has_resumed = false;
	pthread_mutex_unlock(&c->lock);
	for (struct exchange *x; has_resumed && (x = take_resumed(c));) {
		CURLcode code = curl.easy_pause(x->easy, CURLPAUSE_CONT);
		if (code != CURLE_OK) {
			end_running(c, x, result_of(x, code));
		}
	}
}

/* Returns true when no exchange or task waits to begin. From then on none is accepted. */
static bool is_over(struct client *c)
{
	pthread_mutex_lock(&c->lock);
	bool answer = c->is_over = list_is_empty(&c->starting) && list_is_empty(&c->tasks);
	pthread_mutex_unlock(&c->lock);
	return answer;
}

/* Ends everything in rounds: an on_done() callback may start another exchange or post a task. */
static void wind_up(struct client *c)
{
	assert(atomic_load(&c->is_stopping));
	do {
		while (!list_is_empty(&c->running)) {
			end_running(c, list_entry(c->running.next, struct exchange, link), EXCHANGE_STOPPED);
		}
		begin_all(c);
		run_tasks(c);
		timers_drop(&c->timers);
	} while (!is_over(c));
}

static void *drive(void *ctx)
{
	struct client *c = ctx;
	int n_running;
	while (!atomic_load(&c->is_stopping)) {
		run_tasks(c);
		timers_run(&c->timers);
		/* The order matters: an exchange that was cancelled before it began is found
		 * among the running ones. */
		begin_all(c);
		end_cancelled(c);
		go_on_resumed(c);
		curl.multi_perform(c->multi, &n_running);
		end_finished(c);
		curl.multi_poll(c->multi, NULL, 0, timers_left_ms(&c->timers, POLL_MAX_MS), NULL);
	}
	wind_up(c);
	return NULL;
}

/* ---- what others see ---- */

static void wake(struct client *c)
{
	curl.multi_wakeup(c->multi);
}

/* Appends a link to a list that the client's thread reads. Returns false when the thread has
 * ended. */
static bool client_leave(struct client *c, struct list *head, struct list *link)
{
	pthread_mutex_lock(&c->lock);
	bool is_taken = !c->is_over;
	if (is_taken) {
		list_append(head, link);
		wake(c);
	}
	pthread_mutex_unlock(&c->lock);
	return is_taken;
}

void exchange_start(struct client *c, struct exchange *x)
{
	assert(x->method && x->path && x->on_done);
	x->code = 0;
	x->retry_after_s = -1;
	x->answer_type[0] = x->problem[0] = '\0';
	x->result = EXCHANGE_OK;
	x->is_cancelled = x->is_resumed = x->is_pausing = x->is_broken = false;
	if (!client_leave(c, &c->starting, &x->link)) {
		exchange_end(x, EXCHANGE_STOPPED);
	}
}

void exchange_cancel(struct client *c, struct exchange *x)
{
	pthread_mutex_lock(&c->lock);
	x->is_cancelled = c->has_cancelled = true;
	if (!c->is_over) {
		wake(c);
	}
	pthread_mutex_unlock(&c->lock);
}

void exchange_pause(struct exchange *x)
{
	assert(x->is_alone);
	x->is_pausing = true;
}

void exchange_resume(struct client *c, struct exchange *x)
{
	pthread_mutex_lock(&c->lock);
	x->is_resumed = c->has_resumed = true;
	if (!c->is_over) {
		wake(c);
	}
	pthread_mutex_unlock(&c->lock);
}

void client_timer_set(struct client *c, struct client_timer *t, int64_t delay_ms)
{
	assert(client_is_this_thread(c) && t->run && delay_ms >= 0);
	t->timers = &c->timers;
	heap_set(&c->timers, &t->node, clock_mono_ms() + delay_ms);
}

bool client_post(struct client *c, struct client_task *t)
{
	assert(t->run);
	return client_leave(c, &c->tasks, &t->link);
}

static int open_parts(struct client *c, struct buf *err)
{
	int r = need_curl(err);
	r = r ? r : credentials_init(&c->credentials, &c->config, err);
	if (r) {
		return r;
	}
	c->multi = curl.multi_init();
	r = -pthread_create(&c->thread, NULL, drive, c);
	if (r) {
		buf_printf(err, "cannot start a thread: %s", strerror(-r));
		curl.multi_cleanup(take_ptr(c->multi));
		return r;
	}
	pthread_setname_np(c->thread, "client");
	return 0;
}

int64_t client_request_timeout_ms(const struct client *c)
{
	return c->config.request_timeout_ms;
}

int client_new(struct client **ret, const struct client_config *config, struct buf *err)
{
	struct client *c = mem_new(struct client);
	client_config_copy(&c->config, config);
	if (!c->config.user_agent) {
		c->config.user_agent = mem_strdup("annals/" ANNALS_VERSION);
	}
	list_init(&c->running);
	list_init(&c->starting);
	list_init(&c->tasks);
	clock_cond_init(&c->stopped);
	pthread_mutex_init(&c->lock, NULL);
	int r = open_parts(c, err);
	if (r) {
		client_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void client_stop(struct client *c)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->is_stopping, true);
	pthread_cond_broadcast(&c->stopped);
	pthread_mutex_unlock(&c->lock);
	wake(c);
}

bool client_sleep(struct client *c, int64_t ms)
{
	assert(!client_is_this_thread(c));
	int64_t until_ms = clock_mono_ms() + ms;
	pthread_mutex_lock(&c->lock);
	int r = 0;
	while (!atomic_load(&c->is_stopping) && r != ETIMEDOUT) {
		r = clock_cond_wait(&c->stopped, &c->lock, until_ms);
	}
	pthread_mutex_unlock(&c->lock);
	return !client_is_stopped(c);
}

bool client_is_this_thread(const struct client *c)
{
	return pthread_equal(pthread_self(), c->thread);
}

bool client_is_stopped(const struct client *c)
{
	return atomic_load(&c->is_stopping);
}

struct client *client_free(struct client *c)
{
	if (c) {
		if (c->multi) {
			assert(!client_is_this_thread(c));
			client_stop(c);
			pthread_join(c->thread, NULL);
			curl.multi_cleanup(c->multi);
		}
		credentials_done(&c->credentials);
		pthread_cond_destroy(&c->stopped);
		pthread_mutex_destroy(&c->lock);
		client_config_done(&c->config);
		mem_free(c);
	}
	return NULL;
}

/* ---- peers ---- */

/* Creates a peer. Its CA is opened once, because webhooks are asked with every write. */
int peer_new(struct peer **ret, struct str base, const char *ca, struct buf *err)
{
	_cleanup_(peer_freep) struct peer *p = mem_new(struct peer);
	p->base = mem_strndup(base.p, base.n);
	int r = pem_open(&p->ca, ca, err);
	if (r) {
		return r;
	}
	*ret = take_ptr(p);
	return 0;
}

struct peer *peer_free(struct peer *p)
{
	if (p) {
		pem_close(&p->ca);
		mem_free(p->base);
		mem_free(p);
	}
	return NULL;
}
