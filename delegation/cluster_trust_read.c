/* Every half is believed whole or not at all. A list that cannot be read must not look like an
 * empty one, which lets any name be a front proxy's: so reading begins with a struct that believes
 * nobody, and only a good one replaces it. */
#include "delegation/cluster_trust_read.h"

#include "api/model/members.h"

enum {
	LIST_MAX = 256, /* names in a list */
	NAME_MAX_BYTES = 1024,
};

static const struct json_limits limits = {.depth = 2, .values = LIST_MAX + 1};

static void add_problem(struct buf *problems, const char *key, const char *what)
{
	buf_printf(problems, "%s%s %s", problems->n ? "; " : "", key, what);
}

/* ---- lists ---- */

struct list_row {
	const char *key;
	const struct str **list;
	size_t *n;
	bool is_names; /* of certificates, which may be empty */
	bool is_needed;
};

static const char *name_problem(const struct json *name, bool may_be_empty)
{
	if (!json_is(name, JSON_STRING)) {
		return "is no list of strings";
	}
	if (name->n > NAME_MAX_BYTES) {
		return "has too long a name in it";
	}
	return !may_be_empty && str_trim(json_text(name)).n == 0 ? "has an empty name in it" : NULL;
}

/* What is wrong, or NULL. Absent, "" and null are an empty list. */
static const char *read_list(const struct list_row *row, struct str text, struct arena *a)
{
	struct json *list;
	size_t at;
	if (text.n == 0) {
		return NULL;
	}
	int r = json_parse(&list, a, text, limits, &at);
	if (r == JSON_E_VALUES) {
		return "has too many names";
	}
	if (r || !(json_is(list, JSON_ARRAY) || json_is(list, JSON_NULL))) {
		return "is no list of strings";
	}

	size_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	struct str *names = arena_array(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		const char *problem = name_problem(list->items[i], row->is_names);
		if (problem) {
			return problem;
		}
		names[i] = json_text(list->items[i]);
	}
	*row->list = names;
	*row->n = n;
	return NULL;
}

static bool read_lists(struct trust *t, const struct json *data, struct arena *a, struct buf *problems)
{
	const struct list_row rows[] = {
		{"requestheader-allowed-names", &t->front_names, &t->n_front_names, .is_names = true},
		{"requestheader-username-headers", &t->user_headers, &t->n_user_headers, .is_needed = true},
		{"requestheader-uid-headers", &t->uid_headers, &t->n_uid_headers, .is_needed = false},
		{"requestheader-group-headers", &t->group_headers, &t->n_group_headers, .is_needed = false},
		{"requestheader-extra-headers-prefix", &t->extra_prefixes, &t->n_extra_prefixes, .is_needed = false},
	};
	bool is_good = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *problem = read_list(&rows[i], member_text(data, rows[i].key), a);
		if (!problem && rows[i].is_needed && *rows[i].n == 0) {
			problem = "is missing";
		}
		if (problem) {
			add_problem(problems, rows[i].key, problem);
			is_good = false;
		}
	}
	return is_good;
}

/* ---- both halves ---- */

static struct str read_ca(const struct json *data, const char *key, struct buf *problems)
{
	struct str pem = member_text(data, key);
	if (pem.n == 0) {
		add_problem(problems, key, "is missing");
	}
	return pem;
}

void trust_read_users(struct trust *ret, const struct json *config_map, struct buf *problems)
{
	ret->client_ca = config_map ? read_ca(json_gets(config_map, "data"), "client-ca-file", problems) : STR("");
}

void trust_read_fronts(struct trust *ret, const struct json *config_map, struct arena *a, struct buf *problems)
{
	const struct json *data = json_gets(config_map, "data");
	struct trust fronts = {.n_front_names = 0};
	if (!config_map) {
		return;
	}
	fronts.front_ca = read_ca(data, "requestheader-client-ca-file", problems);
	if (read_lists(&fronts, data, a, problems) && fronts.front_ca.n > 0) {
		fronts.client_ca = ret->client_ca;
		*ret = fronts;
	}
}
