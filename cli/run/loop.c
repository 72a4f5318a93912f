/* Signals are blocked, and the main thread reads them from a descriptor. So no signal handler ever runs, and nothing has
 * to be safe within one. */
#include "cli/run/loop.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/common/command.h"
#include "cli/common/terminal.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* timeout(1) signals the process and then its group. Two signals that come together are one wish to stop. */
enum { AT_ONCE_MS = 300 };

static const struct {
	int signal;
	unsigned event;
} signals[] = {{SIGINT, LOOP_STOP}, {SIGTERM, LOOP_STOP}, {SIGHUP, LOOP_STOP}, {SIGCHLD, LOOP_CHILD}};

/* nohup(1) makes SIGHUP ignored, and annals keeps that. A shell makes SIGINT ignored for the background jobs of a script,
 * and annals does not keep that: a user who sends SIGINT to its pid, as CI does, wants it to stop. */
static bool is_unwanted(int number)
{
	struct sigaction inherited;
	return number == SIGHUP && sigaction(number, NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN;
}

/* A blocked signal comes through the descriptor only if it is not ignored, so all of them get their default action.
 * With SIGCHLD ignored, nobody could learn how a child ended. */
static void block_signals(sigset_t *ret)
{
	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (!is_unwanted(signals[i].signal)) {
			sigaddset(ret, signals[i].signal);
		}
	}
	pthread_sigmask(SIG_BLOCK, ret, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (!is_unwanted(signals[i].signal)) {
			signal(signals[i].signal, SIG_DFL);
		}
	}
	signal(SIGPIPE, SIG_IGN); /* a client that goes away is an error of write(2), not of the process */
}

int loop_init(struct loop *l, struct buf *err)
{
	sigset_t set;
	*l = LOOP_NONE;
	block_signals(&set);

	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	l->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->signal_fd < 0 || l->news_fd < 0) {
		int r = -errno;
		buf_printf(err, "cannot wait for signals: %s", strerror(-r));
		loop_done(l);
		return r;
	}
	return 0;
}

void loop_done(struct loop *l)
{
	if (l->signal_fd >= 0) {
		close(l->signal_fd);
	}
	if (l->news_fd >= 0) {
		close(l->news_fd);
	}
	if (l->parent_fd >= 0) {
		close(l->parent_fd);
	}
	*l = LOOP_NONE;
}

void loop_notify(const struct loop *l)
{
	assert(l->news_fd >= 0);
	eventfd_write(l->news_fd, 1);
}

void loop_take_keyboard(struct loop *l)
{
	l->has_keyboard = keyboard_is_ours();
}

/* pidfd_open(2) watches the parent process. PR_SET_PDEATHSIG is only for old kernels and containers without it: that
 * signal comes when the thread that started us ends, and threads of a test runner come and go. In a container the parent
 * may be invisible (0). A parent that ends during the call is replaced by another, so getppid() is asked again. */
void loop_watch_parent(struct loop *l)
{
	pid_t parent = getppid();
	if (parent == 0) {
		return;
	}
	l->parent_fd = (int)syscall(SYS_pidfd_open, parent, 0);
	if (l->parent_fd < 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	}
	if (getppid() != parent) {
		raise(SIGTERM); /* blocked: loop_wait() finds it */
	}
}

static unsigned take_signals(struct loop *l)
{
	struct signalfd_siginfo info;
	unsigned events = 0;
	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
			events |= info.ssi_signo == (uint32_t)signals[i].signal ? signals[i].event : 0;
		}
	}
	return events;
}

static bool is_another_stop(struct loop *l)
{
	int64_t now = clock_mono_ms();
	if (l->stopped_ms > 0 && now - l->stopped_ms < AT_ONCE_MS) {
		return false;
	}
	l->stopped_ms = now;
	return true;
}

unsigned loop_wait(struct loop *l, int64_t timeout_ms)
{
	assert(l->signal_fd >= 0 && l->news_fd >= 0 && timeout_ms >= -1);
	struct pollfd fds[] = {{.fd = l->signal_fd, .events = POLLIN}, {.fd = l->news_fd, .events = POLLIN},
		{.fd = l->has_keyboard ? STDIN_FILENO : -1, .events = POLLIN}, {.fd = l->parent_fd, .events = POLLIN}};
	eventfd_t count;
	poll(fds, ARRAY_SIZE(fds), (int)MIN(timeout_ms, (int64_t)INT32_MAX));
	unsigned events = take_signals(l);
	if (fds[3].revents) {
		close(l->parent_fd); /* reported once: a second stop would mean to hurry */
		l->parent_fd = -1;
		events |= LOOP_STOP;
	}
	if ((events & LOOP_STOP) && !is_another_stop(l)) {
		events &= ~(unsigned)LOOP_STOP;
	}
	if (eventfd_read(l->news_fd, &count) == 0) {
		events |= LOOP_NEWS;
	}
	if (fds[2].revents) {
		bool is_enter = false;
		l->has_keyboard = keyboard_read(&is_enter);
		events |= is_enter ? LOOP_ENTER : 0;
	}
	return events;
}

/* ---- the deadline of a process that ends ----
 *
 * A thread rather than alarm(2), so that the log says why the process ended. It calls _exit(), because exit() might wait
 * for the very thing that hangs. */

/* The thread's argument. It is static, since the thread outlives the call that starts it. */
static int64_t allowed_ms;

static void *keep_deadline(void *arg _unused_)
{
	struct timespec left = {.tv_sec = allowed_ms / 1000, .tv_nsec = allowed_ms % 1000 * 1000000};

	while (nanosleep(&left, &left)) {
	}
	log_warning("stop", "not over after %lld s: leaving all the same", (long long)(allowed_ms / 1000));
	_exit(EXIT_FAILED);
}

/* If no thread can be made, the kernel's alarm ends the process without a word. */
void deadline_start(int64_t drain_ms)
{
	pthread_t thread;

	assert(!allowed_ms); /* the thread of an earlier call would read it */
	allowed_ms = drain_ms + DEADLINE_CLOSING_MS;
	if (pthread_create(&thread, NULL, keep_deadline, NULL) == 0) {
		pthread_setname_np(thread, "deadline");
		pthread_detach(thread);
	} else {
		alarm((unsigned)(allowed_ms / 1000) + 1);
	}
}
