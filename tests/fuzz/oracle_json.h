/* jansson behind names of its own: its functions and ours have the same, so no file can see both. */
#ifndef TESTS_FUZZ_ORACLE_JSON_H
#define TESTS_FUZZ_ORACLE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oracle_kind { ORACLE_NULL, ORACLE_BOOL, ORACLE_INTEGER, ORACLE_REAL, ORACLE_STRING, ORACLE_ARRAY, ORACLE_OBJECT };

/* What jansson is known to refuse though it is JSON: integers beyond int64 and reals beyond a double, U+0000 in names, lone
 * surrogates, 2,048 containers within each other. */
enum oracle_verdict { ORACLE_ACCEPTS, ORACLE_REFUSES, ORACLE_CANNOT };

struct oracle_value; /* opaque: jansson's json_t */

enum oracle_verdict oracle_parse(struct oracle_value **ret, const void *text, size_t n);
void oracle_free(struct oracle_value *v);

enum oracle_kind oracle_kind(const struct oracle_value *v);
bool oracle_bool(const struct oracle_value *v);
int64_t oracle_integer(const struct oracle_value *v);
double oracle_real(const struct oracle_value *v);
const char *oracle_string(const struct oracle_value *v, size_t *ret_n);
size_t oracle_count(const struct oracle_value *v); /* items or members */
const struct oracle_value *oracle_item(const struct oracle_value *v, size_t i);
const struct oracle_value *oracle_member(const struct oracle_value *v, const char *name, size_t n); /* or NULL */

#endif
