/* Whatever is in etcd: it is refused, or what the cache shows of it is one line of valid JSON with the right resourceVersion, also
 * at another revision, and at each version. */
#include "storage/cache/cache.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok) {
		abort();
	}
}

static struct json *parse(struct arena *a, struct str text)
{
	struct json *j;
	size_t at;

	check(json_parse(&j, a, text, JSON_LIMITS_DEFAULT, &at) == 0);
	return j;
}

static size_t count_members(const struct json *object, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < object->n; i++) {
		n += str_is(object->members[i].name, name);
	}
	return n;
}

static void check_metadata(struct arena *a, const struct cached *o, const struct json *metadata, const char *revision)
{
	check(json_equal(parse(a, cached_metadata(o, a)), metadata));
	check(count_members(metadata, "resourceVersion") == 1);
	check(str_is(json_text(json_gets(metadata, "resourceVersion")), revision));
	check(count_members(metadata, "name") > 1 || str_is(json_text(json_gets(metadata, "name")), "a"));
}

/* What a version adds is a digest among the annotations, and nothing else. */
static void check_added(struct arena *a, const struct cached *o, const struct json *shown)
{
	struct json *metadata = json_gets(shown, "metadata"), *annotations = json_gets(metadata, "annotations");
	struct object *object;

	check(cached_object(&object, o, a) == 0);
	if (count_members(shown, "metadata") == 1 && count_members(metadata, "annotations") == 1) {
		check(str_eq(json_text(json_get(annotations, ANNOTATION_DIGEST)), history_digest(object, a)));
	}
}

static void check_version(struct arena *a, const struct cached *packed, const struct version *v)
{
	_cleanup_(cached_unrefp) struct cached *o = cached_whole(packed);
	struct buf text;

	buf_init(&text, (size_t)1 << 30);
	buf_addc(&text, '{');
	for (size_t i = 0; i < cached_pieces(o, v); i++) {
		buf_add_str(&text, cached_piece(o, v, i));
	}
	check(text.n == 1 + cached_shown_size(packed, v));
	struct json *shown = parse(a, buf_str(&text));
	if (text.n > 1 + cached_body_size(o)) {
		check(version_is_own(v, o->kind));
		check_added(a, o, shown);
	}
	buf_done(&text);
}

static void check_shown(const struct cached *o, const char *revision)
{
	struct arena a;
	arena_init(&a, 1 << 30);
	struct json *whole = parse(&a, cached_text(o, &a)), *metadata = json_gets(whole, "metadata");

	struct str body = cached_body(o, &a);
	check(body.n == cached_body_size(o) && !memchr(body.p, '\n', body.n));
	check(str_starts(body, STR("\"metadata\":{")));
	check(str_is(o->name, "a") && str_is(o->ns, "ns"));
	/* Duplicate members are not looked for: annals writes none. */
	if (count_members(whole, "metadata") == 1) {
		check_metadata(&a, o, metadata, revision);
	}
	for (size_t i = 1; i < o->n_labels; i++) {
		check(str_cmp(cached_label(o, i - 1).key, cached_label(o, i).key) <= 0);
	}
	for (size_t i = 0; i < o->kind->n_versions; i++) {
		check_version(&a, o, &o->kind->versions[i]);
	}
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct kind *kind = kind_by_hub(STR("annals.dev"), STR("controllerrevisions"));
	struct cached *o = cached_new(kind, STR("ns/a"), (struct str){(const char *)data, n}, 5, 7);

	if (o) {
		struct cached *later = cached_gone(o, 123456789);

		check_shown(o, "7");
		cached_unref(o);
		check_shown(later, "123456789");
		cached_unref(later);
	}
	return 0;
}
