#include "server/http/client_trust.h"
#include "tests/unit/check.h"

#define LITERAL(s)               \
	{                        \
		s, sizeof(s) - 1 \
	}

static const struct str groups[] = {LITERAL("system:masters"), LITERAL("dev")};
static const struct trust trust = {.n_front_names = 0};

enum { FROM_S = 1000, UNTIL_S = 2000 };

struct world {
	struct verified_chains *verified_chains;
	struct arena arena;
};

static int setup(void **state)
{
	struct world *w = mem_new(struct world);
	w->verified_chains = verified_chains_new();
	arena_init(&w->arena, 1 << 20);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	verified_chains_free(w->verified_chains);
	arena_done(&w->arena);
	mem_free(w);
	return 0;
}

static struct chain_id chain(unsigned number)
{
	struct chain_id id = {{0}};
	memcpy(id.sha256, &number, sizeof(number));
	return id;
}

static void keep(struct world *w, unsigned number, struct str name)
{
	const struct chain_id id = chain(number);
	const struct http_peer peer = {.is_verified = true,
		.trust = &trust,
		.common_name = arena_dup(&w->arena, name),
		.uid = STR("7"),
		.fingerprint = STR("ab"),
		.organizations = groups,
		.n_organizations = ARRAY_SIZE(groups)};
	verified_chains_keep(w->verified_chains, &id, FROM_S, UNTIL_S, &peer);
}

static bool find(struct world *w, unsigned number, int64_t now_s, struct http_peer *ret)
{
	const struct chain_id id = chain(number);
	int64_t until_s = 0;
	bool is_known = verified_chains_find(w->verified_chains, &id, now_s, &w->arena, ret, &until_s);
	assert_int_equal(until_s, is_known ? UNTIL_S : 0);
	return is_known;
}

static bool is_known(struct world *w, unsigned number, int64_t now_s)
{
	struct http_peer peer = {.is_tls = true};
	return find(w, number, now_s, &peer);
}

static void test_verified_chains__what_was_kept_is_found_whole(void **state)
{
	struct world *w = *state;
	struct http_peer peer = {.address = STR("127.0.0.1:1"), .is_tls = true, .has_certificate = true};
	keep(w, 1, STR("alice"));
	arena_clear(&w->arena); /* what was kept is a copy */
	assert_true(find(w, 1, FROM_S, &peer));
	assert_true(peer.is_verified && peer.is_tls && peer.has_certificate && !peer.is_front_proxy);
	assert_ptr_equal(peer.trust, &trust);
	assert_str(peer.address, "127.0.0.1:1");
	assert_str(peer.common_name, "alice");
	assert_str(peer.uid, "7");
	assert_str(peer.fingerprint, "ab");
	assert_int_equal(peer.n_organizations, 2);
	assert_str(peer.organizations[0], "system:masters");
	assert_str(peer.organizations[1], "dev");
}

static void test_verified_chains__another_chain_is_unknown(void **state)
{
	struct world *w = *state;
	assert_false(is_known(w, 0, FROM_S));
	keep(w, 1, STR("alice"));
	assert_false(is_known(w, 2, FROM_S));
	assert_false(is_known(w, 0, FROM_S));
}

static void test_verified_chains__holds_only_in_its_time(void **state)
{
	struct world *w = *state;
	keep(w, 1, STR("alice"));
	assert_false(is_known(w, 1, FROM_S - 1));
	assert_true(is_known(w, 1, FROM_S));
	assert_true(is_known(w, 1, UNTIL_S - 1));
	assert_false(is_known(w, 1, UNTIL_S));
}

static void test_verified_chains__newer_verdict_replaces(void **state)
{
	struct world *w = *state;
	struct http_peer peer = {.is_tls = true};
	keep(w, 1, STR("alice"));
	keep(w, 1, STR("bob"));
	assert_true(find(w, 1, FROM_S, &peer));
	assert_str(peer.common_name, "bob");
}

static void test_verified_chains__the_one_not_asked_for_makes_room(void **state)
{
	struct world *w = *state;
	for (unsigned i = 0; i < VERDICTS_MAX; i++) {
		keep(w, i, STR("somebody"));
	}
	assert_true(is_known(w, 0, FROM_S));
	keep(w, VERDICTS_MAX, STR("somebody"));
	assert_true(is_known(w, 0, FROM_S));
	assert_false(is_known(w, 1, FROM_S));
	assert_true(is_known(w, VERDICTS_MAX, FROM_S));
}

static void test_verified_chains__too_much_text_is_not_kept(void **state)
{
	struct world *w = *state;
	static char name[8192];
	memset(name, 'x', sizeof(name));
	keep(w, 1, (struct str){name, sizeof(name)});
	assert_false(is_known(w, 1, FROM_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_verified_chains__what_was_kept_is_found_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verified_chains__another_chain_is_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verified_chains__holds_only_in_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verified_chains__newer_verdict_replaces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verified_chains__the_one_not_asked_for_makes_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verified_chains__too_much_text_is_not_kept, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
