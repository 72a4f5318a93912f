#include "tests/fuzz/check_stored.h"

#include "api/model/packed.h"
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

/* The text in compressed form; base: NULL, or the one that it continues. */
static struct str packed(const struct kind *k, struct str text, const struct base *base, struct arena *a)
{
	_cleanup_(buf_done) struct buf frame, value;

	buf_init(&frame, CEILING);
	buf_init(&value, CEILING);
	CHECK(packed_make_frame(&frame, text, base));
	packed_write(&value, k->kind, buf_str(&frame), base);
	return arena_dup(a, buf_str(&value));
}

static struct str shown_whole(const struct cached *o, const struct version *v, struct arena *a)
{
	_cleanup_(cached_unrefp) struct cached *whole = cached_whole(o);
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, CEILING);
	for (size_t i = 0; i < cached_pieces(whole, v); i++) {
		buf_add_str(&out, cached_piece(whole, v, i));
	}
	CHECK(out.n == cached_shown_size(o, v));
	return arena_dup(a, buf_str(&out));
}

/* What the cache has packed looks like what it has as plain text. */
static void check_packed_like(const struct cached *c, const struct cached *p, struct arena *a)
{
	CHECK(p->stored_version == c->stored_version && p->is_respelled == c->is_respelled && p->is_deleting == c->is_deleting);
	CHECK(p->n_labels == c->n_labels && p->n_computed == c->n_computed && has_same_slices(p, c) && str_eq(p->uid, c->uid));
	CHECK(cached_body_size(p) == cached_body_size(c));
	CHECK(str_eq(cached_body(p, a), cached_body(c, a)) && str_eq(cached_metadata(p, a), cached_metadata(c, a)));
	CHECK(str_eq(cached_text(p, a), cached_text(c, a)));
	for (size_t i = 0; i < c->kind->n_versions; i++) {
		CHECK(str_eq(shown_whole(p, &c->kind->versions[i], a), shown_whole(c, &c->kind->versions[i], a)));
	}
}

static void check_packed(const struct kind *k, struct str rest, struct str text, struct arena *a)
{
	_cleanup_(buf_done) struct buf ignored;
	_cleanup_(cached_unrefp) struct cached *c = cached_new(k, rest, text, 5, 7);
	struct object *back;

	buf_init(&ignored, CEILING);
	_cleanup_(base_unrefp) struct base *base = base_make(STR("/group"), STR("a text that begins otherwise"), &ignored);
	for (int i = 0; i < 2; i++) {
		struct str value = packed(k, text, i ? base : NULL, a);
		_cleanup_(cached_unrefp) struct cached *p = cached_new(k, rest, value, 5, 7);
		CHECK((c != NULL) == (p != NULL));
		if (c) {
			_cleanup_(cached_unrefp) struct cached *gone = cached_gone(c, 123456), *too = cached_gone(p, 123456);
			check_packed_like(c, p, a);
			check_packed_like(gone, too, a);
		}
		CHECK(object_decode_stored(&back, k, value, 7, a) == 0);
		CHECK(str_eq(stored_as(back, back->stored_version, a), text));
	}
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
		check_packed(k, key_of(o, a), text, a);
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
