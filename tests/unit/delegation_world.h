/* A delegation to a server that says what a test has written down, and somebody who asks it. */
#ifndef TESTS_UNIT_DELEGATION_WORLD_H
#define TESTS_UNIT_DELEGATION_WORLD_H

#include "base/clock.h"
#include "delegation/delegation.h"
#include "tests/unit/check.h"
#include "tests/unit/script_server.h"

#include <pthread.h>

enum { LONG_MS = 60 * 1000 };

/* Who waits for the answer to one question. */
struct asker {
	struct arena arena;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned n_done;
};

static inline void asker_on_done(struct question *q)
{
	struct asker *a = q->ctx;
	pthread_mutex_lock(&a->lock);
	a->n_done++;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

static inline struct question asker_init(struct asker *a, int64_t patience_ms)
{
	*a = (struct asker){0};
	arena_init(&a->arena, 1 << 20);
	pthread_mutex_init(&a->lock, NULL);
	clock_cond_init(&a->wake);
	return (struct question){
		.done = asker_on_done, .ctx = a, .arena = &a->arena, .deadline_ms = clock_mono_ms() + patience_ms};
}

static inline void asker_done(struct asker *a)
{
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	arena_done(&a->arena);
}

static inline bool asker_has_answer(struct asker *a)
{
	pthread_mutex_lock(&a->lock);
	bool answer = a->n_done > 0;
	pthread_mutex_unlock(&a->lock);
	return answer;
}

static inline void asker_await(struct asker *a)
{
	int64_t until_ms = clock_mono_ms() + LONG_MS;
	pthread_mutex_lock(&a->lock);
	while (!a->n_done && clock_mono_ms() < until_ms) {
		clock_cond_wait(&a->wake, &a->lock, until_ms);
	}
	assert_int_equal(a->n_done, 1);
	pthread_mutex_unlock(&a->lock);
}

struct scene {
	struct script *script;
	struct buf notices; /* a line each; the client's thread writes it */
	struct delegation *delegation;
	const struct delegates *delegates;
};

static inline void scene_on_notice(void *ctx, struct str text)
{
	struct scene *s = ctx;
	buf_add_str(&s->notices, text);
	buf_addc(&s->notices, '\n');
}

static inline struct delegation *scene_delegation(struct scene *s, char *url, int64_t ttl_ms)
{
	struct delegation *d = NULL;
	struct buf err;
	buf_init(&err, 4096);
	struct client_config config = {.server = url};
	const struct delegation_options options = {.core = &config,
		.token_ttl_ms = ttl_ms,
		.allowed_ttl_ms = ttl_ms,
		.not_allowed_ttl_ms = ttl_ms,
		.on_notice = scene_on_notice,
		.ctx = s};
	assert_int_equal(delegation_new(&d, &options, &err), 0);
	buf_done(&err);
	return d;
}

static inline void open_scene(struct scene *s, int64_t ttl_ms, const struct script_step *steps, size_t n)
{
	s->script = script_start(steps, n);
	char *url = script_url(s->script);
	buf_init(&s->notices, 1 << 16);
	s->delegation = scene_delegation(s, url, ttl_ms);
	s->delegates = delegation_delegates(s->delegation);
	mem_free(url);
}

static inline void close_scene(struct scene *s)
{
	delegation_free(s->delegation);
	buf_done(&s->notices);
	script_stop(s->script);
}

#define SCENE(s, ttl_ms, ...)                              \
	const struct script_step steps_[] = {__VA_ARGS__}; \
	struct scene s;                                    \
	open_scene(&s, ttl_ms, steps_, ARRAY_SIZE(steps_))

#define STATUS(code, reason) \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"because\"}"

static inline struct str scene_metrics(struct scene *s, struct buf *out)
{
	buf_clear(out);
	delegation_write_metrics(s->delegation, out);
	return buf_str(out);
}

/* encoding/json of a member that has another type than ours. */
#define CANNOT(what, field, type) "json: cannot unmarshal " what " into Go struct field " field " of type " type

#endif
