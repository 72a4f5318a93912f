/* The link goes to the program that opens it as one argument, and no shell reads it. */
#include "cli/ui/ui.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

#ifdef __APPLE__
static const char opener[] = "open";

static bool has_display(void)
{
	return true;
}
#else
static const char opener[] = "xdg-open";

static bool has_display(void)
{
	const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	return (x11 && *x11) || (wayland && *wayland);
}
#endif

bool browser_open(const char *url)
{
	char *argv[] = {(char *)(uintptr_t)opener, (char *)(uintptr_t)url, NULL};
	pid_t pid;
	return has_display() && posix_spawnp(&pid, opener, NULL, NULL, argv, environ) == 0;
}
