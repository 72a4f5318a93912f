/* Events wait in a queue under an increasing number, so they are written one at a time in the
 * order of event_say(). client-go tries an event that got no answer twelve times, 10 s apart. Here
 * the pauses grow, and the last try comes a minute after the first: by then a restarted server is
 * back. */
#include "controllers/kit/event_writer.h"

#include "api/rules/validate.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/map.h"
#include "base/sha256.h"
#include "client/rest.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum {
	WAITING_MAX = 256,    /* events that wait for the server; further ones are dropped */
	WRITTEN_MAX = 1024,   /* events whose repetitions are counted; the least recent one is forgotten */
	MESSAGE_MAX = 1024,   /* kube-apiserver's limit */
	BODY_MAX = 64 * 1024, /* bytes of a patch that has a count and a time */
	ARENA_MAX = 1 << 20,  /* bytes of the texts of one event */
	RETRY_FIRST_MS = 500,
	RETRY_LAST_MS = 32 * 1000,
	TRIES_MAX = 8, /* attempts to write an event, two minutes in all; then it is dropped */
	KEY_SIZE = 24, /* decimal digits of 64 bits */
};

/* An event that waits to be written. */
struct saying {
	struct event event;
	int64_t at_us; /* wall clock */
	struct arena text;
};

/* A written Event, kept in case the same is said again. */
struct written {
	struct list link; /* in use order */
	unsigned char key[SHA256_SIZE];
	char *ns, *name;
	int64_t count;
};

struct event_writer {
	struct client *client;
	const char *component;
	struct workers workers; /* one event at a time: only this worker uses the next two */
	struct map written;
	struct list by_use;   /* least recently used first */
	pthread_mutex_t lock; /* guards what follows; not held while calling the queue */
	struct map waiting;   /* sayings by their number */
	uint64_t n_said;
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

static void written_forget(struct event_writer *writer, struct written *w)
{
	map_remove(&writer->written, key_str(w->key));
	list_remove(&w->link);
	mem_free(w->ns);
	mem_free(w->name);
	mem_free(w);
}

static void written_remember(struct event_writer *writer, const unsigned char key[SHA256_SIZE], struct str ns, struct str name)
{
	assert(writer->written.n <= WRITTEN_MAX);
	struct written *w;

	if (writer->written.n == WRITTEN_MAX) {
		written_forget(writer, list_entry(writer->by_use.next, struct written, link));
	}
	w = mem_new(struct written);
	memcpy(w->key, key, SHA256_SIZE);
	w->ns = mem_strndup(ns.p, ns.n);
	w->name = mem_strndup(name.p, name.n);
	w->count = 1;
	list_append(&writer->by_use, &w->link);
	map_set(&writer->written, key_str(w->key), w, NULL);
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

/* The Event's name: the object's name and the time. Any name if that is too long: an object's
 * name may have 253 characters. */
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

static struct json *object_of(
	const struct event_writer *writer, struct arena *a, const struct saying *s, struct str ns, struct str name)
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
	add(a, add_object(a, body, "source"), "component", str_of(writer->component));
	add(a, body, "reportingComponent", str_of(writer->component));
	add(a, body, "reportingInstance", STR(""));
	return body;
}

/* ---- writing ---- */

/* Did nothing answer, or only an error that may pass? */
static bool is_worth_another_try(int error, const struct answer *answer)
{
	return error == REST_UNREACHABLE || error == REST_GARBLED ||
		(error == REST_STATUS && (answer->code >= 500 || answer->code == 429));
}

/* Returns false if the event should be tried again. A taken name means that an earlier attempt
 * succeeded without an answer. */
static bool write_first(struct event_writer *writer, struct saying *s, const unsigned char key[SHA256_SIZE])
{
	_cleanup_(answer_done) struct answer answer;
	struct str ns = s->event.ns.n > 0 ? s->event.ns : STR("default");
	struct str name = name_of(&s->text, s);
	const struct target t = {.resource = &events, .namespace = ns};

	answer_init(&answer);
	int error = rest_create(writer->client, &t, object_of(writer, &s->text, s, ns, name), &answer);
	if (!error || answer_is(&answer, 409, "AlreadyExists")) {
		written_remember(writer, key, ns, name);
		return true;
	}
	return !is_worth_another_try(error, &answer);
}

enum outcome { WRITTEN, EXPIRED, AGAIN };

static enum outcome write_again(struct event_writer *writer, struct saying *s, struct written *w)
{
	_cleanup_(answer_done) struct answer answer;
	_cleanup_(buf_done) struct buf patch;
	const struct target t = {.resource = &events, .namespace = str_of(w->ns), .name = str_of(w->name)};

	answer_init(&answer);
	buf_init(&patch, BODY_MAX);
	buf_printf(&patch, "{\"count\":%lld,\"lastTimestamp\":\"" STR_FMT "\"}", (long long)w->count + 1,
		STR_ARG(time_of(&s->text, s->at_us)));
	list_remove(&w->link);
	list_append(&writer->by_use, &w->link);
	int error = rest_patch(writer->client, &t, PATCH_STRATEGIC, buf_str(&patch), &answer);
	if (error == REST_STATUS && answer_is_absent(&answer, &t)) {
		return EXPIRED;
	}
	if (is_worth_another_try(error, &answer)) {
		return AGAIN;
	}
	w->count++;
	return WRITTEN;
}

/* Returns false if the event should be tried again. */
static bool write_saying(struct event_writer *writer, struct saying *s)
{
	unsigned char key[SHA256_SIZE];

	key_of(&s->event, key);
	struct written *w = map_get(&writer->written, key_str(key));
	if (w) {
		enum outcome outcome = write_again(writer, s, w);
		if (outcome != EXPIRED) {
			return outcome == WRITTEN;
		}
		written_forget(writer, w);
	}
	return write_first(writer, s, key);
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

void event_say(struct event_writer *writer, const struct event *e)
{
	assert(e->kind.n > 0 && e->reason.n > 0);
	char number[KEY_SIZE];

	pthread_mutex_lock(&writer->lock);
	bool has_room = writer->waiting.n < WAITING_MAX;
	if (has_room) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)++writer->n_said);
		map_set(&writer->waiting, str_of(number), saying_new(e), NULL);
	}
	pthread_mutex_unlock(&writer->lock);
	if (has_room) {
		workqueue_add(writer->workers.queue, str_of(number));
	}
}

/* The event stays in the map while it is written, for another try. */
static void event_work(void *ctx, struct str number)
{
	struct event_writer *writer = ctx;

	pthread_mutex_lock(&writer->lock);
	struct saying *s = map_get(&writer->waiting, number);
	pthread_mutex_unlock(&writer->lock);
	assert(s);
	if (!write_saying(writer, s) && workqueue_failures(writer->workers.queue, number) + 1 < TRIES_MAX) {
		workqueue_retry(writer->workers.queue, number);
		return;
	}
	workqueue_forget(writer->workers.queue, number);
	pthread_mutex_lock(&writer->lock);
	map_remove(&writer->waiting, number);
	pthread_mutex_unlock(&writer->lock);
	saying_free(s);
}

/* ---- life ---- */

struct event_writer *event_writer_new(const struct controller_run *run)
{
	struct event_writer *writer = mem_new(struct event_writer);

	writer->client = run->env->client;
	writer->component = run->controller->name;
	map_init(&writer->written, WRITTEN_MAX);
	map_init(&writer->waiting, WAITING_MAX);
	list_init(&writer->by_use);
	pthread_mutex_init(&writer->lock, NULL);
	writer->workers = (struct workers){
		.queue = workqueue_new("events", RETRY_FIRST_MS, RETRY_LAST_MS), .work = event_work, .ctx = writer, .most = 1};
	workers_start(&writer->workers, run->env->pool);
	return writer;
}

struct event_writer *event_writer_free(struct event_writer *writer)
{
	if (writer) {
		workers_stop(&writer->workers);
		workqueue_free(writer->workers.queue);
		for (struct map_entry *e = map_next(&writer->waiting, NULL); e; e = map_next(&writer->waiting, e)) {
			saying_free(e->value);
		}
		map_done(&writer->waiting);
		list_for_each_safe(it, &writer->by_use) {
			written_forget(writer, list_entry(it, struct written, link));
		}
		map_done(&writer->written);
		pthread_mutex_destroy(&writer->lock);
		mem_free(writer);
	}
	return NULL;
}
