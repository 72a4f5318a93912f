#include "storage/cache/ptree.h"
#include "tests/unit/check.h"

/* Entries are counted numbers: what is held at the end of a test is a leak. */
struct item {
	uint64_t number;
	size_t refs;
};

enum { N_ITEMS = 4096 };

static struct item items[N_ITEMS];
static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int item_cmp(const void *key, const struct ptree_entry *e)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct item *)e->item)->number;

	return a < b ? -1 : a > b;
}

static void item_ref(const struct ptree_entry *e)
{
	((struct item *)e->item)->refs++;
}

static void item_unref(const struct ptree_entry *e)
{
	struct item *item = e->item;

	assert_true(item->refs > 0);
	item->refs--;
}

static const struct ptree_ops item_ops = {item_cmp, item_ref, item_unref};

static int setup(void **state _unused_)
{
	random_state = 88172645463325252ULL;
	for (size_t i = 0; i < N_ITEMS; i++) {
		items[i] = (struct item){.number = i * 2};
	}
	return 0;
}

static void assert_nothing_held(void)
{
	for (size_t i = 0; i < N_ITEMS; i++) {
		assert_int_equal(items[i].refs, 0);
	}
}

static bool put(struct ptree *t, size_t i)
{
	return ptree_put(t, &items[i].number, (struct ptree_entry){&items[i], i});
}

/* What a tree should hold: one flag for each item. */
struct model {
	bool has[N_ITEMS];
};

static void assert_is(const struct ptree *t, const struct model *m)
{
	struct ptree_iter it;
	const struct ptree_entry *e;
	size_t rank = 0;

	ptree_iter_init(&it, t, 0);
	for (size_t i = 0; i < N_ITEMS; i++) {
		uint64_t between = items[i].number + 1;

		assert_int_equal(ptree_rank(t, &items[i].number), rank);
		assert_int_equal(ptree_get(t, &items[i].number) != NULL, m->has[i]);
		assert_null(ptree_get(t, &between));
		if (m->has[i]) {
			e = ptree_iter_next(&it);
			assert_non_null(e);
			assert_ptr_equal(e->item, &items[i]);
			rank++;
		}
	}
	assert_null(ptree_iter_next(&it));
	assert_int_equal(ptree_count(t), rank);
}

static void test_ptree__empty_has_nothing(void **state _unused_)
{
	struct ptree t;
	struct ptree_iter it;
	uint64_t key = 7;

	ptree_init(&t, &item_ops);
	ptree_iter_init(&it, &t, 0);
	assert_null(ptree_iter_next(&it));
	assert_null(ptree_get(&t, &key));
	assert_int_equal(ptree_count(&t), 0);
	assert_int_equal(ptree_rank(&t, &key), 0);
	assert_false(ptree_remove(&t, &key));
	ptree_done(&t);
}

static void test_ptree__put_replaces_its_equal(void **state _unused_)
{
	struct item twin = {.number = 10};
	struct ptree t;

	ptree_init(&t, &item_ops);
	assert_true(put(&t, 5));
	assert_false(ptree_put(&t, &twin.number, (struct ptree_entry){&twin, 1}));
	assert_ptr_equal(ptree_get(&t, &twin.number)->item, &twin);
	assert_int_equal(items[5].refs, 0);
	ptree_done(&t);
	assert_int_equal(twin.refs, 0);
}

static void test_ptree__ascending_fill_leaves_full_nodes(void **state _unused_)
{
	struct ptree t;

	ptree_init(&t, &item_ops);
	for (size_t i = 0; i < N_ITEMS; i++) {
		put(&t, i);
	}
	assert_in_range(ptree_bytes(&t) / N_ITEMS, sizeof(struct ptree_entry), 20);
	ptree_done(&t);
}

static void test_ptree__random_changes_follow_a_sorted_array(void **state _unused_)
{
	static struct model m;
	struct ptree t;

	ptree_init(&t, &item_ops);
	m = (struct model){0};
	for (size_t step = 0; step < 40000; step++) {
		/* grows for a while, then shrinks, then grows again */
		bool is_put = next_random() % 100 < (step / 10000 % 2 ? 25U : 75U);
		size_t i = next_random() % N_ITEMS;

		if (is_put) {
			assert_int_equal(put(&t, i), !m.has[i]);
		} else {
			assert_int_equal(ptree_remove(&t, &items[i].number), m.has[i]);
		}
		m.has[i] = is_put;
		if (step % 2500 == 0) {
			assert_is(&t, &m);
		}
	}
	assert_is(&t, &m);
	ptree_done(&t);
	assert_nothing_held();
}

static void test_ptree__removing_all_leaves_an_empty_tree(void **state _unused_)
{
	struct ptree t;

	ptree_init(&t, &item_ops);
	for (size_t i = 0; i < N_ITEMS; i++) {
		put(&t, (i * 1237) % N_ITEMS);
	}
	for (size_t i = 0; i < N_ITEMS; i++) {
		assert_true(ptree_remove(&t, &items[(i * 2011) % N_ITEMS].number));
	}
	assert_int_equal(ptree_count(&t), 0);
	assert_null(t.root);
	assert_nothing_held();
}

static void test_ptree__shares_keep_what_they_had(void **state _unused_)
{
	enum { N_SHARES = 50 };
	static struct model models[N_SHARES], m;
	struct ptree t, shares[N_SHARES];

	ptree_init(&t, &item_ops);
	m = (struct model){0};
	for (size_t s = 0; s < N_SHARES; s++) {
		for (size_t step = 0; step < 200; step++) {
			size_t i = next_random() % N_ITEMS;

			m.has[i] = next_random() % 3 > 0;
			if (m.has[i]) {
				put(&t, i);
			} else {
				ptree_remove(&t, &items[i].number);
			}
		}
		shares[s] = ptree_share(&t);
		models[s] = m;
	}
	ptree_done(&t);
	for (size_t s = 0; s < N_SHARES; s++) {
		size_t at = (s * 37) % N_SHARES;

		assert_is(&shares[at], &models[at]);
		ptree_done(&shares[at]);
	}
	assert_nothing_held();
}

static void test_ptree_build__makes_what_putting_makes(void **state _unused_)
{
	static struct ptree_entry entries[N_ITEMS];
	static struct model m;
	struct ptree t;

	for (size_t n = 0; n < N_ITEMS; n = n * 3 / 2 + 1) {
		m = (struct model){0};
		for (size_t i = 0; i < n; i++) {
			entries[i] = (struct ptree_entry){&items[i], i};
			m.has[i] = true;
		}
		ptree_init(&t, &item_ops);
		ptree_build(&t, entries, n);
		assert_is(&t, &m);
		m.has[n] = put(&t, n);
		m.has[n / 2] = !ptree_remove(&t, &items[n / 2].number);
		assert_is(&t, &m);
		ptree_done(&t);
		assert_nothing_held();
	}
}

static void test_ptree__iterating_starts_at_any_rank(void **state _unused_)
{
	const struct ptree_entry *e;
	struct ptree_iter it;
	struct ptree t;

	ptree_init(&t, &item_ops);
	for (size_t i = 0; i < 1000; i++) {
		put(&t, i);
	}
	for (size_t rank = 0; rank < 1000; rank += 13) {
		ptree_iter_init(&it, &t, rank);
		e = ptree_iter_next(&it);
		assert_ptr_equal(e->item, &items[rank]);
		assert_int_equal(it.rank, rank + 1);
	}
	ptree_iter_init(&it, &t, 1000);
	assert_null(ptree_iter_next(&it));
	ptree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ptree__empty_has_nothing, setup),
		cmocka_unit_test_setup(test_ptree__put_replaces_its_equal, setup),
		cmocka_unit_test_setup(test_ptree__ascending_fill_leaves_full_nodes, setup),
		cmocka_unit_test_setup(test_ptree__random_changes_follow_a_sorted_array, setup),
		cmocka_unit_test_setup(test_ptree__removing_all_leaves_an_empty_tree, setup),
		cmocka_unit_test_setup(test_ptree__shares_keep_what_they_had, setup),
		cmocka_unit_test_setup(test_ptree_build__makes_what_putting_makes, setup),
		cmocka_unit_test_setup(test_ptree__iterating_starts_at_any_rank, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
