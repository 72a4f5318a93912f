/* Label and field selectors: parsed once per request, matched against parsed labels without touching JSON.
 * k8s.io/apimachinery/pkg/labels and pkg/fields, same grammar and messages. Matching allocates nothing. */
#ifndef API_RULES_SELECTOR_H
#define API_RULES_SELECTOR_H

#include "api/model/kind.h"
#include "api/model/label.h"

/* Slices point into text, which must outlive the selector. 0, or 1 with kube's 400 in st. */
int label_selector_parse(struct label_selector *ret, struct str text, struct arena *a, struct status *st);
/* labels sorted by key. */
bool label_selector_matches(const struct label_selector *s, const struct label *labels, size_t n);
/* A metav1.LabelSelector, as LabelSelectorAsSelector; NULL is an empty one. Slices point into the object. 0, or 1 with a sentence. */
int label_selector_read(struct label_selector *ret, const struct json *object, struct arena *a, struct str *ret_problem);
struct str label_selector_string(const struct label_selector *s, struct arena *a); /* canonical text, sorted by key */

/* COMPUTED: the term's path names a reference (api/model/reference.h), whose value is "true" where there is one. */
enum { FIELD_TERM_NAME = -1, FIELD_TERM_NAMESPACE = -2, FIELD_TERM_COMPUTED = -3 };

struct field_term {
	struct str path, value;
	bool is_not;
	int field; /* FIELD_TERM_*, else index into kind->selectable */
};

struct field_selector {
	struct field_term *v; /* sorted by their text; all must hold */
	size_t n;
};

/* Slices point into text or the arena. 0, or 1 with 400 "field label not supported" and the like. */
int field_selector_parse(struct field_selector *ret, struct str text, const struct kind *kind, const struct version *version,
	struct arena *a, struct status *st);
/* Its terms, whatever the fields are called: `field` is not set. False: it cannot be read. */
bool field_selector_read(struct field_selector *ret, struct str text, struct arena *a);
bool field_selector_is_readable(struct str text, struct arena *a);
/* values[i]: of kind->selectable[i]; may be NULL when the kind has none. computed: the paths of its references, sorted. */
struct field_values {
	const struct str *values, *computed;
	size_t n_computed;
};
bool field_selector_matches(const struct field_selector *s, struct str name, struct str ns, const struct field_values *values);
/* Whether a term demands one value of a field, as metadata.name=x does: what a look-up can start from. */
bool field_selector_requires(const struct field_selector *s, int field, struct str *ret_value);

#endif
