/* Checks CustomResourceDefinitions, and finds the kinds of their objects. Keys of one resource stand
 * together, so one kind is made at a time: ten thousand definitions cost the memory of the largest. */
#include "api/custom/custom.h"
#include "api/custom/definition.h"
#include "api/model/members.h"
#include "cli/fsck/fsck_private.h"
#include "cli/fsck/fsck_store.h"

#include <assert.h>
#include <errno.h>

/* Bytes of one definition's tree: etcd takes 1.5 MiB of text, and a tree thirty times as much. */
enum { DEFINITION_BYTES = 256 << 20 };

/* ---- the kind of the keys that are being read ---- */

void fsck_definition_init(struct fsck_definition *d)
{
	*d = (struct fsck_definition){0};
	buf_init(&d->name, DEFINITION_NAME_BYTES);
}

static void definition_end(struct fsck *f)
{
	struct fsck_definition *d = &f->definition;

	assert(f->n_questions == 0); /* their subjects have the kind */
	if (d->kind) {
		fsck_report_count(&f->report, d->kind, &d->counts);
	}
	d->kind = kind_unref(d->kind);
	d->counts = (struct fsck_counts){0};
	d->problem = NULL;
	buf_clear(&d->name);
}

void fsck_definition_done(struct fsck *f)
{
	definition_end(f);
	buf_done(&f->definition.name);
}

static bool is_kind_of(const struct kind *k, const struct key_parts *parts)
{
	return str_is(parts->resource, k->resource) && str_is(parts->group, k->versions[0].group);
}

/* Makes the kind that a stored definition describes, or says why there is none. */
static int definition_take(struct fsck *f, const struct key_parts *parts, const struct storage_kv *kv)
{
	struct fsck_definition *d = &f->definition;
	_cleanup_(arena_done) struct arena a;
	struct object *o;
	arena_init(&a, DEFINITION_BYTES);
	int r = fsck_decode(f, &o, definitions_kind(), kv, &a);
	if (r == -EIO) {
		return r;
	}
	d->kind = r ? NULL : custom_define(o, NULL);
	d->problem = r ? "cannot be read" : d->kind ? NULL : "is not established";
	if (d->kind && !is_kind_of(d->kind, parts)) {
		d->kind = kind_unref(d->kind);
		d->problem = "describes another resource";
	}
	return 0;
}

static int definition_find(struct fsck *f, const struct key_parts *parts)
{
	struct fsck_definition *d = &f->definition;
	const struct object_id id = {.kind = definitions_kind(), .name = buf_str(&d->name)};
	struct storage_range range = {.key = object_id_key(&id, f->prefix, &f->page), .at_revision = f->revision};
	int r = storage_range_wait(f->storage, &range) == STORAGE_OK ? 0 : store_range_fail(&range, f->revision, &f->err);
	if (!r && range.n_kvs == 0) {
		d->problem = "does not exist";
	} else if (!r) {
		r = definition_take(f, parts, &range.kvs[0]);
	}
	storage_op_clear(&range.op);
	return r;
}

int fsck_defined_kind(struct fsck *f, const struct key_parts *parts, const struct kind **ret)
{
	struct fsck_definition *d = &f->definition;
	struct str name = arena_printf(&f->page, STR_FMT "." STR_FMT, STR_ARG(parts->resource), STR_ARG(parts->group));
	bool may_be = parts->group.n > 0 && name.n <= DEFINITION_NAME_BYTES; /* else no definition has such a name */
	name = may_be ? name : STR("");
	int r = 0;
	if (!str_eq(name, buf_str(&d->name))) {
		r = fsck_answer_all(f);
		if (!r) {
			definition_end(f);
			buf_add_str(&d->name, name);
			r = may_be ? definition_find(f, parts) : 0;
		}
	}
	*ret = r ? NULL : d->kind;
	return r;
}

/* ---- definitions themselves ---- */

static void check_versions(struct fsck *f, const struct subject *s)
{
	const struct json *list = json_gets(object_status(s->object), "storedVersions"), *each;
	bool has_storage = false;
	for (uint32_t i = 0; (each = list_item(list, i)); i++) {
		const struct json *version = definition_version(object_spec(s->object), json_text(each));
		if (!version) {
			fsck_find(f, "definition", s->title, s->key,
				"its status.storedVersions has " STR_FMT ", which spec.versions does not have",
				STR_ARG(json_text(each)));
		}
		has_storage = has_storage || member_is_true(version, "storage");
	}
	if (!has_storage) {
		fsck_find(f, "definition", s->title, s->key, "its status.storedVersions leaves out the version that is stored");
	}
}

int fsck_check_definition(struct fsck *f, const struct subject *s)
{
	const struct json *spec = object_spec(s->object);
	struct str plural = member_text(json_gets(spec, "names"), "plural"), group = member_text(spec, "group");
	if (s->id.kind != definitions_kind()) {
		return 0;
	}
	if (!str_eq(s->id.name, arena_printf(&f->page, STR_FMT "." STR_FMT, STR_ARG(plural), STR_ARG(group)))) {
		fsck_find(f, "definition", s->title, s->key, "it describes " STR_FMT "." STR_FMT, STR_ARG(plural),
			STR_ARG(group));
	}
	check_versions(f, s);
	if (definition_is_established(s->object)) {
		const struct kind *k = custom_define(s->object, NULL);
		if (!k) {
			fsck_find(f, "definition", s->title, s->key,
				"it is established, but its names or versions describe no kind");
		}
		kind_unref(k);
	}
	return 0;
}
