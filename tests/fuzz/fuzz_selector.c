/* Selectors. A label selector (first letter l) says the same after being written and read again; a field selector (f) is read. */
#include "api/rules/selector.h"
#include "tests/fuzz/fuzz.h"

static const struct label labels[] = {{{"a", 1}, {"b", 1}}, {{"in", 2}, {"", 0}}, {{"n", 1}, {"5", 1}}};

static void check_labels(struct str text, struct arena *a)
{
	struct label_selector s, again;
	struct status st;
	status_init(&st, a);
	if (label_selector_parse(&s, text, a, &st)) {
		CHECK(st.code == 400);
		CHECK(st.message.n > 0);
		return;
	}
	struct str written = label_selector_string(&s, a);
	CHECK(label_selector_parse(&again, written, a, &st) == 0);
	CHECK(str_eq(label_selector_string(&again, a), written));
	CHECK(label_selector_matches(&s, labels, ARRAY_SIZE(labels)) ==
		label_selector_matches(&again, labels, ARRAY_SIZE(labels)));
}

static void check_fields(struct str text, struct arena *a)
{
	const struct version *version;
	const struct kind *kind = kind_by_resource(STR("annals.dev"), STR("v1"), STR("controllerrevisions"), true, &version);
	struct str values[64] = {{0}};
	struct field_selector s;
	struct status st;
	status_init(&st, a);
	CHECK(kind->n_selectable <= ARRAY_SIZE(values));
	if (field_selector_parse(&s, text, kind, version, a, &st)) {
		CHECK(st.code == 400);
		CHECK(st.message.n > 0);
		return;
	}
	field_selector_matches(&s, STR("a"), STR("b"), &(struct field_values){.values = values});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n == 0) {
		return 0;
	}
	struct str text = {(const char *)data + 1, n - 1};
	struct arena a;
	arena_init(&a, CEILING);
	if (data[0] == 'l') {
		check_labels(text, &a);
	} else if (data[0] == 'f') {
		check_fields(text, &a);
	}
	arena_done(&a);
	return 0;
}
