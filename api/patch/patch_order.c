/* normalizeElementOrder of k8s.io/apimachinery/pkg/util/strategicpatch, with sorted keys instead
 * of its loops within loops. Upstream's cost is the square of a list's length, and lists are the
 * client's. */
#include "api/patch/patch_order.h"

#include <stdlib.h>

static bool is_scalar(const struct json *j)
{
	return j && j->kind != JSON_ARRAY && j->kind != JSON_OBJECT;
}

const struct json *element_key(const struct json *element, const char *merge_key)
{
	const struct json *key = *merge_key ? json_gets(element, merge_key) : element;
	return is_scalar(key) ? key : NULL;
}

static int compare_keys(const struct json *a, const struct json *b)
{
	if (a->kind != b->kind) {
		return (int)a->kind - (int)b->kind;
	}
	switch (a->kind) {
	case JSON_BOOL:
		return a->boolean - b->boolean;
	case JSON_NUMBER:
		return json_number_cmp(json_text(a), json_text(b));
	case JSON_STRING:
		return str_cmp(json_text(a), json_text(b));
	default:
		return 0;
	}
}

static int compare_entries(const void *x, const void *y)
{
	const struct order_entry *a = x, *b = y;
	int order = compare_keys(a->key, b->key);
	return order ? order : (a->at > b->at) - (a->at < b->at);
}

bool order_build(struct order *ret, const struct json *list, const char *merge_key, struct arena *a)
{
	ret->n = list->n;
	ret->v = arena_array(a, struct order_entry, list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *key = element_key(list->items[i], merge_key);
		if (!key) {
			return false;
		}
		ret->v[i] = (struct order_entry){key, i};
	}
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_entries);
	return true;
}

uint32_t order_find(const struct order *o, const struct json *key)
{
	uint32_t low = 0, high = o->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare_keys(o->v[middle].key, key) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < o->n && compare_keys(o->v[low].key, key) == 0 ? o->v[low].at : UINT32_MAX;
}

struct ranked {
	struct json *item;
	uint32_t rank, at;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;
	if (a->rank != b->rank) {
		return a->rank < b->rank ? -1 : 1;
	}
	return (a->at > b->at) - (a->at < b->at);
}

struct arrangement {
	const char *merge_key;
	struct order named, server;
};

/* Those elements that are named, or those that are not, by their place in `order`. */
static struct ranked *pick(const struct arrangement *x, const struct json *list, bool is_named, const struct order *order,
	struct arena *a, uint32_t *ret_n)
{
	struct ranked *picked = arena_array(a, struct ranked, list->n);
	uint32_t n = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *key = element_key(list->items[i], x->merge_key);
		if ((order_find(&x->named, key) != UINT32_MAX) == is_named) {
			picked[n++] = (struct ranked){list->items[i], order_find(order, key), i};
		}
	}
	qsort(picked, n, sizeof(*picked), compare_ranked);
	*ret_n = n;
	return picked;
}

static bool goes_first(const struct arrangement *x, const struct ranked *other, const struct ranked *named)
{
	uint32_t at = order_find(&x->server, element_key(named->item, x->merge_key));
	return at != UINT32_MAX && other->rank < at;
}

struct json *order_arrange(
	const struct json *list, const struct json *named, const struct json *server, const char *merge_key, struct arena *a)
{
	struct arrangement x = {.merge_key = merge_key};
	struct order all;
	if (!order_build(&all, list, merge_key, a) || !order_build(&x.named, named, merge_key, a) ||
		!order_build(&x.server, server, merge_key, a)) {
		return NULL;
	}

	uint32_t n_left, n_right;
	const struct ranked *left = pick(&x, list, false, &x.server, a, &n_left);
	const struct ranked *right = pick(&x, list, true, &x.named, a, &n_right);
	struct json *result = json_array(a);
	while (n_left || n_right) {
		bool takes_left = !n_right || (n_left && goes_first(&x, left, right));
		json_append(a, result, takes_left ? left->item : right->item);
		if (takes_left) {
			left++;
			n_left--;
		} else {
			right++;
			n_right--;
		}
	}
	return result;
}
