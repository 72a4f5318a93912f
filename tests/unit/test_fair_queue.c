#include "delegation/flights.h"
#include "tests/unit/check.h"

enum { ALL = 6, SECOND = 4, SOURCE = 3 };

/* What waits, and a name for each. */
struct queue {
	struct fair_queue t;
	struct named {
		struct turn turn;
		const char *name;
		bool is_running;
	} v[32];
	size_t n;
};

static void open_queue(struct queue *q)
{
	*q = (struct queue){0};
	fair_queue_init(&q->t, &(struct fair_queue_limits){.all = ALL, .second_class = SECOND, .source = SOURCE});
}

static void close_queue(struct queue *q)
{
	for (size_t i = 0; i < q->n; i++) {
		(q->v[i].is_running ? fair_queue_end : fair_queue_leave)(&q->t, &q->v[i].turn);
		fair_queue_unref(&q->t, q->v[i].turn.source);
	}
	assert_int_equal(q->t.sources.n, 0);
	fair_queue_done(&q->t);
}

static struct named *come(struct queue *q, enum queue_class class, const char *source, const char *name)
{
	struct named *it = &q->v[q->n++];
	it->name = name;
	turn_init(&it->turn, fair_queue_source(&q->t, class, str_of(source)));
	fair_queue_wait(&q->t, &it->turn);
	return it;
}

/* Lets begin all that may; they are those. */
static void assert_begin(struct queue *q, const char *expected)
{
	struct turn *turn;
	char names[256] = "";
	while ((turn = fair_queue_next(&q->t))) {
		struct named *it = container_of(turn, struct named, turn);
		it->is_running = true;
		strcat(names, it->name);
	}
	assert_string_equal(names, expected);
}

static void end_turn(struct queue *q, struct named *it)
{
	assert_true(it->is_running);
	it->is_running = false;
	fair_queue_end(&q->t, &it->turn);
}

static void test_fair_queue__sources_take_turns(void **state _unused_)
{
	struct queue q;
	open_queue(&q);
	come(&q, TURN_FIRST, "a", "1");
	come(&q, TURN_FIRST, "a", "2");
	come(&q, TURN_FIRST, "a", "3");
	come(&q, TURN_FIRST, "b", "x");
	come(&q, TURN_FIRST, "b", "y");
	come(&q, TURN_FIRST, "c", "!");
	assert_begin(&q, "1x!2y3");
	close_queue(&q);
}

static void test_fair_queue__no_source_has_more_than_its_share(void **state _unused_)
{
	struct queue q;
	open_queue(&q);
	struct named *first = come(&q, TURN_FIRST, "a", "1");
	come(&q, TURN_FIRST, "a", "2");
	come(&q, TURN_FIRST, "a", "3");
	come(&q, TURN_FIRST, "a", "4");
	come(&q, TURN_FIRST, "a", "5");
	assert_begin(&q, "123");
	come(&q, TURN_FIRST, "b", "x");
	assert_begin(&q, "x");
	end_turn(&q, first);
	assert_begin(&q, "4");
	close_queue(&q);
}

static void test_fair_queue__no_more_begin_than_there_are_places(void **state _unused_)
{
	struct queue q;
	open_queue(&q);
	for (size_t i = 0; i < 3; i++) {
		come(&q, TURN_FIRST, "a", "a");
		come(&q, TURN_FIRST, "b", "b");
		come(&q, TURN_FIRST, "c", "c");
	}
	assert_begin(&q, "abcabc");
	close_queue(&q);
}

static void test_fair_queue__second_class_has_not_all_places(void **state _unused_)
{
	struct queue q;
	open_queue(&q);
	struct named *first = come(&q, TURN_SECOND, "a", "1");
	come(&q, TURN_SECOND, "a", "2");
	come(&q, TURN_SECOND, "b", "3");
	come(&q, TURN_SECOND, "b", "4");
	come(&q, TURN_SECOND, "c", "5");
	assert_begin(&q, "1352");
	come(&q, TURN_FIRST, "k", "x");
	come(&q, TURN_FIRST, "l", "y");
	come(&q, TURN_FIRST, "m", "z");
	assert_begin(&q, "xy");
	end_turn(&q, first);
	assert_begin(&q, "z");
	close_queue(&q);
}

static void test_fair_queue__sources_of_one_name_in_two_classes_are_two(void **state _unused_)
{
	struct queue q;
	open_queue(&q);
	struct named *first = come(&q, TURN_FIRST, "a", "1"), *second = come(&q, TURN_SECOND, "a", "2");
	assert_ptr_not_equal(first->turn.source, second->turn.source);
	close_queue(&q);
}

static void test_fair_queue__who_leaves_is_not_called(void **state _unused_)
{
	struct queue q;
	open_queue(&q);
	struct named *first = come(&q, TURN_FIRST, "a", "1");
	come(&q, TURN_FIRST, "b", "2");
	fair_queue_leave(&q.t, &first->turn);
	assert_begin(&q, "2");
	close_queue(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fair_queue__sources_take_turns),
		TEST(test_fair_queue__no_source_has_more_than_its_share),
		TEST(test_fair_queue__no_more_begin_than_there_are_places),
		TEST(test_fair_queue__second_class_has_not_all_places),
		TEST(test_fair_queue__sources_of_one_name_in_two_classes_are_two),
		TEST(test_fair_queue__who_leaves_is_not_called),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
