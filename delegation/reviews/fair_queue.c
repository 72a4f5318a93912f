#include "delegation/reviews/fair_queue.h"

enum { KEY_PREFIX = 1 };

void turns_init(struct turns *t, const struct turns_limits *limits)
{
	*t = (struct turns){.limits = *limits};
	map_init(&t->sources, SIZE_MAX);
	for (size_t i = 0; i < TURN_CLASSES; i++) {
		list_init(&t->rings[i]);
	}
}

void turns_done(struct turns *t)
{
	map_done(&t->sources);
}

/* ---- sources ---- */

/* The class is the key's first byte. */
static struct turn_source *source_new(enum turn_class class, struct str key)
{
	struct turn_source *s = mem_new(struct turn_source);
	s->class = class;
	s->n_key = KEY_PREFIX + key.n;
	s->key = mem_alloc(s->n_key);
	s->key[0] = (char)class;
	memcpy(s->key + KEY_PREFIX, key.n ? key.p : "", key.n);
	list_init(&s->ring);
	list_init(&s->queue);
	return s;
}

static void source_free(struct turn_source *s)
{
	mem_free(s->key);
	mem_free(s);
}

struct turn_source *turns_source(struct turns *t, enum turn_class class, struct str key)
{
	struct turn_source *fresh = source_new(class, key);
	struct str name = {fresh->key, fresh->n_key};
	struct turn_source *s = map_get(&t->sources, name);
	if (s) {
		source_free(fresh);
	} else {
		s = fresh;
		map_set(&t->sources, name, s, NULL);
	}
	s->n_refs++;
	return s;
}

void turns_unref(struct turns *t, struct turn_source *s)
{
	if (--s->n_refs == 0) {
		map_remove(&t->sources, (struct str){s->key, s->n_key});
		source_free(s);
	}
}

/* In its class's ring while it may begin something; at the end, if it has not been there. */
static void settle(struct turns *t, struct turn_source *s)
{
	if (list_is_empty(&s->queue) || s->n_running >= t->limits.source) {
		list_remove(&s->ring);
	} else if (list_is_empty(&s->ring)) {
		list_append(&t->rings[s->class], &s->ring);
	}
}

/* ---- turns ---- */

void turn_init(struct turn *turn, struct turn_source *source)
{
	turn->source = source;
	list_init(&turn->link);
}

void turns_wait(struct turns *t, struct turn *turn)
{
	list_append(&turn->source->queue, &turn->link);
	settle(t, turn->source);
}

void turns_leave(struct turns *t, struct turn *turn)
{
	list_remove(&turn->link);
	settle(t, turn->source);
}

static struct turn_source *next_source(const struct turns *t)
{
	if (t->n_running >= t->limits.all) {
		return NULL;
	}
	if (!list_is_empty(&t->rings[TURN_FIRST])) {
		return list_entry(t->rings[TURN_FIRST].next, struct turn_source, ring);
	}
	bool has_place = t->n_running_second < t->limits.second_class && !list_is_empty(&t->rings[TURN_SECOND]);
	return has_place ? list_entry(t->rings[TURN_SECOND].next, struct turn_source, ring) : NULL;
}

struct turn *turns_next(struct turns *t)
{
	struct turn_source *s = next_source(t);
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

void turns_end(struct turns *t, struct turn *turn)
{
	struct turn_source *s = turn->source;
	s->n_running--;
	t->n_running--;
	t->n_running_second -= s->class == TURN_SECOND;
	settle(t, s);
}
