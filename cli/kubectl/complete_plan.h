/* The completion of a command line, of annals and of its kubectl plugin: first the kind of word, which is decided without asking anybody,
 * then the offers, as cobra's __complete protocol has them. Each line is a possibility, perhaps with a tab and its meaning. The last
 * one is ":" and a directive to the shell. */
#ifndef CLI_KUBECTL_COMPLETE_PLAN_H
#define CLI_KUBECTL_COMPLETE_PLAN_H

#include "base/buf.h"
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

/* cobra's ShellCompDirective. */
enum complete_directive {
	DIRECTIVE_FILES = 0,
	DIRECTIVE_ERROR = 1,
	DIRECTIVE_NO_SPACE = 2,
	DIRECTIVE_NO_FILES = 4,
	DIRECTIVE_DIRECTORIES = 16,
};

struct offers {
	struct buf out;
	int directive;
};

void offers_init(struct offers *o);
/* Offers the text if it begins with the prefix. */
void offers_add(struct offers *o, struct str prefix, struct str text, struct str meaning);
void offers_add_flags(struct offers *o, struct str prefix, const struct option *table);
/* The values that the name of a flag's value lists, or files. */
void offers_add_values(struct offers *o, struct str prefix, const struct option *flag);
/* Writes them to standard output, and frees them. */
void offers_print(struct offers *o);

#endif
