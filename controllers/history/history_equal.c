/* When two states are the same (seed 000, "Version Equivalence"): by value, with every default
 * filled in, and where absent, null and empty say the same. The defaults are the owner's; what is
 * left out is decided here.
 *
 * A few members tell something by being there, even empty. A selector {} selects everything, and
 * none selects nothing. To take these for equal would leave pods as they were when a user has
 * asked for others. */
#include "controllers/history/history_private.h"

static const char *const says_by_presence[] = {
	"labelSelector",     /* of pod affinity and topology spread */
	"namespaceSelector", /* of pod affinity: none is the pod's own namespace */
	"seLinuxOptions",    /* of a container: it stands in front of the pod's */
};

struct comparison {
	bool is_presence_seen;
};

static bool is_telling(const struct comparison *c, struct str name)
{
	bool is_listed = false;
	for (size_t i = 0; c->is_presence_seen && !is_listed && i < ARRAY_SIZE(says_by_presence); i++) {
		is_listed = str_is(name, says_by_presence[i]);
	}
	return is_listed;
}

static bool is_void(const struct comparison *c, const struct history_member *m);

/* From the inside to the outside, as docs/reference/digest.md has it: {"a":{"b":null}} is empty, too. */
static bool is_empty(const struct comparison *c, const struct json *j)
{
	if (!json_is(j, JSON_OBJECT)) {
		return !j || j->kind == JSON_NULL || (j->kind == JSON_ARRAY && j->n == 0);
	}
	bool is_all_void = true;
	for (uint32_t i = 0; is_all_void && i < j->n; i++) {
		is_all_void = is_void(c, &(struct history_member){j->members[i].name, json_get(j, j->members[i].name)});
	}
	return is_all_void;
}

static bool is_void(const struct comparison *c, const struct history_member *m)
{
	return is_empty(c, m->value) && !(json_is(m->value, JSON_OBJECT) && is_telling(c, m->name));
}

static size_t telling_members(const struct comparison *c, struct history_member **ret, const struct json *object)
{
	size_t n = history_members(ret, object, NULL), kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_void(c, &(*ret)[i])) {
			(*ret)[kept++] = (*ret)[i];
		}
	}
	return kept;
}

static bool is_equal(const struct comparison *c, const struct json *a, const struct json *b);

static bool are_objects_equal(const struct comparison *c, const struct json *a, const struct json *b)
{
	_cleanup_(mem_freep) struct history_member *x = NULL;
	_cleanup_(mem_freep) struct history_member *y = NULL;
	size_t n = telling_members(c, &x, a);
	bool are_equal = n == telling_members(c, &y, b);
	for (size_t i = 0; are_equal && i < n; i++) {
		are_equal = str_eq(x[i].name, y[i].name) && is_equal(c, x[i].value, y[i].value);
	}
	return are_equal;
}

static bool are_arrays_equal(const struct comparison *c, const struct json *a, const struct json *b)
{
	bool are_equal = a->n == b->n;
	for (uint32_t i = 0; are_equal && i < a->n; i++) {
		are_equal = is_equal(c, a->items[i], b->items[i]);
	}
	return are_equal;
}

static bool is_equal(const struct comparison *c, const struct json *a, const struct json *b)
{
	if (a->kind != b->kind) {
		return false;
	}
	return a->kind == JSON_OBJECT   ? are_objects_equal(c, a, b)
		: a->kind == JSON_ARRAY ? are_arrays_equal(c, a, b)
					: json_equal(a, b);
}

bool history_look_equal(const struct json *a, const struct json *b)
{
	return a && b && is_equal(&(struct comparison){.is_presence_seen = false}, a, b);
}

/* Of its own nodes: defaults are often filled in where a list stands, and this one may be in a
 * cache that others read. */
static struct json *copy_of(const struct json *state, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	struct json *copy;
	size_t at;
	buf_init(&text, HISTORY_DATA_MAX);
	bool is_copied =
		json_encode(&text, state) && !json_parse(&copy, a, arena_dup(a, buf_str(&text)), HISTORY_DATA_LIMITS, &at);
	return is_copied ? copy : NULL;
}

static const struct json *normal_of(const struct history_owner *o, const struct json *state, struct arena *a)
{
	if (!o->normal) {
		return state;
	}
	struct json *copy = copy_of(state, a);
	return copy ? o->normal(copy, a) : NULL;
}

bool history_sample_equals(struct history_sample *s, const struct json *state)
{
	if (!s->state || !state) {
		return false; /* what cannot be read is nobody's state */
	}
	if (json_equal(s->state, state)) {
		return true; /* so at rest nothing has to be filled in */
	}
	if (!s->is_normal_known) {
		s->normal = normal_of(s->owner, s->state, s->arena);
		s->is_normal_known = true;
	}
	const struct json *other = s->normal ? normal_of(s->owner, state, s->arena) : NULL;
	return other && is_equal(&(struct comparison){.is_presence_seen = true}, s->normal, other);
}

bool history_equal_states(const struct history_owner *o, const struct json *a, const struct json *b, struct arena *arena)
{
	return history_sample_equals(&(struct history_sample){.owner = o, .state = a, .arena = arena}, b);
}
