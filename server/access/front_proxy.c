/* The lists of headers come from flags or from a ConfigMap of the cluster. The first header that
 * names a user decides, but the groups of all group headers are put together, and so are extra
 * values: as upstream's headerrequest reads them. No allowed names at all means any name
 * (--requestheader-allowed-names). */
#include "server/access/front_proxy.h"

#include "server/access/extra_key.h"

bool front_proxy_may_have(const struct trust *t, struct str common_name)
{
	for (size_t i = 0; i < t->n_front_names; i++) {
		if (str_eq(t->front_names[i], common_name)) {
			return true;
		}
	}
	return t->n_front_names == 0;
}

/* A name that comes twice counts as it comes first, even if it is empty then. */
static struct str first_value(const struct http_header *headers, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq_nocase(headers[i].name, name)) {
			return headers[i].value;
		}
	}
	return STR("");
}

static struct str first_of(const struct http_header *headers, size_t n, const struct str *names, size_t n_names)
{
	struct str value = STR("");
	for (size_t i = 0; i < n_names && value.n == 0; i++) {
		value = first_value(headers, n, names[i]);
	}
	return value;
}

static void read_groups(const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret)
{
	/* A header may be listed twice, and then counts twice: so there is room for each in
	 * each. */
	struct str *groups = arena_array(a, struct str, n * t->n_group_headers);
	for (size_t i = 0; i < t->n_group_headers; i++) {
		for (size_t k = 0; k < n; k++) {
			if (headers[k].value.n > 0 && str_eq_nocase(headers[k].name, t->group_headers[i])) {
				groups[ret->n_groups++] = headers[k].value;
			}
		}
	}
	ret->groups = groups;
}

static void read_extra(const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret)
{
	struct user_extra *extra = arena_array(a, struct user_extra, n * t->n_extra_prefixes);
	for (size_t i = 0; i < t->n_extra_prefixes; i++) {
		for (size_t k = 0; k < n; k++) {
			struct str key;
			if (extra_key(headers[k].name, t->extra_prefixes[i], a, &key)) {
				extra[ret->n_extra++] = (struct user_extra){key, headers[k].value};
			}
		}
	}
	ret->extra = extra;
}

bool front_proxy_read(
	const struct trust *t, const struct http_header *headers, size_t n, struct arena *a, struct user *ret)
{
	struct str name = first_of(headers, n, t->user_headers, t->n_user_headers);
	if (name.n == 0) {
		return false;
	}
	*ret = (struct user){.name = name, .uid = first_of(headers, n, t->uid_headers, t->n_uid_headers)};
	read_groups(t, headers, n, a, ret);
	read_extra(t, headers, n, a, ret);
	return true;
}
