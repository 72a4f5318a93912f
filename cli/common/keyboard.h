/* The terminal's keyboard, for programs that serve until they are stopped, and do something when Enter is pressed. */
#ifndef CLI_COMMON_KEYBOARD_H
#define CLI_COMMON_KEYBOARD_H

#include "base/base.h"

/* Standard input is a terminal, and we are in its foreground: in the background whoever reads it is stopped. */
bool keyboard_is_ours(void);
/* Takes what was typed, once poll(2) says that there is something. False: nothing more will come, or it is not for us. */
bool keyboard_read(bool *ret_is_enter);

#endif
