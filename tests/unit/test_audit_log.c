#include "server/audit/audit.h"
#include "tests/unit/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE "{\"n\":1}\n"

/* A folder of its own, and the files in it. */
static char folder[] = "/tmp/annals-audit-XXXXXX";
static char path[64];

static int make_folder(void **state _unused_)
{
	if (!mkdtemp(folder)) {
		return 1;
	}
	snprintf(path, sizeof(path), "%s/sub/audit.log", folder);
	return 0;
}

static int remove_folder(void **state _unused_)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static int empty_folder(void **state _unused_)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s/sub", folder);
	return system(command);
}

static struct str read_text(const char *name, char *out, size_t max)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, out, max);

	if (fd >= 0) {
		close(fd);
	}
	return (struct str){out, n > 0 ? (size_t)n : 0};
}

static size_t count_files(const char *beginning)
{
	char name[96];
	size_t n = 0;

	snprintf(name, sizeof(name), "%s/sub", folder);
	DIR *d = opendir(name);
	struct dirent *e;
	while (d && (e = readdir(d))) {
		n += strncmp(e->d_name, beginning, strlen(beginning)) == 0;
	}
	if (d) {
		closedir(d);
	}
	return n;
}

static struct audit_file *open_file(const struct audit_file_options *o)
{
	struct audit_file *f;
	struct buf err;

	buf_init(&err, 1024);
	assert_int_equal(audit_file_open(&f, o, &err), 0);
	buf_done(&err);
	return f;
}

static void write_to(struct audit_file *f, const char *lines)
{
	size_t n_lost;

	assert_int_equal(audit_file_write(f, str_of(lines), &n_lost), 0);
	assert_int_equal(n_lost, 0);
}

static void test_audit_file__is_private_and_appended_to(void **state _unused_)
{
	struct audit_file_options o = {.path = path};
	char text[64];
	struct stat st;

	for (int i = 0; i < 2; i++) {
		struct audit_file *f = open_file(&o);
		write_to(f, LINE);
		audit_file_close(f);
	}
	assert_str(read_text(path, text, sizeof(text)), LINE LINE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_audit_file__no_line_is_torn_by_rotation(void **state _unused_)
{
	struct audit_file_options o = {.path = path, .max_size = 20};
	struct audit_file *f = open_file(&o);
	char text[64];

	write_to(f, LINE LINE LINE LINE LINE);
	audit_file_close(f);
	assert_int_equal(count_files("audit-"), 2);
	assert_str(read_text(path, text, sizeof(text)), LINE);
}

static void test_audit_file__a_line_longer_than_a_file_has_its_own(void **state _unused_)
{
	struct audit_file_options o = {.path = path, .max_size = 10};
	struct audit_file *f = open_file(&o);
	char text[64];

	write_to(f, LINE "{\"long\":\"long\"}\n" LINE);
	audit_file_close(f);
	assert_int_equal(count_files("audit-"), 2);
	assert_str(read_text(path, text, sizeof(text)), LINE);
}

static void test_audit_file__surplus_backups_go(void **state _unused_)
{
	struct audit_file_options o = {.path = path, .max_size = 8, .max_backups = 3};
	struct audit_file *f = open_file(&o);

	for (int i = 0; i < 9; i++) {
		write_to(f, LINE);
	}
	audit_file_close(f);
	assert_int_equal(count_files("audit-"), 3);
}

static void test_audit_file__old_backups_go_and_strangers_stay(void **state _unused_)
{
	static const char *const names[] = {
		"audit-2001-02-03T04-05-06.789.log", "audit-2001-02-03T04-05-06.log", "audit-notes.log"};
	struct audit_file_options o = {.path = path, .max_age_days = 1};
	char name[128];

	audit_file_close(open_file(&o));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "%s/sub/%s", folder, names[i]);
		close(open(name, O_CREAT | O_WRONLY, 0600));
	}
	audit_file_close(open_file(&o));
	assert_int_equal(count_files("audit-"), 2);
	assert_int_equal(count_files(names[0]), 0);
}

/* A file size limit is a full disk that can be had anywhere. */
static void test_audit_file__what_is_not_written_is_counted(void **state _unused_)
{
	struct audit_file_options o = {.path = path};
	struct audit_file *f = open_file(&o);
	struct rlimit before, limit;
	char text[64];
	size_t n_lost;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	write_to(f, LINE);
	limit = (struct rlimit){.rlim_cur = 12, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(audit_file_write(f, STR(LINE LINE), &n_lost), -EFBIG);
	assert_int_equal(n_lost, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	write_to(f, LINE);
	audit_file_close(f);
	assert_str(read_text(path, text, sizeof(text)), LINE LINE);
}

static void test_audit_file__unusable_paths_are_refused(void **state _unused_)
{
	struct audit_file_options o = {.path = "/proc/none/audit.log"};
	struct audit_file *f;
	struct buf err;

	buf_init(&err, 1024);
	assert_true(audit_file_open(&f, &o, &err) < 0);
	assert_str(buf_str(&err), "cannot open the audit log /proc/none/audit.log: No such file or directory");
	buf_done(&err);
}

/* ---- the writer ---- */

static struct audit_log *open_log(const char *where)
{
	struct audit_log_options o = {.file = {.path = where}};
	struct audit_log *l;
	struct buf err;

	buf_init(&err, 1024);
	assert_int_equal(audit_log_new(&l, &o, &err), 0);
	buf_done(&err);
	return l;
}

enum { WRITERS = 4, LINES_EACH = 5000 };

static void *write_many(void *ctx)
{
	for (int i = 0; i < LINES_EACH; i++) {
		assert_true(audit_log_append(ctx, STR(LINE)));
	}
	return NULL;
}

static void test_audit_log__every_line_of_every_thread_is_there(void **state _unused_)
{
	struct audit_log *l = open_log(path);
	pthread_t threads[WRITERS];
	struct stat st;

	for (size_t i = 0; i < WRITERS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, l), 0);
	}
	for (size_t i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
	}
	assert_int_equal(audit_log_lost(l), 0);
	audit_log_free(l);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, WRITERS * LINES_EACH * (long)strlen(LINE));
}

/* Nobody reads from the pipe: the writer is stuck, as on a disk that hangs. */
static void test_audit_log__what_waits_has_a_ceiling(void **state _unused_)
{
	enum { BIG = 1024 * 1024 };
	char *line = memset(mem_alloc(BIG), 'x', BIG), fifo[96];
	size_t n = 0;

	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	int reader = open(fifo, O_RDONLY | O_NONBLOCK);
	struct audit_log *l = open_log(fifo);
	line[BIG - 1] = '\n';
	while (audit_log_append(l, (struct str){line, BIG})) {
		n++;
		assert_int_equal(audit_log_has_room(l), n * BIG < AUDIT_QUEUE_BUSY);
	}
	assert_int_equal(n, AUDIT_QUEUE_MAX / BIG);
	signal(SIGPIPE, SIG_IGN);
	close(reader); /* EPIPE ends the waiting */
	audit_log_free(l);
	mem_free(line);
	unlink(fifo);
}

/* ---- the whole ---- */

static struct audit *open_audit(const char *policy, struct buf *err, int *ret)
{
	struct audit_options o = {.log = {.file = {.path = path}}, .truncates = true, .max_event_bytes = 600};
	static char file[96];
	struct audit *a = NULL;

	snprintf(file, sizeof(file), "%s/policy", folder);
	FILE *f = fopen(file, "w");
	fputs(policy, f);
	fclose(f);
	o.policy_file = file;
	*ret = audit_new(&a, &o, err);
	return a;
}

#define POLICY "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Request, verbs: [get]}]}"

static void test_audit__long_events_go_without_objects(void **state _unused_)
{
	struct audit_event e = {.level = AUDIT_REQUEST, .id = STR("id"), .request_object = STR("{\"a\":\"\"}")};
	char text[4096], big[1024];
	struct buf err;
	int r;

	buf_init(&err, 4096);
	struct audit *a = open_audit(POLICY, &err, &r);
	assert_int_equal(r, 0);
	audit_write(a, &e);
	snprintf(big, sizeof(big), "\"%01000d\"", 0);
	e.request_object = str_of(big);
	audit_write(a, &e);
	audit_free(a);
	struct str all = read_text(path, text, sizeof(text)), first, second;
	assert_true(str_cut(all, '\n', &first, &second));
	assert_true(str_contains(first, STR("\"requestObject\":{\"a\":\"\"}")) && !str_contains(first, STR("annotations")));
	assert_true(!str_contains(second, STR("requestObject")) &&
		str_contains(second, STR("{\"audit.k8s.io/truncated\":\"true\"}")));
	buf_done(&err);
}

static void test_audit__counts_are_shown(void **state _unused_)
{
	struct authz_attributes what = {.verb = STR("get"), .path = STR("/")};
	struct audit_event e = {.level = AUDIT_REQUEST};
	struct buf out;
	int r;

	buf_init(&out, 1 << 20);
	struct audit *a = open_audit(POLICY, &out, &r);
	assert_int_equal(audit_decide(a, &what).level, AUDIT_REQUEST);
	what.verb = STR("put");
	assert_int_equal(audit_decide(a, &what).level, AUDIT_NONE);
	assert_true(audit_admits(a));
	audit_write(a, &e);
	audit_write_metrics(a, &out);
	assert_non_null(strstr(out.p, "\napiserver_audit_event_total 1\n"));
	assert_non_null(strstr(
		out.p, "\napiserver_audit_level_total{level=\"None\"} 1\napiserver_audit_level_total{level=\"Request\"} 1\n"));
	assert_non_null(strstr(out.p, "\napiserver_audit_requests_rejected_total 0\n"));
	assert_null(strstr(out.p, "apiserver_audit_error_total"));
	audit_free(a);
	buf_done(&out);
}

static void test_audit__bad_policies_are_refused_with_their_file(void **state _unused_)
{
	struct buf err;
	int r;

	buf_init(&err, 4096);
	assert_null(open_audit("kind: Policy", &err, &r));
	assert_true(r < 0);
	assert_non_null(strstr(err.p, "/policy: must have apiVersion audit.k8s.io/v1 and kind Policy"));
	buf_done(&err);
}

static void test_audit__needs_both_files(void **state _unused_)
{
	struct audit_options o = {.log = {.file = {.path = path}}};
	struct audit *a = NULL;
	struct buf err;

	buf_init(&err, 1024);
	assert_int_equal(audit_new(&a, &o, &err), 0);
	assert_null(a);
	buf_done(&err);
}

#define CLEAN(f) cmocka_unit_test_setup(f, empty_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLEAN(test_audit_file__is_private_and_appended_to),
		CLEAN(test_audit_file__no_line_is_torn_by_rotation),
		CLEAN(test_audit_file__a_line_longer_than_a_file_has_its_own),
		CLEAN(test_audit_file__surplus_backups_go),
		CLEAN(test_audit_file__old_backups_go_and_strangers_stay),
		CLEAN(test_audit_file__what_is_not_written_is_counted),
		CLEAN(test_audit_file__unusable_paths_are_refused),
		CLEAN(test_audit_log__every_line_of_every_thread_is_there),
		CLEAN(test_audit_log__what_waits_has_a_ceiling),
		CLEAN(test_audit__long_events_go_without_objects),
		CLEAN(test_audit__counts_are_shown),
		CLEAN(test_audit__bad_policies_are_refused_with_their_file),
		CLEAN(test_audit__needs_both_files),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
