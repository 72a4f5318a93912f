#include "client/timers.h"

#include "base/clock.h"

void client_timer_init(struct client_timer *t, void (*run)(struct client_timer *t))
{
	*t = (struct client_timer){.run = run};
	list_init(&t->link);
}

void client_timer_clear(struct client_timer *t)
{
	list_remove(&t->link);
}

void timers_set(struct list *timers, struct client_timer *t, int64_t delay_ms)
{
	list_remove(&t->link);
	t->at_ms = clock_mono_ms() + delay_ms;
	struct list *at = timers->next;
	while (at != timers && list_entry(at, struct client_timer, link)->at_ms <= t->at_ms) {
		at = at->next;
	}
	list_add_before(at, &t->link);
}

void timers_run(struct list *timers)
{
	int64_t now = clock_mono_ms();
	while (!list_is_empty(timers)) {
		struct client_timer *t = list_entry(timers->next, struct client_timer, link);
		if (t->at_ms > now) {
			return;
		}
		list_remove(&t->link);
		t->run(t);
	}
}

void timers_drop(struct list *timers)
{
	while (!list_is_empty(timers)) {
		list_remove(timers->next);
	}
}

int timers_left_ms(const struct list *timers, int max_ms)
{
	if (list_is_empty(timers)) {
		return max_ms;
	}
	int64_t left = list_entry(timers->next, struct client_timer, link)->at_ms - clock_mono_ms();
	return (int)MIN(MAX(left, 0), (int64_t)max_ms);
}
