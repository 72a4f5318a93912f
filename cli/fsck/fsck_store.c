/* The etcd of `annals up` listens only on a socket in its directory. If it runs, fsck connects
 * to it there. If not, fsck starts it under the directory's lock, so no `annals up` can begin
 * meanwhile. */
#include "cli/fsck/fsck_store.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "cli/common/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

/* Returns true if the process ends within the time. */
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

/* ---- which store ---- */

void data_flags_init(struct data_flags *f)
{
	*f = (struct data_flags){0};
	etcd_flags_init(&f->etcd_flags);
}

void data_flags_done(struct data_flags *f)
{
	etcd_flags_done(&f->etcd_flags);
}

size_t data_flags_rows(struct data_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Data directory"),
		FLAG("data-dir", OPTION_STRING, &f->data_dir, "DIR",
			"The directory of an `annals up`; by default the one that `annals up` takes. Its etcd is started "
			"where it does not run."),
		FLAG("etcd", OPTION_STRING, &f->etcd, "PATH", "The etcd to start; the one in $PATH by default."),
	};
	_Static_assert(ARRAY_SIZE(rows) + ETCD_FLAGS_MAX <= DATA_FLAGS_MAX, "tables must have room for all");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows) + etcd_flags_rows(&f->etcd_flags, ret + ARRAY_SIZE(rows));
}

int data_flags_check(const struct data_flags *f, struct buf *err)
{
	if (f->etcd_flags.servers.n && f->data_dir) {
		return command_refuse(err, "--etcd-servers and --data-dir do not go together: give one of them");
	}
	if (f->etcd && f->etcd_flags.servers.n) {
		return command_refuse(err, "--etcd goes with --data-dir");
	}
	return etcd_flags_check(&f->etcd_flags, err);
}

static int open_default(const struct data_flags *f, struct fsck_store *ret, struct buf *err)
{
	_cleanup_(mem_freep) char *dir = datadir_default();
	_cleanup_(mem_freep) char *data = mem_printf("%s/etcd", dir);
	if (access(data, F_OK) == 0) {
		return fsck_store_open_dir(ret, dir, f->etcd, err);
	}
	fsck_store_init(ret);
	buf_printf(err,
		"there is no store in %s, the directory that annals up takes by default. Run annals up first, or give "
		"--data-dir or --etcd-servers",
		dir);
	return -ENOENT;
}

int data_flags_open(const struct data_flags *f, struct fsck_store *ret, struct buf *err)
{
	if (f->etcd_flags.servers.n) {
		const struct storage_etcd_options options = etcd_flags_options(&f->etcd_flags);
		return fsck_store_open(ret, &options, err);
	}
	return f->data_dir ? fsck_store_open_dir(ret, f->data_dir, f->etcd, err) : open_default(f, ret, err);
}

/* ---- pages ---- */

/* The size of values is not known beforehand, so each page is sized by the bytes of the one before: answers stay small. */
enum {
	PAGE_FIRST = 64, /* keys; it shows how large values are */
	PAGE_MAX = 512,  /* keys of a page: small objects must not make it long */
	PAGE_BYTES = 1 << 20,
	KEY_MAX_BYTES = 64 << 20,
};

static int64_t next_limit(const struct storage_range *r)
{
	size_t bytes = 1;
	for (size_t i = 0; i < r->n_kvs; i++) {
		bytes += r->kvs[i].value.n;
	}
	int64_t fitting = (int64_t)(PAGE_BYTES * r->n_kvs / bytes);
	return MIN(MAX(fitting, (int64_t)1), (int64_t)PAGE_MAX);
}

int store_range_fail(const struct storage_range *r, int64_t revision, struct buf *err)
{
	if (r->op.result == STORAGE_COMPACTED) {
		buf_printf(err, "etcd has compacted revision %" PRId64 " while it was read: run again", revision);
	} else {
		buf_printf(err, "cannot read etcd: %s", r->op.message);
	}
	return -EIO;
}

int store_pages_each(struct storage *storage, struct str key, struct str end, int64_t *revision, store_page_fn *visit,
	void *ctx, struct buf *err)
{
	_cleanup_(buf_done) struct buf last;
	int64_t limit = PAGE_FIRST;
	bool has_more = true;
	int error = 0;
	buf_init(&last, KEY_MAX_BYTES);
	while (has_more && !error) {
		struct storage_range r = {.key = key, .range_end = end, .limit = limit, .at_revision = *revision};
		if (storage_range_wait(storage, &r) == STORAGE_OK) {
			*revision = *revision ? *revision : r.op.revision;
			error = visit(ctx, &r);
		} else {
			error = store_range_fail(&r, *revision, err);
		}
		has_more = !error && r.has_more && r.n_kvs > 0;
		if (has_more) { /* the next begins right behind the last key of this one */
			limit = next_limit(&r);
			buf_clear(&last);
			buf_add_str(&last, r.kvs[r.n_kvs - 1].key);
			buf_addc(&last, '\0');
			key = buf_str(&last);
		}
		storage_op_clear(&r.op);
	}
	return error;
}
