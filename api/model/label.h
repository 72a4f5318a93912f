/* Labels, and selectors of labels once they are read (api/rules/selector.h). */
#ifndef API_MODEL_LABEL_H
#define API_MODEL_LABEL_H

#include "base/json.h"

struct label {
	struct str key, value;
};
/* Reads metadata.labels (NULL: none) for label_selector_matches(). Returns their number. */
size_t labels_read(const struct label **ret, const struct json *object, struct arena *a);

enum selector_op { SELECTOR_IN, SELECTOR_NOT_IN, SELECTOR_EXISTS, SELECTOR_NOT_EXISTS, SELECTOR_GREATER, SELECTOR_LESS };

/* a=b and a==b are IN with one value, a!=b is NOT_IN with one value. NOT_IN holds where the label is absent, too. */
struct requirement {
	enum selector_op op;
	struct str key;
	struct str *values; /* sorted, without repetitions */
	size_t n_values;
	int64_t number; /* GREATER, LESS */
};

struct label_selector {
	struct requirement *v; /* sorted by key; all must hold; none: everything matches */
	size_t n;
};

#endif
