/* A request line as it comes from the wire: "METHOD target", and in further lines a body of DeleteOptions. What it is taken for stays the
 * same when everything in it is percent-escaped; it is either a resource with a verb that it has, or refused with a reason; options are
 * what they may be, or refused. */
#include "api/rules/validate.h"
#include "server/parse/route.h"
#include "tests/fuzz/fuzz.h"

static void check_refusal(const struct status *st)
{
	CHECK(st->code >= 400 && st->code < 500);
	CHECK(st->message.n > 0);
	CHECK(status_to_json(st, st->arena));
}

/* Every byte escaped, but what takes the text apart. */
static void escape(struct buf *out, struct str s, char kept)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.n; i++) {
		if (kept && s.p[i] == kept) {
			buf_addc(out, kept);
			continue;
		}
		buf_addc(out, '%');
		buf_addc(out, digits[(uint8_t)s.p[i] >> 4]);
		buf_addc(out, digits[s.p[i] & 15]);
	}
}

static struct str escaped_target(const struct route *r, struct arena *a)
{
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, CEILING);
	escape(&out, r->path, '/');
	for (size_t i = 0; i < r->params.n; i++) {
		buf_addc(&out, i ? '&' : '?');
		escape(&out, r->params.v[i].name, '\0');
		buf_addc(&out, '=');
		escape(&out, r->params.v[i].value, '\0');
	}
	return arena_dup(a, buf_str(&out));
}

static void check_same(const struct route *x, const struct route *y)
{
	const struct str xs[] = {x->path, x->group, x->version_name, x->resource, x->ns, x->name, x->subresource};
	const struct str ys[] = {y->path, y->group, y->version_name, y->resource, y->ns, y->name, y->subresource};
	for (size_t i = 0; i < ARRAY_SIZE(xs); i++) {
		CHECK(str_eq(xs[i], ys[i]));
	}
	CHECK(x->is_resource == y->is_resource && x->has_ns == y->has_ns && x->is_watch == y->is_watch);
	CHECK(x->kind == y->kind && x->version == y->version && strcmp(x->verb, y->verb) == 0);
	CHECK(x->params.n == y->params.n);
	for (size_t i = 0; i < x->params.n; i++) {
		CHECK(str_eq(x->params.v[i].name, y->params.v[i].name));
		CHECK(str_eq(x->params.v[i].value, y->params.v[i].value));
	}
}

static void check_resolved(struct route *r, struct status *st)
{
	const char *messages[8];
	if (route_resolve(r, st)) {
		check_refusal(st);
		return;
	}
	CHECK(r->kind && r->version && version_type(r->kind, r->version));
	CHECK((r->action & (r->action - 1)) == 0 && (r->action & (r->sub ? r->sub->verbs : r->kind->verbs)));
	CHECK(r->name.n == 0 || validate_path_segment(r->name, messages) == 0);
	CHECK(r->is_watch == (r->action == VERB_WATCH));
}

static void check_list_options(const struct route *r, struct arena *a)
{
	for (int is_watch = 0; is_watch < 2; is_watch++) {
		struct list_options o;
		struct status st;
		status_init(&st, a);
		if (list_options_parse(&o, &r->params, is_watch, &st) || list_options_validate(&o, a, &st) ||
			list_version_parse(&o, is_watch, &st)) {
			check_refusal(&st);
			continue;
		}
		CHECK(o.version >= 0);
		CHECK(o.match == MATCH_UNSET || is_watch || o.resource_version.n > 0);
		CHECK(!o.has_send_initial || (is_watch && o.match == MATCH_NOT_OLDER_THAN));
	}
}

static void check_write_options(const struct route *r, struct arena *a)
{
	static const char *const kinds[] = {"CreateOptions", "UpdateOptions", "PatchOptions"};
	for (size_t i = 0; i < 4; i++) {
		struct write_options o;
		struct status st;
		bool is_patch = i == 2, is_apply = i == 3;
		status_init(&st, a);
		if (write_options_parse(&o, &r->params, kinds[MIN(i, (size_t)2)], is_apply, a, &st)) {
			check_refusal(&st);
			continue;
		}
		CHECK(o.field_manager.n <= 128);
		CHECK(!is_apply || o.field_manager.n > 0);
		CHECK(!is_patch || !o.has_force);
	}
}

static void check_delete_options(const struct route *r, const struct json *body, struct arena *a)
{
	struct delete_options o;
	struct status st;
	status_init(&st, a);
	if (delete_options_parse(&o, &r->params, body, a, &st)) {
		check_refusal(&st);
		return;
	}
	CHECK(o.propagation <= PROPAGATE_ORPHAN);
	CHECK(!o.has_orphan_dependents || o.propagation == PROPAGATE_DEFAULT);
}

static void run(struct str method, struct str target, struct str body, struct arena *a)
{
	struct route r, again;
	struct status st;
	status_init(&st, a);
	if (route_parse(&r, method, target, true, a, &st)) {
		check_refusal(&st);
		return;
	}
	CHECK(route_parse(&again, method, escaped_target(&r, a), true, a, &st) == 0);
	check_same(&r, &again);
	check_list_options(&r, a);
	check_write_options(&r, a);
	check_delete_options(&r, fuzz_parse(body, a), a);
	if (r.is_resource) {
		check_resolved(&r, &st);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str line, body, method, target;
	struct arena a;
	str_cut((struct str){(const char *)data, n}, '\n', &line, &body);
	if (str_cut(line, ' ', &method, &target)) {
		arena_init(&a, CEILING);
		run(method, target, body, &a);
		arena_done(&a);
	}
	return 0;
}
