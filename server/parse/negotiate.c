/* Media types: what a client accepts, what it sends, and JSON text in the form it wants.
 *
 * Accept is read twice, because upstream reads it twice. First go-restful's router looks, which
 * knows no parameters and no wildcard behind "application". Then the clauses decide, as goautoneg
 * has them. A header that passes one may fail the other, with another text, and clients see both
 * texts. So the two parsers stay apart. */
#include "server/parse/negotiate.h"
#include "api/model/protobuf.h"
#include "api/model/protobuf_write.h"
#include "base/yaml.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

enum {
	ALLOW_FORMS = ALLOW_TABLE | ALLOW_PARTIAL | ALLOW_PARTIAL_LIST,
	ROUTE_STREAMS = ALLOW_PARTIAL_LIST | ALLOW_STREAM_ONLY, /* lists and watches share a route */
};

/* ---- refusals ---- */

/* The router's refusal: no route makes the wanted type. */
static int refuse_route(struct arena *a, unsigned allowed, struct status *st)
{
	status_set(st, 406, REASON_NOT_ACCEPTABLE, "406: Not Acceptable\n\nAvailable representations: " STR_FMT,
		STR_ARG(media_type_names(a, true, allowed & ROUTE_STREAMS)));
	st->has_details = true;
	return 1;
}

static int refuse_clauses(struct arena *a, bool is_stream, struct status *st)
{
	status_set(st, 406, REASON_NOT_ACCEPTABLE, "only the following media types are accepted: " STR_FMT,
		STR_ARG(media_type_names(a, !is_stream, is_stream)));
	return 1;
}

static int refuse_form(const struct media *m, struct status *st)
{
	static const char *const reasons[] = {
		[AS_TABLE] = "you requested Table, but the requested object has none",
		[AS_PARTIAL] = "you requested PartialObjectMetadata, but the requested object is a list",
		[AS_PARTIAL_LIST] = "you requested PartialObjectMetadataList, but the requested object is not a list",
	};

	status_set(st, 406, REASON_NOT_ACCEPTABLE, "%s", reasons[m->as]);
	return 1;
}

/* ---- the router's look at Accept ---- */

static struct str trim_spaces(struct str s)
{
	while (s.n > 0 && s.p[0] == ' ') {
		s = (struct str){s.p + 1, s.n - 1};
	}
	while (s.n > 0 && s.p[s.n - 1] == ' ') {
		s.n--;
	}
	return s;
}

static bool route_makes(struct str type, size_t n_types)
{
	struct str major, minor;

	if (str_is(type, "*/*")) {
		return true;
	}
	str_cut(type, '/', &major, &minor);
	for (size_t i = 0; i < n_types; i++) {
		if (str_is(major, media_types[i].type) && str_is(minor, media_types[i].subtype)) {
			return true;
		}
	}
	return false;
}

/* Checks Accept as go-restful does: types without parameters, exact case, no
 * application/wildcard. n_types: how many of media_types the route makes. */
static bool route_accepts(struct str accept, size_t n_types)
{
	struct str element, type, parameters;

	if (accept.n == 0) {
		return true;
	}
	do {
		str_cut(accept, ',', &element, &accept);
		str_cut(element, ';', &type, &parameters);
		if (route_makes(trim_spaces(type), n_types)) {
			return true;
		}
	} while (accept.n > 0);
	return false;
}

bool media_accepts_json(struct str accept)
{
	return route_accepts(accept, 1);
}

/* ---- clauses of Accept, as munnerz/goautoneg reads them ---- */

struct clause {
	struct str type, subtype, parameters;
	float quality;
};

enum { CLAUSES_MAX = 64 }; /* what follows is ignored: sorting is quadratic */

/* Returns the text before sep. False when there is text behind it. */
static bool head_alone(struct str s, char sep, struct str *ret)
{
	struct str tail;

	str_cut(s, sep, ret, &tail);
	return tail.n == 0;
}

/* name=value; those without a value, or with two, are skipped. */
static bool next_parameter(struct str *rest, struct str *ret_name, struct str *ret_value)
{
	struct str parameter, value;

	while (rest->n > 0) {
		str_cut(*rest, ';', &parameter, rest);
		str_cut(parameter, '=', ret_name, &value);
		if (value.n > 0 && head_alone(value, '=', ret_value)) {
			*ret_name = trim_spaces(*ret_name);
			return true;
		}
	}
	return false;
}

/* As strconv.ParseFloat; 0 for text that is no number. */
static float parse_quality(struct str value)
{
	char text[32], *end;

	if (value.n == 0 || value.n >= sizeof(text) || isspace((unsigned char)value.p[0])) {
		return 0;
	}
	memcpy(text, value.p, value.n);
	text[value.n] = '\0';
	float quality = strtof(text, &end);
	return end == text + value.n ? quality : 0;
}

static bool parse_type(struct str text, struct clause *ret)
{
	struct str subtype;

	str_cut(text, '/', &ret->type, &subtype);
	ret->type = trim_spaces(ret->type);
	if (subtype.n == 0) {
		ret->subtype = STR("*");
		return str_is(ret->type, "*");
	}
	if (!head_alone(subtype, '/', &ret->subtype)) {
		return false;
	}
	ret->subtype = trim_spaces(ret->subtype);
	return true;
}

static bool parse_clause(struct str text, struct clause *ret)
{
	struct str type, name, value;

	*ret = (struct clause){.quality = 1};
	str_cut(trim_spaces(text), ';', &type, &ret->parameters);
	if (!parse_type(type, ret)) {
		return false;
	}
	for (struct str rest = ret->parameters; next_parameter(&rest, &name, &value);) {
		if (str_is(name, "q")) {
			ret->quality = parse_quality(value);
		}
	}
	return true;
}

/* Not a strict order, but upstream's; with upstream's insertion sort it gives upstream's result. */
static bool goes_before(const struct clause *a, const struct clause *b)
{
	return a->quality > b->quality || (!str_is(a->type, "*") && str_is(b->type, "*")) ||
		(!str_is(a->subtype, "*") && str_is(b->subtype, "*"));
}

static size_t parse_accept(struct str accept, struct clause clauses[CLAUSES_MAX])
{
	struct str element;
	struct clause c;
	size_t n = 0;

	while (accept.n > 0 && n < CLAUSES_MAX) {
		str_cut(accept, ',', &element, &accept);
		if (parse_clause(element, &c)) {
			size_t i = n;

			for (; i > 0 && goes_before(&c, &clauses[i - 1]); i--) {
				clauses[i] = clauses[i - 1];
			}
			clauses[i] = c;
			n++;
		}
	}
	return n;
}

/* ---- choosing ---- */

/* The parameters that have a meaning, the last of each. */
struct parameters {
	struct str as, group, version, stream, server_version;
	bool converts, pretty;
};

static void read_parameters(struct parameters *ret, struct str text)
{
	struct {
		const char *name;
		struct str *value;
	} known[] = {
		{"as", &ret->as},
		{"g", &ret->group},
		{"v", &ret->version},
		{"stream", &ret->stream},
		{"sv", &ret->server_version},
	};
	struct str name, value;

	*ret = (struct parameters){0};
	while (next_parameter(&text, &name, &value)) {
		value = trim_spaces(value);
		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			if (str_is(name, known[i].name)) {
				*known[i].value = value;
				ret->converts = ret->converts || i < 3;
			}
		}
		if (str_is(name, "pretty")) {
			ret->pretty = str_is(value, "1");
		}
	}
}

static const struct {
	const char *name;
	enum media_as as;
} forms[] = {
	{"Table", AS_TABLE},
	{"PartialObjectMetadata", AS_PARTIAL},
	{"PartialObjectMetadataList", AS_PARTIAL_LIST},
};

static bool asks_for_discovery(const struct parameters *p)
{
	return str_is(p->group, "apidiscovery.k8s.io") && str_is(p->version, "v2") && str_is(p->as, "APIGroupDiscoveryList");
}

/* kube's AllowsMediaTypeTransform: Tables have no protobuf, and of custom resources metadata alone has. */
static bool has_protobuf(const struct media *m, unsigned allowed)
{
	return m->as == AS_OBJECT ? !(allowed & ALLOW_ONLY_TEXT) : m->as != AS_TABLE;
}

static bool choose_form(struct media *ret, const struct parameters *p, unsigned allowed)
{
	if (allowed & ALLOW_DISCOVERY) {
		ret->as = AS_DISCOVERY;
		return asks_for_discovery(p);
	}
	if (!p->converts) {
		return true;
	}
	ret->is_v1beta1 = str_is(p->version, "v1beta1");
	if (!(allowed & ALLOW_FORMS) || !str_is(p->group, "meta.k8s.io") || (!ret->is_v1beta1 && !str_is(p->version, "v1"))) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (str_is(p->as, forms[i].name)) {
			ret->as = forms[i].as;
			return true;
		}
	}
	return false;
}

static bool choose_serializer(struct media *ret, const struct clause *c, const struct media_type *s, unsigned allowed)
{
	struct parameters p;

	read_parameters(&p, c->parameters);
	*ret = (struct media){.format = s->format, .pretty = p.pretty};
	if (p.stream.n > 0 && (!s->streams || !str_is(p.stream, "watch"))) {
		return false;
	}
	if (p.server_version.n > 0 && !((allowed & ALLOW_FORMS) && str_is(p.server_version, "v1"))) {
		return false;
	}
	return choose_form(ret, &p, allowed) && (s->format != MEDIA_PROTOBUF || has_protobuf(ret, allowed));
}

static bool clause_covers(const struct clause *c, const struct media_type *s)
{
	bool any_subtype = str_is(c->subtype, "*");

	return (str_is(c->type, s->type) && (any_subtype || str_is(c->subtype, s->subtype))) ||
		(str_is(c->type, "*") && any_subtype);
}

static bool choose(struct media *ret, struct str accept, unsigned allowed)
{
	struct clause clauses[CLAUSES_MAX];

	*ret = (struct media){.format = MEDIA_JSON};
	if (accept.n == 0 || str_is(accept, "application/json") || str_is(accept, "*/*")) {
		return true;
	}
	size_t n = parse_accept(accept, clauses);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < N_MEDIA_TYPES; j++) {
			if (clause_covers(&clauses[i], &media_types[j]) &&
				choose_serializer(ret, &clauses[i], &media_types[j], allowed)) {
				return true;
			}
		}
	}
	return false;
}

/* ---- pretty and gzip ---- */

/* strconv.ParseBool's words for true. */
static bool is_true(struct str s)
{
	static const char *const words[] = {"1", "t", "T", "TRUE", "true", "True"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (str_is(s, words[i])) {
			return true;
		}
	}
	return false;
}

static bool wants_pretty(struct str user_agent, struct str pretty_param)
{
	if (pretty_param.n > 0) {
		return is_true(pretty_param);
	}
	return str_starts(user_agent, STR("curl")) || str_starts(user_agent, STR("Wget")) ||
		str_starts(user_agent, STR("Mozilla/5.0"));
}

/* Returns true when an element is exactly "gzip": "gzip;q=1" is not. */
static bool wants_gzip(struct str accept_encoding)
{
	struct str element;

	while (accept_encoding.n > 0) {
		str_cut(accept_encoding, ',', &element, &accept_encoding);
		if (str_is(str_trim(element), "gzip")) {
			return true;
		}
	}
	return false;
}

/* YAML has one form, and a parameter of Accept counts as well as one of the query. */
static void media_finish(struct media *m, struct str accept_encoding, struct str user_agent, struct str pretty_param)
{
	m->pretty = m->format == MEDIA_JSON && (m->pretty || wants_pretty(user_agent, pretty_param));
	m->accepts_gzip = wants_gzip(accept_encoding);
}

/* ---- answers ---- */

void media_of_status(
	struct media *ret, struct str accept, struct str accept_encoding, struct str user_agent, struct str pretty_param)
{
	if (!choose(ret, accept, 0)) {
		*ret = (struct media){.format = MEDIA_JSON, .pretty = true};
	}
	media_finish(ret, accept_encoding, user_agent, pretty_param);
}

static unsigned form_bit(enum media_as as)
{
	static const unsigned bits[] = {
		[AS_TABLE] = ALLOW_TABLE, [AS_PARTIAL] = ALLOW_PARTIAL, [AS_PARTIAL_LIST] = ALLOW_PARTIAL_LIST};

	return bits[as];
}

static int choose_or_refuse(struct media *ret, struct str accept, unsigned allowed, struct arena *a, struct status *st)
{
	if (!(allowed & ALLOW_UNROUTED) && !route_accepts(accept, N_MEDIA_TYPES)) {
		return refuse_route(a, allowed, st);
	}
	if ((allowed & ALLOW_DISCOVERY) && choose(ret, accept, ALLOW_DISCOVERY)) {
		return 0;
	}
	if (!choose(ret, accept, allowed & ~(unsigned)ALLOW_DISCOVERY)) {
		return refuse_clauses(a, false, st);
	}
	if ((allowed & ALLOW_STREAM_ONLY) && ret->as == AS_PARTIAL_LIST) {
		ret->as = AS_OBJECT; /* upstream sees this only when the stream has begun, and sends objects */
		if (ret->format == MEDIA_PROTOBUF && !has_protobuf(ret, allowed)) {
			return refuse_clauses(a, true, st);
		}
	}
	if (ret->as != AS_OBJECT && !(form_bit(ret->as) & allowed)) {
		return refuse_form(ret, st);
	}
	if ((allowed & ALLOW_STREAM_ONLY) && ret->format == MEDIA_YAML) {
		return refuse_clauses(a, true, st);
	}
	return 0;
}

int media_negotiate(struct media *ret, struct str accept, struct str accept_encoding, struct str user_agent,
	struct str pretty_param, unsigned allowed, struct arena *a, struct status *st)
{
	if (choose_or_refuse(ret, accept, allowed, a, st)) {
		media_of_status(ret, accept, accept_encoding, user_agent, pretty_param);
		assert(st->code == 406 && ret->as == AS_OBJECT);
		return 1;
	}
	assert(!(allowed & ALLOW_STREAM_ONLY) || ret->format != MEDIA_YAML);
	assert(ret->as == AS_OBJECT || ret->as == AS_DISCOVERY || (form_bit(ret->as) & allowed));
	media_finish(ret, accept_encoding, user_agent, pretty_param);
	return 0;
}

struct str media_content_type(const struct media *m)
{
	static const char *const types[][2] = {
		[MEDIA_JSON] = {"application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
		[MEDIA_YAML] = {"application/yaml", "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
		[MEDIA_PROTOBUF] = {"application/vnd.kubernetes.protobuf",
			"application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
	};

	return str_of(types[m->format][m->as == AS_DISCOVERY]);
}

/* ---- writing ---- */

/* Each of these slices takes about a millisecond. */
enum {
	SLICE_VALUES = 2000,     /* of YAML */
	SLICE_BYTES = 256 << 10, /* of indented JSON */
};

struct media_writer {
	const struct media *media;
	struct str text;
	struct buf *out;
	struct arena arena;       /* of the tree that YAML is made of */
	struct yaml_writer *yaml; /* NULL: the text has not been read */
	struct json_indenter indenter;
	bool is_ok;
};

static void media_writer_init(struct media_writer *w, struct buf *out, const struct media *m, struct str json_text)
{
	*w = (struct media_writer){.media = m,
		.text = json_text,
		.out = out,
		.indenter = {.out = out, .rest = json_text, .spaces = 2},
		.is_ok = true};
	arena_init(&w->arena, SIZE_MAX / 2);
}

static void media_writer_done(struct media_writer *w)
{
	yaml_writer_free(w->yaml);
	arena_done(&w->arena);
}

struct media_writer *media_writer_new(struct buf *out, const struct media *m, struct str json_text)
{
	struct media_writer *w = mem_new(struct media_writer);

	media_writer_init(w, out, m, json_text);
	return w;
}

struct media_writer *media_writer_free(struct media_writer *w)
{
	if (w) {
		media_writer_done(w);
	}
	return mem_free(w);
}

/* Reading the text is a slice of its own. */
static bool media_writer_step_yaml(struct media_writer *w)
{
	const struct json_limits none = {.depth = UINT32_MAX, .values = SIZE_MAX};
	struct json *j;
	size_t at;

	if (!w->yaml) {
		w->is_ok = json_parse(&j, &w->arena, w->text, none, &at) == 0;
		w->yaml = w->is_ok ? yaml_writer_new(w->out, j) : NULL;
		return w->is_ok;
	}
	enum yaml_progress progress = yaml_writer_step(w->yaml, SLICE_VALUES);
	w->is_ok = progress != YAML_FAILED;
	return progress == YAML_UNFINISHED;
}

bool media_writer_step(struct media_writer *w)
{
	assert(w->is_ok); /* its last step said that there is more to come */
	if (w->media->format == MEDIA_YAML) {
		return media_writer_step_yaml(w);
	}
	if (w->media->format == MEDIA_PROTOBUF) {
		w->is_ok = protobuf_from_text(w->out, w->text);
		return false;
	}
	if (w->media->pretty) {
		return json_indenter_step(&w->indenter, SLICE_BYTES);
	}
	w->is_ok = buf_add_str(w->out, w->text) && buf_addc(w->out, '\n');
	return false;
}

bool media_write(struct buf *out, const struct media *m, struct str json_text)
{
	struct media_writer w;

	media_writer_init(&w, out, m, json_text);
	while (media_writer_step(&w)) {
	}
	media_writer_done(&w);
	return w.is_ok && !out->is_over;
}

static bool clause_covers_type(const struct clause *c, const char *type)
{
	struct str major, minor;

	str_cut(str_of(type), '/', &major, &minor);
	return (str_is(c->type, "*") || str_eq(c->type, major)) && (str_is(c->subtype, "*") || str_eq(c->subtype, minor));
}

int media_prefer(struct str accept, const char *const *types, size_t n)
{
	struct clause clauses[CLAUSES_MAX];
	size_t n_clauses = parse_accept(accept, clauses);

	if (accept.n == 0) {
		return 0;
	}
	for (size_t i = 0; i < n_clauses; i++) {
		for (size_t j = 0; j < n; j++) {
			if (clause_covers_type(&clauses[i], types[j])) {
				return (int)j;
			}
		}
	}
	return -1;
}

/* ---- bodies ---- */

/* Bodies of POST and PUT are typed by Go's mime.ParseMediaType, those of PATCH by go-restful's
 * router. So case matters to the one and not to the other, and the refusals differ. YAML is turned
 * into JSON text, so that there is one decoder behind this. */

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

/* Cuts a quoted value, with its quotes: it is only compared. */
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

/* Each parameter is compared with all before it; with more of them the type counts as unknown. */
enum { MIME_PARAMETERS_MAX = 16 };

/* Checks the parameters. They are not used, but a malformed or contradictory one makes the whole
 * type unknown. */
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

/* As the router does: the first type of the list that a patch type has. */
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

/* Returns true when YAML is JSON too, and means the same. */
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

/* ---- the types ---- */

/* The order matters twice: messages name the types in it, and a wildcard in Accept gets the first. */

const struct media_type media_types[N_MEDIA_TYPES] = {
	{"application", "json", MEDIA_JSON, true},
	{"application", "yaml", MEDIA_YAML, false},
	{"application", "vnd.kubernetes.protobuf", MEDIA_PROTOBUF, true},
};

static struct str add_name(struct arena *a, struct str text, const struct media_type *t, const char *parameters)
{
	return arena_printf(a, STR_FMT "%s%s/%s%s", STR_ARG(text), text.n > 0 ? ", " : "", t->type, t->subtype, parameters);
}

struct str media_body_type_names(struct arena *a, size_t n)
{
	struct str text = {NULL, 0};

	for (size_t i = 0; i < n; i++) {
		text = add_name(a, text, &media_types[i], "");
	}
	return text;
}

struct str media_type_names(struct arena *a, bool plain, bool streams)
{
	struct str text = plain ? media_body_type_names(a, N_MEDIA_TYPES) : (struct str){NULL, 0};

	for (size_t i = 0; streams && i < N_MEDIA_TYPES; i++) {
		if (media_types[i].streams) {
			text = add_name(a, text, &media_types[i], ";stream=watch");
		}
	}
	return text;
}
