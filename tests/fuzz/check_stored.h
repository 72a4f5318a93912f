/* What every object must stand whichever version of its kind it is stored in. Each aborts with a sentence where it is not so. */
#ifndef TESTS_FUZZ_CHECK_STORED_H
#define TESTS_FUZZ_CHECK_STORED_H

#include "api/model/kind.h"

/* Stored in each version and read back it is itself, to the byte; stored as that again, it is the same text; and the cache shows the same of
 * each. How many versions have kept something beside what they say. */
size_t check_stored_object(const struct object *o, struct arena *a);
/* As any version shows it and takes it back, it is what it was. For objects in normal form. */
void check_shown_object(const struct object *o, struct arena *a);
/* Whatever is in etcd: it is refused, or an object of which the above holds. False: refused. */
bool check_stored_text(const struct kind *k, struct str text, struct arena *a);

#endif
