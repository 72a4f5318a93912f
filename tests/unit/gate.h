/* A store whose watch can be interrupted: closing the gate breaks the stream, as a lost connection would; opening it resumes behind the last
 * delivered revision, which may have been compacted meanwhile. Everything else passes, but for leases. One watch at a time. */
#ifndef TESTS_UNIT_GATE_H
#define TESTS_UNIT_GATE_H

#include "storage/storage.h"

struct storage *gate_new(struct storage *inner); /* takes inner; freeing it frees both. Must be open then */
struct storage *gate_inner(struct storage *gate);
void gate_close(struct storage *gate); /* returns when no event can come any more */
void gate_open(struct storage *gate);
/* Ranges that ask for more keys are STORAGE_TOO_LARGE; 0: no limit. */
void gate_limit_pages(struct storage *gate, int64_t keys);
/* The n-th page that is asked for from now on, counted from 1, is answered so. A page: a range of more than one key. */
void gate_refuse_page(struct storage *gate, unsigned n, enum storage_result result);
bool gate_has_refused(struct storage *gate); /* that page */
int64_t gate_watched_from(struct storage *gate); /* the revision from which the last watch was asked for */

#endif
