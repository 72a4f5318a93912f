/* A thread and not alarm(2) alone: the log shall say why the process ended. It calls _exit(),
 * because whatever hangs might hold what exit() waits for. */
#include "cli/run/deadline.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/common/command.h"

#include <pthread.h>
#include <unistd.h>

/* The thread's argument; static, since the thread outlives the call that starts it. */
static int64_t allowed_ms;

static void *keep_deadline(void *arg _unused_)
{
	struct timespec left = {.tv_sec = allowed_ms / 1000, .tv_nsec = allowed_ms % 1000 * 1000000};

	while (nanosleep(&left, &left)) {
	}
	log_warning("stop", "not over after %lld s: leaving all the same", (long long)(allowed_ms / 1000));
	_exit(EXIT_FAILED);
}

/* Where there is no thread to be had the kernel's alarm ends the process, without a word. */
void deadline_start(int64_t drain_ms)
{
	pthread_t thread;

	allowed_ms = drain_ms + DEADLINE_CLOSING_MS;
	if (pthread_create(&thread, NULL, keep_deadline, NULL) == 0) {
		pthread_detach(thread);
	} else {
		alarm((unsigned)(allowed_ms / 1000) + 1);
	}
}
