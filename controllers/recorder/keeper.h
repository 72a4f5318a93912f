/* Passes over all Histories, which keep them small: those of deleted objects end, states go when their time is over, and all of them stay
 * within a budget. The passes only queue; workers send the requests. The director's thread alone calls. */
#ifndef CONTROLLERS_RECORDER_KEEPER_H
#define CONTROLLERS_RECORDER_KEEPER_H

#include "controllers/recorder/core.h"

struct keeper {
	int64_t trim_at_ms, relieve_at_ms;
	uint32_t round; /* 0: none has begun */
	bool is_near_budget;
};

/* all: the Recorders. are_rules_new: a pass begins at once, since other rules may keep less. */
void keeper_pass(struct keeper *k, struct recorder_core *core, const struct recordings *all, bool are_rules_new);

#endif
