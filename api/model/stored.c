/* Objects as text in the storage, in any version of their kind. */
#include "api/model/kind.h"

/* What the version itself cannot say (seed 003: no version may lose anything). An object of the hub's top-level members that would come back
 * otherwise, whole and as they are; with a member "kind" it holds all there are, because some would come back that are not there, or in another
 * order.
 *
 * A build from before that hub knows nothing of these members, and leaves them as they are (struct object's beyond), perhaps beside such of its own. If it has
 * changed the object, what it says counts, as it does of a client that writes through this version. */
static const char kept_name[] = OBJECT_KEPT_MEMBER;

/* That member is one level deeper than what clients may send, and beside it the version says what it can of the same. */
enum { STORED_DEPTH_MORE = 1, STORED_VALUES_MORE = 64 };

struct json_limits object_stored_limits(void)
{
	const struct json_limits sent = JSON_LIMITS_DEFAULT;

	return (struct json_limits){.depth = sent.depth + STORED_DEPTH_MORE, .values = 2 * sent.values + STORED_VALUES_MORE};
}

/* ---- writing ---- */

/* To the byte: numbers and strings may be spelled in many ways. */
static bool is_identical(const struct json *x, const struct json *y)
{
	_cleanup_(buf_done) struct buf first = {0}, second = {0};

	if (x == y || !x || !y) {
		return x == y;
	}
	buf_init(&first, SIZE_MAX / 2);
	buf_init(&second, SIZE_MAX / 2);
	return json_encode(&first, x) && json_encode(&second, y) && str_eq(buf_str(&first), buf_str(&second));
}

static bool has_same_members(const struct json *x, const struct json *y)
{
	for (uint32_t i = 0; i < x->n && x->n == y->n; i++) {
		const struct json_member *m = &x->members[i], *other = &y->members[i];

		if (!str_eq(m->name, other->name) || !is_identical(m->value, other->value)) {
			return false;
		}
	}
	return x->n == y->n;
}

/* Puts back what was kept beside a version that shows this. */
static struct json *with_kept(const struct json *shown, const struct json *kept, struct arena *a)
{
	bool is_all = json_gets(kept, "kind") != NULL;
	struct json *hub = is_all ? json_object(a) : json_copy(a, shown);

	for (uint32_t i = 0; is_all && i < shown->n; i++) {
		if (object_is_type_member(shown->members[i].name)) {
			json_add(a, hub, shown->members[i].name, shown->members[i].value);
		}
	}
	for (uint32_t i = 0; i < kept->n; i++) {
		if (!object_is_type_member(kept->members[i].name)) {
			(is_all ? json_add : json_set)(a, hub, kept->members[i].name, kept->members[i].value);
		}
	}
	return hub;
}

static struct json *keep_all(const struct json *hub, struct arena *a)
{
	struct json *kept = json_object(a);

	json_add(a, kept, STR("kind"), json_gets(hub, "kind"));
	for (uint32_t i = 0; i < hub->n; i++) {
		if (!object_is_type_member(hub->members[i].name)) {
			json_add(a, kept, hub->members[i].name, hub->members[i].value);
		}
	}
	return kept;
}

/* What must be kept of `hub` for this, which the version alone makes of it again, to become the same. */
static struct json *keep_lost(const struct json *hub, const struct json *again, struct arena *a)
{
	struct json *kept = json_object(a);

	for (uint32_t i = 0; i < hub->n; i++) {
		const struct json_member *m = &hub->members[i];

		if (!object_is_type_member(m->name) && !is_identical(m->value, json_get(again, m->name))) {
			json_add(a, kept, m->name, m->value);
		}
	}
	return has_same_members(hub, with_kept(again, kept, a)) ? kept : keep_all(hub, a);
}

static struct json *stored_form(const struct json *hub, const struct door *version, struct json *beyond, struct arena *a)
{
	struct json *shown = json_copy(a, version->from_hub(hub, a));

	json_remove(shown, STR(kept_name)); /* one that somebody else has invented: it is lost, and kept, like any other */
	struct json *kept = keep_lost(hub, version->to_hub(shown, NULL, a), a);

	if (beyond) {
		json_add(a, kept, STR(kept_name), beyond);
	}
	if (kept->n > 0) {
		json_set(a, shown, STR(kept_name), kept);
	}
	return shown;
}

bool object_encode_stored(struct buf *out, const struct object *o, const struct door *version)
{
	struct object stored = *o;
	stored.meta.resource_version = (struct str){0};

	struct arena a;
	_Alignas(16) char first[8192];
	arena_init_with(&a, SIZE_MAX, first, sizeof(first));
	struct json *hub = object_to_hub(&stored, door_api_version(version, &a), &a);
	bool is_hub = door_stores_hub(version, o->kind);
	if (o->beyond && is_hub) {
		json_add(&a, hub, STR(kept_name), o->beyond);
	}
	bool fits = json_encode(out, is_hub ? hub : stored_form(hub, version, o->beyond, &a));
	arena_done(&a);
	return fits;
}

/* ---- reading ---- */

/* Out of *from, of which there is then a copy. */
static struct json *take_kept(struct json **from, struct arena *a)
{
	struct json *kept = json_gets(*from, kept_name);

	if (kept) {
		*from = json_copy(a, *from);
		json_remove(*from, STR(kept_name));
	}
	return json_is(kept, JSON_OBJECT) ? kept : NULL;
}

static struct json *hub_form(const struct json *shown, const struct json *kept, const struct door *version, struct arena *a)
{
	struct json *hub = version->to_hub(shown, NULL, a);

	if (!kept) {
		return hub;
	}
	hub = with_kept(hub, kept, a);
	return has_same_members(version->from_hub(hub, a), shown) ? hub : version->to_hub(shown, hub, a);
}

struct str object_stored_version(struct str value, struct arena *a)
{
	struct json *stored;
	size_t at;

	return json_parse(&stored, a, value, object_stored_limits(), &at) ? STR("")
									  : json_text(json_gets(stored, "apiVersion"));
}

int object_decode_stored(struct object **ret, const struct kind *kind, struct str value, int64_t mod_revision, struct arena *a)
{
	struct json *stored;
	size_t at;
	if (json_parse(&stored, a, value, object_stored_limits(), &at) || stored->kind != JSON_OBJECT ||
		!str_is(json_text(json_gets(stored, "kind")), kind->kind)) {
		return OBJECT_UNRECOGNIZED;
	}
	const struct door *door = kind_door(kind, json_text(json_gets(stored, "apiVersion")));
	if (!door) {
		return OBJECT_WRONG_VERSION;
	}
	bool is_hub = door_stores_hub(door, kind);
	struct json *kept = take_kept(&stored, a), *beyond = !is_hub && kept ? take_kept(&kept, a) : kept;
	*ret = object_from_hub(kind, is_hub ? stored : hub_form(stored, kept, door, a), a);
	(*ret)->beyond = beyond;
	if (arena_is_full(a)) {
		return OBJECT_UNRECOGNIZED;
	}
	(*ret)->stored_version = door;
	(*ret)->mod_revision = mod_revision;
	(*ret)->meta.resource_version = arena_printf(a, "%lld", (long long)mod_revision);
	return 0;
}
