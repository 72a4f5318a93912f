/* Whole files (certificates, tokens, policies), and files that are read again when they change. The
 * caller's buffer bounds all sizes, so a file that grows while it is read does no harm. */
#include "base/file.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/watched_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 4096 };

int file_read(int fd, struct buf *out)
{
	char part[READ_SIZE];
	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));
		if (n == 0) {
			return 0;
		}
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0 && !buf_add(out, part, (size_t)n)) {
			return -EFBIG;
		}
	}
}

int file_read_path(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	int r = file_read(fd, out);
	close(fd);
	return r;
}

int file_write(int fd, struct str text)
{
	while (text.n > 0) {
		ssize_t n = write(fd, text.p, text.n);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0) {
			text.p += n;
			text.n -= (size_t)n;
		}
	}
	return 0;
}

void file_stamp_look(const char *path, struct file_stamp *ret)
{
	struct stat st;
	*ret = (struct file_stamp){0};
	/* stat, not lstat: Kubernetes mounts secrets through links, and swaps the directory that
	 * one of them names. */
	if (stat(path, &st) == 0) {
		ret->device = st.st_dev;
		ret->inode = st.st_ino;
		ret->size = st.st_size;
		ret->written = st.st_mtim;
		ret->changed = st.st_ctim;
	}
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool file_stamp_eq(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->inode == b->inode && a->device == b->device && a->size == b->size && is_same_time(a->written, b->written) &&
		is_same_time(a->changed, b->changed);
}

/* ---- watched files ---- */

/* Files are looked at, not watched by inotify: an event for a mounted secret names a link that is
 * swapped, and a lost event would leave an old token in force. A look is one stat(2) a second, made
 * by a thread that is at work anyway.
 *
 * The lock is only tried, never waited for: nobody waits for a disk because another thread is
 * looking. It guards `seen` and keeps load() to one at a time; no other lock is taken before load()
 * is called. */

/* A second is as soon as an administrator notices. The ceiling is far beyond any file of tokens,
 * and keeps a wrong path from being read into memory whole. */
enum { LOOK_EVERY_MS = 1000, FILE_MAX = 4 * 1024 * 1024 };

/* Notes the file's stamp before reading it, whether or not it can be read. A change during the read
 * is therefore noticed at the next look. */
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
	assert(path && load);
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

static void watched_file_look(struct watched_file *f)
{
	assert_locked(&f->lock);
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
	watched_file_look(f);
	pthread_mutex_unlock(&f->lock);
}
