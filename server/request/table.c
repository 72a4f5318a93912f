/* Tables and partial metadata of cached objects, and the columns that look at other objects. Rows
 * are written as text while objects are decoded one after the other, in scratch memory that the
 * caller clears. So a table of a long list holds one decoded object at a time.
 *
 * At the end: protobuf messages of objects, which are kept once they are made. */
#include "server/request/table.h"

#include "api/model/protobuf_write.h"
#include "base/clock.h"
#include "server/request/request.h"
#include "server/request/respond.h"

#include <pthread.h>

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

static bool column_is_shown(const struct column *c, const struct version *version)
{
	return !c->annals_only || str_is(str_of(version->group), "annals.dev");
}

static const struct column *columns_at(const struct kind *kind, const struct version *version, size_t *ret_n)
{
	*ret_n = kind->n_columns;
	return kind->columns_of ? kind->columns_of(kind, version, ret_n) : kind->columns;
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

static void add_columns(struct buf *out, const struct kind *kind, const struct version *version)
{
	const char *separator = "[";
	size_t n;
	const struct column *columns = columns_at(kind, version, &n);

	for (size_t i = 0; i < n; i++) {
		if (column_is_shown(&columns[i], version)) {
			buf_adds(out, separator);
			add_column(out, &columns[i]);
			separator = ",";
		}
	}
	buf_adds(out, *separator == '[' ? "[]" : "]");
}

bool table_begin(struct buf *out, const struct kind *kind, const struct version *version, const struct media *m,
	struct str metadata_json, bool with_columns)
{
	buf_printf(out, "{\"kind\":\"Table\",\"apiVersion\":\"%s\",\"metadata\":", meta_version(m));
	buf_add_str(out, metadata_json);
	BUF_LITERAL(out, ",\"columnDefinitions\":");
	if (with_columns) {
		add_columns(out, kind, version);
	} else {
		BUF_LITERAL(out, "null");
	}
	return BUF_LITERAL(out, ",\"rows\":[");
}

/* ---- rows ---- */

/* Adds the number of referrers; null when some objects that may refer to it cannot be read. */
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
static void add_cells(struct buf *out, const struct kind *kind, const struct version *version, const struct object *o,
	const struct cached *cached, const struct table_world *world)
{
	const char *separator = "[";
	int64_t now_s = clock_wall_s();

	size_t n;
	const struct column *columns = columns_at(kind, version, &n);

	for (size_t i = 0; i < n; i++) {
		const struct column *c = &columns[i];
		if (!column_is_shown(c, version)) {
			continue;
		}
		buf_adds(out, separator);
		if (kind->write_cell) {
			kind->write_cell(o, version, i, now_s, out);
		} else if (!c->cell) {
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

static void begin_row(struct buf *out, const struct kind *kind, const struct version *version, const struct object *o,
	const struct cached *cached, const struct table_world *world, bool is_first)
{
	buf_adds(out, is_first ? "{\"cells\":" : ",{\"cells\":");
	add_cells(out, kind, version, o, cached, world);
	BUF_LITERAL(out, ",\"object\":");
}

static void add_object(struct buf *out, const struct kind *kind, const struct version *version, const struct media *m,
	enum include_object include, const struct cached *o, struct arena *a)
{
	switch (include) {
	case INCLUDE_METADATA:
		partial_object(out, m, o, version);
		break;
	case INCLUDE_NONE:
		BUF_LITERAL(out, "null");
		break;
	case INCLUDE_OBJECT:
		buf_add_str(out, show_type(kind, version, a));
		buf_add_str(out, show_body(o, version, a));
		break;
	}
}

bool table_row(struct buf *out, const struct kind *kind, const struct version *version, const struct media *m,
	enum include_object include, const struct cached *o, bool is_first, const struct table_world *world, struct arena *a)
{
	struct object *decoded;

	if (cached_object(&decoded, o, a)) {
		return false;
	}
	begin_row(out, kind, version, decoded, o, world, is_first);
	add_object(out, kind, version, m, include, o, a);
	return buf_addc(out, '}');
}

bool table_row_of(struct buf *out, const struct kind *kind, const struct version *version, const struct object *o,
	struct str object_json, bool is_first)
{
	begin_row(out, kind, version, o, NULL, NULL, is_first);
	buf_add_str(out, object_json);
	return buf_addc(out, '}');
}

bool table_end(struct buf *out)
{
	return BUF_LITERAL(out, "]}");
}

/* Adds the metadata. A digest that is not part of the body is part of the metadata. */
static void add_metadata(struct buf *out, const struct cached *packed, const struct version *version)
{
	_cleanup_(cached_unrefp) struct cached *o = cached_whole(packed);
	size_t skip = strlen("\"metadata\":"), left = o->n_metadata + cached_shown_size(o, version) - cached_body_size(o);
	const size_t n_pieces = cached_pieces(o, version);

	for (size_t i = 0; i < n_pieces && left > 0; i++) {
		struct str piece = cached_piece(o, version, i);
		size_t first = MIN(skip, piece.n), n = MIN(left, piece.n - first);
		buf_add(out, piece.p + first, n);
		skip -= first;
		left -= n;
	}
}

bool partial_object(struct buf *out, const struct media *m, const struct cached *o, const struct version *version)
{
	buf_printf(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"%s\",\"metadata\":", meta_version(m));
	add_metadata(out, o, version);
	return buf_addc(out, '}');
}

/* ---- what is in use ---- */

/* Every look is answered by an index of the cache, so it costs what it finds. LIVE_UNKNOWN is an
 * answer of its own: where some objects cannot be read, or pods are kept elsewhere, nothing may be
 * taken for unused. */

enum { PATH_MAX_BYTES = 4096 }; /* of a computed field */

/* The labels by which generated objects name their revision; the first is upstream's. */
static const char *const generated_labels[] = {"controller-revision-hash", "statefulset-template-revision"};

static struct str label_of(const struct cached *o, const char *key)
{
	for (size_t i = 0; i < o->n_labels; i++) {
		struct label label = cached_label(o, i);

		if (str_is(label.key, key)) {
			return label.value;
		}
	}
	return (struct str){NULL, 0};
}

static bool is_labelled(struct cache_snapshot *pods, struct str ns, const char *key, struct str value)
{
	struct requirement requirement = {.op = SELECTOR_IN, .key = str_of(key), .values = &value, .n_values = 1};
	struct label_selector selector = {&requirement, 1};
	const struct cache_filter filter = {.ns = ns, .labels = &selector};
	struct cache_iter it;

	if (value.n == 0) {
		return false;
	}
	cache_iter_init(&it, pods, &filter, STR(""));
	return cache_iter_next(&it) != NULL;
}

/* Pods name the revision as StatefulSets do, or have its hash as a label, as DaemonSets do. */
bool live_is_generated_from(struct cache_snapshot *pods, const struct cached *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(generated_labels); i++) {
		const char *key = generated_labels[i];
		if (is_labelled(pods, o->ns, key, o->name) || is_labelled(pods, o->ns, key, label_of(o, key))) {
			return true;
		}
	}
	return false;
}

static size_t count_of_kind(struct cache *c, const struct kind *k, const struct kind *target, struct str ns, struct str name)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(c, k);
	_cleanup_(arena_done) struct arena a;
	size_t n = 0;

	arena_init(&a, PATH_MAX_BYTES);
	for (const struct reference_field *f = NULL; s && (f = kind_reference_to(k, target, f));) {
		n += cache_snapshot_count_computed(
			s, f->scope == REFERENCE_NAMED ? STR("") : ns, reference_path(f, ns, name, &a));
		arena_clear(&a);
	}
	return n;
}

bool live_count_referrers(struct cache *c, const struct kind *kind, struct str ns, struct str name, size_t *ret)
{
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(c);
	bool is_known = true;

	*ret = 0;
	for (size_t i = 0; i < kinds_total(defined); i++) {
		const struct kind *k = kinds_nth(defined, i);
		if (k->reference_fields) {
			*ret += count_of_kind(c, k, kind, ns, name);
			is_known &= !cache_has_unknown(c, k);
		}
	}
	return is_known;
}

/* Most namespaces with revisions have no pods at all here. */
static enum liveness find_generated(struct cache *c, const struct cached *o, const struct kind *pods)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(c, pods);

	if (cache_snapshot_count(s, o->ns) > 0 && live_is_generated_from(s, o)) {
		return LIVE_YES;
	}
	return cache_has_unknown(c, pods) ? LIVE_UNKNOWN : LIVE_NO;
}

enum liveness live_find(struct cache *c, const struct cached *o, const struct kind *pods)
{
	enum liveness generated = pods ? find_generated(c, o, pods) : LIVE_UNKNOWN;
	size_t n;

	if (generated == LIVE_YES) {
		return LIVE_YES;
	}
	bool is_known = live_count_referrers(c, o->kind, o->ns, o->name, &n);
	return n > 0 ? LIVE_YES : is_known ? generated : LIVE_UNKNOWN;
}

/* ---- objects as protobuf, kept ---- */

/* The table has a fixed size, in parts with a lock each. An object's place follows from its hash,
 * and only a few places are looked at. So a look-up costs the same however many objects there are,
 * and a full table loses single objects rather than time. */

enum {
	N_PARTS = 16,
	N_SLOTS = 4096,      /* of a part */
	N_WAYS = 4,          /* places that an object may have */
	SCRATCH = 256 << 20, /* bytes: an object has at most a million values, each of which takes some 72 while it is read */
};

struct slot {
	uint64_t hash;
	struct bytes *bytes; /* a reference; NULL: free */
	bool is_used;        /* since the hand last passed */
};

/* The lock is held for look-ups only: messages are made without it. */
struct part {
	pthread_mutex_t lock;
	struct slot *slots; /* allocated with the first message */
	size_t n_bytes, hand;
	uint64_t n_found, n_made;
};

struct protobuf_items {
	size_t max_bytes; /* of a part */
	struct part parts[N_PARTS];
};

struct protobuf_items *protobuf_items_new(size_t max_bytes)
{
	struct protobuf_items *p = mem_new(struct protobuf_items);

	p->max_bytes = max_bytes / N_PARTS;
	for (size_t i = 0; i < N_PARTS; i++) {
		pthread_mutex_init(&p->parts[i].lock, NULL);
	}
	return p;
}

struct protobuf_items *protobuf_items_free(struct protobuf_items *p)
{
	for (size_t i = 0; p && i < N_PARTS; i++) {
		for (size_t k = 0; p->parts[i].slots && k < N_SLOTS; k++) {
			bytes_unref(p->parts[i].slots[k].bytes);
		}
		mem_free(p->parts[i].slots);
		pthread_mutex_destroy(&p->parts[i].lock);
	}
	return mem_free(p);
}

void protobuf_items_stats(struct protobuf_items *p, size_t *ret_n_bytes, uint64_t *ret_n_found, uint64_t *ret_n_made)
{
	*ret_n_bytes = *ret_n_found = *ret_n_made = 0;
	for (size_t i = 0; i < N_PARTS; i++) {
		pthread_mutex_lock(&p->parts[i].lock);
		*ret_n_bytes += p->parts[i].n_bytes;
		*ret_n_found += p->parts[i].n_found;
		*ret_n_made += p->parts[i].n_made;
		pthread_mutex_unlock(&p->parts[i].lock);
	}
}

/* Identifies the encoded bytes. Objects are immutable, and each write has a revision of its own.
 * But an object that leaves a selector is shown at that revision twice: as it is now, and in
 * DELETED as it was. Collisions (2^-64, seeded) are not checked. */
static uint64_t item_hash(const struct cached *o, const struct version *v, enum protobuf_part part)
{
	uint64_t facts[] = {str_hash(o->ns), str_hash(o->name), (uint64_t)o->revision, o->epoch, o->kind->index,
		(uint64_t)(v - o->kind->versions), part, o->is_gone};

	return str_hash((struct str){(const char *)facts, sizeof(facts)});
}

static struct part *part_of(struct protobuf_items *p, uint64_t hash)
{
	return &p->parts[hash % N_PARTS];
}

static struct slot *slot_of(struct part *p, uint64_t hash, size_t way)
{
	return &p->slots[(hash / N_PARTS + way) % N_SLOTS];
}

static struct slot *part_find(struct part *p, uint64_t hash)
{
	for (size_t way = 0; p->slots && way < N_WAYS; way++) {
		struct slot *s = slot_of(p, hash, way);
		if (s->bytes && s->hash == hash) {
			return s;
		}
	}
	return NULL;
}

static void slot_clear(struct part *p, struct slot *s)
{
	if (s->bytes) {
		p->n_bytes -= s->bytes->n;
		s->bytes = bytes_unref(s->bytes);
	}
}

/* Frees messages. One that was used since the hand last passed stays once more. */
static void part_make_room(struct part *p, size_t max_bytes)
{
	while (p->n_bytes > max_bytes) {
		struct slot *s = &p->slots[p->hand++ % N_SLOTS];
		if (s->is_used) {
			s->is_used = false;
		} else {
			slot_clear(p, s);
		}
	}
}

/* Returns a free slot, or one that was not used lately, or the first. */
static struct slot *part_choose(struct part *p, uint64_t hash)
{
	struct slot *best = slot_of(p, hash, 0);

	for (size_t way = 0; way < N_WAYS; way++) {
		struct slot *s = slot_of(p, hash, way);
		if (!s->bytes) {
			return s;
		}
		best = best->is_used && !s->is_used ? s : best;
	}
	return best;
}

/* Keeps a message. If two threads have made it, the first one's stays. */
static void part_add(struct part *p, uint64_t hash, struct bytes *message, size_t max_bytes)
{
	if (message->n > max_bytes || part_find(p, hash)) {
		return;
	}
	if (!p->slots) {
		p->slots = mem_zalloc(N_SLOTS * sizeof(*p->slots));
	}
	struct slot *s = part_choose(p, hash);
	slot_clear(p, s);
	*s = (struct slot){.hash = hash, .bytes = bytes_ref(message), .is_used = true};
	p->n_bytes += message->n;
	part_make_room(p, max_bytes);
}

/* ---- making one ---- */

/* Makes the object's text. JSON needs no conversion, for any version. */
static bool item_text(
	struct buf *out, const struct cached *o, const struct version *v, enum protobuf_part part, struct arena *a)
{
	static const struct media plain = {.format = MEDIA_JSON};

	if (part == PROTOBUF_METADATA) {
		return partial_object(out, &plain, o, v);
	}
	return buf_addc(out, '{') && buf_add_str(out, show_body(o, v, a));
}

struct bytes *protobuf_item_make(const struct cached *o, const struct version *v, enum protobuf_part part)
{
	static const struct str metadata_version = {"meta.k8s.io/v1", 14}, metadata_kind = {"PartialObjectMetadata", 21};
	struct bytes *message = NULL;
	struct protobuf_out out;
	struct arena a;
	struct buf text;
	struct json *object;
	size_t at;

	arena_init(&a, SCRATCH);
	buf_init(&text, RESPONSE_CEILING);
	protobuf_out_init(&out, RESPONSE_CEILING);
	const struct type *type =
		part == PROTOBUF_METADATA ? protobuf_type_of(metadata_version, metadata_kind, &a) : version_type(o->kind, v);
	if (item_text(&text, o, v, part, &a) && json_parse(&object, &a, buf_str(&text), object_stored_limits(), &at) == 0) {
		protobuf_put_object(&out, type, object);
		message = out.is_over ? NULL : bytes_dup(protobuf_out_str(&out));
	}
	protobuf_out_done(&out);
	buf_done(&text);
	arena_done(&a);
	return message;
}

struct bytes *protobuf_items_get(
	struct protobuf_items *p, const struct cached *o, const struct version *v, enum protobuf_part part)
{
	uint64_t hash = item_hash(o, v, part);
	struct part *place = part_of(p, hash);
	struct bytes *message = NULL;

	pthread_mutex_lock(&place->lock);
	struct slot *found = part_find(place, hash);
	if (found) {
		message = bytes_ref(found->bytes);
		found->is_used = true;
		place->n_found++;
	}
	pthread_mutex_unlock(&place->lock);
	if (message) {
		return message;
	}

	message = protobuf_item_make(o, v, part);
	if (message) {
		pthread_mutex_lock(&place->lock);
		place->n_made++;
		part_add(place, hash, message, p->max_bytes);
		pthread_mutex_unlock(&place->lock);
	}
	return message;
}
