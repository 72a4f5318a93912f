#include "server/http/http_alarm.h"

enum { FIRST_CAP = 64 };

void alarms_init(struct alarms *s)
{
	*s = (struct alarms){0};
}

void alarms_done(struct alarms *s)
{
	mem_free(s->heap);
	*s = (struct alarms){0};
}

static void put(struct alarms *s, struct alarm *a, size_t place)
{
	s->heap[place] = a;
	a->place = place;
}

static void sift_up(struct alarms *s, struct alarm *a, size_t place)
{
	for (; place > 1 && a->at_ms < s->heap[place / 2]->at_ms; place /= 2) {
		put(s, s->heap[place / 2], place);
	}
	put(s, a, place);
}

static void sift_down(struct alarms *s, struct alarm *a, size_t place)
{
	for (size_t child; (child = place * 2) <= s->n; place = child) {
		if (child < s->n && s->heap[child + 1]->at_ms < s->heap[child]->at_ms) {
			child++;
		}
		if (a->at_ms <= s->heap[child]->at_ms) {
			break;
		}
		put(s, s->heap[child], place);
	}
	put(s, a, place);
}

void alarms_set(struct alarms *s, struct alarm *a, int64_t at_ms)
{
	alarms_cancel(s, a);
	if (s->n + 1 >= s->cap) {
		s->cap = s->cap ? s->cap * 2 : FIRST_CAP;
		s->heap = mem_realloc_array(s->heap, s->cap, sizeof(*s->heap));
	}
	a->at_ms = at_ms;
	sift_up(s, a, ++s->n);
}

void alarms_cancel(struct alarms *s, struct alarm *a)
{
	size_t place = a->place;
	if (!place) {
		return;
	}
	a->place = 0;

	struct alarm *last = s->heap[s->n--];
	if (last == a) {
		return;
	}
	if (last->at_ms < a->at_ms) {
		sift_up(s, last, place);
	} else {
		sift_down(s, last, place);
	}
}
