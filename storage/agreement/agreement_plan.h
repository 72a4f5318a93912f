/* What a replica makes of the registrations it sees (storage/agreement/agreement.h): decisions without I/O, time or memory of their own. */
#ifndef STORAGE_AGREEMENT_AGREEMENT_PLAN_H
#define STORAGE_AGREEMENT_AGREEMENT_PLAN_H

#include "storage/agreement/agreement.h"

/* The replica that decides. */
struct agreement_self {
	struct str id, address;
	struct storage_versions wanted;
	uint32_t knows[KIND_COUNT_MAX]; /* by kind->index: the doors whose versions it encodes and decodes, as bits */
	bool is_standalone;
};

enum agreement_reason {
	AGREEMENT_WANTED,      /* encodes what is wanted */
	AGREEMENT_HELD_BACK,   /* `replica` cannot decode that */
	AGREEMENT_FROZEN,      /* the registration of `replica` cannot be understood: nobody begins to write another version */
	AGREEMENT_CANNOT_READ, /* `replica` encodes what we cannot decode: no part in that kind */
	AGREEMENT_NO_VERSION,  /* none that all can decode; `replica` cannot decode the one that is wanted */
};

struct agreement_choice {
	const struct door *encodes; /* NULL: does not write the kind */
	enum agreement_reason reason;
	const struct agreement_replica *replica; /* in the view */
};

/* Which version to encode, as things are. present: what the own registration says; NULL: nothing, or there is none. */
struct agreement_choice agreement_choose(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct door *present);

/* May we write what our registration has said since that revision? Once true it stays so until the registration says something else: who comes later knows.
 * *ret_waits_for: who has yet to see it. */
bool agreement_may_write(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct door *encodes, int64_t since, const struct agreement_replica **ret_waits_for);

/* Does everybody who writes the kind write this version? */
bool agreement_is_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct door *encodes);

/* Who encodes what we cannot decode; NULL: nobody. */
const struct agreement_replica *agreement_unreadable(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k);

/* The newest registration of anybody else: what there is to acknowledge. */
int64_t agreement_newest(const struct agreement_self *self, const struct agreement_view *v);

/* Sentences. */
void agreement_explain_choice(
	const struct agreement_self *self, const struct kind *k, const struct agreement_choice *choice, struct buf *out);
void agreement_explain_wait(
	const struct kind *k, const struct door *encodes, const struct agreement_replica *waits_for, struct buf *out);
void agreement_write_name(const struct agreement_replica *r, struct buf *out); /* "replica ID (ADDRESS)" */

#endif
