/* Writes the waiting changes, one per object at a time. */
#ifndef CONTROLLERS_RECORDER_SCRIBE_H
#define CONTROLLERS_RECORDER_SCRIBE_H

#include "controllers/recorder/core.h"

/* A queue's work function; core: a struct recorder_core. */
void scribe_work(void *core, struct str key);

#endif
