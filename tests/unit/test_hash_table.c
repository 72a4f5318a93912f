#include "base/hash_table.h"
#include "tests/unit/check.h"

struct thing {
	struct hash_node node;
	int key;
};

static struct thing *find(const struct hash_table *t, uint64_t hash, int key)
{
	for (struct hash_node *n = hash_table_first(t, hash); n; n = hash_node_next(n)) {
		struct thing *found = container_of(n, struct thing, node);
		if (found->key == key) {
			return found;
		}
	}
	return NULL;
}

static void test_hash_table__empty(void **state _unused_)
{
	struct hash_table t = {0};

	assert_null(hash_table_first(&t, 7));
	assert_null(hash_table_walk(&t, NULL));
	hash_table_trim(&t);
	hash_table_done(&t);
}

/* 64 and 128 share a slot with 0 in a small table, and 0 occurs twice: equal slots are no equal hashes, and equal hashes no equal keys. */
static void test_hash_table__tells_hashes_and_keys_apart(void **state _unused_)
{
	struct hash_table t = {0};
	struct thing things[] = {{.key = 0}, {.key = 1}, {.key = 2}, {.key = 3}};
	const uint64_t hashes[] = {0, 64, 128, 0};

	for (int i = 0; i < 4; i++) {
		hash_table_add(&t, &things[i].node, hashes[i]);
	}
	for (int i = 0; i < 4; i++) {
		assert_ptr_equal(find(&t, hashes[i], i), &things[i]);
		assert_null(find(&t, hashes[i], 9));
	}
	assert_null(find(&t, 64, 0));
	hash_table_remove(&t, &things[0].node);
	assert_null(find(&t, 0, 0));
	assert_ptr_equal(find(&t, 0, 3), &things[3]);
	assert_int_equal(t.n, 3);
	hash_table_done(&t);
}

/* A thousand come and go, while the table grows and shrinks around those that stay. */
static void test_hash_table__grows_and_shrinks(void **state _unused_)
{
	enum { N = 1000 };
	struct hash_table t = {0};
	struct thing *things = mem_array(N, sizeof(struct thing));

	for (int i = 0; i < N; i++) {
		things[i].key = i;
		hash_table_add(&t, &things[i].node, (uint64_t)i * 0x9e3779b97f4a7c15U);
		assert_true(t.n <= t.n_slots);
	}
	for (int i = 0; i < N; i++) {
		assert_ptr_equal(find(&t, (uint64_t)i * 0x9e3779b97f4a7c15U, i), &things[i]);
	}
	size_t most = t.n_slots;
	for (int i = 0; i < N; i++) {
		if (i % 100 != 0) {
			hash_table_remove(&t, &things[i].node);
			hash_table_trim(&t);
		}
	}
	assert_true(t.n_slots <= most / 8);
	for (int i = 0; i < N; i++) {
		assert_ptr_equal(find(&t, (uint64_t)i * 0x9e3779b97f4a7c15U, i), i % 100 ? NULL : &things[i]);
	}
	hash_table_done(&t);
	mem_free(things);
}

static void test_hash_table__walk_meets_each_once_and_lets_go(void **state _unused_)
{
	enum { N = 300 };
	struct hash_table t = {0};
	struct thing things[N];
	int met[N] = {0};

	for (int i = 0; i < N; i++) {
		things[i].key = i;
		hash_table_add(&t, &things[i].node, (uint64_t)(i / 3)); /* three of each hash */
	}
	for (struct hash_node *n = hash_table_walk(&t, NULL), *next; n; n = next) {
		struct thing *thing = container_of(n, struct thing, node);
		next = hash_table_walk(&t, n);
		met[thing->key]++;
		hash_table_remove(&t, n);
	}
	for (int i = 0; i < N; i++) {
		assert_int_equal(met[i], 1);
	}
	assert_int_equal(t.n, 0);
	hash_table_trim(&t);
	assert_null(t.slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hash_table__empty),
		TEST(test_hash_table__tells_hashes_and_keys_apart),
		TEST(test_hash_table__grows_and_shrinks),
		TEST(test_hash_table__walk_meets_each_once_and_lets_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
