/* Files of the administrator: t, static tokens; a, ABAC policies. A record that is added to tokens is found, whatever was before it; what two
 * halves of a policy file allow is what the whole allows, for each line allows something and nothing forbids. */
#include "server/access/abac.h"
#include "server/access/token_file.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "secret-of-nobody-else"

static struct str joined(struct str x, struct str y, struct arena *a)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, CEILING);
	buf_add_str(&b, x);
	buf_addc(&b, '\n');
	buf_add_str(&b, y);
	return arena_dup(a, buf_str(&b));
}

static struct tokens *read_tokens(struct str text)
{
	_cleanup_(buf_done) struct buf err;
	struct tokens *t = NULL;
	buf_init(&err, 4096);
	if (tokens_parse(&t, text, &err)) {
		CHECK(buf_str(&err).n > 0);
		return NULL;
	}
	return t;
}

static void check_tokens(struct str text, struct arena *a)
{
	_cleanup_(tokens_freep) struct tokens *before = read_tokens(text);
	if (!before) {
		return;
	}
	_cleanup_(tokens_freep) struct tokens *t = read_tokens(joined(text, STR(SECRET ",me,my-uid,\"dev,ops\"\n"), a));
	CHECK(t);
	const struct token_user *user = tokens_find(t, STR(SECRET));
	CHECK(user && str_is(user->name, "me") && str_is(user->uid, "my-uid") && user->n_groups == 2);
	CHECK(!tokens_find(t, STR("")) && !tokens_find(before, STR("")));
}

static struct abac *read_policies(struct str text)
{
	_cleanup_(buf_done) struct buf err;
	struct abac *abac = NULL;
	buf_init(&err, 1 << 20);
	if (abac_parse(&abac, text, &err)) {
		CHECK(buf_str(&err).n > 0);
		return NULL;
	}
	return abac;
}

static void check_policies(struct str text, struct arena *a)
{
	static const struct str groups[] = {{"dev", 3}, {"system:authenticated", 20}};
	const struct user user = {.name = STR("alice"), .groups = groups, .n_groups = ARRAY_SIZE(groups)};
	const struct authz_attributes asked[] = {
		{.user = &user,
			.verb = STR("get"),
			.is_resource = true,
			.group = STR("apps"),
			.resource = STR("controllerrevisions"),
			.ns = STR("a")},
		{.user = &user, .verb = STR("create"), .is_resource = true, .resource = STR("configmaps"), .ns = STR("b")},
		{.user = &user, .verb = STR("get"), .path = STR("/healthz")},
	};
	struct str first, rest;
	str_cut(text, '\n', &first, &rest);
	_cleanup_(abac_freep) struct abac *x = read_policies(first), *y = read_policies(rest);
	_cleanup_(abac_freep) struct abac *whole = read_policies(joined(first, rest, a));
	CHECK((whole != NULL) == (x && y));
	for (size_t i = 0; whole && i < ARRAY_SIZE(asked); i++) {
		CHECK(abac_allows(whole, &asked[i]) == (abac_allows(x, &asked[i]) || abac_allows(y, &asked[i])));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = {(const char *)data + 1, n - 1};
	struct arena a;
	arena_init(&a, CEILING);
	if (n > 0 && data[0] == 't') {
		check_tokens(text, &a);
	} else if (n > 0 && data[0] == 'a') {
		check_policies(text, &a);
	}
	arena_done(&a);
	return 0;
}
