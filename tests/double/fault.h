/* A store that misbehaves on demand, around another one: style.md's "fail the N-th storage call for N = 1, 2, ...". */
#ifndef TESTS_DOUBLE_FAULT_H
#define TESTS_DOUBLE_FAULT_H

#include "storage/storage.h"

enum fault_kind {
	FAULT_REFUSE,     /* the call is not carried out: STORAGE_UNAVAILABLE */
	FAULT_LOSE,       /* it is carried out, its answer is lost: STORAGE_UNKNOWN */
	FAULT_FULL,       /* a transaction that puts is not carried out: STORAGE_NO_SPACE; another one is */
	FAULT_OVERFILL,   /* the same answer, and yet it is carried out: the write that crosses etcd's quota */
	FAULT_DELAY,      /* carried out after fault_release() */
	FAULT_DELAY_DONE, /* carried out at once, answered after fault_release() */
};

/* Takes inner: freeing the wrapper frees it. */
struct storage *storage_fault_new(struct storage *inner);
/* The n-th call from now (1 is the next), ranges, transactions and the rest counted together, fails in the given way; 0 disarms. */
void storage_fault_arm(struct storage *fault, enum fault_kind kind, unsigned n);
bool storage_fault_has_fired(struct storage *fault);
void storage_fault_release(struct storage *fault); /* lets delayed calls go */

#endif
