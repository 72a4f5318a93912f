/* All writers of objects need the same rules: which guards keep an object consistent, and which
 * index keys follow from it. They are only here. A failed guard does not say why it failed. So
 * guards whose failure has a remedy (the object's revision, the registration, a history's other
 * revisions) have a look in the failure branch. */
#include "storage/engine/plan.h"

#include "api/rules/validate.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Bytes of a Namespace that has only a name. */
enum { FIRST_CAP = 8, NAMESPACE_TEXT_MAX = 1 << 20 };

/* ---- building ---- */

void plan_init(struct plan *p, struct arena *arena, struct str prefix)
{
	assert(arena && prefix.n > 0);
	*p = (struct plan){.arena = arena, .prefix = prefix};
	p->txn.failure = p->looks;
}

static void *plan_grow(struct arena *a, const void *old, size_t n, size_t *cap, size_t size)
{
	*cap = *cap ? *cap * 2 : FIRST_CAP;
	void *bigger = arena_zalloc_array(a, *cap, size);
	if (n > 0) {
		memcpy(bigger, old, n * size);
	}
	return bigger;
}

void plan_guard(struct plan *p, struct storage_compare guard)
{
	struct storage_txn *t = &p->txn;

	assert(guard.key.n > 0 && t->n_compares < PLAN_OPERATIONS_MAX);
	if (t->n_compares == p->compares_cap) {
		t->compares = plan_grow(p->arena, t->compares, t->n_compares, &p->compares_cap, sizeof(*t->compares));
	}
	t->compares[t->n_compares++] = guard;
}

static struct storage_step *plan_add_step(struct plan *p, struct storage_step step)
{
	struct storage_txn *t = &p->txn;

	assert(step.key.n > 0 && t->n_success < PLAN_OPERATIONS_MAX);
	if (t->n_success == p->success_cap) {
		t->success = plan_grow(p->arena, t->success, t->n_success, &p->success_cap, sizeof(*t->success));
	}
	t->success[t->n_success] = step;
	return &t->success[t->n_success++];
}

void plan_put(struct plan *p, struct str key, struct str value, int64_t lease)
{
	plan_add_step(p, (struct storage_step){.kind = STEP_PUT, .key = key, .value = value, .lease = lease});
}

void plan_delete(struct plan *p, struct str key)
{
	plan_add_step(p, (struct storage_step){.kind = STEP_DELETE, .key = key});
}

struct storage_step *plan_read(struct plan *p, struct str key, struct str range_end)
{
	return plan_add_step(p, (struct storage_step){.kind = STEP_GET, .key = key, .range_end = range_end});
}

static size_t plan_add_look(struct plan *p, struct storage_step step)
{
	assert(p->txn.n_failure < PLAN_LOOKS_MAX);
	p->looks[p->txn.n_failure] = step;
	return p->txn.n_failure++;
}

size_t plan_look(struct plan *p, struct str key, bool keys_only)
{
	return plan_add_look(p, (struct storage_step){.kind = STEP_GET, .key = key, .keys_only = keys_only});
}

size_t plan_guard_key(struct plan *p, struct str key, int64_t revision)
{
	plan_guard(p, storage_compare_mod(key, revision));
	return plan_look(p, key, true);
}

/* Adds a guard that a directory of the index is empty. */
static void plan_guard_empty(struct plan *p, struct str directory)
{
	plan_guard(p,
		(struct storage_compare){.target = COMPARE_CREATE,
			.result = COMPARE_EQUAL,
			.key = directory,
			.range_end = storage_prefix_end(p->arena, directory)});
}

static struct str object_key(const struct plan *p, const struct kind *k, struct str ns, struct str name)
{
	return object_id_key(&(struct object_id){k, ns, name}, p->prefix, p->arena);
}

void plan_guard_object(struct plan *p, const struct kind *k, struct str ns, struct str name, int64_t revision)
{
	plan_guard(p, storage_compare_mod(object_key(p, k, ns, name), revision));
}

void plan_guard_unreferenced(struct plan *p, const struct kind *k, struct str ns, struct str name)
{
	plan_guard_empty(p, key_references(p->arena, p->prefix, str_of(k->versions[0].group), str_of(k->resource), ns, name));
}

void plan_guard_history(struct plan *p, struct str ns, struct str owner, int64_t revision)
{
	struct str history = key_history(p->arena, p->prefix, ns, owner);

	plan_guard(p,
		(struct storage_compare){.target = COMPARE_MOD,
			.result = COMPARE_LESS,
			.key = history,
			.range_end = storage_prefix_end(p->arena, history),
			.number = revision + 1});
}

/* PREFIX/objects/GROUP/RESOURCE/ */
static struct str objects_directory(const struct plan *p, struct str group, struct str resource)
{
	return arena_printf(p->arena, STR_FMT STR_FMT "/" STR_FMT "/", STR_ARG(key_objects_prefix(p->arena, p->prefix)),
		STR_ARG(group), STR_ARG(resource));
}

void plan_guard_kind(struct plan *p, const struct kind *k, int64_t revision)
{
	struct str directory = objects_directory(p, str_of(k->versions[0].group), str_of(k->resource));

	assert(*k->versions[0].group);
	plan_guard(p,
		(struct storage_compare){.target = COMPARE_MOD,
			.result = COMPARE_LESS,
			.key = directory,
			.range_end = storage_prefix_end(p->arena, directory),
			.number = revision + 1});
}

void plan_guard_no_objects(struct plan *p, struct str group, struct str resource)
{
	assert(group.n > 0 && resource.n > 0);
	plan_guard_empty(p, objects_directory(p, group, resource));
}

/* A kind that a definition describes is written only while the definition says so: no replica stores
 * an object under a schema that is out of force, or of a definition that is being deleted. */
static void plan_guard_definition(struct plan *p, const struct kind *k)
{
	struct kind_life *life = k->life;

	if (life) {
		plan_guard_object(p, life->definitions, STR(""), life->definition,
			atomic_load_explicit(&life->revision, memory_order_acquire));
	}
}

/* ---- references ---- */

static struct str reference_key(const struct object_id *id, const struct reference *r, struct str prefix, struct arena *a)
{
	const struct reference_field *f = r->field;
	struct str ns = reference_ns(r, id->ns);
	struct str directory = key_references(a, prefix, str_of(f->group), str_of(f->resource), ns, r->name);
	struct str name =
		str_eq(ns, id->ns) ? id->name : arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(id->ns), STR_ARG(id->name));

	return key_reference(a, directory, str_of(id->kind->versions[0].group), str_of(id->kind->resource), name);
}

static void plan_guard_needed(struct plan *p, const struct plan_change *c, const struct reference *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct reference_field *f = list[i].field;
		struct str key = key_object(p->arena, p->prefix, str_of(f->group), str_of(f->resource),
			reference_ns(&list[i], c->ns), list[i].name);
		if (!c->needed || c->needed[i]) {
			plan_guard(p, c->needed ? storage_compare_mod(key, c->needed[i]) : storage_compare_exists(key));
		}
	}
}

/* The kind of the program that refers to such objects without keeping them: a finalizer does that. NULL: none. */
static const struct kind *mild_referrer(const struct kind *k)
{
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_reference_to(kind_at(i), k, NULL)) {
			return kind_at(i);
		}
	}
	return NULL;
}

static void plan_guard_range_empty(struct plan *p, struct str first, struct str end)
{
	plan_guard(
		p, (struct storage_compare){.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = first, .range_end = end});
}

/* Does the object go, or begin to? From then on nothing begins to refer to it, since it would have to be there, and not be going. */
static bool is_leaving(const struct plan_change *c)
{
	return !c->after || (c->before && !meta_is_deleting(&c->before->meta) && meta_is_deleting(&c->after->meta));
}

/* All replicas guard all deletions so, whether they know a kind that refers to the object or not: another replica may serve one
 * already. */
static void plan_guard_undeclared(struct plan *p, const struct plan_change *c)
{
	if (c->is_unprotected || !is_leaving(c)) {
		return; /* the range as a whole is guarded, or nothing is */
	}
	const struct kind *k = c->kind, *mild = mild_referrer(k);
	struct str all = key_references(p->arena, p->prefix, str_of(k->versions[0].group), str_of(k->resource), c->ns, c->name);
	if (!mild) {
		plan_guard_empty(p, all);
		return;
	}
	struct str theirs = key_reference(p->arena, all, str_of(mild->versions[0].group), str_of(mild->resource), STR(""));
	plan_guard_range_empty(p, all, theirs);
	plan_guard_range_empty(p, storage_prefix_end(p->arena, theirs), storage_prefix_end(p->arena, all));
}

/* Plans the index keys of references. A new reference also writes a mark, which replicas of
 * earlier versions compare in place of the range of references. */
static void plan_references(struct plan *p, const struct plan_change *c)
{
	const struct object_id id = {c->kind, c->ns, c->name};
	struct reference was[REFERENCES_MAX], is[REFERENCES_MAX];
	size_t n_was = object_references(c->before, was), n_is = object_references(c->after, is);

	if (c->is_unprotected) {
		plan_guard_unreferenced(p, c->kind, c->ns, c->name);
	}
	plan_guard_undeclared(p, c);
	if (c->guards_needed) {
		plan_guard_needed(p, c, is, n_is);
	}
	for (size_t i = 0; i < n_was; i++) {
		if (!references_have(is, n_is, &was[i], c->ns) && !references_have(was, i, &was[i], c->ns)) {
			plan_delete(p, reference_key(&id, &was[i], p->prefix, p->arena));
		}
	}
	for (size_t i = 0; i < n_is; i++) {
		const struct reference_field *f = is[i].field;
		if (references_have(was, n_was, &is[i], c->ns) || references_have(is, i, &is[i], c->ns)) {
			continue; /* its key is there, or planned: a transaction writes a key once */
		}
		plan_put(p, reference_key(&id, &is[i], p->prefix, p->arena), c->after->meta.uid, 0);
		if (!reference_is_declared(f)) {
			plan_put(p,
				key_referenced(p->arena, p->prefix, str_of(f->group), str_of(f->resource), c->ns, is[i].name),
				c->after->meta.uid, 0);
		}
	}
	if (c->is_unprotected && !c->after) {
		plan_delete(p,
			key_referenced(p->arena, p->prefix, str_of(c->kind->versions[0].group), str_of(c->kind->resource),
				c->ns, c->name));
	}
}

/* ---- histories ---- */

/* The change of an object's place in a history. */
struct move {
	bool was_in, is_in;
	struct history_place before, after;
	bool changes_owner, changes_number; /* a change of owner is one of number, too */
};

static bool find_place(const struct object *o, struct history_place *ret)
{
	return o && o->kind->history && o->kind->history(o, ret);
}

static struct move find_move(const struct object *before, const struct object *after)
{
	struct move m = {0};

	m.was_in = find_place(before, &m.before);
	m.is_in = find_place(after, &m.after);
	m.changes_owner = m.was_in && m.is_in ? !str_eq(m.before.owner, m.after.owner) : m.was_in || m.is_in;
	m.changes_number = m.changes_owner || (m.was_in && m.before.number != m.after.number);
	return m;
}

bool index_takes_place(const struct object *before, const struct object *after)
{
	struct move m = find_move(before, after);

	return m.is_in && m.changes_number;
}

/* Adds a guard that no other revision is in the directory, and a look, which can say which
 * revision is there. */
static void plan_guard_unique(struct plan *p, struct str directory)
{
	plan_guard_empty(p, directory);
	plan_add_look(p,
		(struct storage_step){.kind = STEP_GET,
			.key = directory,
			.range_end = storage_prefix_end(p->arena, directory),
			.limit = 1,
			.keys_only = true});
	p->n_clash_looks++;
}

/* Plans the entries of a revision that stays where it is: its value may have changed its form. */
static void plan_history_form(struct plan *p, const struct plan_change *c, const struct history_place *place, bool is_packed)
{
	struct str history = key_history(p->arena, p->prefix, c->ns, place->owner);
	struct str digest = key_history_digest(p->arena, history, history_digest(c->after, p->arena));
	struct str number = key_history_number(p->arena, history, place->number);

	if (is_packed) {
		plan_delete(p, key_below(p->arena, digest, c->name));
		return;
	}
	plan_put(p, key_below(p->arena, digest, c->name), c->after->meta.uid, 0);
	plan_put(p, key_below(p->arena, number, c->name), c->after->meta.uid, 0);
}

/* Plans the index keys of a history in the transaction that changes the revision. So the index
 * is never behind, and a guard on it is a guard on the history. The state of a revision never
 * changes: one digest serves for before and after. A value in compressed form has an entry for its
 * number alone, without the uid: the index would be as large as the values. The guard on that also
 * knows of revisions that cannot be read, which no cache has. */
static void plan_history(struct plan *p, const struct plan_change *c, bool is_packed)
{
	struct move m = find_move(c->before, c->after);
	struct arena *a = p->arena;

	if (!m.changes_number) {
		if (m.is_in && c->kind->is_packed && c->kind->is_packed(c->after)) {
			plan_history_form(p, c, &m.after, is_packed);
		}
		return;
	}
	struct str was = m.was_in ? key_history(a, p->prefix, c->ns, m.before.owner) : STR("");
	struct str is = m.is_in ? key_history(a, p->prefix, c->ns, m.after.owner) : STR("");
	struct str digest = m.changes_owner ? history_digest(m.is_in ? c->after : c->before, a) : STR("");
	if (c->is_unique && m.is_in) {
		p->clash_look = p->txn.n_failure;
		p->number = m.after.number;
		if (m.changes_owner && !is_packed) {
			plan_guard_unique(p, key_history_digest(a, is, digest));
		}
		plan_guard_unique(p, key_history_number(a, is, m.after.number));
	}
	if (m.was_in && m.changes_owner) {
		plan_delete(p, key_below(a, key_history_digest(a, was, digest), c->name));
	}
	if (m.was_in) {
		plan_delete(p, key_below(a, key_history_number(a, was, m.before.number), c->name));
	}
	if (m.is_in && m.changes_owner && !is_packed) {
		plan_put(p, key_below(a, key_history_digest(a, is, digest), c->name), c->after->meta.uid, 0);
	}
	if (m.is_in) {
		plan_put(p, key_below(a, key_history_number(a, is, m.after.number), c->name),
			is_packed ? STR("") : c->after->meta.uid, 0);
	}
}

/* ---- values in compressed form ----
 *
 * A base must be in etcd as long as a value continues it. Three rules ensure that:
 *
 *   - An object begins to use a base only in a transaction that guards the base, and writes a key of the base's
 *     group: an entry of the history's index, or the object itself where that is the group.
 *   - Any other write of a revision stores it without a base.
 *   - A base is removed only in a transaction with the guard that no key of its group has been written since a
 *     revision after which no object used it.
 *
 * So what uses the base when it would be removed has begun to since that revision, and has written a key of the
 * group: the guard fails. */

enum {
	FRAME_SMALL = 384, /* bytes: a frame that need not be smaller, since a new base would take more than it saves */
	/* A frame that is larger than this part of one without a base makes a new base. A base of 3 KB
	 * lasts for about 30 small changes then. */
	FRAME_PART = 4,
	BASE_MIN = 512, /* bytes of a frame that is worth a base */
};

struct packing {
	struct plan *plan;
	const struct plan_change *change;
	struct str group;
	struct buf frame, whole, value; /* frame: of the value; whole: without a base; value: of the key of a new base */
};

/* Returns the group of the bases that the value may continue, or an empty text. */
static struct str packing_group(const struct plan_change *c, struct arena *a)
{
	struct history_place place;

	if (!c->bases) {
		return STR("");
	}
	if (!c->kind->history) {
		return object_id_key(&(struct object_id){c->kind, c->ns, c->name}, STR(""), a);
	}
	return index_takes_place(c->before, c->after) && find_place(c->after, &place)
		? key_history(a, STR(""), c->ns, place.owner)
		: STR("");
}

static struct str base_key(const struct plan *p, const struct base *b)
{
	return key_below(p->arena, key_bases(p->arena, p->prefix), base_name(b));
}

/* Writes the frame with this base, if it is small enough. */
static bool packing_try(struct packing *k, const struct base *base)
{
	buf_clear(&k->frame);
	if (!packed_make_frame(&k->frame, k->change->stored, base)) {
		return false;
	}
	if (k->frame.n > FRAME_SMALL && k->whole.n == 0) {
		packed_make_frame(&k->whole, k->change->stored, NULL);
	}
	return k->frame.n <= FRAME_SMALL || k->frame.n <= k->whole.n / FRAME_PART;
}

/* Makes a new base of the text. Returns NULL if that is not worth it. */
static struct base *packing_new_base(struct packing *k, int64_t *ret_revision)
{
	if (k->whole.n == 0 && !packed_make_frame(&k->whole, k->change->stored, NULL)) {
		return NULL;
	}
	if (k->group.n == 0 || k->group.n > BASE_GROUP_MAX || k->whole.n < BASE_MIN) {
		return NULL;
	}
	struct base *base = base_make(k->group, k->change->stored, &k->value);
	*ret_revision = base ? bases_revision(k->change->bases, base_name(base)) : 0;
	return base;
}

/* Chooses the base, and writes the frame. Returns a reference to the base; NULL: there is none. */
static struct base *packing_choose(struct packing *k, int64_t *ret_revision)
{
	_cleanup_(base_unrefp) struct base *newest =
		k->group.n > 0 ? bases_newest(k->change->bases, k->group, ret_revision) : NULL;

	if (newest && packing_try(k, newest)) {
		return take_ptr(newest);
	}
	_cleanup_(base_unrefp) struct base *made = packing_new_base(k, ret_revision);
	if (made && packing_try(k, made)) {
		return take_ptr(made);
	}
	buf_clear(&k->frame);
	buf_add_str(&k->frame, buf_str(&k->whole));
	return NULL;
}

/* Returns the compressed value of a change, in the plan's arena, with what its base needs in the plan; or the text
 * itself, if that is not longer. */
static struct str plan_pack_value(struct plan *p, const struct plan_change *c)
{
	struct packing k = {.plan = p, .change = c, .group = packing_group(c, p->arena)};
	_cleanup_(buf_done) struct buf out;
	struct str value = c->stored;
	int64_t revision = 0;

	buf_init(&k.frame, 2 * PACKED_TEXT_MAX);
	buf_init(&k.whole, 2 * PACKED_TEXT_MAX);
	buf_init(&k.value, 2 * PACKED_TEXT_MAX);
	buf_init(&out, 2 * PACKED_TEXT_MAX);
	struct base *base = packing_choose(&k, &revision);
	if (k.frame.n > 0) {
		packed_write(&out, c->kind->kind, buf_str(&k.frame), base);
	}
	if (out.n > 0 && !out.is_over && out.n < c->stored.n) {
		value = arena_dup(p->arena, buf_str(&out));
		if (base) {
			struct str key = base_key(p, base);
			p->needs_base = true;
			plan_guard(p, storage_compare_mod(key, revision));
			if (revision == 0) {
				plan_put(p, key, arena_dup(p->arena, buf_str(&k.value)), 0);
			}
		}
	}
	base_unref(base);
	buf_done(&k.frame);
	buf_done(&k.whole);
	buf_done(&k.value);
	return value;
}

static struct str plan_value(struct plan *p, const struct plan_change *c)
{
	const struct kind *k = c->kind;

	return c->ticket && c->ticket->may_pack && k->is_packed && k->is_packed(c->after) ? plan_pack_value(p, c) : c->stored;
}

void plan_remove_base(struct plan *p, const struct base_unused *unused, int64_t revision)
{
	struct str group = base_group(unused->base), key = base_key(p, unused->base);
	struct str written = arena_printf(p->arena, STR_FMT STR_FMT, STR_ARG(p->prefix), STR_ARG(group));
	bool is_directory = str_ends(group, STR("/"));

	plan_guard(p, storage_compare_mod(key, unused->mod_revision));
	plan_guard(p,
		(struct storage_compare){.target = COMPARE_MOD,
			.result = COMPARE_LESS,
			.key = written,
			.range_end = is_directory ? storage_prefix_end(p->arena, written) : STR(""),
			.number = revision + 1});
	plan_delete(p, key);
}

/* ---- objects ---- */

static void plan_guard_namespace(struct plan *p, const struct plan_change *c)
{
	if (c->namespace_guard == PLAN_NAMESPACE_ANY) {
		return;
	}
	struct str key = key_object(p->arena, p->prefix, STR(""), STR("namespaces"), STR(""), c->ns);
	plan_guard(p,
		c->namespace_guard == PLAN_NAMESPACE_EXISTS ? storage_compare_exists(key)
							    : storage_compare_mod(key, c->namespace_revision));
}

/* Guards the registration. All kinds are written under the same one. One guard and one look
 * serve for all changes of a plan, unless it was renewed between them. */
static void plan_guard_ticket(struct plan *p, const struct agreement_ticket *ticket)
{
	if (!ticket || ticket->key.n == 0) {
		return;
	}
	if (!p->has_ticket) {
		p->has_ticket = true;
		p->ticket = *ticket;
		p->ticket_look = plan_guard_key(p, ticket->key, ticket->revision);
	} else if (p->ticket.revision != ticket->revision) {
		plan_guard(p, agreement_guard(ticket));
	}
}

void plan_change(struct plan *p, const struct plan_change *c)
{
	struct str key = object_key(p, c->kind, c->ns, c->name);

	struct str value = STR("");
	bool is_first = false;

	assert(c->name.n > 0 && (c->stored.n > 0 || !c->after));
	assert(c->before || c->revision == 0 || !(c->kind->references || c->kind->history));
	plan_guard(p, storage_compare_mod(key, c->revision));
	if (!p->has_object) {
		assert(p->txn.n_failure == 0);
		p->has_object = true;
		p->revision = c->revision;
		plan_look(p, key, !c->wants_present);
		is_first = true;
	}
	plan_guard_namespace(p, c);
	plan_guard_ticket(p, c->ticket);
	plan_guard_definition(p, c->kind);
	if (c->after) {
		value = plan_value(p, c);
		plan_put(p, key, value, c->lease);
	} else {
		plan_delete(p, key);
	}
	p->value = is_first ? value : p->value;
	plan_references(p, c);
	plan_history(p, c, packed_is(value));
}

int plan_new_namespace(struct plan *p, struct str name, const struct agreement_ticket *ticket, struct str *ret_why)
{
	const struct kind *k = kind_by_hub(STR(""), STR("namespaces"));
	struct json *in = json_object(p->arena), *meta = json_object(p->arena);
	_cleanup_(buf_done) struct buf stored = {0};
	struct object *o;

	buf_init(&stored, NAMESPACE_TEXT_MAX);
	json_add(p->arena, meta, STR("name"), json_string(p->arena, name));
	json_add(p->arena, in, STR("metadata"), meta);
	if (object_decode(&o, k, &k->versions[0], in, NULL, p->arena, NULL, ret_why)) {
		return -EINVAL;
	}
	meta_prepare_create(o, STR(""), p->arena);
	k->prepare_create(o, p->arena);
	if (!object_encode_stored(&stored, o, ticket->version)) {
		*ret_why = STR("it cannot be encoded");
		return -EINVAL;
	}
	plan_change(p,
		&(struct plan_change){.kind = k,
			.name = name,
			.after = o,
			.stored = arena_dup(p->arena, buf_str(&stored)),
			.ticket = ticket});
	return 0;
}

void plan_remove_revision(struct plan *p, const struct plan_change *c, const struct history_place *place, struct str digest)
{
	struct str key = object_key(p, c->kind, c->ns, c->name),
		   history = key_history(p->arena, p->prefix, c->ns, place->owner);

	plan_guard_unreferenced(p, c->kind, c->ns, c->name);
	plan_guard(p, storage_compare_mod(key, c->revision));
	plan_delete(p, key);
	plan_delete(p, key_below(p->arena, key_history_digest(p->arena, history, digest), c->name));
	plan_delete(p, key_below(p->arena, key_history_number(p->arena, history, place->number), c->name));
}

/* ---- packing ---- */

static void pack_steps(struct arena *a, struct storage_step *steps, size_t n, struct str stored)
{
	for (size_t i = 0; i < n; i++) {
		steps[i].key = arena_dup(a, steps[i].key);
		steps[i].range_end = arena_dup(a, steps[i].range_end);
		steps[i].value = steps[i].value.p == stored.p ? stored : arena_dup(a, steps[i].value);
	}
}

void plan_pack(struct plan *p, struct arena *arena, struct str stored)
{
	struct storage_txn *t = &p->txn;
	struct storage_compare *compares = arena_array(arena, struct storage_compare, t->n_compares);
	struct storage_step *success = arena_array(arena, struct storage_step, t->n_success);

	for (size_t i = 0; i < t->n_compares; i++) {
		compares[i] = t->compares[i];
		compares[i].key = arena_dup(arena, compares[i].key);
		compares[i].range_end = arena_dup(arena, compares[i].range_end);
		compares[i].value = arena_dup(arena, compares[i].value);
	}
	if (t->n_success > 0) {
		memcpy(success, t->success, t->n_success * sizeof(*success));
	}
	pack_steps(arena, success, t->n_success, stored);
	pack_steps(arena, t->failure, t->n_failure, stored);
	p->value = p->value.p == stored.p ? stored : arena_dup(arena, p->value);
	t->compares = compares;
	t->success = success;
	p->compares_cap = t->n_compares;
	p->success_cap = t->n_success;
	p->arena = arena;
}

/* ---- sending ---- */

void plan_send(struct plan *p, struct storage *s)
{
	assert(p->txn.op.done && p->txn.failure == p->looks);
	storage_txn(s, &p->txn);
}

enum storage_result plan_wait(struct plan *p, struct storage *s)
{
	assert(p->txn.failure == p->looks);
	return storage_txn_wait(s, &p->txn);
}

void plans_wait(struct plan *const *plans, size_t n, struct storage *s)
{
	struct storage_txn **txns = mem_array(n + 1, sizeof(struct storage_txn *));

	for (size_t i = 0; i < n; i++) {
		assert(plans[i]->txn.failure == plans[i]->looks);
		txns[i] = &plans[i]->txn;
	}
	storage_txns_wait(s, txns, n);
	mem_free(txns);
}

/* ---- outcome ---- */

const struct storage_kv *plan_present(const struct plan *p)
{
	assert(p->has_object);
	return plan_looked(p, 0);
}

bool plan_is_as_expected(const struct plan *p)
{
	const struct storage_kv *kv = plan_present(p);

	return (kv ? kv->mod_revision : 0) == p->revision;
}

bool plan_is_there(const struct plan *p)
{
	const struct storage_kv *kv = plan_present(p);

	return kv && !plan_is_as_expected(p) && str_eq(kv->value, p->value);
}

enum plan_outcome plan_judge(const struct plan *p, struct agreement *a)
{
	if (p->txn.op.result != STORAGE_OK) {
		return PLAN_FAILED;
	}
	if (p->txn.succeeded) {
		return PLAN_DONE;
	}
	if (p->has_ticket && !plan_look_holds(p, p->ticket_look, p->ticket.revision)) {
		assert(a);
		agreement_doubt(a, &p->ticket);
		return PLAN_UNREGISTERED;
	}
	return plan_is_as_expected(p) ? PLAN_REFUSED : PLAN_CONFLICT;
}

/* Finds the other revision. The look for the number is the last one; a state is looked for only
 * where the owner changes. */
bool plan_clashes(const struct plan *p, struct plan_clash *ret)
{
	for (size_t i = 0; i < p->n_clash_looks; i++) {
		const struct storage_kv *kv = plan_looked(p, p->clash_look + i);
		if (kv) {
			size_t n = p->looks[p->clash_look + i].key.n; /* of the directory */
			*ret = (struct plan_clash){.name = {kv->key.p + n, kv->key.n - n},
				.is_number = i + 1 == p->n_clash_looks,
				.number = p->number};
			return true;
		}
	}
	return false;
}

/* ---- keys that follow from objects ---- */

struct str object_id_title(const struct object_id *id, struct arena *a)
{
	struct str resource = kind_group_resource(id->kind, a);

	return arena_printf(a, STR_FMT " " STR_FMT "%s" STR_FMT, STR_ARG(resource), STR_ARG(id->ns), id->ns.n ? "/" : "",
		STR_ARG(id->name));
}

struct str object_id_key(const struct object_id *id, struct str prefix, struct arena *a)
{
	return key_object(a, prefix, str_of(id->kind->versions[0].group), str_of(id->kind->resource), id->ns, id->name);
}

size_t index_reference_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX])
{
	struct reference references[REFERENCES_MAX];
	size_t n = object_references(o, references);

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct index_entry){.key = reference_key(id, &references[i], prefix, a), .value = o->meta.uid};
	}
	return n;
}

size_t index_history_entries(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
	struct index_entry ret[INDEX_ENTRIES_MAX])
{
	struct history_place place;

	if (!find_place(o, &place)) {
		return 0;
	}
	struct str history = key_history(a, prefix, id->ns, place.owner);
	struct str digest = key_history_digest(a, history, history_digest(o, a));
	struct str number = key_history_number(a, history, place.number);
	ret[0] = (struct index_entry){.key = key_below(a, digest, id->name), .value = o->meta.uid, .is_for_plain = true};
	ret[1] = (struct index_entry){.key = key_below(a, number, id->name), .value = o->meta.uid, .may_be_bare = true};
	return 2;
}
