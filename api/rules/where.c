/* Paths are chains on the stack, printed only when something is wrong. Most objects are right,
 * and a pod has hundreds of fields: printing each path beforehand would cost more than all
 * checks. */
#include "api/rules/where.h"

#include "api/model/members.h"
#include "api/model/quantity.h"
#include "api/rules/validate.h"

#include <assert.h>

struct str where_path(const struct where *at, struct arena *a)
{
	struct str up = at->up ? where_path(at->up, a) : (struct str){0};
	if (at->key.n) {
		return field_key(a, up, at->key);
	}
	if (!at->name.n) {
		return field_index(a, up, at->index);
	}
	return up.n ? arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(up), STR_ARG(at->name)) : at->name;
}

void refuse_invalid(struct field_errors *e, const struct where *at, const struct json *bad, const char *message)
{
	assert(message);
	field_invalid(e, where_path(at, e->arena), bad, "%s", message);
}

void refuse_text(struct field_errors *e, const struct where *at, struct str bad, const char *message)
{
	assert(message);
	field_invalid_str(e, where_path(at, e->arena), bad, "%s", message);
}

void refuse_absent(struct field_errors *e, const struct where *at, const char *message)
{
	field_required(e, where_path(at, e->arena), "%s", message);
}

void refuse_forbidden(struct field_errors *e, const struct where *at, const char *message)
{
	field_forbidden(e, where_path(at, e->arena), "%s", message);
}

void refuse_duplicate(struct field_errors *e, const struct where *at, struct str bad)
{
	field_duplicate(e, where_path(at, e->arena), json_string(e->arena, bad));
}

void refuse_unknown(struct field_errors *e, const struct where *at, struct str bad)
{
	field_not_found(e, where_path(at, e->arena), bad);
}

static size_t count(const char *const *texts)
{
	size_t n = 0;
	while (texts[n]) {
		n++;
	}
	return n;
}

void refuse_unsupported(struct field_errors *e, const struct where *at, struct str bad, const char *const *supported)
{
	field_not_supported(e, where_path(at, e->arena), bad, supported, count(supported));
}

void refuse_unsupported_value(
	struct field_errors *e, const struct where *at, const struct json *bad, const char *const *supported)
{
	field_not_supported_value(e, where_path(at, e->arena), bad, supported, count(supported));
}

void check_text(struct field_errors *e, const struct where *at, struct str s, text_rule *rule)
{
	assert(rule);
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = rule(s, messages);
	for (size_t i = 0; i < n; i++) {
		refuse_text(e, at, s, messages[i]);
	}
}

void check_present(struct field_errors *e, const struct where *at, struct str s)
{
	if (!s.n) {
		refuse_absent(e, at, "");
	}
}

void check_choice(struct field_errors *e, const struct where *at, struct str s, const char *const *supported, bool is_needed)
{
	assert(supported && supported[0]);
	if (!s.n && is_needed) {
		refuse_absent(e, at, "");
		return;
	}
	for (const char *const *one = supported; *one; one++) {
		if (str_is(s, *one)) {
			return;
		}
	}
	refuse_unsupported(e, at, s, supported);
}

void check_range(struct field_errors *e, const struct where *at, const struct json *number, int64_t from, int64_t to,
	const char *message)
{
	assert(from <= to && message);
	int64_t n;
	if (number && json_to_int64(number, &n) && (n < from || n > to)) {
		refuse_invalid(e, at, number, message);
	}
}

void check_not_negative(struct field_errors *e, const struct where *at, const struct json *number)
{
	check_range(e, at, number, 0, INT64_MAX, "must be greater than or equal to 0");
}

void check_labels(struct field_errors *e, const struct where *at, const struct json *labels)
{
	for (uint32_t i = 0; labels && i < labels->n; i++) {
		check_text(e, at, labels->members[i].name, validate_qualified_name);
		check_text(e, at, json_text(labels->members[i].value), validate_label_value);
	}
}

static void check_expression(struct field_errors *e, const struct where *at, const struct json *expression)
{
	struct str op = member_text(expression, "operator");
	const struct json *values = json_gets(expression, "values"), *value;
	bool has_values = list_item(values, 0) != NULL;
	if (str_is(op, "In") || str_is(op, "NotIn")) {
		if (!has_values) {
			refuse_absent(e, WHERE(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'");
		}
	} else if (str_is(op, "Exists") || str_is(op, "DoesNotExist")) {
		if (has_values) {
			refuse_forbidden(
				e, WHERE(at, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
		}
	} else {
		refuse_text(e, WHERE(at, "operator"), op, "not a valid selector operator");
	}
	check_text(e, WHERE(at, "key"), member_text(expression, "key"), validate_qualified_name);
	for (uint32_t i = 0; (value = list_item(values, i)); i++) {
		check_text(e, WHERE_ITEM(WHERE(at, "values"), i), json_text(value), validate_label_value);
	}
}

void check_label_selector(struct field_errors *e, const struct where *at, const struct json *selector)
{
	const struct json *expressions = json_gets(selector, "matchExpressions"), *expression;
	check_labels(e, WHERE(at, "matchLabels"), json_gets(selector, "matchLabels"));
	for (uint32_t i = 0; (expression = list_item(expressions, i)); i++) {
		check_expression(e, WHERE_ITEM(WHERE(at, "matchExpressions"), i), expression);
	}
}

void check_path(struct field_errors *e, const struct where *at, struct str path, bool is_relative)
{
	struct str part, rest = path;
	bool more;
	if (is_relative && path.n && path.p[0] == '/') {
		refuse_text(e, at, path, "must be a relative path");
	}
	do {
		more = str_cut(rest, '/', &part, &rest);
		if (str_is(part, "..")) {
			refuse_text(e, at, path, "must not contain '..'");
			return;
		}
	} while (more);
}

/* Resources that only come in whole pieces: those with a domain outside kubernetes.io, and counts of objects. */
static bool comes_whole(struct str resource)
{
	struct str domain, name;
	return str_cut(resource, '/', &domain, &name) && !str_contains(resource, STR("kubernetes.io/"));
}

void check_amount(struct field_errors *e, const struct where *at, struct str resource, const struct json *amount)
{
	struct quantity q;
	if (quantity_parse(&q, json_text(amount), e->arena)) {
		return;
	}
	if (quantity_sign(&q) < 0) {
		refuse_invalid(e, at, amount, "must be greater than or equal to 0");
	}
	if (comes_whole(resource) && !quantity_is_whole(&q)) {
		refuse_invalid(e, at, amount, "must be an integer");
	}
}
