/* The rights are asked about as any request's are, one after the other, and all that are missing are told. They are
 * asked about the object as webhooks have left it: that is what would be carried out. */
#include "server/write/write_needs.h"

enum { TOLD_MAX = 8, TOLD_BYTES_MAX = 16384 };

/* ---- what is served ---- */

static bool matches(struct str wanted, const char *name)
{
	return str_is(wanted, "*") || str_is(wanted, name);
}

static bool shows(const struct kind *k, struct str group)
{
	for (size_t i = 0; i < k->n_doors; i++) {
		if (matches(group, k->doors[i].group)) {
			return true;
		}
	}
	return false;
}

static bool is_watched(const struct need *need)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if ((k->verbs & VERB_WATCH) && matches(need->resource, k->resource) && shows(k, need->group)) {
			return true;
		}
	}
	return false;
}

/* How many needs there are of one field, from the first on: it may name a resource of several groups. */
static size_t count_of_field(const struct need *needs, size_t n)
{
	size_t i = 1;

	while (i < n && str_eq(needs[i].path, needs[0].path)) {
		i++;
	}
	return i;
}

static bool is_any_watched(const struct need *needs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!needs[i].is_to_be_watched || is_watched(&needs[i])) {
			return true;
		}
	}
	return false;
}

/* Behind a kube-apiserver, others serve what is named, perhaps later on. */
static int check_served(struct request *q, const struct object *o, const struct need *needs, size_t n)
{
	struct field_errors errors;
	size_t n_same;

	field_errors_init(&errors, q->a);
	for (size_t i = 0; i < n; i += n_same) {
		n_same = count_of_field(needs + i, n - i);
		if (!is_any_watched(needs + i, n_same)) {
			field_invalid_str(&errors, needs[i].path, needs[i].resource,
				"no such resource is served here that can be watched");
		}
	}
	if (errors.n > 0) {
		status_invalid(&q->st, request_group(q), str_of(o->kind->kind), o->meta.name, &errors);
	}
	return errors.n > 0;
}

/* ---- what the user may ---- */

/* What is missing so far. */
struct missing {
	struct buf text;
	size_t n;
};

static void add_missing(struct missing *m, const struct authz_attributes *what, struct str path, struct arena *a)
{
	if (m->n++ < TOLD_MAX) {
		buf_printf(&m->text, "%s" STR_FMT ", which " STR_FMT " needs", m->n > 1 ? "; " : "",
			STR_ARG(authz_sentence(what, a)), STR_ARG(path));
	}
}

/* 0; 1 with the status of a question that got no answer; or ASK_FIRST. */
static int ask(struct request *q, const struct need *need, struct missing *m)
{
	const struct authz_attributes what = {
		.user = q->user,
		.verb = need->verb,
		.is_resource = true,
		.group = need->group,
		.version = STR("*"),
		.resource = need->resource,
		.name = need->name,
	};
	struct authz_verdict verdict;

	int r = authz_check(q->server->authz, &what, &q->questions, &verdict, q->a, &q->st);
	if (r != 1 || verdict.is_turned_away) {
		return r;
	}
	add_missing(m, &what, need->path, q->a);
	status_init(&q->st, q->a);
	return 0;
}

static int refuse_missing(struct request *q, const struct object *o, const struct missing *m)
{
	struct str more = m->n > TOLD_MAX ? arena_printf(q->a, "; and %zu more", m->n - TOLD_MAX) : STR("");

	status_forbidden(&q->st, request_group(q), q->route.resource, o->meta.name, STR_FMT STR_FMT, STR_ARG(buf_str(&m->text)),
		STR_ARG(more));
	return 1;
}

static int ask_all(struct request *q, const struct object *o, const struct need *needs, size_t n, struct missing *m)
{
	for (size_t i = 0; i < n; i++) {
		int r = ask(q, &needs[i], m);
		if (r) {
			return r;
		}
	}
	return m->n > 0 ? refuse_missing(q, o, m) : 0;
}

int write_ask_needs(struct request *q, const struct object *o, const struct object *old)
{
	const struct kind *k = o->kind;
	struct missing m = {.n = 0};
	struct need *needs;

	if (!k->needs || q->route.sub) {
		return 0;
	}
	needs = arena_array(q->a, struct need, NEEDS_MAX);
	size_t n = k->needs(o, old, needs, q->a);
	if (q->server->options.is_standalone && check_served(q, o, needs, n)) {
		return 1;
	}
	buf_init(&m.text, TOLD_BYTES_MAX);
	int r = ask_all(q, o, needs, n, &m);
	buf_done(&m.text);
	return r;
}
