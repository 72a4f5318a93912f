/* What targets share: how they complain, and what every object must stand. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "api/model/kind.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { CEILING = 64 << 20 };

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

struct str fuzz_encoded(const struct json *j, struct arena *a);
/* One line of the input as JSON; NULL: it is none. */
struct json *fuzz_parse(struct str text, struct arena *a);
/* By the apiVersion and kind of what is meant for it; ControllerRevision of apps/v1 where they name none. */
const struct kind *fuzz_kind_of(const struct json *body, const struct version **ret_version);
/* Stored and read back it is itself; as its version shows it, it is its own normal form. */
void fuzz_check_object(const struct object *o, const struct version *version, struct arena *a);
/* Every rule of its kind may be asked about it; `old` (may be NULL) is what it was. What they say makes a Status. */
void fuzz_check_validation(const struct object *o, const struct object *old, struct arena *a);

#endif
