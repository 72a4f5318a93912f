/* An object through a series of writes, one a line: a letter (u: update, a: apply, f: apply by force) and the body, whose kind the first
 * line chooses. Whatever comes in, what is stored reads back as itself, is its own normal form, and the same write again changes nothing. */
#include "api/patch/managed.h"
#include "api/rules/validate.h"
#include "tests/fuzz/fuzz.h"

enum { LINES_MAX = 8 };

struct world {
	struct arena a;
	const struct kind *kind;
	const struct version *version;
	struct object *o; /* as it is now, or NULL */
};

static struct object *update(struct world *w, const struct json *body)
{
	struct object *o;
	struct str error, warnings[2];
	struct decode_report report = {0};
	int r = object_decode(&o, w->kind, w->version, body, w->o, &w->a, &report, &error);
	if (r) {
		struct status st;
		status_init(&st, &w->a);
		CHECK(error.n > 0);
		object_refuse(&st, w->kind, w->version, body->source, body, r, error);
		CHECK(st.code == 400);
		object_refuse_strict(&st, w->kind, w->version, body, &report);
		return NULL;
	}
	meta_dedup_owners(&o->meta, false, &w->a, warnings);
	managed_update(o, w->o, w->version, STR(""), STR("m"), STR("2026-01-01T00:00:00Z"), &w->a);
	return o;
}

static struct object *apply(struct world *w, const struct json *body, bool force)
{
	struct object *o;
	struct status st;
	status_init(&st, &w->a);
	const struct managed_apply by = {.kind = w->kind,
		.version = w->version,
		.manager = STR("kubectl"),
		.now = STR("2026-01-01T00:00:00Z"),
		.force = force};
	if (managed_apply(&o, w->o, body, &by, &w->a, &st)) {
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
	struct json *body = line.n < 2 ? NULL : fuzz_parse((struct str){line.p + 1, line.n - 1}, &w->a);
	if (!body) {
		return;
	}
	if (!w->kind) {
		w->kind = fuzz_kind_of(body, &w->version);
	}
	struct object *o = write_once(w, line.p[0], body);
	if (!o) {
		return;
	}
	fuzz_check_object(o, w->version, &w->a);
	fuzz_check_validation(o, w->o, &w->a);
	w->o = o;
	struct object *again = line.p[0] == 'u' ? NULL : write_once(w, line.p[0], body);
	CHECK(!again || object_equal(again, o));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct world w = {0};
	struct str line, rest = {(const char *)data, n};
	bool more = true;
	arena_init(&w.a, CEILING);
	for (int i = 0; more && i < LINES_MAX; i++) {
		more = str_cut(rest, '\n', &line, &rest);
		write_line(&w, line);
	}
	arena_done(&w.a);
	return 0;
}
