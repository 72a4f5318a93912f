/* Two states of one hash (seed 000, "Collision Resolution"). The linker puts the function below
 * in front of the library's: of a hash only one digit is left, which is one of nine, so that
 * names are taken all the time. */
#include "controllers/kit/history.h"

#include "tests/unit/history_world.h"

#include "api/model/members.h"

void __real_history_hash(struct str data, int64_t collisions, char out[16]);
void __wrap_history_hash(struct str data, int64_t collisions, char out[16]);

void __wrap_history_hash(struct str data, int64_t collisions, char out[16])
{
	__real_history_hash(data, collisions, out);
	out[0] = out[strlen(out) - 1];
	out[1] = '\0';
}

static void set_numbered(struct history_world *w, int i)
{
	char text[64];
	snprintf(text, sizeof(text), "{\"spec\":{\"image\":\"i%d\"}}", i);
	world_set_state(w, parsed(&w->arena, arena_strdup(&w->arena, text)));
}

/* H53, H54: as many states as there are names, and each gets one. */
/* seeds: H53 H54 */
static void test_collisions__end_at_a_free_name(void **state _unused_)
{
	struct history_world w;
	size_t n_moved = 0;
	world_init(&w, &carrier_controllerrevisions, "web");
	for (int i = 0; i < 6; i++) {
		struct history_choice first;
		struct revision r, again;
		set_numbered(&w, i);
		assert_true(history_choose(&first, w.carrier, &w.owner, world_reconstruct(&w), 0, &w.arena));
		assert_int_equal(world_pass(&w, &r), HISTORY_CREATED);
		assert_int_equal(world_pass(&w, &again), HISTORY_UNCHANGED);
		assert_true(str_eq(r.name, again.name));
		n_moved += !str_eq(first.revision.name, r.name);
		/* The label is of the first try: so upstream has it. */
		assert_true(str_ends(first.revision.name,
			member_text(json_gets(json_gets(r.object, "metadata"), "labels"), HISTORY_LABEL_HASH)));
	}
	assert_true(n_moved > 0);
	assert_int_equal(world_reconstruct(&w)->n, 6);
	world_done(&w);
}

/* What an owner has counted already is where the next search begins. */
/* seeds: H54 */
static void test_collisions__begin_at_those_of_the_owner(void **state _unused_)
{
	struct history_world w;
	struct history_choice a, b;
	world_init(&w, &carrier_controllerrevisions, "web");
	set_numbered(&w, 1);
	assert_true(history_choose(&a, w.carrier, &w.owner, &w.history, 3, &w.arena));
	w.owner.collisions = 2;
	assert_true(history_choose(&b, w.carrier, &w.owner, &w.history, 1, &w.arena));
	assert_true(str_eq(a.revision.name, b.revision.name));
	world_done(&w);
}

/* H55: equal states of two owners stay two revisions. */
/* seeds: H55 */
static void test_collisions__with_another_owner_share_nothing(void **state _unused_)
{
	struct history_world w;
	struct revision a, b;
	world_init(&w, &carrier_controllerrevisions, "web");
	set_numbered(&w, 1);
	world_pass(&w, &a);
	w.owner.uid = STR("uid-of-another");
	assert_int_equal(world_pass(&w, &b), HISTORY_CREATED);
	assert_false(str_eq(a.name, b.name));
	assert_false(history_is_same(w.carrier, &w.owner, &b, w.objects[0], &w.arena));
	assert_true(history_is_same(w.carrier, &w.owner, &b, w.objects[1], &w.arena));
	assert_int_equal(world_reconstruct(&w)->n, 1);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_collisions__end_at_a_free_name),
		TEST(test_collisions__begin_at_those_of_the_owner),
		TEST(test_collisions__with_another_owner_share_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
