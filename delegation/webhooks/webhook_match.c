/* Upstream's predicates, over tables of texts. An object is asked of both its states: whoever takes
 * a label off must not escape the webhook that selects it. Equivalent rules are tried on the kind's
 * other doors, since all lead to one object. */
#include "delegation/webhooks/webhook_match.h"

static bool has_or_all(const struct texts *t, struct str wanted)
{
	for (size_t i = 0; i < t->n; i++) {
		if (str_is(t->v[i], "*") || str_eq(t->v[i], wanted)) {
			return true;
		}
	}
	return false;
}

static bool is_in_scope(enum webhook_scope scope, struct str ns)
{
	switch (scope) {
	case SCOPE_ALL:
		return true;
	case SCOPE_NAMESPACED:
		return ns.n > 0;
	case SCOPE_CLUSTER:
		return ns.n == 0;
	case SCOPE_NONE:
		break;
	}
	return false;
}

/* "pods" is the resource alone; what stands behind a slash, or "*" there, means subresources. */
static bool has_resource(const struct texts *t, struct str resource, struct str subresource)
{
	for (size_t i = 0; i < t->n; i++) {
		struct str head, tail;
		str_cut(t->v[i], '/', &head, &tail);
		bool is_resource = str_is(head, "*") || str_eq(head, resource);
		if (is_resource && (str_is(tail, "*") || str_eq(tail, subresource))) {
			return true;
		}
	}
	return false;
}

bool webhook_rule_matches(const struct webhook_rule *r, const struct webhook_question *q, const struct door *door)
{
	return is_in_scope(r->scope, q->ns) && has_or_all(&r->operations, str_of(q->operation)) &&
		has_or_all(&r->groups, str_of(door->group)) && has_or_all(&r->versions, str_of(door->version)) &&
		has_resource(&r->resources, str_of(q->kind->resource), q->subresource);
}

/* Only doors that are open behind a kube-apiserver count. */
static const struct door *other_door(const struct webhook_rule *r, const struct webhook_question *q)
{
	for (size_t i = 0; i < q->kind->n_doors; i++) {
		const struct door *door = &q->kind->doors[i];
		if (door != q->door && door_is_visible(door, false) && webhook_rule_matches(r, q, door)) {
			return door;
		}
	}
	return NULL;
}

const struct door *webhook_door(const struct webhook *h, const struct webhook_question *q)
{
	for (size_t i = 0; i < h->n_rules; i++) {
		if (webhook_rule_matches(&h->rules[i], q, q->door)) {
			return q->door;
		}
	}
	const struct door *door = NULL;
	for (size_t i = 0; i < h->n_rules && h->is_equivalent && !door; i++) {
		door = other_door(&h->rules[i], q);
	}
	return door;
}

static bool is_empty(const struct webhook_selector *s)
{
	return !s->is_absent && !s->problem.n && s->labels.n == 0;
}

bool webhook_looks_at_namespace(const struct webhook *h, const struct webhook_question *q)
{
	return q->ns.n > 0 && !is_empty(&h->namespaces);
}

bool webhook_selects(const struct webhook_selector *s, const struct label *labels, size_t n)
{
	return !s->is_absent && label_selector_matches(&s->labels, labels, n);
}

static bool selects_one(const struct webhook_selector *s, const struct object *o, struct arena *a)
{
	if (!o) {
		return false;
	}
	const struct label *labels;
	size_t n = labels_read(&labels, o->meta.labels, a);
	return webhook_selects(s, labels, n);
}

bool webhook_selects_object(const struct webhook *h, const struct object *object, const struct object *old, struct arena *a)
{
	return is_empty(&h->objects) || selects_one(&h->objects, object, a) || selects_one(&h->objects, old, a);
}
