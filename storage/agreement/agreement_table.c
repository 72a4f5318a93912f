/* Registrations are text that another process wrote, perhaps a newer build. What is not known is
 * ignored, but what is malformed has a problem and stays: it may stand for a replica that writes
 * anything. All of it is bounded, since whoever may write to etcd could put anything there. */
#include "storage/agreement/agreement_table.h"

#include "base/json.h"

#include <stdatomic.h>

/* Ours have a depth of 4; a newer build's may have more. */
enum { DEPTH_MAX = 8, VALUES_MAX = 8192, VERSIONS_MAX = 32, ID_MAX = 253 };

/* ---- writing a registration ---- */

static void write_version(const struct door *d, struct buf *out)
{
	buf_addc(out, '"');
	door_write_api_version(d, out);
	buf_addc(out, '"');
}

static bool is_known(const struct agreement_self *self, const struct kind *k, size_t i)
{
	return self->knows[k->index] & UINT32_C(1) << i;
}

static bool is_served(const struct agreement_self *self, const struct kind *k, size_t i)
{
	return is_known(self, k, i) && door_is_visible(&k->doors[i], self->is_standalone);
}

static void write_versions(const struct agreement_self *self, const struct kind *k,
	bool (*is_in)(const struct agreement_self *, const struct kind *, size_t), struct buf *out)
{
	const char *comma = "";

	buf_addc(out, '[');
	for (size_t i = 0; i < k->n_doors; i++) {
		if (is_in(self, k, i)) {
			buf_adds(out, comma);
			write_version(&k->doors[i], out);
			comma = ",";
		}
	}
	buf_addc(out, ']');
}

static void write_kind(const struct agreement_self *self, const struct kind *k, const struct door *encodes, struct buf *out)
{
	buf_addc(out, '"');
	kind_write_group_resource(k, out);
	BUF_LITERAL(out, "\":{\"encodes\":");
	if (encodes) {
		write_version(encodes, out);
	} else {
		BUF_LITERAL(out, "\"\"");
	}
	BUF_LITERAL(out, ",\"wants\":");
	write_version(self->wanted.doors[k->index], out);
	BUF_LITERAL(out, ",\"decodes\":");
	write_versions(self, k, is_known, out);
	BUF_LITERAL(out, ",\"serves\":");
	write_versions(self, k, is_served, out);
	buf_addc(out, '}');
}

void agreement_write_value(const struct agreement_self *self, const struct door *const encodes[KIND_COUNT_MAX], struct buf *out)
{
	const char *comma = "";

	BUF_LITERAL(out, "{\"address\":");
	json_encode_string(out, self->address);
	BUF_LITERAL(out, ",\"kinds\":{");
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (kind_is_stored(k) && self->knows[i]) {
			buf_adds(out, comma);
			write_kind(self, k, encodes[i], out);
			comma = ",";
		}
	}
	BUF_LITERAL(out, "}}");
}

/* ---- reading one ---- */

/* Names and versions are shown to people, and put into StorageVersions. */
static bool is_printable(struct str s)
{
	size_t i = 0;
	while (i < s.n && char_is_shown(s.p[i])) {
		i++;
	}
	return i == s.n;
}

static bool read_text(const struct json *j, struct str *ret)
{
	struct str text = json_text(j);

	if (j && !(json_is(j, JSON_STRING) && is_printable(text))) {
		return false;
	}
	*ret = text;
	return true;
}

static bool read_versions(const struct json *j, struct arena *a, const struct str **ret, size_t *ret_n)
{
	if (!j) {
		return true;
	}
	if (!json_is(j, JSON_ARRAY) || j->n > VERSIONS_MAX) {
		return false;
	}
	struct str *v = arena_array(a, struct str, j->n);
	for (uint32_t i = 0; i < j->n; i++) {
		if (!read_text(j->items[i], &v[i]) || v[i].n == 0) {
			return false;
		}
	}
	*ret = v;
	*ret_n = j->n;
	return true;
}

static bool has_version(const struct agreement_version *v, struct str version)
{
	size_t i = 0;
	while (i < v->n_decodes && !str_eq(v->decodes[i], version)) {
		i++;
	}
	return i < v->n_decodes;
}

/* What writes a version but cannot read it makes no sense, and must not count as something that does not know the kind. */
static const char *read_kind(const struct json *j, struct arena *a, struct agreement_version *v)
{
	if (!j) {
		return NULL;
	}
	if (!json_is(j, JSON_OBJECT) || !read_text(json_gets(j, "encodes"), &v->encodes) ||
		!read_text(json_gets(j, "wants"), &v->wants)) {
		return "a kind's versions are no names of versions";
	}
	if (!read_versions(json_gets(j, "decodes"), a, &v->decodes, &v->n_decodes) ||
		!read_versions(json_gets(j, "serves"), a, &v->serves, &v->n_serves)) {
		return "a kind's versions are no list of versions";
	}
	return v->encodes.n == 0 || has_version(v, v->encodes) ? NULL
							       : "a kind's encoding is not among those that can be decoded";
}

static bool is_id(struct str s)
{
	return s.n > 0 && s.n <= ID_MAX && is_printable(s);
}

static const char *read_value(
	struct arena *a, struct str id, struct str text, struct agreement_replica *r, struct agreement_version *versions)
{
	struct json_limits limits = {.depth = DEPTH_MAX, .values = VALUES_MAX};
	struct json *value;
	size_t at;

	if (!is_id(id)) {
		return "its key does not end in the name of a server";
	}
	if (text.n > AGREEMENT_VALUE_MAX) {
		return "it is too large";
	}
	if (json_parse(&value, a, arena_dup(a, text), limits, &at) != 0) {
		return "it is not JSON";
	}
	const struct json *kinds = json_gets(value, "kinds");
	if (!json_is(kinds, JSON_OBJECT)) {
		return "it has no kinds";
	}
	if (!read_text(json_gets(value, "address"), &r->address)) {
		return "its address is no name of a host";
	}
	const char *problem = NULL;
	for (size_t i = 0; i < kind_count() && !problem; i++) {
		problem = read_kind(json_get(kinds, kind_group_resource(kind_at(i), a)), a, &versions[i]);
	}
	return problem;
}

static struct agreement_entry *entry_new(struct str id, const struct storage_kv *kv)
{
	struct agreement_entry *e = mem_new(struct agreement_entry);
	struct agreement_replica *r = &e->replica;

	atomic_init(&e->refs, 1);
	arena_init(&e->arena, SIZE_MAX);
	struct agreement_version *versions = arena_array(&e->arena, struct agreement_version, KIND_COUNT_MAX);
	const char *problem = kv->lease ? read_value(&e->arena, id, kv->value, r, versions) : "it is under no lease";
	if (problem) {
		r->problem = str_of(problem);
		memset(versions, 0, KIND_COUNT_MAX * sizeof(*versions));
	}
	r->id = arena_dup(&e->arena, id);
	r->versions = versions;
	r->lease = kv->lease;
	r->create_revision = kv->create_revision;
	r->mod_revision = kv->mod_revision;
	return e;
}

static struct agreement_entry *entry_ref(struct agreement_entry *e)
{
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	return e;
}

static void entry_unref(struct agreement_entry *e)
{
	if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) {
		arena_done(&e->arena);
		mem_free(e);
	}
}

/* ---- rows ---- */

/* Where the id is, or would be. */
static size_t row_place(const struct agreement_table *t, struct str id)
{
	size_t i = 0;
	while (i < t->n && str_cmp(t->rows[i].entry->replica.id, id) < 0) {
		i++;
	}
	return i;
}

struct agreement_row *agreement_table_find(struct agreement_table *t, struct str id)
{
	size_t i = row_place(t, id);
	return i < t->n && str_eq(t->rows[i].entry->replica.id, id) ? &t->rows[i] : NULL;
}

static void row_put(struct agreement_table *t, struct str id, const struct storage_kv *kv)
{
	struct agreement_row *row = agreement_table_find(t, id);

	/* Answers and events may tell the same twice, in any order. */
	if (row && row->entry->replica.mod_revision >= kv->mod_revision) {
		return;
	}
	if (row) {
		entry_unref(row->entry);
		row->entry = entry_new(id, kv);
	} else if (t->n == AGREEMENT_REPLICAS_MAX) {
		/* Which one is missing does not matter: nothing is common then. */
		t->is_overfull = true;
	} else {
		size_t at = row_place(t, id);
		memmove(&t->rows[at + 1], &t->rows[at], (t->n - at) * sizeof(*t->rows));
		t->rows[at] = (struct agreement_row){.entry = entry_new(id, kv)};
		t->n++;
	}
	t->is_changed = true;
}

static void row_remove(struct agreement_table *t, struct agreement_row *row)
{
	size_t at = (size_t)(row - t->rows);

	entry_unref(row->entry);
	t->n--;
	memmove(row, row + 1, (t->n - at) * sizeof(*t->rows));
	t->is_changed = true;
}

/* What cannot be read acknowledges nothing. */
static void row_see(struct agreement_table *t, struct str id, const struct storage_kv *kv)
{
	struct agreement_row *row = agreement_table_find(t, id);
	int64_t seen;

	if (row && kv->mod_revision > row->seen_mod) {
		row->seen = str_to_int64(kv->value, &seen) ? seen : 0;
		row->seen_mod = kv->mod_revision;
		t->is_changed = true;
	}
}

/* ---- the table ---- */

static bool cut_id(struct str key, struct str prefix, struct str *ret)
{
	if (!str_starts(key, prefix)) {
		return false;
	}
	*ret = (struct str){key.p + prefix.n, key.n - prefix.n};
	return true;
}

void agreement_table_done(struct agreement_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		entry_unref(t->rows[i].entry);
	}
	t->n = 0;
}

void agreement_table_clear(struct agreement_table *t)
{
	agreement_table_done(t);
	t->revision = 0;
	t->is_overfull = false;
	t->is_changed = true;
}

void agreement_table_put(struct agreement_table *t, const struct storage_kv *kv)
{
	struct str id;

	if (cut_id(kv->key, t->registrations, &id)) {
		row_put(t, id, kv);
	} else if (cut_id(kv->key, t->acks, &id)) {
		row_see(t, id, kv);
	}
}

static void table_delete(struct agreement_table *t, const struct storage_kv *kv)
{
	struct str id;
	struct agreement_row *row;

	if (cut_id(kv->key, t->registrations, &id) && (row = agreement_table_find(t, id)) &&
		row->entry->replica.mod_revision < kv->mod_revision) {
		row_remove(t, row);
	} else if (cut_id(kv->key, t->acks, &id) && (row = agreement_table_find(t, id)) && row->seen_mod < kv->mod_revision) {
		row->seen = 0;
		t->is_changed = true;
	}
}

void agreement_table_apply(struct agreement_table *t, const struct storage_event *events, size_t n, int64_t revision)
{
	for (size_t i = 0; i < n; i++) {
		if (events[i].kv.mod_revision <= t->revision) {
			continue;
		}
		if (events[i].type == EVENT_PUT) {
			agreement_table_put(t, &events[i].kv);
		} else {
			table_delete(t, &events[i].kv);
		}
	}
	t->is_changed |= revision > t->revision; /* a view names its revision */
	t->revision = MAX(t->revision, revision);
}

static bool kvs_have(const struct storage_kv *kvs, size_t n, struct str prefix, struct str id)
{
	for (size_t i = 0; i < n; i++) {
		struct str there;
		if (cut_id(kvs[i].key, prefix, &there) && str_eq(there, id)) {
			return true;
		}
	}
	return false;
}

/* What was put later is not missing: our own registration may be newer than what was read meanwhile. */
static void table_remove_missing(struct agreement_table *t, const struct storage_kv *kvs, size_t n, int64_t revision)
{
	for (size_t i = t->n; i-- > 0;) {
		const struct agreement_replica *r = &t->rows[i].entry->replica;
		if (r->mod_revision <= revision && !kvs_have(kvs, n, t->registrations, r->id)) {
			row_remove(t, &t->rows[i]);
		}
	}
}

/* Acknowledgements have the lesser keys, and mean nothing without the registration: so everything goes in twice. */
void agreement_table_install(struct agreement_table *t, const struct storage_kv *kvs, size_t n, bool has_more, int64_t revision)
{
	if (revision < t->revision) {
		return;
	}
	t->is_changed |= t->is_overfull != has_more;
	t->is_overfull = has_more;
	table_remove_missing(t, kvs, n, revision);
	for (size_t i = 0; i < 2 * n; i++) {
		agreement_table_put(t, &kvs[i % n]);
	}
	t->is_changed |= revision > t->revision;
	t->revision = revision;
}

/* ---- views ---- */

struct agreement_view *agreement_table_view(struct agreement_table *t)
{
	struct agreement_view *v = mem_new(struct agreement_view);
	struct agreement_replica *replicas = mem_array(t->n, sizeof(*replicas));

	atomic_init(&v->refs, 1);
	v->entries = mem_array(t->n, sizeof(*v->entries));
	v->replicas = replicas;
	v->n_replicas = t->n;
	v->revision = t->revision;
	v->is_overfull = t->is_overfull;
	for (size_t i = 0; i < t->n; i++) {
		v->entries[i] = entry_ref(t->rows[i].entry);
		replicas[i] = v->entries[i]->replica;
		replicas[i].seen = t->rows[i].seen;
	}
	t->is_changed = false;
	return v;
}

struct agreement_view *agreement_view_unref(struct agreement_view *v)
{
	if (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) {
		for (size_t i = 0; i < v->n_replicas; i++) {
			entry_unref(v->entries[i]);
		}
		mem_free(v->entries);
		mem_free((void *)(uintptr_t)v->replicas);
		mem_free(v);
	}
	return NULL;
}
