/* ControllerRevisions to the byte as kube-controller-manager writes them: it compares bytes before
 * anything else, so a set may be handed from one controller to the other, in the midst of an
 * update, and no pod is restarted.
 *
 * One thing is otherwise. Upstream reads the template as floating-point numbers on its way here.
 * An integer beyond 2^53 comes out as another one, and data cannot be applied any more. Here it
 * stays as it is. */
#include "api/model/members.h"
#include "controllers/kit/history_private.h"
#include "controllers/kit/meta.h"

#include <stdio.h>

static const struct json text_replace = {.kind = JSON_STRING, .is_frozen = true, .n = sizeof("replace") - 1, .text = "replace"};

static void write_sorted(struct buf *out, const struct json *j, const struct history_member *extra);

static void write_object(struct buf *out, const struct json *j, const struct history_member *extra)
{
	_cleanup_(mem_freep) struct history_member *members = NULL;
	size_t n = history_members(&members, j, extra);
	buf_addc(out, '{');
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? "," : "");
		json_encode_string(out, members[i].name);
		buf_addc(out, ':');
		write_sorted(out, members[i].value, NULL);
	}
	buf_addc(out, '}');
}

static void write_array(struct buf *out, const struct json *j)
{
	buf_addc(out, '[');
	for (uint32_t i = 0; i < j->n; i++) {
		buf_adds(out, i ? "," : "");
		write_sorted(out, j->items[i], NULL);
	}
	buf_addc(out, ']');
}

static void write_sorted(struct buf *out, const struct json *j, const struct history_member *extra)
{
	if (extra || json_is(j, JSON_OBJECT)) {
		write_object(out, j, extra);
	} else if (json_is(j, JSON_ARRAY)) {
		write_array(out, j);
	} else if (json_is(j, JSON_STRING)) {
		json_encode_string(out, json_text(j)); /* encoded anew, not as it was spelled: others do so, too */
	} else {
		json_encode(out, j);
	}
}

void history_data_write(const struct json *state, struct buf *out)
{
	buf_adds(out, "{\"spec\":{\"template\":");
	write_sorted(out, state, &(struct history_member){STR("$patch"), &text_replace});
	buf_adds(out, "}}");
}

const struct json *history_data_state(const struct json *data, struct arena *a)
{
	const struct json *template = json_gets(json_gets(data, "spec"), "template");
	if (!json_is(template, JSON_OBJECT)) {
		return NULL;
	}
	struct json *state = json_copy(a, template);
	json_remove(state, STR("$patch"));
	return state;
}

static uint32_t fnv1(uint32_t hash, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		hash = hash * 16777619u ^ (unsigned char)s.p[i];
	}
	return hash;
}

void history_hash(struct str data, int64_t collisions, char out[16])
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* without vowels, so that no words arise */
	char count[24], digits[16];
	snprintf(count, sizeof(count), "%lld", (long long)collisions);
	snprintf(digits, sizeof(digits), "%lu", (unsigned long)fnv1(fnv1(2166136261u, data), str_of(count)));
	size_t i = 0;
	for (; digits[i]; i++) {
		out[i] = letters[(unsigned char)digits[i] % (sizeof(letters) - 1)];
	}
	out[i] = '\0';
}

struct str revision_name(struct str prefix, const char *hash, struct arena *a)
{
	/* Characters of a set's name that the names of its revisions keep, as upstream. */
	enum { PREFIX_MAX = 223 };
	prefix.n = MIN(prefix.n, (size_t)PREFIX_MAX);
	/* The prefix must not end in a dot: the next part of the name would begin with a dash.
	 * Upstream cannot keep the history of such a set at all. */
	while (prefix.n && prefix.p[prefix.n - 1] == '.') {
		prefix.n--;
	}
	return arena_printf(a, STR_FMT "-%s", STR_ARG(prefix), hash);
}

/* ---- equality ---- */

/* When two states are the same: by value, with every default filled in, where absent, null and
 * empty are equal. The defaults come from the owner; emptiness is handled here.
 *
 * A few members mean something even when they are empty. A selector {} selects everything, and a
 * missing one selects nothing. If these were equal, pods would stay as they were after a user
 * asked for others. */
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

/* Works from the inside out, as docs/reference/digest.md describes: {"a":{"b":null}} is empty
 * too. */
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

/* Makes a deep copy: defaulting often changes lists in place, and this state may be in a cache
 * that others read. */
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
		return false; /* an unreadable state equals no other */
	}
	if (json_equal(s->state, state)) {
		return true; /* the usual case: no defaults to fill in */
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

/* ---- objects ---- */

/* The part that the objects of all carriers share: metadata that names the revision's owner. */
bool history_is_controlled(const struct history_owner *o, const struct json *object)
{
	const struct json *controller = json_meta_controller(json_gets(object, "metadata"));
	return controller && o->uid.n && str_eq(member_text(controller, "uid"), o->uid);
}

struct revision history_read_metadata(const struct json *object)
{
	const struct json *meta = json_gets(object, "metadata");
	return (struct revision){
		.object = object,
		.name = member_text(meta, "name"),
		.uid = member_text(meta, "uid"),
		.version = member_text(meta, "resourceVersion"),
		.created = member_text(meta, "creationTimestamp"),
	};
}

bool history_read_generation(const struct json *labels, int64_t *ret)
{
	struct str text = member_text(labels, HISTORY_LABEL_GENERATION);
	int64_t n;
	if (!text.n || text.p[0] < '1' || text.p[0] > '9' || !str_to_int64(text, &n)) {
		return false;
	}
	*ret = n;
	return true;
}

struct json *history_text_of_number(int64_t number, struct arena *a)
{
	return json_string(a, arena_printf(a, "%lld", (long long)number));
}

struct json *history_metadata(
	const struct history_owner *o, struct str name, struct json *labels, struct json *annotations, struct arena *a)
{
	const struct gc_ref owner = {.api_version = o->api_version, .kind = o->kind, .name = o->name, .uid = o->uid};
	struct json *meta = json_object(a), *refs = json_array(a);
	json_append(a, refs, json_meta_controlled_by(&owner, a));
	json_add_text(a, meta, STR("name"), name);
	json_add_text(a, meta, STR("namespace"), o->ns);
	json_add(a, meta, STR("labels"), labels);
	if (annotations && annotations->n) {
		json_add(a, meta, STR("annotations"), annotations);
	}
	json_add(a, meta, STR("ownerReferences"), refs);
	return meta;
}
