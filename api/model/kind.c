/* The registry that constructors fill before main(), so that adding a kind touches one file and
 * no list. It is never written afterwards and needs no lock. Mistakes in a declaration abort at
 * the start of any program, so no test can miss them. */
#include "api/model/kind.h"

#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Sorted by hub group and resource, so that nothing depends on the order in which the linker lays out constructors. Written before
 * main() only. */
static struct kind *kinds[KIND_COUNT_MAX];
static size_t n_kinds;

const char *verb_name(enum verb v)
{
	switch (v) {
	case VERB_GET:
		return "get";
	case VERB_LIST:
		return "list";
	case VERB_WATCH:
		return "watch";
	case VERB_CREATE:
		return "create";
	case VERB_UPDATE:
		return "update";
	case VERB_PATCH:
		return "patch";
	case VERB_DELETE:
		return "delete";
	case VERB_DELETECOLLECTION:
		return "deletecollection";
	case VERBS_ALL:
		break;
	}
	return "";
}

static int compare_kinds(const struct kind *a, const struct kind *b)
{
	int r = strcmp(a->doors[0].group, b->doors[0].group);
	return r ? r : strcmp(a->resource, b->resource);
}

static bool is_same_door(const struct door *a, const struct door *b)
{
	return strcmp(a->group, b->group) == 0 && strcmp(a->version, b->version) == 0;
}

/* Two kinds clash where one path, or one group, version and kind, would mean both. */
static bool clashes(const struct kind *a, const struct kind *b)
{
	if (strcmp(a->resource, b->resource) != 0 && strcmp(a->kind, b->kind) != 0) {
		return false;
	}
	for (size_t i = 0; i < a->n_doors; i++) {
		for (size_t k = 0; k < b->n_doors; k++) {
			if (is_same_door(&a->doors[i], &b->doors[k])) {
				return true;
			}
		}
	}
	return compare_kinds(a, b) == 0;
}

static _noreturn_ void die(const struct kind *k, const char *why)
{
	fprintf(stderr, "kind %s (%s/%s): %s\n", k->kind, k->doors[0].group, k->resource, why);
	abort();
}

static void check(const struct kind *k)
{
	for (size_t i = 0; i < n_kinds; i++) {
		if (clashes(kinds[i], k)) {
			die(k, "another kind has these names");
		}
	}
	if (n_kinds == KIND_COUNT_MAX) {
		die(k, "too many kinds");
	}
	if (k->n_doors == 0 || k->storage_door >= k->n_doors) {
		die(k, "there is no storage door");
	}
	if (k->n_doors > KIND_DOORS_MAX) {
		die(k, "too many doors");
	}
	const struct door *hub = &k->doors[0];
	if (!hub->type != !hub->from_hub || !hub->from_hub != !hub->to_hub) {
		die(k, "the first door either shows the hub form or has a form of its own");
	}
}

void kind_register(struct kind *k)
{
	check(k);
	size_t at = n_kinds++;
	for (; at > 0 && compare_kinds(kinds[at - 1], k) > 0; at--) {
		kinds[at] = kinds[at - 1];
	}
	kinds[at] = k;
	for (size_t i = at; i < n_kinds; i++) {
		kinds[i]->index = (unsigned)i;
	}
}

size_t kind_count(void)
{
	return n_kinds;
}

const struct kind *kind_at(size_t i)
{
	assert(i < n_kinds);
	return kinds[i];
}

bool door_is_visible(const struct door *d, bool is_standalone)
{
	return is_standalone || !d->standalone_only;
}

bool door_is_own(const struct door *d, const struct kind *k)
{
	return strcmp(d->group, k->doors[0].group) == 0;
}

static const struct door *find_door(const struct kind *k, struct str group, struct str version)
{
	for (size_t i = 0; i < k->n_doors; i++) {
		if (str_is(group, k->doors[i].group) && str_is(version, k->doors[i].version)) {
			return &k->doors[i];
		}
	}
	return NULL;
}

const struct kind *kind_by_resource(
	struct str group, struct str version, struct str resource, bool is_standalone, const struct door **ret_door)
{
	for (size_t i = 0; i < n_kinds; i++) {
		if (!str_is(resource, kinds[i]->resource)) {
			continue;
		}
		const struct door *d = find_door(kinds[i], group, version);
		if (d && door_is_visible(d, is_standalone)) {
			if (ret_door) {
				*ret_door = d;
			}
			return kinds[i];
		}
	}
	return NULL;
}

const struct kind *kind_by_hub(struct str group, struct str resource)
{
	for (size_t i = 0; i < n_kinds; i++) {
		if (str_is(group, kinds[i]->doors[0].group) && str_is(resource, kinds[i]->resource)) {
			return kinds[i];
		}
	}
	return NULL;
}

const struct reference_field *kind_reference_to(
	const struct kind *k, const struct kind *target, const struct reference_field *after)
{
	const struct reference_field *f = after ? after + 1 : k->reference_fields;

	while (f && f->prefix && kind_by_hub(str_of(f->group), str_of(f->resource)) != target) {
		f++;
	}
	return f && f->prefix ? f : NULL;
}

const struct subresource *kind_subresource(const struct kind *k, struct str name)
{
	for (size_t i = 0; i < k->n_subresources; i++) {
		if (str_is(name, k->subresources[i].name)) {
			return &k->subresources[i];
		}
	}
	return NULL;
}

bool subresource_is_visible(const struct subresource *s, const struct kind *k, const struct door *d)
{
	return !s->annals_only || door_is_own(d, k);
}

const struct kind *subresource_kind(const struct subresource *sub, const struct kind *k)
{
	return sub && sub->view ? sub->view->kind : k;
}

const struct door *subresource_door(const struct subresource *sub, const struct door *d)
{
	return sub && sub->view ? &sub->view->kind->doors[0] : d;
}

struct object *view_show(const struct view *v, const struct object *o, struct arena *a)
{
	struct object *shown = arena_new(a, struct object);
	*shown = (struct object){
		.kind = v->kind,
		.meta = {.name = o->meta.name,
			.ns = o->meta.ns,
			.uid = o->meta.uid,
			.resource_version = o->meta.resource_version,
			.creation_timestamp = o->meta.creation_timestamp},
		.fields = v->show(o, a),
		.mod_revision = o->mod_revision,
	};
	return shown;
}

const struct type *door_type(const struct kind *k, const struct door *d)
{
	return d->type ? d->type : k->type;
}

/* "apps/v1" is group and version, "v1" the version of the core group. */
static void split_api_version(struct str api_version, struct str *ret_group, struct str *ret_version)
{
	if (!str_cut(api_version, '/', ret_group, ret_version)) {
		*ret_version = api_version;
		*ret_group = (struct str){0};
	}
}

const struct door *kind_door(const struct kind *k, struct str api_version)
{
	struct str group, version;
	split_api_version(api_version, &group, &version);
	return find_door(k, group, version);
}

struct str door_api_version(const struct door *d, struct arena *a)
{
	size_t n_group = strlen(d->group), n_version = strlen(d->version);
	if (!n_group) {
		return (struct str){d->version, n_version};
	}
	/* by hand: every write and every list asks */
	char *text = arena_text(a, n_group + 1 + n_version);
	memcpy(text, d->group, n_group);
	text[n_group] = '/';
	memcpy(text + n_group + 1, d->version, n_version);
	return (struct str){text, n_group + 1 + n_version};
}

void door_write_api_version(const struct door *d, struct buf *out)
{
	buf_printf(out, "%s%s%s", d->group, *d->group ? "/" : "", d->version);
}

bool door_stores_hub(const struct door *d, const struct kind *k)
{
	return d == &k->doors[0] || !d->from_hub;
}

bool kind_is_stored(const struct kind *k)
{
	return !k->is_answered;
}

const struct door *kind_storage_door(const struct kind *k)
{
	return &k->doors[k->storage_door];
}

void column_write_name(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, o->meta.name);
}

void column_write_since(struct str time, int64_t now_s, struct buf *out)
{
	char age[32] = "<unknown>";
	int64_t us;
	if (time_parse_rfc3339(time, &us)) {
		duration_format_human(age, now_s - us / 1000000);
	}
	json_encode_string(out, str_of(age));
}

void column_write_age(const struct object *o, int64_t now_s, struct buf *out)
{
	column_write_since(o->meta.creation_timestamp, now_s, out);
}

void column_write_object(struct str kind, struct str group, struct str name, struct buf *out)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 65536);
	for (size_t i = 0; i < kind.n; i++) {
		char c = kind.p[i];
		buf_addc(&text, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
	if (group.n) {
		buf_printf(&text, "." STR_FMT, STR_ARG(group));
	}
	buf_printf(&text, "/" STR_FMT, STR_ARG(name));
	json_encode_string(out, buf_str(&text));
}

void column_write_live(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)o;
	(void)now_s;
	json_encode_string(out, STR("<unknown>"));
}
