/* A copy into one arena: whoever follows the cluster's configuration can then swap all of it at
 * once. */
#include "api/model/trust.h"

static const struct str *copy_all(const struct str *from, size_t n, struct arena *a)
{
	struct str *all = arena_array(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		all[i] = arena_dup(a, from[i]);
	}
	return all;
}

void trust_copy(struct trust *ret, const struct trust *from, struct arena *a)
{
	*ret = *from;
	ret->client_ca = arena_dup(a, from->client_ca);
	ret->front_ca = arena_dup(a, from->front_ca);
	ret->front_names = copy_all(from->front_names, from->n_front_names, a);
	ret->user_headers = copy_all(from->user_headers, from->n_user_headers, a);
	ret->uid_headers = copy_all(from->uid_headers, from->n_uid_headers, a);
	ret->group_headers = copy_all(from->group_headers, from->n_group_headers, a);
	ret->extra_prefixes = copy_all(from->extra_prefixes, from->n_extra_prefixes, a);
}
