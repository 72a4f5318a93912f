/* The first pass: everything that the file alone can say. The store is not asked, and no trouble ends the pass, so that all of them are reported at once.
 * Which objects come first is found when the whole file has been read: an owner may stand behind what it owns. Levels are the longest ways from objects
 * that need nothing (Kahn's algorithm). Objects that own each other in a circle have no level: they come last. */
#include "api/custom/custom.h"
#include "api/custom/definition.h"
#include "api/diff/changes.h"
#include "api/model/digest.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "cli/common/command.h"
#include "cli/export/documents.h"
#include "cli/export/export_form.h"
#include "cli/export/import.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- entries, and which come first ---- */

enum {
	FIRST = 1024,
	ENTRIES_MAX = 1 << 22, /* 4 million objects: half a GiB */
	EDGES_MAX = 1 << 23,   /* references between objects; a file with more is refused */
};

struct print print_of(struct str text)
{
	unsigned char digest[SHA256_SIZE];
	struct print p;
	sha256(text, digest);
	memcpy(p.bytes, digest, PRINT_SIZE);
	return p;
}

static uint64_t print_hash(const struct print *p)
{
	uint64_t hash;
	memcpy(&hash, p->bytes, sizeof(hash));
	return hash;
}

int64_t import_find(const struct import *im, bool is_key, const struct print *p)
{
	const struct hash_table *t = is_key ? &im->by_key : &im->by_uid;
	for (struct hash_node *n = hash_table_first(t, print_hash(p)); n; n = hash_node_next(n)) {
		const struct entry *e =
			is_key ? container_of(n, struct entry, key_node) : container_of(n, struct entry, uid_node);
		if (memcmp(is_key ? &e->key : &e->uid, p, sizeof(*p)) == 0) {
			return e - im->entries;
		}
	}
	return -1;
}

static void index_entry(struct import *im, struct entry *e)
{
	hash_table_add(&im->by_key, &e->key_node, print_hash(&e->key));
	if (e->has_uid) {
		hash_table_add(&im->by_uid, &e->uid_node, print_hash(&e->uid));
	}
}

/* Makes room for one more. */
static void *grown(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap) {
		return v;
	}
	*cap = *cap ? *cap * 2 : FIRST;
	return mem_realloc_array(v, *cap, size);
}

/* Returns false if there are too many. Entries that have moved are indexed anew. */
static bool add_entry(struct import *im, const struct entry *e)
{
	bool will_move = im->n == im->cap;
	if (im->n == ENTRIES_MAX) {
		return false;
	}
	im->entries = grown(im->entries, im->n, &im->cap, sizeof(*im->entries));
	if (will_move) {
		hash_table_done(&im->by_key);
		hash_table_done(&im->by_uid);
	}
	for (size_t i = 0; will_move && i < im->n; i++) {
		index_entry(im, &im->entries[i]);
	}
	im->entries[im->n] = *e;
	index_entry(im, &im->entries[im->n++]);
	return true;
}

static bool add_edge(struct import *im, const struct edge *e)
{
	bool fits = im->n_edges < EDGES_MAX;
	if (fits) {
		im->edges = grown(im->edges, im->n_edges, &im->cap_edges, sizeof(*im->edges));
		im->edges[im->n_edges++] = *e;
	}
	return fits;
}

/* ---- levels ---- */

static int way_cmp(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* Keeps the edges whose other end is in the file. Returns their number. */
static size_t edges_resolve(struct import *im, struct way *ret)
{
	size_t n = 0;
	im->told_of = mem_array(im->n_edges + 1, sizeof(*im->told_of));
	for (size_t i = 0; i < im->n_edges; i++) {
		const struct edge *e = &im->edges[i];
		int64_t at = import_find(im, e->is_key, &e->print);
		if (at < 0 || at == (int64_t)e->entry) {
			continue;
		}
		if (e->is_told) {
			im->told_of[im->n_told++] = (struct way){e->entry, (uint32_t)at};
			im->entries[at].is_told = true;
		} else {
			ret[n++] = (struct way){(uint32_t)at, e->entry};
		}
	}
	qsort(ret, n, sizeof(*ret), way_cmp);
	return n;
}

static size_t first_way(const struct way *ways, size_t n, uint32_t from)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ways[middle].from < from) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Namespaces come first, and then everything else. */
static void find_levels(struct import *im, const struct way *ways, size_t n_ways)
{
	uint32_t *waiting = mem_array(im->n + 1, sizeof(*waiting)), *queue = mem_array(im->n + 1, sizeof(*queue));
	size_t head = 0, tail = 0;
	uint32_t deepest = 1;
	for (size_t i = 0; i < n_ways; i++) {
		waiting[ways[i].to]++;
	}
	for (size_t i = 0; i < im->n; i++) {
		im->entries[i].level = import_entry_is_namespace(&im->entries[i]) ? 0 : 1;
		if (!waiting[i]) {
			queue[tail++] = (uint32_t)i;
		}
	}
	while (head < tail) {
		uint32_t from = queue[head++], next = im->entries[from].level + 1;
		for (size_t i = first_way(ways, n_ways, from); i < n_ways && ways[i].from == from; i++) {
			struct entry *to = &im->entries[ways[i].to];
			to->level = MAX(to->level, next);
			deepest = MAX(deepest, to->level);
			if (--waiting[ways[i].to] == 0) {
				queue[tail++] = ways[i].to;
			}
		}
	}
	for (size_t i = 0; i < im->n; i++) {
		im->entries[i].level = waiting[i] ? deepest + 1 : im->entries[i].level;
	}
	mem_free(waiting);
	mem_free(queue);
}

/* A counting sort keeps the order of the file within a level. */
static void find_order(struct import *im)
{
	uint32_t deepest = 0;
	im->order = mem_array(im->n + 1, sizeof(*im->order));
	for (size_t i = 0; i < im->n; i++) {
		deepest = MAX(deepest, im->entries[i].level);
	}
	size_t *starts = mem_array((size_t)deepest + 2, sizeof(*starts));
	for (size_t i = 0; i < im->n; i++) {
		starts[im->entries[i].level + 1]++;
	}
	for (size_t i = 0; i <= deepest; i++) {
		starts[i + 1] += starts[i];
	}
	for (size_t i = 0; i < im->n; i++) {
		im->order[starts[im->entries[i].level]++] = (uint32_t)i;
	}
	mem_free(starts);
}

void import_arrange(struct import *im)
{
	assert(!im->order && !im->told_of);
	struct way *ways = mem_array(im->n_edges + 1, sizeof(*ways));
	size_t n = edges_resolve(im, ways);
	assert(n <= im->n_edges);
	find_levels(im, ways, n);
	find_order(im);
	mem_free(ways);
}

int64_t import_told(const struct import *im, size_t history)
{
	assert(history < im->n);
	size_t at = first_way(im->told_of, im->n_told, (uint32_t)history);
	return at < im->n_told && im->told_of[at].from == history ? (int64_t)im->told_of[at].to : -1;
}

/* ---- the pass ---- */

enum {
	TREE_BYTES = 512 << 20, /* of one object: a hostile line may become much more than its text */
	UID_MAX_BYTES = 1024,
};

struct scan {
	struct import *im;
	struct arena arena;
	struct buf why;
	uint64_t n_objects;   /* that were read, whether or not they are wanted */
	uint64_t n_announced; /* by the header */
	bool has_trailer;
	uint64_t trailer_at, n_said; /* of the trailer */
	char digest_said[65];
};

void import_trouble(struct import *im, uint64_t line, const struct object *o, struct str text)
{
	_cleanup_(buf_done) struct buf out;
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 64 << 10);
	buf_init(&out, 1 << 20);
	if (im->n_troubles++ >= TROUBLES_SHOWN) {
		return;
	}
	progress_clear(&im->progress);
	buf_printf(&out, "line %" PRIu64 ": ", line);
	if (o) {
		buf_add_str(&out, import_title(o, &a));
		buf_adds(&out, ": ");
	}
	buf_add_str(&out, text);
	buf_addc(&out, '\n');
	command_print(stderr, buf_str(&out));
}

static void scan_trouble(struct scan *s, uint64_t line, const struct object *o, const char *format, ...) _printf_(4, 5);
static void scan_trouble(struct scan *s, uint64_t line, const struct object *o, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	import_trouble(s->im, line, o, arena_vprintf(&s->arena, format, ap));
	va_end(ap);
}

/* ---- an object by the rules of its kind ---- */

static void check_fields(struct scan *s, uint64_t line, const struct object *o)
{
	struct field_errors errors;
	struct status st;
	field_errors_init(&errors, &s->arena);
	validate_meta(o->kind, &o->meta, &errors);
	if (o->kind->validate) {
		o->kind->validate(o, &errors);
	}
	if (errors.n) {
		status_init(&st, &s->arena);
		status_invalid(&st, str_of(o->kind->versions[0].group), str_of(o->kind->kind), o->meta.name, &errors);
		scan_trouble(s, line, o, STR_FMT, STR_ARG(st.message));
	}
}

static bool check_digest(struct scan *s, uint64_t line, const struct object *o)
{
	struct str shown = json_text(json_get(o->meta.annotations, ANNOTATION_DIGEST));
	const struct json *data = json_gets(o->fields, "data");
	char digest[DIGEST_SIZE];
	if (!o->kind->history || shown.n == 0 || !data) {
		return true;
	}
	digest_of(digest, data, &s->arena);
	if (!str_is(shown, digest)) {
		scan_trouble(s, line, o, "its digest " STR_FMT " is not that of its data, %s", STR_ARG(shown), digest);
		return false;
	}
	return true;
}

struct history_scan {
	struct scan *s;
	const struct object *o;
	uint64_t line;
	bool is_wrong;
};

/* Changes that annals 0.1 recorded have no digests, which is no mistake. */
static void on_doubt(void *ctx, enum record_doubt doubt, const struct json *change, const char *what)
{
	struct history_scan *h = ctx;
	if (doubt != RECORD_UNVERIFIED && !h->is_wrong) {
		h->is_wrong = true;
		scan_trouble(h->s, h->line, h->o, "%s" STR_FMT "%s%s", change ? "its change of " : "",
			STR_ARG(member_text(change, "time")), change ? " " : "", what);
	}
}

static bool check_record(struct scan *s, uint64_t line, const struct object *o)
{
	struct history_scan h = {.s = s, .o = o, .line = line};
	if (strcmp(o->kind->kind, "History") == 0) {
		record_check_changes(json_gets(o->fields, "status"), &(struct record_report){on_doubt, &h}, &s->arena);
	}
	return !h.is_wrong;
}

static bool check_identity(struct scan *s, uint64_t line, const struct object *o)
{
	const struct meta *m = &o->meta;
	if (m->name.n == 0 || str_contains(m->name, STR("/"))) {
		scan_trouble(s, line, o, "it has no name, or one with a slash");
	} else if (o->kind->is_namespaced != (m->ns.n > 0) || str_contains(m->ns, STR("/"))) {
		scan_trouble(s, line, o,
			o->kind->is_namespaced ? "it has no namespace" : "it has a namespace, but is of the cluster");
	} else if (s->im->options->is_exact && m->uid.n == 0) {
		scan_trouble(s, line, o, "it has no uid, which --exact would keep");
	} else if (m->uid.n > UID_MAX_BYTES) {
		scan_trouble(s, line, o, "its uid has more than %d bytes", UID_MAX_BYTES);
	} else {
		return true;
	}
	return false;
}

/* ---- what it needs ---- */

static bool add_edges(struct scan *s, const struct object *raw, const struct object *o)
{
	struct import *im = s->im;
	struct reference references[REFERENCES_MAX];
	uint32_t entry = (uint32_t)im->n - 1;
	bool fits = true;
	if (o->kind->life) { /* its definition is written before it */
		const struct object_id id = {definitions_kind(), STR(""), o->kind->life->definition};
		struct str key = object_id_key(&id, im->options->prefix, &s->arena);
		fits = add_edge(im, &(struct edge){.print = print_of(key), .entry = entry, .is_key = true});
	}
	for (size_t i = 0; i < meta_owner_count(&raw->meta) && fits; i++) {
		struct owner_reference owner;
		meta_owner(&raw->meta, i, &owner);
		fits = add_edge(im, &(struct edge){.print = print_of(owner.uid), .entry = entry});
	}
	size_t n = object_references(o, references);
	for (size_t i = 0; i < n && fits; i++) {
		const struct reference_field *f = references[i].field;
		struct str key = key_object(&s->arena, im->options->prefix, str_of(f->group), str_of(f->resource),
			reference_ns(&references[i], o->meta.ns), references[i].name);
		fits = add_edge(im, &(struct edge){.print = print_of(key), .entry = entry, .is_key = true});
	}
	struct str told, key = import_told_key(im, o, &told, &s->arena);
	if (fits && key.n) {
		fits = add_edge(im, &(struct edge){.print = print_of(key), .entry = entry, .is_key = true, .is_told = true});
	}
	return fits;
}

/* ---- which objects ---- */

static bool is_in(const struct option_strings *names, struct str name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (str_is(name, names->v[i])) {
			return true;
		}
	}
	return false;
}

static bool is_wanted(const struct import *im, const struct object *raw)
{
	const struct import_options *o = im->options;
	const struct kind *k = raw->kind;
	if (k->life ? o->resources->n && !is_in(o->resources, k->life->definition) : !o->wants[k->index]) {
		return false;
	}
	return !o->namespaces->n || is_in(o->namespaces, export_is_namespace(raw->kind) ? raw->meta.name : raw->meta.ns);
}

static bool find_built_in(struct str kind, struct str api_version, struct entry *ret)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		const struct version *v = kind_is_stored(k) && str_is(kind, k->kind) ? kind_version(k, api_version) : NULL;
		if (v) {
			ret->kind = (uint16_t)k->index;
			ret->version = (uint8_t)(v - k->versions);
			return true;
		}
	}
	return false;
}

/* Returns 1 if the kind is known, 0 if it is not, or -errno with a sentence in err. */
static int find_kind(struct import *im, struct str kind, struct str api_version, struct entry *ret)
{
	int r = find_built_in(kind, api_version, ret) ? 1 : import_definitions_load(im);
	return r ? r : import_find_custom(im, kind, api_version, ret);
}

/* Objects of a kind that is not known are no trouble where they were not chosen. */
static bool may_be_wanted(const struct import *im, struct str api_version, const struct json *j)
{
	const struct import_options *o = im->options;
	struct str group, version, ns = member_text(json_gets(j, "metadata"), "namespace");
	bool may_be = o->resources->n == 0;
	str_cut(api_version, '/', &group, &version);
	for (size_t i = 0; i < o->resources->n && !may_be; i++) {
		struct str resource, of;
		may_be = str_cut(str_of(o->resources->v[i]), '.', &resource, &of) && str_eq(of, group);
	}
	return may_be && (!o->namespaces->n || is_in(o->namespaces, ns));
}

/* ---- one of them ---- */

static int scan_add(struct scan *s, struct entry *e, const struct object *raw, const struct object *o)
{
	struct import *im = s->im;
	e->key = print_of(import_key(im, o, &s->arena));
	e->has_uid = raw->meta.uid.n > 0;
	/* Objects without a uid are not compared by it. */
	e->uid = e->has_uid ? print_of(raw->meta.uid) : e->key;
	int64_t other = import_find(im, true, &e->key), same_uid = e->has_uid ? import_find(im, false, &e->uid) : -1;
	if (!add_entry(im, e) || !add_edges(s, raw, o)) {
		buf_printf(im->err,
			"line %u: there are too many objects, or references between them: import them in parts, by "
			"--resources or --namespaces",
			e->line);
		return -EFBIG;
	}
	if (other >= 0) {
		scan_trouble(s, e->line, o, "the same object is in line %u, too", im->entries[other].line);
	}
	if (same_uid >= 0) {
		scan_trouble(s, e->line, o, "its uid " STR_FMT " is that of the object in line %u, too", STR_ARG(raw->meta.uid),
			im->entries[same_uid].line);
	}
	return 0;
}

/* The name that the object gives itself, if the rest of it cannot be read. */
static struct str claimed_title(struct import *im, const struct entry *e, const struct json *j, struct arena *a)
{
	const struct json *meta = json_gets(j, "metadata");
	const struct object_id id = {import_kind_names(im, e), member_text(meta, "namespace"), member_text(meta, "name")};
	return object_id_title(&id, a);
}

static int take_object(struct scan *s, struct entry *e, const struct json *j, struct str text)
{
	struct import *im = s->im;
	struct object *raw, *o;
	s->n_objects++;
	if (import_object_raw(im, e, text, &s->arena, &raw, &s->why) ||
		(is_wanted(im, raw) && import_object(im, e, text, false, &s->arena, &o, &s->why))) {
		scan_trouble(s, e->line, NULL, STR_FMT ": " STR_FMT, STR_ARG(claimed_title(im, e, j, &s->arena)),
			STR_ARG(buf_str(&s->why)));
		return 0;
	}
	if (!is_wanted(im, raw)) {
		return 0;
	}
	if (!check_identity(s, e->line, o) || !check_digest(s, e->line, o) || !check_record(s, e->line, o)) {
		return 0;
	}
	check_fields(s, e->line, o);
	return scan_add(s, e, raw, o);
}

static bool read_type(const struct json *j, const struct document *d, struct str *kind, struct str *version)
{
	static const size_t suffix = sizeof("List") - 1;
	*kind = member_text(j, "kind");
	*version = member_text(j, "apiVersion");
	if (!kind->n && d->is_item && str_ends(d->list_kind, STR("List")) && d->list_kind.n > suffix) {
		*kind = (struct str){d->list_kind.p, d->list_kind.n - suffix};
		*version = d->list_version;
	}
	return kind->n > 0;
}

static int take_document(struct scan *s, const struct document *d)
{
	struct json *j;
	struct str kind, api_version;
	size_t at;
	int error = json_parse(&j, &s->arena, d->text, object_stored_limits(), &at);
	if (error) {
		scan_trouble(s, d->line, NULL, "%s", json_error_text(&s->arena, error, d->text, at));
		return 0;
	}
	if (s->has_trailer) {
		scan_trouble(s, d->line, NULL, "something follows the trailer: two exports are two imports");
		return 0;
	}
	if (!read_type(j, d, &kind, &api_version)) {
		scan_trouble(s, d->line, NULL, "this is no object: it has no kind");
		return 0;
	}
	if (str_is(api_version, EXPORT_API_VERSION) && str_is(kind, EXPORT_HEADER) && s->n_objects == 0) {
		s->im->is_export = true;
		s->im->progress.total = s->n_announced = (uint64_t)member_int(j, "objects");
		return 0;
	}
	if (str_is(api_version, EXPORT_API_VERSION) && str_is(kind, EXPORT_TRAILER) && s->im->is_export) {
		s->has_trailer = true;
		s->trailer_at = d->offset;
		s->n_said = (uint64_t)member_int(j, "objects");
		snprintf(s->digest_said, sizeof(s->digest_said), STR_FMT, STR_ARG(member_text(j, "sha256")));
		return 0;
	}
	struct entry e = {
		.offset = d->offset, .length = (uint32_t)d->length, .line = (uint32_t)MIN(d->line, (uint64_t)UINT32_MAX)};
	int found = find_kind(s->im, kind, api_version, &e);
	if (found > 0) {
		return take_object(s, &e, j, arena_dup(&s->arena, d->text));
	}
	s->n_objects++;
	if (found == 0 && may_be_wanted(s->im, api_version, j)) {
		scan_trouble(s, d->line, NULL,
			"no kind " STR_FMT " of the version " STR_FMT
			" is stored here, and no CustomResourceDefinition of the file or "
			"the store describes one",
			STR_ARG(kind), STR_ARG(api_version));
	}
	return found;
}

/* ---- definitions, which come before all others ---- */

static bool may_be_definition(const struct document *d)
{
	static const char name[] = "CustomResourceDefinition";
	return str_starts(d->list_kind, STR("CustomResourceDefinition")) ||
		memmem(d->text.p, d->text.n, name, sizeof(name) - 1);
}

/* Faults of a definition are reported later, when all objects are looked at. */
static int take_definition(struct scan *s, const struct document *d, bool is_first)
{
	struct import *im = s->im;
	struct entry e = {.offset = d->offset, .length = (uint32_t)d->length};
	struct str kind, api_version;
	struct object *raw, *o;
	struct json *j;
	size_t at;
	if (json_parse(&j, &s->arena, d->text, object_stored_limits(), &at) || !read_type(j, d, &kind, &api_version)) {
		return 0;
	}
	if (is_first && str_is(api_version, EXPORT_API_VERSION) && str_is(kind, EXPORT_HEADER)) {
		im->is_export = true;
		return 0;
	}
	struct str text = arena_dup(&s->arena, d->text);
	if (!str_is(kind, "CustomResourceDefinition") || !find_built_in(kind, api_version, &e) ||
		import_object_raw(im, &e, text, &s->arena, &raw, &s->why) || !is_wanted(im, raw) ||
		import_object(im, &e, text, false, &s->arena, &o, &s->why) || o->meta.name.n == 0) {
		return 0;
	}
	return import_definition_take(im, &e, o, &s->arena);
}

static int read_definitions(struct scan *s)
{
	struct import *im = s->im;
	struct documents documents;
	struct document d;
	bool is_first = true;
	documents_init(&documents, im->fd, EXPORT_LINE_MAX);
	int r = lseek(im->fd, 0, SEEK_SET) < 0 ? -errno : 0;
	while (!r && (r = documents_next(&documents, &d, im->err)) > 0) {
		r = is_first || may_be_definition(&d) ? take_definition(s, &d, is_first) : 0;
		is_first = false;
		buf_clear(&s->why);
		arena_clear(&s->arena);
	}
	documents_done(&documents);
	return r;
}

static int check_resources(struct import *im)
{
	const struct option_strings *names = im->options->resources;
	int r = 0;
	for (size_t i = 0; i < names->n && !r; i++) {
		if (export_find_kind(str_of(names->v[i]))) {
			continue;
		}
		r = import_definitions_load(im);
		if (!r && !import_knows_definition(im, str_of(names->v[i]))) {
			buf_printf(im->err,
				"--resources %s: no such resource is stored, and no definition of that name is imported or stored",
				names->v[i]);
			r = -ENOENT;
		}
	}
	return r;
}

/* ---- the whole file ---- */

static int read_all(struct scan *s)
{
	struct import *im = s->im;
	struct documents documents;
	struct document d;
	documents_init(&documents, im->fd, EXPORT_LINE_MAX);
	int r = lseek(im->fd, 0, SEEK_SET) < 0 ? -errno : 0;
	while (!r && (r = documents_next(&documents, &d, im->err)) > 0) {
		r = take_document(s, &d);
		progress_add(&im->progress, 1);
		buf_clear(&s->why);
		arena_clear(&s->arena);
		import_kinds_trim(im);
	}
	documents_done(&documents);
	return r;
}

static int check_trailer(struct scan *s)
{
	struct import *im = s->im;
	unsigned char part[32];
	char hex[65] = "";
	int r = import_file_digest(im->fd, s->trailer_at, im->digest, part, im->err);
	if (r || !im->is_export) {
		return r;
	}
	hex_write(hex, part, sizeof(part));
	if (!s->has_trailer) {
		buf_adds(im->err, "the file has no trailer: it has been cut, or the export did not come to its end");
	} else if (s->n_said != s->n_objects || s->n_announced != s->n_objects) {
		buf_printf(im->err, "the file has %" PRIu64 " objects; its header says %" PRIu64 ", its trailer %" PRIu64,
			s->n_objects, s->n_announced, s->n_said);
	} else if (strcmp(hex, s->digest_said) != 0) {
		buf_adds(im->err, "the file is not as it was written: its digest is not the one in its trailer");
	} else {
		return 0;
	}
	return -EBADMSG;
}

int import_scan(struct import *im)
{
	struct scan s = {.im = im};
	arena_init(&s.arena, TREE_BYTES);
	buf_init(&s.why, 64 << 10);
	progress_init(&im->progress, "checked", "objects", 0);
	int r = read_definitions(&s);
	r = r ? r : check_resources(im);
	r = r ? r : read_all(&s);
	progress_clear(&im->progress);
	r = r ? r : check_trailer(&s);
	buf_done(&s.why);
	arena_done(&s.arena);
	return r;
}
