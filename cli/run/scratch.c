/* A process that is killed cannot remove anything. So a second process, the remover, waits at a pipe until the first is
 * gone, and then removes the directory. If both are killed, as with a container, the next start finds the directory: it
 * is old, and nobody has locked it. */
#include "cli/run/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "annals-ephemeral."

enum {
	OPEN_FILES = 16, /* of nftw(3): deeper trees cost it time */
	TRIES = 500,     /* of the remover, while an etcd that is being killed still writes */
	PAUSE_MS = 20,
	SETTLED_S = 60, /* a directory as old as that has been locked, unless its process is gone */
};

struct scratch {
	char *path;
	int alive_fd; /* closed by the kernel when the process ends; -1: there is no remover */
	pid_t remover;
};

static int remove_entry(const char *path, const struct stat *st _unused_, int type _unused_, struct FTW *ftw _unused_)
{
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static bool tree_is_removed(const char *path)
{
	nftw(path, remove_entry, OPEN_FILES, FTW_DEPTH | FTW_PHYS);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

/* ---- directories that others have left ---- */

/* The kernel gives a lock back when its process ends. */
static bool is_left_over(int parent_fd, const char *name)
{
	struct stat st;
	_cleanup_(mem_freep) char *lock = mem_printf("%s/lock", name);
	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		time(NULL) - st.st_mtime < SETTLED_S) {
		return false;
	}
	int fd = openat(parent_fd, lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		return errno == ENOENT;
	}
	bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return is_free;
}

static void remove_left_overs(const char *parent)
{
	DIR *dir = opendir(parent);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (str_starts(str_of(entry->d_name), STR(PREFIX)) && is_left_over(dirfd(dir), entry->d_name)) {
			_cleanup_(mem_freep) char *path = mem_printf("%s/%s", parent, entry->d_name);
			tree_is_removed(path);
		}
	}
	if (dir) {
		closedir(dir);
	}
}

/* ---- the remover ---- */

enum { GONE_FD = STDERR_FILENO + 1 };

/* A reader that waits for the end of annals' output must not wait for the remover. Old kernels and containers refuse
 * close_range(2), so it is closefrom(3). */
static void leave_files(int but_fd)
{
	dup2(but_fd, GONE_FD);
	int null_fd = open("/dev/null", O_RDWR);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null_fd >= 0; fd++) {
		dup2(null_fd, fd);
	}
	closefrom(GONE_FD + 1);
}

/* The remover has a session of its own, so that neither Ctrl-C nor a signal to the group reaches it. Signals have been
 * blocked since before the fork. */
static _noreturn_ void remover_run(const char *path, int gone_fd)
{
	char byte;
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
	setsid();
	prctl(PR_SET_NAME, "annals-remover");
	leave_files(gone_fd);
	while (read(GONE_FD, &byte, 1) < 0 && errno == EINTR) {
	}
	for (unsigned i = 0; i < TRIES && !tree_is_removed(path); i++) {
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

static int start_remover(struct scratch *s)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0) {
		return -errno;
	}
	s->remover = fork();
	if (s->remover == 0) {
		close(ends[1]);
		remover_run(s->path, ends[0]);
	}
	int r = s->remover < 0 ? -errno : 0;
	close(ends[0]);
	s->alive_fd = ends[1];
	return r;
}

/* ---- its life ---- */

static int make_folder(struct scratch *s)
{
	const char *parent = getenv("TMPDIR");
	parent = parent && parent[0] == '/' ? parent : "/tmp";
	remove_left_overs(parent);
	s->path = mem_printf("%s/" PREFIX "XXXXXX", parent);
	return mkdtemp(s->path) ? 0 : -errno;
}

int scratch_new(struct scratch **ret, struct buf *err)
{
	struct scratch *s = mem_new(struct scratch);
	s->alive_fd = -1;
	s->remover = -1;
	int r = make_folder(s);
	if (r) {
		buf_printf(err, "cannot make the directory %s: %s. $TMPDIR names another place", s->path, strerror(-r));
		s->path = mem_free(s->path);
	} else if ((r = start_remover(s))) {
		buf_printf(err, "cannot start a process: %s", strerror(-r));
	}
	if (r) {
		scratch_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct scratch *scratch_free(struct scratch *s)
{
	if (!s) {
		return NULL;
	}
	if (s->path) {
		tree_is_removed(s->path);
	}
	if (s->alive_fd >= 0) {
		close(s->alive_fd);
	}
	if (s->remover > 0) {
		waitpid(s->remover, NULL, 0);
	}
	mem_free(s->path);
	return mem_free(s);
}

const char *scratch_path(const struct scratch *s)
{
	return s->path;
}
