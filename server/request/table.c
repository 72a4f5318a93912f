/* Rows are written as text while objects are decoded one after the other, in scratch memory that
 * the caller clears: so a table of a long list holds one decoded object at a time. Columns are the
 * kind's own rows (api/kinds), but for the two that look at other objects. */
#include "server/request/table.h"

#include "base/clock.h"
#include "server/request/live.h"
#include "server/request/request.h"
#include "server/request/respond.h"

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

const char *meta_version(const struct media *m)
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

/* null, where not all that may refer to it can be read. */
static void add_referrers(struct buf *out, const struct table_world *world, const struct object *o)
{
	size_t n = 0;

	if (!world || live_count_referrers(world->cache, o->kind, o->meta.ns, o->meta.name, &n)) {
		buf_add_int(out, (int64_t)n);
	} else {
		BUF_LITERAL(out, "null");
	}
}

/* In the words of `kubectl annals history`. */
static void add_liveness(struct buf *out, const struct table_world *world, const struct cached *cached)
{
	static const char *const words[] = {[LIVE_NO] = "no", [LIVE_YES] = "yes", [LIVE_UNKNOWN] = "<unknown>"};

	json_encode_string(out, str_of(words[live_find(world->cache, cached, world->pods)]));
}

/* cached: the object's, or NULL with world. */
static void add_cells(struct buf *out, const struct kind *kind, const struct door *door, const struct object *o,
	const struct cached *cached, const struct table_world *world)
{
	const char *separator = "[";
	int64_t now_s = clock_wall_s();

	for (size_t i = 0; i < kind->n_columns; i++) {
		const struct column *c = &kind->columns[i];
		if (!column_is_shown(c, door)) {
			continue;
		}
		buf_adds(out, separator);
		if (!c->cell) {
			add_referrers(out, world, o);
		} else if (c->cell == column_write_live && world) {
			add_liveness(out, world, cached);
		} else {
			c->cell(o, now_s, out);
		}
		separator = ",";
	}
	buf_adds(out, *separator == '[' ? "[]" : "]");
}

static void begin_row(struct buf *out, const struct kind *kind, const struct door *door, const struct object *o,
	const struct cached *cached, const struct table_world *world, bool is_first)
{
	buf_adds(out, is_first ? "{\"cells\":" : ",{\"cells\":");
	add_cells(out, kind, door, o, cached, world);
	BUF_LITERAL(out, ",\"object\":");
}

static void add_object(struct buf *out, const struct kind *kind, const struct door *door, const struct media *m,
	enum include_object include, const struct cached *o, struct arena *a)
{
	switch (include) {
	case INCLUDE_METADATA:
		partial_object(out, m, o, door);
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
	enum include_object include, const struct cached *o, bool is_first, const struct table_world *world, struct arena *a)
{
	struct object *decoded;

	if (cached_object(&decoded, o, a)) {
		return false;
	}
	begin_row(out, kind, door, decoded, o, world, is_first);
	add_object(out, kind, door, m, include, o, a);
	return buf_addc(out, '}');
}

bool table_row_of(struct buf *out, const struct kind *kind, const struct door *door, const struct object *o,
	struct str object_json, bool is_first)
{
	begin_row(out, kind, door, o, NULL, NULL, is_first);
	buf_add_str(out, object_json);
	return buf_addc(out, '}');
}

bool table_end(struct buf *out)
{
	return BUF_LITERAL(out, "]}");
}

/* What is no part of the body is part of its metadata. */
static void add_metadata(struct buf *out, const struct cached *o, const struct door *door)
{
	size_t skip = strlen("\"metadata\":"), left = o->n_metadata + cached_shown_size(o, door) - cached_body_size(o);
	const size_t n_pieces = cached_pieces(o, door);

	for (size_t i = 0; i < n_pieces && left > 0; i++) {
		struct str piece = cached_piece(o, door, i);
		size_t first = MIN(skip, piece.n), n = MIN(left, piece.n - first);
		buf_add(out, piece.p + first, n);
		skip -= first;
		left -= n;
	}
}

bool partial_object(struct buf *out, const struct media *m, const struct cached *o, const struct door *door)
{
	buf_printf(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"%s\",\"metadata\":", meta_version(m));
	add_metadata(out, o, door);
	return buf_addc(out, '}');
}
