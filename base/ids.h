/* Randomness from the kernel: identifiers that clients see. Thread-safe. */
#ifndef BASE_IDS_H
#define BASE_IDS_H

#include "base/str.h"

#define UUID_SIZE 37 /* with the NUL */

void random_bytes(void *p, size_t n);
void uuid_new(char out[UUID_SIZE]); /* RFC 4122 version 4 */
/* n characters of kube's alphabet "bcdfghjklmnpqrstvwxz2456789" (no vowels: no bad words), NUL-terminated. */
void random_suffix(char *out, size_t n);

#endif
