/* kube-scheduler's plugins NodeUnschedulable, TaintToleration and NodeAffinity, with their
 * messages. Fake nodes have room for anything, so the plugins for resources, ports and volumes
 * would never refuse. */
#include "controllers/kubelet/placement.h"

#include "api/model/members.h"

#include <stdio.h>

#define UNSCHEDULABLE_TAINT "node.kubernetes.io/unschedulable"

/* ---- taints ---- */

static bool tolerates(const struct json *toleration, struct str key, struct str value, struct str effect)
{
	struct str own_effect = member_text(toleration, "effect"),
		   own_key = member_text(toleration, "key"), operator= member_text(toleration, "operator");
	if ((own_effect.n && !str_eq(own_effect, effect)) || (own_key.n && !str_eq(own_key, key))) {
		return false;
	}
	return str_is(operator, "Exists") ||
		((!operator.n || str_is(operator, "Equal")) && str_eq(member_text(toleration, "value"), value));
}

static bool is_tolerated(const struct json *pod, struct str key, struct str value, struct str effect)
{
	const struct json *tolerations = json_gets(json_gets(pod, "spec"), "tolerations"), *t;
	for (uint32_t i = 0; (t = list_item(tolerations, i)); i++) {
		if (tolerates(t, key, value, effect)) {
			return true;
		}
	}
	return false;
}

/* kube-apiserver creates each node with this taint (TaintNodesByCondition), and kube-controller-manager removes it when the node is Ready. A fake
 * node is Ready from the start, and nobody else may be there to remove it. */
static bool is_of_birth(struct str key)
{
	return str_is(key, "node.kubernetes.io/not-ready");
}

static bool is_kept_away(const struct json *pod, const struct json *node)
{
	const struct json *taints = json_gets(json_gets(node, "spec"), "taints"), *t;
	for (uint32_t i = 0; (t = list_item(taints, i)); i++) {
		struct str effect = member_text(t, "effect");
		bool counts =
			(str_is(effect, "NoSchedule") || str_is(effect, "NoExecute")) && !is_of_birth(member_text(t, "key"));
		if (counts && !is_tolerated(pod, member_text(t, "key"), member_text(t, "value"), effect)) {
			return true;
		}
	}
	return false;
}

/* ---- affinity ---- */

static bool is_among(struct str value, const struct json *values)
{
	const struct json *v;
	for (uint32_t i = 0; (v = list_item(values, i)); i++) {
		if (str_eq(json_text(v), value)) {
			return true;
		}
	}
	return false;
}

/* Evaluates Gt and Lt, whose one value is a number. Text that is not a number is neither greater
 * nor less. */
static bool is_beyond(struct str value, const struct json *values, bool is_greater)
{
	int64_t n, limit;
	return str_to_int64(value, &n) && str_to_int64(json_text(list_item(values, 0)), &limit) &&
		(is_greater ? n > limit : n < limit);
}

/* value: NULL if the node has no such label. */
static bool expression_holds(const struct json *expression, const struct json *value)
{
	struct str operator= member_text(expression, "operator");
	const struct json *values = json_gets(expression, "values");
	if (str_is(operator, "In")) {
		return value && is_among(json_text(value), values);
	}
	if (str_is(operator, "NotIn")) {
		return !value || !is_among(json_text(value), values);
	}
	if (str_is(operator, "Exists") || str_is(operator, "DoesNotExist")) {
		return str_is(operator, "Exists") == (value != NULL);
	}
	return value && is_beyond(json_text(value), values, str_is(operator, "Gt"));
}

/* members: the node's labels, or its metadata, whose name is the only field that terms can
 * select. */
static bool expressions_hold(const struct json *expressions, const struct json *members, bool is_field)
{
	const struct json *e;
	for (uint32_t i = 0; (e = list_item(expressions, i)); i++) {
		struct str key = member_text(e, "key");
		if (!expression_holds(e, is_field ? json_gets(members, "name") : json_get(members, key))) {
			return false;
		}
	}
	return true;
}

/* An empty term selects no node. */
static bool term_holds(const struct json *term, const struct json *meta)
{
	return member_count(term, "matchExpressions") + member_count(term, "matchFields") > 0 &&
		expressions_hold(json_gets(term, "matchExpressions"), json_gets(meta, "labels"), false) &&
		expressions_hold(json_gets(term, "matchFields"), meta, true);
}

static bool affinity_holds(const struct json *spec, const struct json *meta)
{
	const struct json *affinity = json_gets(json_gets(spec, "affinity"), "nodeAffinity");
	const struct json *required = json_gets(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
	const struct json *terms = json_gets(required, "nodeSelectorTerms"), *term;
	for (uint32_t i = 0; (term = list_item(terms, i)); i++) {
		if (term_holds(term, meta)) {
			return true;
		}
	}
	return !required;
}

static bool is_selected(const struct json *spec, const struct json *meta)
{
	const struct json *selector = json_gets(spec, "nodeSelector"), *labels = json_gets(meta, "labels");
	for (uint32_t i = 0; json_is(selector, JSON_OBJECT) && i < selector->n; i++) {
		const struct json *value = json_get(labels, selector->members[i].name);
		if (!value || !str_eq(json_text(value), json_text(selector->members[i].value))) {
			return false;
		}
	}
	return true;
}

/* ---- the whole ---- */

enum placement placement_of(const struct json *pod, const struct json *node)
{
	const struct json *spec = json_gets(pod, "spec"), *meta = json_gets(node, "metadata");
	if (member_is_true(json_gets(node, "spec"), "unschedulable") &&
		!is_tolerated(pod, STR(UNSCHEDULABLE_TAINT), STR(""), STR("NoSchedule"))) {
		return PLACEMENT_UNSCHEDULABLE;
	}
	if (is_kept_away(pod, node)) {
		return PLACEMENT_TAINT;
	}
	return is_selected(spec, meta) && affinity_holds(spec, meta) ? PLACEMENT_FITS : PLACEMENT_AFFINITY;
}

void placement_explain(struct buf *out, const unsigned counts[PLACEMENT_FITS])
{
	static const char *const reasons[] = {
		[PLACEMENT_UNSCHEDULABLE] = "node(s) were unschedulable",
		[PLACEMENT_TAINT] = "node(s) had untolerated taint(s)",
		[PLACEMENT_AFFINITY] = "node(s) didn't match Pod's node affinity/selector",
	};
	/* Sorted as text including the count, as kube-scheduler does. */
	struct str texts[PLACEMENT_FITS];
	_Static_assert(ARRAY_SIZE(reasons) == PLACEMENT_FITS, "a text for each reason");
	char room[PLACEMENT_FITS][96];
	unsigned total = 0;
	size_t n = 0;
	for (size_t i = 0; i < PLACEMENT_FITS; i++) {
		total += counts[i];
		if (counts[i]) {
			int size = snprintf(room[n], sizeof(room[n]), "%u %s", counts[i], reasons[i]);
			texts[n] = (struct str){room[n], (size_t)size};
			n++;
		}
	}
	str_sort(texts, n);
	buf_printf(out, "0/%u nodes are available: ", total);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ", " : "");
		buf_add_str(out, texts[i]);
	}
	buf_addc(out, '.');
}

static bool is_same(const struct json *one, const struct json *other, const char *name)
{
	const struct json *x = json_gets(one, name), *y = json_gets(other, name);
	return (!x && !y) || (x && y && json_equal(x, y));
}

bool placement_may_differ(const struct json *node, const struct json *other)
{
	const struct json *meta = json_gets(node, "metadata"), *other_meta = json_gets(other, "metadata");
	return !is_same(node, other, "spec") || !is_same(meta, other_meta, "labels") ||
		!is_same(meta, other_meta, "annotations");
}
