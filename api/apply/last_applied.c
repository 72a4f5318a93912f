/* kubectl's way from client-side to server-side apply (csaupgrade in
 * k8s.io/apimachinery/pkg/util/managedfields). Without it the first `kubectl apply
 * --server-side` would conflict with the user's own earlier applies. */
#include "api/apply/last_applied.h"

#include "api/rules/validate.h"

#include <stdlib.h>

#define ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

struct field_set *last_applied_fields(const struct type *type, const struct json *live, struct str api_version, struct arena *a)
{
	struct str text = json_text(json_gets(json_gets(json_gets(live, "metadata"), "annotations"), ANNOTATION)), error;
	struct json *given, *applied;
	struct comparison c;
	size_t at;
	if (!text.n || json_parse(&given, a, text, JSON_LIMITS_DEFAULT, &at) ||
		!str_eq(json_text(json_gets(given, "apiVersion")), api_version) ||
		typed_validate(&applied, type, given, a, &error)) {
		return NULL;
	}
	typed_compare(&c, type, applied, live, a);
	struct field_set *fields = typed_fields(type, applied, a);
	fields = field_set_difference(fields, c.modified, a);
	fields = field_set_difference(fields, c.added, a);
	return field_set_difference(fields, c.removed, a);
}

static int compare_names(const void *x, const void *y)
{
	const struct json_member *a = x, *b = y;
	return str_cmp(a->name, b->name);
}

/* As Go writes maps: members sorted, at every depth. */
static struct json *sorted(const struct json *j, struct arena *a)
{
	struct json *out = json_copy(a, j);
	for (uint32_t i = 0; out->kind == JSON_ARRAY && i < out->n; i++) {
		out->items[i] = sorted(out->items[i], a);
	}
	if (out->kind == JSON_OBJECT && out->n) {
		for (uint32_t i = 0; i < out->n; i++) {
			out->members[i].value = sorted(out->members[i].value, a);
		}
		qsort(out->members, out->n, sizeof(*out->members), compare_names);
	}
	return out;
}

/* The applied object as the annotation holds it: without the annotation itself. */
static struct str print_applied(const struct json *applied, struct arena *a)
{
	struct json *whole = json_copy(a, applied);
	struct json *metadata = json_gets(whole, "metadata"), *annotations = json_gets(metadata, "annotations");
	if (json_is(annotations, JSON_OBJECT)) {
		metadata = json_copy(a, metadata);
		annotations = json_copy(a, annotations);
		json_remove(annotations, STR(ANNOTATION));
		json_set(a, metadata, STR("annotations"), annotations);
		json_set(a, whole, STR("metadata"), metadata);
	}
	struct buf text;
	buf_init(&text, TEXT_MAX);
	json_encode(&text, sorted(whole, a));
	buf_addc(&text, '\n');
	struct str printed = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return printed;
}

void last_applied_renew(struct meta *m, const struct json *applied, struct arena *a)
{
	if (!json_text(json_gets(m->annotations, ANNOTATION)).n) {
		return;
	}
	struct json *annotations = json_copy(a, m->annotations);
	json_set(a, annotations, STR(ANNOTATION), json_string(a, print_applied(applied, a)));
	/* The annotation holds the object once more: it must not make a write fail that would
	 * otherwise fit. */
	if (!validate_annotations_fit(annotations)) {
		json_remove(annotations, STR(ANNOTATION));
	}
	m->annotations = annotations->n ? annotations : NULL;
}
