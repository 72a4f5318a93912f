/* An etcd that belongs to one `annals up`. Nobody else can reach it: it listens only on Unix sockets in the private
 * directory. It must not outlive annals, or the next start would find its files in use. The usual failures are
 * reported with their remedy, since few people can read etcd's log. */
#include "cli/run/etcd_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
	LOG_MAX = 16 * 1024 * 1024, /* bytes */
	TAIL_MAX = 16 * 1024,       /* bytes of the log that are looked at when it ends */
	TAIL_LINES = 5,             /* of those, shown */
};

struct etcd_child {
	const struct datadir *dir;
	char *binary;
	char **environment; /* pointers into environ, NULL-terminated */
	int folder_fd;      /* DIR/etcd */
	char *endpoint;
	pid_t pid;
	off_t log_start; /* where the present run begins in etcd.log */
};

/* etcd 3.4 wants host:port even of a Unix address. The whole text is the socket's name, in etcd's working directory. */
#define CLIENT_SOCKET "client:0"
#define PEER_SOCKET "peer:0"

/* A single member waits for the election time-out at each start: 20 and 100 ms are the shortest times that cost no CPU.
 * annals compacts the history itself. By default, etcd 3.4 would keep 100,000 writes in memory between snapshots. */
static const char *const etcd_arguments[] = {
	"etcd",
	"--name=annals",
	"--data-dir=data",
	"--listen-client-urls=unix://" CLIENT_SOCKET,
	"--advertise-client-urls=unix://" CLIENT_SOCKET,
	"--listen-peer-urls=unix://" PEER_SOCKET,
	"--initial-advertise-peer-urls=unix://" PEER_SOCKET,
	"--initial-cluster=annals=unix://" PEER_SOCKET,
	"--heartbeat-interval=20",
	"--election-timeout=100",
	"--auto-compaction-retention=0",
	"--snapshot-count=10000",
	"--quota-backend-bytes=8589934592",
	"--logger=zap",
	"--log-outputs=stderr",
	NULL,
};

/* The remedy if there is no etcd, or none that can be used. */
#define GET                                                                           \
	"install etcd 3.4 or later (Debian, Ubuntu: apt-get install etcd-server; or " \
	"https://github.com/etcd-io/etcd/releases) "                                  \
	"and name it with --etcd PATH, or use one that runs already with --etcd-servers URL"

/* ---- finding it ---- */

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	struct str rest = str_of(path ? path : "/usr/local/bin:/usr/bin:/bin"), folder;
	bool more;
	do {
		more = str_cut(rest, ':', &folder, &rest);
		char *candidate = mem_printf(STR_FMT "/%s", STR_ARG(folder), name);
		if (folder.n > 0 && is_program(candidate)) {
			return candidate;
		}
		mem_free(candidate);
	} while (more);
	return NULL;
}

static int find_given(const char *path, char **ret, struct buf *err)
{
	char *absolute = realpath(path, NULL);
	if (!absolute) {
		int r = -errno;
		buf_printf(err, "--etcd %s: %s", path, strerror(-r));
		return r;
	}
	if (!is_program(absolute)) {
		buf_printf(err, "--etcd %s: not an executable file", path);
		mem_free(absolute);
		return -EACCES;
	}
	*ret = absolute;
	return 0;
}

static int find_binary(const char *path, char **ret, struct buf *err)
{
	if (path) {
		return find_given(path, ret, err);
	}
	*ret = find_in_path("etcd");
	if (!*ret) {
		BUF_LITERAL(err, "etcd is not in $PATH: " GET);
		return -ENOENT;
	}
	return 0;
}

/* etcd also reads its flags from ETCD_*, and the user has set those for another etcd. But on some machines etcd 3.4 only
 * starts if ETCD_UNSUPPORTED_ARCH allows it. */
static bool is_for_others(const char *variable)
{
	struct str s = str_of(variable);
	return str_starts(s, STR("ETCD_")) && !str_starts(s, STR("ETCD_UNSUPPORTED_ARCH="));
}

static char **make_environment(void)
{
	size_t n = 0, kept = 0;
	while (environ[n]) {
		n++;
	}
	char **out = mem_array(n + 1, sizeof(*out));
	for (size_t i = 0; i < n; i++) {
		if (!is_for_others(environ[i])) {
			out[kept++] = environ[i];
		}
	}
	return out;
}

/* A socket's address has room for 107 characters, and some characters mean something else in a URL. A path through the
 * folder's descriptor is always short and plain. */
static char *make_endpoint(const struct etcd_child *c)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/etcd/" CLIENT_SOCKET);
	if (strlen(c->dir->path) <= room && datadir_is_plain(c->dir)) {
		return mem_printf("unix://%s/etcd/" CLIENT_SOCKET, c->dir->path);
	}
	return mem_printf("unix:///proc/self/fd/%d/" CLIENT_SOCKET, c->folder_fd);
}

static int open_folder(struct etcd_child *c, struct buf *err)
{
	int r = datadir_make(c->dir, "etcd", err);
	if (r) {
		return r;
	}
	c->folder_fd = openat(c->dir->fd, "etcd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->folder_fd < 0) {
		buf_printf(err, "cannot open %s/etcd: %s", c->dir->path, strerror(errno));
		return -errno;
	}
	return 0;
}

int etcd_child_new(struct etcd_child **ret, const struct datadir *d, const char *path, struct buf *err)
{
	struct etcd_child *c = mem_new(struct etcd_child);
	c->dir = d;
	c->folder_fd = -1;
	int r = find_binary(path, &c->binary, err);
	if (!r) {
		r = open_folder(c, err);
	}
	if (r) {
		etcd_child_free(c);
		return r;
	}
	c->environment = make_environment();
	c->endpoint = make_endpoint(c);
	renameat(d->fd, "etcd.log", d->fd, "etcd.log.1");
	*ret = c;
	return 0;
}

struct etcd_child *etcd_child_free(struct etcd_child *c)
{
	if (c) {
		if (c->pid > 0) {
			kill(-c->pid, SIGKILL);
			waitpid(c->pid, NULL, 0);
		}
		if (c->folder_fd >= 0) {
			close(c->folder_fd);
		}
		mem_free(c->endpoint);
		mem_free(c->environment);
		mem_free(c->binary);
		mem_free(c);
	}
	return NULL;
}

pid_t etcd_child_pid(const struct etcd_child *c)
{
	return c->pid;
}

const char *etcd_child_endpoint(const struct etcd_child *c)
{
	return c->endpoint;
}

/* ---- starting it ---- */

/* Everything that the child needs, made before the fork. */
struct launch {
	const struct etcd_child *child;
	pid_t parent;
	int log_fd, null_fd;
	int report_fd; /* errno, when exec fails; closed by exec */
};

/* A new program expects the default signals. annals blocks some and ignores SIGPIPE, and both would survive exec. */
static void reset_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs between fork and exec, so it makes only async-signal-safe calls. The child gets a process group of its own: then
 * Ctrl-C reaches only annals, which ends etcd last. */
static _noreturn_ void launch_run(const struct launch *l)
{
	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != l->parent) {
		_exit(1); /* the parent died before it could matter */
	}
	reset_signals();
	dup2(l->null_fd, STDIN_FILENO);
	dup2(l->log_fd, STDOUT_FILENO);
	dup2(l->log_fd, STDERR_FILENO);
	if (fchdir(l->child->folder_fd) == 0) {
		execve(l->child->binary, (char *const *)(uintptr_t)etcd_arguments, l->child->environment);
	}
	int failure = errno;
	ssize_t written _unused_ = write(l->report_fd, &failure, sizeof(failure));
	_exit(127);
}

static int launch_fork(const struct launch *l, int report_fd, struct etcd_child *c)
{
	pid_t pid = fork();
	if (pid < 0) {
		return -errno;
	}
	if (pid == 0) {
		launch_run(l);
	}

	int failure = 0;
	close(l->report_fd);
	if (read(report_fd, &failure, sizeof(failure)) == sizeof(failure)) {
		waitpid(pid, NULL, 0);
		return -failure;
	}
	c->pid = pid;
	return 0;
}

static int launch_with_files(struct etcd_child *c, int log_fd, int null_fd)
{
	int report[2];
	/* A run that was killed leaves its sockets, and etcd 3.4 cannot listen at them. */
	unlinkat(c->folder_fd, CLIENT_SOCKET, 0);
	unlinkat(c->folder_fd, PEER_SOCKET, 0);
	if (pipe2(report, O_CLOEXEC) < 0) {
		return -errno;
	}
	struct launch l = {.child = c, .parent = getpid(), .log_fd = log_fd, .null_fd = null_fd, .report_fd = report[1]};
	c->log_start = lseek(log_fd, 0, SEEK_END);
	int r = launch_fork(&l, report[0], c);
	if (r) {
		c->pid = 0;
	}
	close(report[0]);
	return r;
}

/* A file that was found may still be no program for this machine. */
static const struct {
	int error;
	const char *meaning;
} exec_errors[] = {
	{ENOEXEC, "it is no program for this machine"},
	{ENOENT, "what it needs to run (its loader or interpreter) is not there"},
	{EACCES, "it, or what it needs to run, may not be executed"},
};

static void explain_exec(int r, struct buf *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(exec_errors); i++) {
		if (exec_errors[i].error == -r) {
			buf_printf(err, ": %s. To go on, " GET, exec_errors[i].meaning);
		}
	}
}

int etcd_child_start(struct etcd_child *c, struct buf *err)
{
	assert(c->pid == 0); /* the one before has ended */
	int log_fd = openat(c->dir->fd, "etcd.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r = log_fd < 0 || null_fd < 0 ? -errno : launch_with_files(c, log_fd, null_fd);
	if (log_fd >= 0) {
		close(log_fd);
	}
	if (null_fd >= 0) {
		close(null_fd);
	}
	if (r) {
		buf_printf(err, "cannot start %s: %s", c->binary, strerror(-r));
		explain_exec(r, err);
	}
	return r;
}

/* ---- when it ends ---- */

#define FULL "make room, then start annals again. Nothing that was acknowledged is lost."
#define DAMAGED "etcd's data are damaged: put the folder etcd back from a backup, or move it away to start empty."
#define STRANGE "This program does not know the flags of an etcd 3.4 or later. To go on, " GET "."

/* The last words of etcd (or of another program that --etcd names), and their meaning. The first row that is found
 * counts. */
static const struct {
	const char *sign, *meaning;
} meanings[] = {
	{"no space left on device", "The disk is full: " FULL},
	{"disk quota exceeded", "The user's disk quota is used up: " FULL},
	{"input/output error", "The disk fails to read or write: look at the kernel's messages (dmesg)."},
	{"downgrade", "The data were last used by a newer etcd: name that one with --etcd PATH."},
	{"crc mismatch", DAMAGED},
	{"checksum", DAMAGED},
	{"invalid database", DAMAGED},
	{"version mismatch", DAMAGED},
	{"file size too small", DAMAGED},
	{"failed to find database snapshot file", DAMAGED},
	{"unsupported platform",
		"It does not run on this kind of machine unless ETCD_UNSUPPORTED_ARCH is set. To go on, " GET "."},
	{"permission denied", "etcd may not write where it must: look at the owner and mode of the folder etcd."},
	{"flag provided but not defined", STRANGE},
	{"unknown flag", STRANGE},
	{"unrecognized option", STRANGE},
};

static const char *find_meaning(struct str said)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		if (str_contains(said, str_of(meanings[i].sign))) {
			return meanings[i].meaning;
		}
	}
	return NULL;
}

/* Reads the end of the log that this run of etcd has written. */
static void read_tail(const struct etcd_child *c, struct buf *out)
{
	int fd = openat(c->dir->fd, "etcd.log", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return;
	}
	off_t end = lseek(fd, 0, SEEK_END), start = MAX(c->log_start, end - TAIL_MAX);
	if (end > start && buf_reserve(out, (size_t)(end - start))) {
		ssize_t n = pread(fd, out->p, (size_t)(end - start), start);
		out->n = n > 0 ? (size_t)n : 0;
		out->p[out->n] = '\0';
	}
	close(fd);
}

/* The last n lines, or all if there are fewer. */
static struct str last_lines(struct str text, unsigned n)
{
	while (str_ends(text, STR("\n"))) {
		text.n--;
	}
	size_t start = text.n;
	while (start > 0 && (text.p[start - 1] != '\n' || --n > 0)) {
		start--;
	}
	return (struct str){text.p + start, text.n - start};
}

/* The line in which etcd gives up, without its stack trace; or the last lines if there is no such line. */
static struct str find_last_words(struct str log)
{
	struct str found = {NULL, 0}, rest = log, line;
	bool more;
	do {
		more = str_cut(rest, '\n', &line, &rest);
		if (str_contains(line, STR("\"level\":\"fatal\"")) || str_contains(line, STR("\"level\":\"panic\""))) {
			found = line;
		}
	} while (more);
	if (found.n == 0) {
		return last_lines(log, TAIL_LINES);
	}
	const char *trace = memmem(found.p, found.n, ",\"stacktrace\"", strlen(",\"stacktrace\""));
	return trace ? (struct str){found.p, (size_t)(trace - found.p)} : found;
}

/* The log says nothing about a signal that came from outside. SIGILL means a program for a newer processor. */
static void etcd_child_explain(const struct etcd_child *c, int status, struct buf *why)
{
	if (WIFSIGNALED(status)) {
		buf_printf(why, "etcd (%s) was ended by signal %d (%s).", c->binary, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
		if (WTERMSIG(status) == SIGILL) {
			BUF_LITERAL(why, " It needs another processor than this machine has. To go on, " GET ".");
		}
		return;
	}
	_cleanup_(buf_done) struct buf log;
	buf_init(&log, TAIL_MAX);
	read_tail(c, &log);
	struct str words = find_last_words(buf_str(&log));
	const char *meaning = find_meaning(words);
	buf_printf(why, "etcd (%s) ended with status %d.", c->binary, WEXITSTATUS(status));
	buf_printf(why, " %s", meaning ? meaning : "Where it cannot be used at all, " GET ".");
	if (words.n > 0) {
		buf_printf(why, " Its last words (in %s/etcd.log):\n" STR_FMT, c->dir->path, STR_ARG(words));
	}
}

bool etcd_child_has_ended(struct etcd_child *c, struct buf *why)
{
	int status;
	if (c->pid == 0 || waitpid(c->pid, &status, WNOHANG) != c->pid) {
		return false;
	}
	c->pid = 0;
	etcd_child_explain(c, status, why);
	return true;
}

void etcd_child_stop(struct etcd_child *c, bool at_once)
{
	if (c->pid > 0) {
		kill(at_once ? -c->pid : c->pid, at_once ? SIGKILL : SIGTERM);
	}
}

/* ---- its log ---- */

/* etcd keeps the file open and appends to it, so the file is copied and emptied instead of renamed. */
void etcd_child_trim_log(struct etcd_child *c)
{
	struct stat st;
	int from = openat(c->dir->fd, "etcd.log", O_RDWR | O_CLOEXEC);
	if (from < 0) {
		return;
	}
	if (fstat(from, &st) == 0 && st.st_size > LOG_MAX) {
		int to = openat(c->dir->fd, "etcd.log.1", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		while (to >= 0 && sendfile(to, from, NULL, LOG_MAX) > 0) {
		}
		if (ftruncate(from, 0) == 0) {
			c->log_start = 0;
		}
		if (to >= 0) {
			close(to);
		}
	}
	close(from);
}
