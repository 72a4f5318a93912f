/* Bodies of POST and PUT are typed by Go's mime.ParseMediaType, those of PATCH by go-restful's
 * router: so case matters to the one and not to the other, and the refusals differ (surprises.md
 * 44). YAML is turned into JSON text, so that there is one decoder behind this. */
#include "api/model/protobuf.h"
#include "base/yaml.h"
#include "server/parse/media_types.h"
#include "server/parse/negotiate.h"

#include <ctype.h>

/* ---- Content-Type, as Go's mime.ParseMediaType reads it ---- */

static bool is_token_char(char c)
{
	return c > ' ' && c < 0x7f && !strchr("()<>@,;:\\\"/[]?=", c);
}

static struct str skip_blanks(struct str s)
{
	while (s.n > 0 && isspace((unsigned char)s.p[0])) {
		s = (struct str){s.p + 1, s.n - 1};
	}
	return s;
}

static bool cut_token(struct str *s, struct str *ret)
{
	size_t n = 0;

	while (n < s->n && is_token_char(s->p[n])) {
		n++;
	}
	*ret = (struct str){s->p, n};
	*s = (struct str){s->p + n, s->n - n};
	return n > 0;
}

static bool cut_char(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c) {
		return false;
	}
	*s = (struct str){s->p + 1, s->n - 1};
	return true;
}

/* With its quotes: only sameness matters. */
static bool cut_quoted(struct str *s, struct str *ret)
{
	for (size_t i = 1; i < s->n; i++) {
		if (s->p[i] == '"') {
			*ret = (struct str){s->p, i + 1};
			*s = (struct str){s->p + i + 1, s->n - i - 1};
			return true;
		}
		if (s->p[i] == '\\' && i + 1 < s->n && !is_token_char(s->p[i + 1])) {
			i++;
		}
	}
	return false;
}

struct mime_parameter {
	struct str name, value;
};

static bool cut_mime_parameter(struct str *s, struct mime_parameter *ret)
{
	if (!cut_char(s, ';')) {
		return false;
	}
	*s = skip_blanks(*s);
	if (!cut_token(s, &ret->name)) {
		return false;
	}
	*s = skip_blanks(*s);
	if (!cut_char(s, '=')) {
		return false;
	}
	*s = skip_blanks(*s);
	return s->n > 0 && s->p[0] == '"' ? cut_quoted(s, &ret->value) : cut_token(s, &ret->value);
}

/* Each is compared with all before it; more of them make the type unknown. */
enum { MIME_PARAMETERS_MAX = 16 };

/* Nobody needs the parameters, but a malformed or contradictory one makes the whole type unknown. */
static bool mime_parameters_are_valid(struct str s)
{
	struct mime_parameter seen[MIME_PARAMETERS_MAX];

	for (size_t n = 0; n < ARRAY_SIZE(seen); n++) {
		s = skip_blanks(s);
		if (s.n == 0 || str_is(str_trim(s), ";")) {
			return true;
		}
		if (!cut_mime_parameter(&s, &seen[n])) {
			return false;
		}
		for (size_t i = 0; i < n; i++) {
			if (str_eq_nocase(seen[i].name, seen[n].name) && !str_eq(seen[i].value, seen[n].value)) {
				return false;
			}
		}
	}
	return false;
}

static bool find_body_format(enum media_format *ret, struct str content_type)
{
	const char *semicolon = content_type.n > 0 ? memchr(content_type.p, ';', content_type.n) : NULL;
	size_t n = semicolon ? (size_t)(semicolon - content_type.p) : content_type.n;
	struct str base = str_trim((struct str){content_type.p, n}), type, subtype;

	str_cut(base, '/', &type, &subtype);
	if (!mime_parameters_are_valid((struct str){content_type.p + n, content_type.n - n})) {
		return false;
	}
	for (size_t i = 0; i < N_MEDIA_TYPES; i++) {
		if (str_eq_nocase(type, str_of(media_types[i].type)) &&
			str_eq_nocase(subtype, str_of(media_types[i].subtype))) {
			*ret = media_types[i].format;
			return true;
		}
	}
	return false;
}

int media_of_body(enum media_format *ret, struct str content_type, const struct type *type, struct arena *a, struct status *st)
{
	enum media_format format;

	if (content_type.n == 0) {
		*ret = media_types[0].format;
		return 0;
	}
	if (find_body_format(&format, content_type) && (format != MEDIA_PROTOBUF || protobuf_knows(type))) {
		*ret = format;
		return 0;
	}
	status_set(st, 415, REASON_UNSUPPORTED_MEDIA_TYPE,
		"the body of the request was in an unknown format - accepted media types include: " STR_FMT,
		STR_ARG(media_body_type_names(a, protobuf_knows(type) ? N_MEDIA_TYPES : N_MEDIA_TYPES - 1)));
	return 1;
}

/* The router's again: the first of a list that some patch type has. */
int media_of_patch(enum patch_type *ret, struct str content_type, struct status *st)
{
	struct str element, type, parameters;

	while (content_type.n > 0) {
		str_cut(content_type, ',', &element, &content_type);
		str_cut(element, ';', &type, &parameters);
		if (patch_type_of(str_trim(type), ret)) {
			return 0;
		}
	}
	status_set(st, 415, REASON_UNSUPPORTED_MEDIA_TYPE, "415: Unsupported Media Type");
	st->has_details = true;
	return 1;
}

/* ---- bodies ---- */

enum { YAML_JSON_MAX = 16 << 20 }; /* bytes; a body is 3 MiB, aliases and escapes make it grow */

static int parse_json(struct json **ret, struct str text, struct arena *a, struct status *st)
{
	size_t at;
	int error = json_parse(ret, a, text, JSON_LIMITS_DEFAULT, &at);

	if (error) {
		status_bad_request(st, "%s", json_error_text(a, error, text, at));
		return 1;
	}
	return 0;
}

static int parse_yaml(struct json **ret, struct str text, struct arena *a, struct status *st)
{
	struct str error, json_text;
	struct buf json;

	buf_init(&json, YAML_JSON_MAX);
	if (yaml_to_json(&json, text, YAML_LIMITS_DEFAULT, a, &error, NULL)) {
		buf_done(&json);
		status_bad_request(st, STR_FMT, STR_ARG(error));
		return 1;
	}
	json_text = arena_dup(a, buf_str(&json));
	buf_done(&json);
	return parse_json(ret, json_text, a, st);
}

static bool has_repeated_keys(const struct json *j)
{
	for (uint32_t i = 0; j->kind == JSON_ARRAY && i < j->n; i++) {
		if (has_repeated_keys(j->items[i])) {
			return true;
		}
	}
	for (uint32_t i = 0; j->kind == JSON_OBJECT && i < j->n; i++) {
		const struct json_member *m = &j->members[i];
		if (json_get(j, m->name) != m->value || has_repeated_keys(m->value)) {
			return true;
		}
	}
	return false;
}

/* YAML that is JSON too, and means the same as that. */
static bool is_json(struct json **ret, struct str body, struct arena *a)
{
	size_t at;

	/* Repeated keys are an error in YAML, and in JSON the last one counts. */
	return json_parse(ret, a, body, JSON_LIMITS_DEFAULT, &at) == 0 && !has_repeated_keys(*ret);
}

int media_parse_body(struct json **ret, enum media_format format, struct str body, struct arena *a, struct status *st)
{
	if (format == MEDIA_JSON) {
		return parse_json(ret, body, a, st);
	}
	return is_json(ret, body, a) ? 0 : parse_yaml(ret, body, a, st);
}

struct str media_repeated_keys(enum media_format format, struct str body, struct arena *a)
{
	struct str error, repeated = {NULL, 0};
	struct json *j;
	struct buf json;

	if (format != MEDIA_YAML || is_json(&j, body, a)) {
		return repeated;
	}
	buf_init(&json, YAML_JSON_MAX);
	yaml_to_json(&json, body, YAML_LIMITS_DEFAULT, a, &error, &repeated);
	buf_done(&json);
	return repeated;
}
