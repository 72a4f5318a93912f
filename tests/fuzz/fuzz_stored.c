/* Objects as they might be in etcd, in any version: a text as it stands, or, where the input is no JSON, an object that its bytes make
 * (tests/fuzz/maker.h). Read and stored in any other version nothing is lost, and the watch cache shows the same of all. */
#include "tests/fuzz/check_stored.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/maker.h"

#include "storage/cache/cache.h"

static void try_text(const struct json *body, struct str text, struct arena *a)
{
	const struct version *v;
	const struct kind *k = fuzz_kind_of(body, &v);

	bool is_read = check_stored_text(k, text, a);
	_cleanup_(cached_unrefp) struct cached *c = cached_new(k, STR("ns/a"), text, 5, 7);
	CHECK(is_read || !c);
}

static void try_made(const uint8_t *data, size_t n, struct arena *a)
{
	struct maker m;
	struct json *sent;
	struct object *o;
	struct str text, error;
	size_t at;

	maker_init_bytes(&m, data, n, a);
	const struct kind *k = kind_at(maker_choose(&m, kind_count()));
	const struct version *v = &k->versions[maker_choose(&m, k->n_versions)];
	m.is_wild = maker_choose(&m, 2);
	text = maker_object(&m, k, v);
	check_stored_text(k, text, a);
	CHECK(json_parse(&sent, a, text, JSON_LIMITS_DEFAULT, &at) == 0);
	if (!k->extension && object_decode(&o, k, v, sent, NULL, a, NULL, &error) == 0) {
		check_stored_object(o, a);
		check_shown_object(o, a);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = {(const char *)data, n};
	struct arena a;

	arena_init(&a, (size_t)1 << 30);
	struct json *body = fuzz_parse(text, &a);
	if (body) {
		try_text(body, text, &a);
	} else {
		try_made(data, n, &a);
	}
	arena_done(&a);
	return 0;
}
