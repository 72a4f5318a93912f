/* The events that the main thread waits for: signals, the keyboard, and news from other threads. */
#ifndef CLI_RUN_LOOP_H
#define CLI_RUN_LOOP_H

#include "base/base.h"
#include "base/buf.h"

struct loop {
	int signal_fd, news_fd;
	int64_t stopped_ms; /* monotonic: the last LOOP_STOP; 0: none yet */
	bool has_keyboard;  /* loop_wait() also waits for Enter */
	int parent_fd;      /* of the process whose end ends us; -1: none */
};

#define LOOP_NONE ((struct loop){.signal_fd = -1, .news_fd = -1, .parent_fd = -1})

enum {
	LOOP_NEWS = 1 << 0,  /* loop_notify() was called */
	LOOP_STOP = 1 << 1,  /* SIGINT, SIGTERM or SIGHUP; several at once are one: timeout(1), for example, sends two */
	LOOP_CHILD = 1 << 2, /* a child process has ended */
	LOOP_ENTER = 1 << 3, /* was pressed; only after loop_take_keyboard() */
};

/* Blocks these signals for all threads that are started later, so call it before the first one. A SIGHUP that was
 * ignored at the start stays ignored. 0, or -errno with a sentence in err. */
int loop_init(struct loop *l, struct buf *err);
void loop_done(struct loop *l);
/* From now on Enter is LOOP_ENTER, if standard input is a terminal and annals is in its foreground. */
void loop_take_keyboard(struct loop *l);
/* From now on the end of the process that started us is a LOOP_STOP. Where the kernel cannot report it, it sends SIGTERM. */
void loop_watch_parent(struct loop *l);
void loop_notify(const struct loop *l); /* any thread, any time */
/* Returns LOOP_*; 0 when timeout_ms have passed. -1: no time-out. */
unsigned loop_wait(struct loop *l, int64_t timeout_ms);

/* The time that closing may take after draining: connections that are cut, logs, an etcd of our own. */
#define DEADLINE_CLOSING_MS 40000

/* Ends the process with EXIT_FAILED and a line in the log, unless it has ended within drain_ms and
 * DEADLINE_CLOSING_MS. So nobody has to kill a process that hangs. Call it once in a process. */
void deadline_start(int64_t drain_ms);

#endif
