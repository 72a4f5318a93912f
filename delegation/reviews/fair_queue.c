/* A source that may begin something is in its class's ring, exactly then. After its turn it goes to
 * the end. So the next one is always the ring's first, and nothing is searched. A source exists
 * while somebody refers to it. */
#include "delegation/reviews/fair_queue.h"

enum { KEY_PREFIX = 1 }; /* byte, of the class */

void fair_queue_init(struct fair_queue *t, const struct fair_queue_limits *limits)
{
	*t = (struct fair_queue){.limits = *limits};
	map_init(&t->sources, SIZE_MAX);
	for (size_t i = 0; i < TURN_CLASSES; i++) {
		list_init(&t->rings[i]);
	}
}

void fair_queue_done(struct fair_queue *t)
{
	map_done(&t->sources);
}

/* ---- sources ---- */

/* The class is the key's first byte. */
static struct queue_source *source_new(enum queue_class class, struct str key)
{
	struct queue_source *s = mem_new(struct queue_source);
	s->class = class;
	s->n_key = KEY_PREFIX + key.n;
	s->key = mem_alloc(s->n_key);
	s->key[0] = (char)class;
	memcpy(s->key + KEY_PREFIX, key.n ? key.p : "", key.n);
	list_init(&s->ring);
	list_init(&s->queue);
	return s;
}

static void source_free(struct queue_source *s)
{
	mem_free(s->key);
	mem_free(s);
}

struct queue_source *fair_queue_source(struct fair_queue *t, enum queue_class class, struct str key)
{
	struct queue_source *fresh = source_new(class, key);
	struct str name = {fresh->key, fresh->n_key};
	struct queue_source *s = map_get(&t->sources, name);
	if (s) {
		source_free(fresh);
	} else {
		s = fresh;
		map_set(&t->sources, name, s, NULL);
	}
	s->n_refs++;
	return s;
}

void fair_queue_unref(struct fair_queue *t, struct queue_source *s)
{
	if (--s->n_refs == 0) {
		map_remove(&t->sources, (struct str){s->key, s->n_key});
		source_free(s);
	}
}

/* In its class's ring while it may begin something; at the end, if it has not been there. */
static void settle(struct fair_queue *t, struct queue_source *s)
{
	if (list_is_empty(&s->queue) || s->n_running >= t->limits.source) {
		list_remove(&s->ring);
	} else if (list_is_empty(&s->ring)) {
		list_append(&t->rings[s->class], &s->ring);
	}
}

/* ---- turns ---- */

void turn_init(struct turn *turn, struct queue_source *source)
{
	turn->source = source;
	list_init(&turn->link);
}

void fair_queue_wait(struct fair_queue *t, struct turn *turn)
{
	list_append(&turn->source->queue, &turn->link);
	settle(t, turn->source);
}

void fair_queue_leave(struct fair_queue *t, struct turn *turn)
{
	list_remove(&turn->link);
	settle(t, turn->source);
}

static struct queue_source *next_source(const struct fair_queue *t)
{
	if (t->n_running >= t->limits.all) {
		return NULL;
	}
	if (!list_is_empty(&t->rings[TURN_FIRST])) {
		return list_entry(t->rings[TURN_FIRST].next, struct queue_source, ring);
	}
	bool has_place = t->n_running_second < t->limits.second_class && !list_is_empty(&t->rings[TURN_SECOND]);
	return has_place ? list_entry(t->rings[TURN_SECOND].next, struct queue_source, ring) : NULL;
}

struct turn *fair_queue_next(struct fair_queue *t)
{
	struct queue_source *s = next_source(t);
	if (!s) {
		return NULL;
	}
	struct turn *turn = list_entry(s->queue.next, struct turn, link);
	list_remove(&turn->link);
	list_remove(&s->ring);
	s->n_running++;
	t->n_running++;
	t->n_running_second += s->class == TURN_SECOND;
	settle(t, s);
	return turn;
}

void fair_queue_end(struct fair_queue *t, struct turn *turn)
{
	struct queue_source *s = turn->source;
	s->n_running--;
	t->n_running--;
	t->n_running_second -= s->class == TURN_SECOND;
	settle(t, s);
}
