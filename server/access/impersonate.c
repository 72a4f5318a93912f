/* Impersonation. Each part of the requested identity needs a permission of its own, asked in
 * upstream's order; the first refusal ends it. Behind a cluster each permission may be a
 * question that has to wait. Then this file's work runs again from its start, so the user
 * changes only when every permission is there. */
#include "server/access/impersonate.h"

#include "server/access/authn.h"

#define PREFIX STR("Impersonate-")
#define EXTRA_PREFIX STR("Impersonate-Extra-")
#define SERVICE_ACCOUNT_PREFIX STR("system:serviceaccount:")

/* All service accounts, those of one namespace, and everybody. */
enum { GROUPS_IMPLIED_MAX = 3 };

/* The identity that the headers ask for. */
struct wanted {
	struct str name, uid;
	struct str *groups;
	size_t n_groups;
	struct user_extra *extra;
	size_t n_extra;
};

/* Checks for headers without allocating: nearly every request has none. */
static bool has_headers(const struct http_exchange *x)
{
	const struct http_header *headers;
	size_t n = http_headers(x, &headers);
	for (size_t i = 0; i < n; i++) {
		struct str head = {headers[i].name.p, MIN(headers[i].name.n, PREFIX.n)};
		if (str_eq_nocase(head, PREFIX)) {
			return true;
		}
	}
	return false;
}

static void wanted_read_header(struct wanted *w, const struct http_header *h, struct arena *a)
{
	if (str_eq_nocase(h->name, STR("Impersonate-Group"))) {
		w->groups[w->n_groups++] = h->value;
		return;
	}
	struct str key;
	if (extra_key(h->name, EXTRA_PREFIX, a, &key)) {
		w->extra[w->n_extra++] = (struct user_extra){key, h->value};
	}
}

static void wanted_read(struct wanted *w, const struct http_exchange *x, struct arena *a)
{
	const struct http_header *headers;
	size_t n = http_headers(x, &headers);
	*w = (struct wanted){
		.name = http_header(x, "Impersonate-User"),
		.uid = http_header(x, "Impersonate-Uid"),
		.groups = arena_array(a, struct str, n + GROUPS_IMPLIED_MAX),
		.extra = arena_array(a, struct user_extra, n),
	};
	for (size_t i = 0; i < n; i++) {
		wanted_read_header(w, &headers[i], a);
	}
}

static bool split_service_account(struct str name, struct str *ret_ns, struct str *ret_name)
{
	if (!str_starts(name, SERVICE_ACCOUNT_PREFIX)) {
		return false;
	}
	struct str rest = {name.p + SERVICE_ACCOUNT_PREFIX.n, name.n - SERVICE_ACCOUNT_PREFIX.n};
	return str_cut(rest, ':', ret_ns, ret_name) && ret_ns->n > 0 && ret_name->n > 0;
}

/* The parameters of a permission check. */
struct asking {
	struct authz *authz;
	struct questions *questions;
	const struct user *who;
	struct arena *arena;
	struct status *st;
};

static int ask(const struct asking *q, struct authz_attributes what)
{
	what.user = q->who;
	what.verb = STR("impersonate");
	what.is_resource = true;
	return authz_check(q->authz, &what, q->questions, NULL, q->arena, q->st);
}

static int ask_name(const struct asking *q, struct str name)
{
	struct str ns, account;
	if (split_service_account(name, &ns, &account)) {
		return ask(q,
			(struct authz_attributes){
				.version = STR("v1"), .resource = STR("serviceaccounts"), .ns = ns, .name = account});
	}
	return ask(q, (struct authz_attributes){.version = STR("v1"), .resource = STR("users"), .name = name});
}

static int ask_uid(const struct asking *q, struct str uid)
{
	struct authz_attributes what = {
		.group = STR("authentication.k8s.io"), .version = STR("v1"), .resource = STR("uids"), .name = uid};
	return uid.n > 0 ? ask(q, what) : 0;
}

static int ask_groups(const struct asking *q, const struct wanted *w)
{
	int r = 0;
	for (size_t i = 0; i < w->n_groups && !r; i++) {
		r = ask(q, (struct authz_attributes){.version = STR("v1"), .resource = STR("groups"), .name = w->groups[i]});
	}
	return r;
}

static int ask_extra(const struct asking *q, const struct wanted *w)
{
	int r = 0;
	for (size_t i = 0; i < w->n_extra && !r; i++) {
		r = ask(q,
			(struct authz_attributes){.group = STR("authentication.k8s.io"),
				.version = STR("v1"),
				.resource = STR("userextras"),
				.subresource = w->extra[i].key,
				.name = w->extra[i].value});
	}
	return r;
}

static int ask_all(const struct asking *q, const struct wanted *w)
{
	int r = ask_name(q, w->name);
	r = r ? r : ask_uid(q, w->uid);
	r = r ? r : ask_groups(q, w);
	return r ? r : ask_extra(q, w);
}

static void wanted_ensure_group(struct wanted *w, struct str group)
{
	struct user now = {.groups = w->groups, .n_groups = w->n_groups};
	if (!user_in_group(&now, group)) {
		w->groups[w->n_groups++] = group;
	}
}

/* Adds implied groups: those of a service account when none were requested, and that of
 * everybody. */
static void wanted_complete(struct wanted *w, struct arena *a)
{
	struct str ns, account;
	/* Requested groups replace those of a service account: upstream adds these only where
	 * none are requested. */
	if (w->n_groups == 0 && split_service_account(w->name, &ns, &account)) {
		w->groups[w->n_groups++] = STR("system:serviceaccounts");
		w->groups[w->n_groups++] = arena_printf(a, "system:serviceaccounts:" STR_FMT, STR_ARG(ns));
	}

	struct user now = {.groups = w->groups, .n_groups = w->n_groups};
	if (str_eq(w->name, USER_ANONYMOUS)) {
		wanted_ensure_group(w, GROUP_UNAUTHENTICATED);
	} else if (!user_in_group(&now, GROUP_UNAUTHENTICATED)) {
		wanted_ensure_group(w, GROUP_AUTHENTICATED);
	}
}

/* Refuses. Upstream then tries constrained impersonation, which needs "impersonate-on:MODE:VERB"
 * on the requested resource, and says that this is missing. No policy here names such verbs. */
static int refuse_constrained(const struct asking *q, const struct wanted *w, const struct authz_attributes *what)
{
	struct str ns, account;
	const char *mode = split_service_account(w->name, &ns, &account) ? "serviceaccount"
		: str_starts(w->name, STR("system:node:"))		 ? "arbitrary-node"
									 : "user-info";
	struct authz_attributes on = *what;
	struct status st;

	on.user = q->who;
	on.verb = arena_printf(q->arena, "impersonate-on:%s:" STR_FMT, mode, STR_ARG(what->verb));
	status_init(&st, q->arena);
	int r = authz_check(q->authz, &on, q->questions, NULL, q->arena, &st);
	if (r == 1) {
		*q->st = st;
	}
	return r == ASK_FIRST ? r : 1;
}

int impersonate(struct authz *authz, struct questions *questions, const struct http_exchange *x,
	const struct authz_attributes *what, struct user **user, struct arena *a, struct status *st)
{
	if (!has_headers(x)) {
		return 0;
	}

	struct wanted w;
	wanted_read(&w, x, a);
	if (w.name.n == 0) {
		if (w.uid.n == 0 && w.n_groups == 0 && w.n_extra == 0) {
			return 0;
		}
		status_bad_request(st, "requested to impersonate groups, uid or extra without impersonating a user name");
		return 1;
	}
	struct asking q = {.authz = authz, .questions = questions, .who = *user, .arena = a, .st = st};
	int r = ask_all(&q, &w);
	if (r) {
		return r == ASK_FIRST ? r : refuse_constrained(&q, &w, what);
	}

	wanted_complete(&w, a);
	struct user *as = arena_new(a, struct user);
	*as = (struct user){w.name, w.uid, w.groups, w.n_groups, w.extra, w.n_extra};
	*user = as;
	return 0;
}
