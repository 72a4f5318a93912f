/* Writes of definitions of kinds (api/custom), and of their objects. */
#ifndef SERVER_WRITE_DEFINITIONS_H
#define SERVER_WRITE_DEFINITIONS_H

#include "server/write/write.h"

bool definitions_are(const struct kind *k); /* is it the kind of definitions? */
/* 0; or 1 with 403 in q->st: nothing is created under a definition that is being deleted. */
int definitions_refuse_create(struct request *q, const struct object *o);
/* Brings w->object, which has passed all rules, into the form that is stored: the conditions of a definition, the order and numbers of
 * an object of one. */
void definitions_settle(struct request *q, struct write *w);
/* 0; or 1 with 422 in q->st: it changes what objects refer to, and there are some. */
int definitions_refuse_update(struct request *q, const struct write *w);
/* Adds the guards of a definition's write. */
void definitions_guard(const struct write *w, struct plan *p);

#endif
