/* The audit log: its counters, its queue and its files. Upstream audits nothing unless it has
 * both a policy and a log. Without them there is no struct audit, so callers check one pointer.
 * Counters are atomic, and the log has its own queue: requests take no lock here. */
#include "server/audit/audit.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/file.h"
#include "base/line_queue.h"
#include "server/audit/audit_file.h"
#include "server/audit/audit_log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes. LINE_USUAL: of an event without bodies, so that a buffer need not grow. */
enum { POLICY_FILE_MAX = 1024 * 1024, LINE_USUAL = 1024 };

struct audit {
	struct audit_policy *policy;
	struct audit_log *log;
	size_t max_event;
	_Atomic uint64_t n_events, n_rejected, n_levels[AUDIT_LEVELS];
};

/* ---- lifetime ---- */

static int read_policy(struct audit *a, const char *path, struct buf *err)
{
	_cleanup_(buf_done) struct buf text, why;

	buf_init(&text, POLICY_FILE_MAX);
	buf_init(&why, 64 * 1024);
	int r = file_read_path(path, &text);
	if (r) {
		buf_printf(err, "cannot read the audit policy file %s: %s", path, strerror(-r));
		return r;
	}
	r = audit_policy_parse(&a->policy, buf_str(&text), &why);
	if (r) {
		buf_printf(err, "audit policy file %s: " STR_FMT, path, STR_ARG(buf_str(&why)));
	}
	return r;
}

int audit_new(struct audit **ret, const struct audit_options *options, struct buf *err)
{
	struct audit *a = mem_new(struct audit);
	bool is_on = options->policy_file && options->log.file.path;
	int r = options->policy_file ? read_policy(a, options->policy_file, err) : 0;

	a->max_event = options->truncates ? (size_t)MIN(options->max_event_bytes, (int64_t)AUDIT_EVENT_MAX) : AUDIT_EVENT_MAX;
	if (!r && is_on) {
		r = audit_log_new(&a->log, &options->log, err);
	}
	if (r || !is_on) {
		audit_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void audit_flush(struct audit *a, int64_t until_ms)
{
	audit_log_flush(a->log, until_ms);
}

struct audit *audit_free(struct audit *a)
{
	if (a) {
		audit_log_free(a->log);
		audit_policy_free(a->policy);
		mem_free(a);
	}
	return NULL;
}

/* ---- metrics ---- */

static uint64_t count_of(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void write_vector(struct buf *out, const char *name, const char *help, const char *label, const char *const *values,
	_Atomic uint64_t *counts, size_t n)
{
	bool has_header = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t count = count_of(&counts[i]);
		if (count == 0) {
			continue;
		}
		if (!has_header) {
			exposition_head(out, name, "counter", help);
			has_header = true;
		}
		buf_printf(out, "%s{%s=\"%s\"} %llu\n", name, label, values[i], (unsigned long long)count);
	}
}

void audit_write_metrics(struct audit *a, struct buf *out)
{
	static const char *const plugins[] = {"log"};
	_Atomic uint64_t lost = a ? audit_log_lost(a->log) : 0;

	if (a) {
		write_vector(out, "apiserver_audit_error_total",
			"[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin "
			"affected by "
			"the error.",
			"plugin", plugins, &lost, 1);
		write_vector(out, "apiserver_audit_level_total",
			"[ALPHA] Counter of policy levels for audit events (1 per request).", "level", audit_level_names,
			a->n_levels, AUDIT_LEVELS);
	}
	exposition_counter(out, "apiserver_audit_event_total",
		"[ALPHA] Counter of audit events generated and sent to the audit backend.",
		a ? (double)count_of(&a->n_events) : 0);
	exposition_counter(out, "apiserver_audit_requests_rejected_total",
		"[ALPHA] Counter of apiserver requests rejected due to an error in audit logging backend.",
		a ? (double)count_of(&a->n_rejected) : 0);
}

/* ---- events ---- */

struct audit_decision audit_decide(struct audit *a, const struct authz_attributes *what)
{
	struct audit_decision decision = audit_policy_decide(a->policy, what);

	assert(decision.level < AUDIT_LEVELS);
	atomic_fetch_add_explicit(&a->n_levels[decision.level], 1, memory_order_relaxed);
	return decision;
}

bool audit_admits(struct audit *a)
{
	if (audit_log_has_room(a->log)) {
		return true;
	}
	atomic_fetch_add_explicit(&a->n_rejected, 1, memory_order_relaxed);
	return false;
}

/* Returns true when the log has taken the event. */
static bool event_hand_over(struct audit *a, const struct audit_event *e, size_t max)
{
	_cleanup_(buf_done) struct buf line;

	buf_init(&line, max);
	buf_reserve(&line, MIN(max, LINE_USUAL + e->request_object.n + e->response_object.n));
	/* Control bytes are escaped: a terminal that shows the log must not obey a client. */
	return audit_event_encode(&line, e) && json_escape_controls(&line, 0) && audit_log_append(a->log, buf_str(&line));
}

void audit_write(struct audit *a, const struct audit_event *e)
{
	struct audit_event bare = *e;
	bool has_bodies = e->request_object.n > 0 || e->response_object.n > 0;

	atomic_fetch_add_explicit(&a->n_events, 1, memory_order_relaxed);
	if (event_hand_over(a, e, has_bodies ? a->max_event : AUDIT_EVENT_MAX)) {
		return;
	}
	/* The user and the action matter more than the bodies, so the event is tried once more without them. */
	bare.request_object = bare.response_object = STR("");
	if (has_bodies) {
		audit_event_annotate(&bare, AUDIT_TRUNCATED, STR("true"));
	}
	if (!has_bodies || !event_hand_over(a, &bare, AUDIT_EVENT_MAX)) {
		audit_log_count_lost(a->log);
	}
}

/* ---- the queue ---- */

/* Bytes are counted here, not only by the queue. The queue is empty as soon as its writer has
 * taken all of it, and a disk that hangs would let in twice as much. So bytes that are
 * being written count as waiting. */

enum {
	GATHER_MS = 20, /* one write for what comes together */
	/* A full disk fails every write, and the log of notices may be on that disk. */
	NOTICE_EVERY_MS = 60 * 1000,
};

struct audit_log {
	struct audit_log_options options;
	struct audit_file *file;  /* the writer's */
	int64_t next_notice_ms;   /* the writer's; monotonic */
	_Atomic size_t n_waiting; /* bytes, those that are being written too */
	_Atomic uint64_t n_lost;
	struct line_queue queue;
};

/* ---- from requests ---- */

bool audit_log_has_room(const struct audit_log *l)
{
	return atomic_load_explicit(&l->n_waiting, memory_order_relaxed) < AUDIT_QUEUE_BUSY;
}

bool audit_log_append(struct audit_log *l, struct str line)
{
	assert(line.n > 0 && line.p[line.n - 1] == '\n');
	size_t waiting = atomic_fetch_add_explicit(&l->n_waiting, line.n, memory_order_relaxed) + line.n;

	if (waiting > AUDIT_QUEUE_MAX) {
		atomic_fetch_sub_explicit(&l->n_waiting, line.n, memory_order_relaxed);
		return false;
	}
	return line_queue_append(&l->queue, line); /* which has room, as what waits there waits here */
}

void audit_log_count_lost(struct audit_log *l)
{
	atomic_fetch_add_explicit(&l->n_lost, 1, memory_order_relaxed);
}

uint64_t audit_log_lost(const struct audit_log *l)
{
	return atomic_load_explicit(&l->n_lost, memory_order_relaxed);
}

/* ---- the writer ---- */

static void audit_log_report(struct audit_log *l, int r, size_t n_lost)
{
	int64_t now = clock_mono_ms();
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 4096);
	if (!l->options.on_notice || now < l->next_notice_ms) {
		return;
	}
	l->next_notice_ms = now + NOTICE_EVERY_MS;
	if (n_lost > 0) {
		buf_printf(&text, "the audit log %s cannot be written: %s; %llu events have been lost so far",
			l->options.file.path, strerror(-r), (unsigned long long)audit_log_lost(l));
	} else {
		buf_printf(&text, "the audit log %s cannot be set aside, so it grows beyond its size: %s", l->options.file.path,
			strerror(-r));
	}
	l->options.on_notice(l->options.notice_ctx, buf_str(&text));
}

static void write_lines(void *ctx, struct buf *lines)
{
	struct audit_log *l = ctx;
	size_t n_lost;
	int r = audit_file_write(l->file, buf_str(lines), &n_lost);

	if (r) {
		atomic_fetch_add_explicit(&l->n_lost, n_lost, memory_order_relaxed);
		audit_log_report(l, r, n_lost);
	}
	atomic_fetch_sub_explicit(&l->n_waiting, lines->n, memory_order_relaxed);
}

/* ---- life ---- */

int audit_log_new(struct audit_log **ret, const struct audit_log_options *options, struct buf *err)
{
	assert(options->file.path);
	struct audit_log *l = mem_new(struct audit_log);

	l->options = *options;
	int r = audit_file_open(&l->file, &options->file, err);
	if (r) {
		mem_free(l);
		return r;
	}
	r = line_queue_open(&l->queue, "audit-log", AUDIT_QUEUE_MAX, GATHER_MS, write_lines, l);
	if (r) {
		buf_printf(err, "cannot start the audit log's thread: %s", strerror(-r));
		audit_file_close(l->file);
		mem_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void audit_log_flush(struct audit_log *l, int64_t until_ms)
{
	line_queue_flush(&l->queue, until_ms);
}

struct audit_log *audit_log_free(struct audit_log *l)
{
	if (l) {
		line_queue_close(&l->queue);
		assert(atomic_load_explicit(&l->n_waiting, memory_order_relaxed) == 0);
		audit_file_close(l->file);
		mem_free(l);
	}
	return NULL;
}

/* ---- the files ---- */

/* Names and clean-up are those of lumberjack, with which kube-apiserver rotates: tools that collect
 * its files find these, too. Only whole lines are written, and half a line is cut off again, so
 * that each file can be read by itself. A file that cannot be set aside goes on growing, because a
 * lost event is worse. */

#define STAMP_FORMAT "%Y-%m-%dT%H-%M-%S"
/* Names of old files are kept in memory while the oldest are looked for: a folder may hold
 * anything. */
enum { STAMP_SIZE = 24, BACKUPS_SEEN_MAX = 100000 }; /* "2006-01-02T15-04-05.000" and a NUL */

struct audit_file {
	struct audit_file_options options;
	char *folder, *stem, *extension; /* of the path: FOLDER/STEM + EXTENSION */
	int fd;                          /* -1: to be opened again */
	int64_t size;
	bool is_regular;
};

/* ---- names ---- */

static void split_path(struct audit_file *f)
{
	const char *path = f->options.path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
		   *dot = strrchr(name, '.');

	f->folder = slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : mem_strdup(".");
	f->stem = mem_strndup(name, dot ? (size_t)(dot - name) : strlen(name));
	f->extension = mem_strdup(dot ? dot : "");
}

static void format_stamp(char out[STAMP_SIZE], int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	unsigned ms = (unsigned)(wall_ms % 1000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	size_t n = strftime(out, STAMP_SIZE, STAMP_FORMAT, &tm);
	out[n++] = '.';
	out[n++] = (char)('0' + ms / 100);
	out[n++] = (char)('0' + ms / 10 % 10);
	out[n++] = (char)('0' + ms % 10);
	out[n] = '\0';
}

/* The wall clock's seconds in the name of a backup; -1 when it is none of ours. */
static int64_t backup_time(const struct audit_file *f, const char *name)
{
	size_t n_stem = strlen(f->stem), n = strlen(name), n_extension = strlen(f->extension);
	struct tm tm = {0};

	if (n != n_stem + 1 + (STAMP_SIZE - 1) + n_extension || memcmp(name, f->stem, n_stem) != 0 || name[n_stem] != '-' ||
		strcmp(name + n - n_extension, f->extension) != 0) {
		return -1;
	}
	const char *end = strptime(name + n_stem + 1, STAMP_FORMAT, &tm);
	return end && *end == '.' ? (int64_t)timegm(&tm) : -1;
}

/* ---- old files ---- */

struct backups {
	char **names;
	size_t n;
};

static int newest_first(const void *a, const void *b)
{
	/* The time stands in the name, most significant first. */
	return strcmp(*(char *const *)b, *(char *const *)a);
}

static void backups_find(struct backups *b, const struct audit_file *f)
{
	DIR *folder = opendir(f->folder);
	struct dirent *entry;
	size_t cap = 0;

	*b = (struct backups){0};
	while (folder && b->n < BACKUPS_SEEN_MAX && (entry = readdir(folder))) {
		if (backup_time(f, entry->d_name) < 0) {
			continue;
		}
		if (b->n == cap) {
			cap = cap ? 2 * cap : 64;
			b->names = mem_realloc_array(b->names, cap, sizeof(*b->names));
		}
		b->names[b->n++] = mem_strdup(entry->d_name);
	}
	if (folder) {
		closedir(folder);
	}
	if (b->n > 0) {
		qsort(b->names, b->n, sizeof(*b->names), newest_first);
	}
}

static void remove_old(const struct audit_file *f)
{
	int64_t oldest = f->options.max_age_days > 0 ? clock_wall_s() - f->options.max_age_days * 86400 : INT64_MIN;
	struct backups b;

	backups_find(&b, f);
	for (size_t i = 0; i < b.n; i++) {
		bool is_surplus = f->options.max_backups > 0 && i >= (size_t)f->options.max_backups;
		if (is_surplus || backup_time(f, b.names[i]) < oldest) {
			char *path = mem_printf("%s/%s", f->folder, b.names[i]);
			unlink(path);
			mem_free(path);
		}
		mem_free(b.names[i]);
	}
	mem_free(b.names);
}

/* ---- the file ---- */

static int open_regular(struct audit_file *f)
{
	struct stat st;

	f->fd = open(f->options.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		return -errno;
	}
	f->is_regular = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
	f->size = f->is_regular ? st.st_size : 0;
	return 0;
}

static int make_folder(const char *path)
{
	char *copy = mem_strdup(path);
	int r = 0;

	for (char *p = copy + 1; !r && *p; p++) {
		if (*p == '/') {
			*p = '\0';
			r = mkdir(copy, 0700) && errno != EEXIST ? -errno : 0;
			*p = '/';
		}
	}
	if (!r) {
		r = mkdir(copy, 0700) && errno != EEXIST ? -errno : 0;
	}
	mem_free(copy);
	return r;
}

static int open_first(struct audit_file *f)
{
	if (strcmp(f->options.path, "-") == 0) {
		f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return f->fd < 0 ? -errno : 0;
	}
	int r = make_folder(f->folder);
	return r ? r : open_regular(f);
}

int audit_file_open(struct audit_file **ret, const struct audit_file_options *options, struct buf *err)
{
	struct audit_file *f = mem_new(struct audit_file);

	f->options = *options;
	f->fd = -1;
	split_path(f);
	int r = open_first(f);
	if (r) {
		buf_printf(err, "cannot open the audit log %s: %s", options->path, strerror(-r));
		audit_file_close(f);
		return r;
	}
	if (f->is_regular) {
		remove_old(f);
	}
	*ret = f;
	return 0;
}

struct audit_file *audit_file_close(struct audit_file *f)
{
	if (f) {
		if (f->fd >= 0) {
			close(f->fd);
		}
		mem_free(f->folder);
		mem_free(f->stem);
		mem_free(f->extension);
		mem_free(f);
	}
	return NULL;
}

/* A name that nothing has yet: another rotation may have been in this millisecond. */
static int set_aside(const struct audit_file *f)
{
	int64_t now_ms = clock_wall_us() / 1000;
	char stamp[STAMP_SIZE];
	int r = -EEXIST;

	for (int attempt = 0; r == -EEXIST && attempt < 1000; attempt++) {
		format_stamp(stamp, now_ms + attempt);
		char *path = mem_printf("%s/%s-%s%s", f->folder, f->stem, stamp, f->extension);
		r = renameat2(AT_FDCWD, f->options.path, AT_FDCWD, path, RENAME_NOREPLACE) ? -errno : 0;
		mem_free(path);
	}
	return r;
}

static int rotate(struct audit_file *f)
{
	int r = set_aside(f);

	if (r) {
		return r;
	}
	close(f->fd);
	f->fd = -1;
	/* Also where it fails: then fd is -1, and the next write tries again. */
	r = open_regular(f);
	remove_old(f);
	return r;
}

static size_t count_lines(struct str lines)
{
	size_t n = 0;

	for (const char *p = lines.p, *end = str_end(lines); p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) {
		n++;
	}
	return n;
}

/* The lines that fit into what is left of the file; none may. */
static size_t fitting(const struct audit_file *f, struct str lines)
{
	assert(f->size >= 0);
	int64_t room = f->options.max_size - f->size;

	if (!f->is_regular || f->options.max_size <= 0 || room >= (int64_t)lines.n) {
		return lines.n;
	}
	const char *end = room > 0 ? memrchr(lines.p, '\n', (size_t)room) : NULL;
	return end ? (size_t)(end - lines.p) + 1 : 0;
}

static int write_part(struct audit_file *f, struct str part)
{
	int r = f->fd < 0 ? open_regular(f) : 0;

	r = r ? r : file_write(f->fd, part);
	if (!r) {
		f->size += (int64_t)part.n;
	} else if (f->fd >= 0 && f->is_regular && ftruncate(f->fd, f->size)) {
		return r; /* half a line stays: nothing better can be done */
	}
	return r;
}

static size_t first_line(struct str lines)
{
	const char *end = memchr(lines.p, '\n', lines.n);

	return end ? (size_t)(end - lines.p) + 1 : lines.n;
}

/* A line longer than a file may be has one of its own. Where the file cannot be set aside it grows: nothing is lost for that. */
int audit_file_write(struct audit_file *f, struct str lines, size_t *ret_n_lost)
{
	assert(lines.n == 0 || lines.p[lines.n - 1] == '\n');
	int problem = 0;

	*ret_n_lost = 0;
	while (lines.n > 0) {
		size_t n = problem ? lines.n : fitting(f, lines);
		/* An empty file is not set aside for a line that no file would hold. */
		if (n == 0 && f->size > 0) {
			problem = rotate(f);
			continue;
		}
		n = n > 0 ? n : first_line(lines);
		int r = write_part(f, (struct str){lines.p, n});
		if (r) {
			*ret_n_lost = count_lines(lines);
			return r;
		}
		lines = (struct str){lines.p + n, lines.n - n};
	}
	return problem;
}
