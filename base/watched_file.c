/* Looking rather than inotify: an event for a mounted secret names a link that is swapped, and a
 * lost event would leave an old token in force. A look is one stat(2) a second, made by a thread
 * that is at work anyway.
 *
 * The lock is only tried, never waited for: nobody waits for a disk because another is looking.
 * It guards `seen` and keeps load() to one at a time; no other lock is taken before load() is
 * called. */
#include "base/watched_file.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A second is as soon as an administrator notices. The ceiling is far beyond any file of tokens,
 * and keeps a wrong path from being read into memory whole. */
enum { LOOK_EVERY_MS = 1000, FILE_MAX = 4 * 1024 * 1024 };

/* What is there is noted before it is read, by its name, whether it can be read or not: a change meanwhile is noticed at the next look. */
static int read_and_note(struct watched_file *f, struct buf *text)
{
	struct stat st;
	file_stamp_look(f->path, &f->seen);
	/* O_NONBLOCK: opening a FIFO would wait for its writer, on a thread that serves
	 * requests. */
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return -errno;
	}

	int r = fstat(fd, &st) < 0 ? -errno : 0;
	if (!r && !S_ISREG(st.st_mode)) {
		r = -EINVAL;
	}
	if (!r) {
		r = file_read(fd, text);
	}
	close(fd);
	return r;
}

static int file_load(struct watched_file *f, struct buf *err)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, FILE_MAX);
	int r = read_and_note(f, &text);
	if (r) {
		buf_printf(err, "cannot read %s: %s", f->path, strerror(-r));
		return r;
	}
	return f->load(f->ctx, buf_str(&text), err);
}

int watched_file_init(struct watched_file *f, const char *path, int (*load)(void *ctx, struct str text, struct buf *err),
	void *ctx, struct reload_hook hook, struct buf *err)
{
	*f = (struct watched_file){.path = mem_strdup(path), .load = load, .ctx = ctx, .hook = hook};
	pthread_mutex_init(&f->lock, NULL);
	atomic_init(&f->next_look_ms, clock_mono_ms() + LOOK_EVERY_MS);
	return file_load(f, err);
}

void watched_file_done(struct watched_file *f)
{
	if (f->path) {
		pthread_mutex_destroy(&f->lock);
		f->path = mem_free(f->path);
	}
}

static bool has_changed(const struct watched_file *f)
{
	struct file_stamp now;
	file_stamp_look(f->path, &now);
	return !file_stamp_eq(&now, &f->seen);
}

static void look(struct watched_file *f)
{
	if (!has_changed(f)) {
		return;
	}
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	int r = file_load(f, &err);
	if (f->hook.report) {
		f->hook.report(f->hook.ctx, f->path, r ? err.p : NULL);
	}
}

void watched_file_poll(struct watched_file *f)
{
	if (!f->path) {
		return;
	}
	int64_t now = clock_mono_ms();
	if (now < atomic_load_explicit(&f->next_look_ms, memory_order_relaxed) || pthread_mutex_trylock(&f->lock) != 0) {
		return;
	}
	atomic_store_explicit(&f->next_look_ms, now + LOOK_EVERY_MS, memory_order_relaxed);
	look(f);
	pthread_mutex_unlock(&f->lock);
}
