/* The directory of `annals up` holds everything to be known about it, so no flags are needed.
 * Whether it runs is seen without taking its lock, which would keep an `annals up` from
 * starting. */
#include "cli/doctor/doctor_up.h"

#include "cli/common/etcd_flags.h"
#include "cli/doctor/doctor_clock.h"
#include "cli/doctor/doctor_etcd.h"
#include "cli/doctor/doctor_fetch.h"
#include "cli/doctor/doctor_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART "annals up"
#define START_MEND(r, dir)                                                                  \
	report_text(r, "annals up --data-dir=" STR_FMT "    # makes new ones at its start", \
		STR_ARG(shell_word(&(r)->arena, str_of(dir))))

/* False where there is no such directory. */
static bool check_directory(struct report *r, const char *dir)
{
	struct stat st;
	struct str subject = str_of(dir), word = shell_word(&r->arena, subject);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
		report_add(r, SEVERITY_ERROR, subject, report_text(r, "annals up --data-dir=" STR_FMT, STR_ARG(word)),
			"there is no such directory");
		return false;
	}
	if (st.st_mode & 022) {
		report_add(r, SEVERITY_ERROR, subject, report_text(r, "chmod 0700 " STR_FMT, STR_ARG(word)),
			"others may write to it (mode %04o), and annals up refuses it", st.st_mode & 07777);
	} else if (st.st_mode & 077) {
		report_add(r, SEVERITY_WARNING, subject, report_text(r, "chmod 0700 " STR_FMT, STR_ARG(word)),
			"others may look into it (mode %04o), and talk to its etcd", st.st_mode & 07777);
	} else {
		report_add(r, SEVERITY_OK, subject, NO_MEND, "it is its owner's alone");
	}
	return true;
}

static void check_certificates(struct report *r, const char *dir, int64_t now_s)
{
	static const char *const names[] = {"server", "admin", "controllers"};
	_cleanup_(mem_freep) char *ca = mem_printf("%s/ca.crt", dir);
	struct certs cas;
	doctor_check_cas(r, ca, now_s, &cas);
	certs_done(&cas);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(mem_freep) char *cert = mem_printf("%s/%s.crt", dir, names[i]);
		_cleanup_(mem_freep) char *key = mem_printf("%s/%s.key", dir, names[i]);
		bool is_server = i == 0;
		doctor_check_pair(r,
			&(struct doctor_pair){.cert_file = cert,
				.key_file = key,
				.is_server = is_server,
				.wanted_name = is_server ? STR("localhost") : NO_MEND,
				.mend = START_MEND(r, dir)},
			now_s);
	}
}

/* The lock names the process; whether it lives is the kernel's to say. */
static bool is_running(const char *dir)
{
	_cleanup_(mem_freep) char *path = mem_printf("%s/lock", dir);
	char text[32] = "";
	int64_t pid;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return false;
	}
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0 || !str_to_int64(str_trim((struct str){text, (size_t)n}), &pid) || pid <= 0) {
		return false;
	}
	_cleanup_(mem_freep) char *proc = mem_printf("/proc/%lld", (long long)pid);
	return access(proc, F_OK) == 0;
}

/* Mostly it is etcd that is away: its own, or one that somebody else runs. */
static struct str readiness_mend(struct report *r, const char *dir)
{
	_cleanup_(mem_freep) char *log = mem_printf("%s/etcd.log", dir);
	return access(log, F_OK) == 0 ? report_text(r, "tail " STR_FMT "    # mostly it is etcd that is away",
						STR_ARG(shell_word(&r->arena, str_of(log))))
				      : STR("annals doctor --etcd-servers=URL,...    # mostly it is etcd that is away");
}

static void check_server(struct report *r, const char *dir)
{
	_cleanup_(mem_freep) char *path = mem_printf("%s/kubeconfig", dir);
	_cleanup_(buf_done) struct buf err;
	struct str subject = STR("the server");
	struct client_config config = {0};
	struct client *client;
	struct doctor_fetched f;
	buf_init(&err, 4096);
	int error = client_config_load(&config, path, NULL, &err);
	error = error ? error : client_new(&client, &config, &err);
	if (error) {
		report_add(r, SEVERITY_ERROR, str_of(path), START_MEND(r, dir), STR_FMT, STR_ARG(buf_str(&err)));
	} else {
		doctor_fetch(client, "/readyz", &f);
		bool is_ready = f.code == 200;
		report_add(r, is_ready ? SEVERITY_OK : SEVERITY_ERROR, subject, is_ready ? NO_MEND : readiness_mend(r, dir),
			is_ready ? "%s: ready%s" : "%s: not ready: %s", config.server, f.code ? "" : f.problem);
		doctor_fetched_done(&f);
		client_free(client);
	}
	client_config_done(&config);
}

static void check_running(struct report *r, const char *dir, int64_t now_s)
{
	_cleanup_(mem_freep) char *folder = mem_printf("%s/etcd", dir);
	_cleanup_(mem_freep) char *endpoint = mem_printf("unix://%s/client:0", folder);
	const char *const endpoints[] = {endpoint};
	/* The server waits for etcd: the cause comes first. */
	if (access(folder, F_OK) < 0) {
		report_add(r, SEVERITY_SKIPPED, STR("etcd"), NO_MEND,
			"give --etcd-servers, if annals up has it; with --store=memory there is none");
	} else {
		doctor_check_etcd(r,
			&(struct doctor_etcd){.endpoints = endpoints, .n_endpoints = 1, .prefix = ETCD_PREFIX, .now_s = now_s});
		r->part = PART;
	}
	r->topic = TOPIC_UP_SERVER;
	check_server(r, dir);
	r->topic = TOPIC_NONE;
}

void doctor_check_up(struct report *r, const char *dir, int64_t now_s)
{
	r->part = PART;
	r->topic = TOPIC_DIRECTORY;
	if (!check_directory(r, dir)) {
		return;
	}
	r->topic = TOPIC_UP_FILES;
	check_certificates(r, dir, now_s);
	if (is_running(dir)) {
		check_running(r, dir, now_s);
	} else {
		report_add(r, SEVERITY_SKIPPED, STR("server and etcd"), NO_MEND, "annals up does not run on it");
	}
}
