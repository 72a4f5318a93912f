/* Members in the order of their names: bytes that others compute again, and comparison of two
 * objects in one walk, however many members a client has put into them. */
#include "controllers/history/history_private.h"

#include <stdlib.h>

/* Of equal names the one behind comes last: members stand in one array, so their order is that
 * of their addresses. */
struct placed {
	struct history_member member;
	size_t place;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int r = str_cmp(x->member.name, y->member.name);
	return r ? r : (x->place > y->place) - (x->place < y->place);
}

size_t history_members(struct history_member **ret, const struct json *object, const struct history_member *extra)
{
	size_t n = json_is(object, JSON_OBJECT) ? object->n : 0, all = n + (extra ? 1 : 0), kept = 0;
	struct placed *sorted = mem_array(all + 1, sizeof(*sorted));
	for (size_t i = 0; i < all; i++) {
		sorted[i].member = i < n ? (struct history_member){object->members[i].name, object->members[i].value} : *extra;
		sorted[i].place = i;
	}
	qsort(sorted, all, sizeof(*sorted), compare_placed);

	struct history_member *members = mem_array(all + 1, sizeof(*members));
	for (size_t i = 0; i < all; i++) {
		if (i + 1 == all || !str_eq(sorted[i].member.name, sorted[i + 1].member.name)) {
			members[kept++] = sorted[i].member;
		}
	}
	mem_free(sorted);
	*ret = members;
	return kept;
}
