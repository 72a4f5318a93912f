/* What the main thread waits for: signals, and news from other threads. */
#ifndef CLI_RUN_LOOP_H
#define CLI_RUN_LOOP_H

#include "base/buf.h"

struct loop {
	int signal_fd, news_fd;
	int64_t stopped_ms; /* monotonic: the last LOOP_STOP; 0: none yet */
	bool has_keyboard;  /* what is typed is waited for, too */
	int parent_fd;      /* of the process whose end ends us; -1: none */
};

#define LOOP_NONE ((struct loop){.signal_fd = -1, .news_fd = -1, .parent_fd = -1})

enum {
	LOOP_NEWS = 1 << 0,  /* loop_notify() was called */
	LOOP_STOP = 1 << 1,  /* SIGINT, SIGTERM or SIGHUP; several at once are one: timeout(1), for example, sends two */
	LOOP_CHILD = 1 << 2, /* a child process has ended */
	LOOP_ENTER = 1 << 3, /* was pressed; only after loop_take_keyboard() */
};

/* Takes these signals away from everybody else, but for those we were started to ignore: before the first thread is
 * started. 0, or -errno with a sentence in err. */
int loop_init(struct loop *l, struct buf *err);
void loop_done(struct loop *l);
/* From now on, where standard input is a terminal and ours. */
void loop_take_keyboard(struct loop *l);
/* From now on the end of the process that started us is a LOOP_STOP. Where the kernel cannot tell of it, it sends SIGTERM. */
void loop_watch_parent(struct loop *l);
void loop_notify(const struct loop *l); /* any thread, any time */
/* Returns LOOP_*; 0 when timeout_ms have passed. -1: no time-out. */
unsigned loop_wait(struct loop *l, int64_t timeout_ms);

#endif
