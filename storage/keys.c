/* All keys are made here, since two spellings of one key would be two objects. The empty group
 * is spelled "core": an empty part would make "//", which key_split() refuses. */
#include "storage/keys.h"

#define OBJECTS "/objects/"
#define CORE "core"
#define REFERENCES "/references/"
#define HISTORY "/history/"

struct str key_object(struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	const char *slash = ns.n ? "/" : "";
	return arena_printf(a, STR_FMT OBJECTS STR_FMT "/" STR_FMT "/" STR_FMT "%s" STR_FMT, STR_ARG(prefix), STR_ARG(dir),
		STR_ARG(resource), STR_ARG(ns), slash, STR_ARG(name));
}

struct str key_objects_prefix(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT OBJECTS, STR_ARG(prefix));
}

struct str key_references(
	struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	return arena_printf(a, STR_FMT REFERENCES STR_FMT "/" STR_FMT "/" STR_FMT "/" STR_FMT "/", STR_ARG(prefix),
		STR_ARG(dir), STR_ARG(resource), STR_ARG(ns), STR_ARG(name));
}

struct str key_referenced(
	struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	return arena_printf(a, STR_FMT "/referenced/" STR_FMT "/" STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(prefix),
		STR_ARG(dir), STR_ARG(resource), STR_ARG(ns), STR_ARG(name));
}

struct str key_reference(struct arena *a, struct str references, struct str group, struct str resource, struct str name)
{
	struct str dir = group.n ? group : STR(CORE);
	return arena_printf(a, STR_FMT STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(references), STR_ARG(dir), STR_ARG(resource),
		STR_ARG(name));
}

/* Escapes a uid, which clients choose: with a slash in it, it would name another controller's
 * history. */
static struct str escape(struct arena *a, struct str s)
{
	static const char digits[] = "0123456789ABCDEF";
	char *p = arena_text(a, 3 * s.n + 1), *end = p;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || c == '/' || c == '%') {
			*end++ = '%';
			*end++ = digits[c >> 4];
			*end++ = digits[c & 15];
		} else {
			*end++ = s.p[i];
		}
	}
	return (struct str){p, (size_t)(end - p)};
}

struct str key_history(struct arena *a, struct str prefix, struct str ns, struct str owner)
{
	struct str dir = escape(a, owner);
	return arena_printf(a, STR_FMT HISTORY STR_FMT "/" STR_FMT "/", STR_ARG(prefix), STR_ARG(ns), STR_ARG(dir));
}

struct str key_history_digest(struct arena *a, struct str history, struct str digest)
{
	return arena_printf(a, STR_FMT "digest/" STR_FMT "/", STR_ARG(history), STR_ARG(digest));
}

struct str key_history_number(struct arena *a, struct str history, int64_t number)
{
	return arena_printf(a, STR_FMT "number/%lld/", STR_ARG(history), (long long)number);
}

struct str key_below(struct arena *a, struct str directory, struct str name)
{
	return arena_printf(a, STR_FMT STR_FMT, STR_ARG(directory), STR_ARG(name));
}

struct str key_replicas(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/replicas/", STR_ARG(prefix));
}

struct str key_replicas_seen(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/replicas-seen/", STR_ARG(prefix));
}

struct str key_user_notes(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/user-notes/", STR_ARG(prefix));
}

struct str key_imports(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/imports/", STR_ARG(prefix));
}

struct str key_migrator(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/migrator", STR_ARG(prefix));
}

struct str key_compact(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/compact_rev_key", STR_ARG(prefix));
}

struct str key_fence(struct arena *a, struct str prefix)
{
	return arena_printf(a, STR_FMT "/fence", STR_ARG(prefix));
}

bool key_split(struct str key, struct str objects_prefix, struct key_parts *ret)
{
	if (!str_starts(key, objects_prefix)) {
		return false;
	}
	struct str rest = {key.p + objects_prefix.n, key.n - objects_prefix.n};
	struct str group, resource;
	if (!str_cut(rest, '/', &group, &rest) || !str_cut(rest, '/', &resource, &rest)) {
		return false;
	}
	if (group.n == 0 || resource.n == 0 || rest.n == 0) {
		return false;
	}
	*ret = (struct key_parts){
		.group = str_is(group, CORE) ? (struct str){NULL, 0} : group,
		.resource = resource,
		.rest = rest,
	};
	return true;
}
