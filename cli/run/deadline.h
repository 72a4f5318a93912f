/* The end of a process that has been asked to end. */
#ifndef CLI_RUN_DEADLINE_H
#define CLI_RUN_DEADLINE_H

#include "base/base.h"

/* For what comes behind the draining: connections that are cut, logs, an etcd of our own. */
#define DEADLINE_CLOSING_MS 40000

/* Unless the process has ended so long after the time that draining may take, it does then, with EXIT_FAILED and a line in the log: whatever hangs,
 * nobody has to kill it. Once in a process. */
void deadline_start(int64_t drain_ms);

#endif
