/* Names and clean-up are those of lumberjack, with which kube-apiserver rotates: what collects its
 * files finds these, too. Only whole lines are written, and half a line is cut off again, so that
 * each file can be read by itself. A file that cannot be set aside goes on to grow, because an
 * event that is lost is worse. */
#include "server/audit/audit_file.h"

#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
