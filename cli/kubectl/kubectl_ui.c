/* Serves the page until it is told to stop. Signals only write to a descriptor, since threads of the
 * client are there already and any of them may get one. */
#include "cli/common/keyboard.h"
#include "cli/kubectl/page.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int stop_fd = -1;

static void on_signal(int number _unused_)
{
	const uint64_t one = 1;
	ssize_t n = write(stop_fd, &one, sizeof(one));
	(void)n; /* it can only be full, and then it says so already */
}

static int catch_signals(struct kubectl *k)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0) {
		return kubectl_fail(k, "cannot wait for signals: %s", strerror(errno));
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction old;
		/* nohup(1) has SIGHUP ignored, and means it. */
		if (sigaction(numbers[i], NULL, &old) || old.sa_handler != SIG_IGN || numbers[i] != SIGHUP) {
			sigaction(numbers[i], &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
		}
	}
	signal(SIGPIPE, SIG_IGN); /* a browser that goes away is an error of write(2), not of the process */
	return 0;
}

static void serve(struct page *p)
{
	struct pollfd fds[] = {
		{.fd = stop_fd, .events = POLLIN}, {.fd = keyboard_is_ours() ? STDIN_FILENO : -1, .events = POLLIN}};
	while (!(fds[0].revents & POLLIN)) {
		bool is_enter = false;
		if (poll(fds, ARRAY_SIZE(fds), -1) <= 0) {
			fds[0].revents = 0;
			continue;
		}
		if (fds[1].revents && !keyboard_read(&is_enter)) {
			fds[1].fd = -1;
		}
		if (is_enter) {
			page_print_link(p, false);
		}
	}
}

static int run(struct kubectl *k)
{
	struct page page = {0};
	if (catch_signals(k)) {
		return -1;
	}
	if (page_open(&page, k)) {
		buf_adds(&k->err, k->port ? ". Give another one with --port, or none for any that is free" : "");
		return -1;
	}
	fprintf(stderr, "The page is served until Ctrl-C. %s%s\n",
		k->may_write ? "It may undo and restore." : "It only shows; --write lets it undo and restore.",
		keyboard_is_ours() ? " Enter prints a new link, for another browser." : "");
	page_print_link(&page, !k->has_no_browser && isatty(STDOUT_FILENO));
	serve(&page);
	page_close(&page);
	return 0;
}

const struct kubectl_command kubectl_ui = {
	.name = "ui",
	.usage = "[flags]",
	.summary = "a page that shows what changed, in a browser",
	.description = "Serves a page on 127.0.0.1 and ::1 and opens it in a browser. The page shows changes as they happen,\n"
		       "the difference of two revisions, the pods of each revision, and the users of a Provider.\n\n"
		       "The page asks the API server as you. Its link is good for one browser, and the page is for you\n"
		       "alone.",
	.examples = "  # in the browser\n"
		    "  kubectl annals ui\n"
		    "  # where there is no browser, at a fixed port, and with undo\n"
		    "  kubectl annals ui --no-browser --port=8080 --write\n",
	.flags = "port,write,no-browser",
	.outputs = "text",
	.words = WORDS_NONE,
	.run = run,
};
