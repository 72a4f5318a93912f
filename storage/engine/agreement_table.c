/* Reads registrations, which are text that another process wrote, perhaps a newer build. Unknown
 * members are ignored. A malformed registration gets a problem and stays. It may stand for a
 * replica that writes anything, so it freezes what all replicas write. All of it is bounded,
 * since any writer to etcd could put anything there. The second half decides from a view and
 * nothing else. So the proof in docs/explanation/storage-versions.md can speak of views, and
 * tests can try each one. */
#include "storage/engine/agreement_table.h"

#include "api/model/packed.h"
#include "base/json.h"

#include <assert.h>
#include <stdatomic.h>

/* Our registrations have a depth of 4; those of a newer build may have more. */
enum { DEPTH_MAX = 8, VALUES_MAX = 8192, VERSIONS_MAX = 32, ID_MAX = 253 };

/* ---- writing a registration ---- */

static void write_version(const struct version *v, struct buf *out)
{
	buf_addc(out, '"');
	version_write_api_version(v, out);
	buf_addc(out, '"');
}

static bool is_known(const struct agreement_self *self, const struct kind *k, size_t i)
{
	return self->knows[k->index] & UINT32_C(1) << i;
}

static bool is_served(const struct agreement_self *self, const struct kind *k, size_t i)
{
	return is_known(self, k, i) && version_is_visible(&k->versions[i], self->is_standalone);
}

static void write_versions(const struct agreement_self *self, const struct kind *k,
	bool (*is_in)(const struct agreement_self *, const struct kind *, size_t), struct buf *out)
{
	const char *comma = "";

	buf_addc(out, '[');
	for (size_t i = 0; i < k->n_versions; i++) {
		if (is_in(self, k, i)) {
			buf_adds(out, comma);
			write_version(&k->versions[i], out);
			comma = ",";
		}
	}
	buf_addc(out, ']');
}

static void write_kind(const struct agreement_self *self, const struct kind *k, const struct version *encodes, struct buf *out)
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
	write_version(self->wanted.versions[k->index], out);
	BUF_LITERAL(out, ",\"decodes\":");
	write_versions(self, k, is_known, out);
	BUF_LITERAL(out, ",\"serves\":");
	write_versions(self, k, is_served, out);
	if (k->is_packed && !self->is_plain) {
		BUF_LITERAL(out, ",\"forms\":[");
		json_encode_string(out, PACKED_FORM);
		buf_addc(out, ']');
	}
	buf_addc(out, '}');
}

void agreement_write_value(
	const struct agreement_self *self, const struct version *const encodes[KIND_COUNT_MAX], struct buf *out)
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

/* Reads one kind. A replica that writes a version but cannot read it is an error: it must not
 * count as one that does not know the kind. */
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
		!read_versions(json_gets(j, "serves"), a, &v->serves, &v->n_serves) ||
		!read_versions(json_gets(j, "forms"), a, &v->forms, &v->n_forms)) {
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

static void entry_unref(struct agreement_entry *e)
{
	if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) {
		arena_done(&e->arena);
		mem_free(e);
	}
}

/* ---- rows ---- */

/* Returns the place of the row with that id, or where it would be. */
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

	/* Answers and events may report the same registration twice, in any order. */
	if (row && row->entry->replica.mod_revision >= kv->mod_revision) {
		return;
	}
	if (row) {
		entry_unref(row->entry);
		row->entry = entry_new(id, kv);
	} else if (t->n == AGREEMENT_REPLICAS_MAX) {
		/* Any registration may be the missing one: nothing is common then. */
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

/* An acknowledgement that cannot be read counts as none. */
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

/* Removes rows that the answer does not have. A row newer than the answer stays: the own
 * registration may have been made meanwhile. */
static void table_remove_missing(struct agreement_table *t, const struct storage_kv *kvs, size_t n, int64_t revision)
{
	for (size_t i = t->n; i-- > 0;) {
		const struct agreement_replica *r = &t->rows[i].entry->replica;
		if (r->mod_revision <= revision && !kvs_have(kvs, n, t->registrations, r->id)) {
			row_remove(t, &t->rows[i]);
		}
	}
}

/* Fills the table from an answer. Acknowledgements sort before registrations, and are ignored
 * without one, so everything is put twice. */
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

	assert(t->n <= AGREEMENT_REPLICAS_MAX);
	atomic_init(&v->refs, 1);
	v->entries = mem_array(t->n, sizeof(*v->entries));
	v->replicas = replicas;
	v->n_replicas = t->n;
	v->revision = t->revision;
	v->is_overfull = t->is_overfull;
	for (size_t i = 0; i < t->n; i++) {
		v->entries[i] = t->rows[i].entry;
		atomic_fetch_add_explicit(&v->entries[i]->refs, 1, memory_order_relaxed);
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

static bool is_other(const struct agreement_self *self, const struct agreement_replica *r)
{
	return !str_eq(r->id, self->id);
}

static bool is_understood(const struct agreement_replica *r)
{
	return r->problem.n == 0;
}

static const struct agreement_version *version_of(const struct agreement_replica *r, const struct kind *k)
{
	return &r->versions[k->index];
}

/* Returns the version if this replica knows it, too; else NULL. */
static const struct version *version_known(const struct agreement_self *self, const struct kind *k, struct str api_version)
{
	const struct version *v = kind_version(k, api_version);
	return v && (self->knows[k->index] & UINT32_C(1) << (v - k->versions)) ? v : NULL;
}

/* Returns true for another replica that writes the kind. */
static bool takes_part(const struct agreement_self *self, const struct agreement_replica *r, const struct kind *k)
{
	return is_other(self, r) && is_understood(r) && version_of(r, k)->encodes.n > 0;
}

static bool decodes(const struct agreement_replica *r, const struct kind *k, const struct version *d)
{
	const struct agreement_version *v = version_of(r, k);

	for (size_t i = 0; i < v->n_decodes; i++) {
		if (kind_version(k, v->decodes[i]) == d) {
			return true;
		}
	}
	return false;
}

static bool encodes(const struct agreement_replica *r, const struct kind *k, const struct version *v)
{
	return kind_version(k, version_of(r, k)->encodes) == v;
}

/* ---- other replicas ---- */

const struct agreement_replica *agreement_view_find(const struct agreement_view *v, struct str id)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (str_eq(v->replicas[i].id, id)) {
			return &v->replicas[i];
		}
	}
	return NULL;
}

int64_t agreement_newest(const struct agreement_self *self, const struct agreement_view *v)
{
	int64_t newest = 0;

	for (size_t i = 0; i < v->n_replicas; i++) {
		if (is_other(self, &v->replicas[i])) {
			newest = MAX(newest, v->replicas[i].mod_revision);
		}
	}
	return newest;
}

const struct agreement_replica *agreement_unreadable(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		if (takes_part(self, r, k) && !version_known(self, k, version_of(r, k)->encodes)) {
			return r;
		}
	}
	return NULL;
}

static const struct agreement_replica *find_problem(const struct agreement_self *self, const struct agreement_view *v)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (is_other(self, &v->replicas[i]) && !is_understood(&v->replicas[i])) {
			return &v->replicas[i];
		}
	}
	return NULL;
}

/* Returns a replica that writes the kind and cannot read this version; NULL: there is none. */
static const struct agreement_replica *find_hindrance(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *d)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (takes_part(self, &v->replicas[i], k) && !decodes(&v->replicas[i], k, d)) {
			return &v->replicas[i];
		}
	}
	return NULL;
}

static bool has_form(const struct agreement_version *v, struct str form)
{
	size_t i = 0;
	while (i < v->n_forms && !str_eq(v->forms[i], form)) {
		i++;
	}
	return i < v->n_forms;
}

bool agreement_knows_form(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, struct str form)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		if (is_other(self, r) && (!is_understood(r) || (takes_part(self, r, k) && !has_form(version_of(r, k), form)))) {
			return false;
		}
	}
	return !v->is_overfull;
}

static bool is_encoded(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *d)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (takes_part(self, &v->replicas[i], k) && encodes(&v->replicas[i], k, d)) {
			return true;
		}
	}
	return false;
}

/* ---- choosing ---- */

static bool fits(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *d)
{
	return !find_hindrance(self, v, k, d);
}

/* Returns one of the versions that others write, or NULL. */
static const struct version *choose_encoded(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		const struct version *d = takes_part(self, r, k) ? version_known(self, k, version_of(r, k)->encodes) : NULL;
		if (d && fits(self, v, k, d)) {
			return d;
		}
	}
	return NULL;
}

static const struct version *choose_any(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		if ((self->knows[k->index] & UINT32_C(1) << i) && fits(self, v, k, &k->versions[i])) {
			return &k->versions[i];
		}
	}
	return NULL;
}

static const struct version *choose_instead(const struct agreement_self *self, const struct agreement_view *v,
	const struct kind *k, const struct version *present, bool is_frozen)
{
	if (present && fits(self, v, k, present)) {
		return present;
	}
	const struct version *d = choose_encoded(self, v, k);
	return d || is_frozen ? d : choose_any(self, v, k);
}

struct agreement_choice agreement_choose(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *present)
{
	const struct version *wanted = self->wanted.versions[k->index];
	const struct agreement_replica *unreadable = agreement_unreadable(self, v, k);
	const struct agreement_replica *problem = find_problem(self, v);
	const struct agreement_replica *hindrance = find_hindrance(self, v, k, wanted);

	if (unreadable) {
		return (struct agreement_choice){NULL, AGREEMENT_CANNOT_READ, unreadable};
	}
	bool is_frozen = problem && wanted != present && !is_encoded(self, v, k, wanted);
	if (!hindrance && !is_frozen) {
		return (struct agreement_choice){wanted, AGREEMENT_WANTED, NULL};
	}
	struct agreement_choice choice = {
		.encodes = choose_instead(self, v, k, present, problem != NULL),
		.reason = hindrance ? AGREEMENT_HELD_BACK : AGREEMENT_FROZEN,
		.replica = hindrance ? hindrance : problem,
	};
	if (!choice.encodes && hindrance) {
		choice.reason = AGREEMENT_NO_VERSION;
	}
	return choice;
}

/* ---- writing ---- */

/* Returns true when the replica has seen that revision. Its registration is an acknowledgement
 * itself: it makes one only after seeing all older ones. A key without a lease belongs to no
 * replica, and will never acknowledge anything. */
static bool has_seen(const struct agreement_replica *r, int64_t since)
{
	return MAX(r->seen, r->mod_revision) >= since || r->lease == 0;
}

static bool must_see(
	const struct agreement_self *self, const struct agreement_replica *r, const struct kind *k, const struct version *v)
{
	return is_other(self, r) && (!is_understood(r) || (takes_part(self, r, k) && !encodes(r, k, v)));
}

bool agreement_may_write(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct version *d, int64_t since, const struct agreement_replica **ret_waits_for)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		if (must_see(self, r, k, d) && !has_seen(r, since)) {
			*ret_waits_for = r;
			return false;
		}
	}
	return true;
}

bool agreement_is_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *d)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		if (must_see(self, &v->replicas[i], k, d)) {
			return false;
		}
	}
	return !v->is_overfull;
}

/* ---- sentences ---- */

/* A key may contain any bytes: control characters must not reach a log. */
static void write_id(struct str id, struct buf *out)
{
	/* Bytes of an id that a log line shows; the rest is cut. */
	enum { SHOWN_MAX = 64 };

	for (size_t i = 0; i < MIN(id.n, (size_t)SHOWN_MAX); i++) {
		buf_addc(out, char_shown(id.p[i]));
	}
}

void agreement_write_name(const struct agreement_replica *r, struct buf *out)
{
	buf_adds(out, "replica ");
	write_id(r->id, out);
	if (r->address.n) {
		buf_printf(out, " (" STR_FMT ")", STR_ARG(r->address));
	}
}

static void explain_wanted(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	(void)self;
	kind_write_group_resource(k, out);
	buf_adds(out, " is stored as ");
	version_write_api_version(c->encodes, out);
}

static void explain_held_back(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	explain_wanted(self, k, c, out);
	buf_adds(out, " rather than ");
	version_write_api_version(self->wanted.versions[k->index], out);
	buf_adds(out, ", which ");
	agreement_write_name(c->replica, out);
	buf_adds(out, " cannot read");
}

static void explain_frozen(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	kind_write_group_resource(k, out);
	if (c->encodes) {
		buf_adds(out, " is still stored as ");
		version_write_api_version(c->encodes, out);
		buf_adds(out, " rather than ");
	} else {
		buf_adds(out, " is not written, as ");
	}
	version_write_api_version(self->wanted.versions[k->index], out);
	buf_adds(out, ": nobody begins to write another version while the registration of ");
	agreement_write_name(c->replica, out);
	buf_printf(out, " cannot be understood (" STR_FMT ")", STR_ARG(c->replica->problem));
}

static void explain_cannot_read(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	(void)self;
	agreement_write_name(c->replica, out);
	buf_adds(out, " stores ");
	kind_write_group_resource(k, out);
	buf_printf(out, " as " STR_FMT ", which this server cannot read: it neither reads nor writes them",
		STR_ARG(version_of(c->replica, k)->encodes));
}

static void explain_no_version(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *c, struct buf *out)
{
	kind_write_group_resource(k, out);
	buf_adds(out, " cannot be written: ");
	agreement_write_name(c->replica, out);
	buf_adds(out, " cannot read ");
	version_write_api_version(self->wanted.versions[k->index], out);
	buf_adds(out, ", and there is no version that all servers know");
}

void agreement_explain_choice(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *choice, struct buf *out)
{
	static void (*const sentences[])(
		const struct agreement_self *, const struct kind *, const struct agreement_choice *, struct buf *) = {
		[AGREEMENT_WANTED] = explain_wanted,
		[AGREEMENT_HELD_BACK] = explain_held_back,
		[AGREEMENT_FROZEN] = explain_frozen,
		[AGREEMENT_CANNOT_READ] = explain_cannot_read,
		[AGREEMENT_NO_VERSION] = explain_no_version,
	};
	sentences[choice->reason](self, k, choice, out);
}

void agreement_explain_wait(
	const struct kind *k, const struct version *v, const struct agreement_replica *waits_for, struct buf *out)
{
	agreement_write_name(waits_for, out);
	buf_adds(out, " has yet to see that ");
	kind_write_group_resource(k, out);
	buf_adds(out, " will be stored as ");
	version_write_api_version(v, out);
}
