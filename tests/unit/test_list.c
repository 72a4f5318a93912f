#include "base/list.h"
#include "tests/unit/check.h"

struct item {
	int n;
	struct list link;
};

static int digits(const struct list *head)
{
	int sum = 0;
	list_for_each(it, (struct list *)(uintptr_t)head) {
		sum = sum * 10 + list_entry(it, struct item, link)->n;
	}
	return sum;
}

static void test_list__keeps_order(void **state _unused_)
{
	struct list head = LIST_INIT(head);
	struct item a = {.n = 1}, b = {.n = 2}, c = {.n = 3};
	assert_true(list_is_empty(&head));
	list_append(&head, &a.link);
	list_append(&head, &c.link);
	list_add_before(&c.link, &b.link);
	assert_int_equal(digits(&head), 123);
	list_remove(&b.link);
	list_remove(&b.link);
	assert_int_equal(digits(&head), 13);
}

static void test_list__may_be_emptied_while_walking(void **state _unused_)
{
	struct list head = LIST_INIT(head);
	struct item items[3];
	for (int i = 0; i < 3; i++) {
		list_append(&head, &items[i].link);
	}
	list_for_each_safe(it, &head) {
		list_remove(it);
	}
	assert_true(list_is_empty(&head));
}

static void test_list_splice__moves_everything_to_the_end(void **state _unused_)
{
	struct list to = LIST_INIT(to), from = LIST_INIT(from);
	struct item a = {.n = 1}, b = {.n = 2}, c = {.n = 3};
	list_append(&to, &a.link);
	list_append(&from, &b.link);
	list_append(&from, &c.link);
	list_splice(&to, &from);
	assert_int_equal(digits(&to), 123);
	assert_true(list_is_empty(&from));
	list_splice(&to, &from);
	assert_int_equal(digits(&to), 123);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_list__keeps_order),
		TEST(test_list__may_be_emptied_while_walking),
		TEST(test_list_splice__moves_everything_to_the_end),
	};
	return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
