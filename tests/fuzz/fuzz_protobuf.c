/* A body in protobuf, through one kind after the other: what comes out of it is an object like one that came in JSON, and what is written of
 * that object is read as the same object. */
#include "api/model/kind.h"
#include "api/model/object.h"
#include "api/model/protobuf.h"
#include "api/model/protobuf_write.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok) {
		abort();
	}
}

static struct str text_of(const struct json *j, struct arena *a)
{
	struct str text;
	struct buf b;
	buf_init(&b, 64 << 20);
	check(json_encode(&b, j));
	text = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return text;
}

static void check_written(const struct kind *k, const struct version *v, const struct object *o, struct arena *a)
{
	struct object *again;
	struct json *tree = NULL;
	struct str error = {NULL, 0};
	struct buf body;
	buf_init(&body, 64 << 20);
	check(protobuf_from_tree(&body, object_to_json(o, v, a)));
	check(protobuf_decode(&tree, k->kind, version_type(k, v), arena_dup(a, buf_str(&body)), a, &error) == 0 ||
		arena_is_full(a));
	buf_done(&body);
	if (!arena_is_full(a) && error.n == 0) {
		check(object_decode(&again, k, v, tree, NULL, a, NULL, &error) == 0);
		check(object_equal(o, again));
	}
}

/* Its text is JSON, and JSON's way to the object ends where protobuf's did. */
static void check_object(const struct kind *k, const struct version *v, const struct json *tree, struct arena *a)
{
	struct object *o, *again;
	struct json *parsed;
	struct str error;
	size_t at;
	int r = json_parse(&parsed, a, text_of(tree, a), (struct json_limits){.depth = 1024, .values = SIZE_MAX}, &at);
	check(r == 0 || arena_is_full(a));
	if (!r && object_decode(&o, k, v, tree, NULL, a, NULL, &error) == 0 &&
		object_decode(&again, k, v, parsed, NULL, a, NULL, &error) == 0) {
		check(object_equal(o, again));
		check_written(k, v, o, a);
	}
}

static void read_as(const struct kind *k, const struct version *v, struct str body, struct arena *a)
{
	struct json *tree = NULL;
	struct str error = {NULL, 0};
	int r = protobuf_decode(&tree, k->kind, version_type(k, v), body, a, &error);
	check(r == OBJECT_UNRECOGNIZED || json_is(tree, JSON_OBJECT));
	check((r == 0) == (error.n == 0));
	if (!r) {
		check_object(k, v, tree, a);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a;
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		arena_init(&a, 16 << 20);
		if (protobuf_knows(k->type)) {
			read_as(k, &k->versions[0], (struct str){(const char *)data, n}, &a);
		}
		arena_done(&a);
	}
	return 0;
}
