/* The history of a controller within a write (api/model/history.h): the index that is kept in the same transaction, and that through the group of the
 * hub nobody makes a second revision of one state, or of one number. */
#ifndef SERVER_WRITE_WRITE_HISTORY_H
#define SERVER_WRITE_WRITE_HISTORY_H

#include "server/write/write.h"

enum { HISTORY_COMPARES_MAX = HISTORY_LOOKS_MAX, HISTORY_STEPS_MAX = 4 };

/* Looks at what was decided, into w->history. */
void history_note(struct request *q, struct write *w);
/* For the transaction that carries the decision out. How many. The looks are steps of its failure branch. */
size_t history_guards(struct request *q, struct write *w, struct storage_compare *out);
size_t history_steps(struct request *q, struct write *w, struct storage_step *out);
size_t history_looks(struct request *q, struct write *w, struct storage_step *out);
/* Copies the texts of it that are needed afterwards. */
void history_pack(struct write_history *h, struct arena *a);
/* What the looks have found: 0; or 1 with 409 in q->st, which names the other revision. */
int history_refuse(struct request *q, const struct write *w, const struct storage_step *looks);

/* What takes a revision out of the index: two steps. */
enum { HISTORY_REMOVALS = 2 };
void history_removals(struct request *q, const struct history_place *place, struct str digest, struct str name,
	struct storage_step out[HISTORY_REMOVALS]);

#endif
