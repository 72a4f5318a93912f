/* What going back to an own revision and to a recorded one share: who is asked, what is sent, what is said. */
#ifndef CLI_KUBECTL_KUBECTL_UNDO_H
#define CLI_KUBECTL_KUBECTL_UNDO_H

#include "cli/kubectl/kubectl.h"

bool undo_is_dry(const struct kubectl *k, const char *where);
/* Whether the difference is shown: to somebody who may answer or look, and in a dry run. */
bool undo_shows(const struct kubectl *k);
/* Shows it, and asks where somebody may answer and --yes was not given. False, with what is to be printed: better not. */
bool undo_ask(struct kubectl *k, const struct buf *diff, const struct revision *r);
/* A merge patch, for k->object in the very version in which it was got. */
struct json *undo_guarded(struct kubectl *k, const struct json *patch);
/* A rest_error, or 0. */
int undo_send(struct kubectl *k, const char *type, const struct json *patch, struct answer *ret);
/* What became of it; what would be sent. */
void undo_tell(struct kubectl *k, const struct revision *r, const struct answer *a);
void undo_tell_only(struct kubectl *k, const struct revision *r, const struct json *patch);
void undo_tell_skipped(struct kubectl *k, const struct revision *r);
/* Of k->object, which has been got once more: it is the one of before, whose uid is kept there. 0 or -1. */
int undo_check_uid(struct kubectl *k, struct str *uid);

#endif
