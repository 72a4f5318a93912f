/* The first pass: everything that the file alone can tell. Nothing is asked of the store, and no
 * trouble ends the pass, so that all of them are told at once. */
#include "cli/export/import.h"

#include "api/model/digest.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "base/hex.h"
#include "cli/common/command.h"
#include "cli/export/documents.h"
#include "cli/export/export_form.h"
#include "storage/keys.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

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

static void trouble(struct scan *s, uint64_t line, const struct object *o, const char *format, ...) _printf_(4, 5);
static void trouble(struct scan *s, uint64_t line, const struct object *o, const char *format, ...)
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
		status_invalid(&st, str_of(o->kind->doors[0].group), str_of(o->kind->kind), o->meta.name, &errors);
		trouble(s, line, o, STR_FMT, STR_ARG(st.message));
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
		trouble(s, line, o, "its digest " STR_FMT " is not that of its data, %s", STR_ARG(shown), digest);
		return false;
	}
	return true;
}

static bool check_identity(struct scan *s, uint64_t line, const struct object *o)
{
	const struct meta *m = &o->meta;
	if (m->name.n == 0 || str_contains(m->name, STR("/"))) {
		trouble(s, line, o, "it has no name, or one with a slash");
	} else if (o->kind->is_namespaced != (m->ns.n > 0) || str_contains(m->ns, STR("/"))) {
		trouble(s, line, o,
			o->kind->is_namespaced ? "it has no namespace" : "it has a namespace, but is of the cluster");
	} else if (s->im->options->is_exact && m->uid.n == 0) {
		trouble(s, line, o, "it has no uid, which --exact would keep");
	} else if (m->uid.n > UID_MAX_BYTES) {
		trouble(s, line, o, "its uid has more than %d bytes", UID_MAX_BYTES);
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
	for (size_t i = 0; i < meta_owner_count(&raw->meta) && fits; i++) {
		struct owner_reference owner;
		meta_owner(&raw->meta, i, &owner);
		fits = import_add_edge(im, &(struct edge){.print = print_of(owner.uid), .entry = entry});
	}
	size_t n = o->kind->references ? o->kind->references(o, references) : 0;
	for (size_t i = 0; i < n && fits; i++) {
		const struct reference_field *f = references[i].field;
		struct str key = key_object(
			&s->arena, im->options->prefix, str_of(f->group), str_of(f->resource), o->meta.ns, references[i].name);
		fits = import_add_edge(im, &(struct edge){.print = print_of(key), .entry = entry, .is_key = true});
	}
	struct str told, key = import_told_key(im, o, &told, &s->arena);
	if (fits && key.n) {
		fits = import_add_edge(
			im, &(struct edge){.print = print_of(key), .entry = entry, .is_key = true, .is_told = true});
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
	bool is_namespace = strcmp(raw->kind->kind, "Namespace") == 0;
	if (!o->wants[raw->kind->index]) {
		return false;
	}
	return !o->namespaces->n || is_in(o->namespaces, is_namespace ? raw->meta.name : raw->meta.ns);
}

static const struct kind *find_kind(struct str kind, struct str version, const struct door **ret)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (kind_is_stored(k) && str_is(kind, k->kind)) {
			*ret = kind_door(k, version);
			return *ret ? k : NULL;
		}
	}
	return NULL;
}

/* ---- one of them ---- */

static int add(struct scan *s, struct entry *e, const struct object *raw, const struct object *o)
{
	struct import *im = s->im;
	size_t other;
	e->key = print_of(import_key(im, o, &s->arena));
	e->has_uid = raw->meta.uid.n > 0;
	/* Without one, no two are alike. */
	e->uid = e->has_uid ? print_of(raw->meta.uid) : e->key;
	if (!import_add_entry(im, e) || !add_edges(s, raw, o)) {
		buf_printf(im->err,
			"line %u: there are too many objects, or references between them: import them in parts, by "
			"--resources or --namespaces",
			e->line);
		return -EFBIG;
	}
	if (!print_table_add(&im->by_key, im->entries, im->n - 1, &other)) {
		trouble(s, e->line, o, "the same object is in line %u, too", im->entries[other].line);
	}
	if (e->has_uid && !print_table_add(&im->by_uid, im->entries, im->n - 1, &other)) {
		trouble(s, e->line, o, "its uid " STR_FMT " is that of the object in line %u, too", STR_ARG(raw->meta.uid),
			im->entries[other].line);
	}
	return 0;
}

/* What an object calls itself that cannot be read any further. */
static struct str claimed_title(const struct entry *e, const struct json *j, struct arena *a)
{
	const struct json *meta = json_gets(j, "metadata");
	const struct object_id id = {kind_at(e->kind), member_text(meta, "namespace"), member_text(meta, "name")};
	return object_id_title(&id, a);
}

static int take_object(struct scan *s, struct entry *e, const struct json *j, struct str text)
{
	struct import *im = s->im;
	struct object *raw, *o;
	s->n_objects++;
	if (import_object_raw(im, e, text, &s->arena, &raw, &s->why) ||
		(is_wanted(im, raw) && import_object_first(im, e, text, &s->arena, &o, &s->why))) {
		trouble(s, e->line, NULL, STR_FMT ": " STR_FMT, STR_ARG(claimed_title(e, j, &s->arena)),
			STR_ARG(buf_str(&s->why)));
		return 0;
	}
	if (!is_wanted(im, raw)) {
		return 0;
	}
	if (!check_identity(s, e->line, o) || !check_digest(s, e->line, o)) {
		return 0;
	}
	check_fields(s, e->line, o);
	return add(s, e, raw, o);
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

static void take_header(struct scan *s, const struct json *j)
{
	s->im->is_export = true;
	s->n_announced = (uint64_t)member_int(j, "objects");
	s->im->progress.total = s->n_announced;
}

static void take_trailer(struct scan *s, const struct json *j, const struct document *d)
{
	s->has_trailer = true;
	s->trailer_at = d->offset;
	s->n_said = (uint64_t)member_int(j, "objects");
	snprintf(s->digest_said, sizeof(s->digest_said), STR_FMT, STR_ARG(member_text(j, "sha256")));
}

static int take_document(struct scan *s, const struct document *d)
{
	struct json *j;
	struct str kind, version;
	const struct door *door;
	size_t at;
	int error = json_parse(&j, &s->arena, d->text, object_stored_limits(), &at);
	if (error) {
		trouble(s, d->line, NULL, "%s", json_error_text(&s->arena, error, d->text, at));
		return 0;
	}
	if (s->has_trailer) {
		trouble(s, d->line, NULL, "something follows the trailer: two exports are two imports");
		return 0;
	}
	if (!read_type(j, d, &kind, &version)) {
		trouble(s, d->line, NULL, "this is no object: it has no kind");
		return 0;
	}
	if (str_is(version, EXPORT_API_VERSION) && str_is(kind, EXPORT_HEADER) && s->n_objects == 0) {
		take_header(s, j);
		return 0;
	}
	if (str_is(version, EXPORT_API_VERSION) && str_is(kind, EXPORT_TRAILER) && s->im->is_export) {
		take_trailer(s, j, d);
		return 0;
	}
	const struct kind *k = find_kind(kind, version, &door);
	if (!k) {
		s->n_objects++;
		trouble(s, d->line, NULL, "no kind " STR_FMT " of the version " STR_FMT " is stored here", STR_ARG(kind),
			STR_ARG(version));
		return 0;
	}
	struct entry e = {.offset = d->offset,
		.length = (uint32_t)d->length,
		.line = (uint32_t)MIN(d->line, (uint64_t)UINT32_MAX),
		.kind = (uint8_t)k->index,
		.door = (uint8_t)(door - k->doors)};
	return take_object(s, &e, j, arena_dup(&s->arena, d->text));
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
	int r = read_all(&s);
	progress_clear(&im->progress);
	r = r ? r : check_trailer(&s);
	buf_done(&s.why);
	arena_done(&s.arena);
	return r;
}
