/* Which resources are never recorded, whatever a Recorder names. */
#ifndef API_RECORD_LEFT_OUT_H
#define API_RECORD_LEFT_OUT_H

#include "base/str.h"

/* Why objects of the resource are not recorded; NULL: they may be. */
const char *record_leaves_out(struct str group, struct str resource);

#endif
