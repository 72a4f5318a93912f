/* The subcommands of `annals`, and their description for machines. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/common/command.h"

extern const struct command command_completion;
extern const struct command *const commands[];        /* in the order of the overview; ends with NULL */
const struct command *commands_find(struct str name); /* or NULL */

/* Bytes, of tables within the program alone: a hundredth of it is used. */
enum { COMMANDS_DESCRIPTION_MAX = 4 << 20 };
/* `annals help --output=json`: every command, and those of the kubectl plugin, with its texts and flags, as one JSON document. Manual pages,
 * the reference and tests are made from it. */
void commands_describe(struct buf *out);

#endif
