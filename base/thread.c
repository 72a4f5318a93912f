/* Apart from base.c since it logs: whoever runs out of threads should read why, and which limit
 * to raise. */
#include "base/thread.h"

#include "base/log.h"

#include <stdlib.h>
#include <unistd.h>

void thread_must_start(pthread_t *ret, const char *name, void *(*run)(void *ctx), void *ctx)
{
	int r = pthread_create(ret, NULL, run, ctx);

	if (r) {
		log_error("threads", "cannot start a thread for %s: %s; is there a limit of processes or of memory (ulimit -u, -v)?",
			name, strerror(r));
		_exit(EXIT_FAILURE); /* other threads run: nothing can be taken down in order */
	}
	pthread_setname_np(*ret, name);
}
