#include "tests/fuzz/check_stored.h"

#include "storage/cache/cache.h"
#include "tests/fuzz/fuzz.h"

static struct str stored_as(const struct object *o, const struct version *v, struct arena *a)
{
	_cleanup_(buf_done) struct buf b;

	buf_init(&b, CEILING);
	CHECK(object_encode_stored(&b, o, v));
	return arena_dup(a, buf_str(&b));
}

static struct str key_of(const struct object *o, struct arena *a)
{
	return o->kind->is_namespaced ? arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(o->meta.ns), STR_ARG(o->meta.name))
				      : o->meta.name;
}

/* Labels, values, and what is computed. */
static bool has_same_slices(const struct cached *x, const struct cached *y)
{
	size_t n = 2 * (size_t)x->n_labels + x->kind->n_selectable + x->n_computed;

	for (size_t i = 0; i < n; i++) {
		if (!str_eq(cached_slice(x, i), cached_slice(y, i))) {
			return false;
		}
	}
	return true;
}

static void check_cached(const struct object *o, const struct version *v, struct str hub_text, struct str text, struct arena *a)
{
	_cleanup_(cached_unrefp) struct cached *hub = cached_new(o->kind, key_of(o, a), hub_text, 5, 7);
	_cleanup_(cached_unrefp) struct cached *c = cached_new(o->kind, key_of(o, a), text, 5, 7);
	struct object *back;

	CHECK((hub != NULL) == (c != NULL));
	if (!c) {
		return; /* a name that no key can have */
	}
	CHECK(c->stored_version == v && !c->is_respelled);
	CHECK(str_eq(cached_body(c, a), cached_body(hub, a)) && str_eq(cached_metadata(c, a), cached_metadata(hub, a)) &&
		str_eq(c->uid, hub->uid));
	CHECK(c->is_deleting == hub->is_deleting && c->n_labels == hub->n_labels && c->n_computed == hub->n_computed);
	CHECK(has_same_slices(c, hub));
	CHECK(cached_object(&back, c, a) == 0 && back->stored_version == v);
	CHECK(str_eq(stored_as(back, &o->kind->versions[0], a), hub_text));

	struct str body = cached_body_of(o->kind, text, 7, a);
	CHECK(o->beyond || (!version_stores_hub(v, o->kind) ? body.n == 0 : str_eq(body, cached_body(c, a))));
}

static bool has_kept(struct str text, struct arena *a)
{
	return json_gets(fuzz_parse(text, a), "annals.dev/hub") != NULL;
}

size_t check_stored_object(const struct object *o, struct arena *a)
{
	const struct kind *k = o->kind;
	struct str hub_text = stored_as(o, &k->versions[0], a);
	size_t n_kept = 0;

	for (size_t i = 0; i < k->n_versions; i++) {
		struct str text = stored_as(o, &k->versions[i], a);
		struct object *back;

		CHECK(object_decode_stored(&back, k, text, 7, a) == 0);
		CHECK(back->stored_version == &k->versions[i]);
		CHECK(str_eq(stored_as(back, &k->versions[0], a), hub_text));
		CHECK(str_eq(stored_as(back, &k->versions[i], a), text));
		check_cached(o, &k->versions[i], hub_text, text, a);
		n_kept += !version_stores_hub(&k->versions[i], k) && has_kept(text, a);
	}
	return n_kept;
}

void check_shown_object(const struct object *o, struct arena *a)
{
	const struct kind *k = o->kind;

	for (size_t i = 0; i < k->n_versions; i++) {
		const struct version *v = &k->versions[i];
		struct json *shown = object_to_json(o, v, a);
		struct object *again;
		struct str error;

		CHECK(!json_gets(shown, "annals.dev/hub"));
		CHECK(object_decode(&again, k, v, shown, o, a, NULL, &error) == 0);
		CHECK(object_equal(o, again));
		CHECK(str_eq(stored_as(again, &k->versions[0], a), stored_as(o, &k->versions[0], a)));
	}
}

bool check_stored_text(const struct kind *k, struct str text, struct arena *a)
{
	struct object *o;

	if (object_decode_stored(&o, k, text, 7, a) != 0) {
		return false;
	}
	check_stored_object(o, a);
	return true;
}
