/* Decides what kind of word completes a command line. Pure. */
#ifndef CLI_KUBECTL_COMPLETE_PLAN_H
#define CLI_KUBECTL_COMPLETE_PLAN_H

#include "base/options.h"

enum complete_what { COMPLETE_NOTHING, COMPLETE_COMMANDS, COMPLETE_FLAGS, COMPLETE_VALUES, COMPLETE_TYPES, COMPLETE_NAMES };

struct complete_plan {
	enum complete_what what;
	const struct option *flag; /* the flag whose value is completed */
	struct str type;           /* the type of the completed name, or of the object that a flag's value belongs to */
	struct str name;           /* the name of that object */
	struct str prefix;         /* the beginning of the word */
	bool is_joined;            /* TYPE/NAME, not TYPE NAME */
};

/* words: n words, at least one. The first is the command, the last is the one to complete and
 * may be empty. flags: the command's. */
void complete_plan_make(struct complete_plan *ret, const struct option *flags, char *const *words, size_t n);

#endif
