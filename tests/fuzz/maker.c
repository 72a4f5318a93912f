#include "tests/fuzz/maker.h"

enum { BUDGET = 300 }; /* values in an object */

void maker_init_seed(struct maker *m, uint64_t seed, struct arena *a)
{
	*m = (struct maker){.arena = a, .state = seed * 0x9e3779b97f4a7c15 + 1, .budget = BUDGET};
}

void maker_init_bytes(struct maker *m, const uint8_t *bytes, size_t n, struct arena *a)
{
	*m = (struct maker){.arena = a, .bytes = bytes, .n = n, .budget = BUDGET};
}

/* xorshift64*. */
static uint64_t next_number(struct maker *m)
{
	m->state ^= m->state >> 12;
	m->state ^= m->state << 25;
	m->state ^= m->state >> 27;
	return m->state * 0x2545f4914f6cdd1d >> 32;
}

static uint64_t next_byte(struct maker *m)
{
	if (m->n == 0) {
		return 0;
	}
	m->n--;
	return *m->bytes++;
}

uint64_t maker_choose(struct maker *m, uint64_t n)
{
	return (m->state ? next_number(m) : next_byte(m)) % n;
}

/* ---- values ---- */

#define PICK(m, table) (table)[maker_choose((m), ARRAY_SIZE(table))]

static struct json *make_value(struct maker *m, const struct type *t);

static struct json *make_string(struct maker *m)
{
	static const char *const texts[] = {"", "a", "a-b.example.com/c", "0", "null", "<&>", "\"\\/", "\n\r\t", "\xe2\x80\xa8",
		"\xf0\x9f\xa6\xa6", "annals.dev/hub", "metadata", "kind", "Provider", "ControllerRevision", "1.0e0", "Wait",
		" "};
	enum { LONG = 300 };

	if (maker_choose(m, 16) == 1) {
		char *text = arena_text(m->arena, LONG);
		memset(text, 'x', LONG);
		return json_string(m->arena, (struct str){text, LONG});
	}
	return json_string(m->arena, maker_choose(m, 16) == 1 ? (struct str){"\0x", 2} : str_of(PICK(m, texts)));
}

static struct json *make_number(struct maker *m)
{
	static const char *const lexemes[] = {"0", "1", "-1", "3", "1.0", "1e2", "-0", "9223372036854775807",
		"-9223372036854775808", "12345678901234567890123", "0.1000", "1E400", "1.0e-10"};

	return json_number(m->arena, str_of(PICK(m, lexemes)));
}

static struct json *make_int(struct maker *m, bool is_long)
{
	static const char *const lexemes[] = {"0", "1", "-1", "2147483647", "9223372036854775807", "-9223372036854775808"};

	return json_number(m->arena, str_of(lexemes[maker_choose(m, is_long ? 6 : 4)]));
}

static struct json *make_text(struct maker *m, const char *const *texts, size_t n)
{
	return json_string(m->arena, str_of(texts[maker_choose(m, n)]));
}

static struct json *make_map(struct maker *m, const struct type *elem)
{
	struct json *out = json_object(m->arena);

	for (uint64_t i = maker_choose(m, 4); i > 0; i--) {
		json_add(m->arena, out, json_text(make_string(m)), make_value(m, elem));
	}
	return out;
}

static struct json *make_list(struct maker *m, const struct type *elem)
{
	struct json *out = json_array(m->arena);

	for (uint64_t i = maker_choose(m, 4); i > 0; i--) {
		json_append(m->arena, out, make_value(m, elem));
	}
	return out;
}

static struct json *make_deep(struct maker *m)
{
	enum { DEPTH = 400 };
	struct json *out = make_number(m);

	for (int i = 0; i < DEPTH; i++) {
		struct json *outer = json_array(m->arena);
		json_append(m->arena, outer, out);
		out = outer;
	}
	return out;
}

/* elem NULL: anything. */
static struct json *make_anything(struct maker *m)
{
	switch (maker_choose(m, 8)) {
	case 0:
		return json_null(m->arena);
	case 1:
		return json_bool(m->arena, maker_choose(m, 2));
	case 2:
		return make_number(m);
	case 3:
	case 4:
		return make_map(m, NULL);
	case 5:
		return make_list(m, NULL);
	case 6:
		return maker_choose(m, 16) ? make_string(m) : make_deep(m);
	default:
		return make_string(m);
	}
}

static void swap_members(struct maker *m, struct json *object)
{
	for (uint32_t i = object->n; i > 1; i--) {
		struct json_member *last = &object->members[i - 1], *other = &object->members[maker_choose(m, i)], t = *last;
		*last = *other;
		*other = t;
	}
}

/* All fields of the outermost, some of those within. */
static struct json *make_fields(struct maker *m, const struct type *t)
{
	struct json *out = json_object(m->arena);

	for (const struct field *f = t->fields; f->name; f++) {
		if ((f->flags & FIELD_MANDATORY) || maker_choose(m, 8) < 5) {
			json_add(m->arena, out, str_of(f->name), make_value(m, f->type));
		}
	}
	if (m->is_wild && maker_choose(m, 8) == 1) {
		json_add(m->arena, out, json_text(make_string(m)), make_anything(m));
	}
	if (m->is_wild && maker_choose(m, 4) == 1) {
		swap_members(m, out);
	}
	return out;
}

static struct json *make_typed(struct maker *m, const struct type *t)
{
	static const char *const times[] = {"2026-01-01T00:00:00Z", "1999-12-31T23:59:59Z"};
	static const char *const micro_times[] = {"2026-01-01T00:00:00.000000Z", "1999-12-31T23:59:59.123456Z"};
	static const char *const bytes[] = {"", "AA==", "aGVsbG8="};
	static const char *const quantities[] = {"0", "1", "100m", "1Gi", "1.5", "12345678901234567890"};

	switch (t->kind) {
	case TYPE_STRING:
		return make_string(m);
	case TYPE_BOOL:
		return json_bool(m->arena, maker_choose(m, 2));
	case TYPE_INT32:
	case TYPE_INT64:
		return make_int(m, t->kind == TYPE_INT64);
	case TYPE_TIME:
		return make_text(m, times, ARRAY_SIZE(times));
	case TYPE_MICRO_TIME:
		return make_text(m, micro_times, ARRAY_SIZE(micro_times));
	case TYPE_BYTES:
		return make_text(m, bytes, ARRAY_SIZE(bytes));
	case TYPE_INT_OR_STRING:
		return maker_choose(m, 2) ? make_int(m, false) : make_string(m);
	case TYPE_QUANTITY:
		return make_text(m, quantities, ARRAY_SIZE(quantities));
	case TYPE_OBJECT:
		return make_fields(m, t);
	case TYPE_MAP:
		return make_map(m, t->elem);
	case TYPE_LIST:
		return make_list(m, t->elem);
	case TYPE_DOUBLE:
	case TYPE_RAW:
		return make_map(m, NULL);
	case TYPE_FIELDS_V1:
		return json_object(m->arena);
	}
	return NULL;
}

static struct json *make_value(struct maker *m, const struct type *t)
{
	if (m->budget == 0 || maker_choose(m, 16) == 1) {
		return json_null(m->arena);
	}
	m->budget--;
	bool is_free = !t || (m->is_wild && maker_choose(m, 16) == 1);
	return is_free ? make_anything(m) : make_typed(m, t);
}

/* ---- spelling ---- */

static void write_value(struct maker *m, struct buf *b, const struct json *j);

static void write_blank(struct maker *m, struct buf *b)
{
	if (m->is_wild && maker_choose(m, 64) == 1) {
		buf_addc(b, " \t\n\r"[maker_choose(m, 4)]);
	}
}

/* Some characters as escapes nobody needs. */
static void write_string(struct maker *m, struct buf *b, struct str s)
{
	if (maker_choose(m, 4) != 1) {
		json_encode_string(b, s);
		return;
	}
	buf_addc(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c < ' ' || c == '"' || c == '\\' || (c < 0x7f && maker_choose(m, 4) == 1)) {
			buf_printf(b, "\\u%04x", c);
		} else if (c == '/' && maker_choose(m, 2)) {
			buf_adds(b, "\\/");
		} else {
			buf_addc(b, (char)c);
		}
	}
	buf_addc(b, '"');
}

static void write_members(struct maker *m, struct buf *b, const struct json *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		buf_adds(b, i ? "," : "");
		write_blank(m, b);
		if (j->kind == JSON_OBJECT) {
			write_string(m, b, j->members[i].name);
			buf_addc(b, ':');
			write_blank(m, b);
		}
		write_value(m, b, j->kind == JSON_OBJECT ? j->members[i].value : j->items[i]);
	}
}

static void write_value(struct maker *m, struct buf *b, const struct json *j)
{
	bool is_object = j->kind == JSON_OBJECT;

	if (is_object || j->kind == JSON_ARRAY) {
		buf_addc(b, is_object ? '{' : '[');
		write_members(m, b, j);
		buf_addc(b, is_object ? '}' : ']');
	} else if (j->kind == JSON_STRING) {
		write_string(m, b, json_text(j));
	} else {
		json_encode(b, j);
	}
	write_blank(m, b);
}

/* ---- objects ---- */

static struct json *make_metadata(struct maker *m, const struct kind *k)
{
	struct json *metadata = make_typed(m, &type_object_meta);

	json_remove(metadata, STR("resourceVersion"));
	json_set(m->arena, metadata, STR("name"), json_string(m->arena, STR("a")));
	json_set(m->arena, metadata, STR("namespace"), json_string(m->arena, k->is_namespaced ? STR("ns") : STR("")));
	return metadata;
}

struct str maker_object(struct maker *m, const struct kind *k, const struct version *v)
{
	struct json *object = make_fields(m, version_type(k, v)), *metadata = make_metadata(m, k);
	struct buf b;

	if (!m->is_wild || maker_choose(m, 8)) {
		json_set(m->arena, object, STR("kind"), json_string(m->arena, str_of(k->kind)));
		json_set(m->arena, object, STR("apiVersion"), json_string(m->arena, version_api_version(v, m->arena)));
		json_set(m->arena, object, STR("metadata"), metadata);
	}
	buf_init(&b, (size_t)1 << 30);
	write_value(m, &b, object);
	struct str text = arena_dup(m->arena, buf_str(&b));
	buf_done(&b);
	return text;
}
