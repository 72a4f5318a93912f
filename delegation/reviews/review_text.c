/* The key is binary, with lengths, so that no two different questions spell alike: a separator
 * could be part of a group's name. Everything that the review says is in it, selectors too. An
 * answer for one question must never be given to another. */
#include "delegation/reviews/review_text.h"

#include "api/select/selector.h"
#include "base/json.h"

/* ---- keys ---- */

/* Counts first, then writes: the same walk. */
struct key_writer {
	char *p; /* NULL: only counting */
	size_t n;
};

static void key_bytes(struct key_writer *w, const void *p, size_t n)
{
	if (w->p && n) {
		memcpy(w->p + w->n, p, n);
	}
	w->n += n;
}

static void key_number(struct key_writer *w, size_t n)
{
	uint32_t short_n = (uint32_t)n;
	key_bytes(w, &short_n, sizeof(short_n));
}

static void key_text(struct key_writer *w, struct str s)
{
	key_number(w, s.n);
	key_bytes(w, s.p, s.n);
}

static void write_key(struct key_writer *w, const struct authz_attributes *at)
{
	const struct user *u = at->user;
	const struct str texts[] = {at->verb, at->group, at->version, at->resource, at->subresource, at->ns, at->name, at->path,
		at->field_selector, at->label_selector, u->name, u->uid};
	key_number(w, at->is_resource);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		key_text(w, texts[i]);
	}
	key_number(w, u->n_groups);
	for (size_t i = 0; i < u->n_groups; i++) {
		key_text(w, u->groups[i]);
	}
	key_number(w, u->n_extra);
	for (size_t i = 0; i < u->n_extra; i++) {
		key_text(w, u->extra[i].key);
		key_text(w, u->extra[i].value);
	}
}

struct str access_key(const struct authz_attributes *what, struct arena *a)
{
	struct key_writer w = {0};
	write_key(&w, what);
	w = (struct key_writer){.p = arena_text(a, w.n)};
	write_key(&w, what);
	return (struct str){w.p, w.n};
}

/* ---- JSON ---- */

static void begin_member(struct buf *out, const char *name)
{
	char last = out->n ? out->p[out->n - 1] : '{';
	if (last != '{' && last != '[') {
		buf_addc(out, ',');
	}
	json_encode_string(out, str_of(name));
	buf_addc(out, ':');
}

static void text_member(struct buf *out, const char *name, struct str value)
{
	if (value.n) {
		begin_member(out, name);
		json_encode_string(out, value);
	}
}

static void add_item(struct buf *out, struct str value)
{
	if (out->n && out->p[out->n - 1] != '[') {
		buf_addc(out, ',');
	}
	json_encode_string(out, value);
}

static void list_member(struct buf *out, const char *name, const struct str *values, size_t n)
{
	if (n) {
		begin_member(out, name);
		buf_addc(out, '[');
		for (size_t i = 0; i < n; i++) {
			add_item(out, values[i]);
		}
		buf_addc(out, ']');
	}
}

static void requirement(struct buf *out, struct str key, const char *op, const struct str *values, size_t n)
{
	if (out->n && out->p[out->n - 1] != '[') {
		buf_addc(out, ',');
	}
	buf_addc(out, '{');
	text_member(out, "key", key);
	text_member(out, "operator", str_of(op));
	list_member(out, "values", values, n);
	buf_addc(out, '}');
}

/* One that cannot be read is left out, and so is what an operator unknown to reviews demands: the question is wider then. */
static void field_requirements(struct buf *out, struct str text, struct arena *a)
{
	struct field_selector s;
	if (!text.n || !field_selector_read(&s, text, a) || !s.n) {
		return;
	}
	begin_member(out, "fieldSelector");
	BUF_LITERAL(out, "{\"requirements\":[");
	for (size_t i = 0; i < s.n; i++) {
		requirement(out, s.v[i].path, s.v[i].is_not ? "NotIn" : "In", &s.v[i].value, 1);
	}
	BUF_LITERAL(out, "]}");
}

static const char *const label_operators[] = {
	[SELECTOR_IN] = "In",
	[SELECTOR_NOT_IN] = "NotIn",
	[SELECTOR_EXISTS] = "Exists",
	[SELECTOR_NOT_EXISTS] = "DoesNotExist",
	[SELECTOR_GREATER] = NULL,
	[SELECTOR_LESS] = NULL,
};

static void label_requirements(struct buf *out, struct str text, struct arena *a)
{
	struct label_selector s;
	struct status ignored;
	size_t n = 0;
	status_init(&ignored, a);
	if (!text.n || label_selector_parse(&s, text, a, &ignored)) {
		return;
	}
	for (size_t i = 0; i < s.n; i++) {
		const char *op = label_operators[s.v[i].op];
		if (!op) {
			continue;
		}
		if (n++ == 0) {
			begin_member(out, "labelSelector");
			BUF_LITERAL(out, "{\"requirements\":[");
		}
		requirement(out, s.v[i].key, op, s.v[i].values, s.v[i].n_values);
	}
	buf_adds(out, n ? "]}" : "");
}

static void resource_attributes(struct buf *out, const struct authz_attributes *at, struct arena *a)
{
	begin_member(out, "resourceAttributes");
	buf_addc(out, '{');
	text_member(out, "namespace", at->ns);
	text_member(out, "verb", at->verb);
	text_member(out, "group", at->group);
	text_member(out, "version", at->version);
	text_member(out, "resource", at->resource);
	text_member(out, "subresource", at->subresource);
	text_member(out, "name", at->name);
	field_requirements(out, at->field_selector, a);
	label_requirements(out, at->label_selector, a);
	buf_addc(out, '}');
}

static void path_attributes(struct buf *out, const struct authz_attributes *at)
{
	begin_member(out, "nonResourceAttributes");
	buf_addc(out, '{');
	text_member(out, "path", at->path);
	text_member(out, "verb", at->verb);
	buf_addc(out, '}');
}

static void extra_member(struct buf *out, const struct user *u, struct arena *a)
{
	if (u->n_extra) {
		begin_member(out, "extra");
		json_encode(out, user_extra_json(u, a));
	}
}

bool access_body(struct buf *out, const struct authz_attributes *at, struct arena *a)
{
	BUF_LITERAL(out, "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{");
	if (at->is_resource) {
		resource_attributes(out, at, a);
	} else {
		path_attributes(out, at);
	}
	text_member(out, "user", at->user->name);
	list_member(out, "groups", at->user->groups, at->user->n_groups);
	extra_member(out, at->user, a);
	text_member(out, "uid", at->user->uid);
	return BUF_LITERAL(out, "}}");
}

