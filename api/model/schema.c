/* Treats JSON as encoding/json and sigs.k8s.io/json treat a Go struct, driven by tables instead of
 * types. The tables say which members are known, which null clears, and what is left out when it is
 * written. The first error and all strict findings come in Go's order and words. Depth is bounded
 * by the schema. */
#include "api/model/schema.h"

#include "api/model/quantity.h"
#include "base/base64.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

/* Compares the first letters first: most names differ there, and that costs less than comparing lengths. */
static bool is_named(const struct field *f, struct str name)
{
	return name.n && f->name[0] == name.p[0] && str_is(name, f->name);
}

const struct field *type_field(const struct type *type, struct str name)
{
	for (const struct field *f = type->fields; f && f->name; f++) {
		if (is_named(f, name)) {
			return f;
		}
	}
	return NULL;
}

int type_field_index(const struct type *type, struct str name, int hint)
{
	const struct field *f = type->fields;
	int from = MAX(hint, 0);
	for (int i = from; f[i].name; i++) {
		if (is_named(&f[i], name)) {
			return i;
		}
	}
	for (int i = 0; i < from; i++) {
		if (is_named(&f[i], name)) {
			return i;
		}
	}
	return -1;
}

bool type_has_unowned(const struct type *type)
{
	for (const struct field *f = type->fields; f && f->name; f++) {
		if (f->flags & FIELD_UNOWNED) {
			return true;
		}
	}
	return false;
}

const char *type_go_name(const struct type *type)
{
	const char *dot = type->go_type ? strrchr(type->go_type, '.') : NULL;
	return dot ? dot + 1 : type->go_type ? type->go_type : "";
}

/* The current place of decoding: the way from the root, innermost first. */
struct frame {
	const struct frame *up;
	const struct type *owner; /* the object type whose field this is; NULL: an item or a map's key */
	struct str name;          /* of a field or key */
	size_t index;             /* of an item, where name is empty */
	bool is_item;
};

struct decoder {
	struct arena *arena;
	struct decode_report *report;
	struct str error; /* the first, as Go's decoder reports it */
	bool ignores_defaults;
};

static struct json *decode(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at);

/* Messages. */

static void print_path(struct buf *out, const struct frame *at)
{
	if (at->up) {
		print_path(out, at->up);
	}
	if (at->is_item) {
		buf_printf(out, "[%zu]", at->index);
		return;
	}
	if (at->up) {
		buf_addc(out, '.');
	}
	buf_add_str(out, at->name);
}

/* Go's decoder names fields only, without items and keys. */
static void print_fields(struct buf *out, const struct frame *at)
{
	if (at->up) {
		print_fields(out, at->up);
	}
	if (at->owner) {
		const struct field *f = at->owner->embedded ? type_field(at->owner, at->name) : NULL;
		buf_adds(out, out->n ? "." : "");
		if (f && field_within(f)) {
			buf_printf(out, "%s.", at->owner->embedded);
		}
		buf_add_str(out, at->name);
	}
}

static void print_go_type(struct buf *out, const struct type *t)
{
	static const char *const plain[] = {
		[TYPE_STRING] = "string",
		[TYPE_BOOL] = "bool",
		[TYPE_INT32] = "int32",
		[TYPE_INT64] = "int64",
		[TYPE_BYTES] = "[]uint8",
	};
	if (t->go_type) {
		buf_adds(out, t->go_type);
	} else if (t->kind == TYPE_MAP || t->kind == TYPE_LIST) {
		buf_adds(out, t->kind == TYPE_MAP ? "map[string]" : "[]");
		print_go_type(out, t->elem);
	} else {
		assert(t->kind < ARRAY_SIZE(plain) && plain[t->kind]);
		buf_adds(out, plain[t->kind]);
	}
}

static void refuse(struct decoder *d, struct buf *message)
{
	if (!d->error.n) {
		d->error = arena_dup(d->arena, buf_str(message));
	}
	buf_done(message);
}

/* Two bytes can stand for a hundred times as much: a list of empty owner references, say. */
static void refuse_memory(struct decoder *d)
{
	if (!d->error.n) {
		d->error = STR("the object takes too much memory");
	}
}

static bool is_integer_type(const struct type *t)
{
	return t->kind == TYPE_INT32 || t->kind == TYPE_INT64;
}

static const struct frame *innermost_field(const struct frame *at)
{
	while (at && !at->owner) {
		at = at->up;
	}
	return at;
}

static void refuse_kind(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	struct buf fields, message;
	buf_init(&message, TEXT_MAX);
	buf_printf(&message, "json: cannot unmarshal %s", json_kind_name(in->kind));
	if (in->kind == JSON_NUMBER && is_integer_type(t)) {
		buf_addc(&message, ' ');
		buf_add_str(&message, json_text(in));
	}
	const struct frame *field = innermost_field(at);
	if (field) {
		buf_init(&fields, TEXT_MAX);
		print_fields(&fields, at);
		buf_printf(&message, " into Go struct field %s.", type_go_name(field->owner));
		buf_add_str(&message, buf_str(&fields));
		buf_done(&fields);
	} else {
		buf_adds(&message, " into Go value");
	}
	buf_adds(&message, " of type ");
	print_go_type(&message, t);
	refuse(d, &message);
}

void decode_report_add(struct decode_report *r, struct arena *a, struct str text)
{
	if (r->n_strict == DECODE_REPORT_MAX) {
		return;
	}
	for (size_t i = 0; i < r->n_strict; i++) {
		if (str_eq(r->strict[i], text)) {
			return;
		}
	}
	if (!r->strict) {
		r->cap = DECODE_REPORT_MAX;
		r->strict = arena_array(a, struct str, r->cap);
	}
	r->strict[r->n_strict++] = text;
}

static void report_add(struct decoder *d, const char *what, const struct frame *at, struct str name)
{
	struct decode_report *r = d->report;
	if (!r || r->n_strict == DECODE_REPORT_MAX) {
		return;
	}
	struct buf path;
	buf_init(&path, TEXT_MAX);
	print_path(&path, &(struct frame){.up = at, .name = name});
	struct str text = arena_printf(d->arena, "%s " STR_FMT, what, STR_ARG(go_quote(d->arena, buf_str(&path))));
	buf_done(&path);
	decode_report_add(r, d->arena, text);
}

/* Scalars. */

/* A string whose source is just itself in quotes may be shared; any other would bring the client's escapes into the stored text. */
static struct json *decode_string(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	if (in->kind != JSON_STRING) {
		refuse_kind(d, t, in, at);
		return NULL;
	}
	bool is_plain = !in->source.n || in->source.n == in->n + 2;
	return is_plain ? (struct json *)in : json_string(d->arena, json_text(in));
}

static struct json *decode_bool(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	if (in->kind != JSON_BOOL) {
		refuse_kind(d, t, in, at);
		return NULL;
	}
	return (struct json *)in;
}

static struct json *decode_int(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	int64_t n;
	if (!json_to_int64(in, &n) || (t->kind == TYPE_INT32 && (n < INT32_MIN || n > INT32_MAX))) {
		refuse_kind(d, t, in, at);
		return NULL;
	}
	bool is_negative_zero = n == 0 && in->text[0] == '-';
	return is_negative_zero ? json_int(d->arena, 0) : (struct json *)in;
}

static bool is_out_of_range(const char *two_digits, int from, int to)
{
	int n = (two_digits[0] - '0') * 10 + two_digits[1] - '0';
	return n < from || n > to;
}

/* Names the part that is out of range in a text with the form of a time. Looks in the order of
 * time.Parse. */
static const char *out_of_range(struct str text)
{
	static const struct {
		size_t at;
		int from, to;
		const char *name;
	} parts[] = {{5, 1, 12, "month"}, {11, 0, 23, "hour"}, {14, 0, 59, "minute"}, {17, 0, 59, "second"}};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (is_out_of_range(text.p + parts[i].at, parts[i].from, parts[i].to)) {
			return parts[i].name;
		}
	}
	return "day";
}

/* Returns whether the text begins like this element of a layout. A digit stands for any. */
static bool begins_like(struct str text, const char *element)
{
	size_t i = 0;
	for (; element[i] && i < text.n; i++) {
		bool is_digit = text.p[i] >= '0' && text.p[i] <= '9';
		if (element[i] >= '0' && element[i] <= '9' ? !is_digit : text.p[i] != element[i]) {
			return false;
		}
	}
	return !element[i];
}

/* time.Parse's message names the first element of the layout that the text does not fit. */
static void refuse_time(struct decoder *d, struct str text, const char *layout, const char *const *elements)
{
	struct str rest = text;
	for (; elements[1] && begins_like(rest, *elements); elements++) {
		rest = (struct str){rest.p + strlen(*elements), rest.n - strlen(*elements)};
	}
	struct buf message;
	buf_init(&message, TEXT_MAX);
	buf_adds(&message, "parsing time ");
	buf_add_str(&message, go_quote(d->arena, text));
	if (!elements[1] && str_is(rest, "Z")) {
		buf_printf(&message, ": %s out of range", out_of_range(text));
	} else {
		buf_printf(&message, " as \"%s\": cannot parse ", layout);
		buf_add_str(&message, go_quote(d->arena, rest));
		buf_printf(&message, " as \"%s\"", *elements);
	}
	refuse(d, &message);
}

static bool decode_time_text(struct decoder *d, const struct json *in, const struct frame *at, const char *layout,
	const char *const *elements, int64_t *ret_us)
{
	if (in->kind != JSON_STRING) {
		refuse_kind(d, &type_string, in, at);
		return false;
	}
	if (!time_parse_rfc3339(json_text(in), ret_us)) {
		refuse_time(d, json_text(in), layout, elements);
		return false;
	}
	return true;
}

#define GO_ZERO_TIME_US (-62135596800LL * 1000000) /* 0001-01-01, which Go writes as null */

static int64_t floor_div(int64_t n, int64_t by)
{
	return n / by - (n % by < 0);
}

static struct json *decode_time(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	static const char *const elements[] = {"2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00", NULL};
	int64_t us;
	(void)t;
	if (!decode_time_text(d, in, at, "2006-01-02T15:04:05Z07:00", elements, &us) || us == GO_ZERO_TIME_US) {
		return NULL;
	}
	char text[TIME_RFC3339_SIZE];
	time_format_rfc3339(text, floor_div(us, 1000000));
	return json_string(d->arena, arena_dup(d->arena, str_of(text)));
}

/* Returns whether the text of a time has exactly six digits of fraction, as that layout demands. */
static bool has_microseconds(struct str text)
{
	enum { FRACTION = 19, DIGITS = 6 };
	bool is_fraction = text.p[FRACTION] == '.' || text.p[FRACTION] == ',';
	return is_fraction && begins_like((struct str){text.p + FRACTION + 1, text.n - FRACTION - 1}, "000000") &&
		!begins_like((struct str){text.p + FRACTION + 1 + DIGITS, text.n - FRACTION - 1 - DIGITS}, "0");
}

static struct json *decode_micro_time(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	static const char *const elements[] = {
		"2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000", "Z07:00", NULL};
	static const char layout[] = "2006-01-02T15:04:05.000000Z07:00";
	int64_t us;
	(void)t;
	if (!decode_time_text(d, in, at, layout, elements, &us)) {
		return NULL;
	}
	if (!has_microseconds(json_text(in))) {
		refuse_time(d, json_text(in), layout, elements);
		return NULL;
	}
	if (us == GO_ZERO_TIME_US) {
		return NULL;
	}
	char text[TIME_RFC3339_MICRO_SIZE];
	time_format_rfc3339_micro(text, us);
	return json_string(d->arena, arena_dup(d->arena, str_of(text)));
}

/* Go reads bytes and writes them again: line breaks go, and the last digit says no more than it must. */
static struct json *respell_bytes(struct decoder *d, const struct json *text, struct str bytes)
{
	size_t n = BASE64_SIZE(bytes.n);
	char *out = arena_text(d->arena, n);
	base64_encode(out, bytes);
	struct str spelled = {out, n};
	return str_eq(spelled, json_text(text)) ? (struct json *)text : json_string(d->arena, spelled);
}

static struct json *decode_bytes(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	struct json *text = decode_string(d, t, in, at);
	if (!text) {
		return NULL;
	}
	char *bytes = arena_text(d->arena, BASE64_ROOM(text->n));
	size_t n;
	if (!base64_decode(bytes, json_text(text), &n)) {
		struct buf message;
		buf_init(&message, TEXT_MAX);
		buf_printf(&message, "illegal base64 data at input byte %zu", n);
		refuse(d, &message);
		return NULL;
	}
	return respell_bytes(d, text, (struct str){bytes, n});
}

static struct json *decode_int_or_string(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	(void)t;
	return in->kind == JSON_STRING ? decode_string(d, &type_string, in, at) : decode_int(d, &type_int32, in, at);
}

static struct json *decode_quantity(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	(void)at;
	struct quantity q;
	const char *wrong = quantity_parse(&q, str_trim(json_text(in)), d->arena);
	if (wrong) {
		struct buf message;
		buf_init(&message, TEXT_MAX);
		buf_adds(&message, wrong);
		refuse(d, &message);
		return NULL;
	}
	if (t->is_rounded) {
		enum { MILLI = -3 };
		quantity_round_up(&q, MILLI, d->arena);
	}
	return json_string(d->arena, quantity_text(&q, d->arena));
}

static struct json *decode_raw(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	(void)d, (void)t, (void)at;
	return (struct json *)in;
}

/* Containers. */

static struct json *zero_value(struct decoder *d, const struct type *t)
{
	static struct json null = {.kind = JSON_NULL, .is_frozen = true};
	static struct json zero = {.kind = JSON_NUMBER, .is_frozen = true, .text = "0", .n = 1};
	static struct json no = {.kind = JSON_BOOL, .is_frozen = true};
	static struct json empty = {.kind = JSON_STRING, .is_frozen = true, .text = ""};
	static struct json none = {.kind = JSON_STRING, .is_frozen = true, .text = "0", .n = 1};
	static struct json *const zeros[] = {
		[TYPE_STRING] = &empty,
		[TYPE_QUANTITY] = &none,
		[TYPE_BYTES] = &empty,
		[TYPE_BOOL] = &no,
		[TYPE_INT32] = &zero,
		[TYPE_INT64] = &zero,
		[TYPE_INT_OR_STRING] = &zero,
		[TYPE_FIELDS_V1] = NULL,
	};
	if (t->kind == TYPE_OBJECT) {
		return decode(d, t, json_object(d->arena), NULL);
	}
	return zeros[t->kind] ? zeros[t->kind] : &null;
}

static bool is_empty(const struct type *t, const struct json *v)
{
	switch (t->kind) {
	case TYPE_BOOL:
		return !v->boolean;
	case TYPE_INT32:
	case TYPE_INT64:
		return str_is(json_text(v), "0");
	case TYPE_STRING:
	case TYPE_BYTES:
	case TYPE_OBJECT:
	case TYPE_MAP:
	case TYPE_LIST:
		return v->n == 0;
	default:
		return false;
	}
}

static struct json *default_value(struct decoder *d, const struct field *f)
{
	struct json *v = NULL;
	size_t at;
	int r = json_parse(&v, d->arena, str_of(f->default_json), JSON_LIMITS_DEFAULT, &at);
	assert(r == 0 || r == JSON_E_FULL);
	if (r) {
		refuse_memory(d);
	}
	return v;
}

/* The value that is written for a field, as Go's encoder decides it; NULL: nothing. */
static struct json *written_value(struct decoder *d, const struct field *f, struct json *v)
{
	bool is_unset = !v || (!(f->flags & (FIELD_ALWAYS | FIELD_KEEP_EMPTY)) && is_empty(f->type, v));
	if (is_unset && f->default_json && !d->ignores_defaults) {
		v = default_value(d, f);
	}
	if (!v) {
		return !(f->flags & FIELD_ALWAYS) ? NULL : f->flags & FIELD_KEEP_EMPTY ? json_null(d->arena) : zero_value(d, f->type);
	}
	return f->flags & (FIELD_ALWAYS | FIELD_KEEP_EMPTY) || !is_empty(f->type, v) ? v : NULL;
}

/* The state of one field of an object while its members come in. */
struct slot {
	const struct json *sent; /* the last member of that name; NULL: none yet */
	struct json *value;
	struct json *all; /* the members of all objects sent for it, where there were several */
};

/* When Go decodes into an existing value, null clears maps, slices and pointers, and leaves other
 * values alone. */
static bool is_left_alone(const struct field *f, const struct json *in)
{
	static const bool is_cleared[] = {
		[TYPE_TIME] = true,
		[TYPE_MICRO_TIME] = true,
		[TYPE_BYTES] = true,
		[TYPE_MAP] = true,
		[TYPE_LIST] = true,
		[TYPE_FIELDS_V1] = true,
	};
	return in->kind == JSON_NULL && !is_cleared[f->type->kind] && !(f->flags & FIELD_KEEP_EMPTY);
}

/* Objects and maps sent again are merged into those sent before. */
static void slot_merge(struct decoder *d, const struct field *f, struct slot *slot, const struct json *in)
{
	bool is_merged = (f->type->kind == TYPE_OBJECT || f->type->kind == TYPE_MAP) && slot->sent->kind == JSON_OBJECT &&
		in->kind == JSON_OBJECT;
	if (!is_merged) {
		slot->all = NULL;
		return;
	}
	if (!slot->all) {
		slot->all = json_copy(d->arena, slot->sent);
	}
	for (uint32_t i = 0; i < in->n; i++) {
		json_add(d->arena, slot->all, in->members[i].name, in->members[i].value);
	}
}

static void decode_member(struct decoder *d, const struct field *f, struct slot *slot, const struct json_member *m,
	const struct type *owner, const struct frame *at)
{
	if (slot->sent) {
		report_add(d, "duplicate field", at, m->name);
		if (is_left_alone(f, m->value)) {
			return;
		}
		slot_merge(d, f, slot, m->value);
	}
	slot->value = decode(d, f->type, m->value, &(struct frame){.up = at, .owner = owner, .name = m->name});
	slot->sent = m->value;
}

/* Everything there is to say has been said when members that came repeatedly are decoded together. */
static struct json *slot_value(struct decoder *d, const struct field *f, struct slot *slot)
{
	struct decoder silent = {.arena = d->arena};
	return slot->all && !d->error.n ? decode(&silent, f->type, slot->all, NULL) : slot->value;
}

static struct json *decode_object(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	if (in->kind != JSON_OBJECT) {
		refuse_kind(d, t, in, at);
		return NULL;
	}
	struct slot slots[TYPE_FIELDS_MAX];
	for (int k = 0; t->fields[k].name; k++) {
		assert(k < TYPE_FIELDS_MAX);
		slots[k] = (struct slot){0};
	}
	int k = 0;
	for (uint32_t i = 0; i < in->n; i++) {
		const struct json_member *m = &in->members[i];
		k = type_field_index(t, m->name, k);
		if (k < 0) {
			report_add(d, "unknown field", at, m->name);
		} else {
			decode_member(d, &t->fields[k], &slots[k], m, t, at);
		}
	}

	struct json *out = json_object(d->arena);
	for (k = 0; t->fields[k].name; k++) {
		struct json *v = written_value(d, &t->fields[k], slot_value(d, &t->fields[k], &slots[k]));
		if (v) {
			json_add(d->arena, out, str_of(t->fields[k].name), v);
		}
	}
	return out;
}

struct map_member {
	struct str name;
	const struct json *value;
	uint32_t position; /* in the client's text */
};

static int compare_members(const void *x, const void *y)
{
	const struct map_member *a = x, *b = y;
	int r = str_cmp(a->name, b->name);
	return r ? r : (a->position > b->position) - (a->position < b->position);
}

/* Reports repeated keys in the order of the text: of sorted members, all but the first of a name. */
static void report_repeated_keys(struct decoder *d, const struct map_member *sorted, uint32_t n, const struct frame *at)
{
	const struct map_member **repeated = arena_array(d->arena, const struct map_member *, n);
	bool any = false;
	for (uint32_t i = 1; i < n; i++) {
		if (str_eq(sorted[i].name, sorted[i - 1].name)) {
			repeated[sorted[i].position] = &sorted[i];
			any = true;
		}
	}
	for (uint32_t i = 0; any && i < n; i++) {
		if (repeated[i]) {
			report_add(d, "duplicate field", at, repeated[i]->name);
		}
	}
}

static struct map_member *sorted_members(struct decoder *d, const struct json *in, const struct frame *at)
{
	struct map_member *members = arena_array(d->arena, struct map_member, in->n);
	bool is_sorted = true;
	for (uint32_t i = 0; i < in->n; i++) {
		members[i] = (struct map_member){in->members[i].name, in->members[i].value, i};
		is_sorted = is_sorted && (i == 0 || str_cmp(members[i - 1].name, members[i].name) < 0);
	}
	if (!is_sorted) {
		qsort(members, in->n, sizeof(*members), compare_members);
		report_repeated_keys(d, members, in->n, at);
	}
	return members;
}

static struct json *decode_element(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	struct json *v = decode(d, t->elem, in, at);
	return v ? v : zero_value(d, t->elem);
}

static struct json *decode_map(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	if (in->kind != JSON_OBJECT) {
		refuse_kind(d, t, in, at);
		return NULL;
	}
	struct json *out = json_object(d->arena);
	struct map_member *members = in->n ? sorted_members(d, in, at) : NULL;
	for (uint32_t i = 0; i < in->n; i++) {
		const struct map_member *m = &members[i];
		struct json *v = decode_element(d, t, m->value, &(struct frame){.up = at, .name = m->name});
		if (i + 1 == in->n || !str_eq(m->name, members[i + 1].name)) {
			json_add(d->arena, out, m->name, v);
		}
	}
	return out;
}

static struct json *decode_list(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	if (in->kind != JSON_ARRAY) {
		refuse_kind(d, t, in, at);
		return NULL;
	}
	struct json *out = json_array(d->arena);
	for (uint32_t i = 0; i < in->n; i++) {
		json_append(d->arena, out,
			decode_element(d, t, in->items[i], &(struct frame){.up = at, .index = i, .is_item = true}));
	}
	return out;
}

/* NULL for null: the zero value. */
static struct json *decode(struct decoder *d, const struct type *t, const struct json *in, const struct frame *at)
{
	static struct json *(*const decoders[])(
		struct decoder *, const struct type *, const struct json *, const struct frame *) = {
		[TYPE_STRING] = decode_string,
		[TYPE_BOOL] = decode_bool,
		[TYPE_INT32] = decode_int,
		[TYPE_INT64] = decode_int,
		[TYPE_TIME] = decode_time,
		[TYPE_MICRO_TIME] = decode_micro_time,
		[TYPE_BYTES] = decode_bytes,
		[TYPE_INT_OR_STRING] = decode_int_or_string,
		[TYPE_QUANTITY] = decode_quantity,
		[TYPE_OBJECT] = decode_object,
		[TYPE_MAP] = decode_map,
		[TYPE_LIST] = decode_list,
		[TYPE_DOUBLE] = decode_raw,
		[TYPE_RAW] = decode_raw,
		[TYPE_FIELDS_V1] = decode_raw,
	};
	assert(t->kind < ARRAY_SIZE(decoders));
	if (arena_is_full(d->arena)) {
		refuse_memory(d);
		return NULL;
	}
	return in->kind == JSON_NULL ? NULL : decoders[t->kind](d, t, in, at);
}

int schema_decode(struct json **ret, const struct type *type, const struct json *in, struct arena *a,
	struct decode_report *report, struct str *ret_error)
{
	struct decoder d = {.arena = a, .report = report};
	struct json *out = decode_element(&d, &(struct type){.kind = TYPE_LIST, .elem = type}, in, NULL);
	if (d.error.n) {
		*ret_error = d.error;
		return 1;
	}
	*ret = out;
	return 0;
}

struct json *schema_zero(const struct type *type, struct arena *a)
{
	struct decoder d = {.arena = a, .ignores_defaults = true};
	return decode(&d, type, json_object(a), NULL);
}

struct json *schema_with(
	const struct type *type, const struct json *object, const char *name, struct json *value, struct arena *a)
{
	struct json *out = json_object(a);
	int place = type_field_index(type, str_of(name), 0), at = 0;
	for (uint32_t i = 0; i < object->n; i++) {
		const struct json_member *m = &object->members[i];
		at = type_field_index(type, m->name, at);
		if (value && at > place) {
			json_add(a, out, str_of(name), value);
			value = NULL;
		}
		if (at != place) {
			json_add(a, out, m->name, m->value);
		}
	}
	if (value) {
		json_add(a, out, str_of(name), value);
	}
	return out;
}
