/* Read and not by stdio: a line at a time, as the terminal gives it, and nothing is kept for later. */
#include "cli/common/keyboard.h"

#include <unistd.h>

bool keyboard_is_ours(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

bool keyboard_read(bool *ret_is_enter)
{
	char keys[256];
	ssize_t n = keyboard_is_ours() ? read(STDIN_FILENO, keys, sizeof(keys)) : 0;
	*ret_is_enter = n > 0 && memchr(keys, '\n', (size_t)n);
	return n > 0;
}
