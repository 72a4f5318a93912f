/* The memory of a write (write_memory.h says when it goes). */
#include "server/write/write_memory.h"

#include "server/request/limits.h"
#include "server/write/write.h"

#include <assert.h>

enum { ARENA_CEILING = 128 << 20 }; /* bytes, of each arena */

struct write_memory *write_memory(struct request *q)
{
	struct write_memory *m = q->writing;

	if (!m) {
		m = q->writing = arena_new(http_arena(q->x), struct write_memory);
		for (size_t i = 0; i < WRITE_ARENAS; i++) {
			arena_init(&m->arenas[i], ARENA_CEILING);
		}
		buf_init(&m->stored, WRITE_STORED_CEILING);
	}
	return m;
}

void write_begin_reading(struct request *q)
{
	q->a = &write_memory(q)->arenas[WRITE_PARSED];
}

void write_begin_deciding(struct request *q)
{
	q->a = &q->writing->arenas[WRITE_DECISION];
}

size_t write_memory_used(const struct write_memory *m)
{
	size_t n = 0;

	for (size_t i = 0; i < WRITE_ARENAS; i++) {
		n += m->arenas[i].used;
	}
	return n;
}

void write_keep_little(struct request *q, struct write *w)
{
	struct arena *parsed = &q->writing->arenas[WRITE_PARSED];

	assert(w->held != HELD_PACKED);
	if (parsed->used > WRITE_KEPT_MAX) {
		arena_done(parsed);
		w->held = HELD_WITHOUT_BODY;
	}
}

void write_begin_round(struct request *q, struct write *w)
{
	struct write_memory *m = q->writing;

	arena_clear(&m->arenas[WRITE_PRESENT]);
	arena_clear(&m->arenas[WRITE_DECISION]);
	arena_clear(&m->arenas[WRITE_PACKED]);
	q->a = &m->arenas[WRITE_PRESENT];
	q->n_warnings = w->n_warnings;
	status_init(&q->st, q->a);
	w->present = w->object = NULL;
	w->held = w->held == HELD_PACKED ? HELD_WITHOUT_BODY : w->held;
}

void write_drop(struct request *q)
{
	struct write_memory *m = q->writing;

	for (size_t i = 0; i < WRITE_ARENAS; i++) {
		arena_done(&m->arenas[i]);
	}
	buf_done(&m->stored);
	q->a = http_arena(q->x);
}

void write_keep_warnings(struct request *q, size_t from, struct arena *a)
{
	for (size_t i = from; i < q->n_warnings; i++) {
		q->warnings[i] = arena_dup(a, q->warnings[i]);
	}
}

static struct object *pack_present(const struct object *o, struct arena *a)
{
	struct object *rest = o ? arena_new(a, struct object) : NULL;

	if (rest) {
		rest->kind = o->kind;
		rest->mod_revision = o->mod_revision;
		rest->meta.uid = arena_dup(a, o->meta.uid);
	}
	return rest;
}

/* Trees are parsed again where they are needed: the stored text, if the client wants it in a form that is not at hand; the body,
 * if the race is lost. */
void write_pack(struct request *q, struct write *w)
{
	struct write_memory *m = q->writing;
	struct arena *a = &m->arenas[WRITE_PACKED];
	bool may_answer = w->decision == DECIDE_PUT || !q->route.kind->delete_answers_object;

	if (write_memory_used(m) <= WRITE_KEPT_MAX || !may_answer || w->extend || q->route.kind->expires || q->is_dry_run) {
		return;
	}
	plan_pack(&q->plan, a, w->stored);
	write_keep_warnings(q, w->n_warnings, a);
	w->present = pack_present(w->present, a);
	w->object = NULL;
	w->held = HELD_PACKED;
	arena_done(&m->arenas[WRITE_PARSED]);
	arena_done(&m->arenas[WRITE_PRESENT]);
	arena_done(&m->arenas[WRITE_DECISION]);
	questions_forget_webhooks(&q->questions);
	q->a = a;
	status_init(&q->st, a);
}

int write_weigh(struct request *q, size_t sent)
{
	const struct write_memory *m = q->writing;

	return request_charge(q, http_arena(q->x)->used + write_memory_used(m) + m->stored.cap + sent);
}
