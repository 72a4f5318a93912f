/* Lists and watches objects without keeping them. An informer would keep all Histories in memory, and there may be a hundred
 * thousand. The caller knows which changes it has seen, so objects may come again: after a 410 all are listed anew. */
#include "cli/kubectl/kubectl_watch.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "client/lines.h"

#include <assert.h>
#include <pthread.h>

enum {
	PAGE = 500,
	LINE_MAX = 32 << 20, /* bytes of an event */
	INBOX_MAX = 1 << 20, /* received bytes that were not read yet; beyond that the server has to wait */
	/* Bytes of an event as a tree; an event that needs more ends the command. */
	TREE_MAX = 256 << 20,
	TRIES = 5,
	PAUSE_MS = 1000,
	TIMEOUT_S = 1800, /* asked of the server; then the watch goes on as another one */
};

static void hand_over(const struct kubectl_watch *w, const struct json *list)
{
	const struct json *items = json_gets(list, "items"), *item;
	for (uint32_t i = 0; (item = list_item(items, i)); i++) {
		w->on_object(w->ctx, item);
	}
}

/* If the list took so long that the server has forgotten its place, it begins again. */
static bool may_begin_again(const struct list_options *options, int error, const struct answer *page, unsigned *tries)
{
	return error == REST_STATUS && page->code == 410 && options->continue_token.n && (*tries)++ < TRIES;
}

/* Returns an error of rest_list(), with the answer in *ret. */
static int list_pages(struct kubectl *k, const struct kubectl_watch *w, struct str *ret_version, struct answer *ret)
{
	assert(w->target.resource && w->on_object);
	struct list_options options = {.limit = PAGE, .field_selector = w->field_selector};
	unsigned tries = 0;
	int error;
	do {
		error = rest_list(k->client, &w->target, &options, ret);
		if (may_begin_again(&options, error, ret, &tries)) {
			options.continue_token = STR("");
			error = rest_list(k->client, &w->target, &options, ret);
		}
		if (!error) {
			hand_over(w, ret->body);
			*ret_version = arena_dup(&k->arena, answer_version(ret));
			options.continue_token = arena_dup(&k->arena, list_continue(ret->body));
		}
	} while (!error && options.continue_token.n);
	return error;
}

int kubectl_list(struct kubectl *k, const struct kubectl_watch *w, struct str *ret_version)
{
	struct answer page;
	answer_init(&page);
	int error = list_pages(k, w, ret_version, &page);
	int r = error ? kubectl_refused(k, error, &page) : 0;
	answer_done(&page);
	return r;
}

/* ---- archives ---- */

/* Lists at the cluster scope what the selector chooses there besides that of w. */
static int list_beside(struct kubectl *k, const struct kubectl_watch *w, struct str selector, bool *ret_is_forbidden)
{
	struct kubectl_watch all = *w;
	struct str version;
	struct answer page;
	all.target = (struct target){&histories, STR(""), STR(""), NULL};
	all.field_selector = w->field_selector.n
		? arena_printf(&k->arena, STR_FMT "," STR_FMT, STR_ARG(selector), STR_ARG(w->field_selector))
		: selector;
	answer_init(&page);
	int error = list_pages(k, &all, &version, &page);
	*ret_is_forbidden = error == REST_STATUS && page.code == 403;
	int r = error && !*ret_is_forbidden ? kubectl_refused(k, error, &page) : 0;
	answer_done(&page);
	return r;
}

struct of_namespace {
	const struct kubectl_watch *watch;
};

/* A namespace that was never deleted is no part of what was in it. */
static bool take_deleted_namespace(void *ctx, const struct json *history)
{
	const struct of_namespace *n = ctx;
	const struct json *changes = json_gets(json_gets(history, "status"), "changes"), *each;
	bool was_deleted = false;
	for (uint32_t i = 0; !was_deleted && (each = list_item(changes, i)); i++) {
		was_deleted = str_is(member_text(each, "type"), "Deleted");
	}
	return !was_deleted || n->watch->on_object(n->watch->ctx, history);
}

int kubectl_list_archived(struct kubectl *k, const struct kubectl_watch *w, bool with_namespace, bool *ret_is_forbidden)
{
	struct str archived = arena_printf(&k->arena, "spec.subject.namespace=%s,metadata.namespace!=%s", k->ns, k->ns);
	struct str itself =
		arena_printf(&k->arena, "spec.subject.group=,spec.subject.kind=Namespace,spec.subject.name=%s", k->ns);
	struct of_namespace of = {w};
	struct kubectl_watch namespace = *w;
	namespace.on_object = take_deleted_namespace;
	namespace.ctx = &of;
	int r = list_beside(k, w, archived, ret_is_forbidden);
	return r || *ret_is_forbidden || !with_namespace ? r : list_beside(k, &namespace, itself, ret_is_forbidden);
}

/* ---- one watch ----
 *
 * The client's thread only puts bytes into the inbox. The caller's thread reads them and calls the callbacks, which may
 * therefore block, and ask the server themselves. */

enum outcome { GOES_ON, TOO_OLD, IS_ENOUGH, REFUSED };

struct stream {
	struct exchange x;
	const struct kubectl_watch *watch;
	struct lines lines;
	struct arena arena; /* for one event */
	char version[64];   /* the last one seen */
	enum outcome outcome;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t news;
	struct buf inbox;
	bool is_paused; /* the stream is paused, because the inbox is full */
	bool has_ended;
};

static void note_version(struct stream *s, const struct json *object)
{
	struct str version = member_text(json_gets(object, "metadata"), "resourceVersion");
	if (version.n && version.n < sizeof(s->version)) {
		snprintf(s->version, sizeof(s->version), STR_FMT, STR_ARG(version));
	}
}

static bool on_event(struct stream *s, const struct json *event)
{
	struct str type = member_text(event, "type");
	const struct json *object = json_gets(event, "object");
	if (str_is(type, "ERROR")) {
		s->outcome = member_int(object, "code") == 410 ? TOO_OLD : GOES_ON;
		return false;
	}
	if (str_is(type, "DELETED")) {
		s->watch->on_gone(s->watch->ctx, object);
	} else if (!str_is(type, "BOOKMARK") && !s->watch->on_object(s->watch->ctx, object)) {
		s->outcome = IS_ENOUGH;
		return false;
	}
	note_version(s, object);
	return true;
}

static bool on_line(void *ctx, struct str line)
{
	struct stream *s = ctx;
	struct json *event;
	size_t at;
	arena_clear(&s->arena);
	return json_parse(&event, &s->arena, line, JSON_LIMITS_DEFAULT, &at) == 0 && on_event(s, event);
}

static bool on_bytes(struct exchange *x, struct str bytes)
{
	struct stream *s = container_of(x, struct stream, x);
	if (x->code != 200) {
		return false;
	}
	pthread_mutex_lock(&s->lock);
	if (s->inbox.n > 0 && s->inbox.n + bytes.n > INBOX_MAX) {
		s->is_paused = true;
		exchange_pause(x);
	} else {
		buf_add_str(&s->inbox, bytes);
	}
	pthread_cond_signal(&s->news);
	pthread_mutex_unlock(&s->lock);
	return true;
}

static void on_done(struct exchange *x)
{
	struct stream *s = container_of(x, struct stream, x);
	pthread_mutex_lock(&s->lock);
	s->has_ended = true;
	pthread_cond_signal(&s->news);
	pthread_mutex_unlock(&s->lock);
}

/* Waits for bytes, and moves them to ret. Returns false when the watch has ended and everything
 * has been read. */
static bool take_bytes(struct kubectl *k, struct stream *s, struct buf *ret)
{
	pthread_mutex_lock(&s->lock);
	while (s->inbox.n == 0 && !s->has_ended) {
		pthread_cond_wait(&s->news, &s->lock);
	}
	buf_clear(ret);
	buf_add_str(ret, buf_str(&s->inbox));
	assert(!ret->is_over);
	buf_clear(&s->inbox);
	if (s->is_paused && !s->has_ended) {
		s->is_paused = false;
		exchange_resume(k->client, &s->x);
	}
	pthread_mutex_unlock(&s->lock);
	return ret->n > 0;
}

/* Ends the watch, if it has not ended yet. */
static void stop_watch(struct kubectl *k, struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	if (!s->has_ended) {
		exchange_cancel(k->client, &s->x);
	}
	while (!s->has_ended) {
		pthread_cond_wait(&s->news, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

static void read_events(struct kubectl *k, struct stream *s)
{
	_cleanup_(buf_done) struct buf bytes;
	buf_init(&bytes, 2 * INBOX_MAX);
	bool is_wanted = true;
	while (is_wanted && take_bytes(k, s, &bytes)) {
		is_wanted = lines_feed(&s->lines, buf_str(&bytes), on_line, s);
	}
	stop_watch(k, s);
}

static void write_path(const struct kubectl_watch *w, const struct stream *s, struct buf *ret)
{
	char timeout[16];
	snprintf(timeout, sizeof(timeout), "%d", TIMEOUT_S);
	target_path(ret, &w->target);
	query_add(ret, "watch", STR("true"));
	query_add(ret, "allowWatchBookmarks", STR("true"));
	query_add(ret, "timeoutSeconds", str_of(timeout));
	query_add(ret, "fieldSelector", w->field_selector);
	query_add(ret, "resourceVersion", str_of(s->version));
	buf_addc(ret, '\0');
}

/* Will the server give the same answer a second later? */
static bool is_refusal(int code)
{
	return code >= 400 && code < 500 && code != 408 && code != 429;
}

/* Watches from s->version on, until the watch ends. */
static enum outcome watch_once(struct kubectl *k, struct stream *s)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, 64 * 1024);
	write_path(s->watch, s, &path);
	lines_clear(&s->lines);
	buf_clear(&s->inbox);
	s->outcome = GOES_ON;
	s->has_ended = s->is_paused = false;
	s->x = (struct exchange){.method = "GET", .path = path.p, .on_bytes = on_bytes, .on_done = on_done};
	exchange_start(k->client, &s->x);
	read_events(k, s);
	if (s->x.code == 410) {
		return TOO_OLD;
	}
	return is_refusal(s->x.code) ? REFUSED : s->outcome;
}

/* Says only once that the watch is interrupted. */
static void pause_a_while(struct kubectl *k, const char *why, bool *has_told)
{
	if (!*has_told) {
		_cleanup_(mem_freep) char *text = mem_printf("interrupted (%s); it goes on when it can\n", why);
		command_print(stderr, str_of(text));
	}
	*has_told = true;
	client_sleep(k->client, PAUSE_MS);
}

/* Watches again and again. If the server ended the watch in order, the next one begins at once. */
static enum outcome watch_on(struct kubectl *k, struct stream *s)
{
	bool has_told = false;
	for (;;) {
		int64_t began_ms = clock_mono_ms();
		enum outcome outcome = watch_once(k, s);
		if (outcome != GOES_ON) {
			return outcome;
		}
		if (s->x.code != 200 || s->x.result != EXCHANGE_OK) {
			pause_a_while(k, s->x.problem[0] ? s->x.problem : "the server ended the watch", &has_told);
		} else if (clock_mono_ms() - began_ms < PAUSE_MS) {
			client_sleep(k->client, PAUSE_MS); /* the server must not get a thousand watches a second */
		} else {
			has_told = false;
		}
	}
}

/* Lists after the first list, and waits while the server is away. */
static int list_again(struct kubectl *k, const struct kubectl_watch *w, struct str *ret_version)
{
	bool has_told = false;
	while (kubectl_list(k, w, ret_version)) {
		if (str_starts(buf_str(&k->err), STR("from server"))) {
			return -1;
		}
		pause_a_while(k, k->err.p, &has_told);
	}
	return 0;
}

static int follow(struct kubectl *k, struct stream *s)
{
	const struct kubectl_watch *w = s->watch;
	struct str version;
	w->on_listing(w->ctx);
	if (kubectl_list(k, w, &version)) {
		return -1;
	}
	for (;;) {
		snprintf(s->version, sizeof(s->version), STR_FMT, STR_ARG(version));
		if (!w->on_listed(w->ctx)) {
			return 0;
		}
		switch (watch_on(k, s)) {
		case IS_ENOUGH:
			return 0;
		case REFUSED:
			return kubectl_fail(k, "the server refuses to have it watched (%d)", s->x.code);
		case TOO_OLD:
		case GOES_ON:
			break;
		}
		w->on_listing(w->ctx);
		if (list_again(k, w, &version)) {
			return -1;
		}
	}
}

int kubectl_follow(struct kubectl *k, const struct kubectl_watch *w)
{
	assert(w->on_object);
	struct stream s = {.watch = w};
	lines_init(&s.lines, LINE_MAX);
	arena_init(&s.arena, TREE_MAX);
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.news, NULL);
	buf_init(&s.inbox, 2 * INBOX_MAX);
	int r = follow(k, &s);
	buf_done(&s.inbox);
	pthread_cond_destroy(&s.news);
	pthread_mutex_destroy(&s.lock);
	arena_done(&s.arena);
	lines_done(&s.lines);
	return r;
}
