#include "controllers/kit/ref.h"

bool gc_ref_eq_coordinates(const struct gc_ref *a, const struct gc_ref *b)
{
	return str_eq(a->uid, b->uid) && str_eq(a->name, b->name) && str_eq(a->kind, b->kind) &&
		str_eq(a->api_version, b->api_version);
}

bool gc_ref_eq(const struct gc_ref *a, const struct gc_ref *b)
{
	return str_eq(a->ns, b->ns) && gc_ref_eq_coordinates(a, b);
}

int gc_ref_cmp(const struct gc_ref *a, const struct gc_ref *b)
{
	const struct str left[] = {a->kind, a->api_version, a->ns, a->name, a->uid};
	const struct str right[] = {b->kind, b->api_version, b->ns, b->name, b->uid};

	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		int order = str_cmp(left[i], right[i]);
		if (order) {
			return order;
		}
	}
	return 0;
}

struct gc_ref gc_ref_dup(const struct gc_ref *r, struct arena *a)
{
	return (struct gc_ref){
		.api_version = arena_dup(a, r->api_version),
		.kind = arena_dup(a, r->kind),
		.ns = arena_dup(a, r->ns),
		.name = arena_dup(a, r->name),
		.uid = arena_dup(a, r->uid),
	};
}

static struct str put(char **at, struct str s)
{
	struct str copy = {*at, s.n};

	if (s.n > 0) {
		memcpy(*at, s.p, s.n);
	}
	*at += s.n;
	return copy;
}

char *gc_ref_pack(const struct gc_ref *r, struct gc_ref *ret)
{
	char *text = mem_alloc(r->api_version.n + r->kind.n + r->ns.n + r->name.n + r->uid.n);
	char *at = text;

	ret->api_version = put(&at, r->api_version);
	ret->kind = put(&at, r->kind);
	ret->ns = put(&at, r->ns);
	ret->name = put(&at, r->name);
	ret->uid = put(&at, r->uid);
	return text;
}

void gc_ref_key(const struct gc_ref *r, uint8_t out[SHA256_SIZE])
{
	const struct str parts[] = {r->api_version, r->kind, r->ns, r->name, r->uid};

	sha256_of_parts(parts, ARRAY_SIZE(parts), out);
}
