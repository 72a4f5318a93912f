/* The registrations of replicas as they are in etcd, with what each has acknowledged; and what a replica decides from them
 * (storage/engine/agreement.h).
 *
 * The decisions read a view, and nothing else: no I/O, no time, no memory of their own. A registration is this text:
 *
 *   {"address":"10.0.0.7:6443","kinds":{"dependents.annals.dev":{"encodes":"annals.dev/v1","wants":"annals.dev/v1",
 *    "decodes":["annals.dev/v1","annals.dev/v1beta1"],"serves":["annals.dev/v1","annals.dev/v1beta1"]}}}
 *
 * A kind whose values may be in compressed form also has "forms":["annals.dev/zstd"] (api/model/packed.h).
 * Unknown members and kinds are ignored. A registration that is under no lease, or is not of this form, has a `problem`: it may be that of a replica
 * which does anything. The caller holds the agreement's lock for a table; a view is immutable. */
#ifndef STORAGE_ENGINE_AGREEMENT_TABLE_H
#define STORAGE_ENGINE_AGREEMENT_TABLE_H

#include "storage/engine/agreement.h"

/* The replica that decides. */
struct agreement_self {
	struct str id, address;
	struct storage_versions wanted;
	uint32_t knows[KIND_COUNT_MAX]; /* by kind->index: the versions that it encodes and decodes, as bits */
	bool is_standalone, is_plain;   /* is_plain: says that it reads no compressed values, so that nobody writes them */
};

enum agreement_reason {
	AGREEMENT_WANTED,    /* encodes what is wanted */
	AGREEMENT_HELD_BACK, /* `replica` cannot decode that */
	/* the registration of `replica` cannot be understood: no replica begins to write another
	 * version */
	AGREEMENT_FROZEN,
	AGREEMENT_CANNOT_READ, /* `replica` encodes what this one cannot decode: it takes no part in that kind */
	AGREEMENT_NO_VERSION,  /* no version that all can decode; `replica` cannot decode the wanted one */
};

struct agreement_choice {
	const struct version *encodes; /* NULL: does not write the kind */
	enum agreement_reason reason;
	const struct agreement_replica *replica; /* in the view */
};

/* Chooses the version to encode. present: the one in the own registration; NULL: none. */
struct agreement_choice agreement_choose(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *present);

/* Returns true when this replica may write the version that its registration has named since
 * that revision. It stays true until the registration names another version, since replicas that
 * come later see it first. *ret_waits_for: a replica that has yet to see it. */
bool agreement_may_write(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct version *encodes, int64_t since, const struct agreement_replica **ret_waits_for);

/* Returns true when all replicas that write the kind can read values in that form. */
bool agreement_knows_form(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, struct str form);

/* Returns true when all replicas that write the kind write this version. */
bool agreement_is_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *encodes);

/* Returns a replica that encodes the kind in a version that this one cannot decode; NULL: none. */
const struct agreement_replica *agreement_unreadable(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k);

/* Returns the revision of the newest registration of another replica, which is to be
 * acknowledged. */
int64_t agreement_newest(const struct agreement_self *self, const struct agreement_view *v);

/* Sentences for people. */
void agreement_explain_choice(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *choice, struct buf *out);
void agreement_explain_wait(
	const struct kind *k, const struct version *encodes, const struct agreement_replica *waits_for, struct buf *out);
void agreement_write_name(const struct agreement_replica *r, struct buf *out); /* "replica ID (ADDRESS)" */

/* ---- the table ---- */

enum { AGREEMENT_VALUE_MAX = 64 * 1024, /* bytes of a registration */ };

/* A registration as parsed: immutable, counted. */
struct agreement_entry {
	_Atomic uint32_t refs;
	struct arena arena;
	struct agreement_replica replica; /* seen: not set */
};

struct agreement_row {
	struct agreement_entry *entry;
	int64_t seen, seen_mod; /* the acknowledgement and its key's mod revision */
};

struct agreement_table {
	struct str registrations, acks;                    /* PREFIX/replicas/, PREFIX/replicas-seen/ */
	struct agreement_row rows[AGREEMENT_REPLICAS_MAX]; /* by id */
	size_t n;
	int64_t revision; /* the table has everything that happened up to here */
	bool is_overfull; /* there was no room: the table must be read again */
	bool is_changed;  /* since the last view */
};

void agreement_table_done(struct agreement_table *t);
void agreement_table_clear(struct agreement_table *t); /* forgets everything */
/* Fills the table with everything below both prefixes, as of that revision. has_more: some is
 * missing. */
void agreement_table_install(
	struct agreement_table *t, const struct storage_kv *kvs, size_t n, bool has_more, int64_t revision);
/* Applies whole revisions; known ones are skipped. */
void agreement_table_apply(struct agreement_table *t, const struct storage_event *events, size_t n, int64_t revision);
/* Applies the put of one key. */
void agreement_table_put(struct agreement_table *t, const struct storage_kv *kv);
struct agreement_row *agreement_table_find(struct agreement_table *t, struct str id);
struct agreement_view *agreement_table_view(struct agreement_table *t);

/* Writes the own registration. encodes: by kind->index. */
void agreement_write_value(
	const struct agreement_self *self, const struct version *const encodes[KIND_COUNT_MAX], struct buf *out);

#endif
