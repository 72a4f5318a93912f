/* There is no generated code for each kind: one function walks the schema and the tree side by side. What Go's JSON leaves out and its
 * protobuf does not (an empty text that is no pointer) comes from the schema alone. */
#include "api/model/protobuf_write.h"

#include "base/base64.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

enum wire { WIRE_VARINT, WIRE_BYTES = 2 };
enum { FIRST_CAP = 1024, VARINT_MAX = 10 };

/* ---- bytes, from the end ---- */

void protobuf_out_init(struct protobuf_out *o, size_t ceiling)
{
	*o = (struct protobuf_out){.ceiling = ceiling};
}

void protobuf_out_done(struct protobuf_out *o)
{
	o->p = mem_free(o->p);
	o->at = o->cap = 0;
}

void protobuf_out_clear(struct protobuf_out *o)
{
	o->at = o->cap;
	o->is_over = false;
}

struct str protobuf_out_str(const struct protobuf_out *o)
{
	return (struct str){o->p ? o->p + o->at : "", protobuf_out_size(o)};
}

static void grow(struct protobuf_out *o, size_t wanted)
{
	size_t n = protobuf_out_size(o), cap = MIN(MAX(MAX(2 * o->cap, n + wanted), (size_t)FIRST_CAP), o->ceiling);
	char *p = mem_alloc(cap);

	if (n > 0) {
		memcpy(p + cap - n, o->p + o->at, n);
	}
	mem_free(o->p);
	*o = (struct protobuf_out){.p = p, .at = cap - n, .cap = cap, .ceiling = o->ceiling};
}

/* Room for n bytes before what is there; NULL when that is too much. */
static char *take(struct protobuf_out *o, size_t n)
{
	if (o->is_over || n > o->ceiling - protobuf_out_size(o)) {
		o->is_over = true;
		return NULL;
	}
	if (n > o->at) {
		grow(o, n);
	}
	o->at -= n;
	return o->p + o->at;
}

void protobuf_put(struct protobuf_out *o, struct str bytes)
{
	char *p = bytes.n > 0 ? take(o, bytes.n) : NULL;

	if (p) {
		memcpy(p, bytes.p, bytes.n);
	}
}

static void put_varint(struct protobuf_out *o, uint64_t n)
{
	char text[VARINT_MAX];
	size_t i = 0;

	for (; n >= 0x80; n >>= 7) {
		text[i++] = (char)(n | 0x80);
	}
	text[i++] = (char)n;
	protobuf_put(o, (struct str){text, i});
}

static void put_tag(struct protobuf_out *o, unsigned number, enum wire wire)
{
	put_varint(o, (uint64_t)number << 3 | wire);
}

void protobuf_put_head(struct protobuf_out *o, unsigned number, size_t n)
{
	put_varint(o, n);
	put_tag(o, number, WIRE_BYTES);
}

void protobuf_put_text(struct protobuf_out *o, unsigned number, struct str text)
{
	protobuf_put(o, text);
	protobuf_put_head(o, number, text.n);
}

static void put_number(struct protobuf_out *o, unsigned number, int64_t value)
{
	put_varint(o, (uint64_t)value);
	put_tag(o, number, WIRE_VARINT);
}

size_t protobuf_head_size(size_t n)
{
	size_t size = 2;

	for (; n >= 0x80; n >>= 7) {
		size++;
	}
	return size;
}

/* ---- values, each with its tag; NULL: the empty one ---- */

static void put_value(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v);

static void put_string(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	protobuf_put_text(o, number, json_text(v));
}

static void put_bool(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	put_number(o, number, v && v->boolean);
}

static void put_int(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	int64_t n = 0;
	json_to_int64(v, &n);
	put_number(o, number, n);
}

static void put_timestamp(struct protobuf_out *o, unsigned number, const struct json *v, bool has_fraction)
{
	static const int64_t zero_us = -62135596800 * 1000000; /* Go's zero time, which is an empty message */
	size_t before = protobuf_out_size(o);
	int64_t us;

	if (time_parse_rfc3339(json_text(v), &us) && us != zero_us) {
		int64_t fraction_us = (us % 1000000 + 1000000) % 1000000;
		put_number(o, 2, has_fraction ? fraction_us * 1000 : 0);
		put_number(o, 1, (us - fraction_us) / 1000000);
	}
	protobuf_put_head(o, number, protobuf_out_size(o) - before);
}

static void put_time(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	put_timestamp(o, number, v, t->kind == TYPE_MICRO_TIME);
}

static void put_bytes(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	struct str text = json_text(v);
	size_t room = BASE64_ROOM(text.n), n = 0;
	char *p = take(o, room);

	if (!p) {
		return;
	}
	if (!base64_decode(p, text, &n)) {
		n = 0;
	}
	memmove(p + room - n, p, n);
	o->at += room - n;
	protobuf_put_head(o, number, n);
}

static void put_int_or_string(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	size_t before = protobuf_out_size(o);
	bool is_string = json_is(v, JSON_STRING);
	int64_t n = 0;

	json_to_int64(v, &n);
	protobuf_put_text(o, 3, is_string ? json_text(v) : STR(""));
	put_number(o, 2, n);
	put_number(o, 1, is_string);
	protobuf_put_head(o, number, protobuf_out_size(o) - before);
}

/* A message of one text: Quantity, and what is opaque. */
static void put_wrapped(struct protobuf_out *o, unsigned number, struct str text)
{
	size_t before = protobuf_out_size(o);

	protobuf_put_text(o, 1, text);
	protobuf_put_head(o, number, protobuf_out_size(o) - before);
}

static void put_quantity(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	put_wrapped(o, number, v ? json_text(v) : STR("0"));
}

static void put_opaque(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	struct buf made;

	if (!v) {
		protobuf_put_head(o, number, 0);
	} else if (v->source.n > 0) {
		put_wrapped(o, number, v->source);
	} else {
		buf_init(&made, o->ceiling);
		o->is_over = !json_encode(&made, v) || o->is_over;
		put_wrapped(o, number, buf_str(&made));
		buf_done(&made);
	}
}

static void put_list(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	for (uint32_t i = v ? v->n : 0; i > 0; i--) {
		put_value(o, t->elem, number, v->items[i - 1]);
	}
}

static int member_cmp(const void *a, const void *b)
{
	const struct json_member *const *x = a, *const *y = b;
	int by_name = str_cmp((*x)->name, (*y)->name);

	return by_name ? by_name : (*x > *y) - (*x < *y);
}

static bool is_sorted(const struct json *map)
{
	for (uint32_t i = 1; i < map->n; i++) {
		if (str_cmp(map->members[i - 1].name, map->members[i].name) >= 0) {
			return false;
		}
	}
	return true;
}

static void put_entry(struct protobuf_out *o, const struct type *elem, unsigned number, const struct json_member *m)
{
	size_t before = protobuf_out_size(o);

	if (elem->kind == TYPE_LIST) { /* a message, in which the items are field 1 */
		put_list(o, elem, 1, m->value);
		protobuf_put_head(o, 2, protobuf_out_size(o) - before);
	} else {
		put_value(o, elem, 2, m->value);
	}
	protobuf_put_text(o, 1, m->name);
	protobuf_put_head(o, number, protobuf_out_size(o) - before);
}

/* The normal form has keys in order, and each once. What others have written into etcd may not. */
static void put_unsorted(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *map)
{
	const struct json_member **members = mem_realloc_array(NULL, map->n, sizeof(*members));

	for (uint32_t i = 0; i < map->n; i++) {
		members[i] = &map->members[i];
	}
	qsort(members, map->n, sizeof(*members), member_cmp);
	for (uint32_t i = map->n; i > 0; i--) {
		bool is_repeated = i < map->n && str_eq(members[i]->name, members[i - 1]->name);
		if (!is_repeated) {
			put_entry(o, t->elem, number, members[i - 1]);
		}
	}
	mem_free(members);
}

static void put_map(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	if (json_is(v, JSON_OBJECT) && !is_sorted(v)) {
		put_unsorted(o, t, number, v);
		return;
	}
	for (uint32_t i = v ? v->n : 0; i > 0; i--) {
		put_entry(o, t->elem, number, &v->members[i - 1]);
	}
}

static void put_object(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	size_t before = protobuf_out_size(o);

	protobuf_put_object(o, t, v);
	protobuf_put_head(o, number, protobuf_out_size(o) - before);
}

/* A value that is not of its type's kind, which only others can have written into etcd, counts as none. */
static bool fits(const struct type *t, const struct json *v)
{
	static const struct {
		enum json_kind kind, other;
	} kinds[] = {
		[TYPE_STRING] = {JSON_STRING, JSON_STRING},
		[TYPE_BOOL] = {JSON_BOOL, JSON_BOOL},
		[TYPE_INT32] = {JSON_NUMBER, JSON_NUMBER},
		[TYPE_INT64] = {JSON_NUMBER, JSON_NUMBER},
		[TYPE_TIME] = {JSON_STRING, JSON_STRING},
		[TYPE_MICRO_TIME] = {JSON_STRING, JSON_STRING},
		[TYPE_BYTES] = {JSON_STRING, JSON_STRING},
		[TYPE_INT_OR_STRING] = {JSON_NUMBER, JSON_STRING},
		[TYPE_QUANTITY] = {JSON_STRING, JSON_NUMBER},
		[TYPE_OBJECT] = {JSON_OBJECT, JSON_OBJECT},
		[TYPE_MAP] = {JSON_OBJECT, JSON_OBJECT},
		[TYPE_LIST] = {JSON_ARRAY, JSON_ARRAY},
	};

	if (t->kind == TYPE_RAW || t->kind == TYPE_FIELDS_V1) {
		return v && v->kind != JSON_NULL;
	}
	return v && (v->kind == kinds[t->kind].kind || v->kind == kinds[t->kind].other);
}

static void put_value(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	static void (*const put[])(struct protobuf_out *, const struct type *, unsigned, const struct json *) = {
		[TYPE_STRING] = put_string,
		[TYPE_BOOL] = put_bool,
		[TYPE_INT32] = put_int,
		[TYPE_INT64] = put_int,
		[TYPE_TIME] = put_time,
		[TYPE_MICRO_TIME] = put_time,
		[TYPE_BYTES] = put_bytes,
		[TYPE_INT_OR_STRING] = put_int_or_string,
		[TYPE_QUANTITY] = put_quantity,
		[TYPE_OBJECT] = put_object,
		[TYPE_MAP] = put_map,
		[TYPE_LIST] = put_list,
		[TYPE_RAW] = put_opaque,
		[TYPE_FIELDS_V1] = put_opaque,
	};

	assert(t->kind < ARRAY_SIZE(put) && put[t->kind]);
	put[t->kind](o, t, number, fits(t, v) ? v : NULL);
}

/* ---- fields ---- */

/* Is it in the message when the object does not have it? Go's pointers, lists, maps and bytes are not. */
static bool is_written_empty(const struct field *f)
{
	switch (f->type->kind) {
	case TYPE_STRING:
	case TYPE_BOOL:
	case TYPE_INT32:
	case TYPE_INT64:
		return !(f->flags & FIELD_KEEP_EMPTY);
	case TYPE_BYTES:
	case TYPE_MAP:
	case TYPE_LIST:
	case TYPE_FIELDS_V1:
		return false;
	default: /* structs */
		return (f->flags & FIELD_BY_VALUE) || (f->flags & (FIELD_ALWAYS | FIELD_KEEP_EMPTY)) == FIELD_ALWAYS;
	}
}

/* Where a field stands in the message: what is in an embedded message stands where that one does. */
static unsigned place(const struct field *f)
{
	unsigned within = field_within(f), number = field_number(f);

	return within ? within << (FIELD_WITHIN_SHIFT - FIELD_NUMBER_SHIFT) | number
		      : number << (FIELD_WITHIN_SHIFT - FIELD_NUMBER_SHIFT);
}

/* Fields with a number, in the order of the message; most stand so in the schema. */
static size_t sort_fields(const struct type *t, unsigned char order[TYPE_FIELDS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; t->fields[i].name; i++) {
		if (!field_number(&t->fields[i])) {
			continue;
		}
		size_t at = n++;
		for (; at > 0 && place(&t->fields[order[at - 1]]) > place(&t->fields[i]); at--) {
			order[at] = order[at - 1];
		}
		order[at] = (unsigned char)i;
	}
	return n;
}

/* Of a member that comes twice the last counts. */
static void find_members(const struct type *t, const struct json *object, const struct json *values[TYPE_FIELDS_MAX])
{
	int hint = 0;

	for (uint32_t i = 0; json_is(object, JSON_OBJECT) && i < object->n; i++) {
		int at = type_field_index(t, object->members[i].name, hint);
		if (at >= 0) {
			values[at] = object->members[i].value;
			hint = at + 1;
		}
	}
}

void protobuf_put_object(struct protobuf_out *o, const struct type *type, const struct json *object)
{
	const struct json *values[TYPE_FIELDS_MAX] = {NULL};
	unsigned char order[TYPE_FIELDS_MAX];
	size_t n = sort_fields(type, order), before = 0;
	unsigned within = 0;

	find_members(type, object, values);
	for (size_t i = n; i > 0; i--) {
		const struct field *f = &type->fields[order[i - 1]];
		const struct json *v = values[order[i - 1]];
		if (field_within(f) != within) {
			if (within) {
				protobuf_put_head(o, within, protobuf_out_size(o) - before);
			}
			within = field_within(f);
			before = protobuf_out_size(o);
		}
		if ((v && v->kind != JSON_NULL) || is_written_empty(f)) {
			put_value(o, f->type, field_number(f), v);
		}
	}
	if (within) {
		protobuf_put_head(o, within, protobuf_out_size(o) - before);
	}
}

/* ---- the envelope ---- */

/* runtime.Unknown's contentEncoding and contentType, which are empty. */
const struct str protobuf_envelope_tail = {"\x1a\0\x22\0", 4};

void protobuf_put_envelope_head(struct protobuf_out *o, struct str api_version, struct str kind, size_t message_n)
{
	enum { UNKNOWN_TYPE_META = 1, UNKNOWN_RAW = 2 };

	protobuf_put_head(o, UNKNOWN_RAW, message_n);
	size_t before = protobuf_out_size(o);
	protobuf_put_text(o, 2, kind);
	protobuf_put_text(o, 1, api_version);
	protobuf_put_head(o, UNKNOWN_TYPE_META, protobuf_out_size(o) - before);
	protobuf_put(o, (struct str){"k8s", 4}); /* with its NUL */
}
