/* The link goes to the program that opens it as one argument, and no shell reads it. */
#include "cli/ui/ui.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void *wait_for(void *ctx)
{
	waitpid((pid_t)(intptr_t)ctx, NULL, 0);
	return NULL;
}

/* Somebody has to, or it stays as a zombie. */
static void wait_aside(pid_t pid)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, wait_for, (void *)(intptr_t)pid) == 0) {
		pthread_detach(thread);
	}
}

/* The browser gets no signal of our terminal, says nothing there, and handles signals as if we were not. */
static int spawn(pid_t *ret, char *const *argv)
{
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t files;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_init(&files);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	}
	int r = posix_spawnp(ret, opener, &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

bool browser_open(const char *url)
{
	char *argv[] = {(char *)(uintptr_t)opener, (char *)(uintptr_t)url, NULL};
	pid_t pid;
	if (!has_display() || spawn(&pid, argv)) {
		return false;
	}
	wait_aside(pid);
	return true;
}
