/* Names and defaults are those of k8s.io/apiserver's RequestHeaderAuthenticationOptions. */
#include "cli/run/trust_flags.h"

#include <errno.h>

/* A flag of headers, or of the names of those who may send them. */
struct list_row {
	const char *name;
	const struct option_strings *given;
	const char *fallback; /* NULL: none */
	const char *standard; /* what kube-apiserver's aggregator sends; NULL: nothing */
	const struct str **list;
	size_t *n;
};

enum { LISTS = 5 };

static void list_rows(struct trust_flags *f, struct list_row ret[LISTS])
{
	const struct list_row rows[LISTS] = {
		{"requestheader-allowed-names", &f->front_names, NULL, NULL, &f->front.front_names, &f->front.n_front_names},
		{"requestheader-username-headers", &f->user_headers, "x-remote-user", "X-Remote-User", &f->front.user_headers,
			&f->front.n_user_headers},
		{"requestheader-uid-headers", &f->uid_headers, NULL, "X-Remote-Uid", &f->front.uid_headers,
			&f->front.n_uid_headers},
		{"requestheader-group-headers", &f->group_headers, "x-remote-group", "X-Remote-Group", &f->front.group_headers,
			&f->front.n_group_headers},
		{"requestheader-extra-headers-prefix", &f->extra_prefixes, "x-remote-extra-", "X-Remote-Extra-",
			&f->front.extra_prefixes, &f->front.n_extra_prefixes},
	};
	memcpy(ret, rows, sizeof(rows));
}

void trust_flags_done(struct trust_flags *f)
{
	struct list_row rows[LISTS];
	list_rows(f, rows);
	for (size_t i = 0; i < LISTS; i++) {
		mem_free((void *)(uintptr_t)*rows[i].list);
	}
	f->front = (struct trust){.n_front_names = 0};
	option_strings_done(&f->front_names);
	option_strings_done(&f->user_headers);
	option_strings_done(&f->uid_headers);
	option_strings_done(&f->group_headers);
	option_strings_done(&f->extra_prefixes);
}

size_t trust_flags_rows(struct trust_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Front proxy"),
		{"requestheader-client-ca-file", OPTION_STRING, &f->front_ca_file, "FILE",
			"CA of front proxies, whose headers are believed; read again when it changes. Behind a kube-apiserver "
			"by "
			"default the CA in kube-system/extension-apiserver-authentication, which is followed, and the rest of "
			"this "
			"group comes from there, too.",
			0, 0},
		{"requestheader-allowed-names", OPTION_STRINGS, &f->front_names, "NAME,...",
			"Common names that certificates of front proxies may have, with --requestheader-client-ca-file; none: "
			"any.",
			0, 0},
		{"requestheader-username-headers", OPTION_STRINGS, &f->user_headers, "HEADER,...",
			"Headers that name the user, with --requestheader-client-ca-file; by default x-remote-user.", 0, 0},
		{"requestheader-uid-headers", OPTION_STRINGS, &f->uid_headers, "HEADER,...",
			"Headers with the user's uid, with --requestheader-client-ca-file; by default none, X-Remote-Uid is "
			"usual.",
			0, 0},
		{"requestheader-group-headers", OPTION_STRINGS, &f->group_headers, "HEADER,...",
			"Headers with the user's groups, with --requestheader-client-ca-file; by default x-remote-group.", 0,
			0},
		{"requestheader-extra-headers-prefix", OPTION_STRINGS, &f->extra_prefixes, "PREFIX,...",
			"What headers with more about the user begin with, with --requestheader-client-ca-file; by default "
			"x-remote-extra-.",
			0, 0},
		{"authentication-skip-lookup", OPTION_BOOL, &f->skips_lookup, NULL,
			"Do not ask kube-apiserver for the CAs that no flag gives.", 0, 0},
		{"authentication-tolerate-lookup-failure", OPTION_BOOL, &f->tolerates_failure, NULL,
			"Be ready before kube-apiserver has told the CAs that no flag gives.", 0, 0},
	};
	_Static_assert(ARRAY_SIZE(rows) <= TRUST_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
	return ARRAY_SIZE(rows);
}

/* ---- checking ---- */

/* `--flag=`: an empty list. */
static bool is_emptied(const struct option_strings *given)
{
	return given->n == 1 && !given->v[0][0];
}

static int read_list(const struct list_row *row, struct buf *err)
{
	bool is_default = row->given->n == 0 && row->fallback;
	size_t n = is_default ? 1 : is_emptied(row->given) ? 0 : row->given->n;
	struct str *list = mem_array(n + 1, sizeof(*list));
	*row->list = list;
	*row->n = n;
	for (size_t i = 0; i < n; i++) {
		list[i] = str_of(is_default ? row->fallback : row->given->v[i]);
		if (str_trim(list[i]).n == 0) {
			buf_printf(err, "--%s: there is an empty name among them", row->name);
			return -EINVAL;
		}
	}
	return 0;
}

static bool has_standard(const struct list_row *row)
{
	for (size_t i = 0; i < *row->n; i++) {
		if (str_eq_nocase((*row->list)[i], str_of(row->standard))) {
			return true;
		}
	}
	return *row->n == 0 || !row->standard;
}

static int refuse(struct buf *err, const char *why)
{
	buf_adds(err, why);
	return -EINVAL;
}

static bool is_any_list_given(const struct trust_flags *f)
{
	return f->front_names.n + f->user_headers.n + f->uid_headers.n + f->group_headers.n + f->extra_prefixes.n > 0;
}

int trust_flags_check(struct trust_flags *f, bool is_standalone, struct buf *err)
{
	struct list_row rows[LISTS];
	list_rows(f, rows);
	for (size_t i = 0; i < LISTS; i++) {
		int r = read_list(&rows[i], err);
		if (r) {
			return r;
		}
	}
	if (is_standalone && (f->skips_lookup || f->tolerates_failure)) {
		return refuse(err,
			"--standalone asks no kube-apiserver: --authentication-skip-lookup and "
			"--authentication-tolerate-lookup-failure do not go with it");
	}
	if (f->front_ca_file && f->front.n_user_headers == 0) {
		return refuse(err, "--requestheader-username-headers: there must be one, or nobody could be named");
	}
	return 0;
}

void trust_flags_warn(const struct trust_flags *f, struct buf *out)
{
	struct list_row rows[LISTS];
	list_rows((struct trust_flags *)(uintptr_t)f, rows);
	if (is_any_list_given(f) && !f->front_ca_file) {
		BUF_LITERAL(out,
			"--requestheader-allowed-names and the flags of headers say nothing without "
			"--requestheader-client-ca-file");
		return;
	}
	for (size_t i = 0; i < LISTS; i++) {
		if (!has_standard(&rows[i])) {
			buf_printf(out, "%s--%s lacks %s, which kube-apiserver sends", out->n ? "; " : "", rows[i].name,
				rows[i].standard);
		}
	}
}
