/* Writes the changes that wait, one of an object at a time. */
#ifndef CONTROLLERS_RECORDER_SCRIBE_H
#define CONTROLLERS_RECORDER_SCRIBE_H

#include "controllers/recorder/core.h"

/* Of a struct recorder_core; for workers. */
void scribe_work(void *core, struct str key);

#endif
