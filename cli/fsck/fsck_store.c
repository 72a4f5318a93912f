/* The etcd of `annals up` listens on a socket of its directory only. If it runs it is joined
 * there. If not, it is started here under the directory's lock, so no `annals up` can begin
 * meanwhile. */
#include "cli/fsck/fsck_store.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum {
	/* etcd replays its log before it answers, which takes long on a slow disk. */
	START_MS = 60 * 1000,
	STOP_MS = 10 * 1000,
	TRY_MS = 50,
};

void fsck_store_init(struct fsck_store *s)
{
	*s = (struct fsck_store){.dir = {.fd = -1, .lock_fd = -1}, .folder_fd = -1};
}

int fsck_store_open(struct fsck_store *s, const struct storage_etcd_options *options, struct buf *err)
{
	fsck_store_init(s);
	return storage_etcd_new(&s->storage, options, err);
}

static int connect_to(struct fsck_store *s, const char *endpoint, struct buf *err)
{
	return storage_etcd_new(&s->storage, &(struct storage_etcd_options){.endpoints = &endpoint, .n_endpoints = 1}, err);
}

/* Through a descriptor of the folder: a socket's address has room for 107 characters. */
static int join_running(struct fsck_store *s, const char *dir, struct buf *err)
{
	_cleanup_(mem_freep) char *folder = mem_printf("%s/etcd", dir);
	s->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->folder_fd < 0) {
		buf_printf(err, "cannot open %s: %s", folder, strerror(errno));
		return -errno;
	}
	_cleanup_(mem_freep) char *endpoint = mem_printf("unix:///proc/self/fd/%d/client:0", s->folder_fd);
	return connect_to(s, endpoint, err);
}

/* True when the process has ended before the time has passed. */
static bool ends_within(struct fsck_store *s, int pid_fd, int64_t ms, struct buf *why)
{
	struct pollfd ended = {.fd = pid_fd, .events = POLLIN};
	return poll(&ended, 1, (int)ms) > 0 && etcd_child_has_ended(s->child, why);
}

static bool does_answer(struct fsck_store *s)
{
	struct storage_status status = {.op = {.timeout_ms = TRY_MS * 10}};
	bool is_well = storage_status_wait(s->storage, &status) == STORAGE_OK && status.leader != 0;
	storage_op_clear(&status.op);
	return is_well;
}

static int wait_for_answer(struct fsck_store *s, struct buf *err)
{
	int64_t until_ms = clock_mono_ms() + START_MS;
	int pid_fd = pidfd_open(etcd_child_pid(s->child), 0), r = 0;
	while (!r && !does_answer(s)) {
		if (ends_within(s, pid_fd, TRY_MS, err)) {
			r = -ECHILD;
		} else if (clock_mono_ms() > until_ms) {
			buf_printf(err, "etcd does not come up; what it does is in %s/etcd.log", s->dir.path);
			r = -ETIMEDOUT;
		}
	}
	close(pid_fd);
	return r;
}

/* etcd first: it is forked off before there are threads to think of. */
static int start_own(struct fsck_store *s, const char *etcd, struct buf *err)
{
	int r = etcd_child_new(&s->child, &s->dir, etcd, err);
	r = r ? r : etcd_child_start(s->child, err);
	r = r ? r : connect_to(s, etcd_child_endpoint(s->child), err);
	return r ? r : wait_for_answer(s, err);
}

int fsck_store_open_dir(struct fsck_store *s, const char *dir, const char *etcd, struct buf *err)
{
	_cleanup_(mem_freep) char *data = mem_printf("%s/etcd", dir);
	struct buf why;
	fsck_store_init(s);
	if (access(data, F_OK) < 0) {
		buf_printf(err,
			"%s is no directory of an annals up with an etcd of its own: there is no %s. If that annals up was "
			"given --etcd-servers, give them here, too",
			dir, data);
		return -ENOENT;
	}
	buf_init(&why, 4096);
	int r = datadir_open(&s->dir, dir, &why);
	if (r == -EBUSY) {
		r = join_running(s, dir, err);
	} else if (r) {
		buf_add_str(err, buf_str(&why));
	} else {
		r = start_own(s, etcd, err);
	}
	buf_done(&why);
	return r;
}

static void stop_own(struct fsck_store *s)
{
	struct buf ignored;
	buf_init(&ignored, 64 * 1024);
	if (etcd_child_pid(s->child) > 0) {
		int pid_fd = pidfd_open(etcd_child_pid(s->child), 0);
		etcd_child_stop(s->child, false);
		ends_within(s, pid_fd, STOP_MS, &ignored);
		close(pid_fd);
	}
	buf_done(&ignored);
}

void fsck_store_done(struct fsck_store *s)
{
	if (s->storage) {
		storage_free(s->storage);
		storage_etcd_shutdown();
	}
	if (s->child) {
		stop_own(s);
		etcd_child_free(s->child);
	}
	if (s->folder_fd >= 0) {
		close(s->folder_fd);
	}
	datadir_done(&s->dir);
	fsck_store_init(s);
}
