/* All refusals of this server end here. Go's constructors are followed to the byte, since
 * clients match reasons, and people search the web for messages. Texts of clients are cut before
 * they are quoted: an answer must not be many times as large as the request. */
#include "api/model/status.h"

#include "api/model/gotext.h"
#include "base/buf.h"
#include "base/map.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void status_setv(struct status *st, int code, const char *reason, const char *format, va_list ap)
	__attribute__((format(printf, 4, 0)));

static void status_setv(struct status *st, int code, const char *reason, const char *format, va_list ap)
{
	assert(code >= 400 && st->arena);
	status_init(st, st->arena);
	st->code = code;
	st->reason = reason;
	st->message = arena_vprintf(st->arena, format, ap);
}

void status_set(struct status *st, int code, const char *reason, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	status_setv(st, code, reason, format, ap);
	va_end(ap);
}

void status_add_cause(struct status *st, const char *reason, struct str field, struct str message)
{
	if (st->n_causes == st->cap_causes) {
		size_t cap = st->cap_causes ? 2 * st->cap_causes : 4;
		struct status_cause *causes = arena_array(st->arena, struct status_cause, cap);

		if (st->n_causes) {
			memcpy(causes, st->causes, st->n_causes * sizeof(*causes));
		}
		st->causes = causes;
		st->cap_causes = cap;
	}
	st->causes[st->n_causes++] = (struct status_cause){
		.reason = reason,
		.message = arena_dup(st->arena, message),
		.field = arena_dup(st->arena, field),
	};
	st->has_details = true;
}

static void status_details(struct status *st, struct str group, struct str kind, struct str name)
{
	st->has_details = true;
	st->group = arena_dup(st->arena, group);
	st->kind = arena_dup(st->arena, kind);
	st->name = arena_dup(st->arena, name);
}

/* "controllerrevisions.apps", in the core group "pods". */
static struct str qualified(struct arena *a, struct str name, struct str group)
{
	return group.n ? arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(name), STR_ARG(group)) : name;
}

/* `controllerrevisions.apps "web-1"`, as the messages about one object begin. */
static struct str subject(struct arena *a, struct str group, struct str resource, struct str name)
{
	return arena_printf(a, STR_FMT " " STR_FMT, STR_ARG(qualified(a, resource, group)), STR_ARG(go_quote(a, name)));
}

void status_not_found(struct status *st, struct str group, struct str resource, struct str name)
{
	status_set(st, 404, REASON_NOT_FOUND, STR_FMT " not found", STR_ARG(subject(st->arena, group, resource, name)));
	status_details(st, group, resource, name);
}

void status_already_exists(struct status *st, struct str group, struct str resource, struct str name)
{
	status_set(
		st, 409, REASON_ALREADY_EXISTS, STR_FMT " already exists", STR_ARG(subject(st->arena, group, resource, name)));
	status_details(st, group, resource, name);
}

void status_conflict(struct status *st, struct str group, struct str resource, struct str name, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str why = arena_vprintf(st->arena, format, ap);
	va_end(ap);
	status_set(st, 409, REASON_CONFLICT, "Operation cannot be fulfilled on " STR_FMT ": " STR_FMT,
		STR_ARG(subject(st->arena, group, resource, name)), STR_ARG(why));
	status_details(st, group, resource, name);
}

void status_forbidden(struct status *st, struct str group, struct str resource, struct str name, const char *format, ...)
{
	struct str who = name.n ? subject(st->arena, group, resource, name) : qualified(st->arena, resource, group);
	va_list ap;
	va_start(ap, format);
	struct str why = arena_vprintf(st->arena, format, ap);
	va_end(ap);
	status_set(st, 403, REASON_FORBIDDEN, STR_FMT " is forbidden: " STR_FMT, STR_ARG(who), STR_ARG(why));
	status_details(st, group, resource, name);
}

void status_bad_request(struct status *st, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	status_setv(st, 400, REASON_BAD_REQUEST, format, ap);
	va_end(ap);
}

void status_method_not_allowed(struct status *st)
{
	status_set(st, 405, REASON_METHOD_NOT_ALLOWED, "the server does not allow this method on the requested resource");
	st->has_details = true;
}

void status_route_not_found(struct status *st)
{
	status_set(st, 404, REASON_NOT_FOUND, "the server could not find the requested resource");
	st->has_details = true;
}

void status_expired(struct status *st, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	status_setv(st, 410, REASON_EXPIRED, format, ap);
	va_end(ap);
}

void status_internal(struct status *st, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str why = arena_vprintf(st->arena, format, ap);
	va_end(ap);
	status_set(st, 500, REASON_INTERNAL_ERROR, "Internal error occurred: " STR_FMT, STR_ARG(why));
	status_add_cause(st, "", (struct str){0}, why);
}

static struct json *causes_to_json(const struct status *st, struct arena *a)
{
	struct json *causes = json_array(a);

	for (size_t i = 0; i < st->n_causes; i++) {
		struct json *cause = json_object(a);

		json_add_text(a, cause, STR("reason"), str_of(st->causes[i].reason));
		json_add_text(a, cause, STR("message"), st->causes[i].message);
		json_add_text(a, cause, STR("field"), st->causes[i].field);
		json_append(a, causes, cause);
	}
	return causes;
}

static struct json *details_to_json(const struct status *st, struct arena *a)
{
	struct json *details = json_object(a);

	json_add_text(a, details, STR("name"), st->name);
	json_add_text(a, details, STR("group"), st->group);
	json_add_text(a, details, STR("kind"), st->kind);
	json_add_text(a, details, STR("uid"), st->uid);
	if (st->n_causes) {
		json_add(a, details, STR("causes"), causes_to_json(st, a));
	}
	if (st->retry_after_s) {
		json_add(a, details, STR("retryAfterSeconds"), json_int(a, st->retry_after_s));
	}
	return details;
}

static struct json *status_object(struct arena *a, struct str outcome, struct str continue_token)
{
	struct json *j = json_object(a);
	struct json *metadata = json_object(a);

	json_add_text(a, metadata, STR("continue"), continue_token);
	json_add(a, j, STR("kind"), json_string(a, STR("Status")));
	json_add(a, j, STR("apiVersion"), json_string(a, STR("v1")));
	json_add(a, j, STR("metadata"), metadata);
	json_add(a, j, STR("status"), json_string(a, outcome));
	return j;
}

struct json *status_to_json(const struct status *st, struct arena *a)
{
	assert(st->code != 0);
	struct json *j = status_object(a, STR("Failure"), st->continue_token);

	json_add_text(a, j, STR("message"), st->message);
	json_add_text(a, j, STR("reason"), str_of(st->reason));
	if (st->has_details || st->retry_after_s) {
		json_add(a, j, STR("details"), details_to_json(st, a));
	}
	json_add(a, j, STR("code"), json_int(a, st->code));
	return j;
}

struct json *status_success(struct arena *a, struct str group, struct str resource, struct str name, struct str uid)
{
	struct status st = {.arena = a, .name = name, .group = group, .kind = resource, .uid = uid};
	struct json *j = status_object(a, STR("Success"), (struct str){0});

	json_add(a, j, STR("details"), details_to_json(&st, a));
	return j;
}

/* Field errors. */

/* An error repeats what was sent, twice or more. These ceilings keep answers from growing to many
 * megabytes. */
enum {
	SHOWN_MAX = 32 * 1024,   /* bytes of one value, path or name, before it is quoted */
	ERRORS_MAX = 256 * 1024, /* bytes of all errors: those beyond are counted */
};

/* The text, or its beginning: whole characters of UTF-8. */
static struct str shown(struct str text)
{
	size_t n = MIN(text.n, (size_t)SHOWN_MAX);

	while (n < text.n && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80) {
		n--;
	}
	return (struct str){text.p, n};
}

/* Returns the text. A long text is cut, and ends in "...". */
static struct str shorten(struct arena *a, struct str text)
{
	return text.n <= SHOWN_MAX ? text : arena_printf(a, STR_FMT "...", STR_ARG(shown(text)));
}

static struct str quote(struct arena *a, struct str text)
{
	struct str quoted = go_quote(a, shown(text));

	return text.n <= SHOWN_MAX ? quoted : arena_printf(a, STR_FMT "...", STR_ARG(quoted));
}

enum bad_value { BAD_HIDDEN, BAD_SHOWN };

static const struct {
	const char *reason, *title;
	enum bad_value bad_value;
} error_types[] = {
	[FIELD_INVALID] = {"FieldValueInvalid", "Invalid value", BAD_SHOWN},
	[FIELD_INVALID_WHOLE] = {"FieldValueInvalid", "Invalid value", BAD_HIDDEN},
	[FIELD_REQUIRED] = {"FieldValueRequired", "Required value", BAD_HIDDEN},
	[FIELD_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value", BAD_SHOWN},
	[FIELD_FORBIDDEN] = {"FieldValueForbidden", "Forbidden", BAD_HIDDEN},
	[FIELD_NOT_SUPPORTED] = {"FieldValueNotSupported", "Unsupported value", BAD_SHOWN},
	[FIELD_TOO_LONG] = {"FieldValueTooLong", "Too long", BAD_HIDDEN},
	[FIELD_TOO_MANY] = {"FieldValueTooMany", "Too many", BAD_SHOWN},
	[FIELD_NOT_FOUND] = {"FieldValueNotFound", "Not found", BAD_SHOWN},
	[FIELD_TYPE_INVALID] = {"FieldValueTypeInvalid", "Invalid value", BAD_SHOWN},
};

void field_errors_init(struct field_errors *e, struct arena *a)
{
	*e = (struct field_errors){.arena = a};
}

static void field_errors_add(
	struct field_errors *e, enum field_error_type type, struct str path, struct str bad_value, struct str detail)
{
	/* the first always counts: what is wrong must not pass because it is big */
	if (e->n && (e->n_bytes > ERRORS_MAX || arena_is_full(e->arena))) {
		e->n_left_out++;
		return;
	}
	if (e->n == e->cap) {
		size_t cap = e->cap ? 2 * e->cap : 4;
		struct field_error *v = arena_array(e->arena, struct field_error, cap);

		if (e->n) {
			memcpy(v, e->v, e->n * sizeof(*v));
		}
		e->v = v;
		e->cap = cap;
	}
	struct field_error *added = &e->v[e->n++];
	*added = (struct field_error){
		.type = type,
		.path = path.n ? arena_dup(e->arena, shorten(e->arena, path)) : STR("<nil>"),
		.bad_value = bad_value,
		.detail = shorten(e->arena, detail),
	};
	e->n_bytes += added->path.n + added->bad_value.n + added->detail.n;
}

/* As field.Error prints what it was given: strings quoted, everything else as JSON. */
static struct str print_bad_value(struct arena *a, const struct json *bad)
{
	struct buf text;
	struct str printed;

	if (json_is(bad, JSON_STRING)) {
		return quote(a, json_text(bad));
	}
	if (!bad) {
		return STR("null");
	}
	buf_init(&text, TEXT_MAX);
	json_encode(&text, bad);
	printed = arena_dup(a, shorten(a, buf_str(&text)));
	buf_done(&text);
	return printed;
}

void field_invalid(struct field_errors *e, struct str path, const struct json *bad, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str detail = arena_vprintf(e->arena, format, ap);
	va_end(ap);
	field_errors_add(e, FIELD_INVALID, path, print_bad_value(e->arena, bad), detail);
}

void field_invalid_str(struct field_errors *e, struct str path, struct str bad, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str detail = arena_vprintf(e->arena, format, ap);
	va_end(ap);
	field_errors_add(e, FIELD_INVALID, path, quote(e->arena, bad), detail);
}

void field_type_invalid(struct field_errors *e, struct str path, const struct json *bad, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str detail = arena_vprintf(e->arena, format, ap);
	va_end(ap);
	field_errors_add(e, FIELD_TYPE_INVALID, path, print_bad_value(e->arena, bad), detail);
}

void field_required(struct field_errors *e, struct str path, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str detail = arena_vprintf(e->arena, format, ap);
	va_end(ap);
	field_errors_add(e, FIELD_REQUIRED, path, (struct str){0}, detail);
}

void field_duplicate(struct field_errors *e, struct str path, const struct json *bad)
{
	field_errors_add(e, FIELD_DUPLICATE, path, print_bad_value(e->arena, bad), (struct str){0});
}

void field_not_found(struct field_errors *e, struct str path, struct str bad)
{
	field_errors_add(e, FIELD_NOT_FOUND, path, quote(e->arena, bad), (struct str){0});
}

void field_forbidden(struct field_errors *e, struct str path, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str detail = arena_vprintf(e->arena, format, ap);
	va_end(ap);
	field_errors_add(e, FIELD_FORBIDDEN, path, (struct str){0}, detail);
}

static void add_not_supported(struct field_errors *e, struct str path, struct str shown, const char *const *supported, size_t n)
{
	struct buf list;

	buf_init(&list, TEXT_MAX);
	for (size_t i = 0; i < n; i++) {
		buf_adds(&list, i ? ", " : "supported values: ");
		buf_add_str(&list, go_quote(e->arena, str_of(supported[i])));
	}
	field_errors_add(e, FIELD_NOT_SUPPORTED, path, shown, arena_dup(e->arena, buf_str(&list)));
	buf_done(&list);
}

void field_not_supported(struct field_errors *e, struct str path, struct str bad, const char *const *supported, size_t n)
{
	add_not_supported(e, path, quote(e->arena, bad), supported, n);
}

void field_not_supported_value(
	struct field_errors *e, struct str path, const struct json *bad, const char *const *supported, size_t n)
{
	add_not_supported(e, path, print_bad_value(e->arena, bad), supported, n);
}

void field_too_long(struct field_errors *e, struct str path, int64_t max)
{
	/* A schema's author may say anything, zero and less included. */
	field_errors_add(e, FIELD_TOO_LONG, path, (struct str){0},
		max < 0 ? STR("value is too long")
			: arena_printf(e->arena, "may not be more than %lld %s", (long long)max, max == 1 ? "byte" : "bytes"));
}

void field_too_many(struct field_errors *e, struct str path, int64_t n, int64_t max)
{
	field_errors_add(e, FIELD_TOO_MANY, path, arena_printf(e->arena, "%lld", (long long)n),
		max < 0 ? STR("has too many items")
			: arena_printf(e->arena, "must have at most %lld %s", (long long)max, max == 1 ? "item" : "items"));
}

void field_invalid_whole(struct field_errors *e, struct str path, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str detail = arena_vprintf(e->arena, format, ap);
	va_end(ap);
	field_errors_add(e, FIELD_INVALID_WHOLE, path, (struct str){0}, detail);
}

void field_errors_add_below(struct field_errors *e, struct str to, struct str from, const struct field_errors *found)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct field_error *error = &found->v[i];
		struct str path = error->path;
		assert(str_starts(path, from));
		path = (struct str){path.p + from.n, path.n - from.n};
		field_errors_add(e, error->type, arena_printf(e->arena, STR_FMT STR_FMT, STR_ARG(to), STR_ARG(path)),
			error->bad_value, error->detail);
	}
	e->n_left_out += found->n_left_out;
}

struct str field_path(struct arena *a, struct str parent, const char *child)
{
	return parent.n ? arena_printf(a, STR_FMT ".%s", STR_ARG(parent), child) : str_of(child);
}

struct str field_index(struct arena *a, struct str parent, size_t i)
{
	return arena_printf(a, STR_FMT "[%zu]", STR_ARG(parent), i);
}

struct str field_key(struct arena *a, struct str parent, struct str key)
{
	return arena_printf(a, STR_FMT "[" STR_FMT "]", STR_ARG(parent), STR_ARG(key));
}

/* "Invalid value: \"x\": must not be empty" */
static void print_error_body(struct buf *out, const struct field_error *e)
{
	assert(e->type < ARRAY_SIZE(error_types));
	buf_adds(out, error_types[e->type].title);
	if (error_types[e->type].bad_value == BAD_SHOWN) {
		buf_adds(out, ": ");
		buf_add_str(out, e->bad_value);
	}
	if (e->detail.n) {
		buf_adds(out, ": ");
		buf_add_str(out, e->detail);
	}
}

struct str field_error_text(const struct field_error *error, struct arena *a)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	buf_add_str(&out, error->path);
	buf_adds(&out, ": ");
	print_error_body(&out, error);
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}

/* Prints each distinct error once; returns how many. */
static size_t print_errors(struct buf *out, const struct field_errors *errors)
{
	struct map seen;
	struct buf text;
	map_init(&seen, errors->n);
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < errors->n; i++) {
		buf_clear(&text);
		buf_add_str(&text, errors->v[i].path);
		buf_adds(&text, ": ");
		print_error_body(&text, &errors->v[i]);
		/* Validation of an update finds what validation of the object has found before. */
		if (!map_get(&seen, buf_str(&text))) {
			buf_adds(out, seen.n ? ", " : "");
			buf_add_str(out, buf_str(&text));
			map_set(&seen, buf_str(&text), &errors->v[i], NULL);
		}
	}
	size_t n = seen.n;
	buf_done(&text);
	map_done(&seen);
	return n;
}

void status_invalid(struct status *st, struct str group, struct str kind, struct str name, const struct field_errors *errors)
{
	assert(errors->n > 0);
	struct buf text;
	buf_init(&text, TEXT_MAX);
	size_t n = print_errors(&text, errors);
	if (errors->n_left_out) {
		buf_printf(&text, ", and %zu more", errors->n_left_out);
	}
	name = shorten(st->arena, name);
	status_set(st, 422, REASON_INVALID, STR_FMT " is invalid%s" STR_FMT "%s",
		STR_ARG(subject(st->arena, group, kind, name)),
		n == 0           ? ""
			: n == 1 ? ": "
				 : ": [",
		STR_ARG(buf_str(&text)), n > 1 ? "]" : "");
	status_details(st, group, kind, name);

	for (size_t i = 0; i < errors->n && !arena_is_full(st->arena); i++) {
		buf_clear(&text);
		print_error_body(&text, &errors->v[i]);
		status_add_cause(st, error_types[errors->v[i].type].reason, errors->v[i].path, buf_str(&text));
	}
	buf_done(&text);
}

/* ---- Go's spellings ----
 *
 * Messages quote what clients sent, and tools match messages (gotext.h). The table stands for
 * unicode.IsPrint: exact data would be many kilobytes, for code points that nobody has seen in a
 * manifest. */

/* Code points of which Go's unicode.IsPrint says no, beyond ASCII: blanks, controls, formats, private use, not characters. */
static const struct {
	uint32_t first, last;
} unprintable[] = {
	{0x80, 0xa0},
	{0xad, 0xad},
	{0x600, 0x605},
	{0x61c, 0x61c},
	{0x6dd, 0x6dd},
	{0x70f, 0x70f},
	{0x1680, 0x1680},
	{0x180e, 0x180e},
	{0x2000, 0x200f},
	{0x2028, 0x202f},
	{0x205f, 0x206f},
	{0x3000, 0x3000},
	{0xd800, 0xf8ff},
	{0xfdd0, 0xfdef},
	{0xfeff, 0xfeff},
	{0xfff0, 0xfffb},
	{0xfffe, 0xffff},
	{0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a},
	{0xe0000, 0x10ffff},
};

bool go_is_print(uint32_t c)
{
	if (c < 0x80) {
		return c >= 0x20 && c < 0x7f;
	}
	for (size_t i = 0; i < ARRAY_SIZE(unprintable); i++) {
		if (c >= unprintable[i].first && c <= unprintable[i].last) {
			return false;
		}
	}
	return true;
}

unsigned go_decode_rune(const char *p, const char *end, uint32_t *ret_c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead = (unsigned char)*p;
	if (lead < 0x80) {
		*ret_c = lead;
		return 1;
	}
	unsigned n = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (n == 0 || n > (size_t)(end - p)) {
		return 0;
	}
	uint32_t c = lead & (0x7fU >> n);
	for (unsigned i = 1; i < n; i++) {
		if (((unsigned char)p[i] & 0xc0) != 0x80) {
			return 0;
		}
		c = c << 6 | ((unsigned char)p[i] & 0x3fU);
	}
	*ret_c = c;
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : n;
}

static const char *go_escape(char c)
{
	static const char *const escapes[256] = {
		['\a'] = "\\a",
		['\b'] = "\\b",
		['\f'] = "\\f",
		['\n'] = "\\n",
		['\r'] = "\\r",
		['\t'] = "\\t",
		['\v'] = "\\v",
		['"'] = "\\\"",
		['\\'] = "\\\\",
	};
	return escapes[(unsigned char)c];
}

static unsigned quote_ascii(struct buf *out, char c)
{
	if (go_escape(c)) {
		buf_adds(out, go_escape(c));
	} else if ((unsigned char)c < 0x20 || c == 0x7f) {
		buf_printf(out, "\\x%02x", (unsigned char)c);
	} else {
		buf_addc(out, c);
	}
	return 1;
}

/* Quotes the character at p; returns how many bytes it has. */
static unsigned quote_char(struct buf *out, const char *p, const char *end)
{
	if ((unsigned char)*p < 0x80) {
		return quote_ascii(out, *p);
	}
	uint32_t c;
	unsigned n = go_decode_rune(p, end, &c);
	if (n == 0) {
		buf_printf(out, "\\x%02x", (unsigned char)*p);
		return 1;
	}
	if (go_is_print(c)) {
		buf_add(out, p, n);
	} else {
		buf_printf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
	}
	return n;
}

struct str go_quote(struct arena *a, struct str s)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	buf_reserve(&out, s.n + 2);
	buf_addc(&out, '"');
	for (size_t i = 0; i < s.n;) {
		i += quote_char(&out, s.p + i, s.p + s.n);
	}
	buf_addc(&out, '"');
	struct str quoted = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return quoted;
}

/* ---- floats as Go has them ---- */

double go_double(struct str lexeme)
{
	char small[64];
	if (lexeme.n < sizeof(small)) {
		memcpy(small, lexeme.p, lexeme.n);
		small[lexeme.n] = '\0';
		return strtod(small, NULL);
	}
	char *text = mem_strndup(lexeme.p, lexeme.n);
	double d = strtod(text, NULL);
	mem_free(text);
	return d;
}

/* The shortest digits that read back as d, and the exponent of the first one. d is finite and positive. */
static size_t shortest_digits(double d, char digits[32], int *ret_exponent)
{
	enum { DIGITS_MAX = 17 }; /* decimal digits tell all doubles apart */
	char text[48];
	int low = 1, high = DIGITS_MAX;
	while (low < high) { /* more digits than enough are enough, too */
		int middle = (low + high) / 2;
		snprintf(text, sizeof(text), "%.*e", middle - 1, d);
		double again = strtod(text, NULL);
		bool is_same = !(again < d) && !(again > d);
		low = is_same ? low : middle + 1;
		high = is_same ? middle : high;
	}
	snprintf(text, sizeof(text), "%.*e", low - 1, d);
	size_t n = 0;
	const char *p = text;
	for (; *p != 'e'; p++) {
		if (*p != '.') {
			digits[n++] = *p;
		}
	}
	*ret_exponent = atoi(p + 1);
	while (n > 1 && digits[n - 1] == '0') {
		n--;
	}
	return n;
}

/* Digits with a decimal point, or with an exponent of at least `least` digits. */
static struct str go_float(double d, int low, int high, int least, struct arena *a)
{
	char digits[32], out[400];
	int exponent;
	size_t n = 0;
	if (!isfinite(d)) {
		return isnan(d) ? STR("NaN") : d < 0 ? STR("-Inf") : STR("+Inf");
	}
	if (!(d < 0) && !(d > 0)) {
		return signbit(d) ? STR("-0") : STR("0");
	}
	if (d < 0) {
		out[n++] = '-';
		d = -d;
	}
	size_t n_digits = shortest_digits(d, digits, &exponent);
	if (exponent < low || exponent >= high) {
		out[n++] = digits[0];
		if (n_digits > 1) {
			out[n++] = '.';
			memcpy(out + n, digits + 1, n_digits - 1);
			n += n_digits - 1;
		}
		n += (size_t)snprintf(out + n, 16, "e%c%0*d", exponent < 0 ? '-' : '+', least, abs(exponent));
	} else if (exponent < 0) {
		out[n++] = '0';
		out[n++] = '.';
		for (int i = -1; i > exponent; i--) {
			out[n++] = '0';
		}
		memcpy(out + n, digits, n_digits);
		n += n_digits;
	} else {
		for (int i = 0; i <= exponent || i < (int)n_digits; i++) {
			if (i == exponent + 1) {
				out[n++] = '.';
			}
			out[n++] = i < (int)n_digits ? digits[i] : '0';
		}
	}
	return arena_dup(a, (struct str){out, n});
}

struct str go_float_json(double d, struct arena *a)
{
	enum { LOW = -6, HIGH = 21 };
	struct str text = go_float(d, LOW, HIGH, 2, a);
	/* encoding/json turns e-09 into e-9. */
	if (text.n >= 4 && text.p[text.n - 4] == 'e' && text.p[text.n - 3] == '-' && text.p[text.n - 2] == '0') {
		return arena_printf(a, "%.*s%c", (int)text.n - 2, text.p, text.p[text.n - 1]);
	}
	return text;
}

struct str go_float_print(double d, struct arena *a)
{
	enum { LOW = -4, HIGH = 6 };
	return go_float(d, LOW, HIGH, 2, a);
}
