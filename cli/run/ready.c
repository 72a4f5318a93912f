/* Programs get one line with everything in it, so that nothing has to be looked for: neither the
 * port nor the files. On a descriptor of its own that line is not mixed with any log. */
#include "cli/run/ready.h"

#include "base/file.h"
#include "base/json.h"
#include "cli/certs/certs.h"
#include "cli/common/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a file of the data directory that is printed or copied. */
enum { FILE_MAX = 256 * 1024, LINE_MAX_BYTES = 1024 * 1024 };

/* ---- flags ---- */

void ready_flags_init(struct ready_flags *f)
{
	*f = (struct ready_flags){.output = "text"};
}

void ready_flags_rows(struct ready_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Output"),
		FLAG("output", OPTION_STRING, &f->output, "text|json",
			"What is printed when the server is ready. json: one line with url, token, ca, kubeconfig and more."),
		FLAG("o", OPTION_STRING, &f->output, "text|json", "Short for --output."),
		{"ready-fd", OPTION_INT, &f->fd, "N",
			"An open file descriptor that gets one line when the server is ready, and is closed then: the URL, or "
			"the "
			"line of --output=json.",
			1, INT32_MAX},
		FLAG("kubeconfig-out", OPTION_STRING, &f->kubeconfig_out, "FILE",
			"Another place for the kubeconfig. The file is replaced, and stays when annals ends."),
	};
	_Static_assert(ARRAY_SIZE(rows) <= READY_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
}

static bool is_json(const struct ready_flags *f)
{
	return strcmp(f->output, "json") == 0;
}

/* The file is replaced, not written into: a link would be lost, and /dev/stdout, which root may replace. */
static bool is_replaceable(const char *path)
{
	struct stat st;
	return lstat(path, &st) < 0 || S_ISREG(st.st_mode);
}

int ready_flags_check(const struct ready_flags *f, bool has_link, struct buf *err)
{
	if (!is_json(f) && strcmp(f->output, "text") != 0) {
		return command_refuse(err, "--output %s: must be text or json", f->output);
	}
	if (is_json(f) && has_link) {
		return command_refuse(err, "--ui prints a link for people: it does not go with --output json");
	}
	if (f->fd > 0 && fcntl((int)f->fd, F_SETFD, FD_CLOEXEC) < 0) {
		return command_refuse(err, "--ready-fd %lld: no such file descriptor is open", (long long)f->fd);
	}
	if (f->kubeconfig_out && !is_replaceable(f->kubeconfig_out)) {
		return command_refuse(err, "--kubeconfig-out %s: what is there is no regular file", f->kubeconfig_out);
	}
	return 0;
}

/* ---- the kubeconfig ---- */

static int read_file(const struct datadir *dir, const char *name, struct buf *out, struct buf *err)
{
	int r = datadir_read(dir, name, out);
	if (r) {
		buf_printf(err, "cannot read %s/%s: %s", dir->path, name, strerror(-r));
	}
	return r;
}

/* The file contains a private key, so only its owner may read it. */
static int write_private(const char *path, struct str text)
{
	unlink(path); /* left by a process that died here */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		return -errno;
	}
	int r = file_write(fd, text);
	close(fd);
	return r;
}

/* Writes under another name and renames, so the file is either whole or absent. */
static int replace_file(const char *path, struct str text)
{
	_cleanup_(mem_freep) char *temporary = mem_printf("%s.%ld.new", path, (long)getpid());
	int r = write_private(temporary, text);
	if (!r && rename(temporary, path) < 0) {
		r = -errno;
	}
	if (r) {
		unlink(temporary);
	}
	return r;
}

int ready_write_kubeconfig(const struct ready_flags *f, const struct datadir *dir, const char *url, struct buf *err)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, FILE_MAX);
	int r = kubeconfig_ensure(dir, url, err);
	if (r || !f->kubeconfig_out) {
		return r;
	}
	r = read_file(dir, "kubeconfig", &text, err);
	if (r) {
		return r;
	}
	r = replace_file(f->kubeconfig_out, buf_str(&text));
	if (r) {
		buf_printf(err, "--kubeconfig-out %s: %s", f->kubeconfig_out, strerror(-r));
	}
	return r;
}

/* ---- for people ---- */

/* The first line is what scripts wait for; the rest works when pasted. It is README's first tour: a test compares them. */
static const char greeting[] =
	"annals is ready: %s\n"
	"\n"
	"In another terminal, record what happens to ConfigMaps, change one, and see who did it:\n"
	"\n"
	"  export KUBECONFIG=%s\n"
	"  echo '{\"apiVersion\": \"annals.dev/v1\", \"kind\": \"Recorder\", \"metadata\": {\"name\": \"settings\"},"
	" \"spec\": {\"resources\": [{\"groups\": [\"\"], \"resources\": [\"configmaps\"]}]}}' | kubectl create -f -\n"
	"  kubectl wait --for=condition=Recording --timeout=60s recorder/settings\n"
	"  kubectl create configmap shop --from-literal=limit=100\n"
	"  kubectl patch configmap shop -p '{\"data\": {\"limit\": \"1\"}}' --as=bob --as-group=system:masters\n"
	"  kubectl annals log configmap/shop\n"
	"\n"
	"Without kubectl:\n"
	"\n"
	"  (cd %s && curl --cacert ca.crt --cert admin.crt --key admin.key "
	"%s/apis/annals.dev/v1/namespaces/default/histories)\n"
	"\n";

/* A path as a shell takes it; mem_free. */
static char *quoted(const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+";
	if (path[strspn(path, plain)] == '\0') {
		return mem_strdup(path);
	}
	struct buf out;
	buf_init(&out, SIZE_MAX / 2);
	buf_addc(&out, '\'');
	for (const char *c = path; *c; c++) {
		buf_printf(&out, *c == '\'' ? "'\\%c'" : "%c", *c);
	}
	buf_addc(&out, '\'');
	return buf_take(&out, NULL);
}

static void tell_what_is_kept(const struct ready_server *s)
{
	const char *path = s->dir->path;
	if (s->is_ephemeral) {
		printf("Nothing is kept: %s is removed when annals ends. Ctrl-C stops annals, and so does the end of the "
		       "process "
		       "that started it.\n",
			path);
	} else if (strcmp(s->store, "memory") == 0) {
		printf("Nothing is kept: objects are in memory, and are gone when annals ends. Certificates are in %s. Ctrl-C "
		       "stops "
		       "annals.\n",
			path);
	} else {
		printf("%s in %s. Ctrl-C stops annals; the next start takes the data up again.\n",
			s->has_etcd ? "Data and certificates are" : "Certificates are", path);
	}
}

static void greet(const struct ready_server *s)
{
	_cleanup_(mem_freep) char *folder = quoted(s->dir->path), *kubeconfig = quoted(s->kubeconfig);
	printf(greeting, s->url, kubeconfig, folder, s->url);
	tell_what_is_kept(s);
}

/* ---- for programs ---- */

static const struct {
	const char *name, *file;
} contents[] = {{"ca", "ca.crt"}, {"clientCertificate", "admin.crt"}, {"clientKey", "admin.key"}};

static int add_contents(const struct datadir *dir, struct arena *a, struct json *line, struct buf *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		_cleanup_(buf_done) struct buf text;
		buf_init(&text, FILE_MAX);
		int r = read_file(dir, contents[i].file, &text, err);
		if (r) {
			return r;
		}
		json_set(a, line, str_of(contents[i].name), json_string(a, arena_dup(a, buf_str(&text))));
	}
	return 0;
}

static int make_line(const struct ready_server *s, struct buf *out, struct buf *err)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, LINE_MAX_BYTES);
	struct json *line = json_object(&a);
	json_set(&a, line, STR("url"), json_string(&a, str_of(s->url)));
	json_set(&a, line, STR("pid"), json_int(&a, getpid()));
	json_set(&a, line, STR("directory"), json_string(&a, str_of(s->dir->path)));
	json_set(&a, line, STR("kubeconfig"), json_string(&a, str_of(s->kubeconfig)));
	json_set(&a, line, STR("store"), json_string(&a, str_of(s->store)));
	json_set(&a, line, STR("version"), json_string(&a, STR(ANNALS_VERSION)));
	json_add_text(&a, line, STR("token"), str_of(s->token ? s->token : ""));
	int r = add_contents(s->dir, &a, line, err);
	if (!r && (!json_encode(out, line) || !buf_addc(out, '\n'))) {
		buf_adds(err, "what --output=json is to print is too long");
		r = -EFBIG;
	}
	return r;
}

/* Ignores EPIPE: the reader has closed its end, and does not want the line. */
static int tell_fd(const struct ready_flags *f, struct str line, struct buf *err)
{
	int r = file_write((int)f->fd, line);
	close((int)f->fd);
	if (r && r != -EPIPE) {
		buf_printf(err, "--ready-fd %lld: %s", (long long)f->fd, strerror(-r));
		return r;
	}
	return 0;
}

int ready_tell(const struct ready_flags *f, const struct ready_server *s, struct buf *err)
{
	_cleanup_(buf_done) struct buf line;
	buf_init(&line, LINE_MAX_BYTES);
	int r = 0;
	if (is_json(f)) {
		r = make_line(s, &line, err);
		fwrite(line.p, 1, line.n, stdout);
	} else {
		greet(s);
		buf_printf(&line, "%s\n", s->url);
	}
	fflush(stdout);
	return r || f->fd == 0 ? r : tell_fd(f, buf_str(&line), err);
}
