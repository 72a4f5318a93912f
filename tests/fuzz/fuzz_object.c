/* An object through a series of writes, one a line: a letter (u: update, a: apply, f: apply by force) and the body. Whatever comes in,
 * what is stored reads back as itself, is its own normal form, and the same write again changes nothing. */
#include "api/managed.h"
#include "api/validate.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { CEILING = 64 << 20, LINES_MAX = 8 };

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

struct world {
	struct arena a;
	const struct kind *kind;
	const struct door *door;
	struct object *o; /* as it is now, or NULL */
};

static struct str stored(struct world *w, const struct object *o)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, CEILING);
	CHECK(object_encode_stored(&b, o));
	return arena_dup(&w->a, buf_str(&b));
}

static void check_object(struct world *w, const struct object *o)
{
	struct object *back, *again;
	struct str text = stored(w, o), error;
	CHECK(object_decode_stored(&back, w->kind, text, 1, &w->a) == 0);
	CHECK(str_eq(stored(w, back), text));
	int r = object_decode(&again, w->kind, w->door, object_to_json(o, w->door, &w->a), o, &w->a, NULL, &error);
	CHECK(r == 0 || arena_is_full(&w->a));
	CHECK(r || str_eq(stored(w, again), text));
	CHECK(r || object_equal(o, again));
}

static void check_validation(struct world *w, const struct object *o)
{
	struct field_errors errors;
	struct status st;
	status_init(&st, &w->a);
	field_errors_init(&errors, &w->a);
	validate_meta(w->kind, &o->meta, &errors);
	w->kind->validate(o, &errors);
	if (w->o) {
		validate_meta_update(w->kind, &o->meta, &w->o->meta, &errors);
	}
	status_invalid(&st, STR("apps"), STR("ControllerRevision"), o->meta.name, &errors);
	CHECK(status_to_json(&st, &w->a));
}

static struct object *update(struct world *w, const struct json *body)
{
	struct object *o;
	struct str error, warnings[2];
	struct decode_report report = {0};
	int r = object_decode(&o, w->kind, w->door, body, w->o, &w->a, &report, &error);
	if (r) {
		struct status st;
		status_init(&st, &w->a);
		CHECK(error.n > 0);
		object_refuse(&st, w->kind, w->door, body->source, body, r, error);
		CHECK(st.code == 400);
		object_refuse_strict(&st, w->kind, w->door, body, &report);
		return NULL;
	}
	meta_dedup_owners(&o->meta, false, &w->a, warnings);
	managed_update(o, w->o, w->door, STR(""), STR("m"), STR("2026-01-01T00:00:00Z"), &w->a);
	return o;
}

static struct object *apply(struct world *w, const struct json *body, bool force)
{
	struct object *o;
	struct status st;
	status_init(&st, &w->a);
	if (managed_apply(&o, w->o, body, w->kind, w->door, STR(""), STR("kubectl"), force, STR("2026-01-01T00:00:00Z"), &w->a,
		    &st)) {
		CHECK(st.code >= 400);
		return NULL;
	}
	return o;
}

static struct object *write_once(struct world *w, char letter, const struct json *body)
{
	return letter == 'u' ? update(w, body) : letter == 'a' || letter == 'f' ? apply(w, body, letter == 'f') : NULL;
}

static void write_line(struct world *w, struct str line)
{
	struct json *body;
	size_t at;
	if (line.n < 2 || json_parse(&body, &w->a, (struct str){line.p + 1, line.n - 1}, JSON_LIMITS_DEFAULT, &at)) {
		return;
	}
	struct object *o = write_once(w, line.p[0], body);
	if (!o) {
		return;
	}
	check_object(w, o);
	check_validation(w, o);
	w->o = o;
	struct object *again = line.p[0] == 'u' ? NULL : write_once(w, line.p[0], body);
	CHECK(!again || object_equal(again, o));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct world w = {0};
	struct str line, rest = {(const char *)data, n};
	bool more = true;
	w.kind = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, &w.door);
	arena_init(&w.a, CEILING);
	for (int i = 0; more && i < LINES_MAX; i++) {
		more = str_cut(rest, '\n', &line, &rest);
		write_line(&w, line);
	}
	arena_done(&w.a);
	return 0;
}
