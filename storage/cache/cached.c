/* One object of the cache: how it is made from etcd's value, and how it is shown.
 *
 * There are as many of these as objects in etcd, so each is one allocation. It has the struct, the text,
 * then the strings that are not in the text. The stored text is scanned for the places of its
 * members, not parsed, since annals wrote nearly all of it in one spelling. Text in another
 * spelling is rewritten first, so only one spelling is ever shown.
 *
 * The digest of an object that was created through a version without one
 * (docs/reference/digest.md) is not in the body, which all versions share. Its own versions
 * insert it. Most objects are never shown there, so the first reader that needs the digest makes
 * it, and the object keeps it. */
#include "api/model/digest.h"
#include "base/base64.h"
#include "storage/cache/cached_private.h"
#include "storage/cache/shared.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

enum { REVISION_SIZE = 64 };

struct cached *cached_ref(struct cached *o)
{
	if (o) {
		atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	}
	return o;
}

struct cached *cached_unref(struct cached *o)
{
	if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1) {
		mem_free(atomic_load_explicit(&o->digest, memory_order_relaxed));
		shared_unref(o->fields);
		base_unref(o->base);
		mem_free(o);
	}
	return NULL;
}

enum { CACHED_FIELDS = 3 }; /* of the pieces, the first that is part of managedFields */

/* Returns the end of a string in JSON text: its closing quote, or end. p is at its opening
 * quote. */
static const char *text_string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++) {
		p += *p == '\\';
	}
	return MIN(p, end);
}

/* ---- the digest's place ---- */

struct text_member {
	struct str name, value;
};

/* Returns the end of a member's value: a comma, or the object's closing brace. p is behind the
 * member's name. */
static const char *value_end(const char *p, const char *end)
{
	unsigned depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			p = text_string_end(p, end);
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if (depth == 0 && (*p == ',' || *p == '}')) {
			break;
		} else if (*p == '}' || *p == ']') {
			depth--;
		}
	}
	return MIN(p, end);
}

/* Reads the next member of an object without blanks. *p is at its opening brace at first, then
 * at the end of the last member. */
static bool member_next(const char **p, const char *end, struct text_member *ret)
{
	const char *name = *p + 1;

	if (name >= end || *name != '"') {
		return false;
	}
	const char *name_end = text_string_end(name, end), *value = MIN(name_end + 2, end);
	*p = value_end(value, end);
	ret->name = (struct str){name + 1, (size_t)(name_end - name) - 1};
	ret->value = (struct str){value, (size_t)(*p - value)};
	return true;
}

/* Returns where to insert in front of the next member. at: where member_next() began. */
static const char *place_at(const char *at)
{
	return *at == '{' ? at + 1 : at;
}

/* Returns the digest's place among the annotations, which are sorted as Go's encoder writes
 * maps. NULL: the digest is there already. */
static const char *place_among(struct str annotations)
{
	const char *p = annotations.p, *end = p + annotations.n, *at = p, *place = NULL;
	struct text_member m;

	for (; member_next(&p, end, &m); at = p) {
		int order = str_cmp(m.name, ANNOTATION_DIGEST);
		if (order == 0) {
			return NULL;
		}
		if (order > 0 && !place) {
			place = place_at(at);
		}
	}
	return place ? place : place_at(p);
}

static bool comes_behind_annotations(struct str name)
{
	return str_is(name, "ownerReferences") || str_is(name, "finalizers") || str_is(name, "managedFields");
}

/* Returns where in a body the digest goes: among the annotations, or with a map of its own. 0:
 * it is there, or has no place. */
size_t cached_digest_place(struct str body, bool *ret_opens_annotations)
{
	const char *p = body.p + strlen("\"metadata\":"), *end = body.p + body.n, *at = p, *place = NULL;
	struct text_member m;

	*ret_opens_annotations = true;
	for (; member_next(&p, end, &m); at = p) {
		if (str_is(m.name, "annotations")) {
			*ret_opens_annotations = false;
			place = str_starts(m.value, STR("{")) ? place_among(m.value) : NULL;
			return place ? (size_t)(place - body.p) : 0;
		}
		if (!place && comes_behind_annotations(m.name)) {
			place = place_at(at);
		}
	}
	return (size_t)((place ? place : place_at(p)) - body.p);
}

bool cached_body_hides_digest(const struct kind *kind, struct str body, const struct version *v)
{
	bool opens;

	return kind->history && version_is_own(v, kind) && cached_digest_place(body, &opens) > 0;
}

/* The text around the inserted digest. */
struct frame {
	struct str before, behind;
};

static struct frame frame_of(const struct cached *o)
{
	const char *at = cached_own(o).p + o->digest_at;
	/* Shared text begins with a comma. */
	bool is_first = at[-1] == '{' || at[-1] == ',', is_last = *at == '}' && !(o->fields && o->digest_at == o->fields_at);
	const char *before = is_first ? "\"" : ",\"", *behind = is_first && !is_last ? "\"," : "\"";

	if (o->opens_annotations) {
		before = is_first ? "\"annotations\":{\"" : ",\"annotations\":{\"";
		behind = is_first && !is_last ? "\"}," : "\"}";
	}
	return (struct frame){str_of(before), str_of(behind)};
}

size_t cached_digest_size(const struct cached *o)
{
	if (o->digest_at == 0 || o->is_packed) {
		return o->n_digest;
	}
	struct frame f = frame_of(o);

	return f.before.n + ANNOTATION_DIGEST.n + strlen("\":\"") + DIGEST_SIZE - 1 + f.behind.n;
}

/* ---- objects from etcd's values ---- */

static bool take(struct str *text, struct str prefix)
{
	if (!str_starts(*text, prefix)) {
		return false;
	}
	text->p += prefix.n;
	text->n -= prefix.n;
	return true;
}

/* Finds metadata's closing brace, the end of uid, and managedFields. Returns false when metadata
 * is empty, has blanks, or has a resourceVersion, which would contradict the inserted one. */
static bool metadata_scan(struct layout *l, const char *p, const char *end)
{
	const char *start = p;
	struct str key = {NULL, 0};
	unsigned depth = 0;

	for (; p < end; p++) {
		const char *quote = p;

		if (*p == '{' || *p == '[') {
			depth++;
		} else if ((*p == '}' || *p == ']') && --depth == 0) {
			l->metadata = (struct str){start, (size_t)(p - start) + 1};
			if (l->fields.n > 0 && l->uid_end && l->fields.p < l->uid_end) {
				l->fields = (struct str){NULL, 0};
			}
			return l->metadata.n > 2; /* a comma follows the inserted text */
		} else if (*p == ']' && depth == 1 && str_is(key, "managedFields") && key.p[-2] == ',') {
			l->fields = (struct str){key.p - 2, (size_t)(p + 1 - (key.p - 2))};
		} else if (*p == ' ' || *p == '\t') {
			return false;
		} else if (*p == '"') {
			p = text_string_end(p, end);
			if (depth == 1 && p + 1 < end && p[1] == ':') {
				key = (struct str){quote + 1, (size_t)(p - quote) - 1};
				if (str_is(key, "resourceVersion")) {
					return false;
				}
			} else if (depth == 1 && str_is(key, "uid")) {
				l->uid_end = p + 1;
			}
		}
	}
	return false;
}

/* Takes the text apart. Returns false when object_encode_stored() would have spelled it
 * otherwise. It has no line breaks, since watch events are lines. */
bool layout_read(struct layout *l, const struct kind *kind, struct str text)
{
	struct str rest;

	*l = (struct layout){0};
	if (memchr(text.p, '\n', text.n) || memchr(text.p, '\r', text.n) || !take(&text, STR("{\"kind\":\"")) ||
		!take(&text, str_of(kind->kind)) || !take(&text, STR("\",\"apiVersion\":\"")) ||
		!str_cut(text, '"', &l->api_version, &rest) || !take(&rest, STR(","))) {
		return false;
	}
	l->body = rest;
	return take(&rest, STR("\"metadata\":")) && str_starts(rest, STR("{")) && metadata_scan(l, rest.p, rest.p + rest.n);
}

/* Writes the object in the spelling of object_encode_stored(), when another program has written
 * it into the store. */
static bool text_normalize(struct buf *out, struct str text, struct arena *a)
{
	struct json *in, *object = json_object(a), *metadata;
	size_t at;

	if (json_parse(&in, a, text, JSON_LIMITS_DEFAULT, &at) != 0 || !json_is(json_gets(in, "kind"), JSON_STRING) ||
		!json_is(json_gets(in, "apiVersion"), JSON_STRING) || !json_is(json_gets(in, "metadata"), JSON_OBJECT)) {
		return false;
	}
	metadata = json_copy(a, json_gets(in, "metadata"));
	json_remove(metadata, STR("resourceVersion"));
	json_set(a, object, STR("kind"), json_gets(in, "kind"));
	json_set(a, object, STR("apiVersion"), json_gets(in, "apiVersion"));
	json_set(a, object, STR("metadata"), metadata);
	for (size_t i = 0; i < in->n; i++) {
		if (!json_get(object, in->members[i].name)) {
			json_add(a, object, in->members[i].name, json_get(in, in->members[i].name));
		}
	}
	return json_encode(out, object);
}

static bool key_read(const struct kind *kind, struct str rest, struct str *ret_ns, struct str *ret_name)
{
	*ret_ns = (struct str){NULL, 0};
	*ret_name = rest;
	if (kind->is_namespaced && (!str_cut(rest, '/', ret_ns, ret_name) || ret_ns->n == 0)) {
		return false;
	}
	return ret_name->n > 0 && !memchr(ret_name->p, '/', ret_name->n);
}

static bool splice_keeps(const struct splice *s, struct str slice)
{
	uintptr_t p = (uintptr_t)slice.p, start = (uintptr_t)s->from.p, fields = start + s->at_fields;

	return p >= start && p + slice.n <= start + s->from.n &&
		(s->cut_fields == 0 || p + slice.n <= fields || p >= fields + s->cut_fields);
}

static size_t splice_size(const struct splice *s)
{
	return s->from.n - s->cut + s->insert.n - s->cut_fields + s->times.n;
}

/* Returns a valid pointer also for an empty text: memcpy() needs one. */
static const char *str_text(struct str s)
{
	return s.n > 0 ? s.p : "";
}

static char *put(char *to, const char *p, size_t n)
{
	memcpy(to, p, n);
	return to + n;
}

static void splice_write(const struct splice *s, char *out)
{
	size_t behind = s->at + s->cut, end = s->from.n;

	out = put(out, s->from.p, s->at);
	out = put(out, str_text(s->insert), s->insert.n);
	if (s->cut_fields > 0) {
		out = put(out, s->from.p + behind, s->at_fields - behind);
		out = put(out, str_text(s->times), s->times.n);
		behind = s->at_fields + s->cut_fields;
	}
	put(out, s->from.p + behind, end - behind);
}

/* Returns where a slice of `from`, which splice_keeps() accepts, is in the copy at `out`. A
 * slice that spans the replaced place grows or shrinks with it. */
static struct str splice_move(const struct splice *s, const char *out, struct str slice)
{
	size_t first = (size_t)(slice.p - s->from.p), last = first + slice.n;
	size_t gain = s->insert.n - s->cut; /* modulo 2^64 where negative */

	if (s->cut_fields > 0 && first >= s->at_fields + s->cut_fields) {
		out += s->times.n - s->cut_fields;
	}
	if (first >= s->at + s->cut) {
		return (struct str){out + first + gain, slice.n};
	}
	return (struct str){out + first, last > s->at ? slice.n + gain : slice.n};
}

/* A struct cached that is being assembled: the splice's text, then the tail of strings that are
 * not in it. */
struct building {
	const struct splice *splice;
	struct cached *o;
	char *text, *tail;
};

static struct str building_str(struct building *b, struct str s)
{
	char *p = b->tail;

	if (s.n == 0) {
		return (struct str){NULL, 0};
	}
	if (splice_keeps(b->splice, s)) {
		return splice_move(b->splice, b->text, s);
	}
	memcpy(p, s.p, s.n);
	b->tail += s.n;
	return (struct str){p, s.n};
}

static size_t tail_size(const struct draft *d, const struct splice *s)
{
	size_t size = d->key.n + d->beyond.n + (splice_keeps(s, d->o.uid) ? 0 : d->o.uid.n);

	for (size_t i = 0; i < n_slices(&d->o); i++) {
		size += splice_keeps(s, d->slices[i]) ? 0 : d->slices[i].n;
	}
	return size;
}

/* Copies namespace and name as one text, `ns/name`, which trees compare (cached_key). */
static void building_key(struct building *b, const struct draft *d)
{
	const char *p = b->tail;
	size_t n_ns = d->o.ns.n, n_skip = n_ns ? n_ns + 1 : 0;

	memcpy(b->tail, d->key.p, d->key.n);
	b->tail += d->key.n;
	b->o->ns = (struct str){n_ns ? p : NULL, n_ns};
	b->o->name = (struct str){p + n_skip, d->key.n - n_skip};
}

/* Builds the object. It takes over d's references to shared text. */
struct cached *draft_build(const struct draft *d, const struct splice *s)
{
	size_t n = n_slices(&d->o);
	size_t head = sizeof(struct cached) + n * sizeof(struct cached_slice);
	size_t size = head + splice_size(s) + tail_size(d, s), gain = s->insert.n - s->cut;
	struct cached *o = mem_alloc(size);
	struct cached_slice *slices = (struct cached_slice *)(void *)(o + 1);
	struct building b = {s, o, (char *)o + head, (char *)o + head + splice_size(s)};

	cached_copy(o, &d->o);
	atomic_init(&o->refs, 1);
	atomic_init(&o->digest, NULL);
	o->n_text = (uint32_t)splice_size(s);
	splice_write(s, b.text);
	building_key(&b, d);
	o->n_metadata = (uint32_t)(d->o.n_metadata + gain);
	if (d->o.digest_at > 0 && !d->o.is_packed) {
		struct str place = {s->from.p + d->o.digest_at, 0};
		o->digest_at = (uint32_t)(splice_move(s, b.text, place).p - b.text);
	}
	if (d->o.fields) {
		o->fields_at = (uint32_t)(d->o.fields_at + gain);
	}
	o->uid = building_str(&b, d->o.uid);
	for (size_t i = 0; i < n; i++) {
		struct str slice = building_str(&b, d->slices[i]);
		slices[i] = (struct cached_slice){slice.n ? (uint32_t)(slice.p - (char *)o) : 0, (uint32_t)slice.n};
	}
	o->n_beyond = (uint32_t)d->beyond.n;
	o->beyond_at = (uint32_t)(b.tail - (char *)o);
	put(b.tail, str_text(d->beyond), d->beyond.n);
	o->size = (uint32_t)(size + cached_digest_size(o) + shared_size(o->fields) + base_size(o->base));
	return o;
}

/* Collects the paths of the object's references, sorted, each once. */
static size_t draft_compute(struct str *ret, const struct object *object, struct arena *a)
{
	struct reference references[REFERENCES_MAX];
	size_t n = object_references(object, references), n_ret = 0, at;

	for (size_t i = 0; i < n; i++) {
		struct str path = reference_path(references[i].field, references[i].ns, references[i].name, a);

		for (at = n_ret; at > 0 && str_cmp(ret[at - 1], path) >= 0; at--) {
		}
		if (at < n_ret && str_eq(ret[at], path)) {
			continue;
		}
		memmove(ret + at + 1, ret + at, (n_ret - at) * sizeof(*ret));
		ret[at] = path;
		n_ret++;
	}
	return n_ret;
}

_Static_assert(REFERENCES_MAX <= UINT16_MAX, "n_computed");

static void draft_fill_labels(struct draft *d, const struct object *object, struct arena *a)
{
	const struct label *labels;
	size_t n = labels_read(&labels, object->meta.labels, a);
	size_t max = 2 * n + d->o.kind->n_selectable + (d->o.kind->references ? REFERENCES_MAX : 0) + 1;

	d->o.n_labels = (uint32_t)n;
	d->slices = arena_array(a, struct str, max);
	for (size_t i = 0; i < n; i++) {
		d->slices[2 * i] = labels[i].key;
		d->slices[2 * i + 1] = labels[i].value;
	}
}

static void draft_fill(struct draft *d, const struct object *object, struct arena *a)
{
	const struct kind *kind = object->kind;

	d->o.uid = object->meta.uid;
	d->o.is_deleting = meta_is_deleting(&object->meta);
	draft_fill_labels(d, object, a);
	struct str *values = d->slices + 2 * (size_t)d->o.n_labels;
	for (size_t i = 0; i < kind->n_selectable; i++) {
		values[i] = kind->select ? kind->select(object, i, a) : kind->selectable[i].value(object, a);
	}
	d->o.n_computed = (uint16_t)draft_compute(values + kind->n_selectable, object, a);
}

/* Inserts resourceVersion, behind uid as kube-apiserver does, or first where there is no uid. An
 * object that was never stored (dry run) gets none. Returns where the digits are in the new
 * text. */
static size_t splice_revision(struct splice *s, const struct layout *l, int64_t revision, char text[REVISION_SIZE])
{
	const char *before = l->uid_end ? "," : "", *behind = l->uid_end ? "" : ",",
		   *at = l->uid_end ? l->uid_end : l->metadata.p + 1;
	int n = revision > 0
		? snprintf(text, REVISION_SIZE, "%s\"resourceVersion\":\"%" PRId64 "\"%s", before, revision, behind)
		: 0;

	*s = (struct splice){.from = l->body, .at = (size_t)(at - l->body.p), .insert = {text, (size_t)n}};
	return s->at + strlen(before) + STR("\"resourceVersion\":\"").n;
}

/* Moves managedFields out to shared text. The digest's place stays in the object's own text. */
static void draft_share_fields(struct draft *d, const struct layout *l, struct splice *s, struct arena *a)
{
	size_t at = (size_t)(l->fields.p - l->body.p);

	if (l->fields.n == 0 || d->o.digest_at > at || d->keeps_fields) {
		return;
	}
	d->o.fields = fields_share(l->fields, a, &s->times);
	if (d->o.fields) {
		d->o.fields_at = (uint32_t)at;
		s->at_fields = at;
		s->cut_fields = l->fields.n;
	}
}

struct cached *draft_with_revision(struct draft *d, const struct layout *l, struct arena *a)
{
	char text[REVISION_SIZE];
	struct splice s;

	d->o.revision_at = (uint32_t)splice_revision(&s, l, d->o.revision, text);
	d->o.n_metadata = (uint32_t)l->metadata.n;
	draft_share_fields(d, l, &s, a);
	return draft_build(d, &s);
}

/* Converts other forms to the hub's when an object arrives, so that reading never converts. */
static bool draft_convert(struct draft *d, struct layout *l, struct str value, const struct object *object, struct buf *hub)
{
	_cleanup_(buf_done) struct buf again;
	struct object shown = *object;

	buf_init(&again, CACHED_DECODE_CEILING);
	d->o.is_respelled |= !object_encode_stored(&again, object, d->o.stored_version) || !str_eq(buf_str(&again), value);
	shown.beyond = NULL;
	return object_encode_stored(hub, &shown, &d->o.kind->versions[0]) && layout_read(l, d->o.kind, buf_str(hub));
}

static bool draft_take_beyond(struct draft *d, const struct object *object, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, CACHED_DECODE_CEILING);
	if (!object->beyond) {
		return true;
	}
	bool fits = json_encode(&text, object->beyond);
	d->beyond = arena_dup(a, buf_str(&text));
	return fits;
}

static struct cached *cached_decode(struct draft *d, struct str value, struct arena *a)
{
	_cleanup_(buf_done) struct buf normal, hub;
	struct object *object;
	struct layout l;

	buf_init(&normal, CACHED_DECODE_CEILING);
	buf_init(&hub, CACHED_DECODE_CEILING);
	if (!layout_read(&l, d->o.kind, value)) {
		if (!text_normalize(&normal, value, a) || !layout_read(&l, d->o.kind, buf_str(&normal))) {
			return NULL;
		}
		value = buf_str(&normal);
		d->o.is_respelled = true;
	}
	if (object_decode_stored(&object, d->o.kind, value, d->o.revision, a) != 0 || !str_eq(object->meta.ns, d->o.ns) ||
		!str_eq(object->meta.name, d->o.name)) {
		return NULL;
	}
	d->o.stored_version = object->stored_version;
	bool is_hub = version_stores_hub(d->o.stored_version, d->o.kind) && !object->beyond && !object->is_restored;
	if (object->is_restored) {
		d->beyond = arena_dup(a, value); /* another definition shows it otherwise */
		d->o.is_respelled = true;
		if (!object_encode_stored(&hub, object, &d->o.kind->versions[0]) ||
			!layout_read(&l, d->o.kind, buf_str(&hub))) {
			return NULL;
		}
	} else if ((!is_hub && !draft_convert(d, &l, value, object, &hub)) || !draft_take_beyond(d, object, a)) {
		return NULL;
	}
	draft_fill(d, object, a);
	if (history_hides_digest(object)) {
		bool opens;
		d->o.digest_at = (uint32_t)cached_digest_place(l.body, &opens);
		d->o.opens_annotations = opens;
	}
	/* Text in another spelling or form is kept whole: the frame does not have what is shown. */
	bool is_packed = d->frame.n > 0 && is_hub && !d->o.is_respelled;
	d->keeps_fields = is_packed;
	struct cached *whole = draft_with_revision(d, &l, a);
	return is_packed ? cached_pack(whole, d) : whole;
}

/* Decodes a value in compressed form. */
static struct cached *cached_decode_packed(struct draft *d, struct str value, struct arena *a)
{
	struct packed_value c;
	struct str text;
	struct cached *o = NULL;

	if (packed_value_read(&c, value, a)) {
		return NULL;
	}
	if (packed_text(&text, c.frame, c.base, a) == 0) {
		d->frame = c.frame;
		d->base = c.base;
		o = cached_decode(d, text, a);
	}
	packed_value_done(&c);
	return o;
}

struct cached *cached_new(
	const struct kind *kind, struct str rest_of_key, struct str value, int64_t create_revision, int64_t mod_revision)
{
	struct draft d = {
		.o = {.kind = kind, .revision = mod_revision, .create_revision = create_revision},
		.key = rest_of_key,
	};
	_cleanup_(arena_done) struct arena a;
	char scratch[CACHED_SCRATCH];

	arena_init_with(&a, CACHED_DECODE_CEILING, scratch, sizeof(scratch));
	if (value.n == 0 || !key_read(kind, rest_of_key, &d.o.ns, &d.o.name)) {
		return NULL;
	}
	return packed_is(value) ? cached_decode_packed(&d, value, &a) : cached_decode(&d, value, &a);
}

static struct str cached_beyond(const struct cached *o)
{
	return (struct str){(const char *)o + o->beyond_at, o->n_beyond};
}

struct cached *cached_gone(const struct cached *o, int64_t revision)
{
	if (o->is_packed) {
		return cached_gone_packed(o, revision);
	}
	struct str own = cached_own(o);
	const char *digits = own.p + o->revision_at;
	char text[REVISION_SIZE];
	int n = snprintf(text, sizeof(text), "%" PRId64, revision);
	struct splice s = {
		.from = own,
		.at = o->revision_at,
		.cut = (size_t)((const char *)memchr(digits, '"', own.n - o->revision_at) - digits),
		.insert = {text, (size_t)n},
	};
	struct draft d = {.key = cached_key(o), .beyond = cached_beyond(o)};
	_cleanup_(arena_done) struct arena a;
	char scratch[1024];

	cached_copy(&d.o, o);
	d.o.revision = revision;
	d.o.is_gone = true;
	shared_ref(o->fields);
	arena_init_with(&a, CACHED_DECODE_CEILING, scratch, sizeof(scratch));
	d.slices = arena_array(&a, struct str, n_slices(o) + 1);
	for (size_t i = 0; i < n_slices(o); i++) {
		d.slices[i] = cached_slice(o, i);
	}
	return draft_build(&d, &s);
}

static bool is_hub_form(const struct kind *kind, struct str api_version)
{
	const struct version *v = kind_version(kind, api_version);

	return v && version_stores_hub(v, kind);
}

struct str cached_body_of(const struct kind *kind, struct str stored, int64_t revision, struct arena *a)
{
	char text[REVISION_SIZE], *body;
	struct layout l;
	struct splice s;

	if (!layout_read(&l, kind, stored) || !is_hub_form(kind, l.api_version)) {
		return (struct str){NULL, 0};
	}
	splice_revision(&s, &l, revision, text);
	body = arena_text(a, splice_size(&s));
	splice_write(&s, body);
	return (struct str){body, splice_size(&s)};
}

/* ---- whole texts ---- */

size_t cached_own_size(const struct cached *o)
{
	return o->size - cached_digest_size(o) - shared_size(o->fields) - base_size(o->base);
}

size_t cached_stored_size(const struct cached *o)
{
	enum { FORM_BYTES = 80 }; /* of the form around a frame */

	return o->is_packed ? BASE64_SIZE((size_t)o->n_text) + FORM_BYTES : cached_body_size(o);
}

size_t cached_base_size(const struct cached *o)
{
	return BASE64_SIZE(base_size(o->base));
}

size_t cached_body_size(const struct cached *o)
{
	return o->is_packed ? o->n_body : o->n_text + fields_size(o->fields);
}

static void body_write(const struct cached *o, char *to)
{
	struct str own = cached_own(o);
	size_t n_before = o->fields ? o->fields_at : own.n;

	to = put(to, own.p, n_before);
	for (size_t i = CACHED_FIELDS; o->fields && i < cached_pieces(o, NULL); i++) {
		struct str piece = cached_piece(o, NULL, i);
		to = put(to, piece.p, piece.n);
	}
}

struct str cached_body(const struct cached *o, struct arena *a)
{
	if (o->is_packed) {
		_cleanup_(cached_unrefp) struct cached *whole = cached_whole(o);
		return arena_dup(a, cached_own(whole));
	}
	if (!o->fields) {
		return cached_own(o);
	}
	size_t n = cached_body_size(o);
	char *text = arena_text(a, n);
	body_write(o, text);
	return (struct str){text, n};
}

struct str cached_metadata(const struct cached *o, struct arena *a)
{
	if (o->is_packed) {
		_cleanup_(cached_unrefp) struct cached *whole = cached_whole(o);
		return arena_dup(a, cached_metadata(whole, a));
	}
	return (struct str){cached_body(o, a).p + strlen("\"metadata\":"), o->n_metadata};
}

/* The text calls itself of that version. */
static struct str text_as(const struct cached *o, const struct version *v, struct arena *a)
{
	struct str parts[] = {STR("{\"kind\":\""), str_of(o->kind->kind), STR("\",\"apiVersion\":\""), str_of(v->group),
		v->group[0] ? STR("/") : STR(""), str_of(v->name), STR("\",")};
	size_t n = cached_body_size(o);
	char *text, *at;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		n += parts[i].n;
	}
	text = at = arena_text(a, n);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		at = put(at, parts[i].p, parts[i].n);
	}
	body_write(o, at);
	return (struct str){text, n};
}

struct str cached_text(const struct cached *o, struct arena *a)
{
	if (o->is_packed) {
		_cleanup_(cached_unrefp) struct cached *whole = cached_whole(o);
		return cached_text(whole, a);
	}
	return text_as(o, o->kind->hook ? o->stored_version : &o->kind->versions[0], a);
}

/* The definition may change so that the version in which it is stored decides on the object's fields. */
struct str cached_as_stored(const struct cached *o, struct arena *a)
{
	if (o->kind->life && o->n_beyond > 0) {
		return cached_beyond(o);
	}
	return o->kind->life && !o->is_packed ? text_as(o, o->stored_version, a) : cached_text(o, a);
}

int cached_decode_text(struct object **ret, const struct cached *o, struct str text, struct arena *a)
{
	int r = object_decode_stored(ret, o->kind, text, o->revision, a);
	size_t at;

	if (r) {
		return r;
	}
	(*ret)->stored_version = o->stored_version;
	/* There, a kind with a life has the text that etcd has. */
	return o->n_beyond > 0 && !o->kind->life &&
			json_parse(&(*ret)->beyond, a, arena_dup(a, cached_beyond(o)), object_stored_limits(), &at)
		? OBJECT_UNRECOGNIZED
		: 0;
}

int cached_object(struct object **ret, const struct cached *o, struct arena *a)
{
	return cached_decode_text(ret, o, cached_text(o, a), a);
}

/* ---- the digest's text ---- */

static char *make_text(const struct cached *o)
{
	struct frame f = frame_of(o);
	_cleanup_(arena_done) struct arena a;
	char scratch[CACHED_SCRATCH];
	struct object *object;

	arena_init_with(&a, CACHED_DECODE_CEILING, scratch, sizeof(scratch));
	bool is_read = cached_object(&object, o, &a) == 0;
	assert(is_read);
	(void)is_read;
	struct str text = arena_printf(&a, STR_FMT STR_FMT "\":\"" STR_FMT STR_FMT, STR_ARG(f.before),
		STR_ARG(ANNOTATION_DIGEST), STR_ARG(history_digest(object, &a)), STR_ARG(f.behind));
	assert(text.n == cached_digest_size(o));
	return mem_dup(text.p, text.n);
}

/* Returns the digest's text. If two threads make it, the first one's stays. */
static struct str text_of(const struct cached *o)
{
	struct cached *keeper = (struct cached *)(uintptr_t)o;
	char *text = atomic_load_explicit(&keeper->digest, memory_order_acquire);

	if (!text) {
		char *made = make_text(o);
		if (atomic_compare_exchange_strong(&keeper->digest, &text, made)) {
			text = made;
		} else {
			mem_free(made);
		}
	}
	return (struct str){text, cached_digest_size(o)};
}

/* ---- the body in pieces ---- */

static bool is_added(const struct cached *o, const struct version *v)
{
	return o->digest_at > 0 && version_is_own(v, o->kind);
}

size_t cached_pieces(const struct cached *o, const struct version *v)
{
	assert(!o->is_packed);
	return o->fields ? CACHED_FIELDS + 2 * o->fields->n_times + 2 : is_added(o, v) ? CACHED_FIELDS : 1;
}

/* Returns a piece: parts of the shared text, the times between them, or the rest of the body. */
static struct str piece_of_fields(const struct cached *o, size_t i)
{
	struct str own = cached_own(o);
	size_t n_times = o->fields->n_times, at = o->fields_at + FIELDS_TIME_SIZE * MIN(i / 2, n_times);

	if (i > 2 * n_times) {
		return i == 2 * n_times + 1 ? (struct str){own.p + at, own.n - at} : STR("");
	}
	return i % 2 == 0 ? fields_part(o->fields, i / 2) : (struct str){own.p + at, FIELDS_TIME_SIZE};
}

struct str cached_piece(const struct cached *o, const struct version *v, size_t i)
{
	struct str own = cached_own(o);
	const size_t n_before = o->fields ? o->fields_at : own.n;

	assert(!o->is_packed);
	if (i >= CACHED_FIELDS) {
		return o->fields ? piece_of_fields(o, i - CACHED_FIELDS) : STR("");
	}
	if (!is_added(o, v)) {
		return i == 0 ? (struct str){own.p, n_before} : STR("");
	}
	return i == 0    ? (struct str){own.p, o->digest_at}
		: i == 1 ? text_of(o)
			 : (struct str){own.p + o->digest_at, n_before - o->digest_at};
}

size_t cached_shown_size(const struct cached *o, const struct version *v)
{
	return cached_body_size(o) + (is_added(o, v) ? cached_digest_size(o) : 0);
}
