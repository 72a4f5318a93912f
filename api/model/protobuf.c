/* Typed clients (client-go of built-in kinds) send protobuf and never fall back to JSON, so
 * bodies are read; answers are JSON always (docs/reference/deviations.md). The schema's numbers are
 * enough: there is no generated code for each kind. Sentences of errors are those of Go's
 * generated code. */
#include "api/model/protobuf.h"

#include "api/model/gotext.h"
#include "api/model/object.h"
#include "base/base64.h"
#include "base/clock.h"

#include <assert.h>
#include <math.h>

static const struct str prefix = {"k8s", 4}; /* with its NUL */

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_GROUP, WIRE_GROUP_END, WIRE_FIXED32 };
enum {
	GROUPS_MAX = 100,     /* within each other */
	VALUES_MAX = 1000000, /* in the whole body, opaque JSON aside: JSON_LIMITS_DEFAULT has its own */
	DOUBLE_COST = 10,     /* values: the shortest digits of a number take as long to find as others to read */
	/* The greatest number of a field, as protobuf defines it; a body with a greater one is refused. */
	NUMBER_MAX = (1 << 29) - 1,
};

/* An occurrence of a field in the bytes of a message. */
struct part {
	uint64_t number;
	enum wire wire;
	uint64_t varint;  /* WIRE_VARINT */
	struct str bytes; /* WIRE_BYTES, and the fixed ones */
};

struct decoder {
	struct arena *arena;
	size_t n_values;
	unsigned depth;       /* of containers in the JSON that is made */
	bool has_messages;    /* of TYPE_RAW: settle() has to make JSON of them */
	struct str error;     /* the first */
	bool is_error_placed; /* it says in which field */
};

static struct json *decoder_fail(struct decoder *d, struct str error)
{
	if (!d->error.n) {
		d->error = error;
	}
	return NULL;
}

/* ---- the wire: sentences are those of Go's generated code ---- */

static bool cut_varint(struct decoder *d, struct str *in, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (in->n == 0) {
			decoder_fail(d, STR("unexpected EOF"));
			return false;
		}
		unsigned char byte = (unsigned char)*in->p;
		*in = (struct str){in->p + 1, in->n - 1};
		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			return true;
		}
	}
	decoder_fail(d, STR("proto: integer overflow"));
	return false;
}

static bool cut_bytes(struct decoder *d, struct str *in, uint64_t n, struct str *ret)
{
	if (n > in->n) {
		decoder_fail(d, STR("unexpected EOF"));
		return false;
	}
	*ret = (struct str){in->p, (size_t)n};
	*in = (struct str){in->p + n, in->n - (size_t)n};
	return true;
}

static bool cut_tag(struct decoder *d, struct str *in, struct part *ret)
{
	uint64_t tag;
	if (!cut_varint(d, in, &tag)) {
		return false;
	}
	*ret = (struct part){.number = tag >> 3, .wire = (enum wire)(tag & 7)};
	if (ret->number == 0 || ret->number > NUMBER_MAX) {
		decoder_fail(d, arena_printf(d->arena, "proto: illegal tag %llu", (unsigned long long)tag));
		return false;
	}
	return true;
}

static bool cut_plain_value(struct decoder *d, struct str *in, struct part *ret)
{
	uint64_t n;
	switch (ret->wire) {
	case WIRE_VARINT:
		return cut_varint(d, in, &ret->varint);
	case WIRE_FIXED64:
		return cut_bytes(d, in, 8, &ret->bytes);
	case WIRE_BYTES:
		return cut_varint(d, in, &n) && cut_bytes(d, in, n, &ret->bytes);
	case WIRE_FIXED32:
		return cut_bytes(d, in, 4, &ret->bytes);
	case WIRE_GROUP_END:
		decoder_fail(d, STR("proto: unexpected end of group"));
		return false;
	default:
		decoder_fail(d, arena_printf(d->arena, "proto: illegal wireType %d", (int)ret->wire));
		return false;
	}
}

/* No message of Kubernetes has groups, but unknown fields of any form are skipped. */
static bool skip_group(struct decoder *d, struct str *in)
{
	struct part p;
	for (unsigned depth = 1; depth > 0;) {
		if (!cut_tag(d, in, &p)) {
			return false;
		}
		if (p.wire == WIRE_GROUP || p.wire == WIRE_GROUP_END) {
			depth += p.wire == WIRE_GROUP ? 1 : -1u;
		} else if (!cut_plain_value(d, in, &p)) {
			return false;
		}
		if (depth > GROUPS_MAX) {
			decoder_fail(d, STR("proto: groups are nested too deeply"));
			return false;
		}
	}
	return true;
}

/* False at the end of the message, and after a failure. */
static bool next_part(struct decoder *d, struct str *in, struct part *ret)
{
	if (d->error.n || in->n == 0 || !cut_tag(d, in, ret)) {
		return false;
	}
	return ret->wire == WIRE_GROUP ? skip_group(d, in) : cut_plain_value(d, in, ret);
}

static bool check_wire(struct decoder *d, const struct part *p, enum wire wire)
{
	if (p->wire != wire) {
		decoder_fail(d, arena_printf(d->arena, "proto: wrong wireType = %d", (int)p->wire));
	}
	return p->wire == wire;
}

/* ---- values; `before` is what earlier occurrences of the same field have made, or NULL ---- */

static struct json *read_value(struct decoder *d, const struct type *t, const struct part *p, struct json *before);

static struct json *make_string(struct decoder *d, struct str text)
{
	return json_is_utf8(text) ? json_string(d->arena, text)
				  : decoder_fail(d, STR("proto: string field contains invalid UTF-8"));
}

static struct json *read_string(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	return make_string(d, p->bytes);
}

static struct json *read_bool(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	return json_bool(d->arena, p->varint != 0);
}

static struct json *read_int(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)before;
	return json_int(d->arena, t->kind == TYPE_INT32 ? (int32_t)(uint32_t)p->varint : (int64_t)p->varint);
}

static struct json *read_double(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	uint64_t bits = 0;
	double number;
	for (size_t i = 0; i < sizeof(bits); i++) {
		bits |= (uint64_t)(unsigned char)p->bytes.p[i] << 8 * i;
	}
	memcpy(&number, &bits, sizeof(number));
	d->n_values += DOUBLE_COST;
	if (!isfinite(number)) {
		const char *name = isnan(number) ? "NaN" : signbit(number) ? "-Inf" : "+Inf";
		return decoder_fail(d, arena_printf(d->arena, "json: unsupported value: %s", name));
	}
	return json_number(d->arena, go_float_json(number, d->arena));
}

static struct json *read_bytes(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	size_t n = BASE64_SIZE(p->bytes.n);
	char *text = arena_text(d->arena, n);
	base64_encode(text, p->bytes);
	return json_string(d->arena, (struct str){text, n});
}

struct timestamp {
	int64_t s, ns;
};

static bool read_timestamp(struct decoder *d, struct str in, struct timestamp *ret)
{
	static const int64_t first_s = -62135596800, last_s = 253402300799; /* of the years 1 and 9999 */
	int64_t *const members[] = {&ret->s, &ret->ns};
	struct part p;
	*ret = (struct timestamp){0};
	while (next_part(d, &in, &p)) {
		if (p.number <= ARRAY_SIZE(members) && check_wire(d, &p, WIRE_VARINT)) {
			*members[p.number - 1] = (int64_t)p.varint;
		}
	}
	if (ret->s < first_s || ret->s > last_s || ret->ns < 0 || ret->ns > 999999999) {
		decoder_fail(d, STR("proto: the time is out of range"));
	}
	return !d->error.n;
}

/* Go writes its zero time as an empty message, and ignores the fraction. */
static struct json *read_time(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	struct timestamp time;
	char text[TIME_RFC3339_SIZE];
	if (p->bytes.n == 0 || !read_timestamp(d, p->bytes, &time)) {
		return json_null(d->arena);
	}
	time_format_rfc3339(text, time.s);
	return json_string(d->arena, arena_dup(d->arena, str_of(text)));
}

static struct json *read_micro_time(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	struct timestamp time;
	char text[TIME_RFC3339_MICRO_SIZE];
	if (p->bytes.n == 0 || !read_timestamp(d, p->bytes, &time)) {
		return json_null(d->arena);
	}
	time_format_rfc3339_micro(text, time.s * 1000000 + time.ns / 1000);
	return json_string(d->arena, arena_dup(d->arena, str_of(text)));
}

/* The bytes that RawExtension, FieldsV1 and Quantity wrap; false when there are none. */
static bool read_wrapped(struct decoder *d, struct str in, struct str *ret)
{
	struct part p;
	*ret = (struct str){0};
	while (next_part(d, &in, &p)) {
		if (p.number == 1 && check_wire(d, &p, WIRE_BYTES)) {
			*ret = p.bytes;
		}
	}
	return !d->error.n && ret->n > 0;
}

static struct json *read_object(struct decoder *d, const struct type *t, const struct part *p, struct json *before);

static struct json *read_opaque(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	struct json *v;
	struct str text;
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	size_t at;
	if (t->message) {
		d->has_messages = true;
		return read_object(d, t->message, p, before);
	}
	limits.depth -= d->depth;
	if (!read_wrapped(d, p->bytes, &text)) {
		return json_null(d->arena);
	}
	int error = json_parse(&v, d->arena, text, limits, &at);
	return error ? decoder_fail(d, str_of(json_error_text(d->arena, error, text, at))) : v;
}

static struct json *read_quantity(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	struct str text;
	return make_string(d, read_wrapped(d, p->bytes, &text) ? text : STR("0"));
}

static struct json *read_int_or_string(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	(void)t, (void)before;
	struct str in = p->bytes, text = STR("");
	uint64_t is_string = 0, number = 0;
	struct part member;
	while (next_part(d, &in, &member)) {
		if (member.number == 1 && check_wire(d, &member, WIRE_VARINT)) {
			is_string = member.varint;
		} else if (member.number == 2 && check_wire(d, &member, WIRE_VARINT)) {
			number = member.varint;
		} else if (member.number == 3 && check_wire(d, &member, WIRE_BYTES)) {
			text = member.bytes;
		}
	}
	return is_string ? make_string(d, text) : json_int(d->arena, (int32_t)(uint32_t)number);
}

static const struct field *field_of_number(const struct type *t, uint64_t within, uint64_t number)
{
	for (const struct field *f = t->fields; f->name; f++) {
		if (field_number(f) == number && field_within(f) == within) {
			return f;
		}
	}
	return NULL;
}

static bool is_embedded_message(const struct type *t, uint64_t number)
{
	for (const struct field *f = t->fields; f->name; f++) {
		if (field_within(f) == number) {
			return true;
		}
	}
	return false;
}

static void place_error(struct decoder *d, const struct type *t, const struct field *f)
{
	if (d->error.n && !d->is_error_placed) {
		d->error = arena_printf(d->arena, "%s.%s: " STR_FMT, type_go_name(t), f->name, STR_ARG(d->error));
		d->is_error_placed = true;
	}
}

static void read_member(struct decoder *d, const struct type *t, const struct field *f, const struct part *p, struct json *into)
{
	struct json *v = read_value(d, f->type, p, json_gets(into, f->name));
	if (v) {
		json_set(d->arena, into, str_of(f->name), v);
	}
	place_error(d, t, f);
}

/* Reads the members of the embedded message with the number `within`, or of the object itself
 * (0). */
static void read_members_in(struct decoder *d, const struct type *t, uint64_t within, struct str in, struct json *into)
{
	struct part p;
	while (next_part(d, &in, &p)) {
		const struct field *f = field_of_number(t, within, p.number);
		if (f) {
			read_member(d, t, f, &p, into);
		} else if (!within && is_embedded_message(t, p.number) && check_wire(d, &p, WIRE_BYTES)) {
			read_members_in(d, t, p.number, p.bytes, into);
		}
	}
}

static void read_members(struct decoder *d, const struct type *t, struct str in, struct json *into)
{
	read_members_in(d, t, 0, in, into);
}

static struct json *read_object(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	struct json *object = before ? before : json_object(d->arena);
	read_members(d, t, p->bytes, object);
	return object;
}

static struct json *read_list(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	struct json *list = before ? before : json_array(d->arena), *item = read_value(d, t->elem, p, NULL);
	if (item) {
		json_append(d->arena, list, item);
	}
	return list;
}

/* A list cannot be a map's value: it is a message, whose field 1 occurs once for each item. */
static struct json *read_listed(struct decoder *d, const struct type *t, const struct part *p)
{
	struct json *list = json_array(d->arena);
	struct str in = p->bytes;
	struct part member;
	if (!check_wire(d, p, WIRE_BYTES)) {
		return NULL;
	}
	while (next_part(d, &in, &member)) {
		if (member.number == 1) {
			read_list(d, t, &member, list);
		}
	}
	return list;
}

/* An entry is a message of a key and a value. Of equal keys the last counts, as in JSON. */
static struct json *read_map(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	struct json *map = before ? before : json_object(d->arena), *key = NULL, *value = NULL;
	struct str in = p->bytes;
	struct part member;
	while (next_part(d, &in, &member)) {
		if (member.number == 1) {
			key = read_value(d, &type_string, &member, NULL);
		} else if (member.number == 2) {
			value = t->elem->kind == TYPE_LIST ? read_listed(d, t->elem, &member)
							   : read_value(d, t->elem, &member, value);
		}
	}
	json_add(d->arena, map, key ? json_text(key) : STR(""), value ? value : json_null(d->arena));
	return map;
}

static bool is_container(const struct type *t)
{
	return t->kind == TYPE_OBJECT || t->kind == TYPE_MAP || t->kind == TYPE_LIST || (t->message && !t->message->is_choice);
}

/* NULL after a failure. */
static struct json *read_value(struct decoder *d, const struct type *t, const struct part *p, struct json *before)
{
	static const struct {
		enum wire wire;
		struct json *(*read)(struct decoder *, const struct type *, const struct part *, struct json *);
	} forms[] = {
		[TYPE_STRING] = {WIRE_BYTES, read_string},
		[TYPE_BOOL] = {WIRE_VARINT, read_bool},
		[TYPE_INT32] = {WIRE_VARINT, read_int},
		[TYPE_INT64] = {WIRE_VARINT, read_int},
		[TYPE_TIME] = {WIRE_BYTES, read_time},
		[TYPE_MICRO_TIME] = {WIRE_BYTES, read_micro_time},
		[TYPE_BYTES] = {WIRE_BYTES, read_bytes},
		[TYPE_INT_OR_STRING] = {WIRE_BYTES, read_int_or_string},
		[TYPE_QUANTITY] = {WIRE_BYTES, read_quantity},
		[TYPE_OBJECT] = {WIRE_BYTES, read_object},
		[TYPE_MAP] = {WIRE_BYTES, read_map},
		[TYPE_DOUBLE] = {WIRE_FIXED64, read_double},
		[TYPE_RAW] = {WIRE_BYTES, read_opaque},
		[TYPE_FIELDS_V1] = {WIRE_BYTES, read_opaque},
	};
	if (++d->n_values > VALUES_MAX || arena_is_full(d->arena)) {
		return decoder_fail(d, STR("the object takes too much memory"));
	}
	/* A schema holds schemas: bodies are as deep as JSON's may be, and no deeper. */
	if (is_container(t) && d->depth >= JSON_LIMITS_DEFAULT.depth) {
		return decoder_fail(d, STR("proto: messages are nested too deeply"));
	}
	struct json *v = NULL;
	d->depth += is_container(t);
	if (t->kind == TYPE_LIST) { /* an occurrence is an item */
		v = read_list(d, t, p, before);
	} else {
		assert(t->kind < ARRAY_SIZE(forms) && forms[t->kind].read);
		v = check_wire(d, p, forms[t->kind].wire) ? forms[t->kind].read(d, t, p, before) : NULL;
	}
	d->depth -= is_container(t);
	return v;
}

/* ---- messages that are not as their JSON ---- */

/* Makes JSON of the messages in a tree, in place, once the whole body is read: a message may come in pieces. */
static struct json *settle(struct decoder *d, const struct type *t, struct json *v);

static void settle_members(struct decoder *d, const struct type *t, struct json *object)
{
	for (uint32_t i = 0; i < object->n; i++) {
		struct json_member *m = &object->members[i];
		const struct field *f = t->kind == TYPE_MAP ? NULL : type_field(t, m->name);
		const struct type *type = f ? f->type : t->elem;
		m->value = type ? settle(d, type, m->value) : m->value;
	}
}

/* Go leaves out of JSON what is empty, as schema_decode() does. */
static struct json *settle_message(struct decoder *d, const struct type *message, struct json *v)
{
	struct json *found = NULL, *normal = NULL;
	struct str error;
	v = json_is(v, JSON_OBJECT) ? v : json_object(d->arena);
	settle_members(d, message, v);
	if (!message->is_choice) {
		int r = schema_decode(&normal, message, v, d->arena, NULL, &error);
		return r ? decoder_fail(d, error) : normal;
	}
	for (const struct field *f = message->fields; f->name; f++) {
		struct json *value = json_gets(v, f->name);
		found = value ? value : found;
	}
	if (found) {
		return found;
	}
	return message->fields[0].type->kind == TYPE_BOOL ? json_bool(d->arena, false) : json_null(d->arena);
}

static struct json *settle(struct decoder *d, const struct type *t, struct json *v)
{
	if (t->message) {
		struct json *made = settle_message(d, t->message, v);
		return made ? made : v;
	}
	if (t->kind == TYPE_LIST && json_is(v, JSON_ARRAY)) {
		for (uint32_t i = 0; i < v->n; i++) {
			v->items[i] = settle(d, t->elem, v->items[i]);
		}
	} else if ((t->kind == TYPE_OBJECT || t->kind == TYPE_MAP) && json_is(v, JSON_OBJECT)) {
		settle_members(d, t, v);
	}
	return v;
}

/* ---- the envelope ---- */

static const struct type type_meta = {
	.kind = TYPE_OBJECT,
	.go_type = "runtime.TypeMeta",
	.fields =
		(const struct field[]){
			{"apiVersion", &type_string, FIELD_NUMBER(1), "", NULL, NULL},
			{"kind", &type_string, FIELD_NUMBER(2), "", NULL, NULL},
			{0},
		},
};

/* runtime.Unknown; its contentEncoding and contentType mean nothing to Go's decoder either. */
static void open_envelope(struct decoder *d, struct str in, struct json *claim, struct str *ret_object)
{
	enum { UNKNOWN_TYPE_META = 1, UNKNOWN_RAW = 2 };
	struct part p;
	*ret_object = (struct str){0};
	while (next_part(d, &in, &p)) {
		if (p.number == UNKNOWN_TYPE_META && check_wire(d, &p, WIRE_BYTES)) {
			read_members(d, &type_meta, p.bytes, claim);
		} else if (p.number == UNKNOWN_RAW && check_wire(d, &p, WIRE_BYTES)) {
			*ret_object = p.bytes;
		}
	}
}

static bool check_prefix(struct str body, struct str *ret_error)
{
	if (body.n == 0) {
		*ret_error = STR("empty data");
	} else if (!str_starts(body, prefix)) {
		*ret_error = STR("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
	} else if (body.n == prefix.n) {
		*ret_error = STR("empty body");
	} else {
		return true;
	}
	return false;
}

int protobuf_decode(
	struct json **ret, const char *kind, const struct type *type, struct str body, struct arena *a, struct str *ret_error)
{
	struct decoder d = {.arena = a, .depth = 1};
	struct json *claim = json_object(a);
	struct str object;
	if (!check_prefix(body, ret_error)) {
		return OBJECT_UNRECOGNIZED;
	}
	open_envelope(&d, (struct str){body.p + prefix.n, body.n - prefix.n}, claim, &object);
	if (d.error.n) {
		*ret_error = d.error;
		return OBJECT_UNRECOGNIZED;
	}

	struct str claimed = json_text(json_gets(claim, "kind"));
	*ret = claim;
	/* Its fields mean something else: only the claim is of use, for the refusal. */
	if (claimed.n && !str_is(claimed, kind)) {
		return 0;
	}
	struct json *tree = json_copy(a, claim);
	read_members(&d, type, object, tree);
	if (d.has_messages && !d.error.n) {
		settle(&d, type, tree);
	}
	if (d.error.n) {
		*ret_error = d.error;
		return OBJECT_MISMATCH;
	}
	*ret = tree;
	return 0;
}

static bool is_in_envelope(const struct field *f)
{
	return str_is(STR("kind"), f->name) || str_is(STR("apiVersion"), f->name);
}

/* Objects within objects have a kind and an apiVersion in JSON alone. */
static bool has_numbers(const struct type *t)
{
	if (t->elem) {
		return has_numbers(t->elem);
	}
	for (const struct field *f = t->fields; f && f->name; f++) {
		bool is_unnumbered = !field_number(f) && !is_in_envelope(f);
		if (is_unnumbered || !has_numbers(f->type)) {
			return false;
		}
	}
	return true;
}

bool protobuf_knows(const struct type *type)
{
	for (const struct field *f = type->fields; f->name; f++) {
		if (!is_in_envelope(f) && !(field_number(f) && has_numbers(f->type))) {
			return false;
		}
	}
	return true;
}
