/* Writes the waiting changes, one per object at a time. */
#ifndef CONTROLLERS_RECORDER_SCRIBE_H
#define CONTROLLERS_RECORDER_SCRIBE_H

#include "controllers/recorder/core.h"

/* A queue's work function; core: a struct recorder_core. */
void scribe_work(void *core, struct str key);

/* A watch shows this version of a History, or that it is gone. Returns true if the History may expire, since its object is gone. */
bool scribe_see_history(struct recorder_core *core, const struct json *history, bool is_gone, uint32_t list);

#endif
