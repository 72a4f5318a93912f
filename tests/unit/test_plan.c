/* The engine that writes objects, over a real agreement and the store in memory. */
#include "storage/engine/plan.h"
#include "storage/keys.h"
#include "tests/unit/migration_world.h"

#define PROVIDERS_PATH "annals.dev/v1/providers"
#define TWO_PROVIDERS                                                                                                                        \
	"{\"metadata\":{\"name\":\"d\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"p\"}," \
	"{\"kind\":\"Provider\",\"name\":\"q\"}]}}"

static int setup(void **state)
{
	*state = world_new(storage_memory_new(), NULL);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	struct storage *s = w->storage;

	world_free(w);
	storage_free(s);
	return 0;
}

/* ---- what is there ---- */

static bool is_there(struct world *w, struct str key)
{
	struct storage_range r = {.key = key};

	assert_int_equal(storage_range_wait(w->storage, &r), STORAGE_OK);
	bool found = r.n_kvs > 0;
	storage_op_clear(&r.op);
	return found;
}

static struct str reference_to(struct world *w, const char *provider)
{
	struct str of =
		key_references(&w->a, STR(WORLD_PREFIX), STR("annals.dev"), STR("providers"), STR("ns"), str_of(provider));

	return key_reference(&w->a, of, STR("annals.dev"), STR("dependents"), STR("d"));
}

static struct str mark_of(struct world *w, const char *provider)
{
	return key_referenced(&w->a, STR(WORLD_PREFIX), STR("annals.dev"), STR("providers"), STR("ns"), str_of(provider));
}

/* ---- a Dependent ---- */

static struct plan_change change_of(struct world *w, const struct object *before, const struct object *after)
{
	const struct object *o = after ? after : before;
	struct buf text;

	buf_init(&text, 1 << 20);
	assert_true(object_encode_stored(&text, o, &o->kind->versions[0]));
	struct str stored = arena_dup(&w->a, buf_str(&text));
	buf_done(&text);
	return (struct plan_change){.kind = o->kind,
		.ns = o->meta.ns,
		.name = o->meta.name,
		.before = before,
		.after = after,
		.stored = after ? stored : STR(""),
		.wants_present = true};
}

static struct object *dependent(struct world *w)
{
	struct api_world parser = {.a = w->a};
	struct object *o = world_decode(&parser, DEPENDENTS_PATH, TWO_PROVIDERS);

	w->a = parser.a;
	o->meta.ns = STR("ns");
	o->meta.name = STR("d");
	o->meta.uid = STR("u");
	return o;
}

/* Sends the change; the revision of the transaction goes to *ret. */
static enum plan_outcome carry_out(struct world *w, const struct plan_change *c, int64_t *ret)
{
	struct plan p;

	plan_init(&p, &w->a, STR(WORLD_PREFIX));
	plan_change(&p, c);
	assert_int_equal(plan_wait(&p, w->storage), STORAGE_OK);
	enum plan_outcome outcome = plan_judge(&p, w->agreement);
	*ret = p.txn.op.revision;
	plan_clear(&p);
	return outcome;
}

/* ---- tests ---- */

static void test_plan__index_keys_come_and_go_with_the_object(void **state)
{
	struct world *w = *state;
	struct object *o = dependent(w);
	struct plan_change born = change_of(w, NULL, o), gone = change_of(w, o, NULL), same = change_of(w, o, o);
	int64_t revision;

	assert_int_equal(carry_out(w, &born, &revision), PLAN_DONE);
	assert_true(is_there(w, reference_to(w, "p")) && is_there(w, reference_to(w, "q")));
	assert_true(is_there(w, mark_of(w, "p")) && is_there(w, mark_of(w, "q")));
	same.revision = revision;
	assert_int_equal(carry_out(w, &same, &revision), PLAN_DONE);
	assert_true(is_there(w, reference_to(w, "p")) && is_there(w, reference_to(w, "q")));
	gone.revision = revision;
	assert_int_equal(carry_out(w, &gone, &revision), PLAN_DONE);
	assert_false(is_there(w, reference_to(w, "p")) || is_there(w, reference_to(w, "q")));
}

static void test_plan__tells_a_conflict_from_a_guard_that_failed(void **state)
{
	struct world *w = *state;
	struct object *o = dependent(w);
	struct plan_change c = change_of(w, NULL, o);
	int64_t revision;

	c.guards_needed = true;
	assert_int_equal(carry_out(w, &c, &revision), PLAN_REFUSED); /* there are no Providers */
	c.guards_needed = false;
	c.namespace_guard = PLAN_NAMESPACE_EXISTS;
	assert_int_equal(carry_out(w, &c, &revision), PLAN_REFUSED);
	assert_false(is_there(w, reference_to(w, "p")));
	c.namespace_guard = PLAN_NAMESPACE_ANY;
	assert_int_equal(carry_out(w, &c, &revision), PLAN_DONE);
	assert_int_equal(carry_out(w, &c, &revision), PLAN_CONFLICT);
}

static void test_plan__what_is_referred_to_does_not_go(void **state)
{
	struct world *w = *state;
	struct object *o = dependent(w);
	struct plan_change c = change_of(w, NULL, o);
	const struct version *v;
	int64_t revision;

	assert_int_equal(carry_out(w, &c, &revision), PLAN_DONE);
	revision = world_store(w, PROVIDERS_PATH, "v1", "ns/p", "{}", 0);
	struct plan_change gone = {.kind = world_version(PROVIDERS_PATH, &v),
		.ns = STR("ns"),
		.name = STR("p"),
		.revision = revision,
		.is_unprotected = true};
	assert_int_equal(carry_out(w, &gone, &revision), PLAN_REFUSED);
	gone.is_unprotected = false;
	assert_int_equal(carry_out(w, &gone, &revision), PLAN_DONE);
}

static enum plan_outcome make_namespace(struct world *w, const struct agreement_ticket *ticket, bool *ret_is_there)
{
	struct plan p;
	struct str why;

	plan_init(&p, &w->a, STR(WORLD_PREFIX));
	assert_int_equal(plan_new_namespace(&p, STR("new"), ticket, &why), 0);
	assert_int_equal(plan_wait(&p, w->storage), STORAGE_OK);
	enum plan_outcome outcome = plan_judge(&p, w->agreement);
	*ret_is_there = outcome == PLAN_DONE || plan_present(&p);
	plan_clear(&p);
	return outcome;
}

static bool has_other_ticket(struct world *w, const void *ctx)
{
	const struct agreement_ticket *old = ctx;
	struct agreement_ticket ticket;

	return agreement_write(w->agreement, kind_at(0), &ticket, NULL) == AGREEMENT_MAY_WRITE &&
		ticket.revision != old->revision;
}

/* The agreement does not watch here: it learns from the judgement that its registration is not what the ticket says. */
static void test_plan__a_lost_registration_is_no_success(void **state)
{
	struct world *w = *state;
	const struct kind *k = kind_by_hub(STR(""), STR("namespaces"));
	struct agreement_ticket ticket;
	bool is_there;

	assert_int_equal(agreement_write(w->agreement, k, &ticket, NULL), AGREEMENT_MAY_WRITE);
	world_step(w, (struct storage_step){.kind = STEP_DELETE, .key = ticket.key});
	assert_int_equal(make_namespace(w, &ticket, &is_there), PLAN_UNREGISTERED);
	assert_false(is_there);
	world_await(w, has_other_ticket, &ticket);
	assert_int_equal(agreement_write(w->agreement, k, &ticket, NULL), AGREEMENT_MAY_WRITE);
	assert_int_equal(make_namespace(w, &ticket, &is_there), PLAN_DONE);
	assert_int_equal(make_namespace(w, &ticket, &is_there), PLAN_CONFLICT);
	assert_true(is_there);
}

static void test_plan__packed_says_the_same(void **state)
{
	struct world *w = *state;
	struct object *o = dependent(w);
	struct plan_change c = change_of(w, NULL, o);
	static char memory[1 << 20];
	struct arena first, second;
	struct plan p;

	arena_init_with(&first, sizeof(memory), memory, sizeof(memory));
	arena_init(&second, 1 << 20);
	plan_init(&p, &first, STR(WORLD_PREFIX));
	plan_change(&p, &c);
	plan_pack(&p, &second, c.stored);
	arena_done(&first);
	memset(memory, 'x', sizeof(memory));
	assert_int_equal(plan_wait(&p, w->storage), STORAGE_OK);
	assert_int_equal(plan_judge(&p, NULL), PLAN_DONE);
	plan_clear(&p);
	arena_done(&second);
	assert_true(is_there(w, reference_to(w, "p")) && is_there(w, mark_of(w, "q")));
}

#define PLAN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAN_TEST(test_plan__index_keys_come_and_go_with_the_object),
		PLAN_TEST(test_plan__tells_a_conflict_from_a_guard_that_failed),
		PLAN_TEST(test_plan__what_is_referred_to_does_not_go),
		PLAN_TEST(test_plan__a_lost_registration_is_no_success),
		PLAN_TEST(test_plan__packed_says_the_same),
	};
	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
