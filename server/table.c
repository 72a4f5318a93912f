#include "server/table.h"

#include "base/clock.h"
#include "server/request.h"

enum { PATH_MAX_BYTES = 4096 }; /* of a computed field */

int include_object_parse(enum include_object *ret, struct str param, struct status *st)
{
	static const struct {
		const char *text;
		enum include_object include;
	} values[] = {
		{"", INCLUDE_METADATA},
		{"Metadata", INCLUDE_METADATA},
		{"None", INCLUDE_NONE},
		{"Object", INCLUDE_OBJECT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (str_is(param, values[i].text)) {
			*ret = values[i].include;
			return 0;
		}
	}
	status_bad_request(st,
		"Unable to convert to Table as requested: includeObject: Invalid value: " STR_FMT
		": must be 'Metadata', 'Object', 'None', or empty",
		STR_ARG(go_quote(st->arena, param)));
	return 1;
}

static const char *meta_version(const struct media *m)
{
	return m->is_v1beta1 ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
}

/* ---- columns ---- */

static bool column_is_shown(const struct column *c, const struct door *door)
{
	return !c->annals_only || str_is(str_of(door->group), "annals.dev");
}

static void add_member(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "\"%s\":", name);
	json_encode_string(out, str_of(value ? value : ""));
	buf_addc(out, ',');
}

static void add_column(struct buf *out, const struct column *c)
{
	buf_addc(out, '{');
	add_member(out, "name", c->name);
	add_member(out, "type", c->type);
	add_member(out, "format", c->format);
	add_member(out, "description", c->doc);
	buf_printf(out, "\"priority\":%d}", c->priority);
}

static void add_columns(struct buf *out, const struct kind *kind, const struct door *door)
{
	const char *separator = "[";

	for (size_t i = 0; i < kind->n_columns; i++) {
		if (column_is_shown(&kind->columns[i], door)) {
			buf_adds(out, separator);
			add_column(out, &kind->columns[i]);
			separator = ",";
		}
	}
	buf_adds(out, *separator == '[' ? "[]" : "]");
}

bool table_begin(struct buf *out, const struct kind *kind, const struct door *door, const struct media *m,
	struct str metadata_json, bool with_columns)
{
	buf_printf(out, "{\"kind\":\"Table\",\"apiVersion\":\"%s\",\"metadata\":", meta_version(m));
	buf_add_str(out, metadata_json);
	BUF_LITERAL(out, ",\"columnDefinitions\":");
	if (with_columns) {
		add_columns(out, kind, door);
	} else {
		BUF_LITERAL(out, "null");
	}
	return BUF_LITERAL(out, ",\"rows\":[");
}

/* ---- rows ---- */

static size_t count_of_kind(struct cache *cache, const struct kind *k, const struct object *o)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(cache, k);
	_cleanup_(buf_done) struct buf path;
	size_t n = 0;

	buf_init(&path, PATH_MAX_BYTES);
	for (const struct reference_field *f = NULL; s && (f = kind_reference_to(k, o->kind, f));) {
		buf_clear(&path);
		buf_printf(&path, "%s" STR_FMT, f->prefix, STR_ARG(o->meta.name));
		n += cache_snapshot_count_computed(s, o->meta.ns, buf_str(&path));
	}
	return n;
}

/* null, where not all that may refer to it can be read. */
static void add_referrers(struct buf *out, struct cache *cache, const struct object *o)
{
	bool is_known = true;
	size_t n = 0;

	for (size_t i = 0; cache && i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (k->reference_fields) {
			n += count_of_kind(cache, k, o);
			is_known &= !cache_has_unknown(cache, k);
		}
	}
	if (is_known) {
		buf_add_int(out, (int64_t)n);
	} else {
		BUF_LITERAL(out, "null");
	}
}

static void add_cells(
	struct buf *out, const struct kind *kind, const struct door *door, const struct object *o, struct cache *cache)
{
	const char *separator = "[";
	int64_t now_s = clock_wall_s();

	for (size_t i = 0; i < kind->n_columns; i++) {
		if (column_is_shown(&kind->columns[i], door)) {
			buf_adds(out, separator);
			if (kind->columns[i].cell) {
				kind->columns[i].cell(o, now_s, out);
			} else {
				add_referrers(out, cache, o);
			}
			separator = ",";
		}
	}
	buf_adds(out, *separator == '[' ? "[]" : "]");
}

static void begin_row(struct buf *out, const struct kind *kind, const struct door *door, const struct object *o,
	struct cache *cache, bool is_first)
{
	buf_adds(out, is_first ? "{\"cells\":" : ",{\"cells\":");
	add_cells(out, kind, door, o, cache);
	BUF_LITERAL(out, ",\"object\":");
}

static void add_object(struct buf *out, const struct kind *kind, const struct door *door, const struct media *m,
	enum include_object include, const struct cached *o, struct arena *a)
{
	switch (include) {
	case INCLUDE_METADATA:
		partial_object(out, m, o);
		break;
	case INCLUDE_NONE:
		BUF_LITERAL(out, "null");
		break;
	case INCLUDE_OBJECT:
		buf_add_str(out, show_type(kind, door, a));
		buf_add_str(out, show_body(o, door, a));
		break;
	}
}

bool table_row(struct buf *out, const struct kind *kind, const struct door *door, const struct media *m,
	enum include_object include, const struct cached *o, bool is_first, struct cache *cache, struct arena *a)
{
	struct object *decoded;

	if (cached_object(&decoded, o, a)) {
		return false;
	}
	begin_row(out, kind, door, decoded, cache, is_first);
	add_object(out, kind, door, m, include, o, a);
	return buf_addc(out, '}');
}

bool table_row_of(struct buf *out, const struct kind *kind, const struct door *door, const struct object *o,
	struct str object_json, bool is_first)
{
	begin_row(out, kind, door, o, NULL, is_first);
	buf_add_str(out, object_json);
	return buf_addc(out, '}');
}

bool table_end(struct buf *out)
{
	return BUF_LITERAL(out, "]}");
}

bool partial_object(struct buf *out, const struct media *m, const struct cached *o)
{
	buf_printf(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"%s\",\"metadata\":", meta_version(m));
	return buf_add_str(out, o->metadata) && buf_addc(out, '}');
}
