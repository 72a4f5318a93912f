#include "client/timers.h"

#include "base/clock.h"

void client_timer_init(struct client_timer *t, void (*run)(struct client_timer *t))
{
	*t = (struct client_timer){.run = run};
}

void client_timer_clear(struct client_timer *t)
{
	if (t->timers) {
		heap_remove(t->timers, &t->node);
	}
}

void timers_set(struct heap *timers, struct client_timer *t, int64_t delay_ms)
{
	t->timers = timers;
	heap_set(timers, &t->node, clock_mono_ms() + delay_ms);
}

void timers_run(struct heap *timers)
{
	int64_t now = clock_mono_ms();
	for (struct heap_node *first; (first = heap_first(timers)) && first->due <= now;) {
		struct client_timer *t = container_of(first, struct client_timer, node);
		heap_remove(timers, first);
		t->run(t);
	}
}

void timers_drop(struct heap *timers)
{
	for (struct heap_node *first; (first = heap_first(timers));) {
		heap_remove(timers, first);
	}
	heap_done(timers);
}

int timers_left_ms(const struct heap *timers, int max_ms)
{
	const struct heap_node *first = heap_first(timers);
	int64_t left = first ? first->due - clock_mono_ms() : max_ms;

	return (int)MIN(MAX(left, 0), (int64_t)max_ms);
}
