/* Objects in all versions of their kind, as text: nothing is lost, whatever the objects are like. Of every kind there is, made by tests/fuzz/maker.c. */
#include "tests/fuzz/check_stored.h"
#include "tests/fuzz/maker.h"
#include "tests/unit/api_world.h"

/* ---- a kind whose versions do all that a conversion can do wrong ---- */

/* Shows nothing at all. */
static struct json *blind_from_hub(const struct json *hub, struct arena *a)
{
	struct json *out = json_object(a);
	static const char *const names[] = {"kind", "apiVersion", "metadata"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_add(a, out, str_of(names[i]), json_gets(hub, names[i]));
	}
	return out;
}

static struct json *as_sent(const struct json *sent, const struct json *stored_hub _unused_, struct arena *a)
{
	return json_copy(a, sent);
}

/* Puts members in where there are none. */
static struct json *eager_to_hub(const struct json *sent, const struct json *stored_hub _unused_, struct arena *a)
{
	struct json *out = json_copy(a, sent);
	json_set(a, out, STR("size"), json_int(a, 1));
	json_set(a, out, STR("nobody"), json_null(a));
	return out;
}

static struct json *reversed(const struct json *j, struct arena *a)
{
	struct json *out = json_object(a);
	for (uint32_t i = 0; i < j->n; i++) {
		uint32_t at = i < 3 ? i : j->n + 2 - i;
		json_add(a, out, j->members[at].name, j->members[at].value);
	}
	return out;
}

static struct json *turned_to_hub(const struct json *sent, const struct json *stored_hub _unused_, struct arena *a)
{
	return json_copy(a, sent);
}

/* Spells numbers and texts anew. */
static struct json *plain_from_hub(const struct json *hub, struct arena *a)
{
	struct json *out = json_copy(a, hub), *size = json_gets(hub, "size"), *note = json_gets(hub, "note");
	int64_t n;
	if (json_to_int64(size, &n)) {
		json_set(a, out, STR("size"), json_int(a, n));
	}
	if (json_is(note, JSON_STRING)) {
		json_set(a, out, STR("note"), json_string(a, json_text(note)));
	}
	return out;
}

static const struct type knot_type = {.kind = TYPE_OBJECT,
	.go_type = "v1.Knot",
	.fields = (const struct field[]){OBJECT_FIELDS, {"size", &type_int64, 0, "", NULL, NULL},
		{"note", &type_string, 0, "", NULL, NULL}, {"data", &type_raw, 0, "", NULL, NULL},
		{"more", &type_raw, FIELD_KEEP_EMPTY, "", NULL, NULL}, {0}}};

static const struct version knot_versions[] = {
	{.group = "knots.example.com", .name = "v1"},
	{.group = "knots.example.com", .name = "v2"},
	{.group = "knots.example.com", .name = "v1alpha1", .from_hub = blind_from_hub, .to_hub = as_sent},
	{.group = "knots.example.com", .name = "v1alpha2", .from_hub = blind_from_hub, .to_hub = eager_to_hub},
	{.group = "knots.example.com", .name = "v1alpha3", .from_hub = reversed, .to_hub = turned_to_hub},
	{.group = "knots.example.com", .name = "v1alpha4", .from_hub = plain_from_hub, .to_hub = as_sent},
};

static struct kind knots = {
	.kind = "Knot",
	.list_kind = "KnotList",
	.resource = "knots",
	.singular = "knot",
	.is_namespaced = true,
	.versions = knot_versions,
	.n_versions = ARRAY_SIZE(knot_versions),
	.type = &knot_type,
};
KIND_REGISTER(knots)

/* ---- any object of any kind ---- */

struct tally {
	size_t n_objects, n_kept;
};

/* As a client would have sent it through this version; what it may not be is left out. */
static void try_sent(struct tally *t, const struct kind *k, const struct version *v, uint64_t seed, struct arena *a)
{
	struct maker m;
	struct json *sent;
	struct object *o;
	struct str error;
	size_t at;
	maker_init_seed(&m, seed, a);
	assert_int_equal(json_parse(&sent, a, maker_object(&m, k, v), JSON_LIMITS_DEFAULT, &at), 0);
	if (object_decode(&o, k, v, sent, NULL, a, NULL, &error) == 0) {
		t->n_objects++;
		t->n_kept += check_stored_object(o, a);
		if (k != &knots) { /* whose versions are not made to take anything back */
			check_shown_object(o, a);
		}
	}
}

/* As somebody else might have put it into etcd. */
static void try_wild(struct tally *t, const struct kind *k, const struct version *v, uint64_t seed, struct arena *a)
{
	struct maker m;
	maker_init_seed(&m, seed, a);
	m.is_wild = true;
	t->n_objects += check_stored_text(k, maker_object(&m, k, v), a);
}

/* As an older build might have left it, which has changed the object but not what is kept beside it. */
static void try_changed(struct tally *t, const struct kind *k, const struct version *v, uint64_t seed, struct arena *a)
{
	struct maker m;
	struct json *object, *kept;
	struct buf text;
	size_t at;
	maker_init_seed(&m, seed, a);
	m.is_wild = true;
	assert_int_equal(json_parse(&object, a, maker_object(&m, k, v), JSON_LIMITS_DEFAULT, &at), 0);
	assert_int_equal(json_parse(&kept, a, maker_object(&m, k, &k->versions[0]), JSON_LIMITS_DEFAULT, &at), 0);
	object = json_copy(a, object);
	kept = json_copy(a, kept);
	if (maker_choose(&m, 4)) {
		json_remove(kept, STR("kind"));
	}
	json_set(a, object, STR("annals.dev/hub"), kept);
	buf_init(&text, 1 << 24);
	json_encode(&text, object);
	t->n_objects += check_stored_text(k, buf_str(&text), a);
	buf_done(&text);
}

static void for_all(struct tally *t,
	void (*try)(struct tally *t, const struct kind *k, const struct version *v, uint64_t seed, struct arena *a))
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		uint64_t n = (k->n_versions > 1 ? 400 : 40) / SEEDS_SHARE, before = t->n_objects;
		for (uint64_t seed = 1; seed <= n && !k->extension; seed++) {
			struct arena a;
			arena_init(&a, (size_t)256 << 20);
			try(t, k, &k->versions[seed % k->n_versions], seed, &a);
			arena_done(&a);
		}
		assert_true(k->extension || t->n_objects - before > n / 4);
	}
}

static void test_stored__no_version_loses_what_clients_send(void **state _unused_)
{
	struct tally t = {0};
	for_all(&t, try_sent);
	assert_true(t.n_kept > 100 / SEEDS_SHARE);
}

static void test_stored__no_version_loses_what_others_have_written(void **state _unused_)
{
	for_all(&(struct tally){0}, try_wild);
}

static void test_stored__whatever_is_kept_beside_an_object_will_do(void **state _unused_)
{
	for_all(&(struct tally){0}, try_changed);
}

/* ---- what is kept ---- */

static const char *text_in(struct api_world *w, const struct object *o, const char *api_version)
{
	struct buf b;
	buf_init(&b, 1 << 20);
	assert_true(object_encode_stored(&b, o, kind_version(o->kind, str_of(api_version))));
	const char *text = arena_dup(&w->a, buf_str(&b)).p;
	buf_done(&b);
	return text;
}

static struct object *read_back(struct api_world *w, const char *group, const char *resource, const char *text)
{
	struct object *o;
	const struct kind *k = kind_by_hub(str_of(group), str_of(resource));
	assert_int_equal(object_decode_stored(&o, k, arena_dup(&w->a, str_of(text)), 7, &w->a), 0);
	return o;
}

static struct object *knot(struct api_world *w, const char *members)
{
	return read_back(w, "knots.example.com", "knots",
		arena_printf(&w->a,
			"{\"kind\":\"Knot\",\"apiVersion\":\"knots.example.com/v1\",\"metadata\":{\"name\":\"a\"}%s}", members)
			.p);
}

#define KNOT(version, members) \
	"{\"kind\":\"Knot\",\"apiVersion\":\"knots.example.com/" version "\",\"metadata\":{\"name\":\"a\"}" members "}"

static void test_stored__only_what_is_lost_is_kept(void **state)
{
	struct api_world *w = *state;
	struct object *o = knot(w, ",\"size\":1.0,\"note\":\"\\u0041\",\"data\":{}");
	assert_string_equal(
		text_in(w, o, "knots.example.com/v2"), KNOT("v2", ",\"size\":1.0,\"note\":\"\\u0041\",\"data\":{}"));
	assert_string_equal(text_in(w, o, "knots.example.com/v1alpha4"),
		KNOT("v1alpha4", ",\"size\":1.0,\"note\":\"A\",\"data\":{},\"annals.dev/hub\":{\"note\":\"\\u0041\"}"));
	assert_string_equal(text_in(w, knot(w, ",\"size\":1"), "knots.example.com/v1alpha4"), KNOT("v1alpha4", ",\"size\":1"));
}

static void test_stored__all_is_kept_where_members_come_or_change_places(void **state)
{
	struct api_world *w = *state;
	assert_string_equal(text_in(w, knot(w, ",\"note\":\"x\""), "knots.example.com/v1alpha2"),
		KNOT("v1alpha2", ",\"annals.dev/hub\":{\"kind\":\"Knot\",\"note\":\"x\"}"));
	assert_string_equal(text_in(w, knot(w, ",\"size\":1,\"note\":\"x\""), "knots.example.com/v1alpha3"),
		KNOT("v1alpha3",
			",\"note\":\"x\",\"size\":1,\"annals.dev/hub\":{\"kind\":\"Knot\",\"size\":1,\"note\":\"x\"}"));
}

static void test_stored__a_dependent_of_several_is_kept_beside_the_one(void **state)
{
	struct api_world *w = *state;
	static const char one[] = "{\"kind\":\"Dependent\",\"apiVersion\":\"annals.dev/v1beta1\",\"metadata\":{\"name\":\"a\"},"
				  "\"spec\":{\"providerName\":\"p\",\"whenMissing\":\"Wait\"},\"status\":{}}";
	struct object *o = read_back(w, "annals.dev", "dependents", one);
	assert_string_equal(text_in(w, o, "annals.dev/v1beta1"), one);
	assert_string_equal(text_in(w, o, "annals.dev/v1"),
		"{\"kind\":\"Dependent\",\"apiVersion\":\"annals.dev/"
		"v1\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"providers\":"
		"[{\"kind\":\"Provider\",\"name\":\"p\"}],\"whenMissing\":\"Wait\"},\"status\":{}}");
	static const char two[] = "{\"kind\":\"Dependent\",\"apiVersion\":\"annals.dev/"
				  "v1beta1\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"providerName\":"
				  "\"p\",\"whenMissing\":\"Wait\"},\"status\":{},\"annals.dev/"
				  "hub\":{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"p\"},"
				  "{\"kind\":\"ControllerRevision\",\"name\":\"r\"}],\"whenMissing\":\"Wait\"}}}";
	o = read_back(w, "annals.dev", "dependents", two);
	assert_string_equal(text_in(w, o, "annals.dev/v1beta1"), two);
	assert_null(json_gets(o->fields, "annals.dev/hub"));
}

#define PROVIDER(name) "{\"kind\":\"Provider\",\"name\":\"" name "\"}"
#define BETA(provider, status, kept)                                                                   \
	"{\"kind\":\"Dependent\",\"apiVersion\":\"annals.dev/v1beta1\",\"metadata\":{\"name\":\"a\"}," \
	"\"spec\":{\"providerName\":\"" provider "\",\"whenMissing\":\"Wait\"},\"status\":" status kept "}"
#define V1(providers, status)                                                                     \
	"{\"kind\":\"Dependent\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"a\"}," \
	"\"spec\":{\"providers\":[" providers "],\"whenMissing\":\"Wait\"},\"status\":" status "}"
#define TWO PROVIDER("p") "," PROVIDER("r")
#define KEPT_TWO ",\"annals.dev/hub\":{\"spec\":{\"providers\":[" TWO "],\"whenMissing\":\"Wait\"}}"

/* An older build, which does not know what is kept, leaves it: what it has changed counts, the rest is as it was. */
static void test_stored__what_an_older_build_changed_counts(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *stored, *means;
	} rows[] = {
		{BETA("p", "{}", KEPT_TWO), V1(TWO, "{}")},
		{BETA("p", "{\"phase\":\"Broken\"}", KEPT_TWO), V1(TWO, "{\"phase\":\"Broken\"}")},
		{BETA("q", "{}", KEPT_TWO), V1(PROVIDER("q"), "{}")},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *o = read_back(w, "annals.dev", "dependents", rows[i].stored);
		assert_string_equal(text_in(w, o, "annals.dev/v1"), rows[i].means);
	}
}

/* And we are somebody's older build. */
static void test_stored__what_a_newer_build_keeps_is_left(void **state)
{
	struct api_world *w = *state;
	static const char newer[] = KNOT("v1", ",\"size\":1,\"annals.dev/hub\":{\"knots\":[1.0]}");
	struct object *o = read_back(w, "knots.example.com", "knots", newer);
	assert_null(json_gets(o->fields, "annals.dev/hub"));
	assert_string_equal(text_in(w, o, "knots.example.com/v1"), newer);
	const char *converted = text_in(w, o, "knots.example.com/v1alpha4");
	assert_string_equal(
		converted, KNOT("v1alpha4", ",\"size\":1,\"annals.dev/hub\":{\"annals.dev/hub\":{\"knots\":[1.0]}}"));
	assert_string_equal(text_in(w, read_back(w, "knots.example.com", "knots", converted), "knots.example.com/v1"), newer);
}

/* A client may nest as deep as the limit: that what is kept stands one level deeper must not make it unreadable. */
static void test_stored__the_deepest_object_is_kept(void **state)
{
	struct api_world *w = *state;
	struct str data = STR("0");
	for (unsigned i = 0; i < JSON_LIMITS_DEFAULT.depth - 2; i++) {
		data = arena_printf(&w->a, "[" STR_FMT "]", STR_ARG(data));
	}
	struct object *o = knot(w, arena_printf(&w->a, ",\"data\":{\"x\":" STR_FMT "}", STR_ARG(data)).p);
	check_stored_object(o, &w->a);
}

/* What a newer build keeps stands as deep. */
static void test_stored__names_the_version_of_the_deepest_object(void **state)
{
	struct api_world *w = *state;
	const char *open = memset(arena_text(&w->a, JSON_LIMITS_DEFAULT.depth), '[', JSON_LIMITS_DEFAULT.depth);
	const char *close = memset(arena_text(&w->a, JSON_LIMITS_DEFAULT.depth), ']', JSON_LIMITS_DEFAULT.depth);
	struct str text = arena_printf(&w->a, KNOT("v9", ",\"annals.dev/hub\":%.*s%.*s"), (int)JSON_LIMITS_DEFAULT.depth, open,
		(int)JSON_LIMITS_DEFAULT.depth, close);
	struct object *o;

	assert_int_equal(object_decode_stored(&o, kind_by_hub(STR("knots.example.com"), STR("knots")), text, 1, &w->a),
		OBJECT_WRONG_VERSION);
	struct str version = object_stored_version(text, &w->a);
	assert_str(version, "knots.example.com/v9");
	assert_str(object_stored_version(STR("{"), &w->a), "");
}

static void test_stored__what_is_kept_in_vain_does_no_harm(void **state)
{
	struct api_world *w = *state;
	static const char *const kept[] = {
		"null", "7", "[]", "{}", "\"x\"", "{\"metadata\":{\"name\":\"b\"},\"apiVersion\":\"v9\"}"};
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const char *text = arena_printf(&w->a, KNOT("v1alpha1", ",\"annals.dev/hub\":%s"), kept[i]).p;
		struct object *o = read_back(w, "knots.example.com", "knots", text);
		assert_string_equal(text_in(w, o, "knots.example.com/v1"), KNOT("v1", ""));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stored__no_version_loses_what_clients_send),
		TEST(test_stored__no_version_loses_what_others_have_written),
		TEST(test_stored__whatever_is_kept_beside_an_object_will_do),
		API_TEST(test_stored__only_what_is_lost_is_kept),
		API_TEST(test_stored__all_is_kept_where_members_come_or_change_places),
		API_TEST(test_stored__a_dependent_of_several_is_kept_beside_the_one),
		API_TEST(test_stored__what_an_older_build_changed_counts),
		API_TEST(test_stored__what_a_newer_build_keeps_is_left),
		API_TEST(test_stored__the_deepest_object_is_kept),
		API_TEST(test_stored__names_the_version_of_the_deepest_object),
		API_TEST(test_stored__what_is_kept_in_vain_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
