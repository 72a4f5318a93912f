/* Server-side apply on an object as it might be in etcd, with whatever managedFields. The first line is that object, each of the others
 * a letter and what is applied: a and b by two managers, A and B by force. What is applied is then owned by its manager, all of it and
 * nothing else; the same again changes nothing; and what remains of entries is sound. */
#include "api/patch/managed.h"
#include "api/patch/managers.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

enum { LINES_MAX = 6 };

struct world {
	struct arena a;
	const struct kind *kind;
	const struct version *version;
	struct object *o; /* as it is now, or NULL */
};

static bool is_same_set(const struct field_set *x, const struct field_set *y, struct arena *a)
{
	return field_set_is_empty(x)
		? field_set_is_empty(y)
		: str_eq(fuzz_encoded(field_set_to_json(x, a), a), fuzz_encoded(field_set_to_json(y, a), a));
}

/* (x - y) + (x * y) = x, and the two have nothing in common. */
static void check_algebra(struct field_set *x, struct field_set *y, struct arena *a)
{
	struct field_set *difference = field_set_difference(x, y, a), *common = field_set_intersection(x, y, a);
	CHECK(is_same_set(field_set_union(difference, common, a), x, a));
	CHECK(field_set_is_empty(field_set_intersection(difference, common, a)));
	CHECK(field_set_is_empty(field_set_difference(common, y, a)));
	CHECK(is_same_set(field_set_union(x, y, a), field_set_union(y, x, a), a));
}

static void check_entries(struct world *w)
{
	struct managers m, again;
	managers_init(&m, &w->a);
	managers_init(&again, &w->a);
	if (!w->o->meta.managed_fields) {
		return;
	}
	CHECK(managers_decode(&m, w->o->meta.managed_fields, &w->a));
	for (size_t i = 0; i < m.n; i++) {
		CHECK(!field_set_is_empty(m.v[i].set));
		check_algebra(m.v[i].set, m.v[(i + 1) % m.n].set, &w->a);
	}
	struct str text = fuzz_encoded(w->o->meta.managed_fields, &w->a);
	CHECK(managers_decode(&again, managers_encode(&m), &w->a));
	CHECK(str_eq(fuzz_encoded(managers_encode(&again), &w->a), text));
}

/* What the manager owns is what it has applied. */
static void check_ownership(struct world *w, const struct json *body, struct str manager)
{
	struct managers m;
	struct json *ordered;
	struct str error;
	managers_init(&m, &w->a);
	managers_decode(&m, w->o->meta.managed_fields, &w->a);
	CHECK(typed_validate(&ordered, version_type(w->kind, w->version), body, &w->a, &error) == 0);
	struct field_set *applied = field_set_without(
		typed_fields(version_type(w->kind, w->version), ordered, &w->a), w->kind->reset_fields, &w->a);
	const struct manager like = {.name = manager, .is_apply = true}, *self = managers_find(&m, &like);
	CHECK(is_same_set(applied, self ? self->set : NULL, &w->a));
}

static struct object *apply(struct world *w, const struct json *body, struct str manager, bool force)
{
	struct object *o;
	struct status st;
	status_init(&st, &w->a);
	const struct managed_apply by = {
		.kind = w->kind, .version = w->version, .manager = manager, .now = STR("2026-01-01T00:00:00Z"), .force = force};
	if (managed_apply(&o, w->o, body, &by, &w->a, &st)) {
		CHECK(arena_is_full(&w->a) || (st.code >= 400 && st.message.n > 0));
		CHECK(arena_is_full(&w->a) || !force || st.code != 409);
		return NULL;
	}
	return o;
}

static void apply_line(struct world *w, struct str line)
{
	struct json *body = line.n < 2 ? NULL : fuzz_parse((struct str){line.p + 1, line.n - 1}, &w->a);
	char letter = body ? (char)tolower((unsigned char)line.p[0]) : '\0';
	if (letter != 'a' && letter != 'b') {
		return;
	}
	if (!w->kind) {
		w->kind = fuzz_kind_of(body, &w->version);
	}
	struct str manager = letter == 'a' ? STR("one") : STR("two");
	struct object *o = apply(w, body, manager, isupper((unsigned char)line.p[0]));
	if (!o) {
		return;
	}
	w->o = o;
	fuzz_check_object(o, w->version, &w->a);
	check_entries(w);
	check_ownership(w, body, manager);
	if (!o->meta.managed_fields) {
		return; /* whoever applies next finds that all of it was there before anybody applied */
	}
	struct object *again = apply(w, body, manager, false);
	CHECK(again || arena_is_full(&w->a));
	CHECK(!again || object_equal(again, o));
}

static void start_from(struct world *w, struct str line)
{
	struct json *body = fuzz_parse(line, &w->a);
	struct str error;
	if (json_is(body, JSON_OBJECT)) {
		w->kind = fuzz_kind_of(body, &w->version);
		object_decode(&w->o, w->kind, w->version, body, NULL, &w->a, NULL, &error);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct world w = {0};
	struct str line, rest = {(const char *)data, n};
	arena_init(&w.a, CEILING);
	bool more = str_cut(rest, '\n', &line, &rest);
	start_from(&w, line);
	for (int i = 0; more && i < LINES_MAX; i++) {
		more = str_cut(rest, '\n', &line, &rest);
		apply_line(&w, line);
	}
	arena_done(&w.a);
	return 0;
}
