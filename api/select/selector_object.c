/* LabelSelectorAsSelector of k8s.io/apimachinery/pkg/apis/meta/v1: webhooks and policies have
 * selectors as objects. Both forms become one struct, so there is one matcher. */
#include "api/select/selector.h"

#include "api/model/gotext.h"
#include "api/model/members.h"

#include <stdlib.h>

static const struct operation {
	const char *name;
	enum selector_op op;
	bool has_values;
} operations[] = {
	{"In", SELECTOR_IN, true},
	{"NotIn", SELECTOR_NOT_IN, true},
	{"Exists", SELECTOR_EXISTS, false},
	{"DoesNotExist", SELECTOR_NOT_EXISTS, false},
};

static const struct operation *find_operation(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (str_is(name, operations[i].name)) {
			return &operations[i];
		}
	}
	return NULL;
}

static int compare_requirements(const void *a, const void *b)
{
	return str_cmp(((const struct requirement *)a)->key, ((const struct requirement *)b)->key);
}

static void set_values(struct requirement *r, const struct json *values, struct arena *a)
{
	uint32_t n = json_is(values, JSON_ARRAY) ? values->n : 0;
	struct str *sorted = arena_array(a, struct str, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = json_text(values->items[i]);
	}
	str_sort(sorted, n);
	r->values = sorted;
	for (uint32_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(sorted[i], sorted[i - 1])) {
			r->values[r->n_values++] = sorted[i];
		}
	}
}

static int add_expression(struct label_selector *s, const struct json *expression, struct arena *a, struct str *ret_problem)
{
	struct str name = member_text(expression, "operator");
	const struct operation *operation = find_operation(name);
	if (!operation) {
		*ret_problem = arena_printf(a, STR_FMT " is not a valid label selector operator", STR_ARG(go_quote(a, name)));
		return 1;
	}
	struct requirement *r = &s->v[s->n++];
	*r = (struct requirement){.op = operation->op, .key = member_text(expression, "key")};
	set_values(r, json_gets(expression, "values"), a);
	if (operation->has_values != (r->n_values > 0)) {
		*ret_problem = operation->has_values ? STR("for 'in', 'notin' operators, values set can't be empty")
						     : STR("values set must be empty for exists and does not exist");
		return 1;
	}
	return 0;
}

static void add_label(struct label_selector *s, const struct json_member *label, struct arena *a)
{
	struct requirement *r = &s->v[s->n++];
	*r = (struct requirement){.op = SELECTOR_IN, .key = label->name, .values = arena_new(a, struct str), .n_values = 1};
	r->values[0] = json_text(label->value);
}

int label_selector_read(struct label_selector *ret, const struct json *object, struct arena *a, struct str *ret_problem)
{
	const struct json *labels = json_gets(object, "matchLabels"), *expressions = json_gets(object, "matchExpressions");
	uint32_t n_labels = json_is(labels, JSON_OBJECT) ? labels->n : 0;
	uint32_t n_expressions = json_is(expressions, JSON_ARRAY) ? expressions->n : 0;
	struct label_selector s = {.v = arena_array(a, struct requirement, (size_t)n_labels + n_expressions + 1)};
	for (uint32_t i = 0; i < n_labels; i++) {
		add_label(&s, &labels->members[i], a);
	}
	for (uint32_t i = 0; i < n_expressions; i++) {
		int r = add_expression(&s, expressions->items[i], a, ret_problem);
		if (r) {
			return r;
		}
	}
	qsort(s.v, s.n, sizeof(*s.v), compare_requirements);
	*ret = s;
	return 0;
}

static int compare_labels(const void *a, const void *b)
{
	return str_cmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

size_t labels_read(const struct label **ret, const struct json *object, struct arena *a)
{
	size_t n = json_is(object, JSON_OBJECT) ? object->n : 0;
	struct label *labels = arena_array(a, struct label, n + 1);
	for (size_t i = 0; i < n; i++) {
		labels[i] = (struct label){object->members[i].name, json_text(object->members[i].value)};
	}
	qsort(labels, n, sizeof(*labels), compare_labels);
	*ret = labels;
	return n;
}
