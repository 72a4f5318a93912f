/* Millions of uids must fit into memory, and a uid in etcd may be text of any length. So digests
 * are compared, which have one size and need no pointers. */
#include "cli/fsck/fsck_private.h"

#include "base/sha256.h"

enum {
	UIDS_FIRST = 1024,
	UIDS_MAX = 1 << 26, /* slots of 16 bytes; beyond half of them uids are not compared any more */
};

/* ---- uids ---- */

static const unsigned char free_slot[16];

static unsigned char *find_slot(const struct uid_set *s, const unsigned char *print)
{
	size_t at;
	memcpy(&at, print, sizeof(at));
	for (;; at++) {
		unsigned char *slot = s->slots[at % s->cap];
		if (memcmp(slot, free_slot, sizeof(free_slot)) == 0 || memcmp(slot, print, sizeof(free_slot)) == 0) {
			return slot;
		}
	}
}

static void grow(struct uid_set *s)
{
	struct uid_set bigger = {.cap = s->cap ? s->cap * 2 : UIDS_FIRST, .n = s->n};
	bigger.slots = mem_array(bigger.cap, sizeof(*bigger.slots));
	for (size_t i = 0; i < s->cap; i++) {
		if (memcmp(s->slots[i], free_slot, sizeof(free_slot)) != 0) {
			memcpy(find_slot(&bigger, s->slots[i]), s->slots[i], sizeof(free_slot));
		}
	}
	mem_free(s->slots);
	*s = bigger;
}

/* Half of a SHA-256 stands for a uid: 32 bytes an object at most, whatever its uid looks like. */
bool uid_set_add(struct uid_set *s, struct str uid)
{
	unsigned char print[SHA256_SIZE];
	sha256(uid, print);
	if (s->n * 2 >= s->cap) {
		if (s->cap == UIDS_MAX) {
			return true;
		}
		grow(s);
	}
	unsigned char *slot = find_slot(s, print);
	bool is_new = memcmp(slot, print, sizeof(free_slot)) != 0;
	if (is_new) {
		memcpy(slot, print, sizeof(free_slot));
		s->n++;
	}
	return is_new;
}

/* ---- checks of one object ---- */

static int check_identity(struct fsck *f, const struct subject *s)
{
	const struct meta *m = &s->object->meta;
	if (!str_eq(m->name, s->id.name) || !str_eq(m->ns, s->id.ns)) {
		fsck_find(f, "identity", s->title, s->key, "its metadata say " STR_FMT "%s" STR_FMT, STR_ARG(m->ns),
			m->ns.n ? "/" : "", STR_ARG(m->name));
	}
	if (m->uid.n == 0) {
		fsck_find(f, "identity", s->title, s->key, "it has no uid");
	}
	return 0;
}

static int check_uid(struct fsck *f, const struct subject *s)
{
	struct str uid = s->object->meta.uid;
	if (uid.n > 0 && !uid_set_add(&f->uids, uid)) {
		fsck_find(f, "uid", s->title, s->key, "its uid " STR_FMT " is that of an object before it, too", STR_ARG(uid));
	}
	return 0;
}

static int check_controller(struct fsck *f, const struct subject *s)
{
	size_t n = 0;
	for (size_t i = 0; i < meta_owner_count(&s->object->meta); i++) {
		struct owner_reference owner;
		meta_owner(&s->object->meta, i, &owner);
		n += owner.is_controller;
	}
	if (n > 1) {
		fsck_find(f, "controller", s->title, s->key, "%zu of its ownerReferences say controller: true", n);
	}
	return 0;
}

static void on_references(struct fsck *f, struct question *q)
{
	long long n = q->range.count;
	if (n > 0) {
		fsck_find(f, "protection", q->subject->title, q->subject->key,
			"%lld object%s to it, but it has no finalizer " STR_FMT, n, n == 1 ? " refers" : "s refer",
			STR_ARG(FINALIZER_PROTECTION));
	}
}

static bool is_protected(const struct subject *s)
{
	const struct meta *m = &s->object->meta;
	return s->id.kind->is_protected || str_is(json_text(json_gets(m->labels, "annals.dev/protect")), "true");
}

/* What is being deleted may have been let go before somebody came to refer to it, who waits. */
static int check_protection(struct fsck *f, const struct subject *s)
{
	const struct meta *m = &s->object->meta;
	const struct kind *k = s->id.kind;
	if (!is_protected(s) || meta_is_deleting(m) || meta_has_finalizer(m, FINALIZER_PROTECTION)) {
		return 0;
	}
	struct str below =
		key_references(&f->page, f->prefix, str_of(k->doors[0].group), str_of(k->resource), s->id.ns, s->id.name);
	struct question *q = fsck_question(f, below, on_references);
	q->range.range_end = storage_prefix_end(&f->page, below);
	q->range.count_only = true;
	q->subject = s;
	return fsck_ask(f, q);
}

static void on_told_revision(struct fsck *f, struct question *q)
{
	if (q->range.count == 0) {
		fsck_find(f, "told", q->subject->title, q->subject->key,
			"the revision " STR_FMT " is not there, which is said to hold its last state", STR_ARG(q->id.name));
	}
}

/* The revision that a History names is written with it. One that is being deleted may have lost its revisions already. */
static int check_told_revision(struct fsck *f, const struct subject *s)
{
	const struct json *told = json_gets(json_gets(s->object->fields, "status"), "revision");
	struct object_id id = {
		kind_by_hub(STR("annals.dev"), STR("controllerrevisions")), s->id.ns, json_text(json_gets(told, "name"))};
	if (strcmp(s->id.kind->kind, "History") != 0 || id.name.n == 0 || meta_is_deleting(&s->object->meta)) {
		return 0;
	}
	struct question *q = fsck_question(f, object_id_key(&id, f->prefix, &f->page), on_told_revision);
	q->range.count_only = true;
	q->subject = s;
	q->id = id;
	return fsck_ask(f, q);
}

static int (*const checks[])(struct fsck *f, const struct subject *s) = {
	check_identity,
	check_uid,
	check_controller,
	check_protection,
	check_told_revision,
	fsck_check_entries,
};

int fsck_check_object(struct fsck *f, const struct subject *s)
{
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(checks) && !r; i++) {
		r = checks[i](f, s);
	}
	return r;
}
