#include "api/rules/validate.h"
#include "tests/unit/admission_world.h"

#define OWNER(name, uid, controller)                                                                \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"" name "\",\"uid\":\"" uid \
	"\",\"controller\":" controller "}"

static const char *owned_by(const char *owners)
{
	return arena_printf(&arena, "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[%s]},\"data\":{}}", owners).p;
}

/* The owner with uid 1 is being deleted. */
static int update(struct write *w, const char *old, const char *new)
{
	write_init(w, ADMIT_UPDATE, "apps", "v1", "controllerrevisions");
	w->world.deleting_uid = "1";
	w->attributes.name = STR("a");
	w->attributes.old = write_decode(w, owned_by(old));
	w->attributes.object = write_decode(w, owned_by(new));
	return write_admit(w);
}

/* seeds: R18 */
static void test_adoption__by_a_deleting_owner_is_refused(void **state _unused_)
{
	struct write w;
	assert_int_equal(update(&w, "", OWNER("p", "2", "false") "," OWNER("o", "1", "true")), 1);
	assert_int_equal(w.st.code, 422);
	assert_int_equal(w.st.n_causes, 1);
	assert_string_equal(w.st.causes[0].reason, "FieldValueForbidden");
	assert_str(w.st.causes[0].field, "metadata.ownerReferences[1]");
	assert_str(w.st.causes[0].message, "Forbidden: StatefulSet/o is being deleted and cannot adopt");
}

static void test_adoption__of_what_was_owned_already_is_none(void **state _unused_)
{
	struct write w;
	assert_int_equal(update(&w, OWNER("o", "1", "true"), OWNER("o", "1", "true")), 0);
	assert_int_equal(w.world.n_lookups, 0);
}

static void test_adoption__becoming_the_controller_is_one(void **state _unused_)
{
	struct write w;
	assert_int_equal(update(&w, OWNER("o", "1", "false"), OWNER("o", "1", "true")), 1);
	assert_int_equal(update(&w, OWNER("p", "2", "true"), OWNER("o", "1", "true")), 1);
}

/* seeds: R6 */
static void test_adoption__by_others_and_as_a_mere_owner_is_fine(void **state _unused_)
{
	struct write w;
	assert_int_equal(update(&w, "", OWNER("p", "2", "true")), 0);
	assert_int_equal(update(&w, "", OWNER("o", "1", "false")), 0);
	assert_int_equal(update(&w, OWNER("o", "1", "true"), ""), 0);
}

static void test_adoption__creation_is_none(void **state _unused_)
{
	struct write w;
	write_init(&w, ADMIT_CREATE, "apps", "v1", "controllerrevisions");
	w.world.deleting_uid = "1";
	w.attributes.object = write_decode(&w, owned_by(OWNER("o", "1", "true")));
	assert_int_equal(write_admit(&w), 0);
}

/* Not admission's own rule, but what the loser of an adoption race sees. */
/* seeds: R7 R14 */
static void test_one_controller__the_second_is_refused(void **state _unused_)
{
	struct write w;
	assert_int_equal(update(&w, OWNER("p", "2", "true"), OWNER("p", "2", "true") "," OWNER("q", "3", "true")), 0);
	w.attributes.object->meta.ns = STR("default");
	validate_meta(w.attributes.kind, &w.attributes.object->meta, &w.errors);
	status_invalid(&w.st, STR("apps"), STR("ControllerRevision"), STR("a"), &w.errors);
	assert_int_equal(w.st.n_causes, 1);
	assert_str(w.st.message,
		"ControllerRevision.apps \"a\" is invalid: metadata.ownerReferences: Invalid value: [" OWNER(
			"p", "2", "true") "," OWNER("q", "3",
			"true") "]: Only one reference can have Controller set to true. Found \"true\" in references for "
				"StatefulSet/p and StatefulSet/q");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_adoption__by_a_deleting_owner_is_refused),
		TEST_TREE(test_adoption__of_what_was_owned_already_is_none),
		TEST_TREE(test_adoption__becoming_the_controller_is_one),
		TEST_TREE(test_adoption__by_others_and_as_a_mere_owner_is_fine),
		TEST_TREE(test_adoption__creation_is_none),
		TEST_TREE(test_one_controller__the_second_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
