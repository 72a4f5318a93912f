#include "controllers/dependents/dependents.h"
#include "controllers/dependents/implemented.h"

#include "tests/unit/items.h"

static void test_provided__names_and_keys(void **state _unused_)
{
	struct provided provided[REFERENCES_MAX];
	const struct provider_kind *kind;
	struct str ns, name;
	_cleanup_(item_unrefp) struct item *d = make_item(DEPENDENT("d", "u", "7", TO_PROVIDER("p") "," TO_REVISION("r")));
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, PROVIDED_KEY_MAX);
	assert_int_equal(provider_of(d->object, provided), 2);
	assert_str(provider_key(&text, provided[0].kind, d->namespace, provided[0].name), "providers/ns/p");
	assert_str(provider_key(&text, provided[1].kind, d->namespace, provided[1].name), "controllerrevisions/ns/r");
	assert_true(provider_parse_key(buf_str(&text), &kind, &ns, &name));
	assert_ptr_equal(kind, &provider_kinds[1]);
	assert_str(ns, "ns");
	assert_str(name, "r");
	assert_false(provider_parse_key(STR("others/ns/r"), &kind, &ns, &name));
	assert_false(provider_parse_key(STR("providers"), &kind, &ns, &name));
}

static void add_name(void *ctx, const struct item *dependent)
{
	struct buf *names = ctx;
	buf_add_str(names, dependent->name);
}

static size_t referrers(struct dependents *d, const char *key)
{
	_cleanup_(buf_done) struct buf names;
	buf_init(&names, 4096);
	dependents_each(d, str_of(key), add_name, &names);
	assert_int_equal(dependents_refer_to(d, str_of(key)), names.n > 0);
	return names.n;
}

static void test_index__follows_who_comes_and_goes(void **state _unused_)
{
	_cleanup_(item_unrefp) struct item *d = make_item(DEPENDENT("d", "u", "7", TO_PROVIDER("p") "," TO_REVISION("r")));
	_cleanup_(item_unrefp) struct item *e = make_item(DEPENDENT("e", "v", "8", TO_PROVIDER("p")));
	_cleanup_(item_unrefp) struct item *other = make_item(DEPENDENT("d", "w", "9", TO_PROVIDER("q")));
	struct dependents index;
	dependents_init(&index);
	dependents_put(&index, d);
	dependents_put(&index, d);
	dependents_put(&index, e);
	assert_int_equal(referrers(&index, "providers/ns/p"), 2);
	assert_int_equal(referrers(&index, "controllerrevisions/ns/r"), 1);
	assert_int_equal(referrers(&index, "providers/other/p"), 0);

	dependents_put(&index, other); /* took d's name */
	assert_int_equal(referrers(&index, "providers/ns/p"), 1);
	assert_int_equal(referrers(&index, "controllerrevisions/ns/r"), 0);
	assert_int_equal(referrers(&index, "providers/ns/q"), 1);

	dependents_remove(&index, e->namespace, e->name);
	dependents_remove(&index, e->namespace, e->name);
	assert_int_equal(referrers(&index, "providers/ns/p"), 0);
	dependents_done(&index);
}

#define PROVIDER(version) "{" META("p", "1", version, "") "}"
#define KEY STR("providers/ns/p")

static uint64_t held_version(struct implemented *h)
{
	_cleanup_(item_unrefp) struct item *object = implemented_get(h, KEY);
	return object ? object->version : 0;
}

static void test_holdings__last_as_long_as_somebody_holds(void **state _unused_)
{
	_cleanup_(item_unrefp) struct item *d = make_item(DEPENDENT("d", "u", "7", TO_PROVIDER("p")));
	_cleanup_(item_unrefp) struct item *e = make_item(DEPENDENT("e", "v", "8", TO_PROVIDER("p") "," TO_PROVIDER("q")));
	_cleanup_(item_unrefp) struct item *old = make_item(PROVIDER("5"));
	_cleanup_(item_unrefp) struct item *new = make_item(PROVIDER("6"));
	struct implemented h;
	implemented_init(&h);
	assert_int_equal(held_version(&h), 0);
	implemented_release(&h, d); /* who never held */

	implemented_add(&h, KEY, new, d);
	implemented_add(&h, KEY, old, e);
	assert_int_equal(held_version(&h), 6);
	implemented_release(&h, d);
	implemented_release(&h, d);
	assert_int_equal(held_version(&h), 6);
	implemented_release(&h, e);
	assert_int_equal(held_version(&h), 0);

	implemented_add(&h, KEY, old, d);
	implemented_forget(&h, KEY);
	assert_int_equal(held_version(&h), 0);
	implemented_add(&h, KEY, old, d);
	implemented_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_provided__names_and_keys),
		TEST(test_index__follows_who_comes_and_goes),
		TEST(test_holdings__last_as_long_as_somebody_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
