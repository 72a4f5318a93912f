/* The server of the page. A connection is accepted if the client's socket belongs to our user. A request is accepted by
 * its head, in this order: host and origin, path, method, session. The HTTP front end adds the same security headers to
 * every answer, even to one that answers no HTTP.
 *
 * There are two servers with one address each, rather than one with all addresses: so nobody beyond this machine can
 * connect. */
#include "cli/ui/ui.h"
#include "api/model/status.h"
#include "base/clock.h"
#include "cli/ui/access.h"
#include "cli/ui/files.h"
#include "cli/ui/peer.h"
#include "cli/ui/ui_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BODY_MAX = 64 << 10,   /* bytes of a request, which has a few names; a longer one gets 413 */
	CONNECTIONS_MAX = 128, /* for each address; a browser opens six */
	DRAIN_MS = 300,
	PORTS_TO_TRY = 20,  /* a port may be free on 127.0.0.1 and taken on ::1; then the next one is tried */
	MESSAGE_MAX = 4096, /* bytes of a message */
};

#define ROOT "/annals/ui"

static const char *const addresses[ADDRESSES] = {"127.0.0.1", "::1"};

/* ---- answers ---- */

/* The page loads nothing from elsewhere, runs only its own files, and no other page may frame it. */
static const char *const headers[][2] = {
	{"Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{NULL, NULL},
};

static const char *reason_of(unsigned code)
{
	static const struct {
		unsigned code;
		const char *reason;
	} rows[] = {
		{400, REASON_BAD_REQUEST},
		{401, REASON_UNAUTHORIZED},
		{403, REASON_FORBIDDEN},
		{404, REASON_NOT_FOUND},
		{405, REASON_METHOD_NOT_ALLOWED},
		{406, REASON_NOT_ACCEPTABLE},
		{409, REASON_CONFLICT},
		{413, REASON_REQUEST_ENTITY_TOO_LARGE},
		{422, REASON_INVALID},
		{429, REASON_TOO_MANY_REQUESTS},
		{500, REASON_INTERNAL_ERROR},
		{503, REASON_SERVICE_UNAVAILABLE},
		{504, REASON_TIMEOUT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].code == code) {
			return rows[i].reason;
		}
	}
	return NULL;
}

void status_text(struct buf *out, unsigned code, struct str message)
{
	struct arena arena;
	struct status status;
	arena_init(&arena, 1 << 20);
	status_init(&status, &arena);
	status_set(&status, (int)code, reason_of(code), STR_FMT, STR_ARG(message));
	json_encode(out, status_to_json(&status, &arena));
	arena_done(&arena);
}

void ui_reply_status(struct http_exchange *x, unsigned code, const char *format, ...)
{
	_cleanup_(buf_done) struct buf message, text;
	va_list ap;
	buf_init(&message, MESSAGE_MAX);
	buf_init(&text, 8 * MESSAGE_MAX);
	va_start(ap, format);
	buf_vprintf(&message, format, ap);
	va_end(ap);
	status_text(&text, code, buf_str(&message));
	http_add_header(x, "Cache-Control", STR("no-store"));
	http_add_header(x, "Content-Type", STR("application/json"));
	http_reply(x, code, arena_dup(http_arena(x), buf_str(&text)));
}

/* ---- files, sessions, requests to the API server ---- */

/* The path below /annals/ui/ is only compared with names, and never becomes a path of the file system. */
static const struct page_file *page_file_find(struct str path)
{
	struct str name = path.n ? path : STR("index.html");
	for (size_t i = 0; i < n_page_files; i++) {
		if (str_is(name, page_files[i].name)) {
			return &page_files[i];
		}
	}
	return NULL;
}

/* Is it an element of a list between commas (If-None-Match, Accept-Encoding)? */
static bool header_has(struct str list, const char *element)
{
	struct str each;
	while (list.n > 0) {
		str_cut(list, ',', &each, &list);
		if (str_is(str_trim(each), element)) {
			return true;
		}
	}
	return false;
}

static void reply_file(struct http_exchange *x, const struct page_file *f)
{
	bool is_packed = header_has(http_header(x, "Accept-Encoding"), "gzip");
	const char *etag = is_packed ? f->packed_etag : f->etag;
	struct str body = is_packed ? f->packed : f->plain;
	http_add_header(x, "Cache-Control", STR("no-cache"));
	http_add_header(x, "Vary", STR("Accept-Encoding"));
	http_add_header(x, "ETag", str_of(etag));
	if (header_has(http_header(x, "If-None-Match"), etag)) {
		http_reply(x, 304, STR(""));
		return;
	}
	http_add_header(x, "Content-Type", str_of(f->type));
	if (is_packed) {
		http_add_header(x, "Content-Encoding", STR("gzip"));
	}
	http_reply(x, 200, body);
}

static void reply_session(struct ui *u, struct http_exchange *x)
{
	char session[KEY_SIZE];
	switch (sessions_open(&u->sessions, http_header(x, "X-Annals-Token"), session)) {
	case SESSION_OPENED:
		http_add_header(x, "Cache-Control", STR("no-store"));
		http_add_header(x, "Content-Type", STR("application/json"));
		http_reply(x, 200, arena_printf(http_arena(x), "{\"session\":\"%s\"}", session));
		return;
	case SESSION_TOO_MANY_TRIES:
		ui_reply_status(x, 429, "too many wrong tokens were tried; a new link starts anew");
		return;
	case SESSION_REFUSED:
		ui_reply_status(x, 401, "this link has been used, or a newer one has been made");
	}
}

static void reply_api(struct ui *u, struct http_exchange *x, struct str path, struct str query)
{
	const char *why;
	struct str accept = allowed_accept(http_header(x, "Accept"), http_arena(x));
	if (!allowed_target(path, query, &why)) {
		ui_reply_status(x, 403, "%s", why);
	} else if (accept.n == 0) {
		ui_reply_status(x, 406, "the page has no need of these media types");
	} else {
		struct str target =
			arena_printf(http_arena(x), STR_FMT "%s" STR_FMT, STR_ARG(path), query.n ? "?" : "", STR_ARG(query));
		proxy_begin(u, x, target, accept);
	}
}

/* ---- routing ---- */

enum place { NOWHERE, ELSEWHERE, FILES, SESSION, API, ROUTE };

struct way {
	enum place place;
	struct str path, query; /* below the root; of API, what the API server is asked */
	const char *method;     /* the only one that it takes */
	const struct page_file *file;
	const struct ui_route *route;
};

static const struct ui_route *find_route(const struct ui *u, struct str path, struct str method)
{
	for (const struct ui_route *r = u->options.routes; r && r->path; r++) {
		if (str_is(path, r->path) && (method.n == 0 || str_is(method, r->method))) {
			return r;
		}
	}
	return NULL;
}

static struct way find_way(const struct ui *u, const struct http_exchange *x)
{
	struct way w = {.method = "GET"};
	struct str path, root = STR(ROOT "/"), api = STR("api/");
	str_cut(http_target(x), '?', &path, &w.query);
	if (str_is(path, "/") || str_is(path, ROOT)) {
		w.place = ELSEWHERE;
		return w;
	}
	if (!str_starts(path, root)) {
		return w;
	}
	w.path = (struct str){path.p + root.n, path.n - root.n};
	if (str_is(w.path, "session")) {
		w.place = SESSION;
		w.method = "POST";
	} else if (str_starts(w.path, api)) {
		w.place = API;
		w.path = (struct str){w.path.p + api.n - 1, w.path.n - api.n + 1}; /* with the slash */
	} else if ((w.route = find_route(u, w.path, (struct str){0}))) {
		const struct ui_route *fitting = find_route(u, w.path, http_method(x));
		w.route = fitting ? fitting : w.route;
		w.place = ROUTE;
		w.method = w.route->method;
	} else if ((w.file = page_file_find(w.path))) {
		w.place = FILES;
	}
	return w;
}

static bool needs_session(const struct way *w)
{
	return w->place == API || w->place == ROUTE;
}

static void on_headers(void *ctx, struct http_exchange *x)
{
	struct ui *u = ctx;
	const struct http_header *all;
	size_t n = http_headers(x, &all);
	const char *why;
	unsigned code = origin_check(all, n, u->port, &why);
	if (code) {
		ui_reply_status(x, code, "%s", why);
		return;
	}
	struct way w = find_way(u, x);
	if (w.place == NOWHERE) {
		ui_reply_status(x, 404, "there is nothing at this path");
	} else if (!str_is(http_method(x), w.method)) {
		http_add_header(x, "Allow", str_of(w.method));
		ui_reply_status(x, 405, "this path takes %s alone", w.method);
	} else if (needs_session(&w) && !sessions_has(&u->sessions, http_header(x, "X-Annals-Session"))) {
		http_add_header(x, "X-Annals-Session", STR("unknown")); /* else a 401 is the API server's */
		ui_reply_status(x, 401, "there is no such session: open a link that annals has printed");
	} else if (needs_session(&w)) {
		http_vouch(x);
	}
}

static void on_request(void *ctx, struct http_exchange *x)
{
	struct ui *u = ctx;
	struct visit *v = http_context(x);
	if (v) {
		v->go_on(v, x);
		return;
	}
	if (http_body_too_large(x)) {
		ui_reply_status(x, 413, "the body is larger than %d bytes", BODY_MAX);
		return;
	}
	struct way w = find_way(u, x);
	switch (w.place) {
	case ELSEWHERE:
		http_add_header(x, "Cache-Control", STR("no-store"));
		http_add_header(x, "Location", STR(ROOT "/"));
		http_reply(x, 307, STR(""));
		break;
	case FILES:
		reply_file(x, w.file);
		break;
	case SESSION:
		reply_session(u, x);
		break;
	case API:
		reply_api(u, x, w.path, w.query);
		break;
	case ROUTE:
		calls_begin(u->calls, x, w.route, w.query);
		break;
	case NOWHERE:
		ui_reply_status(x, 404, "there is nothing at this path");
	}
}

static void on_done(void *ctx _unused_, struct http_exchange *x)
{
	struct visit *v = http_context(x);
	if (v) {
		v->leave(v);
	}
}

/* ---- the server ---- */

enum { NOTICE_PAUSE_MS = 60 * 1000 };

/* At most one notice a minute, however often a client tries. */
static void notice_stranger(struct ui *u, enum peer_owner peer, uid_t uid)
{
	int64_t now = clock_mono_ms(), last = atomic_load(&u->noticed_ms);
	char text[128];
	if ((last && now - last < NOTICE_PAUSE_MS) || !atomic_compare_exchange_strong(&u->noticed_ms, &last, now) ||
		!u->options.on_notice) {
		return;
	}
	if (peer == PEER_STRANGER) {
		snprintf(
			text, sizeof(text), "refused a connection to the page from another user of this machine (uid %u)", uid);
	} else {
		snprintf(text, sizeof(text),
			"refused a connection to the page: the kernel does not say which user it belongs to");
	}
	u->options.on_notice(u->options.ctx, text);
}

/* Called before anything is read, so that strangers take no connections from our user. */
static bool admits(void *ctx, const struct sockaddr *address)
{
	struct ui *u = ctx;
	uid_t uid = 0;
	enum peer_owner peer = peer_judge(address, u->port, &uid);
	if (peer != PEER_OURS) {
		notice_stranger(u, peer, uid);
	}
	return peer == PEER_OURS;
}

static int listen_at(struct ui *u, size_t i, uint16_t port, struct buf *err)
{
	const struct http_options options = {
		.bind_address = addresses[i],
		.port = port,
		.threads = 1,
		.max_connections = CONNECTIONS_MAX,
		.max_body = BODY_MAX,
		.admits = admits,
		.answer_headers = headers,
		.handler = {.ctx = u, .on_headers = on_headers, .on_request = on_request, .on_done = on_done},
	};
	return http_server_new(&u->http[i], &options, err);
}

static void close_at(struct ui *u, size_t i)
{
	if (u->http[i] && http_server_drain(u->http[i], DRAIN_MS)) {
		u->http[i] = http_server_free(u->http[i]);
	}
}

static bool is_missing(int r)
{
	return r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT || r == -EINVAL;
}

/* Both addresses get the same port. A browser may use either for localhost, and must not reach
 * another program. */
static int listen_at_all(struct ui *u, uint16_t port, struct buf *err)
{
	u->port = port; /* the first client may be there before listen_at() returns */
	int r = listen_at(u, 0, port, err);
	if (r) {
		return r;
	}
	u->port = http_server_port(u->http[0]);
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, MESSAGE_MAX);
	r = listen_at(u, 1, u->port, &why);
	if (r && !is_missing(r)) {
		close_at(u, 0);
		buf_add_str(err, buf_str(&why));
		return r;
	}
	return 0;
}

static int open_port(struct ui *u, struct buf *err)
{
	int r = -EADDRINUSE;
	for (unsigned i = 0; r == -EADDRINUSE && i < (u->options.port ? 1 : PORTS_TO_TRY); i++) {
		buf_clear(err);
		r = listen_at_all(u, u->options.port, err);
	}
	return r;
}

int ui_new(struct ui **ret, const struct ui_options *options, struct buf *err)
{
	struct ui *u = mem_new(struct ui);
	u->options = *options;
	sessions_init(&u->sessions);
	u->calls = calls_new(options->ctx);
	int r = open_port(u, err);
	if (r) {
		ui_free(u);
		return r;
	}
	*ret = u;
	return 0;
}

struct ui *ui_free(struct ui *u)
{
	if (u) {
		for (size_t i = 0; i < ADDRESSES; i++) {
			close_at(u, i);
		}
		if (!u->http[0] && !u->http[1]) { /* else all stays as it is: the process is about to end */
			calls_free(u->calls);
			sessions_done(&u->sessions);
			mem_free(u);
		}
	}
	return NULL;
}

uint16_t ui_port(const struct ui *u)
{
	return u->port;
}

void ui_add_link(struct ui *u, struct buf *out)
{
	char token[KEY_SIZE];
	sessions_invite(&u->sessions, token);
	buf_printf(out, "http://127.0.0.1:%u" ROOT "/#token=%s", u->port, token);
	explicit_bzero(token, sizeof(token));
}

/* ---- the browser ----
 *
 * The program that opens the link gets it as one argument, and no shell reads it. */

extern char **environ;

#ifdef __APPLE__
static const char opener[] = "open";

static bool has_display(void)
{
	return true;
}
#else
static const char opener[] = "xdg-open";

static bool has_display(void)
{
	const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	return (x11 && *x11) || (wayland && *wayland);
}
#endif

static void *wait_for(void *ctx)
{
	waitpid((pid_t)(intptr_t)ctx, NULL, 0);
	return NULL;
}

/* The browser gets no signals of our terminal, prints nothing there, and has the default signal handlers. */
static int spawn(pid_t *ret, char *const *argv)
{
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t files;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_init(&files);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	}
	int r = posix_spawnp(ret, opener, &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

bool browser_open(const char *url)
{
	char *argv[] = {(char *)(uintptr_t)opener, (char *)(uintptr_t)url, NULL};
	pid_t pid;
	if (!has_display() || spawn(&pid, argv)) {
		return false;
	}
	/* A child without a wait for it would stay as a zombie. */
	pthread_t thread;
	if (pthread_create(&thread, NULL, wait_for, (void *)(intptr_t)pid) == 0) {
		pthread_setname_np(thread, "browser");
		pthread_detach(thread);
	}
	return true;
}
