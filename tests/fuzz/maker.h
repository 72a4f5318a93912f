/* Makes objects of any kind, driven by its schema and by a number or any bytes: names nobody would think of, numbers of any size, nulls, empty
 * things, members in any order, and now and then something of another type, or nobody's member. The same input makes the same object. */
#ifndef TESTS_FUZZ_MAKER_H
#define TESTS_FUZZ_MAKER_H

#include "api/model/kind.h"

struct maker {
	struct arena *arena;
	bool is_wild; /* does not keep to the schema */
	/* private */
	const uint8_t *bytes;
	size_t n, budget;
	uint64_t state;
};

void maker_init_seed(struct maker *m, uint64_t seed, struct arena *a);
void maker_init_bytes(struct maker *m, const uint8_t *bytes, size_t n, struct arena *a); /* with nothing left, all choices are the first one */
uint64_t maker_choose(struct maker *m, uint64_t n); /* less than n */
/* The text of a whole object as the kind's version has it, in namespace "ns" with name "a" where the maker is not wild. Spelled in some way. */
struct str maker_object(struct maker *m, const struct kind *k, const struct version *v);

#endif
