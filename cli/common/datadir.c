/* The folder keeps private keys, so nobody but its owner may write to it, and only one process at a time. The lock is by
 * flock() rather than a file with a pid: the kernel gives it back however the process ends. */
#include "cli/common/datadir.h"

#include "base/base64.h"
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a certificate or key of the data directory; with a longer file the command fails. */
enum { ENCODED_MAX = 256 * 1024 };

static int refuse(struct buf *err, int r, const char *format, ...) _printf_(3, 4);
static int refuse(struct buf *err, int r, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(err, format, ap);
	va_end(ap);
	return r;
}

/* ---- the place ---- */

static char *home(void)
{
	const char *dir = getenv("HOME");
	if (!dir || dir[0] != '/') {
		const struct passwd *user = getpwuid(getuid());
		dir = user ? user->pw_dir : "/";
	}
	return mem_strdup(dir);
}

/* The XDG base directory specification: a relative $XDG_DATA_HOME does not count. */
char *datadir_default(void)
{
	const char *xdg = getenv("XDG_DATA_HOME");
	if (xdg && xdg[0] == '/') {
		return mem_printf("%s/annals", xdg);
	}
	_cleanup_(mem_freep) char *dir = home();
	return mem_printf("%s/.local/share/annals", dir);
}

static int make_path(const char *path)
{
	_cleanup_(mem_freep) char *part = mem_strdup(path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST) {
			return -errno;
		}
		*slash = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* ---- owner and lock ---- */

static int check_owner(const struct datadir *d, struct buf *err)
{
	struct stat st;
	if (fstat(d->fd, &st) < 0) {
		return refuse(err, -errno, "cannot look at %s: %s", d->path, strerror(errno));
	}
	if (st.st_uid != geteuid()) {
		return refuse(
			err, -EPERM, "%s belongs to another user (uid %u): give a directory of your own", d->path, st.st_uid);
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		return refuse(err, -EPERM,
			"%s can be written by others (mode %04o), and keys are kept there: chmod 0700 it, or give another "
			"directory",
			d->path, st.st_mode & 07777U);
	}
	return 0;
}

static long locker(int fd)
{
	char text[32] = "";
	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

static int refuse_locked(const struct datadir *d, struct buf *err)
{
	char who[48] = "";
	long pid = locker(d->lock_fd);
	if (pid > 0) {
		snprintf(who, sizeof(who), " (pid %ld)", pid);
	}
	return refuse(err, -EBUSY, "another annals%s is using %s: stop it, or give another directory", who, d->path);
}

static int take_lock(struct datadir *d, struct buf *err)
{
	d->lock_fd = openat(d->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0) {
		return refuse(err, -errno, "cannot make %s/lock: %s", d->path, strerror(errno));
	}
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		return errno == EWOULDBLOCK ? refuse_locked(d, err)
					    : refuse(err, -errno, "cannot lock %s/lock: %s", d->path, strerror(errno));
	}
	if (ftruncate(d->lock_fd, 0) < 0 || dprintf(d->lock_fd, "%ld\n", (long)getpid()) < 0) {
		return refuse(err, -errno, "cannot write %s/lock: %s", d->path, strerror(errno));
	}
	return 0;
}

/* ---- life ---- */

static int open_folder(struct datadir *d, const char *path, struct buf *err)
{
	int r = make_path(path);
	if (!r) {
		d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = d->fd < 0 ? -errno : 0;
	}
	char *absolute = r ? NULL : realpath(path, NULL);
	if (!absolute) {
		r = r ? r : -errno;
		return refuse(err, r, "cannot make the directory %s: %s", path, strerror(-r));
	}
	d->path = absolute;
	return 0;
}

int datadir_open(struct datadir *d, const char *path, struct buf *err)
{
	*d = (struct datadir){.fd = -1, .lock_fd = -1};
	int r = open_folder(d, path, err);
	if (!r) {
		r = check_owner(d, err);
	}
	return r ? r : take_lock(d, err);
}

static void close_fd(int *fd)
{
	if (*fd >= 0) {
		close(*fd);
	}
	*fd = -1;
}

void datadir_done(struct datadir *d)
{
	close_fd(&d->lock_fd);
	close_fd(&d->fd);
	d->path = mem_free(d->path);
}

bool datadir_is_plain(const struct datadir *d)
{
	return d->path[strspn(d->path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")] == '\0';
}

/* ---- files ---- */

char *datadir_file(const struct datadir *d, const char *name)
{
	return mem_printf("%s/%s", d->path, name);
}

int datadir_read(const struct datadir *d, const char *name, struct buf *out)
{
	assert(d->fd >= 0);
	/* Through the open folder, and without links: so the file is in the folder that was checked. */
	int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		return -errno;
	}
	int r = file_read(fd, out);
	close(fd);
	return r;
}

int datadir_encode(const struct datadir *d, const char *name, char **ret, struct buf *err)
{
	struct buf text;
	buf_init(&text, ENCODED_MAX);
	int r = datadir_read(d, name, &text);
	if (r) {
		refuse(err, r, "cannot read %s/%s: %s", d->path, name, strerror(-r));
	} else {
		size_t n = BASE64_SIZE(text.n);
		*ret = mem_alloc(n + 1);
		base64_encode(*ret, buf_str(&text));
		(*ret)[n] = '\0';
	}
	buf_done(&text);
	return r;
}

static int write_new(const struct datadir *d, const char *name, struct str text, mode_t mode)
{
	unlinkat(d->fd, name, 0); /* a process that died may have left it; the lock keeps living ones away */
	int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0) {
		return -errno;
	}
	int r = file_write(fd, text);
	if (!r && !d->is_fleeting && fsync(fd) < 0) {
		r = -errno;
	}
	close(fd);
	return r;
}

int datadir_write(const struct datadir *d, const char *name, struct str text, mode_t mode, struct buf *err)
{
	assert(d->fd >= 0 && d->lock_fd >= 0); /* it is ours alone */
	_cleanup_(mem_freep) char *temporary = mem_printf("%s.new", name);
	assert(d->fd >= 0 && d->lock_fd >= 0); /* only who has locked the folder writes into it */
	int r = write_new(d, temporary, text, mode);
	if (!r && (renameat(d->fd, temporary, d->fd, name) < 0 || (!d->is_fleeting && fsync(d->fd) < 0))) {
		r = -errno;
	}
	return r ? refuse(err, r, "cannot write %s/%s: %s", d->path, name, strerror(-r)) : 0;
}

int datadir_make(const struct datadir *d, const char *name, struct buf *err)
{
	if ((mkdirat(d->fd, name, 0700) < 0 && errno != EEXIST) || fchmodat(d->fd, name, 0700, 0) < 0) {
		return refuse(err, -errno, "cannot make %s/%s: %s", d->path, name, strerror(errno));
	}
	return 0;
}
