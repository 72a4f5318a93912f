#include "base/heap.h"
#include "base/ids.h"
#include "tests/unit/check.h"

static void test_heap__first_is_the_first_due(void **state _unused_)
{
	struct heap h = {0};
	struct heap_node nodes[5] = {0};
	static const int64_t due[] = {30, 10, 50, 20, 40};
	assert_null(heap_first(&h));
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		heap_set(&h, &nodes[i], due[i]);
	}
	for (int64_t expected = 10; expected <= 50; expected += 10) {
		struct heap_node *first = heap_first(&h);
		assert_int_equal(first->due, expected);
		heap_remove(&h, first);
		assert_false(heap_has(first));
	}
	assert_null(heap_first(&h));
	heap_done(&h);
}

static void test_heap__equal_ones_come_in_their_order(void **state _unused_)
{
	struct heap h = {0};
	struct heap_node nodes[20] = {0};
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		heap_set(&h, &nodes[i], 7);
	}
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		assert_ptr_equal(heap_first(&h), &nodes[i]);
		heap_remove(&h, &nodes[i]);
	}
	heap_done(&h);
}

static void test_heap__what_is_in_none_can_be_taken_out(void **state _unused_)
{
	struct heap h = {0};
	struct heap_node in = {0}, out = {0};
	heap_set(&h, &in, 1);
	heap_remove(&h, &out);
	assert_ptr_equal(heap_first(&h), &in);
	heap_done(&h);
}

static const struct heap_node *least(const struct heap_node *nodes, size_t n)
{
	const struct heap_node *found = NULL;
	for (size_t i = 0; i < n; i++) {
		bool is_less = heap_has(&nodes[i]) && (!found || nodes[i].due < found->due);
		found = is_less ? &nodes[i] : found;
	}
	return found;
}

/* Set, moved and taken out in any order, against looking at all of them. */
static void test_heap__is_right_whatever_is_done(void **state _unused_)
{
	enum { N = 64, STEPS = 20000 };
	struct heap h = {0};
	struct heap_node nodes[N] = {0};
	unsigned char dice[2];
	for (int i = 0; i < STEPS; i++) {
		random_bytes(dice, sizeof(dice));
		struct heap_node *node = &nodes[dice[0] % N];
		if (dice[0] & 0x80) {
			heap_set(&h, node, dice[1]);
		} else {
			heap_remove(&h, node);
		}
		const struct heap_node *expected = least(nodes, N), *first = heap_first(&h);
		assert_int_equal(!first, !expected);
		assert_true(!first || first->due == expected->due);
	}
	heap_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_heap__first_is_the_first_due),
		TEST(test_heap__equal_ones_come_in_their_order),
		TEST(test_heap__what_is_in_none_can_be_taken_out),
		TEST(test_heap__is_right_whatever_is_done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
