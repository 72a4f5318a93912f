/* What $ANNALS_UNGUARDED names, separated by commas, is left out. */
#ifndef TESTS_BROKEN_UNGUARDED_H
#define TESTS_BROKEN_UNGUARDED_H

#include <stdbool.h>

bool is_unguarded(const char *name);

#endif
