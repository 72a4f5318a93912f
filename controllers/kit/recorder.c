#include "controllers/kit/recorder.h"

#include "api/rules/validate.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/map.h"
#include "base/sha256.h"
#include "client/rest.h"

#include <pthread.h>

enum {
	WAITING_MAX = 256,
	WRITTEN_MAX = 1024,
	MESSAGE_MAX = 1024, /* what kube-apiserver takes */
	BODY_MAX = 64 * 1024,
	ARENA_MAX = 1 << 20,
};

/* To be written. */
struct saying {
	struct list link;
	struct event event;
	int64_t at_us; /* wall clock */
	struct arena text;
};

/* An Event that was, in case the same is said again. */
struct written {
	struct list link; /* in use order */
	unsigned char key[SHA256_SIZE];
	char *ns, *name;
	int64_t count;
};

struct recorder {
	struct client *client;
	const char *component;
	pthread_t thread;
	struct map written;   /* these two are the thread's */
	struct list by_use;   /* longest ago first */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	struct list waiting;
	size_t n_waiting;
	bool is_ending;
};

static const struct resource events = {.group = {NULL, 0}, .version = {"v1", 2}, .plural = {"events", 6}};

/* ---- what was written ---- */

static struct str key_str(const unsigned char key[SHA256_SIZE])
{
	return (struct str){(const char *)key, SHA256_SIZE};
}

static void key_of(const struct event *e, unsigned char out[SHA256_SIZE])
{
	const struct str parts[] = {e->api_version, e->kind, e->ns, e->name, e->uid, e->reason, e->message};

	sha256_of_parts(parts, ARRAY_SIZE(parts), out);
}

static void written_forget(struct recorder *r, struct written *w)
{
	map_remove(&r->written, key_str(w->key));
	list_remove(&w->link);
	mem_free(w->ns);
	mem_free(w->name);
	mem_free(w);
}

static void written_remember(struct recorder *r, const unsigned char key[SHA256_SIZE], struct str ns, struct str name)
{
	struct written *w;

	if (r->written.n == WRITTEN_MAX) {
		written_forget(r, list_entry(r->by_use.next, struct written, link));
	}
	w = mem_new(struct written);
	memcpy(w->key, key, SHA256_SIZE);
	w->ns = mem_strndup(ns.p, ns.n);
	w->name = mem_strndup(name.p, name.n);
	w->count = 1;
	list_append(&r->by_use, &w->link);
	map_set(&r->written, key_str(w->key), w, NULL);
}

/* ---- the object ---- */

static void add(struct arena *a, struct json *to, const char *name, struct str value)
{
	json_add(a, to, str_of(name), json_string(a, value));
}

static struct json *add_object(struct arena *a, struct json *to, const char *name)
{
	struct json *inner = json_object(a);
	json_add(a, to, str_of(name), inner);
	return inner;
}

static struct str time_of(struct arena *a, int64_t at_us)
{
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, at_us / 1000000);
	return arena_dup(a, str_of(text));
}

/* The object's name and the time; where that is no name (an object's may have 253 characters), any. */
static struct str name_of(struct arena *a, const struct saying *s)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	struct str name = arena_printf(a, STR_FMT ".%llx", STR_ARG(s->event.name), (unsigned long long)s->at_us * 1000);
	char uuid[UUID_SIZE];

	if (validate_dns_subdomain(name, messages) == 0) {
		return name;
	}
	uuid_new(uuid);
	return arena_dup(a, str_of(uuid));
}

static struct json *object_of(const struct recorder *r, struct arena *a, const struct saying *s, struct str ns, struct str name)
{
	const struct event *e = &s->event;
	struct json *body = json_object(a), *meta = add_object(a, body, "metadata"), *about;

	add(a, meta, "name", name);
	add(a, meta, "namespace", ns);
	about = add_object(a, body, "involvedObject");
	add(a, about, "kind", e->kind);
	add(a, about, "namespace", e->ns);
	add(a, about, "name", e->name);
	add(a, about, "uid", e->uid);
	add(a, about, "apiVersion", e->api_version);
	add(a, body, "reason", e->reason);
	add(a, body, "message", e->message);
	add(a, body, "type", e->is_warning ? STR("Warning") : STR("Normal"));
	add(a, body, "firstTimestamp", time_of(a, s->at_us));
	add(a, body, "lastTimestamp", time_of(a, s->at_us));
	json_add(a, body, STR("count"), json_int(a, 1));
	add(a, add_object(a, body, "source"), "component", str_of(r->component));
	add(a, body, "reportingComponent", str_of(r->component));
	add(a, body, "reportingInstance", STR(""));
	return body;
}

/* ---- writing ---- */

static void write_first(struct recorder *r, struct saying *s, const unsigned char key[SHA256_SIZE])
{
	_cleanup_(answer_done) struct answer answer;
	struct str ns = s->event.ns.n > 0 ? s->event.ns : STR("default");
	struct str name = name_of(&s->text, s);
	const struct target t = {.resource = &events, .namespace = ns};

	answer_init(&answer);
	if (!rest_create(r->client, &t, object_of(r, &s->text, s, ns, name), &answer)) {
		written_remember(r, key, ns, name);
	}
}

/* False: it has expired. */
static bool write_again(struct recorder *r, struct saying *s, struct written *w)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf patch;
	const struct target t = {.resource = &events, .namespace = str_of(w->ns), .name = str_of(w->name)};

	answer_init(&answer);
	buf_init(&patch, BODY_MAX);
	buf_printf(&patch, "{\"count\":%lld,\"lastTimestamp\":\"" STR_FMT "\"}", (long long)++w->count,
		STR_ARG(time_of(&s->text, s->at_us)));
	list_remove(&w->link);
	list_append(&r->by_use, &w->link);
	return rest_patch(r->client, &t, PATCH_STRATEGIC, buf_str(&patch), &answer) != REST_STATUS || answer.code != 404;
}

static void write_saying(struct recorder *r, struct saying *s)
{
	unsigned char key[SHA256_SIZE];
	struct written *w;

	key_of(&s->event, key);
	w = map_get(&r->written, key_str(key));
	if (w && write_again(r, s, w)) {
		return;
	}
	if (w) {
		written_forget(r, w);
	}
	write_first(r, s, key);
}

/* ---- saying ---- */

static struct saying *saying_new(const struct event *e)
{
	struct saying *s = mem_new(struct saying);
	struct str message = {e->message.p, MIN(e->message.n, (size_t)MESSAGE_MAX)};

	arena_init(&s->text, ARENA_MAX);
	s->at_us = clock_wall_us();
	s->event = (struct event){
		.api_version = arena_dup(&s->text, e->api_version),
		.kind = arena_dup(&s->text, e->kind),
		.ns = arena_dup(&s->text, e->ns),
		.name = arena_dup(&s->text, e->name),
		.uid = arena_dup(&s->text, e->uid),
		.reason = arena_dup(&s->text, e->reason),
		.message = arena_dup(&s->text, message),
		.is_warning = e->is_warning,
	};
	return s;
}

static void saying_free(struct saying *s)
{
	arena_done(&s->text);
	mem_free(s);
}

void recorder_say(struct recorder *r, const struct event *e)
{
	if (!r) {
		return;
	}
	pthread_mutex_lock(&r->lock);
	if (r->n_waiting < WAITING_MAX) {
		list_append(&r->waiting, &saying_new(e)->link);
		r->n_waiting++;
		pthread_cond_signal(&r->wake);
	}
	pthread_mutex_unlock(&r->lock);
}

/* NULL: it is the end. */
static struct saying *take(struct recorder *r)
{
	struct saying *s = NULL;

	pthread_mutex_lock(&r->lock);
	while (!r->is_ending && list_is_empty(&r->waiting)) {
		pthread_cond_wait(&r->wake, &r->lock);
	}
	if (!r->is_ending) {
		s = list_entry(r->waiting.next, struct saying, link);
		list_remove(&s->link);
		r->n_waiting--;
	}
	pthread_mutex_unlock(&r->lock);
	return s;
}

static void *recorder_run(void *arg)
{
	struct recorder *r = arg;

	for (struct saying *s = take(r); s; s = take(r)) {
		write_saying(r, s);
		saying_free(s);
	}
	return NULL;
}

/* ---- life ---- */

static void recorder_done(struct recorder *r)
{
	list_for_each_safe(it, &r->waiting) {
		saying_free(list_entry(it, struct saying, link));
	}
	list_for_each_safe(it, &r->by_use) {
		written_forget(r, list_entry(it, struct written, link));
	}
	map_done(&r->written);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	mem_free(r);
}

struct recorder *recorder_new(struct client *client, const char *component)
{
	struct recorder *r = mem_new(struct recorder);

	r->client = client;
	r->component = component;
	map_init(&r->written, WRITTEN_MAX);
	list_init(&r->by_use);
	list_init(&r->waiting);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wake, NULL);
	if (pthread_create(&r->thread, NULL, recorder_run, r)) {
		recorder_done(r);
		return NULL;
	}
	return r;
}

struct recorder *recorder_free(struct recorder *r)
{
	if (!r) {
		return NULL;
	}
	pthread_mutex_lock(&r->lock);
	r->is_ending = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	recorder_done(r);
	return NULL;
}
