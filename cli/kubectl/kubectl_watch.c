/* No informer: it would keep all Histories in memory, of which there may be a hundred thousand, and
 * only what is new in each event is wanted. Whoever is called knows what it has seen, so objects
 * may come again: after a 410 all of them are listed anew. */
#include "cli/kubectl/kubectl_watch.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "client/lines.h"

#include <pthread.h>

enum {
	PAGE = 500,
	LINE_MAX = 32 << 20, /* an event */
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

/* Who reads so slowly that the server has forgotten where it was begins again. */
static bool may_begin_again(const struct list_options *options, int error, const struct answer *page, unsigned *tries)
{
	return error == REST_STATUS && page->code == 410 && options->continue_token.n && (*tries)++ < TRIES;
}

int kubectl_list(struct kubectl *k, const struct kubectl_watch *w, struct str *ret_version)
{
	struct list_options options = {.limit = PAGE, .field_selector = w->field_selector};
	struct answer page;
	unsigned tries = 0;
	int error;
	answer_init(&page);
	do {
		error = rest_list(k->client, &w->target, &options, &page);
		if (may_begin_again(&options, error, &page, &tries)) {
			options.continue_token = STR("");
			error = rest_list(k->client, &w->target, &options, &page);
		}
		if (!error) {
			hand_over(w, page.body);
			*ret_version = arena_dup(&k->arena, answer_version(&page));
			options.continue_token = arena_dup(&k->arena, list_continue(page.body));
		}
	} while (!error && options.continue_token.n);
	int r = error ? kubectl_refused(k, error, &page) : 0;
	answer_done(&page);
	return r;
}

/* ---- one watch ---- */

enum outcome { GOES_ON, TOO_OLD, IS_ENOUGH, REFUSED };

struct stream {
	struct exchange x;
	const struct kubectl_watch *watch;
	struct lines lines;
	struct arena arena; /* an event */
	char version[64];   /* the last one seen */
	enum outcome outcome;
	pthread_mutex_t lock;
	pthread_cond_t ended;
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
	return x->code == 200 && lines_feed(&s->lines, bytes, on_line, s);
}

static void on_done(struct exchange *x)
{
	struct stream *s = container_of(x, struct stream, x);
	pthread_mutex_lock(&s->lock);
	s->has_ended = true;
	pthread_cond_signal(&s->ended);
	pthread_mutex_unlock(&s->lock);
}

static void wait_for(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	while (!s->has_ended) {
		pthread_cond_wait(&s->ended, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
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

/* What the server will not say otherwise a second later. */
static bool is_refusal(int code)
{
	return code >= 400 && code < 500 && code != 408 && code != 429;
}

/* From s->version on, until it ends. */
static enum outcome watch_once(struct kubectl *k, struct stream *s)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, 64 * 1024);
	write_path(s->watch, s, &path);
	lines_clear(&s->lines);
	s->outcome = GOES_ON;
	s->has_ended = false;
	s->x = (struct exchange){.method = "GET", .path = path.p, .on_bytes = on_bytes, .on_done = on_done};
	exchange_start(k->client, &s->x);
	wait_for(s);
	if (s->x.code == 410) {
		return TOO_OLD;
	}
	return is_refusal(s->x.code) ? REFUSED : s->outcome;
}

/* Says once that it is interrupted. */
static void pause_a_while(struct kubectl *k, const char *why, bool *has_told)
{
	if (!*has_told) {
		_cleanup_(mem_freep) char *text = mem_printf("interrupted (%s); it goes on when it can\n", why);
		command_print(stderr, str_of(text));
	}
	*has_told = true;
	client_sleep(k->client, PAUSE_MS);
}

/* Ends that the server announced are followed by another watch at once. */
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
			client_sleep(k->client, PAUSE_MS); /* whatever ails it, no thousand watches a second */
		} else {
			has_told = false;
		}
	}
}

/* A list after the first one: the server may be away. */
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
	struct stream s = {.watch = w};
	lines_init(&s.lines, LINE_MAX);
	arena_init(&s.arena, TREE_MAX);
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.ended, NULL);
	int r = follow(k, &s);
	pthread_cond_destroy(&s.ended);
	pthread_mutex_destroy(&s.lock);
	arena_done(&s.arena);
	lines_done(&s.lines);
	return r;
}
