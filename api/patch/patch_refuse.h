/* Answers that several kinds of patch share. Private to the patch_*.c files. */
#ifndef API_PATCH_PATCH_REFUSE_H
#define API_PATCH_PATCH_REFUSE_H

#include "api/model/status.h"

/* kube-apiserver does not say what was wrong with a patch that cannot be applied. */
void patch_refuse(struct status *st);
/* Two bytes of a patch can stand for a copy of a big object. */
void patch_refuse_memory(struct status *st);

#endif
