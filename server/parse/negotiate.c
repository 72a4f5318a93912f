/* Accept is read twice, because upstream reads it twice. First go-restful's router looks, which
 * knows no parameters and no wildcard behind "application". Then the clauses decide, as
 * goautoneg has them. What passes the one may fail the other, with another text, and clients see
 * both (surprises.md 57). So the two are kept apart here rather than made one good parser. */
#include "server/parse/media_types.h"
#include "server/parse/negotiate.h"

#include "api/model/protobuf_write.h"
#include "base/yaml.h"

#include <ctype.h>
#include <stdlib.h>

enum {
	ALLOW_FORMS = ALLOW_TABLE | ALLOW_PARTIAL | ALLOW_PARTIAL_LIST,
	ROUTE_STREAMS = ALLOW_PARTIAL_LIST | ALLOW_STREAM_ONLY, /* lists and watches share a route */
};

/* ---- refusals ---- */

/* The router's: no route makes what is wanted. */
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

static bool route_makes(struct str type)
{
	struct str major, minor;

	if (str_is(type, "*/*")) {
		return true;
	}
	str_cut(type, '/', &major, &minor);
	for (size_t i = 0; i < N_MEDIA_TYPES; i++) {
		if (str_is(major, media_types[i].type) && str_is(minor, media_types[i].subtype)) {
			return true;
		}
	}
	return false;
}

/* go-restful's: types without parameters, exact case, no application/wildcard. */
static bool route_accepts(struct str accept)
{
	struct str element, type, parameters;

	if (accept.n == 0) {
		return true;
	}
	do {
		str_cut(accept, ',', &element, &accept);
		str_cut(element, ';', &type, &parameters);
		if (route_makes(trim_spaces(type))) {
			return true;
		}
	} while (accept.n > 0);
	return false;
}

/* ---- clauses of Accept, as munnerz/goautoneg reads them ---- */

struct clause {
	struct str type, subtype, parameters;
	float quality;
};

enum { CLAUSES_MAX = 64 }; /* what follows is ignored: sorting is quadratic */

/* What stands before sep; false when anything stands behind it. */
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

/* strconv.ParseFloat: 0 for what is no number. */
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

/* Not an order in the strict sense; upstream's, with upstream's insertion sort, decides all the same. */
static bool goes_before(const struct clause *a, const struct clause *b)
{
	return a->quality > b->quality || (!str_is(a->type, "*") && str_is(b->type, "*")) ||
		(!str_is(a->subtype, "*") && str_is(b->subtype, "*"));
}

static void insert_clause(struct clause *clauses, size_t n, const struct clause *c)
{
	size_t i = n;

	for (; i > 0 && goes_before(c, &clauses[i - 1]); i--) {
		clauses[i] = clauses[i - 1];
	}
	clauses[i] = *c;
}

static size_t parse_accept(struct str accept, struct clause clauses[CLAUSES_MAX])
{
	struct str element;
	struct clause c;
	size_t n = 0;

	while (accept.n > 0 && n < CLAUSES_MAX) {
		str_cut(accept, ',', &element, &accept);
		if (parse_clause(element, &c)) {
			insert_clause(clauses, n, &c);
			n++;
		}
	}
	return n;
}

/* ---- choosing ---- */

/* Parameters that mean something, the last of each. */
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

/* An element that is "gzip" and nothing else: "gzip;q=1" is not. */
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
static void finish(struct media *m, struct str accept_encoding, struct str user_agent, struct str pretty_param)
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
	finish(ret, accept_encoding, user_agent, pretty_param);
}

static unsigned form_bit(enum media_as as)
{
	static const unsigned bits[] = {
		[AS_TABLE] = ALLOW_TABLE, [AS_PARTIAL] = ALLOW_PARTIAL, [AS_PARTIAL_LIST] = ALLOW_PARTIAL_LIST};

	return bits[as];
}

static int choose_or_refuse(struct media *ret, struct str accept, unsigned allowed, struct arena *a, struct status *st)
{
	if (!(allowed & ALLOW_UNROUTED) && !route_accepts(accept)) {
		return refuse_route(a, allowed, st);
	}
	if ((allowed & ALLOW_DISCOVERY) && choose(ret, accept, ALLOW_DISCOVERY)) {
		return 0;
	}
	if (!choose(ret, accept, allowed & ~(unsigned)ALLOW_DISCOVERY)) {
		return refuse_clauses(a, false, st);
	}
	if ((allowed & ALLOW_STREAM_ONLY) && ret->as == AS_PARTIAL_LIST) {
		ret->as = AS_OBJECT; /* upstream notices when the stream has begun, and sends objects */
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
		return 1;
	}
	finish(ret, accept_encoding, user_agent, pretty_param);
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

static bool write_yaml(struct buf *out, struct str json_text)
{
	struct arena a;
	struct json *j;
	size_t at;

	arena_init(&a, SIZE_MAX / 2);
	bool ok = json_parse(&j, &a, json_text, (struct json_limits){.depth = UINT32_MAX, .values = SIZE_MAX}, &at) == 0 &&
		yaml_from_json(out, j);
	arena_done(&a);
	return ok;
}

bool media_write(struct buf *out, const struct media *m, struct str json_text)
{
	if (m->format == MEDIA_YAML) {
		return write_yaml(out, json_text);
	}
	if (m->format == MEDIA_PROTOBUF) {
		return protobuf_from_text(out, json_text);
	}
	if (m->pretty) {
		return json_indent(out, json_text, 2);
	}
	return buf_add_str(out, json_text) && buf_addc(out, '\n');
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
