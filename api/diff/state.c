/* The state of an object, as a Recorder's rules have it; the name of its History; resources that
 * are never recorded.
 *
 * One walk leaves out and hides, so that pointers mean places of the object as it was, and no
 * later rule sees a value that is hidden. */
#include "api/diff/state.h"
#include "api/model/digest.h"
#include "api/model/members.h"
#include "base/base64.h"
#include "base/keyed_hash.h"

#include <assert.h>

/* ---- the name of a history (docs/explanation/history.md) ----
 *
 * It has as much of the subject's name as a DNS subdomain may hold, and a digest that distinguishes subjects. It must stay as it is for
 * ever: another name would begin another history. */

/* Characters of a value of a label, as in Kubernetes. */
enum { LABEL_VALUE_MAX = 63 };

static char lowered(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_alphanumeric(char c)
{
	return (lowered(c) >= 'a' && lowered(c) <= 'z') || (c >= '0' && c <= '9');
}

/* Appends what may stand in a DNS subdomain. A dot stays where it is between letters and digits: each part
 * between dots begins and ends with one of those. */
static void add_subdomain(struct buf *b, struct str text, size_t room)
{
	size_t from = 0;
	while (from < text.n && !is_alphanumeric(text.p[from])) {
		from++;
	}
	for (size_t i = from; i < text.n && i < from + room; i++) {
		char c = text.p[i];
		bool is_dot = c == '.' && is_alphanumeric(text.p[i - 1]) && i + 1 < text.n && is_alphanumeric(text.p[i + 1]) &&
			i + 1 < from + room;
		buf_addc(b, is_alphanumeric(c) ? lowered(c) : is_dot ? '.' : '-');
	}
}

static struct str subject_digest(const struct history_subject *subject, struct arena *a)
{
	char *digest = arena_text(a, DIGEST_SIZE);
	struct json *parts = json_array(a);

	json_append(a, parts, json_string(a, subject->group));
	json_append(a, parts, json_string(a, subject->kind));
	json_append(a, parts, json_string(a, subject->namespace));
	json_append(a, parts, json_string(a, subject->name));
	digest_of(digest, parts, a);
	return (struct str){digest, HISTORY_DIGEST_LENGTH};
}

struct str history_name(const struct history_subject *subject, struct arena *a)
{
	struct str digest = subject_digest(subject, a);
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, HISTORY_NAME_MAX);

	add_subdomain(&b, subject->kind, LABEL_VALUE_MAX);
	size_t kind_end = b.n;
	buf_addc(&b, '.');
	assert(b.n + 1 + digest.n < HISTORY_NAME_MAX); /* so there is room for some of the name */
	add_subdomain(&b, subject->name, HISTORY_NAME_MAX - b.n - 1 - digest.n);
	if (b.n == kind_end + 1) {
		buf_truncate(&b, kind_end); /* no part of a name is empty */
	}
	buf_addc(&b, '-');
	buf_add_str(&b, digest);
	assert(!b.is_over); /* a name without its digest would be another object's, too */
	return arena_dup(a, buf_str(&b));
}

bool history_name_fits_label(struct str name)
{
	return name.n <= LABEL_VALUE_MAX;
}

/* ---- resources that are never recorded ----
 *
 * Each change of a recorded object makes or changes objects of annals.dev. If these were
 * recorded, too, it would never end. Standalone, the same revisions are seen as those of apps.
 * Events and leases change all the time. */

static const struct {
	const char *group, *resource; /* NULL: all of them */
	const char *why;
} left_out[] = {
	{"annals.dev", NULL, "annals does not record its own objects"},
	{"apps", "controllerrevisions", "revisions are not recorded: they are recorded states themselves"},
	{"", "events", "events are not recorded"},
	{"events.k8s.io", "events", "events are not recorded"},
	{"coordination.k8s.io", "leases", "leases are not recorded: they change every few seconds"},
};

const char *record_leaves_out(struct str group, struct str resource)
{
	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++) {
		if (str_is(group, left_out[i].group) && (!left_out[i].resource || str_is(resource, left_out[i].resource))) {
			return left_out[i].why;
		}
	}
	return NULL;
}

/* ---- states ---- */

/* An object's text is at most this long, and an escape makes six characters of one. */
enum { STATE_TEXT_MAX = 64 * 1024 * 1024, REDACTED_DIGITS = 32 };

bool state_rules_read(struct state_rules *ret, const struct json *spec, struct arena *a)
{
	struct state_rules rules = {.max_bytes = STATE_BYTES_DEFAULT};
	const struct json *max_bytes = json_gets(spec, "maxObjectBytes");
	struct str salt = member_text(spec, "salt");

	if (!pointer_patterns_read(&rules.ignore, json_gets(spec, "ignore"), a) ||
		!pointer_patterns_read(&rules.redact, json_gets(spec, "redact"), a) ||
		(max_bytes && !json_to_int64(max_bytes, &rules.max_bytes)) || salt.n > BASE64_SIZE(STATE_SALT_MAX)) {
		return false;
	}
	char *decoded = arena_text(a, BASE64_ROOM(salt.n));
	size_t n;
	if (!base64_decode(decoded, salt, &n)) {
		return false;
	}
	rules.salt = (struct str){decoded, n};
	rules.shows_secrets = str_is(member_text(spec, "secretData"), "Record");
	*ret = rules;
	return true;
}

/* ---- leaving out and hiding ---- */

static const struct str secret_data[] = {{"data", 4}, {"*", 1}}, secret_texts[] = {{"stringData", 10}, {"*", 1}};
static const struct pointer_pattern secret_values[] = {{secret_data, 2}, {secret_texts, 2}};
static const struct pointer_patterns of_secrets = {secret_values, 2}, of_nothing = {NULL, 0};

/* The patterns that may match below a value. */
struct alive {
	uint64_t ignore, redact, secret;
};

struct shaping {
	struct arena *arena;
	const struct state_rules *rules;
	const struct pointer_patterns *secret;
	struct history_subject subject;
	struct buf pointer; /* of the value that is looked at */
};

static bool is_void(const struct json *j)
{
	return j->kind == JSON_NULL || ((j->kind == JSON_OBJECT || j->kind == JSON_ARRAY) && j->n == 0);
}

/* Puts a hash in place of a value. An empty value stays: it reveals nothing, and digests leave it
 * out. */
static struct json *redacted(struct shaping *s, struct json *value)
{
	unsigned char hash[SHA256_SIZE];

	if (is_void(value)) {
		return value;
	}
	_cleanup_(buf_done) struct buf canonical, text;
	buf_init(&canonical, STATE_TEXT_MAX);
	buf_init(&text, STATE_REDACTED.n + REDACTED_DIGITS);
	bool is_whole = digest_canonical(&canonical, value, s->arena);
	assert(is_whole);
	const struct str parts[] = {s->subject.group, s->subject.kind, s->subject.namespace, s->subject.name,
		buf_str(&s->pointer), buf_str(&canonical)};
	keyed_hash_of_parts(s->rules->salt, parts, ARRAY_SIZE(parts), hash);
	buf_add_str(&text, STATE_REDACTED);
	for (size_t i = 0; i < REDACTED_DIGITS / 2; i++) {
		buf_printf(&text, "%02x", hash[i]);
	}
	return json_string(s->arena, arena_dup(s->arena, buf_str(&text)));
}

static struct json *shaped(struct shaping *s, struct json *value, struct alive alive, size_t depth);

/* Shapes one member or item; NULL where it is left out. */
static struct json *shaped_child(struct shaping *s, struct json *child, struct str segment, struct alive alive, size_t depth)
{
	bool is_ignored, is_redacted, is_secret;
	struct alive on = {
		.ignore = pointer_patterns_step(&s->rules->ignore, alive.ignore, depth, segment, &is_ignored),
		.redact = pointer_patterns_step(&s->rules->redact, alive.redact, depth, segment, &is_redacted),
		.secret = pointer_patterns_step(s->secret, alive.secret, depth, segment, &is_secret),
	};
	if (is_ignored) {
		return NULL;
	}
	size_t length = s->pointer.n;
	pointer_push(&s->pointer, segment);
	if (is_redacted || is_secret) {
		child = redacted(s, child);
	} else if (on.ignore || on.redact || on.secret) {
		child = shaped(s, child, on, depth + 1);
	}
	buf_truncate(&s->pointer, length);
	return child;
}

static uint32_t shape_members(struct shaping *s, struct json *object, struct alive alive, size_t depth)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < object->n; i++) {
		struct json_member m = object->members[i];
		m.value = shaped_child(s, m.value, m.name, alive, depth);
		if (m.value) {
			object->members[kept++] = m;
		}
	}
	return kept;
}

static uint32_t shape_items(struct shaping *s, struct json *array, struct alive alive, size_t depth)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < array->n; i++) {
		char index[POINTER_INDEX_SIZE];
		struct json *item = shaped_child(s, array->items[i], pointer_index(index, i), alive, depth);
		if (item) {
			array->items[kept++] = item;
		}
	}
	return kept;
}

/* NULL: nothing is left of it, where something was. As deep as patterns are long. */
static struct json *shaped(struct shaping *s, struct json *value, struct alive alive, size_t depth)
{
	if (is_void(value) || (value->kind != JSON_OBJECT && value->kind != JSON_ARRAY)) {
		return value;
	}
	struct json *copy = json_copy(s->arena, value);
	copy->n = copy->kind == JSON_OBJECT ? shape_members(s, copy, alive, depth) : shape_items(s, copy, alive, depth);
	return copy->n ? copy : NULL;
}

/* ---- what belongs to a state ---- */

static bool is_derived(struct str annotation)
{
	static const char *const derived[] = {
		"kubectl.kubernetes.io/last-applied-configuration", /* the object once more */
		"kubernetes.io/change-cause",                       /* describes a change */
		"deployment.kubernetes.io/revision",                /* is counted by a controller */
		"deprecated.daemonset.template.generation",         /* is counted by the server */
	};
	bool is_listed = false;
	for (size_t i = 0; !is_listed && i < ARRAY_SIZE(derived); i++) {
		is_listed = str_is(annotation, derived[i]);
	}
	return is_listed;
}

static struct json *own_annotations(const struct json *annotations, struct arena *a)
{
	struct json *copy = json_copy(a, annotations);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < copy->n; i++) {
		if (!is_derived(copy->members[i].name)) {
			copy->members[kept++] = copy->members[i];
		}
	}
	copy->n = kept;
	return copy;
}

static void add_unless_void(struct arena *a, struct json *to, struct str name, struct json *value)
{
	if (value && !is_void(value)) {
		json_add(a, to, name, value);
	}
}

/* These two say how to delete the object, and are no part of its state. */
static bool is_way_of_deletion(const struct json *finalizer)
{
	return str_is(json_text(finalizer), "foregroundDeletion") || str_is(json_text(finalizer), "orphan");
}

static struct json *own_finalizers(const struct json *finalizers, struct arena *a)
{
	struct json *kept = json_array(a), *each;
	for (uint32_t i = 0; (each = list_item(finalizers, i)); i++) {
		if (!is_way_of_deletion(each)) {
			json_append(a, kept, each);
		}
	}
	return kept;
}

/* The part of metadata that rules may leave out or hide. */
static struct json *free_metadata(const struct json *metadata, struct arena *a)
{
	struct json *free = json_object(a), *annotations = json_gets(metadata, "annotations");

	if (json_is(annotations, JSON_OBJECT)) {
		annotations = own_annotations(annotations, a);
	}
	add_unless_void(a, free, STR("labels"), json_gets(metadata, "labels"));
	add_unless_void(a, free, STR("annotations"), annotations);
	add_unless_void(a, free, STR("ownerReferences"), json_gets(metadata, "ownerReferences"));
	add_unless_void(a, free, STR("finalizers"), own_finalizers(json_gets(metadata, "finalizers"), a));
	add_unless_void(a, free, STR("generateName"), json_gets(metadata, "generateName"));
	return free;
}

static bool is_of_no_state(struct str member)
{
	return str_is(member, "apiVersion") || str_is(member, "kind") || str_is(member, "metadata") || str_is(member, "status");
}

static void add_rest(struct arena *a, struct json *to, const struct json *from)
{
	for (uint32_t i = 0; json_is(from, JSON_OBJECT) && i < from->n; i++) {
		if (!is_of_no_state(from->members[i].name)) {
			json_add(a, to, from->members[i].name, from->members[i].value);
		}
	}
}

/* The part of an object that rules may leave out or hide. */
static struct json *free_parts(const struct json *object, struct arena *a)
{
	struct json *parts = json_object(a);

	add_unless_void(a, parts, STR("metadata"), free_metadata(json_gets(object, "metadata"), a));
	add_rest(a, parts, object);
	return parts;
}

static struct json *identity(const struct json *object, struct json **ret_metadata, struct arena *a)
{
	struct json *state = json_object(a), *metadata = json_object(a);

	json_add_text(a, state, STR("apiVersion"), member_text(object, "apiVersion"));
	json_add_text(a, state, STR("kind"), member_text(object, "kind"));
	json_add_text(a, metadata, STR("name"), member_text(json_gets(object, "metadata"), "name"));
	json_add_text(a, metadata, STR("namespace"), member_text(json_gets(object, "metadata"), "namespace"));
	json_add(a, state, STR("metadata"), metadata);
	*ret_metadata = metadata;
	return state;
}

static struct json *assembled(const struct json *object, const struct json *parts, struct arena *a)
{
	const struct json *free = json_gets(parts, "metadata");
	struct json *metadata, *state = identity(object, &metadata, a);

	for (uint32_t i = 0; json_is(free, JSON_OBJECT) && i < free->n; i++) {
		json_add(a, metadata, free->members[i].name, free->members[i].value);
	}
	add_rest(a, state, parts);
	return state;
}

static struct history_subject subject_of(const struct json *object)
{
	const struct json *metadata = json_gets(object, "metadata");
	struct str group, version;

	if (!str_cut(member_text(object, "apiVersion"), '/', &group, &version)) {
		group = STR(""); /* "v1": of the core group */
	}
	return (struct history_subject){
		group, member_text(object, "kind"), member_text(metadata, "namespace"), member_text(metadata, "name")};
}

static bool is_secret(const struct history_subject *subject)
{
	return subject->group.n == 0 && str_is(subject->kind, "Secret");
}

static struct json *ruled(const struct json *object, struct json *parts, const struct state_rules *rules, struct arena *a)
{
	struct shaping s = {.arena = a, .rules = rules, .subject = subject_of(object)};

	s.secret = is_secret(&s.subject) && !rules->shows_secrets ? &of_secrets : &of_nothing;
	buf_init(&s.pointer, STATE_TEXT_MAX);
	const struct alive all = {
		pointer_patterns_all(&rules->ignore), pointer_patterns_all(&rules->redact), pointer_patterns_all(s.secret)};
	parts = shaped(&s, parts, all, 0);
	buf_done(&s.pointer);
	return parts;
}

static struct json *omitted(const struct json *object, const struct json *state, size_t bytes, struct arena *a)
{
	struct json *metadata, *out = identity(object, &metadata, a), *instead = json_object(a);
	char *digest = arena_text(a, DIGEST_SIZE);

	digest_of(digest, state, a);
	json_add(a, instead, STR("digest"), json_string(a, str_of(digest)));
	json_add(a, instead, STR("bytes"), json_int(a, (int64_t)bytes));
	json_add(a, out, STATE_OMITTED, instead);
	return out;
}

static size_t text_bytes(const struct json *state)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, STATE_TEXT_MAX);
	bool is_whole = json_encode(&text, state);
	assert(is_whole);
	return text.n;
}

struct json *state_of(const struct json *object, const struct state_rules *rules, struct arena *a)
{
	struct json *parts = free_parts(object, a);

	if (!rules) {
		return assembled(object, parts, a);
	}
	struct json *state = assembled(object, ruled(object, parts, rules, a), a);
	size_t bytes = text_bytes(state);
	return bytes > (size_t)rules->max_bytes ? omitted(object, state, bytes, a) : state;
}

bool state_is_redacted(const struct json *value)
{
	return json_is(value, JSON_STRING) && value->n == STATE_REDACTED.n + REDACTED_DIGITS &&
		str_starts(json_text(value), STATE_REDACTED);
}

bool state_is_omitted(const struct json *state)
{
	return json_is(json_get(state, STATE_OMITTED), JSON_OBJECT);
}
