/* What is to be completed, given the words of a command line so far. Pure. */
#ifndef CLI_KUBECTL_COMPLETE_PLAN_H
#define CLI_KUBECTL_COMPLETE_PLAN_H

#include "base/options.h"

enum complete_what { COMPLETE_NOTHING, COMPLETE_COMMANDS, COMPLETE_FLAGS, COMPLETE_VALUES, COMPLETE_TYPES, COMPLETE_NAMES };

struct complete_plan {
	enum complete_what what;
	const struct option *flag; /* whose value */
	struct str type;           /* of the name; or of the object, where the value of a flag is one of it */
	struct str name;           /* of that object */
	struct str prefix;         /* what it begins with */
	bool is_joined;            /* TYPE/NAME, not TYPE NAME */
};

/* words: n of them, at least one; the first is the command, the last the one to be completed, perhaps empty. flags: the command's. */
void complete_plan_make(struct complete_plan *ret, const struct option *flags, char *const *words, size_t n);

#endif
