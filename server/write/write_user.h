/* Standalone: notes who writes objects that some Recorder names (server/notes/user_notes.h). Behind a kube-apiserver its webhook does
 * (server/revisions/revisions.h). */
#ifndef SERVER_WRITE_WRITE_USER_H
#define SERVER_WRITE_WRITE_USER_H

#include "server/write/write.h"

/* Before the transaction: the recorder may see what it writes before we do. */
void write_note_user(struct request *q, struct write *w);
/* After a transaction that has certainly not written: takes the note back. */
void write_forget_user(struct request *q, struct write *w);

#endif
