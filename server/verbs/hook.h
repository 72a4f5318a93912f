/* The validating webhook of Recorders: POST recorders/NAME/admission takes an AdmissionReview, notes who asks for which state of which
 * object (server/notes/user_notes.h), and allows it. */
#ifndef SERVER_VERBS_HOOK_H
#define SERVER_VERBS_HOOK_H

#include "server/request/request.h"

void hook_answer(struct request *q);

#endif
