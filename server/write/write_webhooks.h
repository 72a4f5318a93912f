/* The cluster's admission webhooks within a write (aggregated mode; api/model/delegates.h). */
#ifndef SERVER_WRITE_WRITE_WEBHOOKS_H
#define SERVER_WRITE_WRITE_WEBHOOKS_H

#include "admission/admission.h"
#include "server/write/write.h"

/* 0; 1 with the refusal in q->st; or ASK_FIRST. A webhook that changes the object makes w->object another one. */
int write_ask_mutating(struct request *q, struct write *w, enum admission_operation operation);
int write_ask_validating(struct request *q, struct write *w, enum admission_operation operation);

#endif
