/* The registrations of replicas as they are in etcd, with what each has acknowledged; and the text of a registration:
 *
 *   {"address":"10.0.0.7:6443","kinds":{"dependents.annals.dev":{"encodes":"annals.dev/v1","wants":"annals.dev/v1",
 *    "decodes":["annals.dev/v1","annals.dev/v1beta1"],"serves":["annals.dev/v1","annals.dev/v1beta1"]}}}
 *
 * Unknown members and kinds are ignored. A registration that is under no lease, or is not of this form, has a `problem`: it may be that of a replica which does
 * anything. */
#ifndef STORAGE_AGREEMENT_AGREEMENT_TABLE_H
#define STORAGE_AGREEMENT_AGREEMENT_TABLE_H

#include "storage/agreement/agreement_plan.h"

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
	int64_t revision; /* all that happened up to here is in */
	bool is_overfull; /* there was no room: to be installed anew */
	bool is_changed;  /* since the last view */
};

void agreement_table_done(struct agreement_table *t);
void agreement_table_clear(struct agreement_table *t); /* nothing is known any more */
/* Everything below both prefixes, as it was at that revision. has_more: not quite. */
void agreement_table_install(
	struct agreement_table *t, const struct storage_kv *kvs, size_t n, bool has_more, int64_t revision);
/* Whole revisions; those that are known already are skipped. */
void agreement_table_apply(struct agreement_table *t, const struct storage_event *events, size_t n, int64_t revision);
/* One key that is known to have been put. */
void agreement_table_put(struct agreement_table *t, const struct storage_kv *kv);
struct agreement_row *agreement_table_find(struct agreement_table *t, struct str id);
struct agreement_view *agreement_table_view(struct agreement_table *t);

/* Our own registration. encodes: by kind->index. */
void agreement_write_value(
	const struct agreement_self *self, const struct door *const encodes[KIND_COUNT_MAX], struct buf *out);

#endif
