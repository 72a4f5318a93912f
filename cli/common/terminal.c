/* The user's terminal: a line of progress, colours, and the keyboard. */
#include "cli/common/terminal.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- progress ----
 *
 * The line is drawn ten times a second at most: otherwise a slow terminal would slow the work down. The rate is that
 * since the beginning, which jumps less than the rate of the last second. */

enum { EVERY_MS = 100, LINE_BYTES = 256 };

void progress_init(struct progress *p, const char *verb, const char *unit, uint64_t total)
{
	*p = (struct progress){.verb = verb, .unit = unit, .total = total, .began_ms = clock_mono_ms()};
	p->is_shown = isatty(STDERR_FILENO) == 1;
	p->next_ms = p->began_ms;
}

static void write_number(uint64_t n, struct buf *out)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	for (int i = 0; i < length; i++) {
		buf_addc(out, digits[i]);
		if ((length - i) % 3 == 1 && i + 1 < length) {
			buf_addc(out, ',');
		}
	}
}

static void write_left(uint64_t left, uint64_t rate, struct buf *out)
{
	char time[32];
	duration_format_human(time, (int64_t)((left + rate - 1) / rate));
	buf_printf(out, ", %s left", time);
}

void progress_write(const struct progress *p, int64_t elapsed_ms, struct buf *out)
{
	uint64_t rate = elapsed_ms > 0 ? p->done * 1000 / (uint64_t)elapsed_ms : 0;
	buf_printf(out, "%s ", p->verb);
	write_number(p->done, out);
	if (p->total) {
		buf_adds(out, " of ");
		write_number(p->total, out);
	}
	buf_printf(out, " %s", p->unit);
	if (p->total) {
		buf_printf(out, " (%d%%)", (int)(100.0 * (double)MIN(p->done, p->total) / (double)p->total));
	}
	if (rate) {
		buf_adds(out, ", ");
		write_number(rate, out);
		buf_adds(out, "/s");
	}
	if (rate && p->done < p->total) {
		write_left(p->total - p->done, rate, out);
	}
}

static void progress_draw(struct progress *p, int64_t now_ms)
{
	_cleanup_(buf_done) struct buf line;
	buf_init(&line, LINE_BYTES);
	progress_write(p, now_ms - p->began_ms, &line);
	fprintf(stderr, "\r%.*s\033[K", STR_ARG(buf_str(&line)));
	fflush(stderr);
	p->has_drawn = true;
	p->next_ms = now_ms + EVERY_MS;
}

void progress_add(struct progress *p, uint64_t n)
{
	p->done += n;
	if (p->is_shown) {
		int64_t now_ms = clock_mono_ms();
		if (now_ms >= p->next_ms) {
			progress_draw(p, now_ms);
		}
	}
}

void progress_clear(struct progress *p)
{
	if (p->has_drawn) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
		p->has_drawn = false;
	}
}

/* ---- colours ---- */

int colour_check(const char *mode, struct buf *err)
{
	static const char *const modes[] = {COLOUR_AUTO, "always", "never"};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(mode, modes[i]) == 0) {
			return 0;
		}
	}
	buf_printf(err, "--color must be auto, always or never");
	return -EINVAL;
}

/* https://no-color.org: $NO_COLOR turns colours off if it is not empty. The flag --color has precedence over it. */
bool colour_is_wanted(const char *mode, FILE *out)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
	if (strcmp(mode, COLOUR_AUTO) != 0) {
		return strcmp(mode, "always") == 0;
	}
	return isatty(fileno(out)) && !(none && *none) && !(terminal && strcmp(terminal, "dumb") == 0);
}

/* ---- the keyboard ----
 *
 * By read(2) rather than stdio: it takes one line, as the terminal gives it, and keeps nothing for later. */

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
