/* Answers in protobuf: objects by their schema, and the messages that all API servers share
 * (k8s.io/apimachinery/pkg/apis/meta/v1, k8s.io/api/apidiscovery/v2).
 *
 * There is no generated code for each kind: one function walks the schema and the tree side by
 * side. Go's protobuf writes some empty texts that its JSON leaves out; the schema alone says
 * which. Lists have a type for the moment of writing: a kind does not declare its own. */
#include "api/model/protobuf_write.h"
#include "api/model/gotext.h"
#include "api/model/protobuf.h"
#include "base/base64.h"
#include "base/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Names, numbers, types: these are only written, never read, owned or described. */
#define TEXT(name, number)                                               \
	{                                                                \
		name, &type_string, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define TEXTS(name, number)                                                   \
	{                                                                     \
		name, &type_string_list, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define INT32(name, number)                                             \
	{                                                               \
		name, &type_int32, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define MAYBE(name, number, type)                                \
	{                                                        \
		name, type, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define ALWAYS(name, number, type)                                              \
	{                                                                       \
		name, type, FIELD_ALWAYS | FIELD_NUMBER(number), "", NULL, NULL \
	}
#define MESSAGE(of, ...) static const struct type of = {.kind = TYPE_OBJECT, .fields = (const struct field[]){__VA_ARGS__, {0}}}
#define LIST(of, elem_type) static const struct type of = {.kind = TYPE_LIST, .elem = &(elem_type)}

MESSAGE(type_cause, TEXT("reason", 1), TEXT("message", 2), TEXT("field", 3));
LIST(type_causes, type_cause);
MESSAGE(type_details, TEXT("name", 1), TEXT("group", 2), TEXT("kind", 3), MAYBE("causes", 4, &type_causes),
	INT32("retryAfterSeconds", 5), TEXT("uid", 6));
MESSAGE(type_status, ALWAYS("metadata", 1, &type_list_meta), TEXT("status", 2), TEXT("message", 3), TEXT("reason", 4),
	MAYBE("details", 5, &type_details), INT32("code", 6));

MESSAGE(type_partial, ALWAYS("metadata", 1, &type_object_meta));
LIST(type_partials, type_partial);
MESSAGE(type_partial_list, ALWAYS("metadata", 1, &type_list_meta), MAYBE("items", 2, &type_partials));
MESSAGE(type_partial_list_beta, MAYBE("items", 1, &type_partials), ALWAYS("metadata", 2, &type_list_meta));

MESSAGE(type_server_address, TEXT("clientCIDR", 1), TEXT("serverAddress", 2));
LIST(type_server_addresses, type_server_address);
MESSAGE(type_versions, TEXTS("versions", 1), MAYBE("serverAddressByClientCIDRs", 2, &type_server_addresses));
MESSAGE(type_group_version, TEXT("groupVersion", 1), TEXT("version", 2));
LIST(type_group_versions, type_group_version);
MESSAGE(type_group, TEXT("name", 1), MAYBE("versions", 2, &type_group_versions),
	ALWAYS("preferredVersion", 3, &type_group_version), MAYBE("serverAddressByClientCIDRs", 4, &type_server_addresses));
LIST(type_groups, type_group);
MESSAGE(type_group_list, MAYBE("groups", 1, &type_groups));
/* The list of verbs is a message of its own. */
MESSAGE(type_resource, TEXT("name", 1), {"namespaced", &type_bool, FIELD_NUMBER(2), "", NULL, NULL}, TEXT("kind", 3),
	{"verbs", &type_string_list, FIELD_NUMBER_IN(4, 1), "", NULL, NULL}, TEXTS("shortNames", 5), TEXT("singularName", 6),
	TEXTS("categories", 7), TEXT("group", 8), TEXT("version", 9), TEXT("storageVersionHash", 10));
LIST(type_resources, type_resource);
MESSAGE(type_resource_list, TEXT("groupVersion", 1), MAYBE("resources", 2, &type_resources));

MESSAGE(type_gvk, TEXT("group", 1), TEXT("version", 2), TEXT("kind", 3));
LIST(type_gvks, type_gvk);
MESSAGE(type_subresource_discovery, TEXT("subresource", 1), MAYBE("responseKind", 2, &type_gvk),
	MAYBE("acceptedTypes", 3, &type_gvks), TEXTS("verbs", 4));
LIST(type_subresource_discoveries, type_subresource_discovery);
MESSAGE(type_resource_discovery, TEXT("resource", 1), MAYBE("responseKind", 2, &type_gvk), TEXT("scope", 3),
	TEXT("singularResource", 4), TEXTS("verbs", 5), TEXTS("shortNames", 6), TEXTS("categories", 7),
	MAYBE("subresources", 8, &type_subresource_discoveries));
LIST(type_resource_discoveries, type_resource_discovery);
MESSAGE(type_version_discovery, TEXT("version", 1), MAYBE("resources", 2, &type_resource_discoveries), TEXT("freshness", 3));
LIST(type_version_discoveries, type_version_discovery);
MESSAGE(type_group_discovery, ALWAYS("metadata", 1, &type_object_meta), MAYBE("versions", 2, &type_version_discoveries));
LIST(type_group_discoveries, type_group_discovery);
MESSAGE(type_group_discovery_list, ALWAYS("metadata", 1, &type_list_meta), MAYBE("items", 2, &type_group_discoveries));

static const struct {
	const char *api_version, *kind;
	const struct type *type;
} shared_types[] = {
	{"v1", "Status", &type_status},
	{"meta.k8s.io/v1", "PartialObjectMetadata", &type_partial},
	{"meta.k8s.io/v1", "PartialObjectMetadataList", &type_partial_list},
	{"meta.k8s.io/v1beta1", "PartialObjectMetadata", &type_partial},
	{"meta.k8s.io/v1beta1", "PartialObjectMetadataList", &type_partial_list_beta},
	{"", "APIVersions", &type_versions},
	{"v1", "APIVersions", &type_versions},
	{"v1", "APIGroup", &type_group},
	{"v1", "APIGroupList", &type_group_list},
	{"", "APIResourceList", &type_resource_list}, /* the core group says no version */
	{"v1", "APIResourceList", &type_resource_list},
	{"apidiscovery.k8s.io/v2", "APIGroupDiscoveryList", &type_group_discovery_list},
};

static const struct type *shared_type(struct str api_version, struct str kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(shared_types); i++) {
		if (str_is(kind, shared_types[i].kind) && str_is(api_version, shared_types[i].api_version)) {
			return shared_types[i].type;
		}
	}
	return NULL;
}

static const struct type *protobuf_list_type(const struct type *item, struct arena *a)
{
	struct type *list = arena_new(a, struct type), *items = arena_new(a, struct type);
	struct field *fields = arena_array(a, struct field, 3);

	*items = (struct type){.kind = TYPE_LIST, .elem = item};
	fields[0] = (struct field)ALWAYS("metadata", 1, &type_list_meta);
	fields[1] = (struct field)MAYBE("items", PROTOBUF_LIST_ITEMS, items);
	*list = (struct type){.kind = TYPE_OBJECT, .fields = fields};
	return list;
}

/* An object of the kind at that version, its list, or what one of its subresources shows. */
static const struct type *kind_type(const struct kind *k, struct str api_version, struct str kind, struct arena *a)
{
	const struct version *v = kind_version(k, api_version);

	if (v && str_is(kind, k->kind)) {
		return version_type(k, v);
	}
	if (v && str_is(kind, k->list_kind)) {
		return protobuf_list_type(version_type(k, v), a);
	}
	for (size_t i = 0; i < k->n_subresources; i++) {
		const struct view *view = k->subresources[i].view;
		if (view && str_is(kind, view->kind->kind) && kind_version(view->kind, api_version)) {
			return view->kind->type;
		}
	}
	return NULL;
}

const struct type *protobuf_type_of(struct str api_version, struct str kind, struct arena *a)
{
	const struct type *type = shared_type(api_version, kind);

	for (size_t i = 0; !type && i < kind_count(); i++) {
		type = kind_type(kind_at(i), api_version, kind, a);
	}
	return type && protobuf_knows(type) ? type : NULL;
}

bool protobuf_from_tree(struct buf *out, const struct json *object)
{
	struct str api_version = json_text(json_gets(object, "apiVersion")), kind = json_text(json_gets(object, "kind"));
	struct protobuf_out message;
	struct arena a;

	arena_init(&a, SIZE_MAX / 2);
	protobuf_out_init(&message, out->ceiling);
	const struct type *type = protobuf_type_of(api_version, kind, &a);
	if (type) {
		protobuf_put(&message, protobuf_envelope_tail);
		protobuf_put_object(&message, type, object);
		protobuf_put_envelope_head(&message, api_version, kind, protobuf_out_size(&message) - protobuf_envelope_tail.n);
	}
	out->is_over = out->is_over || message.is_over;
	bool ok = type && buf_add_str(out, protobuf_out_str(&message));
	protobuf_out_done(&message);
	arena_done(&a);
	return ok;
}

bool protobuf_from_text(struct buf *out, struct str json_text)
{
	struct arena a;
	struct json *j;
	size_t at;

	arena_init(&a, SIZE_MAX / 2);
	bool ok = json_parse(&j, &a, json_text, (struct json_limits){.depth = UINT32_MAX, .values = SIZE_MAX}, &at) == 0 &&
		protobuf_from_tree(out, j);
	arena_done(&a);
	return ok;
}

/* ---- writing ---- */

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES };
/* Messages of a type that holds itself: what is accepted has no more containers in each other. Others may have written more into etcd. */
enum { MESSAGES_MAX = 512 };
/* Bytes of a varint: 64 bits, of which each byte holds seven. */
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

static void protobuf_out_grow(struct protobuf_out *o, size_t wanted)
{
	size_t n = protobuf_out_size(o), cap = MIN(MAX(MAX(2 * o->cap, n + wanted), (size_t)FIRST_CAP), o->ceiling);
	char *p = mem_alloc(cap);

	if (n > 0) {
		memcpy(p + cap - n, o->p + o->at, n);
	}
	mem_free(o->p);
	*o = (struct protobuf_out){.p = p, .at = cap - n, .cap = cap, .ceiling = o->ceiling, .depth = o->depth};
}

/* Makes room for n bytes before the written ones; NULL when that is too much. */
static char *protobuf_out_take(struct protobuf_out *o, size_t n)
{
	if (o->is_over || n > o->ceiling - protobuf_out_size(o)) {
		o->is_over = true;
		return NULL;
	}
	if (n > o->at) {
		protobuf_out_grow(o, n);
	}
	o->at -= n;
	return o->p + o->at;
}

void protobuf_put(struct protobuf_out *o, struct str bytes)
{
	char *p = bytes.n > 0 ? protobuf_out_take(o, bytes.n) : NULL;

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

static void put_double(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	(void)t;
	double value = v ? go_double(json_text(v)) : 0;
	uint64_t bits;
	char bytes[sizeof(bits)];

	memcpy(&bits, &value, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (char)(bits >> 8 * i);
	}
	protobuf_put(o, (struct str){bytes, sizeof(bytes)});
	put_tag(o, number, WIRE_FIXED64);
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
	char *p = protobuf_out_take(o, room);

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

/* Writes a message of one text: a Quantity, or an opaque value. */
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

static bool fits(const struct type *t, const struct json *v);

/* Go's struct of a schema or a bool has the bool set beside a schema. */
static void put_choice(struct protobuf_out *o, const struct type *message, const struct json *v)
{
	size_t n = 0;

	for (; message->fields[n].name; n++) {
	}
	for (; n > 0; n--) {
		const struct field *f = &message->fields[n - 1];
		if (f->type->kind == TYPE_BOOL) {
			put_number(o, field_number(f), v && (v->kind != JSON_BOOL || v->boolean));
		} else if (fits(f->type, v)) {
			put_value(o, f->type, field_number(f), v);
		}
	}
}

static void put_message(struct protobuf_out *o, const struct type *message, unsigned number, const struct json *v)
{
	size_t before = protobuf_out_size(o);

	o->is_over = o->is_over || o->depth == MESSAGES_MAX;
	if (o->is_over) {
		return;
	}
	o->depth += !message->is_choice;
	if (message->is_choice) {
		put_choice(o, message, v);
	} else {
		protobuf_put_object(o, message, v);
	}
	o->depth -= !message->is_choice;
	protobuf_put_head(o, number, protobuf_out_size(o) - before);
}

static void put_opaque(struct protobuf_out *o, const struct type *t, unsigned number, const struct json *v)
{
	struct buf made;

	if (t->message) {
		put_message(o, t->message, number, v);
	} else if (!v) {
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

/* The normal form of a map has its keys in order, and each key once. An object that another program
 * has written into etcd may have neither. */
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
		[TYPE_DOUBLE] = {JSON_NUMBER, JSON_NUMBER},
	};

	if (t->message && !t->message->is_choice) {
		return json_is(v, JSON_OBJECT);
	}
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
		[TYPE_DOUBLE] = put_double,
		[TYPE_RAW] = put_opaque,
		[TYPE_FIELDS_V1] = put_opaque,
	};

	assert(t->kind < ARRAY_SIZE(put) && put[t->kind]);
	put[t->kind](o, t, number, fits(t, v) ? v : NULL);
}

/* ---- fields ---- */

/* Returns whether the field is in the message even if the object does not have it. Go's pointers,
 * lists, maps and bytes are not. */
static bool is_written_empty(const struct field *f)
{
	switch (f->type->kind) {
	case TYPE_STRING:
	case TYPE_BOOL:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_DOUBLE:
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

/* The place of a field in the message. Fields of an embedded message have the place of that
 * message. */
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

/* Finds the value of each field. If a member occurs twice, the last one counts. */
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
